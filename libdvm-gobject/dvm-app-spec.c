/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-job-spec-private.h"
#include "dvm-record-codec-private.h"
#include "dvm-words-private.h"

/**
 * DvmAppSpec:
 *
 * One program of a job: what to start, how often, where and in which environment.
 *
 * Since: 0.1
 */
struct _DvmAppSpec
{
  GObject parent_instance;

  char **argv;
  guint np;
  char *cwd;
  char **env;
  char **unset_env;
  gboolean clear_env;
  char **hosts;
  char **preload_files;
  char *preload_dir;
  gboolean preload_binary;
  gboolean session_cwd;
};

enum
{
  PROP_0,
  PROP_ARGV,
  PROP_NP,
  PROP_CWD,
  PROP_ENV,
  PROP_UNSET_ENV,
  PROP_CLEAR_ENV,
  PROP_HOSTS,
  PROP_PRELOAD_FILES,
  PROP_PRELOAD_DIR,
  PROP_PRELOAD_BINARY,
  PROP_SESSION_CWD,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

G_DEFINE_FINAL_TYPE (DvmAppSpec, dvm_app_spec, G_TYPE_OBJECT)

/* In the order of the properties. */
static const DvmRecordField fields[] = {
  /**
   * DvmAppSpec:argv:
   *
   * The program and its arguments. A program without a slash is looked up in PATH.
   *
   * Since: 0.1
   */
  { "argv", "argv", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmAppSpec, argv) },
  /**
   * DvmAppSpec:np:
   *
   * The number of processes; 0 stands for all free slots, at least 1.
   *
   * Since: 0.1
   */
  { "np", "np", DVM_RECORD_FIELD_UINT, G_STRUCT_OFFSET (DvmAppSpec, np) },
  /**
   * DvmAppSpec:cwd:
   *
   * The directory that the processes start in, %NULL for the home directory.
   *
   * Since: 0.1
   */
  { "cwd", "cwd", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmAppSpec, cwd) },
  /**
   * DvmAppSpec:env:
   *
   * Environment variables that are set, "NAME=value" each. Later ones win.
   *
   * Since: 0.1
   */
  { "env", "env", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmAppSpec, env) },
  /**
   * DvmAppSpec:unset-env:
   *
   * Names of environment variables that are removed.
   *
   * Since: 0.1
   */
  { "unset-env", "unset-env", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmAppSpec, unset_env) },
  /**
   * DvmAppSpec:clear-env:
   *
   * Whether the environment starts empty, and not as that of the daemon.
   *
   * Since: 0.1
   */
  { "env-clear", "env-clear", DVM_RECORD_FIELD_BOOLEAN, G_STRUCT_OFFSET (DvmAppSpec, clear_env),
    .property = "clear-env" },
  /**
   * DvmAppSpec:hosts:
   *
   * The nodes that may be used, "node3" or with a number of slots "node3:4" each; empty for all.
   *
   * Since: 0.1
   */
  { "hosts", "hosts", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmAppSpec, hosts) },
  /**
   * DvmAppSpec:preload-files:
   *
   * Files that are copied into the session directory of the job on each of its nodes before anything is started.
   *
   * Since: 0.1
   */
  { "preload-files", "preload-files", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmAppSpec, preload_files) },
  /**
   * DvmAppSpec:preload-dir:
   *
   * The directory that relative paths of files to preload start from, %NULL for that of the processes.
   *
   * Since: 0.1
   */
  { "preload-dir", "preload-dir", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmAppSpec, preload_dir) },
  /**
   * DvmAppSpec:preload-binary:
   *
   * Whether the program itself is copied to each node too, and run in the session directory.
   *
   * Since: 0.1
   */
  { "preload-binary", "preload-binary", DVM_RECORD_FIELD_BOOLEAN, G_STRUCT_OFFSET (DvmAppSpec, preload_binary) },
  /**
   * DvmAppSpec:session-cwd:
   *
   * Whether the processes start in the session directory of the job.
   *
   * Since: 0.1
   */
  { "set-cwd-to-session-dir", "set-cwd-to-session-dir", DVM_RECORD_FIELD_BOOLEAN,
    G_STRUCT_OFFSET (DvmAppSpec, session_cwd), .property = "session-cwd" },
};

G_STATIC_ASSERT (G_N_ELEMENTS (fields) == N_PROPS - 1);

static const DvmRecordCodec codec = {
  .fields = fields,
  .n_fields = G_N_ELEMENTS (fields),
  .properties = properties,
  .is_spec = TRUE,
};

static void
dvm_app_spec_get_property (GObject *object, guint prop_id, GValue *value, GParamSpec *pspec)
{
  _dvm_record_get_property (object, &codec, prop_id, value);
}

static void
dvm_app_spec_set_property (GObject *object, guint prop_id, const GValue *value, GParamSpec *pspec)
{
  _dvm_record_set_property (object, &codec, prop_id, value);
}

static void
dvm_app_spec_finalize (GObject *object)
{
  DvmAppSpec *self = DVM_APP_SPEC (object);

  _dvm_record_clear (self, &codec);
  G_OBJECT_CLASS (dvm_app_spec_parent_class)->finalize (object);
}

static void
dvm_app_spec_class_init (DvmAppSpecClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = dvm_app_spec_get_property;
  object_class->set_property = dvm_app_spec_set_property;
  object_class->finalize = dvm_app_spec_finalize;
  _dvm_record_class_install (klass, &codec);
}

static void
dvm_app_spec_init (DvmAppSpec *self)
{
}

/**
 * dvm_app_spec_new:
 * @argv: (nullable) (array zero-terminated=1) (element-type filename): the program and its arguments
 *
 * Makes the description of a program.
 *
 * Returns: (transfer full): the new object
 * Since: 0.1
 */
DvmAppSpec *
dvm_app_spec_new (const char *const *argv)
{
  DvmAppSpec *self = g_object_new (DVM_TYPE_APP_SPEC, NULL);

  self->argv = g_strdupv ((char **)argv);
  return self;
}

/**
 * dvm_app_spec_get_argv:
 * @self: a program
 *
 * The program and its arguments.
 *
 * Returns: (transfer none) (array zero-terminated=1) (element-type filename): the list
 * Since: 0.1
 */
const char *const *
dvm_app_spec_get_argv (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), NULL);

  return _dvm_record_get_strv (self->argv);
}

/**
 * dvm_app_spec_set_argv:
 * @self: a program
 * @argv: (nullable) (array zero-terminated=1) (element-type filename): the program and its arguments
 *
 * Sets the program and its arguments.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_argv (DvmAppSpec *self, const char *const *argv)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_strv (self, &self->argv, argv, properties[PROP_ARGV]);
}

/**
 * dvm_app_spec_get_np:
 * @self: a program
 *
 * The number of processes.
 *
 * Returns: the number, 0 for all free slots, at least 1
 * Since: 0.1
 */
guint
dvm_app_spec_get_np (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), 0);

  return self->np;
}

/**
 * dvm_app_spec_set_np:
 * @self: a program
 * @np: the number of processes, 0 for all free slots, at least 1
 *
 * Sets the number of processes.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_np (DvmAppSpec *self, guint np)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_uint (self, &self->np, np, properties[PROP_NP]);
}

/**
 * dvm_app_spec_get_cwd:
 * @self: a program
 *
 * The directory that the processes start in.
 *
 * Returns: (transfer none) (nullable) (type filename): the absolute path, %NULL for the home directory
 * Since: 0.1
 */
const char *
dvm_app_spec_get_cwd (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), NULL);

  return self->cwd;
}

/**
 * dvm_app_spec_set_cwd:
 * @self: a program
 * @cwd: (nullable) (type filename): an absolute path, %NULL for the home directory
 *
 * Sets the directory that the processes start in.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_cwd (DvmAppSpec *self, const char *cwd)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_string (self, &self->cwd, cwd, properties[PROP_CWD]);
}

/**
 * dvm_app_spec_get_env:
 * @self: a program
 *
 * The environment variables that are set.
 *
 * Returns: (transfer none) (array zero-terminated=1) (element-type filename): "NAME=value" each; later ones win
 * Since: 0.1
 */
const char *const *
dvm_app_spec_get_env (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), NULL);

  return _dvm_record_get_strv (self->env);
}

/**
 * dvm_app_spec_set_env:
 * @self: a program
 * @env: (nullable) (array zero-terminated=1) (element-type filename): "NAME=value" each; later ones win
 *
 * Sets the environment variables, instead of those given before.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_env (DvmAppSpec *self, const char *const *env)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_strv (self, &self->env, env, properties[PROP_ENV]);
}

/**
 * dvm_app_spec_setenv:
 * @self: a program
 * @name: (type filename): the name of a variable
 * @value: (type filename): its value
 *
 * Adds an environment variable to those given before, or changes its value.
 *
 * Since: 0.1
 */
void
dvm_app_spec_setenv (DvmAppSpec *self, const char *name, const char *value)
{
  gsize length;
  guint n;

  g_return_if_fail (DVM_IS_APP_SPEC (self));
  g_return_if_fail (name != NULL && value != NULL);

  length = strlen (name);
  n = self->env != NULL ? g_strv_length (self->env) : 0;
  for (guint i = 0; i < n; i++)
    if (strncmp (self->env[i], name, length) == 0 && self->env[i][length] == '=')
      {
        g_free (self->env[i]);
        self->env[i] = g_strconcat (name, "=", value, NULL);
        g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_ENV]);
        return;
      }
  self->env = g_renew (char *, self->env, n + 2);
  self->env[n] = g_strconcat (name, "=", value, NULL);
  self->env[n + 1] = NULL;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_ENV]);
}

/**
 * dvm_app_spec_get_unset_env:
 * @self: a program
 *
 * The environment variables that are removed.
 *
 * Returns: (transfer none) (array zero-terminated=1): their names
 * Since: 0.1
 */
const char *const *
dvm_app_spec_get_unset_env (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), NULL);

  return _dvm_record_get_strv (self->unset_env);
}

/**
 * dvm_app_spec_set_unset_env:
 * @self: a program
 * @names: (nullable) (array zero-terminated=1): names of variables
 *
 * Sets which environment variables are removed.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_unset_env (DvmAppSpec *self, const char *const *names)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_strv (self, &self->unset_env, names, properties[PROP_UNSET_ENV]);
}

/**
 * dvm_app_spec_get_clear_env:
 * @self: a program
 *
 * Whether the environment starts empty, and not as that of the daemon.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_app_spec_get_clear_env (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), FALSE);

  return self->clear_env;
}

/**
 * dvm_app_spec_set_clear_env:
 * @self: a program
 * @clear: %TRUE to start from an empty environment, not from the daemon's
 *
 * Sets what the environment starts from.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_clear_env (DvmAppSpec *self, gboolean clear)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_boolean (self, &self->clear_env, !!clear, properties[PROP_CLEAR_ENV]);
}

/**
 * dvm_app_spec_get_hosts:
 * @self: a program
 *
 * The nodes that may be used.
 *
 * Returns: (transfer none) (array zero-terminated=1): "node3" or "node3:4" each; empty for all
 * Since: 0.1
 */
const char *const *
dvm_app_spec_get_hosts (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), NULL);

  return _dvm_record_get_strv (self->hosts);
}

/**
 * dvm_app_spec_set_hosts:
 * @self: a program
 * @hosts: (nullable) (array zero-terminated=1): "node3", or with a number of slots "node3:4", each
 *
 * Sets the nodes that may be used.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_hosts (DvmAppSpec *self, const char *const *hosts)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_strv (self, &self->hosts, hosts, properties[PROP_HOSTS]);
}

/**
 * dvm_app_spec_get_preload_files:
 * @self: a program
 *
 * The files that are copied to the nodes.
 *
 * Returns: (transfer none) (array zero-terminated=1) (element-type filename): their paths; empty for none
 * Since: 0.1
 */
const char *const *
dvm_app_spec_get_preload_files (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), NULL);

  return _dvm_record_get_strv (self->preload_files);
}

/**
 * dvm_app_spec_set_preload_files:
 * @self: a program
 * @files: (nullable) (array zero-terminated=1) (element-type filename): paths of files on the machine of the controller
 *
 * Sets the files that are copied into the session directory of the job on each of its nodes. A relative path keeps its
 * directories there (without a leading `../`), an absolute one does not. The processes find the directory in the
 * variable `DVM_SESSION_DIR`.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_preload_files (DvmAppSpec *self, const char *const *files)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_strv (self, &self->preload_files, files, properties[PROP_PRELOAD_FILES]);
}

/**
 * dvm_app_spec_get_preload_dir:
 * @self: a program
 *
 * The directory that relative paths of files to preload start from.
 *
 * Returns: (transfer none) (nullable) (type filename): the absolute path, %NULL for the directory of the processes
 * Since: 0.1
 */
const char *
dvm_app_spec_get_preload_dir (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), NULL);

  return self->preload_dir;
}

/**
 * dvm_app_spec_set_preload_dir:
 * @self: a program
 * @directory: (nullable) (type filename): an absolute path, %NULL for the directory of the processes
 *
 * Sets the directory that relative paths of files to preload start from.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_preload_dir (DvmAppSpec *self, const char *directory)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_string (self, &self->preload_dir, directory, properties[PROP_PRELOAD_DIR]);
}

/**
 * dvm_app_spec_get_preload_binary:
 * @self: a program
 *
 * Whether the program itself is copied to the nodes.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_app_spec_get_preload_binary (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), FALSE);

  return self->preload_binary;
}

/**
 * dvm_app_spec_set_preload_binary:
 * @self: a program
 * @preload: %TRUE to copy the program to the nodes and run it in the session directory of the job
 *
 * Sets whether the program itself is copied to the nodes. Its processes start in the session directory then.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_preload_binary (DvmAppSpec *self, gboolean preload)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_boolean (self, &self->preload_binary, !!preload, properties[PROP_PRELOAD_BINARY]);
}

/**
 * dvm_app_spec_get_session_cwd:
 * @self: a program
 *
 * Whether the processes start in the session directory of the job.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_app_spec_get_session_cwd (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), FALSE);

  return self->session_cwd;
}

/**
 * dvm_app_spec_set_session_cwd:
 * @self: a program
 * @session: %TRUE to start the processes in the session directory of the job
 *
 * Sets whether the processes start in the session directory of the job, where preloaded files are, and not in
 * #DvmAppSpec:cwd.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_session_cwd (DvmAppSpec *self, gboolean session)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_boolean (self, &self->session_cwd, !!session, properties[PROP_SESSION_CWD]);
}

static gboolean
check_argv (DvmAppSpec *self, const char *place, GError **error)
{
  if (self->argv == NULL || self->argv[0][0] == '\0')
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%sargv: the program is missing: its first element must not "
                      "be empty"),
                   place);
      return FALSE;
    }
  for (gsize i = 0; self->argv[i] != NULL; i++)
    if (strlen (self->argv[i]) > DVM_LONGEST_STRING)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                     _ ("%sargv[%zu]: %zu bytes are too long for one argument; the system takes %d"), place, i,
                     strlen (self->argv[i]), DVM_LONGEST_STRING);
        return FALSE;
      }
  return TRUE;
}

static gboolean
check_variable (const char *variable, const char *place, GError **error)
{
  const char *equals = strchr (variable, '=');
  g_autofree char *name = NULL;
  g_autofree char *shown = NULL;

  if (equals != NULL && equals != variable && strlen (variable) <= DVM_LONGEST_STRING)
    return TRUE;
  name = equals != NULL ? g_strndup (variable, equals - variable) : g_strdup (variable);
  shown = _dvm_words_show (name);
  if (equals == NULL || equals == variable)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%senv: “%s” is not NAME=value: a variable needs a name without “=”"), place,
                   equals == variable ? "=" : shown);
    }
  else
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%senv: %s has %zu bytes with its name; the system takes %d"), place, shown, strlen (variable),
                   DVM_LONGEST_STRING);
    }
  return FALSE;
}

static gboolean
check_environment (DvmAppSpec *self, const char *place, GError **error)
{
  for (gsize i = 0; self->env != NULL && self->env[i] != NULL; i++)
    if (!check_variable (self->env[i], place, error))
      return FALSE;
  for (gsize i = 0; self->unset_env != NULL && self->unset_env[i] != NULL; i++)
    if (self->unset_env[i][0] == '\0' || strchr (self->unset_env[i], '=') != NULL)
      {
        g_autofree char *name = _dvm_words_show (self->unset_env[i]);

        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                     _ ("%sunset-env: “%s” is not a name: it must not be empty or contain “=”"), place, name);
        return FALSE;
      }
  return TRUE;
}

static gboolean
is_utf8_list (char **list)
{
  for (gsize i = 0; list != NULL && list[i] != NULL; i++)
    if (!g_utf8_validate (list[i], -1, NULL))
      return FALSE;
  return TRUE;
}

static gboolean
check_directory (const char *path, const char *key, const char *place, GError **error)
{
  g_autofree char *shown = NULL;

  if (path == NULL || path[0] == '/')
    return TRUE;
  shown = _dvm_words_show (path);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: “%s” is not an absolute path"), place, key, shown);
  return FALSE;
}

/* These travel as texts. */
static gboolean
check_preloads (DvmAppSpec *self, const char *place, GError **error)
{
  if (is_utf8_list (self->preload_files)
      && (self->preload_dir == NULL || g_utf8_validate (self->preload_dir, -1, NULL)))
    return check_directory (self->preload_dir, "preload-dir", place, error);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%spreload-files and preload-dir must be UTF-8"), place);
  return FALSE;
}

gboolean
_dvm_app_spec_validate (DvmAppSpec *self, const char *place, GError **error)
{
  if (!check_argv (self, place, error) || !check_environment (self, place, error))
    return FALSE;
  if (!check_directory (self->cwd, "cwd", place, error) || !check_preloads (self, place, error))
    return FALSE;
  if (!is_utf8_list (self->hosts) || !is_utf8_list (self->unset_env))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%shosts and unset-env must be UTF-8"), place);
      return FALSE;
    }
  for (gsize i = 0; self->hosts != NULL && self->hosts[i] != NULL; i++)
    if (!_dvm_host_parse (self->hosts[i], place, NULL, NULL, error))
      return FALSE;
  return TRUE;
}

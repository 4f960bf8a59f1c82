/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The description of one application of a job: program, arguments, environment, hosts.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <string.h>

#include "dvm-app-spec-private.h"

/**
 * DvmAppSpec:
 *
 * One program of a job: what to start, how often, where and in which environment.
 *
 * Since: 0.1
 */
G_DEFINE_FINAL_TYPE (DvmAppSpec, dvm_app_spec, G_TYPE_OBJECT)

/* In the order of the properties. */
static const DvmRecordField fields[] = {
  /**
   * DvmAppSpec:argv:
   *
   * The program and its arguments. A program without a slash is looked up in PATH, then in the directory.
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
   * The nodes that may be used, empty for all: "node3", with a number of slots "node3:4", all of them "node3:*", not
   * that one
   * "^node3", the third "+n2", two without processes "+e:2".
   *
   * Since: 0.1
   */
  { "hosts", "hosts", DVM_RECORD_FIELD_STRV, G_STRUCT_OFFSET (DvmAppSpec, hosts) },
  /**
   * DvmAppSpec:hostfile:
   *
   * The absolute path of a file that names the nodes that may be used, %NULL for none. The DVM reads it.
   *
   * Since: 0.1
   */
  { "hostfile", "hostfile", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmAppSpec, hostfile) },
  /**
   * DvmAppSpec:preload-files:
   *
   * Files that are copied into the session directory of the job on each of its nodes before anything is started.
   * Archives, tar and zip by their names, are unpacked there.
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
  /**
   * DvmAppSpec:map-by:
   *
   * How the processes of this program are placed, %NULL: as #DvmJobSpec:map-by says.
   *
   * Since: 0.1
   */
  { "map-by", "map-by", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmAppSpec, map_by) },
  /**
   * DvmAppSpec:rank-by:
   *
   * How the processes of this program get their ranks, %NULL: as #DvmJobSpec:rank-by says.
   *
   * Since: 0.1
   */
  { "rank-by", "rank-by", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmAppSpec, rank_by) },
  /**
   * DvmAppSpec:bind-to:
   *
   * The object that each process of this program is bound to, %NULL: as #DvmJobSpec:bind-to says.
   *
   * Since: 0.1
   */
  { "bind-to", "bind-to", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmAppSpec, bind_to) },
  /**
   * DvmAppSpec:pset:
   *
   * The PMIx process set that the processes of this program are in, %NULL for none.
   *
   * Since: 0.1
   */
  { "pset", "pset", DVM_RECORD_FIELD_STRING, G_STRUCT_OFFSET (DvmAppSpec, pset) },
};

static GParamSpec *properties[sizeof (DvmAppSpec) / sizeof (guint)][2];

const DvmRecordCodec _dvm_app_spec_codec = {
  .fields = fields,
  .n_fields = G_N_ELEMENTS (fields),
  .properties = properties,
};

static void
dvm_app_spec_class_init (DvmAppSpecClass *klass)
{
  _dvm_record_class_install (klass, &_dvm_app_spec_codec);
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

  _dvm_record_set_strv (self, &_dvm_app_spec_codec, &self->argv, argv);
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

  _dvm_record_set_uint (self, &_dvm_app_spec_codec, &self->np, np);
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

  _dvm_record_set_string (self, &_dvm_app_spec_codec, &self->cwd, cwd);
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

  _dvm_record_set_strv (self, &_dvm_app_spec_codec, &self->env, env);
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
        _dvm_record_notify (self, &_dvm_app_spec_codec, &self->env);
        return;
      }
  self->env = g_renew (char *, self->env, n + 2);
  self->env[n] = g_strconcat (name, "=", value, NULL);
  self->env[n + 1] = NULL;
  _dvm_record_notify (self, &_dvm_app_spec_codec, &self->env);
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

  _dvm_record_set_strv (self, &_dvm_app_spec_codec, &self->unset_env, names);
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

  _dvm_record_set_boolean (self, &_dvm_app_spec_codec, &self->clear_env, !!clear);
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

  _dvm_record_set_strv (self, &_dvm_app_spec_codec, &self->hosts, hosts);
}

/**
 * dvm_app_spec_get_hostfile:
 * @self: a program
 *
 * The file that names the nodes that may be used.
 *
 * Returns: (transfer none) (nullable): the path, %NULL if none was given
 * Since: 0.1
 */
const char *
dvm_app_spec_get_hostfile (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), NULL);

  return self->hostfile;
}

/**
 * dvm_app_spec_set_hostfile:
 * @self: a program
 * @path: (nullable): the absolute path of the file, %NULL for none
 *
 * Sets a file that names the nodes that may be used, with their slots. The DVM reads it when the job is submitted.
 * Hosts that are given too choose among those of the file.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_hostfile (DvmAppSpec *self, const char *path)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_string (self, &_dvm_app_spec_codec, &self->hostfile, path);
}

/**
 * dvm_app_spec_get_pset:
 * @self: a program
 *
 * The PMIx process set that the processes of the program are in.
 *
 * Returns: (transfer none) (nullable): its name, %NULL for none
 * Since: 0.1
 */
const char *
dvm_app_spec_get_pset (DvmAppSpec *self)
{
  g_return_val_if_fail (DVM_IS_APP_SPEC (self), NULL);

  return self->pset;
}

/**
 * dvm_app_spec_set_pset:
 * @self: a program
 * @pset: (nullable): a name of 1 to 511 bytes without commas and control characters, %NULL for none
 *
 * Sets the name of the PMIx process set that the processes of the program are in. Programs of a job that name the same
 * set are in it together.
 *
 * Since: 0.1
 */
void
dvm_app_spec_set_pset (DvmAppSpec *self, const char *pset)
{
  g_return_if_fail (DVM_IS_APP_SPEC (self));

  _dvm_record_set_string (self, &_dvm_app_spec_codec, &self->pset, pset);
}

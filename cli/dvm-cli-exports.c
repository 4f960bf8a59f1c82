/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The environment of a program is the caller's, and then what options say: parameters of MCA, which are variables,
 * directories that come first, variables that are set, and those that are taken away or grow.
 */

#include "config.h"

#include "dvm-cli-exports.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-file.h"
#include "dvm-cli-output.h"
#include "dvm-cli-parameters.h"

/* Open MPI and PMIx look for parameters in the environment: https://docs.open-mpi.org/en/v5.0.x/mca.html */
static const struct
{
  const char *option;
  const char *prefix;
} families[] = {
  { "gmca", "OMPI_MCA_" },
  { "mca", "OMPI_MCA_" },
  { "gpmixmca", "PMIX_MCA_" },
  { "pmixmca", "PMIX_MCA_" },
};

/* "NAME=VALUE" that are of one name and differ */
static gboolean
check_same (const char *option, const char *one, const char *other, GError **error)
{
  gsize length = strcspn (one, "=") + 1;

  if (strncmp (one, other, length) != 0 || strcmp (one, other) == 0)
    return TRUE;
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --%s gives '%s' and '%s': say it once"), option, one, other);
  return FALSE;
}

static gboolean
check_all_same (const char *option, const char *const *values, gsize n, GError **error)
{
  for (gsize i = 0; i < n; i++)
    if (!check_same (option, values[i], values[n], error))
      return FALSE;
  return TRUE;
}

static gboolean
apply_family (DvmCliArgs *args, const char *option, const char *prefix, DvmCliEnvironment *environment, GError **error)
{
  g_autofree const char **values = dvm_cli_args_get_all (args, option);

  for (gsize i = 0; values[i] != NULL; i++)
    {
      g_autofree char *assignment = g_strconcat (prefix, values[i], NULL);

      if (!check_all_same (option, values, i, error))
        return FALSE;
      if (dvm_cli_parameter_is_of_runtime (values[i]) && !dvm_cli_parameter_is_option (values[i]))
        dvm_cli_complain (_ ("option --%s %s: this is for the runtime of mpirun, which does not run here; dvm-cli and "
                             "dvm.conf have options and settings of their own"),
                          option, values[i]);
      dvm_cli_environment_assign (environment, assignment);
    }
  return TRUE;
}

static gboolean
apply_mca (DvmCliArgs *job, DvmCliArgs *app, DvmCliEnvironment *environment, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (families); i++)
    {
      DvmCliArgs *args = families[i].option[0] == 'g' ? job : app;

      if (!apply_family (args, families[i].option, families[i].prefix, environment, error))
        return FALSE;
    }
  return TRUE;
}

/* is_before: it comes first, else last */
static void
add_to (DvmCliEnvironment *environment, const char *name, const char *separator, const char *text, gboolean is_before)
{
  const char *old = dvm_cli_environment_lookup (environment, name);
  g_autofree char *value = NULL;

  if (old == NULL || old[0] == '\0')
    value = g_strdup (text);
  else
    value = is_before ? g_strconcat (text, separator, old, NULL) : g_strconcat (old, separator, text, NULL);
  dvm_cli_environment_set (environment, name, value);
}

/* Programs with a libpmix of their own: it looks for its parts where PMIX_PREFIX says. */
static gboolean
apply_pmix_prefix (DvmCliArgs *args, DvmCliEnvironment *environment, GError **error)
{
  const char *prefix = dvm_cli_args_get (args, "app-pmix-prefix");
  g_autofree char *place = prefix != NULL ? g_canonicalize_filename (prefix, NULL) : NULL;
  g_autofree char *libraries = prefix != NULL ? g_build_filename (place, "lib", NULL) : NULL;

  if (prefix != NULL && dvm_cli_args_has (args, "no-app-prefix"))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                   _ ("options --app-pmix-prefix and --no-app-prefix exclude each other"));
      return FALSE;
    }
  if (prefix == NULL)
    return TRUE;
  add_to (environment, "LD_LIBRARY_PATH", ":", libraries, TRUE);
  dvm_cli_environment_set (environment, "PMIX_PREFIX", place);
  return TRUE;
}

static gboolean
apply_directories (DvmCliArgs *args, DvmCliEnvironment *environment, GError **error)
{
  const char *prefix = dvm_cli_args_get (args, "prefix");
  const char *path = dvm_cli_args_get (args, "path");

  if (prefix != NULL && dvm_cli_args_has (args, "noprefix"))
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("options --prefix and --noprefix exclude each other"));
      return FALSE;
    }
  if (prefix != NULL)
    {
      g_autofree char *place = g_canonicalize_filename (prefix, NULL);
      g_autofree char *programs = g_build_filename (place, "bin", NULL);
      g_autofree char *libraries = g_build_filename (place, "lib", NULL);

      add_to (environment, "PATH", ":", programs, TRUE);
      add_to (environment, "LD_LIBRARY_PATH", ":", libraries, TRUE);
    }
  if (path != NULL)
    add_to (environment, "PATH", ":", path, TRUE);
  return apply_pmix_prefix (args, environment, error);
}

/* The same variable by -x and as a parameter of MCA */
static gboolean
check_beside_mca (DvmCliArgs *job, DvmCliArgs *app, const char *assignment, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (families); i++)
    {
      g_autofree const char **values = dvm_cli_args_get_all (families[i].option[0] == 'g' ? job : app,
                                                             families[i].option);

      for (gsize k = 0; values[k] != NULL; k++)
        {
          g_autofree char *other = g_strconcat (families[i].prefix, values[k], NULL);

          if (strncmp (other, assignment, strcspn (other, "=") + 1) == 0 && strcmp (other, assignment) != 0)
            {
              g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("options -x %s and --%s %s contradict each other"),
                           assignment, families[i].option, values[k]);
              return FALSE;
            }
        }
    }
  return TRUE;
}

static gboolean
apply_x (DvmCliArgs *job, DvmCliArgs *app, DvmCliEnvironment *environment, GError **error)
{
  g_autofree const char **exports = dvm_cli_args_get_all (app, "x");

  for (gsize i = 0; exports[i] != NULL; i++)
    {
      const char *equals = strchr (exports[i], '=');
      const char *value = g_getenv (exports[i]);

      if (equals == exports[i])
        {
          g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option -x takes NAME or NAME=VALUE, not '%s'"), exports[i]);
          return FALSE;
        }
      if (equals != NULL && !check_beside_mca (job, app, exports[i], error))
        return FALSE;
      if (equals != NULL)
        dvm_cli_environment_assign (environment, exports[i]);
      else if (value != NULL)
        dvm_cli_environment_set (environment, exports[i], value);
      else if (dvm_cli_environment_has (environment, exports[i]))
        dvm_cli_environment_choose (environment, exports[i]);
      else
        dvm_cli_complain (_ ("option -x %s: no such variable is set here"), exports[i]);
    }
  return TRUE;
}

/* "NAME[c]=TEXT", where c is what stands between, else a colon */
static gboolean
apply_growth (DvmCliArgs *args, const char *option, gboolean is_before, DvmCliEnvironment *environment, GError **error)
{
  g_autofree const char **values = dvm_cli_args_get_all (args, option);

  for (gsize i = 0; values[i] != NULL; i++)
    {
      const char *text = strchr (values[i], '=') + 1;
      g_autofree char *name = g_strndup (values[i], (gsize)(text - values[i]) - 1);
      gsize length = strlen (name);
      char separator[] = ":";

      /* The separator may itself be "=". */
      if (g_str_has_suffix (name, "[") && g_str_has_prefix (text, "]="))
        {
          text += 2;
          separator[0] = '=';
          name[length - 1] = '\0';
        }
      else if (length > 3 && name[length - 3] == '[' && name[length - 1] == ']')
        {
          separator[0] = name[length - 2];
          name[length - 3] = '\0';
        }
      if (name[0] == '\0' || strpbrk (name, "[]") != NULL)
        {
          g_set_error (
              error, DVM_CLI_USAGE_ERROR, 0,
              _ ("option --%s takes NAME VALUE or NAME[c] VALUE, where c is one character that stands between, "
                 "not '%s'"),
              option, values[i]);
          return FALSE;
        }
      add_to (environment, name, separator, text, is_before);
    }
  return TRUE;
}

static void
apply_removals (DvmCliArgs *args, DvmCliEnvironment *environment)
{
  g_autofree const char **patterns = dvm_cli_args_get_all (args, "unset-env");

  for (gsize i = 0; patterns[i] != NULL; i++)
    dvm_cli_environment_unset (environment, patterns[i]);
}

gboolean
dvm_cli_exports_want_ft (DvmCliArgs *job)
{
  static const char *const refusals[] = { "no", "false", "0", NULL };
  const char *wanted = dvm_cli_args_get (job, "with-ft");

  return wanted != NULL && !g_strv_contains (refusals, wanted);
}

gboolean
dvm_cli_exports_apply (DvmCliArgs *job, DvmCliArgs *app, DvmCliEnvironment *environment, GError **error)
{
  /* A parameter that is given as such comes later, and wins. */
  if (dvm_cli_exports_want_ft (job))
    dvm_cli_environment_assign (environment, "OMPI_MCA_mpi_ft_enable=1");
  if (!apply_mca (job, app, environment, error) || !apply_x (job, app, environment, error))
    return FALSE;
  apply_removals (app, environment);
  return apply_directories (app, environment, error) && apply_growth (app, "prepend-env", TRUE, environment, error)
         && apply_growth (app, "append-env", FALSE, environment, error);
}

/* ---- files of --tune ---- */

static gboolean
read_line (const char *line, GPtrArray *words, GError **error)
{
  g_autofree char *text = g_strstrip (g_strdup (line));
  g_auto (GStrv) typed = NULL;
  char *equals;

  if (text[0] == '\0' || text[0] == '#')
    return TRUE;
  if (text[0] == '-')
    {
      if (!g_shell_parse_argv (text, NULL, &typed, error))
        return FALSE;
      for (gsize i = 0; typed[i] != NULL; i++)
        g_ptr_array_add (words, g_strdup (typed[i]));
      return TRUE;
    }
  equals = strchr (text, '=');
  if (equals == NULL || equals == text)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("'%s' is neither an option nor NAME = VALUE"), text);
      return FALSE;
    }
  *equals = '\0';
  g_ptr_array_add (words, g_strdup ("--mca"));
  g_ptr_array_add (words, g_strdup (g_strstrip (text)));
  g_ptr_array_add (words, g_strdup (g_strstrip (equals + 1)));
  return TRUE;
}

char **
dvm_cli_exports_read_tune (const char *path, GError **error)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  gsize length;

  if (!dvm_cli_read_file (path, &text, &length, error))
    return NULL;
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    if (!read_line (lines[i], words, error))
      {
        g_prefix_error (error, "%s:%u: ", path, i + 1);
        return NULL;
      }
  g_ptr_array_add (words, NULL);
  return (char **)g_ptr_array_steal (words, NULL);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parameters of MCA that mean the runtime become options where there is one.
 */

#include "config.h"

#include "dvm-cli-parameters.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-old.h"
#include "dvm-cli-output.h"

/* Frameworks of the runtime that mpirun is, which does not run here */
static const char *const runtime_frameworks[] = { "errmgr", "ess",   "filem",  "grpcomm", "iof",   "odls", "oob",
                                                  "orte",   "plm",   "prte",   "ras",     "rmaps", "rml",  "routed",
                                                  "rtc",    "snapc", "schizo", "sstore",  "state", NULL };

/* Names of Open MPI 4, of PRRTE, and of PRRTE before 4 */
static const struct
{
  const char *names;
  const char *option;
} options[] = {
  { "rmaps_base_mapping_policy rmaps_default_mapping_policy mapby", "map-by" },
  { "rmaps_base_ranking_policy rmaps_default_ranking_policy rankby", "rank-by" },
  { "hwloc_base_binding_policy hwloc_default_binding_policy bindto", "bind-to" },
  { "rtos", "runtime-options" },
  { "display", "display" },
  { "output", "output" },
  { "ess_base_forward_signals", "forward-signals" },
  { "prte_max_vm_size orte_max_vm_size", "max-vm-size" },
  { "orte_default_hostfile prte_default_hostfile", "hostfile" },
};

gboolean
dvm_cli_parameter_is_of_runtime (const char *parameter)
{
  g_autofree char *framework = g_strndup (parameter, strcspn (parameter, "_="));

  return g_strv_contains (runtime_frameworks, framework);
}

/* (nullable) */
static const char *
find_option (const char *parameter)
{
  g_autofree char *name = g_strndup (parameter, strcspn (parameter, "="));

  for (gsize i = 0; i < G_N_ELEMENTS (options); i++)
    {
      g_auto (GStrv) names = g_strsplit (options[i].names, " ", -1);

      if (g_strv_contains ((const char *const *)names, name))
        return options[i].option;
    }
  return NULL;
}

gboolean
dvm_cli_parameter_is_option (const char *parameter)
{
  return find_option (parameter) != NULL;
}

static gboolean
apply_one (DvmCli *cli, const char *typed, const char *parameter, GError **error)
{
  const char *option = find_option (parameter);
  const char *value = strchr (parameter, '=') + 1;

  if (option == NULL || dvm_cli_option_find (cli->verb->options, "mca") == NULL)
    return TRUE;
  if (dvm_cli_option_find (cli->verb->options, option) == NULL)
    {
      dvm_cli_note (cli, _ ("'--%s %.*s' has no effect: 'dvm-cli %s' has no --%s"), typed, (int)(value - 1 - parameter),
                    parameter, cli->verb->name, option);
      return TRUE;
    }
  if (dvm_cli_args_has (cli->args, option))
    {
      dvm_cli_note (cli, _ ("'--%s %.*s' has no effect, for --%s is given"), typed, (int)(value - 1 - parameter),
                    parameter, option);
      return TRUE;
    }
  if (!dvm_cli_args_add (cli->args, cli->verb->options, option, value, error))
    {
      g_prefix_error (error, "--%s %s: ", typed, parameter);
      return FALSE;
    }
  if (!dvm_cli_old_is_hidden ())
    dvm_cli_note (cli, _ ("'--%s %.*s %s' is '--%s %s' today (DVM_NOTICE=no hides this line)"), typed,
                  (int)(value - 1 - parameter), parameter, value, option, value);
  return TRUE;
}

/* The runtime has no variables in the environment of programs: what is no option is told to have no effect. */
static void
tell_rest (DvmCli *cli, const char *typed, const char *parameter)
{
  if (find_option (parameter) == NULL)
    dvm_cli_note (cli,
                  _ ("option --%s %s: this is for the runtime of mpirun, which does not run here; dvm-cli and "
                     "dvm.conf have options and settings of their own"),
                  typed, parameter);
}

gboolean
dvm_cli_parameters_apply (DvmCli *cli, GError **error)
{
  static const char *const families[] = { "mca", "gmca", "prtemca" };

  for (gsize i = 0; i < G_N_ELEMENTS (families); i++)
    {
      g_autofree const char **values = dvm_cli_args_get_all (cli->args, families[i]);

      for (gsize k = 0; values[k] != NULL; k++)
        {
          if (!apply_one (cli, families[i], values[k], error))
            return FALSE;
          if (strcmp (families[i], "prtemca") == 0)
            tell_rest (cli, families[i], values[k]);
        }
    }
  return TRUE;
}

void
dvm_cli_parameters_list (void (*row) (const char *there, const char *here, gpointer user_data), gpointer user_data)
{
  for (gsize i = 0; i < G_N_ELEMENTS (options); i++)
    {
      g_auto (GStrv) names = g_strsplit (options[i].names, " ", -1);
      g_autofree char *there = g_strjoinv (", ", names);
      g_autofree char *here = g_strconcat ("--", options[i].option, NULL);

      row (there, here, user_data);
    }
}

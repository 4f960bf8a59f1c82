/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parameters of MCA that mean the runtime become options where there is one.
 */

#include "config.h"

#include "dvm-cli-parameters.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-caller.h"
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
  const char *setting; /* (nullable): of --set */
  const char *number;  /* (nullable): the setting where the value is a number */
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
  { "plm_rsh_agent plm_ssh_agent orte_rsh_agent", "set", "launcher-command" },
  { "plm_rsh_num_concurrent plm_ssh_num_concurrent", "set", "ssh-concurrency" },
  { "orte_set_default_slots prte_set_default_slots", "set", "default-slots", "slots" },
  { "routed_radix rml_base_radix", "set", "radix" },
};

gboolean
dvm_cli_parameter_is_of_runtime (const char *parameter)
{
  g_autofree char *framework = g_strndup (parameter, strcspn (parameter, "_="));

  return g_strv_contains (runtime_frameworks, framework);
}

/* -1: none */
static int
find_row (const char *parameter)
{
  g_autofree char *name = g_strndup (parameter, strcspn (parameter, "="));

  for (gsize i = 0; i < G_N_ELEMENTS (options); i++)
    {
      g_auto (GStrv) names = g_strsplit (options[i].names, " ", -1);

      if (g_strv_contains ((const char *const *)names, name))
        return (int)i;
    }
  return -1;
}

/* (nullable) */
static const char *
find_option (const char *parameter)
{
  int row = find_row (parameter);

  return row >= 0 ? options[row].option : NULL;
}

/* (nullable) */
static const char *
find_setting (const char *parameter)
{
  int row = find_row (parameter);
  const char *value = strchr (parameter, '=') + 1;
  guint64 number;

  if (row < 0 || options[row].number == NULL || !g_ascii_string_to_unsigned (value, 10, 0, G_MAXUINT32, &number, NULL))
    return row >= 0 ? options[row].setting : NULL;
  return options[row].number;
}

const char *
dvm_cli_parameter_to_option (const char *parameter, char **value)
{
  const char *setting = find_setting (parameter);
  const char *text = strchr (parameter, '=') + 1;

  *value = setting != NULL ? g_strdup_printf ("%s=%s", setting, text) : g_strdup (text);
  return find_option (parameter);
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
  /* Whether a DVM has to be made is not known yet. */
  if (find_setting (parameter) != NULL)
    return TRUE;
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

static const char *const families[] = { "mca", "gmca", "prtemca" };

/* (transfer full) (nullable) */
static char *
make_setting (DvmCli *cli, const char *typed, const char *parameter, gboolean is_private)
{
  g_auto (GStrv) pair = g_strsplit (parameter, "=", 2);
  const char *setting = find_setting (parameter);
  g_autofree char *text = NULL;

  if (setting == NULL)
    return NULL;
  text = g_strdup_printf ("%s=%s", setting, pair[1]);
  if (!is_private)
    dvm_cli_note (cli, _ ("'--%s %s' has no effect: a DVM is running already, and %s is a setting of it"), typed,
                  pair[0], setting);
  else if (!dvm_cli_old_is_hidden ())
    dvm_cli_note (cli, _ ("'--%s %.*s %s' is '--%s %s' today (DVM_NOTICE=no hides this line)"), typed,
                  (int)strlen (pair[0]), pair[0], pair[1], "set", text);
  return g_steal_pointer (&text);
}

char **
dvm_cli_parameters_get_settings (DvmCli *cli, gboolean is_private)
{
  g_autoptr (GStrvBuilder) settings = g_strv_builder_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (families); i++)
    {
      g_autofree const char **values = dvm_cli_args_get_all (cli->args, families[i]);

      for (gsize k = 0; values[k] != NULL; k++)
        {
          g_autofree char *setting = make_setting (cli, families[i], values[k], is_private);

          if (setting != NULL)
            g_strv_builder_add (settings, setting);
        }
    }
  return g_strv_builder_end (settings);
}

/* mpirun and prun take the time limit of a job from there, too; no other launcher does, and dvm-cli does not either. */
static gboolean
apply_timeout (DvmCli *cli, GError **error)
{
  const DvmCliCaller *caller = dvm_cli_caller_find (g_get_prgname ());
  const char *timeout = g_getenv ("MPIEXEC_TIMEOUT");

  if (caller == NULL || caller->is_foreign || strcmp (caller->verb, "run") != 0 || timeout == NULL
      || dvm_cli_args_has (cli->args, "timeout"))
    return TRUE;
  if (dvm_cli_args_add (cli->args, cli->verb->options, "timeout", timeout, error))
    return TRUE;
  g_prefix_error (error, "MPIEXEC_TIMEOUT=%s: ", timeout);
  return FALSE;
}

gboolean
dvm_cli_parameters_apply (DvmCli *cli, GError **error)
{
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
  return apply_timeout (cli, error);
}

void
dvm_cli_parameters_list (void (*row) (const char *there, const char *here, gpointer user_data), gpointer user_data)
{
  for (gsize i = 0; i < G_N_ELEMENTS (options); i++)
    {
      g_auto (GStrv) names = g_strsplit (options[i].names, " ", -1);
      g_autofree char *there = g_strjoinv (", ", names);
      g_autofree char *here = g_strjoin (NULL, "--", options[i].option, options[i].setting != NULL ? " " : NULL,
                                         options[i].setting, "=VALUE", NULL);

      row (there, here, user_data);
    }
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The command line of a private dvmd is made.
 */

#include "config.h"

#include "dvm-cli-private.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-parameters.h"

const DvmCliOption dvm_cli_private_options[] = {
  { "launcher", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL,
    N_ ("without a DVM: what starts the agents, such as local and ssh") },
  { "max-vm-size", 0, "-max-vm-size", DVM_CLI_ARG_COUNT, N_ ("N"), "1000000",
    N_ ("without a DVM: at most N nodes of those that there are") },
  { "set", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NAME=VALUE"), NULL, N_ ("without a DVM: a setting of the private one") },
  { NULL },
};

gboolean
dvm_cli_private_check_unused (DvmCli *cli, GError **error)
{
  g_auto (GStrv) parameters = dvm_cli_parameters_get_settings (cli, FALSE);

  for (const DvmCliOption *option = dvm_cli_private_options; option->name != NULL; option++)
    if (dvm_cli_args_has (cli->args, option->name))
      {
        g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                     _ ("option --%s is for the private DVM of a job, and a DVM is running already"), option->name);
        return FALSE;
      }
  return TRUE;
}

/* Places of the allocation, which there is not yet. */
static gboolean
is_relative (const char *list)
{
  return list[0] == '+' || strstr (list, ",+") != NULL;
}

/*
 * The nodes that all programs of a job name together; lists (nullable): without those of a file, of which they are a
 * choice
 */
typedef struct
{
  const char *hostfile;
  GString *hosts;
  gboolean choose; /* each program with the file names its hosts */
} Nodes;

static gboolean
take_app (Nodes *nodes, DvmAppSpec *app, GError **error)
{
  const char *const *hosts = dvm_app_spec_get_hosts (app);
  const char *file = dvm_app_spec_get_hostfile (app);
  gboolean named = hosts != NULL && hosts[0] != NULL;

  if (file != NULL && nodes->hostfile != NULL && strcmp (file, nodes->hostfile) != 0)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                   _ ("the programs of a job have one hostfile, not %s and %s: no DVM is running that has the nodes of "
                      "both"),
                   nodes->hostfile, file);
      return FALSE;
    }
  nodes->hostfile = file != NULL ? file : nodes->hostfile;
  nodes->choose &= named;
  for (gsize i = 0; named && hosts[i] != NULL; i++)
    {
      g_string_append_printf (nodes->hosts, "%s%s", nodes->hosts->len > 0 ? "," : "", hosts[i]);
      nodes->choose &= !is_relative (hosts[i]);
    }
  return TRUE;
}

static void
take_options (GStrvBuilder *options, DvmCli *cli)
{
  const char *launcher = dvm_cli_args_get (cli->args, "launcher");
  g_autofree const char **settings = dvm_cli_args_get_all (cli->args, "set");
  g_auto (GStrv) parameters = dvm_cli_parameters_get_settings (cli, TRUE);

  for (gsize i = 0; parameters[i] != NULL; i++)
    {
      g_autofree char *option = g_strconcat ("--set=", parameters[i], NULL);

      g_strv_builder_add (options, option);
    }
  for (gsize i = 0; settings[i] != NULL; i++)
    {
      g_autofree char *option = g_strconcat ("--set=", settings[i], NULL);

      g_strv_builder_add (options, option);
    }
  if (dvm_cli_args_has (cli->args, "max-vm-size"))
    {
      g_autofree char *option = g_strconcat ("--set=max-nodes=", dvm_cli_args_get (cli->args, "max-vm-size"), NULL);

      g_strv_builder_add (options, option);
    }
  if (launcher != NULL)
    {
      g_autofree char *option = g_strconcat ("--launcher=", launcher, NULL);

      g_strv_builder_add (options, option);
    }
}

/*
 * A DVM that begins with fewer nodes than are named has none of the others: its job takes those that it has. Lists of
 * several programs that differ stay.
 */
static void
leave_nodes_to_dvm (DvmJobSpec *spec)
{
  guint n_apps = dvm_job_spec_get_n_apps (spec);

  for (guint i = 0; i < n_apps; i++)
    {
      DvmAppSpec *app = dvm_job_spec_get_app (spec, i);
      const char *const *hosts = dvm_app_spec_get_hosts (app);

      if (n_apps > 1 && hosts != NULL && hosts[0] != NULL)
        continue;
      dvm_app_spec_set_hosts (app, NULL);
      dvm_app_spec_set_hostfile (app, NULL);
    }
}

char **
dvm_cli_private_get_options (DvmCli *cli, DvmJobSpec *spec, GError **error)
{
  g_autoptr (GStrvBuilder) options = g_strv_builder_new ();
  g_autoptr (GString) hosts = g_string_new ("--host=");
  Nodes nodes = { .hosts = g_string_new (NULL), .choose = TRUE };
  gboolean ok = TRUE;

  for (guint i = 0; ok && i < dvm_job_spec_get_n_apps (spec); i++)
    ok = take_app (&nodes, dvm_job_spec_get_app (spec, i), error);
  g_string_append (hosts, nodes.hosts->str);
  if (nodes.hosts->len > 0 && (nodes.choose || (nodes.hostfile == NULL && !is_relative (nodes.hosts->str))))
    g_strv_builder_add (options, hosts->str);
  if (nodes.hostfile != NULL)
    {
      g_autofree char *file = g_strconcat ("--hostfile=", nodes.hostfile, NULL);

      g_strv_builder_add (options, file);
    }
  g_string_free (nodes.hosts, TRUE);
  /* The PMIx server of the DVM starts while we connect, not when the job has come. */
  if (g_strcmp0 (dvm_job_spec_get_personality (spec), "plain") != 0)
    g_strv_builder_add (options, "--set=pmix=eager");
  /* It is there for one job, and tools are to find the DVM that the user has begun. */
  g_strv_builder_add (options, "--set=pmix-tools=none");
  take_options (options, cli);
  if (ok && dvm_cli_args_has (cli->args, "max-vm-size"))
    leave_nodes_to_dvm (spec);
  return ok ? g_strv_builder_end (options) : NULL;
}

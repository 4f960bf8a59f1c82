/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli grow: adds nodes to a DVM.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-campaign.h"

static const DvmCliOption options[] = {
  { "hosts", 'H', "--host", DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, N_ ("add these nodes, such as n9:2,n10:2") },
  { "hostfile", 0, "--machinefile", DVM_CLI_ARG_STRING, N_ ("FILE"), NULL, N_ ("add the nodes that a file names") },
  { "count", 'n', NULL, DVM_CLI_ARG_COUNT, N_ ("N"), NULL, N_ ("add so many nodes, which the allocators choose") },
  { "alloc-id", 'a', NULL, DVM_CLI_ARG_STRING, N_ ("ID"), NULL, N_ ("to this allocation (default: a new one)") },
  { "of-req-id", 0, NULL, DVM_CLI_ARG_STRING, N_ ("ID"), NULL, N_ ("to the allocation that this request made") },
  { "req-id", 0, NULL, DVM_CLI_ARG_STRING, N_ ("ID"), NULL, N_ ("a name for this request") },
  { "wait", 'w', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("wait until the nodes are there, and end as that does") },
  { NULL },
};

static int
grow (DvmCli *cli, GError **error)
{
  gboolean named = dvm_cli_args_has (cli->args, "hosts") || dvm_cli_args_has (cli->args, "hostfile");
  g_autofree const char **files = dvm_cli_args_get_all (cli->args, "hostfile");

  if (named && dvm_cli_args_has (cli->args, "count"))
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                 _ ("options --count and --%s cannot go together: nodes are named, or the DVM chooses them"),
                 files[0] != NULL ? "hostfile" : "hosts");
  else if (!named && !dvm_cli_args_has (cli->args, "count"))
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                 _ ("which nodes are to come? --hosts LIST and --hostfile FILE name them, --count N says how many"));
  else if (files[0] != NULL && files[1] != NULL)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --hostfile can be given once"));
  else
    return dvm_cli_change_size (cli, dvm_client_grow, error);
  return DVM_CLI_EXIT_USAGE;
}

const DvmCliVerb dvm_cli_verb_grow = {
  .name = "grow",
  .synopsis = "[OPTION...] --hosts LIST\n[OPTION...] --hostfile FILE\n[OPTION...] --count N",
  .summary = N_ ("add nodes to the DVM; prints the allocation and the campaign"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = grow,
};

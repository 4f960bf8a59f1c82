/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli grow: adds nodes to a DVM.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-campaign.h"
#include "dvm-cli-request.h"

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

/* An allocation that is there can be given more time, or other heirs, alone. */
static gboolean
extends (DvmCliArgs *args)
{
  return (dvm_cli_args_has (args, "alloc-id") || dvm_cli_args_has (args, "of-req-id"))
         && (dvm_cli_args_has (args, "time") || dvm_cli_args_has (args, "warn-timeout")
             || dvm_cli_args_has (args, "inheritance"));
}

static int
grow (DvmCli *cli, GError **error)
{
  if (dvm_cli_args_has (cli->args, "hosts") || dvm_cli_args_has (cli->args, "hostfile")
      || dvm_cli_args_has (cli->args, "count") || extends (cli->args))
    return dvm_cli_change_size (cli, dvm_client_grow, error);
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
               _ ("which nodes are to come? --hosts LIST and --hostfile FILE name them, --count N says how many"));
  return DVM_CLI_EXIT_USAGE;
}

const DvmCliVerb dvm_cli_verb_grow = {
  .name = "grow",
  .synopsis = "[OPTION...] --hosts LIST\n[OPTION...] --hostfile FILE\n[OPTION...] --count N",
  .summary = N_ ("add nodes to the DVM; prints the allocation and the campaign"),
  .options = { options, dvm_cli_allocation_options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = grow,
};

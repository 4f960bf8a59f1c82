/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli shrink: takes nodes out of a DVM.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-campaign.h"

static const DvmCliOption options[] = {
  { "hosts", 'H', "--host", DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, N_ ("these nodes, such as n9,n10") },
  { "alloc-id", 'a', NULL, DVM_CLI_ARG_STRING, N_ ("ID"), NULL, N_ ("all nodes of this allocation") },
  { "of-req-id", 0, NULL, DVM_CLI_ARG_STRING, N_ ("ID"), NULL,
    N_ ("all nodes of the allocation that this request made") },
  { "session", 0, NULL, DVM_CLI_ARG_STRING, N_ ("SESSION"), NULL, N_ ("all nodes of this session's allocation") },
  { "req-id", 0, NULL, DVM_CLI_ARG_STRING, N_ ("ID"), NULL, N_ ("a name for this request") },
  { "drain-timeout", 0, NULL, DVM_CLI_ARG_TIME, N_ ("TIME"), NULL,
    N_ ("let the jobs that run there go on so long, such as 90s, before they are ended (default: 0)") },
  { "wait", 'w', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("wait until the nodes have gone, and end as that does") },
  { NULL },
};

static int
shrink (DvmCli *cli, GError **error)
{
  if (dvm_cli_args_has (cli->args, "hosts") || dvm_cli_args_has (cli->args, "alloc-id")
      || dvm_cli_args_has (cli->args, "of-req-id") || dvm_cli_args_has (cli->args, "session"))
    return dvm_cli_change_size (cli, dvm_client_shrink, error);
  g_set_error (
      error, DVM_CLI_USAGE_ERROR, 0,
      _ ("which nodes are to go? --hosts LIST names them; --alloc-id ID, --of-req-id ID and --session SESSION name "
         "their allocation"));
  return DVM_CLI_EXIT_USAGE;
}

const DvmCliVerb dvm_cli_verb_shrink = {
  .name = "shrink",
  .synopsis =
      "[OPTION...] --hosts LIST\n[OPTION...] --alloc-id ID\n[OPTION...] --of-req-id ID\n[OPTION...] --session SESSION",
  .summary = N_ ("take nodes out of the DVM; prints the allocation and the campaign"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = shrink,
};

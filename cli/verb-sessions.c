/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli sessions: the table of allocations.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-session.h"

static const DvmCliOption options[] = {
  { NULL },
};

const DvmCliVerb dvm_cli_verb_sessions = {
  .name = "sessions",
  .synopsis = "[OPTION...]",
  .summary = N_ ("list the sessions: allocations of nodes; 0 is the default one"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = dvm_cli_list_sessions,
};

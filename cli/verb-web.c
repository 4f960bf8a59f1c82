/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli web: a page that shows the DVM live, and its numbers for Prometheus.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-web-run.h"

static const DvmCliOption options[] = {
  { "port", 'p', NULL, DVM_CLI_ARG_NUMBER, N_ ("PORT"), "65535",
    N_ ("the port to listen at; 0, the default: one that is free") },
  { "address", 'a', NULL, DVM_CLI_ARG_STRING, N_ ("ADDRESS"), NULL,
    N_ ("the address to listen at (default: 127.0.0.1, for this machine alone)") },
  { "token-file", 't', NULL, DVM_CLI_ARG_STRING, N_ ("FILE"), NULL,
    N_ ("the token of those who may read; the file is made if it is not there") },
  { "no-token", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL,
    N_ ("every user of this machine may read (on a loopback address alone)") },
  { "server-name", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL,
    N_ ("a name that browsers may use for this server; repeatable") },
  { NULL },
};

const DvmCliVerb dvm_cli_verb_web = {
  .name = "web",
  .synopsis = "[OPTION...]",
  .summary = N_ ("serve a page that shows the DVM live, and metrics for Prometheus"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = dvm_cli_web_run,
};

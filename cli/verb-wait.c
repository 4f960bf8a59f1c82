/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli wait: waits for jobs and ends as they did.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-exit.h"
#include "dvm-cli-records.h"

static const DvmCliOption options[] = {
  { NULL },
};

static int
wait_for_jobs (DvmCli *cli, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_connect (cli, error);
  g_autoptr (GPtrArray) jobs = NULL;
  int status = DVM_CLI_EXIT_OK;

  if (client == NULL)
    return DVM_CLI_EXIT_DVM_FAILED;
  jobs = dvm_cli_find_jobs (client, dvm_cli_args_get_words (cli->args), error);
  for (guint i = 0; jobs != NULL && i < jobs->len; i++)
    {
      DvmJob *job = g_ptr_array_index (jobs, i);
      int job_status;

      if (!dvm_client_wait (client, job, 0, NULL, error))
        return DVM_CLI_EXIT_DVM_FAILED;
      job_status = dvm_cli_report_end (cli, job);
      status = status == DVM_CLI_EXIT_OK ? job_status : status;
    }
  if (jobs != NULL && cli->json)
    dvm_cli_print_jobs_json (jobs, error);
  return status;
}

const DvmCliVerb dvm_cli_verb_wait = {
  .name = "wait",
  .synopsis = "[OPTION...] JOB...",
  .summary = N_ ("wait for jobs; the exit status is that of the first that failed"),
  .options = { options },
  .min_words = 1,
  .max_words = G_MAXUINT,
  .failure = DVM_CLI_EXIT_DVM_FAILED,
  .run = wait_for_jobs,
};

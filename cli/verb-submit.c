/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli submit: hands a job over, prints its namespace and returns.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-array.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-old.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-spec.h"

/* The answer to a submission is the job's path; its namespace is asked for. */
static DvmJob *
submit_job (DvmCli *cli, DvmClient *client, DvmJobSpec *spec, GError **error)
{
  gboolean ok = dvm_cli_spec_find_sessions (spec, cli->args, client, NULL, error);
  g_autoptr (DvmJob) job = ok ? dvm_client_submit (client, spec, NULL, error) : NULL;

  if (ok && job == NULL)
    dvm_cli_spec_name_place (cli, spec, error);
  return job != NULL ? dvm_client_find_job (client, dvm_job_get_object_path (job), NULL, error) : NULL;
}

/* (nullable) (element-type DvmJob): as the DVM answers them: numbers alone */
static GPtrArray *
submit_array (DvmCli *cli, DvmClient *client, DvmJobSpec *spec, GError **error)
{
  g_autoptr (GPtrArray) specs = g_ptr_array_new ();
  GPtrArray *jobs;

  if (!dvm_cli_spec_find_sessions (spec, cli->args, client, NULL, error))
    return NULL;
  g_ptr_array_add (specs, spec);
  jobs = dvm_client_submit_many (client, specs, NULL, error);
  if (jobs == NULL)
    dvm_cli_spec_name_place (cli, spec, error);
  return jobs;
}

static int
report_array (DvmCli *cli, DvmClient *client, DvmJobSpec *spec, GError **error)
{
  g_autoptr (GPtrArray) jobs = submit_array (cli, client, spec, error);
  g_autoptr (GPtrArray) known = NULL;
  g_autoptr (GPtrArray) listed = NULL;
  g_autofree char *word = NULL;
  g_autofree char *line = NULL;

  if (jobs == NULL)
    return DVM_CLI_EXIT_FAILED;
  word = g_strdup_printf ("array:%u", dvm_job_get_id (jobs->pdata[0]));
  line = g_strdup_printf ("%s\n", word);
  if (cli->json)
    known = dvm_cli_array_find_jobs (client, word, &listed, error);
  if (cli->json ? known == NULL || !dvm_cli_print_jobs_json (known, error) : !dvm_cli_print (line, error))
    return DVM_CLI_EXIT_FAILED;
  return DVM_CLI_EXIT_OK;
}

static int
submit_and_report (DvmCli *cli, GError **error)
{
  /* A submitted job has no terminal: by default its processes read an empty input. */
  g_autoptr (DvmJobSpec) spec = dvm_cli_spec_choose (cli, "none", error);
  g_autoptr (DvmClient) client = spec != NULL ? dvm_cli_connect (cli, error) : NULL;
  g_autoptr (DvmJob) job = NULL;
  g_autofree char *line = NULL;

  if (client != NULL && dvm_job_spec_get_array (spec) != NULL)
    return report_array (cli, client, spec, error);
  job = client != NULL ? submit_job (cli, client, spec, error) : NULL;
  if (job == NULL)
    return DVM_CLI_EXIT_FAILED;
  if (cli->json)
    return dvm_cli_print_job_json (job, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
  line = g_strdup_printf ("%s\n", dvm_job_get_nspace (job));
  return dvm_cli_print (line, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_submit = {
  .name = "submit",
  .synopsis = "[OPTION...] PROGRAM [ARGUMENT...] [: [OPTION...] PROGRAM [ARGUMENT...]]...\n"
              "[OPTION...] --file JOB.json",
  .summary = N_ ("hand a job over, print its namespace and return"),
  .options = { dvm_cli_file_options, dvm_cli_app_options, dvm_cli_add_options, dvm_cli_array_options,
               dvm_cli_job_options, dvm_cli_old_app_options, dvm_cli_old_options, dvm_cli_old_add_options },
  .foreign = &dvm_cli_srun,
  .max_words = G_MAXUINT,
  .flags = DVM_CLI_PARSE_STOP_AT_WORD,
  .failure = DVM_CLI_EXIT_FAILED,
  .run = submit_and_report,
};

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli submit: hands a job over, prints its namespace and returns.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-spec.h"

static const DvmCliOption options[] = {
  { "file", 'f', NULL, DVM_CLI_ARG_STRING, N_ ("JOB.json"), NULL, N_ ("take the job from a file, not from the words") },
  { NULL },
};

/* Nobody is there to feed a submitted job: by default its processes read an empty input. */
static DvmJobSpec *
make_spec (DvmCli *cli, GError **error)
{
  const char *file = dvm_cli_args_get (cli->args, "file");
  guint n_words = dvm_cli_args_get_n_words (cli->args);

  if (file == NULL && n_words > 0)
    return dvm_cli_spec_new (cli, "none", error);
  if (file != NULL && n_words == 0)
    return dvm_cli_spec_new_from_file (cli, file, error);
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, "%s",
               file != NULL ? _ ("a program and --file exclude each other") : _ ("a program is missing"));
  return NULL;
}

/* The answer to a submission is the job's path; its namespace is asked for. */
static DvmJob *
submit_job (DvmClient *client, DvmJobSpec *spec, GError **error)
{
  g_autoptr (DvmJob) job = dvm_client_submit (client, spec, NULL, error);

  return job != NULL ? dvm_client_find_job (client, dvm_job_get_object_path (job), NULL, error) : NULL;
}

static int
submit (DvmCli *cli, GError **error)
{
  g_autoptr (DvmJobSpec) spec = make_spec (cli, error);
  g_autoptr (DvmClient) client = spec != NULL ? dvm_cli_connect (cli, error) : NULL;
  g_autoptr (DvmJob) job = client != NULL ? submit_job (client, spec, error) : NULL;
  g_autofree char *line = NULL;

  if (job == NULL)
    return DVM_CLI_EXIT_FAILED;
  if (cli->json)
    return dvm_cli_print_job_json (job, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
  line = g_strdup_printf ("%s\n", dvm_job_get_nspace (job));
  return dvm_cli_print (line, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_submit = {
  .name = "submit",
  .synopsis = N_ ("[OPTION...] PROGRAM [ARGUMENT...] [: [OPTION...] PROGRAM [ARGUMENT...]]...\n"
                  "[OPTION...] --file JOB.json"),
  .summary = N_ ("hand a job over, print its namespace and return"),
  .options = { options, dvm_cli_app_options, dvm_cli_job_options },
  .max_words = G_MAXUINT,
  .flags = DVM_CLI_PARSE_STOP_AT_WORD,
  .failure = DVM_CLI_EXIT_FAILED,
  .run = submit,
};

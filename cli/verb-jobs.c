/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli jobs: the table of jobs.
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-array.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-exit.h"
#include "dvm-cli-records.h"

static const DvmCliOption options[] = {
  { "all", 'a', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("ended jobs too, as far back as the DVM remembers") },
  { NULL },
};

/* For people; JSON has the whole records. */
static const DvmCliColumn columns[] = {
  { NULL, N_ ("ID"), DVM_CLI_KIND_NUMBER },
  { NULL, N_ ("NAMESPACE"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("STATE"), DVM_CLI_KIND_STATE },
  { NULL, N_ ("SESSION"), DVM_CLI_KIND_TEXT, 4 },
  { NULL, N_ ("PROCS"), DVM_CLI_KIND_NUMBER, 5 },
  { NULL, N_ ("CREATED"), DVM_CLI_KIND_TIME, 1 },
  { NULL, N_ ("ELAPSED"), DVM_CLI_KIND_TEXT, 2 },
  { NULL, N_ ("EXIT"), DVM_CLI_KIND_TEXT, 3 },
  { NULL, N_ ("COMMAND"), DVM_CLI_KIND_TEXT },
  { NULL, N_ ("REASON"), DVM_CLI_KIND_TEXT, 6 },
  { NULL, NULL, 0 },
};

#define N_COLUMNS (G_N_ELEMENTS (columns) - 1)

/* Jobs of one array that wait for the same thing: these are one line. */
static gboolean
are_alike (DvmJob *a, DvmJob *b)
{
  g_autofree char *state = NULL;
  g_autofree char *other = NULL;

  if (dvm_job_get_array_id (a) == 0 || dvm_job_get_array_id (a) != dvm_job_get_array_id (b)
      || dvm_job_get_held_at (a)[0] == '\0' || dvm_job_get_ended (a) || dvm_job_get_ended (b)
      || g_strcmp0 (dvm_job_get_held_at (a), dvm_job_get_held_at (b)) != 0)
    return FALSE;
  state = dvm_cli_describe_state (a);
  other = dvm_cli_describe_state (b);
  return strcmp (state, other) == 0;
}

/* jobs: n_jobs that are alike */
static void
add_jobs (DvmCliTable *table, DvmJob *const *jobs, guint n_jobs, gboolean with_reason)
{
  DvmJob *job = jobs[0];
  g_autofree char *all = n_jobs > 1 ? dvm_cli_array_describe (jobs, n_jobs) : g_strdup (dvm_job_get_nspace (job));
  const char *const sessions[] = { dvm_job_get_session (job), NULL };
  const DvmCliPlain cells[N_COLUMNS] = {
    { .number = dvm_job_get_id (job) },        { g_steal_pointer (&all) },
    { dvm_cli_describe_state (job) },          { dvm_cli_join_ids (sessions) },
    { .number = dvm_job_get_num_procs (job) }, { .number = dvm_job_get_created_at (job) },
    { dvm_cli_describe_elapsed (job) },        { dvm_cli_describe_exit (job) },
    { dvm_cli_describe_command (job) },        { with_reason ? dvm_job_dup_translated_reason (job) : NULL },
  };

  dvm_cli_table_take (table, cells);
}

static int
list_jobs (DvmCli *cli, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_connect (cli, error);
  g_autoptr (DvmCliTable) table = NULL;
  DvmCliColumn shown[N_COLUMNS + 1];
  gboolean all = dvm_cli_args_has (cli->args, "all");
  g_autoptr (GPtrArray) jobs = NULL;
  gboolean ok;

  if (client == NULL)
    return DVM_CLI_EXIT_FAILED;
  jobs = dvm_client_list_jobs (client, all, NULL, error);
  if (jobs == NULL)
    return DVM_CLI_EXIT_FAILED;
  /* One that has not ended has no reason. */
  memcpy (shown, columns, sizeof shown);
  if (!all)
    shown[N_COLUMNS - 1] = shown[N_COLUMNS];
  table = dvm_cli_table_new (shown);
  for (guint i = 0, n; i < jobs->len && !cli->json; i += n)
    {
      for (n = 1; i + n < jobs->len && are_alike (jobs->pdata[i], jobs->pdata[i + n]);)
        n++;
      add_jobs (table, (DvmJob *const *)&jobs->pdata[i], n, all);
    }
  ok = cli->json ? dvm_cli_print_jobs_json (jobs, error) : dvm_cli_print_table (cli, table, error);
  return ok ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

const DvmCliVerb dvm_cli_verb_jobs = {
  .name = "jobs",
  .synopsis = "[OPTION...]",
  .summary = N_ ("list the jobs that have not ended"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = list_jobs,
};

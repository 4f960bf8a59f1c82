/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli wait: waits for jobs and ends as they did.
 */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-array.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-exit.h"
#include "dvm-cli-interrupt.h"
#include "dvm-cli-records.h"

static const DvmCliOption options[] = {
  { NULL },
};

typedef struct
{
  gboolean done;
  GError *error; /* (nullable) */
} Wait;

static void
wait_clear (gpointer data)
{
  g_clear_error (&((Wait *)data)->error);
}

static void
wait_unref (Wait *wait)
{
  g_rc_box_release_full (wait, wait_clear);
}

static void
on_ended (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Wait *wait = user_data;

  dvm_client_wait_finish (DVM_CLIENT (source), result, &wait->error);
  wait->done = TRUE;
  wait_unref (wait);
}

/* (element-type Wait): All at once: the DVM forgets jobs that have ended, but not those that are waited for. */
static GPtrArray *
begin_waits (DvmClient *client, GPtrArray *jobs)
{
  GPtrArray *waits = g_ptr_array_new_with_free_func ((GDestroyNotify)wait_unref);

  for (guint i = 0; i < jobs->len; i++)
    {
      Wait *wait = g_rc_box_new0 (Wait);

      g_ptr_array_add (waits, wait);
      dvm_client_wait_async (client, jobs->pdata[i], 0, NULL, on_ended, g_rc_box_acquire (wait));
    }
  return waits;
}

/* Of a whole array jobs may have ended and been forgotten before somebody waited. */
static gboolean
check_whole_arrays (DvmCli *cli, GPtrArray *jobs, GError **error)
{
  const char *const *words = dvm_cli_args_get_words (cli->args);

  for (gsize i = 0; words[i] != NULL; i++)
    {
      g_auto (DvmCliArray) array = { 0 };
      guint n_found = 0;
      guint n_missing = 0;

      if (!dvm_cli_array_read (words[i], &array) || array.list != NULL)
        continue;
      for (guint k = 0; k < jobs->len; k++)
        if (dvm_job_get_array_id (jobs->pdata[k]) == array.id)
          n_missing = dvm_job_get_array_count (jobs->pdata[k])
                      - MIN (++n_found, dvm_job_get_array_count (jobs->pdata[k]));
      if (n_missing == 0)
        continue;
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
                   g_dngettext (GETTEXT_PACKAGE,
                                "%u job of array %u has ended and been forgotten (history-limit): nobody knows how",
                                "%u jobs of array %u have ended and been forgotten (history-limit): nobody knows how",
                                n_missing),
                   n_missing, array.id);
      return FALSE;
    }
  return TRUE;
}

/* (transfer full) */
static char *
describe_rest (GPtrArray *jobs)
{
  if (jobs->len == 1)
    return g_strdup_printf (_ ("job %s goes on; 'dvm-cli wait %u' waits for it again, 'dvm-cli kill %u' ends it"),
                            dvm_job_get_nspace (jobs->pdata[0]), dvm_job_get_id (jobs->pdata[0]),
                            dvm_job_get_id (jobs->pdata[0]));
  return g_strdup (_ ("the jobs go on; 'dvm-cli jobs' lists them"));
}

static int
wait_for_jobs (DvmCli *cli, GError **error)
{
  g_autoptr (DvmClient) client = dvm_cli_connect (cli, error);
  g_autoptr (GPtrArray) jobs = NULL;
  g_autoptr (GPtrArray) waits = NULL;
  g_autoptr (DvmCliInterrupt) interrupt = NULL;
  int status = DVM_CLI_EXIT_OK;

  if (client == NULL)
    return DVM_CLI_EXIT_DVM_FAILED;
  jobs = dvm_cli_find_jobs (client, dvm_cli_args_get_words (cli->args), error);
  if (jobs == NULL)
    return DVM_CLI_EXIT_DVM_FAILED;
  waits = begin_waits (client, jobs);
  interrupt = dvm_cli_interrupt_new (cli, describe_rest (jobs));
  for (guint i = 0; i < jobs->len; i++)
    {
      Wait *wait = waits->pdata[i];
      int job_status;

      while (!wait->done)
        g_main_context_iteration (NULL, TRUE);
      if (wait->error != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&wait->error));
          return DVM_CLI_EXIT_DVM_FAILED;
        }
      job_status = dvm_cli_report_end (cli, jobs->pdata[i]);
      status = status == DVM_CLI_EXIT_OK ? job_status : status;
    }
  if (!check_whole_arrays (cli, jobs, error))
    return DVM_CLI_EXIT_DVM_FAILED;
  if (cli->json)
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

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli kill: cancels jobs, or sends them a signal.
 */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-array.h"
#include "dvm-cli-connect.h"
#include "dvm-cli-output.h"
#include "dvm-cli-records.h"
#include "dvm-cli-signals.h"

static const DvmCliOption options[] = {
  { "signal", 's', NULL, DVM_CLI_ARG_STRING, N_ ("SIGNAL"), NULL,
    N_ ("send a signal, by name or number (also -KILL, -9), and do not cancel") },
  { "ranks", 'r', NULL, DVM_CLI_ARG_STRING, N_ ("RANKS"), NULL,
    N_ ("with a signal: to these ranks alone, such as 0-3,7") },
  { "list", 'l', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("list the signals") },
  { NULL },
};

/* For JSON alone: what was done to whom. */
static const DvmCliColumn columns[] = {
  { "namespace", NULL, DVM_CLI_KIND_TEXT },
  { "action", NULL, DVM_CLI_KIND_TEXT },
  { "signal", NULL, DVM_CLI_KIND_TEXT },
  { NULL, NULL, 0 },
};

static void
add_killed (DvmCliTable *table, DvmJob *job, const char *action, const char *signal_name)
{
  GVariant *const values[] = {
    g_variant_new_string (dvm_job_get_nspace (job)),
    g_variant_new_string (action),
    g_variant_new_string (signal_name),
  };

  dvm_cli_table_add (table, values);
}

typedef struct
{
  DvmCli *cli;
  DvmClient *client;
  int signum; /* 0: cancel */
  DvmCliTable *table;
  GPtrArray *known; /* (nullable): all jobs, when a word has asked for some of an array */
} Kill;

static gboolean
kill_job (Kill *self, DvmJob *job, GError **error)
{
  const char *ranks = dvm_cli_args_get (self->cli->args, "ranks");
  g_autofree char *name = NULL;

  if (self->signum == 0)
    {
      dvm_cli_tell (self->cli, _ ("cancelling job %s"), dvm_job_get_nspace (job));
      if (!dvm_client_cancel_job (self->client, job, NULL, error))
        return FALSE;
      add_killed (self->table, job, "cancel", "");
      return TRUE;
    }
  name = dvm_cli_signal_name (self->signum);
  dvm_cli_tell (self->cli, _ ("sending %s to job %s"), name, dvm_job_get_nspace (job));
  if (!dvm_client_send_signal (self->client, job, self->signum, ranks, NULL, error))
    return FALSE;
  add_killed (self->table, job, "signal", name);
  return TRUE;
}

/* A whole array is cancelled in one call. */
static gssize
cancel_array (Kill *self, guint id, GError **error)
{
  GVariantDict filter;
  g_autoptr (GVariant) value = NULL;

  g_variant_dict_init (&filter, NULL);
  g_variant_dict_insert (&filter, "array", "u", id);
  value = g_variant_ref_sink (g_variant_dict_end (&filter));
  dvm_cli_tell (self->cli, _ ("cancelling the jobs of array %u"), id);
  return dvm_client_cancel_jobs (self->client, value, NULL, error);
}

static gboolean
has_begun (DvmJob *job)
{
  return !dvm_job_get_ended (job) && dvm_job_get_held_at (job)[0] == '\0';
}

static gboolean
all_have_ended (GPtrArray *jobs)
{
  for (guint i = 0; i < jobs->len; i++)
    if (!dvm_job_get_ended (jobs->pdata[i]))
      return FALSE;
  return TRUE;
}

static gboolean
some_have_begun (GPtrArray *jobs)
{
  for (guint i = 0; i < jobs->len; i++)
    if (has_begun (jobs->pdata[i]))
      return TRUE;
  return FALSE;
}

/* Of the jobs of an array those that have ended are left as they are, and a signal is for those that do not wait. */
static gboolean
kill_array (Kill *self, const char *word, GError **error)
{
  g_auto (DvmCliArray) array = { 0 };
  g_autoptr (GPtrArray) jobs = NULL;
  gboolean in_one_call = dvm_cli_array_read (word, &array) && array.id != 0 && array.list == NULL && self->signum == 0;
  gssize count = in_one_call && !self->cli->json ? cancel_array (self, array.id, error) : 0;
  gboolean passes;

  if (count != 0)
    return count > 0;
  jobs = dvm_cli_array_find_jobs (self->client, word, &self->known, error);
  if (jobs == NULL || (in_one_call && cancel_array (self, array.id, error) < 0))
    return FALSE;
  /* Where all wait, or have ended, the first one says so. */
  if (self->signum != 0 && all_have_ended (jobs))
    return kill_job (self, jobs->pdata[0], error);
  passes = self->signum != 0 && some_have_begun (jobs);
  for (guint i = 0; i < jobs->len; i++)
    if (dvm_job_get_ended (jobs->pdata[i]) || (passes && !has_begun (jobs->pdata[i])))
      continue;
    else if (in_one_call)
      add_killed (self->table, jobs->pdata[i], "cancel", "");
    else if (!kill_job (self, jobs->pdata[i], error))
      return FALSE;
  return TRUE;
}

static gboolean
kill_one (Kill *self, const char *reference, GError **error)
{
  g_auto (DvmCliArray) array = { 0 };
  g_autoptr (DvmJob) job = NULL;

  if (dvm_cli_array_read (reference, &array))
    return kill_array (self, reference, error);
  job = dvm_client_find_job (self->client, reference, NULL, error);
  return job != NULL && kill_job (self, job, error);
}

/* One that fails does not keep the others from being killed. */
static int
kill_all (DvmCli *cli, int signum, GError **error)
{
  const char *const *words = dvm_cli_args_get_words (cli->args);
  g_autoptr (DvmClient) client = dvm_cli_connect (cli, error);
  g_autoptr (DvmCliTable) table = dvm_cli_table_new (columns);
  Kill self = { .cli = cli, .client = client, .signum = signum, .table = table };
  int status = DVM_CLI_EXIT_OK;

  if (client == NULL)
    return DVM_CLI_EXIT_FAILED;
  for (gsize i = 0; words[i] != NULL; i++)
    {
      g_autoptr (GError) local_error = NULL;

      if (kill_one (&self, words[i], &local_error))
        continue;
      dvm_cli_complain ("%s", local_error->message);
      status = DVM_CLI_EXIT_FAILED;
    }
  g_clear_pointer (&self.known, g_ptr_array_unref);
  if (cli->json && !dvm_cli_print_table (cli, table, error))
    return DVM_CLI_EXIT_FAILED;
  return status;
}

static int
kill_verb (DvmCli *cli, GError **error)
{
  const char *name = dvm_cli_args_get (cli->args, "signal");
  int signum = name != NULL ? dvm_cli_signal_from_name (name) : 0;

  if (dvm_cli_args_has (cli->args, "list"))
    {
      g_autofree char *list = cli->json ? dvm_cli_signal_list_json () : dvm_cli_signal_list ();

      return dvm_cli_print (list, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
    }
  if (name != NULL && signum == 0)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("'%s' is no signal; 'dvm-cli kill -l' lists them"), name);
  else if (name == NULL && dvm_cli_args_has (cli->args, "ranks"))
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("--ranks needs a signal: a job is cancelled as a whole"));
  else if (dvm_cli_args_get_n_words (cli->args) == 0)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("a job is missing: dvm-cli kill [-s SIGNAL] JOB..."));
  else
    return kill_all (cli, signum, error);
  return DVM_CLI_EXIT_USAGE;
}

const DvmCliVerb dvm_cli_verb_kill = {
  .name = "kill",
  .synopsis = "[OPTION...] [-s SIGNAL] JOB...\n-l",
  .summary = N_ ("cancel jobs, or send them a signal"),
  .options = { options },
  .max_words = G_MAXUINT,
  .failure = DVM_CLI_EXIT_FAILED,
  .run = kill_verb,
  .rewrite = dvm_cli_signal_rewrite,
};

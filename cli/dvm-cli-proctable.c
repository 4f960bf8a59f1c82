/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A line for each process of a job, in the form that prun has: rank, node, program and number. Debuggers that know no
 * PMIx find by it what to attach to.
 */

#include "config.h"

#include "dvm-cli-proctable.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-cli-output.h"

#define OPTION "output-proctable"

struct _DvmCliProctable
{
  DvmClient *client;
  DvmJob *job;
  DvmJobSpec *spec;  /* unowned */
  const char *where; /* unowned: "-", "+" or a file */
  gulong state_handler;
  gulong number_handler;
  gboolean asked;
  gboolean is_done;
  gboolean is_lost;
  GCancellable *cancellable;
};

static const char *
get_where (DvmCli *cli)
{
  const char *where = dvm_cli_args_get (cli->args, OPTION);

  return where != NULL ? where : "-";
}

gboolean
dvm_cli_proctable_is_given (DvmCli *cli, GError **error)
{
  /* prun 5 has it as a directive to the runtime. */
  if (!dvm_cli_args_move_words (cli->args, "runtime-options", dvm_cli_option_find (cli->verb->options, OPTION), error)
      || !dvm_cli_args_has (cli->args, OPTION))
    return FALSE;
  if (!dvm_cli_is_stream (get_where (cli)))
    return dvm_cli_check_place (OPTION, get_where (cli), error);
  if (!cli->json || strcmp (get_where (cli), "-") != 0)
    return TRUE;
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
               _ ("--output-proctable on standard output and --json exclude each other: --json prints one object; use "
                  "--output-proctable=FILE"));
  return FALSE;
}

static char *
format (DvmCliProctable *self, GPtrArray *procs)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < procs->len; i++)
    {
      const DvmProc *proc = procs->pdata[i];
      DvmAppSpec *app = dvm_job_spec_get_app (self->spec, dvm_proc_get_app (proc));
      const char *node = dvm_proc_get_node (proc);

      /* One that could not be started is none. */
      if (dvm_proc_get_pid (proc) > 0 && app != NULL)
        g_string_append_printf (text, "(rank, host, exe, pid) = (%u, %s, %s, %d)\n", dvm_proc_get_rank (proc), node,
                                dvm_app_spec_get_argv (app)[0], dvm_proc_get_pid (proc));
    }
  return g_string_free (text, FALSE);
}

static void
on_procs (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmCliProctable *self = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) procs = dvm_client_list_procs_finish (DVM_CLIENT (source), result, &error);
  g_autofree char *text = NULL;

  self->is_done = TRUE;
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  text = procs != NULL ? format (self, procs) : NULL;
  self->is_lost = text == NULL || !dvm_cli_write_to (self->where, text, &error);
  if (self->is_lost)
    dvm_cli_complain (_ ("--output-proctable: the processes of the job are not told: %s"), error->message);
}

static gboolean
has_started (DvmJob *job)
{
  switch ((guint)dvm_job_get_state (job))
    {
    case DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE:
      /* Both are 0 until the DVM has told them. */
      return dvm_job_get_num_procs (job) > 0 && dvm_job_get_num_launched (job) == dvm_job_get_num_procs (job);
    case DVM_JOB_STATE_READY_FOR_DEBUG:
    case DVM_JOB_STATE_RUNNING:
    case DVM_JOB_STATE_REGISTERED:
      return TRUE;
    default:
      return dvm_job_get_ended (job) && dvm_job_get_num_launched (job) > 0;
    }
}

static void
check (DvmCliProctable *self)
{
  if (self->asked || !has_started (self->job))
    return;
  self->asked = TRUE;
  dvm_client_list_procs_async (self->client, self->job, NULL, self->cancellable, on_procs, self);
}

static void
on_changed (DvmJob *job, GParamSpec *pspec, gpointer user_data)
{
  check (user_data);
}

DvmCliProctable *
dvm_cli_proctable_new (DvmCli *cli, DvmClient *client, DvmJob *job, DvmJobSpec *spec)
{
  DvmCliProctable *self = g_new0 (DvmCliProctable, 1);

  self->client = g_object_ref (client);
  self->job = g_object_ref (job);
  self->spec = spec;
  self->where = get_where (cli);
  self->cancellable = g_cancellable_new ();
  self->state_handler = g_signal_connect (job, "notify::state", G_CALLBACK (on_changed), self);
  self->number_handler = g_signal_connect (job, "notify::num-launched", G_CALLBACK (on_changed), self);
  check (self);
  return self;
}

gboolean
dvm_cli_proctable_finish (DvmCliProctable *self)
{
  check (self);
  while (self->asked && !self->is_done)
    g_main_context_iteration (NULL, TRUE);
  return !self->is_lost;
}

void
dvm_cli_proctable_free (DvmCliProctable *self)
{
  g_cancellable_cancel (self->cancellable);
  /* The question comes back before its answer has nowhere to go. */
  while (self->asked && !self->is_done)
    g_main_context_iteration (NULL, TRUE);
  g_clear_signal_handler (&self->state_handler, self->job);
  g_clear_signal_handler (&self->number_handler, self->job);
  g_object_unref (self->cancellable);
  g_object_unref (self->client);
  g_object_unref (self->job);
  g_free (self);
}

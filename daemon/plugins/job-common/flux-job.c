/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of an instance of Flux, or of a job in it, as the command flux says them.
 */

#include "config.h"

#include "flux-job.h"

#include <string.h>

#include "environment.h"
#include "resource-set.h"
#include "timed-command.h"

/* Seconds that flux may take, unless the setting "timeout" says something else. */
#define TIMEOUT 30
/* Bytes of what flux says on standard error, in a message. */
#define SHOWN 200
/* Bytes of its output that there are at most: the rest has been dropped. */
#define MOST_OUTPUT (1024 * 1024)

void
flux_job_free (FluxJob *self)
{
  g_clear_pointer (&self->allocation, dvmd_allocation_unref);
  g_clear_pointer (&self->ranks, g_hash_table_unref);
  g_free (self);
}

gboolean
flux_job_is_there (const char *const *environ)
{
  return dvmd_environment_get (environ, "FLUX_URI") != NULL;
}

const char *
flux_job_find_id (const char *const *environ)
{
  return dvmd_environment_get (environ, "FLUX_JOB_ID");
}

typedef struct
{
  char *place; /* the command, for messages */
  char *id;    /* (nullable) */
  char *plugin;
  gboolean in_job;
  guint timeout;
} Asking;

static void
asking_free (gpointer data)
{
  Asking *self = data;

  g_free (self->place);
  g_free (self->id);
  g_free (self->plugin);
  g_free (self);
}

/* ---- the answer ---- */

/* Names what has kept it from answering, with the last thing that it has said. */
static GError *
explain_exit (const char *place, const DvmdPluginOutcome *outcome)
{
  gsize size;
  const char *messages = g_bytes_get_data (outcome->messages, &size);
  gsize start = size > SHOWN ? size - SHOWN : 0;
  g_autofree char *said = size > 0 ? g_utf8_make_valid (messages + start, (gssize)(size - start))
                                   : g_strdup ("nothing");
  g_autofree char *end = outcome->exit_signal != 0 ? g_strdup_printf ("signal %d", outcome->exit_signal)
                                                   : g_strdup_printf ("status %d", outcome->exit_code);

  return g_error_new (DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "“%s” has ended with %s, and said: %s", place, end,
                      g_strstrip (said));
}

static FluxJob *
read_outcome (Asking *self, const DvmdPluginOutcome *outcome, GError **error)
{
  g_autoptr (DvmdNodeTable) table = dvmd_node_table_new ();
  g_autoptr (FluxJob) job = g_new0 (FluxJob, 1);
  gsize length;
  const char *data = g_bytes_get_data (outcome->output, &length);
  g_autofree char *text = g_strndup (length > 0 ? data : "", length);

  if (outcome->exit_code != 0)
    g_propagate_error (error, explain_exit (self->place, outcome));
  else if (length >= MOST_OUTPUT)
    g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                 "“%s” has written 1 MiB or more; a resource set of Flux (RFC 20) is shorter", self->place);
  else
    {
      job->ranks = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
      if (dvmd_resource_set_read (text, self->place, table, job->ranks, self->in_job, &job->expiration, error))
        job->allocation = dvmd_node_table_to_allocation (table, self->id, self->place, error);
    }
  return job->allocation != NULL ? g_steal_pointer (&job) : NULL;
}

static void
on_ended (const DvmdPluginOutcome *outcome, const GError *failed, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  Asking *self = g_task_get_task_data (task);
  FluxJob *job = NULL;
  GError *error = NULL;

  if (failed == NULL)
    job = read_outcome (self, outcome, &error);
  else if (g_error_matches (failed, DVM_ERROR, DVM_ERROR_TIMEOUT))
    error = g_error_new (DVM_ERROR, DVM_ERROR_TIMEOUT,
                         "“%s” has not answered in %u s (%s.timeout); FLUX_URI says which Flux is asked", self->place,
                         self->timeout, self->plugin);
  else
    {
      error = g_error_copy (failed);
      g_prefix_error (&error, "“%s”: ", self->place);
    }
  if (job != NULL)
    g_task_return_pointer (task, job, (GDestroyNotify)flux_job_free);
  else
    g_task_return_error (task, error);
}

/* ---- the question ---- */

char **
flux_job_make_argv (const char *job)
{
  const char *const of_instance[] = { "flux", "resource", "R", "-s", "up", NULL };
  const char *const of_job[] = { "flux", "job", "info", job, "R", NULL };

  return g_strdupv ((char **)(job != NULL ? of_job : of_instance));
}

static void
ask_flux (DvmdPluginHost *host, const char *job, GTask *task)
{
  g_auto (GStrv) argv = flux_job_make_argv (job);
  const DvmdPluginCommand command = { .argv = (const char *const *)argv };
  Asking *self = g_task_get_task_data (task);
  g_autofree char *words = g_strjoinv (" ", (char **)command.argv);
  g_autofree char *setting = g_strconcat (self->plugin, ".timeout", NULL);

  self->place = g_utf8_make_valid (words, -1);
  dvmd_timed_command_run (host, &command, self->timeout, setting, g_task_get_cancellable (task), on_ended, task);
}

static void
start_asking (DvmdPluginHost *host, Asking *self, GTask *task)
{
  g_auto (GStrv) environ = g_get_environ ();
  const char *const ids[] = { "FLUX_JOB_ID", "FLUX_ENCLOSING_ID", NULL };
  const char *id = dvmd_environment_find ((const char *const *)environ, ids, NULL);
  const char *job = flux_job_find_id ((const char *const *)environ);

  self->id = id != NULL ? g_utf8_make_valid (id, -1) : NULL;
  self->in_job = job != NULL;
  ask_flux (host, job, task);
}

void
flux_job_ask_async (DvmdPluginHost *host, const char *plugin, GCancellable *cancellable, GAsyncReadyCallback callback,
                    gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (host, cancellable, callback, user_data);
  const char *limit = dvmd_plugin_host_get_setting (host, "timeout");
  g_autofree char *place = g_strconcat (plugin, ".timeout", NULL);
  Asking *self = g_new0 (Asking, 1);
  GError *error = NULL;

  self->timeout = TIMEOUT;
  self->plugin = g_strdup (plugin);
  g_task_set_task_data (task, self, asking_free);
  if (limit != NULL && !dvmd_environment_parse_number (limit, place, 1, FLUX_JOB_MOST_TIMEOUT, &self->timeout, &error))
    g_task_return_error (task, error);
  else
    start_asking (host, self, g_steal_pointer (&task));
}

FluxJob *
flux_job_ask_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Asks a scheduler, by a command, how long the job of the DVM lasts.
 */

#include "config.h"

#include "time-question.h"

#include "time-left.h"
#include "timed-command.h"

#define TIMEOUT 60

struct _DvmdTimeAsker
{
  gint ref_count;
  const DvmdTimeQuestion *question;
  DvmdPluginHost *host;
  DvmdTimeLeft *time; /* (nullable): NULL: the allocator has gone */
  char *id;
  gboolean has_complained;
};

static void
unref (DvmdTimeAsker *self)
{
  if (--self->ref_count > 0)
    return;
  g_object_unref (self->host);
  g_free (self->id);
  g_free (self);
}

/* The same again is no news. */
static void
complain (DvmdTimeAsker *self, const char *reason)
{
  dvmd_plugin_host_log (self->host, self->has_complained ? G_LOG_LEVEL_DEBUG : G_LOG_LEVEL_MESSAGE,
                        "%s does not say how long job %s lasts: %s; the limit of session 0 stays as it is",
                        self->question->scheduler, self->id, reason);
  self->has_complained = TRUE;
}

static gboolean
read_outcome (DvmdTimeAsker *self, const DvmdPluginOutcome *outcome, gint64 *left, GError **error)
{
  gsize length = 0;
  const char *data = outcome->output != NULL ? g_bytes_get_data (outcome->output, &length) : NULL;
  g_autofree char *text = g_utf8_make_valid (data != NULL ? data : "", (gssize)length);
  g_autofree char *words = dvmd_timed_command_get_words (outcome->messages);

  if (outcome->exit_code == 0)
    return self->question->read (text, self->id, left, error);
  if (outcome->exit_signal != 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "its command was ended by signal %d", outcome->exit_signal);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "its command has ended with status %d, and said: %s",
                 outcome->exit_code, words);
  return FALSE;
}

static void
on_ended (const DvmdPluginOutcome *outcome, const GError *failed, gpointer user_data)
{
  DvmdTimeAsker *self = user_data;
  g_autoptr (GError) error = failed != NULL ? g_error_copy (failed) : NULL;
  gint64 left = -1;

  if (self->time != NULL && error == NULL && read_outcome (self, outcome, &left, &error))
    {
      self->has_complained = FALSE;
      dvmd_time_left_tell (self->time, left);
    }
  else if (self->time != NULL)
    {
      complain (self, error->message);
      dvmd_time_left_wait (self->time);
    }
  unref (self);
}

static void
on_due (gpointer user_data)
{
  DvmdTimeAsker *self = user_data;
  g_auto (GStrv) argv = self->question->make_argv (self->id);
  const DvmdPluginCommand command = { .argv = (const char *const *)argv };
  g_autofree char *setting = g_strconcat (self->question->plugin, ".timeout", NULL);
  guint seconds = dvmd_timed_command_read_seconds (self->host, self->question->plugin, "timeout", 1, TIMEOUT);

  /* It would be an option of the command. */
  if (self->id[0] == '-')
    {
      complain (self, "that is no name of a job");
      return;
    }
  self->ref_count++;
  dvmd_timed_command_run (self->host, &command, seconds, setting, NULL, on_ended, self);
}

DvmdTimeAsker *
dvmd_time_asker_new (DvmdAllocator *allocator, const DvmdTimeQuestion *question, const char *id)
{
  DvmdTimeAsker *self = g_new0 (DvmdTimeAsker, 1);
  g_autofree char *job = g_strdup_printf ("job %s of %s", id, question->scheduler);

  self->ref_count = 1;
  self->question = question;
  self->host = g_object_ref (dvmd_plugin_get_host (allocator));
  self->id = g_strdup (id);
  self->time = dvmd_time_left_new (allocator, question->plugin, job, on_due, self);
  return self;
}

void
dvmd_time_asker_release (DvmdTimeAsker *self)
{
  g_clear_pointer (&self->time, dvmd_time_left_free);
  unref (self);
}

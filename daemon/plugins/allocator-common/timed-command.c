/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A command of a scheduler that is killed when it takes too long.
 */

#include "config.h"

#include "timed-command.h"

#include <string.h>

/* Bytes of what a command says that are shown: its last ones, where the reason is. */
#define SHOWN 300

typedef struct
{
  DvmdTimedCommandEnded ended;
  gpointer user_data;
  char *program;
  char *setting;
  guint seconds;
  guint timer; /* 0: the time is over */
  GCancellable *stop;
  GCancellable *cancellable; /* (nullable): of the caller */
  gulong cancelled;
} Run;

static void
run_free (Run *self)
{
  if (self->timer != 0)
    g_source_remove (self->timer);
  if (self->cancellable != NULL)
    g_cancellable_disconnect (self->cancellable, self->cancelled);
  g_clear_object (&self->cancellable);
  g_object_unref (self->stop);
  g_free (self->program);
  g_free (self->setting);
  g_free (self);
}

static gboolean
on_late (gpointer user_data)
{
  Run *self = user_data;

  self->timer = 0;
  g_cancellable_cancel (self->stop);
  return G_SOURCE_REMOVE;
}

static void
stop_command (GCancellable *cancellable, gpointer stop)
{
  g_cancellable_cancel (stop);
}

static void
on_ran (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Run *self = user_data;
  DvmdPluginOutcome outcome = { 0 };
  g_autoptr (GError) error = NULL;

  dvmd_plugin_host_spawn_finish (DVMD_PLUGIN_HOST (source), result, &outcome, &error);
  if (error != NULL && self->timer == 0)
    {
      g_clear_error (&error);
      error = g_error_new (DVM_ERROR, DVM_ERROR_TIMEOUT, "%s has not ended within %u s (%s)", self->program,
                           self->seconds, self->setting);
    }
  self->ended (&outcome, error, self->user_data);
  dvmd_plugin_outcome_clear (&outcome);
  run_free (self);
}

void
dvmd_timed_command_run (DvmdPluginHost *host, const DvmdPluginCommand *command, guint seconds, const char *setting,
                        GCancellable *cancellable, DvmdTimedCommandEnded ended, gpointer user_data)
{
  Run *self = g_new0 (Run, 1);

  self->ended = ended;
  self->user_data = user_data;
  self->program = g_strdup (command->argv[0]);
  self->setting = g_strdup (setting);
  self->seconds = seconds;
  self->stop = g_cancellable_new ();
  self->timer = g_timeout_add_seconds (seconds, on_late, self);
  if (cancellable != NULL)
    {
      self->cancellable = g_object_ref (cancellable);
      self->cancelled = g_cancellable_connect (cancellable, G_CALLBACK (stop_command), self->stop, NULL);
    }
  dvmd_plugin_host_spawn_async (host, command, self->stop, on_ran, self);
}

guint
dvmd_timed_command_read_seconds (DvmdPluginHost *host, const char *plugin, const char *key, guint least, guint fallback)
{
  const char *setting = dvmd_plugin_host_get_setting (host, key);
  guint64 number;

  if (setting == NULL)
    return fallback;
  if (g_ascii_string_to_unsigned (setting, 10, least, G_MAXINT32, &number, NULL))
    return (guint)number;
  dvmd_plugin_host_log (host, G_LOG_LEVEL_MESSAGE, "%s.%s is “%s”: it is a number of seconds, %u or more; it stays %u",
                        plugin, key, setting, least, fallback);
  return fallback;
}

char *
dvmd_timed_command_get_words (GBytes *messages)
{
  gsize length = 0;
  const char *bytes = messages != NULL ? g_bytes_get_data (messages, &length) : NULL;
  g_autofree char *all = g_strstrip (g_strndup (bytes != NULL ? bytes : "", length));
  gsize n = strlen (all);
  g_autofree char *words = g_utf8_make_valid (all + (n > SHOWN ? n - SHOWN : 0), -1);

  return words[0] != '\0' ? g_strdelimit (g_steal_pointer (&words), "\n", ' ') : g_strdup ("nothing");
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Commands of Slurm: their run, and what they say.
 */

#include "config.h"

#include "slurm-command.h"

#include <string.h>

#include "slurm-environment.h"

/* Bytes of what a command says that are shown: its last ones, where the reason is. */
#define SHOWN 300

char *
slurm_get_words (GBytes *messages)
{
  gsize length = 0;
  const char *bytes = messages != NULL ? g_bytes_get_data (messages, &length) : NULL;
  g_autofree char *all = g_strstrip (g_strndup (bytes != NULL ? bytes : "", length));
  gsize n = strlen (all);
  g_autofree char *words = g_utf8_make_valid (all + (n > SHOWN ? n - SHOWN : 0), -1);

  return words[0] != '\0' ? g_strdelimit (g_steal_pointer (&words), "\n", ' ') : g_strdup ("nothing");
}

/* Seconds that a command may take: those of Slurm give up a slurmctld that does not answer earlier than that. */
#define TIMEOUT 60

typedef struct
{
  SlurmRan ran;
  gpointer user_data;
  char *program;
  GCancellable *stop;
  guint limit;
  guint timer; /* 0: it is over */
} Run;

static gboolean
on_late (gpointer user_data)
{
  Run *run = user_data;

  run->timer = 0;
  g_cancellable_cancel (run->stop);
  return G_SOURCE_REMOVE;
}

static void
on_ran (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Run *run = user_data;
  DvmdPluginOutcome outcome = { 0 };
  g_autoptr (GError) error = NULL;

  dvmd_plugin_host_spawn_finish (DVMD_PLUGIN_HOST (source), result, &outcome, &error);
  if (run->timer != 0)
    g_source_remove (run->timer);
  else if (error != NULL)
    {
      g_clear_error (&error);
      error = g_error_new (DVM_ERROR, DVM_ERROR_TIMEOUT, "%s has not ended within %u s (allocator-slurm.timeout)",
                           run->program, run->limit);
    }
  run->ran (&outcome, error, run->user_data);
  dvmd_plugin_outcome_clear (&outcome);
  g_object_unref (run->stop);
  g_free (run->program);
  g_free (run);
}

static guint
get_limit (DvmdPluginHost *host)
{
  const char *setting = dvmd_plugin_host_get_setting (host, "timeout");
  guint64 limit;

  if (setting == NULL)
    return TIMEOUT;
  if (g_ascii_string_to_unsigned (setting, 10, 1, G_MAXINT32, &limit, NULL))
    return (guint)limit;
  dvmd_plugin_host_log (host, G_LOG_LEVEL_MESSAGE,
                        "allocator-slurm.timeout is “%s”: it is a number of seconds, 1 or more; it stays %u", setting,
                        TIMEOUT);
  return TIMEOUT;
}

void
slurm_run (DvmdPluginHost *host, const char *const *argv, SlurmRan ran, gpointer user_data)
{
  g_auto (GStrv) all = g_get_environ ();
  g_auto (GStrv) environ = slurm_make_environ ((const char *const *)all);
  const DvmdPluginCommand command = { .argv = argv, .environ = (const char *const *)environ };
  Run *run = g_new0 (Run, 1);

  run->ran = ran;
  run->user_data = user_data;
  run->program = g_strdup (argv[0]);
  run->stop = g_cancellable_new ();
  run->limit = get_limit (host);
  run->timer = g_timeout_add_seconds (run->limit, on_late, run);
  dvmd_plugin_host_spawn_async (host, &command, run->stop, on_ran, run);
}

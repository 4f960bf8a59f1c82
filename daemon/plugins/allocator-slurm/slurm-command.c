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

typedef struct
{
  SlurmRan ran;
  gpointer user_data;
} Run;

static void
on_ran (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autofree Run *run = user_data;
  DvmdPluginOutcome outcome = { 0 };
  g_autoptr (GError) error = NULL;

  dvmd_plugin_host_spawn_finish (DVMD_PLUGIN_HOST (source), result, &outcome, &error);
  run->ran (&outcome, error, run->user_data);
  dvmd_plugin_outcome_clear (&outcome);
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
  dvmd_plugin_host_spawn_async (host, &command, NULL, on_ran, run);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/*
 * A command of a scheduler, which may not take for ever.
 */

/* outcome: how it ended; error: (nullable): it did not run, or did not end in time: DVM_ERROR_TIMEOUT. Both are
 * borrowed. */
typedef void (*DvmdTimedCommandEnded) (const DvmdPluginOutcome *outcome, const GError *error, gpointer user_data);

/* ended is called once, later. seconds: after these the command is killed; setting: "PLUGIN.KEY", which says how many
 * they are, for the message; cancellable: (nullable): kills it, too */
void dvmd_timed_command_run (DvmdPluginHost *host, const DvmdPluginCommand *command, guint seconds, const char *setting,
                             GCancellable *cancellable, DvmdTimedCommandEnded ended, gpointer user_data);

/* A setting that is a number of seconds, least or more. plugin: "KIND-NAME"; fallback: what it is when nobody has set
 * it, and when it is no such number, which the log says */
guint dvmd_timed_command_read_seconds (DvmdPluginHost *host, const char *plugin, const char *key, guint least,
                                       guint fallback);

/* The last words of what a command has written, in one line. (transfer full); messages: (nullable) */
char *dvmd_timed_command_get_words (GBytes *messages);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin-host.h"
#include "dvmd-reaper.h"
#include "dvmd-spawn.h"

G_BEGIN_DECLS

/* Processes that plugins start: dvmd_plugin_host_start(). */

/*
 * Starts a command with pipes; ends: ours of its standard input (-1 without), output and error, not blocking.
 * Returns the pid or -1.
 */
pid_t dvmd_host_command_start (DvmdSpawner *spawner, const DvmdPluginCommand *command, gboolean with_input, int ends[3],
                               int *pidfd, GError **error);

typedef struct _DvmdHostProcess DvmdHostProcess;

/* To be called with the number after the last callback: it is to free the process. */
typedef void (*DvmdHostProcessFunc) (guint number, gpointer user_data);

DvmdHostProcess *dvmd_host_process_new (DvmdSpawner *spawner, DvmdReaper *reaper, const DvmdPluginCommand *command,
                                        guint number, GError **error);
void dvmd_host_process_free (DvmdHostProcess *self);

/* To be called right after its start. */
void dvmd_host_process_watch (DvmdHostProcess *self, const DvmdPluginWatch *watch, gpointer user_data,
                              DvmdHostProcessFunc gone, gpointer gone_data);
void dvmd_host_process_give_input (DvmdHostProcess *self, GBytes *input, gboolean last);
void dvmd_host_process_send_signal (DvmdHostProcess *self, int signum);
/* Kills it, and tells of its end at once. */
void dvmd_host_process_give_up (DvmdHostProcess *self);

G_END_DECLS

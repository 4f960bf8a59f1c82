/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin-host.h"
#include "dvmd-reaper.h"
#include "dvmd-spawn.h"

G_BEGIN_DECLS

/* The host of one plugin: the only way by which it starts processes and acts on the system. */

#define DVMD_TYPE_HOST (dvmd_host_get_type ())
G_DECLARE_FINAL_TYPE (DvmdHost, dvmd_host, DVMD, HOST, GObject)

/* id: "mapper-site"; settings: "mapper-site.key" -> value, of all plugins */
DvmdHost *dvmd_host_new (const char *id, GHashTable *settings);

/*
 * Processes on the nodes of agents. start() gives a token for the other two, 0 with error; what becomes of the process
 * is told by dvmd_host_tell_line(), _end() and _lost() with the number, but never from within.
 */
typedef struct
{
  guint64 (*start) (gpointer user_data, guint32 rank, const char *const *argv, DvmdHost *host, guint number,
                    GError **error);
  void (*give_input) (gpointer user_data, guint64 token, GBytes *input, gboolean last);
  void (*send_signal) (gpointer user_data, guint64 token, int signum);
} DvmdHostElsewhere;

/* Both unowned. NULL: no agent can be asked. */
void dvmd_host_set_elsewhere (DvmdHost *self, const DvmdHostElsewhere *elsewhere, gpointer user_data);
void dvmd_host_tell_line (DvmdHost *self, guint number, gboolean is_message, const char *line);
void dvmd_host_tell_end (DvmdHost *self, guint number, const DvmdPluginOutcome *outcome);
void dvmd_host_tell_lost (DvmdHost *self, guint number, const char *reason);

/* Both unowned. NULL ends the commands that still run, and no more are started. */
void dvmd_host_set_processes (DvmdHost *self, DvmdSpawner *spawner, DvmdReaper *reaper);

G_END_DECLS

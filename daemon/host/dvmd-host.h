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

/* Both unowned. NULL ends the commands that still run, and no more are started. */
void dvmd_host_set_processes (DvmdHost *self, DvmdSpawner *spawner, DvmdReaper *reaper);

G_END_DECLS

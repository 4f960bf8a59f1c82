/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin-host.h"
#include "dvmd-reaper.h"
#include "dvmd-spawn.h"

G_BEGIN_DECLS

/* What one plugin may do to the world: the host that it gets from the engine. */

#define DVMD_TYPE_ENGINE_HOST (dvmd_engine_host_get_type ())
G_DECLARE_FINAL_TYPE (DvmdEngineHost, dvmd_engine_host, DVMD, ENGINE_HOST, GObject)

/* id: "mapper-site"; settings: "mapper-site.key" -> value, of all plugins */
DvmdEngineHost *dvmd_engine_host_new (const char *id, GHashTable *settings);

/* Both unowned. NULL ends the commands that still run, and no more are started. */
void dvmd_engine_host_set_processes (DvmdEngineHost *self, DvmdSpawner *spawner, DvmdReaper *reaper);

G_END_DECLS

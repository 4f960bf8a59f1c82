/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-clock.h"
#include "dvmd-reaper.h"
#include "dvmd-spawn.h"

G_BEGIN_DECLS

/* The children of this process: one spawner and one reaper for all of them. */

typedef struct _DvmdHostProcesses DvmdHostProcesses;

/*
 * subreaper: orphans below this process come to it. nspace (nullable): of the DVM whose orphans are ended as soon as
 * they come; NULL: another one in this process sees to them.
 */
DvmdHostProcesses *dvmd_host_processes_new (GMainContext *context, DvmdClock *clock, gboolean subreaper,
                                            const char *nspace, GError **error);
void dvmd_host_processes_free (DvmdHostProcesses *self);
DvmdSpawner *dvmd_host_processes_get_spawner (DvmdHostProcesses *self);
DvmdReaper *dvmd_host_processes_get_reaper (DvmdHostProcesses *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdHostProcesses, dvmd_host_processes_free)

G_END_DECLS

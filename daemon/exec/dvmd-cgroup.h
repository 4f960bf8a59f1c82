/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-clock.h"

G_BEGIN_DECLS

/*
 * Cgroups (version 2) below our own: dvm-PID.SPACE.N, with the number of the pid namespace. Making and removing one
 * costs as much as half a process, so empty ones are kept for the next who asks, and none is made before.
 */

typedef struct _DvmdCgroups DvmdCgroups;
typedef struct _DvmdCgroup DvmdCgroup;

/* Whether cgroups can be used here; nothing is changed. Error: as of dvmd_cgroups_new() */
gboolean dvmd_cgroups_check (GError **error);
/* Error: DVM_ERROR_NOT_SUPPORTED with the reason why cgroups cannot be used here. */
DvmdCgroups *dvmd_cgroups_new (DvmdClock *clock, GError **error);
/* Waits a moment (200 ms at most in all) for cgroups that could not be removed yet. */
void dvmd_cgroups_free (DvmdCgroups *self);

DvmdCgroup *dvmd_cgroups_take (DvmdCgroups *self, GError **error);
/* Nothing may live in it any more. One that is not kept and still busy is removed from the main loop when it can be. */
void dvmd_cgroups_give_back (DvmdCgroups *self, DvmdCgroup *cgroup);

/* The directory, for DvmdSpawnRequest. */
int dvmd_cgroup_get_fd (DvmdCgroup *self);
gboolean dvmd_cgroup_is_empty (DvmdCgroup *self);
/* Elements are pid_t. */
GArray *dvmd_cgroup_list (DvmdCgroup *self);
void dvmd_cgroup_kill (DvmdCgroup *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdCgroups, dvmd_cgroups_free)

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-reaper.h"

G_BEGIN_DECLS

/*
 * Which living processes belong to a job but have left the process groups of its ranks (keys of groups: pid_t). These
 * are descendants of its ranks, and adopted orphans that stand in a session of a rank, carry the mark in their
 * environment, or descend from one that does; also every orphan that nobody knows, if it was started at
 * `since` (ticks of dvmd_proc_get_ticks()) or later. Elements are pid_t.
 * Reads /proc only when a rank lives or there are orphans. n_unclear: orphans, and who descends from them, that cannot
 * be told at this moment because they are between two programs; look again before you say that nothing is left.
 */
GArray *dvmd_leftovers_list (DvmdReaper *reaper, GHashTable *groups, const char *mark, gint64 since, guint *n_unclear);

/* Living processes in these process groups. */
guint dvmd_leftovers_count_groups (GHashTable *groups);

G_END_DECLS

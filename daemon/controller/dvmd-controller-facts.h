/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"

G_BEGIN_DECLS

/* Counts and lists that the bus and PMIx both ask for. */

/* node: (nullable) */
gboolean dvmd_facts_is_up (DvmdNode *node);
/* Has an agent that measures, as one that is drained has, too. node: (nullable) */
gboolean dvmd_facts_may_measure (DvmdNode *node);
/* node: (nullable): NULL: of all nodes */
guint dvmd_facts_count_slots (DvmdNodePool *pool, DvmdNode *node);
/* Slots of nodes that are up and stay, and that no job has; node: likewise */
guint dvmd_facts_count_free_slots (DvmdNodePool *pool, DvmdNode *node);
/* Slots of those of these nodes that are up. */
guint dvmd_facts_count_slots_of (DvmdNodePool *pool, const char *const *names);
/* Free slots of those of these nodes that are up. */
guint dvmd_facts_count_free_slots_of (DvmdNodePool *pool, const char *const *names);
/* (transfer full) (element-type guint): ranks of the job that are on that node, of all nodes with NULL */
GArray *dvmd_facts_list_ranks (DvmdJob *job, DvmdNode *node);
/* (transfer full) (element-type guint): the nodes of those of these ranks that have not ended, each once */
GArray *dvmd_facts_list_running (DvmdJob *job, const GArray *ranks);
/* (transfer full) (element-type utf8): names of the nodes that are up */
GPtrArray *dvmd_facts_list_nodes (DvmdNodePool *pool);
/* (transfer full) (element-type utf8): ids of all allocations */
GPtrArray *dvmd_facts_list_allocations (DvmdCore *core);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-map.h"
#include "dvmd-topology.h"

G_BEGIN_DECLS

/* The cpus of the processes of a map, node by node. Nodes that are alike cost one answer. */
typedef struct _DvmdMapBinder DvmdMapBinder;

/* map: borrowed */
DvmdMapBinder *dvmd_map_binder_new (DvmdMap *map);
void dvmd_map_binder_free (DvmdMapBinder *self);

/*
 * (transfer full) (element-type utf8) (nullable): for each process on the node, in the order of local ranks, what it is
 * bound to: "0-3,8", or NULL. Nodes that are alike have the same array. See dvmd_binding_compute() for the errors.
 */
GPtrArray *dvmd_map_binder_bind (DvmdMapBinder *self, guint node, DvmdTopology *topology, GError **error);

/* (transfer none): the cpus of a node that its processes count for by an answer, "0-3,8"; see dvmd_binding_compute() */
const char *dvmd_map_binder_get_claimed (DvmdMapBinder *self, GPtrArray *lists);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdMapBinder, dvmd_map_binder_free)

G_END_DECLS

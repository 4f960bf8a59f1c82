/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-map.h"
#include "dvmd-topology.h"

G_BEGIN_DECLS

/*
 * The cpus of the processes that a map has on one node: (element-type utf8), one for each of ranks, which are those of
 * dvmd_map_expand_node(); NULL elements are not bound. See dvmd_binding_compute() for the errors.
 */
GPtrArray *dvmd_map_bind_node (DvmdMap *self, guint node, GArray *ranks, DvmdTopology *topology, GError **error);

G_END_DECLS

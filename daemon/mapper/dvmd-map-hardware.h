/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-map-topology.h"
#include "dvmd-topology.h"

G_BEGIN_DECLS

/* Adds the objects of a topology, as mappers see them. */
void dvmd_map_hardware_load (DvmdMapTopology *into, DvmdTopology *topology);
/* (transfer full): one that has them at once; it does not keep the topology */
DvmdMapTopology *dvmd_map_topology_new_for (DvmdTopology *topology);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-map-topology.h"

G_BEGIN_DECLS

/* (element-type GBytes DvmdMapRoom): what was asked for before; it lives as long as the topology */
GHashTable *dvmd_map_topology_get_rooms (DvmdMapTopology *self);

G_END_DECLS

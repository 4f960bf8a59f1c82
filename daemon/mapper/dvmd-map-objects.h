/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-map-topology.h"
#include "dvmd-topology.h"

G_BEGIN_DECLS

/* Adds the objects of a topology, as mappers see them. */
void dvmd_map_objects_add (DvmdMapTopology *into, DvmdTopology *topology);

G_END_DECLS

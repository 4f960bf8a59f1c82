/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The objects of a topology are given to mappers, which do not know hwloc.
 */

#include "config.h"

#include "dvmd-map-hardware.h"

G_STATIC_ASSERT ((int)DVMD_OBJECT_HWTHREAD - DVMD_OBJECT_PACKAGE == (int)DVMD_TOPOLOGY_HWTHREAD);

void
dvmd_map_hardware_load (DvmdMapTopology *into, DvmdTopology *topology)
{
  dvmd_map_topology_add (into, DVMD_OBJECT_NODE, dvmd_topology_get_cpuset (topology));
  for (guint kind = 0; kind < DVMD_N_TOPOLOGY_KINDS; kind++)
    {
      g_auto (GStrv) objects = dvmd_topology_dup_objects (topology, kind);

      for (gsize i = 0; objects[i] != NULL; i++)
        dvmd_map_topology_add (into, DVMD_OBJECT_PACKAGE + kind, objects[i]);
    }
}

/* Everything is there already. */
static void
load_nothing (DvmdMapTopology *into, gpointer user_data)
{
}

DvmdMapTopology *
dvmd_map_topology_new_for (DvmdTopology *topology)
{
  DvmdMapTopology *self = dvmd_map_topology_new (load_nothing, NULL, NULL);

  dvmd_map_hardware_load (self, topology);
  return self;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Mappers see the objects of a topology as plain data.
 */

#include "config.h"

#include "dvmd-map-objects.h"

G_STATIC_ASSERT ((int)DVMD_OBJECT_HWTHREAD - DVMD_OBJECT_PACKAGE == (int)DVMD_TOPOLOGY_HWTHREAD);

void
dvmd_map_objects_add (DvmdMapTopology *into, DvmdTopology *topology)
{
  dvmd_map_topology_add (into, DVMD_OBJECT_NODE, dvmd_topology_get_cpuset (topology));
  for (guint kind = 0; kind < DVMD_N_TOPOLOGY_KINDS; kind++)
    {
      g_auto (GStrv) objects = dvmd_topology_dup_objects (topology, kind);

      /* Some virtual machines show no cores: each hardware thread is one, as for the binding. */
      if (kind == DVMD_TOPOLOGY_CORE && objects[0] == NULL)
        {
          g_strfreev (objects);
          objects = dvmd_topology_dup_objects (topology, DVMD_TOPOLOGY_HWTHREAD);
        }

      for (gsize i = 0; objects[i] != NULL; i++)
        dvmd_map_topology_add (into, DVMD_OBJECT_PACKAGE + kind, objects[i]);
    }
}

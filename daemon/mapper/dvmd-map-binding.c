/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A map and the hardware of a node give the cpus of the processes there, for the controller and for the agents.
 */

#include "config.h"

#include "dvmd-map-binding.h"

#include "dvmd-binding.h"

GPtrArray *
dvmd_map_bind_node (DvmdMap *self, guint node, GArray *ranks, DvmdTopology *topology, GError **error)
{
  g_autofree DvmdBindingPlace *places = g_new (DvmdBindingPlace, ranks->len);
  const DvmdBindingRequest request = {
    .topology = topology,
    .policy = &self->binding,
    .excluded = dvmd_map_get_excluded (self, node),
    .places = places,
    .n_places = ranks->len,
    .cpusets = (const char *const *)self->cpusets->pdata,
    .n_cpusets = self->cpusets->len,
  };

  for (guint i = 0; i < ranks->len; i++)
    places[i] = g_array_index (ranks, DvmdMapRank, i).place;
  return dvmd_binding_compute (&request, error);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A map and the hardware of a node give the cpus of the processes there, for the controller and for the agents.
 */

#include "config.h"

#include "dvmd-map-binding.h"

#include <string.h>

#include "dvmd-binding.h"

struct _DvmdMapBinder
{
  DvmdMap *map;
  /* Of the last node. */
  DvmdTopology *topology; /* (nullable): there was none */
  GArray *places;         /* DvmdBindingPlace */
  const char *excluded;
  GPtrArray *lists;
};

DvmdMapBinder *
dvmd_map_binder_new (DvmdMap *map)
{
  DvmdMapBinder *self = g_new0 (DvmdMapBinder, 1);

  self->map = map;
  return self;
}

static void
forget_last (DvmdMapBinder *self)
{
  g_clear_pointer (&self->topology, dvmd_topology_unref);
  g_clear_pointer (&self->places, g_array_unref);
  g_clear_pointer (&self->lists, g_ptr_array_unref);
}

void
dvmd_map_binder_free (DvmdMapBinder *self)
{
  forget_last (self);
  g_free (self);
}

static GArray *
list_places (DvmdMap *map, guint node)
{
  g_autoptr (GArray) ranks = dvmd_map_expand_node (map, node);
  GArray *places = g_array_sized_new (FALSE, FALSE, sizeof (DvmdBindingPlace), ranks->len);

  for (guint i = 0; i < ranks->len; i++)
    g_array_append_val (places, g_array_index (ranks, DvmdMapRank, i).place);
  return places;
}

static gboolean
is_like_the_last (DvmdMapBinder *self, GArray *places, const char *excluded, DvmdTopology *topology)
{
  return self->topology == topology && self->places->len == places->len && g_strcmp0 (self->excluded, excluded) == 0
         && memcmp (self->places->data, places->data, places->len * sizeof (DvmdBindingPlace)) == 0;
}

GPtrArray *
dvmd_map_binder_bind (DvmdMapBinder *self, guint node, DvmdTopology *topology, GError **error)
{
  g_autoptr (GArray) places = list_places (self->map, node);
  const DvmdBindingRequest request = {
    .topology = topology,
    .policy = &self->map->binding,
    .excluded = dvmd_map_get_excluded (self->map, node),
    .places = (const DvmdBindingPlace *)places->data,
    .n_places = places->len,
    .cpusets = (const char *const *)self->map->cpusets->pdata,
    .n_cpusets = self->map->cpusets->len,
  };

  if (is_like_the_last (self, places, request.excluded, topology))
    return g_ptr_array_ref (self->lists);
  forget_last (self);
  self->lists = dvmd_binding_compute (&request, error);
  if (self->lists == NULL)
    return NULL;
  self->topology = dvmd_topology_ref (topology);
  self->places = g_steal_pointer (&places);
  self->excluded = request.excluded;
  return g_ptr_array_ref (self->lists);
}

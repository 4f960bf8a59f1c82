/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * People are shown the cpus that the agents bind processes to.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-cpus.h"

#include <string.h>

#include "dvmd-controller-map.h"
#include "dvmd-map-binding.h"

struct _DvmdControllerCpus
{
  DvmdController *controller; /* (nullable): unowned; of a plan it is that */
  DvmdPlan *plan;
  DvmdMap *map;      /* (nullable): borrowed */
  GHashTable *nodes; /* rank of an agent -> GPtrArray of lists, NULL: not known */
  /* Of the node before: like nodes follow each other, and have the same answer. */
  DvmdTopology *topology;
  GArray *ranks;
  guint node;
  GPtrArray *lists;
};

static void
unref_lists (gpointer lists)
{
  if (lists != NULL)
    g_ptr_array_unref (lists);
}

DvmdControllerCpus *
dvmd_controller_cpus_new (DvmdController *controller, DvmdMap *map)
{
  DvmdControllerCpus *self = g_new0 (DvmdControllerCpus, 1);

  self->controller = controller;
  self->map = map;
  self->nodes = g_hash_table_new_full (NULL, NULL, NULL, unref_lists);
  return self;
}

DvmdControllerCpus *
dvmd_controller_cpus_new_for_plan (DvmdPlan *plan, DvmdMap *map)
{
  DvmdControllerCpus *self = dvmd_controller_cpus_new (NULL, map);

  self->plan = plan;
  return self;
}

void
dvmd_controller_cpus_free (DvmdControllerCpus *self)
{
  g_hash_table_unref (self->nodes);
  g_clear_pointer (&self->ranks, g_array_unref);
  unref_lists (self->lists);
  g_free (self);
}

static gboolean
is_like_the_last (DvmdControllerCpus *self, guint node, GArray *ranks, DvmdTopology *topology)
{
  if (self->ranks == NULL || self->topology != topology || self->ranks->len != ranks->len
      || g_strcmp0 (dvmd_map_get_excluded (self->map, self->node), dvmd_map_get_excluded (self->map, node)) != 0)
    return FALSE;
  for (guint i = 0; i < ranks->len; i++)
    {
      const DvmdBindingPlace *place = &g_array_index (ranks, DvmdMapRank, i).place;
      const DvmdBindingPlace *last = &g_array_index (self->ranks, DvmdMapRank, i).place;

      if (place->kind != last->kind || place->object != last->object)
        return FALSE;
    }
  return TRUE;
}

/* (transfer full) (nullable) */
static GPtrArray *
bind_node (DvmdControllerCpus *self, guint node)
{
  DvmdTopology *topology = self->plan != NULL ? dvmd_plan_find_topology (self->plan, node)
                                              : dvmd_controller_find_topology (self->controller, node);
  g_autoptr (GArray) ranks = NULL;

  if (topology == NULL)
    return NULL;
  ranks = dvmd_map_expand_node (self->map, node);
  if (!is_like_the_last (self, node, ranks, topology))
    {
      unref_lists (self->lists);
      self->lists = dvmd_map_bind_node (self->map, node, ranks, topology, NULL);
      g_clear_pointer (&self->ranks, g_array_unref);
      self->ranks = g_steal_pointer (&ranks);
      self->topology = topology;
      self->node = node;
    }
  return self->lists != NULL ? g_ptr_array_ref (self->lists) : NULL;
}

const char *
dvmd_controller_cpus_get (DvmdControllerCpus *self, guint node, guint local_rank)
{
  gpointer lists;
  const char *list = NULL;

  if (self->map == NULL || self->map->binding.bind_to == DVMD_KIND_NODE)
    return "";
  if (!g_hash_table_lookup_extended (self->nodes, GUINT_TO_POINTER (node), NULL, &lists))
    {
      lists = bind_node (self, node);
      g_hash_table_insert (self->nodes, GUINT_TO_POINTER (node), lists);
    }
  if (lists != NULL && local_rank < ((GPtrArray *)lists)->len)
    list = g_ptr_array_index ((GPtrArray *)lists, local_rank);
  return list != NULL ? list : "";
}

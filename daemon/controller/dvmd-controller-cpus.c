/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * People are shown the cpus that the agents bind processes to, and the objects that these were placed on.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-cpus.h"

#include "dvmd-binding.h"
#include "dvmd-controller-map.h"
#include "dvmd-map-binding.h"

struct _DvmdControllerCpus
{
  DvmdController *controller; /* (nullable): unowned; of a plan it is that */
  DvmdPlan *plan;
  DvmdMapBinder *binder; /* (nullable): there is no map, or nothing is bound */
  DvmdMap *map;          /* (nullable) */
  GArray *places;        /* (nullable): DvmdBindingPlace by rank, when objects are asked for */
  GHashTable *nodes;     /* rank of an agent -> GPtrArray of lists, NULL: not known */
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
  if (map != NULL && dvmd_map_binds (map))
    self->binder = dvmd_map_binder_new (map);
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
  g_clear_pointer (&self->binder, dvmd_map_binder_free);
  g_clear_pointer (&self->places, g_array_unref);
  g_free (self);
}

/* (transfer full) (nullable) */
static GPtrArray *
bind_node (DvmdControllerCpus *self, guint node)
{
  DvmdTopology *topology = self->plan != NULL ? dvmd_plan_find_topology (self->plan, node)
                                              : dvmd_controller_find_topology (self->controller, node);

  return topology != NULL ? dvmd_map_binder_bind (self->binder, node, topology, NULL) : NULL;
}

const char *
dvmd_controller_cpus_get (DvmdControllerCpus *self, guint node, guint local_rank)
{
  gpointer lists;
  const char *list = NULL;

  if (self->binder == NULL)
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

char *
dvmd_controller_cpus_dup_object (DvmdControllerCpus *self, guint rank)
{
  if (self->places == NULL && self->map != NULL)
    self->places = dvmd_map_list_places (self->map);
  /* Without objects it is not looked at again. */
  self->map = NULL;
  return self->places != NULL && rank < self->places->len
             ? dvmd_binding_describe_place (&g_array_index (self->places, DvmdBindingPlace, rank))
             : g_strdup ("");
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * People see what nodes are made of: the objects of each topology, and which nodes have it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-topologies.h"

#include "dvmd-binding.h"
#include "dvmd-controller-map.h"

/* Nodes that are alike. */
typedef struct
{
  DvmdTopology *topology; /* borrowed */
  GPtrArray *names;       /* borrowed */
} Group;

typedef struct
{
  DvmdController *controller;
  DvmdPlan *plan; /* (nullable) */
  GPtrArray *groups;
  GHashTable *by_signature; /* -> Group */
} Lister;

static void
group_free (gpointer data)
{
  Group *group = data;

  g_ptr_array_unref (group->names);
  g_free (group);
}

static Group *
get_group (Lister *self, DvmdTopology *topology)
{
  const char *signature = dvmd_topology_get_signature (topology);
  Group *group = g_hash_table_lookup (self->by_signature, signature);

  if (group != NULL)
    return group;
  group = g_new0 (Group, 1);
  group->topology = topology;
  group->names = g_ptr_array_new ();
  g_ptr_array_add (self->groups, group);
  g_hash_table_insert (self->by_signature, (gpointer)signature, group);
  return group;
}

/* A node of which that is not known yet is left out. */
static void
add_node (Lister *self, DvmdNodePool *pool, guint rank)
{
  DvmdTopology *topology = self->plan != NULL ? dvmd_plan_find_topology (self->plan, rank)
                                              : dvmd_controller_find_topology (self->controller, rank);

  if (topology != NULL)
    g_ptr_array_add (get_group (self, topology)->names, (gpointer)dvmd_node_pool_get_name (pool, rank));
}

static void
add_nodes (Lister *self, DvmdNodePool *pool, const char *const *names)
{
  for (gsize i = 0; names != NULL && names[i] != NULL; i++)
    {
      DvmdNode *node = dvmd_node_pool_find (pool, names[i]);

      /* It may have left. */
      if (node != NULL)
        add_node (self, pool, node->rank);
    }
  for (guint rank = 1; names == NULL && rank <= dvmd_node_pool_get_max_rank (pool); rank++)
    if (dvmd_node_pool_get (pool, rank) != NULL)
      add_node (self, pool, rank);
}

static void
add_objects (GVariantBuilder *builder, DvmdTopology *topology)
{
  g_variant_builder_open (builder, G_VARIANT_TYPE ("a{sas}"));
  for (guint kind = 0; kind < DVMD_N_TOPOLOGY_KINDS; kind++)
    {
      g_auto (GStrv) objects = dvmd_topology_dup_objects (topology, kind);

      g_variant_builder_add (builder, "{s^as}", dvmd_binding_get_kind_name (1 + kind), objects);
    }
  g_variant_builder_close (builder);
}

static GVariant *
describe_groups (GPtrArray *groups)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(sasa{sas})"));
  for (guint i = 0; i < groups->len; i++)
    {
      Group *group = groups->pdata[i];

      g_ptr_array_add (group->names, NULL);
      g_variant_builder_open (&builder, G_VARIANT_TYPE ("(sasa{sas})"));
      g_variant_builder_add (&builder, "s", dvmd_topology_get_signature (group->topology));
      g_variant_builder_add (&builder, "^as", group->names->pdata);
      add_objects (&builder, group->topology);
      g_variant_builder_close (&builder);
    }
  return g_variant_builder_end (&builder);
}

GVariant *
dvmd_controller_list_topologies (DvmdController *self, DvmdPlan *plan, const char *const *names)
{
  DvmdCore *core = plan != NULL ? dvmd_plan_get_core (plan) : dvmd_controller_get_core (self);
  g_autoptr (GPtrArray) groups = g_ptr_array_new_with_free_func (group_free);
  g_autoptr (GHashTable) by_signature = g_hash_table_new (g_str_hash, g_str_equal);
  Lister lister = { .controller = self, .plan = plan, .groups = groups, .by_signature = by_signature };

  add_nodes (&lister, dvmd_core_get_nodes (core), names);
  return describe_groups (groups);
}

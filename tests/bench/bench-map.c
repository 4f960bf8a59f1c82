/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/*
 * The cost of placing the processes of a job (P12), and the size of the map that travels: the compact form alone, then
 * with every rank expanded, and the part that one agent expands. No arguments.
 */

#include "config.h"

#include <stdio.h>

#include "dvmd-map-binding.h"
#include "dvmd-map-driver.h"
#include "dvmd-map-objects.h"
#include "dvmd-plugins.h"

/* 128 cores. */
#define MACHINE "package:2 numa:4 l3:2 core:8 pu:2"

typedef struct
{
  GPtrArray *mappers;
  const char *map_by;
  DvmdMapRequest request;
  DvmdMapNode *nodes;
  guint np;
  DvmdTopology *topology;
  DvmdMapTopology *objects;
} Bench;

static double
since (gint64 begin, guint times)
{
  return (g_get_monotonic_time () - begin) / 1000.0 / times;
}

static void
load_objects (DvmdMapTopology *into, gpointer topology)
{
  dvmd_map_objects_add (into, topology);
}

static void
bench_init (Bench *self, GPtrArray *mappers, const char *map_by, guint n_nodes, guint per_node)
{
  *self = (Bench){ .mappers = mappers, .map_by = map_by, .np = n_nodes * per_node };
  self->nodes = g_new0 (DvmdMapNode, n_nodes);
  self->topology = dvmd_topology_new_from_synthetic (MACHINE, NULL);
  self->objects = dvmd_map_topology_new (load_objects, self->topology, NULL);
  for (guint i = 0; i < n_nodes; i++)
    self->nodes[i] = (DvmdMapNode){ .name = "node", .rank = i + 1, .limit = per_node, .topology = self->objects };
  self->request = (DvmdMapRequest){
    .app_np = &self->np,
    .n_apps = 1,
    .nodes = self->nodes,
    .n_nodes = n_nodes,
  };
}

static DvmdMap *
make_map (Bench *self)
{
  const DvmdMapWishes wishes = { .map_by = self->map_by, .binds = TRUE };
  g_autoptr (GError) error = NULL;
  DvmdMap *map = dvmd_map_driver_map (self->mappers, &wishes, &self->request, NULL, &error);

  if (map == NULL)
    g_error ("%s", error->message);
  return map;
}

/* The cpus of each process of all nodes. */
static void
bind_nodes (Bench *self, DvmdMap *map)
{
  g_autoptr (DvmdMapBinder) binder = dvmd_map_binder_new (map);
  g_autoptr (GArray) nodes = dvmd_map_get_nodes (map);

  for (guint i = 0; i < nodes->len; i++)
    {
      g_autoptr (GPtrArray) cpus = dvmd_map_binder_bind (binder, g_array_index (nodes, guint, i), self->topology, NULL);

      if (cpus == NULL)
        g_error ("node %u is not bound", i);
    }
}

static void
run (GPtrArray *mappers, const char *map_by, guint n_nodes, guint per_node, guint times)
{
  Bench bench;
  double compact;
  double expanded;
  double own;
  double bound;
  gint64 begin;
  g_autoptr (DvmdMap) map = NULL;
  g_autoptr (GVariant) variant = NULL;

  bench_init (&bench, mappers, map_by, n_nodes, per_node);
  begin = g_get_monotonic_time ();
  for (guint i = 0; i < times; i++)
    dvmd_map_free (make_map (&bench));
  compact = since (begin, times);

  map = make_map (&bench);
  begin = g_get_monotonic_time ();
  for (guint i = 0; i < times; i++)
    dvmd_proc_table_free (dvmd_map_expand (map));
  expanded = since (begin, times);

  begin = g_get_monotonic_time ();
  for (guint i = 0; i < times; i++)
    bind_nodes (&bench, map);
  bound = since (begin, times);

  variant = g_variant_ref_sink (dvmd_map_to_variant (map));
  begin = g_get_monotonic_time ();
  for (guint i = 0; i < times; i++)
    {
      g_autoptr (DvmdMap) read = dvmd_map_new_from_variant (variant, NULL);

      g_array_unref (dvmd_map_expand_node (read, n_nodes / 2));
    }
  own = since (begin, times);
  printf ("%-20s %6u x %-4u  compact %7.3f ms, expanded %8.3f ms, with cpus %8.3f ms, one agent's share %6.3f ms, %u "
          "rows, %" G_GSIZE_FORMAT " bytes\n",
          map_by, n_nodes, per_node, compact, compact + expanded, compact + expanded + bound, own, map->rows->len,
          g_variant_get_size (variant));
  g_free (bench.nodes);
  dvmd_map_topology_free (bench.objects);
  dvmd_topology_unref (bench.topology);
}

int
main (void)
{
  const DvmdPluginsSettings none = { 0 };
  g_autoptr (DvmdPlugins) plugins = dvmd_plugins_new (&none, NULL);
  GPtrArray *mappers = dvmd_plugins_get_active (plugins, DVMD_PLUGIN_MAPPER);
  const char *const ways[] = { "slot", "node", "ppr:128:node", "core", "package", "numa:SPAN", "ppr:8:l3cache" };

  for (gsize i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      /* A node must have slots for all that ppr asks for. */
      if (!g_str_has_prefix (ways[i], "ppr:"))
        run (mappers, ways[i], 1, 4, 10000);
      run (mappers, ways[i], 1000, 128, 20);
      run (mappers, ways[i], 10000, 128, 5);
    }
  return 0;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs on machines that are not there, for the tests of placement.
 */

#include "config.h"

#include "offline-job.h"

#include <string.h>

#include "dvmd-map-binding.h"
#include "dvmd-map-objects.h"
#include "dvmd-plugins.h"

static void
node_clear (gpointer data)
{
  OfflineNode *self = data;

  g_clear_pointer (&self->name, g_free);
  g_clear_pointer (&self->objects, dvmd_map_topology_free);
  g_clear_pointer (&self->topology, dvmd_topology_unref);
  g_clear_pointer (&self->in_use, dvmd_cpuset_free);
  g_clear_pointer (&self->devices_in_use, dvmd_cpuset_free);
}

void
offline_job_init (OfflineJob *self, GPtrArray *mappers)
{
  *self = (OfflineJob){ .mappers = mappers };
  self->nodes = g_array_new (FALSE, TRUE, sizeof (OfflineNode));
  g_array_set_clear_func (self->nodes, node_clear);
  self->app_np = g_array_new (FALSE, TRUE, sizeof (guint32));
}

void
offline_job_clear (OfflineJob *self)
{
  g_clear_pointer (&self->nodes, g_array_unref);
  g_clear_pointer (&self->app_np, g_array_unref);
  g_clear_pointer (&self->app_limits, g_array_unref);
  g_clear_pointer (&self->app_wishes, g_array_unref);
}

/* ---- machines ---- */

static GHashTable *
get_machines (void)
{
  static GHashTable *machines; /* text -> DvmdTopology; as long as the program */

  if (machines == NULL)
    machines = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)dvmd_topology_unref);
  return machines;
}

/* (transfer full): a network card is near each of these lists of cpus, net0 and so on in the order of the bus */
static char *
describe_cards (const char *synthetic, char **lists)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdTopology) bare = dvmd_topology_new_from_synthetic (synthetic, &error);
  g_autofree char *xml = NULL;
  g_autoptr (GString) cards = g_string_new (NULL);
  char *root;

  g_assert_no_error (error);
  xml = dvmd_topology_dup_xml (bare, NULL);
  for (guint i = 0; lists[i] != NULL; i++)
    g_string_append_printf (cards, "<info name=\"DvmDevice\" value=\"1 0000:%02x:00.0 - - - %s net%u\"/>", i + 1,
                            lists[i], i);
  root = strchr (strstr (xml, "<object type=\"Machine\""), '>') + 1;
  return g_strdup_printf ("%.*s%s%s", (int)(root - xml), xml, cards->str, root);
}

/* "gpus.xml" is one of the folder machines; "package:2 core:4 pu:1 | 0-3 4" has two network cards. */
static DvmdTopology *
load_machine (const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text, " | ", 2);
  g_auto (GStrv) lists = g_strsplit (parts[1] != NULL ? parts[1] : "", " ", -1);
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "machines", text, NULL);
  g_autofree char *xml = NULL;
  g_autoptr (GError) error = NULL;
  DvmdTopology *topology;
  gsize length = 0;

  if (g_str_has_suffix (text, ".xml"))
    g_file_get_contents (path, &xml, &length, &error);
  else if (parts[1] != NULL)
    {
      xml = describe_cards (parts[0], lists);
      length = strlen (xml);
    }
  g_assert_no_error (error);
  topology = xml != NULL ? dvmd_topology_new_from_xml (xml, length, &error)
                         : dvmd_topology_new_from_synthetic (text, &error);
  g_assert_no_error (error);
  return topology;
}

static void
load_objects (DvmdMapTopology *into, gpointer topology)
{
  dvmd_map_objects_add (into, topology);
}

OfflineNode *
offline_job_add_node (OfflineJob *self, const char *name, const char *synthetic, guint slots)
{
  DvmdTopology *topology = g_hash_table_lookup (get_machines (), synthetic);
  OfflineNode node = { .name = g_strdup (name), .slots = slots };

  if (topology == NULL)
    {
      topology = load_machine (synthetic);
      g_hash_table_insert (get_machines (), g_strdup (synthetic), topology);
    }
  node.topology = dvmd_topology_ref (topology);
  node.objects = dvmd_map_topology_new (load_objects, topology, NULL);
  g_array_append_val (self->nodes, node);
  return &g_array_index (self->nodes, OfflineNode, self->nodes->len - 1);
}

/* ---- mapping ---- */

/* (transfer full): like nodes share one hardware */
static DvmdMapNode *
offer_nodes (OfflineJob *self)
{
  DvmdMapNode *nodes = g_new0 (DvmdMapNode, self->nodes->len + 1);

  for (guint i = 0; i < self->nodes->len; i++)
    {
      const OfflineNode *node = &g_array_index (self->nodes, OfflineNode, i);

      nodes[i] = (DvmdMapNode){
        .name = node->name,
        .rank = i + 1,
        .slots = node->slots,
        .slots_max = node->slots_max,
        .limit = node->slots,
        .most = node->slots_max > 0 ? node->slots_max : G_MAXUINT32,
        .signature = dvmd_topology_get_signature (node->topology),
        .topology = node->objects,
        .in_use = node->in_use,
        .devices_in_use = node->devices_in_use,
        .is_local = node->is_local,
        .aliases = node->aliases,
      };
      for (guint k = 0; k < i; k++)
        if (g_array_index (self->nodes, OfflineNode, k).topology == node->topology)
          nodes[i].topology = nodes[k].topology;
    }
  return nodes;
}

/* One application without a number gets the slots that are left, as in the core. */
static void
give_slots (OfflineJob *self)
{
  guint64 slots = 0;
  guint32 *without = NULL;

  for (guint i = 0; i < self->nodes->len; i++)
    slots += g_array_index (self->nodes, OfflineNode, i).slots;
  for (guint i = 0; i < self->app_np->len; i++)
    {
      guint32 *np = &g_array_index (self->app_np, guint32, i);

      if (*np == 0)
        without = np;
      slots -= MIN (slots, *np);
    }
  if (without != NULL)
    *without = (guint32)slots;
}

static void
count_procs (OfflineJob *self, const DvmdMapApps *apps, DvmdMapRequest *request)
{
  gboolean counted = FALSE;

  for (guint i = 0; i < self->app_np->len; i++)
    counted = counted || apps->wishes[i].np_is_counted;
  if (counted && !dvmd_map_driver_count_apps (self->mappers, apps, request, (guint32 *)self->app_np->data))
    give_slots (self);
}

static DvmdTopology *
get_topology (guint rank, gpointer user_data)
{
  return g_array_index (((OfflineJob *)user_data)->nodes, OfflineNode, rank - 1).topology;
}

/* (transfer full): of each application */
static DvmdMapWishes *
list_wishes (OfflineJob *self)
{
  DvmdMapWishes *wishes = g_new (DvmdMapWishes, self->app_np->len);

  for (guint i = 0; i < self->app_np->len; i++)
    {
      wishes[i] = self->app_wishes != NULL ? g_array_index (self->app_wishes, DvmdMapWishes, i) : self->wishes;
      wishes[i].np_is_counted = g_array_index (self->app_np, guint32, i) == 0;
    }
  return wishes;
}

DvmdMap *
offline_job_map (OfflineJob *self, GError **error)
{
  g_autofree DvmdMapWishes *wishes = list_wishes (self);
  const DvmdMapTopologies topologies = { .get_topology = get_topology, .user_data = self };
  const DvmdMapApps apps = { wishes, &topologies };
  g_autofree DvmdMapNode *nodes = offer_nodes (self);
  DvmdMapRequest request = {
    .app_np = (const guint32 *)self->app_np->data,
    .n_apps = self->app_np->len,
    .nodes = nodes,
    .n_nodes = self->nodes->len,
    .oversubscribe = self->oversubscribe,
    .app_limits = self->app_limits != NULL ? (const guint32 *)self->app_limits->data : NULL,
  };

  count_procs (self, &apps, &request);
  return dvmd_map_driver_map_apps (self->mappers, &apps, &request, error);
}

GPtrArray *
offline_job_bind (OfflineJob *self, DvmdMap *map, GError **error)
{
  g_autoptr (GPtrArray) cpus = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (DvmdMapBinder) binder = dvmd_map_binder_new (map);

  g_ptr_array_set_size (cpus, (int)map->num_procs);
  for (guint i = 0; i < self->nodes->len; i++)
    {
      g_autoptr (GArray) ranks = dvmd_map_expand_node (map, i + 1);
      g_autoptr (GPtrArray) lists = NULL;

      if (ranks->len == 0)
        continue;
      lists = dvmd_map_binder_bind (binder, i + 1, g_array_index (self->nodes, OfflineNode, i).topology, error);
      if (lists == NULL)
        return NULL;
      for (guint k = 0; k < ranks->len; k++)
        cpus->pdata[g_array_index (ranks, DvmdMapRank, k).rank] = g_strdup (lists->pdata[k]);
    }
  return g_steal_pointer (&cpus);
}

char *
offline_job_show (OfflineJob *self, DvmdMap *map, GPtrArray *cpus)
{
  g_autoptr (DvmdProcTable) table = dvmd_map_expand (map);
  GString *text = g_string_new (NULL);

  for (guint rank = 0; rank < map->num_procs; rank++)
    g_string_append_printf (text, "%s%u:%u:%s", rank > 0 ? " " : "", rank, dvmd_proc_table_row (table, rank)->node - 1,
                            cpus->pdata[rank] != NULL ? (const char *)cpus->pdata[rank] : "-");
  return g_string_free (text, FALSE);
}

char *
offline_job_place (OfflineJob *self, const char *map_by, const char *bind_to, const char *file, guint32 np)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdMap) map = NULL;
  g_autoptr (GPtrArray) cpus = NULL;

  g_array_append_val (self->app_np, np);
  self->wishes = (DvmdMapWishes){ .map_by = map_by, .bind_to = bind_to, .binds = TRUE };
  self->wishes.file = file;
  self->wishes.file_name = "where";
  map = offline_job_map (self, &error);
  cpus = map != NULL ? offline_job_bind (self, map, &error) : NULL;
  return cpus != NULL ? offline_job_show (self, map, cpus) : g_strdup (error->message);
}

int
offline_run_tests (int argc, char **argv, const OfflineTest *tests, gsize n_tests)
{
  const DvmdPluginsSettings none = { 0 };
  g_autoptr (DvmdPlugins) plugins = NULL;

  g_test_init (&argc, &argv, NULL);
  plugins = dvmd_plugins_new (&none, NULL);
  for (gsize i = 0; i < n_tests; i++)
    g_test_add_data_func (tests[i].path, dvmd_plugins_get_active (plugins, DVMD_PLUGIN_MAPPER), tests[i].run);
  return g_test_run ();
}

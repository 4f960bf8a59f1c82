/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Mappers see the devices of a node as one more kind of object: those that the job asks for, in the order that it
 * wants.
 */

#include "config.h"

#include "dvmd-map-offer.h"

#include <string.h>

#include "dvmd-devices.h"
#include "dvmd-map-defaults.h"
#include "dvmd-map-objects.h"

/* (nullable): the value of the qualifier "name=VALUE" */
static const char *
find_qualifier (const DvmPlacement *placement, const char *name)
{
  gsize length = strlen (name);

  for (gsize i = 0; placement->rest[i] != NULL; i++)
    if (strncmp (placement->rest[i], name, length) == 0 && placement->rest[i][length] == '=')
      return placement->rest[i] + length + 1;
  return NULL;
}

void
dvmd_map_offer_init (DvmdMapOffer *self, const DvmPlacement *placement)
{
  const char *number = find_qualifier (placement, "ndev");
  const char *name = placement->value;

  *self = (DvmdMapOffer){ 0 };
  if (!dvmd_map_defaults_is_by_device (placement))
    return;
  if (name == NULL)
    name = strchr (placement->arguments[1], '=') + 1;
  self->wish = dvmd_device_wish_new (name, number != NULL ? (guint)g_ascii_strtoull (number, NULL, 10) : 1,
                                     find_qualifier (placement, "interleave"));
}

void
dvmd_map_offer_clear (DvmdMapOffer *self)
{
  g_clear_pointer (&self->wish, g_free);
  g_clear_pointer (&self->views, g_hash_table_unref);
  g_clear_pointer (&self->reason, g_free);
}

/* ---- views ---- */

typedef struct
{
  DvmdTopology *topology;
  GPtrArray *groups; /* (nullable) DvmdDeviceGroup */
  DvmdCpuset *in_use;
} View;

static void
view_free (gpointer data)
{
  View *self = data;

  dvmd_topology_unref (self->topology);
  g_clear_pointer (&self->groups, g_ptr_array_unref);
  g_clear_pointer (&self->in_use, dvmd_cpuset_free);
  g_free (self);
}

static gboolean
is_in_use (const View *self, const DvmdDeviceGroup *group)
{
  GPtrArray *all = dvmd_topology_get_devices (self->topology);
  guint index = 0;

  for (guint i = 0; self->in_use != NULL && i < group->devices->len; i++)
    if (g_ptr_array_find (all, group->devices->pdata[i], &index) && index / 64 < self->in_use->n_words
        && (self->in_use->words[index / 64] >> index % 64 & 1) != 0)
      return TRUE;
  return FALSE;
}

/* A device that others have keeps its number, and is near no cpu. */
static void
load_view (DvmdMapTopology *into, gpointer user_data)
{
  const View *self = user_data;

  dvmd_map_objects_add (into, self->topology);
  for (guint i = 0; self->groups != NULL && i < self->groups->len; i++)
    {
      const DvmdDeviceGroup *group = self->groups->pdata[i];

      dvmd_map_topology_add (into, DVMD_OBJECT_DEVICE, is_in_use (self, group) ? "" : group->cpus);
    }
}

static DvmdMapTopology *
find_view (DvmdMapOffer *self, const DvmdMapNode *node, DvmdTopology *topology)
{
  const DvmdCpuset *in_use = node->devices_in_use;
  g_autofree char *list = in_use != NULL ? dvmd_cpuset_to_list (in_use) : g_strdup ("");
  g_autofree char *key = g_strdup_printf ("%p %s", (void *)topology, list);
  DvmdMapTopology *map = g_hash_table_lookup (self->views, key);
  g_autoptr (GError) error = NULL;
  View *view;

  if (map != NULL)
    return map;
  view = g_new0 (View, 1);
  view->topology = dvmd_topology_ref (topology);
  view->groups = dvmd_devices_choose (topology, self->wish, &error);
  view->in_use = in_use != NULL ? dvmd_cpuset_copy (in_use) : NULL;
  if (error != NULL && self->reason == NULL)
    self->reason = g_strdup_printf ("node %s: %s", node->name, error->message);
  map = dvmd_map_topology_new (load_view, view, view_free);
  g_hash_table_insert (self->views, g_steal_pointer (&key), map);
  return map;
}

/* The hardware of nodes that are alike is told by one of them: nobody knows whose uuids these are. */
static gboolean
check_uuid (DvmdMapOffer *self, const DvmdMapNode *nodes, DvmdTopology *const *topologies, guint n_nodes)
{
  DvmdTopology *found = NULL;

  for (guint i = 0; i < n_nodes; i++)
    {
      if (topologies[i] == NULL || !dvmd_devices_is_by_uuid (topologies[i], self->wish))
        continue;
      if (found == topologies[i])
        {
          self->reason = g_strdup_printf (
              "node %s: map-by: it is like another node of the job, and which of them has the "
              "device of that uuid is not known: choose the node (--host), or name the device",
              nodes[i].name);
          return FALSE;
        }
      found = topologies[i];
    }
  return TRUE;
}

void
dvmd_map_offer_devices (DvmdMapOffer *self, DvmdMapNode *nodes, guint n_nodes, const DvmdMapTopologies *topologies)
{
  g_autofree DvmdTopology **own = g_new0 (DvmdTopology *, n_nodes + 1);
  gboolean known;

  self->views = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)dvmd_map_topology_free);
  for (guint i = 0; i < n_nodes; i++)
    own[i] = topologies->get_topology (nodes[i].rank, topologies->user_data);
  known = check_uuid (self, nodes, own, n_nodes);
  for (guint i = 0; known && i < n_nodes; i++)
    if (own[i] != NULL)
      nodes[i].topology = find_view (self, &nodes[i], own[i]);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A map and the hardware of a node give the devices of the processes there, for the controller and for the agents.
 */

#include "config.h"

#include "dvmd-map-devices.h"

#include <string.h>

#include "dvm.h"

struct _DvmdMapDevices
{
  DvmdTopology *topology;
  GHashTable *groups; /* wish, of the map -> GPtrArray of DvmdDeviceGroup */
  GPtrArray *procs;   /* (nullable) DvmdDeviceGroup, by local rank */
};

/* (transfer none) (nullable) */
static const DvmdDeviceGroup *
find_group (DvmdMapDevices *self, const char *wish, guint32 number, GError **error)
{
  GPtrArray *groups = g_hash_table_lookup (self->groups, wish);

  if (groups == NULL)
    {
      groups = dvmd_devices_choose (self->topology, wish, error);
      if (groups == NULL)
        return NULL;
      g_hash_table_insert (self->groups, g_strdup (wish), groups);
    }
  if (number < groups->len)
    return groups->pdata[number];
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "map-by: the node has %u device%s, or groups of them, of the kind “%s”, and the map speaks of number %u",
               groups->len, groups->len == 1 ? "" : "s", wish, number);
  return NULL;
}

static gboolean
find_all (DvmdMapDevices *self, DvmdMap *map, guint node, GError **error)
{
  g_autoptr (GArray) ranks = dvmd_map_expand_node (map, node);

  for (guint i = 0; i < ranks->len; i++)
    {
      const DvmdMapRank *rank = &g_array_index (ranks, DvmdMapRank, i);
      const char *wish = rank->place.kind == DVMD_KIND_DEVICE ? dvmd_map_get_devices (map, rank->app) : NULL;
      const DvmdDeviceGroup *group = wish != NULL ? find_group (self, wish, rank->place.object, error) : NULL;

      if (wish != NULL && group == NULL)
        return FALSE;
      g_ptr_array_add (self->procs, (gpointer)group);
    }
  return TRUE;
}

DvmdMapDevices *
dvmd_map_devices_new (DvmdMap *map, guint node, DvmdTopology *topology, GError **error)
{
  g_autoptr (DvmdMapDevices) self = g_new0 (DvmdMapDevices, 1);

  self->topology = dvmd_topology_ref (topology);
  self->groups = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
  self->procs = g_ptr_array_new ();
  return find_all (self, map, node, error) ? g_steal_pointer (&self) : NULL;
}

void
dvmd_map_devices_free (DvmdMapDevices *self)
{
  g_ptr_array_unref (self->procs);
  g_hash_table_unref (self->groups);
  dvmd_topology_unref (self->topology);
  g_free (self);
}

const DvmdDeviceGroup *
dvmd_map_devices_get (DvmdMapDevices *self, guint local_rank)
{
  return local_rank < self->procs->len ? self->procs->pdata[local_rank] : NULL;
}

static gboolean
has_device (DvmdMapDevices *self, const DvmdDevice *device)
{
  for (guint i = 0; i < self->procs->len; i++)
    {
      const DvmdDeviceGroup *group = self->procs->pdata[i];

      if (group != NULL && g_ptr_array_find (group->devices, device, NULL))
        return TRUE;
    }
  return FALSE;
}

char *
dvmd_map_devices_list (DvmdMapDevices *self)
{
  GPtrArray *all = dvmd_topology_get_devices (self->topology);
  GString *list = g_string_new (NULL);

  for (guint i = 0; i < all->len; i++)
    if (has_device (self, all->pdata[i]))
      g_string_append_printf (list, "%s%u", list->len > 0 ? "," : "", i);
  return g_string_free (list, FALSE);
}

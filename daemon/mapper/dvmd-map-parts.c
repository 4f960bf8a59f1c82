/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A job whose applications are placed in different ways is mapped part by part.
 */

#include "config.h"

#include "dvmd-map-parts.h"

#include "dvmd-map-binding.h"
#include "dvmd-map-devices.h"

void
dvmd_map_parts_init (DvmdMapParts *self, const DvmdMapApps *apps, const DvmdMapRequest *whole, gboolean apart)
{
  *self = (DvmdMapParts){ .apps = apps, .whole = whole, .apart = apart };
  self->nodes = g_memdup2 (whole->nodes, whole->n_nodes * sizeof (DvmdMapNode));
  self->cpusets = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)dvmd_cpuset_free);
  self->map = dvmd_map_new ();
}

void
dvmd_map_parts_clear (DvmdMapParts *self)
{
  g_clear_pointer (&self->nodes, g_free);
  g_clear_pointer (&self->cpusets, g_hash_table_unref);
  g_clear_pointer (&self->map, dvmd_map_free);
}

static gboolean
are_alike (const DvmdMapWishes *left, const DvmdMapWishes *right)
{
  return g_strcmp0 (left->map_by, right->map_by) == 0 && g_strcmp0 (left->rank_by, right->rank_by) == 0
         && g_strcmp0 (left->bind_to, right->bind_to) == 0 && g_strcmp0 (left->file, right->file) == 0;
}

gboolean
dvmd_map_parts_next (DvmdMapParts *self)
{
  const DvmdMapRequest *whole = self->whole;
  const DvmdMapWishes *wishes;
  guint n = 1;

  self->first_app += self->request.n_apps;
  self->request.n_apps = 0;
  if (self->first_app >= whole->n_apps)
    return FALSE;
  wishes = self->apps->wishes + self->first_app;
  self->wishes = wishes[0];
  for (; !self->apart && self->first_app + n < whole->n_apps && are_alike (&wishes[n], &wishes[0]); n++)
    self->wishes.np_is_counted = self->wishes.np_is_counted || wishes[n].np_is_counted;
  self->request = *whole;
  self->request.nodes = self->nodes;
  self->request.app_np = whole->app_np + self->first_app;
  self->request.n_apps = n;
  if (whole->app_limits != NULL)
    self->request.app_limits = whole->app_limits + (gsize)self->first_app * whole->n_nodes;
  return TRUE;
}

gboolean
dvmd_map_parts_is_only (const DvmdMapParts *self)
{
  return self->request.n_apps == self->whole->n_apps;
}

void
dvmd_map_parts_rewind (DvmdMapParts *self)
{
  self->first_app = self->request.n_apps = 0;
}

/* ---- what a part takes ---- */

static void
take_slots (DvmdMapNode *node, guint32 count)
{
  node->limit -= MIN (node->limit, count);
  node->most -= MIN (node->most, count);
  node->mapped += count;
}

static const DvmdCpuset *
find_cpuset (DvmdMapParts *self, const char *list)
{
  DvmdCpuset *cpus = g_hash_table_lookup (self->cpusets, list);

  if (cpus == NULL)
    {
      cpus = dvmd_cpuset_new_from_list (list);
      g_hash_table_insert (self->cpusets, g_strdup (list), cpus);
    }
  return cpus;
}

/* (transfer none): of other jobs, and of this one */
static const DvmdCpuset *
join (DvmdMapParts *self, const DvmdCpuset *others, const char *own)
{
  g_autofree char *before = others != NULL ? dvmd_cpuset_to_list (others) : g_strdup ("");
  g_autofree char *all = g_strconcat (before, before[0] != '\0' && own[0] != '\0' ? "," : "", own, NULL);

  return find_cpuset (self, all);
}

/* By the function that binds them in the end, so that the next part is offered what is free indeed. */
static gboolean
take_cpus (DvmdMapParts *self, DvmdMapNode *node, DvmdMapBinder *binder, GError **error)
{
  const DvmdMapTopologies *topologies = self->apps->topologies;
  DvmdTopology *hardware = NULL;
  g_autoptr (GPtrArray) lists = NULL;

  if (topologies != NULL && topologies->get_topology != NULL)
    hardware = topologies->get_topology (node->rank, topologies->user_data);
  if (hardware == NULL)
    return TRUE;
  lists = dvmd_map_binder_bind (binder, node->rank, hardware, error);
  if (lists == NULL)
    {
      g_prefix_error (error, "%s: ", node->name);
      return FALSE;
    }
  node->in_use = join (self, self->whole->nodes[node - self->nodes].in_use,
                       dvmd_map_binder_get_claimed (binder, lists));
  return TRUE;
}

/* The next part does not get the devices of this one. */
static gboolean
take_devices (DvmdMapParts *self, DvmdMapNode *node, GError **error)
{
  const DvmdMapTopologies *topologies = self->apps->topologies;
  const DvmdCpuset *others = self->whole->nodes[node - self->nodes].devices_in_use;
  DvmdTopology *hardware = NULL;
  g_autoptr (DvmdMapDevices) devices = NULL;
  g_autofree char *list = NULL;

  if (topologies != NULL && topologies->get_topology != NULL)
    hardware = topologies->get_topology (node->rank, topologies->user_data);
  if (hardware == NULL)
    return TRUE;
  devices = dvmd_map_devices_new (self->map, node->rank, hardware, error);
  if (devices == NULL)
    return FALSE;
  list = dvmd_map_devices_list (devices);
  node->devices_in_use = join (self, others, list);
  return TRUE;
}

gboolean
dvmd_map_parts_take (DvmdMapParts *self, DvmdMap *map, GError **error)
{
  gboolean binds = dvmd_map_binds (map);
  gboolean devices = dvmd_map_has_devices (map);
  g_autoptr (DvmdMapBinder) binder = NULL;

  dvmd_map_append (self->map, map, self->first_app);
  binder = dvmd_map_binder_new (self->map);
  for (guint i = 0; i < self->whole->n_nodes; i++)
    {
      DvmdMapNode *node = &self->nodes[i];
      const DvmdCpuset *others = self->whole->nodes[i].in_use;
      guint count = dvmd_map_count_on_node (map, node->rank);

      take_slots (node, count);
      if (binds && count > 0 && others != NULL)
        {
          g_autofree char *cpus = dvmd_cpuset_to_list (others);

          dvmd_map_exclude (self->map, node->rank, cpus);
        }
      if (binds && count > 0 && !take_cpus (self, node, binder, error))
        return FALSE;
      if (devices && count > 0 && !take_devices (self, node, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
dvmd_map_parts_share_cores (DvmdMap *map, guint n_apps)
{
  for (guint app = 1; app < n_apps; app++)
    {
      const DvmdBindingPolicy *policy = dvmd_map_get_policy (map, app);

      if (policy == dvmd_map_get_policy (map, app - 1) && policy->bind_to == DVMD_OBJECT_CORE
          && (policy->flags & (DVMD_BINDING_HWTHREADS | DVMD_BINDING_OVERLOAD)) == DVMD_BINDING_HWTHREADS)
        return TRUE;
    }
  return FALSE;
}

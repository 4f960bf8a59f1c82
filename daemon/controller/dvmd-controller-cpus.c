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
#include "dvmd-id-set.h"
#include "dvmd-map-binding.h"
#include "dvmd-map-devices.h"

struct _DvmdControllerCpus
{
  DvmdController *controller; /* (nullable): unowned; of a plan it is that */
  DvmdPlan *plan;
  DvmdMapBinder *binder; /* (nullable): there is no map, or nothing is bound */
  DvmdMap *map;          /* (nullable) */
  GHashTable *devices;   /* (nullable): there are none; rank of an agent -> DvmdMapDevices, NULL: not known */
  gboolean listed;       /* the places are known */
  GArray *places;        /* (nullable): DvmdBindingPlace by rank, when objects are asked for */
  GHashTable *nodes;     /* rank of an agent -> GPtrArray of lists, NULL: not known */
};

static void
unref_lists (gpointer lists)
{
  if (lists != NULL)
    g_ptr_array_unref (lists);
}

static void
free_devices (gpointer devices)
{
  if (devices != NULL)
    dvmd_map_devices_free (devices);
}

DvmdControllerCpus *
dvmd_controller_cpus_new (DvmdController *controller, DvmdMap *map)
{
  DvmdControllerCpus *self = g_new0 (DvmdControllerCpus, 1);

  self->controller = controller;
  self->map = map;
  if (map != NULL && dvmd_map_binds (map))
    self->binder = dvmd_map_binder_new (map);
  if (map != NULL && dvmd_map_has_devices (map))
    self->devices = g_hash_table_new_full (NULL, NULL, NULL, free_devices);
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
  g_clear_pointer (&self->devices, g_hash_table_unref);
  g_clear_pointer (&self->binder, dvmd_map_binder_free);
  g_clear_pointer (&self->places, g_array_unref);
  g_free (self);
}

static DvmdTopology *
find_topology (DvmdControllerCpus *self, guint node)
{
  return self->plan != NULL ? dvmd_plan_find_topology (self->plan, node)
                            : dvmd_controller_find_topology (self->controller, node);
}

/* (transfer full) (nullable) */
static GPtrArray *
bind_node (DvmdControllerCpus *self, guint node)
{
  DvmdTopology *topology = find_topology (self, node);

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

/* (transfer none) (nullable) */
static DvmdMapDevices *
find_devices (DvmdControllerCpus *self, guint node)
{
  DvmdTopology *topology;
  gpointer devices = NULL;

  if (g_hash_table_lookup_extended (self->devices, GUINT_TO_POINTER (node), NULL, &devices))
    return devices;
  topology = find_topology (self, node);
  if (topology != NULL)
    devices = dvmd_map_devices_new (self->map, node, topology, NULL);
  g_hash_table_insert (self->devices, GUINT_TO_POINTER (node), devices);
  return devices;
}

char *
dvmd_controller_cpus_dup_devices (DvmdControllerCpus *self, guint node, guint local_rank)
{
  DvmdMapDevices *devices = self->devices != NULL ? find_devices (self, node) : NULL;
  const DvmdDeviceGroup *group = devices != NULL ? dvmd_map_devices_get (devices, local_rank) : NULL;

  return group != NULL ? dvmd_device_group_name (group) : NULL;
}

/* (transfer full): "device nvml0,nvml1" */
static char *
describe_devices (DvmdControllerCpus *self, guint node, guint local_rank)
{
  g_autofree char *names = dvmd_controller_cpus_dup_devices (self, node, local_rank);

  return names != NULL ? g_strconcat ("device ", names, NULL) : g_strdup ("");
}

char *
dvmd_controller_cpus_dup_object (DvmdControllerCpus *self, guint rank, guint node, guint local_rank)
{
  const DvmdBindingPlace *place;

  /* Without objects the map is not looked at again. */
  if (!self->listed && self->map != NULL)
    self->places = dvmd_map_list_places (self->map);
  self->listed = TRUE;
  if (self->places == NULL || rank >= self->places->len)
    return g_strdup ("");
  place = &g_array_index (self->places, DvmdBindingPlace, rank);
  return place->kind == DVMD_KIND_DEVICE ? describe_devices (self, node, local_rank)
                                         : dvmd_binding_describe_place (place);
}

static void
add_policy (GVariantBuilder *rows, DvmdMap *map, guint first, guint last)
{
  const char *map_by = dvmd_map_get_map_by (map, first);
  const char *rank_by = dvmd_map_get_rank_by (map, first);
  const char *bind_to = dvmd_binding_get_name (dvmd_map_get_policy (map, first));
  g_autoptr (DvmdIdSet) apps = dvmd_id_set_new ();
  g_autofree char *list = NULL;

  dvmd_id_set_add_range (apps, first, last);
  list = dvmd_id_set_format (apps);
  g_variant_builder_open (rows, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (rows, "{sv}", "apps", g_variant_new_string (list));
  g_variant_builder_add (rows, "{sv}", "map-by", g_variant_new_string (map_by != NULL ? map_by : ""));
  g_variant_builder_add (rows, "{sv}", "rank-by", g_variant_new_string (rank_by != NULL ? rank_by : ""));
  g_variant_builder_add (rows, "{sv}", "bind-to", g_variant_new_string (bind_to != NULL ? bind_to : "none"));
  g_variant_builder_close (rows);
}

GVariant *
dvmd_controller_describe_policies (DvmdMap *map, guint n_apps)
{
  GVariantBuilder rows;
  guint first = 0;

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("aa{sv}"));
  for (guint app = 1; app <= n_apps; app++)
    if (app == n_apps || dvmd_map_get_policy (map, app) != dvmd_map_get_policy (map, first))
      {
        add_policy (&rows, map, first, app - 1);
        first = app;
      }
  return g_variant_builder_end (&rows);
}

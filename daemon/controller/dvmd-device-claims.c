/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The devices that the processes of jobs are given, node by node, from the claim of the slots to their return.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-device-claims.h"

#include "dvmd-controller-map.h"
#include "dvmd-map-devices.h"
#include "dvmd-services.h"

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *nodes;          /* rank of an agent -> Usage; those of which a job has some */
} Claims;

typedef struct
{
  GHashTable *jobs; /* DvmdJob, unowned -> "0-3,8" */
  DvmdCpuset *used; /* (nullable): of all jobs; made when it is asked for */
} Usage;

static void
usage_free (gpointer data)
{
  Usage *self = data;

  g_hash_table_unref (self->jobs);
  g_clear_pointer (&self->used, dvmd_cpuset_free);
  g_free (self);
}

static Claims *
get_claims (DvmdController *controller)
{
  return dvmd_services_get (controller, &dvmd_device_claims_service);
}

static Usage *
get_usage (Claims *self, guint node)
{
  Usage *usage = g_hash_table_lookup (self->nodes, GUINT_TO_POINTER (node));

  if (usage != NULL)
    return usage;
  usage = g_new0 (Usage, 1);
  usage->jobs = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_hash_table_insert (self->nodes, GUINT_TO_POINTER (node), usage);
  return usage;
}

void
dvmd_controller_claim_devices (gpointer user_data, DvmdJob *job, DvmdMap *map)
{
  Claims *self = get_claims (user_data);
  g_autoptr (GArray) nodes = dvmd_map_has_devices (map) ? dvmd_map_get_nodes (map) : NULL;

  for (guint i = 0; nodes != NULL && i < nodes->len; i++)
    {
      guint node = g_array_index (nodes, guint, i);
      DvmdTopology *topology = dvmd_controller_find_topology (self->controller, node);
      g_autoptr (DvmdMapDevices) devices = topology != NULL ? dvmd_map_devices_new (map, node, topology, NULL) : NULL;
      Usage *usage;

      /* The map was made from these. */
      g_return_if_fail (devices != NULL);

      usage = get_usage (self, node);
      g_hash_table_insert (usage->jobs, job, dvmd_map_devices_list (devices));
      g_clear_pointer (&usage->used, dvmd_cpuset_free);
    }
}

void
dvmd_controller_give_devices_back (gpointer user_data, DvmdJob *job, DvmdNode *node)
{
  Claims *self = get_claims (user_data);
  GHashTableIter iter;
  gpointer rank;
  gpointer usage;

  if (self == NULL)
    return;
  g_hash_table_iter_init (&iter, self->nodes);
  while (g_hash_table_iter_next (&iter, &rank, &usage))
    {
      if (node != NULL && GPOINTER_TO_UINT (rank) != node->rank)
        continue;
      if (!g_hash_table_remove (((Usage *)usage)->jobs, job))
        continue;
      g_clear_pointer (&((Usage *)usage)->used, dvmd_cpuset_free);
      if (g_hash_table_size (((Usage *)usage)->jobs) == 0)
        g_hash_table_iter_remove (&iter);
    }
}

static void
collect_used (Usage *self)
{
  g_autoptr (GString) list = g_string_new (NULL);
  GHashTableIter iter;
  gpointer text;

  g_hash_table_iter_init (&iter, self->jobs);
  while (g_hash_table_iter_next (&iter, NULL, &text))
    if (((const char *)text)[0] != '\0')
      g_string_append_printf (list, "%s%s", list->len > 0 ? "," : "", (const char *)text);
  self->used = dvmd_cpuset_new_from_list (list->str);
}

const DvmdCpuset *
dvmd_controller_get_devices_in_use (DvmdController *self, guint node)
{
  Usage *usage = g_hash_table_lookup (get_claims (self)->nodes, GUINT_TO_POINTER (node));

  if (usage != NULL && usage->used == NULL)
    collect_used (usage);
  return usage != NULL ? usage->used : NULL;
}

/* ---- the service ---- */

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Claims *self = g_new0 (Claims, 1);

  self->controller = controller;
  self->nodes = g_hash_table_new_full (NULL, NULL, NULL, usage_free);
  return self;
}

static void
claims_free (gpointer service)
{
  Claims *self = service;

  g_hash_table_unref (self->nodes);
  g_free (self);
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  dvmd_services_add_number (statistics, "nodes-with-devices-used", g_hash_table_size (((Claims *)service)->nodes));
}

const DvmdService dvmd_device_claims_service = {
  .name = "device-claims",
  .create = create,
  .free = claims_free,
  .add_statistics = add_statistics,
};

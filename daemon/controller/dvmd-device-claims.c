/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The devices that the processes of jobs are given, node by node, from the claim of the slots to their return.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-device-claims.h"

#include "dvmd-controller-map.h"
#include "dvmd-id-set.h"
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

/* ---- the holders of devices ---- */

static int
compare_jobs (gconstpointer a, gconstpointer b)
{
  guint left = dvmd_job_get_id ((gpointer)a);
  guint right = dvmd_job_get_id ((gpointer)b);

  return left < right ? -1 : left > right;
}

/* texts: of each device of the node. Behind it come the processes of the job that have it. */
static void
add_holders (GPtrArray *texts, DvmdJob *job, guint node, DvmdTopology *topology)
{
  DvmdMap *map = dvmd_job_get_map (job);
  g_autoptr (DvmdMapDevices) held = NULL;
  g_autoptr (GArray) ranks = NULL;

  /* It has claimed them, and no process yet. */
  if (map == NULL)
    return;
  held = dvmd_map_devices_new (map, node, topology, NULL);
  ranks = dvmd_map_expand_node (map, node);
  for (guint i = 0; held != NULL && i < texts->len; i++)
    {
      gpointer device = dvmd_topology_get_devices (topology)->pdata[i];
      GString *text = texts->pdata[i];
      g_autoptr (DvmdIdSet) set = dvmd_id_set_new ();
      g_autofree char *list = NULL;

      for (guint local = 0; local < ranks->len; local++)
        {
          const DvmdDeviceGroup *group = dvmd_map_devices_get (held, local);

          if (group != NULL && g_ptr_array_find (group->devices, device, NULL))
            dvmd_id_set_add (set, g_array_index (ranks, DvmdMapRank, local).rank);
        }
      list = dvmd_id_set_format (set);
      if (list[0] != '\0')
        g_string_append_printf (text, "%s%s:%s", g_str_has_suffix (text->str, "=") ? "" : "+",
                                dvm_job_get_nspace (dvmd_job_get_record (job)), list);
    }
}

GStrv
dvmd_controller_list_devices (DvmdController *self, guint node)
{
  Usage *usage = g_hash_table_lookup (get_claims (self)->nodes, GUINT_TO_POINTER (node));
  DvmdTopology *topology = dvmd_controller_find_topology (self, node);
  GPtrArray *devices = topology != NULL ? dvmd_topology_get_devices (topology) : NULL;
  g_autoptr (GPtrArray) texts = g_ptr_array_new ();
  g_autoptr (GList) jobs = NULL;

  for (guint i = 0; devices != NULL && i < devices->len; i++)
    {
      GString *text = g_string_new (((DvmdDevice *)devices->pdata[i])->names[0]);

      g_ptr_array_add (texts, g_string_append_c (text, '='));
    }
  if (usage != NULL && topology != NULL)
    jobs = g_list_sort (g_hash_table_get_keys (usage->jobs), compare_jobs);
  for (GList *l = jobs; l != NULL; l = l->next)
    add_holders (texts, l->data, node, topology);
  for (guint i = 0; i < texts->len; i++)
    texts->pdata[i] = g_string_free (texts->pdata[i], FALSE);
  g_ptr_array_add (texts, NULL);
  return (GStrv)g_ptr_array_free (g_steal_pointer (&texts), FALSE);
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

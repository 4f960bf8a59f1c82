/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The mappers are asked one after another, and the answer is checked.
 */

#include "config.h"

#include "dvmd-map-driver.h"

/* What has been seen of an answer: the processes of each node and application. */
typedef struct
{
  const DvmdMapRequest *request;
  guint *on_node;
  guint *of_app;
  guint *of_app_on_node; /* NULL: nobody asks */
  guint num_procs;
} Check;

static guint64
sum_of_np (const DvmdMapRequest *request)
{
  guint64 sum = 0;

  for (guint i = 0; i < request->n_apps; i++)
    sum += request->app_np[i];
  return sum;
}

static gboolean
check_app_on_node (Check *self, const DvmdPlacementRun *run)
{
  gsize place = (gsize)run->app * self->request->n_nodes + run->node;
  guint limit = self->request->app_limits[place];

  self->of_app_on_node[place] += run->count;
  return limit > 0 && (self->request->oversubscribe || self->of_app_on_node[place] <= limit);
}

/* What is wrong with the run, or NULL. Sums cannot overflow: no run is larger than what is left. */
static const char *
check_run (Check *self, const DvmdPlacementRun *run, guint placed)
{
  const DvmdMapRequest *request = self->request;

  if (run->node >= request->n_nodes)
    return "it uses a node that was not offered";
  if (run->app >= request->n_apps)
    return "it speaks of an application that the job does not have";
  if (run->count == 0 || run->count > self->num_procs - placed)
    return "it does not have as many processes as the job";
  self->on_node[run->node] += run->count;
  self->of_app[run->app] += run->count;
  if (self->on_node[run->node]
      > (request->oversubscribe ? request->nodes[run->node].most : request->nodes[run->node].limit))
    return "it puts more processes on a node than that may take";
  if (self->of_app_on_node != NULL && !check_app_on_node (self, run))
    return "it puts an application on a node that is not for it, or more of it than that may take";
  if (self->of_app[run->app] > request->app_np[run->app])
    return "an application has more processes than it is to have";
  if (run->first_rank + (run->count - 1) * (guint64)run->stride >= self->num_procs)
    return "it has a rank that the job does not have";
  return NULL;
}

static DvmdMap *
take_answer (Check *self, DvmdPlacement *placement, const char **wrong)
{
  g_autoptr (DvmdMap) map = dvmd_map_new ();
  guint n_runs;
  const DvmdPlacementRun *runs = dvmd_placement_get_runs (placement, &n_runs);

  for (guint i = 0; i < n_runs; i++)
    {
      *wrong = check_run (self, &runs[i], map->num_procs);
      if (*wrong != NULL)
        return NULL;
      dvmd_map_add_run (map, self->request->nodes[runs[i].node].rank, runs[i].app, runs[i].first_rank, runs[i].count,
                        runs[i].stride);
    }
  if (map->num_procs < self->num_procs)
    *wrong = "a rank has no place";
  else if (!dvmd_map_is_whole (map))
    *wrong = "a rank has more than one place";
  else
    return g_steal_pointer (&map);
  return NULL;
}

static DvmdMap *
check_answer (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  g_autofree guint *on_node = g_new0 (guint, request->n_nodes);
  g_autofree guint *of_app = g_new0 (guint, request->n_apps);
  Check self = { .request = request, .on_node = on_node, .of_app = of_app };
  const char *wrong = NULL;
  DvmdMap *map;

  self.num_procs = (guint)sum_of_np (request);
  if (request->app_limits != NULL)
    self.of_app_on_node = g_new0 (guint, (gsize)request->n_apps * request->n_nodes);
  map = take_answer (&self, placement, &wrong);
  g_free (self.of_app_on_node);
  if (map == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "The map of %s is not used: %s", G_OBJECT_TYPE_NAME (mapper),
                 wrong);
  return map;
}

/* What a plugin says is taken as it is, but for the code. */
static void
take_error (DvmdMapper *mapper, GError *local, GError **error)
{
  if (local == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "%s has failed and does not say why",
                 G_OBJECT_TYPE_NAME (mapper));
  else
    g_set_error_literal (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, local->message);
  g_clear_error (&local);
}

DvmdMap *
dvmd_map_driver_map (GPtrArray *mappers, const DvmdMapRequest *request, GError **error)
{
  if (request->n_nodes == 0 || sum_of_np (request) > DVMD_MAP_MAX_PROCS)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                   "%" G_GUINT64_FORMAT " processes cannot be placed on %u nodes", sum_of_np (request),
                   request->n_nodes);
      return NULL;
    }
  for (guint i = 0; i < mappers->len; i++)
    {
      DvmdMapper *mapper = g_ptr_array_index (mappers, i);
      g_autoptr (DvmdPlacement) placement = dvmd_placement_new ();
      GError *local = NULL;
      DvmdPluginVerdict verdict = dvmd_mapper_map (mapper, request, placement, &local);

      if (verdict == DVMD_PLUGIN_DONE && local == NULL)
        return check_answer (mapper, request, placement, error);
      if (verdict != DVMD_PLUGIN_DECLINED || local != NULL)
        {
          take_error (mapper, local, error);
          return NULL;
        }
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "No mapper takes \"map-by\" %s (%u asked): \"dvm-cli plugins\" shows which there are", request->map_by,
               mappers->len);
  return NULL;
}

DvmdMap *
dvmd_map_driver_map_job (GPtrArray *mappers, DvmdJob *job, const DvmdPlaces *places, GError **error)
{
  g_autofree DvmdPluginNode *offered = g_new0 (DvmdPluginNode, places->n_nodes);
  g_autofree char *map_by = dvmd_job_dup_map_by (job);
  GArray *app_np = dvmd_job_get_app_np (job);
  DvmdMapRequest request = {
    .map_by = map_by,
    .app_np = (const guint32 *)app_np->data,
    .n_apps = app_np->len,
    .nodes = offered,
    .n_nodes = places->n_nodes,
    .oversubscribe = places->oversubscribe,
    .app_limits = places->app_limits,
  };

  for (guint i = 0; i < places->n_nodes; i++)
    {
      const DvmdNode *node = places->nodes[i];

      offered[i] = (DvmdPluginNode){
        .name = dvm_node_get_name (node->record),
        .rank = node->rank,
        .slots = node->slots,
        .slots_max = node->slots_max,
        .limit = places->limits[i],
        .most = places->most[i],
      };
    }
  return dvmd_map_driver_map (mappers, &request, error);
}

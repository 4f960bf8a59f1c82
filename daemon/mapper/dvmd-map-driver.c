/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The mappers that have the word are asked one after another, and the answer is checked.
 */

#include "config.h"

#include "dvmd-map-driver.h"

#include "dvm-job-spec-private.h"
#include "dvmd-map-words.h"

/* The masks of the interface are the numbers of the library. */
G_STATIC_ASSERT (DVMD_RANK_BY_SPAN == 1 << DVM_RANK_BY_SPAN);
G_STATIC_ASSERT (DVMD_BIND_TO_PACKAGE == 1 << DVM_BIND_TO_PACKAGE);

/* A check counts the processes of each node and application as far as the answer has been read. */
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

/* The result says what is wrong with the objects and cpus of the run; NULL: nothing. */
static const char *
check_hardware (const DvmdMapRequest *request, const DvmdPlacementRun *run)
{
  const DvmdMapNode *node = &request->nodes[run->node];
  const DvmdCpuset *allowed = node->allowed;
  guint64 last = run->object + (run->count - 1) * (guint64)run->object_stride;

  if ((guint)run->kind >= DVMD_N_OBJECT_KINDS)
    return "it speaks of a kind of object that there is not";
  if (run->kind == DVMD_OBJECT_NODE && run->cpus == NULL)
    return last == 0 ? NULL : "it speaks of an object without a kind";
  if (node->topology == NULL || dvmd_map_topology_get_n_objects (node->topology, DVMD_OBJECT_NODE) == 0)
    return "it speaks of the hardware of a node of which that is not known";
  if (last >= dvmd_map_topology_get_n_objects (node->topology, run->kind))
    return "it speaks of an object that the node does not have";
  if (run->cpus != NULL && request->bind_to == DVMD_BIND_TO_NONE)
    return "it binds processes that are not to be bound";
  if (allowed == NULL)
    allowed = dvmd_map_topology_get_cpus (node->topology, DVMD_OBJECT_NODE, 0);
  if (run->cpus != NULL && !dvmd_cpuset_is_within (run->cpus, allowed))
    return "it binds to a cpu that is not allowed";
  return NULL;
}

/* The result says what is wrong with the run; NULL: nothing. Sums cannot overflow: no run is larger than the rest. */
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
  return check_hardware (request, run);
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
      dvmd_map_add_run (map, &(DvmdMapRow){ .node = self->request->nodes[runs[i].node].rank,
                                            .app = runs[i].app,
                                            .first_rank = runs[i].first_rank,
                                            .count = runs[i].count,
                                            .stride = runs[i].stride,
                                            .place = { runs[i].kind, runs[i].object },
                                            .per_object = 1,
                                            .object_stride = runs[i].object_stride });
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

/* A plugin's error keeps its message, but not its code. */
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

/* ---- asking ---- */

static gboolean
check_wishes (DvmdMapper *mapper, const DvmdMapRequest *request, GError **error)
{
  const DvmdPluginInfo *info = dvmd_plugin_get_info (mapper);
  const char *what = NULL;

  if ((request->rank_by & ~(info->rankings | DVMD_RANK_BY_SLOT)) != 0)
    what = "rank-by";
  else if (((request->bind_to | request->bind_flags) & ~(info->bindings | DVMD_BIND_TO_NONE)) != 0)
    what = "bind-to";
  if (what == NULL)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "%s: the mapper “%s” cannot do that for “%s”", what,
               info->name, request->word);
  return FALSE;
}

/* The request as this mapper is to see it: words own what it borrows. */
static gboolean
prepare (DvmdMapper *mapper, const char *word, const char *map_by, DvmdMapRequest *request, DvmdMapWords *words,
         GError **error)
{
  if (!dvmd_map_words_parse (words, mapper, word, map_by, error))
    return FALSE;
  request->word = words->word;
  request->value = words->value;
  request->arguments = (const char *const *)words->arguments;
  request->qualifiers = (const char *const *)words->qualifiers;
  return check_wishes (mapper, request, error);
}

static void
set_wishes (DvmdMapRequest *request, DvmJobSpec *spec)
{
  DvmRankBy rank_by = DVM_RANK_BY_SLOT;
  DvmBindTo bind_to = DVM_BIND_TO_NONE;

  _dvm_rank_by_parse (dvm_job_spec_get_rank_by (spec), "", &rank_by, NULL);
  _dvm_bind_to_parse (dvm_job_spec_get_bind_to (spec), "", &bind_to, NULL);
  request->rank_by = 1 << rank_by;
  request->bind_to = 1 << bind_to;
}

/* (nullable): the first of them that has it */
static DvmdMapper *
find_mapper (GPtrArray *mappers, const char *word)
{
  for (guint i = 0; i < mappers->len; i++)
    if (dvmd_map_words_declared (mappers->pdata[i], word) != NULL)
      return mappers->pdata[i];
  return NULL;
}

gboolean
dvmd_map_driver_check (GPtrArray *mappers, DvmJobSpec *spec, gboolean *counts, GError **error)
{
  const char *map_by = dvm_job_spec_get_map_by (spec);
  g_autofree char *word = dvmd_map_words_find (mappers, map_by, error);
  g_auto (DvmdMapWords) words = { 0 };
  DvmdMapRequest request = { 0 };
  DvmdMapper *mapper;

  if (word == NULL)
    return FALSE;
  mapper = find_mapper (mappers, word);
  set_wishes (&request, spec);
  if (!prepare (mapper, word, map_by, &request, &words, error) || !dvmd_mapper_check (mapper, &request, error))
    return FALSE;
  *counts = dvmd_mapper_count (mapper, &request, NULL);
  return TRUE;
}

DvmdMap *
dvmd_map_driver_map (GPtrArray *mappers, const char *map_by, const DvmdMapRequest *request, GError **error)
{
  g_autofree char *word = NULL;
  GError *local = NULL;

  if (request->n_nodes == 0 || sum_of_np (request) > DVMD_MAP_MAX_PROCS)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                   "%" G_GUINT64_FORMAT " processes cannot be placed on %u nodes", sum_of_np (request),
                   request->n_nodes);
      return NULL;
    }
  word = dvmd_map_words_find (mappers, map_by, &local);
  for (guint i = 0; word != NULL && local == NULL && i < mappers->len; i++)
    {
      DvmdMapper *mapper = g_ptr_array_index (mappers, i);
      g_autoptr (DvmdPlacement) placement = dvmd_placement_new ();
      g_auto (DvmdMapWords) words = { 0 };
      DvmdMapRequest asked = *request;
      DvmdPluginVerdict verdict = DVMD_PLUGIN_FAILED;

      if (dvmd_map_words_declared (mapper, word) == NULL)
        continue;
      if (prepare (mapper, word, map_by, &asked, &words, &local))
        verdict = dvmd_mapper_map (mapper, &asked, placement, &local);
      if (verdict == DVMD_PLUGIN_DONE && local == NULL)
        return check_answer (mapper, request, placement, error);
      if (verdict != DVMD_PLUGIN_DECLINED || local != NULL)
        {
          take_error (mapper, local, error);
          return NULL;
        }
    }
  if (local == NULL)
    g_set_error (&local, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                 "No mapper takes “map-by” %s: “dvm-cli plugins” shows which there are",
                 map_by != NULL ? map_by : word);
  take_error (NULL, local, error);
  return NULL;
}

/* ---- of a job ---- */

static void
fill_node (DvmdMapNode *offered, const DvmdPlaces *places, guint i)
{
  const DvmdNode *node = places->nodes[i];

  *offered = (DvmdMapNode){
    .name = dvm_node_get_name (node->record),
    .rank = node->rank,
    .slots = node->slots,
    .slots_max = node->slots_max,
    .slots_in_use = node->slots_in_use,
    .limit = places->limits[i],
    .most = places->most[i],
    .signature = dvm_node_get_topology (node->record),
  };
}

/* Like nodes follow each other more often than not. */
static void
fill_topologies (DvmdMapNode *nodes, guint n_nodes, const DvmdMapTopologies *topologies)
{
  for (guint i = 0; i < n_nodes; i++)
    if (i > 0 && g_strcmp0 (nodes[i].signature, nodes[i - 1].signature) == 0)
      nodes[i].topology = nodes[i - 1].topology;
    else if (nodes[i].signature != NULL)
      nodes[i].topology = topologies->find (nodes[i].signature, topologies->user_data);
}

/* nodes (transfer full): what it borrows */
static DvmdMapRequest
describe (DvmdJob *job, const DvmdPlaces *places, const DvmdMapTopologies *topologies, DvmdMapNode **nodes)
{
  GArray *app_np = dvmd_job_get_app_np (job);
  DvmdMapRequest request = {
    .app_np = (const guint32 *)app_np->data,
    .n_apps = app_np->len,
    .n_nodes = places->n_nodes,
    .oversubscribe = places->oversubscribe,
    .app_limits = places->app_limits,
  };

  *nodes = g_new (DvmdMapNode, places->n_nodes);
  for (guint i = 0; i < places->n_nodes; i++)
    fill_node (*nodes + i, places, i);
  if (topologies != NULL)
    fill_topologies (*nodes, places->n_nodes, topologies);
  request.nodes = *nodes;
  set_wishes (&request, dvmd_job_get_spec (job));
  return request;
}

gboolean
dvmd_map_driver_count (GPtrArray *mappers, DvmdJob *job, const DvmdPlaces *places, const DvmdMapTopologies *topologies,
                       guint32 *np)
{
  const char *map_by = dvm_job_spec_get_map_by (dvmd_job_get_spec (job));
  g_autofree char *word = dvmd_map_words_find (mappers, map_by, NULL);
  DvmdMapper *mapper = word != NULL ? find_mapper (mappers, word) : NULL;
  g_autofree DvmdMapNode *nodes = NULL;
  DvmdMapRequest request = describe (job, places, topologies, &nodes);
  g_auto (DvmdMapWords) words = { 0 };

  return mapper != NULL && prepare (mapper, word, map_by, &request, &words, NULL)
         && dvmd_mapper_count (mapper, &request, np);
}

DvmdMap *
dvmd_map_driver_map_job (GPtrArray *mappers, DvmdJob *job, const DvmdPlaces *places,
                         const DvmdMapTopologies *topologies, GError **error)
{
  g_autofree DvmdMapNode *nodes = NULL;
  DvmdMapRequest request = describe (job, places, topologies, &nodes);

  return dvmd_map_driver_map (mappers, dvm_job_spec_get_map_by (dvmd_job_get_spec (job)), &request, error);
}

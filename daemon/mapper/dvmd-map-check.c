/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The answer of a mapper becomes a map, if every rank has exactly one place and no limit is passed.
 */

#include "config.h"

#include "dvmd-map-check.h"

/* A check counts the processes of each node and application as far as the answer has been read. */
typedef struct
{
  const DvmdMapRequest *request;
  guint *on_node;
  guint *of_app;
  guint *of_app_on_node; /* NULL: nobody asks */
  guint num_procs;
} Check;

G_STATIC_ASSERT (DVMD_BIND_TO_HWTHREAD == 1 << (8 - DVMD_OBJECT_HWTHREAD));
G_STATIC_ASSERT (DVMD_BIND_TO_PACKAGE == 1 << (8 - DVMD_OBJECT_PACKAGE));

DvmdObjectKind
dvmd_map_check_kind_of (DvmdBindTo bind_to)
{
  return bind_to > DVMD_BIND_TO_NONE ? 8 - g_bit_nth_lsf (bind_to, -1) : DVMD_OBJECT_NODE;
}

guint64
dvmd_map_check_sum_of_np (const DvmdMapRequest *request)
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

static gboolean
is_empty (const DvmdCpuset *self)
{
  for (guint i = 0; i < self->n_words; i++)
    if (self->words[i] != 0)
      return FALSE;
  return TRUE;
}

/* A device that others have, or that is near no cpu of the job, has no cpus. */
static gboolean
has_far_device (DvmdMapTopology *topology, const DvmdPlacementRun *run)
{
  guint64 last = (run->count - 1) / MAX (run->per_object, 1);

  if (run->object_stride == 0)
    last = 0;
  for (guint64 i = 0; i <= last; i++)
    {
      guint32 object = (guint32)(run->object + i * run->object_stride);
      const DvmdCpuset *cpus = dvmd_map_topology_get_cpus (topology, run->kind, object);

      if (cpus == NULL || is_empty (cpus))
        return TRUE;
    }
  return FALSE;
}

/* The result says what is wrong with the objects and cpus of the run; NULL: nothing. */
static const char *
check_hardware (const DvmdMapRequest *request, const DvmdPlacementRun *run)
{
  const DvmdMapNode *node = &request->nodes[run->node];
  const DvmdCpuset *allowed = node->allowed;
  guint64 last = run->object + (run->count - 1) / MAX (run->per_object, 1) * (guint64)run->object_stride;

  if ((guint)run->kind >= DVMD_N_OBJECT_KINDS)
    return "it speaks of a kind of object that there is not";
  if (run->kind == DVMD_OBJECT_NODE && run->cpus == NULL)
    return last == 0 ? NULL : "it speaks of an object without a kind";
  if (node->topology == NULL || dvmd_map_topology_get_n_objects (node->topology, DVMD_OBJECT_NODE) == 0)
    return "it speaks of the hardware of a node of which that is not known";
  if (last >= dvmd_map_topology_get_n_objects (node->topology, run->kind))
    return "it speaks of an object that the node does not have";
  if (run->kind == DVMD_OBJECT_DEVICE && has_far_device (node->topology, run))
    return "it uses a device that others have, or that is near no cpu of the node";
  if (run->cpus != NULL && request->bind_to <= DVMD_BIND_TO_NONE)
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

static void
add_run (DvmdMap *map, const DvmdMapRequest *request, const DvmdPlacementRun *run)
{
  DvmdMapRow row = {
    .node = request->nodes[run->node].rank,
    .app = run->app,
    .first_rank = run->first_rank,
    .count = run->count,
    .stride = run->stride,
    .place = { run->kind, run->object },
    .per_object = MAX (run->per_object, 1),
    .object_stride = run->object_stride,
  };

  if (run->cpus != NULL)
    {
      g_autofree char *cpus = dvmd_cpuset_to_list (run->cpus);

      row.place = (DvmdBindingPlace){ DVMD_KIND_CPUS, dvmd_map_add_cpuset (map, cpus) };
      row.object_stride = 0;
    }
  dvmd_map_add_run (map, &row);
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
      add_run (map, self->request, &runs[i]);
    }
  if (map->num_procs < self->num_procs)
    *wrong = "a rank has no place";
  else if (!dvmd_map_is_whole (map))
    *wrong = "a rank has more than one place";
  else
    return g_steal_pointer (&map);
  return NULL;
}

DvmdMap *
dvmd_map_check_answer (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  g_autofree guint *on_node = g_new0 (guint, request->n_nodes);
  g_autofree guint *of_app = g_new0 (guint, request->n_apps);
  Check self = { .request = request, .on_node = on_node, .of_app = of_app };
  const char *wrong = NULL;
  DvmdMap *map;

  self.num_procs = (guint)dvmd_map_check_sum_of_np (request);
  if (request->app_limits != NULL)
    self.of_app_on_node = g_new0 (guint, (gsize)request->n_apps * request->n_nodes);
  map = take_answer (&self, placement, &wrong);
  g_free (self.of_app_on_node);
  if (map == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "The map of %s is not used: %s", G_OBJECT_TYPE_NAME (mapper),
                 wrong);
  return map;
}

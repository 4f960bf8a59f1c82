/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranks on the cpus of a list: a node takes as many as it has cpus, then the next node.
 */

#include "config.h"

#include <string.h>

#include "cpu-list.h"
#include "map-plan.h"
#include "map-words.h"

#define DVMD_TYPE_PE_LIST (dvmd_pe_list_get_type ())
G_DECLARE_FINAL_TYPE (DvmdPeList, dvmd_pe_list, DVMD, PE_LIST, DvmdMapper)

#define PLACE "map-by: pe-list"

struct _DvmdPeList
{
  DvmdMapper parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdPeList, dvmd_pe_list, DVMD_TYPE_MAPPER)

/* Cpus of the list at equal distances. */
typedef struct
{
  guint32 offset;
  guint32 count;
  guint32 first;
  guint32 stride;
} Segment;

typedef struct
{
  const DvmdMapRequest *request;
  DvmdPlacement *placement;
  GArray *ranges;
  GArray *segments;  /* Segment */
  guint32 n_cpus;    /* of the list */
  gboolean one_each; /* a cpu for each process */
  guint32 *used;     /* per node: processes that it has */
  guint32 *counts;   /* per node: of the application that is placed */
} Mapping;

/* ---- the list ---- */

static void
add_cpu (GArray *segments, guint32 cpu)
{
  Segment *last = segments->len > 0 ? &g_array_index (segments, Segment, segments->len - 1) : NULL;
  Segment added = { .count = 1, .first = cpu };

  if (last != NULL)
    added.offset = last->offset + last->count;
  if (last != NULL && cpu > last->first && (last->count == 1 || last->first + last->count * last->stride == cpu))
    {
      last->stride = last->count == 1 ? cpu - last->first : last->stride;
      last->count++;
      return;
    }
  g_array_append_val (segments, added);
}

/* (transfer full) (nullable): NULL with an error, a cpu is named twice */
static GArray *
list_segments (GArray *ranges, guint32 *n_cpus, GError **error)
{
  g_autoptr (GArray) segments = g_array_new (FALSE, TRUE, sizeof (Segment));
  g_autofree guint8 *seen = g_malloc0 (G_MAXUINT16 + 1);

  *n_cpus = 0;
  for (guint i = 0; i < ranges->len; i++)
    {
      const DvmdCpuRange *range = &g_array_index (ranges, DvmdCpuRange, i);

      for (guint32 cpu = range->first; cpu <= range->last; cpu++, (*n_cpus)++)
        {
          if (seen[cpu]++)
            {
              g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, PLACE ": cpu %u is named twice", cpu);
              return NULL;
            }
          add_cpu (segments, cpu);
        }
    }
  return g_steal_pointer (&segments);
}

static gboolean
dvmd_pe_list_check (DvmdMapper *mapper, const DvmdMapRequest *request, GError **error)
{
  g_autoptr (GArray) ranges = dvmd_cpu_list_parse (request->value, PLACE, error);
  g_autoptr (GArray) segments = NULL;
  guint32 n_cpus;

  segments = ranges != NULL ? list_segments (ranges, &n_cpus, error) : NULL;
  return segments != NULL;
}

/* How many cpus of the nodes of a program the others there leave, of n_cpus on each */
static guint64
count_free (const DvmdMapRequest *request, const guint32 *app_np, guint app, guint32 n_cpus)
{
  guint64 n_free = 0;
  guint64 taken = dvmd_map_plan_count_others (request, app_np, app);

  for (guint node = 0; node < request->n_nodes; node++)
    n_free += dvmd_map_plan_app_limit (request, app, node) > 0 ? n_cpus : 0;
  return n_free - MIN (n_free, taken);
}

/* One process for each cpu, as far as other programs leave some; one that has none is refused when it is placed. */
static gboolean
dvmd_pe_list_count (DvmdMapper *mapper, const DvmdMapRequest *request, guint32 *app_np)
{
  g_autoptr (GArray) ranges = dvmd_cpu_list_parse (request->value, PLACE, NULL);
  g_autoptr (GArray) segments = NULL;
  gboolean share = (request->bind_flags & DVMD_BIND_OVERLOAD) != 0 || request->n_nodes == 0;
  guint32 n_cpus = 0;

  segments = ranges != NULL ? list_segments (ranges, &n_cpus, NULL) : NULL;
  for (guint app = 0; segments != NULL && app < request->n_apps; app++)
    if (app_np[app] == 0)
      app_np[app] = share ? n_cpus : (guint32)CLAMP (count_free (request, app_np, app, n_cpus), 1, n_cpus);
  return segments != NULL;
}

/* ---- nodes ---- */

static guint32
room_of_node (const Mapping *self, guint app, guint node)
{
  const DvmdMapRequest *request = self->request;
  const DvmdMapNode *offered = &request->nodes[node];
  guint32 most = request->oversubscribe ? offered->most : offered->limit;
  guint32 limit = dvmd_map_plan_app_limit (request, app, node);

  if (limit == 0)
    return 0;
  if ((request->bind_flags & DVMD_BIND_OVERLOAD) == 0)
    most = MIN (most, self->n_cpus);
  most -= MIN (most, self->used[node]);
  return request->oversubscribe ? most : MIN (most, limit);
}

/* Answers how many are left over. */
static guint32
fill_nodes (Mapping *self, guint app)
{
  guint32 left = self->request->app_np[app];

  for (guint node = 0; node < self->request->n_nodes; node++)
    {
      self->counts[node] = MIN (left, room_of_node (self, app, node));
      left -= self->counts[node];
    }
  return left;
}

static gboolean
check_free (const DvmdMapRequest *request, const DvmdMapNode *node, const DvmdCpuset *cpus, GError **error)
{
  g_auto (DvmdCpuLedger) ledger = { 0 };

  dvmd_cpu_ledger_init (&ledger);
  if ((request->bind_flags & DVMD_BIND_OVERLOAD) != 0 || dvmd_cpu_ledger_take (&ledger, node, 0, cpus))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               PLACE ": one of the cpus %s of node %s has a process of another job, or program", request->value,
               node->name);
  return FALSE;
}

static gboolean
is_in_one_package (const DvmdMapNode *node, const DvmdCpuset *cpus)
{
  guint32 n = dvmd_map_topology_get_n_objects (node->topology, DVMD_OBJECT_PACKAGE);

  for (guint32 i = 0; i < n; i++)
    if (dvmd_cpuset_is_within (cpus, dvmd_map_topology_get_cpus (node->topology, DVMD_OBJECT_PACKAGE, i)))
      return TRUE;
  return n == 0;
}

/* Whether the node has these cpus for the job. */
static gboolean
check_node (const Mapping *self, guint node, DvmdCpuChoice *choice, GError **error)
{
  const DvmdMapRequest *request = self->request;
  const DvmdMapNode *offered = &request->nodes[node];

  if (request->bind_to <= DVMD_BIND_TO_NONE)
    return TRUE;
  if (!dvmd_cpu_list_choose (self->ranges, offered, request->cpus, PLACE, choice, error)
      || !check_free (request, offered, choice->cpus, error))
    return FALSE;
  if (self->one_each || is_in_one_package (offered, choice->cpus))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               PLACE ": the cpus %s of node %s are of several packages, and no process is on two: with “ordered” each "
                     "has one of them",
               request->value, offered->name);
  return FALSE;
}

/* ---- ranks ---- */

/* Of each node that has so many, the processes from this one to that one; all, unless nodes take turns. */
typedef struct
{
  guint32 from;
  guint32 to;
  guint32 first_rank;
  guint32 stride; /* from a rank of a node to its next one */
} Stretch;

/* Its processes on a node. rank: of the first one; moved on to the next node */
static DvmdPlacementRun
make_run (const Mapping *self, const Stretch *stretch, guint app, guint node, guint32 *rank)
{
  guint32 to = MIN (stretch->to, self->counts[node]);
  DvmdPlacementRun run = { .node = node, .app = app, .first_rank = *rank, .stride = stretch->stride };

  run.count = to - MIN (stretch->from, to);
  *rank += self->request->rank_by == DVMD_RANK_BY_NODE ? run.count > 0 : run.count;
  return run;
}

/* The processes of a node that come after those that it has are on the next cpus of the list. begin: of the list */
static void
add_part (const Mapping *self, DvmdPlacementRun run, const Segment *segment, guint32 used, guint32 begin)
{
  const DvmdMapRequest *request = self->request;
  guint32 start = begin + segment->offset;
  guint32 from = MAX (used, start);
  guint32 end = MIN (used + run.count, start + segment->count);

  if (from >= end)
    return;
  run.count = end - from;
  run.first_rank += (from - used) * run.stride;
  run.per_object = 1;
  run.kind = dvmd_cpu_list_kind (request->nodes[run.node].topology, request->cpus);
  run.object = segment->first + (from - start) * segment->stride;
  run.object_stride = segment->stride;
  dvmd_placement_add_run (self->placement, &run);
}

/* Processes that may share cpus begin with the list again. */
static void
add_column (const Mapping *self, const Stretch *stretch, guint app, const Segment *segment)
{
  guint32 rank = stretch->first_rank;

  for (guint node = 0; node < self->request->n_nodes; node++)
    {
      const DvmdPlacementRun run = make_run (self, stretch, app, node, &rank);
      guint32 used = self->used[node] + stretch->from;
      guint32 begin = used - used % self->n_cpus;

      for (; begin < used + run.count; begin += self->n_cpus)
        add_part (self, run, segment, used, begin);
    }
}

static gboolean
add_nodes (const Mapping *self, const Stretch *stretch, guint app, GError **error)
{
  const DvmdMapNode *last = NULL;
  g_auto (DvmdCpuChoice) choice = { 0 };
  guint32 rank = stretch->first_rank;

  for (guint node = 0; node < self->request->n_nodes; node++)
    {
      const DvmdMapNode *offered = &self->request->nodes[node];
      DvmdPlacementRun run = make_run (self, stretch, app, node, &rank);

      if (run.count == 0)
        continue;
      if (last == NULL || last->topology != offered->topology || offered->in_use != last->in_use
          || offered->allowed != last->allowed)
        {
          dvmd_cpu_choice_clear (&choice);
          if (!check_node (self, node, &choice, error))
            return FALSE;
        }
      last = offered;
      run.cpus = choice.cpus;
      if (!self->one_each)
        dvmd_placement_add_run (self->placement, &run);
    }
  return TRUE;
}

static gboolean
set_no_place (const Mapping *self, guint32 left, GError **error)
{
  const DvmdMapRequest *request = self->request;
  gboolean one = request->n_nodes == 1;
  g_autofree char *nodes = dvmd_map_words_show_nodes (request);
  g_autofree char *need = g_strdup_printf (left == 1 ? "%u process has" : "%u processes have", left);

  if ((request->bind_flags & DVMD_BIND_OVERLOAD) != 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, PLACE ": %s no place: %s %s not so many slots", need, nodes,
                 one ? "has" : "have");
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                 PLACE ": %s no place: %s%s takes one for each of the cpus that are listed (%u), as far as it has "
                       "slots; have fewer, or let them share (bind-to %s:overload-allowed)",
                 need, one ? "" : "each of ", nodes, self->n_cpus,
                 request->cpus == DVMD_CPUS_CORE ? "core" : "hwthread");
  return FALSE;
}

static gboolean
add_stretch (const Mapping *self, const Stretch *stretch, guint app, GError **error)
{
  if (!add_nodes (self, stretch, app, error))
    return FALSE;
  for (guint i = 0; self->one_each && i < self->segments->len; i++)
    add_column (self, stretch, app, &g_array_index (self->segments, Segment, i));
  return TRUE;
}

/* One on each node in turn: until some node has no more, the ranks of each are as far apart as there are nodes. */
static gboolean
take_turns (const Mapping *self, guint app, guint32 first_rank, GError **error)
{
  Stretch stretch = { .first_rank = first_rank };

  do
    {
      stretch.first_rank += stretch.stride * (stretch.to - stretch.from);
      stretch.from = stretch.to;
      stretch.to = G_MAXUINT32;
      stretch.stride = 0;
      for (guint node = 0; node < self->request->n_nodes; node++)
        if (self->counts[node] > stretch.from)
          {
            stretch.to = MIN (stretch.to, self->counts[node]);
            stretch.stride++;
          }
      if (stretch.stride > 0 && !add_stretch (self, &stretch, app, error))
        return FALSE;
    }
  while (stretch.stride > 0);
  return TRUE;
}

static gboolean
place_app (Mapping *self, guint app, guint32 first_rank, GError **error)
{
  const Stretch all = { .to = G_MAXUINT32, .first_rank = first_rank, .stride = 1 };
  guint32 left = fill_nodes (self, app);

  if (left > 0)
    return set_no_place (self, left, error);
  if (self->request->rank_by == DVMD_RANK_BY_NODE ? !take_turns (self, app, first_rank, error)
                                                  : !add_stretch (self, &all, app, error))
    return FALSE;
  for (guint node = 0; node < self->request->n_nodes; node++)
    self->used[node] += self->counts[node];
  return TRUE;
}

static DvmdPluginVerdict
dvmd_pe_list_map (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  g_autoptr (GArray) ranges = dvmd_cpu_list_parse (request->value, PLACE, error);
  g_autoptr (GArray) segments = NULL;
  g_autofree guint32 *memory = g_new0 (guint32, 2 * (gsize)request->n_nodes);
  gboolean to_cpus = (request->bind_to & (DVMD_BIND_TO_CORE | DVMD_BIND_TO_HWTHREAD)) != 0;
  Mapping self = { .request = request, .placement = placement, .ranges = ranges };
  guint32 first_rank = 0;

  segments = ranges != NULL ? list_segments (ranges, &self.n_cpus, error) : NULL;
  if (segments == NULL)
    return DVMD_PLUGIN_FAILED;
  self.segments = segments;
  self.one_each = dvmd_map_words_has_qualifier (request, "ordered") || (to_cpus && !request->bind_is_default);
  self.one_each = self.one_each && request->bind_to > DVMD_BIND_TO_NONE;
  self.used = memory;
  self.counts = memory + request->n_nodes;
  for (guint app = 0; app < request->n_apps; app++)
    {
      if (!place_app (&self, app, first_rank, error))
        return DVMD_PLUGIN_FAILED;
      first_rank += request->app_np[app];
    }
  return DVMD_PLUGIN_DONE;
}

static void
dvmd_pe_list_class_init (DvmdPeListClass *klass)
{
  DvmdMapperClass *mapper_class = DVMD_MAPPER_CLASS (klass);

  mapper_class->map = dvmd_pe_list_map;
  mapper_class->check = dvmd_pe_list_check;
  mapper_class->count = dvmd_pe_list_count;
}

static void
dvmd_pe_list_init (DvmdPeList *self)
{
}

static const char *const words[] = { "pe-list=CPUS", NULL };
static const char *const qualifiers[] = { "ordered", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_MAPPER,
  .name = "pe-list",
  .description = "places ranks on the cpus of a list",
  .get_type = dvmd_pe_list_get_type,
  .words = words,
  .qualifiers = qualifiers,
  .rankings = DVMD_RANK_BY_SLOT | DVMD_RANK_BY_NODE,
  .bindings = DVMD_MAP_BINDINGS,
  .settings = DVMD_PLUGIN_NO_SETTINGS,
};

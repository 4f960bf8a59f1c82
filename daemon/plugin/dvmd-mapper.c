/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The base class of plugins that decide where the processes of a job go.
 */

#include "config.h"

#include "dvmd-mapper.h"

struct _DvmdPlacement
{
  GArray *runs; /* DvmdPlacementRun */
};

G_DEFINE_ABSTRACT_TYPE (DvmdMapper, dvmd_mapper, DVMD_TYPE_PLUGIN)

static DvmdPluginVerdict
decline (DvmdMapper *self, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  return DVMD_PLUGIN_DECLINED;
}

static void
dvmd_mapper_class_init (DvmdMapperClass *klass)
{
  klass->map = decline;
}

static void
dvmd_mapper_init (DvmdMapper *self)
{
}

DvmdPluginVerdict
dvmd_mapper_map (DvmdMapper *self, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  g_return_val_if_fail (DVMD_IS_MAPPER (self), DVMD_PLUGIN_DECLINED);

  return DVMD_MAPPER_GET_CLASS (self)->map (self, request, placement, error);
}

gboolean
dvmd_mapper_check (DvmdMapper *self, const DvmdMapRequest *request, GError **error)
{
  DvmdMapperClass *klass = DVMD_MAPPER_GET_CLASS (self);

  return klass->check == NULL || klass->check (self, request, error);
}

gboolean
dvmd_mapper_count (DvmdMapper *self, const DvmdMapRequest *request, guint32 *app_np)
{
  DvmdMapperClass *klass = DVMD_MAPPER_GET_CLASS (self);

  return klass->count != NULL && klass->count (self, request, app_np);
}

DvmdMapRoom *
dvmd_map_node_get_room (const DvmdMapNode *self, DvmdCpuKind cpus)
{
  return self->topology != NULL ? dvmd_map_room_new (self->topology, self->allowed, self->in_use, cpus) : NULL;
}

static gboolean
is_for (const DvmdMapRequest *self, guint app, guint node)
{
  return self->app_limits == NULL || self->app_limits[(gsize)app * self->n_nodes + node] > 0;
}

/* (transfer full) (nullable): 1 + the application without a number for which each node is, 0: there is none. NULL: some
   node is for two of them; where no nodes are known any may be. */
static guint *
find_owners (const DvmdMapRequest *self, const guint32 *app_np)
{
  g_autofree guint *owners = g_new0 (guint, self->n_nodes + 1);
  guint n_open = 0;

  for (guint app = 0; app < self->n_apps; app++)
    {
      if (app_np[app] > 0)
        continue;
      if (n_open++ > 0 && self->n_nodes == 0)
        return NULL;
      for (guint node = 0; node < self->n_nodes; node++)
        if (is_for (self, app, node))
          {
            if (owners[node] > 0)
              return NULL;
            owners[node] = app + 1;
          }
    }
  return g_steal_pointer (&owners);
}

guint64 *
dvmd_map_request_count_others (const DvmdMapRequest *self, const guint32 *app_np)
{
  g_autofree guint *owners = find_owners (self, app_np);
  g_autofree guint *last = g_new0 (guint, self->n_apps + 1);
  guint64 *others;

  if (owners == NULL)
    return NULL;
  others = g_new0 (guint64, self->n_apps + 1);
  for (guint app = 0; app < self->n_apps; app++)
    for (guint node = 0; app_np[app] > 0 && node < self->n_nodes; node++)
      if (owners[node] > 0 && last[owners[node] - 1] != app + 1 && is_for (self, app, node))
        {
          last[owners[node] - 1] = app + 1;
          others[owners[node] - 1] += app_np[app];
        }
  return others;
}

static void
run_clear (gpointer data)
{
  DvmdPlacementRun *run = data;

  if (run->cpus != NULL)
    dvmd_cpuset_free ((DvmdCpuset *)run->cpus);
}

DvmdPlacement *
dvmd_placement_new (void)
{
  DvmdPlacement *self = g_new0 (DvmdPlacement, 1);

  self->runs = g_array_new (FALSE, FALSE, sizeof (DvmdPlacementRun));
  g_array_set_clear_func (self->runs, run_clear);
  return self;
}

void
dvmd_placement_free (DvmdPlacement *self)
{
  g_array_unref (self->runs);
  g_free (self);
}

/* It begins where the other ends, and neither has objects. */
static gboolean
goes_on (const DvmdPlacementRun *run, const DvmdPlacementRun *last)
{
  return run->kind == DVMD_OBJECT_NODE && last->kind == DVMD_OBJECT_NODE && run->cpus == NULL && last->cpus == NULL
         && last->node == run->node && last->app == run->app && last->stride == 1 && run->stride == 1
         && last->first_rank + last->count == run->first_rank;
}

void
dvmd_placement_add_run (DvmdPlacement *self, const DvmdPlacementRun *run)
{
  DvmdPlacementRun *last = NULL;
  DvmdPlacementRun added = *run;

  g_return_if_fail (self != NULL);

  if (self->runs->len > 0)
    last = &g_array_index (self->runs, DvmdPlacementRun, self->runs->len - 1);
  if (last != NULL && goes_on (run, last))
    {
      last->count += run->count;
      return;
    }
  if (run->cpus != NULL)
    added.cpus = dvmd_cpuset_copy (run->cpus);
  g_array_append_val (self->runs, added);
}

void
dvmd_placement_add (DvmdPlacement *self, guint32 node, guint32 app, guint32 first_rank, guint32 count, guint32 stride)
{
  const DvmdPlacementRun run = { .node = node, .app = app, .first_rank = first_rank, .count = count, .stride = stride };

  dvmd_placement_add_run (self, &run);
}

const DvmdPlacementRun *
dvmd_placement_get_runs (DvmdPlacement *self, guint *n_runs)
{
  *n_runs = self->runs->len;
  return (const DvmdPlacementRun *)self->runs->data;
}

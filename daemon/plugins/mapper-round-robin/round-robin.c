/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * By slot: a node is filled, then the next. By node: one process on each node in turn.
 */

#include "config.h"

#include <string.h>

#include "dvmd-plugin.h"

#define DVMD_TYPE_ROUND_ROBIN (dvmd_round_robin_get_type ())
G_DECLARE_FINAL_TYPE (DvmdRoundRobin, dvmd_round_robin, DVMD, ROUND_ROBIN, DvmdMapper)

struct _DvmdRoundRobin
{
  DvmdMapper parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdRoundRobin, dvmd_round_robin, DVMD_TYPE_MAPPER)

/* The state of one mapping: what is left on each node, and the rank that comes next. */
typedef struct
{
  const DvmdMapRequest *request;
  DvmdPlacement *placement;
  guint *left; /* per node */
  guint next_rank;
  guint cursor; /* by node: where the next process goes */
} Mapping;

static void
place_by_slot (Mapping *self, guint app, guint np)
{
  for (guint node = 0; node < self->request->n_nodes && np > 0; node++)
    {
      guint count = MIN (np, self->left[node]);

      if (count == 0)
        continue;
      dvmd_placement_add (self->placement, node, app, self->next_rank, count, 1);
      self->left[node] -= count;
      self->next_rank += count;
      np -= count;
    }
}

/*
 * One process on each node in turn. The ranks of a node are then as many steps apart as there are nodes that still
 * take part: each stretch between two nodes running full is one run with a stride per node.
 */
static void
place_by_node (Mapping *self, guint app, guint np)
{
  guint n_nodes = self->request->n_nodes;

  while (np > 0)
    {
      g_autoptr (GArray) open = g_array_new (FALSE, FALSE, sizeof (guint));
      guint rounds = G_MAXUINT;
      guint first = self->next_rank;

      for (guint i = 0; i < n_nodes; i++)
        {
          guint node = (self->cursor + i) % n_nodes;

          if (self->left[node] == 0)
            continue;
          g_array_append_val (open, node);
          rounds = MIN (rounds, self->left[node]);
        }
      rounds = MIN (rounds, MAX (np / open->len, 1));
      for (guint i = 0; i < open->len && i < np; i++)
        {
          guint node = g_array_index (open, guint, i);

          dvmd_placement_add (self->placement, node, app, first + i, rounds, open->len);
          self->left[node] -= rounds;
          self->cursor = (node + 1) % n_nodes;
        }
      self->next_rank += rounds * MIN (open->len, np);
      np -= rounds * MIN (open->len, np);
    }
}

/* Raises the limits so that all fit: evenly, the first nodes one more. */
static void
spread_the_rest (Mapping *self, guint rest)
{
  guint n = self->request->n_nodes;

  for (guint node = 0; node < n; node++)
    self->left[node] += rest / n + (node < rest % n ? 1 : 0);
}

static gboolean
find_room (Mapping *self, GError **error)
{
  const DvmdMapRequest *request = self->request;
  guint64 need = 0;
  guint64 total = 0;

  for (guint i = 0; i < request->n_apps; i++)
    need += request->app_np[i];
  for (guint i = 0; i < request->n_nodes; i++)
    {
      self->left[i] = request->nodes[i].limit;
      total += request->nodes[i].limit;
    }
  if (need > total && !request->oversubscribe)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                   "%" G_GUINT64_FORMAT " processes do not fit into the %" G_GUINT64_FORMAT
                   " slots of the job's %u nodes",
                   need, total, request->n_nodes);
      return FALSE;
    }
  if (need > total)
    spread_the_rest (self, need - total);
  return TRUE;
}

static DvmdPluginVerdict
dvmd_round_robin_map (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  gboolean by_node = strcmp (request->map_by, "node") == 0;
  g_autofree guint *left = NULL;
  Mapping self = { .request = request, .placement = placement };

  if (!by_node && strcmp (request->map_by, "slot") != 0)
    return DVMD_PLUGIN_DECLINED;
  self.left = left = g_new (guint, request->n_nodes);
  if (!find_room (&self, error))
    return DVMD_PLUGIN_FAILED;
  for (guint app = 0; app < request->n_apps; app++)
    {
      if (by_node)
        place_by_node (&self, app, request->app_np[app]);
      else
        place_by_slot (&self, app, request->app_np[app]);
    }
  return DVMD_PLUGIN_DONE;
}

static void
dvmd_round_robin_class_init (DvmdRoundRobinClass *klass)
{
  DVMD_MAPPER_CLASS (klass)->map = dvmd_round_robin_map;
}

static void
dvmd_round_robin_init (DvmdRoundRobin *self)
{
}

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_MAPPER,
  .name = "round-robin",
  .description = "places ranks by slot and by node",
  .get_type = dvmd_round_robin_get_type,
};

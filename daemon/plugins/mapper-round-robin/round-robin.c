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

/* The state of one mapping. */
typedef struct
{
  const DvmdMapRequest *request;
  DvmdPlacement *placement;
  guint *left;   /* per node: what is left of its limit */
  guint *beyond; /* per node: what it takes besides */
  guint *room;   /* per node: what the application that is placed may have there now */
  guint *counts; /* per node: what that application has */
  guint next_rank;
  guint cursor; /* by node: where the next process goes */
} Mapping;

/* ---- how many on each node ---- */

static guint
fill_nodes (Mapping *self, guint np)
{
  for (guint node = 0; node < self->request->n_nodes && np > 0; node++)
    {
      guint count = MIN (np, self->room[node]);

      self->counts[node] += count;
      self->room[node] -= count;
      np -= count;
    }
  return np;
}

/* How many nodes have room, and how much each of them at least. */
static guint
count_open (const guint *room, guint n_nodes, guint *least)
{
  guint n = 0;

  *least = G_MAXUINT;
  for (guint node = 0; node < n_nodes; node++)
    if (room[node] > 0)
      {
        *least = MIN (*least, room[node]);
        n++;
      }
  return n;
}

/* One on each node in turn, beginning there. Answers how many are left over. */
static guint
deal (Mapping *self, guint first, guint np)
{
  guint n_nodes = self->request->n_nodes;

  while (np > 0)
    {
      guint least;
      guint n_open = count_open (self->room, n_nodes, &least);
      guint rounds;

      if (n_open == 0)
        return np;
      rounds = MAX (MIN (least, np / n_open), 1);
      for (guint i = 0; i < n_nodes && np > 0; i++)
        {
          guint node = (first + i) % n_nodes;

          if (self->room[node] == 0)
            continue;
          self->counts[node] += rounds;
          self->room[node] -= rounds;
          np -= rounds;
        }
    }
  return 0;
}

static void
open_room (Mapping *self, guint app, const guint *of)
{
  const DvmdMapRequest *request = self->request;

  for (guint node = 0; node < request->n_nodes; node++)
    {
      guint limit = request->app_limits != NULL ? request->app_limits[app * request->n_nodes + node] : G_MAXUINT;

      /* Beyond the limits of nodes those of applications only say which nodes. */
      if (of == self->left || limit == 0)
        self->room[node] = MIN (of[node], limit);
      else
        self->room[node] = of[node];
    }
}

/* Counts what the application has there. */
static void
use_room (Mapping *self)
{
  for (guint node = 0; node < self->request->n_nodes; node++)
    {
      guint within = MIN (self->counts[node], self->left[node]);

      self->left[node] -= within;
      self->beyond[node] -= self->counts[node] - within;
    }
}

static gboolean
count_app (Mapping *self, guint app, gboolean by_node)
{
  guint np = self->request->app_np[app];

  memset (self->counts, 0, self->request->n_nodes * sizeof (guint));
  open_room (self, app, self->left);
  np = by_node ? deal (self, self->cursor, np) : fill_nodes (self, np);
  if (np > 0 && self->request->oversubscribe)
    {
      open_room (self, app, self->beyond);
      np = deal (self, by_node ? self->cursor : 0, np);
    }
  use_room (self);
  return np == 0;
}

/* ---- which ranks ---- */

static void
place_by_slot (Mapping *self, guint app)
{
  for (guint node = 0; node < self->request->n_nodes; node++)
    if (self->counts[node] > 0)
      {
        dvmd_placement_add (self->placement, node, app, self->next_rank, self->counts[node], 1);
        self->next_rank += self->counts[node];
      }
}

/*
 * One process on each node in turn. The ranks of a node are then as many steps apart as there are nodes that still
 * take part: each stretch until one of them has all of its own is one run with a stride per node.
 */
static void
place_by_node (Mapping *self, guint app)
{
  guint n_nodes = self->request->n_nodes;
  guint start = self->cursor;
  guint rounds;
  guint n_open;

  while ((n_open = count_open (self->counts, n_nodes, &rounds)) > 0)
    {
      guint first = self->next_rank;

      for (guint i = 0; i < n_nodes; i++)
        {
          guint node = (start + i) % n_nodes;

          if (self->counts[node] == 0)
            continue;
          dvmd_placement_add (self->placement, node, app, first++, rounds, n_open);
          self->counts[node] -= rounds;
          self->cursor = (node + 1) % n_nodes;
        }
      self->next_rank += rounds * n_open;
    }
}

static void
open_nodes (Mapping *self)
{
  for (guint i = 0; i < self->request->n_nodes; i++)
    {
      const DvmdMapNode *node = &self->request->nodes[i];

      self->left[i] = node->limit;
      self->beyond[i] = node->most > node->limit ? node->most - node->limit : 0;
    }
}

static void
set_error (const DvmdMapRequest *request, GError **error)
{
  guint64 need = 0;
  guint64 total = 0;

  for (guint i = 0; i < request->n_apps; i++)
    need += request->app_np[i];
  for (guint i = 0; i < request->n_nodes; i++)
    total += request->oversubscribe ? request->nodes[i].most : request->nodes[i].limit;
  g_set_error (
      error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
      "%" G_GUINT64_FORMAT " processes do not fit into the %" G_GUINT64_FORMAT " slots of the job's %u nodes%s", need,
      total, request->n_nodes, request->app_limits != NULL ? ", as far as they are for its applications" : "");
}

static DvmdPluginVerdict
dvmd_round_robin_map (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  gboolean by_node = strcmp (request->word, "node") == 0;
  g_autofree guint *memory = NULL;
  Mapping self = { .request = request, .placement = placement };

  self.left = memory = g_new0 (guint, 4 * (gsize)request->n_nodes);
  self.beyond = self.left + request->n_nodes;
  self.room = self.beyond + request->n_nodes;
  self.counts = self.room + request->n_nodes;
  open_nodes (&self);
  for (guint app = 0; app < request->n_apps; app++)
    {
      if (!count_app (&self, app, by_node))
        {
          set_error (request, error);
          return DVMD_PLUGIN_FAILED;
        }
      if (by_node)
        place_by_node (&self, app);
      else
        place_by_slot (&self, app);
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

static const char *const words[] = { "slot", "node", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_MAPPER,
  .name = "round-robin",
  .description = "places ranks by slot and by node",
  .get_type = dvmd_round_robin_get_type,
  .words = words,
};

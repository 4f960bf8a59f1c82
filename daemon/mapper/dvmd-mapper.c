/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-mapper.h"

/* The state of one mapping: what is left on each node, and the rank that comes next. */
typedef struct
{
  const DvmdMapRequest *request;
  DvmdMap *map;
  guint *left; /* per node */
  guint next_rank;
  guint cursor; /* by node: where the next process goes */
} Mapping;

static void
take (Mapping *self, guint node, guint app, guint count)
{
  DvmdMap *map = self->map;
  DvmdMapRun *last = map->runs->len > 0 ? &g_array_index (map->runs, DvmdMapRun, map->runs->len - 1) : NULL;
  guint rank = self->request->nodes[node];

  self->left[node] -= count;
  /* Ranks that follow each other on one node are one run. */
  if (last != NULL && last->node == rank && last->app == app && last->stride == 1
      && last->first_rank + last->count == self->next_rank)
    {
      last->count += count;
      map->num_procs += count;
    }
  else
    dvmd_map_add_run (map, rank, app, self->next_rank, count, 1);
  self->next_rank += count;
}

static void
place_by_slot (Mapping *self, guint app, guint np)
{
  for (guint node = 0; node < self->request->n_nodes && np > 0; node++)
    {
      guint count = MIN (np, self->left[node]);

      if (count > 0)
        take (self, node, app, count);
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
  const DvmdMapRequest *request = self->request;

  while (np > 0)
    {
      g_autoptr (GArray) open = g_array_new (FALSE, FALSE, sizeof (guint));
      guint rounds = G_MAXUINT;
      guint first = self->next_rank;

      for (guint i = 0; i < request->n_nodes; i++)
        {
          guint node = (self->cursor + i) % request->n_nodes;

          if (self->left[node] == 0)
            continue;
          g_array_append_val (open, node);
          rounds = MIN (rounds, self->left[node]);
        }
      rounds = MIN (rounds, MAX (np / open->len, 1));
      for (guint i = 0; i < open->len && i < np; i++)
        {
          guint node = g_array_index (open, guint, i);

          dvmd_map_add_run (self->map, request->nodes[node], app, first + i, rounds, open->len);
          self->left[node] -= rounds;
          self->cursor = (node + 1) % request->n_nodes;
        }
      self->next_rank += rounds * MIN (open->len, np);
      np -= rounds * MIN (open->len, np);
    }
}

/* Raises the limits so that all fit: evenly, the first nodes one more. */
static void
spread_the_rest (Mapping *self, guint total, guint need)
{
  guint n = self->request->n_nodes;
  guint rest = need - total;

  for (guint node = 0; node < n; node++)
    self->left[node] += rest / n + (node < rest % n ? 1 : 0);
}

DvmdMap *
dvmd_mapper_map (const DvmdMapRequest *request, GError **error)
{
  g_autoptr (DvmdMap) map = dvmd_map_new ();
  g_autofree guint *left = g_memdup2 (request->limits, sizeof (guint) * request->n_nodes);
  Mapping self = { .request = request, .map = map, .left = left };
  guint need = 0;
  guint total = 0;

  for (guint i = 0; i < request->n_apps; i++)
    need += request->app_np[i];
  for (guint i = 0; i < request->n_nodes; i++)
    total += request->limits[i];
  if (request->n_nodes == 0 || (need > total && !request->oversubscribe))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                   "%u processes do not fit into the %u slots of the job's %u nodes", need, total, request->n_nodes);
      return NULL;
    }
  if (need > total)
    spread_the_rest (&self, total, need);
  for (guint app = 0; app < request->n_apps; app++)
    {
      if (request->by == DVMD_MAP_BY_SLOT)
        place_by_slot (&self, app, request->app_np[app]);
      else
        place_by_node (&self, app, request->app_np[app]);
    }
  return g_steal_pointer (&map);
}

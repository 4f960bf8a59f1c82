/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which ranks the processes of an application have, node by node. What like nodes have alike is added together, so that
 * the map stays small: first the beginnings of all nodes, then what follows there.
 */

#include "config.h"

#include "map-plan.h"

typedef struct
{
  DvmdMapPlan *plan;
  guint app;
  const DvmdMapPattern **patterns; /* per node; NULL: it has nothing */
} Ranking;

/* A part of a segment: count of its processes, from this offset on, and their ranks. */
typedef struct
{
  guint32 from;
  guint32 count;
  guint32 first_rank;
  guint32 stride;
} Part;

static void
add_run (Ranking *self, guint node, const DvmdMapSegment *segment, const Part *part, guint32 skip)
{
  DvmdObjectKind kind = self->plan->fit[node]->kind;
  DvmdPlacementRun run = {
    .node = node,
    .app = self->app,
    .first_rank = part->first_rank,
    .count = part->count,
    .stride = part->stride,
    .kind = kind,
  };

  if (kind != DVMD_OBJECT_NODE)
    {
      run.object = segment->object + skip / segment->per_object * segment->object_stride;
      run.object_stride = segment->object_stride;
      run.per_object = segment->per_object;
    }
  dvmd_placement_add_run (self->plan->placement, &run);
}

/* A part may begin in the middle of what an object has: that is a run of its own. */
static void
add_part (Ranking *self, guint node, const DvmdMapSegment *segment, Part part)
{
  guint32 skip = part.from - segment->offset;
  guint32 inside = skip % segment->per_object;

  if (inside > 0 && self->plan->fit[node]->kind != DVMD_OBJECT_NODE)
    {
      Part first = part;

      first.count = MIN (part.count, segment->per_object - inside);
      add_run (self, node, segment, &first, skip);
      part.count -= first.count;
      part.first_rank += first.count * part.stride;
      skip += first.count;
    }
  if (part.count > 0)
    add_run (self, node, segment, &part, skip);
}

/* ---- the ways ---- */

/* The ranks of a node follow each other. */
static void
rank_node_by_node (Ranking *self, gboolean by_object)
{
  DvmdMapPlan *plan = self->plan;
  gboolean more = TRUE;

  for (guint column = 0; more; column++)
    {
      guint32 first = plan->next_rank;

      more = FALSE;
      for (guint node = 0; node < plan->request->n_nodes; node++)
        {
          const DvmdMapPattern *pattern = self->patterns[node];
          const GArray *segments = pattern == NULL ? NULL : by_object ? pattern->by_object : pattern->in_order;

          if (segments != NULL && column < segments->len)
            {
              const DvmdMapSegment *segment = &g_array_index (segments, DvmdMapSegment, column);

              add_part (self, node, segment, (Part){ segment->offset, segment->count, first + segment->offset, 1 });
              more = TRUE;
            }
          first += plan->counts[node];
        }
    }
}

/* A stretch: of each node that has so many, the processes from this one to that one take turns. */
typedef struct
{
  guint32 from;
  guint32 to;
  guint n_open;
} Stretch;

static gboolean
add_column (Ranking *self, const Stretch *stretch, guint column)
{
  DvmdMapPlan *plan = self->plan;
  guint32 position = 0;
  gboolean more = FALSE;

  for (guint node = 0; node < plan->request->n_nodes; node++)
    {
      const DvmdMapPattern *pattern = self->patterns[node];
      const DvmdMapSegment *segment;
      Part part = { .stride = stretch->n_open };
      guint32 end;

      if (plan->counts[node] <= stretch->from)
        continue;
      position++;
      if (column >= pattern->in_order->len)
        continue;
      more = TRUE;
      segment = &g_array_index (pattern->in_order, DvmdMapSegment, column);
      part.from = MAX (segment->offset, stretch->from);
      end = MIN (segment->offset + segment->count, stretch->to);
      if (part.from >= end)
        continue;
      part.count = end - part.from;
      part.first_rank = plan->next_rank + (part.from - stretch->from) * stretch->n_open + position - 1;
      add_part (self, node, segment, part);
    }
  return more;
}

/* How far the nodes that have more go on together. */
static Stretch
find_stretch (const DvmdMapPlan *plan, guint32 from)
{
  Stretch stretch = { .from = from, .to = G_MAXUINT32 };

  for (guint node = 0; node < plan->request->n_nodes; node++)
    if (plan->counts[node] > from)
      {
        stretch.to = MIN (stretch.to, plan->counts[node]);
        stretch.n_open++;
      }
  return stretch;
}

/*
 * One process on each node in turn. The ranks of a node are then as many steps apart as there are nodes that still take
 * part: each stretch until one of them has all of its own is one run with a stride per node, as far as its objects go.
 */
static void
rank_by_node (Ranking *self)
{
  DvmdMapPlan *plan = self->plan;
  guint32 first = plan->next_rank;
  Stretch stretch;

  for (stretch = find_stretch (plan, 0); stretch.n_open > 0; stretch = find_stretch (plan, stretch.to))
    {
      for (guint column = 0; add_column (self, &stretch, column); column++)
        ;
      plan->next_rank += (stretch.to - stretch.from) * stretch.n_open;
    }
  plan->next_rank = first;
}

static void
add_round (Ranking *self, guint32 round, guint32 *next)
{
  DvmdMapPlan *plan = self->plan;
  const DvmdMapPattern *last = NULL;
  g_autoptr (GArray) segments = NULL;

  for (guint node = 0; node < plan->request->n_nodes; node++)
    {
      const DvmdMapPattern *pattern = self->patterns[node];

      if (pattern == NULL || pattern->n_rounds <= round)
        continue;
      if (pattern != last)
        {
          g_clear_pointer (&segments, g_array_unref);
          segments = dvmd_map_fit_list_round (plan->fit[node], pattern, round);
        }
      last = pattern;
      for (guint i = 0; i < segments->len; i++)
        {
          const DvmdMapSegment *segment = &g_array_index (segments, DvmdMapSegment, i);

          add_part (self, node, segment, (Part){ segment->offset, segment->count, *next, 1 });
          *next += segment->count;
        }
    }
}

/* One process on each object in turn, of all nodes. */
static void
rank_by_span (Ranking *self)
{
  DvmdMapPlan *plan = self->plan;
  guint32 n_rounds = 0;
  guint32 next = plan->next_rank;

  for (guint node = 0; node < plan->request->n_nodes; node++)
    if (self->patterns[node] != NULL)
      n_rounds = MAX (n_rounds, self->patterns[node]->n_rounds);
  for (guint32 round = 0; round < n_rounds; round++)
    add_round (self, round, &next);
}

/* ---- all ---- */

/* The next application finds what is left. */
static void
use_room (Ranking *self)
{
  DvmdMapPlan *plan = self->plan;

  for (guint node = 0; node < plan->request->n_nodes; node++)
    {
      guint32 within = MIN (plan->counts[node], plan->left[node]);

      plan->left[node] -= within;
      plan->beyond[node] -= plan->counts[node] - within;
      plan->next_rank += plan->counts[node];
      if (self->patterns[node] != NULL)
        plan->fit[node] = self->patterns[node]->after;
    }
}

void
dvmd_map_plan_place (DvmdMapPlan *self, guint app)
{
  guint n_nodes = self->request->n_nodes;
  g_autofree const DvmdMapPattern **patterns = g_new0 (const DvmdMapPattern *, n_nodes + 1);
  Ranking ranking = { .plan = self, .app = app, .patterns = patterns };

  for (guint node = 0; node < n_nodes; node++)
    if (self->counts[node] > 0)
      patterns[node] = dvmd_map_fit_get_pattern (self->fit[node], self->counts[node], self->fits);
  switch (self->rank_by)
    {
    case DVMD_RANK_BY_NODE:
      rank_by_node (&ranking);
      break;
    case DVMD_RANK_BY_FILL:
      rank_node_by_node (&ranking, TRUE);
      break;
    case DVMD_RANK_BY_SPAN:
      rank_by_span (&ranking);
      break;
    case DVMD_RANK_BY_SLOT:
    default:
      rank_node_by_node (&ranking, FALSE);
      break;
    }
  use_room (&ranking);
}

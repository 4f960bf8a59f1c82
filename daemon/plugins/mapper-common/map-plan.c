/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many processes of each application each node takes: by its limit, and by what its objects have room for.
 */

#include "config.h"

#include "map-plan.h"

#include <string.h>

#include "map-words.h"

/* ---- nodes ---- */

/* Like nodes follow each other more often than not; others are found by their room. */
static DvmdMapFit *
find_fit (DvmdMapPlan *self, GHashTable *by_room, guint node, DvmdObjectKind kind, guint32 quota)
{
  const DvmdMapRequest *request = self->request;
  gboolean matters = kind != DVMD_OBJECT_NODE || request->bind_to > DVMD_BIND_TO_NONE;
  g_autoptr (DvmdMapRoom) room = matters ? dvmd_map_node_get_room (&request->nodes[node], request->cpus) : NULL;
  DvmdMapFit *fit = g_hash_table_lookup (by_room, room);

  if (fit == NULL)
    {
      fit = dvmd_map_fit_new (room, request->nodes[node].topology, kind, quota, request);
      g_ptr_array_add (self->fits, fit);
      g_hash_table_insert (by_room, room, fit);
    }
  return fit;
}

static gboolean
is_like (const DvmdMapNode *left, const DvmdMapNode *right)
{
  return left->topology == right->topology && left->allowed == right->allowed && left->in_use == right->in_use;
}

void
dvmd_map_plan_init (DvmdMapPlan *self, const DvmdMapRequest *request, DvmdPlacement *placement, DvmdObjectKind kind,
                    guint32 quota)
{
  g_autoptr (GHashTable) by_room = g_hash_table_new (NULL, NULL);
  gsize n_nodes = request->n_nodes;

  *self = (DvmdMapPlan){ .request = request, .placement = placement, .rank_by = request->rank_by };
  self->fits = g_ptr_array_new_with_free_func ((GDestroyNotify)dvmd_map_fit_free);
  self->fit = g_new (DvmdMapFit *, n_nodes + 1);
  self->left = g_new0 (guint32, 4 * n_nodes + 1);
  self->beyond = self->left + n_nodes;
  self->room = self->beyond + n_nodes;
  self->counts = self->room + n_nodes;
  for (guint i = 0; i < request->n_nodes; i++)
    {
      const DvmdMapNode *node = &request->nodes[i];

      self->left[i] = node->limit;
      self->beyond[i] = request->oversubscribe && node->most > node->limit ? node->most - node->limit : 0;
      self->fit[i] = i > 0 && is_like (node, node - 1) ? self->fit[i - 1] : find_fit (self, by_room, i, kind, quota);
    }
}

void
dvmd_map_plan_clear (DvmdMapPlan *self)
{
  g_clear_pointer (&self->fits, g_ptr_array_unref);
  g_clear_pointer (&self->fit, g_free);
  g_clear_pointer (&self->left, g_free);
}

guint32
dvmd_map_plan_app_limit (const DvmdMapRequest *request, guint app, guint node)
{
  return request->app_limits != NULL ? request->app_limits[(gsize)app * request->n_nodes + node] : G_MAXUINT32;
}

/* ---- how many on each node ---- */

/* As far as the objects of the node do not matter. */
static guint64
count_slots (const DvmdMapPlan *self, guint app, guint node, gboolean within, gboolean beyond)
{
  guint32 limit = dvmd_map_plan_app_limit (self->request, app, node);
  guint64 slots = 0;

  /* Beyond the limits of nodes those of applications only say which nodes. */
  if (within)
    slots += MIN (self->left[node], limit);
  if (beyond && limit > 0)
    slots += self->beyond[node];
  return slots;
}

static void
open_room (DvmdMapPlan *self, guint app, gboolean within, gboolean beyond)
{
  for (guint node = 0; node < self->request->n_nodes; node++)
    {
      guint64 room = count_slots (self, app, node, within, beyond);

      self->room[node] = (guint32)MIN (room, self->fit[node]->total - MIN (self->counts[node], self->fit[node]->total));
    }
}

static void
begin_app (DvmdMapPlan *self)
{
  memset (self->counts, 0, self->request->n_nodes * sizeof (guint32));
}

static guint32
give (DvmdMapPlan *self, guint node, guint32 count)
{
  self->counts[node] += count;
  self->room[node] -= count;
  return count;
}

/* How many nodes have room, and how much each of them at least. */
static guint
count_open (const guint32 *room, guint n_nodes, guint32 *least)
{
  guint n = 0;

  *least = G_MAXUINT32;
  for (guint node = 0; node < n_nodes; node++)
    if (room[node] > 0)
      {
        *least = MIN (*least, room[node]);
        n++;
      }
  return n;
}

static guint32
deal (DvmdMapPlan *self, guint32 np)
{
  guint n_nodes = self->request->n_nodes;

  while (np > 0)
    {
      guint32 least;
      guint n_open = count_open (self->room, n_nodes, &least);
      guint32 rounds;

      if (n_open == 0)
        return np;
      rounds = MAX (MIN (least, np / n_open), 1);
      for (guint node = 0; node < n_nodes && np > 0; node++)
        if (self->room[node] > 0)
          np -= give (self, node, rounds);
    }
  return 0;
}

guint32
dvmd_map_plan_fill_nodes (DvmdMapPlan *self, guint app)
{
  guint32 np = self->request->app_np[app];

  begin_app (self);
  open_room (self, app, TRUE, FALSE);
  for (guint node = 0; node < self->request->n_nodes && np > 0; node++)
    np -= give (self, node, MIN (np, self->room[node]));
  if (np == 0 || !self->request->oversubscribe)
    return np;
  open_room (self, app, FALSE, TRUE);
  return deal (self, np);
}

guint32
dvmd_map_plan_fill_quotas (DvmdMapPlan *self, guint app)
{
  guint32 np = self->request->app_np[app];

  begin_app (self);
  for (guint node = 0; node < self->request->n_nodes && np > 0; node++)
    if (count_slots (self, app, node, TRUE, self->request->oversubscribe) >= self->fit[node]->whole)
      {
        self->counts[node] = (guint32)MIN (np, self->fit[node]->total);
        np -= self->counts[node];
      }
  return np;
}

guint32
dvmd_map_plan_deal_nodes (DvmdMapPlan *self, guint app)
{
  begin_app (self);
  open_room (self, app, TRUE, self->request->oversubscribe);
  return deal (self, self->request->app_np[app]);
}

guint32
dvmd_map_plan_deal_objects (DvmdMapPlan *self, guint app)
{
  guint32 np = self->request->app_np[app];
  gboolean progress = TRUE;

  begin_app (self);
  open_room (self, app, TRUE, self->request->oversubscribe);
  for (guint32 round = 0; np > 0 && progress; round++)
    {
      const DvmdMapFit *last = NULL;
      guint32 n_open = 0;

      progress = FALSE;
      for (guint node = 0; node < self->request->n_nodes && np > 0; node++)
        {
          if (self->fit[node] != last)
            {
              n_open = dvmd_map_fit_count_open (self->fit[node], round);
              progress = progress || round < dvmd_map_fit_get_level (self->fit[node]);
            }
          last = self->fit[node];
          if (n_open == 0 || self->room[node] == 0)
            continue;
          np -= give (self, node, MIN (MIN (n_open, self->room[node]), np));
          progress = TRUE;
        }
    }
  return np;
}

/* Where no nodes are known any may be. */
static gboolean
have_common_node (const DvmdMapRequest *request, guint app, guint other)
{
  if (request->n_nodes == 0)
    return TRUE;
  for (guint node = 0; node < request->n_nodes; node++)
    if (dvmd_map_plan_app_limit (request, app, node) > 0 && dvmd_map_plan_app_limit (request, other, node) > 0)
      return TRUE;
  return FALSE;
}

guint64
dvmd_map_plan_count_others (const DvmdMapRequest *request, const guint32 *app_np, guint app)
{
  guint64 np = 0;

  for (guint other = 0; other < request->n_apps; other++)
    if (other != app && have_common_node (request, app, other))
      np += app_np[other];
  return np;
}

gboolean
dvmd_map_plan_count (const DvmdMapRequest *request, DvmdObjectKind kind, guint32 *app_np)
{
  g_auto (DvmdMapPlan) plan = { 0 };
  g_autofree guint64 *taken = dvmd_map_request_count_others (request, app_np);

  if (taken == NULL)
    return FALSE;
  dvmd_map_plan_init (&plan, request, NULL, kind, 0);
  for (guint app = 0; app < request->n_apps; app++)
    {
      guint64 np = 0;

      if (app_np[app] > 0)
        continue;
      begin_app (&plan);
      open_room (&plan, app, TRUE, FALSE);
      for (guint node = 0; node < request->n_nodes; node++)
        np += plan.room[node];
      /* One that has no room is asked for all the same: the refusal says what is missing. */
      app_np[app] = (guint32)CLAMP (np - MIN (np, taken[app]), 1, G_MAXINT);
    }
  return TRUE;
}

/* ---- all of them ---- */

DvmdPluginVerdict
dvmd_map_plan_place_all (DvmdMapPlan *self, DvmdMapPlanSpread spread, GError **error)
{
  for (guint app = 0; app < self->request->n_apps; app++)
    {
      if (spread (self, app) > 0)
        {
          dvmd_map_plan_refuse (self, error);
          return DVMD_PLUGIN_FAILED;
        }
      dvmd_map_plan_place (self, app);
    }
  return DVMD_PLUGIN_DONE;
}

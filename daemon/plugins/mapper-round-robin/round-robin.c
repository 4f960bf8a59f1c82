/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * By slot: a node is filled, then the next. By node: one process on each node in turn.
 */

#include "config.h"

#include <string.h>

#include "map-plan.h"
#include "map-words.h"

#define DVMD_TYPE_ROUND_ROBIN (dvmd_round_robin_get_type ())
G_DECLARE_FINAL_TYPE (DvmdRoundRobin, dvmd_round_robin, DVMD, ROUND_ROBIN, DvmdMapper)

struct _DvmdRoundRobin
{
  DvmdMapper parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdRoundRobin, dvmd_round_robin, DVMD_TYPE_MAPPER)

/* A slot alone does not do for a process that is to have cpus. */
static gboolean
dvmd_round_robin_count (DvmdMapper *mapper, const DvmdMapRequest *request, guint32 *app_np)
{
  return dvmd_map_words_has_pe (request) && dvmd_map_plan_count (request, DVMD_OBJECT_NODE, app_np);
}

static DvmdPluginVerdict
dvmd_round_robin_map (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  gboolean by_node = strcmp (request->word, "node") == 0;
  g_auto (DvmdMapPlan) plan = { 0 };

  dvmd_map_plan_init (&plan, request, placement, DVMD_OBJECT_NODE, 0);
  if (plan.rank_by == 0)
    plan.rank_by = by_node ? DVMD_RANK_BY_NODE : DVMD_RANK_BY_SLOT;
  return dvmd_map_plan_place_all (&plan, by_node ? dvmd_map_plan_deal_nodes : dvmd_map_plan_fill_nodes, error);
}

static void
dvmd_round_robin_class_init (DvmdRoundRobinClass *klass)
{
  DVMD_MAPPER_CLASS (klass)->map = dvmd_round_robin_map;
  DVMD_MAPPER_CLASS (klass)->count = dvmd_round_robin_count;
}

static void
dvmd_round_robin_init (DvmdRoundRobin *self)
{
}

static const char *const words[] = { "slot", "node", NULL };
/* Nothing is left to span: the nodes are one row already. */
static const char *const qualifiers[] = { "pe=N", "span", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_MAPPER,
  .name = "round-robin",
  .description = "places ranks by slot and by node",
  .get_type = dvmd_round_robin_get_type,
  .words = words,
  .qualifiers = qualifiers,
  .rankings = DVMD_RANK_BY_SLOT | DVMD_RANK_BY_NODE,
  .bindings = DVMD_MAP_BINDINGS,
  .settings = DVMD_PLUGIN_NO_SETTINGS,
};

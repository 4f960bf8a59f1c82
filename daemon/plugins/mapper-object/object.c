/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * By an object, or by a device: one process on each of a node in turn until it is full, then the next node. With SPAN
 * on each of all nodes in turn.
 */

#include "config.h"

#include "map-plan.h"
#include "map-words.h"

#define DVMD_TYPE_BY_OBJECT (dvmd_by_object_get_type ())
G_DECLARE_FINAL_TYPE (DvmdByObject, dvmd_by_object, DVMD, BY_OBJECT, DvmdMapper)

struct _DvmdByObject
{
  DvmdMapper parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdByObject, dvmd_by_object, DVMD_TYPE_MAPPER)

static gboolean
dvmd_by_object_check (DvmdMapper *mapper, const DvmdMapRequest *request, GError **error)
{
  DvmdObjectKind kind = DVMD_OBJECT_NODE;

  if (!dvmd_map_words_read_kind (request->word, &kind, error))
    return FALSE;
  if (request->pe <= 1 || kind < DVMD_OBJECT_CORE || kind == DVMD_OBJECT_DEVICE
      || (kind == DVMD_OBJECT_CORE && request->cpus == DVMD_CPUS_HWTHREAD))
    return TRUE;
  g_set_error (
      error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
      "map-by: a process of %u cpus (PE=%u) does not fit onto one %s, which is one cpu: map by a larger object",
      request->pe, request->pe, request->word);
  return FALSE;
}

/* A slot alone does not do for a process that is to have cpus or a device. */
static gboolean
dvmd_by_object_count (DvmdMapper *mapper, const DvmdMapRequest *request, guint32 *app_np)
{
  DvmdObjectKind kind = DVMD_OBJECT_NODE;

  return dvmd_map_words_read_kind (request->word, &kind, NULL)
         && (request->bind_to > DVMD_BIND_TO_NONE || kind == DVMD_OBJECT_DEVICE)
         && dvmd_map_plan_count (request, kind, app_np);
}

static DvmdPluginVerdict
dvmd_by_object_map (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  gboolean span = dvmd_map_words_has_qualifier (request, "span");
  DvmdObjectKind kind = DVMD_OBJECT_NODE;
  g_auto (DvmdMapPlan) plan = { 0 };

  if (!dvmd_by_object_check (mapper, request, error) || !dvmd_map_words_read_kind (request->word, &kind, error))
    return DVMD_PLUGIN_FAILED;
  dvmd_map_plan_init (&plan, request, placement, kind, 0);
  if (plan.rank_by == 0)
    plan.rank_by = span ? DVMD_RANK_BY_SPAN : DVMD_RANK_BY_FILL;
  return dvmd_map_plan_place_all (&plan, span ? dvmd_map_plan_deal_objects : dvmd_map_plan_fill_nodes, error);
}

static void
dvmd_by_object_class_init (DvmdByObjectClass *klass)
{
  DVMD_MAPPER_CLASS (klass)->map = dvmd_by_object_map;
  DVMD_MAPPER_CLASS (klass)->count = dvmd_by_object_count;
  DVMD_MAPPER_CLASS (klass)->check = dvmd_by_object_check;
}

static void
dvmd_by_object_init (DvmdByObject *self)
{
}

static const char *const words[] = { "hwthread", "core",    "l1cache",       "l2cache", "l3cache",
                                     "numa",     "package", "device=DEVICE", NULL };
static const char *const qualifiers[] = { "pe=N", "span", "ndev=N", "shared[=BOOL]", "interleave[=LEVEL]", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_MAPPER,
  .name = "object",
  .description = "places ranks on the packages, NUMA nodes, caches, cores, hardware threads or devices of each node",
  .get_type = dvmd_by_object_get_type,
  .words = words,
  .qualifiers = qualifiers,
  .rankings = DVMD_RANK_BY_SLOT | DVMD_RANK_BY_NODE | DVMD_RANK_BY_FILL | DVMD_RANK_BY_SPAN,
  .bindings = DVMD_MAP_BINDINGS,
  .settings = DVMD_PLUGIN_NO_SETTINGS,
};

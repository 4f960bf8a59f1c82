/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A given number of processes of each application goes on each node, or on each object of a kind. A node or an object
 * that has not enough room for them is left out.
 */

#include "config.h"

#include <string.h>

#include "map-plan.h"
#include "map-words.h"

#define DVMD_TYPE_PPR (dvmd_ppr_get_type ())
G_DECLARE_FINAL_TYPE (DvmdPpr, dvmd_ppr, DVMD, PPR, DvmdMapper)

/* More on one object are a mistake of whoever asks. */
#define MOST_PER_OBJECT 65536

struct _DvmdPpr
{
  DvmdMapper parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdPpr, dvmd_ppr, DVMD_TYPE_MAPPER)

/* "ppr:2:core" */
typedef struct
{
  guint32 number;
  DvmdObjectKind kind;
} Wish;

/* ---- what is wanted ---- */

static gboolean
read_wish (const DvmdMapRequest *request, Wish *wish, GError **error)
{
  guint64 number = 0;

  if (g_ascii_string_to_unsigned (request->arguments[0], 10, 1, MOST_PER_OBJECT, &number, NULL))
    {
      g_autofree char *object = g_strndup (request->arguments[1], strcspn (request->arguments[1], "="));

      wish->number = (guint32)number;
      return dvmd_map_words_read_kind (object, &wish->kind, error);
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "map-by: ppr: “%s” is no number of processes on each object, from 1 to %d", request->arguments[0],
               MOST_PER_OBJECT);
  return FALSE;
}

static gboolean
dvmd_ppr_check (DvmdMapper *mapper, const DvmdMapRequest *request, GError **error)
{
  Wish wish;

  return read_wish (request, &wish, error);
}

/* 0: its hardware is not known, or it has none */
static guint32
count_objects (const DvmdMapRequest *request, guint node, DvmdObjectKind kind)
{
  g_autoptr (DvmdMapRoom) room = NULL;
  guint32 n = 0;

  if (kind == DVMD_OBJECT_NODE)
    return 1;
  room = dvmd_map_node_get_room (&request->nodes[node], request->cpus);
  if (room != NULL)
    dvmd_map_room_get_objects (room, kind, &n);
  return n;
}

/* A node without slots for all of them is left out. */
static gboolean
has_slots (const DvmdMapRequest *request, guint app, guint node, guint64 need)
{
  const DvmdMapNode *offered = &request->nodes[node];
  guint32 limit = dvmd_map_plan_app_limit (request, app, node);

  return limit > 0 && need <= (request->oversubscribe ? offered->most : MIN (offered->limit, limit));
}

/*
 * The number of the policy is taken for each object of each node that is for the application. Where no node has slots
 * for it all of them count, so that the job is refused with what it asks for.
 */
static gboolean
dvmd_ppr_count (DvmdMapper *mapper, const DvmdMapRequest *request, guint32 *app_np)
{
  Wish wish;

  if (!read_wish (request, &wish, NULL))
    return FALSE;
  for (guint app = 0; app < request->n_apps; app++)
    {
      guint64 asked = 0;
      guint64 np = 0;

      for (guint node = 0; app_np[app] == 0 && node < request->n_nodes; node++)
        if (request->nodes[node].most > 0 && dvmd_map_plan_app_limit (request, app, node) > 0)
          {
            guint64 need = (guint64)wish.number * count_objects (request, node, wish.kind);

            asked += need;
            np += has_slots (request, app, node, need) ? need : 0;
          }
      if (app_np[app] == 0)
        app_np[app] = (guint32)MIN (np > 0 ? np : asked, G_MAXINT);
    }
  return TRUE;
}

/* ---- placing ---- */

static void
set_error (DvmdMapPlan *plan, const DvmdMapRequest *request, const Wish *wish, guint32 left, GError **error)
{
  g_autofree char *nodes = dvmd_map_words_show_nodes (request);
  g_autofree char *object = NULL;
  guint64 need = 0;

  if (dvmd_map_plan_refuse_objects (plan, error))
    return;
  if (wish->kind == DVMD_OBJECT_DEVICE)
    object = g_strdup_printf (request->bind_to > DVMD_BIND_TO_NONE
                                  ? "each device “%s” of %s, with cpus of its own near it"
                                  : "each device “%s” of %s",
                              dvmd_map_words_name_device (request), nodes);
  else if (wish->kind != DVMD_OBJECT_NODE)
    object = g_strdup_printf ("each %s of %s", dvmd_map_words_name_kind (wish->kind), nodes);
  else
    object = g_strdup_printf (request->n_nodes == 1 ? "%s" : "each of %s", nodes);
  for (guint app = 0; app < request->n_apps; app++)
    need += request->app_np[app];
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "%u of %" G_GUINT64_FORMAT
               " process%s ha%s no place: %u of each application on %s, where there is room for so many; %s%s",
               left, need, need == 1 ? "" : "es", left == 1 ? "s" : "ve", wish->number, object,
               need > left ? dvmd_map_plan_name_fewer (request) : "",
               need > left ? ", more for each, or more nodes"
                           : "have fewer for each, or nodes with more slots and cpus");
}

static DvmdPluginVerdict
dvmd_ppr_map (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  g_auto (DvmdMapPlan) plan = { 0 };
  guint32 left = 0;
  Wish wish;

  if (!read_wish (request, &wish, error))
    return DVMD_PLUGIN_FAILED;
  dvmd_map_plan_init (&plan, request, placement, wish.kind, wish.number);
  for (guint app = 0; app < request->n_apps && left == 0; app++)
    {
      left = dvmd_map_plan_fill_quotas (&plan, app);
      dvmd_map_plan_place (&plan, app);
    }
  if (left > 0)
    set_error (&plan, request, &wish, left, error);
  return left > 0 ? DVMD_PLUGIN_FAILED : DVMD_PLUGIN_DONE;
}

static void
dvmd_ppr_class_init (DvmdPprClass *klass)
{
  DvmdMapperClass *mapper_class = DVMD_MAPPER_CLASS (klass);

  mapper_class->map = dvmd_ppr_map;
  mapper_class->check = dvmd_ppr_check;
  mapper_class->count = dvmd_ppr_count;
}

static void
dvmd_ppr_init (DvmdPpr *self)
{
}

static const char *const words[] = { "ppr:N:OBJECT", NULL };
static const char *const qualifiers[] = { "pe=N", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_MAPPER,
  .name = "ppr",
  .description = "places so many ranks on each node, or on each of its objects",
  .get_type = dvmd_ppr_get_type,
  .words = words,
  .qualifiers = qualifiers,
  .rankings = DVMD_RANK_BY_SLOT | DVMD_RANK_BY_NODE | DVMD_RANK_BY_FILL | DVMD_RANK_BY_SPAN,
  .bindings = DVMD_MAP_BINDINGS,
  .settings = DVMD_PLUGIN_NO_SETTINGS,
};

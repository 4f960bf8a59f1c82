/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A given number of processes of each application goes beside each process of another job, or on each node that has one
 * of these. Ranks are in the order of the processes beside which they are.
 */

#include "config.h"

#include <string.h>

#include "map-words.h"

#define DVMD_TYPE_COLOCATE (dvmd_colocate_get_type ())
G_DECLARE_FINAL_TYPE (DvmdColocate, dvmd_colocate, DVMD, COLOCATE, DvmdMapper)

struct _DvmdColocate
{
  DvmdMapper parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdColocate, dvmd_colocate, DVMD_TYPE_MAPPER)

/* "npernode=2" */
typedef struct
{
  guint32 number;
  gboolean per_node;
} Wish;

static gboolean
read_wish (const DvmdMapRequest *request, Wish *wish, GError **error)
{
  *wish = (Wish){ .number = 1 };
  for (gsize i = 0; request->qualifiers[i] != NULL; i++)
    {
      const char *equals = strchr (request->qualifiers[i], '=');
      guint64 number;

      if (equals == NULL || strncmp (request->qualifiers[i], "nper", 4) != 0)
        continue;
      if (!g_ascii_string_to_unsigned (equals + 1, 10, 1, G_MAXUINT16, &number, NULL))
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "map-by: “%s”: it takes a number from 1 to %d",
                       request->qualifiers[i], G_MAXUINT16);
          return FALSE;
        }
      wish->number = (guint32)number;
      wish->per_node = g_str_has_prefix (request->qualifiers[i], "npernode");
    }
  return TRUE;
}

static gboolean
dvmd_colocate_check (DvmdMapper *mapper, const DvmdMapRequest *request, GError **error)
{
  Wish wish;

  return read_wish (request, &wish, error);
}

/* (transfer full): how many processes of an application begin with each of beside */
static guint32 *
count_shares (const DvmdMapRequest *request, const Wish *wish, guint64 *np)
{
  guint32 *shares = g_new0 (guint32, request->n_beside);
  g_autofree gboolean *seen = g_new0 (gboolean, request->n_nodes);

  *np = 0;
  for (guint32 i = 0; i < request->n_beside; i++)
    {
      guint32 node = request->beside[i].node;

      if (!wish->per_node)
        shares[i] = (guint32)MIN ((guint64)wish->number * request->beside[i].count, G_MAXINT);
      else if (!seen[node])
        shares[i] = wish->number;
      seen[node] = TRUE;
      *np += shares[i];
    }
  return shares;
}

static gboolean
dvmd_colocate_count (DvmdMapper *mapper, const DvmdMapRequest *request, guint32 *app_np)
{
  g_autofree guint32 *shares = NULL;
  guint64 np;
  Wish wish;

  if (!read_wish (request, &wish, NULL))
    return FALSE;
  shares = count_shares (request, &wish, &np);
  for (guint app = 0; app < request->n_apps; app++)
    if (app_np[app] == 0)
      app_np[app] = (guint32)MIN (np, G_MAXINT);
  return TRUE;
}

/* The number follows from the processes beside which the job is to be: one that is given can be that alone. */
static gboolean
check_number (const DvmdMapRequest *request, const Wish *wish, guint64 np, GError **error)
{
  if (request->n_beside == 0)
    {
      g_set_error_literal (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                           "map-by: “colocate”: no job runs on these nodes that processes could be beside");
      return FALSE;
    }
  for (guint app = 0; app < request->n_apps; app++)
    if (request->app_np[app] != np)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                     "np: %u contradicts map-by “colocate”, which makes %" G_GUINT64_FORMAT " process%s: %u %s; leave "
                     "the number out",
                     request->app_np[app], np, np == 1 ? "" : "es", wish->number,
                     wish->per_node ? "on each node of the other job" : "for each process of the other job");
        return FALSE;
      }
  return TRUE;
}

/* A node may have been passed over, because nothing can be bound there. */
static gboolean
check_room (const DvmdMapRequest *request, GError **error)
{
  for (guint32 i = 0; i < request->n_beside; i++)
    if (request->nodes[request->beside[i].node].limit == 0)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "map-by: “colocate”: node %s takes no process of the job",
                     request->nodes[request->beside[i].node].name);
        return FALSE;
      }
  return TRUE;
}

static DvmdPluginVerdict
dvmd_colocate_map (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  g_autofree guint32 *shares = NULL;
  guint32 rank = 0;
  guint64 np;
  Wish wish;

  if (!read_wish (request, &wish, error))
    return DVMD_PLUGIN_FAILED;
  shares = count_shares (request, &wish, &np);
  if (!check_number (request, &wish, np, error) || !check_room (request, error))
    return DVMD_PLUGIN_FAILED;
  for (guint app = 0; app < request->n_apps; app++)
    for (guint32 i = 0; i < request->n_beside; rank += shares[i], i++)
      if (shares[i] > 0)
        dvmd_placement_add (placement, request->beside[i].node, app, rank, shares[i], 1);
  return DVMD_PLUGIN_DONE;
}

static void
dvmd_colocate_class_init (DvmdColocateClass *klass)
{
  DvmdMapperClass *mapper_class = DVMD_MAPPER_CLASS (klass);

  mapper_class->map = dvmd_colocate_map;
  mapper_class->check = dvmd_colocate_check;
  mapper_class->count = dvmd_colocate_count;
}

static void
dvmd_colocate_init (DvmdColocate *self)
{
}

static const char *const words[] = { "colocate=JOB", NULL };
static const char *const qualifiers[] = { "nperproc=N", "npernode=N", "pe=N", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_MAPPER,
  .name = "colocate",
  .description = "places ranks beside those of another job",
  .get_type = dvmd_colocate_get_type,
  .words = words,
  .qualifiers = qualifiers,
  .rankings = DVMD_RANK_BY_SLOT,
  .bindings = DVMD_MAP_BINDINGS,
  .settings = DVMD_PLUGIN_NO_SETTINGS,
};

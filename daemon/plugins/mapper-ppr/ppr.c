/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * So many processes of each application on each node. A node that has not enough room for them is left out.
 */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "dvmd-plugin.h"

#define DVMD_TYPE_PPR (dvmd_ppr_get_type ())
G_DECLARE_FINAL_TYPE (DvmdPpr, dvmd_ppr, DVMD, PPR, DvmdMapper)

struct _DvmdPpr
{
  DvmdMapper parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdPpr, dvmd_ppr, DVMD_TYPE_MAPPER)

typedef struct
{
  const DvmdMapRequest *request;
  guint per_node;
  guint *left;   /* per application: processes that have no place yet */
  guint *counts; /* per application and node */
  guint64 total_left;
} Mapping;

/* "ppr:2:node"; 0: it is something else */
static guint
parse_per_node (const char *map_by)
{
  char *end = NULL;
  guint64 number;

  if (strncmp (map_by, "ppr:", 4) != 0 || !g_ascii_isdigit (map_by[4]))
    return 0;
  number = g_ascii_strtoull (map_by + 4, &end, 10);
  return strcmp (end, ":node") == 0 && number <= G_MAXINT ? number : 0;
}

static guint
app_limit (Mapping *self, guint app, guint node)
{
  const DvmdMapRequest *request = self->request;

  return request->app_limits != NULL ? request->app_limits[app * request->n_nodes + node] : G_MAXUINT;
}

static guint
share_of (Mapping *self, guint app, guint node)
{
  return app_limit (self, app, node) > 0 ? MIN (self->per_node, self->left[app]) : 0;
}

static gboolean
has_room (Mapping *self, guint node)
{
  const DvmdMapRequest *request = self->request;
  guint64 need = 0;

  for (guint app = 0; app < request->n_apps; app++)
    {
      need += share_of (self, app, node);
      if (!request->oversubscribe && share_of (self, app, node) > app_limit (self, app, node))
        return FALSE;
    }
  return need > 0 && need <= (request->oversubscribe ? request->nodes[node].most : request->nodes[node].limit);
}

/* All applications have their share there, or none. */
static gboolean
take_node (Mapping *self, guint node)
{
  const DvmdMapRequest *request = self->request;

  if (!has_room (self, node))
    return FALSE;
  for (guint app = 0; app < request->n_apps; app++)
    {
      guint count = share_of (self, app, node);

      self->counts[app * request->n_nodes + node] = count;
      self->left[app] -= count;
      self->total_left -= count;
    }
  return TRUE;
}

/* What is left in the end may fit on a node that was too small before. */
static gboolean
take_nodes (Mapping *self)
{
  g_autofree gboolean *taken = g_new0 (gboolean, self->request->n_nodes);
  gboolean progress = TRUE;

  while (progress && self->total_left > 0)
    {
      progress = FALSE;
      for (guint node = 0; node < self->request->n_nodes && self->total_left > 0; node++)
        if (!taken[node] && take_node (self, node))
          taken[node] = progress = TRUE;
    }
  return self->total_left == 0;
}

static void
fill (Mapping *self, DvmdPlacement *placement)
{
  guint rank = 0;

  for (guint app = 0; app < self->request->n_apps; app++)
    for (guint node = 0; node < self->request->n_nodes; node++)
      {
        guint count = self->counts[app * self->request->n_nodes + node];

        if (count > 0)
          dvmd_placement_add (placement, node, app, rank, count, 1);
        rank += count;
      }
}

static void
set_error (Mapping *self, GError **error)
{
  guint64 need = 0;

  for (guint app = 0; app < self->request->n_apps; app++)
    need += self->request->app_np[app];
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
               " processes have no place: %u of each application on each of the job's %u nodes, where there is room "
               "for so many",
               self->total_left, need, self->per_node, self->request->n_nodes);
}

static DvmdPluginVerdict
dvmd_ppr_map (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  g_autofree guint *left = NULL;
  g_autofree guint *counts = NULL;
  Mapping self = { .request = request, .per_node = parse_per_node (request->map_by) };

  if (self.per_node == 0)
    return DVMD_PLUGIN_DECLINED;
  self.left = left = g_memdup2 (request->app_np, request->n_apps * sizeof (guint));
  self.counts = counts = g_new0 (guint, (gsize)request->n_apps * request->n_nodes);
  for (guint app = 0; app < request->n_apps; app++)
    self.total_left += left[app];
  if (!take_nodes (&self))
    {
      set_error (&self, error);
      return DVMD_PLUGIN_FAILED;
    }
  fill (&self, placement);
  return DVMD_PLUGIN_DONE;
}

static void
dvmd_ppr_class_init (DvmdPprClass *klass)
{
  DVMD_MAPPER_CLASS (klass)->map = dvmd_ppr_map;
}

static void
dvmd_ppr_init (DvmdPpr *self)
{
}

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_MAPPER,
  .name = "ppr",
  .description = "places so many ranks on each node",
  .get_type = dvmd_ppr_get_type,
};

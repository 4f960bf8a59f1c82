/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * So many processes of each application on each node. A node that has not enough room for them is left out.
 */

#include "config.h"

#include <string.h>

#include "dvmd-plugin.h"

#define DVMD_TYPE_PPR (dvmd_ppr_get_type ())
G_DECLARE_FINAL_TYPE (DvmdPpr, dvmd_ppr, DVMD, PPR, DvmdMapper)

/* More on one node are a mistake of whoever asks. */
#define MOST_PER_NODE 65536

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

/* As short as one likes, in any case. */
static gboolean
is_short_for (const char *text, const char *name)
{
  gsize length = strcspn (text, "=");

  return length > 0 && g_ascii_strncasecmp (text, name, length) == 0;
}

static gboolean
check_object (const char *object, GError **error)
{
  static const char *const later[] = { "hwthread", "core",    "l1cache", "l2cache", "l3cache",
                                       "numa",     "package", "device",  NULL };

  if (is_short_for (object, "node") && strchr (object, '=') == NULL)
    return TRUE;
  for (gsize i = 0; later[i] != NULL; i++)
    if (is_short_for (object, later[i]))
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "map-by: ppr: “%s” is not supported yet", later[i]);
        return FALSE;
      }
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "map-by: ppr: there is no “%s” of which there could be so many; there is “node”", object);
  return FALSE;
}

/* ppr:2:node; 0 with an error: it makes no sense */
static guint
read_per_node (const DvmdMapRequest *request, GError **error)
{
  guint64 number = 0;

  if (!g_ascii_string_to_unsigned (request->arguments[0], 10, 1, MOST_PER_NODE, &number, NULL))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "map-by: ppr: “%s” is no number of processes on each node, from 1 to %d", request->arguments[0],
                 MOST_PER_NODE);
  else if (check_object (request->arguments[1], error))
    return (guint)number;
  return 0;
}

static gboolean
dvmd_ppr_check (DvmdMapper *mapper, const DvmdMapRequest *request, GError **error)
{
  return read_per_node (request, error) > 0;
}

static guint
app_limit (const DvmdMapRequest *request, guint app, guint node)
{
  return request->app_limits != NULL ? request->app_limits[app * request->n_nodes + node] : G_MAXUINT;
}

/* So many on each node that is for the application. */
static gboolean
dvmd_ppr_count (DvmdMapper *mapper, const DvmdMapRequest *request, guint32 *app_np)
{
  guint64 per_node = read_per_node (request, NULL);

  for (guint app = 0; app < request->n_apps; app++)
    {
      guint64 n_nodes = 0;

      for (guint node = 0; node < request->n_nodes; node++)
        n_nodes += app_limit (request, app, node) > 0;
      if (app_np[app] == 0)
        app_np[app] = (guint32)MIN (per_node * n_nodes, G_MAXINT);
    }
  return TRUE;
}

static guint
share_of (Mapping *self, guint app, guint node)
{
  return app_limit (self->request, app, node) > 0 ? MIN (self->per_node, self->left[app]) : 0;
}

static gboolean
has_room (Mapping *self, guint node)
{
  const DvmdMapRequest *request = self->request;
  guint64 need = 0;

  for (guint app = 0; app < request->n_apps; app++)
    {
      need += share_of (self, app, node);
      if (!request->oversubscribe && share_of (self, app, node) > app_limit (self->request, app, node))
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

/* The processes that are left in the end may fit on a node that was too small before. */
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
fill_node (Mapping *self, DvmdPlacement *placement)
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
  Mapping self = { .request = request, .per_node = read_per_node (request, error) };

  if (self.per_node == 0)
    return DVMD_PLUGIN_FAILED;
  self.left = left = g_memdup2 (request->app_np, request->n_apps * sizeof (guint));
  self.counts = counts = g_new0 (guint, (gsize)request->n_apps * request->n_nodes);
  for (guint app = 0; app < request->n_apps; app++)
    self.total_left += left[app];
  if (!take_nodes (&self))
    {
      set_error (&self, error);
      return DVMD_PLUGIN_FAILED;
    }
  fill_node (&self, placement);
  return DVMD_PLUGIN_DONE;
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

static const char *const words[] = { "ppr:N:node", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_MAPPER,
  .name = "ppr",
  .description = "places so many ranks on each node",
  .get_type = dvmd_ppr_get_type,
  .words = words,
};

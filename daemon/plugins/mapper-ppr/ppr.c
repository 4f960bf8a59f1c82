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

typedef struct
{
  const DvmdMapRequest *request;
  Wish wish;
  DvmdMapPlan plan;
  guint32 *left;   /* per application: processes that have no place yet */
  guint32 *counts; /* per application and node */
  guint64 total_left;
} Mapping;

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

/* So many on each object of each node that is for the application. */
static gboolean
dvmd_ppr_count (DvmdMapper *mapper, const DvmdMapRequest *request, guint32 *app_np)
{
  Wish wish;

  if (!read_wish (request, &wish, NULL))
    return FALSE;
  for (guint app = 0; app < request->n_apps; app++)
    {
      guint64 np = 0;

      for (guint node = 0; app_np[app] == 0 && node < request->n_nodes; node++)
        if (request->nodes[node].most > 0 && dvmd_map_plan_app_limit (request, app, node) > 0)
          np += (guint64)wish.number * count_objects (request, node, wish.kind);
      if (app_np[app] == 0)
        app_np[app] = (guint32)MIN (np, G_MAXINT);
    }
  return TRUE;
}

/* ---- how many on each node ---- */

static guint32
share_of (Mapping *self, guint app, guint node, const DvmdMapFit *fit)
{
  if (dvmd_map_plan_app_limit (self->request, app, node) == 0)
    return 0;
  return (guint32)MIN (fit->total, self->left[app]);
}

/* shares: per application; FALSE: they have no room there */
static gboolean
find_shares (Mapping *self, guint node, guint32 *shares)
{
  const DvmdMapRequest *request = self->request;
  DvmdMapFit *fit = self->plan.fit[node];
  guint64 need = 0;

  for (guint app = 0; app < request->n_apps; app++)
    {
      shares[app] = share_of (self, app, node, fit);
      need += shares[app];
      if (!request->oversubscribe && shares[app] > dvmd_map_plan_app_limit (request, app, node))
        return FALSE;
      if (shares[app] > 0 && request->n_apps > 1)
        fit = dvmd_map_fit_get_pattern (fit, shares[app], self->plan.fits)->after;
    }
  return need > 0 && need <= (request->oversubscribe ? request->nodes[node].most : request->nodes[node].limit);
}

/* All applications have their share there, or none. */
static gboolean
take_node (Mapping *self, guint node)
{
  const DvmdMapRequest *request = self->request;
  g_autofree guint32 *shares = g_new0 (guint32, request->n_apps);

  if (!find_shares (self, node, shares))
    return FALSE;
  for (guint app = 0; app < request->n_apps; app++)
    {
      self->counts[(gsize)app * request->n_nodes + node] = shares[app];
      self->left[app] -= shares[app];
      self->total_left -= shares[app];
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
place_apps (Mapping *self)
{
  gsize n_nodes = self->request->n_nodes;

  for (guint app = 0; app < self->request->n_apps; app++)
    {
      memcpy (self->plan.counts, self->counts + app * n_nodes, n_nodes * sizeof (guint32));
      dvmd_map_plan_place (&self->plan, app);
    }
}

static void
set_error (Mapping *self, GError **error)
{
  g_autofree char *object = NULL;
  guint64 need = 0;

  if (dvmd_map_plan_refuse_objects (&self->plan, error))
    return;
  if (self->wish.kind == DVMD_OBJECT_DEVICE)
    object = g_strdup_printf ("device “%s” of the job's %u nodes", dvmd_map_words_name_device (self->request),
                              self->request->n_nodes);
  else if (self->wish.kind != DVMD_OBJECT_NODE)
    object = g_strdup_printf ("%s of the job's %u nodes", dvmd_map_words_name_kind (self->wish.kind),
                              self->request->n_nodes);
  else
    object = g_strdup_printf ("of the job's %u nodes", self->request->n_nodes);
  for (guint app = 0; app < self->request->n_apps; app++)
    need += self->request->app_np[app];
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
               " processes have no place: %u of each application on each %s, where there is room for so many",
               self->total_left, need, self->wish.number, object);
}

static DvmdPluginVerdict
dvmd_ppr_map (DvmdMapper *mapper, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error)
{
  g_autofree guint32 *left = NULL;
  g_autofree guint32 *counts = NULL;
  Mapping self = { .request = request };
  gboolean done;

  if (!read_wish (request, &self.wish, error))
    return DVMD_PLUGIN_FAILED;
  self.left = left = g_memdup2 (request->app_np, request->n_apps * sizeof (guint32));
  self.counts = counts = g_new0 (guint32, (gsize)request->n_apps * request->n_nodes);
  for (guint app = 0; app < request->n_apps; app++)
    self.total_left += left[app];
  dvmd_map_plan_init (&self.plan, request, placement, self.wish.kind, self.wish.number);
  done = take_nodes (&self);
  if (done)
    place_apps (&self);
  else
    set_error (&self, error);
  dvmd_map_plan_clear (&self.plan);
  return done ? DVMD_PLUGIN_DONE : DVMD_PLUGIN_FAILED;
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
};

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Why a job does not fit: which limit, object or cpu is missing, and what would help.
 */

#include "config.h"

#include "map-plan.h"
#include "map-words.h"

/* How many processes the limits and the hardware do for. */
typedef struct
{
  guint64 need;
  guint64 slots;
  guint64 fits;  /* as far as there are slots */
  guint without; /* nodes that have no such object */
} Sums;

static guint32
slots_of (const DvmdMapRequest *request, guint node)
{
  return request->oversubscribe ? request->nodes[node].most : request->nodes[node].limit;
}

static Sums
sum_up (const DvmdMapPlan *self)
{
  const DvmdMapRequest *request = self->request;
  Sums sums = { 0 };

  for (guint i = 0; i < request->n_apps; i++)
    sums.need += request->app_np[i];
  for (guint i = 0; i < request->n_nodes; i++)
    {
      sums.slots += slots_of (request, i);
      sums.without += self->fit[i]->n == 0;
      sums.fits += MIN (self->left[i] + (guint64)self->beyond[i], self->fit[i]->total);
    }
  return sums;
}

/* ---- what would help ---- */

/* Whether all processes would have a place with other flags of the binding. */
static gboolean
would_fit (const DvmdMapPlan *self, guint64 need, guint32 flags)
{
  DvmdMapRequest other = *self->request;
  const DvmdMapRoom *last = NULL;
  guint64 total = 0;
  guint64 sum = 0;

  other.bind_flags = flags;
  for (guint i = 0; i < other.n_nodes; i++)
    {
      const DvmdMapFit *given = self->fit[i];

      if (i == 0 || given->room == NULL || given->room != last)
        {
          DvmdMapFit *fit = dvmd_map_fit_new (given->room, given->topology, given->kind, given->quota, &other);

          total = fit->total;
          dvmd_map_fit_free (fit);
        }
      last = given->room;
      sum += MIN (slots_of (&other, i), total);
    }
  return sum >= need;
}

const char *
dvmd_map_plan_name_fewer (const DvmdMapRequest *request)
{
  return request->np_is_counted ? "give a smaller number (-n)" : "have fewer processes";
}

/* (transfer full) */
static char *
find_help (const DvmdMapPlan *self, guint64 need)
{
  const DvmdMapRequest *request = self->request;
  const char *bound = dvmd_map_words_name_kind (dvmd_map_words_kind_of (request->bind_to));
  const char *fewer = request->np_is_counted ? dvmd_map_plan_name_fewer (request) : "have fewer";
  guint32 shared = request->bind_flags | DVMD_BIND_OVERLOAD;
  guint32 without = request->bind_flags & ~(guint32)DVMD_BIND_LIMIT;
  gboolean limited = (request->bind_flags & DVMD_BIND_LIMIT) != 0;
  g_autofree char *share = g_strdup_printf ("let them share (bind-to %s:overload-allowed)", bound);
  g_autofree char *other = NULL;

  if (would_fit (self, need, shared))
    other = g_steal_pointer (&share);
  else if (limited && would_fit (self, need, without))
    other = g_strdup ("a higher limit");
  else if (limited && would_fit (self, need, without | DVMD_BIND_OVERLOAD))
    other = g_strdup_printf ("a higher limit, and %s", share);
  /* There is no number below one. */
  if (need == 1)
    return other != NULL ? g_steal_pointer (&other) : g_strdup ("have nodes with more of them");
  return other != NULL ? g_strdup_printf ("%s, or %s", fewer, other) : g_strdup (fewer);
}

/* ---- the cause ---- */

/* (transfer full): such as "2 processes do" */
static char *
show_need (const DvmdMapRequest *request, guint64 need)
{
  g_autofree char *processes = g_strdup_printf ("%" G_GUINT64_FORMAT " %s", need, need == 1 ? "process" : "processes");
  const char *verb = need == 1 ? "does" : "do";

  if (request->np_is_counted)
    return g_strdup_printf ("no number was given (-n), so that there %s %s, which %s", need == 1 ? "is" : "are",
                            processes, verb);
  return g_strdup_printf ("%s %s", processes, verb);
}

/* Whether some object of a node, or one of its packages, has so many cpus. */
static gboolean
holds_one (const DvmdMapPlan *self)
{
  for (guint i = 0; i < self->request->n_nodes; i++)
    {
      const DvmdMapFit *fit = self->fit[i];

      for (guint32 k = 0; k < fit->n; k++)
        if (fit->room == NULL || dvmd_map_room_holds (fit->room, fit->kind, k, self->request->pe))
          return TRUE;
    }
  return FALSE;
}

/* (transfer full): such as "2 cores" */
static char *
show_cpus (const DvmdMapRequest *request)
{
  guint32 pe = MAX (request->pe, 1);

  return g_strdup_printf ("%u %s%s", pe, request->cpus == DVMD_CPUS_CORE ? "core" : "hardware thread",
                          pe > 1 ? "s" : "");
}

static void
set_too_large (const DvmdMapPlan *self, GError **error)
{
  const DvmdMapRequest *request = self->request;
  DvmdObjectKind kind = MAX (self->fit[0]->kind, DVMD_OBJECT_PACKAGE);
  g_autofree char *cpus = show_cpus (request);
  g_autofree char *nodes = dvmd_map_words_show_nodes (request);

  if (kind == DVMD_OBJECT_DEVICE)
    g_set_error (
        error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
        "map-by: the %s of a process (PE=%u) %s near no device “%s” of %s: give each fewer, or map by a larger "
        "object",
        cpus, MAX (request->pe, 1), request->pe > 1 ? "are" : "is", dvmd_map_words_name_device (request), nodes);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                 "map-by: no %s of %s has the %s of a process (PE=%u): give each fewer%s",
                 dvmd_map_words_name_kind (kind), nodes, cpus, request->pe,
                 kind > DVMD_OBJECT_PACKAGE ? ", or map by a larger object" : "");
}

/* (transfer full): what a process has */
static char *
show_share (const DvmdMapPlan *self)
{
  const DvmdMapRequest *request = self->request;
  gboolean overload = (request->bind_flags & DVMD_BIND_OVERLOAD) != 0;
  DvmdObjectKind kind = self->fit[0]->kind;
  g_autofree char *cpus = show_cpus (request);
  GString *text = g_string_new ("each has ");

  g_string_append (text, cpus);
  if (kind != DVMD_OBJECT_NODE && kind < DVMD_OBJECT_CORE)
    g_string_append_printf (text, " of one %s", dvmd_map_words_name_kind (kind));
  if (!overload)
    g_string_append (text, " of its own");
  if (kind == DVMD_OBJECT_DEVICE)
    g_string_append_printf (text, " near its device “%s”", self->request->value);
  if ((request->bind_flags & DVMD_BIND_LIMIT) != 0)
    g_string_append_printf (text, ", one %s takes %u at most (bind-to limit=%u)",
                            dvmd_map_words_name_kind (dvmd_map_words_kind_of (request->bind_to)), request->bind_limit,
                            request->bind_limit);
  return g_string_free (text, FALSE);
}

static void
set_no_cpus (const DvmdMapPlan *self, const Sums *sums, const char *apps, GError **error)
{
  g_autofree char *share = show_share (self);
  g_autofree char *help = find_help (self, sums->need);
  g_autofree char *need = show_need (self->request, sums->need);
  g_autofree char *nodes = dvmd_map_words_show_nodes (self->request);

  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "%s not fit onto %s%s: %s, and after those that have a "
               "place there is room for %" G_GUINT64_FORMAT "; %s",
               need, nodes, apps, share, sums->fits, help);
}

/* How many processes the devices of all nodes are for, if each has its own; G_MAXUINT64: they are no devices, or shared
 */
static guint64
count_devices (const DvmdMapPlan *self)
{
  guint64 n = 0;

  if (self->fit[0]->kind != DVMD_OBJECT_DEVICE || dvmd_map_words_has_qualifier (self->request, "shared=true"))
    return G_MAXUINT64;
  for (guint i = 0; i < self->request->n_nodes; i++)
    n += self->fit[i]->n;
  return n;
}

static void
set_no_devices (const DvmdMapPlan *self, guint64 need, guint64 n_devices, GError **error)
{
  const char *name = self->request->value;
  g_autofree char *shown = show_need (self->request, need);
  g_autofree char *nodes = dvmd_map_words_show_nodes (self->request);

  g_set_error (
      error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
      "map-by: %s not fit onto the %" G_GUINT64_FORMAT
      " device%s “%s”, or groups of them, of %s: each has its own; %s, or let them share (map-by device=%s:shared)",
      shown, n_devices, n_devices == 1 ? "" : "s", name, nodes, dvmd_map_plan_name_fewer (self->request), name);
}

/* No node has the object on which processes are put. */
static void
set_without (const DvmdMapPlan *self, GError **error)
{
  const DvmdMapRequest *request = self->request;
  gboolean one = request->n_nodes == 1;
  g_autofree char *nodes = dvmd_map_words_show_nodes (request);
  g_autofree char *none = g_strdup_printf (one ? "%s has no" : "none of %s has a", nodes);
  const char *known = one ? "as far as its hardware is known" : "as far as their hardware is known";

  if (self->fit[0]->kind == DVMD_OBJECT_DEVICE)
    g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "map-by: %s device “%s” that no other job or program has, %s",
                 none, dvmd_map_words_name_device (request), known);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "map-by: %s %s, %s", none,
                 dvmd_map_words_name_kind (self->fit[0]->kind), known);
}

gboolean
dvmd_map_plan_refuse_objects (DvmdMapPlan *self, GError **error)
{
  if (sum_up (self).without == self->request->n_nodes)
    set_without (self, error);
  else if (self->request->bind_to > DVMD_BIND_TO_NONE && !holds_one (self))
    set_too_large (self, error);
  else
    return FALSE;
  return TRUE;
}

void
dvmd_map_plan_refuse (DvmdMapPlan *self, GError **error)
{
  const DvmdMapRequest *request = self->request;
  Sums sums = sum_up (self);
  const char *apps = request->app_limits != NULL ? ", as far as they are for its applications" : "";
  g_autofree char *need = show_need (request, sums.need);
  g_autofree char *nodes = dvmd_map_words_show_nodes (request);

  if (sums.without < request->n_nodes && sums.need > count_devices (self))
    set_no_devices (self, sums.need, count_devices (self), error);
  else if (dvmd_map_plan_refuse_objects (self, error))
    return;
  else if (sums.need <= sums.slots && request->bind_to > DVMD_BIND_TO_NONE)
    set_no_cpus (self, &sums, apps, error);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "%s not fit into the %" G_GUINT64_FORMAT " slot%s of %s%s%s",
                 need, sums.slots, sums.slots == 1 ? "" : "s", nodes, apps,
                 sums.without > 0 ? "; some of these have no such object" : "");
}

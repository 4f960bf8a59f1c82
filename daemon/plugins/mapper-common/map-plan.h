/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "map-fit.h"

G_BEGIN_DECLS

/*
 * A plan is made by the mappers that count. For each application first how many processes each node takes, by one of
 * the ways below, then dvmd_map_plan_place(), which gives the ranks. Each application begins at the first node.
 */
typedef struct
{
  const DvmdMapRequest *request;
  DvmdPlacement *placement;
  DvmdRankBy rank_by;
  GPtrArray *fits;   /* DvmdMapFit */
  DvmdMapFit **fit;  /* per node: what its objects take */
  guint32 *left;     /* per node: what is left of its limit */
  guint32 *beyond;   /* per node: what it takes besides */
  guint32 *room;     /* per node: what the application may have there now */
  guint32 *counts;   /* per node: what it has */
  guint32 next_rank; /* of the job */
} DvmdMapPlan;

/* kind: objects of which kind the processes are put on. quota: as in DvmdMapFit */
void dvmd_map_plan_init (DvmdMapPlan *self, const DvmdMapRequest *request, DvmdPlacement *placement,
                         DvmdObjectKind kind, guint32 quota);
void dvmd_map_plan_clear (DvmdMapPlan *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmdMapPlan, dvmd_map_plan_clear)

/* The next four answer how many processes of the application have no place. */
/* A node is filled, then the next; beyond the limits evenly. */
guint32 dvmd_map_plan_fill_nodes (DvmdMapPlan *self, guint app);
/* A node takes a quota on each of its objects, as far as the application has so many. It is left out where it has no
 * slots for the quotas of all of them. */
guint32 dvmd_map_plan_fill_quotas (DvmdMapPlan *self, guint app);
/* One on each node in turn. */
guint32 dvmd_map_plan_deal_nodes (DvmdMapPlan *self, guint app);
/* One on each object of all nodes in turn. */
guint32 dvmd_map_plan_deal_objects (DvmdMapPlan *self, guint app);

/* One of those above. */
typedef guint32 (*DvmdMapPlanSpread) (DvmdMapPlan *self, guint app);

/* Spreads each application so over the nodes, and gives it ranks. The error says which limit, object or cpu is missing.
 */
DvmdPluginVerdict dvmd_map_plan_place_all (DvmdMapPlan *self, DvmdMapPlanSpread spread, GError **error);
/* Gives ranks to the processes that were counted for the application, on the objects of the nodes. */
void dvmd_map_plan_place (DvmdMapPlan *self, guint app);

/* How many processes the other applications have for which there is a node of this one, too. */
guint64 dvmd_map_plan_count_others (const DvmdMapRequest *request, const guint32 *app_np, guint app);
/* Gives an application without a number as many as have room within the limits, one at least. FALSE: several have none,
 * and a node in common.
 */
gboolean dvmd_map_plan_count (const DvmdMapRequest *request, DvmdObjectKind kind, guint32 *app_np);

/* Sets the error of a job that does not fit: which limit, object or cpu is missing, and what would help. */
void dvmd_map_plan_refuse (DvmdMapPlan *self, GError **error);
/* The same if no node has an object for a process. FALSE: some has */
gboolean dvmd_map_plan_refuse_objects (DvmdMapPlan *self, GError **error);
/* How messages say that there are to be fewer processes. */
const char *dvmd_map_plan_name_fewer (const DvmdMapRequest *request);

/* G_MAXUINT32: any number */
guint32 dvmd_map_plan_app_limit (const DvmdMapRequest *request, guint app, guint node);

G_END_DECLS

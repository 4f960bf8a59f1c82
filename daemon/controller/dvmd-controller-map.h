/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Placement: what the core asks, and what mappers see.
 */

#pragma once

#include "dvmd-controller.h"
#include "dvmd-map-driver.h"
#include "dvmd-plan.h"

G_BEGIN_DECLS

/* Effects of the core. */
gboolean dvmd_controller_check_placement (gpointer user_data, DvmJobSpec *spec, gboolean *counts, GError **error);
gboolean dvmd_controller_count_procs (gpointer user_data, DvmdJob *job, const DvmdPlaces *places, guint32 *np);
DvmdMap *dvmd_controller_map (gpointer user_data, DvmdJob *job, const DvmdPlaces *places, GError **error);

/* The topologies that agents have told. */
DvmdMapTopologies dvmd_controller_get_map_topologies (DvmdController *self);
/* (transfer none) (nullable): of that node; NULL: it has not told it yet */
DvmdTopology *dvmd_controller_find_topology (DvmdController *self, guint rank);
/* A node has this one, and perhaps more. */
void dvmd_controller_keep_topology (DvmdController *self, DvmdTopology *topology);

/* (transfer full): a plan with the mappers of this DVM; see dvmd_plan_new() */
DvmdPlan *dvmd_controller_new_plan (DvmdController *self, const DvmdPlanShape *shape, GError **error);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"
#include "dvmd-plan.h"

G_BEGIN_DECLS

/*
 * The hardware of nodes, each kind of node once: its signature, the names of the nodes that have it, and by the name of
 * a kind of objects ("package" to "hwthread") the cpus of each of these, in logical order. Nodes that have not told
 * theirs yet, or have left, are not among them.
 *
 * plan (nullable): the nodes that are only described; names (nullable): of the nodes; NULL: all.
 * Returns: (transfer floating): a(sasa{sas})
 */
GVariant *dvmd_controller_list_topologies (DvmdController *self, DvmdPlan *plan, const char *const *names);

G_END_DECLS

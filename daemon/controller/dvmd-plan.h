/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"
#include "dvmd-topology.h"

G_BEGIN_DECLS

/*
 * A plan is a DVM of machines that one does not have: a core of its own with nodes that have only a topology. Jobs are
 * mapped on it as they would be there, and nothing is started.
 */

typedef struct _DvmdPlan DvmdPlan;

typedef struct
{
  const char *const *topologies; /* of the first nodes, and the last one of all others: see dvmd_plan_new() */
  guint n_nodes;                 /* 0: as many as there are topologies */
  const char *slots;             /* (nullable): of each node, "16" or "16,16,6"; NULL: hardware threads */
} DvmdPlanShape;

/* More nodes than this are refused: a call of Map stands in the way of others. */
#define DVMD_PLAN_MAX_NODES 100000

/*
 * A topology is hwloc's synthetic description or its XML. The nodes are called head, n001, n002 and so on.
 *
 * mappers: (element-type DvmdMapper). Returns: (transfer full) (nullable). Errors: DVM_ERROR_BAD_PARAM.
 */
DvmdPlan *dvmd_plan_new (const DvmdPlanShape *shape, GPtrArray *mappers, GError **error);
void dvmd_plan_free (DvmdPlan *self);

/* For dvmd_core_map(). */
DvmdCore *dvmd_plan_get_core (DvmdPlan *self);
/* (transfer none) (nullable) */
DvmdTopology *dvmd_plan_find_topology (DvmdPlan *self, guint rank);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPlan, dvmd_plan_free)

G_END_DECLS

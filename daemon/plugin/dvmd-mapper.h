/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin-base.h"

G_BEGIN_DECLS

/**
 * DvmdMapRequest:
 * @map_by: how to map, written in full: "slot", "node", "ppr:2:node"
 * @app_np: how many processes each application of the job has
 * @n_apps: how many applications there are
 * @nodes: the nodes that may be used, in the order of preference
 * @n_nodes: how many nodes there are; at least one
 * @oversubscribe: whether a node may take more processes than its limit: all limits are used first, then what is left
 * is spread evenly
 * @app_limits: (nullable): a row over the nodes for each application, how many processes of it the node may take, which
 * may be passed as the limits may; 0: the node is not for this application. %NULL: every node takes every application
 *
 * What is to be placed, and where it may go. Borrowed for the time of the call.
 *
 * Since: 0.1
 */
typedef struct
{
  const char *map_by;
  const guint32 *app_np;
  guint32 n_apps;
  const DvmdPluginNode *nodes;
  guint32 n_nodes;
  gboolean oversubscribe;
  const guint32 *app_limits;
  gpointer reserved[3];
} DvmdMapRequest;

/**
 * DvmdPlacementRun:
 * @node: index of the node in the request
 * @app: index of the application
 * @first_rank: the first rank of the run
 * @count: how many ranks it has
 * @stride: how far they are apart; 1 if they follow each other
 *
 * Ranks of one application on one node.
 *
 * Since: 0.1
 */
typedef struct
{
  guint32 node;
  guint32 app;
  guint32 first_rank;
  guint32 count;
  guint32 stride;
} DvmdPlacementRun;

/**
 * DvmdPlacement:
 *
 * Where the processes go, as runs of ranks: a mapper fills it. When the mapper is done, the daemon checks that every
 * rank has exactly one place and that no limit is passed.
 *
 * Since: 0.1
 */
typedef struct _DvmdPlacement DvmdPlacement;

DvmdPlacement *dvmd_placement_new (void);
void dvmd_placement_free (DvmdPlacement *self);

/**
 * dvmd_placement_add:
 * @self: a placement
 * @node: index of the node in the request
 * @app: index of the application
 * @first_rank: the first rank
 * @count: how many ranks
 * @stride: how far they are apart; 1 if they follow each other
 *
 * Adds a run of ranks. One that goes on where the last one has ended makes that one longer.
 *
 * Since: 0.1
 */
void dvmd_placement_add (DvmdPlacement *self, guint32 node, guint32 app, guint32 first_rank, guint32 count,
                         guint32 stride);

/* (array length=n_runs) (transfer none): the runs in the order in which they were added. */
const DvmdPlacementRun *dvmd_placement_get_runs (DvmdPlacement *self, guint *n_runs);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPlacement, dvmd_placement_free)

/**
 * DvmdMapper:
 *
 * Places the processes of a job on nodes. Mapping is on the path of every job, and the DVM waits for it: a mapper reads
 * no file, asks nobody and does not wait.
 *
 * Since: 0.1
 */
#define DVMD_TYPE_MAPPER (dvmd_mapper_get_type ())
G_DECLARE_DERIVABLE_TYPE (DvmdMapper, dvmd_mapper, DVMD, MAPPER, DvmdPlugin)

/**
 * DvmdMapperClass:
 * @parent_class: the parent
 * @map: fills an empty placement. Declines a request whose @map_by it does not know; what it has placed is then
 *   forgotten. Fails with %DVM_ERROR_MAP_FAILED when the limits do not allow it
 *
 * Since: 0.1
 */
struct _DvmdMapperClass
{
  DvmdPluginClass parent_class;

  DvmdPluginVerdict (*map) (DvmdMapper *self, const DvmdMapRequest *request, DvmdPlacement *placement, GError **error);

  gpointer reserved[4];
};

/* Asks the mapper. A mapper without map() declines. */
DvmdPluginVerdict dvmd_mapper_map (DvmdMapper *self, const DvmdMapRequest *request, DvmdPlacement *placement,
                                   GError **error);

G_END_DECLS

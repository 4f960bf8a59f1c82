/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

#include "dvmd-proc-table.h"

G_BEGIN_DECLS

/*
 * Where the processes of a job go, in compact form: runs of ranks on one node. A regular map of a thousand nodes with
 * 128 processes each is a thousand runs; what travels to the agents does not grow with the processes per node.
 */

/* More ranks than this in one job are a mistake of whoever asks. */
#define DVMD_MAP_MAX_PROCS (1u << 26)

typedef struct
{
  guint32 node; /* rank of the agent */
  guint32 app;
  guint32 first_rank;
  guint32 count;
  guint32 stride; /* 1: ranks follow each other */
} DvmdMapRun;

typedef struct
{
  guint num_procs;
  GArray *runs; /* DvmdMapRun */
} DvmdMap;

DvmdMap *dvmd_map_new (void);
void dvmd_map_free (DvmdMap *self);
void dvmd_map_add_run (DvmdMap *self, guint node, guint app, guint first_rank, guint count, guint stride);

/* a(uuuuu): node, app, first rank, count, stride */
#define DVMD_MAP_VARIANT_TYPE "a(uuuuu)"
GVariant *dvmd_map_to_variant (DvmdMap *self);
/* NULL with DVM_ERROR_PARSE_FAILED when the runs do not cover 0 to num_procs - 1 exactly once. */
DvmdMap *dvmd_map_new_from_variant (GVariant *variant, GError **error);

/* Every rank with its node, local rank and node rank. */
DvmdProcTable *dvmd_map_expand (DvmdMap *self);
/* The ranks of the agents that have processes of the map, ascending (element-type guint). */
GArray *dvmd_map_get_nodes (DvmdMap *self);
guint dvmd_map_count_on_node (DvmdMap *self, guint node);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdMap, dvmd_map_free)

G_END_DECLS

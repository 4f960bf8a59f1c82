/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-map.h"

G_BEGIN_DECLS

/* Places ranks on nodes. Pure. */

typedef enum
{
  DVMD_MAP_BY_SLOT, /* fill the slots of a node, then the next */
  DVMD_MAP_BY_NODE, /* one process on each node in turn */
} DvmdMapBy;

typedef struct
{
  DvmdMapBy by;
  const guint *app_np; /* processes of each application */
  guint n_apps;
  const guint *nodes;  /* ranks of the agents */
  const guint *limits; /* processes that each node may take */
  guint n_nodes;
  gboolean oversubscribe; /* what passes the limits is spread evenly */
} DvmdMapRequest;

/* DVM_ERROR_MAP_FAILED when the limits do not allow it. */
DvmdMap *dvmd_mapper_map (const DvmdMapRequest *request, GError **error);

G_END_DECLS

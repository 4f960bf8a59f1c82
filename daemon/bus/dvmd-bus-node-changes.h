/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-bus-private.h"

G_BEGIN_DECLS

/* What there is to tell of nodes: each of them once, in the order in which they changed. */

typedef enum
{
  DVMD_BUS_NODE_VALUES = 1 << 0, /* properties but Jobs */
  DVMD_BUS_NODE_JOBS = 1 << 1,
  DVMD_BUS_NODE_STATE = 1 << 2, /* goes into NodesChanged too */
} DvmdBusNodeWhat;

typedef struct
{
  guint32 rank;
  guint32 what;
  guint32 state; /* as it was told */
} DvmdBusNodeChange;

typedef struct _DvmdBusNodeChanges DvmdBusNodeChanges;

DvmdBusNodeChanges *dvmd_bus_node_changes_new (void);
void dvmd_bus_node_changes_free (DvmdBusNodeChanges *self);
void dvmd_bus_node_changes_add (DvmdBusNodeChanges *self, guint rank, guint what);
/* Nodes whose values are still to be told. */
gboolean dvmd_bus_node_changes_is_empty (DvmdBusNodeChanges *self);
/*
 * (transfer floating) (nullable): the body of PropertiesChanged of the next of them, NULL for one that has left; what
 * it is that is told, and its state, are in change from now on. Not when it is empty.
 */
GVariant *dvmd_bus_node_changes_take (DvmdBusNodeChanges *self, DvmdBusServer *server,
                                      const DvmdBusNodeChange **change);
/* (transfer floating) (nullable): the body of NodesChanged of all that have been taken; NULL if no state changed */
GVariant *dvmd_bus_node_changes_get_states (DvmdBusNodeChanges *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdBusNodeChanges, dvmd_bus_node_changes_free)

G_END_DECLS

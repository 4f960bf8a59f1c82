/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* More slots of one node are a mistake. */
#define DVMD_NODE_TABLE_MOST_SLOTS 1000000

/* Bytes of memory of one node; more counts as that. */
#define DVMD_NODE_TABLE_MOST_MEMORY ((guint64)G_MAXINT64)

/* Nodes with their slots, in the order in which they were named first; names are those of hosts: case does not count.
 */
typedef struct _DvmdNodeTable DvmdNodeTable;

DvmdNodeTable *dvmd_node_table_new (void);
void dvmd_node_table_free (DvmdNodeTable *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdNodeTable, dvmd_node_table_free)

/* slots: added to those that the node has; 0 if nothing is known of them */
void dvmd_node_table_add (DvmdNodeTable *self, const char *name, guint32 slots);
/* Of a node that was added. unit: "pu" or "core", the same for all; list: as dvmd_allocation_set_cpus() takes it, added
 * to those that the node has; NULL: it has all, whatever else is said of it */
void dvmd_node_table_add_cpus (DvmdNodeTable *self, const char *name, const char *unit, const char *list);
/* Of a node that was added. bytes: added to those that the node has; 0 if nothing is known of them */
void dvmd_node_table_add_memory (DvmdNodeTable *self, const char *name, guint64 bytes);
guint dvmd_node_table_get_n_nodes (DvmdNodeTable *self);

/* (transfer full) (nullable): NULL with DVM_ERROR_ALLOC_FAILED, of which place is the beginning: there is no node, or
 * one with more than DVMD_NODE_TABLE_MOST_SLOTS. alloc_id: (nullable) */
DvmdAllocation *dvmd_node_table_to_allocation (DvmdNodeTable *self, const char *alloc_id, const char *place,
                                               GError **error);

G_END_DECLS

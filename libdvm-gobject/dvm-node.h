/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#if !defined(DVM_INSIDE) && !defined(DVM_COMPILATION)
#error "Only <dvm.h> can be included directly."
#endif

#include "dvm-enums.h"

G_BEGIN_DECLS

#define DVM_TYPE_NODE (dvm_node_get_type ())
G_DECLARE_FINAL_TYPE (DvmNode, dvm_node, DVM, NODE, GObject)

const char *dvm_node_get_name (DvmNode *self);
const char *const *dvm_node_get_aliases (DvmNode *self);
guint dvm_node_get_rank (DvmNode *self);
DvmNodeState dvm_node_get_state (DvmNode *self);
const char *dvm_node_get_state_name (DvmNode *self);
const char *dvm_node_get_reason (DvmNode *self);
guint dvm_node_get_slots (DvmNode *self);
guint dvm_node_get_slots_in_use (DvmNode *self);
guint dvm_node_get_slots_max (DvmNode *self);
const char *dvm_node_get_address (DvmNode *self);
int dvm_node_get_pid (DvmNode *self);
guint dvm_node_get_parent_rank (DvmNode *self);
guint dvm_node_get_depth (DvmNode *self);
const char *dvm_node_get_topology (DvmNode *self);
const char *const *dvm_node_get_sessions (DvmNode *self);
const char *const *dvm_node_get_jobs (DvmNode *self);
const char *const *dvm_node_get_devices (DvmNode *self);
gint64 dvm_node_get_memory_allotted (DvmNode *self);
gint64 dvm_node_get_last_seen (DvmNode *self);
const char *dvm_node_get_launcher (DvmNode *self);
const char *dvm_node_get_allocator (DvmNode *self);
const char *dvm_node_get_object_path (DvmNode *self);

DvmNode *dvm_node_new_from_variant (GVariant *values, GError **error);
GVariant *dvm_node_to_variant (DvmNode *self);
char *dvm_node_to_json (DvmNode *self);

G_END_DECLS

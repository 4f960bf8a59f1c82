/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#if !defined(DVM_INSIDE) && !defined(DVM_COMPILATION)
#error "Only <dvm.h> can be included directly."
#endif

#include "dvm-enums.h"

G_BEGIN_DECLS

#define DVM_TYPE_SESSION (dvm_session_get_type ())
G_DECLARE_FINAL_TYPE (DvmSession, dvm_session, DVM, SESSION, GObject)
guint dvm_session_get_id (DvmSession *self);
const char *dvm_session_get_alloc_id (DvmSession *self);
const char *dvm_session_get_request_id (DvmSession *self);
DvmSessionState dvm_session_get_state (DvmSession *self);
const char *dvm_session_get_reason (DvmSession *self);
const char *const *dvm_session_get_nodes (DvmSession *self);
const char *const *dvm_session_get_jobs (DvmSession *self);
const char *dvm_session_get_parent (DvmSession *self);
const char *const *dvm_session_get_children (DvmSession *self);
const char *dvm_session_get_owner (DvmSession *self);
const char *const *dvm_session_get_owners (DvmSession *self);
const char *dvm_session_get_inheritance (DvmSession *self);
gboolean dvm_session_get_shared (DvmSession *self);
gboolean dvm_session_get_separate (DvmSession *self);
gint64 dvm_session_get_expires_at (DvmSession *self);
const char *dvm_session_get_object_path (DvmSession *self);

DvmSession *dvm_session_new_from_variant (GVariant *values, GError **error);
GVariant *dvm_session_to_variant (DvmSession *self);
char *dvm_session_to_json (DvmSession *self);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"
#include "dvmd-session.h"

G_BEGIN_DECLS

/* The sessions of the DVM: see dvmd-core-sessions.h for how they are found. */

DvmdSessionRegistry *dvmd_session_registry_new (void);
void dvmd_session_registry_free (DvmdSessionRegistry *self);
/* (element-type DvmdSession) (transfer none): ascending by id */
GList *dvmd_core_get_live_sessions (DvmdCore *self);
/* A number for a new one; wanted 0: the next one. The first session of all has number 0. */
guint dvmd_session_registry_choose_id (DvmdSessionRegistry *self, guint wanted);
/* (transfer full) */
void dvmd_session_registry_add (DvmdSessionRegistry *self, DvmdSession *session);
/* (transfer full) */
DvmdSession *dvmd_session_registry_remove (DvmdSessionRegistry *self, guint id);
/* The session has ended, and somebody is to be told of it later: then they are taken. */
void dvmd_session_registry_note_end (DvmdSessionRegistry *self, DvmdSession *session);
/* (element-type DvmdSession) (nullable) (transfer full) */
GPtrArray *dvmd_session_registry_take_ended (DvmdSessionRegistry *self);

/* id 0: the next one. Nobody is told before it is complete: dvmd_core_tell_session(). */
DvmdSession *dvmd_core_add_session (DvmdCore *self, guint id, const char *alloc_id, const char *req_id,
                                    gboolean shared);
char *dvmd_core_mint_alloc_id (DvmdCore *self);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"
#include "dvmd-session.h"

G_BEGIN_DECLS

/* A session as the core's own files see it: beside what dvmd-session.h and dvmd-core-sessions.h tell everybody. */

DvmdSession *dvmd_session_new (DvmdCore *core, guint id, gboolean shared);
DvmdCore *dvmd_session_get_core (DvmdSession *self);
/* (nullable): the namespace that owns it for life */
const char *dvmd_session_get_owner (DvmdSession *self);
/* Of the user that asked for it */
guint dvmd_session_get_owner_uid (DvmdSession *self);
/* The requester that is warned of its end from now on */
void dvmd_session_set_requester (DvmdSession *self, const DvmdRequester *requester);
/* Its jobs end with its time. */
void dvmd_session_set_instantiated (DvmdSession *self);
/* Nodes or jobs of the session have changed. */
void dvmd_session_changed (DvmdSession *self);
/* The one writer of a session's state. */
void dvmd_session_set_state (DvmdSession *self, DvmSessionState state, const char *reason);

/* ---- nodes ---- */
/* The nodes that are in the session now, ascending by rank (element-type DvmdNode). */
GPtrArray *dvmd_session_list_nodes (DvmdSession *self);
/* The node is in the session from now on, or is not any more. */
void dvmd_session_join (DvmdSession *self, DvmdNode *node);
void dvmd_session_part (DvmdSession *self, DvmdNode *node);
/*
 * A node of the session has more slots as long as it is in the session, and again when it comes back. Another node is
 * in the place of this one, with its slots. No slots come again.
 */
void dvmd_session_add_slots (DvmdSession *self, DvmdNode *node, guint slots);
void dvmd_session_move_slots (DvmdSession *self, const DvmdNode *from, DvmdNode *to);
void dvmd_session_forget_slots (DvmdSession *self, const DvmdNode *node);
/* The session's nodes stay in it, and are everybody's; grows may bring more of them: dvmd_grow_unreserve(). */
void dvmd_session_unreserve (DvmdSession *self);
/* The host has been released from the session on its own, or is there again. */
void dvmd_session_lend (DvmdSession *self, const DvmdNode *node);
void dvmd_session_unlend (DvmdSession *self, const char *name);
gboolean dvmd_session_has_lent (DvmdSession *self, const char *name);

/* ---- jobs ---- */
void dvmd_session_add_job (DvmdSession *self, DvmdJob *job);
void dvmd_session_remove_job (DvmdSession *self, DvmdJob *job);
/* The session is being released: its jobs that are not launched never will be. drains: those that are placed may be. */
void dvmd_session_drop_jobs (DvmdSession *self, const char *reason, gboolean drains);
/* (nullable): of this session, and live */
DvmdJob *dvmd_session_find_job (DvmdSession *self, const char *nspace);
/* (element-type DvmdJob): all of them, or the one of that namespace */
GPtrArray *dvmd_session_collect_jobs (DvmdSession *self, const char *nspace);
/* DvmdHold: its jobs are stopped, and those that come wait. dvmd-session-holds.c and the end of a session set them. */
guint dvmd_session_get_holds (DvmdSession *self);
void dvmd_session_set_holds (DvmdSession *self, guint holds);

/* ---- its release ---- */
/* By a shrink, or it has been released already and is there for its jobs; the latter */
gboolean dvmd_session_is_releasing (DvmdSession *self);
gboolean dvmd_session_is_over (DvmdSession *self);
/* (nullable): why it is released, if nobody asked for it */
const char *dvmd_session_get_cause (DvmdSession *self);
void dvmd_session_set_cause (DvmdSession *self, const char *cause);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-elastic.h"
#include "dvmd-rights.h"

G_BEGIN_DECLS

/*
 * Sessions, beside those calls of dvmd-core-elastic.h that make, extend and release them. Signals of the core:
 *   session-added, session-changed, session-removed (DvmdSession),
 *   session-state-changed (DvmdSession, const char *old, const char *new, const char *reason): before session-changed,
 *   session-warned (DvmdSession, guint seconds_left): its requester is to be told that its time is over soon
 */

/* (nullable): the last one that was requested under this id */
DvmdSession *dvmd_core_find_session_by_request (DvmdCore *self, const char *req_id);
/* Whether a new session may have the number, which is not 0: nobody has it, and nobody has had it. */
gboolean dvmd_core_check_session_number (DvmdCore *self, guint id, GError **error);
/*
 * The session that a request is about: by number (0: not given), allocation id and id of its request (both nullable),
 * which have to agree. session (out) (nullable): none is given. Those that are being released are not found.
 */
gboolean dvmd_core_select_session (DvmdCore *self, guint id, const char *alloc_id, const char *of_req_id,
                                   DvmdSession **session, GError **error);
/*
 * Likewise, as who (nullable) means it: of several sessions that were requested under one id it is the requester's own.
 * An id that is ambiguous all the same is refused.
 */
gboolean dvmd_core_select_session_for (DvmdCore *self, const DvmdRequester *who, guint id, const char *alloc_id,
                                       const char *of_req_id, DvmdSession **session, GError **error);
/*
 * These check all of dvmd_core_grow() and dvmd_core_shrink() that does not depend on the nodes that an allocator
 * proposes, without any change: for callers that ask others before. A grow may come without hosts here.
 */
gboolean dvmd_core_check_grow (DvmdCore *self, const DvmdGrowRequest *request, GError **error);
gboolean dvmd_core_check_shrink (DvmdCore *self, const DvmdShrinkRequest *request, GError **error);
/* A job has ended, or a tool has gone: each session that it owned goes the way that the inheritance says. */
void dvmd_core_namespace_ended (DvmdCore *self, const char *nspace);
/* The session's time is nearly over, by the scheduler's word or its own limit: its requester is told, no more (R67). */
void dvmd_core_warn_session (DvmdCore *self, DvmdSession *session, guint seconds_left);
/* The nodes that the DVM was started with are there for so long; -1: without a limit. The one who has given them keeps
 * the time. */
void dvmd_core_limit_default_session (DvmdCore *self, gint64 seconds);
/* separate: the session ends neither with its parent nor with its owner (S21). */
void dvmd_core_separate_session (DvmdCore *self, DvmdSession *session, gboolean separate);

/* (nullable): the requester that made the session, or extended it last, and is warned of its end */
const DvmdRequester *dvmd_session_get_requester (DvmdSession *self);
/* Jobs outside of the session do not see its nodes. */
gboolean dvmd_session_is_reserved (DvmdSession *self);
gboolean dvmd_session_owns (DvmdSession *self, const char *nspace);
/* The session is being released: requests cannot name it any more. */
gboolean dvmd_session_is_ending (DvmdSession *self);
/* (element-type guint): ids of the live jobs whose primary session it is, ascending */
GArray *dvmd_session_list_jobs (DvmdSession *self);
/* (element-type utf8) (transfer full): hosts that were released on their own, and can be taken back (REAQUIRE) */
GPtrArray *dvmd_session_list_lent (DvmdSession *self);
/* The slots that such a host was given, without those that allocations have added; 0: its hardware says how many, or
 * the host is not lent. slots_max (out): its limit, 0: none */
guint dvmd_session_get_lent_slots (DvmdSession *self, const char *name, guint *slots_max);
/* (element-type guint) (transfer none): the sessions whose nodes the job may use, the primary one first */
GArray *dvmd_job_get_sessions (DvmdJob *self);

G_END_DECLS

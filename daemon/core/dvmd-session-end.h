/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"
#include "dvmd-session.h"

G_BEGIN_DECLS

/* The session is released, as by a scheduler. */
void dvmd_session_release (DvmdSession *self, guint drain_timeout, const char *cause);
/* The session is being released: it cannot be named any more, and its jobs that are not launched never are. */
void dvmd_session_begin_end (DvmdSession *self, const char *reason, gboolean drains);
/* The session is not released after all. */
void dvmd_session_go_on (DvmdSession *self);
/* The session is over, as soon as its last job is. */
void dvmd_session_end (DvmdSession *self, const char *reason);
/* Sessions below end with it, unless they are separate (S6). drain_timeout: s that jobs there have to end; 0: none */
void dvmd_session_end_children (DvmdSession *self, guint drain_timeout);
/* The session's jobs end, and when the last process has gone so does the session. */
void dvmd_session_terminate (DvmdSession *self, const char *reason);
/* A session that is ending goes on ending; its jobs, which a release lets go on, end now. */
void dvmd_session_terminate_ending (DvmdSession *self, const char *reason);
/* The session is released now, if it has no jobs any more and was to be then. */
void dvmd_session_check_end (DvmdSession *self);
/* A job has ended that the session may have waited for. */
void dvmd_session_job_ended (DvmdSession *self, DvmdJob *job);
/* After the answer to the request that ended them: clients that want to hear of ended sessions do. */
void dvmd_core_tell_ended_sessions (DvmdCore *self);

G_END_DECLS

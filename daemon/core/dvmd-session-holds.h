/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-job-hold.h"
#include "dvmd-session.h"

G_BEGIN_DECLS

/* nspace (nullable): of the one job that is concerned; who: the name of the one that says so */
void dvmd_session_hold (DvmdSession *self, const char *nspace, DvmdHold why, gboolean on, const char *who);
/* A new job of a session is held as the session is. */
void dvmd_session_hold_job (DvmdJob *job);
/* No job of the session is paused or preempted any more. */
void dvmd_session_let_go (DvmdSession *self);

G_END_DECLS

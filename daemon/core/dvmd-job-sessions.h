/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-job.h"
#include "dvmd-lineage.h"
#include "dvmd-node-pool.h"

G_BEGIN_DECLS

/* The sessions of a job: whose nodes it may use. They are ids, so that no job keeps a session. */

/* (element-type guint): ids; NULL: error says which one it cannot be in */
GArray *dvmd_job_sessions_choose (DvmdCore *core, DvmJobSpec *spec, const DvmdRequester *requester, GError **error);
void dvmd_job_sessions_set (DvmdJob *job, GArray *sessions);
/* One that is in sessions of its own uses what it brings to another one all the same. */
void dvmd_job_sessions_see (DvmdJob *job, guint id);
/* They have it from now on, and it owns them too (R41). */
void dvmd_job_sessions_enter (DvmdJob *job);
/* It has ended. */
void dvmd_job_sessions_leave (DvmdJob *job);
/* The primary one */
guint dvmd_job_get_session (DvmdJob *job);
gboolean dvmd_job_uses_session (DvmdJob *job, guint id);
/* The node is in one of its sessions. */
gboolean dvmd_job_may_use (DvmdJob *job, DvmdNode *node);
/* (nullable): who spawned it */
DvmdLineage *dvmd_job_get_lineage (DvmdJob *job);

G_END_DECLS

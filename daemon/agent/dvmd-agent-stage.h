/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent-job.h"

G_BEGIN_DECLS

/* The job's session directory for applications that run there (options of the launch message). */
void dvmd_agent_enter_session_dir (DvmdAgentJob *job);
/* (transfer full) (nullable): that of the job here, also where it has brought nothing along */
char *dvmd_agent_dup_session_dir (DvmdAgentJob *job);
/* Removes the staged files of jobs that were never launched. */
void dvmd_agent_end_unused_stages (DvmdAgent *self);
/* Removes the session directory, if the job has one of ours, then says JOB_GONE. */
void dvmd_agent_end_stage (DvmdAgent *self, guint32 job);

G_END_DECLS

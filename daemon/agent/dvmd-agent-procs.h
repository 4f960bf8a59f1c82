/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent-job.h"

G_BEGIN_DECLS

extern const DvmdLocalFuncs dvmd_agent_local_funcs;

DvmdAgentRun *dvmd_agent_run_new (void);
void dvmd_agent_run_free (DvmdAgentRun *run);
void dvmd_agent_start_procs (DvmdAgentJob *job);
/* Of a process that comes back. */
void dvmd_agent_start_again (DvmdAgentJob *job, DvmdLocalProc *proc);
/* The controller has been told of all processes that were to be started here. */
gboolean dvmd_agent_is_launched (DvmdAgentJob *job);
void dvmd_agent_fail_procs (DvmdAgentJob *job, int exit_code, const char *reason);
void dvmd_agent_kill_job (DvmdAgentJob *job, gint64 grace);
/* The PMIx server has seen the connection of this process break. */
void dvmd_agent_proc_lost (DvmdAgentJob *job, DvmdLocalProc *proc);
/* It has ended itself: nobody waits any longer until it has seen the processes of the job go. */
void dvmd_agent_procs_unseen (DvmdAgentJob *job);

G_END_DECLS

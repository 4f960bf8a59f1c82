/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent-job.h"

G_BEGIN_DECLS

/* These functions see to ranks that run. */

/* dvmd-agent-io.c */
extern const DvmdPipesFuncs dvmd_agent_pipes_funcs;

/* dvmd-agent-mpi.c */
/* A rank has ended, and may be one of an MPI program that the PMIx server has not seen. */
void dvmd_agent_look_for_mpi (DvmdAgentJob *job, DvmdLocalProc *proc);

/* dvmd-agent-server-end.c */
/* The rank has ended, and all that it had told is known: the controller hears of the cause, if that was its server. */
void dvmd_agent_find_cause (DvmdAgentJob *job, const DvmdLocalProc *proc);

/* dvmd-agent-restart.c */
/* The process has been reaped, and all that it had told is known: whether it has failed and is to be started again. */
gboolean dvmd_agent_may_come_back (DvmdAgentJob *job, const DvmdLocalProc *proc, gboolean connecting);
/* The rest of its process group is ended; dvmd_local_proc_exited() follows. */
void dvmd_agent_begin_restart (DvmdAgentJob *job, DvmdLocalProc *proc);
/* One that would come back does not, and has ended. */
void dvmd_agent_give_up_restart (DvmdAgentJob *job, DvmdLocalProc *proc);
/* DvmdLocalFuncs.restart */
void dvmd_agent_await_restart (DvmdLocalJob *local, DvmdLocalProc *proc, gpointer user_data);

/* dvmd-agent-debug.c */
/* The rank, of a job that stops, has not been let go on, nor is it one that is not to wait. */
gboolean dvmd_agent_is_to_wait (const DvmdAgentJob *job, const DvmdLocalProc *proc);
/* The rank waits for a debugger in a call of its PMIx library. */
void dvmd_agent_proc_waits (DvmdAgentJob *job, DvmdLocalProc *proc);
/*
 * Somebody tells the rank, or all of the job, that it need not wait any more. FALSE: it does not wait for that, and the
 * event is one as others are
 */
gboolean dvmd_agent_release (DvmdAgentJob *job, guint32 rank);
/* The rank gets SIGCONT. */
void dvmd_agent_proc_resumed (DvmdAgentJob *job, DvmdLocalProc *proc);

G_END_DECLS

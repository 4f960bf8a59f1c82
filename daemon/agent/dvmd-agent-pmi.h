/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent-job.h"
#include "dvmd-pmi-server.h"

G_BEGIN_DECLS

/* The ranks of the job may speak PMI-1. */
gboolean dvmd_agent_offers_pmi (const DvmdAgentJob *job);
/* (nullable): none of its ranks was started here */
DvmdPmiServer *dvmd_agent_find_pmi (DvmdAgent *self, guint job_id);
/* (transfer none): the descriptor that the process is to have, -1 with an error */
int dvmd_agent_open_pmi (DvmdAgentJob *job, const DvmdLocalProc *proc, GError **error);
/* It has been reaped: what it has said until then is known. */
void dvmd_agent_hear_pmi (DvmdAgentJob *job, const DvmdLocalProc *proc);
/* It has ended, and is started again: those who wait for it go on waiting. */
void dvmd_agent_await_pmi (DvmdAgentJob *job, const DvmdLocalProc *proc);
/* The controller has been told of its end, or that it was not started: those who wait for it may end, too. */
void dvmd_agent_close_pmi (DvmdAgentJob *job, const DvmdLocalProc *proc);
/* One that waits in its init for a debugger does not any more. */
void dvmd_agent_let_pmi_go_on (DvmdAgentJob *job, const DvmdLocalProc *proc);
/* The agent forgets the job. */
void dvmd_agent_forget_pmi (DvmdAgentJob *job);
/* To a fence whose token is of DVMD_CALL_SERVER_PMI. */
void dvmd_agent_answer_pmi (DvmdAgent *self, guint64 token, int status, GBytes *data);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent-job.h"

G_BEGIN_DECLS

/* FALSE: it does not go by the tree. */
gboolean dvmd_agent_contribute_fence (DvmdAgent *self, guint64 token, const DvmdPmixProc *participants,
                                      guint n_participants, int status, GBytes *data, guint timeout);
/* An answer for the rank or the library that has come to the fence. data: empty unless it succeeded */
void dvmd_agent_answer_fence (DvmdAgent *self, guint64 token, int status, GBytes *data);
/* The ranks of the job that wait in a fence get an error. */
void dvmd_agent_end_fences (DvmdAgentJob *job);
/* Likewise, when the agent forgets the job. */
void dvmd_agent_forget_fences (DvmdAgentJob *job);

G_END_DECLS

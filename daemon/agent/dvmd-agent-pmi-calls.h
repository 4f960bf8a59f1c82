/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent-job.h"
#include "dvmd-pmi-server.h"

G_BEGIN_DECLS

/* Ranks that speak PMI ask the controller: parts of DvmdPmiFuncs, with the job as user_data. */
void dvmd_agent_pmi_ask_names (guint32 rank, guint number, DvmdPmiNames what, const char *service, const char *port,
                               gpointer user_data);
void dvmd_agent_pmi_spawn (guint32 rank, guint number, const DvmdPmiSpawn *spawn, gpointer user_data);
/* The server of a job is told with which pairs that was spawned, be it by PMI or PMIx. */
void dvmd_agent_seed_pmi (DvmdAgentJob *job, DvmdPmiServer *server);
/* Its ranks have a parent that speaks PMI. */
gboolean dvmd_agent_was_spawned_by_pmi (DvmdAgentJob *job);
/* To a call whose token is of DVMD_CALL_SERVER_PMI. answer: of the type of the kind, where the status is success */
void dvmd_agent_answer_pmi_call (DvmdAgent *self, guint64 token, DvmdCallKind kind, int status, GVariant *answer);

G_END_DECLS

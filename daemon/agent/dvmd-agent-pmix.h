/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent-job.h"

G_BEGIN_DECLS

/* dvmd-agent-pmix.c */
void dvmd_agent_pmix_host_iface_init (DvmdPmixHostInterface *iface);
gboolean dvmd_agent_start_pmix (DvmdAgent *self, GError **error);
/* The library is in processes of its own, below the agent. */
gboolean dvmd_agent_has_pmix_servers (DvmdAgent *self);
DvmdPmixJob *dvmd_agent_describe_job (DvmdAgentJob *job);
/* A local one has gone without finalizing, or is about to. */
gboolean dvmd_agent_has_lost_participant (DvmdAgent *self, const DvmdPmixProc *participant);
/* The description tells the library of a job: add its applications before its ranks. (transfer full) */
DvmdPmixJob *dvmd_agent_describe_nodes (DvmdAgent *self, const char *nspace, DvmdMap *map);
void dvmd_agent_describe_ranks (DvmdPmixJob *description, DvmdMap *map, const DvmdAgentJob *job);

/* dvmd-agent-psets.c */
/* Before a process of a job that the PMIx server knows is started, and when all have ended. */
void dvmd_agent_define_psets (DvmdAgentJob *job);
void dvmd_agent_delete_psets (DvmdAgentJob *job);

/* dvmd-agent-server-end.c: implements server_lost of DvmdPmixHost */
void dvmd_agent_server_lost (DvmdPmixHost *host, const char *nspace, const char *reason, gboolean has_clients);

/* dvmd-agent-pmix-processes.c */
typedef struct _DvmdAgentPmixProcesses DvmdAgentPmixProcesses;
DvmdAgentPmixProcesses *dvmd_agent_pmix_processes_new (DvmdAgent *agent);
/* (transfer full): of n processes at most */
DvmdPmix *dvmd_agent_pmix_processes_open (DvmdAgentPmixProcesses *self, DvmdClock *clock, guint n);
/* After the servers. */
void dvmd_agent_pmix_processes_free (DvmdAgentPmixProcesses *self);

G_END_DECLS

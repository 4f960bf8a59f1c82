/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent-services.h"

G_BEGIN_DECLS

/* Processes and tools that ask the PMIx server for something: parts of DvmdPmixHost, and what they share. */

/* dvmd-agent-calls.c */
void dvmd_agent_output_taken (DvmdPmixHost *host, guint server, guint n_pieces);
void dvmd_agent_output_unwanted (DvmdPmixHost *host, guint server, gboolean ended);
void dvmd_agent_call (DvmdPmixHost *host, guint64 token, DvmdCallKind kind, const char *nspace, guint32 rank,
                      GVariant *request);

/* dvmd-agent-connect.c */
/* At once, or when the jobs that are on their way to the PMIx server are known there, in the order of the calls. */
void dvmd_agent_give_or_defer (DvmdAgent *self, void (*give) (DvmdAgent *self, GVariant *body), GVariant *body);
void dvmd_agent_connect (DvmdPmixHost *host, guint64 token, gboolean leave, const DvmdPmixProc *participants,
                         guint n_participants, guint timeout);

/* dvmd-agent-tools.c */
/* A process that runs here, or a tool that is connected. */
gboolean dvmd_agent_is_here (DvmdAgent *self, const char *nspace, guint32 rank);
/* Adds the tools that are connected to targets (element-type DvmdPmixProc), which borrows their names. */
void dvmd_agent_list_tools (DvmdAgent *self, GArray *targets);
char *dvmd_agent_tool_connected (DvmdPmixHost *host, const char *nspace, guint32 *rank);
void dvmd_agent_tool_named (DvmdPmixHost *host, const char *nspace, guint32 rank);
void dvmd_agent_tools_let_in (DvmdPmixHost *host, const char *address);
/* FALSE: it was none. */
gboolean dvmd_agent_tool_lost (DvmdAgent *self, const char *nspace, guint32 rank);

/* dvmd-agent-events.c */
/* The PMIx server knows the job: it is told of the events that have come before. */
void dvmd_agent_tell_early_events (DvmdAgentJob *job);
/*
 * The DVM tells all processes and tools of this node of something about the job: those of the job hear of it later as
 * well. details: a{sv}, taken if floating
 */
void dvmd_agent_tell_node (DvmdAgentJob *job, gint32 status, GVariant *details);

/* dvmd-agent-spawn.c */
/* (transfer full): the request of a rank, without what the agent itself has put into that rank's environment. */
GVariant *dvmd_agent_clean_spawn (DvmdAgent *self, const char *nspace, const DvmdLocalProc *proc, GVariant *request);
/* These are to be aborted. */
void dvmd_agent_abort_procs (DvmdAgent *self, const char *nspace, guint32 rank, int status, const char *message,
                             const DvmdPmixProc *targets, guint n_targets);

G_END_DECLS

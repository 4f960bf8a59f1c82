/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-call-kind.h"
#include "dvmd-controller.h"

G_BEGIN_DECLS

/*
 * Processes and tools that ask the controller for something, by way of their agents. Each call that comes is from one
 * who is where its agent says. It is answered or dropped, once; when that agent has gone both are too late.
 */
typedef struct
{
  guint64 id; /* of this call, among all */
  DvmdCallKind kind;
  char *nspace; /* who asks */
  guint32 rank;
  guint32 pid; /* 0: a tool */
  guint agent; /* its node's */
  guint64 token;
} DvmdCall;

/* Reference counted. */
DvmdCall *dvmd_call_ref (DvmdCall *call);
void dvmd_call_unref (DvmdCall *call);
/* (transfer full): everybody whom a node's PMIx server lets in belongs to the DVM's own user */
DvmdRequester *dvmd_call_new_requester (const DvmdCall *call);
/* Reads that name again. FALSE: no process and no tool. nspace (out) (transfer full) */
gboolean dvmd_requester_read_proc (const DvmdRequester *requester, char **nspace, guint32 *rank);

/* answer: (nullable): floating, of the type of the call; NULL: status says why. Nothing happens if it was answered. */
void dvmd_controller_answer (DvmdController *self, guint64 call, int status, GVariant *answer);
/* The requester has gone, and wants no answer. */
void dvmd_controller_drop_call (DvmdController *self, guint64 call);
/* Whether the process or tool is still there. */
gboolean dvmd_controller_is_calling (DvmdController *self, const DvmdCall *call);

/*
 * An agent says that somebody asks for something. FALSE: that is no process and no tool of its node. A tool is known
 * from then on, if it was not before, to end with its agent.
 */
gboolean dvmd_controller_authenticate (DvmdController *self, guint agent, const char *nspace, guint32 rank);
/* The agent whose tool has that name, by the name alone; 0: it is none, or the agent is not there. */
guint dvmd_controller_find_tool (DvmdController *self, const char *nspace);
/* Whether a tool of that name is connected. */
gboolean dvmd_controller_has_tool (DvmdController *self, const char *nspace);
/* The agent of a process or tool that was authenticated; 0: it is nowhere any more. */
guint dvmd_controller_find_agent (DvmdController *self, const char *nspace, guint32 rank);
/* Adds the agents to which tools are connected to agents, a set of ranks. */
void dvmd_controller_add_agents_of_tools (DvmdController *self, GHashTable *agents);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdCall, dvmd_call_unref)

G_END_DECLS

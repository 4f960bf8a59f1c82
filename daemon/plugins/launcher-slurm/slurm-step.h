/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "kept-request.h"
#include "launch-call.h"

G_BEGIN_DECLS

/* An agent of a step; it is there until it has ended, and nobody waits for that any more. */
typedef struct _SlurmAgent SlurmAgent;

/* Agents that are to be started. */
typedef struct
{
  DvmdLaunchCall *call;
  DvmdKeptRequest *kept;
} SlurmStart;

/* Starts the agents of some of the nodes in a step of their own. agents: rank -> SlurmAgent, all of the launcher */
void slurm_step_start (DvmdLauncher *self, GHashTable *agents, const SlurmStart *start, guint first, guint n_nodes);

/* The call is over when the agent has ended. */
void slurm_agent_end (SlurmAgent *agent, DvmdLaunchCall *termination);

/* It gets no time to end by itself. */
void slurm_agent_kill (SlurmAgent *agent);

/* Its start is of no use any more, if it is part of this call and still under way. */
void slurm_agent_cancel (SlurmAgent *agent, DvmdLaunchCall *launch);

/* For the table. */
void slurm_agent_free (gpointer agent);

G_END_DECLS

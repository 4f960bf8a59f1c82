/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent.h"
#include "dvmd-container.h"
#include "dvmd-local.h"
#include "dvmd-message.h"
#include "dvmd-spawn.h"
#include "dvmd-topology.h"

G_BEGIN_DECLS

/* The agent as its services see it: what they may ask of it besides what dvmd-agent.h lets everybody ask. */

typedef struct _DvmdAgentJob DvmdAgentJob;

/* The parts are the identity of the agent, and the objects that its services share. */
typedef struct
{
  guint rank;
  char *name;            /* of the node */
  char *nspace;          /* of the DVM */
  char *runtime_dir;     /* private directory of this daemon */
  GMainContext *context; /* (nullable) */
  DvmdClock *clock;
  DvmdEventQueue *queue;
  DvmdTopology *topology;
  guint64 memory; /* bytes, that the scheduler gives of the node; 0: it has not said so */
  DvmdSpawner *spawner;
  DvmdReaper *reaper;
  DvmdContainers *containers;
} DvmdAgentParts;

const DvmdAgentParts *dvmd_agent_get_parts (DvmdAgent *self);
/* (nullable): not opened yet */
DvmdPmix *dvmd_agent_get_pmix (DvmdAgent *self);
/* It is there, and has been started. */
gboolean dvmd_agent_has_pmix (DvmdAgent *self);
/* pmix: taken; it has been opened, and may be started */
void dvmd_agent_set_pmix (DvmdAgent *self, DvmdPmix *pmix, gboolean started);
/* The node is a part of its machine. */
gboolean dvmd_agent_is_logical (DvmdAgent *self);
gboolean dvmd_agent_is_stopping (DvmdAgent *self);
/* As the membership says. */
const char *dvmd_agent_get_node_name (DvmdAgent *self, guint rank);
void dvmd_agent_send (DvmdAgent *self, DvmdMessageKind kind, GVariant *body);
/* After the last job of an agent that stops. */
void dvmd_agent_check_end (DvmdAgent *self);

/* The jobs that have processes here; the agent has them. */
void dvmd_agent_add_job (DvmdAgent *self, DvmdAgentJob *job);
void dvmd_agent_remove_job (DvmdAgent *self, DvmdAgentJob *job);
DvmdAgentJob *dvmd_agent_find_job (DvmdAgent *self, guint32 id);
DvmdAgentJob *dvmd_agent_find_job_named (DvmdAgent *self, const char *nspace);
/* (transfer container) (element-type DvmdAgentJob) */
GList *dvmd_agent_list_jobs (DvmdAgent *self);
/* (nullable): no process of this node */
DvmdLocalProc *dvmd_agent_find_proc (DvmdAgent *self, const char *nspace, guint32 rank);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"
#include "dvmd-local.h"

G_BEGIN_DECLS

/*
 * An agent without a node: the real small tables of an agent over processes that only luck moves. What it says to the
 * controller waits in its queue, in order, until somebody delivers it; so does what is said to it.
 */

typedef enum
{
  /* to the agent */
  SIM_STAGE,
  SIM_LAUNCH,
  SIM_KILL,
  SIM_STOP,
  /* to the controller */
  SIM_REPORT,
  SIM_STAGED,
  SIM_LAUNCHED,
  SIM_STATE,
  SIM_ABORT,
  SIM_JOB_GONE,
  SIM_GONE,
} SimKind;

typedef struct
{
  guint32 rank;
  int pid; /* 0: it could not be started */
} SimStart;

typedef struct
{
  SimKind kind;
  guint agent;
  DvmdJob *job; /* (nullable): a name for it, no more: the agent reads nothing of it */
  guint32 rank;
  guint state;
  int exit_code;
  int exit_signal;
  gboolean flag;  /* forced; failed */
  GArray *ranks;  /* (nullable): DvmdMapRank: the share of a launch */
  GArray *starts; /* (nullable): SimStart */
} SimMessage;

SimMessage *sim_message_new (SimKind kind, guint agent, DvmdJob *job);
void sim_message_free (SimMessage *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SimMessage, sim_message_free)

typedef struct
{
  guint rank;
  GRand *rand;    /* borrowed */
  gboolean alive; /* its processes are */
  gboolean lost;  /* the controller has been told that it is gone */
  gboolean stopping;
  gboolean gone; /* it has said so */
  DvmdEventQueue *queue;
  GHashTable *jobs; /* id -> SimJob */
  GQueue inbox;     /* SimMessage */
  GQueue outbox;    /* SimMessage */
} SimAgent;

SimAgent *sim_agent_new (guint rank, GRand *rand);
void sim_agent_free (SimAgent *self);
/* Dies: nothing of it is left, but some of what it has said is under way. */
void sim_agent_die (SimAgent *self);
/* One thing happens there, or nothing; ends: processes only end. */
void sim_agent_act (SimAgent *self, gboolean ends);
/* Nothing can happen there any more unless somebody says something to it. */
gboolean sim_agent_is_idle (SimAgent *self);
/* A process that was started has not exited. */
gboolean sim_agent_has_running (SimAgent *self);
/* (nullable): the agent's own table of that job */
DvmdLocalJob *sim_agent_find_job (SimAgent *self, guint id);

G_END_DECLS

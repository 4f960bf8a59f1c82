/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"

G_BEGIN_DECLS

/* Events in the life of a node's agent; dvmd_core_agent_step() has them handled at once. */
typedef enum
{
  DVMD_LIFE_LAUNCHED, /* it is to be started; carries the DvmNodeState that it is shown with, as “wired” does */
  DVMD_LIFE_REPORTED,
  DVMD_LIFE_WIRED,
  DVMD_LIFE_ORDERED,    /* it is to leave */
  DVMD_LIFE_ORDER_LOST, /* and has not been told; carries its stage */
  DVMD_LIFE_UNSTARTED,  /* nothing of it could be started; carries the DvmdCause, as the next two do */
  DVMD_LIFE_LOST,
  DVMD_LIFE_GONE,
  DVMD_LIFE_MISSED,   /* it has ended while the DVM starts; carries the DvmdAgentEnd, as the next one does */
  DVMD_LIFE_ENDED,    /* the same while the DVM ends */
  DVMD_LIFE_DEPARTED, /* it has left, as it was told to */
  DVMD_LIFE_KEPT,     /* the attempt to bring it back has failed, and its node stays */
  DVMD_LIFE_N_EVENTS
} DvmdLifeEvent;

typedef struct
{
  DvmdCore *core;
  DvmdNode *node;
  DvmdAgentStage was; /* before the event */
} DvmdAgent;

/* Of DvmdAgents, with DvmdAgentStages for states. */
extern const DvmdStateTable dvmd_agent_table;

G_END_DECLS

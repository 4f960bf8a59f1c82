/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "sim-world.h"

G_BEGIN_DECLS

/*
 * A schedule holds the actions on a DVM from its start to its end, each at its time or at the moment when something
 * else happens. A seed draws them without looking at what comes of them, and each has luck of its own: so actions that
 * make no difference to a failure can be left out, and the rest goes on as it did.
 */

typedef enum
{
  SIM_DO_GROW,
  SIM_DO_SHRINK,
  SIM_DO_RELEASE, /* by allocation id */
  SIM_DO_CANCEL,  /* a campaign */
  SIM_DO_SUBMIT,
  SIM_DO_END_JOB,
  SIM_DO_KILL,   /* an agent */
  SIM_DO_CUT,    /* a link */
  SIM_DO_STICK,  /* an agent: nothing ends there any more */
  SIM_DO_REPEAT, /* news of agents that are gone */
  SIM_DO_FATE,   /* of the next agents that are launched */
  SIM_DO_ALLOCATORS,
  SIM_DO_LOSE_ORDER, /* the next order cannot be sent */
  SIM_DO_DRAIN,      /* a node, or it is resumed */
  SIM_DO_TOOL_GONE,  /* a tool that owns some of the allocations */
  SIM_DO_SHUT_DOWN,
  SIM_DO_WAIT,
  SIM_N_DOS
} SimDo;

typedef struct
{
  SimDo what;
  SimStep step; /* at which moment; SIM_STEP_NONE: in its turn */
  guint a;
  guint b;
  guint c;
  guint luck;
  gint64 time; /* µs until the next one */
  gboolean left_out;
} SimAction;

typedef struct
{
  SimSetting setting;
  GArray *actions; /* SimAction */
} SimSchedule;

SimSchedule *sim_schedule_draw (guint seed);
void sim_schedule_free (SimSchedule *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SimSchedule, sim_schedule_free)

/* Runs the DVM from its start to its end, and checks all that must hold. */
void sim_schedule_run (SimSchedule *self, SimTally *tally);
/* Prints the actions that are not left out, one on a line. */
void sim_schedule_print (SimSchedule *self);

G_END_DECLS

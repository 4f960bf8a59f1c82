/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"
#include "sim-agent.h"

G_BEGIN_DECLS

#define MAX_NODES 7

/* A job as seen from outside of the core. */
typedef struct
{
  DvmdJob *job;
  guint64 may[2]; /* states that it may end in, by number; none: only NOTIFIED */
  gboolean must_fail;
  gboolean movable; /* to any node, when there is room, and it waits for that */
  guint n_ended;
  GHashTable *times; /* (nullable): rank -> how often it was started on another node, as the agents are told */
  GHashTable *bound; /* (nullable): ranks of the nodes on which it has cpus, as the controller is told */
} SimWatch;

/* The core, its agents, and what has happened to them. */
typedef struct
{
  guint seed;
  GRand *rand;
  DvmdClock *clock;
  DvmdEventQueue *queue;
  DvmdCore *core;
  gboolean allow_missing;
  GPtrArray *agents;             /* SimAgent by rank; NULL: none */
  gint64 lost_at[MAX_NODES + 1]; /* monotonic, µs */
  gboolean over[MAX_NODES + 1];  /* and ended by its launcher */
  GPtrArray *watches;            /* by id - 1 */
  gboolean wiring;               /* the agents are told of each other, or have been */
  gboolean stopping;             /* the agents have been told to end */
  gboolean shutdown;             /* was asked for */
  guint n_ended;                 /* times that the DVM ended */
  DvmJobState end_state;
} SimHistory;

#define check(world, condition)                                                                                        \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    if (!(condition))                                                                                                  \
      g_error ("DVM_SIM_SEED=%u: %s does not hold (%s:%d)", (world)->seed, #condition, __FILE__, __LINE__);            \
  }                                                                                                                    \
  G_STMT_END

#define check_job(world, job, condition)                                                                               \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    if (!(condition))                                                                                                  \
      g_error ("DVM_SIM_SEED=%u: %s, %s (%s): %s does not hold (%s:%d)", (world)->seed,                                \
               dvm_job_get_nspace ((job)->record), dvm_job_state_to_string (dvmd_job_get_state (job)),                 \
               dvm_job_get_reason ((job)->record), #condition, __FILE__, __LINE__);                                    \
  }                                                                                                                    \
  G_STMT_END

void sim_watch_free (gpointer data);
SimWatch *sim_watch_get (SimHistory *world, DvmdJob *job);
void sim_watch_may_end (SimHistory *world, DvmdJob *job, DvmJobState state);
gboolean sim_history_is_down (SimHistory *world, guint rank);
gboolean sim_watch_is_live (DvmdJob *job);
/* It fails when the job might have been started on another node. */
void sim_watch_check_no_room (SimHistory *world, DvmdJob *job);
/* The state of a job whose rank ends so. */
DvmJobState sim_watch_state_for (DvmProcState state);
/* The node is lost, and it may end the job. */
void sim_watch_expect_loss (SimHistory *world, DvmdJob *job, guint rank);
/* Each job that lives may end so. */
void sim_watch_expect_end (SimHistory *world, DvmJobState state);

G_END_DECLS

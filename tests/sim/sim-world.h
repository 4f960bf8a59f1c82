/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-sessions.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core-parts.h"
#include "dvmd-job-registry.h"
#include "dvmd-vm.h"
#include "dvmd-departures.h"
#include "dvmd-leaving.h"
#include "dvmd-tree.h"
#include "sim-agent.h"
#include "sim-net.h"
#include "sim-statements.h"

G_BEGIN_DECLS

/*
 * An elastic DVM in one process: the real core, the real tree, both halves of a departure, and around them links, a
 * launcher, allocators, processes and time that only luck moves. It carries out the effects of the core as the engine
 * does; what happens to it is a schedule (sim-schedule.h); what must hold is in sim-statements.h.
 */

#define SIM_N_HOSTS 14

/* Seconds. */
#define SIM_PARK_LIMIT        2
#define SIM_GROW_TIMEOUT      3
#define SIM_SHRINK_GRACE      1
#define SIM_ALLOCATOR_TIMEOUT 1
#define SIM_HEAL_PAUSE        2

/* Attempts in a row. */
#define SIM_HEAL_LIMIT 1

/* Moments at which something can be made to happen; all but the last three are of one agent. */
typedef enum
{
  SIM_STEP_NONE,
  SIM_STEP_LAUNCH,   /* the launcher is asked for it */
  SIM_STEP_START,    /* its program runs */
  SIM_STEP_JOIN,     /* it has a link to the controller */
  SIM_STEP_REPORT,   /* the core is told of it */
  SIM_STEP_WIRE,     /* it gets its place in the tree */
  SIM_STEP_WIRED,    /* everybody knows of that */
  SIM_STEP_ORDER,    /* it is ordered to leave */
  SIM_STEP_LEAVE,    /* and knows */
  SIM_STEP_IDLE,     /* nothing runs on it any more */
  SIM_STEP_LEFT,     /* it says LEFT */
  SIM_STEP_EXIT,     /* it is gone */
  SIM_STEP_DEPARTED, /* and the core knows */
  SIM_STEP_OFFER,    /* the allocators are asked */
  SIM_STEP_PARKED,   /* a job is held by a gate */
  SIM_STEP_GATE,     /* a job comes to the launch boundary */
  SIM_STEP_SEND,     /* a job is launched */
  SIM_N_STEPS
} SimStep;

const char *sim_step_to_string (SimStep step);

/* The fates of the next agents that are launched. */
typedef enum
{
  SIM_FATE_GOOD,
  SIM_FATE_NOT_STARTED,
  SIM_FATE_NO_CONNECTION,
  SIM_FATE_NOT_AUTHENTIC,
  SIM_FATE_SILENT, /* nothing of it ever comes */
  SIM_FATE_LATE,   /* it comes when nobody waits for it any more */
  SIM_N_FATES
} SimFate;

const char *sim_fate_to_string (SimFate fate);

typedef struct _SimWorld SimWorld;

/* An agent's program, one for each rank; that of rank 0 is the controller. */
typedef struct
{
  SimWorld *world;
  guint32 rank;
  char *host;
  SimFate fate;
  DvmdTree *tree;       /* (nullable): it never ran */
  SimAgent *agent;      /* likewise, and the controller */
  DvmdLeaving *leaving; /* likewise */
  gboolean launched;    /* the launcher was asked for it */
  gboolean alive;
  gboolean poked;      /* something will happen on it */
  gboolean stuck;      /* nothing happens there, but its links live */
  gboolean stopped;    /* by the end of the DVM */
  gboolean joined;     /* has had a link to the controller */
  gboolean reported;   /* the core knows */
  gboolean wired;      /* everybody in the table has known it */
  gboolean ordered;    /* to leave */
  gboolean was_cut;    /* one of its links has broken */
  gboolean said_left;  /* nothing runs there, and it is about to go */
  gboolean departed;   /* the core was told */
  gboolean declared;   /* the core was told that it is lost */
  gboolean terminated; /* the launcher was asked to end it */
  gboolean lost_untold;
  gboolean offered; /* to the allocators */
  gboolean restart; /* it brings back a node that was lost */
} SimDaemon;

/* A campaign as seen from outside. */
typedef struct
{
  DvmdCampaign *campaign;
  guint id;
  guint64 began;      /* when it took its ticket; 0: not yet */
  guint64 failed_seq; /* when it began to fail */
  gint64 began_at;    /* µs */
  gint64 accepted_at; /* µs */
  gboolean accepted;  /* phase one has been answered */
  gboolean scheduler;
  gboolean is_shared; /* its nodes are for everybody */
  gboolean has_requester;
  gboolean has_job;
  gboolean cancelled; /* somebody has asked for that */
  gboolean order_failed;
  char *req_id;
  guint64 causes;  /* by DvmdCause: what has happened to its targets */
  guint n_changes; /* of the tree, for those that leave */
  guint n_offers;
  gboolean offered; /* the answer is there */
  gboolean wired;
  guint n_ended;
  guint n_events;
} SimCampaign;

/* A job as seen from outside. */
typedef struct
{
  DvmdJob *job;
  guint64 may[2];         /* states that it may end in, by number; none: only NOTIFIED */
  gboolean doomed;        /* a grow that it waited for has failed */
  gboolean has_hosts;     /* it has asked for some */
  gboolean has_own;       /* a grow of its own */
  gboolean has_targets;   /* sessions that it has named */
  gboolean session_ended; /* one of them */
  gboolean may_be_killed; /* by somebody, or by its time limit */
  guint n_ended;
  guint n_mapped;
  guint n_sent;           /* launch messages, to all of its agents */
  guint64 ready;          /* when it came to the map gate last */
  guint64 asked;          /* when it came to the state that it was parked from */
  gint64 asked_at;        /* µs */
  guint64 parked;         /* when it was parked last; 0: it is not */
  gint64 parked_at;       /* µs */
  gboolean parked_at_map; /* else at the launch gate */
  gboolean was_parked;    /* since it was mapped */
  gboolean parks;         /* parked, or let go and not through yet */
  GArray *waits;          /* guint: the campaigns that were in progress when it was parked */
  GArray *nodes;          /* (nullable) (element-type guint): of its map */
  GArray *staging;        /* (nullable) (element-type guint): ranks of agents that were sent its files */
  GHashTable *staged;     /* ranks of agents that have its files */
} SimWatch;

typedef struct
{
  guint seed;
  guint n_nodes;
  guint radix;
  gboolean elastic;
  gboolean heal;
  gint64 max_delay;             /* µs, of a packet */
  gint64 pace;                  /* µs, of what happens on an agent */
  gboolean unchecked;           /* for its cost alone: nothing that has to hold is looked at */
  guint64 (*read_meter) (void); /* (nullable): of the controller's work */
} SimSetting;

/* The cost of the controller. */
typedef struct
{
  guint64 n_sent; /* packets */
  guint64 work;   /* as the meter has it */
} SimCost;

typedef struct
{
  guint what;
  guint a;
  guint b;
} SimPost;

typedef struct
{
  SimStep step;
  guint action;
} SimTrap;

struct _SimWorld
{
  SimSetting setting;
  GRand *rand;
  DvmdClock *clock;
  DvmdEventQueue *queue;
  SimNet *net;
  DvmdCore *core;
  DvmdDepartures *departures;
  SimTally *tally; /* borrowed */
  SimCost cost;

  GPtrArray *daemons;                          /* SimDaemon by rank */
  GPtrArray *messages;                         /* SimMessage by number; NULL: heard */
  GArray *posts;                               /* SimPost */
  GPtrArray *watches;                          /* SimWatch by id of the job - 1 */
  GPtrArray *campaigns;                        /* SimCampaign by id - 1 */
  GArray *wirings;                             /* (campaign, number) */
  GArray *forgotten;                           /* guint32: ranks that have departed, and the tree has not forgotten */
  GArray *traps;                               /* SimTrap */
  GArray *fates;                               /* SimFate: of the next ones */
  void (*act) (SimWorld *world, guint action); /* of a trap */
  gpointer schedule;

  guint64 seq;        /* of what can be seen */
  guint64 membership; /* number of the broadcast, 0: none under way */
  guint64 completed;
  guint n_orders_lost;
  gboolean draining; /* the queue is going to be looked at */
  gboolean losing;   /* losses are collected */
  gboolean in_phase_one;
  gboolean by_scheduler; /* the request of now is a scheduler's */
  gboolean order_fails;
  gboolean dirty; /* something can have changed */
  gboolean stopping;
  gboolean shutdown;
  gboolean ending; /* processes only end */
  guint allocator; /* 0: answers at once, 1: slow, 2: never */
  guint n_ended;
  DvmJobState end_state;
  GArray *released; /* guint: jobs that the map gate has let go in this turn */
};

SimWorld *sim_world_new (const SimSetting *setting, SimTally *tally);
void sim_world_free (SimWorld *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SimWorld, sim_world_free)

/* Lets pass up to time µs; FALSE: nothing happened. */
gboolean sim_world_run (SimWorld *self, gint64 time);
/* The time between these two calls counts as work of the controller. */
void sim_world_begin_work (SimWorld *self);
void sim_world_end_work (SimWorld *self);
/* Nothing can happen any more unless an action begins it. */
gboolean sim_world_is_quiet (SimWorld *self);
void sim_world_explain (SimWorld *self);

guint sim_world_chance (SimWorld *self, guint n);
SimDaemon *sim_world_get (SimWorld *self, guint rank);
/* (nullable): the campaign of that id */
SimCampaign *sim_world_get_campaign (SimWorld *self, guint id);
SimWatch *sim_world_get_watch (SimWorld *self, DvmdJob *job);
DvmdRoutes *sim_world_get_routes (SimWorld *self);
gboolean sim_world_is_member (SimWorld *self, guint rank); /* has a place in the tree */
void sim_world_trace (SimWorld *self, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* ---- what a schedule does ---- */
void sim_world_kill (SimWorld *self, guint rank);
void sim_world_stick (SimWorld *self, guint rank);
void sim_world_cut (SimWorld *self, guint rank);
/* The core is told once more of an agent's end that it knows. */
void sim_world_repeat (SimWorld *self, guint rank, guint which);
void sim_world_arm (SimWorld *self, SimStep step, guint action);
void sim_world_poke_all (SimWorld *self);

/* sim-effects.c */
extern const DvmdEffects sim_effects;
/* The controller takes the message of an agent. */
void sim_take (SimWorld *self, const SimMessage *message);
void sim_may_end (SimWorld *self, DvmdJob *job, DvmJobState state);
void sim_all_may_end (SimWorld *self, DvmJobState state);
/* The end of that agent may end jobs in these ways. */
void sim_expect_loss (SimWorld *self, guint rank, gboolean ordered);

/* sim-world.c and sim-daemon.c, for sim-effects.c */
typedef enum
{
  SIM_POST_DRAIN,
  SIM_POST_ACT,      /* a: rank */
  SIM_POST_START,    /* a: rank */
  SIM_POST_FAIL,     /* a: rank, b: cause */
  SIM_POST_REPORT,   /* a: rank */
  SIM_POST_WIRED,    /* a: campaign; 0: the start */
  SIM_POST_ENDED,    /* a: rank: the launcher's answer */
  SIM_POST_LOST,     /* the losses that are collected */
  SIM_POST_OFFERED,  /* a: campaign */
  SIM_POST_NOT_SENT, /* a: campaign: its order */
  SIM_POST_CLEAN,    /* the remains of agents that have departed */
  SIM_POST_DO,       /* a: action */
} SimPostKind;

/* Agents whose loss the core was not told yet are told in a moment, together. */
void sim_world_lose_later (SimWorld *self);
void sim_world_post (SimWorld *self, gint64 delay, SimPostKind what, guint a, guint b);
gint64 sim_world_soon (SimWorld *self);
/* A number that is not a campaign's, but the rank by which a node is brought back. */
#define SIM_RESTART(rank)      (0x80000000u | (rank))
#define SIM_IS_RESTART(number) (((number)&0x80000000u) != 0)
#define SIM_RESTARTED(number)  ((number)&0x7fffffffu)
/* The campaign (0: the start of the DVM) goes on when that broadcast is complete. */
void sim_world_await (SimWorld *self, guint campaign, guint64 number);
void sim_world_say (SimWorld *self, guint rank, SimMessage *message);
void sim_world_reach (SimWorld *self, SimStep step, guint rank);
/* The launcher is to end the agent. */
void sim_world_terminate (SimDaemon *self);
SimDaemon *sim_world_add_daemon (SimWorld *self, guint rank, const char *host);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-campaign.h"
#include "dvmd-job.h"
#include "dvmd-node-pool.h"
#include "dvmd-session.h"

G_BEGIN_DECLS

/* Nodes that a job may use, and how much of each. */
typedef struct
{
  DvmdNode **nodes;
  guint32 *limits;     /* processes that nodes[i] takes */
  guint32 *most;       /* that it takes at most if oversubscribe */
  guint32 *app_limits; /* (nullable): a row over the nodes for each application; 0: that one is not for it */
  guint n_nodes;
  gboolean oversubscribe; /* the limits may be passed */
  gboolean alone;         /* as if no other job was there */
  GArray *beside;         /* (nullable) (element-type DvmdMapShare): see DvmdCandidates */
} DvmdPlaces;

/* The core knows no numbers of signals. */
#define DVMD_SIGNAL_STOP     (-1)
#define DVMD_SIGNAL_CONTINUE (-2)
/* A node that nobody here needs any more. */
typedef struct
{
  const char *name;
  const char *allocator; /* (nullable): that brought it */
} DvmdOffer;

/* Agents that are to go. */
typedef struct
{
  DvmdNode *const *nodes; /* (nullable): NULL: the DVM ends, and all go */
  guint n_nodes;
  DvmdCampaign *campaign; /* (nullable): a shrink, or a grow that is rolled back; NULL: all go, or one came too late */
  gboolean force;         /* all go, without grace */
  guint repairs;          /* (out): of the tree, which changes once for all of nodes that have a place in it: 0 or 1 */
  guint links_changed;    /* (out): by that */
} DvmdSendOff;

/* A rank that is started again on another node. */
typedef struct
{
  guint32 rank;
  guint32 old_node;
  guint32 node;
  guint32 n_restarts; /* with this one */
} DvmdMove;

/* Effects that are about the places of a job's processes. */
typedef struct
{
  /*
   * (nullable): Whether what the spec says of placement makes sense: error says why not. counts: all applications
   * without a number but one get theirs from count().
   */
  gboolean (*check) (gpointer user_data, DvmJobSpec *spec, gboolean *counts, GError **error);
  /* (nullable): Give numbers to the applications of which np is 0. FALSE: the usual ones. */
  gboolean (*count) (gpointer user_data, DvmdJob *job, const DvmdPlaces *places, guint32 *np);
  /* Place the job there. Called when the job is let through to MAP, or to see whether it could be. */
  DvmdMap *(*map) (gpointer user_data, DvmdJob *job, const DvmdPlaces *places, GError **error);
  /* (nullable): The job has slots where the map places it, and will be placed so. */
  void (*claimed) (gpointer user_data, DvmdJob *job, DvmdMap *map);
  /* (nullable): It has not any more, on that node, or (NULL) on all of them. */
  void (*given_back) (gpointer user_data, DvmdJob *job, DvmdNode *node);
} DvmdPlacementEffects;

/*
 * Effects are what the core asks for. The controller implements them, and so does the simulation. No function may block
 * or call back into the core before it has returned; answers come later as calls of dvmd-core.h.
 */
typedef struct
{
  /*
   * (nullable): Find the nodes of the DVM: dvmd_core_add_node() for each, then dvmd_core_allocated(), or
   * dvmd_core_allocation_failed(). NULL: they were added before the start.
   */
  void (*allocate) (gpointer user_data);
  /* Start the agents of these nodes; each answers by dvmd_core_agent_reported() or dvmd_core_agent_ended(). */
  void (*launch_agents) (gpointer user_data, DvmdNode *const *nodes, guint n_nodes);
  /*
   * All these agents have reported: give them places in the tree, and tell the new membership to everybody; answered by
   * dvmd_core_agents_wired(). campaign: that brings them; NULL: the DVM starts with them
   */
  void (*wire_agents) (gpointer user_data, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes);
  /* The DVM takes work. */
  void (*dvm_ready) (gpointer user_data);
  DvmdPlacementEffects placement;
  /*
   * Bring the files of the job to the agents of its map; each is answered for by dvmd_core_files_staged(). Again after
   * another map: what was under way for the one before is over, and agents that are not in this one answer by
   * dvmd_core_job_gone() when they have removed what they had got. Called for jobs with such files only.
   */
  void (*stage_files) (gpointer user_data, DvmdJob *job);
  /*
   * (nullable): Show the map of the job to those who read its output, as its specification says; answered by
   * dvmd_core_job_shown(). Again after another map: the one before is shown no more. Called for such jobs only.
   */
  void (*show_job) (gpointer user_data, DvmdJob *job);
  /* The launch message; the agents answer by dvmd_core_local_launch_complete(). */
  void (*send_launch) (gpointer user_data, DvmdJob *job);
  /*
   * (nullable): These ranks (element-type DvmdMove), which were on a node that was lost, are started by their new
   * agents, which had nothing of the job; answered as send_launch is. NULL: no rank goes to another node.
   */
  void (*move_ranks) (gpointer user_data, DvmdJob *job, GArray *moves);
  /* End the job's processes (SIGTERM, grace, SIGKILL) and its staging; each agent of the map answers by
   * dvmd_core_job_gone(). */
  void (*kill) (gpointer user_data, DvmdJob *job);
  /*
   * (nullable): Send a signal to all of the job's processes: a number, or one of DVMD_SIGNAL_STOP and so on. Nobody
   * answers.
   */
  void (*signal_job) (gpointer user_data, DvmdJob *job, int signal);
  /*
   * (nullable): The job goes on without the processes that it had on that node, which is DOWN: those that ended with it
   * are COMM_FAILED, or RESTART if they may come to another one. Tell the others.
   */
  void (*node_lost) (gpointer user_data, DvmdJob *job, DvmdNode *node);
  /*
   * (nullable): The job's time is over, and it wants its stacks collected or its state told before it is ended;
   * answered by dvmd_core_end_late_job().
   */
  void (*time_over) (gpointer user_data, DvmdJob *job);
  /* Tell the originating tool of the start and of the end (L10). */
  void (*tell_started) (gpointer user_data, DvmdJob *job);
  void (*tell_ended) (gpointer user_data, DvmdJob *job);
  /* See these agents off, of which some may not even have been started; each answers by dvmd_core_agent_ended(). */
  void (*see_off) (gpointer user_data, DvmdSendOff *order);
  /* ---- an elastic DVM alone; all of them (nullable) where that is off ---- */
  /* The ranks that the job has on that node are killed at that time (µs, monotonic), if they run then: tell them. */
  void (*warn_job) (gpointer user_data, DvmdJob *job, DvmdNode *node, gint64 when);
  /*
   * Offer the nodes that have left to the active allocators, to each its own; answered by dvmd_core_offered(). Nobody
   * waits for that answer after a roll-back, and with campaign NULL (a node that was down was released).
   */
  void (*offer_nodes) (gpointer user_data, DvmdCampaign *campaign, const DvmdOffer *nodes, guint n_nodes);
  /* The campaign has its final state: tell its requester, if it is a process or a tool. */
  void (*campaign_ended) (gpointer user_data, DvmdCampaign *campaign);
  /* (nullable): The session's time is over soon: tell its requester, if it is a process or a tool. */
  void (*warn_session) (gpointer user_data, DvmdSession *session, guint seconds_left);
  /*
   * (nullable): A session has ended, after its jobs: a(uiis), number, state, exit code and reason of each that is still
   * known (floating).
   */
  void (*session_ended) (gpointer user_data, DvmdSession *session, GVariant *jobs);
  /* (nullable): A job, one of its processes or the DVM's own job has a new state; for the trace, act on nothing. */
  void (*traced) (gpointer user_data, DvmdJob *job, const DvmdTraceEntry *entry);
  /* The DVM has ended, in this state (ALL_JOBS_COMPLETE, DAEMONS_TERMINATED, FORCED_EXIT or an error). */
  void (*dvm_ended) (gpointer user_data, DvmJobState state, const char *reason);
} DvmdEffects;

G_END_DECLS

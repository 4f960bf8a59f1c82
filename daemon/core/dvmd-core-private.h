/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of the core, for its own files.
 */

#pragma once

#include "dvmd-admission.h"
#include "dvmd-core.h"
#include "dvmd-id-set.h"
#include "dvmd-launch-fence.h"
#include "dvmd-membership.h"
#include "dvmd-rights.h"
#include "dvmd-vm-machine.h"

G_BEGIN_DECLS

struct _DvmdCore
{
  GObject parent_instance;

  DvmdCoreSettings settings; /* host: NULL */
  DvmdStrangerLog strangers;
  guint history_limit;
  guint64 history_bytes; /* 0: without this limit */
  DvmdClock *clock;
  DvmdEventQueue *queue;
  const DvmdEffects *effects;
  gpointer user_data;

  DvmdNodePool *nodes;
  DvmdAdmission *admission;
  DvmdLaunchFence *fence;
  guint last_campaign_id;
  GHashTable *campaigns;     /* id -> DvmdCampaign, not ended or in the history */
  GQueue campaigns_live;     /* DvmdCampaign that have not ended, ascending by id */
  GQueue campaigns_known;    /* likewise, with those of the history */
  GQueue campaign_history;   /* ids, in the order of their ends */
  GQueue held_back;          /* DvmdCampaign that begin when no job has been parked for too long, in their order */
  GHashTable *coming;        /* name -> DvmdCampaign that brings the node, or would */
  guint n_fenced;            /* targets of campaigns with a ticket that have not come or gone */
  gboolean fence_changed;    /* the jobs that are parked will be told of it */
  guint n_draining;          /* shrinks that wait for running jobs */
  GPtrArray *to_offer;       /* (element-type DvmdTarget) (nullable): nodes that were down and have been released */
  DvmdCampaign *last_opened; /* (nullable): the last one that opened the map gate */
  guint64 opening;           /* and the number of that, among parkings and tickets */
  guint n_held;              /* jobs that wait because they, or their session, are paused */
  guint n_own_waiting;       /* jobs that wait for their own nodes */
  guint last_session_id;
  DvmdIdSet *chosen_ids; /* numbers of sessions that were chosen by those who asked */
  guint last_alloc;
  GHashTable *sessions;      /* id -> DvmdSession */
  GQueue session_list;       /* DvmdSession, ascending by id */
  GHashTable *owned;         /* namespace -> number of sessions that it owns for life */
  guint n_owner_ended;       /* sessions whose owners have ended, and that may yet have to do with that */
  GPtrArray *ended_sessions; /* (element-type DvmdSession) (nullable): nobody has been told yet */
  guint last_job_id;
  GHashTable *jobs;      /* id -> DvmdJob, live and in the history */
  GHashTable *by_nspace; /* namespace -> DvmdJob, likewise */
  GQueue history;        /* ids, oldest first */
  guint64 n_history_bytes;
  GQueue kept;  /* DvmdJob that came before the DVM was ready */
  GQueue live;  /* DvmdJob, ascending by id */
  GQueue known; /* likewise, with those of the history */
  DvmdVm vm;
  DvmdMembership membership;
  guint n_running;
  DvmdCoreStatistics statistics;
};

/* For the tables of a job and of the DVM's own. */
guint dvmd_core_read_job_state (gpointer job);
const char *dvmd_core_describe_job (gpointer job);
/* The one writer of a job's state, also of the DVM's own. */
void dvmd_core_write_job_state (DvmdJob *job, guint old_state, guint new_state, const DvmdEvent *event,
                                const char *event_name);
void dvmd_core_post (DvmdJob *job, guint event);
void dvmd_core_post_failure (DvmdJob *job, DvmJobState state, const char *reason);
void dvmd_core_post_reason (DvmdJob *job, DvmJobState state, const DvmReason *reason);
/* (nullable): an agent that has not gone yet; what: it does, for the log */
DvmdNode *dvmd_core_find_agent (DvmdCore *self, guint rank, const char *what);
/* Launchers put the name of the node before what happened: without it. */
const char *dvmd_core_strip_name (DvmdNode *node, const char *reason);
/* Its node is down, and nobody waits for it. reason: of the node; for its jobs, the node is named before it. */
void dvmd_core_drop_agent (DvmdCore *self, DvmdNode *node, const char *reason);
/* Its processes are over, nobody waits for its answers, and it counts as an agent no more. */
void dvmd_core_lose_node (DvmdCore *self, DvmdNode *node, const DvmReason *reason);
void dvmd_core_check_all_gone (DvmdCore *self);
/* The job is over: out of the live ones, into the history. */
void dvmd_core_end_job (DvmdJob *job);
/*
 * A launched job has lost this node: its processes there are over, and the job fails, unless it is one that may lose
 * ranks and has some elsewhere.
 */
void dvmd_core_lose_procs (DvmdJob *job, DvmdNode *node, const DvmReason *reason);
/* A launched job is about to lose the nodes that leave to a campaign: it ends, unless it is one that may lose ranks. */
void dvmd_core_take_away (DvmdJob *job);
void dvmd_core_changed (DvmdCore *self);
void dvmd_core_node_changed (DvmdCore *self, guint rank);
/* ---- size ---- */
/* A job has been parked for too long: campaigns that come now begin later. */
gboolean dvmd_core_holds_back (DvmdCore *self);
typedef enum
{
  DVMD_SESSION_ADDED,
  DVMD_SESSION_CHANGED,
  DVMD_SESSION_REMOVED,
} DvmdSessionNews;
void dvmd_core_tell_session (DvmdSession *session, DvmdSessionNews news);
void dvmd_core_tell_session_state (DvmdSession *session, DvmSessionState old_state, DvmSessionState new_state,
                                   const char *reason);
void dvmd_core_tell_session_warned (DvmdSession *session, guint seconds_left);
/* NSPACE@N. id (out) (optional) */
gboolean dvmd_core_has_job_form (DvmdCore *self, const char *nspace, guint64 *id);
/* There is, or was, such a job; it may have been forgotten. */
gboolean dvmd_core_is_job_nspace (DvmdCore *self, const char *nspace);
void dvmd_core_tell_node (DvmdCore *self, guint rank, gboolean added);
void dvmd_core_campaign_added (DvmdCampaign *campaign);
void dvmd_core_campaign_changed (DvmdCampaign *campaign);
void dvmd_core_campaign_state_changed (DvmdCampaign *campaign, guint old_state, guint new_state);
/* It has its final state: out of those that run, into the history. */
void dvmd_core_end_campaign (DvmdCampaign *campaign);
/* The DVM ends. */
void dvmd_core_give_up_campaigns (DvmdCore *self, const char *reason);
/* A node as the campaigns that it is in leave it. */
void dvmd_core_refresh_node (DvmdCore *self, DvmdNode *node);
/* Nodes of the DVM have begun to leave: what a job brings along is not waited for there. */
void dvmd_core_files_leaving (DvmdCore *self, DvmdJob *job);
/* It is not a node of the DVM any more. Those who waited for that go on. */
void dvmd_core_depart (DvmdCore *self, DvmdNode *node);
/* A node that a grow brings; its agent has yet to be started. */
DvmdNode *dvmd_core_bring_node (DvmdCore *self, const char *name, guint slots, guint slots_max);
/* Jobs that were let through and not placed yet look for other nodes. */
void dvmd_core_unplan_node (DvmdCore *self, DvmdNode *node);
/* (nullable, transfer full): what takes the node away, for the jobs that it takes with it */
DvmReason *dvmd_core_describe_departure (DvmdNode *node);
/* id 0: the next one. Nobody is told before it is complete: dvmd_core_tell_session(). */
DvmdSession *dvmd_core_add_session (DvmdCore *self, guint id, const char *alloc_id, const char *req_id,
                                    gboolean shared);
/* After the answer to whoever did it: those whose owners have ended and have another inheritance now go, and who wants
 * to hear of those that have ended does. */
void dvmd_core_dispose_sessions (DvmdCore *self);
void dvmd_core_tell_ended_sessions (DvmdCore *self);
char *dvmd_core_mint_alloc_id (DvmdCore *self);

/* Jobs that were kept until the DVM was ready go on. */
void dvmd_core_dispatch_kept (DvmdCore *self);

G_END_DECLS

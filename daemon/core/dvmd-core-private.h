/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of the core, for its own files.
 */

#pragma once

#include "dvmd-admission.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core.h"
#include "dvmd-gates.h"
#include "dvmd-job-registry.h"
#include "dvmd-launch-fence.h"
#include "dvmd-membership.h"
#include "dvmd-rights.h"
#include "dvmd-session-registry.h"
#include "dvmd-vm-machine.h"

G_BEGIN_DECLS

struct _DvmdCore
{
  GObject parent_instance;

  void (*take_apart) (DvmdCore *self); /* its parts, when it goes */
  DvmdCoreSettings settings;           /* host: NULL */
  DvmdStrangerLog strangers;
  DvmdClock *clock;
  DvmdEventQueue *queue;
  const DvmdEffects *effects;
  gpointer user_data;

  DvmdNodePool *nodes;
  DvmdAdmission *admission;
  DvmdLaunchFence *fence;
  DvmdGates gates;
  DvmdJobRegistry jobs;
  DvmdCampaignRegistry campaigns;
  DvmdSessionRegistry sessions;
  DvmdSessionOwners owners;
  DvmdVm vm;
  DvmdMembership membership;
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
/* Launchers put the name of the node before what happened: without it. */
const char *dvmd_core_strip_name (DvmdNode *node, const char *reason);
/* An agent of the start will not report: its node is DOWN. */
void dvmd_core_miss_agent (DvmdCore *self, DvmdNode *node, const char *reason);
/* Its node is down, and nobody waits for it. reason: of the node; for its jobs, the node is named before it. */
void dvmd_core_drop_agent (DvmdCore *self, DvmdNode *node, const char *reason);
/* Its processes are over, nobody waits for its answers, and it counts as an agent no more. */
void dvmd_core_lose_node (DvmdCore *self, DvmdNode *node, const DvmReason *reason);
/* The agents have been told to end, and this may have been the last one. */
void dvmd_core_check_all_gone (DvmdCore *self);
/*
 * A launched job has lost this node: its processes there are over, and the job fails, unless it is one that may lose
 * ranks and has some elsewhere.
 */
void dvmd_core_lose_procs (DvmdJob *job, DvmdNode *node, const DvmReason *reason);
/* A launched job is about to lose the nodes that leave to a campaign: it ends, unless it is one that may lose ranks. */
void dvmd_core_take_away (DvmdJob *job);
void dvmd_core_changed (DvmdCore *self);
void dvmd_core_node_changed (DvmdCore *self, guint rank);
/* News of jobs, campaigns and sessions: each is a signal of the core. */
typedef enum
{
  DVMD_NEWS_ADDED,
  DVMD_NEWS_CHANGED,
  DVMD_NEWS_ENDED,     /* it has its final state */
  DVMD_NEWS_FORGOTTEN, /* nobody can ask about it any more */
} DvmdNews;
/* Jobs that are forgotten in one go, when the limit has become much lower; campaigns likewise */
#define DVMD_TRIM_AT_ONCE 64
void dvmd_core_tell_job (DvmdJob *job, DvmdNews news);
void dvmd_core_tell_campaign (DvmdCampaign *campaign, DvmdNews news);
void dvmd_core_tell_session (DvmdSession *session, DvmdNews news);
void dvmd_core_tell_session_state (DvmdSession *session, DvmSessionState old_state, DvmSessionState new_state,
                                   const char *reason);
void dvmd_core_tell_session_warned (DvmdSession *session, guint seconds_left);
/* NSPACE@N. id (out) (optional) */
gboolean dvmd_core_has_job_form (DvmdCore *self, const char *nspace, guint64 *id);
/* There is, or was, such a job; it may have been forgotten. */
gboolean dvmd_core_is_job_nspace (DvmdCore *self, const char *nspace);
void dvmd_core_tell_node (DvmdCore *self, guint rank, gboolean added);
void dvmd_core_tell_node_state (DvmdCore *self, DvmdNode *node);
void dvmd_core_campaign_state_changed (DvmdCampaign *campaign, guint old_state, guint new_state);
/* A node as the campaigns that it is in leave it. */
void dvmd_core_refresh_node (DvmdCore *self, DvmdNode *node);
/* (nullable): the campaign that takes it away, or brings it */
DvmdCampaign *dvmd_core_find_taker (DvmdNode *node);
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

G_END_DECLS

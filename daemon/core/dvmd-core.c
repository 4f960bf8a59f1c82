/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The core as its files share it: signals, and events that are posted to jobs.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-core-private.h"

#include "dvmd-core-news.h"
#include "dvmd-core-parts.h"
#include "dvmd-job-machine.h"
#include "dvmd-job-reason.h"
#include "dvmd-trace.h"

enum
{
  JOB_ADDED,
  JOB_ENDED,
  JOB_FORGOTTEN,
  JOB_STATE_CHANGED,
  NODE_STATE_CHANGED,
  NODE_CHANGED,
  NODE_ADDED,
  NODE_REMOVED,
  CAMPAIGN_ADDED,
  CAMPAIGN_STATE_CHANGED,
  CAMPAIGN_CHANGED,
  CAMPAIGN_ENDED,
  CAMPAIGN_FORGOTTEN,
  SESSION_ADDED,
  SESSION_CHANGED,
  SESSION_REMOVED,
  SESSION_STATE_CHANGED,
  SESSION_WARNED,
  CHANGED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (DvmdCore, dvmd_core, G_TYPE_OBJECT)

static void
dvmd_core_dispose (GObject *object)
{
  DvmdCore *self = DVMD_CORE (object);

  if (self->take_apart != NULL)
    self->take_apart (self);
  self->take_apart = NULL;
  G_OBJECT_CLASS (dvmd_core_parent_class)->dispose (object);
}

static guint
add_signal (const char *name, guint n_params, ...)
{
  GType types[4];
  va_list args;

  va_start (args, n_params);
  for (guint i = 0; i < n_params; i++)
    types[i] = va_arg (args, GType);
  va_end (args);
  return g_signal_newv (name, DVMD_TYPE_CORE, G_SIGNAL_RUN_LAST, NULL, NULL, NULL, NULL, G_TYPE_NONE, n_params, types);
}

static void
dvmd_core_class_init (DvmdCoreClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = dvmd_core_dispose;

  signals[JOB_ADDED] = add_signal ("job-added", 1, DVMD_TYPE_JOB);
  signals[JOB_ENDED] = add_signal ("job-ended", 1, DVMD_TYPE_JOB);
  signals[JOB_FORGOTTEN] = add_signal ("job-forgotten", 1, DVMD_TYPE_JOB);
  signals[JOB_STATE_CHANGED] = add_signal ("job-state-changed", 3, DVMD_TYPE_JOB, G_TYPE_UINT, G_TYPE_UINT);
  signals[NODE_STATE_CHANGED] = add_signal ("node-state-changed", 2, G_TYPE_UINT, G_TYPE_UINT);
  signals[NODE_CHANGED] = add_signal ("node-changed", 1, G_TYPE_UINT);
  signals[NODE_ADDED] = add_signal ("node-added", 1, G_TYPE_UINT);
  signals[NODE_REMOVED] = add_signal ("node-removed", 1, G_TYPE_UINT);
  signals[CAMPAIGN_ADDED] = add_signal ("campaign-added", 1, DVMD_TYPE_CAMPAIGN);
  signals[CAMPAIGN_STATE_CHANGED] = add_signal ("campaign-state-changed", 3, DVMD_TYPE_CAMPAIGN, G_TYPE_UINT,
                                                G_TYPE_UINT);
  signals[CAMPAIGN_CHANGED] = add_signal ("campaign-changed", 1, DVMD_TYPE_CAMPAIGN);
  signals[CAMPAIGN_ENDED] = add_signal ("campaign-ended", 1, DVMD_TYPE_CAMPAIGN);
  signals[CAMPAIGN_FORGOTTEN] = add_signal ("campaign-forgotten", 1, DVMD_TYPE_CAMPAIGN);
  signals[SESSION_ADDED] = add_signal ("session-added", 1, DVMD_TYPE_SESSION);
  signals[SESSION_CHANGED] = add_signal ("session-changed", 1, DVMD_TYPE_SESSION);
  signals[SESSION_REMOVED] = add_signal ("session-removed", 1, DVMD_TYPE_SESSION);
  signals[SESSION_STATE_CHANGED] = add_signal ("session-state-changed", 4, DVMD_TYPE_SESSION, G_TYPE_STRING,
                                               G_TYPE_STRING, G_TYPE_STRING);
  signals[SESSION_WARNED] = add_signal ("session-warned", 2, DVMD_TYPE_SESSION, G_TYPE_UINT);
  signals[CHANGED] = add_signal ("changed", 0);
}

static void
dvmd_core_init (DvmdCore *self)
{
}

void
dvmd_core_changed (DvmdCore *self)
{
  g_signal_emit (self, signals[CHANGED], 0);
}

void
dvmd_core_node_changed (DvmdCore *self, guint rank)
{
  g_signal_emit (self, signals[NODE_CHANGED], 0, rank);
}

guint
dvmd_core_read_job_state (gpointer job)
{
  return dvmd_job_get_state (job);
}

const char *
dvmd_core_describe_job (gpointer job)
{
  return dvm_job_get_nspace (dvmd_job_get_record (job));
}

void
dvmd_core_write_job_state (DvmdJob *job, guint old_state, guint new_state, const DvmdEvent *event,
                           const char *event_name)
{
  DvmdCore *self = dvmd_job_get_core (job);
  const char *note = event->reason != NULL ? event->reason : event_name;

  dvmd_job_trace (job, DVMD_TRACE_JOB, old_state, new_state, note);
  dvmd_job_write_state (job, new_state, event->reason);
  if (dvmd_job_get_spec (job) != NULL)
    g_signal_emit (self, signals[JOB_STATE_CHANGED], 0, job, old_state, new_state);
}

void
dvmd_core_post (DvmdJob *job, guint event)
{
  dvmd_state_machine_post (dvmd_job_get_core (job)->queue, &dvmd_job_table, job, event, 0, NULL);
}

void
dvmd_core_post_failure (DvmdJob *job, DvmJobState state, const char *reason)
{
  dvmd_state_machine_post (dvmd_job_get_core (job)->queue, &dvmd_job_table, job, DVMD_JOB_FAILED, state, reason);
}

void
dvmd_core_post_reason (DvmdJob *job, DvmJobState state, const DvmReason *reason)
{
  dvmd_job_add_reason (job, reason);
  dvmd_core_post_failure (job, state, reason->text);
}

/* ---- news ---- */

void
dvmd_core_tell_job (DvmdJob *job, DvmdNews news)
{
  static const guint ids[] = {
    [DVMD_NEWS_ADDED] = JOB_ADDED, [DVMD_NEWS_ENDED] = JOB_ENDED, [DVMD_NEWS_FORGOTTEN] = JOB_FORGOTTEN
  };

  g_signal_emit (dvmd_job_get_core (job), signals[ids[news]], 0, job);
}

void
dvmd_core_tell_campaign (DvmdCampaign *campaign, DvmdNews news)
{
  static const guint ids[] = { [DVMD_NEWS_ADDED] = CAMPAIGN_ADDED,
                               [DVMD_NEWS_CHANGED] = CAMPAIGN_CHANGED,
                               [DVMD_NEWS_ENDED] = CAMPAIGN_ENDED,
                               [DVMD_NEWS_FORGOTTEN] = CAMPAIGN_FORGOTTEN };

  if (!dvmd_campaign_is_restart (campaign))
    g_signal_emit (dvmd_campaign_get_core (campaign), signals[ids[news]], 0, campaign);
}

void
dvmd_core_campaign_state_changed (DvmdCampaign *campaign, guint old_state, guint new_state)
{
  if (!dvmd_campaign_is_restart (campaign))
    g_signal_emit (dvmd_campaign_get_core (campaign), signals[CAMPAIGN_STATE_CHANGED], 0, campaign, old_state,
                   new_state);
}

void
dvmd_core_tell_session (DvmdCore *self, DvmdSession *session, DvmdNews news)
{
  static const guint ids[] = {
    [DVMD_NEWS_ADDED] = SESSION_ADDED, [DVMD_NEWS_CHANGED] = SESSION_CHANGED, [DVMD_NEWS_FORGOTTEN] = SESSION_REMOVED
  };

  g_signal_emit (self, signals[ids[news]], 0, session);
}

void
dvmd_core_tell_session_state (DvmdCore *self, DvmdSession *session, DvmSessionState old_state,
                              DvmSessionState new_state, const char *reason)
{
  g_signal_emit (self, signals[SESSION_STATE_CHANGED], 0, session, dvm_session_state_to_string (old_state),
                 dvm_session_state_to_string (new_state), reason != NULL ? reason : "");
}

void
dvmd_core_tell_session_warned (DvmdCore *self, DvmdSession *session, guint seconds_left)
{
  g_signal_emit (self, signals[SESSION_WARNED], 0, session, seconds_left);
}

void
dvmd_core_tell_node_state (DvmdCore *self, DvmdNode *node)
{
  g_signal_emit (self, signals[NODE_STATE_CHANGED], 0, node->rank, (guint)dvm_node_get_state (node->record));
}

void
dvmd_core_tell_node (DvmdCore *self, guint rank, gboolean added)
{
  g_signal_emit (self, signals[added ? NODE_ADDED : NODE_REMOVED], 0, rank);
}

/* ---- jobs ---- */

gboolean
dvmd_core_fail_job (DvmdCore *self, DvmdJob *job, DvmJobState state, const char *reason)
{
  DvmJobState now = dvmd_job_get_state (job);

  if (dvm_job_state_is_error (now) || now >= DVM_JOB_STATE_UNTERMINATED)
    return FALSE;
  dvmd_core_post_failure (job, state, reason);
  return TRUE;
}

gboolean
dvmd_core_fail_job_for (DvmdCore *self, DvmdJob *job, DvmJobState state, const DvmReason *reason)
{
  dvmd_job_add_reason (job, reason);
  return dvmd_core_fail_job (self, job, state, reason->text);
}

/* ---- lookups ---- */

DvmdNodePool *
dvmd_core_get_nodes (DvmdCore *self)
{
  return self->nodes;
}

const DvmdCoreStatistics *
dvmd_core_get_statistics (DvmdCore *self)
{
  return &self->statistics;
}

const DvmdCoreSettings *
dvmd_core_get_settings (DvmdCore *self)
{
  return &self->settings;
}

DvmdClock *
dvmd_core_get_clock (DvmdCore *self)
{
  return self->clock;
}

DvmdEventQueue *
dvmd_core_get_queue (DvmdCore *self)
{
  return self->queue;
}

const DvmdEffects *
dvmd_core_get_effects (DvmdCore *self)
{
  return self->effects;
}

gpointer
dvmd_core_get_user_data (DvmdCore *self)
{
  return self->user_data;
}

DvmdCoreStatistics *
dvmd_core_get_counters (DvmdCore *self)
{
  return &self->statistics;
}

DvmdAdmission *
dvmd_core_get_admission (DvmdCore *self)
{
  return self->admission;
}

DvmdLaunchFence *
dvmd_core_get_fence (DvmdCore *self)
{
  return self->fence;
}

DvmdGates *
dvmd_core_get_gates (DvmdCore *self)
{
  return self->gates;
}

DvmdJobRegistry *
dvmd_core_get_job_registry (DvmdCore *self)
{
  return self->jobs;
}

DvmdCampaignRegistry *
dvmd_core_get_campaign_registry (DvmdCore *self)
{
  return self->campaigns;
}

DvmdSessionRegistry *
dvmd_core_get_session_registry (DvmdCore *self)
{
  return self->sessions;
}

DvmdSessionOwners *
dvmd_core_get_owners (DvmdCore *self)
{
  return self->owners;
}

DvmdVm *
dvmd_core_get_vm (DvmdCore *self)
{
  return self->vm;
}

DvmdMembership *
dvmd_core_get_membership (DvmdCore *self)
{
  return self->membership;
}

DvmdArrays *
dvmd_core_get_arrays (DvmdCore *self)
{
  return self->arrays;
}

DvmdDependencies *
dvmd_core_get_dependencies (DvmdCore *self)
{
  return self->dependencies;
}

DvmdStrangerLog *
dvmd_core_get_strangers (DvmdCore *self)
{
  return self->strangers;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The core is the model of the DVM: jobs, nodes, sessions, campaigns and history, without any I/O.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-core-private.h"

#include "dvm-hosts-private.h"
#include "dvm-job-spec-private.h"
#include "dvm-records-private.h"
#include "dvmd-candidates.h"
#include "dvmd-gates.h"
#include "dvmd-heal.h"
#include "dvmd-job-family.h"
#include "dvmd-job-machine.h"
#include "dvmd-job-private.h"
#include "dvmd-job-reason.h"
#include "dvmd-job-sessions.h"
#include "dvmd-session-private.h"
#include "dvmd-trace.h"
#include "dvmd-vm-machine.h"
#include "dvmd-log.h"

/* Jobs that are forgotten in one go, when the limit has become much lower. */
#define TRIM_AT_ONCE 64

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

/* The clock may go on without it. */
static void
stop_timers (DvmdCore *self)
{
  for (GList *l = self->live.head; l != NULL; l = l->next)
    {
      dvmd_clock_remove_timer (self->clock, ((DvmdJob *)l->data)->timer);
      dvmd_job_family_stop_timer (l->data);
    }
  for (GList *l = self->campaigns_live.head; l != NULL; l = l->next)
    dvmd_clock_remove_timer (self->clock, ((DvmdCampaign *)l->data)->timer);
  for (GList *l = self->session_list.head; l != NULL; l = l->next)
    dvmd_session_stop_timers (l->data);
  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (self->nodes, node)) != NULL;)
    dvmd_heal_forget (node);
}

static void
dvmd_core_dispose (GObject *object)
{
  DvmdCore *self = DVMD_CORE (object);

  stop_timers (self);
  g_clear_pointer (&self->admission, dvmd_admission_free);
  g_queue_clear_full (&self->kept, g_object_unref);
  /* The links are the jobs' own. */
  g_queue_init (&self->live);
  g_queue_init (&self->known);
  g_queue_clear (&self->history);
  g_queue_clear (&self->campaign_history);
  /* Jobs and campaigns name each other. */
  for (GList *l = self->campaigns_live.head; l != NULL; l = l->next)
    dvmd_campaign_forget_jobs (l->data);
  g_queue_init (&self->campaigns_live);
  g_queue_init (&self->campaigns_known);
  g_queue_clear (&self->held_back);
  g_clear_pointer (&self->to_offer, g_ptr_array_unref);
  g_clear_object (&self->last_opened);
  g_clear_pointer (&self->coming, g_hash_table_unref);
  g_clear_pointer (&self->by_nspace, g_hash_table_unref);
  g_clear_pointer (&self->jobs, g_hash_table_unref);
  dvmd_vm_clear (&self->vm);
  g_clear_pointer (&self->campaigns, g_hash_table_unref);
  g_queue_init (&self->session_list);
  g_clear_pointer (&self->ended_sessions, g_ptr_array_unref);
  g_clear_pointer (&self->owned, g_hash_table_unref);
  g_clear_pointer (&self->sessions, g_hash_table_unref);
  g_clear_pointer (&self->chosen_ids, dvmd_id_set_free);
  g_clear_pointer (&self->fence, dvmd_launch_fence_free);
  g_clear_pointer (&self->nodes, dvmd_node_pool_free);
  g_clear_pointer (&self->clock, dvmd_clock_unref);
  g_free ((char *)g_steal_pointer (&self->settings.nspace));
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
  self->jobs = g_hash_table_new_full (NULL, NULL, NULL, g_object_unref);
  self->by_nspace = g_hash_table_new (g_str_hash, g_str_equal);
  self->campaigns = g_hash_table_new_full (NULL, NULL, NULL, g_object_unref);
  self->sessions = g_hash_table_new_full (NULL, NULL, NULL, g_object_unref);
  self->chosen_ids = dvmd_id_set_new ();
  self->owned = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->coming = g_hash_table_new_full (_dvm_host_name_hash, _dvm_host_name_equal, g_free, NULL);
  self->fence = dvmd_launch_fence_new ();
}

static void
on_node_changed (DvmdNode *node, DvmNodeState old_state, gpointer user_data)
{
  DvmdCore *self = user_data;

  dvmd_log_about (G_LOG_DOMAIN, G_LOG_LEVEL_INFO, &(DvmdLogSubject){ .node = dvm_node_get_name (node->record) },
                  "%s, as rank %u", dvm_node_state_to_string (dvm_node_get_state (node->record)), node->rank);
  g_signal_emit (self, signals[NODE_STATE_CHANGED], 0, node->rank, (guint)dvm_node_get_state (node->record));
  if (node->rank > 0)
    dvmd_core_look_again (self);
}

static DvmdMap *
on_map_for (DvmdJob *job, const DvmdPlaces *places, gpointer user_data, GError **error)
{
  DvmdCore *self = user_data;

  return self->effects->map (self->user_data, job, places, error);
}

static gboolean
on_count_for (DvmdJob *job, const DvmdPlaces *places, guint32 *np, gpointer user_data)
{
  DvmdCore *self = user_data;

  return self->effects->count_procs != NULL && self->effects->count_procs (self->user_data, job, places, np);
}

static void
on_slots_for (DvmdJob *job, gpointer user_data)
{
  dvmd_core_post (job, DVMD_JOB_ALLOCATED);
}

DvmdCore *
dvmd_core_new (const DvmdCoreSettings *settings, DvmdClock *clock, DvmdEventQueue *queue, const DvmdEffects *effects,
               gpointer user_data)
{
  DvmdCore *self = g_object_new (DVMD_TYPE_CORE, NULL);

  self->settings = *settings;
  self->settings.nspace = g_strdup (settings->nspace);
  self->settings.host = NULL;
  self->settings.heal = settings->heal && !settings->one_shot;
  self->settings.heal_pause = MAX (settings->heal_pause, 1);
  self->history_limit = settings->history_limit;
  self->history_bytes = settings->history_bytes;
  self->clock = dvmd_clock_ref (clock);
  self->queue = queue;
  self->effects = effects;
  self->user_data = user_data;
  self->nodes = dvmd_node_pool_new ();
  self->admission = dvmd_admission_new (self->nodes, on_map_for, on_count_for, on_slots_for, self);
  dvmd_node_pool_set_changed_func (self->nodes, on_node_changed, self);
  dvmd_node_pool_add (self->nodes, settings->host, 0, 0);
  self->vm.job = dvmd_job_new (self, 0, settings->nspace, NULL, NULL);
  dvmd_core_add_session (self, 0, NULL, NULL, TRUE);
  return self;
}

DvmdNode *
dvmd_core_add_node (DvmdCore *self, const char *name, guint slots, guint slots_max)
{
  return dvmd_node_pool_add (self->nodes, name, slots, slots_max);
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
  DvmdCore *self = job->core;
  const char *note = event->reason != NULL ? event->reason : event_name;

  dvmd_job_trace (job, DVMD_TRACE_JOB, old_state, new_state, note);
  dvmd_job_write_state (job, new_state, event->reason);
  if (job != self->vm.job)
    g_signal_emit (self, signals[JOB_STATE_CHANGED], 0, job, old_state, new_state);
}

void
dvmd_core_post (DvmdJob *job, guint event)
{
  dvmd_state_machine_post (job->core->queue, &dvmd_job_table, job, event, 0, NULL);
}

void
dvmd_core_post_failure (DvmdJob *job, DvmJobState state, const char *reason)
{
  dvmd_state_machine_post (job->core->queue, &dvmd_job_table, job, DVMD_JOB_FAILED, state, reason);
}

void
dvmd_core_post_reason (DvmdJob *job, DvmJobState state, const DvmReason *reason)
{
  dvmd_job_add_reason (job, reason);
  dvmd_core_post_failure (job, state, reason->text);
}

/* ---- campaigns and sessions ---- */

void
dvmd_core_campaign_added (DvmdCampaign *campaign)
{
  g_signal_emit (campaign->core, signals[CAMPAIGN_ADDED], 0, campaign);
  dvmd_core_changed (campaign->core);
}

void
dvmd_core_campaign_changed (DvmdCampaign *campaign)
{
  if (!dvmd_campaign_is_restart (campaign))
    g_signal_emit (campaign->core, signals[CAMPAIGN_CHANGED], 0, campaign);
}

void
dvmd_core_campaign_state_changed (DvmdCampaign *campaign, guint old_state, guint new_state)
{
  if (!dvmd_campaign_is_restart (campaign))
    g_signal_emit (campaign->core, signals[CAMPAIGN_STATE_CHANGED], 0, campaign, old_state, new_state);
}

static gboolean
is_campaign_history_too_long (DvmdCore *self)
{
  return self->campaign_history.length > self->history_limit;
}

static void
trim_campaigns (DvmdCore *self)
{
  for (guint n = 0; n < TRIM_AT_ONCE && is_campaign_history_too_long (self); n++)
    {
      gpointer id = g_queue_pop_head (&self->campaign_history);
      g_autoptr (DvmdCampaign) campaign = g_object_ref (g_hash_table_lookup (self->campaigns, id));

      g_queue_unlink (&self->campaigns_known, &campaign->known_link);
      g_hash_table_remove (self->campaigns, id);
      g_signal_emit (self, signals[CAMPAIGN_FORGOTTEN], 0, campaign);
    }
}

void
dvmd_core_end_campaign (DvmdCampaign *campaign)
{
  DvmdCore *self = campaign->core;
  g_autofree char *what = dvmd_campaign_describe (campaign);

  if (dvmd_campaign_is_restart (campaign))
    {
      dvmd_heal_ended (campaign);
      return;
    }
  if (dvmd_campaign_get_state (campaign) == DVM_CAMPAIGN_STATE_COMPLETED)
    self->statistics.campaigns_completed++;
  else
    self->statistics.campaigns_failed++;
  g_queue_unlink (&self->campaigns_live, &campaign->live_link);
  g_queue_push_tail (&self->campaign_history, GUINT_TO_POINTER (dvmd_campaign_get_id (campaign)));
  if (campaign->reason != NULL)
    g_message ("%s has failed: %s", what, campaign->reason);
  else
    g_info ("%s has completed", what);
  g_signal_emit (self, signals[CAMPAIGN_ENDED], 0, campaign);
  if (self->effects->campaign_ended != NULL)
    self->effects->campaign_ended (self->user_data, campaign);
  for (guint i = 0; i < campaign->targets->len; i++)
    g_clear_object (&((DvmdTarget *)g_ptr_array_index (campaign->targets, i))->offered_by);
  trim_campaigns (self);
  dvmd_core_changed (self);
}

void
dvmd_core_tell_session (DvmdSession *session, DvmdSessionNews news)
{
  static const guint ids[] = { SESSION_ADDED, SESSION_CHANGED, SESSION_REMOVED };

  g_signal_emit (session->core, signals[ids[news]], 0, session);
}

void
dvmd_core_tell_session_state (DvmdSession *session, DvmSessionState old_state, DvmSessionState new_state,
                              const char *reason)
{
  g_signal_emit (session->core, signals[SESSION_STATE_CHANGED], 0, session, dvm_session_state_to_string (old_state),
                 dvm_session_state_to_string (new_state), reason != NULL ? reason : "");
}

void
dvmd_core_tell_session_warned (DvmdSession *session, guint seconds_left)
{
  g_signal_emit (session->core, signals[SESSION_WARNED], 0, session, seconds_left);
}

void
dvmd_core_tell_node (DvmdCore *self, guint rank, gboolean added)
{
  g_signal_emit (self, signals[added ? NODE_ADDED : NODE_REMOVED], 0, rank);
}

/* ---- jobs ---- */

static gboolean
check_placement (DvmdCore *self, DvmJobSpec *spec, GError **error)
{
  gboolean counts = FALSE;
  guint n_open = 0;

  if (self->effects->check_placement != NULL && !self->effects->check_placement (self->user_data, spec, &counts, error))
    return FALSE;
  /* So many on each node is a number. */
  if (counts)
    return TRUE;
  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    if (dvm_app_spec_get_np (dvm_job_spec_get_app (spec, i)) == 0)
      n_open++;
  if (n_open <= 1)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "“np” is missing for %u applications of the job: one of them at most may go without, it takes what is "
               "left",
               n_open);
  return FALSE;
}

guint
dvmd_core_reserve (DvmdCore *self, DvmJobSpec *spec, const DvmdRequester *requester, GError **error)
{
  g_autoptr (GArray) sessions = NULL;

  if (!dvmd_vm_check_open (self, error) || !dvm_job_spec_validate (spec, error) || !check_placement (self, spec, error))
    return 0;
  sessions = dvmd_job_sessions_choose (self, spec, requester, error);
  if (sessions == NULL)
    return 0;
  return ++self->last_job_id;
}

void
dvmd_core_unreserve (DvmdCore *self, guint id)
{
  if (id != 0 && id == self->last_job_id)
    self->last_job_id--;
}

/* Ascending by id: a job whose number was reserved may come after younger ones. */
static void
link_job (GQueue *queue, GList *link, DvmdJob *job)
{
  GList *before = queue->tail;

  while (before != NULL && dvmd_job_get_id (before->data) > dvmd_job_get_id (job))
    before = before->prev;
  link->data = job;
  if (before == queue->tail)
    g_queue_push_tail_link (queue, link);
  else
    g_queue_insert_before_link (queue, before != NULL ? before->next : queue->head, link);
}

DvmdJob *
dvmd_core_submit_reserved (DvmdCore *self, guint id, DvmJobSpec *spec, const DvmdRequester *requester, GError **error)
{
  g_autofree char *nspace = g_strdup_printf ("%s@%u", self->settings.nspace, id);
  DvmdJob *parent = dvmd_core_find_requesting_job (self, requester);
  g_autoptr (GArray) sessions = NULL;
  DvmdJob *job;

  if (!dvmd_vm_check_open (self, error) || !dvmd_job_family_check (self, requester, spec, error))
    return NULL;
  /* What it was to be in may have ended since its number was reserved. */
  sessions = dvmd_job_sessions_choose (self, spec, requester, error);
  if (sessions == NULL)
    return NULL;
  job = dvmd_job_new (self, id, nspace, spec, requester);
  dvmd_job_sessions_set (job, sessions);
  dvmd_candidates_begin (self->nodes, job);
  g_hash_table_insert (self->jobs, GUINT_TO_POINTER (id), job);
  g_hash_table_insert (self->by_nspace, (gpointer)dvm_job_get_nspace (job->record), job);
  link_job (&self->live, &job->live_link, job);
  link_job (&self->known, &job->known_link, job);
  dvmd_job_sessions_enter (job);
  dvmd_session_hold_job (job);
  if (parent != NULL)
    dvmd_job_family_join (job, parent);
  self->statistics.jobs_submitted++;
  g_signal_emit (self, signals[JOB_ADDED], 0, job);
  dvmd_core_post (job, DVMD_JOB_CREATED);
  dvmd_core_changed (self);
  return job;
}

DvmdJob *
dvmd_core_submit (DvmdCore *self, DvmJobSpec *spec, const DvmdRequester *requester, GError **error)
{
  guint id = dvmd_core_reserve (self, spec, requester, error);

  return id != 0 ? dvmd_core_submit_reserved (self, id, spec, requester, error) : NULL;
}

DvmdMap *
dvmd_core_map (DvmdCore *self, DvmJobSpec *spec, const DvmdRequester *requester, gboolean *waits, GError **error)
{
  g_autoptr (GArray) sessions = NULL;
  g_autoptr (DvmdJob) job = NULL;

  if (!dvmd_vm_check_open (self, error) || !dvm_job_spec_validate (spec, error) || !check_placement (self, spec, error))
    return NULL;
  if (!self->vm.ready)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "The DVM has no nodes yet to place processes on");
      return NULL;
    }
  sessions = dvmd_job_sessions_choose (self, spec, requester, error);
  if (sessions == NULL)
    return NULL;
  job = dvmd_job_new (self, 0, self->settings.nspace, spec, requester);
  dvmd_job_sessions_set (job, sessions);
  dvmd_candidates_begin (self->nodes, job);
  return dvmd_admission_try (self->admission, job, waits, error);
}

void
dvmd_core_dispatch_kept (DvmdCore *self)
{
  DvmdJob *job;

  while ((job = g_queue_pop_head (&self->kept)) != NULL)
    {
      dvmd_core_post (job, DVMD_JOB_DISPATCHED);
      g_object_unref (job);
    }
}

static gboolean
is_history_too_long (DvmdCore *self)
{
  return self->history.length > self->history_limit
         || (self->history.length > 1 && self->history_bytes > 0 && self->n_history_bytes > self->history_bytes);
}

gboolean
dvmd_core_trim_history (DvmdCore *self)
{
  for (guint n = 0; n < TRIM_AT_ONCE && is_history_too_long (self); n++)
    {
      guint id = GPOINTER_TO_UINT (g_queue_pop_head (&self->history));
      g_autoptr (DvmdJob) job = g_object_ref (g_hash_table_lookup (self->jobs, GUINT_TO_POINTER (id)));

      self->n_history_bytes -= job->kept_bytes;
      dvmd_job_family_forget (job);
      g_queue_unlink (&self->known, &job->known_link);
      g_hash_table_remove (self->by_nspace, dvm_job_get_nspace (job->record));
      g_hash_table_remove (self->jobs, GUINT_TO_POINTER (id));
      g_signal_emit (self, signals[JOB_FORGOTTEN], 0, job);
    }
  trim_campaigns (self);
  return is_history_too_long (self) || is_campaign_history_too_long (self);
}

void
dvmd_core_set_history_limit (DvmdCore *self, guint limit)
{
  if (self->history_limit == limit)
    return;
  self->history_limit = limit;
  dvmd_core_changed (self);
}

void
dvmd_core_set_history_bytes (DvmdCore *self, guint64 limit)
{
  self->history_bytes = limit;
}

guint
dvmd_core_get_history_limit (DvmdCore *self)
{
  return self->history_limit;
}

static void
log_end (DvmdJob *job)
{
  const char *nspace = dvm_job_get_nspace (job->record);
  const char *state = dvm_job_state_to_string (dvmd_job_get_state (job));
  const char *reason = dvm_job_get_reason (job->record);

  if (reason != NULL && reason[0] != '\0')
    dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_INFO, nspace, "ended: %s: %s", state, reason);
  else
    dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_INFO, nspace, "ended: %s", state);
}

void
dvmd_core_end_job (DvmdJob *job)
{
  DvmdCore *self = job->core;

  dvmd_gate_forget (job);
  _dvm_job_set_ended (job->record, dvmd_clock_now (self->clock));
  g_queue_unlink (&self->live, &job->live_link);
  g_queue_push_tail (&self->history, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  self->statistics.jobs_ended++;
  log_end (job);
  dvmd_job_family_ended (job);
  g_signal_emit (self, signals[JOB_ENDED], 0, job);
  dvmd_job_release_spec (job);
  dvmd_job_sessions_leave (job);
  dvmd_core_namespace_ended (self, dvm_job_get_nspace (job->record));
  job->kept_bytes = dvmd_job_get_size (job);
  self->n_history_bytes += job->kept_bytes;
  dvmd_core_changed (self);
  dvmd_core_trim_history (self);
  if (self->live.length == 0)
    dvmd_vm_jobs_ended (self);
}

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

static gboolean
check_agent_up (DvmdNode *node, GError **error)
{
  DvmNodeState state = dvm_node_get_state (node->record);

  if (node->rank == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                 "Rank 0 is the controller: it has no slots, and no job runs there");
  else if (state != DVM_NODE_STATE_UP && !dvmd_node_is_drained (node))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "The node %s is not up (%s)", dvm_node_get_name (node->record),
                 dvm_node_state_to_string (state));
  else
    return TRUE;
  return FALSE;
}

gboolean
dvmd_core_drain_node (DvmdCore *self, DvmdNode *node, const char *reason, GError **error)
{
  gboolean was_drained = dvmd_node_is_drained (node);

  if (!check_agent_up (node, error))
    return FALSE;
  dvmd_core_unplan_node (self, node);
  dvmd_node_pool_set_state (self->nodes, node, DVM_NODE_STATE_DO_NOT_USE, reason);
  /* The reason may be another one. */
  if (was_drained)
    g_signal_emit (self, signals[NODE_STATE_CHANGED], 0, node->rank, (guint)DVM_NODE_STATE_DO_NOT_USE);
  dvmd_core_changed (self);
  return TRUE;
}

gboolean
dvmd_core_resume_node (DvmdCore *self, DvmdNode *node, GError **error)
{
  if (!check_agent_up (node, error))
    return FALSE;
  dvmd_node_pool_set_state (self->nodes, node, DVM_NODE_STATE_UP, NULL);
  dvmd_core_changed (self);
  return TRUE;
}

/* ---- lookups ---- */

DvmdJob *
dvmd_core_get_job (DvmdCore *self, guint id)
{
  return g_hash_table_lookup (self->jobs, GUINT_TO_POINTER (id));
}

DvmdJob *
dvmd_core_find_job (DvmdCore *self, const char *nspace)
{
  return g_hash_table_lookup (self->by_nspace, nspace);
}

DvmdJob *
dvmd_core_next_job (DvmdCore *self, DvmdJob *after, gboolean ended)
{
  GList *link;

  if (after == NULL)
    link = ended ? self->known.head : self->live.head;
  else
    link = ended ? after->known_link.next : after->live_link.next;
  return link != NULL ? link->data : NULL;
}

GPtrArray *
dvmd_core_list_jobs (DvmdCore *self, gboolean ended)
{
  GPtrArray *list = g_ptr_array_new_with_free_func (g_object_unref);

  for (DvmdJob *job = dvmd_core_next_job (self, NULL, ended); job != NULL; job = dvmd_core_next_job (self, job, ended))
    g_ptr_array_add (list, g_object_ref (job));
  return list;
}

DvmdNodePool *
dvmd_core_get_nodes (DvmdCore *self)
{
  return self->nodes;
}

guint
dvmd_core_get_num_running (DvmdCore *self)
{
  return self->n_running;
}

guint
dvmd_core_get_num_held (DvmdCore *self)
{
  return dvmd_admission_get_n_waiting (self->admission) + self->kept.length + dvmd_launch_fence_count (self->fence)
         + self->n_own_waiting + self->n_held;
}

guint
dvmd_core_get_num_live (DvmdCore *self)
{
  return self->live.length;
}

const DvmdCoreStatistics *
dvmd_core_get_statistics (DvmdCore *self)
{
  return &self->statistics;
}

guint
dvmd_core_get_last_job_id (DvmdCore *self)
{
  return self->last_job_id;
}

guint
dvmd_core_get_last_campaign_id (DvmdCore *self)
{
  return self->last_campaign_id;
}

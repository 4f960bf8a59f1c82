/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sessions are paused, resumed, signalled and terminated with their jobs (S16-S19, S21).
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-core-session-control.h"

#include "dvm-records-private.h"
#include "dvmd-campaign-private.h"
#include "dvmd-core-private.h"
#include "dvmd-job-family.h"
#include "dvmd-job-hold.h"
#include "dvmd-job-sessions.h"
#include "dvmd-session-private.h"

static const char *const op_names[] = {
  [DVMD_SESSION_PAUSE] = "pause",       [DVMD_SESSION_RESUME] = "resume", [DVMD_SESSION_PREEMPT] = "preempt",
  [DVMD_SESSION_RESTORE] = "restore",   [DVMD_SESSION_SIGNAL] = "signal", [DVMD_SESSION_TERMINATE] = "terminate",
  [DVMD_SESSION_SEPARATE] = "separate",
};

/* ---- its jobs ---- */

/* (nullable): of this session, and live */
static DvmdJob *
find_job (DvmdSession *session, const char *nspace)
{
  DvmdJob *job = dvmd_core_find_job (session->core, nspace);

  if (job == NULL || dvmd_job_get_ended (job) || dvmd_job_get_session (job) != dvmd_session_get_id (session))
    return NULL;
  return job;
}

/* (element-type DvmdJob): all of them, or the one of that namespace */
static GPtrArray *
list_jobs (DvmdSession *session, const char *nspace)
{
  GPtrArray *jobs = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GArray) ids = nspace == NULL ? dvmd_session_list_jobs (session) : NULL;
  DvmdJob *only = nspace != NULL ? find_job (session, nspace) : NULL;

  if (only != NULL)
    g_ptr_array_add (jobs, g_object_ref (only));
  for (guint i = 0; ids != NULL && i < ids->len; i++)
    {
      DvmdJob *job = dvmd_core_get_job (session->core, g_array_index (ids, guint, i));

      if (job != NULL)
        g_ptr_array_add (jobs, g_object_ref (job));
    }
  return jobs;
}

/* ---- pause and preempt ---- */

/* who (nullable): the name of the one that added the hold; NULL: it is gone, and the other one may be left */
static void
show_holds (DvmdSession *session, DvmdHold why, const char *who)
{
  g_autofree char *reason = NULL;

  if (who != NULL)
    reason = g_strdup_printf ("%s has %s it", who, why == DVMD_HOLD_PAUSE ? "paused" : "preempted the jobs of");
  else if (session->holds != 0)
    reason = g_strdup_printf ("It is still %s", session->holds & DVMD_HOLD_PAUSE ? "paused" : "preempted");
  dvmd_session_set_state (session, session->holds != 0 ? DVM_SESSION_STATE_PAUSED : DVM_SESSION_STATE_ACTIVE, reason);
}

static void
hold (DvmdSession *session, const char *nspace, DvmdHold why, gboolean on, const char *who)
{
  g_autoptr (GPtrArray) jobs = list_jobs (session, nspace);
  guint before = session->holds;

  if (nspace == NULL)
    session->holds = on ? session->holds | why : session->holds & ~(guint)why;
  for (guint i = 0; i < jobs->len; i++)
    if (on)
      dvmd_job_hold (g_ptr_array_index (jobs, i), why);
    else
      dvmd_job_unhold (g_ptr_array_index (jobs, i), why);
  if (session->holds != before)
    show_holds (session, why, on ? who : NULL);
}

void
dvmd_session_hold_job (DvmdJob *job)
{
  DvmdSession *session = dvmd_core_get_session (dvmd_job_get_core (job), dvmd_job_get_session (job));

  if (session != NULL && session->holds != 0)
    dvmd_job_hold (job, session->holds);
}

void
dvmd_session_let_go (DvmdSession *self)
{
  g_autoptr (GPtrArray) jobs = list_jobs (self, NULL);

  self->holds = 0;
  for (guint i = 0; i < jobs->len; i++)
    dvmd_job_unhold (g_ptr_array_index (jobs, i), DVMD_HOLD_PAUSE | DVMD_HOLD_PREEMPT);
}

/* ---- its end ---- */

/* Grows that have not brought the session their nodes yet are cancelled. */
static void
cancel_grows (DvmdSession *session)
{
  for (GList *l = dvmd_registry_list (session->core->campaigns.all, FALSE); l != NULL; l = l->next)
    {
      DvmdCampaign *campaign = l->data;

      if (campaign->session == session && dvmd_campaign_get_kind (campaign) == DVM_CAMPAIGN_KIND_GROW
          && !campaign->failure.known && campaign->grown != DVMD_GROW_WIRED)
        dvmd_campaign_fail (campaign, DVMD_CAUSE_CANCELLED, "Its session was terminated");
    }
}

/* No process of the session is left: its nodes are handed back, or stay in the DVM as everybody's (S24). */
static void
reclaim (DvmdSession *session)
{
  gboolean stays = session->inheritance == DVMD_INHERIT_DEFAULT || session->inheritance == DVMD_INHERIT_CHILD_DEFAULT;
  g_autofree char *reason = g_strdup (dvm_session_get_reason (session->record));
  const DvmdShrinkRequest request = { .scheduler = TRUE, .session = dvmd_session_get_id (session), .cause = reason };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  if (!stays && dvmd_core_shrink (session->core, &request, &answer, &error))
    return;
  if (error != NULL)
    g_message ("The nodes of session %u stay: %s", dvmd_session_get_id (session), error->message);
  cancel_grows (session);
  dvmd_session_end (session, reason);
}

static void
terminate_children (DvmdSession *session)
{
  g_autoptr (GArray) ids = g_array_copy (session->family.children);

  for (guint i = 0; i < ids->len; i++)
    {
      DvmdSession *child = dvmd_core_get_session (session->core, g_array_index (ids, guint, i));

      if (child != NULL && !child->family.separate && !dvmd_session_is_ending (child))
        dvmd_session_terminate (child, "The session that it belongs to was terminated");
    }
}

static void
end_jobs (DvmdSession *session)
{
  g_autoptr (GPtrArray) jobs = list_jobs (session, NULL);
  g_autoptr (DvmReason) reason = _dvm_reason_new (DVM_REASON_SESSION_TERMINATED, dvmd_session_get_id (session),
                                                  dvmd_session_get_alloc_id (session));

  /* A stopped job also continues by that: else it could not end in time. */
  for (guint i = 0; i < jobs->len; i++)
    if (dvmd_job_is_launched (g_ptr_array_index (jobs, i)))
      dvmd_core_fail_job_for (session->core, g_ptr_array_index (jobs, i), DVM_JOB_STATE_KILLED_BY_CMD, reason);
}

/* A session that is ending goes on ending; its jobs, which a release lets go on, end now. */
static void
terminate_ending (DvmdSession *session, const char *reason)
{
  if (session->terminating)
    return;
  end_jobs (session);
  dvmd_session_drop_jobs (session, reason, FALSE);
}

void
dvmd_session_terminate (DvmdSession *session, const char *reason)
{
  session->holds = 0;
  session->terminating = TRUE;
  dvmd_session_stop_timers (session);
  dvmd_session_set_state (session, DVM_SESSION_STATE_TERMINATING, reason);
  terminate_children (session);
  end_jobs (session);
  dvmd_session_drop_jobs (session, reason, FALSE);
  dvmd_session_check_end (session);
}

void
dvmd_session_check_end (DvmdSession *self)
{
  if (self->jobs->len > 0 || self->releasing)
    return;
  if (self->terminating)
    reclaim (self);
  else if (self->ends_itself && !dvmd_session_is_ending (self))
    dvmd_session_terminate (self, "All of its jobs have ended");
}

void
dvmd_session_set_ends_itself (DvmdSession *self)
{
  self->ends_itself = TRUE;
}

static gboolean
is_target (DvmdCampaign *campaign, guint rank)
{
  gsize n = 0;
  const guint32 *ranks = campaign != NULL ? dvm_campaign_get_targets (campaign->record, &n) : NULL;

  for (gsize i = 0; i < n; i++)
    if (ranks[i] == rank)
      return TRUE;
  return FALSE;
}

void
dvmd_core_discard_session (DvmdCore *self, DvmdSession *session, DvmdCampaign *campaign)
{
  g_autoptr (GPtrArray) nodes = dvmd_session_list_nodes (session);
  g_autoptr (DvmdSession) kept = g_object_ref (session);

  if (dvmd_session_is_ending (session))
    return;
  for (guint i = 0; i < nodes->len; i++)
    if (!is_target (campaign, ((DvmdNode *)g_ptr_array_index (nodes, i))->rank))
      dvmd_session_part (session, g_ptr_array_index (nodes, i));
  dvmd_session_set_inheritance (session, DVMD_INHERIT_NONE);
  session->ends_itself = TRUE;
  dvmd_session_check_end (session);
}

/* ---- all of it ---- */

gboolean
dvmd_core_check_session_control (DvmdCore *self, DvmdSession *session, const DvmdSessionControl *control,
                                 const DvmdRequester *requester, GError **error)
{
  guint id = dvmd_session_get_id (session);

  if (id == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                 "“%s”: session 0 is the default one, which is everybody's and stays as it is", op_names[control->op]);
  else if (dvmd_session_is_ending (session) && control->op != DVMD_SESSION_TERMINATE)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "There is no session %u any more: it is ending", id);
  else if (!dvmd_core_may (self, requester, DVMD_RIGHT_CONTROL, session, NULL, error))
    return FALSE;
  else if (control->nspace != NULL && find_job (session, control->nspace) == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "nspace: session %u has no job “%s”", id, control->nspace);
  else
    return TRUE;
  return FALSE;
}

static void
send_signal (DvmdSession *session, const DvmdSessionControl *control)
{
  g_autoptr (GPtrArray) jobs = list_jobs (session, control->nspace);
  const DvmdEffects *effects = session->core->effects;

  for (guint i = 0; effects->signal_job != NULL && i < jobs->len; i++)
    {
      DvmdJob *job = g_ptr_array_index (jobs, i);

      if (dvmd_job_is_launched (job) && dvmd_job_get_state (job) < DVM_JOB_STATE_UNTERMINATED)
        effects->signal_job (session->core->user_data, job, control->signal);
    }
}

gboolean
dvmd_core_control_session (DvmdCore *self, DvmdSession *session, const DvmdSessionControl *control,
                           const DvmdRequester *requester, GError **error)
{
  const char *who = requester != NULL ? requester->name : "the DVM";
  g_autofree char *reason = g_strdup_printf ("%s has terminated it", who);
  g_autoptr (DvmdSession) kept = g_object_ref (session);

  if (!dvmd_core_check_session_control (self, session, control, requester, error))
    return FALSE;
  g_info ("Session %u: %s, by %s", dvmd_session_get_id (session), op_names[control->op], who);
  switch (control->op)
    {
    case DVMD_SESSION_PAUSE:
    case DVMD_SESSION_RESUME:
      hold (session, control->nspace, DVMD_HOLD_PAUSE, control->op == DVMD_SESSION_PAUSE, who);
      break;
    case DVMD_SESSION_PREEMPT:
    case DVMD_SESSION_RESTORE:
      hold (session, control->nspace, DVMD_HOLD_PREEMPT, control->op == DVMD_SESSION_PREEMPT, who);
      break;
    case DVMD_SESSION_SIGNAL:
      send_signal (session, control);
      break;
    case DVMD_SESSION_TERMINATE:
      if (dvmd_session_is_ending (session))
        terminate_ending (session, reason);
      else
        dvmd_session_terminate (session, reason);
      break;
    case DVMD_SESSION_SEPARATE:
      dvmd_core_separate_session (self, session, control->separate);
      break;
    }
  return TRUE;
}

GArray *
dvmd_core_list_controlled_sessions (DvmdCore *self, const DvmdRequester *requester)
{
  GArray *ids = g_array_new (FALSE, FALSE, sizeof (guint));

  for (DvmdSession *session = NULL; (session = dvmd_core_next_session (self, session)) != NULL;)
    {
      guint id = dvmd_session_get_id (session);

      if (id != 0 && !dvmd_session_is_ending (session)
          && dvmd_core_has_right (self, requester, DVMD_RIGHT_CONTROL, session, NULL))
        g_array_append_val (ids, id);
    }
  return ids;
}

/* ---- one job ---- */

static gboolean
check_live (DvmdJob *job, GError **error)
{
  if (dvmd_job_get_state (job) < DVM_JOB_STATE_UNTERMINATED)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "Job %s has ended",
               dvm_job_get_nspace (dvmd_job_get_record (job)));
  return FALSE;
}

gboolean
dvmd_core_pause_job (DvmdCore *self, DvmdJob *job, GError **error)
{
  if (!check_live (job, error))
    return FALSE;
  dvmd_job_hold (job, DVMD_HOLD_ITSELF);
  return TRUE;
}

gboolean
dvmd_core_resume_job (DvmdCore *self, DvmdJob *job, GError **error)
{
  if (!check_live (job, error))
    return FALSE;
  dvmd_job_unhold (job, DVMD_HOLD_ITSELF);
  return TRUE;
}

gboolean
dvmd_core_separate_job (DvmdCore *self, DvmdJob *job, GError **error)
{
  if (!check_live (job, error))
    return FALSE;
  dvmd_job_family_separate (job);
  return TRUE;
}

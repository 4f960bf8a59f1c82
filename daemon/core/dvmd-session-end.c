/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sessions end: they are released, or terminated with their jobs, and their children with them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-session-end.h"

#include "dvmd-campaign-inner.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-news.h"
#include "dvmd-core-parts.h"
#include "dvmd-core-session-control.h"
#include "dvmd-core-sessions.h"
#include "dvmd-job-sessions.h"
#include "dvmd-session-holds.h"
#include "dvmd-session-inner.h"
#include "dvmd-session-limit.h"
#include "dvmd-session-owners.h"
#include "dvmd-session-private.h"
#include "dvmd-session-registry.h"
#include "dvmd-vm-machine.h"
#include "dvmd-vm.h"

/* (transfer floating): job, state, exit code and reason of each that can still be asked about */
static GVariant *
sum_up_jobs (DvmdSession *self)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(uiis)"));
  for (DvmdJob *job = NULL; (job = dvmd_core_next_job (self->core, job, TRUE)) != NULL;)
    if (dvmd_job_get_session (job) == dvmd_session_get_id (self))
      g_variant_builder_add (&builder, "(uiis)", dvmd_job_get_id (job), (gint32)dvmd_job_get_state (job),
                             dvm_job_get_exit_code (dvmd_job_get_record (job)),
                             dvm_job_get_reason (dvmd_job_get_record (job)));
  return g_variant_builder_end (&builder);
}

void
dvmd_session_begin_end (DvmdSession *self, const char *reason, gboolean drains)
{
  self->releasing = TRUE;
  if (dvm_session_get_state (self->record) != DVM_SESSION_STATE_TERMINATING)
    dvmd_session_set_state (self, DVM_SESSION_STATE_TERMINATING, reason);
  dvmd_session_drop_jobs (self, reason, drains);
  dvmd_session_let_go (self);
}

void
dvmd_session_go_on (DvmdSession *self)
{
  self->releasing = FALSE;
  dvmd_session_set_state (self, DVM_SESSION_STATE_ACTIVE, NULL);
  /* The owner has ended meanwhile, and what the inheritance says of that has not been done. */
  if (self->owner_ended && !self->disposed)
    dvmd_core_post_vm (self->core, DVMD_VM_SESSIONS_CHANGED, 0, NULL);
}

static void
remove_session (DvmdSession *self, const char *reason)
{
  DvmdCore *core = self->core;
  g_autoptr (DvmdSession) kept = NULL;

  dvmd_session_set_parent (self, 0);
  dvmd_session_forget_owner (self);
  dvmd_session_set_state (self, DVM_SESSION_STATE_ENDED, reason);
  kept = dvmd_session_registry_remove (dvmd_core_get_session_registry (core), dvmd_session_get_id (self));
  dvmd_core_tell_session (self->core, self, DVMD_NEWS_FORGOTTEN);
  if (dvmd_core_get_effects (core)->session_ended == NULL)
    return;
  dvmd_core_post_vm (core, DVMD_VM_SESSIONS_CHANGED, 0, NULL);
  dvmd_session_registry_note_end (dvmd_core_get_session_registry (core), self);
}

void
dvmd_core_tell_ended_sessions (DvmdCore *self)
{
  g_autoptr (GPtrArray) sessions = dvmd_session_registry_take_ended (dvmd_core_get_session_registry (self));

  for (guint i = 0; sessions != NULL && i < sessions->len; i++)
    {
      DvmdSession *session = g_ptr_array_index (sessions, i);

      dvmd_core_get_effects (self)->session_ended (dvmd_core_get_user_data (self), session, sum_up_jobs (session));
    }
}

/* Grows that have not brought the session their nodes yet are cancelled. */
static void
cancel_grows (DvmdSession *session)
{
  for (GList *l = dvmd_core_get_live_campaigns (session->core); l != NULL; l = l->next)
    {
      DvmdCampaign *campaign = l->data;

      if (dvmd_campaign_brings_to (campaign, session))
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
  g_autoptr (GPtrArray) jobs = dvmd_session_collect_jobs (session, NULL);
  g_autoptr (DvmReason) reason = _dvm_reason_new (DVM_REASON_SESSION_TERMINATED, dvmd_session_get_id (session),
                                                  dvmd_session_get_alloc_id (session));

  /* A stopped job also continues by that: else it could not end in time. */
  for (guint i = 0; i < jobs->len; i++)
    if (dvmd_job_is_launched (g_ptr_array_index (jobs, i)))
      dvmd_core_fail_job_for (session->core, g_ptr_array_index (jobs, i), DVM_JOB_STATE_KILLED_BY_CMD, reason);
}

void
dvmd_session_terminate_ending (DvmdSession *session, const char *reason)
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

void
dvmd_session_release (DvmdSession *self, guint drain_timeout, const char *cause)
{
  const DvmdShrinkRequest request = {
    .scheduler = TRUE, .session = dvmd_session_get_id (self), .drain_timeout = drain_timeout, .cause = cause
  };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  if (!dvmd_core_shrink (self->core, &request, &answer, &error))
    g_info ("Session %u is not released: %s", dvmd_session_get_id (self), error->message);
}

void
dvmd_session_end_children (DvmdSession *self, guint drain_timeout)
{
  g_autoptr (GArray) ids = g_array_copy (self->family.children);
  g_autofree char *cause = g_strdup_printf ("Session %u, whose child it is, has ended", dvmd_session_get_id (self));

  /* No longer than it has itself. */
  drain_timeout = dvmd_session_limit_time (self, drain_timeout);
  for (guint i = 0; i < ids->len; i++)
    {
      DvmdSession *child = dvmd_core_get_session (self->core, g_array_index (ids, guint, i));

      if (child == NULL)
        continue;
      dvmd_session_set_parent (child, 0);
      if (!child->family.separate && !dvmd_session_is_ending (child))
        dvmd_session_release (child, drain_timeout, cause);
    }
}

void
dvmd_session_end (DvmdSession *self, const char *reason)
{
  g_autoptr (GPtrArray) nodes = dvmd_session_list_nodes (self);

  if (self->over)
    return;
  self->over = TRUE;
  dvmd_session_stop_timers (self);
  for (guint i = 0; i < nodes->len; i++)
    dvmd_session_part (self, g_ptr_array_index (nodes, i));
  dvmd_session_begin_end (self, reason, FALSE);
  dvmd_session_end_children (self, 0);
  if (self->jobs->len == 0)
    remove_session (self, reason);
}

void
dvmd_session_job_ended (DvmdSession *self, DvmdJob *job)
{
  g_autofree char *reason = NULL;

  dvmd_session_remove_job (self, job);
  if (!self->over)
    dvmd_session_check_end (self);
  else if (self->jobs->len == 0)
    {
      reason = g_strdup (dvm_session_get_reason (self->record));
      remove_session (self, reason);
    }
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sessions are controlled by those who may: paused, resumed, signalled and terminated with their jobs (S16-S19, S21).
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-core-session-control.h"

#include "dvm-job-spec-private.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-parts.h"
#include "dvmd-core-sessions.h"
#include "dvmd-job-family.h"
#include "dvmd-job-hold.h"
#include "dvmd-rights.h"
#include "dvmd-session-disposal.h"
#include "dvmd-session-end.h"
#include "dvmd-session-holds.h"
#include "dvmd-session-inner.h"

static const char *const op_names[] = {
  [DVMD_SESSION_PAUSE] = "pause",       [DVMD_SESSION_RESUME] = "resume", [DVMD_SESSION_PREEMPT] = "preempt",
  [DVMD_SESSION_RESTORE] = "restore",   [DVMD_SESSION_SIGNAL] = "signal", [DVMD_SESSION_TERMINATE] = "terminate",
  [DVMD_SESSION_SEPARATE] = "separate",
};

/* ---- its end ---- */

static gboolean
is_target (DvmdCampaign *campaign, guint rank)
{
  gsize n = 0;
  const guint32 *ranks = campaign != NULL ? dvm_campaign_get_targets (dvmd_campaign_get_record (campaign), &n) : NULL;

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
  dvmd_session_set_ends_itself (session);
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
  else if (control->nspace != NULL && dvmd_session_find_job (session, control->nspace) == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "nspace: session %u has no job “%s”", id, control->nspace);
  else
    return TRUE;
  return FALSE;
}

static void
send_signal (DvmdSession *session, const DvmdSessionControl *control)
{
  g_autoptr (GPtrArray) jobs = dvmd_session_collect_jobs (session, control->nspace);
  const DvmdEffects *effects = dvmd_core_get_effects (dvmd_session_get_core (session));

  for (guint i = 0; effects->signal_job != NULL && i < jobs->len; i++)
    {
      DvmdJob *job = g_ptr_array_index (jobs, i);

      if (dvmd_job_is_launched (job) && dvmd_job_get_state (job) < DVM_JOB_STATE_UNTERMINATED)
        effects->signal_job (dvmd_core_get_user_data (dvmd_session_get_core (session)), job, control->signal);
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
      dvmd_session_hold (session, control->nspace, DVMD_HOLD_PAUSE, control->op == DVMD_SESSION_PAUSE, who);
      break;
    case DVMD_SESSION_PREEMPT:
    case DVMD_SESSION_RESTORE:
      dvmd_session_hold (session, control->nspace, DVMD_HOLD_PREEMPT, control->op == DVMD_SESSION_PREEMPT, who);
      break;
    case DVMD_SESSION_SIGNAL:
      send_signal (session, control);
      break;
    case DVMD_SESSION_TERMINATE:
      if (dvmd_session_is_ending (session))
        dvmd_session_terminate_ending (session, reason);
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

gboolean
dvmd_core_hold_job (DvmdCore *self, DvmdJob *job, GError **error)
{
  if (!check_live (job, error))
    return FALSE;
  if (dvmd_job_get_map (job) == NULL)
    {
      dvmd_job_hold (job, DVMD_HOLD_USER);
      return TRUE;
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
               "Job %s has its nodes already: only a job that waits for them can be held",
               dvm_job_get_nspace (dvmd_job_get_record (job)));
  return FALSE;
}

gboolean
dvmd_core_release_job (DvmdCore *self, DvmdJob *job, GError **error)
{
  if (!check_live (job, error))
    return FALSE;
  dvmd_job_unhold (job, DVMD_HOLD_USER);
  return TRUE;
}

gboolean
dvmd_core_set_job_priority (DvmdCore *self, DvmdJob *job, int priority, GError **error)
{
  if (!check_live (job, error))
    return FALSE;
  if (priority < -DVM_PRIORITY_MOST || priority > DVM_PRIORITY_MOST)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "priority: it is a number from %d to %d, not %d",
                 -DVM_PRIORITY_MOST, DVM_PRIORITY_MOST, priority);
  else if (dvmd_job_get_map (job) != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                 "Job %s has its nodes already: a priority is of use to a job that waits for them",
                 dvm_job_get_nspace (dvmd_job_get_record (job)));
  else
    {
      dvmd_admission_set_priority (dvmd_core_get_admission (self), job, priority);
      return TRUE;
    }
  return FALSE;
}

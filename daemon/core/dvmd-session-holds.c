/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sessions are paused and preempted: their jobs are held.
 */

#include "config.h"

#include "dvmd-core-elastic.h"
#include "dvmd-job-hold.h"
#include "dvmd-job-sessions.h"
#include "dvmd-session-private.h"

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

void
dvmd_session_hold (DvmdSession *session, const char *nspace, DvmdHold why, gboolean on, const char *who)
{
  g_autoptr (GPtrArray) jobs = dvmd_session_collect_jobs (session, nspace);
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
  g_autoptr (GPtrArray) jobs = dvmd_session_collect_jobs (self, NULL);

  self->holds = 0;
  for (guint i = 0; i < jobs->len; i++)
    dvmd_job_unhold (g_ptr_array_index (jobs, i), DVMD_HOLD_PAUSE | DVMD_HOLD_PREEMPT);
}

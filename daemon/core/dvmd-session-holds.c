/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sessions are paused and preempted: their jobs are held.
 */

#include "config.h"

#include "dvmd-session-holds.h"

#include "dvmd-core-elastic.h"
#include "dvmd-job-hold.h"
#include "dvmd-job-sessions.h"
#include "dvmd-session-inner.h"

/* who (nullable): the name of the one that added the hold; NULL: it is gone, and the other one may be left */
static void
show_holds (DvmdSession *session, DvmdHold why, const char *who)
{
  g_autofree char *reason = NULL;

  if (who != NULL)
    reason = g_strdup_printf ("%s has %s it", who, why == DVMD_HOLD_PAUSE ? "paused" : "preempted the jobs of");
  else if (dvmd_session_get_holds (session) != 0)
    reason = g_strdup_printf ("It is still %s",
                              dvmd_session_get_holds (session) & DVMD_HOLD_PAUSE ? "paused" : "preempted");
  dvmd_session_set_state (
      session, dvmd_session_get_holds (session) != 0 ? DVM_SESSION_STATE_PAUSED : DVM_SESSION_STATE_ACTIVE, reason);
}

void
dvmd_session_hold (DvmdSession *session, const char *nspace, DvmdHold why, gboolean on, const char *who)
{
  g_autoptr (GPtrArray) jobs = dvmd_session_collect_jobs (session, nspace);
  guint before = dvmd_session_get_holds (session);

  if (nspace == NULL)
    dvmd_session_set_holds (session, on ? before | why : before & ~(guint)why);
  for (guint i = 0; i < jobs->len; i++)
    if (on)
      dvmd_job_hold (g_ptr_array_index (jobs, i), why);
    else
      dvmd_job_unhold (g_ptr_array_index (jobs, i), why);
  if (dvmd_session_get_holds (session) != before)
    show_holds (session, why, on ? who : NULL);
}

void
dvmd_session_hold_job (DvmdJob *job)
{
  DvmdSession *session = dvmd_core_get_session (dvmd_job_get_core (job), dvmd_job_get_session (job));

  if (session != NULL && dvmd_session_get_holds (session) != 0)
    dvmd_job_hold (job, dvmd_session_get_holds (session));
}

void
dvmd_session_let_go (DvmdSession *self)
{
  g_autoptr (GPtrArray) jobs = dvmd_session_collect_jobs (self, NULL);

  dvmd_session_set_holds (self, 0);
  for (guint i = 0; i < jobs->len; i++)
    dvmd_job_unhold (g_ptr_array_index (jobs, i), DVMD_HOLD_PAUSE | DVMD_HOLD_PREEMPT);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A PMIx server that ends under a job, and the ends of ranks that it is the cause of.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-pmix.h"
#include "dvmd-agent-procs.h"
#include "dvmd-agent-ranks.h"

/* A rank that ends otherwise than well so long before or after its server does not do it by itself. */
#define CAUSE_LIMIT (3 * G_USEC_PER_SEC)

static gint64
read_clock (DvmdAgentJob *job)
{
  return dvmd_clock_monotonic (dvmd_agent_get_parts (job->agent)->clock);
}

static void
tell_controller (DvmdAgentJob *job)
{
  g_autofree char *reason = g_steal_pointer (&job->lost_reason);

  dvmd_agent_send (job->agent, DVMD_MSG_PMIX_LOST, g_variant_new ("(us)", job->local->id, reason));
}

/* One that ended long before the server may have done so by itself. */
static gboolean
has_client (DvmdAgentJob *job)
{
  for (guint i = 0; i < job->local->procs->len; i++)
    {
      const DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, i);

      if ((proc->flags & DVMD_PROC_REGISTERED) && !(proc->flags & DVMD_PROC_FINALIZED)
          && (proc->reaped_at == 0 || job->lost_at - proc->reaped_at <= CAUSE_LIMIT))
        return TRUE;
    }
  return FALSE;
}

/* Clients of the job that are left could not speak to anybody any more. */
void
dvmd_agent_server_lost (DvmdPmixHost *host, const char *nspace, const char *reason, gboolean has_clients)
{
  DvmdAgentJob *job = dvmd_agent_find_job_named ((DvmdAgent *)host, nspace);

  if (job == NULL)
    return;
  g_free (job->lost_reason);
  job->lost_reason = g_strdup (reason);
  job->lost_at = read_clock (job);
  if (has_clients && has_client (job))
    tell_controller (job);
  dvmd_agent_procs_unseen (job);
}

void
dvmd_agent_find_cause (DvmdAgentJob *job, const DvmdLocalProc *proc)
{
  gint64 apart = ABS (proc->reaped_at - job->lost_at);

  if (job->lost_reason != NULL && !job->killed && proc->status != 0 && !(proc->flags & DVMD_PROC_FINALIZED)
      && apart <= CAUSE_LIMIT)
    tell_controller (job);
}

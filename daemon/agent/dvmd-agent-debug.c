/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranks that wait for a debugger: stopped at their first instruction, or in a call of their PMIx library.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include <signal.h>

#include "dvmd-agent-pmi.h"
#include "dvmd-agent-ranks.h"

static gboolean
waits (const DvmdLocalProc *proc)
{
  return proc->pid > 0 && !(proc->flags & DVMD_PROC_EXITED) && !proc->continued && !proc->spared;
}

gboolean
dvmd_agent_is_to_wait (const DvmdAgentJob *job, const DvmdLocalProc *proc)
{
  return !job->went_on && !proc->continued && !proc->spared;
}

static void
release (DvmdAgentJob *job, DvmdLocalProc *proc)
{
  DvmdPmixProc target = { job->local->nspace, proc->rank };

  dvmd_pmix_notify_event (dvmd_agent_get_pmix (job->agent), DVMD_PMIX_DEBUGGER_RELEASE, NULL, &target, 1, NULL);
}

void
dvmd_agent_proc_waits (DvmdAgentJob *job, DvmdLocalProc *proc)
{
  /* Only once, and one that comes after the job was let go on does not wait. */
  if (dvmd_agent_is_to_wait (job, proc))
    dvmd_local_proc_ready_for_debug (proc);
  else
    release (job, proc);
}

void
dvmd_agent_proc_resumed (DvmdAgentJob *job, DvmdLocalProc *proc)
{
  if (job->options.stop == DVM_STOP_ON_EXEC && waits (proc))
    dvmd_local_proc_continued (proc);
}

static void
let_go_on (DvmdAgentJob *job, DvmdLocalProc *proc)
{
  if (proc->state == DVM_PROC_STATE_READY_FOR_DEBUG && job->options.stop != DVM_STOP_ON_EXEC)
    release (job, proc);
  dvmd_agent_let_pmi_go_on (job, proc);
  if (job->options.stop != DVM_STOP_NONE && waits (proc))
    dvmd_local_proc_continued (proc);
}

static void
let_all_go_on (DvmdAgentJob *job)
{
  job->went_on = TRUE;
  for (guint i = 0; i < job->local->procs->len; i++)
    let_go_on (job, g_ptr_array_index (job->local->procs, i));
  /* Also those that somebody has stopped by a signal. */
  dvmd_container_signal (job->container, SIGCONT);
}

static void
handle_continue (gpointer service, guint source, GVariant *body)
{
  DvmdAgentJob *job;
  guint32 id;

  g_variant_get (body, "(u)", &id);
  job = dvmd_agent_find_job (service, id);
  if (job != NULL)
    let_all_go_on (job);
}

gboolean
dvmd_agent_release (DvmdAgentJob *job, guint32 rank)
{
  DvmdLocalProc *proc = dvmd_local_job_find_proc (job->local, rank);

  if (job->options.stop == DVM_STOP_NONE || job->went_on)
    return FALSE;
  if (rank == DVMD_PMIX_RANK_WILDCARD)
    let_all_go_on (job);
  else if (proc != NULL && waits (proc))
    {
      let_go_on (job, proc);
      if (job->options.stop == DVM_STOP_ON_EXEC)
        dvmd_container_signal_rank (job->container, proc->pid, SIGCONT);
    }
  else
    return FALSE;
  return TRUE;
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_CONTINUE, handle_continue },
  { 0 },
};

const DvmdAgentService dvmd_agent_debug_service = {
  .name = "debug",
  .handlers = handlers,
};

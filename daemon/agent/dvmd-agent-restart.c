/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Processes that have failed are started again, as often as their job allows.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include <sys/wait.h>

#include "dvmd-agent-pmix.h"
#include "dvmd-agent-procs.h"
#include "dvmd-agent-ranks.h"
#include "dvmd-log.h"

/* The pause before a process is started again: each one is twice the one before, until one has run so long. */
#define FIRST_PAUSE (100 * G_TIME_SPAN_MILLISECOND)
#define LAST_PAUSE  (10 * G_USEC_PER_SEC)

/*
 * The others of a job would wait for one that has called PMIx_Init in what they had begun with it, unless they go on
 * without it. libpmix frees what it knows of one twice that was killed while it was connecting, and one in this process
 * does not tell whether anybody was.
 */
static const char *
find_obstacle (DvmdAgentJob *job, const DvmdLocalProc *proc, gboolean connecting)
{
  if ((proc->flags & DVMD_PROC_REGISTERED) && proc->restart.pmi)
    return "it has called MPI_Init, of a library that speaks PMI";
  if ((proc->flags & DVMD_PROC_REGISTERED) && !job->options.recoverable && job->map->num_procs > 1)
    return "it has called PMIx_Init or MPI_Init, in a job that may not lose processes; one that is “recoverable” may";
  if (connecting)
    return "it was killed while it may have been in PMIx_Init";
  if (WIFSIGNALED (proc->status) && job->registered && !dvmd_agent_has_pmix_servers (job->agent))
    return "it was killed, and the library of PMIx is in its agent; with --personality plain it would be";
  return NULL;
}

gboolean
dvmd_agent_may_come_back (DvmdAgentJob *job, const DvmdLocalProc *proc, gboolean connecting)
{
  gboolean failed = WIFSIGNALED (proc->status)
                    || (WEXITSTATUS (proc->status) != 0 && !job->options.status_is_no_failure);
  const char *obstacle;

  if (!failed || proc->n_before + proc->n_restarts >= job->options.max_restarts || job->killed || job->lost_at != 0
      || proc->stays_away || (proc->flags & (DVMD_PROC_ABORTED | DVMD_PROC_KILLED)))
    return FALSE;
  obstacle = find_obstacle (job, proc, connecting);
  if (obstacle != NULL)
    dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, job->local->nspace, proc->rank, "it is not started again: %s",
                   obstacle);
  return obstacle == NULL;
}

static void
on_nothing_left (DvmdContainer *container, pid_t pid, gpointer user_data)
{
  DvmdLocalProc *proc = user_data;

  proc->restart.has_rest = FALSE;
  if (proc->comes_back)
    dvmd_pipes_drain (proc->streams);
}

void
dvmd_agent_begin_restart (DvmdAgentJob *job, DvmdLocalProc *proc)
{
  dvmd_local_proc_comes_back (proc);
  proc->restart.has_rest = TRUE;
  if (dvmd_container_rank_ended (job->container, proc->pid, 0, job->options.kill_grace, on_nothing_left, proc))
    on_nothing_left (job->container, proc->pid, proc);
}

void
dvmd_agent_give_up_restart (DvmdAgentJob *job, DvmdLocalProc *proc)
{
  if (job->registered && proc->comes_back)
    dvmd_pmix_deregister_client (dvmd_agent_get_pmix (job->agent), job->local->nspace, proc->rank);
  dvmd_local_proc_gave_up (proc);
}

/* Of a process whose job may be gone when the answer comes. */
typedef struct
{
  DvmdAgent *agent;
  guint32 job;
  guint32 rank;
} Return;

static void
on_taken_back (GObject *pmix, GAsyncResult *result, gpointer user_data)
{
  g_autofree Return *self = user_data;
  g_autoptr (DvmdAgent) agent = self->agent;
  g_autoptr (GError) error = NULL;
  gboolean good = dvmd_pmix_take_back_finish (DVMD_PMIX (pmix), result, &error);
  DvmdAgentJob *job = dvmd_agent_find_job (agent, self->job);
  DvmdLocalProc *proc = job != NULL ? dvmd_local_job_find_proc (job->local, self->rank) : NULL;

  if (proc == NULL || !proc->comes_back)
    return;
  if (!good)
    dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, job->local->nspace, proc->rank, "it is not started again: %s",
                   error->message);
  if (good && job->lost_at == 0)
    dvmd_agent_start_again (job, proc);
  else
    dvmd_agent_give_up_restart (job, proc);
}

/* The server forgets the process before the next one comes. */
static void
return_to_server (DvmdAgentJob *job, DvmdLocalProc *proc)
{
  Return *self = g_new (Return, 1);

  *self = (Return){ g_object_ref (job->agent), job->local->id, proc->rank };
  dvmd_pmix_take_back_async (dvmd_agent_get_pmix (job->agent), job->local->nspace, proc->rank, on_taken_back, self);
}

static void
on_pause_over (gpointer user_data)
{
  DvmdLocalProc *proc = user_data;
  DvmdAgentJob *job = proc->job->user_data;

  proc->restart.timer = 0;
  if (!proc->comes_back)
    return;
  /* The controller hears of the first process before it hears of this one, which has the place for itself. */
  if (!dvmd_agent_is_launched (job) || proc->restart.has_rest)
    proc->restart.timer = dvmd_clock_add_timer (dvmd_agent_get_parts (job->agent)->clock, FIRST_PAUSE, on_pause_over,
                                                proc);
  else if (job->lost_at != 0 || find_obstacle (job, proc, FALSE) != NULL)
    dvmd_agent_give_up_restart (job, proc);
  else if (proc->flags & DVMD_PROC_REGISTERED)
    return_to_server (job, proc);
  else
    dvmd_agent_start_again (job, proc);
}

void
dvmd_agent_await_restart (DvmdLocalJob *local, DvmdLocalProc *proc, gpointer user_data)
{
  DvmdAgentJob *job = user_data;

  if (proc->restart.pause == 0 || proc->reaped_at - proc->restart.started_at >= LAST_PAUSE)
    proc->restart.pause = FIRST_PAUSE;
  else
    proc->restart.pause = MIN (proc->restart.pause * 2, LAST_PAUSE);
  proc->restart.timer = dvmd_clock_add_timer (dvmd_agent_get_parts (job->agent)->clock, proc->restart.pause,
                                              on_pause_over, proc);
}

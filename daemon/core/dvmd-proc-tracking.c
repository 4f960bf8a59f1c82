/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reports of agents about their processes are applied to the job: counts, events, and the failure policy.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-proc"

#include "dvm-records-private.h"

#include "dvmd-proc-tracking.h"

#include "dvmd-core-news.h"
#include "dvmd-core-nodes.h"
#include "dvmd-core-parts.h"
#include "dvmd-job-answers.h"
#include "dvmd-job-debug.h"
#include "dvmd-job-hold.h"
#include "dvmd-job-machine.h"
#include "dvmd-job-moves.h"
#include "dvmd-job-private.h"
#include "dvmd-job-reason.h"
#include "dvmd-log.h"
#include "dvmd-trace.h"

#include <string.h>

typedef struct
{
  guint n_launched;
  guint n_failed_start;
  guint n_registered;
  guint n_ended;
  guint n_ended_unregistered; /* well, but without having called PMIx_Init */
  guint unregistered_rank;    /* the first of them */
  guint n_failures;           /* of processes that come back */
} Counts;

static Counts *
counts_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_COUNTS, sizeof (Counts), NULL);
}

/* The state of the job that a process takes down with it. */
static DvmJobState
job_state_for (DvmProcState state)
{
  switch (state)
    {
    case DVM_PROC_STATE_FAILED_TO_START:
      return DVM_JOB_STATE_FAILED_TO_START;
    case DVM_PROC_STATE_ABORTED_BY_SIG:
      return DVM_JOB_STATE_ABORTED_BY_SIG;
    case DVM_PROC_STATE_TERM_WO_SYNC:
      return DVM_JOB_STATE_ABORTED_WO_SYNC;
    case DVM_PROC_STATE_CALLED_ABORT:
      return DVM_JOB_STATE_CALLED_ABORT;
    case DVM_PROC_STATE_TERM_NON_ZERO:
      return DVM_JOB_STATE_NON_ZERO_TERM;
    case DVM_PROC_STATE_COMM_FAILED:
      return DVM_JOB_STATE_COMM_FAILED;
    case DVM_PROC_STATE_KILLED_BY_CMD:
      return DVM_JOB_STATE_KILLED_BY_CMD;
    case DVM_PROC_STATE_FAILED_TO_LAUNCH:
      return DVM_JOB_STATE_FAILED_TO_LAUNCH;
    default:
      return DVM_JOB_STATE_ABORTED;
    }
}

static DvmReason *
describe_end (DvmdJob *job, guint rank, DvmProcState state, int exit_code, int exit_signal)
{
  DvmdProcRow *row = dvmd_proc_table_row (job->procs, rank);
  const char *host = dvmd_node_pool_get_name (dvmd_core_get_nodes (job->core), row->node);

  switch (state)
    {
    case DVM_PROC_STATE_ABORTED_BY_SIG:
      return _dvm_reason_new (DVM_REASON_RANK_SIGNAL, rank, host, exit_signal, g_strsignal (exit_signal));
    case DVM_PROC_STATE_TERM_WO_SYNC:
      return _dvm_reason_new (DVM_REASON_RANK_WITHOUT_FINALIZE, rank, host, exit_code);
    case DVM_PROC_STATE_TERM_NON_ZERO:
      return _dvm_reason_new (DVM_REASON_RANK_STATUS, rank, host, exit_code);
    case DVM_PROC_STATE_CALLED_ABORT:
      return _dvm_reason_new (DVM_REASON_RANK_ABORT, rank, host, exit_code);
    default:
      return _dvm_reason_new (DVM_REASON_RANK_STATE, rank, host, dvm_proc_state_to_string (state));
    }
}

static gboolean
ends_the_job (DvmdJob *job, DvmProcState state)
{
  if (job->recoverable)
    return FALSE;
  return state != DVM_PROC_STATE_TERM_NON_ZERO || job->error_nonzero_status;
}

static void
set_proc_state (DvmdJob *job, guint rank, DvmProcState state, const char *note)
{
  DvmdProcRow *row = dvmd_proc_table_row (job->procs, rank);
  DvmProcState old_state = row->state;

  row->state = state;
  dvmd_job_debug_count (job, old_state, state);
  dvmd_job_trace (job, rank, old_state, state, note);
  _dvm_job_proc_state_changed (job->record, rank, old_state, state);
}

static void
publish_counts (DvmdJob *job)
{
  const Counts *counts = counts_of (job);

  _dvm_job_set_counts (job->record, counts->n_launched, counts->n_registered, counts->n_ended);
}

/* A process that is over, in whatever way, counts once. */
static void
count_end (DvmdJob *job, guint rank)
{
  DvmdProcRow *row = dvmd_proc_table_row (job->procs, rank);
  Counts *counts = counts_of (job);

  if (row->flags & DVMD_PROC_ENDED)
    return;
  row->flags |= DVMD_PROC_ENDED;
  counts->n_ended++;
  dvmd_job_debug_ended (job, rank);
  publish_counts (job);
  if (counts->n_ended == job->procs->n_rows)
    dvmd_core_post (job, DVMD_JOB_ALL_TERMINATED);
}

static void
proc_failed (DvmdJob *job, guint rank, DvmProcState state, int exit_code, int exit_signal, const DvmReason *reason)
{
  dvmd_job_record_exit (job, rank, exit_code, exit_signal);
  if (ends_the_job (job, state))
    dvmd_core_post_reason (job, job_state_for (state), reason);
}

/* ---- the stop for a debugger ---- */

static gboolean
all_tried (DvmdJob *job)
{
  const Counts *counts = counts_of (job);

  return dvmd_job_is_launched (job) && dvmd_job_answers_count (job, DVMD_ANSWER_LAUNCHED) == 0
         && counts->n_launched + counts->n_failed_start == job->procs->n_rows;
}

/* The event of the last end is on its way, and behind it nobody is told how far the job had come. */
static gboolean
have_all_ended (DvmdJob *job)
{
  return counts_of (job)->n_ended == job->procs->n_rows;
}

static void
go_on (DvmdJob *job)
{
  if (all_tried (job) && !have_all_ended (job))
    dvmd_core_post (job, DVMD_JOB_ALL_RUNNING);
  if (counts_of (job)->n_registered == job->procs->n_rows && !have_all_ended (job))
    dvmd_core_post (job, DVMD_JOB_ALL_REGISTERED);
  dvmd_job_hold_ranks (job);
}

/* A debugger is told that the processes of its job are there when all are: the job does not run yet, which would tell.
 */
static gboolean
is_far_enough (DvmdJob *job)
{
  return !dvmd_job_stops (job)
         || (dvmd_job_is_launched (job) && dvmd_job_answers_count (job, DVMD_ANSWER_LAUNCHED) == 0);
}

/* Some ranks may wait for the debugger already while others are being started. */
static void
check_waiting (DvmdJob *job)
{
  DvmdDebugNews news = DVMD_DEBUG_NOTHING;

  if (is_far_enough (job))
    news = dvmd_job_debug_check (job, counts_of (job)->n_ended);
  if (news == DVMD_DEBUG_READY)
    dvmd_core_post (job, DVMD_JOB_ALL_READY_FOR_DEBUG);
  else if (news == DVMD_DEBUG_OVER)
    go_on (job);
}

void
dvmd_core_continue_job (DvmdCore *self, DvmdJob *job)
{
  if (job->procs != NULL && dvmd_job_debug_skip (job))
    go_on (job);
}

static DvmdNode *
node_of (DvmdJob *job, guint rank)
{
  return dvmd_node_pool_get (dvmd_core_get_nodes (job->core), dvmd_proc_table_row (job->procs, rank)->node);
}

static const char *
name_of (DvmdJob *job, guint rank)
{
  return dvmd_node_pool_get_name (dvmd_core_get_nodes (job->core), dvmd_proc_table_row (job->procs, rank)->node);
}

gboolean
dvmd_job_is_rank_lost (DvmdJob *self, guint rank)
{
  DvmdNode *node = node_of (self, rank);

  DvmProcState state = dvmd_proc_table_row (self->procs, rank)->state;

  if (node != NULL && state == DVM_PROC_STATE_RESTART)
    return dvmd_node_is_down (node);
  return node != NULL && state == (node->leaving ? DVM_PROC_STATE_KILLED_BY_CMD : DVM_PROC_STATE_COMM_FAILED);
}

/* A message of an agent about a rank counts if there is such a rank, and the agent was not lost before it came. */
static gboolean
is_news (DvmdJob *job, guint rank)
{
  DvmdNode *node;

  if (job->procs == NULL || rank >= job->procs->n_rows)
    {
      dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, dvm_job_get_nspace (job->record),
                    "an agent speaks of rank %u, which the job does not have", rank);
      return FALSE;
    }
  node = node_of (job, rank);
  if (node != NULL && dvm_node_get_state (node->record) != DVM_NODE_STATE_DOWN)
    return TRUE;
  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, dvm_job_get_nspace (job->record), rank,
                 "news of it come from an agent that was lost");
  return FALSE;
}

static void
not_started (DvmdJob *job, guint rank, int exit_code, const char *reason)
{
  DvmdProcRow *row = dvmd_proc_table_row (job->procs, rank);
  g_autoptr (DvmReason) why = _dvm_reason_new (DVM_REASON_RANK_NOT_STARTED, rank, name_of (job, rank), reason);

  row->exit_code = exit_code;
  set_proc_state (job, rank, DVM_PROC_STATE_FAILED_TO_START, why->text);
  proc_failed (job, rank, DVM_PROC_STATE_FAILED_TO_START, exit_code, 0, why);
  count_end (job, rank);
}

void
dvmd_core_proc_launched (DvmdCore *self, DvmdJob *job, guint rank, int pid, int exit_code, const char *reason)
{
  DvmdProcRow *row;

  if (!is_news (job, rank))
    return;
  row = dvmd_proc_table_row (job->procs, rank);
  /* On another node than before. */
  if ((row->flags & DVMD_PROC_LAUNCHED) && row->state == DVM_PROC_STATE_RESTART)
    {
      dvmd_core_proc_relaunched (self, job, rank, pid, exit_code, reason);
      return;
    }
  if (row->flags & (DVMD_PROC_LAUNCHED | DVMD_PROC_ENDED))
    {
      dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, dvm_job_get_nspace (job->record), rank,
                     "that it was launched is not news");
      return;
    }
  if (pid > 0)
    {
      row->pid = pid;
      row->flags |= DVMD_PROC_LAUNCHED;
      set_proc_state (job, rank, DVM_PROC_STATE_RUNNING, NULL);
      dvmd_core_get_counters (self)->procs_launched++;
      if (counts_of (job)->n_launched++ == 0)
        dvmd_core_post (job, DVMD_JOB_FIRST_STARTED);
      publish_counts (job);
      return;
    }
  counts_of (job)->n_failed_start++;
  not_started (job, rank, exit_code, reason);
}

void
dvmd_core_proc_relaunched (DvmdCore *self, DvmdJob *job, guint rank, int pid, int exit_code, const char *reason)
{
  DvmdProcRow *row;

  if (!is_news (job, rank))
    return;
  row = dvmd_proc_table_row (job->procs, rank);
  if (row->state != DVM_PROC_STATE_RESTART)
    {
      dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, dvm_job_get_nspace (job->record), rank,
                     "that it was started again is not news");
      return;
    }
  if (pid <= 0)
    {
      not_started (job, rank, exit_code, reason);
      return;
    }
  row->pid = pid;
  _dvm_job_set_restarts (job->record, dvm_job_get_restarts (job->record) + 1);
  dvmd_core_get_counters (self)->procs_launched++;
  set_proc_state (job, rank, DVM_PROC_STATE_RUNNING, NULL);
}

/* An agent has tried all of its processes, or never will. */
static void
agent_has_tried (DvmdJob *job)
{
  if (!have_all_ended (job) && is_far_enough (job))
    dvmd_core_post (job, DVMD_JOB_LOCAL_LAUNCHED);
  check_waiting (job);
  if (all_tried (job) && !dvmd_job_debug_holds (job) && !have_all_ended (job))
    dvmd_core_post (job, DVMD_JOB_ALL_RUNNING);
  dvmd_job_hold_ranks (job);
}

void
dvmd_core_local_launch_complete (DvmdCore *self, DvmdJob *job, guint agent)
{
  if (!dvmd_job_answers_take (job, DVMD_ANSWER_LAUNCHED, agent))
    {
      dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, dvm_job_get_nspace (job->record),
                    "that agent %u has launched it is not news", agent);
      return;
    }
  agent_has_tried (job);
}

/*
 * Ranks that have called PMIx_Init wait for those that never will: the library cannot end their collectives, so the job
 * ends.
 */
static void
check_unregistered (DvmdJob *job)
{
  g_autoptr (DvmReason) reason = NULL;
  const Counts *counts = counts_of (job);
  guint rank = counts->unregistered_rank;

  if (counts->n_registered == 0 || counts->n_ended_unregistered == 0 || job->recoverable || dvmd_job_has_exit (job))
    return;
  reason = _dvm_reason_new (DVM_REASON_RANK_WITHOUT_INIT, rank, name_of (job, rank));
  proc_failed (job, rank, DVM_PROC_STATE_TERM_WO_SYNC, 0, 0, reason);
}

static void
note_unregistered_end (DvmdJob *job, guint rank, DvmdProcRow *row)
{
  Counts *counts = counts_of (job);

  if (row->flags & DVMD_PROC_REGISTERED)
    return;
  if (counts->n_ended_unregistered++ == 0)
    counts->unregistered_rank = rank;
  check_unregistered (job);
}

static void
note_registered (DvmdJob *job, DvmdProcRow *row)
{
  Counts *counts = counts_of (job);

  if (row->flags & DVMD_PROC_REGISTERED)
    return;
  row->flags |= DVMD_PROC_REGISTERED;
  counts->n_registered++;
  publish_counts (job);
  if (counts->n_registered == job->procs->n_rows && !dvmd_job_debug_holds (job))
    dvmd_core_post (job, DVMD_JOB_ALL_REGISTERED);
  check_unregistered (job);
}

/* A rank on a node that leaves has ended as killed processes do: the departure has ended it (D15). */
static gboolean
is_taken_away (DvmdJob *job, guint rank, DvmProcState state)
{
  DvmdNode *node = node_of (job, rank);

  return node != NULL && node->stage == DVMD_STAGE_ORDERED
         && (state == DVM_PROC_STATE_KILLED_BY_CMD || state == DVM_PROC_STATE_ABORTED_BY_SIG
             || state == DVM_PROC_STATE_TERM_NON_ZERO || state == DVM_PROC_STATE_TERM_WO_SYNC);
}

/* The process has failed, and its agent starts it again. Thousands may do so at once: the trace has them all. */
static void
note_restart (DvmdJob *job, guint rank, int exit_code, int exit_signal)
{
  DvmProcState end = exit_signal != 0 ? DVM_PROC_STATE_ABORTED_BY_SIG : DVM_PROC_STATE_TERM_NON_ZERO;
  g_autoptr (DvmReason) reason = describe_end (job, rank, end, exit_code, exit_signal);

  dvmd_job_moves_count (job, rank);
  dvmd_proc_table_row (job->procs, rank)->pid = 0;
  set_proc_state (job, rank, DVM_PROC_STATE_RESTART, reason->text);
  dvmd_log_rank (G_LOG_DOMAIN, counts_of (job)->n_failures++ == 0 ? G_LOG_LEVEL_MESSAGE : G_LOG_LEVEL_INFO,
                 dvm_job_get_nspace (job->record), rank, "%s: it is started again, up to %u times", reason->text,
                 job->max_restarts);
}

void
dvmd_core_note_aborted (DvmdJob *job, guint rank, int status)
{
  DvmdProcRow *row = dvmd_proc_table_row (job->procs, rank);

  if (row->flags & DVMD_PROC_ENDED)
    return;
  row->flags |= DVMD_PROC_ABORTED;
  row->exit_code = status;
  dvmd_job_record_exit (job, rank, status, 0);
}

void
dvmd_core_proc_state (DvmdCore *self, DvmdJob *job, guint rank, DvmProcState state, int exit_code, int exit_signal)
{
  g_autoptr (DvmReason) reason = NULL;
  DvmdProcRow *row;

  if (!is_news (job, rank))
    return;
  row = dvmd_proc_table_row (job->procs, rank);
  if (row->flags & DVMD_PROC_ENDED)
    {
      dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, dvm_job_get_nspace (job->record), rank,
                     "it has ended already, %s is not news", dvm_proc_state_to_string (state));
      return;
    }
  if (state == DVM_PROC_STATE_RESTART)
    {
      note_restart (job, rank, exit_code, exit_signal);
      return;
    }
  if (state == DVM_PROC_STATE_REGISTERED)
    note_registered (job, row);
  /* The rank closed its output, or ended, before it was known as registered: its state does not go back. */
  if (state == DVM_PROC_STATE_REGISTERED
      && (row->state == DVM_PROC_STATE_IOF_COMPLETE || row->state == DVM_PROC_STATE_WAITPID_FIRED))
    return;
  if (dvm_proc_state_is_live (state))
    {
      set_proc_state (job, rank, state, NULL);
      check_waiting (job);
      return;
    }
  if ((row->flags & DVMD_PROC_ABORTED) && dvm_proc_state_is_error (state))
    {
      if (state != DVM_PROC_STATE_CALLED_ABORT)
        reason = _dvm_reason_new (DVM_REASON_RANK_STATE, rank, name_of (job, rank),
                                  dvm_proc_state_to_string (DVM_PROC_STATE_CALLED_ABORT));
      state = DVM_PROC_STATE_CALLED_ABORT;
      exit_code = row->exit_code;
      exit_signal = 0;
    }
  row->exit_code = exit_code;
  row->exit_signal = exit_signal;
  if (is_taken_away (job, rank, state))
    {
      state = DVM_PROC_STATE_KILLED_BY_CMD;
      reason = dvmd_core_describe_departure (node_of (job, rank));
    }
  if (dvm_proc_state_is_error (state))
    {
      if (reason == NULL)
        reason = describe_end (job, rank, state, exit_code, exit_signal);
      set_proc_state (job, rank, state, reason->text);
      proc_failed (job, rank, state, exit_code, exit_signal, reason);
    }
  else
    {
      set_proc_state (job, rank, state, NULL);
      note_unregistered_end (job, rank, row);
    }
  count_end (job, rank);
  check_waiting (job);
}

/* Open MPI hands on "N/A" for MPI_Abort(), which has no message. */
gboolean
dvmd_core_has_abort_message (const char *message)
{
  return message != NULL && message[0] != '\0' && strcmp (message, "N/A") != 0;
}

void
dvmd_core_abort_called (DvmdCore *self, DvmdJob *job, guint rank, int status, const char *message)
{
  g_autoptr (DvmReason) reason = NULL;

  if (!is_news (job, rank))
    return;
  if (dvmd_core_has_abort_message (message))
    reason = _dvm_reason_new (DVM_REASON_RANK_ABORT_MESSAGE, rank, name_of (job, rank), status, message);
  else
    reason = describe_end (job, rank, DVM_PROC_STATE_CALLED_ABORT, status, 0);
  dvmd_job_record_exit (job, rank, status, 0);
  dvmd_core_post_reason (job, DVM_JOB_STATE_CALLED_ABORT, reason);
}

/* ---- a node is lost ---- */

/*
 * The ranks of that node that had not ended are over. Whether a rank was started of which no news came is not known.
 * Returns how many there were; first: the lowest.
 */
static guint
lose_ranks (DvmdJob *job, GArray *ranks, DvmProcState state, const char *reason, guint *first)
{
  guint n = 0;

  for (guint i = 0; i < ranks->len; i++)
    {
      guint rank = g_array_index (ranks, DvmdMapRank, i).rank;
      DvmdProcRow *row = dvmd_proc_table_row (job->procs, rank);

      if (row->flags & DVMD_PROC_ENDED)
        continue;
      if (n++ == 0)
        *first = rank;
      if (!(row->flags & DVMD_PROC_LAUNCHED))
        counts_of (job)->n_failed_start++;
      set_proc_state (job, rank, state, reason);
    }
  return n;
}

/* The agent will not say that it has tried all of its processes. */
static void
lose_launch (DvmdJob *job, DvmdNode *node)
{
  if (dvmd_job_answers_take (job, DVMD_ANSWER_LAUNCHED, node->rank))
    agent_has_tried (job);
}

static gboolean
goes_on_without (DvmdJob *job, guint n_lost)
{
  return job->recoverable && dvmd_job_get_state (job) < DVM_JOB_STATE_UNTERMINATED
         && counts_of (job)->n_ended + n_lost < job->procs->n_rows;
}

/* The ranks of that node that have not ended. first: the lowest so far, which is at where */
static guint
count_alive (DvmdJob *job, DvmdNode *node, guint *first, DvmdNode **where)
{
  g_autoptr (GArray) ranks = dvmd_map_expand_node (job->map, node->rank);
  guint n = 0;

  for (guint i = 0; i < ranks->len; i++)
    {
      guint rank = g_array_index (ranks, DvmdMapRank, i).rank;

      if (dvmd_proc_table_row (job->procs, rank)->flags & DVMD_PROC_ENDED)
        continue;
      n++;
      if (rank < *first)
        *where = node;
      *first = MIN (*first, rank);
    }
  return n;
}

void
dvmd_core_take_away (DvmdJob *job)
{
  g_autoptr (GArray) agents = dvmd_map_get_nodes (job->map);
  guint first = G_MAXUINT;
  DvmdNode *where = NULL;
  guint n = 0;
  g_autoptr (DvmReason) reason = NULL;

  for (guint i = 0; i < agents->len; i++)
    {
      DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (job->core), g_array_index (agents, guint, i));

      if (node != NULL && node->leaving && node->stage != DVMD_STAGE_ORDERED)
        n += count_alive (job, node, &first, &where);
    }
  if (n == 0 || goes_on_without (job, n))
    return;
  reason = dvmd_core_describe_departure (where);
  dvmd_job_record_exit (job, first, 0, 0);
  dvmd_core_post_reason (job, DVM_JOB_STATE_KILLED_BY_CMD, reason);
}

/* Ranks that start again on another node are not lost: they are taken out of the array. */
static void
take_movable (DvmdJob *job, DvmdNode *node, GArray *ranks, const DvmReason *reason)
{
  g_autoptr (GArray) taken = dvmd_job_moves_take (job, node, ranks, reason);

  for (guint i = 0; i < taken->len; i++)
    {
      guint32 rank = g_array_index (taken, guint32, i);

      dvmd_proc_table_row (job->procs, rank)->pid = 0;
      set_proc_state (job, rank, DVM_PROC_STATE_RESTART, reason->text);
    }
}

/* They have ended as their node was lost, after all, or with their job. */
void
dvmd_core_give_up_moves (DvmdJob *job, GArray *ranks, const DvmReason *reason)
{
  gboolean ends = dvmd_job_get_state (job) < DVM_JOB_STATE_UNTERMINATED;
  gboolean tried = all_tried (job);
  DvmProcState state = ends ? DVM_PROC_STATE_COMM_FAILED : DVM_PROC_STATE_KILLED_BY_CMD;

  for (guint i = 0; i < ranks->len; i++)
    {
      DvmdProcRow *row = dvmd_proc_table_row (job->procs, g_array_index (ranks, guint32, i));

      if (!(row->flags & DVMD_PROC_LAUNCHED))
        counts_of (job)->n_failed_start++;
      set_proc_state (job, g_array_index (ranks, guint32, i), state, reason->text);
    }
  if (ends && !goes_on_without (job, ranks->len))
    {
      dvmd_job_record_exit (job, g_array_index (ranks, guint32, 0), 0, 0);
      dvmd_core_post_reason (job, DVM_JOB_STATE_COMM_FAILED, reason);
    }
  if (!tried)
    agent_has_tried (job);
  for (guint i = 0; i < ranks->len; i++)
    count_end (job, g_array_index (ranks, guint32, i));
  check_waiting (job);
}

/* Whether agents are still to say that they have tried theirs. */
gboolean
dvmd_core_is_launching (DvmdJob *job)
{
  return !all_tried (job);
}

void
dvmd_core_lose_procs (DvmdJob *job, DvmdNode *node, const DvmReason *reason)
{
  g_autoptr (GArray) ranks = dvmd_map_expand_node (job->map, node->rank);
  DvmProcState state = node->leaving ? DVM_PROC_STATE_KILLED_BY_CMD : DVM_PROC_STATE_COMM_FAILED;
  guint first = 0;
  guint n_lost;

  take_movable (job, node, ranks, reason);
  n_lost = lose_ranks (job, ranks, state, reason->text, &first);

  if (n_lost > 0 && !goes_on_without (job, n_lost))
    {
      dvmd_job_record_exit (job, first, 0, 0);
      dvmd_core_post_reason (job, job_state_for (state), reason);
    }
  lose_launch (job, node);
  for (guint i = 0; i < ranks->len; i++)
    count_end (job, g_array_index (ranks, DvmdMapRank, i).rank);
  check_waiting (job);
}

/* Whether ranks were lost there, or have ended because the node was to leave. */
static gboolean
has_lost_ranks (DvmdJob *job, DvmdNode *node)
{
  g_autoptr (GArray) ranks = dvmd_map_expand_node (job->map, node->rank);

  for (guint i = 0; i < ranks->len; i++)
    if (dvmd_job_is_rank_lost (job, g_array_index (ranks, DvmdMapRank, i).rank))
      return TRUE;
  return FALSE;
}

/* An agent that leaves in good order says that the job is gone there before it goes. */
static void
tell_node_lost (DvmdJob *job, guint agent)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (job->core), agent);

  if (node == NULL || job->procs == NULL || !(goes_on_without (job, 0) || dvmd_job_moves_is_waiting (job))
      || !has_lost_ranks (job, node) || dvmd_core_get_effects (job->core)->node_lost == NULL)
    return;
  dvmd_core_get_effects (job->core)->node_lost (dvmd_core_get_user_data (job->core), job, node);
}

void
dvmd_core_job_gone (DvmdCore *self, DvmdJob *job, guint agent)
{
  if (!dvmd_job_answers_take (job, DVMD_ANSWER_GONE, agent))
    return;
  tell_node_lost (job, agent);
  if (dvmd_job_answers_count (job, DVMD_ANSWER_GONE) > 0)
    return;
  if (dvm_job_state_is_error (dvmd_job_get_state (job)))
    dvmd_core_post (job, DVMD_JOB_GONE);
  else if (dvmd_job_get_state (job) == DVM_JOB_STATE_NOTIFY_COMPLETED)
    dvmd_core_post (job, DVMD_JOB_CLEANED);
}

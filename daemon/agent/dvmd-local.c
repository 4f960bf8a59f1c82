/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The state machines of the jobs and ranks of one node (L1).
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-local"

#include "dvmd-local.h"

enum
{
  PROC_STARTED,
  PROC_NOT_STARTED,
  PROC_REGISTERED,
  PROC_WAITS,         /* for a debugger */
  PROC_CONTINUED,     /* carries the state before that */
  PROC_OUTPUT_CLOSED, /* carries the final state, should it be the second of the two */
  PROC_EXITED,        /* likewise */
  PROC_GAVE_UP,       /* to come back; carries the final state */
  PROC_N_EVENTS
};

enum
{
  JOB_ALL_TRIED,
  JOB_ALL_WAIT, /* for a debugger */
  JOB_CONTINUED,
  JOB_ALL_ENDED,
  JOB_CLEANED,
  JOB_FORCED,
  JOB_N_EVENTS
};

/* ---- processes ---- */

static void
count_end (DvmdLocalProc *proc)
{
  DvmdLocalJob *job = proc->job;

  job->n_ended++;
  if (job->n_ended == job->procs->len)
    dvmd_state_machine_post (job->queue, &dvmd_local_job_table, job, JOB_ALL_ENDED, 0, NULL);
}

static void
act_ended (gpointer object, const DvmdEvent *event)
{
  count_end (object);
}

static void
enter_restart (gpointer object, const DvmdEvent *event)
{
  DvmdLocalProc *proc = object;

  proc->n_restarts++;
  if (proc->comes_back && proc->job->funcs->restart != NULL)
    proc->job->funcs->restart (proc->job, proc, proc->job->user_data);
}

/* The last of output and process, of one that may come back. */
static void
act_ended_for_now (gpointer object, const DvmdEvent *event)
{
  if (event->given != DVM_PROC_STATE_RESTART)
    count_end (object);
}

static void
act_registered_late (gpointer object, const DvmdEvent *event)
{
  DvmdLocalProc *proc = object;

  if (proc->job->funcs->registered_late != NULL)
    proc->job->funcs->registered_late (proc->job, proc, proc->job->user_data);
}

static const DvmdState proc_states[] = {
  { DVM_PROC_STATE_INIT, NULL },
  { DVM_PROC_STATE_RUNNING, NULL },
  { DVM_PROC_STATE_RESTART, enter_restart },
  { DVM_PROC_STATE_REGISTERED, NULL },
  { DVM_PROC_STATE_READY_FOR_DEBUG, NULL },
  { DVM_PROC_STATE_IOF_COMPLETE, NULL },
  { DVM_PROC_STATE_WAITPID_FIRED, NULL },
  { DVM_PROC_STATE_TERMINATED, NULL },
  { DVM_PROC_STATE_FAILED_TO_START, NULL },
};

static const DvmdTransition proc_transitions[] = {
  { DVM_PROC_STATE_INIT, PROC_STARTED, DVM_PROC_STATE_RUNNING, NULL },
  { DVM_PROC_STATE_INIT, PROC_NOT_STARTED, DVM_PROC_STATE_FAILED_TO_START, act_ended },
  { DVM_PROC_STATE_RUNNING, PROC_REGISTERED, DVM_PROC_STATE_REGISTERED, NULL },
  { DVM_PROC_STATE_RUNNING, PROC_OUTPUT_CLOSED, DVM_PROC_STATE_IOF_COMPLETE, NULL },
  { DVM_PROC_STATE_RUNNING, PROC_EXITED, DVM_PROC_STATE_WAITPID_FIRED, NULL },
  { DVM_PROC_STATE_RUNNING, PROC_WAITS, DVM_PROC_STATE_READY_FOR_DEBUG, NULL },
  { DVM_PROC_STATE_REGISTERED, PROC_WAITS, DVM_PROC_STATE_READY_FOR_DEBUG, NULL },
  { DVM_PROC_STATE_READY_FOR_DEBUG, PROC_CONTINUED, DVMD_STATE_GIVEN, NULL },
  /* A debugger has let it go on from its start. */
  { DVM_PROC_STATE_READY_FOR_DEBUG, PROC_REGISTERED, DVM_PROC_STATE_REGISTERED, NULL },
  { DVM_PROC_STATE_READY_FOR_DEBUG, PROC_OUTPUT_CLOSED, DVM_PROC_STATE_IOF_COMPLETE, NULL },
  { DVM_PROC_STATE_READY_FOR_DEBUG, PROC_EXITED, DVM_PROC_STATE_WAITPID_FIRED, NULL },
  { DVM_PROC_STATE_REGISTERED, PROC_OUTPUT_CLOSED, DVM_PROC_STATE_IOF_COMPLETE, NULL },
  { DVM_PROC_STATE_REGISTERED, PROC_EXITED, DVM_PROC_STATE_WAITPID_FIRED, NULL },
  /* One that closed its output early and calls PMIx_Init afterwards is registered all the same. */
  { DVM_PROC_STATE_IOF_COMPLETE, PROC_REGISTERED, DVMD_STATE_SAME, act_registered_late },
  { DVM_PROC_STATE_IOF_COMPLETE, PROC_EXITED, DVMD_STATE_GIVEN, act_ended_for_now },
  { DVM_PROC_STATE_WAITPID_FIRED, PROC_REGISTERED, DVMD_STATE_SAME, act_registered_late },
  { DVM_PROC_STATE_WAITPID_FIRED, PROC_OUTPUT_CLOSED, DVMD_STATE_GIVEN, act_ended_for_now },
  { DVM_PROC_STATE_RESTART, PROC_STARTED, DVM_PROC_STATE_RUNNING, NULL },
  { DVM_PROC_STATE_RESTART, PROC_NOT_STARTED, DVM_PROC_STATE_FAILED_TO_START, act_ended },
  { DVM_PROC_STATE_RESTART, PROC_GAVE_UP, DVMD_STATE_GIVEN, act_ended },
  { DVM_PROC_STATE_RESTART, PROC_REGISTERED, DVMD_STATE_SAME, NULL },
  /* Its output is still open, and carries the final state. */
  { DVM_PROC_STATE_WAITPID_FIRED, PROC_GAVE_UP, DVMD_STATE_SAME, NULL },
  /* PMIx tells of a process at its own pace, as late as after the end. */
  { DVMD_STATE_ANY_ENDED, PROC_REGISTERED, DVMD_STATE_SAME, NULL },
  { DVM_PROC_STATE_IOF_COMPLETE, PROC_WAITS, DVMD_STATE_SAME, NULL },
  { DVM_PROC_STATE_WAITPID_FIRED, PROC_WAITS, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, PROC_WAITS, DVMD_STATE_SAME, NULL },
  /* A process may say that it waits as often as it likes. */
  { DVM_PROC_STATE_READY_FOR_DEBUG, PROC_WAITS, DVMD_STATE_SAME, NULL },
  /* All processes that have not exited are told to go on, also if they do not wait yet, or have closed their output. */
  { DVM_PROC_STATE_RUNNING, PROC_CONTINUED, DVMD_STATE_SAME, NULL },
  { DVM_PROC_STATE_REGISTERED, PROC_CONTINUED, DVMD_STATE_SAME, NULL },
  { DVM_PROC_STATE_IOF_COMPLETE, PROC_CONTINUED, DVMD_STATE_SAME, NULL },
};

static const char *const proc_event_names[PROC_N_EVENTS] = {
  [PROC_STARTED] = "started",       [PROC_NOT_STARTED] = "not-started",
  [PROC_REGISTERED] = "registered", [PROC_OUTPUT_CLOSED] = "output-closed",
  [PROC_EXITED] = "exited",         [PROC_WAITS] = "waits",
  [PROC_CONTINUED] = "continued",   [PROC_GAVE_UP] = "gave-up",
};

static guint
proc_get_state (gpointer object)
{
  return ((DvmdLocalProc *)object)->state;
}

static void
count_waiting (DvmdLocalJob *job, guint old_state, guint new_state)
{
  if (new_state == DVM_PROC_STATE_READY_FOR_DEBUG)
    {
      if (++job->n_waiting + job->n_ended == job->procs->len)
        dvmd_state_machine_post (job->queue, &dvmd_local_job_table, job, JOB_ALL_WAIT, 0, NULL);
    }
  else if (old_state == DVM_PROC_STATE_READY_FOR_DEBUG && --job->n_waiting == 0)
    dvmd_state_machine_post (job->queue, &dvmd_local_job_table, job, JOB_CONTINUED, 0, NULL);
}

static void
proc_set_state (gpointer object, guint old_state, guint new_state, const DvmdEvent *event)
{
  DvmdLocalProc *self = object;

  self->state = new_state;
  count_waiting (self->job, old_state, new_state);
  self->job->funcs->proc_changed (self->job, self, self->job->user_data);
}

static const char *
proc_describe (gpointer object)
{
  return ((DvmdLocalProc *)object)->job->nspace;
}

static void
proc_refused (gpointer object, guint state, const DvmdEvent *event)
{
  DvmdLocalProc *self = object;

  g_warning ("job %s: rank %u: event %s is not in the table for state %s", self->job->nspace, self->rank,
             proc_event_names[event->event], dvm_proc_state_to_string (state));
}

/* A process lives as long as its job. */
static gpointer
proc_ref (gpointer object)
{
  dvmd_local_job_ref (((DvmdLocalProc *)object)->job);
  return object;
}

static void
proc_unref (gpointer object)
{
  dvmd_local_job_unref (((DvmdLocalProc *)object)->job);
}

const DvmdStateTable dvmd_local_proc_table = {
  .name = "local-process",
  .states = proc_states,
  .n_states = G_N_ELEMENTS (proc_states),
  .transitions = proc_transitions,
  .n_transitions = G_N_ELEMENTS (proc_transitions),
  .event_names = proc_event_names,
  .n_events = PROC_N_EVENTS,
  .state_name = dvm_proc_state_to_string,
  .is_live = dvm_proc_state_is_live,
  .get_state = proc_get_state,
  .set_state = proc_set_state,
  .refused = proc_refused,
  .describe = proc_describe,
  .ref = proc_ref,
  .unref = proc_unref,
};

static void
post_proc (DvmdLocalProc *self, guint event, DvmProcState given)
{
  dvmd_state_machine_post (self->job->queue, &dvmd_local_proc_table, self, event, given, NULL);
}

/* The final state says what the end of a process means; it is known when the exit status is. */
static DvmProcState
final_state (DvmdLocalProc *self)
{
  if (self->comes_back)
    return DVM_PROC_STATE_RESTART;
  if (self->flags & DVMD_PROC_ABORTED)
    return DVM_PROC_STATE_CALLED_ABORT;
  if (self->flags & DVMD_PROC_KILLED)
    return DVM_PROC_STATE_KILLED_BY_CMD;
  if (self->exit_signal != 0)
    return DVM_PROC_STATE_ABORTED_BY_SIG;
  if (self->exit_code != 0)
    return DVM_PROC_STATE_TERM_NON_ZERO;
  if ((self->flags & DVMD_PROC_REGISTERED) && !(self->flags & DVMD_PROC_FINALIZED))
    return DVM_PROC_STATE_TERM_WO_SYNC;
  return DVM_PROC_STATE_TERMINATED;
}

/* Not when it is started again. */
static void
count_tried (DvmdLocalProc *proc)
{
  DvmdLocalJob *job = proc->job;

  if (proc->n_restarts > 0)
    return;
  job->n_tried++;
  if (job->n_tried == job->procs->len)
    dvmd_state_machine_post (job->queue, &dvmd_local_job_table, job, JOB_ALL_TRIED, 0, NULL);
}

static void
count_exited (DvmdLocalJob *job)
{
  job->n_exited++;
  if (job->n_exited == job->procs->len)
    job->funcs->all_exited (job, job->user_data);
}

/* The process that it was before has ended, and this one has not. */
static void
forget_end (DvmdLocalProc *self)
{
  self->comes_back = FALSE;
  self->flags &= ~(DVMD_PROC_EXITED | DVMD_PROC_OUTPUT_CLOSED | DVMD_PROC_REGISTERED | DVMD_PROC_FINALIZED);
  self->lost = FALSE;
  self->exit_code = 0;
  self->exit_signal = 0;
  self->reaped_at = 0;
  self->asked = FALSE;
}

void
dvmd_local_proc_started (DvmdLocalProc *self, int pid)
{
  forget_end (self);
  self->pid = pid;
  self->flags |= DVMD_PROC_LAUNCHED;
  post_proc (self, PROC_STARTED, 0);
  count_tried (self);
}

void
dvmd_local_proc_not_started (DvmdLocalProc *self, int exit_code, const char *reason)
{
  forget_end (self);
  self->pid = 0;
  self->exit_code = exit_code;
  self->reason = g_strdup (reason);
  self->flags |= DVMD_PROC_EXITED;
  post_proc (self, PROC_NOT_STARTED, 0);
  count_tried (self);
  count_exited (self->job);
}

void
dvmd_local_proc_registered (DvmdLocalProc *self)
{
  if (self->flags & DVMD_PROC_REGISTERED)
    return;
  self->flags |= DVMD_PROC_REGISTERED;
  post_proc (self, PROC_REGISTERED, 0);
}

void
dvmd_local_proc_finalized (DvmdLocalProc *self)
{
  self->flags |= DVMD_PROC_FINALIZED;
}

void
dvmd_local_proc_ready_for_debug (DvmdLocalProc *self)
{
  post_proc (self, PROC_WAITS, 0);
}

void
dvmd_local_proc_continued (DvmdLocalProc *self)
{
  self->continued = TRUE;
  post_proc (self, PROC_CONTINUED,
             self->flags & DVMD_PROC_REGISTERED ? DVM_PROC_STATE_REGISTERED : DVM_PROC_STATE_RUNNING);
}

void
dvmd_local_proc_called_abort (DvmdLocalProc *self, int status)
{
  self->flags |= DVMD_PROC_ABORTED;
}

void
dvmd_local_proc_output_closed (DvmdLocalProc *self)
{
  if (self->flags & DVMD_PROC_OUTPUT_CLOSED)
    return;
  self->flags |= DVMD_PROC_OUTPUT_CLOSED;
  post_proc (self, PROC_OUTPUT_CLOSED, final_state (self));
}

void
dvmd_local_proc_comes_back (DvmdLocalProc *self)
{
  self->comes_back = TRUE;
}

void
dvmd_local_proc_gave_up (DvmdLocalProc *self)
{
  if (!self->comes_back)
    return;
  self->comes_back = FALSE;
  post_proc (self, PROC_GAVE_UP, final_state (self));
  count_exited (self->job);
}

void
dvmd_local_proc_exited (DvmdLocalProc *self, int exit_code, int exit_signal)
{
  self->exit_code = exit_code;
  self->exit_signal = exit_signal;
  self->flags |= DVMD_PROC_EXITED;
  post_proc (self, PROC_EXITED, final_state (self));
  if (!self->comes_back)
    count_exited (self->job);
}

/* ---- the job on this node ---- */

static void
step_launch_complete (gpointer object, const DvmdEvent *event)
{
  DvmdLocalJob *self = object;

  self->funcs->launch_complete (self, self->user_data);
}

static void
step_terminated (gpointer object, const DvmdEvent *event)
{
  DvmdLocalJob *self = object;

  self->funcs->all_ended (self, self->user_data);
}

static void
step_notified (gpointer object, const DvmdEvent *event)
{
  DvmdLocalJob *self = object;

  self->funcs->gone (self, self->user_data);
}

static const DvmdState job_states[] = {
  { DVM_JOB_STATE_INIT, NULL },
  { DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE, step_launch_complete },
  { DVM_JOB_STATE_READY_FOR_DEBUG, NULL },
  { DVM_JOB_STATE_RUNNING, NULL },
  { DVM_JOB_STATE_TERMINATED, step_terminated },
  { DVM_JOB_STATE_NOTIFIED, step_notified },
  { DVM_JOB_STATE_FORCED_EXIT, NULL },
};

static const DvmdTransition job_transitions[] = {
  { DVM_JOB_STATE_INIT, JOB_ALL_TRIED, DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE, NULL },
  { DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE, JOB_FORCED, DVM_JOB_STATE_FORCED_EXIT, NULL },
  { DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE, JOB_ALL_ENDED, DVM_JOB_STATE_TERMINATED, NULL },
  { DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE, JOB_ALL_WAIT, DVM_JOB_STATE_READY_FOR_DEBUG, NULL },
  { DVM_JOB_STATE_READY_FOR_DEBUG, JOB_CONTINUED, DVM_JOB_STATE_RUNNING, NULL },
  { DVM_JOB_STATE_READY_FOR_DEBUG, JOB_FORCED, DVM_JOB_STATE_FORCED_EXIT, NULL },
  { DVM_JOB_STATE_READY_FOR_DEBUG, JOB_ALL_ENDED, DVM_JOB_STATE_TERMINATED, NULL },
  { DVM_JOB_STATE_RUNNING, JOB_FORCED, DVM_JOB_STATE_FORCED_EXIT, NULL },
  { DVM_JOB_STATE_RUNNING, JOB_ALL_ENDED, DVM_JOB_STATE_TERMINATED, NULL },
  { DVM_JOB_STATE_FORCED_EXIT, JOB_ALL_ENDED, DVM_JOB_STATE_TERMINATED, NULL },
  { DVM_JOB_STATE_TERMINATED, JOB_CLEANED, DVM_JOB_STATE_NOTIFIED, NULL },
  /* The order to end at once may come before all processes were tried, which are not started then, and once more. */
  { DVM_JOB_STATE_INIT, JOB_FORCED, DVMD_STATE_SAME, NULL },
  { DVMD_STATE_ANY_ENDED, JOB_FORCED, DVMD_STATE_SAME, NULL },
  /* A debugger lets processes go on one by one, and they may stop anew in PMIx_Init. */
  { DVM_JOB_STATE_READY_FOR_DEBUG, JOB_ALL_WAIT, DVMD_STATE_SAME, NULL },
  { DVM_JOB_STATE_RUNNING, JOB_ALL_WAIT, DVMD_STATE_SAME, NULL },
  /* Processes may go on, or end, before all of them have waited, and after they have stopped anew. */
  { DVM_JOB_STATE_INIT, JOB_CONTINUED, DVMD_STATE_SAME, NULL },
  { DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE, JOB_CONTINUED, DVMD_STATE_SAME, NULL },
  { DVM_JOB_STATE_RUNNING, JOB_CONTINUED, DVMD_STATE_SAME, NULL },
  /* Processes of a job that is ended at once may come to wait even then, and do not any more when they end. */
  { DVM_JOB_STATE_FORCED_EXIT, JOB_ALL_WAIT, DVMD_STATE_SAME, NULL },
  { DVM_JOB_STATE_FORCED_EXIT, JOB_CONTINUED, DVMD_STATE_SAME, NULL },
};

static const char *const job_event_names[JOB_N_EVENTS] = {
  [JOB_ALL_TRIED] = "all-tried", [JOB_ALL_WAIT] = "all-wait", [JOB_CONTINUED] = "continued",
  [JOB_ALL_ENDED] = "all-ended", [JOB_CLEANED] = "cleaned",   [JOB_FORCED] = "forced",
};

static guint
job_get_state (gpointer object)
{
  return ((DvmdLocalJob *)object)->state;
}

static void
job_set_state (gpointer object, guint old_state, guint new_state, const DvmdEvent *event)
{
  ((DvmdLocalJob *)object)->state = new_state;
}

static const char *
job_describe (gpointer object)
{
  return ((DvmdLocalJob *)object)->nspace;
}

static gpointer
job_ref (gpointer object)
{
  return dvmd_local_job_ref (object);
}

static void
job_unref (gpointer object)
{
  dvmd_local_job_unref (object);
}

const DvmdStateTable dvmd_local_job_table = {
  .name = "local-job",
  .states = job_states,
  .n_states = G_N_ELEMENTS (job_states),
  .transitions = job_transitions,
  .n_transitions = G_N_ELEMENTS (job_transitions),
  .event_names = job_event_names,
  .n_events = JOB_N_EVENTS,
  .state_name = dvm_job_state_to_string,
  .is_live = dvm_job_state_is_live,
  .get_state = job_get_state,
  .set_state = job_set_state,
  .describe = job_describe,
  .ref = job_ref,
  .unref = job_unref,
};

static void
local_proc_free (gpointer data)
{
  DvmdLocalProc *proc = data;

  g_free (proc->reason);
  g_free (proc);
}

DvmdLocalJob *
dvmd_local_job_new (guint32 id, const char *nspace, DvmdEventQueue *queue, const DvmdLocalFuncs *funcs,
                    gpointer user_data)
{
  DvmdLocalJob *self = g_new0 (DvmdLocalJob, 1);

  g_ref_count_init (&self->ref_count);
  self->id = id;
  self->nspace = g_strdup (nspace);
  self->state = DVM_JOB_STATE_INIT;
  self->queue = queue;
  self->funcs = funcs;
  self->user_data = user_data;
  self->procs = g_ptr_array_new_with_free_func (local_proc_free);
  self->index = g_hash_table_new (NULL, NULL);
  return self;
}

DvmdLocalJob *
dvmd_local_job_ref (DvmdLocalJob *self)
{
  g_ref_count_inc (&self->ref_count);
  return self;
}

void
dvmd_local_job_unref (DvmdLocalJob *self)
{
  if (!g_ref_count_dec (&self->ref_count))
    return;
  g_hash_table_unref (self->index);
  g_ptr_array_unref (self->procs);
  g_free (self->nspace);
  g_free (self);
}

DvmdLocalProc *
dvmd_local_job_add_proc (DvmdLocalJob *self, guint32 rank, guint32 app, guint32 local_rank)
{
  DvmdLocalProc *proc = g_new0 (DvmdLocalProc, 1);

  proc->job = self;
  proc->rank = rank;
  proc->app = app;
  proc->local_rank = local_rank;
  proc->state = DVM_PROC_STATE_INIT;
  g_ptr_array_add (self->procs, proc);
  g_hash_table_insert (self->index, GUINT_TO_POINTER (rank), proc);
  return proc;
}

DvmdLocalProc *
dvmd_local_job_find_proc (DvmdLocalJob *self, guint32 rank)
{
  return g_hash_table_lookup (self->index, GUINT_TO_POINTER (rank));
}

void
dvmd_local_job_killed (DvmdLocalJob *self, gboolean forced)
{
  for (guint i = 0; i < self->procs->len; i++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (self->procs, i);

      if (!(proc->flags & DVMD_PROC_EXITED))
        proc->flags |= DVMD_PROC_KILLED;
      dvmd_local_proc_gave_up (proc);
    }
  if (forced)
    dvmd_state_machine_post (self->queue, &dvmd_local_job_table, self, JOB_FORCED, 0, NULL);
}

void
dvmd_local_job_cleaned (DvmdLocalJob *self)
{
  dvmd_state_machine_post (self->queue, &dvmd_local_job_table, self, JOB_CLEANED, 0, NULL);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "sim-agent.h"

typedef struct
{
  SimAgent *agent;
  DvmdJob *job;
  DvmdLocalJob *local;
  gboolean launched; /* it was said; what happens to processes is said after that */
  gboolean killed;
  gboolean stops;
  gboolean to_clean; /* every process has ended */
  guint next_start;
  GQueue unsaid; /* SimMessage */
} SimJob;

SimMessage *
sim_message_new (SimKind kind, guint agent, DvmdJob *job)
{
  SimMessage *self = g_new0 (SimMessage, 1);

  self->kind = kind;
  self->agent = agent;
  self->job = job != NULL ? g_object_ref (job) : NULL;
  return self;
}

void
sim_message_free (SimMessage *self)
{
  g_clear_object (&self->job);
  g_clear_pointer (&self->ranks, g_array_unref);
  g_clear_pointer (&self->starts, g_array_unref);
  g_free (self);
}

static gboolean
chance (SimAgent *self, guint one_of)
{
  return g_rand_int_range (self->rand, 0, one_of) == 0;
}

static SimMessage *
say (SimAgent *self, SimKind kind, DvmdJob *job)
{
  SimMessage *message = sim_message_new (kind, self->rank, job);

  g_queue_push_tail (&self->outbox, message);
  return message;
}

/* ---- the tables ---- */

static void
proc_changed (DvmdLocalJob *local, DvmdLocalProc *proc, gpointer user_data)
{
  SimJob *job = user_data;
  SimMessage *message;

  if ((proc->state == DVM_PROC_STATE_RUNNING && !proc->continued) || proc->state == DVM_PROC_STATE_FAILED_TO_START)
    return;
  message = sim_message_new (SIM_STATE, job->agent->rank, job->job);
  message->rank = proc->rank;
  message->state = proc->state;
  message->exit_code = proc->exit_code;
  message->exit_signal = proc->exit_signal;
  g_queue_push_tail (job->launched ? &job->agent->outbox : &job->unsaid, message);
}

static void
launch_complete (DvmdLocalJob *local, gpointer user_data)
{
  SimJob *job = user_data;
  SimMessage *message = say (job->agent, SIM_LAUNCHED, job->job);

  message->starts = g_array_new (FALSE, FALSE, sizeof (SimStart));
  for (guint i = 0; i < local->procs->len; i++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (local->procs, i);
      SimStart start = { .rank = proc->rank, .pid = proc->flags & DVMD_PROC_LAUNCHED ? proc->pid : 0 };

      g_array_append_val (message->starts, start);
    }
  job->launched = TRUE;
  while (!g_queue_is_empty (&job->unsaid))
    g_queue_push_tail (&job->agent->outbox, g_queue_pop_head (&job->unsaid));
}

static void
all_exited (DvmdLocalJob *local, gpointer user_data)
{
}

static void
all_ended (DvmdLocalJob *local, gpointer user_data)
{
  ((SimJob *)user_data)->to_clean = TRUE;
}

static void
gone (DvmdLocalJob *local, gpointer user_data)
{
  SimJob *job = user_data;

  say (job->agent, SIM_JOB_GONE, job->job);
  g_hash_table_remove (job->agent->jobs, GUINT_TO_POINTER (local->id));
}

static const DvmdLocalFuncs funcs = {
  .proc_changed = proc_changed,
  .launch_complete = launch_complete,
  .all_exited = all_exited,
  .all_ended = all_ended,
  .gone = gone,
};

static void
job_free (gpointer data)
{
  SimJob *self = data;

  dvmd_local_job_unref (self->local);
  g_queue_clear_full (&self->unsaid, (GDestroyNotify)sim_message_free);
  g_object_unref (self->job);
  g_free (self);
}

/* ---- messages ---- */

static void
launch (SimAgent *self, const SimMessage *message)
{
  SimJob *job = g_new0 (SimJob, 1);
  guint id = dvmd_job_get_id (message->job);

  job->agent = self;
  job->job = g_object_ref (message->job);
  job->stops = message->flag;
  job->local = dvmd_local_job_new (id, "job", self->queue, &funcs, job);
  for (guint i = 0; i < message->ranks->len; i++)
    {
      const DvmdMapRank *rank = &g_array_index (message->ranks, DvmdMapRank, i);

      dvmd_local_job_add_proc (job->local, rank->rank, rank->app, i);
    }
  job->killed = self->stopping;
  g_hash_table_insert (self->jobs, GUINT_TO_POINTER (id), job);
}

static void
kill_job (SimJob *job, gboolean forced)
{
  job->killed = TRUE;
  dvmd_local_job_killed (job->local, forced);
}

static void
stop (SimAgent *self, gboolean forced)
{
  GHashTableIter iter;
  gpointer job;

  self->stopping = TRUE;
  g_hash_table_iter_init (&iter, self->jobs);
  while (g_hash_table_iter_next (&iter, NULL, &job))
    kill_job (job, forced);
}

static void
hear (SimAgent *self, const SimMessage *message)
{
  SimJob *job = message->job != NULL
                    ? g_hash_table_lookup (self->jobs, GUINT_TO_POINTER (dvmd_job_get_id (message->job)))
                    : NULL;

  switch (message->kind)
    {
    case SIM_STAGE:
      say (self, SIM_STAGED, message->job)->flag = chance (self, 20);
      break;
    case SIM_LAUNCH:
      launch (self, message);
      break;
    case SIM_KILL:
      if (job != NULL)
        kill_job (job, message->flag);
      else
        say (self, SIM_JOB_GONE, message->job);
      break;
    case SIM_STOP:
    default:
      stop (self, message->flag);
      break;
    }
}

/* ---- processes ---- */

static void
start_one (SimJob *job)
{
  DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, job->next_start++);

  if (job->killed || chance (job->agent, 40))
    dvmd_local_proc_not_started (proc, 127, "it is not there");
  else
    dvmd_local_proc_started (proc, 100 + proc->rank);
}

static void
end_one (SimJob *job, DvmdLocalProc *proc)
{
  if (job->killed)
    dvmd_local_proc_exited (proc, 0, 15);
  else if (chance (job->agent, 12))
    dvmd_local_proc_exited (proc, 3, 0);
  else if (chance (job->agent, 20))
    dvmd_local_proc_exited (proc, 0, 11);
  else
    dvmd_local_proc_exited (proc, 0, 0);
}

/* Something that a process does in its life. */
static void
live (SimJob *job, DvmdLocalProc *proc)
{
  switch (g_rand_int_range (job->agent->rand, 0, 8))
    {
    case 0:
    case 1:
    case 2:
      dvmd_local_proc_registered (proc);
      break;
    case 3:
      if (proc->flags & DVMD_PROC_REGISTERED)
        dvmd_local_proc_finalized (proc);
      break;
    case 4:
      if (!chance (job->agent, 6))
        break;
      dvmd_local_proc_called_abort (proc, 7);
      say (job->agent, SIM_ABORT, job->job)->rank = proc->rank;
      break;
    case 5:
      dvmd_local_proc_output_closed (proc);
      break;
    case 6:
      if (job->stops && !proc->continued)
        dvmd_local_proc_ready_for_debug (proc);
      break;
    default:
      if (job->stops)
        dvmd_local_proc_continued (proc);
      break;
    }
}

static void
move_one (SimJob *job, gboolean ends)
{
  guint n = job->local->procs->len;
  guint first = g_rand_int_range (job->agent->rand, 0, n);

  for (guint i = 0; i < n; i++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, (first + i) % n);
      gboolean exited = (proc->flags & DVMD_PROC_EXITED) != 0;

      if (exited && (proc->flags & (DVMD_PROC_OUTPUT_CLOSED | DVMD_PROC_LAUNCHED)) != DVMD_PROC_LAUNCHED)
        continue;
      if (exited)
        dvmd_local_proc_output_closed (proc);
      else if (ends || job->killed || chance (job->agent, 4))
        end_one (job, proc);
      else
        live (job, proc);
      return;
    }
}

static void
act_on_job (SimJob *job, gboolean ends)
{
  if (job->to_clean)
    {
      job->to_clean = FALSE;
      dvmd_local_job_cleaned (job->local);
    }
  else if (job->next_start < job->local->procs->len)
    start_one (job);
  else
    move_one (job, ends);
}

static SimJob *
pick_job (SimAgent *self)
{
  guint n = g_hash_table_size (self->jobs);
  guint skip = n > 0 ? g_rand_int_range (self->rand, 0, n) : 0;
  GHashTableIter iter;
  gpointer job = NULL;

  g_hash_table_iter_init (&iter, self->jobs);
  while (g_hash_table_iter_next (&iter, NULL, &job) && skip-- > 0)
    ;
  return n > 0 ? job : NULL;
}

void
sim_agent_act (SimAgent *self, gboolean ends)
{
  SimJob *job;

  if (!self->alive)
    return;
  if (!g_queue_is_empty (&self->inbox) && chance (self, 2))
    {
      g_autoptr (SimMessage) message = g_queue_pop_head (&self->inbox);

      hear (self, message);
    }
  job = pick_job (self);
  if (job != NULL)
    act_on_job (job, ends);
  dvmd_event_queue_drain (self->queue, chance (self, 4) ? 1 : 0);
  if (self->stopping && !self->gone && g_hash_table_size (self->jobs) == 0 && g_queue_is_empty (&self->inbox))
    {
      self->gone = TRUE;
      say (self, SIM_GONE, NULL);
    }
}

gboolean
sim_agent_is_idle (SimAgent *self)
{
  return !self->alive
         || (g_hash_table_size (self->jobs) == 0 && g_queue_is_empty (&self->inbox)
             && dvmd_event_queue_is_empty (self->queue) && (!self->stopping || self->gone));
}

gboolean
sim_agent_has_running (SimAgent *self)
{
  GHashTableIter iter;
  gpointer job;

  g_hash_table_iter_init (&iter, self->jobs);
  while (g_hash_table_iter_next (&iter, NULL, &job))
    {
      GPtrArray *procs = ((SimJob *)job)->local->procs;

      for (guint i = 0; i < procs->len; i++)
        if ((((DvmdLocalProc *)g_ptr_array_index (procs, i))->flags & (DVMD_PROC_LAUNCHED | DVMD_PROC_EXITED))
            == DVMD_PROC_LAUNCHED)
          return TRUE;
    }
  return FALSE;
}

DvmdLocalJob *
sim_agent_find_job (SimAgent *self, guint id)
{
  SimJob *job = g_hash_table_lookup (self->jobs, GUINT_TO_POINTER (id));

  return job != NULL ? job->local : NULL;
}

void
sim_agent_die (SimAgent *self)
{
  guint n_left = g_rand_int_range (self->rand, 0, self->outbox.length + 1);

  self->alive = FALSE;
  while (self->outbox.length > n_left)
    sim_message_free (g_queue_pop_tail (&self->outbox));
  g_queue_clear_full (&self->inbox, (GDestroyNotify)sim_message_free);
  g_clear_pointer (&self->queue, dvmd_event_queue_free);
  g_hash_table_remove_all (self->jobs);
}

SimAgent *
sim_agent_new (guint rank, GRand *rand)
{
  SimAgent *self = g_new0 (SimAgent, 1);

  self->rank = rank;
  self->rand = rand;
  self->alive = TRUE;
  self->queue = dvmd_event_queue_new (NULL, NULL);
  self->jobs = g_hash_table_new_full (NULL, NULL, NULL, job_free);
  g_queue_init (&self->inbox);
  g_queue_init (&self->outbox);
  return self;
}

void
sim_agent_free (SimAgent *self)
{
  g_clear_pointer (&self->queue, dvmd_event_queue_free);
  g_hash_table_unref (self->jobs);
  g_queue_clear_full (&self->inbox, (GDestroyNotify)sim_message_free);
  g_queue_clear_full (&self->outbox, (GDestroyNotify)sim_message_free);
  g_free (self);
}

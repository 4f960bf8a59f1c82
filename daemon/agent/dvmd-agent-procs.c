/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Starting, signalling and ending the local processes of a job, and telling the controller of their states.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include <signal.h>
#include <sys/wait.h>

#include <glib/gstdio.h>

#include "dvmd-agent-binding.h"
#include "dvmd-agent-environment.h"
#include "dvmd-agent-fences.h"
#include "dvmd-agent-pmix.h"
#include "dvmd-agent-pmi.h"
#include "dvmd-agent-procs.h"
#include "dvmd-agent-ranks.h"
#include "dvmd-agent-stage.h"
#include "dvmd-binding.h"
#include "dvmd-proc-scan.h"
#include "dvmd-id-set.h"
#include "dvmd-log.h"
#include "dvmd-turn-source.h"

/* Processes that an exited rank left running are not ended while other ranks of its job live here. */
#define NO_LINGER_LIMIT (G_GINT64_CONSTANT (365) * 24 * 3600 * G_USEC_PER_SEC)

/* How long the PMIx server may take to see that a process has gone, and to forget a job. */
#define LOST_LIMIT       (G_USEC_PER_SEC)
#define DEREGISTER_LIMIT (30 * G_USEC_PER_SEC)

/* Processes that a job starts in one turn of the main loop: others, and their output, get theirs in between. */
#define STARTS_PER_TURN 16

typedef struct
{
  DvmdAgent *agent;   /* unowned */
  GHashTable *unsent; /* set of DvmdAgentJob with states that were not sent yet */
  GQueue starting;    /* DvmdAgentJob with processes that are not started yet */
  GSource *turn;      /* what is put off to the next turn of the main loop */
} Procs;

typedef struct
{
  guint32 rank;
  guint32 state;
  gint32 exit_code;
  gint32 exit_signal;
} StateRow;

/* Of a process that is not started yet. */
typedef struct
{
  guint32 rank;
  int signum;
} EarlySignal;

struct _DvmdAgentRun
{
  GHashTable *by_pid;    /* pid -> DvmdLocalProc */
  GArray *states;        /* StateRow: changes that were not sent yet */
  gboolean connecting;   /* a rank was ended while it may have been coming to the PMIx server */
  guint next_start;      /* of the local processes */
  GArray *early;         /* (nullable): EarlySignal, for those from there on */
  gboolean launched;     /* LAUNCHED was sent */
  gboolean ranks_ended;  /* every local rank is in its last state */
  gboolean nothing_left; /* of processes, children of the ranks too */
};

DvmdAgentRun *
dvmd_agent_run_new (void)
{
  DvmdAgentRun *self = g_new0 (DvmdAgentRun, 1);

  self->by_pid = g_hash_table_new (NULL, NULL);
  self->states = g_array_new (FALSE, FALSE, sizeof (StateRow));
  return self;
}

void
dvmd_agent_run_free (DvmdAgentRun *self)
{
  g_hash_table_unref (self->by_pid);
  g_array_unref (self->states);
  g_clear_pointer (&self->early, g_array_unref);
  g_free (self);
}

static Procs *
get_procs (DvmdAgent *self)
{
  return dvmd_agent_services_get (self, &dvmd_agent_procs_service);
}

/* ---- states ---- */

static void
add_state (DvmdAgentJob *job, const StateRow *row)
{
  g_array_append_val (job->run->states, *row);
  if (job->run->launched && g_hash_table_add (get_procs (job->agent)->unsent, job))
    dvmd_turn_source_request (get_procs (job->agent)->turn);
}

static void
proc_changed (DvmdLocalJob *local, DvmdLocalProc *proc, gpointer user_data)
{
  StateRow row = {
    .rank = proc->rank,
    .state = proc->state,
    .exit_code = proc->exit_code,
    .exit_signal = proc->exit_signal,
  };

  /* The launch itself is told by LAUNCHED, which comes first. */
  if ((proc->state == DVM_PROC_STATE_RUNNING && !proc->continued) || proc->state == DVM_PROC_STATE_FAILED_TO_START)
    return;
  add_state (user_data, &row);
}

static void
registered_late (DvmdLocalJob *local, DvmdLocalProc *proc, gpointer user_data)
{
  const StateRow row = { .rank = proc->rank, .state = DVM_PROC_STATE_REGISTERED };

  add_state (user_data, &row);
}

gboolean
dvmd_agent_is_launched (DvmdAgentJob *job)
{
  return job->run->launched;
}

/* Ranks that waited for one that has ended are told after the controller: its end is the cause of theirs. */
static void
close_ended (DvmdAgentJob *job, GArray *states)
{
  for (guint i = 0; i < states->len; i++)
    {
      const StateRow *row = &g_array_index (states, StateRow, i);

      if (!dvm_proc_state_is_live (row->state))
        dvmd_agent_close_pmi (job, dvmd_local_job_find_proc (job->local, row->rank));
    }
}

static void
flush_states (DvmdAgentJob *job)
{
  g_autoptr (GArray) states = NULL;
  GVariantBuilder rows;

  if (job->run->states->len == 0 || !job->run->launched)
    return;
  states = g_steal_pointer (&job->run->states);
  job->run->states = g_array_new (FALSE, FALSE, sizeof (StateRow));
  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(uuii)"));
  for (guint i = 0; i < states->len; i++)
    {
      const StateRow *row = &g_array_index (states, StateRow, i);

      g_variant_builder_add (&rows, "(uuii)", row->rank, row->state, row->exit_code, row->exit_signal);
    }
  dvmd_agent_send (job->agent, DVMD_MSG_PROC_STATES, g_variant_new ("(ua(uuii))", job->local->id, &rows));
  close_ended (job, states);
}

/* Ranks that were not started are not waited for, either. */
static void
close_not_started (DvmdAgentJob *job)
{
  for (guint i = 0; i < job->local->procs->len; i++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, i);

      if (proc->flags & DVMD_PROC_LAUNCHED)
        continue;
      if (job->registered)
        dvmd_pmix_deregister_client (dvmd_agent_get_pmix (job->agent), job->local->nspace, proc->rank);
      dvmd_agent_close_pmi (job, proc);
    }
}

static void
launch_complete (DvmdLocalJob *local, gpointer user_data)
{
  DvmdAgentJob *job = user_data;
  GVariantBuilder started;
  GVariantBuilder failed;

  g_variant_builder_init (&started, G_VARIANT_TYPE ("a(ui)"));
  g_variant_builder_init (&failed, G_VARIANT_TYPE ("a(uis)"));
  for (guint i = 0; i < local->procs->len; i++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (local->procs, i);

      if (proc->flags & DVMD_PROC_LAUNCHED)
        g_variant_builder_add (&started, "(ui)", proc->rank, proc->pid);
      else
        g_variant_builder_add (&failed, "(uis)", proc->rank, proc->exit_code, proc->reason);
    }
  dvmd_agent_send (job->agent, DVMD_MSG_LAUNCHED, g_variant_new ("(ua(ui)a(uis))", local->id, &started, &failed));
  close_not_started (job);
  job->run->launched = TRUE;
  flush_states (job);
}

/* ---- the end ---- */

/* The rest of the output is little: it goes on without credit, so that no reader can keep a job from ending. */
static void
drain_all (DvmdAgentJob *job)
{
  dvmd_credit_add (job->credit, G_MAXINT64);
  for (guint i = 0; i < job->local->procs->len; i++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, i);

      if (proc->streams != NULL)
        dvmd_pipes_drain (proc->streams);
    }
}

/* The PMIx server is to forget a job: answered by it, or given up. */
typedef struct
{
  DvmdAgent *agent;
  DvmdLocalJob *local;
  guint timer; /* 0: given up */
} Deregistration;

static void
on_deregistered (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autofree Deregistration *self = user_data;
  g_autoptr (DvmdAgent) agent = self->agent;
  g_autoptr (DvmdLocalJob) local = self->local;
  g_autoptr (GError) error = NULL;

  if (!dvmd_pmix_deregister_job_finish (DVMD_PMIX (source), result, &error))
    dvmd_log_about (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE,
                    &(DvmdLogSubject){ .job = local->nspace, .node = dvmd_agent_get_parts (agent)->name }, "%s",
                    error->message);
  if (self->timer == 0)
    return;
  dvmd_clock_remove_timer (dvmd_agent_get_parts (agent)->clock, self->timer);
  dvmd_local_job_cleaned (local);
}

/* It may never answer any more: the job ends all the same. */
static void
on_not_deregistered (gpointer user_data)
{
  Deregistration *self = user_data;

  dvmd_log_about (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE,
                  &(DvmdLogSubject){ .job = self->local->nspace, .node = dvmd_agent_get_parts (self->agent)->name },
                  "the PMIx server of this node does not answer; files of the job may be left");
  self->timer = 0;
  dvmd_local_job_cleaned (self->local);
}

static void
deregister (DvmdAgentJob *job)
{
  Deregistration *self = g_new0 (Deregistration, 1);

  self->agent = g_object_ref (job->agent);
  self->local = dvmd_local_job_ref (job->local);
  self->timer = dvmd_clock_add_timer (dvmd_agent_get_parts (job->agent)->clock, DEREGISTER_LIMIT, on_not_deregistered,
                                      self);
  dvmd_pmix_deregister_job_async (dvmd_agent_get_pmix (job->agent), job->local->nspace, on_deregistered, self);
}

/* The server may stand still: it forgets the job when it has come to know it. */
static void
stop_registration (DvmdAgentJob *job)
{
  job->registering = FALSE;
  dvmd_pmix_deregister_job_async (dvmd_agent_get_pmix (job->agent), job->local->nspace, NULL, NULL);
}

/* Ranks may have ended, with their output, while something that they left behind still has to be ended. */
static void
check_over (DvmdAgentJob *job)
{
  DvmdLocalJob *local = job->local;

  if (!job->run->ranks_ended || !job->run->nothing_left)
    return;
  if (job->registered)
    dvmd_agent_delete_psets (job);
  if (job->registered && !job->run->connecting)
    {
      deregister (job);
      return;
    }
  if (job->registering)
    stop_registration (job);
  else if (job->registered)
    dvmd_pmix_abandon_job (dvmd_agent_get_pmix (job->agent), local->nspace);
  dvmd_local_job_cleaned (local);
}

static void
on_nothing_left (DvmdContainer *container, gpointer user_data)
{
  DvmdAgentJob *job = user_data;

  job->run->nothing_left = TRUE;
  drain_all (job);
  check_over (job);
}

/* Processes that the ranks left behind are ended; only then is nobody left who could write. */
static void
all_exited (DvmdLocalJob *local, gpointer user_data)
{
  DvmdAgentJob *job = user_data;

  if (dvmd_container_finish (job->container, job->options.kill_grace, on_nothing_left, job))
    on_nothing_left (job->container, job);
}

static void
all_ended (DvmdLocalJob *local, gpointer user_data)
{
  DvmdAgentJob *job = user_data;

  g_hash_table_remove (get_procs (job->agent)->unsent, job);
  flush_states (job);
  job->run->ranks_ended = TRUE;
  check_over (job);
}

static void
gone (DvmdLocalJob *local, gpointer user_data)
{
  DvmdAgentJob *job = user_data;
  DvmdAgent *self = job->agent;

  guint32 id = local->id;

  g_hash_table_remove (get_procs (self)->unsent, job);
  dvmd_agent_remove_job (self, job);
  dvmd_agent_end_stage (self, id);
  dvmd_agent_check_end (self);
}

const DvmdLocalFuncs dvmd_agent_local_funcs = {
  .proc_changed = proc_changed,
  .registered_late = registered_late,
  .restart = dvmd_agent_await_restart,
  .launch_complete = launch_complete,
  .all_exited = all_exited,
  .all_ended = all_ended,
  .gone = gone,
};

/* ---- start ---- */

static void
tell_exit (DvmdLocalProc *proc)
{
  if (WIFSIGNALED (proc->status))
    dvmd_local_proc_exited (proc, 0, WTERMSIG (proc->status));
  else
    dvmd_local_proc_exited (proc, WEXITSTATUS (proc->status), 0);
}

static void
on_not_seen (gpointer user_data)
{
  DvmdLocalProc *proc = user_data;

  proc->timer = 0;
  tell_exit (proc);
}

static gboolean
is_any_registered (DvmdAgentJob *job)
{
  for (guint i = 0; i < job->local->procs->len; i++)
    if (((DvmdLocalProc *)g_ptr_array_index (job->local->procs, i))->flags & DVMD_PROC_REGISTERED)
      return TRUE;
  return FALSE;
}

/*
 * By whom else it was ended is not known, nor what it was doing: in a job of PMIx programs it was one, and where
 * somebody has connected it may have been in the middle of that.
 */
static gboolean
may_have_been_connecting (DvmdAgentJob *job, const DvmdLocalProc *proc)
{
  return WIFSIGNALED (proc->status) && !(proc->flags & DVMD_PROC_REGISTERED) && !job->killed
         && (proc->asked || is_any_registered (job));
}

/* All that the process had told before it ended is known now. */
static void
judge_exit (gpointer user_data)
{
  DvmdLocalProc *proc = user_data;
  DvmdAgentJob *job = proc->job->user_data;
  gboolean connecting = may_have_been_connecting (job, proc);
  gboolean comes_back = dvmd_agent_may_come_back (job, proc, connecting);

  if (job->registered && !comes_back)
    dvmd_pmix_deregister_client (dvmd_agent_get_pmix (job->agent), job->local->nspace, proc->rank);
  job->run->connecting |= connecting;
  dvmd_agent_look_for_mpi (job, proc);
  dvmd_agent_find_cause (job, proc);
  if (comes_back)
    {
      dvmd_agent_await_pmi (job, proc);
      dvmd_agent_begin_restart (job, proc);
    }
  /*
   * The others are not ended before the PMIx server has seen this one go: libpmix 4.2.2 completes a fence twice, and
   * then hangs, when it sees two of its participants go in one turn of its thread.
   */
  if ((proc->flags & DVMD_PROC_REGISTERED) && !(proc->flags & DVMD_PROC_FINALIZED) && !proc->lost && job->lost_at == 0)
    proc->timer = dvmd_clock_add_timer (dvmd_agent_get_parts (job->agent)->clock, LOST_LIMIT, on_not_seen, proc);
  else
    tell_exit (proc);
}

static void
on_rank_exit (pid_t pid, int status, gpointer user_data)
{
  DvmdAgentJob *job = user_data;
  DvmdLocalProc *proc = g_hash_table_lookup (job->run->by_pid, GINT_TO_POINTER (pid));

  g_hash_table_remove (job->run->by_pid, GINT_TO_POINTER (pid));
  dvmd_container_rank_ended (job->container, pid, NO_LINGER_LIMIT, job->options.kill_grace, NULL, NULL);
  proc->reaped_at = dvmd_clock_monotonic (dvmd_agent_get_parts (job->agent)->clock);
  proc->status = status;
  dvmd_agent_hear_pmi (job, proc);
  /* Whether it had called PMIx_Init and PMIx_Finalize may be on its way from another thread or process. */
  if (job->registered && (proc->flags & DVMD_PROC_FINALIZED) == 0)
    proc->asked = !dvmd_pmix_catch_up (dvmd_agent_get_pmix (job->agent), job->local->nspace, judge_exit, proc);
  if (!proc->asked)
    judge_exit (proc);
}

void
dvmd_agent_proc_lost (DvmdAgentJob *job, DvmdLocalProc *proc)
{
  proc->lost = TRUE;
  if (proc->timer == 0)
    return;
  dvmd_clock_remove_timer (dvmd_agent_get_parts (job->agent)->clock, proc->timer);
  proc->timer = 0;
  tell_exit (proc);
}

void
dvmd_agent_procs_unseen (DvmdAgentJob *job)
{
  for (guint i = 0; i < job->local->procs->len; i++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, i);

      if (proc->timer != 0)
        dvmd_agent_proc_lost (job, proc);
    }
}

static DvmdPipesFlags
pipes_flags (DvmdAgentJob *job, DvmdLocalProc *proc)
{
  DvmdPipesFlags flags = DVMD_PIPES_NONE;

  if (job->options.stdin_target == DVMD_ALL_RANKS || job->options.stdin_target == proc->rank || proc->reads)
    flags |= DVMD_PIPES_STDIN;
  /* One terminal, that of the rank that reads from it. */
  if (job->options.pty && (job->options.stdin_target == DVMD_NO_STDIN ? proc->rank == 0 : flags != 0))
    flags = DVMD_PIPES_PTY;
  return flags;
}

static void
signal_proc (DvmdAgentJob *job, DvmdLocalProc *proc, gboolean tried, int signum)
{
  const EarlySignal early = { proc->rank, signum };

  if (signum == SIGSTOP || signum == SIGCONT)
    proc->restart.stopped = signum == SIGSTOP;
  if (proc->pid > 0 && !proc->comes_back)
    {
      dvmd_container_signal_rank (job->container, proc->pid, signum);
      if (signum == SIGCONT)
        dvmd_agent_proc_resumed (job, proc);
    }
  else if (!tried)
    {
      if (job->run->early == NULL)
        job->run->early = g_array_new (FALSE, FALSE, sizeof (EarlySignal));
      g_array_append_val (job->run->early, early);
    }
}

/* Signals that came for the process before it was there are delivered in their order, once. */
static void
deliver_early_signals (DvmdAgentJob *job, DvmdLocalProc *proc)
{
  guint i = 0;

  while (job->run->early != NULL && i < job->run->early->len)
    {
      const EarlySignal early = g_array_index (job->run->early, EarlySignal, i);

      if (early.rank != proc->rank)
        {
          i++;
          continue;
        }
      g_array_remove_index (job->run->early, i);
      signal_proc (job, proc, TRUE, early.signum);
    }
}

/* (transfer full) (nullable): the arguments of this rank alone: the program is called by its name and its rank */
static GStrv
dup_indexed_argv (DvmdAgentJob *job, const DvmdLocalProc *proc)
{
  g_autofree char *name = NULL;
  GStrv argv;

  if (!job->options.index_argv)
    return NULL;
  argv = g_strdupv (((DvmdAgentApp *)g_ptr_array_index (job->apps, proc->app))->argv);
  name = g_steal_pointer (&argv[0]);
  argv[0] = g_strdup_printf ("%s-%u", name, proc->rank);
  return argv;
}

/* (transfer full) (nullable): the words of the command that starts the program of the request, and then its own */
static GStrv
dup_exec_agent_argv (DvmdAgentJob *job, const DvmdSpawnRequest *request, int *exit_code, GError **error)
{
  g_autofree const char **words = g_variant_get_strv (job->options.exec_agent, NULL);
  g_autofree char *program = dvmd_spawn_find_program (request, exit_code, error);
  GStrvBuilder *builder;
  GStrv argv;

  if (program == NULL)
    return NULL;
  builder = g_strv_builder_new ();
  g_strv_builder_addv (builder, words);
  g_strv_builder_add (builder, program);
  g_strv_builder_addv (builder, (const char **)request->argv + 1);
  argv = g_strv_builder_end (builder);
  g_strv_builder_unref (builder);
  return argv;
}

/* With the descriptor by which it may speak PMI. */
static pid_t
spawn_proc (DvmdAgentJob *job, DvmdLocalProc *proc, DvmdSpawnRequest *request, int *exit_code, GError **error)
{
  if (dvmd_agent_offers_pmi (job) && (request->extra_fd = dvmd_agent_open_pmi (job, proc, error)) < 0)
    return -1;
  return dvmd_container_spawn (job->container, request, on_rank_exit, job, exit_code, error);
}

/* By the command that starts the programs of the job, if there is one. */
static pid_t
spawn_by_agent (DvmdAgentJob *job, DvmdLocalProc *proc, DvmdSpawnRequest *request, int *exit_code, GError **error)
{
  g_auto (GStrv) argv = NULL;

  if (job->options.exec_agent == NULL)
    return spawn_proc (job, proc, request, exit_code, error);
  argv = dup_exec_agent_argv (job, request, exit_code, error);
  if (argv == NULL)
    return -1;
  request->argv = (const char *const *)argv;
  request->program = NULL;
  return spawn_proc (job, proc, request, exit_code, error);
}

static gboolean
start_proc (DvmdAgentJob *job, DvmdLocalProc *proc, int *exit_code, GError **error)
{
  DvmdAgentApp *app = g_ptr_array_index (job->apps, proc->app);
  DvmdSpawnRequest request = DVMD_SPAWN_REQUEST_INIT;
  gboolean awaits_debugger = job->options.stop == DVM_STOP_ON_EXEC && dvmd_agent_is_to_wait (job, proc);
  g_autoptr (DvmdVariables) environment = dvmd_agent_build_environment (job, proc, error);
  g_auto (GStrv) argv = dup_indexed_argv (job, proc);
  g_autofree cpu_set_t *cpus = NULL;
  DvmdPipes *pipes;
  pid_t pid;

  *exit_code = DVMD_EXIT_FAILED;
  if (environment == NULL)
    return FALSE;
  pipes = dvmd_pipes_new (dvmd_agent_get_parts (job->agent)->context, proc->rank, pipes_flags (job, proc), job->credit,
                          &dvmd_agent_pipes_funcs, job, error);
  if (pipes == NULL)
    return FALSE;
  if (job->options.pty_rows > 0)
    dvmd_pipes_set_window_size (pipes, job->options.pty_rows, job->options.pty_columns);
  request.argv = (const char *const *)(argv != NULL ? argv : app->argv);
  request.program = app->argv[0];
  request.search_cwd = TRUE;
  request.envp = dvmd_variables_get_vector (environment);
  request.cwd = app->cwd;
  request.stdin_fd = dvmd_pipes_get_child_fd (pipes, DVMD_STREAM_STDIN);
  request.stdout_fd = dvmd_pipes_get_child_fd (pipes, DVMD_STREAM_STDOUT);
  request.stderr_fd = dvmd_pipes_get_child_fd (pipes, DVMD_STREAM_STDERR);
  request.pty = dvmd_pipes_is_pty (pipes);
  cpus = dvmd_binding_dup_cpu_set (dvmd_agent_get_cpus (job, proc->local_rank), &request.cpus_size);
  request.cpus = cpus;
  /* For a debugger, or because its job is paused still. */
  request.stopped = awaits_debugger || (proc->n_restarts > 0 && proc->restart.stopped);
  pid = spawn_by_agent (job, proc, &request, exit_code, error);
  if (pid < 0)
    {
      dvmd_pipes_free (pipes);
      return FALSE;
    }
  g_clear_pointer ((DvmdPipes **)&proc->streams, dvmd_pipes_free);
  proc->streams = pipes;
  proc->restart.started_at = dvmd_clock_monotonic (dvmd_agent_get_parts (job->agent)->clock);
  g_hash_table_insert (job->run->by_pid, GINT_TO_POINTER (pid), proc);
  dvmd_pipes_start (pipes);
  /* The input of one that is started again has been read, in part or whole. */
  if (proc->n_before + proc->n_restarts > 0)
    dvmd_pipes_close_stdin (pipes);
  dvmd_local_proc_started (proc, pid);
  if (awaits_debugger)
    dvmd_local_proc_ready_for_debug (proc);
  deliver_early_signals (job, proc);
  return TRUE;
}

void
dvmd_agent_start_again (DvmdAgentJob *job, DvmdLocalProc *proc)
{
  g_autoptr (GError) error = NULL;
  int exit_code = 0;

  if (!start_proc (job, proc, &exit_code, &error))
    {
      if (job->registered)
        dvmd_pmix_deregister_client (dvmd_agent_get_pmix (job->agent), job->local->nspace, proc->rank);
      dvmd_local_proc_not_started (proc, exit_code, error->message);
    }
  flush_states (job);
  dvmd_agent_send (job->agent, DVMD_MSG_RELAUNCHED,
                   g_variant_new ("(uuuis)", job->local->id, proc->rank, error == NULL ? proc->pid : 0, exit_code,
                                  error == NULL ? "" : error->message));
  if (error != NULL)
    dvmd_agent_close_pmi (job, proc);
}

static void
continue_start (DvmdAgentJob *job)
{
  GPtrArray *procs = job->local->procs;

  for (guint n = 0; n < STARTS_PER_TURN && job->run->next_start < procs->len; n++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (procs, job->run->next_start++);
      g_autoptr (GError) error = NULL;
      int exit_code;

      if (job->killed)
        dvmd_local_proc_not_started (proc, DVMD_EXIT_FAILED, "The job was ended before this process was started");
      else if (!start_proc (job, proc, &exit_code, &error))
        dvmd_local_proc_not_started (proc, exit_code, error->message);
    }
  if (job->run->next_start < procs->len)
    {
      g_queue_push_tail (&get_procs (job->agent)->starting, job);
      dvmd_turn_source_request (get_procs (job->agent)->turn);
    }
}

void
dvmd_agent_start_procs (DvmdAgentJob *job)
{
  for (guint i = 0; i < job->apps->len; i++)
    if (((DvmdAgentApp *)g_ptr_array_index (job->apps, i))->n_local > 0)
      dvmd_agent_prepare_app_environment (job, g_ptr_array_index (job->apps, i));
  continue_start (job);
}

void
dvmd_agent_fail_procs (DvmdAgentJob *job, int exit_code, const char *reason)
{
  for (guint i = 0; i < job->local->procs->len; i++)
    dvmd_local_proc_not_started (g_ptr_array_index (job->local->procs, i), exit_code, reason);
}

/* ---- signals ---- */

static void
signal_rank (DvmdAgentJob *job, DvmdLocalProc *proc, int signum, gboolean tried)
{
  if (signum == DVMD_SIGNAL_STAY_AWAY)
    {
      proc->stays_away = TRUE;
      dvmd_agent_give_up_restart (job, proc);
    }
  else if (!(proc->flags & DVMD_PROC_EXITED) || proc->comes_back)
    signal_proc (job, proc, tried && !proc->comes_back, signum);
}

static void
handle_signal (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = ((Procs *)service)->agent;
  g_autoptr (DvmdIdSet) ranks = NULL;
  const char *text;
  DvmdAgentJob *job;
  guint32 id;
  gint32 signum;

  g_variant_get (body, "(ui&s)", &id, &signum, &text);
  job = dvmd_agent_find_job (self, id);
  if (job == NULL)
    return;
  ranks = dvmd_id_set_parse (text, "ranks", NULL);
  for (guint i = 0; ranks != NULL && i < job->local->procs->len; i++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, i);

      if (dvmd_id_set_contains (ranks, proc->rank))
        signal_rank (job, proc, signum, i < job->run->next_start);
    }
}

/* Those that have the library, and have not been seen by the server. */
static gboolean
is_anybody_connecting (DvmdAgentJob *job)
{
  if (!job->registered)
    return FALSE;
  for (guint i = 0; i < job->local->procs->len; i++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, i);

      if (proc->pid > 0 && proc->reaped_at == 0 && !(proc->flags & DVMD_PROC_REGISTERED)
          && dvmd_proc_has_mapped (proc->pid, "pmix"))
        return TRUE;
    }
  return FALSE;
}

void
dvmd_agent_kill_job (DvmdAgentJob *job, gint64 grace)
{
  job->run->connecting |= is_anybody_connecting (job);
  job->options.kill_grace = grace;
  dvmd_local_job_killed (job->local, grace == 0);
  dvmd_agent_end_fences (job);
  /* Those that are not started yet will not be. */
  job->killed = TRUE;
  if (job->n_awaited > 0 || (job->registering && job->local->n_tried == 0))
    {
      job->n_awaited = 0;
      dvmd_agent_fail_procs (job, DVMD_EXIT_FAILED, "The job was ended before its processes were started");
    }
  else if (job->local->n_tried > 0)
    dvmd_container_terminate (job->container, grace);
}

static void
handle_kill (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = ((Procs *)service)->agent;
  DvmdAgentJob *job;
  guint32 id;
  gint64 grace;

  g_variant_get (body, "(ux)", &id, &grace);
  job = dvmd_agent_find_job (self, id);
  if (job != NULL)
    dvmd_agent_kill_job (job, grace);
  else
    dvmd_agent_end_stage (self, id);
}

/* ---- the service ---- */

static gboolean
on_turn (gpointer user_data)
{
  Procs *self = user_data;
  GHashTableIter iter;
  gpointer job;

  g_hash_table_iter_init (&iter, self->unsent);
  while (g_hash_table_iter_next (&iter, &job, NULL))
    {
      g_hash_table_iter_remove (&iter);
      flush_states (job);
    }
  for (guint n = self->starting.length; n > 0; n--)
    continue_start (g_queue_pop_head (&self->starting));
  return G_SOURCE_CONTINUE;
}

static gpointer
create (DvmdAgent *agent, const DvmdAgentSettings *settings)
{
  Procs *self = g_new0 (Procs, 1);

  self->agent = agent;
  self->unsent = g_hash_table_new (NULL, NULL);
  g_queue_init (&self->starting);
  self->turn = dvmd_turn_source_new (dvmd_agent_get_parts (agent)->context, "dvmd agent", on_turn, self);
  return self;
}

static void
procs_free (gpointer service)
{
  Procs *self = service;

  dvmd_turn_source_free (self->turn);
  g_hash_table_unref (self->unsent);
  g_queue_clear (&self->starting);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_SIGNAL, handle_signal },
  { DVMD_MSG_KILL, handle_kill },
  { 0 },
};

const DvmdAgentService dvmd_agent_procs_service = {
  .name = "procs",
  .create = create,
  .free = procs_free,
  .handlers = handlers,
};

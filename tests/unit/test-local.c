/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The small state machines of an agent, which know nothing of processes: its jobs, their ranks, and itself.
 */

#include "config.h"

#include <string.h>

#include "dvmd-local-daemon.h"
#include "dvmd-local.h"

static void
on_proc_changed (DvmdLocalJob *job, DvmdLocalProc *proc, gpointer user_data)
{
  g_string_append_printf (user_data, "%u:%s ", proc->rank, dvm_proc_state_to_string (proc->state));
}

static void
on_local (DvmdLocalJob *job, gpointer user_data)
{
  g_string_append_printf (user_data, "%s ", dvm_job_state_to_string (job->state));
}

/* A process is over when its output has ended and it has been reaped, in either order, once. */
static void
test_local_end (gconstpointer data)
{
  static const DvmdLocalFuncs funcs = { on_proc_changed, on_local, on_local, on_local, on_local };
  gboolean output_first = GPOINTER_TO_UINT (data);
  g_autoptr (GString) log = g_string_new (NULL);
  g_autoptr (DvmdEventQueue) queue = dvmd_event_queue_new (NULL, NULL);
  g_autoptr (DvmdLocalJob) job = dvmd_local_job_new (1, "n", queue, &funcs, log);
  DvmdLocalProc *proc = dvmd_local_job_add_proc (job, 0, 0, 0);

  dvmd_local_proc_started (proc, 7);
  for (guint i = 0; i < 3; i++)
    {
      if (output_first == (i == 0))
        dvmd_local_proc_output_closed (proc);
      else if (i < 2)
        dvmd_local_proc_exited (proc, 0, 0);
      dvmd_event_queue_drain (queue, 0);
      if (i == 0)
        g_assert_cmpint (proc->state, ==, output_first ? DVM_PROC_STATE_IOF_COMPLETE : DVM_PROC_STATE_WAITPID_FIRED);
      if (i == 0)
        g_assert_cmpint (job->state, ==, DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE);
    }
  g_assert_cmpint (job->state, ==, DVM_JOB_STATE_TERMINATED);
  g_assert_cmpint (proc->state, ==, DVM_PROC_STATE_TERMINATED);
  g_assert_nonnull (strstr (log->str, ":TERMINATED"));
  g_assert_null (strstr (strstr (log->str, ":TERMINATED") + 1, ":TERMINATED"));
}

/* The stop for a debugger on an agent: at the start, and in PMIx_Init. */
static void
test_local_debug (void)
{
  static const DvmdLocalFuncs funcs = { on_proc_changed, on_local, on_local, on_local, on_local };
  g_autoptr (GString) log = g_string_new (NULL);
  g_autoptr (DvmdEventQueue) queue = dvmd_event_queue_new (NULL, NULL);
  g_autoptr (DvmdLocalJob) job = dvmd_local_job_new (1, "n", queue, &funcs, log);
  DvmdLocalProc *a = dvmd_local_job_add_proc (job, 0, 0, 0);
  DvmdLocalProc *b = dvmd_local_job_add_proc (job, 1, 0, 1);

  dvmd_local_proc_started (a, 7);
  dvmd_local_proc_ready_for_debug (a);
  dvmd_local_proc_started (b, 8);
  dvmd_event_queue_drain (queue, 0);
  g_assert_cmpint (job->state, ==, DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE);
  dvmd_local_proc_registered (b);
  dvmd_local_proc_ready_for_debug (b);
  dvmd_event_queue_drain (queue, 0);
  g_assert_cmpint (job->state, ==, DVM_JOB_STATE_READY_FOR_DEBUG);
  dvmd_local_proc_continued (b);
  /* This one was let go on by a debugger. */
  dvmd_local_proc_registered (a);
  dvmd_event_queue_drain (queue, 0);
  g_assert_cmpint (job->state, ==, DVM_JOB_STATE_RUNNING);
  g_assert_cmpstr (log->str, ==,
                   "0:RUNNING 0:READY_FOR_DEBUG 1:RUNNING LOCAL_LAUNCH_COMPLETE 1:REGISTERED 1:READY_FOR_DEBUG "
                   "1:REGISTERED 0:REGISTERED ");
  dvmd_local_job_killed (job, TRUE);
  dvmd_event_queue_drain (queue, 0);
  g_assert_cmpint (job->state, ==, DVM_JOB_STATE_FORCED_EXIT);
}

static void
on_restart (DvmdLocalJob *job, DvmdLocalProc *proc, gpointer user_data)
{
  g_string_append_printf (user_data, "again%u ", proc->n_restarts);
}

/* Where one that has failed and comes back is given up, if at all. */
enum
{
  GIVEN_UP_NEVER,
  GIVEN_UP_WITH_OUTPUT, /* its output is still open */
  GIVEN_UP_AT_ONCE,     /* the news of its end are on their way */
  GIVEN_UP_IN_PAUSE,
  NOT_STARTED_AGAIN,
};

static const char *const restart_logs[] = {
  [GIVEN_UP_NEVER] = "0:RUNNING LOCAL_LAUNCH_COMPLETE 0:WAITPID_FIRED 0:RESTART again1 0:RUNNING LOCAL_LAUNCH_COMPLETE "
                     "0:WAITPID_FIRED 0:TERMINATED TERMINATED ",
  [GIVEN_UP_WITH_OUTPUT] =
      "0:RUNNING LOCAL_LAUNCH_COMPLETE 0:WAITPID_FIRED LOCAL_LAUNCH_COMPLETE 0:ABORTED_BY_SIG TERMINATED ",
  [GIVEN_UP_AT_ONCE] =
      "0:RUNNING LOCAL_LAUNCH_COMPLETE 0:WAITPID_FIRED LOCAL_LAUNCH_COMPLETE 0:RESTART 0:ABORTED_BY_SIG TERMINATED ",
  [GIVEN_UP_IN_PAUSE] = "0:RUNNING LOCAL_LAUNCH_COMPLETE 0:WAITPID_FIRED 0:RESTART again1 LOCAL_LAUNCH_COMPLETE "
                        "0:ABORTED_BY_SIG TERMINATED ",
  [NOT_STARTED_AGAIN] = "0:RUNNING LOCAL_LAUNCH_COMPLETE 0:WAITPID_FIRED 0:RESTART again1 LOCAL_LAUNCH_COMPLETE "
                        "0:FAILED_TO_START TERMINATED ",
};

/* A process that has failed and comes back has not ended: the job goes on, and has one end. */
static void
test_local_restart (gconstpointer data)
{
  static const DvmdLocalFuncs funcs = {
    .proc_changed = on_proc_changed,
    .launch_complete = on_local,
    .all_exited = on_local, /* in the state of the job then */
    .all_ended = on_local,
    .gone = on_local,
    .restart = on_restart,
  };
  guint how = GPOINTER_TO_UINT (data);
  g_autoptr (GString) log = g_string_new (NULL);
  g_autoptr (DvmdEventQueue) queue = dvmd_event_queue_new (NULL, NULL);
  g_autoptr (DvmdLocalJob) job = dvmd_local_job_new (1, "n", queue, &funcs, log);
  DvmdLocalProc *proc = dvmd_local_job_add_proc (job, 0, 0, 0);

  dvmd_local_proc_started (proc, 7);
  dvmd_event_queue_drain (queue, 0);
  dvmd_local_proc_comes_back (proc);
  dvmd_local_proc_exited (proc, 0, 9);
  dvmd_event_queue_drain (queue, 0);
  if (how == GIVEN_UP_WITH_OUTPUT)
    dvmd_local_job_killed (job, FALSE);
  dvmd_local_proc_output_closed (proc);
  if (how == GIVEN_UP_AT_ONCE)
    dvmd_local_job_killed (job, FALSE);
  dvmd_event_queue_drain (queue, 0);
  if (how == GIVEN_UP_NEVER)
    {
      dvmd_local_proc_started (proc, 8);
      dvmd_event_queue_drain (queue, 0);
      g_assert_cmpint (proc->exit_signal, ==, 0);
      dvmd_local_proc_exited (proc, 0, 0);
      dvmd_event_queue_drain (queue, 0);
      dvmd_local_proc_output_closed (proc);
    }
  else if (how == GIVEN_UP_IN_PAUSE)
    dvmd_local_job_killed (job, FALSE);
  else if (how == NOT_STARTED_AGAIN)
    dvmd_local_proc_not_started (proc, 127, "it is gone");
  dvmd_event_queue_drain (queue, 0);
  g_assert_cmpstr (log->str, ==, restart_logs[how]);
  g_assert_cmpint (job->n_tried, ==, 1);
  g_assert_cmpint (job->n_exited, ==, 1);
}

static void
count_terminated (DvmdLocalDaemon *daemon, gpointer user_data)
{
  (*(guint *)user_data)++;
}

/* The agent's own row: it ends once, when it was told to and nothing is left. */
static void
test_local_daemon (gconstpointer data)
{
  gboolean forced = GPOINTER_TO_UINT (data);
  g_autoptr (DvmdEventQueue) queue = dvmd_event_queue_new (NULL, NULL);
  guint n_terminated = 0;
  g_autoptr (DvmdLocalDaemon) daemon = dvmd_local_daemon_new ("dvm-test", queue, count_terminated, &n_terminated);

  dvmd_local_daemon_reported (daemon);
  dvmd_local_daemon_told_members (daemon);
  dvmd_local_daemon_empty (daemon);
  dvmd_local_daemon_told_members (daemon);
  dvmd_event_queue_drain (queue, 0);
  g_assert_cmpint (daemon->state, ==, DVM_JOB_STATE_VM_READY);
  dvmd_local_daemon_stop (daemon, FALSE);
  if (forced)
    dvmd_local_daemon_stop (daemon, TRUE);
  dvmd_local_daemon_told_members (daemon);
  dvmd_event_queue_drain (queue, 0);
  g_assert_cmpint (daemon->state, ==, forced ? DVM_JOB_STATE_FORCED_EXIT : DVM_JOB_STATE_VM_READY);
  g_assert_true (daemon->stopping);
  dvmd_local_daemon_empty (daemon);
  dvmd_local_daemon_empty (daemon);
  dvmd_local_daemon_stop (daemon, TRUE);
  dvmd_local_daemon_told_members (daemon);
  dvmd_event_queue_drain (queue, 0);
  g_assert_cmpint (daemon->state, ==, DVM_JOB_STATE_DAEMONS_TERMINATED);
  g_assert_cmpuint (n_terminated, ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/local/L1-L11-either-order/output-first", GUINT_TO_POINTER (TRUE), test_local_end);
  g_test_add_data_func ("/local/L1-L11-either-order/reaped-first", GUINT_TO_POINTER (FALSE), test_local_end);
  g_test_add_func ("/local/L1-L9-debug/local", test_local_debug);
  for (guint how = GIVEN_UP_NEVER; how <= NOT_STARTED_AGAIN; how++)
    {
      g_autofree char *path = g_strdup_printf ("/local/restart/%u", how);

      g_test_add_data_func (path, GUINT_TO_POINTER (how), test_local_restart);
    }
  g_test_add_data_func ("/local/L1-local-daemon", GUINT_TO_POINTER (FALSE), test_local_daemon);
  g_test_add_data_func ("/local/L1-L12-local-daemon/forced", GUINT_TO_POINTER (TRUE), test_local_daemon);
  return g_test_run ();
}

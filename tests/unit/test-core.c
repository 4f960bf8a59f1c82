/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The pure core with a world that only writes down what it was asked for: whole jobs without a process.
 */

#include "config.h"

#include "core-world.h"
#include "dvm-job-spec-private.h"
#include "dvmd-core.h"
#include "dvmd-job-machine.h"

/* ---- tests ---- */

static void
test_order (void)
{
  g_auto (World) world = { 0 };
  g_autofree char *states = NULL;
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  job = submit (&world, 3);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (dvmd_core_get_nodes (world.core)), ==, 3);
  dvmd_core_proc_launched (world.core, job, 0, 100, 0, NULL);
  run (&world);
  assert_state (job, DVM_JOB_STATE_STARTED);
  /* One agent is done, and the other has not begun. */
  dvmd_core_proc_launched (world.core, job, 1, 101, 0, NULL);
  dvmd_core_local_launch_complete (world.core, job, 1);
  run (&world);
  assert_state (job, DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE);
  launch_all (&world, job);
  for (guint rank = 0; rank < 3; rank++)
    {
      assert_state (job, DVM_JOB_STATE_RUNNING);
      end_proc (&world, job, rank, DVM_PROC_STATE_REGISTERED, 0, 0);
    }
  assert_state (job, DVM_JOB_STATE_REGISTERED);
  for (guint rank = 0; rank < 3; rank++)
    end_proc (&world, job, rank, DVM_PROC_STATE_TERMINATED, 0, 0);
  /* Ended everywhere, but not gone from the agents. */
  assert_state (job, DVM_JOB_STATE_NOTIFY_COMPLETED);
  g_assert_false (dvmd_job_get_ended (job));
  all_gone (&world, job);
  g_assert_true (dvmd_job_get_ended (job));
  states = states_of (job);
  g_assert_cmpstr (states, ==,
                   UP_TO_SEND " STARTED LOCAL_LAUNCH_COMPLETE RUNNING REGISTERED TERMINATED NOTIFY_COMPLETED NOTIFIED");
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (dvmd_core_get_nodes (world.core)), ==, 0);
  g_assert_cmpuint (dvm_job_get_num_terminated (dvmd_job_get_record (job)), ==, 3);
  g_assert_cmpuint (dvm_job_get_num_registered (dvmd_job_get_record (job)), ==, 3);
  g_assert_cmpstr (dvm_job_get_nspace (dvmd_job_get_record (job)), ==, "dvm-test@1");
}

static DvmdJob *
submit_to (World *world, guint np, const char *host)
{
  g_autoptr (DvmJobSpec) spec = make_spec (np);
  const char *hosts[] = { host, NULL };

  dvm_app_spec_set_hosts (dvm_job_spec_get_app (spec, 0), hosts);
  return submit_spec (world, spec);
}

/* Each goes its own way: the one that waits, and the one that fails, are no matter of the others. */
static void
test_independent (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *running;
  DvmdJob *waiting;
  DvmdJob *behind;
  DvmdJob *other;
  DvmdJob *next;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  running = submit_to (&world, 2, "node1");
  waiting = submit_to (&world, 2, "node1");
  other = submit_to (&world, 2, "node2");
  behind = submit_to (&world, 1, "node1");
  next = submit_to (&world, 1, "node2");
  launch_all (&world, running);
  launch_all (&world, other);
  assert_state (waiting, DVM_JOB_STATE_ALLOCATE);
  end_proc (&world, other, 0, DVM_PROC_STATE_ABORTED_BY_SIG, 0, 11);
  end_proc (&world, other, 1, DVM_PROC_STATE_KILLED_BY_CMD, 0, 15);
  all_gone (&world, other);
  assert_state (running, DVM_JOB_STATE_RUNNING);
  g_assert_null (strstr (world.log->str, "kill 1"));
  assert_state (waiting, DVM_JOB_STATE_ALLOCATE);
  assert_state (next, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  run_to_end (&world, next);
  assert_state (running, DVM_JOB_STATE_RUNNING);
  for (guint rank = 0; rank < 2; rank++)
    end_proc (&world, running, rank, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (&world, running);
  assert_state (waiting, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  assert_state (behind, DVM_JOB_STATE_ALLOCATE);
}

/* Once each: of the start, and of the end, whatever it was. */
static void
test_told (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 1, 2, FALSE);
  bring_up (&world);
  job = submit (&world, 1);
  g_assert_null (strstr (world.log->str, "started"));
  launch_all (&world, job);
  g_assert_nonnull (strstr (world.log->str, "started 1\n"));
  g_assert_null (strstr (world.log->str, "ended"));
  end_proc (&world, job, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (&world, job);
  g_assert_nonnull (strstr (world.log->str, "ended 1\n"));
  job = submit (&world, 1);
  launch_all (&world, job);
  end_proc (&world, job, 0, DVM_PROC_STATE_ABORTED_BY_SIG, 0, 11);
  all_gone (&world, job);
  g_assert_nonnull (strstr (world.log->str, "started 2\n"));
  g_assert_nonnull (strstr (world.log->str, "ended 2\n"));
}

static DvmdJob *
submit_stopping (World *world, guint np)
{
  g_autoptr (DvmJobSpec) spec = make_spec (np);
  g_autoptr (GError) error = NULL;
  DvmdJob *job;

  dvm_job_spec_set_runtime_options (spec, "stop-on-exec");
  job = dvmd_core_submit (world->core, spec, NULL, &error);
  g_assert_no_error (error);
  run (world);
  return job;
}

static void
all_in_state (World *world, DvmdJob *job, DvmProcState state)
{
  for (guint rank = 0; rank < dvmd_job_get_procs (job)->n_rows; rank++)
    end_proc (world, job, rank, state, 0, 0);
}

/* It waits when the last one does, and runs when no one does any more; who registers meanwhile is not forgotten. */
static void
test_ready_for_debug (void)
{
  g_auto (World) world = { 0 };
  g_autofree char *states = NULL;
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  job = submit_stopping (&world, 3);
  launch_all (&world, job);
  assert_state (job, DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE);
  end_proc (&world, job, 0, DVM_PROC_STATE_REGISTERED, 0, 0);
  end_proc (&world, job, 0, DVM_PROC_STATE_READY_FOR_DEBUG, 0, 0);
  end_proc (&world, job, 2, DVM_PROC_STATE_READY_FOR_DEBUG, 0, 0);
  assert_state (job, DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE);
  end_proc (&world, job, 1, DVM_PROC_STATE_READY_FOR_DEBUG, 0, 0);
  assert_state (job, DVM_JOB_STATE_READY_FOR_DEBUG);
  g_assert_cmpuint (dvm_job_get_num_launched (dvmd_job_get_record (job)), ==, 3);
  end_proc (&world, job, 1, DVM_PROC_STATE_REGISTERED, 0, 0);
  end_proc (&world, job, 0, DVM_PROC_STATE_REGISTERED, 0, 0);
  assert_state (job, DVM_JOB_STATE_READY_FOR_DEBUG);
  end_proc (&world, job, 2, DVM_PROC_STATE_REGISTERED, 0, 0);
  assert_state (job, DVM_JOB_STATE_REGISTERED);
  all_in_state (&world, job, DVM_PROC_STATE_TERMINATED);
  all_gone (&world, job);
  states = states_of (job);
  g_assert_cmpstr (states, ==,
                   UP_TO_SEND " STARTED LOCAL_LAUNCH_COMPLETE READY_FOR_DEBUG RUNNING REGISTERED TERMINATED "
                              "NOTIFY_COMPLETED NOTIFIED");
}

/* A rank that has ended is not waited for; nor does the end need anybody to let the job go on. */
static void
test_debug_ends (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *never;
  DvmdJob *job;

  world_init (&world, 1, 4, FALSE);
  bring_up (&world);
  job = submit_stopping (&world, 2);
  launch_all (&world, job);
  end_proc (&world, job, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  assert_state (job, DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE);
  end_proc (&world, job, 1, DVM_PROC_STATE_READY_FOR_DEBUG, 0, 0);
  assert_state (job, DVM_JOB_STATE_READY_FOR_DEBUG);
  end_proc (&world, job, 1, DVM_PROC_STATE_TERMINATED, 0, 0);
  assert_state (job, DVM_JOB_STATE_NOTIFY_COMPLETED);
  all_gone (&world, job);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
  never = submit_stopping (&world, 2);
  launch_all (&world, never);
  all_in_state (&world, never, DVM_PROC_STATE_TERMINATED);
  all_gone (&world, never);
  assert_state (never, DVM_JOB_STATE_NOTIFIED);
}

/* Single ranks are awaited alone, and one that has ended before is not. */
static void
test_debug_some (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 1, 8, FALSE);
  bring_up (&world);
  job = submit_stopping (&world, 4);
  _dvm_job_spec_set_stop_ranks (dvmd_job_get_spec (job), "1-2");
  launch_all (&world, job);
  end_proc (&world, job, 3, DVM_PROC_STATE_TERMINATED, 0, 0);
  end_proc (&world, job, 1, DVM_PROC_STATE_READY_FOR_DEBUG, 0, 0);
  assert_state (job, DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE);
  end_proc (&world, job, 2, DVM_PROC_STATE_READY_FOR_DEBUG, 0, 0);
  assert_state (job, DVM_JOB_STATE_READY_FOR_DEBUG);
  end_proc (&world, job, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  end_proc (&world, job, 1, DVM_PROC_STATE_RUNNING, 0, 0);
  assert_state (job, DVM_JOB_STATE_READY_FOR_DEBUG);
  end_proc (&world, job, 2, DVM_PROC_STATE_RUNNING, 0, 0);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  job = submit_stopping (&world, 2);
  _dvm_job_spec_set_stop_ranks (dvmd_job_get_spec (job), "0");
  launch_all (&world, job);
  end_proc (&world, job, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  assert_state (job, DVM_JOB_STATE_RUNNING);
}

/* Let go on before it waits: it never does. */
static void
test_debug_early (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *before;
  DvmdJob *job;

  world_init (&world, 1, 4, FALSE);
  bring_up (&world);
  job = submit_stopping (&world, 2);
  launch_all (&world, job);
  dvmd_core_continue_job (world.core, job);
  run (&world);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  all_in_state (&world, job, DVM_PROC_STATE_REGISTERED);
  assert_state (job, DVM_JOB_STATE_REGISTERED);
  before = submit_stopping (&world, 2);
  dvmd_core_continue_job (world.core, before);
  run (&world);
  assert_state (before, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  launch_all (&world, before);
  assert_state (before, DVM_JOB_STATE_RUNNING);
}

static void
test_jobs_of_a_node (void)
{
  g_auto (World) world = { 0 };
  DvmdNode *node;
  DvmdJob *job;

  world_init (&world, 1, 4, FALSE);
  bring_up (&world);
  node = dvmd_node_pool_get (dvmd_core_get_nodes (world.core), 1);
  job = submit (&world, 1);
  dvmd_node_pool_publish_jobs (node);
  g_assert_cmpuint (g_strv_length ((char **)dvm_node_get_jobs (node->record)), ==, 1);
  g_assert_cmpstr (dvm_node_get_jobs (node->record)[0], ==, "/org/dvm/jobs/1");
  run_to_end (&world, job);
  dvmd_node_pool_publish_jobs (node);
  g_assert_cmpuint (g_strv_length ((char **)dvm_node_get_jobs (node->record)), ==, 0);
}

/* An ended job does not keep what it was started with; a large one leaves earlier, and the last one never does. */
static void
test_history_bytes (void)
{
  g_auto (World) world = { 0 };
  g_autofree char *word = g_strnfill (100000, 'x');
  const char *const argv[] = { "/bin/prog", word, NULL };
  const char *const env[] = { "A=1", NULL };
  DvmJobSpec *kept;

  world_init (&world, 1, 4, FALSE);
  bring_up (&world);
  dvmd_core_set_history_bytes (world.core, 250000);
  for (guint i = 1; i <= 4; i++)
    {
      g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);

      dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 1);
      dvm_app_spec_set_env (dvm_job_spec_get_app (spec, 0), env);
      dvm_job_spec_set_pty (spec, TRUE);
      run_to_end (&world, submit_spec (&world, spec));
      /* The caller's description is left alone. */
      g_assert_cmpstr (dvm_app_spec_get_env (dvm_job_spec_get_app (spec, 0))[0], ==, "A=1");
    }
  g_assert_null (dvmd_core_get_job (world.core, 2));
  g_assert_nonnull (dvmd_core_get_job (world.core, 3));
  kept = dvmd_job_get_spec (dvmd_core_get_job (world.core, 4));
  g_assert_true (dvm_job_spec_get_pty (kept));
  g_assert_cmpuint (g_strv_length ((char **)dvm_app_spec_get_env (dvm_job_spec_get_app (kept, 0))), ==, 0);
  g_assert_null (dvm_app_spec_get_argv (dvm_job_spec_get_app (kept, 0))[1]);
  g_assert_cmpstr (dvm_job_get_command (dvmd_job_get_record (dvmd_core_get_job (world.core, 4)))[1], ==, word);
  dvmd_core_set_history_bytes (world.core, 1);
  g_assert_false (dvmd_core_trim_history (world.core));
  g_assert_null (dvmd_core_get_job (world.core, 3));
  g_assert_nonnull (dvmd_core_get_job (world.core, 4));
  dvmd_core_set_history_limit (world.core, 0);
  g_assert_false (dvmd_core_trim_history (world.core));
  g_assert_null (dvmd_core_get_job (world.core, 4));
}

/* The DVM's own job comes up in the order of spec/000 (L4-L7). */
static void
test_vm_order (void)
{
  g_auto (World) world = { 0 };
  g_autofree char *states = NULL;

  world_init (&world, 2, 0, FALSE);
  assert_state (dvmd_core_get_vm_job (world.core), DVM_JOB_STATE_DAEMONS_LAUNCHED);
  g_assert_cmpuint (dvmd_core_get_nodes_expected (world.core), ==, 2);
  report_all (&world);
  g_assert_false (dvmd_core_get_ready (world.core));
  dvmd_core_agents_wired (world.core, NULL);
  run (&world);
  g_assert_true (dvmd_core_get_ready (world.core));
  states = states_of (dvmd_core_get_vm_job (world.core));
  g_assert_cmpstr (states, ==,
                   "INIT INIT_COMPLETE ALLOCATE ALLOCATION_COMPLETE LAUNCH_DAEMONS DAEMONS_LAUNCHED DAEMONS_REPORTED "
                   "VM_READY");
  /* Slots that nobody gave: hardware threads (L6). */
  g_assert_cmpuint (dvmd_node_pool_count_slots (dvmd_core_get_nodes (world.core)), ==, 4);
  g_assert_cmpuint (dvmd_node_pool_count_up (dvmd_core_get_nodes (world.core)), ==, 2);
}

/* Slots that were given stay, whatever an agent reports. */
static void
test_given_slots (void)
{
  g_auto (World) world = { 0 };

  world_init (&world, 2, 5, FALSE);
  bring_up (&world);
  g_assert_cmpuint (dvmd_node_pool_count_slots (dvmd_core_get_nodes (world.core)), ==, 10);
}

static void
test_kept_until_ready (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *first;
  DvmdJob *cancelled;
  DvmdJob *second;

  world_init (&world, 1, 4, FALSE);
  first = submit (&world, 1);
  cancelled = submit (&world, 1);
  second = submit (&world, 1);
  assert_state (first, DVM_JOB_STATE_INIT_COMPLETE);
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 3);
  dvmd_core_fail_job (world.core, cancelled, DVM_JOB_STATE_KILLED_BY_CMD, "cancelled");
  run (&world);
  g_assert_true (dvmd_job_get_ended (cancelled));
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 2);
  bring_up (&world);
  assert_state (first, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  assert_state (second, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  g_assert_nonnull (strstr (world.log->str, "launch 1\nlaunch 3\n"));
}

static void
test_do_not_launch (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (2);
  g_autofree char *states = NULL;
  DvmdJob *job;

  world_init (&world, 1, 2, FALSE);
  bring_up (&world);
  dvm_job_spec_set_runtime_options (spec, "donotlaunch");
  job = submit_spec (&world, spec);
  g_assert_true (dvmd_job_get_ended (job));
  states = states_of (job);
  g_assert_cmpstr (states, ==,
                   "INIT INIT_COMPLETE ALLOCATE ALLOCATION_COMPLETE DAEMONS_REPORTED VM_READY MAP MAP_COMPLETE "
                   "TERMINATED NOTIFY_COMPLETED NOTIFIED");
  g_assert_null (strstr (world.log->str, "launch"));
  g_assert_nonnull (dvmd_job_get_map (job));
}

/* A program of an MPI library that does not use PMIx: said at the end, whatever that is, unless a rank has registered.
 */
static void
test_mpi_without_server (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *jobs[3];
  const char *reasons[3];

  world_init (&world, 1, 8, FALSE);
  bring_up (&world);
  for (guint i = 0; i < 3; i++)
    {
      jobs[i] = submit (&world, 2);
      launch_all (&world, jobs[i]);
      if (i == 2)
        end_proc (&world, jobs[i], 0, DVM_PROC_STATE_REGISTERED, 0, 0);
      dvmd_core_note_mpi_library (world.core, jobs[i], "libmpich.so.12");
      dvmd_core_note_mpi_library (world.core, jobs[i], "libother.so.1");
      end_proc (&world, jobs[i], 0, i == 1 ? DVM_PROC_STATE_TERM_NON_ZERO : DVM_PROC_STATE_TERMINATED, i == 1 ? 3 : 0,
                0);
      reasons[i] = dvm_job_get_reason (dvmd_job_get_record (jobs[i]));
      g_assert_cmpstr (i == 0 ? reasons[i] : "", ==, "");
      end_proc (&world, jobs[i], 1, i == 2 ? DVM_PROC_STATE_TERM_WO_SYNC : DVM_PROC_STATE_TERMINATED, 0, 0);
      all_gone (&world, jobs[i]);
      reasons[i] = dvm_job_get_reason (dvmd_job_get_record (jobs[i]));
    }
  g_assert_true (g_str_has_prefix (reasons[0], "The program is linked with libmpich.so.12, but no rank of the job"));
  g_assert_true (
      g_str_has_prefix (reasons[1], "Rank 0 on node1 ended with status 3; The program is linked with libmpich"));
  g_assert_null (strstr (reasons[2], "libmpich"));
  g_assert_false (dvm_job_get_failed (dvmd_job_get_record (jobs[0])));
}

/* The first failure gives state, exit and reason; the others are killed; the job ends when nothing is left. */
static void
test_failure (void)
{
  g_auto (World) world = { 0 };
  DvmJob *record;
  DvmdJob *job;

  world_init (&world, 1, 3, FALSE);
  bring_up (&world);
  job = submit (&world, 3);
  record = dvmd_job_get_record (job);
  launch_all (&world, job);
  end_proc (&world, job, 1, DVM_PROC_STATE_TERM_NON_ZERO, 3, 0);
  assert_state (job, DVM_JOB_STATE_NON_ZERO_TERM);
  g_assert_true (dvm_job_get_failed (record));
  g_assert_false (dvm_job_get_ended (record));
  g_assert_nonnull (strstr (world.log->str, "kill 1\n"));
  end_proc (&world, job, 0, DVM_PROC_STATE_KILLED_BY_CMD, 0, 15);
  end_proc (&world, job, 2, DVM_PROC_STATE_KILLED_BY_CMD, 0, 15);
  g_assert_false (dvm_job_get_ended (record));
  all_gone (&world, job);
  g_assert_true (dvm_job_get_ended (record));
  assert_state (job, DVM_JOB_STATE_NON_ZERO_TERM);
  g_assert_cmpint (dvm_job_get_exit_code (record), ==, 3);
  g_assert_cmpint (dvm_job_get_failed_rank (record), ==, 1);
  g_assert_nonnull (strstr (dvm_job_get_reason (record), "Rank 1"));
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (dvmd_core_get_nodes (world.core)), ==, 0);
  /* The job has ended, and not the DVM. */
  g_assert_true (dvmd_core_get_ready (world.core));
}

static void
test_not_started (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 1, 2, FALSE);
  bring_up (&world);
  job = submit (&world, 2);
  dvmd_core_proc_launched (world.core, job, 0, 0, 127, "no such program");
  dvmd_core_proc_launched (world.core, job, 1, 0, 127, "no such program");
  dvmd_core_local_launch_complete (world.core, job, 1);
  dvmd_core_job_gone (world.core, job, 1);
  run (&world);
  assert_state (job, DVM_JOB_STATE_FAILED_TO_START);
  g_assert_true (dvmd_job_get_ended (job));
  g_assert_cmpint (dvm_job_get_exit_code (dvmd_job_get_record (job)), ==, 127);
  g_assert_cmpstr (dvm_job_get_reason (dvmd_job_get_record (job)), ==,
                   "Rank 0 on node1 could not be started: no such program");
}

/* One that never calls PMIx_Init would keep the others waiting, whichever comes first. */
static void
test_unregistered (void)
{
  for (guint first = 0; first < 2; first++)
    {
      g_auto (World) world = { 0 };
      DvmdJob *job;

      world_init (&world, 1, 2, FALSE);
      bring_up (&world);
      job = submit (&world, 2);
      launch_all (&world, job);
      end_proc (&world, job, first, first == 0 ? DVM_PROC_STATE_TERMINATED : DVM_PROC_STATE_REGISTERED, 0, 0);
      assert_state (job, DVM_JOB_STATE_RUNNING);
      end_proc (&world, job, 1 - first, first == 0 ? DVM_PROC_STATE_REGISTERED : DVM_PROC_STATE_TERMINATED, 0, 0);
      assert_state (job, DVM_JOB_STATE_ABORTED_WO_SYNC);
      g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (job)), "Rank 0"));
      g_assert_cmpint (dvm_job_get_failed_rank (dvmd_job_get_record (job)), ==, 0);
    }
}

static void
test_recoverable (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (2);
  DvmdJob *job;

  world_init (&world, 1, 2, FALSE);
  bring_up (&world);
  dvm_job_spec_set_recoverable (spec, TRUE);
  job = submit_spec (&world, spec);
  launch_all (&world, job);
  end_proc (&world, job, 0, DVM_PROC_STATE_ABORTED_BY_SIG, 0, 11);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  end_proc (&world, job, 1, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (&world, job);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
  g_assert_cmpint (dvm_job_get_exit_signal (dvmd_job_get_record (job)), ==, 11);
}

/* A process that comes back has not ended, whenever its agent says so, and its job counts it once. */
static void
test_restarts (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (2);
  DvmJob *record;
  DvmdJob *job;

  world_init (&world, 1, 2, FALSE);
  bring_up (&world);
  dvm_job_spec_set_max_restarts (spec, 2);
  job = submit_spec (&world, spec);
  record = dvmd_job_get_record (job);
  launch_all (&world, job);
  dvmd_core_proc_relaunched (world.core, job, 0, 99, 0, "");
  g_assert_cmpuint (dvm_job_get_restarts (record), ==, 0);
  end_proc (&world, job, 0, DVM_PROC_STATE_RESTART, 0, 9);
  g_assert_cmpint (dvmd_proc_table_row (dvmd_job_get_procs (job), 0)->pid, ==, 0);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  dvmd_core_proc_relaunched (world.core, job, 0, 99, 0, "");
  run (&world);
  g_assert_cmpint (dvmd_proc_table_row (dvmd_job_get_procs (job), 0)->pid, ==, 99);
  g_assert_cmpint (dvmd_proc_table_row (dvmd_job_get_procs (job), 0)->state, ==, DVM_PROC_STATE_RUNNING);
  end_proc (&world, job, 1, DVM_PROC_STATE_RESTART, 4, 0);
  dvmd_core_proc_relaunched (world.core, job, 1, 100, 0, "");
  g_assert_cmpuint (dvm_job_get_restarts (record), ==, 2);
  g_assert_cmpuint (dvm_job_get_num_launched (record), ==, 2);
  g_assert_cmpuint (dvm_job_get_num_terminated (record), ==, 0);
  end_proc (&world, job, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  end_proc (&world, job, 1, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (&world, job);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
  g_assert_cmpint (dvm_job_get_exit_code (record), ==, 0);
}

/* A program that has gone meanwhile cannot be started again: that ends the job, as at its start. */
static void
test_restart_fails (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  DvmdJob *job;

  world_init (&world, 1, 1, FALSE);
  bring_up (&world);
  dvm_job_spec_set_max_restarts (spec, 2);
  job = submit_spec (&world, spec);
  launch_all (&world, job);
  end_proc (&world, job, 0, DVM_PROC_STATE_RESTART, 1, 0);
  dvmd_core_proc_relaunched (world.core, job, 0, 0, 127, "no such program");
  run (&world);
  assert_state (job, DVM_JOB_STATE_FAILED_TO_START);
  g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (job)), "no such program"));
  g_assert_cmpint (dvm_job_get_exit_code (dvmd_job_get_record (job)), ==, 127);
  g_assert_cmpuint (dvm_job_get_restarts (dvmd_job_get_record (job)), ==, 0);
}

/* The time limit counts from STARTED. */
static void
test_time_limit (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  DvmdJob *job;

  world_init (&world, 1, 1, FALSE);
  bring_up (&world);
  dvm_job_spec_set_timeout (spec, 10);
  job = submit_spec (&world, spec);
  dvmd_clock_advance (world.clock, 60 * G_USEC_PER_SEC);
  run (&world);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  launch_all (&world, job);
  dvmd_clock_advance (world.clock, 9 * G_USEC_PER_SEC);
  run (&world);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  dvmd_clock_advance (world.clock, 2 * G_USEC_PER_SEC);
  run (&world);
  assert_state (job, DVM_JOB_STATE_KILLED_BY_CMD);
  g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (job)), "10 s"));
}

/* All processes have to be started within the spawn time from the placement; waiting for slots does not count. */
static void
test_spawn_time (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (2);
  DvmdJob *first;
  DvmdJob *job;
  DvmdJob *late;

  world_init (&world, 1, 2, FALSE);
  bring_up (&world);
  first = submit (&world, 2);
  launch_all (&world, first);
  dvm_job_spec_set_spawn_timeout (spec, 10);
  job = submit_spec (&world, spec);
  dvmd_clock_advance (world.clock, 60 * G_USEC_PER_SEC);
  run (&world);
  assert_held (job, "slots");
  run_to_end (&world, first);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  dvmd_clock_advance (world.clock, 9 * G_USEC_PER_SEC);
  launch_all (&world, job);
  dvmd_clock_advance (world.clock, 60 * G_USEC_PER_SEC);
  run (&world);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  end_proc (&world, job, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  end_proc (&world, job, 1, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (&world, job);
  late = submit_spec (&world, spec);
  dvmd_core_proc_launched (world.core, late, 0, 100, 0, NULL);
  run (&world);
  assert_state (late, DVM_JOB_STATE_STARTED);
  dvmd_clock_advance (world.clock, 11 * G_USEC_PER_SEC);
  run (&world);
  assert_state (late, DVM_JOB_STATE_KILLED_BY_CMD);
  g_assert_cmpstr (dvm_job_get_reason_code (dvmd_job_get_record (late)), ==, "start-time-limit");
  g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (late)), "10 s"));
}

static void
test_cancel_everywhere (void)
{
  /* Cancelled after so many events of its way: whatever it was doing, it ends once and gives everything back. */
  for (guint steps = 0; steps < 40; steps++)
    {
      g_auto (World) world = { 0 };
      g_autoptr (DvmJobSpec) spec = make_spec (2);
      g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", 0, 0);
      DvmdJob *job;

      world_init (&world, 1, 2, FALSE);
      bring_up (&world);
      job = dvmd_core_submit (world.core, spec, requester, NULL);
      dvmd_event_queue_drain (world.queue, steps);
      dvmd_core_fail_job (world.core, job, DVM_JOB_STATE_KILLED_BY_CMD, "cancelled");
      run (&world);
      if (strstr (world.log->str, "launch 1") != NULL)
        {
          g_assert_nonnull (strstr (world.log->str, "kill 1"));
          launch_all (&world, job);
          end_proc (&world, job, 0, DVM_PROC_STATE_KILLED_BY_CMD, 0, 15);
          end_proc (&world, job, 1, DVM_PROC_STATE_KILLED_BY_CMD, 0, 15);
          all_gone (&world, job);
        }
      assert_state (job, DVM_JOB_STATE_KILLED_BY_CMD);
      g_assert_true (dvmd_job_get_ended (job));
      g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (dvmd_core_get_nodes (world.core)), ==, 0);
      g_assert_cmpuint (dvmd_core_get_num_live (world.core), ==, 0);
    }
}

static void
test_history (void)
{
  g_auto (World) world = { 0 };

  world_init (&world, 1, 1, FALSE);
  bring_up (&world);
  for (guint i = 0; i < 5; i++)
    run_to_end (&world, submit (&world, 1));
  g_assert_null (dvmd_core_get_job (world.core, 1));
  g_assert_null (dvmd_core_find_job (world.core, "dvm-test@2"));
  g_assert_nonnull (dvmd_core_get_job (world.core, 3));
  g_assert_nonnull (dvmd_core_find_job (world.core, "dvm-test@5"));
  g_assert_cmpuint (dvmd_core_get_last_job_id (world.core), ==, 5);
}

static void
test_shutdown (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  g_autoptr (GError) error = NULL;
  DvmdJob *running;
  DvmdJob *waiting;

  world_init (&world, 1, 1, FALSE);
  bring_up (&world);
  running = submit (&world, 1);
  waiting = submit (&world, 1);
  launch_all (&world, running);
  dvmd_core_shutdown (world.core, FALSE, "asked");
  run (&world);
  assert_state (running, DVM_JOB_STATE_KILLED_BY_CMD);
  assert_state (waiting, DVM_JOB_STATE_KILLED_BY_CMD);
  g_assert_null (strstr (world.log->str, "stop"));
  g_assert_null (dvmd_core_submit (world.core, spec, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN);
  g_assert_nonnull (strstr (error->message, "asked"));
  end_proc (&world, running, 0, DVM_PROC_STATE_KILLED_BY_CMD, 0, 15);
  all_gone (&world, running);
  g_assert_nonnull (strstr (world.log->str, "stop\n"));
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  run (&world);
  g_assert_true (world.ended);
  g_assert_cmpint (world.end_state, ==, DVM_JOB_STATE_DAEMONS_TERMINATED);
}

static void
test_forced_exit (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 1, 1, FALSE);
  bring_up (&world);
  job = submit (&world, 1);
  launch_all (&world, job);
  dvmd_core_shutdown (world.core, FALSE, "asked");
  run (&world);
  dvmd_core_shutdown (world.core, TRUE, "asked again");
  run (&world);
  assert_state (dvmd_core_get_vm_job (world.core), DVM_JOB_STATE_FORCED_EXIT);
  end_proc (&world, job, 0, DVM_PROC_STATE_KILLED_BY_CMD, 0, 9);
  all_gone (&world, job);
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  run (&world);
  g_assert_true (world.ended);
  g_assert_cmpint (world.end_state, ==, DVM_JOB_STATE_FORCED_EXIT);
}

/* Without jobs the agents are ended at once, by force. */
static void
test_forced_idle (void)
{
  g_auto (World) world = { 0 };

  world_init (&world, 1, 1, FALSE);
  bring_up (&world);
  dvmd_core_shutdown (world.core, TRUE, "asked");
  run (&world);
  g_assert_nonnull (strstr (world.log->str, "stop forced\n"));
}

static void
test_one_shot (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 1, 1, TRUE);
  bring_up (&world);
  job = submit (&world, 1);
  run_to_end (&world, job);
  assert_state (dvmd_core_get_vm_job (world.core), DVM_JOB_STATE_ALL_JOBS_COMPLETE);
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  run (&world);
  g_assert_true (world.ended);
  g_assert_cmpint (world.end_state, ==, DVM_JOB_STATE_ALL_JOBS_COMPLETE);
}

/* A job that comes when the last one has just ended is refused: it would wait for agents that leave. */
static void
test_one_shot_takes_no_more (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  g_autoptr (GError) error = NULL;
  DvmdJob *job;

  world_init (&world, 1, 1, TRUE);
  bring_up (&world);
  job = submit (&world, 1);
  launch_all (&world, job);
  end_proc (&world, job, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  dvmd_core_job_gone (world.core, job, 1);
  while (!dvmd_job_get_ended (job))
    dvmd_event_queue_drain (world.queue, 1);
  g_assert_null (dvmd_core_submit (world.core, spec, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN);
  run (&world);
  assert_state (dvmd_core_get_vm_job (world.core), DVM_JOB_STATE_ALL_JOBS_COMPLETE);
}

static void
test_one_shot_cancelled_early (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *kept;

  world_init (&world, 1, 1, TRUE);
  kept = submit (&world, 1);
  dvmd_core_fail_job (world.core, kept, DVM_JOB_STATE_KILLED_BY_CMD, "cancelled");
  run (&world);
  g_assert_true (dvmd_job_get_ended (kept));
  report_all (&world);
  dvmd_core_agents_wired (world.core, NULL);
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  run (&world);
  g_assert_true (world.ended);
  g_assert_cmpint (world.end_state, ==, DVM_JOB_STATE_ALL_JOBS_COMPLETE);
}

/* The last job ends while the failure of the DVM waits in the queue: somebody has to stop the agents all the same. */
static void
test_one_shot_failed (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *kept;

  world_init (&world, 2, 1, TRUE);
  kept = submit (&world, 1);
  report (&world, 2);
  dvmd_core_fail_job (world.core, kept, DVM_JOB_STATE_KILLED_BY_CMD, "cancelled");
  dvmd_event_queue_drain (world.queue, 1);
  assert_state (kept, DVM_JOB_STATE_KILLED_BY_CMD);
  g_assert_false (dvmd_job_get_ended (kept));
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_FAILED, DVMD_CAUSE_LAUNCH, "no topology");
  run (&world);
  g_assert_nonnull (strstr (world.log->str, "stop forced"));
  dvmd_core_agent_ended (world.core, 2, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  run (&world);
  g_assert_true (world.ended);
  g_assert_cmpint (world.end_state, ==, DVM_JOB_STATE_FAILED_TO_LAUNCH);
}

/* Reports that were on their way when the end began do not make the DVM ready. */
static void
test_shutdown_before_ready (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *kept;

  world_init (&world, 1, 1, FALSE);
  kept = submit (&world, 1);
  report_all (&world);
  dvmd_core_shutdown (world.core, FALSE, "asked");
  run (&world);
  assert_state (kept, DVM_JOB_STATE_KILLED_BY_CMD);
  dvmd_core_agents_wired (world.core, NULL);
  run (&world);
  g_assert_false (world.ready);
  g_assert_false (dvmd_core_get_ready (world.core));
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  run (&world);
  g_assert_true (world.ended);
}

static void
test_agent_failed (void)
{
  g_auto (World) world = { 0 };

  world_init (&world, 2, 1, FALSE);
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_FAILED, DVMD_CAUSE_LAUNCH, "no topology");
  run (&world);
  dvmd_core_agent_ended (world.core, 2, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  run (&world);
  g_assert_true (world.ended);
  g_assert_cmpint (world.end_state, ==, DVM_JOB_STATE_FAILED_TO_LAUNCH);
}

/* Every transition of the table leads from states that exist to states that exist. */
static void
test_table (void)
{
  guint to;

  g_assert_true (dvmd_state_table_lookup (&dvmd_job_table, DVM_JOB_STATE_RUNNING, DVMD_JOB_FAILED,
                                          DVM_JOB_STATE_CALLED_ABORT, &to));
  g_assert_cmpuint (to, ==, DVM_JOB_STATE_CALLED_ABORT);
  /* A job that has ended stays as it is. */
  g_assert_true (dvmd_state_table_lookup (&dvmd_job_table, DVM_JOB_STATE_NOTIFIED, DVMD_JOB_FAILED,
                                          DVM_JOB_STATE_CALLED_ABORT, &to));
  g_assert_cmpuint (to, ==, DVM_JOB_STATE_NOTIFIED);
  /* Nothing is created twice. */
  g_assert_false (dvmd_state_table_lookup (&dvmd_job_table, DVM_JOB_STATE_RUNNING, DVMD_JOB_CREATED, 0, NULL));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/core/L4-L9-L12-L15-order", test_order);
  g_test_add_func ("/core/L10-told", test_told);
  g_test_add_func ("/core/L8-independent", test_independent);
  g_test_add_func ("/core/L6-given-slots", test_given_slots);
  g_test_add_func ("/core/jobs-of-a-node", test_jobs_of_a_node);
  g_test_add_func ("/core/history-bytes", test_history_bytes);
  g_test_add_func ("/core/L5-L6-L7-vm-order", test_vm_order);
  g_test_add_func ("/core/L7-kept-until-ready", test_kept_until_ready);
  g_test_add_func ("/core/L5-do-not-launch", test_do_not_launch);
  g_test_add_func ("/core/L13-failure", test_failure);
  g_test_add_func ("/core/L13-not-started", test_not_started);
  g_test_add_func ("/core/L13-recoverable", test_recoverable);
  g_test_add_func ("/core/restarts", test_restarts);
  g_test_add_func ("/core/restarts/fails", test_restart_fails);
  g_test_add_func ("/core/L13-unregistered", test_unregistered);
  g_test_add_func ("/core/D21-time-limit", test_time_limit);
  g_test_add_func ("/core/D21-spawn-time", test_spawn_time);
  g_test_add_func ("/core/L13-L15-cancel-everywhere", test_cancel_everywhere);
  g_test_add_func ("/core/L9-debug/ready", test_ready_for_debug);
  g_test_add_func ("/core/L9-debug/ends", test_debug_ends);
  g_test_add_func ("/core/L9-debug/early", test_debug_early);
  g_test_add_func ("/core/L9-debug/some", test_debug_some);
  g_test_add_func ("/core/R5-history", test_history);
  g_test_add_func ("/core/L12-shutdown", test_shutdown);
  g_test_add_func ("/core/L12-L13-forced-exit", test_forced_exit);
  g_test_add_func ("/core/L12-forced-idle", test_forced_idle);
  g_test_add_func ("/core/L12-L13-one-shot", test_one_shot);
  g_test_add_func ("/core/L12-one-shot/no-more", test_one_shot_takes_no_more);
  g_test_add_func ("/core/L12-one-shot/cancelled-early", test_one_shot_cancelled_early);
  g_test_add_func ("/core/L12-one-shot/failed", test_one_shot_failed);
  g_test_add_func ("/core/L7-shutdown-before-ready", test_shutdown_before_ready);
  g_test_add_func ("/core/L6-agent-failed", test_agent_failed);
  g_test_add_func ("/core/mpi-without-server", test_mpi_without_server);
  g_test_add_func ("/core/L2-L3-table", test_table);
  return g_test_run ();
}

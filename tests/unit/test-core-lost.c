/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes that are lost, in the pure core: what becomes of their processes, of the jobs that have some there, of those
 * that wait, and of the DVM.
 */

#include "config.h"

#include "core-world.h"
#include "dvmd-job-hold.h"

#define WHY "connection closed"

static void
lose (World *world, guint rank)
{
  g_autofree char *reason = g_strdup_printf ("node%u: " WHY, rank);

  /* As launchers say it. */
  dvmd_core_agent_ended (world->core, rank, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, reason);
  dvmd_core_lost_agent_gone (world->core, rank);
  run (world);
}

static DvmdNodePool *
nodes_of (World *world)
{
  return dvmd_core_get_nodes (world->core);
}

static DvmdNode *
node (World *world, guint rank)
{
  return dvmd_node_pool_get (nodes_of (world), rank);
}

static void
gone (World *world, DvmdJob *job, guint agent)
{
  dvmd_core_job_gone (world->core, job, agent);
  run (world);
}

static DvmProcState
state_of (DvmdJob *job, guint rank)
{
  return dvmd_proc_table_row (dvmd_job_get_procs (job), rank)->state;
}

static void
assert_reason (DvmdJob *job, const char *text)
{
  g_assert_cmpstr (dvm_job_get_reason (dvmd_job_get_record (job)), ==, text);
}

static DvmdJob *
submit_recoverable (World *world, guint np)
{
  g_autoptr (DvmJobSpec) spec = make_spec (np);

  dvm_job_spec_set_recoverable (spec, TRUE);
  return submit_spec (world, spec);
}

static void
launch_on (World *world, DvmdJob *job, guint agent)
{
  DvmdProcTable *procs = dvmd_job_get_procs (job);

  for (guint rank = 0; rank < procs->n_rows; rank++)
    if (dvmd_proc_table_row (procs, rank)->node == agent)
      dvmd_core_proc_launched (world->core, job, rank, 100 + rank, 0, NULL);
  dvmd_core_local_launch_complete (world->core, job, agent);
  run (world);
}

static void
test_running (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *hit;
  DvmdJob *other;

  world_init (&world, 3, 2, FALSE);
  bring_up (&world);
  hit = submit (&world, 4);
  other = submit (&world, 2);
  launch_all (&world, hit);
  launch_all (&world, other);
  g_string_truncate (world.log, 0);
  lose (&world, 2);
  g_assert_cmpint (dvm_node_get_state (node (&world, 2)->record), ==, DVM_NODE_STATE_DOWN);
  g_assert_cmpstr (dvm_node_get_reason (node (&world, 2)->record), ==, WHY);
  assert_state (hit, DVM_JOB_STATE_COMM_FAILED);
  assert_reason (hit, "node2 was lost: " WHY);
  g_assert_cmpint (dvm_job_get_failed_rank (dvmd_job_get_record (hit)), ==, 2);
  g_assert_cmpint (state_of (hit, 1), ==, DVM_PROC_STATE_RUNNING);
  g_assert_cmpint (state_of (hit, 2), ==, DVM_PROC_STATE_COMM_FAILED);
  g_assert_cmpint (state_of (hit, 3), ==, DVM_PROC_STATE_COMM_FAILED);
  /* Its other processes are ended, and nobody waits for the agent that is not there. */
  g_assert_cmpstr (world.log->str, ==, "kill 1\n");
  g_assert_false (dvmd_job_get_ended (hit));
  end_proc (&world, hit, 0, DVM_PROC_STATE_KILLED_BY_CMD, 0, 15);
  end_proc (&world, hit, 1, DVM_PROC_STATE_KILLED_BY_CMD, 0, 15);
  gone (&world, hit, 1);
  g_assert_true (dvmd_job_get_ended (hit));
  assert_reason (hit, "node2 was lost: " WHY);
  g_assert_cmpint (dvm_job_get_exit_signal (dvmd_job_get_record (hit)), ==, 0);
  g_assert_cmpuint (dvm_job_get_num_terminated (dvmd_job_get_record (hit)), ==, 4);
  assert_state (other, DVM_JOB_STATE_RUNNING);
  g_assert_false (world.ended);
}

/* The node counts no more, its slots are nobody's, and no job is placed there. */
static void
test_slots (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  job = submit (&world, 4);
  launch_all (&world, job);
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (nodes_of (&world)), ==, 4);
  lose (&world, 1);
  g_assert_cmpuint (dvmd_node_pool_count_up (nodes_of (&world)), ==, 1);
  g_assert_cmpuint (dvmd_node_pool_count_usable (nodes_of (&world)), ==, 1);
  g_assert_cmpuint (dvmd_node_pool_count_slots (nodes_of (&world)), ==, 2);
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (nodes_of (&world)), ==, 2);
  g_assert_cmpuint (node (&world, 1)->slots_in_use, ==, 0);
  g_assert_cmpuint (g_hash_table_size (node (&world, 1)->jobs.ids), ==, 0);
  gone (&world, job, 2);
  g_assert_true (dvmd_job_get_ended (job));
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (nodes_of (&world)), ==, 0);
  job = submit (&world, 2);
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (job), 2), ==, 2);
  run_to_end (&world, job);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
}

/* Ranks that had ended keep their end; a job that has no others there is not touched. */
static void
test_ended_before (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  job = submit (&world, 4);
  launch_all (&world, job);
  end_proc (&world, job, 2, DVM_PROC_STATE_TERMINATED, 0, 0);
  end_proc (&world, job, 3, DVM_PROC_STATE_TERMINATED, 0, 0);
  lose (&world, 2);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  g_assert_cmpint (state_of (job, 2), ==, DVM_PROC_STATE_TERMINATED);
  end_proc (&world, job, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  end_proc (&world, job, 1, DVM_PROC_STATE_TERMINATED, 0, 0);
  assert_state (job, DVM_JOB_STATE_NOTIFY_COMPLETED);
  gone (&world, job, 1);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (nodes_of (&world)), ==, 0);
}

static void
test_recoverable (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 3, 2, FALSE);
  bring_up (&world);
  job = submit_recoverable (&world, 6);
  launch_all (&world, job);
  g_string_truncate (world.log, 0);
  lose (&world, 2);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  g_assert_cmpstr (world.log->str, ==, "without 1 of node2\n");
  g_assert_cmpint (state_of (job, 2), ==, DVM_PROC_STATE_COMM_FAILED);
  g_assert_cmpint (state_of (job, 3), ==, DVM_PROC_STATE_COMM_FAILED);
  g_assert_cmpuint (dvm_job_get_num_terminated (dvmd_job_get_record (job)), ==, 2);
  for (guint rank = 0; rank < 6; rank++)
    if (rank / 2 != 1)
      end_proc (&world, job, rank, DVM_PROC_STATE_TERMINATED, 0, 0);
  gone (&world, job, 1);
  g_assert_false (dvmd_job_get_ended (job));
  gone (&world, job, 3);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
  g_assert_cmpint (dvm_job_get_exit_code (dvmd_job_get_record (job)), ==, 0);
}

/* One that has nobody left fails all the same. */
static void
test_recoverable_alone (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  job = submit_recoverable (&world, 4);
  launch_all (&world, job);
  lose (&world, 1);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  lose (&world, 2);
  assert_state (job, DVM_JOB_STATE_COMM_FAILED);
  assert_reason (job, "node2 was lost: " WHY);
  g_assert_true (dvmd_job_get_ended (job));
}

/* In the middle of the launch: some agents have answered, one never will. */
static void
test_launching (gconstpointer data)
{
  gboolean lost_first = GPOINTER_TO_UINT (data);
  g_auto (World) world = { 0 };
  g_autofree char *states = NULL;
  DvmdJob *hit;
  DvmdJob *goes_on;

  world_init (&world, 2, 4, FALSE);
  bring_up (&world);
  hit = submit (&world, 2);
  goes_on = submit_recoverable (&world, 6);
  assert_state (hit, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  /* On node1 and on node1 and node2. */
  if (!lost_first)
    launch_on (&world, goes_on, 1);
  launch_on (&world, hit, 1);
  lose (&world, 2);
  if (lost_first)
    launch_on (&world, goes_on, 1);
  assert_state (hit, DVM_JOB_STATE_RUNNING);
  assert_state (goes_on, DVM_JOB_STATE_RUNNING);
  for (guint rank = 0; rank < 2; rank++)
    {
      end_proc (&world, hit, rank, DVM_PROC_STATE_TERMINATED, 0, 0);
      end_proc (&world, goes_on, rank, DVM_PROC_STATE_TERMINATED, 0, 0);
    }
  gone (&world, hit, 1);
  gone (&world, goes_on, 1);
  assert_state (hit, DVM_JOB_STATE_NOTIFIED);
  assert_state (goes_on, DVM_JOB_STATE_NOTIFIED);
  states = states_of (goes_on);
  g_assert_cmpstr (states, ==,
                   UP_TO_SEND " STARTED LOCAL_LAUNCH_COMPLETE RUNNING TERMINATED NOTIFY_COMPLETED NOTIFIED");
}

/* Whatever happens next when it comes: the job fails with the name of the node, or goes on without it. */
static void
test_at_every_step (gconstpointer data)
{
  gboolean has_files = GPOINTER_TO_UINT (data);
  const char *files[] = { "/tmp/data.txt", NULL };
  guint n_steps = 0;
  gboolean more = TRUE;

  for (; more; n_steps++)
    {
      g_auto (World) world = { 0 };
      g_autoptr (DvmJobSpec) spec = make_spec (4);
      DvmdJob *job;

      world_init (&world, 3, 2, FALSE);
      bring_up (&world);
      if (has_files)
        dvm_app_spec_set_preload_files (dvm_job_spec_get_app (spec, 0), files);
      job = dvmd_core_submit (world.core, spec, NULL, NULL);
      for (guint i = 0; i < n_steps; i++)
        more = dvmd_event_queue_drain (world.queue, 1);
      lose (&world, 1);
      for (guint agent = 1; agent <= 3; agent++)
        dvmd_core_files_staged (world.core, job, agent, NULL);
      run (&world);
      if (dvm_job_state_is_error (dvmd_job_get_state (job)))
        {
          g_assert_true (g_str_has_prefix (dvm_job_get_reason (dvmd_job_get_record (job)), "node1 was lost"));
          gone (&world, job, 2);
        }
      else
        run_to_end (&world, job);
      g_assert_true (dvmd_job_get_ended (job));
      g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (nodes_of (&world)), ==, 0);
      g_assert_cmpuint (dvmd_core_get_num_running (world.core), ==, 0);
      job = submit (&world, 4);
      run_to_end (&world, job);
      assert_state (job, DVM_JOB_STATE_NOTIFIED);
    }
  g_assert_cmpuint (n_steps, >, 10);
}

/* Jobs in the queue: who can still fit waits on, who cannot is told so, also behind another. */
static void
test_waiting (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *running;
  DvmdJob *jobs[3];
  const guint np[] = { 4, 6, 2 };

  world_init (&world, 3, 2, FALSE);
  bring_up (&world);
  running = submit (&world, 4);
  launch_all (&world, running);
  for (guint i = 0; i < 3; i++)
    jobs[i] = submit (&world, np[i]);
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 3);
  lose (&world, 3);
  assert_state (jobs[0], DVM_JOB_STATE_ALLOCATE);
  assert_state (jobs[1], DVM_JOB_STATE_MAP_FAILED);
  g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (jobs[1])), "6 processes"));
  assert_state (jobs[2], DVM_JOB_STATE_ALLOCATE);
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 2);
  for (guint rank = 0; rank < 4; rank++)
    end_proc (&world, running, rank, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (&world, running);
  run_to_end (&world, jobs[0]);
  run_to_end (&world, jobs[2]);
  assert_state (jobs[2], DVM_JOB_STATE_NOTIFIED);
}

/* It had left the queue, with slots on a node that is lost before it is placed: it stays ahead of the others. */
static void
test_let_through (void)
{
  guint n_again = 0;

  for (guint steps = 0; steps < 12; steps++)
    {
      g_auto (World) world = { 0 };
      DvmdJob *running;
      DvmdJob *first;
      DvmdJob *second;

      world_init (&world, 2, 2, FALSE);
      bring_up (&world);
      running = submit (&world, 4);
      launch_all (&world, running);
      first = submit (&world, 2);
      second = submit (&world, 2);
      for (guint rank = 0; rank < 4; rank++)
        dvmd_core_proc_state (world.core, running, rank, DVM_PROC_STATE_TERMINATED, 0, 0);
      for (guint i = 0; i < steps; i++)
        dvmd_event_queue_drain (world.queue, 1);
      lose (&world, 1);
      gone (&world, running, 2);
      if (dvmd_job_get_state (first) == DVM_JOB_STATE_ALLOCATE)
        {
          n_again++;
          assert_state (second, DVM_JOB_STATE_SEND_LAUNCH_MSG);
          run_to_end (&world, second);
        }
      if (!dvmd_job_get_ended (first))
        run_to_end (&world, first);
      if (!dvmd_job_get_ended (second))
        run_to_end (&world, second);
      g_assert_true (dvmd_job_get_ended (first) && dvmd_job_get_ended (second));
      g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (nodes_of (&world)), ==, 0);
    }
  g_assert_cmpuint (n_again, >, 0);
}

/* One that was let through to a node without a free slot, which is the only one that it may use. */
static void
test_oversubscribes (void)
{
  for (guint steps = 0; steps < 14; steps++)
    {
      g_auto (World) world = { 0 };
      g_autoptr (DvmJobSpec) spec = make_spec (2);
      DvmdJob *job;

      world_init (&world, 1, 1, FALSE);
      bring_up (&world);
      launch_all (&world, submit (&world, 1));
      dvm_job_spec_set_when_full (spec, "oversubscribe");
      job = dvmd_core_submit (world.core, spec, NULL, NULL);
      for (guint i = 0; i < steps; i++)
        dvmd_event_queue_drain (world.queue, 1);
      lose (&world, 1);
      g_assert_true (dvmd_job_get_ended (job));
      g_assert_true (dvm_job_state_is_error (dvmd_job_get_state (job)));
      if (dvmd_job_get_state (job) == DVM_JOB_STATE_MAP_FAILED)
        assert_reason (job, "None of the nodes that the job may use is up");
    }
}

static void
test_all_lost (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *running;
  DvmdJob *waiting;
  DvmdJob *late;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  running = submit (&world, 4);
  waiting = submit (&world, 1);
  launch_all (&world, running);
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, WHY);
  dvmd_core_agent_ended (world.core, 2, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "no sign of life for 20 s");
  run (&world);
  assert_state (running, DVM_JOB_STATE_COMM_FAILED);
  assert_reason (running, "node1 was lost: " WHY);
  g_assert_true (dvmd_job_get_ended (running));
  assert_state (waiting, DVM_JOB_STATE_MAP_FAILED);
  /* It stays up, without nodes, and says so. */
  g_assert_true (dvmd_core_get_ready (world.core));
  g_assert_false (world.ended);
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  run (&world);
  g_assert_false (world.ended);
  late = submit (&world, 1);
  assert_state (late, DVM_JOB_STATE_MAP_FAILED);
  assert_reason (late, "None of the nodes that the job may use is up");
  g_assert_cmpuint (dvmd_node_pool_count_slots (nodes_of (&world)), ==, 0);
  dvmd_core_shutdown (world.core, FALSE, "enough");
  run (&world);
  g_assert_true (world.ended);
  g_assert_cmpint (world.end_state, ==, DVM_JOB_STATE_DAEMONS_TERMINATED);
}

/* Messages that the agent sent before it was lost may come after that: they change nothing. */
static void
test_late_messages (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;
  DvmdAgentReport report = { .host = "h", .address = "", .pid = 7, .hwthreads = 2, .topology = "t" };

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  job = submit_recoverable (&world, 4);
  launch_on (&world, job, 1);
  lose (&world, 2);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  launch_on (&world, job, 2);
  launch_on (&world, job, 1);
  g_assert_cmpuint (dvm_job_get_num_launched (dvmd_job_get_record (job)), ==, 2);
  end_proc (&world, job, 2, DVM_PROC_STATE_REGISTERED, 0, 0);
  end_proc (&world, job, 3, DVM_PROC_STATE_TERM_NON_ZERO, 3, 0);
  dvmd_core_abort_called (world.core, job, 2, 1, "too late");
  dvmd_core_files_staged (world.core, job, 2, "too late");
  gone (&world, job, 2);
  dvmd_core_agent_reported (world.core, 2, &report);
  dvmd_core_agent_ended (world.core, 2, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  lose (&world, 2);
  g_assert_cmpint (state_of (job, 2), ==, DVM_PROC_STATE_COMM_FAILED);
  g_assert_cmpint (state_of (job, 3), ==, DVM_PROC_STATE_COMM_FAILED);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  g_assert_cmpuint (dvm_job_get_num_terminated (dvmd_job_get_record (job)), ==, 2);
  g_assert_cmpint (dvm_node_get_state (node (&world, 2)->record), ==, DVM_NODE_STATE_DOWN);
  end_proc (&world, job, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  end_proc (&world, job, 1, DVM_PROC_STATE_TERMINATED, 0, 0);
  gone (&world, job, 1);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
}

/* Jobs that end already wait for the agent that is lost: the reason is the one that they had. */
static void
test_ending (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *failed;
  DvmdJob *done;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  failed = submit (&world, 3);
  done = submit (&world, 1);
  launch_all (&world, failed);
  launch_all (&world, done);
  end_proc (&world, failed, 0, DVM_PROC_STATE_TERM_NON_ZERO, 3, 0);
  end_proc (&world, done, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  gone (&world, failed, 1);
  assert_state (done, DVM_JOB_STATE_NOTIFY_COMPLETED);
  g_assert_false (dvmd_job_get_ended (failed));
  lose (&world, 2);
  assert_state (failed, DVM_JOB_STATE_NON_ZERO_TERM);
  g_assert_cmpint (state_of (failed, 2), ==, DVM_PROC_STATE_COMM_FAILED);
  g_assert_true (dvmd_job_get_ended (failed));
  assert_state (done, DVM_JOB_STATE_NOTIFIED);
  g_assert_true (dvmd_job_get_ended (done));
}

/* The end of the DVM does not wait for an agent that is lost meanwhile, nor end twice. */
static void
test_shutdown (gconstpointer data)
{
  gboolean with_job = GPOINTER_TO_UINT (data);
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  if (with_job)
    {
      job = submit (&world, 4);
      launch_all (&world, job);
    }
  dvmd_core_shutdown (world.core, FALSE, "enough");
  run (&world);
  lose (&world, 1);
  g_assert_false (world.ended);
  if (with_job)
    {
      assert_state (job, DVM_JOB_STATE_KILLED_BY_CMD);
      gone (&world, job, 2);
      g_assert_true (dvmd_job_get_ended (job));
    }
  g_assert_true (g_str_has_suffix (world.log->str, "stop\n"));
  g_assert_false (world.ended);
  lose (&world, 2);
  g_assert_true (world.ended);
  g_assert_cmpint (world.end_state, ==, DVM_JOB_STATE_DAEMONS_TERMINATED);
  g_assert_cmpuint (world.n_ended, ==, 1);
}

static void
test_one_shot (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 1, 2, TRUE);
  bring_up (&world);
  job = submit (&world, 2);
  launch_all (&world, job);
  lose (&world, 1);
  assert_state (job, DVM_JOB_STATE_COMM_FAILED);
  g_assert_true (world.ended);
  g_assert_cmpint (world.end_state, ==, DVM_JOB_STATE_ALL_JOBS_COMPLETE);
  g_assert_cmpuint (world.n_ended, ==, 1);
}

static void
test_drained (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  g_assert_true (dvmd_core_drain_node (world.core, node (&world, 2), "new disk", NULL));
  job = submit (&world, 4);
  assert_state (job, DVM_JOB_STATE_ALLOCATE);
  lose (&world, 2);
  assert_state (job, DVM_JOB_STATE_MAP_FAILED);
  g_assert_false (dvmd_core_resume_node (world.core, node (&world, 2), NULL));
}

/* A job that waits for a debugger: those that are left are all that there are. */
static void
test_debug (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (4);
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  dvm_job_spec_set_runtime_options (spec, "stop-on-exec,recoverable");
  job = submit_spec (&world, spec);
  launch_all (&world, job);
  end_proc (&world, job, 0, DVM_PROC_STATE_READY_FOR_DEBUG, 0, 0);
  end_proc (&world, job, 1, DVM_PROC_STATE_READY_FOR_DEBUG, 0, 0);
  end_proc (&world, job, 2, DVM_PROC_STATE_READY_FOR_DEBUG, 0, 0);
  lose (&world, 2);
  assert_state (job, DVM_JOB_STATE_READY_FOR_DEBUG);
  end_proc (&world, job, 0, DVM_PROC_STATE_RUNNING, 0, 0);
  end_proc (&world, job, 1, DVM_PROC_STATE_RUNNING, 0, 0);
  assert_state (job, DVM_JOB_STATE_RUNNING);
}

/* ---- ranks that may be started again go to another node ---- */

#define PAUSE (10 * G_USEC_PER_SEC)

static void
begin_moving (World *world, guint n_nodes, guint slots, gboolean heal)
{
  DvmdCoreSettings settings = { .nspace = "dvm-test",
                                .host = "head",
                                .history_limit = 3,
                                .uid = 1000,
                                .move_pause = PAUSE,
                                .heal = heal,
                                .heal_limit = 2,
                                .heal_pause = G_USEC_PER_SEC };

  world_init_with (world, n_nodes, slots, &settings);
  bring_up (world);
}

static DvmdJob *
submit_movable (World *world, guint np, guint max_restarts)
{
  g_autoptr (DvmJobSpec) spec = make_spec (np);
  DvmdJob *job;

  dvm_job_spec_set_personality (spec, "plain");
  dvm_job_spec_set_max_restarts (spec, max_restarts);
  job = submit_spec (world, spec);
  launch_all (world, job);
  g_string_truncate (world->log, 0);
  return job;
}

static void
wait_pause (World *world)
{
  dvmd_clock_advance (world->clock, PAUSE);
  run (world);
}

/* A rank is where its row, the map, the slots and the nodes of the job say that it is: in one place. */
static void
assert_on (World *world, DvmdJob *job, guint rank, guint on)
{
  g_autoptr (GArray) there = dvmd_map_expand_node (dvmd_job_get_map (job), on);
  gboolean found = FALSE;

  for (guint i = 0; i < there->len; i++)
    found = found || g_array_index (there, DvmdMapRank, i).rank == rank;
  g_assert_true (found);
  g_assert_true (dvmd_map_is_whole (dvmd_job_get_map (job)));
  g_assert_cmpuint (dvmd_proc_table_row (dvmd_job_get_procs (job), rank)->node, ==, on);
  g_assert_cmpuint (node (world, on)->slots_in_use, ==, there->len);
  g_assert_true (
      g_strv_contains (dvm_job_get_nodes (dvmd_job_get_record (job)), dvm_node_get_name (node (world, on)->record)));
}

static void
come_back (World *world, DvmdJob *job, guint rank)
{
  dvmd_core_proc_launched (world->core, job, rank, 500 + rank, 0, NULL);
  run (world);
  g_assert_cmpint (state_of (job, rank), ==, DVM_PROC_STATE_RUNNING);
}

static void
finish_moved (World *world, DvmdJob *job, guint n_others)
{
  for (guint rank = 0; rank < dvmd_job_get_procs (job)->n_rows; rank++)
    end_proc (world, job, rank, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (world, job);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (nodes_of (world)), ==, n_others);
}

static void
test_move (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  begin_moving (&world, 3, 2, FALSE);
  job = submit_movable (&world, 4, 1);
  lose (&world, 2);
  g_assert_cmpint (state_of (job, 2), ==, DVM_PROC_STATE_RESTART);
  /* It may run there still; its streams are at their end. */
  dvmd_clock_advance (world.clock, PAUSE - 1);
  run (&world);
  g_assert_cmpstr (world.log->str, ==, "without 1 of node2\n");
  wait_pause (&world);
  g_assert_cmpstr (world.log->str, ==,
                   "without 1 of node2\nmove 1: rank 2 from 2 to 3, time 1\nmove 1: rank 3 from 2 to 3, time 1\n");
  assert_on (&world, job, 0, 1);
  assert_on (&world, job, 2, 3);
  assert_on (&world, job, 3, 3);
  g_assert_cmpuint (dvmd_proc_table_row (dvmd_job_get_procs (job), 3)->local_rank, ==, 1);
  come_back (&world, job, 2);
  come_back (&world, job, 3);
  g_assert_cmpuint (dvm_job_get_restarts (dvmd_job_get_record (job)), ==, 2);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  finish_moved (&world, job, 0);
}

/* The number is used up, on whatever nodes. */
static void
test_move_used_up (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  begin_moving (&world, 3, 1, FALSE);
  job = submit_movable (&world, 1, 1);
  lose (&world, 1);
  wait_pause (&world);
  come_back (&world, job, 0);
  lose (&world, 2);
  assert_state (job, DVM_JOB_STATE_COMM_FAILED);
  assert_reason (job, "node2 was lost: " WHY);
  g_assert_true (dvmd_job_get_ended (job));
}

/* The new node is lost while the rank starts, and another one with it. */
static void
test_move_lost_again (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  begin_moving (&world, 4, 1, FALSE);
  job = submit_movable (&world, 2, 3);
  lose (&world, 1);
  lose (&world, 3);
  wait_pause (&world);
  g_assert_nonnull (strstr (world.log->str, "move 1: rank 0 from 1 to 4, time 1\n"));
  g_string_truncate (world.log, 0);
  lose (&world, 4);
  wait_pause (&world);
  /* No node has room, nor comes. */
  assert_state (job, DVM_JOB_STATE_COMM_FAILED);
  end_proc (&world, job, 1, DVM_PROC_STATE_KILLED_BY_CMD, 0, 15);
  gone (&world, job, 2);
  g_assert_true (dvmd_job_get_ended (job));
}

/* It waits for slots of others, and goes ahead of jobs that wait for them. */
static void
test_move_waits (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *other;
  DvmdJob *late;
  DvmdJob *job;

  begin_moving (&world, 2, 1, FALSE);
  job = submit_movable (&world, 1, 2);
  other = submit (&world, 1);
  launch_all (&world, other);
  late = submit (&world, 1);
  lose (&world, 1);
  wait_pause (&world);
  g_assert_cmpint (state_of (job, 0), ==, DVM_PROC_STATE_RESTART);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  end_proc (&world, other, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (&world, other);
  assert_on (&world, job, 0, 2);
  assert_state (late, DVM_JOB_STATE_ALLOCATE);
  come_back (&world, job, 0);
  finish_moved (&world, job, 1);
}

/* Cancelled while it waits: nobody is waited for, and nothing is started. */
static void
test_move_cancelled (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  begin_moving (&world, 2, 1, FALSE);
  job = submit_movable (&world, 1, 2);
  lose (&world, 1);
  dvmd_core_fail_job (world.core, job, DVM_JOB_STATE_KILLED_BY_CMD, "cancelled");
  run (&world);
  g_assert_true (dvmd_job_get_ended (job));
  g_assert_cmpint (state_of (job, 0), ==, DVM_PROC_STATE_KILLED_BY_CMD);
  wait_pause (&world);
  g_assert_null (strstr (world.log->str, "move"));
}

/* Jobs with PMIx, those that are not to wait where nothing is free, and those without restarts fail as before. */
static void
test_move_refused (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) pmix = make_spec (1);
  g_autoptr (DvmJobSpec) impatient = make_spec (1);
  DvmdJob *first;
  DvmdJob *second;

  begin_moving (&world, 2, 2, TRUE);
  dvm_job_spec_set_max_restarts (pmix, 5);
  dvm_job_spec_set_personality (impatient, "plain");
  dvm_job_spec_set_max_restarts (impatient, 5);
  dvm_job_spec_set_when_full (impatient, "refuse");
  first = submit_spec (&world, pmix);
  second = submit_spec (&world, impatient);
  launch_all (&world, first);
  launch_all (&world, second);
  launch_all (&world, submit (&world, 2));
  lose (&world, 1);
  assert_state (first, DVM_JOB_STATE_COMM_FAILED);
  assert_state (second, DVM_JOB_STATE_RUNNING);
  wait_pause (&world);
  assert_state (second, DVM_JOB_STATE_COMM_FAILED);
}

/* Its launcher has not ended the agent yet: what that has started may run. */
static void
test_move_late (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  begin_moving (&world, 2, 1, FALSE);
  job = submit_movable (&world, 1, 1);
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "nothing was heard");
  run (&world);
  wait_pause (&world);
  g_assert_null (strstr (world.log->str, "move"));
  dvmd_core_lost_agent_gone (world.core, 1);
  run (&world);
  assert_on (&world, job, 0, 2);
}

/* Lost in the middle of the launch: that is complete when the rank has been started elsewhere, or is given up. */
static void
test_move_launching (gconstpointer data)
{
  gboolean has_room = GPOINTER_TO_UINT (data);
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (2);
  DvmdJob *job;

  begin_moving (&world, has_room ? 3 : 2, 1, FALSE);
  dvm_job_spec_set_personality (spec, "plain");
  dvm_job_spec_set_max_restarts (spec, 1);
  dvm_job_spec_set_recoverable (spec, TRUE);
  job = submit_spec (&world, spec);
  lose (&world, 2);
  launch_on (&world, job, 1);
  assert_state (job, DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE);
  wait_pause (&world);
  g_assert_cmpint (state_of (job, 1), ==, has_room ? DVM_PROC_STATE_RESTART : DVM_PROC_STATE_COMM_FAILED);
  if (has_room)
    launch_on (&world, job, 3);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  finish_moved (&world, job, 0);
}

/* Nodes that will never do are not waited for: those of another application, and drained ones that the job has. */
static void
test_move_nowhere (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  const char *argv[] = { "/bin/prog", NULL };
  g_autoptr (DvmAppSpec) other = dvm_app_spec_new (argv);
  const char *first[] = { "node1", NULL };
  const char *second[] = { "node2", "node3", NULL };
  DvmdJob *job;

  begin_moving (&world, 5, 1, FALSE);
  dvm_app_spec_set_hosts (dvm_job_spec_get_app (spec, 0), first);
  dvm_app_spec_set_np (other, 1);
  dvm_app_spec_set_hosts (other, second);
  dvm_job_spec_add_app (spec, other);
  dvm_job_spec_set_personality (spec, "plain");
  dvm_job_spec_set_max_restarts (spec, 1);
  job = submit_spec (&world, spec);
  launch_all (&world, job);
  lose (&world, 1);
  wait_pause (&world);
  assert_state (job, DVM_JOB_STATE_COMM_FAILED);
  all_gone (&world, job);

  lose (&world, 2);
  job = submit_movable (&world, 3, 1);
  g_assert_true (dvmd_core_drain_node (world.core, node (&world, 4), "new disk", NULL));
  lose (&world, 3);
  wait_pause (&world);
  assert_state (job, DVM_JOB_STATE_COMM_FAILED);
}

/* Beyond the slots, as the job itself: what is full to the last now has room for it later. */
static void
test_move_oversubscribed (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (2);
  DvmdJob *job;

  begin_moving (&world, 2, 1, TRUE);
  dvm_job_spec_set_personality (spec, "plain");
  dvm_job_spec_set_max_restarts (spec, 1);
  dvm_job_spec_set_when_full (spec, "oversubscribe");
  job = submit_spec (&world, spec);
  launch_all (&world, job);
  lose (&world, 2);
  wait_pause (&world);
  g_assert_cmpint (state_of (job, 1), ==, DVM_PROC_STATE_RESTART);
  assert_state (job, DVM_JOB_STATE_RUNNING);
}

/* A job that is paused has no process that runs, wherever it starts. */
static void
test_move_paused (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  begin_moving (&world, 2, 1, FALSE);
  job = submit_movable (&world, 1, 1);
  dvmd_job_hold (job, DVMD_HOLD_ITSELF);
  run (&world);
  lose (&world, 1);
  g_string_truncate (world.log, 0);
  wait_pause (&world);
  g_assert_nonnull (strstr (strstr (world.log->str, "move 1"), "stop"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/core-lost/L13-running", test_running);
  g_test_add_func ("/core-lost/slots", test_slots);
  g_test_add_func ("/core-lost/L11-ended-before", test_ended_before);
  g_test_add_func ("/core-lost/recoverable", test_recoverable);
  g_test_add_func ("/core-lost/recoverable/alone", test_recoverable_alone);
  g_test_add_data_func ("/core-lost/launching/lost-first", GUINT_TO_POINTER (TRUE), test_launching);
  g_test_add_data_func ("/core-lost/launching/lost-last", GUINT_TO_POINTER (FALSE), test_launching);
  g_test_add_data_func ("/core-lost/at-every-step", GUINT_TO_POINTER (FALSE), test_at_every_step);
  g_test_add_data_func ("/core-lost/at-every-step/files", GUINT_TO_POINTER (TRUE), test_at_every_step);
  g_test_add_func ("/core-lost/waiting", test_waiting);
  g_test_add_func ("/core-lost/let-through", test_let_through);
  g_test_add_func ("/core-lost/oversubscribes", test_oversubscribes);
  g_test_add_func ("/core-lost/all", test_all_lost);
  g_test_add_func ("/core-lost/E66-late-messages", test_late_messages);
  g_test_add_func ("/core-lost/ending", test_ending);
  g_test_add_data_func ("/core-lost/shutdown", GUINT_TO_POINTER (FALSE), test_shutdown);
  g_test_add_data_func ("/core-lost/shutdown/with-job", GUINT_TO_POINTER (TRUE), test_shutdown);
  g_test_add_func ("/core-lost/one-shot", test_one_shot);
  g_test_add_func ("/core-lost/drained", test_drained);
  g_test_add_func ("/core-lost/debug", test_debug);
  g_test_add_func ("/core-lost/move", test_move);
  g_test_add_func ("/core-lost/move/used-up", test_move_used_up);
  g_test_add_func ("/core-lost/move/lost-again", test_move_lost_again);
  g_test_add_func ("/core-lost/move/waits", test_move_waits);
  g_test_add_func ("/core-lost/move/cancelled", test_move_cancelled);
  g_test_add_func ("/core-lost/move/refused", test_move_refused);
  g_test_add_data_func ("/core-lost/move/launching", GUINT_TO_POINTER (TRUE), test_move_launching);
  g_test_add_data_func ("/core-lost/move/given-up", GUINT_TO_POINTER (FALSE), test_move_launching);
  g_test_add_func ("/core-lost/move/late", test_move_late);
  g_test_add_func ("/core-lost/move/nowhere", test_move_nowhere);
  g_test_add_func ("/core-lost/move/oversubscribed", test_move_oversubscribed);
  g_test_add_func ("/core-lost/move/paused", test_move_paused);
  return g_test_run ();
}

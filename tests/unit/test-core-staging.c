/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files of a job on their way to its nodes (L14), in the pure core.
 */

#include "config.h"

#include "core-world.h"
#include "dvm-job-spec-private.h"
#include "dvmd-job-steps.h"

static DvmdJob *
submit_with_files (World *world, guint np)
{
  const char *files[] = { "/tmp/data.txt", NULL };
  g_autoptr (DvmJobSpec) spec = make_spec (np);

  dvm_app_spec_set_preload_files (dvm_job_spec_get_app (spec, 0), files);
  return submit_spec (world, spec);
}

static void
staged (World *world, DvmdJob *job, guint agent, const char *reason)
{
  dvmd_core_files_staged (world->core, job, agent, reason);
  run (world);
}

static guint
slots_in_use (World *world)
{
  return dvmd_node_pool_count_slots_in_use (dvmd_core_get_nodes (world->core));
}

static void
test_staging (void)
{
  g_auto (World) world = { 0 };
  g_autofree char *states = NULL;
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  job = submit_with_files (&world, 3);
  assert_state (job, DVM_JOB_STATE_SYSTEM_PREP);
  g_assert_true (g_str_has_suffix (world.log->str, "stage 1\n"));
  staged (&world, job, 1, NULL);
  /* Each agent counts once, and strangers not at all. */
  staged (&world, job, 1, NULL);
  staged (&world, job, 7, "who is that?");
  assert_state (job, DVM_JOB_STATE_SYSTEM_PREP);
  staged (&world, job, 2, NULL);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  g_assert_true (g_str_has_suffix (world.log->str, "stage 1\nlaunch 1\n"));
  /* A report that comes late says nothing any more. */
  staged (&world, job, 2, "too late");
  run_to_end (&world, job);
  states = states_of (job);
  g_assert_cmpstr (states, ==,
                   UP_TO_SEND " STARTED LOCAL_LAUNCH_COMPLETE RUNNING TERMINATED NOTIFY_COMPLETED NOTIFIED");
}

/* An agent of the job (1), or the reading of the files (0). */
static void
test_staging_fails (gconstpointer data)
{
  guint who = GPOINTER_TO_UINT (data);
  g_auto (World) world = { 0 };
  g_autofree char *states = NULL;
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  job = submit_with_files (&world, 3);
  g_assert_cmpuint (slots_in_use (&world), ==, 3);
  staged (&world, job, who, "no room for data.txt on node1");
  assert_state (job, DVM_JOB_STATE_FILES_POSN_FAILED);
  g_assert_cmpstr (dvm_job_get_reason (dvmd_job_get_record (job)), ==, "no room for data.txt on node1");
  /* Files that have arrived are taken away before the job is over. */
  g_assert_true (g_str_has_suffix (world.log->str, "stage 1\nkill 1\n"));
  g_assert_false (dvmd_job_get_ended (job));
  staged (&world, job, 2, NULL);
  assert_state (job, DVM_JOB_STATE_FILES_POSN_FAILED);
  all_gone (&world, job);
  g_assert_true (dvmd_job_get_ended (job));
  g_assert_cmpuint (slots_in_use (&world), ==, 0);
  states = states_of (job);
  g_assert_true (g_str_has_suffix (states, "MAP_COMPLETE SYSTEM_PREP FILES_POSN_FAILED"));
  g_assert_null (strstr (world.log->str, "launch"));
}

static void
test_staging_cancelled (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  job = submit_with_files (&world, 3);
  g_assert_true (dvmd_core_fail_job (world.core, job, DVM_JOB_STATE_KILLED_BY_CMD, "enough"));
  run (&world);
  g_assert_nonnull (strstr (world.log->str, "kill 1\n"));
  staged (&world, job, 1, NULL);
  staged (&world, job, 2, NULL);
  assert_state (job, DVM_JOB_STATE_KILLED_BY_CMD);
  all_gone (&world, job);
  g_assert_true (dvmd_job_get_ended (job));
  g_assert_cmpuint (slots_in_use (&world), ==, 0);
}

/* The map of a job that is to be shown comes before its files, each time; what comes late or twice says nothing. */
static void
test_shown (void)
{
  const char *files[] = { "/tmp/data.txt", NULL };
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (3);
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  dvm_app_spec_set_preload_files (dvm_job_spec_get_app (spec, 0), files);
  _dvm_job_spec_set_display (spec, "map");
  job = submit_spec (&world, spec);
  assert_state (job, DVM_JOB_STATE_SYSTEM_PREP);
  g_assert_true (g_str_has_suffix (world.log->str, "show 1\n"));
  staged (&world, job, 1, "nothing was asked for");
  assert_state (job, DVM_JOB_STATE_SYSTEM_PREP);
  dvmd_core_job_shown (world.core, job, NULL);
  dvmd_core_job_shown (world.core, job, "once more");
  run (&world);
  g_assert_true (g_str_has_suffix (world.log->str, "show 1\nstage 1\n"));
  dvmd_job_step_system_prep (job, NULL);
  g_assert_true (g_str_has_suffix (world.log->str, "stage 1\nshow 1\n"));
  dvmd_core_job_shown (world.core, job, NULL);
  staged (&world, job, 1, NULL);
  staged (&world, job, 2, NULL);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  dvmd_core_job_shown (world.core, job, "too late");
  run_to_end (&world, job);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
}

/* Without what its owner wants to see the job is not launched, nor when it was ended meanwhile. */
static void
test_not_shown (gconstpointer data)
{
  gboolean is_ended = GPOINTER_TO_INT (data);
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (3);
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  _dvm_job_spec_set_display (spec, "map");
  job = submit_spec (&world, spec);
  if (is_ended)
    g_assert_true (dvmd_core_fail_job (world.core, job, DVM_JOB_STATE_KILLED_BY_CMD, "enough"));
  run (&world);
  dvmd_core_job_shown (world.core, job, is_ended ? NULL : "no such table");
  run (&world);
  assert_state (job, is_ended ? DVM_JOB_STATE_KILLED_BY_CMD : DVM_JOB_STATE_FAILED_TO_LAUNCH);
  g_assert_cmpstr (dvm_job_get_reason (dvmd_job_get_record (job)), ==, is_ended ? "enough" : "no such table");
  all_gone (&world, job);
  g_assert_true (dvmd_job_get_ended (job));
  g_assert_cmpuint (slots_in_use (&world), ==, 0);
  g_assert_null (strstr (world.log->str, "launch"));
}

/* A job that comes to SYSTEM_PREP again has its files brought again, and waits for all of them again. */
static void
test_staging_again (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  job = submit_with_files (&world, 3);
  staged (&world, job, 1, NULL);
  dvmd_job_step_system_prep (job, NULL);
  g_assert_true (g_str_has_suffix (world.log->str, "stage 1\nstage 1\n"));
  staged (&world, job, 2, NULL);
  assert_state (job, DVM_JOB_STATE_SYSTEM_PREP);
  staged (&world, job, 1, NULL);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/*
 * The report of an agent that has gone is not the failure of its files: the job goes on to the launch gate, which names
 * the node.
 */
static void
test_staging_on_leaving (void)
{
  g_auto (World) world = { 0 };
  g_autofree char *states = NULL;
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  job = submit_with_files (&world, 3);
  dvmd_core_agent_ended (world.core, 2, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  run (&world);
  /* Whether the other one has its files makes no difference any more. */
  staged (&world, job, 2, "the agent is ending");
  staged (&world, job, 1, "no room");
  assert_state (job, DVM_JOB_STATE_FAILED_TO_LAUNCH);
  g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (job)), "node2"));
  states = states_of (job);
  g_assert_true (g_str_has_suffix (states, "SYSTEM_PREP LAUNCH_APPS FAILED_TO_LAUNCH"));
  /* The job does not wait for the agent that is not there. */
  dvmd_core_job_gone (world.core, job, 1);
  run (&world);
  g_assert_true (dvmd_job_get_ended (job));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/core-staging/L14-order", test_staging);
  g_test_add_data_func ("/core-staging/L14-fails-on-a-node", GUINT_TO_POINTER (1), test_staging_fails);
  g_test_add_data_func ("/core-staging/L14-cannot-be-read", GUINT_TO_POINTER (0), test_staging_fails);
  g_test_add_func ("/core-staging/cancelled", test_staging_cancelled);
  g_test_add_func ("/core-staging/L14-again", test_staging_again);
  g_test_add_func ("/core-staging/L14-on-leaving", test_staging_on_leaving);
  g_test_add_func ("/core-staging/shown", test_shown);
  g_test_add_data_func ("/core-staging/not-shown", GINT_TO_POINTER (FALSE), test_not_shown);
  g_test_add_data_func ("/core-staging/not-shown-and-ended", GINT_TO_POINTER (TRUE), test_not_shown);
  return g_test_run ();
}

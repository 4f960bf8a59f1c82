/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs that jobs have spawned, in the pure core: what is known of the family, where it is placed, and who ends with
 * whom.
 */

#include "config.h"

#include "core-world.h"
#include "dvm-job-spec-private.h"
#include "dvmd-core-session-control.h"

static DvmdJob *
try_spawn (World *world, DvmdJob *parent, DvmJobSpec *spec, GError **error)
{
  g_autofree char *name = g_strdup_printf ("pmix:%s.0", dvm_job_get_nspace (dvmd_job_get_record (parent)));
  g_autoptr (DvmdRequester) requester = dvmd_requester_new (name, 1000, 43);
  DvmdJob *job = dvmd_core_submit (world->core, spec, requester, error);

  run (world);
  return job;
}

static DvmdJob *
spawn_np (World *world, DvmdJob *parent, guint np, gboolean separate)
{
  g_autoptr (DvmJobSpec) spec = make_spec (np);
  g_autoptr (GError) error = NULL;
  DvmdJob *job;

  dvm_job_spec_set_child_separate (spec, separate);
  job = try_spawn (world, parent, spec, &error);
  g_assert_no_error (error);
  return job;
}

static DvmdJob *
spawn (World *world, DvmdJob *parent)
{
  DvmdJob *job = spawn_np (world, parent, 1, FALSE);

  launch_all (world, job);
  return job;
}

static void
assert_family (DvmdJob *job, const char *parent, const char *children)
{
  g_autofree char *list = g_strjoinv (" ", (char **)dvm_job_get_children (dvmd_job_get_record (job)));

  g_assert_cmpstr (dvm_job_get_parent (dvmd_job_get_record (job)), ==, parent);
  g_assert_cmpstr (list, ==, children);
}

/* The members of a family are known for some time (L15). */
static void
test_known (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *parent;
  DvmdJob *child;
  DvmdJob *other;
  DvmdJob *grandchild;

  world_init (&world, 2, 8, FALSE);
  bring_up (&world);
  parent = submit (&world, 3);
  launch_all (&world, parent);
  child = spawn_np (&world, parent, 2, FALSE);
  launch_all (&world, child);
  other = spawn (&world, parent);
  grandchild = spawn (&world, child);
  assert_family (parent, "/", "/org/dvm/jobs/2 /org/dvm/jobs/3");
  assert_family (child, "/org/dvm/jobs/1", "/org/dvm/jobs/4");
  assert_family (grandchild, "/org/dvm/jobs/2", "");
  g_assert_cmpuint (dvmd_job_get_parent_id (grandchild), ==, 2);
  g_assert_cmpuint (dvmd_job_get_offset (parent), ==, 0);
  g_assert_cmpuint (dvmd_job_get_offset (child), ==, 3);
  g_assert_cmpuint (dvmd_job_get_offset (grandchild), ==, 5);
  g_assert_cmpstr (dvmd_job_get_launcher (grandchild), ==, "private:1");
  g_assert_cmpstr (dvmd_job_get_requester (grandchild)->name, ==, "pmix:dvm-test@2.0");
  /* Those that have ended are known as long as the history has them: three. */
  end_proc (&world, other, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (&world, other);
  assert_family (parent, "/", "/org/dvm/jobs/2 /org/dvm/jobs/3");
  for (guint i = 0; i < 3; i++)
    run_to_end (&world, submit (&world, 1));
  g_assert_null (dvmd_core_get_job (world.core, 3));
  assert_family (parent, "/", "/org/dvm/jobs/2");
}

/* S27: they end with the one that has spawned them, however deep, unless they are separate. */
static void
test_ends_with_parent (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *parent;
  DvmdJob *child;
  DvmdJob *separate;
  DvmdJob *of_separate;
  DvmdJob *grandchild;
  DvmdJob *waiting;

  world_init (&world, 2, 4, FALSE);
  bring_up (&world);
  parent = submit (&world, 1);
  launch_all (&world, parent);
  child = spawn (&world, parent);
  separate = spawn_np (&world, parent, 1, TRUE);
  launch_all (&world, separate);
  of_separate = spawn (&world, separate);
  grandchild = spawn (&world, child);
  waiting = spawn_np (&world, child, 8, FALSE);
  assert_held (waiting, "slots");
  dvmd_core_fail_job (world.core, parent, DVM_JOB_STATE_KILLED_BY_CMD, "It was cancelled");
  run (&world);
  assert_state (child, DVM_JOB_STATE_RUNNING);
  all_gone (&world, parent);
  assert_state (child, DVM_JOB_STATE_KILLED_BY_CMD);
  g_assert_cmpstr (dvm_job_get_reason (dvmd_job_get_record (child)), ==,
                   "dvm-test@1, which has spawned this job, has ended");
  assert_state (grandchild, DVM_JOB_STATE_RUNNING);
  all_gone (&world, child);
  assert_state (grandchild, DVM_JOB_STATE_KILLED_BY_CMD);
  assert_state (waiting, DVM_JOB_STATE_KILLED_BY_CMD);
  g_assert_true (dvmd_job_get_ended (waiting));
  all_gone (&world, grandchild);
  assert_state (separate, DVM_JOB_STATE_RUNNING);
  assert_state (of_separate, DVM_JOB_STATE_RUNNING);
}

/* A parent that ends well leaves those a moment that are ending too. */
static void
test_last_moment (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *parent;
  DvmdJob *quick;
  DvmdJob *slow;

  world_init (&world, 1, 4, FALSE);
  bring_up (&world);
  parent = submit (&world, 1);
  launch_all (&world, parent);
  quick = spawn (&world, parent);
  slow = spawn (&world, parent);
  end_proc (&world, parent, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (&world, parent);
  dvmd_clock_advance (world.clock, G_USEC_PER_SEC);
  run (&world);
  assert_state (quick, DVM_JOB_STATE_RUNNING);
  end_proc (&world, quick, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (&world, quick);
  dvmd_clock_advance (world.clock, G_USEC_PER_SEC);
  run (&world);
  assert_state (quick, DVM_JOB_STATE_NOTIFIED);
  assert_state (slow, DVM_JOB_STATE_KILLED_BY_CMD);
  all_gone (&world, slow);
}

/* But not those that have not begun. */
static void
test_no_moment (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *parent;
  DvmdJob *waiting;

  world_init (&world, 1, 3, FALSE);
  bring_up (&world);
  parent = submit (&world, 1);
  launch_all (&world, parent);
  launch_all (&world, submit (&world, 1));
  waiting = spawn_np (&world, parent, 3, FALSE);
  assert_held (waiting, "slots");
  end_proc (&world, parent, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (&world, parent);
  assert_state (waiting, DVM_JOB_STATE_KILLED_BY_CMD);
}

/* Nor is one ended in that moment that has ended before, and that nobody remembers. */
static void
test_moment_of_forgotten (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *parent;
  DvmdJob *quick;

  world_init (&world, 1, 4, FALSE);
  bring_up (&world);
  parent = submit (&world, 1);
  launch_all (&world, parent);
  quick = spawn (&world, parent);
  g_object_add_weak_pointer (G_OBJECT (quick), (gpointer *)&quick);
  end_proc (&world, parent, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (&world, parent);
  end_proc (&world, quick, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (&world, quick);
  for (guint i = 0; i < 5; i++)
    run_to_end (&world, submit (&world, 1));
  g_assert_null (quick);
  dvmd_clock_advance (world.clock, 10 * G_USEC_PER_SEC);
  run (&world);
}

/* One that asks and has ended before the answer spawns nothing that would end with it. */
static void
test_too_late (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  g_autoptr (GError) error = NULL;
  DvmdJob *parent;

  world_init (&world, 1, 4, FALSE);
  bring_up (&world);
  parent = submit (&world, 1);
  run_to_end (&world, parent);
  g_assert_null (try_spawn (&world, parent, spec, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  g_assert_cmpuint (dvmd_core_get_num_live (world.core), ==, 0);
  assert_state (spawn_np (&world, parent, 1, TRUE), DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* L15: a child is placed from where its parent has stopped. */
static void
test_bookmark (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  const char *hosts[] = { "node2", NULL };
  DvmdJob *parent;
  DvmdJob *child;

  world_init (&world, 3, 2, FALSE);
  bring_up (&world);
  dvm_app_spec_set_hosts (dvm_job_spec_get_app (spec, 0), hosts);
  g_assert_true (_dvm_job_spec_load_hosts (spec, "", NULL));
  parent = submit_spec (&world, spec);
  launch_all (&world, parent);
  child = spawn_np (&world, parent, 4, FALSE);
  g_assert_cmpuint (dvmd_proc_table_row (dvmd_job_get_procs (child), 0)->node, ==, 2);
  g_assert_cmpuint (dvmd_proc_table_row (dvmd_job_get_procs (child), 1)->node, ==, 3);
  g_assert_cmpuint (dvmd_proc_table_row (dvmd_job_get_procs (child), 2)->node, ==, 3);
  g_assert_cmpuint (dvmd_proc_table_row (dvmd_job_get_procs (child), 3)->node, ==, 1);
}

/* Slots that nobody gave refuse no spawn: who asks waits for it on them. Those that were given do. */
static void
test_takes_what_nobody_gave (void)
{
  for (guint given = 0; given < 2; given++)
    {
      g_auto (World) world = { 0 };
      g_autoptr (DvmJobSpec) spec = make_spec (2);
      g_autoptr (GError) error = NULL;
      DvmdJob *parent;
      DvmdJob *child;

      world_init (&world, 2, given == 0 ? 0 : 2, FALSE);
      bring_up (&world);
      parent = submit (&world, 4);
      launch_all (&world, parent);
      dvm_job_spec_set_when_full (spec, "refuse");
      child = try_spawn (&world, parent, spec, &error);
      g_assert_no_error (error);
      assert_state (child, given == 0 ? DVM_JOB_STATE_SEND_LAUNCH_MSG : DVM_JOB_STATE_MAP_FAILED);
      /* One that nobody has spawned is told. */
      assert_state (submit_spec (&world, spec), DVM_JOB_STATE_MAP_FAILED);
    }
}

/* ---- who fails first ---- */

static DvmdJob *
first_failure_is (DvmdJob *job, DvmdJob *failed)
{
  DvmJob *expected = failed != NULL ? dvmd_job_get_record (failed) : NULL;

  g_assert_true (dvm_job_get_first_failure (dvmd_job_get_record (job)) == expected);
  return job;
}

static void
fail_proc (World *world, DvmdJob *job)
{
  end_proc (world, job, 0, DVM_PROC_STATE_TERM_NON_ZERO, 3, 0);
}

/* The first of a family that fails is known to those above it that went well so far. */
static void
test_first_failure (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *parent;
  DvmdJob *child;
  DvmdJob *other;
  DvmdJob *grandchild;

  world_init (&world, 2, 8, FALSE);
  bring_up (&world);
  parent = submit (&world, 1);
  launch_all (&world, parent);
  child = spawn (&world, parent);
  other = spawn (&world, parent);
  grandchild = spawn (&world, child);
  first_failure_is (parent, NULL);
  fail_proc (&world, grandchild);
  assert_state (grandchild, DVM_JOB_STATE_NON_ZERO_TERM);
  first_failure_is (child, grandchild);
  first_failure_is (parent, grandchild);
  fail_proc (&world, other);
  first_failure_is (parent, grandchild);
  fail_proc (&world, parent);
  first_failure_is (parent, grandchild);
  first_failure_is (grandchild, NULL);
}

/* A failure after a job's own does not count for it. */
static void
test_own_failure_first (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *parent;
  DvmdJob *child;

  world_init (&world, 2, 8, FALSE);
  bring_up (&world);
  parent = submit (&world, 1);
  launch_all (&world, parent);
  child = spawn (&world, parent);
  fail_proc (&world, parent);
  fail_proc (&world, child);
  first_failure_is (parent, NULL);
}

static void
say_apart (DvmJobSpec *spec)
{
  dvm_job_spec_set_runtime_options (spec, "report-child-jobs-separately");
}

/* Separate ones, those of a job that reports them separately, and those that somebody ends do not count. */
static void
test_no_failure_of_family (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  DvmdJob *parent;
  DvmdJob *separate;
  DvmdJob *ended;
  DvmdJob *apart;
  DvmdJob *of_apart;
  DvmdJob *never;

  world_init (&world, 2, 8, FALSE);
  bring_up (&world);
  parent = submit (&world, 1);
  launch_all (&world, parent);
  separate = spawn_np (&world, parent, 1, TRUE);
  launch_all (&world, separate);
  ended = spawn (&world, parent);
  never = spawn_np (&world, parent, 1, FALSE);
  say_apart (spec);
  apart = try_spawn (&world, parent, spec, NULL);
  launch_all (&world, apart);
  of_apart = spawn (&world, apart);
  fail_proc (&world, separate);
  dvmd_core_fail_job (world.core, ended, DVM_JOB_STATE_KILLED_BY_CMD, "It was cancelled");
  dvmd_core_fail_job (world.core, never, DVM_JOB_STATE_FAILED_TO_START, "There is no such program");
  run (&world);
  assert_state (ended, DVM_JOB_STATE_KILLED_BY_CMD);
  assert_state (never, DVM_JOB_STATE_FAILED_TO_START);
  fail_proc (&world, of_apart);
  first_failure_is (apart, NULL);
  first_failure_is (parent, NULL);
  fail_proc (&world, apart);
  first_failure_is (parent, apart);
}

/* One that somebody separates later does not count from then on; one that overruns its time does. */
static void
test_late_failures (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  DvmdJob *parent;
  DvmdJob *separate;
  DvmdJob *slow;

  world_init (&world, 2, 8, FALSE);
  bring_up (&world);
  parent = submit (&world, 1);
  launch_all (&world, parent);
  separate = spawn (&world, parent);
  dvm_job_spec_set_timeout (spec, 5);
  slow = try_spawn (&world, parent, spec, NULL);
  launch_all (&world, slow);
  g_assert_true (dvmd_core_separate_job (world.core, separate, NULL));
  fail_proc (&world, separate);
  first_failure_is (parent, NULL);
  dvmd_clock_advance (world.clock, 6 * G_USEC_PER_SEC);
  run (&world);
  assert_state (slow, DVM_JOB_STATE_KILLED_BY_CMD);
  first_failure_is (parent, slow);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/job-family/L15/known", test_known);
  g_test_add_func ("/job-family/S27/ends-with-parent", test_ends_with_parent);
  g_test_add_func ("/job-family/S27/last-moment", test_last_moment);
  g_test_add_func ("/job-family/S27/no-moment", test_no_moment);
  g_test_add_func ("/job-family/S27/moment-of-forgotten", test_moment_of_forgotten);
  g_test_add_func ("/job-family/S27/too-late", test_too_late);
  g_test_add_func ("/job-family/L15/bookmark", test_bookmark);
  g_test_add_func ("/job-family/takes-what-nobody-gave", test_takes_what_nobody_gave);
  g_test_add_func ("/job-family/first-failure", test_first_failure);
  g_test_add_func ("/job-family/own-failure-first", test_own_failure_first);
  g_test_add_func ("/job-family/no-failure-of-family", test_no_failure_of_family);
  g_test_add_func ("/job-family/late-failures", test_late_failures);
  return g_test_run ();
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The pure core: which jobs get slots, in which order, and which of them wait or are refused.
 */

#include "config.h"

#include "core-world.h"

/* First come first served: a small job does not overtake a large one that waits for the same node. */
static void
test_slots_in_order (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *first;
  DvmdJob *large;
  DvmdJob *small;

  world_init (&world, 1, 4, FALSE);
  bring_up (&world);
  first = submit (&world, 3);
  large = submit (&world, 4);
  small = submit (&world, 1);
  assert_state (large, DVM_JOB_STATE_ALLOCATE);
  assert_state (small, DVM_JOB_STATE_ALLOCATE);
  g_assert_cmpstr (dvm_job_get_held_at (dvmd_job_get_record (large)), ==, "slots");
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 2);
  run_to_end (&world, first);
  assert_state (large, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  g_assert_cmpstr (dvm_job_get_held_at (dvmd_job_get_record (large)), ==, "");
  assert_state (small, DVM_JOB_STATE_ALLOCATE);
  run_to_end (&world, large);
  assert_state (small, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  run_to_end (&world, small);
  g_assert_true (dvmd_job_get_ended (small));
}

/* A job that was released from the queue keeps its slots until it is mapped. */
static void
test_no_overtaking_after_release (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", 0, 0);
  DvmdJob *first;
  DvmdJob *waiting;
  DvmdJob *late;

  world_init (&world, 1, 2, FALSE);
  bring_up (&world);
  first = submit (&world, 2);
  waiting = submit (&world, 2);
  launch_all (&world, first);
  dvmd_core_proc_state (world.core, first, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  dvmd_core_proc_state (world.core, first, 1, DVM_PROC_STATE_TERMINATED, 0, 0);
  late = dvmd_core_submit (world.core, spec, requester, NULL);
  run (&world);
  assert_state (waiting, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  assert_state (late, DVM_JOB_STATE_ALLOCATE);
}

static void
test_never_fits (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 1, 2, FALSE);
  bring_up (&world);
  job = submit (&world, 3);
  assert_state (job, DVM_JOB_STATE_MAP_FAILED);
  g_assert_true (dvmd_job_get_ended (job));
  g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (job)), "3 processes"));
}

/*
 * The slots were not given, so that any number may be oversubscribed; but not one that only a slip of the hand gives.
 */
static void
test_absurd_number (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 1, 0, FALSE);
  bring_up (&world);
  job = submit (&world, 2000000000);
  assert_state (job, DVM_JOB_STATE_MAP_FAILED);
  g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (job)), "2000000000 processes"));
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (dvmd_core_get_nodes (world.core)), ==, 0);
  run_to_end (&world, submit (&world, 1000));
}

static void
test_default_slots_take_all (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *small;
  DvmdJob *job;

  world_init (&world, 1, 0, FALSE);
  bring_up (&world);
  small = submit (&world, 1);
  job = submit (&world, 5);
  assert_state (job, DVM_JOB_STATE_ALLOCATE);
  run_to_end (&world, small);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  g_assert_cmpuint (dvm_job_get_num_procs (dvmd_job_get_record (job)), ==, 5);
  run_to_end (&world, job);
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (dvmd_core_get_nodes (world.core)), ==, 0);
}

static void
test_when_full (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) refuse = make_spec (1);
  g_autoptr (DvmJobSpec) oversubscribe = make_spec (3);
  DvmdJob *job;

  world_init (&world, 1, 2, FALSE);
  bring_up (&world);
  submit (&world, 2);
  dvm_job_spec_set_when_full (refuse, "refuse");
  job = submit_spec (&world, refuse);
  assert_state (job, DVM_JOB_STATE_MAP_FAILED);
  dvm_job_spec_set_when_full (oversubscribe, "oversubscribe");
  job = submit_spec (&world, oversubscribe);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  run_to_end (&world, job);
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (dvmd_core_get_nodes (world.core)), ==, 2);
}

static void
test_np_left_out (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  submit (&world, 1);
  job = submit (&world, 0);
  g_assert_cmpuint (dvm_job_get_num_procs (dvmd_job_get_record (job)), ==, 3);
}

/* Slots that a job has been let through with are its own, whatever comes before it is placed. */
static void
test_let_through (gconstpointer data)
{
  gboolean drains = GPOINTER_TO_UINT (data);

  for (guint steps = 0; steps < 30; steps++)
    {
      g_auto (World) world = { 0 };
      g_autoptr (DvmJobSpec) spec = make_spec (5);
      DvmdNode *node;
      DvmdJob *running;
      DvmdJob *waiting;
      DvmdJob *other = NULL;

      world_init (&world, 2, 2, FALSE);
      bring_up (&world);
      node = dvmd_node_pool_get (dvmd_core_get_nodes (world.core), 1);
      dvm_job_spec_set_when_full (spec, "oversubscribe");
      running = submit (&world, 4);
      launch_all (&world, running);
      waiting = submit (&world, 4);
      if (!drains)
        other = dvmd_core_submit (world.core, spec, NULL, NULL);
      for (guint i = 0; i < (drains ? 0 : steps); i++)
        dvmd_event_queue_drain (world.queue, 1);
      for (guint rank = 0; rank < 4; rank++)
        dvmd_core_proc_state (world.core, running, rank, DVM_PROC_STATE_TERMINATED, 0, 0);
      for (guint i = 0; i < (drains ? steps : 0); i++)
        dvmd_event_queue_drain (world.queue, 1);
      if (drains)
        g_assert_true (dvmd_core_drain_node (world.core, node, "new disk", NULL));
      run (&world);
      if (drains)
        g_assert_true (dvmd_core_resume_node (world.core, node, NULL));
      run (&world);
      /* The other one was there before the slots came free. */
      if (dvmd_job_get_state (waiting) == DVM_JOB_STATE_ALLOCATE)
        run_to_end (&world, other);
      assert_state (waiting, DVM_JOB_STATE_SEND_LAUNCH_MSG);
      g_assert_cmpuint (dvm_job_get_num_procs (dvmd_job_get_record (waiting)), ==, 4);
    }
}

static void
test_hosts (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (2);
  g_autoptr (DvmJobSpec) unknown = make_spec (1);
  const char *hosts[] = { "node2", NULL };
  const char *wrong[] = { "node9", NULL };
  DvmdJob *job;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  dvm_app_spec_set_hosts (dvm_job_spec_get_app (spec, 0), hosts);
  job = submit_spec (&world, spec);
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (job), 2), ==, 2);
  dvm_app_spec_set_hosts (dvm_job_spec_get_app (unknown, 0), wrong);
  job = submit_spec (&world, unknown);
  assert_state (job, DVM_JOB_STATE_MAP_FAILED);
  g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (job)), "node9"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/core/L15-slots/in-order", test_slots_in_order);
  g_test_add_func ("/core/L15-slots/no-overtaking", test_no_overtaking_after_release);
  g_test_add_func ("/core/slots/never-fits", test_never_fits);
  g_test_add_func ("/core/slots/absurd-number", test_absurd_number);
  g_test_add_func ("/core/slots/default-take-all", test_default_slots_take_all);
  g_test_add_func ("/core/slots/when-full", test_when_full);
  g_test_add_func ("/core/slots/np-left-out", test_np_left_out);
  g_test_add_data_func ("/core/slots/let-through", GUINT_TO_POINTER (FALSE), test_let_through);
  g_test_add_data_func ("/core/slots/let-through/drained", GUINT_TO_POINTER (TRUE), test_let_through);
  g_test_add_func ("/core/hosts", test_hosts);
  return g_test_run ();
}

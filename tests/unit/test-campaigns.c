/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Campaigns in the pure core, one at a time: a grow, a shrink, what they ask of the world, and what they hold up. Each
 * test is named after the statements of spec/CONFORMANCE.md that it shows.
 */

#include "config.h"

#include "core-world.h"

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

static const char *
reason_of (DvmdJob *job)
{
  return dvm_job_get_reason (dvmd_job_get_record (job));
}

/* E5, E16, E18, E42, L6: agents are launched, report, and are wired; only then is the DVM larger. */
static void
test_grow (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;
  DvmdJob *job;
  guint64 epoch;

  world_init_elastic (&world, 1, 2);
  epoch = dvmd_core_get_membership_epoch (world.core);
  campaign = grow (&world, "node2:3 node3");
  g_assert_nonnull (campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_RUNNING);
  assert_log (&world, "agents 2\n");
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 2);
  g_assert_cmpuint (dvmd_core_get_campaigns_running (world.core), ==, 1);
  g_assert_cmpuint (dvmd_node_pool_count_up (nodes_of (&world)), ==, 1);
  job = submit (&world, 7);
  assert_state (job, DVM_JOB_STATE_WAITING_FOR_DAEMONS);
  assert_held (job, "map");
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 1);
  report_in (&world, 3);
  assert_log (&world, "");
  report_in (&world, 2);
  assert_log (&world, "wire 1: 2 3\n");
  g_assert_cmpuint (dvmd_core_get_membership_epoch (world.core), ==, epoch + 1);
  /* Up is not wired. */
  assert_state (job, DVM_JOB_STATE_WAITING_FOR_DAEMONS);
  g_assert_cmpuint (dvmd_node_pool_count_up (nodes_of (&world)), ==, 1);
  wired (&world, campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
  assert_log (&world, "end 1: completed \nlaunch 1\n");
  g_assert_cmpuint (dvmd_node_pool_count_up (nodes_of (&world)), ==, 3);
  g_assert_cmpuint (dvmd_node_pool_count_slots (nodes_of (&world)), ==, 7);
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 0);
  g_assert_cmpuint (dvmd_core_get_campaigns_running (world.core), ==, 0);
  g_assert_cmpuint (dvmd_core_get_statistics (world.core)->campaigns_completed, ==, 1);
  run_to_end (&world, job);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
  assert_held (job, "");
}

/* E17: who has passed the boundary is never stalled by a grow; E26, E35. */
static void
test_grow_stalls_no_mapped_job (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (2);
  const char *files[] = { "/tmp/data.txt", NULL };
  DvmdJob *job;

  world_init_elastic (&world, 1, 2);
  dvm_app_spec_set_preload_files (dvm_job_spec_get_app (spec, 0), files);
  job = submit_spec (&world, spec);
  assert_state (job, DVM_JOB_STATE_SYSTEM_PREP);
  grow (&world, "node2");
  g_string_truncate (world.log, 0);
  dvmd_core_files_staged (world.core, job, 1, NULL);
  run (&world);
  assert_log (&world, "launch 1\n");
}

/* E6, E30, E32, E40-E42, D12, D17: departures one by one, then the ticket, the allocators, and the end. */
static void
test_shrink (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;
  DvmdJob *job;

  world_init_elastic (&world, 3, 2);
  campaign = shrink (&world, "node2 node3");
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_RUNNING);
  assert_log (&world, "remove 1: 2 3\n");
  g_assert_cmpuint (dvm_campaign_get_tree_repairs (dvmd_campaign_get_record (campaign)), ==, 1);
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 2);
  /* Its slots count for nobody from now on, and it is a member until it has gone. */
  g_assert_cmpuint (dvmd_node_pool_count_slots (nodes_of (&world)), ==, 2);
  g_assert_cmpuint (dvmd_node_pool_count_up (nodes_of (&world)), ==, 3);
  job = submit (&world, 2);
  assert_held (job, "map");
  depart (&world, 3);
  g_assert_null (node (&world, 3));
  g_assert_cmpstr (dvmd_node_pool_get_name (nodes_of (&world), 3), ==, "node3");
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 1);
  g_assert_cmpuint (dvmd_node_pool_count_up (nodes_of (&world)), ==, 2);
  /* E56: counted once. */
  depart (&world, 3);
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 1);
  assert_state (job, DVM_JOB_STATE_WAITING_FOR_DAEMONS);
  assert_log (&world, "");
  depart (&world, 2);
  assert_log (&world, "offer 1: node2 node3\nlaunch 1\n");
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_RUNNING);
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 0);
  offered (&world, campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
  assert_log (&world, "end 1: completed \n");
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (job), 1), ==, 2);
}

/* E27, E28, C3, D2: parked at the launch gate; who has ranks there is placed anew, first, and the others launch. */
static void
test_remap (void)
{
  g_auto (World) world = { 0 };
  const char *files[] = { "/tmp/data.txt", NULL };
  DvmdJob *jobs[2];
  DvmdJob *later;

  world_init_elastic (&world, 3, 2);
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (DvmJobSpec) spec = make_spec (2);

      dvm_app_spec_set_preload_files (dvm_job_spec_get_app (spec, 0), files);
      jobs[i] = submit_spec (&world, spec);
    }
  shrink (&world, "node2");
  for (guint i = 0; i < 2; i++)
    dvmd_core_files_staged (world.core, jobs[i], i + 1, NULL);
  run (&world);
  for (guint i = 0; i < 2; i++)
    {
      assert_state (jobs[i], DVM_JOB_STATE_WAITING_FOR_DAEMONS);
      assert_held (jobs[i], "launch");
      g_assert_cmpstr (dvm_job_get_waits_for (dvmd_job_get_record (jobs[i]))[0], ==, "/org/dvm/campaigns/1");
    }
  later = submit (&world, 2);
  assert_held (later, "map");
  g_string_truncate (world.log, 0);
  depart (&world, 2);
  /* The third node is free: the second job has it, not the one that came later. */
  assert_log (&world, "offer 1: node2\nlaunch 1\nstage 2\n");
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (jobs[1]), 3), ==, 2);
  g_assert_cmpuint (dvm_job_get_remapped (dvmd_job_get_record (jobs[1])), ==, 1);
  g_assert_cmpuint (dvm_job_get_remapped (dvmd_job_get_record (jobs[0])), ==, 0);
  g_assert_cmpuint (dvmd_core_get_statistics (world.core)->jobs_remapped, ==, 1);
  assert_held (later, "slots");
  dvmd_core_files_staged (world.core, jobs[1], 3, NULL);
  run (&world);
  assert_log (&world, "launch 2\n");
  run_to_end (&world, jobs[0]);
  run_to_end (&world, jobs[1]);
  run_to_end (&world, later);
  assert_state (later, DVM_JOB_STATE_NOTIFIED);
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (nodes_of (&world)), ==, 0);
}

/* E19-E21, E68, D3, D7: one agent fails, all of it is rolled back, and those that waited for it never launch. */
static void
test_roll_back (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;
  DvmdJob *job;

  world_init_elastic (&world, 1, 2);
  campaign = grow (&world, "node2 node3 node4");
  job = submit (&world, 1);
  report_in (&world, 2);
  g_string_truncate (world.log, 0);
  dvmd_core_agent_ended (world.core, 3, DVMD_AGENT_FAILED, DVMD_CAUSE_LAUNCH, "node3: no such machine");
  run (&world);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_ROLLING_BACK);
  assert_log (&world, "remove 1: 2 4\nended 1\n");
  assert_state (job, DVM_JOB_STATE_NEVER_LAUNCHED);
  g_assert_cmpstr (reason_of (job), ==,
                   "The job was never launched: campaign 1 (grow of node2, node3, node4) has failed "
                   "(launch-failed): node3: no such machine");
  /* A job that comes now waits for the roll-back, and goes on. */
  job = submit (&world, 1);
  assert_held (job, "map");
  depart (&world, 4);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_ROLLING_BACK);
  depart (&world, 2);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_FAILED);
  assert_log (&world, "end 1: failed launch-failed\nlaunch 2\n");
  g_assert_cmpint (dvm_campaign_get_status (dvmd_campaign_get_record (campaign)), ==, -181);
  g_assert_cmpuint (dvmd_node_pool_count_up (nodes_of (&world)), ==, 1);
  for (guint rank = 2; rank <= 4; rank++)
    g_assert_null (node (&world, rank));
  /* D9, E67: at once again, under other ranks. */
  campaign = grow (&world, "node3");
  report_in (&world, 5);
  wired (&world, campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
}

/* E1, D16 */
static void
test_not_elastic (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  g_assert_cmpuint (try_grow (&world, "node3", NULL, &answer, &error), ==, 0);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_ELASTIC);
  g_clear_error (&error);
  g_assert_cmpuint (try_shrink (&world, "node2", NULL, &answer, &error), ==, 0);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_ELASTIC);
  g_clear_error (&error);
  /* Nodes that are there: nothing changes. */
  g_assert_cmpuint (try_grow (&world, "node2", NULL, &answer, &error), ==, 0);
  g_assert_no_error (error);
  g_assert_nonnull (answer.alloc_id);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/campaigns/E5-L6-grow", test_grow);
  g_test_add_func ("/campaigns/E17-mapped-jobs", test_grow_stalls_no_mapped_job);
  g_test_add_func ("/campaigns/E32-shrink", test_shrink);
  g_test_add_func ("/campaigns/E28-remap", test_remap);
  g_test_add_func ("/campaigns/E20-roll-back", test_roll_back);
  g_test_add_func ("/campaigns/E1-not-elastic", test_not_elastic);
  return g_test_run ();
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Campaigns that overlap, on the same and on other nodes, that are refused, cancelled, or overtaken by the end of the
 * DVM; and the allocations that they change. In the pure core; each test is named after the statements of
 * spec/CONFORMANCE.md that it shows.
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

static DvmdCampaign *
bring (World *world, const char *hosts, guint first, guint last)
{
  DvmdCampaign *campaign = grow (world, hosts);

  for (guint rank = first; rank <= last; rank++)
    report_in (world, rank);
  wired (world, campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
  g_string_truncate (world->log, 0);
  return campaign;
}

static const char *
alloc_id_of (DvmdCampaign *campaign)
{
  return dvm_campaign_get_alloc_id (dvmd_campaign_get_record (campaign));
}

static DvmdCampaign *
release (World *world, const char *alloc_id)
{
  DvmdShrinkRequest request = { .alloc_id = alloc_id };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  guint id = try_shrink (world, NULL, &request, &answer, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (answer.alloc_id, ==, alloc_id);
  run (world);
  return id != 0 ? dvmd_core_get_campaign (world->core, id) : NULL;
}

static void
lose (World *world, guint rank)
{
  dvmd_core_agent_ended (world->core, rank, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "connection closed");
  run (world);
}

static void
assert_shrink_refused (World *world, const char *hosts, const char *alloc_id, int code)
{
  DvmdShrinkRequest request = { .alloc_id = alloc_id };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (try_shrink (world, hosts, &request, &answer, &error), ==, 0);
  g_assert_error (error, DVM_ERROR, code);
}

static void
assert_grow_refused (World *world, const char *hosts, const char *alloc_id, int code)
{
  DvmdGrowRequest request = { .alloc_id = alloc_id };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (try_grow (world, hosts, &request, &answer, &error), ==, 0);
  g_assert_error (error, DVM_ERROR, code);
}

/* E48, D10, DBUS.md: what is refused in phase one changes nothing, and no campaign comes of it. */
static void
test_refused (void)
{
  g_auto (World) world = { 0 };
  guint64 epoch;

  world_init_elastic (&world, 2, 2);
  epoch = dvmd_core_get_membership_epoch (world.core);
  assert_shrink_refused (&world, NULL, NULL, DVM_ERROR_BAD_PARAM);
  assert_shrink_refused (&world, "node1 nowhere", NULL, DVM_ERROR_NOT_FOUND);
  assert_shrink_refused (&world, "node1 head", NULL, DVM_ERROR_NOT_SUPPORTED);
  assert_shrink_refused (&world, NULL, "none", DVM_ERROR_NOT_FOUND);
  assert_shrink_refused (&world, NULL, "", DVM_ERROR_NOT_SUPPORTED);
  assert_grow_refused (&world, "", NULL, DVM_ERROR_BAD_PARAM);
  assert_grow_refused (&world, "node3 node3", NULL, DVM_ERROR_BAD_PARAM);
  assert_grow_refused (&world, "node3", "none", DVM_ERROR_NOT_FOUND);
  run (&world);
  assert_log (&world, "");
  g_assert_null (dvmd_core_next_campaign (world.core, NULL, TRUE));
  g_assert_cmpuint (dvmd_core_get_membership_epoch (world.core), ==, epoch);
  g_assert_null (dvmd_core_next_session (world.core, dvmd_core_get_session (world.core, 0)));
}

/* E49, D19: nodes that are in already: an allocation, and no campaign. Given back, they stay. */
static void
test_nothing_changes (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdGrowRequest request = { .req_id = "mine" };
  DvmdSession *session;

  world_init_elastic (&world, 2, 2);
  g_assert_cmpuint (try_grow (&world, "node1", &request, &answer, &error), ==, 0);
  g_assert_no_error (error);
  g_assert_cmpstr (answer.req_id, ==, "mine");
  session = dvmd_core_find_session (world.core, answer.alloc_id);
  g_assert_cmpuint (dvmd_session_get_id (session), ==, answer.session);
  dvmd_session_publish (session);
  g_assert_cmpstr (dvm_session_get_nodes (dvmd_session_get_record (session))[0], ==, "node1");
  g_assert_cmpstr (dvm_node_get_sessions (node (&world, 1)->record)[1], ==, "/org/dvm/sessions/1");
  g_assert_null (release (&world, answer.alloc_id));
  g_assert_null (dvmd_core_find_session (world.core, answer.alloc_id));
  g_assert_null (dvm_node_get_sessions (node (&world, 1)->record)[1]);
  assert_log (&world, "");
}

/* D14: a host that another grow is adding is refused; E7, E22: another host is not. */
static void
test_exists (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *first;
  DvmdCampaign *second;

  world_init_elastic (&world, 1, 2);
  first = grow (&world, "node2");
  assert_grow_refused (&world, "node2", NULL, DVM_ERROR_EXISTS);
  second = grow (&world, "node3");
  report_in (&world, 2);
  report_in (&world, 3);
  /* While it is wired, too. */
  assert_grow_refused (&world, "node3", NULL, DVM_ERROR_EXISTS);
  wired (&world, second);
  assert_campaign (second, DVM_CAMPAIGN_STATE_COMPLETED);
  assert_campaign (first, DVM_CAMPAIGN_STATE_RUNNING);
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 1);
  wired (&world, first);
}

/* D14: a release of a node that a grow brings cancels that grow; each has its own end. */
static void
test_release_of_grow (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *growing;
  DvmdCampaign *shrinking;

  world_init_elastic (&world, 1, 2);
  growing = grow (&world, "node2 node3");
  report_in (&world, 2);
  g_string_truncate (world.log, 0);
  shrinking = shrink (&world, "node2");
  assert_campaign (growing, DVM_CAMPAIGN_STATE_ROLLING_BACK);
  assert_campaign (shrinking, DVM_CAMPAIGN_STATE_RUNNING);
  /* Ordered once, counted in each. */
  assert_log (&world, "remove 1: 2 3\n");
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 3);
  depart (&world, 2);
  assert_log (&world, "offer 2: node2\n");
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 1);
  offered (&world, shrinking);
  assert_log (&world, "end 2: completed \n");
  depart (&world, 3);
  assert_log (&world, "end 1: failed cancelled\n");
  g_assert_null (dvmd_core_find_session (world.core, alloc_id_of (growing)));
}

/* D14: a rank in two shrinks counts in each, is ordered once, and is offered once, before either of them ends. */
static void
test_two_shrinks (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *first;
  DvmdCampaign *second;

  world_init_elastic (&world, 4, 2);
  first = shrink (&world, "node2 node3");
  second = shrink (&world, "node3 node4");
  assert_log (&world, "remove 1: 2 3\nremove 2: 4\n");
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 4);
  depart (&world, 3);
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 2);
  depart (&world, 2);
  depart (&world, 4);
  assert_log (&world, "offer 1: node2 node3\noffer 2: node4\n");
  offered (&world, second);
  assert_campaign (second, DVM_CAMPAIGN_STATE_RUNNING);
  offered (&world, first);
  assert_log (&world, "end 1: completed \nend 2: completed \n");
}

/* D14: a grow of a node that leaves begins after that; if the shrink fails instead, the node is in. */
static void
test_grow_after_shrink (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *growing;
  DvmdCampaign *shrinking;

  world_init_elastic (&world, 2, 2);
  shrinking = shrink (&world, "node2");
  growing = grow (&world, "node2");
  assert_campaign (growing, DVM_CAMPAIGN_STATE_WAITING);
  g_assert_cmpstr (dvm_campaign_get_reason (dvmd_campaign_get_record (growing)), ==,
                   "It begins when these have left the DVM: node2");
  g_assert_cmpint (dvm_campaign_get_started_at (dvmd_campaign_get_record (growing)), ==, 0);
  assert_grow_refused (&world, "node2", NULL, DVM_ERROR_EXISTS);
  g_string_truncate (world.log, 0);
  dvmd_core_order_failed (world.core, shrinking, "out of memory");
  run (&world);
  assert_log (&world, "end 1: failed order-failed\nend 2: completed \n");
  g_assert_cmpint (dvm_campaign_get_status (dvmd_campaign_get_record (shrinking)), ==, -49);
  g_assert_cmpuint (dvmd_node_pool_count_slots (nodes_of (&world)), ==, 4);
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 0);
  assert_state (submit (&world, 4), DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* D14: of many that it waits for it is told how many are left, and which when they are few. */
static void
test_grow_after_many (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *growing;
  DvmCampaign *record;

  world_init_elastic (&world, 6, 2);
  shrink (&world, "node1 node2 node3 node4 node5 node6");
  growing = grow (&world, "node1 node2 node3 node4 node5 node7");
  record = dvmd_campaign_get_record (growing);
  g_assert_cmpstr (dvm_campaign_get_reason (record), ==, "It begins when 5 nodes have left the DVM");
  depart (&world, 2);
  depart (&world, 6);
  g_assert_cmpstr (dvm_campaign_get_reason (record), ==, "It begins when 4 nodes have left the DVM");
  depart (&world, 5);
  g_assert_cmpstr (dvm_campaign_get_reason (record), ==, "It begins when these have left the DVM: node1, node3, node4");
  depart (&world, 1);
  depart (&world, 3);
  g_assert_cmpstr (dvm_campaign_get_reason (record), ==, "It begins when these have left the DVM: node4");
  g_string_truncate (world.log, 0);
  depart (&world, 4);
  assert_campaign (growing, DVM_CAMPAIGN_STATE_RUNNING);
  g_assert_nonnull (strstr (world.log->str, "agents 6\n"));
}

/* D14: a host in a roll-back counts as leaving. */
static void
test_grow_after_roll_back (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *first;
  DvmdCampaign *second;

  world_init_elastic (&world, 1, 2);
  first = grow (&world, "node2");
  g_assert_true (dvmd_core_cancel_campaign (world.core, first, NULL));
  second = grow (&world, "node2");
  assert_campaign (first, DVM_CAMPAIGN_STATE_ROLLING_BACK);
  assert_campaign (second, DVM_CAMPAIGN_STATE_WAITING);
  depart (&world, 2);
  assert_campaign (first, DVM_CAMPAIGN_STATE_FAILED);
  assert_campaign (second, DVM_CAMPAIGN_STATE_RUNNING);
  report_in (&world, 3);
  wired (&world, second);
  assert_campaign (second, DVM_CAMPAIGN_STATE_COMPLETED);
}

/* D14: a node that is down is not in: a grow gives it a new rank; a release makes no campaign, and offers it. */
static void
test_down (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;

  world_init_elastic (&world, 3, 2);
  lose (&world, 2);
  lose (&world, 3);
  campaign = grow (&world, "node2");
  g_assert_null (node (&world, 2));
  g_assert_cmpuint (dvmd_node_pool_find (nodes_of (&world), "node2")->rank, ==, 4);
  report_in (&world, 4);
  wired (&world, campaign);
  g_string_truncate (world.log, 0);
  g_assert_null (shrink (&world, "node3"));
  assert_log (&world, "offer 0: node3\n");
  g_assert_null (node (&world, 3));
  /* With others, it is offered with them. */
  lose (&world, 4);
  shrink (&world, "node1 node2");
  depart (&world, 1);
  assert_log (&world, "remove 2: 1\noffer 2: node1 node2\n");
}

/* E55, E31, E56: a target crashes; before its order it is gone, after it its departure is what counts. */
static void
test_crash_of_target (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  DvmdCampaign *campaign;
  DvmdJob *job;

  world_init_elastic (&world, 3, 2);
  job = submit (&world, 2);
  launch_all (&world, job);
  g_string_truncate (world.log, 0);
  campaign = dvmd_core_get_campaign (world.core, try_shrink (&world, "node1 node2", NULL, &answer, NULL));
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "connection closed");
  run (&world);
  assert_state (job, DVM_JOB_STATE_KILLED_BY_CMD);
  g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (job)), "campaign 1 (shrink of node1, node2)"));
  assert_log (&world, "remove 1: 2\nended 1\n");
  g_assert_null (node (&world, 1));
  lose (&world, 2);
  g_assert_nonnull (node (&world, 2));
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_RUNNING);
  depart (&world, 2);
  /* E66 */
  lose (&world, 2);
  depart (&world, 2);
  depart (&world, 77);
  offered (&world, campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
}

/* D17: grow-timeout covers the reports alone. */
static void
test_grow_timeout (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;

  world_init_elastic (&world, 1, 2);
  campaign = grow (&world, "node2 node3");
  report_in (&world, 2);
  dvmd_clock_advance (world.clock, 60 * G_USEC_PER_SEC);
  run (&world);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_ROLLING_BACK);
  g_assert_cmpstr (dvm_campaign_get_reason (dvmd_campaign_get_record (campaign)), ==, "node3: no report within 60 s");
  depart (&world, 2);
  depart (&world, 3);
  g_assert_cmpstr (dvm_campaign_get_cause (dvmd_campaign_get_record (campaign)), ==, "timeout");
  campaign = grow (&world, "node2 node3");
  report_in (&world, 4);
  report_in (&world, 5);
  dvmd_clock_advance (world.clock, 1000 * G_USEC_PER_SEC);
  run (&world);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_RUNNING);
  wired (&world, campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
}

/* D7, DBUS.md: what can be cancelled, and what cannot. */
static void
test_cancel (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdCampaign *growing;
  DvmdCampaign *shrinking;

  world_init_elastic (&world, 2, 2);
  shrinking = shrink (&world, "node2");
  g_assert_false (dvmd_core_cancel_campaign (world.core, shrinking, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED);
  /* One that waits is dropped. */
  growing = grow (&world, "node2");
  g_assert_true (dvmd_core_cancel_campaign (world.core, growing, NULL));
  run (&world);
  assert_campaign (growing, DVM_CAMPAIGN_STATE_FAILED);
  g_assert_null (dvmd_core_find_session (world.core, alloc_id_of (growing)));
  depart (&world, 2);
  offered (&world, shrinking);
  g_clear_error (&error);
  g_assert_false (dvmd_core_cancel_campaign (world.core, shrinking, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED);
  growing = grow (&world, "node2");
  g_assert_true (dvmd_core_cancel_campaign (world.core, growing, NULL));
  run (&world);
  assert_campaign (growing, DVM_CAMPAIGN_STATE_ROLLING_BACK);
  depart (&world, 3);
  g_assert_cmpstr (dvm_campaign_get_cause (dvmd_campaign_get_record (growing)), ==, "cancelled");
  /* D9: once more. */
  bring (&world, "node2", 4, 4);
}

/* A grow whose agents are members is over: nothing is called back, and a release of its nodes is a shrink like any. */
static void
test_too_late (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdCampaign *growing;
  DvmdCampaign *shrinking;

  world_init_elastic (&world, 1, 2);
  growing = grow (&world, "node2");
  report_in (&world, 2);
  dvmd_core_agents_wired (world.core, growing);
  g_assert_false (dvmd_core_cancel_campaign (world.core, growing, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED);
  shrinking = dvmd_core_get_campaign (world.core, try_shrink (&world, "node2", NULL, &answer, NULL));
  run (&world);
  assert_campaign (growing, DVM_CAMPAIGN_STATE_COMPLETED);
  assert_campaign (shrinking, DVM_CAMPAIGN_STATE_RUNNING);
  depart (&world, 2);
  offered (&world, shrinking);
  assert_campaign (shrinking, DVM_CAMPAIGN_STATE_COMPLETED);
}

/* D3: nodes that were got for a grow that has failed go back to who had them; nobody waits for that. */
static void
test_given_back (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", 1000, 42);
  const DvmdGrowHost hosts[] = { { .name = "node2", .allocator = "slurm" }, { .name = "node3" } };
  const DvmdGrowRequest request = { .requester = requester, .hosts = hosts, .n_hosts = 2, .share = TRUE };

  world_init_elastic (&world, 1, 2);
  g_assert_true (dvmd_core_grow (world.core, &request, &answer, NULL));
  run (&world);
  g_assert_true (dvmd_core_cancel_campaign (world.core, dvmd_core_get_campaign (world.core, answer.campaign), NULL));
  run (&world);
  depart (&world, 2);
  g_string_truncate (world.log, 0);
  depart (&world, 3);
  assert_log (&world, "offer 1: node2 of slurm\nend 1: failed cancelled\n");
}

/* Before anything has been asked of the world. */
static void
test_cancel_at_once (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  DvmdCampaign *campaign;

  world_init_elastic (&world, 1, 2);
  campaign = dvmd_core_get_campaign (world.core, try_grow (&world, "node2", NULL, &answer, NULL));
  g_assert_true (dvmd_core_cancel_campaign (world.core, campaign, NULL));
  run (&world);
  assert_log (&world, "end 1: failed cancelled\n");
  g_assert_null (node (&world, 2));
}

/* D15, D14: a shrink that waits for running jobs can be dropped, and its nodes are as they were. */
static void
test_cancel_drain (void)
{
  g_auto (World) world = { 0 };
  DvmdShrinkRequest request = { .drain_timeout = 30 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  DvmdCampaign *campaign;
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  job = submit (&world, 2);
  launch_all (&world, job);
  campaign = dvmd_core_get_campaign (world.core, try_shrink (&world, "node1", &request, &answer, NULL));
  run (&world);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_WAITING);
  g_assert_true (dvmd_core_cancel_campaign (world.core, campaign, NULL));
  run (&world);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_FAILED);
  run_to_end (&world, job);
  dvmd_clock_advance (world.clock, 60 * G_USEC_PER_SEC);
  assert_state (submit (&world, 4), DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* D8: a node that was given up at the start reports after all. */
static void
test_latecomer (void)
{
  g_auto (World) world = { 0 };
  DvmdCoreSettings settings = {
    .nspace = "dvm-test", .host = "head", .history_limit = 3, .elastic = TRUE, .allow_missing = TRUE, .uid = 1000
  };

  world_init_with (&world, 2, 2, &settings);
  dvmd_core_agent_ended (world.core, 2, DVMD_AGENT_FAILED, DVMD_CAUSE_TIMEOUT, "no report");
  report_in (&world, 1);
  dvmd_core_agents_wired (world.core, NULL);
  run (&world);
  g_assert_true (world.ready);
  g_string_truncate (world.log, 0);
  report_in (&world, 2);
  assert_log (&world, "remove 0: 2\n");
  depart (&world, 2);
  g_assert_cmpint (dvm_node_get_state (node (&world, 2)->record), ==, DVM_NODE_STATE_DOWN);
}

/* E57, D7: the DVM ends: all campaigns fail, nobody stays parked, and nobody is waited for who is not there. */
static void
test_shutdown (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *growing;
  DvmdCampaign *waiting;
  DvmdCampaign *shrinking;
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  growing = grow (&world, "node3");
  shrinking = shrink (&world, "node2");
  waiting = grow (&world, "node2");
  job = submit (&world, 1);
  dvmd_core_shutdown (world.core, FALSE, "enough");
  run (&world);
  assert_campaign (growing, DVM_CAMPAIGN_STATE_FAILED);
  assert_campaign (waiting, DVM_CAMPAIGN_STATE_FAILED);
  assert_campaign (shrinking, DVM_CAMPAIGN_STATE_FAILED);
  g_assert_cmpstr (dvm_campaign_get_cause (dvmd_campaign_get_record (shrinking)), ==, "shutting-down");
  g_assert_true (dvmd_job_get_ended (job));
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 0);
  g_assert_cmpuint (dvmd_core_get_campaigns_running (world.core), ==, 0);
  assert_grow_refused (&world, "node4", NULL, DVM_ERROR_SHUTTING_DOWN);
  depart (&world, 2);
  dvmd_core_agent_ended (world.core, 3, DVMD_AGENT_FAILED, DVMD_CAUSE_LAUNCH, "ended");
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  run (&world);
  g_assert_cmpuint (world.n_ended, ==, 1);
}

/* E57: an order cannot be sent, the DVM begins to end, and then the agent is lost: its job does not wait for it. */
static void
test_shutdown_and_lost (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *shrinking;
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  job = submit (&world, 4);
  launch_all (&world, job);
  shrinking = shrink (&world, "node2");
  g_assert_cmpint (node (&world, 2)->stage, ==, DVMD_STAGE_ORDERED);
  dvmd_core_shutdown (world.core, FALSE, "enough");
  run (&world);
  dvmd_core_order_failed (world.core, shrinking, "out of memory");
  run (&world);
  assert_campaign (shrinking, DVM_CAMPAIGN_STATE_FAILED);
  g_assert_cmpint (node (&world, 2)->stage, ==, DVMD_STAGE_MEMBER);
  lose (&world, 2);
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "connection closed");
  run (&world);
  g_assert_true (dvmd_job_get_ended (job));
  g_assert_cmpuint (world.n_ended, ==, 1);
}

/* E57: accepted, and overtaken by the end before anything was started. */
static void
test_shutdown_at_once (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };

  world_init_elastic (&world, 1, 2);
  dvmd_core_shutdown (world.core, FALSE, "enough");
  try_grow (&world, "node2", NULL, &answer, NULL);
  run (&world);
  assert_log (&world, "stop\nend 1: failed shutting-down\n");
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
  run (&world);
  g_assert_cmpuint (world.n_ended, ==, 1);
}

/* D3, D19: an allocation is released: what a grow brought leaves, what was there stays; and it is extended. */
static void
test_allocation (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdGrowRequest request = { .req_id = "mine" };
  DvmdGrowRequest more = { .of_req_id = "mine", .req_id = "again" };
  DvmdCampaign *campaign;
  DvmdSession *session;

  world_init_elastic (&world, 1, 2);
  campaign = dvmd_core_get_campaign (world.core, try_grow (&world, "node1 node2", &request, &answer, &error));
  run (&world);
  report_in (&world, 2);
  wired (&world, campaign);
  session = dvmd_core_find_session (world.core, answer.alloc_id);
  dvmd_size_answer_clear (&answer);
  campaign = dvmd_core_get_campaign (world.core, try_grow (&world, "node3", &more, &answer, &error));
  g_assert_cmpstr (dvm_campaign_get_request_id (dvmd_campaign_get_record (campaign)), ==, "again");
  g_assert_cmpstr (answer.alloc_id, ==, dvmd_session_get_alloc_id (session));
  run (&world);
  report_in (&world, 3);
  wired (&world, campaign);
  dvmd_session_publish (session);
  g_assert_cmpuint (g_strv_length ((char **)dvm_session_get_nodes (dvmd_session_get_record (session))), ==, 3);
  g_string_truncate (world.log, 0);
  campaign = release (&world, answer.alloc_id);
  assert_log (&world, "remove 3: 2 3\n");
  g_assert_cmpint (dvm_session_get_state (dvmd_session_get_record (session)), ==, DVM_SESSION_STATE_TERMINATING);
  assert_shrink_refused (&world, NULL, answer.alloc_id, DVM_ERROR_NOT_FOUND);
  assert_grow_refused (&world, "node4", answer.alloc_id, DVM_ERROR_NOT_FOUND);
  depart (&world, 2);
  depart (&world, 3);
  offered (&world, campaign);
  g_assert_null (dvmd_core_find_session (world.core, answer.alloc_id));
  g_assert_nonnull (node (&world, 1));
}

static void
on_session_changed (DvmdCore *core, DvmdSession *session, gpointer user_data)
{
  *(guint *)user_data |= 1u << dvmd_session_get_id (session);
  dvmd_session_publish (session);
}

/* D14: an allocation that is emptied by releases of its hosts stays until it is released itself. */
static void
test_emptied (void)
{
  g_auto (World) world = { 0 };
  g_autofree char *alloc_id = NULL;
  guint changed = 0;
  guint64 epoch;
  DvmdCampaign *campaign;

  world_init_elastic (&world, 1, 2);
  campaign = bring (&world, "node2", 2, 2);
  alloc_id = g_strdup (alloc_id_of (campaign));
  campaign = shrink (&world, "node2");
  g_assert_cmpstr (alloc_id_of (campaign), ==, alloc_id);
  dvmd_session_publish (dvmd_core_find_session (world.core, alloc_id));
  g_signal_connect (world.core, "session-changed", G_CALLBACK (on_session_changed), &changed);
  epoch = dvmd_core_get_membership_epoch (world.core);
  depart (&world, 2);
  /* E32: the membership has changed, and whoever looks at the allocation hears of it. */
  g_assert_cmpuint (changed, ==, 1u << 1);
  g_assert_cmpuint (dvmd_core_get_membership_epoch (world.core), ==, epoch + 1);
  offered (&world, campaign);
  g_assert_nonnull (dvmd_core_find_session (world.core, alloc_id));
  assert_shrink_refused (&world, "node1", alloc_id, DVM_ERROR_NOT_FOUND);
  g_assert_null (release (&world, alloc_id));
  g_assert_null (dvmd_core_find_session (world.core, alloc_id));
}

/* D19: released by one allocation, a node stays while another one has it. */
static void
test_in_two_allocations (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  DvmdCampaign *campaign;

  world_init_elastic (&world, 1, 2);
  campaign = bring (&world, "node2", 2, 2);
  try_grow (&world, "node2", NULL, &answer, NULL);
  g_assert_null (release (&world, alloc_id_of (campaign)));
  g_assert_nonnull (node (&world, 2));
  campaign = release (&world, answer.alloc_id);
  g_assert_nonnull (campaign);
  depart (&world, 2);
  g_assert_null (node (&world, 2));
}

/* The released allocation's own grow is cancelled. */
static void
test_release_while_it_grows (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *growing;
  DvmdCampaign *shrinking;
  g_autofree char *alloc_id = NULL;

  world_init_elastic (&world, 1, 2);
  growing = grow (&world, "node2");
  alloc_id = g_strdup (alloc_id_of (growing));
  shrinking = release (&world, alloc_id);
  assert_campaign (growing, DVM_CAMPAIGN_STATE_ROLLING_BACK);
  depart (&world, 2);
  offered (&world, shrinking);
  assert_campaign (growing, DVM_CAMPAIGN_STATE_FAILED);
  assert_campaign (shrinking, DVM_CAMPAIGN_STATE_COMPLETED);
  g_assert_null (dvmd_core_find_session (world.core, alloc_id));
}

/* Campaigns that have ended can be asked about until there are too many. */
static void
test_history (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;

  world_init_elastic (&world, 1, 2);
  for (guint i = 0; i < 5; i++)
    {
      campaign = bring (&world, "node2", 2 + i, 2 + i);
      campaign = shrink (&world, "node2");
      depart (&world, 2 + i);
      offered (&world, campaign);
      g_assert_cmpuint (dvmd_core_get_campaigns_running (world.core), ==, 0);
    }
  g_assert_null (dvmd_core_get_campaign (world.core, 7));
  g_assert_nonnull (dvmd_core_get_campaign (world.core, 8));
  g_assert_cmpuint (dvmd_campaign_get_id (dvmd_core_next_campaign (world.core, NULL, TRUE)), ==, 8);
  g_assert_cmpuint (dvmd_core_get_statistics (world.core)->campaigns_completed, ==, 10);
}

/* A campaign does not wait for what has come otherwise, nor when it is forgotten. */
static void
test_no_timer_stays (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  DvmdShrinkRequest gently = { .drain_timeout = 30 };
  DvmdCampaign *campaign;

  world_init_elastic (&world, 2, 2);
  campaign = dvmd_core_get_campaign (world.core, try_shrink (&world, "node2", &gently, &answer, NULL));
  run (&world);
  depart (&world, 2);
  offered (&world, campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
  campaign = grow (&world, "node3");
  dvmd_core_agent_ended (world.core, 3, DVMD_AGENT_FAILED, DVMD_CAUSE_LAUNCH, "no");
  run (&world);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_FAILED);
  for (guint rank = 4; rank < 8; rank++)
    {
      g_autofree char *name = g_strdup_printf ("node%u", rank);

      bring (&world, name, rank, rank);
    }
  g_assert_null (dvmd_core_get_campaign (world.core, 2));
  g_string_truncate (world.log, 0);
  dvmd_clock_advance (world.clock, 60 * G_USEC_PER_SEC);
  run (&world);
  assert_log (&world, "");
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/campaigns/overlap/E48-refused", test_refused);
  g_test_add_func ("/campaigns/overlap/E49-R31-nothing-changes", test_nothing_changes);
  g_test_add_func ("/campaigns/overlap/D14-exists", test_exists);
  g_test_add_func ("/campaigns/overlap/D14-release-of-grow", test_release_of_grow);
  g_test_add_func ("/campaigns/overlap/E7-E33-D5-D14-two-shrinks", test_two_shrinks);
  g_test_add_func ("/campaigns/overlap/D14-grow-after-shrink", test_grow_after_shrink);
  g_test_add_func ("/campaigns/overlap/D14-grow-after-many", test_grow_after_many);
  g_test_add_func ("/campaigns/overlap/D14-grow-after-roll-back", test_grow_after_roll_back);
  g_test_add_func ("/campaigns/overlap/D14-down", test_down);
  g_test_add_func ("/campaigns/overlap/E55-crash-of-target", test_crash_of_target);
  g_test_add_func ("/campaigns/overlap/D17-grow-timeout", test_grow_timeout);
  g_test_add_func ("/campaigns/overlap/D7-cancel", test_cancel);
  g_test_add_func ("/campaigns/overlap/D7-too-late", test_too_late);
  g_test_add_func ("/campaigns/overlap/D3-given-back", test_given_back);
  g_test_add_func ("/campaigns/overlap/D7-cancel-at-once", test_cancel_at_once);
  g_test_add_func ("/campaigns/overlap/D15-cancel-drain", test_cancel_drain);
  g_test_add_func ("/campaigns/overlap/D8-E66-latecomer", test_latecomer);
  g_test_add_func ("/campaigns/overlap/E57-shutdown", test_shutdown);
  g_test_add_func ("/campaigns/overlap/E57-shutdown-and-lost", test_shutdown_and_lost);
  g_test_add_func ("/campaigns/overlap/E57-shutdown-at-once", test_shutdown_at_once);
  g_test_add_func ("/campaigns/overlap/D19-allocation", test_allocation);
  g_test_add_func ("/campaigns/overlap/D14-emptied", test_emptied);
  g_test_add_func ("/campaigns/overlap/D19-in-two-allocations", test_in_two_allocations);
  g_test_add_func ("/campaigns/overlap/D14-release-while-it-grows", test_release_while_it_grows);
  g_test_add_func ("/campaigns/overlap/history", test_history);
  g_test_add_func ("/campaigns/overlap/no-timer-stays", test_no_timer_stays);
  return g_test_run ();
}

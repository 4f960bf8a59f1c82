/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes that come back, in the pure core: when an agent that was lost is started again, and what becomes of jobs,
 * sessions and campaigns meanwhile.
 */

#include "config.h"

#include "core-world.h"
#include "dvmd-heal.h"
#include "dvmd-membership.h"

#define LIMIT 4
#define PAUSE (8 * G_USEC_PER_SEC)

static void
init (World *world, guint n_nodes, gboolean elastic)
{
  const DvmdCoreSettings settings = { .nspace = "dvm-test",
                                      .host = "head",
                                      .history_limit = 3,
                                      .elastic = elastic,
                                      .heal = TRUE,
                                      .heal_limit = LIMIT,
                                      .heal_pause = PAUSE,
                                      .park_limit = 60,
                                      .grow_timeout = 60,
                                      .uid = 1000 };

  world_init_with (world, n_nodes, 2, &settings);
  bring_up (world);
  g_string_truncate (world->log, 0);
}

static DvmdNode *
node (World *world, guint rank)
{
  return dvmd_node_pool_get (dvmd_core_get_nodes (world->core), rank);
}

static void
assert_node (World *world, guint rank, DvmNodeState state)
{
  g_assert_nonnull (node (world, rank));
  g_assert_cmpstr (dvm_node_state_to_string (dvm_node_get_state (node (world, rank)->record)), ==,
                   dvm_node_state_to_string (state));
}

static void
lose (World *world, guint rank)
{
  dvmd_core_agent_ended (world->core, rank, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "its agent has ended");
  run (world);
}

static void
pass (World *world, gint64 time)
{
  dvmd_clock_advance (world->clock, time);
  run (world);
}

/* The attempt of that rank goes well. */
static void
come (World *world, guint rank)
{
  DvmdCampaign *attempt = node (world, rank)->grow;

  g_assert_nonnull (attempt);
  report_in (world, rank);
  wired (world, attempt);
}

/* The attempt of that rank fails: nothing of it was started. */
static void
fail (World *world, guint rank)
{
  dvmd_core_agent_ended (world->core, rank, DVMD_AGENT_FAILED, DVMD_CAUSE_LAUNCH, "no such host");
  run (world);
}

/* A static DVM too: the same node as a new rank, with a change of the membership, and no campaign that anybody sees. */
static void
test_comes_back (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;
  guint64 epoch;

  init (&world, 2, FALSE);
  epoch = dvmd_core_get_membership_epoch (world.core);
  lose (&world, 1);
  assert_node (&world, 1, DVM_NODE_STATE_DOWN);
  g_assert_nonnull (strstr (dvm_node_get_reason (node (&world, 1)->record), "its agent has ended; "));
  pass (&world, G_USEC_PER_SEC - 1);
  assert_log (&world, "");
  pass (&world, 1);
  assert_log (&world, "agents 1\n");
  g_assert_null (node (&world, 1));
  assert_node (&world, 3, DVM_NODE_STATE_ADDED);
  g_assert_cmpstr (dvm_node_get_name (node (&world, 3)->record), ==, "node1");
  g_assert_cmpuint (dvmd_core_get_campaigns_running (world.core), ==, 0);
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 0);
  come (&world, 3);
  assert_log (&world, "wire 0: 3\n");
  assert_node (&world, 3, DVM_NODE_STATE_UP);
  g_assert_cmpuint (dvmd_core_get_membership_epoch (world.core), ==, epoch + 1);
  g_assert_cmpuint (dvmd_node_pool_count_slots (dvmd_core_get_nodes (world.core)), ==, 4);
  g_assert_cmpuint (dvmd_membership_count_agents (dvmd_core_get_membership (world.core)), ==, 2);
  job = submit (&world, 4);
  run_to_end (&world, job);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
}

static void
test_off (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 1, 2, FALSE);
  bring_up (&world);
  lose (&world, 1);
  g_string_truncate (world.log, 0);
  pass (&world, 1000 * G_USEC_PER_SEC);
  assert_log (&world, "");
  assert_node (&world, 1, DVM_NODE_STATE_DOWN);
  job = submit (&world, 1);
  assert_state (job, DVM_JOB_STATE_MAP_FAILED);
}

/* 1, 2, 4, 8, 8... s, so many attempts in a row; the node says why, and how many are left. */
static void
test_limit (void)
{
  static const guint pauses[LIMIT] = { 1, 2, 4, 8 };
  g_auto (World) world = { 0 };

  init (&world, 2, FALSE);
  lose (&world, 1);
  for (guint i = 0; i < LIMIT; i++)
    {
      pass (&world, pauses[i] * G_USEC_PER_SEC - 1);
      assert_log (&world, "");
      pass (&world, 1);
      assert_log (&world, "agents 1\n");
      fail (&world, 3 + i);
      assert_node (&world, 3 + i, DVM_NODE_STATE_DOWN);
      g_assert_true (g_str_has_prefix (dvm_node_get_reason (node (&world, 3 + i)->record), "no such host; "));
      g_assert_cmpuint (dvmd_membership_count_agents (dvmd_core_get_membership (world.core)), ==, 1);
      assert_log (&world, "");
    }
  g_assert_nonnull (strstr (dvm_node_get_reason (node (&world, 2 + LIMIT)->record), "given up after 4 attempts"));
  pass (&world, 100 * PAUSE);
  assert_log (&world, "");
  /* Somebody has mended it. */
  g_assert_true (dvmd_core_restart_node (world.core, node (&world, 2 + LIMIT), NULL));
  run (&world);
  assert_log (&world, "agents 1\n");
  come (&world, 3 + LIMIT);
  assert_node (&world, 3 + LIMIT, DVM_NODE_STATE_UP);
}

static gboolean
knock (World *world, guint rank)
{
  gboolean taken = dvmd_core_take_back_node (world->core, node (world, rank));

  run (world);
  return taken;
}

/* An agent that has come by itself: at once, given up or not; one that cannot stay has pauses, too. */
static void
test_agent_waits (void)
{
  g_auto (World) world = { 0 };
  guint rank = 2 + LIMIT;

  init (&world, 2, FALSE);
  g_assert_false (knock (&world, 1));
  lose (&world, 1);
  for (guint i = 0; i < LIMIT; i++)
    {
      pass (&world, PAUSE);
      g_assert_false (knock (&world, 3 + i));
      fail (&world, 3 + i);
    }
  assert_node (&world, rank, DVM_NODE_STATE_DOWN);
  g_string_truncate (world.log, 0);
  g_assert_true (knock (&world, rank));
  assert_log (&world, "agents 1\n");
  fail (&world, ++rank);
  g_assert_false (knock (&world, rank));
  pass (&world, 2 * G_USEC_PER_SEC - 1);
  g_assert_false (knock (&world, rank));
  pass (&world, 1);
  g_assert_true (knock (&world, rank));
  come (&world, ++rank);
  assert_node (&world, rank, DVM_NODE_STATE_UP);
  g_assert_false (knock (&world, rank));
  /* It was up for long. */
  pass (&world, PAUSE);
  lose (&world, rank);
  g_assert_true (knock (&world, rank));
  come (&world, ++rank);
  assert_node (&world, rank, DVM_NODE_STATE_UP);
}

/* Where nodes do not come back, they do not by this way either. */
static void
test_agent_waits_off (void)
{
  g_auto (World) world = { 0 };

  world_init (&world, 1, 2, FALSE);
  bring_up (&world);
  lose (&world, 1);
  g_assert_false (knock (&world, 1));
  assert_node (&world, 1, DVM_NODE_STATE_DOWN);
}

/* One that dies again and again is given up; one that was up for long begins anew. */
static void
test_well_again (void)
{
  g_auto (World) world = { 0 };
  guint rank = 1;

  init (&world, 2, FALSE);
  for (guint i = 0; i < LIMIT + 1; i++)
    {
      lose (&world, rank);
      pass (&world, PAUSE);
      rank = 3 + i;
      come (&world, rank);
      pass (&world, PAUSE);
    }
  for (guint i = 0; i < LIMIT; i++)
    {
      lose (&world, rank++);
      pass (&world, PAUSE);
      come (&world, rank);
    }
  g_string_truncate (world.log, 0);
  lose (&world, rank);
  pass (&world, 100 * PAUSE);
  assert_log (&world, "");
  assert_node (&world, rank, DVM_NODE_STATE_DOWN);
}

/* It never stays without any node and does not try. */
static void
test_last_node (void)
{
  g_auto (World) world = { 0 };

  init (&world, 2, FALSE);
  lose (&world, 1);
  for (guint i = 0; i < LIMIT; i++)
    {
      pass (&world, PAUSE);
      fail (&world, 3 + i);
    }
  g_string_truncate (world.log, 0);
  pass (&world, 10 * PAUSE);
  assert_log (&world, "");
  lose (&world, 2);
  pass (&world, PAUSE);
  assert_log (&world, "agents 1\nagents 1\n");
}

/* Jobs wait for a node that will come back, and those of others do not; when it is given up they are told. */
static void
test_jobs_wait (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *large;
  DvmdJob *small;

  init (&world, 2, FALSE);
  lose (&world, 1);
  large = submit (&world, 4);
  assert_held (large, "slots");
  small = submit (&world, 2);
  assert_log (&world, "launch 2\n");
  run_to_end (&world, small);
  for (guint i = 0; i < LIMIT - 1; i++)
    {
      pass (&world, PAUSE);
      fail (&world, 3 + i);
      assert_held (large, "slots");
    }
  pass (&world, PAUSE);
  come (&world, 2 + LIMIT);
  run_to_end (&world, large);
  assert_state (large, DVM_JOB_STATE_NOTIFIED);
  lose (&world, 2 + LIMIT);
  assert_state (submit (&world, 4), DVM_JOB_STATE_MAP_FAILED);
}

/* Between the failure of an attempt and the departure of its agent the node still is one that will come back. */
static void
test_jobs_wait_for_departure (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *large;
  DvmdJob *between;

  init (&world, 2, FALSE);
  lose (&world, 1);
  large = submit (&world, 4);
  pass (&world, G_USEC_PER_SEC);
  pass (&world, 60 * G_USEC_PER_SEC);
  g_assert_nonnull (strstr (world.log->str, "remove 0: 3\n"));
  assert_held (large, "slots");
  between = submit (&world, 4);
  assert_held (between, "slots");
  depart (&world, 3);
  assert_held (large, "slots");
  pass (&world, PAUSE);
  come (&world, 4);
  run_to_end (&world, large);
  assert_state (large, DVM_JOB_STATE_NOTIFIED);
}

/* The only node: a job that comes then, or was there and not placed, waits for it. */
static void
test_only_node (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) impatient = make_spec (1);
  DvmdJob *before;
  DvmdJob *job;
  DvmdJob *refused;

  init (&world, 1, FALSE);
  before = submit (&world, 2);
  launch_all (&world, before);
  job = submit (&world, 1);
  assert_held (job, "slots");
  lose (&world, 1);
  assert_state (before, DVM_JOB_STATE_COMM_FAILED);
  assert_held (job, "slots");
  dvm_job_spec_set_when_full (impatient, "refuse");
  refused = submit_spec (&world, impatient);
  assert_state (refused, DVM_JOB_STATE_MAP_FAILED);
  pass (&world, PAUSE);
  come (&world, 2);
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (job), 2), ==, 1);
}

/* The node keeps what was said of it: drained, and why; and the allocations that have it. */
static void
test_keeps (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", 1000, 42);
  const DvmdGrowHost host = { .name = "node1" };
  const DvmdGrowRequest request = { .requester = requester, .hosts = &host, .n_hosts = 1 };

  init (&world, 2, FALSE);
  g_assert_true (dvmd_core_grow (world.core, &request, &answer, NULL));
  g_assert_true (dvmd_node_is_reserved (node (&world, 1)));
  g_assert_true (dvmd_core_drain_node (world.core, node (&world, 1), "a fan", NULL));
  lose (&world, 1);
  pass (&world, PAUSE);
  fail (&world, 3);
  pass (&world, PAUSE);
  g_assert_true (dvmd_node_is_reserved (node (&world, 4)));
  come (&world, 4);
  assert_node (&world, 4, DVM_NODE_STATE_DO_NOT_USE);
  g_assert_cmpstr (dvm_node_get_reason (node (&world, 4)->record), ==, "a fan");
  g_assert_true (dvmd_node_is_in (node (&world, 4), answer.session));
  g_assert_true (dvmd_node_is_reserved (node (&world, 4)));
  g_assert_true (dvmd_core_resume_node (world.core, node (&world, 4), NULL));
  lose (&world, 4);
  pass (&world, PAUSE);
  come (&world, 5);
  assert_node (&world, 5, DVM_NODE_STATE_UP);
}

/* D14: between two attempts it is down, and a grow takes it over; during one it is being added. */
static void
test_grow (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdCampaign *campaign;

  init (&world, 2, TRUE);
  lose (&world, 1);
  pass (&world, PAUSE);
  g_assert_cmpuint (try_grow (&world, "node1", NULL, &answer, &error), ==, 0);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_EXISTS);
  fail (&world, 3);
  g_string_truncate (world.log, 0);
  campaign = grow (&world, "node1");
  assert_log (&world, "agents 1\n");
  g_assert_null (node (&world, 3));
  report_in (&world, 4);
  wired (&world, campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
  g_string_truncate (world.log, 0);
  pass (&world, 100 * PAUSE);
  assert_log (&world, "");
  assert_node (&world, 4, DVM_NODE_STATE_UP);
}

/* A release of it is the end of that, between two attempts and during one. */
static void
test_shrink (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdCampaign *campaign;

  init (&world, 3, TRUE);
  lose (&world, 1);
  try_shrink (&world, "node1", NULL, &answer, &error);
  g_assert_no_error (error);
  run (&world);
  g_assert_null (node (&world, 1));
  lose (&world, 2);
  pass (&world, PAUSE);
  report_in (&world, 4);
  g_string_truncate (world.log, 0);
  campaign = shrink (&world, "node2");
  depart (&world, 4);
  offered (&world, campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
  g_assert_null (node (&world, 4));
  g_string_truncate (world.log, 0);
  pass (&world, 100 * PAUSE);
  assert_log (&world, "");
  /* One that leaves by order is not lost. */
  campaign = shrink (&world, "node3");
  depart (&world, 3);
  offered (&world, campaign);
  g_string_truncate (world.log, 0);
  pass (&world, 100 * PAUSE);
  assert_log (&world, "");
}

/* An attempt that nobody answers ends by its time, and its agent is removed before the next one. */
static void
test_silent (void)
{
  g_auto (World) world = { 0 };

  init (&world, 2, FALSE);
  lose (&world, 1);
  pass (&world, G_USEC_PER_SEC);
  assert_log (&world, "agents 1\n");
  pass (&world, 60 * G_USEC_PER_SEC);
  assert_log (&world, "remove 0: 3\n");
  pass (&world, 100 * PAUSE);
  assert_log (&world, "");
  depart (&world, 3);
  assert_node (&world, 3, DVM_NODE_STATE_DOWN);
  pass (&world, 2 * G_USEC_PER_SEC);
  assert_log (&world, "agents 1\n");
}

/* The end of the DVM: nothing is tried any more, and what is under way ends with it. */
static void
test_end (void)
{
  for (guint step = 0; step < 3; step++)
    {
      g_auto (World) world = { 0 };

      init (&world, 2, FALSE);
      lose (&world, 1);
      if (step > 0)
        pass (&world, PAUSE);
      if (step > 1)
        report_in (&world, 3);
      g_string_truncate (world.log, 0);
      dvmd_core_shutdown (world.core, FALSE, "enough");
      run (&world);
      assert_log (&world, "stop\n");
      if (step > 0)
        dvmd_core_agent_ended (world.core, 3, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
      dvmd_core_agent_ended (world.core, 2, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
      run (&world);
      g_assert_true (world.ended);
      pass (&world, 100 * PAUSE);
      assert_log (&world, "");
    }
}

static void
assert_no_restart (World *world, guint rank, DvmError code)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (dvmd_core_restart_node (world->core, node (world, rank), &error));
  g_assert_error (error, DVM_ERROR, (int)code);
}

/* Asked for: also of one that is up, once it is lost, and where nothing is tried otherwise. */
static void
test_restart (void)
{
  g_auto (World) world = { 0 };

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  g_string_truncate (world.log, 0);
  assert_no_restart (&world, 0, DVM_ERROR_NOT_SUPPORTED);
  g_assert_true (dvmd_core_restart_node (world.core, node (&world, 1), NULL));
  assert_node (&world, 1, DVM_NODE_STATE_UP);
  lose (&world, 1);
  pass (&world, 0);
  assert_log (&world, "agents 1\n");
  assert_no_restart (&world, 3, DVM_ERROR_EXISTS);
  fail (&world, 3);
  pass (&world, 100 * PAUSE);
  assert_log (&world, "");
  dvmd_core_shutdown (world.core, FALSE, NULL);
  run (&world);
  assert_no_restart (&world, 3, DVM_ERROR_SHUTTING_DOWN);
}

/* E1: a node that has its files is lost, and is back before another one has them. */
static void
test_back_before_launch (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (4);
  const char *files[] = { "/tmp/data.txt", NULL };
  DvmdJob *job;

  init (&world, 2, FALSE);
  dvm_app_spec_set_preload_files (dvm_job_spec_get_app (spec, 0), files);
  job = submit_spec (&world, spec);
  assert_state (job, DVM_JOB_STATE_SYSTEM_PREP);
  dvmd_core_files_staged (world.core, job, 2, NULL);
  lose (&world, 2);
  assert_state (job, DVM_JOB_STATE_SYSTEM_PREP);
  pass (&world, PAUSE);
  come (&world, 3);
  g_assert_null (node (&world, 2));
  dvmd_core_files_staged (world.core, job, 1, NULL);
  run (&world);
  assert_state (job, DVM_JOB_STATE_FAILED_TO_LAUNCH);
  g_assert_cmpstr (dvm_job_get_reason (dvmd_job_get_record (job)), ==,
                   "node2 was lost before the job could be launched there: its agent has ended");
}

/* ---- slots beside its own ---- */

static void
begin_more (World *world, DvmdSizeAnswer *answer)
{
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", 1000, 42);
  const DvmdGrowHost hosts[] = { { .name = "node1", .slots = 1, .more = TRUE }, { .name = "node9", .slots = 2 } };
  const DvmdGrowRequest grow = { .requester = requester, .hosts = hosts, .n_hosts = 2, .share = TRUE };
  DvmdShrinkRequest shrink = { .requester = requester, .drain_timeout = 60 };
  g_auto (DvmdSizeAnswer) given = { 0 };

  init (world, 2, TRUE);
  dvmd_node_pool_set_slots (dvmd_core_get_nodes (world->core), node (world, 1), 2, 3);
  g_assert_true (dvmd_core_grow (world->core, &grow, &given, NULL));
  run (world);
  come (world, 3);
  g_assert_cmpuint (node (world, 1)->slots, ==, 3);
  launch_all (world, submit (world, 7));
  shrink.session = given.session;
  g_assert_true (dvmd_core_shrink (world->core, &shrink, answer, NULL));
  run (world);
  g_assert_cmpuint (node (world, 1)->slots, ==, 2);
}

static void
call_off (World *world, const DvmdSizeAnswer *answer)
{
  g_assert_true (dvmd_core_cancel_campaign (world->core, dvmd_core_get_campaign (world->core, answer->campaign), NULL));
  run (world);
}

/* Between a release and its end the agent is started again: its allocation has node and slots as before. */
static void
test_more_slots (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };

  begin_more (&world, &answer);
  lose (&world, 1);
  pass (&world, G_USEC_PER_SEC);
  come (&world, 4);
  g_assert_cmpuint (node (&world, 4)->slots, ==, 2);
  call_off (&world, &answer);
  g_assert_true (dvmd_node_is_in (node (&world, 4), answer.session));
  g_assert_cmpuint (node (&world, 4)->slots, ==, 3);
  g_assert_cmpuint (node (&world, 4)->slots_added, ==, 1);
}

/* Another allocation has added some meanwhile: the first one gets back as many as there is room for. */
static void
test_most_slots (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_auto (DvmdSizeAnswer) other = { 0 };
  g_auto (DvmdSizeAnswer) ended = { 0 };
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", 1000, 42);
  const DvmdGrowHost host = { .name = "node1", .slots = 1, .more = TRUE };
  const DvmdGrowRequest grow = { .requester = requester, .hosts = &host, .n_hosts = 1, .share = TRUE };
  DvmdShrinkRequest shrink = { .requester = requester };

  begin_more (&world, &answer);
  g_assert_true (dvmd_core_grow (world.core, &grow, &other, NULL));
  g_assert_cmpuint (node (&world, 1)->slots, ==, 3);
  call_off (&world, &answer);
  g_assert_true (dvmd_node_is_in (node (&world, 1), answer.session));
  g_assert_cmpuint (node (&world, 1)->slots, ==, 3);
  shrink.session = other.session;
  g_assert_true (dvmd_core_shrink (world.core, &shrink, &ended, NULL));
  run (&world);
  g_assert_cmpuint (node (&world, 1)->slots, ==, 2);
  g_assert_cmpuint (node (&world, 1)->slots_added, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/heal/comes-back", test_comes_back);
  g_test_add_func ("/heal/off", test_off);
  g_test_add_func ("/heal/more-slots", test_more_slots);
  g_test_add_func ("/heal/most-slots", test_most_slots);
  g_test_add_func ("/heal/limit", test_limit);
  g_test_add_func ("/heal/agent-waits", test_agent_waits);
  g_test_add_func ("/heal/agent-waits-off", test_agent_waits_off);
  g_test_add_func ("/heal/well-again", test_well_again);
  g_test_add_func ("/heal/last-node", test_last_node);
  g_test_add_func ("/heal/jobs-wait", test_jobs_wait);
  g_test_add_func ("/heal/jobs-wait-for-departure", test_jobs_wait_for_departure);
  g_test_add_func ("/heal/only-node", test_only_node);
  g_test_add_func ("/heal/keeps", test_keeps);
  g_test_add_func ("/heal/grow", test_grow);
  g_test_add_func ("/heal/shrink", test_shrink);
  g_test_add_func ("/heal/silent", test_silent);
  g_test_add_func ("/heal/end", test_end);
  g_test_add_func ("/heal/restart", test_restart);
  g_test_add_func ("/heal/E1-back-before-launch", test_back_before_launch);
  return g_test_run ();
}

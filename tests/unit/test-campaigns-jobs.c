/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs while the size of the DVM changes, in the pure core: who waits, who is placed anew, who is aborted, who goes
 * first. Each test is named after the statements of spec/CONFORMANCE.md that it shows.
 */

#include "config.h"

#include "core-world.h"
#include "dvm-job-spec-private.h"

static DvmdNodePool *
nodes_of (World *world)
{
  return dvmd_core_get_nodes (world->core);
}

static const char *
reason_of (DvmdJob *job)
{
  return dvm_job_get_reason (dvmd_job_get_record (job));
}

static DvmdJob *
submit_staged (World *world, guint np)
{
  g_autoptr (DvmJobSpec) spec = make_spec (np);
  const char *files[] = { "/tmp/data.txt", NULL };

  dvm_app_spec_set_preload_files (dvm_job_spec_get_app (spec, 0), files);
  return submit_spec (world, spec);
}

static DvmdJob *
submit_on (World *world, const char *host, guint np)
{
  g_autoptr (DvmJobSpec) spec = make_spec (np);
  g_autoptr (GError) error = NULL;
  const char *hosts[] = { host, NULL };

  dvm_app_spec_set_hosts (dvm_job_spec_get_app (spec, 0), hosts);
  _dvm_job_spec_load_hosts (spec, "", &error);
  g_assert_no_error (error);
  return submit_spec (world, spec);
}

static DvmdJob *
submit_bringing (World *world, const char *host, guint np)
{
  g_autoptr (DvmJobSpec) spec = make_spec (np);
  g_autoptr (GError) error = NULL;
  const char *hosts[] = { host, NULL };

  dvm_job_spec_set_add_hosts (spec, hosts);
  g_assert_true (_dvm_job_spec_load_additions (spec, "", NULL, &error));
  g_assert_no_error (error);
  return submit_spec (world, spec);
}

static void
staged (World *world, DvmdJob *job)
{
  g_autoptr (GArray) agents = dvmd_map_get_nodes (dvmd_job_get_map (job));

  for (guint i = 0; i < agents->len; i++)
    dvmd_core_files_staged (world->core, job, g_array_index (agents, guint, i), NULL);
  run (world);
}

static void
gone (World *world, DvmdJob *job, guint agent)
{
  dvmd_core_job_gone (world->core, job, agent);
  run (world);
}

static const char *
waits_for (DvmdJob *job, guint i)
{
  return dvm_job_get_waits_for (dvmd_job_get_record (job))[i];
}

/* D4: a failed grow aborts those that were parked while it was in progress, and could have used its nodes. */
static void
test_aborted (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *first;
  DvmdJob *early;
  DvmdJob *elsewhere;
  DvmdJob *there;
  DvmdJob *any;

  world_init_elastic (&world, 2, 2);
  first = grow (&world, "node3");
  early = submit (&world, 1);
  grow (&world, "node4");
  elsewhere = submit_on (&world, "node1", 1);
  there = submit_on (&world, "node4", 1);
  any = submit (&world, 1);
  g_assert_cmpstr (waits_for (early, 0), ==, "/org/dvm/campaigns/1");
  g_assert_cmpstr (waits_for (early, 1), ==, "/org/dvm/campaigns/2");
  dvmd_campaign_publish_held_jobs (first);
  g_assert_cmpuint (g_strv_length ((char **)dvm_campaign_get_held_jobs (dvmd_campaign_get_record (first))), ==, 4);
  dvmd_core_agent_ended (world.core, 4, DVMD_AGENT_FAILED, DVMD_CAUSE_CONNECT, "cannot reach the controller");
  run (&world);
  /* It had come before. */
  assert_held (early, "map");
  assert_held (elsewhere, "map");
  assert_state (there, DVM_JOB_STATE_NEVER_LAUNCHED);
  assert_state (any, DVM_JOB_STATE_NEVER_LAUNCHED);
  g_assert_cmpstr (reason_of (any), ==,
                   "The job was never launched: campaign 2 (grow of node4) has failed (connect-failed): node4: cannot "
                   "reach the controller");
  /* E22: the other one is not concerned. */
  assert_campaign (first, DVM_CAMPAIGN_STATE_RUNNING);
  depart (&world, 4);
  assert_state (early, DVM_JOB_STATE_WAITING_FOR_DAEMONS);
  g_assert_null (waits_for (early, 1));
  report_in (&world, 3);
  wired (&world, first);
  assert_state (early, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  assert_state (elsewhere, DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* D4: a job beside one that runs could not have used the nodes of a failed grow. */
static void
test_aborted_beside (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  assert_state (submit (&world, 1), DVM_JOB_STATE_SEND_LAUNCH_MSG);
  grow (&world, "node3");
  dvm_job_spec_set_map_by (spec, "colocate=1");
  job = submit_spec (&world, spec);
  assert_held (job, "map");
  dvmd_core_agent_ended (world.core, 3, DVMD_AGENT_FAILED, DVMD_CAUSE_CONNECT, "cannot reach the controller");
  run (&world);
  depart (&world, 3);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* E23: a daemon that belongs to no grow fails: nobody goes on, nobody is aborted. */
static void
test_unrelated_failure (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  campaign = grow (&world, "node3");
  job = submit (&world, 1);
  dvmd_core_agent_ended (world.core, 2, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "connection closed");
  run (&world);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_RUNNING);
  assert_held (job, "map");
  report_in (&world, 3);
  wired (&world, campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* D2: in elastic mode a job that has not been sent is placed anew also if its node crashed without any campaign. */
static void
test_crash_remaps (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  job = submit_staged (&world, 2);
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (job), 1), ==, 2);
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "connection closed");
  run (&world);
  assert_state (job, DVM_JOB_STATE_SYSTEM_PREP);
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (job), 2), ==, 2);
  g_assert_cmpuint (dvm_job_get_remapped (dvmd_job_get_record (job)), ==, 1);
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (nodes_of (&world)), ==, 2);
  staged (&world, job);
  run_to_end (&world, job);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (nodes_of (&world)), ==, 0);
}

/* D2: its host is back, as another rank: placed anew all the same. */
static void
test_host_is_back (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  job = submit_staged (&world, 4);
  shrink (&world, "node2");
  campaign = grow (&world, "node2:2");
  /* D14: not before it has left. */
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_WAITING);
  g_assert_true (dvmd_campaign_has_ticket (campaign));
  staged (&world, job);
  assert_held (job, "launch");
  depart (&world, 2);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_RUNNING);
  /* It has to be placed anew, and waits for the grow like everybody. */
  assert_held (job, "map");
  g_assert_null (dvmd_job_get_map (job));
  report_in (&world, 3);
  wired (&world, campaign);
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (job), 3), ==, 2);
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (job), 2), ==, 0);
  staged (&world, job);
  run_to_end (&world, job);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
}

/* D4: a job that is to be placed anew may be delayed by a grow, and is never aborted by its failure. */
static void
test_remap_is_never_aborted (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  job = submit_staged (&world, 2);
  campaign = grow (&world, "node3");
  shrink (&world, "node1");
  staged (&world, job);
  assert_held (job, "launch");
  depart (&world, 1);
  assert_held (job, "map");
  dvmd_core_agent_ended (world.core, 3, DVMD_AGENT_FAILED, DVMD_CAUSE_LAUNCH, "no");
  run (&world);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_FAILED);
  assert_state (job, DVM_JOB_STATE_SYSTEM_PREP);
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (job), 2), ==, 2);
}

/* L14, E25: files on their way to a node that leaves are not waited for; the job comes to the launch gate. */
static void
test_files_on_their_way (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;
  DvmdJob *job;

  world_init_elastic (&world, 3, 2);
  job = submit_staged (&world, 4);
  assert_state (job, DVM_JOB_STATE_SYSTEM_PREP);
  g_string_truncate (world.log, 0);
  campaign = shrink (&world, "node2");
  assert_held (job, "launch");
  depart (&world, 2);
  offered (&world, campaign);
  assert_log (&world, "remove 1: 2\noffer 1: node2\nstage 1\nend 1: completed \n");
  /* Not all had come when a node began to leave that stays after all. */
  campaign = shrink (&world, "node3");
  assert_held (job, "launch");
  g_string_truncate (world.log, 0);
  dvmd_core_order_failed (world.core, campaign, "no");
  run (&world);
  assert_log (&world, "end 2: failed order-failed\nstage 1\n");
  staged (&world, job);
  run_to_end (&world, job);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
}

/* D15: the gate is asked in the turn of the sending; a shrink that comes a step before it holds the job. */
static void
test_asked_when_sent (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmJobSpec) spec = make_spec (2);
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  job = dvmd_core_submit (world.core, spec, NULL, &error);
  while (dvmd_job_get_state (job) != DVM_JOB_STATE_LAUNCH_APPS)
    dvmd_event_queue_drain (world.queue, 1);
  /* It has passed the gate, and the message is not sent. */
  try_shrink (&world, "node1", NULL, &answer, &error);
  g_assert_no_error (error);
  run (&world);
  assert_held (job, "launch");
  g_assert_null (strstr (world.log->str, "launch 1"));
  depart (&world, 1);
  g_assert_nonnull (strstr (world.log->str, "launch 1"));
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (job), 2), ==, 2);
}

/* D15: what was sent counts as running: ranks there end KILLED_BY_CMD, and the others with them. */
static void
test_running (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;
  DvmdJob *job;
  DvmdJob *other;

  world_init_elastic (&world, 3, 2);
  job = submit (&world, 4);
  other = submit (&world, 2);
  launch_all (&world, job);
  launch_all (&world, other);
  g_string_truncate (world.log, 0);
  campaign = shrink (&world, "node2");
  assert_state (job, DVM_JOB_STATE_KILLED_BY_CMD);
  g_assert_cmpstr (reason_of (job), ==, "campaign 1 (shrink of node2) takes node2 away");
  assert_log (&world, "remove 1: 2\nkill 1\n");
  end_proc (&world, job, 0, DVM_PROC_STATE_KILLED_BY_CMD, 0, 15);
  end_proc (&world, job, 1, DVM_PROC_STATE_KILLED_BY_CMD, 0, 15);
  gone (&world, job, 1);
  g_assert_false (dvmd_job_get_ended (job));
  /* E31: nobody heard of its ranks there. */
  depart (&world, 2);
  g_assert_true (dvmd_job_get_ended (job));
  g_assert_cmpint (dvmd_proc_table_row (dvmd_job_get_procs (job), 2)->state, ==, DVM_PROC_STATE_KILLED_BY_CMD);
  offered (&world, campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
  assert_state (other, DVM_JOB_STATE_RUNNING);
}

/* D15: a recoverable job goes on without the ranks that it had there. */
static void
test_recoverable (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (4);
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  dvm_job_spec_set_recoverable (spec, TRUE);
  job = submit_spec (&world, spec);
  launch_all (&world, job);
  g_string_truncate (world.log, 0);
  shrink (&world, "node2");
  end_proc (&world, job, 2, DVM_PROC_STATE_ABORTED_BY_SIG, 0, 15);
  g_assert_cmpint (dvmd_proc_table_row (dvmd_job_get_procs (job), 2)->state, ==, DVM_PROC_STATE_KILLED_BY_CMD);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  depart (&world, 2);
  g_assert_cmpint (dvmd_proc_table_row (dvmd_job_get_procs (job), 3)->state, ==, DVM_PROC_STATE_KILLED_BY_CMD);
  assert_log (&world, "remove 1: 2\nwithout 1 of node2\noffer 1: node2\n");
  end_proc (&world, job, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  end_proc (&world, job, 1, DVM_PROC_STATE_TERMINATED, 0, 0);
  gone (&world, job, 1);
  assert_state (job, DVM_JOB_STATE_NOTIFIED);
}

static DvmdCampaign *
shrink_gently (World *world, const char *hosts, guint seconds)
{
  DvmdShrinkRequest request = { .drain_timeout = seconds };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  guint id = try_shrink (world, hosts, &request, &answer, &error);

  g_assert_no_error (error);
  run (world);
  return dvmd_core_get_campaign (world->core, id);
}

/* D15: with drain-timeout running jobs end first; nobody is parked, and nobody is placed there. */
static void
test_drain (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;
  DvmdJob *job;
  DvmdJob *coming;
  DvmdJob *later;

  world_init_elastic (&world, 2, 2);
  job = submit (&world, 2);
  launch_all (&world, job);
  coming = submit_staged (&world, 1);
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (coming), 2), ==, 1);
  g_string_truncate (world.log, 0);
  campaign = shrink_gently (&world, "node1 node2", 30);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_WAITING);
  g_assert_false (dvmd_campaign_has_ticket (campaign));
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 0);
  assert_log (&world, "warn 1 of 1\n");
  /* One that is on its way may still launch, is told, and is waited for. */
  staged (&world, coming);
  assert_log (&world, "launch 2\nwarn 2 of 2\n");
  later = submit (&world, 1);
  assert_state (later, DVM_JOB_STATE_MAP_FAILED);
  run_to_end (&world, job);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_WAITING);
  run_to_end (&world, coming);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_RUNNING);
  g_assert_nonnull (strstr (world.log->str, "remove 1: 1 2\n"));
}

/* D15: their time is over. */
static void
test_drain_timeout (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  job = submit (&world, 2);
  launch_all (&world, job);
  campaign = shrink_gently (&world, "node1", 30);
  dvmd_clock_advance (world.clock, 29 * G_USEC_PER_SEC);
  run (&world);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_WAITING);
  dvmd_clock_advance (world.clock, 1 * G_USEC_PER_SEC);
  run (&world);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_RUNNING);
  assert_state (job, DVM_JOB_STATE_KILLED_BY_CMD);
}

/* E55, D15: a target that is lost runs nothing any more; its row may go with a grow before the drain is over. */
static void
test_drain_of_lost (gconstpointer grows)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;

  world_init_elastic (&world, 2, 2);
  launch_all (&world, submit (&world, 3));
  campaign = shrink_gently (&world, "node1", 30);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_WAITING);
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "it was killed");
  if (grows != NULL)
    grow (&world, "node1");
  run (&world);
  offered (&world, campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
}

/* D14, D15: another one takes the node that is drained: its departure counts in both, and nobody waits for the time. */
static void
test_drain_overtaken (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *gentle;
  DvmdCampaign *rough;
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  job = submit (&world, 3);
  launch_all (&world, job);
  gentle = shrink_gently (&world, "node1", 30);
  assert_campaign (gentle, DVM_CAMPAIGN_STATE_WAITING);
  rough = shrink (&world, "node1");
  assert_campaign (rough, DVM_CAMPAIGN_STATE_RUNNING);
  /* The end of its ranks comes later than its own. */
  dvmd_core_agent_ended (world.core, 1, DVMD_AGENT_DEPARTED, DVMD_CAUSE_NONE, NULL);
  run (&world);
  offered (&world, rough);
  assert_campaign (rough, DVM_CAMPAIGN_STATE_COMPLETED);
  assert_campaign (gentle, DVM_CAMPAIGN_STATE_COMPLETED);
  g_assert_cmpuint (dvmd_core_get_launch_fence (world.core), ==, 0);
}

/* D4: remapped jobs first, then the order of submission; what can never fit ends MAP_FAILED, with the campaign named.
 */
static void
test_order_of_release (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  g_autoptr (GError) error = NULL;
  DvmdJob *mapped;
  DvmdJob *waiting;
  DvmdJob *parked;
  DvmdJob *large;
  guint id;

  world_init_elastic (&world, 3, 2);
  id = dvmd_core_reserve (world.core, spec, NULL, &error);
  launch_all (&world, submit_on (&world, "node1", 2));
  mapped = submit_staged (&world, 4);
  waiting = submit_on (&world, "node1", 1);
  assert_held (waiting, "slots");
  shrink (&world, "node3");
  staged (&world, mapped);
  assert_held (mapped, "launch");
  large = submit (&world, 6);
  /* The oldest of them, and the last that came. */
  parked = dvmd_core_submit_reserved (world.core, id, spec, NULL, &error);
  run (&world);
  run_to_end (&world, dvmd_core_get_job (world.core, 2));
  /* No job goes on while the gate is closed. */
  assert_held (waiting, "slots");
  depart (&world, 3);
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (mapped), 1), ==, 2);
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (mapped), 2), ==, 2);
  assert_held (waiting, "slots");
  assert_held (parked, "slots");
  assert_state (large, DVM_JOB_STATE_MAP_FAILED);
  g_assert_nonnull (strstr (reason_of (large), "campaign 1 (shrink of node3) has changed the DVM"));
  staged (&world, mapped);
  g_string_truncate (world.log, 0);
  run_to_end (&world, mapped);
  assert_log (&world, "started 3\nended 3\nlaunch 1\nlaunch 4\n");
}

/* D4: a job that waited for slots, and can have them no more, names the campaign too. */
static void
test_slots_are_gone (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *first;
  DvmdJob *waiting;

  world_init_elastic (&world, 2, 2);
  first = submit_on (&world, "node1", 1);
  launch_all (&world, first);
  waiting = submit (&world, 4);
  assert_held (waiting, "slots");
  shrink (&world, "node2");
  assert_held (waiting, "slots");
  depart (&world, 2);
  assert_state (waiting, DVM_JOB_STATE_MAP_FAILED);
  g_assert_nonnull (strstr (reason_of (waiting), "campaign 1 (shrink of node2) has changed the DVM"));
}

static DvmdJob *
submit_on_two (World *world, const char *host, const char *other, guint np)
{
  g_autoptr (DvmJobSpec) spec = make_spec (np);
  g_autoptr (GError) error = NULL;
  const char *hosts[] = { host, other, NULL };

  dvm_app_spec_set_hosts (dvm_job_spec_get_app (spec, 0), hosts);
  _dvm_job_spec_load_hosts (spec, "", &error);
  g_assert_no_error (error);
  return submit_spec (world, spec);
}

/* D4: of several campaigns that which took the job's node is named. */
static void
test_named_campaign (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init_elastic (&world, 3, 2);
  shrink (&world, "node2");
  job = submit_on (&world, "node1", 1);
  shrink (&world, "node1");
  depart (&world, 1);
  assert_held (job, "map");
  depart (&world, 2);
  assert_state (job, DVM_JOB_STATE_MAP_FAILED);
  g_assert_nonnull (strstr (reason_of (job), "The nodes that the job names have left the DVM; campaign 2 (shrink of"));
}

/* E10: hosts that leave while the job waits drop out of its list; a name that was no node then is an error. */
static void
test_named_hosts (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *both;
  DvmdJob *without;
  DvmdJob *gone_ones;

  world_init_elastic (&world, 3, 2);
  shrink (&world, "node2");
  both = submit_on_two (&world, "node1", "node2", 2);
  without = submit_on_two (&world, "^node2", "^node3", 0);
  gone_ones = submit_on (&world, "node2", 1);
  assert_held (both, "map");
  depart (&world, 2);
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (both), 1), ==, 2);
  assert_held (without, "slots");
  assert_state (gone_ones, DVM_JOB_STATE_MAP_FAILED);
  g_assert_nonnull (strstr (reason_of (gone_ones), "campaign 1 (shrink of node2) has changed the DVM"));
  assert_state (submit_on_two (&world, "node1", "node2", 1), DVM_JOB_STATE_MAP_FAILED);
}

/* E58: whoever is parked holds no slots. */
static void
test_parked_holds_nothing (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  DvmdJob *first;
  DvmdJob *second;

  world_init_elastic (&world, 1, 2);
  first = submit (&world, 2);
  second = submit (&world, 2);
  launch_all (&world, first);
  end_proc (&world, first, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  /* It gets its slots, and the gate closes before it comes there. */
  dvmd_core_proc_state (world.core, first, 1, DVM_PROC_STATE_TERMINATED, 0, 0);
  while (dvmd_job_get_state (second) == DVM_JOB_STATE_ALLOCATE)
    dvmd_event_queue_drain (world.queue, 1);
  try_grow (&world, "node2", NULL, &answer, NULL);
  run (&world);
  assert_held (second, "map");
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (nodes_of (&world)), ==, 0);
  report_in (&world, 2);
  wired (&world, dvmd_core_get_campaign (world.core, answer.campaign));
  assert_state (second, DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* D4: park-limit: later campaigns begin when the job has been admitted, a scheduler's at once. */
static void
test_park_limit (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdGrowRequest scheduler = { .scheduler = TRUE };
  DvmdCampaign *first;
  DvmdCampaign *second;
  DvmdCampaign *third;
  DvmdCampaign *pushed;
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  first = shrink (&world, "node2");
  job = submit (&world, 1);
  dvmd_clock_advance (world.clock, 59 * G_USEC_PER_SEC);
  second = grow (&world, "node3");
  assert_campaign (second, DVM_CAMPAIGN_STATE_RUNNING);
  dvmd_clock_advance (world.clock, 1 * G_USEC_PER_SEC);
  third = grow (&world, "node4");
  assert_campaign (third, DVM_CAMPAIGN_STATE_WAITING);
  g_assert_false (dvmd_campaign_has_ticket (third));
  pushed = dvmd_core_get_campaign (world.core, try_grow (&world, "node5", &scheduler, &answer, &error));
  g_assert_no_error (error);
  run (&world);
  assert_campaign (pushed, DVM_CAMPAIGN_STATE_RUNNING);
  depart (&world, 2);
  offered (&world, first);
  /* A cancel is never held back, and E12 does not concern it: it had come before. */
  g_assert_true (dvmd_core_cancel_campaign (world.core, second, NULL));
  run (&world);
  depart (&world, 3);
  assert_held (job, "map");
  assert_campaign (third, DVM_CAMPAIGN_STATE_WAITING);
  report_in (&world, 4);
  g_string_truncate (world.log, 0);
  wired (&world, pushed);
  /* The job first. */
  assert_log (&world, "end 4: completed \nagents 1\nlaunch 1\n");
  assert_campaign (third, DVM_CAMPAIGN_STATE_RUNNING);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* D4: a release that cancels a grow is not held back, and what it takes besides leaves with it. */
static void
test_park_limit_release (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *first;
  DvmdCampaign *coming;
  DvmdCampaign *held;
  DvmdCampaign *release;

  world_init_elastic (&world, 4, 2);
  first = shrink (&world, "node2");
  submit (&world, 1);
  dvmd_clock_advance (world.clock, 1 * G_USEC_PER_SEC);
  coming = grow (&world, "node5");
  dvmd_clock_advance (world.clock, 59 * G_USEC_PER_SEC);
  held = shrink (&world, "node4");
  assert_campaign (held, DVM_CAMPAIGN_STATE_WAITING);
  release = shrink (&world, "node3 node5");
  assert_campaign (coming, DVM_CAMPAIGN_STATE_ROLLING_BACK);
  assert_campaign (release, DVM_CAMPAIGN_STATE_RUNNING);
  g_assert_true (dvmd_campaign_has_ticket (release));
  assert_campaign (held, DVM_CAMPAIGN_STATE_WAITING);
  for (guint rank = 2; rank <= 5; rank++)
    if (rank != 4)
      depart (&world, rank);
  offered (&world, release);
  offered (&world, first);
  assert_campaign (release, DVM_CAMPAIGN_STATE_COMPLETED);
  assert_campaign (coming, DVM_CAMPAIGN_STATE_FAILED);
  assert_campaign (held, DVM_CAMPAIGN_STATE_RUNNING);
}

/* D4, D14: a scheduler's grow of a node whose shrink is held back lets that begin, else both would wait for ever. */
static void
test_park_limit_scheduler (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdGrowRequest scheduler = { .scheduler = TRUE };
  DvmdCampaign *first;
  DvmdCampaign *held;
  DvmdCampaign *pushed;
  DvmdJob *job;

  world_init_elastic (&world, 3, 2);
  first = shrink (&world, "node2");
  job = submit (&world, 1);
  dvmd_clock_advance (world.clock, 60 * G_USEC_PER_SEC);
  held = shrink (&world, "node3");
  assert_campaign (held, DVM_CAMPAIGN_STATE_WAITING);
  /* Its node is as it was. */
  g_assert_cmpuint (dvmd_node_pool_count_slots (nodes_of (&world)), ==, 4);
  pushed = dvmd_core_get_campaign (world.core, try_grow (&world, "node3", &scheduler, &answer, &error));
  run (&world);
  assert_campaign (held, DVM_CAMPAIGN_STATE_RUNNING);
  assert_campaign (pushed, DVM_CAMPAIGN_STATE_WAITING);
  depart (&world, 2);
  offered (&world, first);
  depart (&world, 3);
  offered (&world, held);
  assert_campaign (pushed, DVM_CAMPAIGN_STATE_RUNNING);
  assert_held (job, "map");
  report_in (&world, 4);
  wired (&world, pushed);
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* D4: what is held back can be called off, and nobody waits for it after that. */
static void
test_park_limit_cancelled (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *first;
  DvmdCampaign *held[2];

  world_init_elastic (&world, 3, 2);
  first = shrink (&world, "node2");
  submit (&world, 1);
  dvmd_clock_advance (world.clock, 60 * G_USEC_PER_SEC);
  held[0] = shrink (&world, "node3");
  held[1] = grow (&world, "node4");
  for (guint i = 0; i < G_N_ELEMENTS (held); i++)
    {
      assert_campaign (held[i], DVM_CAMPAIGN_STATE_WAITING);
      g_assert_true (dvmd_core_cancel_campaign (world.core, held[i], NULL));
      run (&world);
      assert_campaign (held[i], DVM_CAMPAIGN_STATE_FAILED);
    }
  depart (&world, 2);
  offered (&world, first);
  assert_campaign (grow (&world, "node4"), DVM_CAMPAIGN_STATE_RUNNING);
  assert_campaign (shrink (&world, "node3"), DVM_CAMPAIGN_STATE_RUNNING);
}

/* D4: so do jobs that bring nodes, and whose grows are held back: they wait, and nobody for ever. */
static void
test_park_limit_own_nodes (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *first;
  DvmdCampaign *own;
  DvmdJob *parked;
  DvmdJob *bringing;

  world_init_elastic (&world, 2, 2);
  first = shrink (&world, "node2");
  parked = submit (&world, 1);
  dvmd_clock_advance (world.clock, 60 * G_USEC_PER_SEC);
  bringing = submit_bringing (&world, "node3", 1);
  own = dvmd_core_get_campaign (world.core, 2);
  assert_campaign (own, DVM_CAMPAIGN_STATE_WAITING);
  assert_state (bringing, DVM_JOB_STATE_DAEMONS_LAUNCHED);
  assert_held (bringing, "map");
  dvmd_clock_advance (world.clock, 60 * G_USEC_PER_SEC);
  depart (&world, 2);
  offered (&world, first);
  assert_state (parked, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  assert_campaign (own, DVM_CAMPAIGN_STATE_RUNNING);
  report_in (&world, 3);
  wired (&world, own);
  assert_state (bringing, DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* D4: a job's own nodes; L5, L6: it waits for its agents where jobs that need agents do. */
static void
test_own_nodes (void)
{
  g_auto (World) world = { 0 };
  g_autofree char *states = NULL;
  DvmdCampaign *campaign;
  DvmdJob *job;

  world_init_elastic (&world, 1, 2);
  job = submit_bringing (&world, "node2:2", 4);
  campaign = dvmd_core_next_campaign (world.core, NULL, FALSE);
  g_assert_nonnull (campaign);
  g_assert_null (dvmd_campaign_get_requester (campaign));
  g_assert_true (dvmd_campaign_get_job (campaign) == job);
  assert_state (job, DVM_JOB_STATE_DAEMONS_LAUNCHED);
  assert_held (job, "map");
  g_assert_cmpstr (waits_for (job, 0), ==, "/org/dvm/campaigns/1");
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 1);
  report_in (&world, 2);
  assert_state (job, DVM_JOB_STATE_WAITING_FOR_DAEMONS);
  wired (&world, campaign);
  g_assert_cmpuint (dvmd_map_count_on_node (dvmd_job_get_map (job), 2), ==, 2);
  run_to_end (&world, job);
  states = states_of (job);
  g_assert_cmpstr (states, ==,
                   "INIT INIT_COMPLETE ALLOCATE ALLOCATION_COMPLETE LAUNCH_DAEMONS DAEMONS_LAUNCHED DAEMONS_REPORTED "
                   "VM_READY WAITING_FOR_DAEMONS VM_READY MAP MAP_COMPLETE SYSTEM_PREP LAUNCH_APPS SEND_LAUNCH_MSG "
                   "STARTED LOCAL_LAUNCH_COMPLETE RUNNING TERMINATED NOTIFY_COMPLETED NOTIFIED");
}

/* D4: its failing aborts the job; D14: nodes that another campaign brings already are waited for. */
static void
test_own_nodes_fail (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *jobs[2];

  world_init_elastic (&world, 1, 2);
  jobs[0] = submit_bringing (&world, "node2", 1);
  jobs[1] = submit_bringing (&world, "node2", 1);
  g_assert_cmpuint (dvmd_core_get_campaigns_running (world.core), ==, 1);
  assert_state (jobs[1], DVM_JOB_STATE_DAEMONS_LAUNCHED);
  g_assert_cmpstr (waits_for (jobs[1], 0), ==, "/org/dvm/campaigns/1");
  report_in (&world, 2);
  assert_state (jobs[1], DVM_JOB_STATE_WAITING_FOR_DAEMONS);
  /* While it is wired. */
  dvmd_core_agent_ended (world.core, 2, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "connection closed");
  run (&world);
  assert_state (jobs[0], DVM_JOB_STATE_NEVER_LAUNCHED);
  assert_state (jobs[1], DVM_JOB_STATE_NEVER_LAUNCHED);
  depart (&world, 2);
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 0);
  g_assert_cmpuint (dvmd_node_pool_count_up (nodes_of (&world)), ==, 1);
  /* Nodes that are in are no campaign. */
  jobs[0] = submit_bringing (&world, "node1", 1);
  assert_state (jobs[0], DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* E1: a job cannot bring nodes where the size is fixed. */
static void
test_own_nodes_not_elastic (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 1, 2, FALSE);
  bring_up (&world);
  job = submit_bringing (&world, "node2", 1);
  assert_state (job, DVM_JOB_STATE_ALLOC_FAILED);
}

/* E36, E58: a job that is parked can be cancelled; nothing of it is left. */
static void
test_cancelled_while_parked (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;
  DvmdJob *job;

  world_init_elastic (&world, 2, 2);
  campaign = shrink (&world, "node2");
  job = submit (&world, 1);
  dvmd_core_fail_job (world.core, job, DVM_JOB_STATE_KILLED_BY_CMD, "cancelled");
  run (&world);
  g_assert_true (dvmd_job_get_ended (job));
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 0);
  dvmd_campaign_publish_held_jobs (campaign);
  g_assert_null (dvm_campaign_get_held_jobs (dvmd_campaign_get_record (campaign))[0]);
  depart (&world, 2);
  offered (&world, campaign);
  g_assert_cmpuint (dvmd_core_get_campaigns_running (world.core), ==, 0);
}

/* E34, E36: thousands are parked and let through, and it takes no time to speak of. */
static void
test_many (void)
{
  g_auto (World) world = { 0 };
  DvmdCampaign *campaign;
  gint64 start;

  world_init_elastic (&world, 2, 20000);
  campaign = grow (&world, "node3");
  start = g_get_monotonic_time ();
  for (guint i = 0; i < 10000; i++)
    submit (&world, 1);
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 10000);
  report_in (&world, 3);
  wired (&world, campaign);
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 0);
  g_test_message ("10,000 jobs parked and let through in %.2f s",
                  (double)(g_get_monotonic_time () - start) / G_USEC_PER_SEC);
  assert_state (dvmd_core_get_job (world.core, 10000), DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/campaigns/jobs/D4-aborted", test_aborted);
  g_test_add_func ("/campaigns/jobs/D4-aborted-beside", test_aborted_beside);
  g_test_add_func ("/campaigns/jobs/E23-unrelated-failure", test_unrelated_failure);
  g_test_add_func ("/campaigns/jobs/D2-crash-remaps", test_crash_remaps);
  g_test_add_func ("/campaigns/jobs/D2-host-is-back", test_host_is_back);
  g_test_add_func ("/campaigns/jobs/D4-remap-is-never-aborted", test_remap_is_never_aborted);
  g_test_add_func ("/campaigns/jobs/L14-files-on-their-way", test_files_on_their_way);
  g_test_add_func ("/campaigns/jobs/D15-asked-when-sent", test_asked_when_sent);
  g_test_add_func ("/campaigns/jobs/D15-running", test_running);
  g_test_add_func ("/campaigns/jobs/D15-recoverable", test_recoverable);
  g_test_add_func ("/campaigns/jobs/D15-drain", test_drain);
  g_test_add_func ("/campaigns/jobs/D15-drain-timeout", test_drain_timeout);
  g_test_add_data_func ("/campaigns/jobs/E55-drain-of-lost", NULL, test_drain_of_lost);
  g_test_add_data_func ("/campaigns/jobs/E55-drain-of-lost-and-grown", "grows", test_drain_of_lost);
  g_test_add_func ("/campaigns/jobs/D15-drain-overtaken", test_drain_overtaken);
  g_test_add_func ("/campaigns/jobs/D4-order-of-release", test_order_of_release);
  g_test_add_func ("/campaigns/jobs/D4-slots-are-gone", test_slots_are_gone);
  g_test_add_func ("/campaigns/jobs/D4-named-campaign", test_named_campaign);
  g_test_add_func ("/campaigns/jobs/E10-named-hosts", test_named_hosts);
  g_test_add_func ("/campaigns/jobs/E58-parked-holds-nothing", test_parked_holds_nothing);
  g_test_add_func ("/campaigns/jobs/D4-park-limit", test_park_limit);
  g_test_add_func ("/campaigns/jobs/D4-park-limit-release", test_park_limit_release);
  g_test_add_func ("/campaigns/jobs/D4-park-limit-scheduler", test_park_limit_scheduler);
  g_test_add_func ("/campaigns/jobs/D4-park-limit-cancelled", test_park_limit_cancelled);
  g_test_add_func ("/campaigns/jobs/D4-park-limit-own-nodes", test_park_limit_own_nodes);
  g_test_add_func ("/campaigns/jobs/D4-own-nodes", test_own_nodes);
  g_test_add_func ("/campaigns/jobs/D14-own-nodes-fail", test_own_nodes_fail);
  g_test_add_func ("/campaigns/jobs/E1-own-nodes-not-elastic", test_own_nodes_not_elastic);
  g_test_add_func ("/campaigns/jobs/E58-cancelled-while-parked", test_cancelled_while_parked);
  g_test_add_func ("/campaigns/jobs/E34-many", test_many);
  return g_test_run ();
}

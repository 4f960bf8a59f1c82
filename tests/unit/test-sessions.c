/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sessions in the pure core: what is reserved, for whom, and which nodes a job may use. Tests are named after the
 * statements of spec/CONFORMANCE.md that they show.
 */

#include "config.h"

#include "sessions-world.h"

#include "dvm-job-spec-private.h"
#include "dvmd-core-nodes.h"
#include "dvmd-session-inner.h"

/* R2, R4, R35, R36, D16, S29: nodes of the start are taken aside and come back, in a DVM that keeps its size. */
static void
test_reserve (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;
  DvmdJob *job;
  DvmNode *record;

  world_init (&world, 3, 2, FALSE);
  bring_up (&world);
  session = allocate (&world, TOOL, "node2 node3", NULL);
  record = dvmd_node_pool_get (dvmd_core_get_nodes (world.core), 2)->record;
  g_assert_true (dvmd_session_is_reserved (session));
  assert_nodes (session, "node2 node3");
  assert_default_nodes (&world, "node1");
  assert_strings (dvm_node_get_sessions (record), "/org/dvm/sessions/1");
  g_assert_false (dvm_session_get_shared (dvmd_session_get_record (session)));
  assert_owners (session, "bus.1000");
  job = spawn (&world, TOOL, 2, NULL);
  assert_job_nodes (job, "node1");
  /* There is no other node for it, whatever is free. */
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 0);
  assert_state (spawn (&world, TOOL, 3, NULL), DVM_JOB_STATE_MAP_FAILED);
  job = spawn (&world, TOOL, 4, alloc_of (session));
  assert_job_nodes (job, "node2 node3");
  assert_jobs (session, "/org/dvm/jobs/3");
  assert_jobs (dvmd_core_get_session (world.core, 0), "/org/dvm/jobs/1");
  g_assert_cmpstr (dvm_job_get_session (dvmd_job_get_record (job)), ==, "/org/dvm/sessions/1");
  g_assert_null (release (&world, TOOL, 1, NULL));
  assert_default_nodes (&world, "node1 node2 node3");
  assert_strings (dvm_node_get_sessions (record), "/org/dvm/sessions/0");
}

/* R32-R34: the union of the sessions, with and without everybody's nodes. */
static void
test_union (void)
{
  g_auto (World) world = { 0 };
  g_autofree char *both = NULL;
  g_autofree char *with = NULL;
  DvmdSession *a;
  DvmdSession *b;

  world_init (&world, 4, 1, FALSE);
  bring_up (&world);
  a = allocate (&world, TOOL, "node2", NULL);
  b = allocate (&world, TOOL, "node3", NULL);
  both = g_strdup_printf ("%s %s", alloc_of (b), alloc_of (a));
  with = g_strdup_printf ("%s -", alloc_of (a));
  assert_job_nodes (spawn (&world, TOOL, 1, "-"), "node1");
  run_to_end (&world, dvmd_core_get_job (world.core, 1));
  assert_job_nodes (spawn (&world, TOOL, 2, both), "node2 node3");
  assert_jobs (b, "/org/dvm/jobs/2");
  assert_jobs (a, "");
  run_to_end (&world, dvmd_core_get_job (world.core, 2));
  assert_jobs (b, "");
  assert_job_nodes (spawn (&world, TOOL, 3, with), "node1 node2 node4");
  run_to_end (&world, dvmd_core_get_job (world.core, 3));
  assert_state (spawn (&world, TOOL, 3, both), DVM_JOB_STATE_MAP_FAILED);
}

/* R37, R38, R49, R50, R52 */
static void
test_wrong_targets (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;
  g_autofree char *process = NULL;
  g_autofree char *owner = NULL;
  g_autofree char *mixed = NULL;

  world_init (&world, 3, 2, FALSE);
  bring_up (&world);
  owner = process_of (spawn_running (&world, TOOL, 1, NULL));
  process = process_of (spawn_running (&world, TOOL, 1, NULL));
  session = allocate (&world, owner, "node2", NULL);
  refuse_spawn (&world, TOOL, "nothing", DVM_ERROR_NOT_FOUND);
  refuse_spawn (&world, process, alloc_of (session), DVM_ERROR_NO_PERMISSIONS);
  mixed = g_strdup_printf ("- %s", alloc_of (session));
  refuse_spawn (&world, process, mixed, DVM_ERROR_NO_PERMISSIONS);
  g_free (mixed);
  mixed = g_strdup_printf ("%s other", alloc_of (session));
  refuse_spawn (&world, owner, mixed, DVM_ERROR_NOT_FOUND);
  assert_jobs (session, "");
  assert_owners (session, "dvm-test@1");
}

/* Two who ask under one id each mean their own; who has both has to say which. */
static void
test_same_request_id (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest request = { .req_id = "r1" };
  char *processes[2];
  DvmdSession *sessions[2];

  world_init (&world, 4, 4, FALSE);
  bring_up (&world);
  for (guint i = 0; i < 2; i++)
    {
      processes[i] = process_of (spawn_running (&world, TOOL, 1, NULL));
      sessions[i] = allocate (&world, processes[i], i == 0 ? "node2" : "node3", &request);
    }
  request = (DvmdGrowRequest){ .of_req_id = "r1" };
  refuse_allocate (&world, TOOL, "node4", &request, DVM_ERROR_BAD_PARAM);
  g_assert_true (allocate (&world, processes[0], "node4", &request) == sessions[0]);
  g_assert_true (allocate (&world, processes[1], "node1", &request) == sessions[1]);
  release (&world, TOOL, dvmd_session_get_id (sessions[0]), NULL);
  g_assert_true (allocate (&world, TOOL, "node4", &request) == sessions[1]);
  for (guint i = 0; i < 2; i++)
    g_free (processes[i]);
}

/* A default session without nodes says why. */
static void
test_all_reserved (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *job;

  world_init (&world, 1, 4, FALSE);
  bring_up (&world);
  allocate (&world, TOOL, "node1", NULL);
  job = spawn (&world, TOOL, 1, NULL);
  assert_state (job, DVM_JOB_STATE_MAP_FAILED);
  g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (job)), "reserved"));
}

static DvmdJob *
submit_by (World *world, guint session, const char *alloc_id, const char *req_id, DvmError code)
{
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  g_autoptr (GError) error = NULL;
  DvmdJob *job;

  if (session != G_MAXUINT)
    dvm_job_spec_set_session (spec, session);
  dvm_job_spec_set_alloc_id (spec, alloc_id);
  dvm_job_spec_set_alloc_req_id (spec, req_id);
  job = submit_as (world, TOOL, spec, &error);
  if (job == NULL)
    g_assert_error (error, DVM_ERROR, (int)code);
  return job;
}

/* S2-S4, R75: by number, by allocation, by request, like the one that spawns it, or by default. */
static void
test_choice (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest named = { .req_id = "mine" };
  DvmdSession *session;
  DvmdJob *job;
  g_autofree char *process = NULL;

  world_init (&world, 2, 4, FALSE);
  bring_up (&world);
  session = allocate (&world, TOOL, "node2", &named);
  job = submit_by (&world, 1, "no such", "no such", 0);
  assert_job_nodes (job, "node2");
  assert_job_nodes (submit_by (&world, G_MAXUINT, alloc_of (session), "no such", 0), "node2");
  assert_job_nodes (submit_by (&world, G_MAXUINT, NULL, "mine", 0), "node2");
  assert_job_nodes (submit_by (&world, 0, alloc_of (session), "mine", 0), "node1");
  g_assert_null (submit_by (&world, 7, alloc_of (session), NULL, DVM_ERROR_NOT_FOUND));
  g_assert_null (submit_by (&world, G_MAXUINT, "x", "mine", DVM_ERROR_NOT_FOUND));
  g_assert_null (submit_by (&world, G_MAXUINT, NULL, "x", DVM_ERROR_NOT_FOUND));
  process = process_of (job);
  assert_job_nodes (spawn (&world, process, 1, NULL), "node2");
  assert_job_nodes (spawn (&world, process, 1, "-"), "node1");
  g_assert_cmpuint (dvmd_core_get_last_job_id (world.core), ==, 6);
}

/* R39-R43: who is spawned into it owns it as long as it lives, and nothing else. */
static void
test_owners (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *a;
  DvmdSession *b;
  DvmdJob *owner;
  DvmdJob *child;
  g_autofree char *process = NULL;
  g_autofree char *childs = NULL;

  world_init (&world, 3, 4, FALSE);
  bring_up (&world);
  owner = spawn_running (&world, TOOL, 1, NULL);
  process = process_of (owner);
  a = allocate (&world, process, "node2", NULL);
  b = allocate (&world, process, "node3", NULL);
  child = spawn_running (&world, process, 1, alloc_of (a));
  childs = process_of (child);
  assert_owners (a, "dvm-test@1 dvm-test@2");
  assert_owners (b, "dvm-test@1");
  g_assert_cmpstr (dvm_session_get_owner (dvmd_session_get_record (a)), ==, "dvm-test@1");
  refuse_spawn (&world, childs, alloc_of (b), DVM_ERROR_NO_PERMISSIONS);
  assert_job_nodes (spawn (&world, childs, 1, alloc_of (a)), "node2");
  end_job (&world, child);
  assert_owners (a, "dvm-test@1 dvm-test@3");
}

/* R9, R10, R22, R23, R25, R27, R28, R40, R45 */
static void
test_target (void)
{
  g_auto (World) world = { 0 };
  g_autofree char *process = NULL;
  DvmdGrowRequest request = { .target = "dvm-test@1" };
  DvmdSession *session;
  DvmdJob *job;

  world_init (&world, 3, 2, FALSE);
  bring_up (&world);
  job = spawn_running (&world, TOOL, 1, NULL);
  process = process_of (job);
  refuse_allocate (&world, process, "node2", &request, DVM_ERROR_NO_PERMISSIONS);
  request.share = TRUE;
  refuse_allocate (&world, process, "node2", &request, DVM_ERROR_NO_PERMISSIONS);
  request.share = FALSE;
  session = allocate (&world, TOOL, "node2", &request);
  assert_owners (session, "dvm-test@1");
  assert_job_nodes (spawn (&world, process, 1, alloc_of (session)), "node2");
  request.share = TRUE;
  session = allocate (&world, TOOL, "node3", &request);
  assert_owners (session, "dvm-test@1");
  assert_default_nodes (&world, "node1 node3");
  assert_owners (allocate (&world, process, "node3", NULL), "dvm-test@1");
  /* The target is empty: the session is the requester's own. */
  request.target = "";
  assert_owners (allocate (&world, TOOL, "node1", &request), "bus.1000");
  /* For life. */
  request = (DvmdGrowRequest){ .target = "bus.7", .extend = TRUE, .session = 1 };
  refuse_allocate (&world, TOOL, "node1", &request, DVM_ERROR_BAD_PARAM);
  end_job (&world, job);
  request = (DvmdGrowRequest){ .target = "dvm-test@99" };
  refuse_allocate (&world, TOOL, "node1", &request, DVM_ERROR_NOT_FOUND);
  request = (DvmdGrowRequest){ .target = "dvm-test@1" };
  refuse_allocate (&world, TOOL, "node1", &request, DVM_ERROR_NOT_FOUND);
  refuse_allocate (&world, process, "node1", NULL, DVM_ERROR_NOT_FOUND);
}

/* R29-R31, R46-R48 */
static void
test_extend (void)
{
  g_auto (World) world = { 0 };
  g_autofree char *process = NULL;
  g_autofree char *other = NULL;
  DvmdGrowRequest request = { .req_id = "r1" };
  DvmdSession *session;

  world_init (&world, 4, 2, FALSE);
  bring_up (&world);
  process = process_of (spawn_running (&world, TOOL, 1, NULL));
  other = process_of (spawn_running (&world, TOOL, 1, NULL));
  session = allocate (&world, process, "node2", &request);
  g_assert_true (allocate (&world, process, "node3", NULL) != session);
  request = (DvmdGrowRequest){ .extend = TRUE };
  refuse_allocate (&world, process, "node4", &request, DVM_ERROR_BAD_PARAM);
  request.alloc_id = "x";
  refuse_allocate (&world, process, "node4", &request, DVM_ERROR_NOT_FOUND);
  request.alloc_id = alloc_of (session);
  refuse_allocate (&world, other, "node4", &request, DVM_ERROR_NO_PERMISSIONS);
  request.of_req_id = "x";
  refuse_allocate (&world, process, "node4", &request, DVM_ERROR_NOT_FOUND);
  request.of_req_id = "r1";
  request.session = 2;
  refuse_allocate (&world, process, "node4", &request, DVM_ERROR_BAD_PARAM);
  request.session = 1;
  /* Neither hosts nor anything else (S20). */
  refuse_allocate (&world, process, NULL, &request, DVM_ERROR_BAD_PARAM);
  g_assert_true (allocate (&world, process, "node4", &request) == session);
  assert_nodes (session, "node2 node4");
  request = (DvmdGrowRequest){ .alloc_id = "" };
  refuse_allocate (&world, TOOL, "node4", &request, DVM_ERROR_NOT_SUPPORTED);
  /* A session shares its nodes for life, or never. */
  request = (DvmdGrowRequest){ .session = 1, .extend = TRUE, .share = TRUE, .share_given = TRUE };
  refuse_allocate (&world, TOOL, "node1", &request, DVM_ERROR_NOT_SUPPORTED);
  request.share_given = FALSE;
  allocate (&world, TOOL, "node1", &request);
  assert_default_nodes (&world, "");
}

/* R36, R43: nobody gets at a reservation by naming its hosts; who owns it may have them twice (S29). */
static void
test_side_entry (void)
{
  g_auto (World) world = { 0 };
  g_autofree char *process = NULL;
  g_autofree char *other = NULL;
  const DvmdGrowRequest shared = { .share = TRUE };
  DvmdSession *a;
  DvmdSession *b;

  world_init (&world, 2, 4, FALSE);
  bring_up (&world);
  process = process_of (spawn_running (&world, TOOL, 1, NULL));
  other = process_of (spawn_running (&world, TOOL, 1, NULL));
  a = allocate (&world, process, "node2", NULL);
  refuse_allocate (&world, other, "node2", NULL, DVM_ERROR_NO_PERMISSIONS);
  refuse_allocate (&world, other, "node1 node2", &shared, DVM_ERROR_NO_PERMISSIONS);
  b = allocate (&world, process, "node2", &shared);
  assert_default_nodes (&world, "node1");
  assert_nodes (b, "node2");
  /* D18: reserved while one that is not shared holds it. */
  g_assert_null (release (&world, process, dvmd_session_get_id (a), NULL));
  assert_default_nodes (&world, "node1 node2");
  assert_nodes (b, "node2");
  g_assert_cmpuint (dvmd_node_pool_count_slots (dvmd_core_get_nodes (world.core)), ==, 8);
}

/* R46, R53, D19: who may give back what. */
static void
test_release_rights (void)
{
  g_auto (World) world = { 0 };
  g_autofree char *process = NULL;
  g_autofree char *other = NULL;
  DvmdCampaign *campaign;

  world_init_elastic (&world, 4, 2);
  process = process_of (spawn_running (&world, TOOL, 1, NULL));
  other = process_of (spawn_running (&world, TOOL, 1, NULL));
  allocate (&world, process, "node2 node3", NULL);
  refuse_release (&world, other, 1, NULL, DVM_ERROR_NO_PERMISSIONS);
  refuse_release (&world, other, 1, "node2", DVM_ERROR_NO_PERMISSIONS);
  refuse_release (&world, other, 0, "node2", DVM_ERROR_NO_PERMISSIONS);
  refuse_release (&world, other, 0, "node4", DVM_ERROR_NO_PERMISSIONS);
  refuse_release (&world, process, 0, "node4", DVM_ERROR_NO_PERMISSIONS);
  refuse_release (&world, process, 0, "node2 node4", DVM_ERROR_NO_PERMISSIONS);
  refuse_release (&world, process, 7, NULL, DVM_ERROR_NOT_FOUND);
  refuse_release (&world, process, 1, "node4", DVM_ERROR_NOT_FOUND);
  refuse_release (&world, TOOL, 0, NULL, DVM_ERROR_BAD_PARAM);
  campaign = release (&world, process, 0, "node2");
  assert_log (&world, "remove 1: 2\n");
  depart (&world, 2);
  offered (&world, campaign);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_COMPLETED);
  assert_nodes (dvmd_core_get_session (world.core, 1), "node3");
  g_assert_null (release (&world, SCHEDULER, 1, NULL));
  g_assert_null (dvmd_core_get_session (world.core, 1));
  campaign = release (&world, TOOL, 0, "node4");
  g_assert_nonnull (campaign);
}

/* D16: what would change membership is refused, by hosts too. */
static void
test_not_elastic (void)
{
  g_auto (World) world = { 0 };

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  refuse_allocate (&world, TOOL, "node9", NULL, DVM_ERROR_NOT_ELASTIC);
  refuse_allocate (&world, TOOL, "node2 node9", NULL, DVM_ERROR_NOT_ELASTIC);
  allocate (&world, TOOL, "node2", NULL);
  refuse_release (&world, TOOL, 1, "node2", DVM_ERROR_NOT_ELASTIC);
  assert_default_nodes (&world, "node1");
  g_assert_null (release (&world, TOOL, 1, NULL));
}

/* R4, R21, E15: a reserved grow is reserved from its beginning, and nobody else's after it. */
static void
test_grow_reserved (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;
  DvmdCampaign *campaign;
  DvmdNode *node;
  DvmdJob *mine;
  DvmdJob *others;

  world_init_elastic (&world, 1, 2);
  session = allocate (&world, TOOL, "node2", NULL);
  campaign = dvmd_core_get_campaign (world.core, 1);
  node = dvmd_node_pool_get (dvmd_core_get_nodes (world.core), 2);
  g_assert_true (dvmd_node_is_reserved (node));
  assert_strings (dvm_node_get_sessions (node->record), "");
  assert_default_nodes (&world, "node1");
  mine = spawn (&world, TOOL, 2, alloc_of (session));
  others = spawn (&world, TOOL, 2, NULL);
  assert_held (mine, "map");
  report_in (&world, 2);
  wired (&world, campaign);
  assert_nodes (session, "node2");
  assert_default_nodes (&world, "node1");
  assert_job_nodes (mine, "node2");
  assert_job_nodes (others, "node1");
  run_to_end (&world, mine);
  campaign = release (&world, TOOL, 1, NULL);
  g_assert_cmpuint (dvmd_session_is_ending (session), ==, TRUE);
  depart (&world, 2);
  offered (&world, campaign);
  g_assert_null (dvmd_core_get_session (world.core, 1));
}

/* A job uses the hosts that it brings along, whatever sessions it is in, and so may everybody else. */
static void
test_own_hosts (void)
{
  g_auto (World) world = { 0 };
  const char *hosts[] = { "node9:1", NULL };
  g_autoptr (DvmJobSpec) spec = NULL;
  DvmdJob *job;

  world_init_elastic (&world, 2, 1);
  spec = make_targets (2, alloc_of (allocate (&world, TOOL, "node2", NULL)));
  dvm_job_spec_set_add_hosts (spec, hosts);
  g_assert_true (_dvm_job_spec_load_hosts (spec, "", NULL));
  job = submit_as (&world, TOOL, spec, NULL);
  report_in (&world, 3);
  wired (&world, dvmd_core_get_campaign (world.core, 1));
  assert_job_nodes (job, "node2 node9");
  assert_default_nodes (&world, "node1 node9");
}

/* D14: what its owner gives back is there for others, after it has left. */
static void
test_grow_what_leaves (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;
  g_autofree char *process = NULL;
  g_autofree char *other = NULL;

  world_init_elastic (&world, 2, 4);
  process = process_of (spawn_running (&world, TOOL, 1, NULL));
  other = process_of (spawn_running (&world, TOOL, 1, NULL));
  allocate (&world, process, "node2", NULL);
  release (&world, process, 1, "node2");
  session = allocate (&world, other, "node2", NULL);
  depart (&world, 2);
  report_in (&world, 3);
  wired (&world, dvmd_core_get_campaign (world.core, 2));
  assert_nodes (session, "node2");
  assert_nodes (dvmd_core_get_session (world.core, 1), "");
}

/* A release that is called off leaves the session as it was: its carved nodes too. */
static void
test_release_cancelled (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmdRequester) requester = dvmd_requester_new (TOOL, 1000, 42);
  DvmdShrinkRequest request = { .requester = requester, .session = 1, .drain_timeout = 60 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  DvmdSession *session;

  world_init_elastic (&world, 2, 4);
  session = allocate (&world, TOOL, "node2 node9", NULL);
  report_in (&world, 3);
  wired (&world, dvmd_core_get_campaign (world.core, 1));
  spawn_running (&world, TOOL, 6, alloc_of (session));
  g_assert_true (dvmd_core_shrink (world.core, &request, &answer, NULL));
  run (&world);
  assert_default_nodes (&world, "node1 node2");
  g_assert_true (dvmd_core_cancel_campaign (world.core, dvmd_core_get_campaign (world.core, 2), NULL));
  run (&world);
  assert_nodes (session, "node2 node9");
  assert_default_nodes (&world, "node1");
  g_assert_false (dvmd_session_is_ending (session));
  release (&world, TOOL, 1, NULL);
  g_assert_true (dvmd_session_is_ending (session));
}

/* D4, E21: a grow that fails ends those that could have used its nodes, and nobody else. */
static void
test_failed_grow (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;
  DvmdJob *mine;
  DvmdJob *others;
  g_autofree char *alloc_id = NULL;

  world_init_elastic (&world, 1, 2);
  session = allocate (&world, TOOL, "node2", NULL);
  alloc_id = g_strdup (alloc_of (session));
  mine = spawn (&world, TOOL, 1, alloc_id);
  others = spawn (&world, TOOL, 1, NULL);
  dvmd_core_agent_ended (world.core, 2, DVMD_AGENT_LOST, DVMD_CAUSE_LAUNCH, "it has no shell");
  run (&world);
  assert_state (mine, DVM_JOB_STATE_NEVER_LAUNCHED);
  g_assert_null (dvmd_core_get_session (world.core, 1));
  assert_job_nodes (others, "node1");
  refuse_spawn (&world, TOOL, alloc_id, DVM_ERROR_NOT_FOUND);
}

/* D4: a grow that is held back is a grow all the same: who is to use its nodes waits for it (E10). */
static void
test_held_back (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;
  DvmdCampaign *first;
  DvmdCampaign *held;
  DvmdJob *parked;
  DvmdJob *mine;

  world_init_elastic (&world, 1, 2);
  first = grow (&world, "node2");
  report_in (&world, 2);
  parked = spawn (&world, TOOL, 1, NULL);
  dvmd_clock_advance (world.clock, 61 * G_USEC_PER_SEC);
  session = allocate (&world, TOOL, "node3", NULL);
  held = dvmd_core_get_campaign (world.core, 2);
  assert_campaign (held, DVM_CAMPAIGN_STATE_WAITING);
  mine = spawn (&world, TOOL, 2, alloc_of (session));
  assert_held (mine, "map");
  wired (&world, first);
  assert_job_nodes (parked, "node1");
  assert_campaign (held, DVM_CAMPAIGN_STATE_RUNNING);
  report_in (&world, 3);
  wired (&world, held);
  assert_job_nodes (mine, "node3");
}

/* The same, and it comes to nothing. */
static void
test_held_back_cancelled (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest more = { .extend = TRUE, .session = 1 };
  DvmdSession *session;
  DvmdCampaign *first;
  DvmdCampaign *held;
  DvmdJob *mine;

  world_init_elastic (&world, 2, 2);
  session = allocate (&world, TOOL, "node2", NULL);
  first = grow (&world, "node3");
  report_in (&world, 3);
  spawn (&world, TOOL, 1, NULL);
  dvmd_clock_advance (world.clock, 61 * G_USEC_PER_SEC);
  g_assert_true (allocate (&world, TOOL, "node4", &more) == session);
  held = dvmd_core_get_campaign (world.core, 2);
  mine = spawn (&world, TOOL, 4, alloc_of (session));
  g_assert_true (dvmd_core_cancel_campaign (world.core, held, NULL));
  run (&world);
  assert_held (mine, "map");
  wired (&world, first);
  assert_state (mine, DVM_JOB_STATE_MAP_FAILED);
}

/* R7, R26, R24: shared is everybody's. */
static void
test_shared (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest shared = { .share = TRUE };
  DvmdSession *session;

  world_init (&world, 2, 1, FALSE);
  bring_up (&world);
  session = allocate (&world, TOOL, "node2", &shared);
  assert_default_nodes (&world, "node1 node2");
  assert_nodes (session, "node2");
  assert_job_nodes (spawn (&world, TOOL, 2, NULL), "node1 node2");
  run_to_end (&world, dvmd_core_get_job (world.core, 1));
  /* And a session none the less: R35. */
  assert_job_nodes (spawn (&world, TOOL, 1, alloc_of (session)), "node2");
  assert_state (spawn (&world, TOOL, 2, alloc_of (session)), DVM_JOB_STATE_MAP_FAILED);
}

/* R62: who runs there stays; who was to be placed there looks elsewhere; who waits is looked at when it is free again.
 */
static void
test_carve_used (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *running;
  DvmdJob *waiting;
  DvmdSession *session;

  world_init (&world, 2, 1, FALSE);
  bring_up (&world);
  running = spawn_running (&world, TOOL, 2, NULL);
  waiting = spawn (&world, TOOL, 2, NULL);
  assert_held (waiting, "slots");
  session = allocate (&world, TOOL, "node2", NULL);
  assert_state (running, DVM_JOB_STATE_RUNNING);
  assert_nodes (session, "node2");
  /* It can never fit any more. */
  assert_state (waiting, DVM_JOB_STATE_MAP_FAILED);
  waiting = spawn (&world, TOOL, 1, NULL);
  end_job (&world, running);
  assert_job_nodes (waiting, "node1");
  running = spawn (&world, TOOL, 1, NULL);
  assert_held (running, "slots");
  release (&world, TOOL, 1, NULL);
  assert_job_nodes (running, "node2");
}

/* D14: a session emptied by hosts stays; REAQUIRE takes back what was released from it alone. */
static void
test_reaquire (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (GPtrArray) lent = NULL;
  DvmdGrowRequest request = {
    .reaquire = TRUE, .session = 1, .inheritance = DVMD_INHERIT_NONE, .inheritance_given = TRUE
  };
  DvmdSession *session;
  DvmdCampaign *campaign;
  guint most = 0;

  world_init_elastic (&world, 3, 2);
  session = allocate (&world, TOOL, "node2 node3", NULL);
  refuse_allocate (&world, TOOL, "node2", &request, DVM_ERROR_NOT_FOUND);
  campaign = release (&world, TOOL, 1, "node3 node2");
  depart (&world, 2);
  depart (&world, 3);
  offered (&world, campaign);
  g_assert_true (dvmd_core_get_session (world.core, 1) == session);
  assert_nodes (session, "");
  lent = dvmd_session_list_lent (session);
  g_ptr_array_add (lent, NULL);
  assert_strings ((const char *const *)lent->pdata, "node2 node3");
  g_assert_cmpuint (dvmd_session_get_lent_slots (session, "node3", &most), ==, 2);
  g_assert_cmpuint (dvmd_session_get_lent_slots (session, "node1", &most), ==, 0);
  g_assert_cmpuint (most, ==, 0);
  assert_state (spawn (&world, TOOL, 1, alloc_of (session)), DVM_JOB_STATE_MAP_FAILED);
  refuse_allocate (&world, TOOL, "node1", &request, DVM_ERROR_NOT_FOUND);
  allocate (&world, TOOL, "node3", &request);
  report_in (&world, 4);
  wired (&world, dvmd_core_get_campaign (world.core, 2));
  assert_nodes (session, "node3");
  /* R14 */
  g_assert_cmpstr (dvm_session_get_inheritance (dvmd_session_get_record (session)), ==, "default");
  refuse_allocate (&world, TOOL, "node3", &request, DVM_ERROR_NOT_FOUND);
  assert_default_nodes (&world, "node1");
}

/* A host that comes back is what it was given as, not what has been found, and not what was added meanwhile. */
static void
test_reaquire_slots (void)
{
  static const struct
  {
    guint given;
    guint most;
    guint added;
    guint slots;
  } cases[] = { { 0, 0, 0, 0 }, { 2, 4, 0, 2 }, { 2, 4, 1, 2 }, { 0, 0, 3, 0 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (World) world = { 0 };
      DvmdSession *session;
      DvmdNode *node;
      guint most = G_MAXUINT;

      world_init_elastic (&world, 2, 8);
      node = dvmd_core_find_agent (world.core, "node2");
      node->slots_given = cases[i].given > 0;
      if (cases[i].given > 0)
        dvmd_node_pool_set_slots (dvmd_core_get_nodes (world.core), node, cases[i].given, cases[i].most);
      session = allocate (&world, TOOL, "node2", NULL);
      dvmd_session_add_slots (session, node, cases[i].added);
      release (&world, TOOL, 1, "node2");
      g_assert_cmpuint (dvmd_session_get_lent_slots (session, "node2", &most), ==, cases[i].slots);
      g_assert_cmpuint (most, ==, cases[i].most);
    }
}

/* Hosts and numbers are of what the job may use. */
static void
test_hosts (void)
{
  static const struct
  {
    const char *hosts;
    gboolean in_session;
    const char *nodes; /* NULL: it cannot be placed */
  } cases[] = { { "node2", FALSE, NULL },         { "node2", TRUE, "node2" }, { "node1", TRUE, NULL },
                { "+n0", TRUE, "node2" },         { "+n1", FALSE, "node3" },  { "+n2", FALSE, NULL },
                { "+e:2", FALSE, "node1 node3" }, { "+e:3", FALSE, NULL },    { "^node1", FALSE, "node3" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (World) world = { 0 };
      const char *hosts[] = { cases[i].hosts, NULL };
      guint np = cases[i].nodes != NULL && strchr (cases[i].nodes, ' ') != NULL ? 2 : 1;
      g_autoptr (DvmJobSpec) spec = NULL;
      DvmdJob *job;

      world_init (&world, 3, 1, FALSE);
      bring_up (&world);
      spec = make_targets (np, cases[i].in_session ? alloc_of (allocate (&world, TOOL, "node2", NULL)) : NULL);
      if (!cases[i].in_session)
        allocate (&world, TOOL, "node2", NULL);
      dvm_app_spec_set_hosts (dvm_job_spec_get_app (spec, 0), hosts);
      g_assert_true (_dvm_job_spec_load_hosts (spec, "", NULL));
      job = submit_as (&world, TOOL, spec, NULL);
      if (cases[i].nodes != NULL)
        assert_job_nodes (job, cases[i].nodes);
      else
        assert_state (job, DVM_JOB_STATE_MAP_FAILED);
    }
}

/* S12: numbers and ids from outside. */
static void
test_given_ids (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest request = { .wanted_session_id = 2, .given_alloc_id = "dvm-test.alloc.1" };
  DvmdSession *session;

  world_init (&world, 3, 1, FALSE);
  bring_up (&world);
  session = allocate (&world, TOOL, "node2", &request);
  g_assert_cmpuint (dvmd_session_get_id (session), ==, 2);
  refuse_allocate (&world, TOOL, "node3", &request, DVM_ERROR_EXISTS);
  request.wanted_session_id = 0;
  refuse_allocate (&world, TOOL, "node3", &request, DVM_ERROR_EXISTS);
  request.wanted_session_id = G_MAXUINT32;
  request.given_alloc_id = NULL;
  refuse_allocate (&world, TOOL, "node3", &request, DVM_ERROR_BAD_PARAM);
  session = allocate (&world, TOOL, "node3", NULL);
  g_assert_cmpuint (dvmd_session_get_id (session), ==, 1);
  g_assert_cmpstr (alloc_of (session), ==, "dvm-test.alloc.2");
  session = allocate (&world, TOOL, "node1", NULL);
  g_assert_cmpuint (dvmd_session_get_id (session), ==, 3);
  /* Ascending, whoever chose the numbers. */
  session = NULL;
  for (guint id = 0; id <= 3; id++)
    {
      session = dvmd_core_next_session (world.core, session);
      g_assert_cmpuint (dvmd_session_get_id (session), ==, id);
    }
}

/* A client that has known a session by its number does not meet another one there. */
static void
test_numbers_once (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest request = { .wanted_session_id = 3 };

  world_init (&world, 3, 1, FALSE);
  bring_up (&world);
  g_assert_cmpuint (dvmd_session_get_id (allocate (&world, TOOL, "node2", &request)), ==, 3);
  g_assert_cmpuint (dvmd_session_get_id (allocate (&world, TOOL, "node1", NULL)), ==, 1);
  release (&world, TOOL, 1, NULL);
  release (&world, TOOL, 3, NULL);
  g_assert_null (dvmd_core_get_session (world.core, 1));
  g_assert_null (dvmd_core_get_session (world.core, 3));
  for (request.wanted_session_id = 1; request.wanted_session_id <= 3; request.wanted_session_id += 2)
    refuse_allocate (&world, TOOL, "node3", &request, DVM_ERROR_EXISTS);
  /* Chosen or minted, 2 is free; the next one that is minted is 4. */
  request.wanted_session_id = 2;
  g_assert_cmpuint (dvmd_session_get_id (allocate (&world, TOOL, "node2", &request)), ==, 2);
  release (&world, TOOL, 2, NULL);
  g_assert_cmpuint (dvmd_session_get_id (allocate (&world, TOOL, "node1", NULL)), ==, 4);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sessions/R2-R4-R35-R36-S14-D16-S29-reserve", test_reserve);
  g_test_add_func ("/sessions/R32-R33-R34-R35-union", test_union);
  g_test_add_func ("/sessions/R37-R38-R49-R50-R52-wrong-targets", test_wrong_targets);
  g_test_add_func ("/sessions/S2-S3-S4-R75-choice", test_choice);
  g_test_add_func ("/sessions/R30-same-request-id", test_same_request_id);
  g_test_add_func ("/sessions/all-reserved", test_all_reserved);
  g_test_add_func ("/sessions/R39-R40-R41-R42-R43-owners", test_owners);
  g_test_add_func ("/sessions/R9-R10-R22-R27-R45-target", test_target);
  g_test_add_func ("/sessions/R29-R30-R31-R46-R47-R48-D19-extend", test_extend);
  g_test_add_func ("/sessions/R36-R43-R52-side-entry", test_side_entry);
  g_test_add_func ("/sessions/R46-R53-release-rights", test_release_rights);
  g_test_add_func ("/sessions/D16-not-elastic", test_not_elastic);
  g_test_add_func ("/sessions/R4-R21-grow-reserved", test_grow_reserved);
  g_test_add_func ("/sessions/own-hosts", test_own_hosts);
  g_test_add_func ("/sessions/D14-grow-what-leaves", test_grow_what_leaves);
  g_test_add_func ("/sessions/release-cancelled", test_release_cancelled);
  g_test_add_func ("/sessions/D3-D4-E21-failed-grow", test_failed_grow);
  g_test_add_func ("/sessions/D4-E10-held-back", test_held_back);
  g_test_add_func ("/sessions/D4-held-back-cancelled", test_held_back_cancelled);
  g_test_add_func ("/sessions/R24-R26-shared", test_shared);
  g_test_add_func ("/sessions/R62-carve-used", test_carve_used);
  g_test_add_func ("/sessions/R14-D14-reaquire", test_reaquire);
  g_test_add_func ("/sessions/reaquire-slots", test_reaquire_slots);
  g_test_add_func ("/sessions/hosts", test_hosts);
  g_test_add_func ("/sessions/S12-given-ids", test_given_ids);
  g_test_add_func ("/sessions/S1-S2-numbers-once", test_numbers_once);
  return g_test_run ();
}

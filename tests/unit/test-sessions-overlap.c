/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sessions in the pure core: what seldom happens to them. Long lines of parents and children, releases that are called
 * off, times that are over while something else goes on. Tests are named after the statements of spec/CONFORMANCE.md
 * that they show.
 */

#include "config.h"

#include "sessions-world.h"

#include "dvmd-core-session-control.h"
#include "dvmd-session-owners.h"
#include "dvmd-session-registry.h"

static DvmdSession *
session_of (World *world, guint id)
{
  return dvmd_core_get_session (world->core, id);
}

static DvmdCampaign *
campaign_of (World *world, guint id)
{
  return dvmd_core_get_campaign (world->core, id);
}

static void
pass (World *world, guint seconds)
{
  dvmd_clock_advance (world->clock, (gint64)seconds * G_USEC_PER_SEC);
  run (world);
}

/* Nodes that are brought: of number 2 and on, which the session gets. */
static DvmdSession *
allocate_new (World *world, guint rank, const DvmdGrowRequest *request)
{
  g_autofree char *name = g_strdup_printf ("node%u", rank);
  DvmdSession *session = allocate (world, TOOL, name, request);

  report_in (world, rank);
  wired (world, campaign_of (world, dvmd_core_get_last_campaign_id (world->core)));
  return session;
}

static DvmdCampaign *
drain (World *world, guint session, guint seconds)
{
  g_autoptr (DvmdRequester) requester = dvmd_requester_new (TOOL, 1000, 42);
  const DvmdShrinkRequest request = { .requester = requester, .session = session, .drain_timeout = seconds };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  dvmd_core_shrink (world->core, &request, &answer, &error);
  g_assert_no_error (error);
  run (world);
  return campaign_of (world, answer.campaign);
}

/* ---- parents and children ---- */

static void
assert_campaigns (World *world, const char *ids)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (DvmdCampaign *c = NULL; (c = dvmd_core_next_campaign (world->core, c, FALSE)) != NULL;)
    g_string_append_printf (text, "%u ", dvmd_campaign_get_id (c));
  g_assert_cmpstr (text->str, ==, ids);
}

/* D3, S6: what leaves with a child leaves after what leaves with its parent; the numbers ascend. */
static void
test_order (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest child = { .session = 1 };

  world_init_elastic (&world, 1, 2);
  allocate_new (&world, 2, NULL);
  allocate_new (&world, 3, &child);
  g_string_truncate (world.log, 0);
  g_assert_cmpuint (dvmd_campaign_get_id (release (&world, TOOL, 1, NULL)), ==, 3);
  assert_campaigns (&world, "3 4 ");
  assert_log (&world, "remove 3: 2\nremove 4: 3\n");
}

/* S6, S21: what is detached from who asked for it is so from the session of that one, too, and says so. */
static void
test_detached_child (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest detached = { .detached = TRUE };
  DvmdSession *child;
  g_autofree char *process = NULL;

  world_init (&world, 3, 2, FALSE);
  bring_up (&world);
  process = process_of (spawn_running (&world, TOOL, 1, alloc_of (allocate (&world, TOOL, "node2", NULL))));
  child = allocate (&world, process, "node3", &detached);
  g_assert_cmpstr (dvm_session_get_parent (dvmd_session_get_record (child)), ==, "/org/dvm/sessions/1");
  g_assert_true (dvm_session_get_separate (dvmd_session_get_record (child)));
  release (&world, TOOL, 1, NULL);
  g_assert_nonnull (session_of (&world, 2));
}

/* D15: time to end is for the jobs in its children, too. */
static void
test_drain_children (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest child = { .session = 1 };
  DvmdJob *job;

  world_init_elastic (&world, 1, 2);
  allocate_new (&world, 2, NULL);
  job = spawn_running (&world, TOOL, 1, alloc_of (allocate_new (&world, 3, &child)));
  drain (&world, 1, 60);
  pass (&world, 59);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  pass (&world, 1);
  assert_state (job, DVM_JOB_STATE_KILLED_BY_CMD);
}

/* A line of sessions, each the child of the one before. */
static void
make_line (World *world, guint n)
{
  world_init (world, 2, 2, FALSE);
  bring_up (world);
  for (guint i = 1; i <= n; i++)
    {
      g_autofree char *alloc_id = g_strdup_printf ("a%u", i);

      dvmd_session_set_parent (dvmd_core_add_session (world->core, i, alloc_id, NULL, FALSE), i - 1);
    }
}

static void
assert_no_sessions (World *world)
{
  g_assert_null (dvmd_core_next_session (world->core, session_of (world, 0)));
  assert_default_nodes (world, "node1 node2");
}

/* S6: however many they are, they do not end on the stack. */
static void
test_long_line_released (void)
{
  g_auto (World) world = { 0 };

  make_line (&world, 2000);
  release (&world, SCHEDULER, 1, NULL);
  assert_no_sessions (&world);
}

static void
test_long_line_terminated (void)
{
  g_auto (World) world = { 0 };
  const DvmdSessionControl control = { .op = DVMD_SESSION_TERMINATE };

  make_line (&world, 2000);
  g_assert_true (dvmd_core_control_session (world.core, session_of (&world, 1), &control, NULL, NULL));
  run (&world);
  assert_no_sessions (&world);
}

/* A child that ends with its parent, as their owner ends, is not counted as one that waits for something. */
static void
test_owner_of_both (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest request = { .inheritance = DVMD_INHERIT_NONE, .inheritance_given = TRUE };
  DvmdJob *owner;
  g_autofree char *process = NULL;

  world_init (&world, 3, 2, FALSE);
  bring_up (&world);
  owner = spawn_running (&world, TOOL, 1, NULL);
  process = process_of (owner);
  allocate (&world, process, "node2", &request);
  request.session = 1;
  allocate (&world, process, "node3", &request);
  end_job (&world, owner);
  assert_default_nodes (&world, "node1 node2 node3");
  g_assert_cmpuint (dvmd_session_owners_count_ended (dvmd_core_get_owners (world.core), 0), ==, 0);
  g_assert_false (dvmd_session_owners_contain (dvmd_core_get_owners (world.core),
                                               dvm_job_get_nspace (dvmd_job_get_record (owner))));
}

/* ---- names of hosts ---- */

/* D14: N9 is n9, and known by the letters in which it came. */
static void
test_letters (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  const char *const hosts[] = { "Node1", NULL };
  const DvmdGrowRequest back = { .session = 1, .reaquire = TRUE };
  DvmdSession *session;

  world_init_elastic (&world, 2, 2);
  session = allocate (&world, TOOL, "NODE2", NULL);
  assert_nodes (session, "node2");
  refuse_allocate (&world, TOOL, "node8 NODE8", NULL, DVM_ERROR_BAD_PARAM);
  session = allocate (&world, TOOL, "Node9", NULL);
  refuse_allocate (&world, TOOL, "node9", NULL, DVM_ERROR_EXISTS);
  report_in (&world, 3);
  wired (&world, campaign_of (&world, 1));
  assert_nodes (session, "Node9");
  dvm_app_spec_set_hosts (dvm_job_spec_get_app (spec, 0), hosts);
  assert_job_nodes (submit_spec (&world, spec), "node1");
  g_assert_nonnull (release (&world, TOOL, 2, "NODE9"));
  depart (&world, 3);
  assert_nodes (session, "");
  release (&world, TOOL, 1, "NODE2");
  depart (&world, 2);
  g_assert_nonnull (allocate (&world, TOOL, "nOdE2", &back));
}

/* ---- releases that are called off ---- */

/* R69, S23: a release that lets jobs end first is no way to stay longer than the time that there is. */
static void
test_limit_in_drain (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest request = { .limit.time = 100 };
  DvmdJob *job;
  DvmdCampaign *campaign;

  world_init_elastic (&world, 1, 2);
  job = spawn_running (&world, TOOL, 1, alloc_of (allocate_new (&world, 2, &request)));
  campaign = drain (&world, 1, 100000);
  pass (&world, 99);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_WAITING);
  assert_state (job, DVM_JOB_STATE_RUNNING);
  pass (&world, 1);
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_RUNNING);
  depart (&world, 2);
  assert_state (job, DVM_JOB_STATE_KILLED_BY_CMD);
  offered (&world, campaign);
  g_assert_null (session_of (&world, 1));
}

/* Its children are no way, either: they get the time that is left of it. */
static void
test_limit_of_children (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest request = { .limit.time = 100 };
  const DvmdGrowRequest child = { .session = 1 };
  DvmdJob *jobs[2];

  world_init_elastic (&world, 1, 2);
  jobs[0] = spawn_running (&world, TOOL, 1, alloc_of (allocate_new (&world, 2, &request)));
  jobs[1] = spawn_running (&world, TOOL, 1, alloc_of (allocate_new (&world, 3, &child)));
  drain (&world, 1, 100000);
  pass (&world, 99);
  for (guint i = 0; i < 2; i++)
    assert_state (jobs[i], DVM_JOB_STATE_RUNNING);
  pass (&world, 1);
  for (guint i = 0; i < 2; i++)
    assert_state (jobs[i], DVM_JOB_STATE_KILLED_BY_CMD);
}

/* R53, R55: a scheduler that takes back what is being released slowly does not wait for that. */
static void
test_reclaimed_in_drain (void)
{
  g_auto (World) world = { 0 };
  const DvmdShrinkRequest request = { .scheduler = TRUE, .alloc_id = "dvm-test.alloc.1" };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  DvmdJob *job;
  DvmdCampaign *campaign;

  world_init_elastic (&world, 1, 2);
  job = spawn_running (&world, TOOL, 1, alloc_of (allocate_new (&world, 2, NULL)));
  campaign = drain (&world, 1, 100000);
  g_assert_true (dvmd_core_check_shrink (world.core, &request, NULL));
  assert_campaign (campaign, DVM_CAMPAIGN_STATE_WAITING);
  g_assert_true (dvmd_core_shrink (world.core, &request, &answer, NULL));
  g_assert_cmpuint (answer.campaign, ==, dvmd_campaign_get_id (campaign));
  g_assert_cmpuint (answer.session, ==, 1);
  run (&world);
  assert_state (job, DVM_JOB_STATE_KILLED_BY_CMD);
  /* It cannot be more so. */
  g_assert_false (dvmd_core_check_shrink (world.core, &request, NULL));
  refuse_release (&world, TOOL, 1, NULL, DVM_ERROR_NOT_FOUND);
  depart (&world, 2);
  offered (&world, campaign);
  g_assert_null (session_of (&world, 1));
}

/* Nodes that were not released cannot be taken back. */
static void
test_not_lent (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmdRequester) requester = dvmd_requester_new (TOOL, 1000, 42);
  const char *const hosts[] = { "node2", NULL };
  const DvmdShrinkRequest request = { .requester = requester, .session = 1, .hosts = hosts, .drain_timeout = 60 };
  const DvmdGrowRequest back = { .session = 1, .reaquire = TRUE };
  g_auto (DvmdSizeAnswer) answer = { 0 };

  world_init_elastic (&world, 1, 2);
  spawn_running (&world, TOOL, 1, alloc_of (allocate_new (&world, 2, NULL)));
  g_assert_true (dvmd_core_shrink (world.core, &request, &answer, NULL));
  run (&world);
  g_assert_true (dvmd_core_cancel_campaign (world.core, campaign_of (&world, answer.campaign), NULL));
  run (&world);
  assert_nodes (session_of (&world, 1), "node2");
  refuse_allocate (&world, TOOL, "node2", &back, DVM_ERROR_NOT_FOUND);
}

/* One of two releases is called off: the other one takes the host all the same. */
static void
test_lent_by_another (void)
{
  g_auto (World) world = { 0 };
  const char *const hosts[] = { "node2", NULL };
  DvmdShrinkRequest request = { .scheduler = TRUE, .session = 1, .hosts = hosts, .drain_timeout = 60 };
  const DvmdGrowRequest back = { .session = 1, .reaquire = TRUE };
  DvmdSizeAnswer answers[2] = { { 0 } };

  world_init_elastic (&world, 1, 2);
  spawn_running (&world, TOOL, 1, alloc_of (allocate_new (&world, 2, NULL)));
  for (guint i = 0; i < 2; i++)
    g_assert_true (dvmd_core_shrink (world.core, &request, &answers[i], NULL));
  run (&world);
  g_assert_true (dvmd_core_cancel_campaign (world.core, campaign_of (&world, answers[0].campaign), NULL));
  pass (&world, 60);
  depart (&world, 2);
  offered (&world, campaign_of (&world, answers[1].campaign));
  g_assert_nonnull (allocate (&world, TOOL, "node2", &back));
  for (guint i = 0; i < 2; i++)
    dvmd_size_answer_clear (&answers[i]);
}

/* Why it stands still: who did the last of that, and no longer than he does. */
static void
test_reasons (void)
{
  g_auto (World) world = { 0 };
  static const struct
  {
    DvmdSessionOp op;
    const char *who;
    const char *reason;
  } steps[] = {
    { DVMD_SESSION_PREEMPT, ":1.1", ":1.1 has preempted the jobs of it" },
    { DVMD_SESSION_PAUSE, ":1.2", ":1.2 has paused it" },
    { DVMD_SESSION_RESTORE, ":1.3", "It is still paused" },
    { DVMD_SESSION_PREEMPT, ":1.4", ":1.4 has preempted the jobs of it" },
    { DVMD_SESSION_RESUME, ":1.5", "It is still preempted" },
    { DVMD_SESSION_RESTORE, ":1.6", "" },
  };

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  allocate (&world, TOOL, "node2", NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (steps); i++)
    {
      g_autoptr (DvmdRequester) requester = dvmd_requester_new (steps[i].who, 1000, 42);
      const DvmdSessionControl control = { .op = steps[i].op };

      g_assert_true (dvmd_core_control_session (world.core, session_of (&world, 1), &control, requester, NULL));
      g_assert_cmpstr (dvm_session_get_reason (dvmd_session_get_record (session_of (&world, 1))), ==, steps[i].reason);
    }
}

/* R56: its owner has ended while it was being released, which is then called off: it goes as it was to go. */
static void
test_owner_in_drain (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest request = { .inheritance = DVMD_INHERIT_DEFAULT, .inheritance_given = TRUE };
  DvmdJob *owner;
  DvmdCampaign *campaign;
  g_autofree char *process = NULL;

  world_init_elastic (&world, 1, 2);
  owner = spawn_running (&world, TOOL, 1, NULL);
  process = process_of (owner);
  allocate (&world, process, "node2", &request);
  report_in (&world, 2);
  wired (&world, campaign_of (&world, 1));
  spawn_running (&world, TOOL, 1, alloc_of (session_of (&world, 1)));
  campaign = drain (&world, 1, 60);
  end_job (&world, owner);
  assert_default_nodes (&world, "node1");
  g_assert_true (dvmd_core_cancel_campaign (world.core, campaign, NULL));
  run (&world);
  assert_default_nodes (&world, "node1 node2");
}

/* ---- who asks ---- */

/* R9, R40: an allocation has one owner for life, and who only runs in it is not that one. */
static void
test_target_of_extend (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest request = { .extend = TRUE, .session = 1 };
  DvmdSession *session;
  DvmdJob *guest;

  world_init (&world, 3, 2, FALSE);
  bring_up (&world);
  session = allocate (&world, TOOL, "node2", NULL);
  guest = spawn_running (&world, TOOL, 1, alloc_of (session));
  request.target = dvm_job_get_nspace (dvmd_job_get_record (guest));
  refuse_allocate (&world, TOOL, "node3", &request, DVM_ERROR_BAD_PARAM);
  request.target = "bus.1000";
  allocate (&world, TOOL, "node3", &request);
  assert_nodes (session, "node2 node3");
}

/* S27: a job that has ended, and that nobody remembers, starts nothing that would end with it. */
static void
test_forgotten_parent (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  DvmdJob *parent;
  g_autofree char *process = NULL;

  world_init (&world, 2, 8, FALSE);
  bring_up (&world);
  parent = spawn_running (&world, TOOL, 1, NULL);
  process = process_of (parent);
  end_job (&world, parent);
  refuse_spawn (&world, process, NULL, DVM_ERROR_NOT_FOUND);
  for (guint i = 0; i < 5; i++)
    run_to_end (&world, submit (&world, 1));
  g_assert_null (dvmd_core_get_job (world.core, 1));
  refuse_spawn (&world, process, NULL, DVM_ERROR_NOT_FOUND);
  dvm_job_spec_set_child_separate (spec, TRUE);
  g_assert_nonnull (submit_as (&world, process, spec, NULL));
}

static void
count (guint *n)
{
  (*n)++;
}

/* R41: thousands of them come and go without a look at all the others each time. */
static void
test_many_owners (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;
  guint n_told = 0;

  world_init (&world, 2, 4, FALSE);
  bring_up (&world);
  session = allocate (&world, TOOL, "node2", NULL);
  g_signal_connect_swapped (dvmd_session_get_record (session), "notify::owners", G_CALLBACK (count), &n_told);
  for (guint i = 0; i < 12; i++)
    spawn (&world, TOOL, 1, alloc_of (session));
  g_assert_cmpuint (n_told, ==, 0);
  assert_owners (session, "bus.1000 dvm-test@1 dvm-test@2 dvm-test@3 dvm-test@4 dvm-test@5 dvm-test@6 dvm-test@7 "
                          "dvm-test@8 dvm-test@9 dvm-test@10 dvm-test@11 dvm-test@12");
  g_assert_cmpuint (n_told, ==, 1);
}

/* R43, R46: a session that is not its own, and jobs in it, are nothing to a job that only runs in it, or elsewhere. */
static void
test_guest (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest child = { .session = 1 };
  g_autoptr (DvmdRequester) guest = NULL;
  DvmdSession *session;
  DvmdJob *other;
  g_autofree char *process = NULL;
  g_autofree char *stranger = NULL;

  world_init (&world, 4, 4, FALSE);
  bring_up (&world);
  session = allocate (&world, TOOL, "node2", NULL);
  other = spawn_running (&world, TOOL, 1, alloc_of (session));
  process = process_of (spawn_running (&world, TOOL, 1, alloc_of (session)));
  stranger = process_of (spawn_running (&world, TOOL, 1, NULL));
  guest = dvmd_requester_new (process, 1000, 42);
  g_assert_true (dvmd_session_owns (session, "dvm-test@2"));
  g_assert_false (dvmd_core_has_right (world.core, guest, DVMD_RIGHT_JOB, NULL, other));
  refuse_allocate (&world, stranger, "node3", &child, DVM_ERROR_NO_PERMISSIONS);
  g_assert_nonnull (allocate (&world, process, "node3", &child));
  /* The default session is everybody's, and nobody's. */
  assert_owners (session_of (&world, 0), "");
}

/* S9: whoever says that it is a process of a job, and is another user's, has no right to anything. */
static void
test_strange_process (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmdRequester) stranger = NULL;
  DvmdJob *job;
  g_autofree char *process = NULL;

  world_init (&world, 2, 4, FALSE);
  bring_up (&world);
  job = spawn_running (&world, TOOL, 1, NULL);
  process = process_of (job);
  stranger = dvmd_requester_new (process, 1001, 42);
  g_assert_false (dvmd_core_has_right (world.core, stranger, DVMD_RIGHT_JOB, NULL, job));
  g_assert_false (dvmd_core_has_right (world.core, stranger, DVMD_RIGHT_SPAWN, session_of (&world, 0), NULL));
}

/* R46, R53: by its name a job releases a host of its own allocation, one that is shared too, and nobody else's. */
static void
test_release_by_name (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest shared = { .share = TRUE };
  g_autofree char *owner = NULL;
  g_autofree char *stranger = NULL;

  world_init_elastic (&world, 1, 4);
  owner = process_of (spawn_running (&world, TOOL, 1, NULL));
  stranger = process_of (spawn_running (&world, TOOL, 1, NULL));
  allocate (&world, owner, "node2", &shared);
  refuse_release (&world, stranger, 0, "node2", DVM_ERROR_NO_PERMISSIONS);
  report_in (&world, 2);
  wired (&world, campaign_of (&world, 1));
  refuse_release (&world, stranger, 0, "node2", DVM_ERROR_NO_PERMISSIONS);
  refuse_release (&world, owner, 0, "node1", DVM_ERROR_NO_PERMISSIONS);
  g_assert_nonnull (release (&world, owner, 0, "node2"));
}

/* Hosts that are released by their names alone can be taken back into the session that they were in. */
static void
test_lent_by_name (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest back = { .session = 1, .reaquire = TRUE };
  DvmdCampaign *campaign;

  world_init_elastic (&world, 1, 2);
  allocate_new (&world, 2, NULL);
  campaign = release (&world, TOOL, 0, "node2");
  depart (&world, 2);
  offered (&world, campaign);
  g_assert_nonnull (allocate (&world, TOOL, "node2", &back));
}

/* ---- changes that fail ---- */

/* R52: a host that was there already is in the session no more when the nodes that it was asked for with do not come.
 */
static void
test_extend_fails (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest more = { .extend = TRUE, .session = 1 };

  world_init_elastic (&world, 3, 2);
  allocate (&world, TOOL, "node2", NULL);
  allocate (&world, TOOL, "node3 node9", &more);
  assert_nodes (session_of (&world, 1), "node2 node3");
  dvmd_core_cancel_campaign (world.core, campaign_of (&world, 1), NULL);
  run (&world);
  depart (&world, 4);
  assert_nodes (session_of (&world, 1), "node2");
  assert_default_nodes (&world, "node1 node3");
}

/* A session that nobody has brought a node into is void with the last grow for it, and not before. */
static void
test_last_grow_decides (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest more = { .extend = TRUE, .session = 1 };

  world_init_elastic (&world, 1, 2);
  allocate (&world, TOOL, "node8", NULL);
  allocate (&world, TOOL, "node9", &more);
  for (guint i = 1; i <= 2; i++)
    {
      g_assert_nonnull (session_of (&world, 1));
      dvmd_core_cancel_campaign (world.core, campaign_of (&world, i), NULL);
      run (&world);
      depart (&world, i + 1);
    }
  g_assert_null (session_of (&world, 1));
}

/* A node that was reserved meanwhile does not come back by a release that is called off. */
static void
test_taken_in_drain (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest more = { .extend = TRUE, .session = 1 };
  DvmdCampaign *campaign;

  world_init_elastic (&world, 3, 2);
  allocate_new (&world, 4, NULL);
  allocate (&world, TOOL, "node2 node3", &more);
  spawn_running (&world, TOOL, 5, alloc_of (session_of (&world, 1)));
  campaign = drain (&world, 1, 60);
  assert_nodes (allocate (&world, TOOL, "node3", NULL), "node3");
  g_assert_true (dvmd_core_cancel_campaign (world.core, campaign, NULL));
  run (&world);
  assert_nodes (session_of (&world, 1), "node2 node4");
  assert_nodes (session_of (&world, 2), "node3");
}

/* R52: what is discarded leaves the nodes in the DVM that were there before. */
static void
test_discard_keeps (void)
{
  g_auto (World) world = { 0 };
  const DvmdSessionControl terminate = { .op = DVMD_SESSION_TERMINATE };

  world_init_elastic (&world, 1, 2);
  g_assert_true (dvmd_core_control_session (world.core, allocate_new (&world, 2, NULL), &terminate, NULL, NULL));
  run (&world);
  assert_default_nodes (&world, "node1 node2");
  dvmd_core_discard_session (world.core, allocate (&world, TOOL, "node2", NULL), NULL);
  run (&world);
  g_assert_null (session_of (&world, 2));
  assert_default_nodes (&world, "node1 node2");
  g_assert_cmpuint (dvmd_core_get_campaigns_running (world.core), ==, 0);
}

/* ---- jobs that are held ---- */

static DvmdSession *
pause_after (World *world, guint n, DvmdJob **job)
{
  const DvmdSessionControl pause = { .op = DVMD_SESSION_PAUSE };
  g_autoptr (DvmJobSpec) spec = NULL;
  g_autoptr (DvmdRequester) requester = dvmd_requester_new (TOOL, 1000, 42);
  DvmdSession *session;

  world_init (world, 2, 2, FALSE);
  bring_up (world);
  session = allocate (world, TOOL, "node2", NULL);
  spec = make_targets (2, alloc_of (session));
  g_string_truncate (world->log, 0);
  *job = dvmd_core_submit (world->core, spec, requester, NULL);
  for (guint i = 0; i < n; i++)
    dvmd_event_queue_drain (world->queue, 1);
  g_assert_true (dvmd_core_control_session (world->core, session, &pause, NULL, NULL));
  run (world);
  return session;
}

/* S16: whenever it comes, a job waits once, without slots before it is placed, and is launched once. */
static void
test_paused_at_any_moment (void)
{
  const DvmdSessionControl resume = { .op = DVMD_SESSION_RESUME };
  gboolean was_sent = FALSE;

  for (guint n = 0; !was_sent; n++)
    {
      g_auto (World) world = { 0 };
      DvmdJob *job;
      DvmdSession *session = pause_after (&world, n, &job);
      DvmdNodePool *nodes = dvmd_core_get_nodes (world.core);

      was_sent = world.log->len > 0;
      if (!was_sent)
        {
          assert_held (job, "session");
          g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 1);
          g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (nodes), ==, dvmd_job_get_map (job) != NULL ? 2 : 0);
        }
      g_assert_true (dvmd_core_control_session (world.core, session, &resume, NULL, NULL));
      run (&world);
      assert_log (&world, "launch 1\n");
      assert_held (job, "");
      g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 0);
      run_to_end (&world, job);
      assert_state (job, DVM_JOB_STATE_NOTIFIED);
    }
}

/* So it does with slots that it has waited for, and has got in the same turn. */
static void
test_paused_with_slots (void)
{
  gboolean was_sent = FALSE;

  for (guint n = 0; !was_sent; n++)
    {
      g_auto (World) world = { 0 };
      DvmdJob *first;
      DvmdJob *waiting;

      world_init (&world, 1, 2, FALSE);
      bring_up (&world);
      first = spawn_running (&world, TOOL, 1, NULL);
      waiting = spawn (&world, TOOL, 2, NULL);
      assert_held (waiting, "slots");
      g_string_truncate (world.log, 0);
      dvmd_core_proc_state (world.core, first, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
      dvmd_core_job_gone (world.core, first, 1);
      for (guint i = 0; i < n; i++)
        dvmd_event_queue_drain (world.queue, 1);
      g_assert_true (dvmd_core_pause_job (world.core, waiting, NULL));
      run (&world);
      was_sent = strstr (world.log->str, "launch 2") != NULL;
      if (was_sent)
        continue;
      assert_held (waiting, "session");
      g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (dvmd_core_get_nodes (world.core)), ==,
                        dvmd_job_get_map (waiting) != NULL ? 2 : 0);
    }
}

/* Those behind a job that is held do not wait for slots that it would not take. */
static void
test_behind_held (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *large;
  DvmdJob *small;

  world_init (&world, 1, 2, FALSE);
  bring_up (&world);
  spawn_running (&world, TOOL, 1, NULL);
  large = spawn (&world, TOOL, 2, NULL);
  small = spawn (&world, TOOL, 1, NULL);
  assert_held (small, "slots");
  g_assert_true (dvmd_core_pause_job (world.core, large, NULL));
  run (&world);
  assert_held (large, "session");
  assert_state (small, DVM_JOB_STATE_SEND_LAUNCH_MSG);
}

/* And it has its place before them when it goes on. */
static void
test_place_of_held (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest shared = { .share = TRUE };
  const DvmdSessionControl pause = { .op = DVMD_SESSION_PAUSE };
  const DvmdSessionControl resume = { .op = DVMD_SESSION_RESUME };
  DvmdSession *session;
  DvmdJob *first;
  DvmdJob *held;
  DvmdJob *later;

  world_init (&world, 1, 2, FALSE);
  bring_up (&world);
  session = allocate (&world, TOOL, "node1", &shared);
  first = spawn_running (&world, TOOL, 2, NULL);
  g_assert_true (dvmd_core_control_session (world.core, session, &pause, NULL, NULL));
  held = spawn (&world, TOOL, 2, alloc_of (session));
  later = spawn (&world, TOOL, 2, NULL);
  g_assert_true (dvmd_core_control_session (world.core, session, &resume, NULL, NULL));
  run (&world);
  end_job (&world, first);
  assert_state (held, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  assert_held (later, "slots");
}

/* ---- at any moment ---- */

/* R36: a job that was let through when its node is reserved has been placed there already, or never is. */
static void
test_reserved_at_any_moment (void)
{
  gboolean was_placed = FALSE;

  for (guint n = 0; !was_placed; n++)
    {
      g_auto (World) world = { 0 };
      g_autoptr (DvmJobSpec) spec = make_spec (1);
      g_autoptr (DvmdRequester) requester = dvmd_requester_new (TOOL, 1000, 42);
      DvmdJob *job;

      world_init (&world, 2, 1, FALSE);
      bring_up (&world);
      job = dvmd_core_submit (world.core, spec, requester, NULL);
      for (guint i = 0; i < n; i++)
        dvmd_event_queue_drain (world.queue, 1);
      was_placed = dvmd_job_get_map (job) != NULL;
      allocate (&world, TOOL, "node1", NULL);
      assert_job_nodes (job, was_placed ? "node1" : "node2");
    }
}

/* R58, R61: what is on its way for a session that reserves nothing any more is everybody's before it is there. */
static void
test_unreserved_on_the_way (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *owner;
  g_autofree char *process = NULL;

  world_init_elastic (&world, 1, 2);
  owner = spawn_running (&world, TOOL, 1, NULL);
  process = process_of (owner);
  allocate (&world, process, "node2", NULL);
  assert_default_nodes (&world, "node1");
  end_job (&world, owner);
  assert_default_nodes (&world, "node1 node2");
  report_in (&world, 2);
  wired (&world, campaign_of (&world, 1));
  assert_default_nodes (&world, "node1 node2");
}

/* ---- the end ---- */

/* Nothing comes back to a core that is not there any more. */
static void
test_timers (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest request = { .limit.time = 100, .limit.warn_timeout = 10 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  g_autoptr (DvmdClock) clock = NULL;
  DvmdJob *parent;
  g_autofree char *process = NULL;

  world_init_elastic (&world, 1, 8);
  clock = dvmd_clock_ref (world.clock);
  dvm_job_spec_set_timeout (spec, 50);
  launch_all (&world, submit_spec (&world, spec));
  parent = spawn_running (&world, TOOL, 1, NULL);
  process = process_of (parent);
  spawn_running (&world, process, 1, NULL);
  end_job (&world, parent);
  allocate (&world, TOOL, "node2", &request);
  world_clear (&world);
  dvmd_clock_advance (clock, 1000 * G_USEC_PER_SEC);
  world_init (&world, 1, 1, FALSE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sessions/overlap/D3-S6-order", test_order);
  g_test_add_func ("/sessions/overlap/S6-S21-detached-child", test_detached_child);
  g_test_add_func ("/sessions/overlap/D15-drain-children", test_drain_children);
  g_test_add_func ("/sessions/overlap/S6-long-line-released", test_long_line_released);
  g_test_add_func ("/sessions/overlap/S6-long-line-terminated", test_long_line_terminated);
  g_test_add_func ("/sessions/overlap/R56-owner-of-both", test_owner_of_both);
  g_test_add_func ("/sessions/overlap/D14-letters", test_letters);
  g_test_add_func ("/sessions/overlap/R69-S23-limit-in-drain", test_limit_in_drain);
  g_test_add_func ("/sessions/overlap/R69-S23-limit-of-children", test_limit_of_children);
  g_test_add_func ("/sessions/overlap/R53-R55-reclaimed-in-drain", test_reclaimed_in_drain);
  g_test_add_func ("/sessions/overlap/not-lent", test_not_lent);
  g_test_add_func ("/sessions/overlap/lent-by-another", test_lent_by_another);
  g_test_add_func ("/sessions/overlap/S16-S17-reasons", test_reasons);
  g_test_add_func ("/sessions/overlap/R56-owner-in-drain", test_owner_in_drain);
  g_test_add_func ("/sessions/overlap/R9-R40-target-of-extend", test_target_of_extend);
  g_test_add_func ("/sessions/overlap/S27-forgotten-parent", test_forgotten_parent);
  g_test_add_func ("/sessions/overlap/R41-many-owners", test_many_owners);
  g_test_add_func ("/sessions/overlap/R43-R46-guest", test_guest);
  g_test_add_func ("/sessions/overlap/S9-strange-process", test_strange_process);
  g_test_add_func ("/sessions/overlap/R46-R53-release-by-name", test_release_by_name);
  g_test_add_func ("/sessions/overlap/lent-by-name", test_lent_by_name);
  g_test_add_func ("/sessions/overlap/R36-reserved-at-any-moment", test_reserved_at_any_moment);
  g_test_add_func ("/sessions/overlap/R58-R61-unreserved-on-the-way", test_unreserved_on_the_way);
  g_test_add_func ("/sessions/overlap/R52-extend-fails", test_extend_fails);
  g_test_add_func ("/sessions/overlap/last-grow-decides", test_last_grow_decides);
  g_test_add_func ("/sessions/overlap/taken-in-drain", test_taken_in_drain);
  g_test_add_func ("/sessions/overlap/R52-discard-keeps", test_discard_keeps);
  g_test_add_func ("/sessions/overlap/S16-paused-at-any-moment", test_paused_at_any_moment);
  g_test_add_func ("/sessions/overlap/S16-paused-with-slots", test_paused_with_slots);
  g_test_add_func ("/sessions/overlap/S16-behind-held", test_behind_held);
  g_test_add_func ("/sessions/overlap/S16-place-of-held", test_place_of_held);
  g_test_add_func ("/sessions/overlap/timers", test_timers);
  return g_test_run ();
}

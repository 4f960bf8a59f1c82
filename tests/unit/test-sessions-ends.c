/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How sessions end in the pure core: released, with their owners, their parents, their time. Tests are named after the
 * statements of spec/CONFORMANCE.md that they show.
 */

#include "config.h"

#include "sessions-world.h"

static DvmdSession *
session_of (World *world, guint id)
{
  return dvmd_core_get_session (world->core, id);
}

static const char *
reason_of (DvmdJob *job)
{
  return dvm_job_get_reason (dvmd_job_get_record (job));
}

/* ---- inheritance ---- */

typedef struct
{
  World world;
  DvmdJob *owner;
  DvmdJob *child; /* of the owner */
  DvmdJob *grandchild;
  DvmdSession *session; /* node2, of the owner */
} Family;

static void
family_init (Family *self, DvmdInheritance inheritance, gboolean detached)
{
  const DvmdGrowRequest request = { .inheritance = inheritance, .inheritance_given = TRUE, .detached = detached };
  g_autofree char *owner = NULL;
  g_autofree char *child = NULL;

  *self = (Family){ 0 };
  world_init (&self->world, 2, 8, FALSE);
  bring_up (&self->world);
  self->owner = spawn_running (&self->world, TOOL, 1, NULL);
  owner = process_of (self->owner);
  self->session = allocate (&self->world, owner, "node2", &request);
  self->child = spawn_running (&self->world, owner, 1, NULL);
  child = process_of (self->child);
  self->grandchild = spawn_running (&self->world, child, 1, NULL);
}

static void
family_clear (Family *self)
{
  world_clear (&self->world);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Family, family_clear)

/* R56: at once, whoever still runs; R60: what was carved goes back. */
static void
test_none (void)
{
  g_auto (Family) family = { 0 };

  family_init (&family, DVMD_INHERIT_NONE, FALSE);
  end_job (&family.world, family.child);
  g_assert_nonnull (session_of (&family.world, 1));
  end_job (&family.world, family.owner);
  g_assert_null (session_of (&family.world, 1));
  assert_default_nodes (&family.world, "node1 node2");
  assert_state (family.grandchild, DVM_JOB_STATE_RUNNING);
}

/* R16, R58, R61, R73 */
static void
test_default (void)
{
  g_auto (Family) family = { 0 };

  family_init (&family, DVMD_INHERIT_DEFAULT, FALSE);
  assert_default_nodes (&family.world, "node1");
  end_job (&family.world, family.owner);
  g_assert_nonnull (session_of (&family.world, 1));
  assert_nodes (family.session, "node2");
  assert_default_nodes (&family.world, "node1 node2");
  g_assert_true (dvm_session_get_shared (dvmd_session_get_record (family.session)));
  assert_owners (family.session, "dvm-test@1");
  /* It goes when it is released, by the user of its owner. */
  g_assert_null (release (&family.world, TOOL, 1, NULL));
  g_assert_null (session_of (&family.world, 1));
}

/* R16, R73: what was not said is the default. */
static void
test_absent (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;

  world_init_elastic (&world, 2, 2);
  session = allocate (&world, TOOL, "node2", NULL);
  g_assert_cmpstr (dvm_session_get_inheritance (dvmd_session_get_record (session)), ==, "default");
  g_assert_false (dvm_session_get_shared (dvmd_session_get_record (session)));
}

/* R42, R57: the last descendant, at any depth, also when who is between is long gone. */
static void
test_child (void)
{
  g_auto (Family) family = { 0 };

  family_init (&family, DVMD_INHERIT_CHILD, FALSE);
  end_job (&family.world, family.owner);
  end_job (&family.world, family.child);
  /* The history has forgotten them. */
  for (guint i = 0; i < 5; i++)
    run_to_end (&family.world, submit (&family.world, 1));
  g_assert_null (dvmd_core_get_job (family.world.core, 1));
  assert_default_nodes (&family.world, "node1");
  g_assert_nonnull (session_of (&family.world, 1));
  end_job (&family.world, family.grandchild);
  g_assert_null (session_of (&family.world, 1));
  assert_default_nodes (&family.world, "node1 node2");
}

/* R59 */
static void
test_child_default (void)
{
  g_auto (Family) family = { 0 };

  family_init (&family, DVMD_INHERIT_CHILD_DEFAULT, FALSE);
  end_job (&family.world, family.grandchild);
  end_job (&family.world, family.owner);
  assert_default_nodes (&family.world, "node1");
  end_job (&family.world, family.child);
  assert_default_nodes (&family.world, "node1 node2");
  assert_nodes (family.session, "node2");
}

/* RP9, S21: detached from its owner; tied again, it goes at once. */
static void
test_detached (void)
{
  g_auto (Family) family = { 0 };

  family_init (&family, DVMD_INHERIT_NONE, TRUE);
  g_assert_true (dvm_session_get_separate (dvmd_session_get_record (family.session)));
  end_job (&family.world, family.owner);
  g_assert_nonnull (session_of (&family.world, 1));
  assert_default_nodes (&family.world, "node1");
  dvmd_core_separate_session (family.world.core, family.session, FALSE);
  run (&family.world);
  g_assert_null (session_of (&family.world, 1));
}

/* R12, R15, R28: whoever shares owns, for what comes at the end. */
static void
test_shared_none (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest request = { .share = TRUE, .inheritance = DVMD_INHERIT_NONE, .inheritance_given = TRUE };
  DvmdJob *owner;
  DvmdCampaign *campaign;
  g_autofree char *process = NULL;

  world_init_elastic (&world, 1, 2);
  owner = spawn_running (&world, TOOL, 1, NULL);
  process = process_of (owner);
  allocate (&world, process, "node2", &request);
  report_in (&world, 2);
  wired (&world, dvmd_core_get_campaign (world.core, 1));
  end_job (&world, owner);
  /* D3: what leaves, leaves by a campaign, of which nobody is told (E50). */
  campaign = dvmd_core_get_campaign (world.core, 2);
  g_assert_nonnull (campaign);
  g_assert_null (dvmd_campaign_get_requester (campaign));
  depart (&world, 2);
  offered (&world, campaign);
  g_assert_null (session_of (&world, 1));
}

/* RP4: a tool; its children are what it submitted, and what is in the session. */
static void
test_tool (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest request = { .inheritance = DVMD_INHERIT_CHILD, .inheritance_given = TRUE };
  DvmdSession *session;
  DvmdJob *own;
  DvmdJob *guest;
  DvmdJob *below;
  g_autofree char *process = NULL;

  world_init (&world, 2, 8, FALSE);
  bring_up (&world);
  session = allocate (&world, "pmix:tool.0", "node2", &request);
  own = spawn_running (&world, "pmix:tool.0", 1, NULL);
  guest = spawn_running (&world, TOOL, 1, alloc_of (session));
  process = process_of (guest);
  below = spawn_running (&world, process, 1, "-");
  dvmd_core_namespace_ended (world.core, "another");
  dvmd_core_namespace_ended (world.core, "tool");
  run (&world);
  end_job (&world, own);
  end_job (&world, guest);
  g_assert_nonnull (session_of (&world, 1));
  end_job (&world, below);
  g_assert_null (session_of (&world, 1));
}

/* R13, RP7, R14: an extend changes it, if it says so. */
static void
test_extend_inheritance (void)
{
  g_auto (Family) family = { 0 };
  DvmdGrowRequest request = { .extend = TRUE, .session = 1, .inheritance = DVMD_INHERIT_NONE };

  family_init (&family, DVMD_INHERIT_CHILD, FALSE);
  allocate (&family.world, TOOL, "node1", &request);
  g_assert_cmpstr (dvm_session_get_inheritance (dvmd_session_get_record (family.session)), ==, "child");
  request.inheritance_given = TRUE;
  allocate (&family.world, TOOL, NULL, &request);
  g_assert_cmpstr (dvm_session_get_inheritance (dvmd_session_get_record (family.session)), ==, "none");
  end_job (&family.world, family.owner);
  g_assert_null (session_of (&family.world, 1));
}

/* An owner that has ended does not end again: what is said after that is done at once, after the answer. */
static void
test_extend_after_owner (void)
{
  g_auto (Family) family = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  DvmdGrowRequest request = { .extend = TRUE, .session = 1, .inheritance_given = TRUE };

  family_init (&family, DVMD_INHERIT_CHILD, FALSE);
  end_job (&family.world, family.owner);
  request.inheritance = DVMD_INHERIT_DEFAULT;
  allocate (&family.world, TOOL, NULL, &request);
  assert_default_nodes (&family.world, "node1 node2");
  family_clear (&family);
  family_init (&family, DVMD_INHERIT_CHILD, FALSE);
  end_job (&family.world, family.owner);
  request.inheritance = DVMD_INHERIT_NONE;
  g_assert_true (try_allocate (&family.world, TOOL, NULL, &request, &answer, NULL));
  g_assert_nonnull (session_of (&family.world, 1));
  run (&family.world);
  g_assert_null (session_of (&family.world, 1));
}

/* ---- parents and children ---- */

/* S6: what a program in a session asks for is below that session. */
static void
test_children (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest request = { .session = 1, .share = TRUE };
  const DvmdGrowRequest separate = { .child_separate = TRUE };
  DvmdSession *parent;
  g_autofree char *process = NULL;

  world_init (&world, 5, 2, FALSE);
  bring_up (&world);
  parent = allocate (&world, TOOL, "node2", NULL);
  process = process_of (spawn_running (&world, TOOL, 1, alloc_of (parent)));
  allocate (&world, process, "node3", NULL);
  allocate (&world, process, "node4", &separate);
  allocate (&world, TOOL, "node5", &request);
  request.session = 2;
  allocate (&world, TOOL, "node5", &request);
  request.session = 9;
  refuse_allocate (&world, TOOL, "node5", &request, DVM_ERROR_NOT_FOUND);
  assert_strings (dvm_session_get_children (dvmd_session_get_record (parent)),
                  "/org/dvm/sessions/2 /org/dvm/sessions/3 /org/dvm/sessions/4");
  g_assert_cmpstr (dvm_session_get_parent (dvmd_session_get_record (session_of (&world, 5))), ==,
                   "/org/dvm/sessions/2");
  g_assert_cmpstr (dvm_session_get_parent (dvmd_session_get_record (parent)), ==, "/");
  g_assert_null (release (&world, TOOL, 1, NULL));
  g_assert_null (session_of (&world, 2));
  g_assert_null (session_of (&world, 4));
  g_assert_null (session_of (&world, 5));
  g_assert_nonnull (session_of (&world, 3));
  g_assert_cmpstr (dvm_session_get_parent (dvmd_session_get_record (session_of (&world, 3))), ==, "/");
}

/* ---- jobs ---- */

/* S5, R62, R64: it is there as long as its jobs; its nodes are free at once, and nobody is ended. */
static void
test_release_while_running (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;
  DvmdJob *job;
  g_autofree char *alloc_id = NULL;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  session = allocate (&world, TOOL, "node2", NULL);
  alloc_id = g_strdup (alloc_of (session));
  job = spawn_running (&world, TOOL, 1, alloc_id);
  g_assert_null (release (&world, TOOL, 1, NULL));
  assert_state (job, DVM_JOB_STATE_RUNNING);
  g_assert_true (session_of (&world, 1) == session);
  g_assert_true (dvmd_session_is_ending (session));
  /* It is seen: that there is none would not be true. */
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL;
      DvmdSession *found = NULL;

      dvmd_core_select_session (world.core, i, i == 0 ? alloc_of (session) : NULL, NULL, &found, &error);
      g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
      g_assert_nonnull (strstr (error->message, "any more: it is ending"));
    }
  assert_default_nodes (&world, "node1 node2");
  refuse_spawn (&world, TOOL, alloc_id, DVM_ERROR_NOT_FOUND);
  refuse_release (&world, TOOL, 1, NULL, DVM_ERROR_NOT_FOUND);
  refuse_release (&world, SCHEDULER, 1, NULL, DVM_ERROR_NOT_FOUND);
  end_job (&world, job);
  g_assert_null (session_of (&world, 1));
}

/* D18: wherever it waits; in any of its sessions; with the cause; and those of others are not touched. */
static void
test_never_launched (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;
  DvmdJob *parked[2];
  DvmdJob *others;
  g_autofree char *both = NULL;

  world_init_elastic (&world, 3, 2);
  session = allocate (&world, TOOL, "node2", NULL);
  both = g_strdup_printf ("- %s", alloc_of (session));
  grow (&world, "node9");
  parked[0] = spawn (&world, TOOL, 1, alloc_of (session));
  parked[1] = spawn (&world, TOOL, 1, both);
  others = spawn (&world, TOOL, 1, NULL);
  assert_held (parked[1], "map");
  release (&world, TOOL, 1, NULL);
  for (guint i = 0; i < 2; i++)
    {
      assert_state (parked[i], DVM_JOB_STATE_NEVER_LAUNCHED);
      g_assert_nonnull (strstr (reason_of (parked[i]), "session 1 (dvm-test.alloc.1) has ended: It was released"));
    }
  assert_held (others, "map");
  g_assert_null (session_of (&world, 1));
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 1);
}

/* D18, D3, R63: likewise when nodes leave with it, at once. */
static void
test_never_launched_by_shrink (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;
  DvmdCampaign *campaign;
  DvmdJob *running;
  DvmdJob *waiting;

  world_init_elastic (&world, 1, 2);
  session = allocate (&world, TOOL, "node2", NULL);
  report_in (&world, 2);
  wired (&world, dvmd_core_get_campaign (world.core, 1));
  running = spawn_running (&world, TOOL, 2, alloc_of (session));
  waiting = spawn (&world, TOOL, 2, alloc_of (session));
  assert_held (waiting, "slots");
  campaign = release (&world, TOOL, 1, NULL);
  assert_state (waiting, DVM_JOB_STATE_NEVER_LAUNCHED);
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 0);
  depart (&world, 2);
  assert_state (running, DVM_JOB_STATE_KILLED_BY_CMD);
  offered (&world, campaign);
  g_assert_null (session_of (&world, 1));
}

static DvmdJob *
spawn_with_files (World *world, const char *targets)
{
  g_autoptr (DvmJobSpec) spec = make_targets (1, targets);
  const char *files[] = { "/tmp/data.txt", NULL };

  dvm_app_spec_set_preload_files (dvm_job_spec_get_app (spec, 0), files);
  return submit_as (world, TOOL, spec, NULL);
}

/* D18: also those that are on their way, with files or at the launch gate; what there is of them is cleared away. */
static void
test_ends_on_the_way (void)
{
  g_auto (World) world = { 0 };
  DvmdSession *session;
  DvmdJob *staging;
  DvmdJob *parked;
  DvmdJob *others;

  world_init_elastic (&world, 3, 4);
  session = allocate (&world, TOOL, "node2", NULL);
  staging = spawn_with_files (&world, alloc_of (session));
  parked = spawn_with_files (&world, alloc_of (session));
  others = spawn_with_files (&world, NULL);
  shrink (&world, "node3");
  dvmd_core_files_staged (world.core, parked, 2, NULL);
  dvmd_core_files_staged (world.core, others, 1, NULL);
  run (&world);
  assert_state (staging, DVM_JOB_STATE_SYSTEM_PREP);
  assert_held (parked, "launch");
  assert_held (others, "launch");
  g_string_truncate (world.log, 0);
  release (&world, TOOL, 1, NULL);
  assert_state (staging, DVM_JOB_STATE_NEVER_LAUNCHED);
  assert_state (parked, DVM_JOB_STATE_NEVER_LAUNCHED);
  assert_log (&world, "kill 1\nkill 2\n");
  g_assert_nonnull (session_of (&world, 1));
  dvmd_core_job_gone (world.core, staging, 2);
  dvmd_core_job_gone (world.core, parked, 2);
  run (&world);
  g_assert_null (session_of (&world, 1));
  depart (&world, 3);
  assert_state (others, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (dvmd_core_get_nodes (world.core)), ==, 1);
}

/* D15, D18: a drain lets those launch that are placed already, and no others. */
static void
test_drain (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmdRequester) requester = dvmd_requester_new (TOOL, 1000, 42);
  DvmdShrinkRequest request = { .requester = requester, .session = 1, .drain_timeout = 60 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  DvmdSession *session;
  DvmdJob *placed;
  DvmdJob *waiting;

  world_init_elastic (&world, 1, 4);
  session = allocate (&world, TOOL, "node2", NULL);
  report_in (&world, 2);
  wired (&world, dvmd_core_get_campaign (world.core, 1));
  placed = spawn_with_files (&world, alloc_of (session));
  waiting = spawn (&world, TOOL, 2, alloc_of (session));
  assert_held (waiting, "slots");
  g_assert_true (dvmd_core_shrink (world.core, &request, &answer, NULL));
  run (&world);
  assert_state (waiting, DVM_JOB_STATE_NEVER_LAUNCHED);
  dvmd_core_files_staged (world.core, placed, 2, NULL);
  run (&world);
  assert_state (placed, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  run_to_end (&world, placed);
  assert_state (placed, DVM_JOB_STATE_NOTIFIED);
  assert_campaign (dvmd_core_get_campaign (world.core, 2), DVM_CAMPAIGN_STATE_RUNNING);
  depart (&world, 2);
  offered (&world, dvmd_core_get_campaign (world.core, 2));
  g_assert_null (session_of (&world, 1));
}

/* Between the number and the job the session may end. */
static void
test_ends_before_job (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = NULL;
  g_autoptr (DvmdRequester) requester = dvmd_requester_new (TOOL, 1000, 42);
  g_autoptr (GError) error = NULL;
  guint id;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  spec = make_targets (1, alloc_of (allocate (&world, TOOL, "node2", NULL)));
  id = dvmd_core_reserve (world.core, spec, requester, &error);
  g_assert_cmpuint (id, ==, 1);
  release (&world, TOOL, 1, NULL);
  g_assert_null (dvmd_core_submit_reserved (world.core, id, spec, requester, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  g_assert_cmpuint (dvmd_core_get_num_live (world.core), ==, 0);
}

/* ---- time ---- */

typedef struct
{
  GString *log;
} Told;

static void
on_warned (DvmdCore *core, DvmdSession *session, guint left, Told *told)
{
  g_string_append_printf (told->log, "%u:%u ", dvmd_session_get_id (session), left);
}

static void
pass (World *world, guint seconds)
{
  dvmd_clock_advance (world->clock, (gint64)seconds * G_USEC_PER_SEC);
  run (world);
}

/* R65-R70, S20, S23, RP7 */
static void
test_limit (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest request = { .limit.time = 100, .limit.warn_timeout = 30 };
  g_autoptr (GString) log = g_string_new (NULL);
  g_autoptr (DvmSession) kept = NULL;
  Told told = { .log = log };
  DvmdSession *session;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  g_signal_connect (world.core, "session-warned", G_CALLBACK (on_warned), &told);
  session = allocate (&world, TOOL, "node2", &request);
  g_assert_cmpint (dvm_session_get_expires_at (dvmd_session_get_record (session)), ==,
                   dvmd_clock_now (world.clock) + 100 * G_USEC_PER_SEC);
  g_assert_cmpstr (dvmd_session_get_requester (session)->name, ==, TOOL);
  pass (&world, 69);
  g_assert_cmpstr (log->str, ==, "");
  pass (&world, 1);
  g_assert_cmpstr (log->str, ==, "1:30 ");
  assert_nodes (session, "node2");
  kept = g_object_ref (dvmd_session_get_record (session));
  request = (DvmdGrowRequest){ .extend = TRUE, .session = 1, .limit.time = 50, .limit.warn_timeout = 60 };
  allocate (&world, ":1.7", NULL, &request);
  g_assert_cmpstr (dvmd_session_get_requester (session)->name, ==, ":1.7");
  /* Its warning is due already. */
  pass (&world, 0);
  g_assert_cmpstr (log->str, ==, "1:30 1:50 ");
  pass (&world, 49);
  g_assert_nonnull (session_of (&world, 1));
  pass (&world, 1);
  g_assert_null (session_of (&world, 1));
  g_assert_cmpstr (dvm_session_get_reason (kept), ==, "Its time is over");
  assert_default_nodes (&world, "node1 node2");
  pass (&world, 1000);
  g_assert_cmpstr (log->str, ==, "1:30 1:50 ");
}

/* S23: what was instantiated ends with its jobs; R64: an allocation ends without them. */
static void
test_limit_jobs (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest request = { .limit.time = 100, .inheritance = DVMD_INHERIT_NONE, .inheritance_given = TRUE };
  DvmdJob *jobs[2];

  world_init (&world, 3, 2, FALSE);
  bring_up (&world);
  jobs[0] = spawn_running (&world, TOOL, 1, alloc_of (allocate (&world, TOOL, "node2", &request)));
  request.instantiated = TRUE;
  jobs[1] = spawn_running (&world, TOOL, 1, alloc_of (allocate (&world, TOOL, "node3", &request)));
  pass (&world, 100);
  assert_default_nodes (&world, "node1 node2");
  assert_state (jobs[0], DVM_JOB_STATE_RUNNING);
  assert_state (jobs[1], DVM_JOB_STATE_KILLED_BY_CMD);
  all_gone (&world, jobs[1]);
  assert_default_nodes (&world, "node1 node2 node3");
  g_assert_null (session_of (&world, 2));
  end_job (&world, jobs[0]);
  g_assert_null (session_of (&world, 1));
}

/* S20: 0 takes it away; a warning alone is one of the limit that there is. */
static void
test_limit_changed (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest request = { .limit.time = 100 };
  g_autoptr (GString) log = g_string_new (NULL);
  Told told = { .log = log };

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  g_signal_connect (world.core, "session-warned", G_CALLBACK (on_warned), &told);
  allocate (&world, TOOL, "node2", &request);
  request = (DvmdGrowRequest){ .extend = TRUE, .session = 1, .limit.warn_timeout = 20 };
  allocate (&world, TOOL, NULL, &request);
  pass (&world, 80);
  g_assert_cmpstr (log->str, ==, "1:20 ");
  request = (DvmdGrowRequest){ .extend = TRUE, .session = 1, .limit.time_given = TRUE };
  allocate (&world, TOOL, NULL, &request);
  g_assert_cmpint (dvm_session_get_expires_at (dvmd_session_get_record (session_of (&world, 1))), ==, 0);
  pass (&world, 1000);
  g_assert_nonnull (session_of (&world, 1));
}

/* R69: an extension renews the warning, as long before the new end; what is left of a second counts as one. */
static void
test_limit_renewed (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest request = { .limit.time = 100, .limit.warn_timeout = 30 };
  g_autoptr (GString) log = g_string_new (NULL);
  Told told = { .log = log };

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  g_signal_connect (world.core, "session-warned", G_CALLBACK (on_warned), &told);
  allocate (&world, TOOL, "node2", &request);
  pass (&world, 70);
  g_assert_cmpstr (log->str, ==, "1:30 ");
  request = (DvmdGrowRequest){ .extend = TRUE, .session = 1, .limit.time = 50, .limit.time_given = TRUE };
  allocate (&world, TOOL, NULL, &request);
  dvmd_clock_advance (world.clock, 20 * G_USEC_PER_SEC + 10);
  run (&world);
  g_assert_cmpstr (log->str, ==, "1:30 1:30 ");
  /* None before the next end, until one is asked for again. */
  request = (DvmdGrowRequest){ .extend = TRUE, .session = 1, .limit.warn_timeout_given = TRUE };
  allocate (&world, TOOL, NULL, &request);
  request = (DvmdGrowRequest){ .extend = TRUE, .session = 1, .limit.time = 60, .limit.time_given = TRUE };
  allocate (&world, TOOL, NULL, &request);
  pass (&world, 58);
  g_assert_cmpstr (log->str, ==, "1:30 1:30 ");
  request = (DvmdGrowRequest){ .extend = TRUE, .session = 1, .limit.warn_timeout = 1 };
  allocate (&world, TOOL, NULL, &request);
  pass (&world, 1);
  g_assert_cmpstr (log->str, ==, "1:30 1:30 1:1 ");
}

/* A warning may be wished for before there is a limit. */
static void
test_limit_later (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest request = { .limit.warn_timeout = 30 };
  g_autoptr (GString) log = g_string_new (NULL);
  Told told = { .log = log };

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  g_signal_connect (world.core, "session-warned", G_CALLBACK (on_warned), &told);
  allocate (&world, TOOL, "node2", &request);
  pass (&world, 1000);
  request = (DvmdGrowRequest){ .extend = TRUE, .session = 1, .limit.time = 50, .limit.time_given = TRUE };
  allocate (&world, TOOL, NULL, &request);
  pass (&world, 19);
  g_assert_cmpstr (log->str, ==, "");
  /* The timer is late. */
  dvmd_clock_advance (world.clock, G_USEC_PER_SEC + 10);
  run (&world);
  g_assert_cmpstr (log->str, ==, "1:30 ");
}

/* R55, R65: with a scheduler it is that one's affair; R7, R74: without any word nothing happens. */
static void
test_limit_outside (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest outside = { .limit.time = 10, .limit.warn_timeout = 5, .limit.outside = TRUE };
  const DvmdGrowRequest quiet = { .limit.time = 20 };
  g_autoptr (GString) log = g_string_new (NULL);
  Told told = { .log = log };

  world_init (&world, 3, 2, FALSE);
  bring_up (&world);
  g_signal_connect (world.core, "session-warned", G_CALLBACK (on_warned), &told);
  allocate (&world, TOOL, "node2", &outside);
  allocate (&world, TOOL, "node3", &quiet);
  g_assert_cmpint (dvm_session_get_expires_at (dvmd_session_get_record (session_of (&world, 1))), !=, 0);
  pass (&world, 1000);
  g_assert_nonnull (session_of (&world, 1));
  g_assert_null (session_of (&world, 2));
  g_assert_cmpstr (log->str, ==, "");
  dvmd_core_warn_session (world.core, session_of (&world, 1), 7);
  g_assert_cmpstr (log->str, ==, "1:7 ");
}

/* ---- many ---- */

/* A session that is held by nobody is gone: no job and no other session keeps it (S5). */
static void
test_no_cycle (void)
{
  g_auto (World) world = { 0 };
  DvmdGrowRequest child = { .session = 1 };
  gpointer weak[2];
  DvmdJob *job;

  world_init (&world, 3, 2, FALSE);
  bring_up (&world);
  weak[0] = allocate (&world, TOOL, "node2", NULL);
  weak[1] = allocate (&world, TOOL, "node3", &child);
  for (guint i = 0; i < 2; i++)
    g_object_add_weak_pointer (weak[i], &weak[i]);
  job = spawn_running (&world, TOOL, 1, alloc_of (weak[0]));
  g_object_ref (job);
  release (&world, TOOL, 1, NULL);
  g_assert_null (weak[1]);
  g_assert_nonnull (weak[0]);
  end_job (&world, job);
  g_assert_null (weak[0]);
  g_object_unref (job);
}

/* A thousand of them leave nothing behind: not in the default session, not on the nodes, not in the core. */
static void
test_thousand (void)
{
  g_auto (World) world = { 0 };
  const DvmdGrowRequest request = { .limit.time = 60, .limit.warn_timeout = 10, .req_id = "again" };

  world_init (&world, 3, 2, FALSE);
  bring_up (&world);
  for (guint i = 1; i <= 1000; i++)
    {
      DvmdSession *session = allocate (&world, TOOL, "node2 node3", &request);
      gpointer weak = session;

      g_object_add_weak_pointer (weak, &weak);
      g_assert_cmpuint (dvmd_session_get_id (session), ==, i);
      run_to_end (&world, spawn (&world, TOOL, 3, alloc_of (session)));
      release (&world, TOOL, i, NULL);
      g_assert_null (weak);
      g_string_truncate (world.log, 0);
    }
  g_assert_true (dvmd_core_next_session (world.core, NULL) == session_of (&world, 0));
  g_assert_null (dvmd_core_next_session (world.core, session_of (&world, 0)));
  assert_default_nodes (&world, "node1 node2 node3");
  assert_owners (session_of (&world, 0), "");
  pass (&world, 100);
}

/* S22: told once, with what became of its jobs, and never before whoever ended it has his answer. */
static void
test_told (void)
{
  g_auto (World) world = { 0 };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  DvmdSession *session;

  world_init (&world, 2, 2, FALSE);
  bring_up (&world);
  world.logs_sessions = TRUE;
  session = allocate (&world, TOOL, "node2", NULL);
  run_to_end (&world, spawn (&world, TOOL, 1, alloc_of (session)));
  g_string_truncate (world.log, 0);
  try_release (&world, TOOL, 1, NULL, &answer, NULL);
  assert_log (&world, "");
  run (&world);
  assert_log (&world, "session 1: [(1, 35, 0, '')]\n");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sessions/ends/R56-R60-none", test_none);
  g_test_add_func ("/sessions/ends/R16-R58-R61-R73-default", test_default);
  g_test_add_func ("/sessions/ends/R16-R73-absent", test_absent);
  g_test_add_func ("/sessions/ends/R42-R57-child", test_child);
  g_test_add_func ("/sessions/ends/R59-child-default", test_child_default);
  g_test_add_func ("/sessions/ends/RP9-S21-detached", test_detached);
  g_test_add_func ("/sessions/ends/R12-R15-R28-R60-D3-shared-none", test_shared_none);
  g_test_add_func ("/sessions/ends/RP4-tool", test_tool);
  g_test_add_func ("/sessions/ends/R13-RP7-extend-inheritance", test_extend_inheritance);
  g_test_add_func ("/sessions/ends/R13-extend-after-owner", test_extend_after_owner);
  g_test_add_func ("/sessions/ends/S6-children", test_children);
  g_test_add_func ("/sessions/ends/S3-S5-R62-R64-release-while-running", test_release_while_running);
  g_test_add_func ("/sessions/ends/D18-never-launched", test_never_launched);
  g_test_add_func ("/sessions/ends/D18-D3-R63-never-launched-by-shrink", test_never_launched_by_shrink);
  g_test_add_func ("/sessions/ends/D18-on-the-way", test_ends_on_the_way);
  g_test_add_func ("/sessions/ends/D15-D18-drain", test_drain);
  g_test_add_func ("/sessions/ends/D18-before-job", test_ends_before_job);
  g_test_add_func ("/sessions/ends/R65-R67-R68-R69-R70-S20-S23-limit", test_limit);
  g_test_add_func ("/sessions/ends/S23-R64-limit-jobs", test_limit_jobs);
  g_test_add_func ("/sessions/ends/S20-limit-changed", test_limit_changed);
  g_test_add_func ("/sessions/ends/R69-limit-renewed", test_limit_renewed);
  g_test_add_func ("/sessions/ends/R69-R74-limit-later", test_limit_later);
  g_test_add_func ("/sessions/ends/R55-R65-R74-limit-outside", test_limit_outside);
  g_test_add_func ("/sessions/ends/S5-no-cycle", test_no_cycle);
  g_test_add_func ("/sessions/ends/thousand", test_thousand);
  g_test_add_func ("/sessions/ends/S22-told", test_told);
  return g_test_run ();
}

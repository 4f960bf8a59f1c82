/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The rules of the queue by themselves, and jobs in a core that follows them.
 */

#include "config.h"

#include "core-world.h"
#include "dvm-job-spec-private.h"
#include "dvmd-core-session-control.h"
#include "dvmd-queue.h"

/* ---- the rules ---- */

static void
test_order (void)
{
  const DvmdQueuePlace places[] = {
    { TRUE, -5, 9 }, { TRUE, -6, 1 }, { FALSE, 1000, 8 }, { FALSE, 1, 5 },     { FALSE, 1, 6 },
    { FALSE, 0, 2 }, { FALSE, 0, 3 }, { FALSE, -1, 1 },   { FALSE, -1000, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    for (guint k = 0; k < G_N_ELEMENTS (places); k++)
      {
        int order = dvmd_queue_compare (&places[i], &places[k]);

        g_assert_cmpint (order < 0, ==, i < k);
        g_assert_cmpint (order > 0, ==, i > k);
      }
}

static void
test_start (void)
{
  DvmdQueueEnd ends[] = { { 500, 2 }, { G_MAXINT64, 8 }, { 200, 1 }, { 300, 3 } };
  guint n = G_N_ELEMENTS (ends);

  g_assert_cmpint (dvmd_queue_find_start (4, 4, 100, ends, n), ==, 100);
  g_assert_cmpint (dvmd_queue_find_start (5, 4, 100, ends, n), ==, 200);
  g_assert_cmpint (dvmd_queue_find_start (6, 4, 100, ends, n), ==, 300);
  g_assert_cmpint (dvmd_queue_find_start (8, 4, 100, ends, n), ==, 300);
  g_assert_cmpint (dvmd_queue_find_start (9, 4, 100, ends, n), ==, 500);
  /* The rest has no end that is known. */
  g_assert_cmpint (dvmd_queue_find_start (11, 4, 100, ends, n), ==, G_MAXINT64);
  /* One whose time is over ends any moment. */
  g_assert_cmpint (dvmd_queue_find_start (5, 4, 250, ends, n), ==, 250);
  g_assert_cmpint (dvmd_queue_find_start (1, 0, 100, NULL, 0), ==, G_MAXINT64);
}

static void
test_may_backfill (void)
{
  g_assert_true (dvmd_queue_may_backfill (100, 50, 150));
  g_assert_false (dvmd_queue_may_backfill (100, 51, 150));
  g_assert_false (dvmd_queue_may_backfill (100, 0, 150));
  g_assert_false (dvmd_queue_may_backfill (100, 1, G_MAXINT64));
  g_assert_false (dvmd_queue_may_backfill (100, 1, 100));
}

static void
test_dependency (void)
{
  static const DvmdDependencyState open = DVMD_DEPENDENCY_OPEN, done = DVMD_DEPENDENCY_FULFILLED,
                                   broken = DVMD_DEPENDENCY_BROKEN;
  const struct
  {
    gboolean started;
    gboolean ended;
    gboolean failed;
    DvmdDependencyState states[DVMD_AFTER_N_KINDS];
  } cases[] = {
    { FALSE, FALSE, FALSE, { open, open, open } }, { TRUE, FALSE, FALSE, { done, open, open } },
    { TRUE, FALSE, TRUE, { done, open, open } },   { TRUE, TRUE, FALSE, { done, done, done } },
    { TRUE, TRUE, TRUE, { done, broken, done } },  { FALSE, TRUE, TRUE, { done, broken, done } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (DvmdAfter kind = 0; kind < DVMD_AFTER_N_KINDS; kind++)
      g_assert_cmpint (dvmd_queue_judge_dependency (kind, cases[i].started, cases[i].ended, cases[i].failed), ==,
                       cases[i].states[kind]);
}

/* ---- jobs ---- */

static void
start_world (World *world, guint n_nodes, guint slots, gboolean queue, guint max_running, gboolean elastic)
{
  DvmdCoreSettings settings = { .nspace = "dvm-test",
                                .host = "head",
                                .history_limit = 100,
                                .elastic = elastic,
                                .park_limit = 60,
                                .grow_timeout = 60,
                                .queue = queue,
                                .queue_max_running = max_running,
                                .uid = 1000 };

  world_init_with (world, n_nodes, slots, &settings);
  bring_up (world);
}

static DvmdJob *
submit_urgent (World *world, guint np, int priority)
{
  g_autoptr (DvmJobSpec) spec = make_spec (np);

  dvm_job_spec_set_priority (spec, priority);
  return submit_spec (world, spec);
}

static DvmdJob *
submit_limited (World *world, guint np, guint seconds)
{
  g_autoptr (DvmJobSpec) spec = make_spec (np);

  dvm_job_spec_set_timeout (spec, seconds);
  return submit_spec (world, spec);
}

typedef void (*SetJobs) (DvmJobSpec *spec, const char *const *jobs);

static DvmdJob *
submit_after (World *world, SetJobs set, DvmdJob *first, DvmdJob *second)
{
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  g_autofree char *id = g_strdup_printf ("%u", dvmd_job_get_id (first));
  const char *jobs[] = { id, NULL, NULL };

  if (second != NULL)
    jobs[1] = dvm_job_get_nspace (dvmd_job_get_record (second));
  set (spec, jobs);
  return submit_spec (world, spec);
}

static void
fail (World *world, DvmdJob *job)
{
  launch_all (world, job);
  end_proc (world, job, 0, DVM_PROC_STATE_TERM_NON_ZERO, 3, 0);
  all_gone (world, job);
  g_assert_true (dvmd_job_get_ended (job));
}

static void
assert_sent (DvmdJob *job)
{
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  assert_held (job, "");
}

/* Of jobs that wait the most urgent one goes first; nothing that runs is stopped for it. */
static void
test_priority (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *running;
  DvmdJob *usual;
  DvmdJob *low;
  DvmdJob *urgent;

  start_world (&world, 1, 2, FALSE, 0, FALSE);
  running = submit (&world, 2);
  low = submit_urgent (&world, 2, -1);
  usual = submit (&world, 2);
  urgent = submit_urgent (&world, 2, 5);
  assert_sent (running);
  assert_held (urgent, "slots");
  g_assert_cmpint (dvm_job_get_priority (dvmd_job_get_record (urgent)), ==, 5);
  run_to_end (&world, running);
  assert_sent (urgent);
  run_to_end (&world, urgent);
  assert_sent (usual);
  assert_held (low, "slots");
  run_to_end (&world, usual);
  assert_sent (low);
}

/* An urgent job that fits does not stand behind a large one that waits; another one does. */
static void
test_priority_fits (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *large;

  start_world (&world, 1, 4, FALSE, 0, FALSE);
  submit (&world, 3);
  large = submit (&world, 4);
  assert_held (submit (&world, 1), "slots");
  assert_held (submit_urgent (&world, 1, -7), "slots");
  assert_sent (submit_urgent (&world, 1, 1));
  assert_held (large, "slots");
}

/* The queue follows a priority that is changed; what is first now goes if it fits. */
static void
test_priority_changed (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (2);
  g_autoptr (GError) error = NULL;
  DvmdJob *running;
  DvmdJob *large;
  DvmdJob *usual;
  DvmdJob *small;
  DvmdJob *held;

  start_world (&world, 1, 4, FALSE, 0, FALSE);
  running = submit (&world, 2);
  large = submit (&world, 4);
  usual = submit (&world, 3);
  small = submit (&world, 2);
  dvm_job_spec_set_hold (spec, TRUE);
  held = submit_spec (&world, spec);
  g_assert_true (dvmd_core_set_job_priority (world.core, held, 7, NULL));
  assert_held (small, "slots");
  g_assert_true (dvmd_core_set_job_priority (world.core, usual, -1000, NULL));
  run (&world);
  assert_held (small, "slots");
  g_assert_true (dvmd_core_set_job_priority (world.core, small, 1000, NULL));
  run (&world);
  assert_sent (small);
  g_assert_cmpint (dvm_job_get_priority (dvmd_job_get_record (small)), ==, 1000);
  g_assert_false (dvmd_core_set_job_priority (world.core, small, 1, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  g_assert_false (dvmd_core_set_job_priority (world.core, large, 1001, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_clear_error (&error);
  g_assert_false (dvmd_core_set_job_priority (world.core, large, -1001, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_clear_error (&error);
  run_to_end (&world, running);
  /* Released, it stands where its priority says now. */
  g_assert_true (dvmd_core_release_job (world.core, held, NULL));
  run (&world);
  assert_sent (held);
  run_to_end (&world, held);
  run_to_end (&world, small);
  assert_sent (large);
  run_to_end (&world, large);
  assert_sent (usual);
  g_assert_false (dvmd_core_set_job_priority (world.core, large, 1, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
}

/* A job that is held holds up nobody, and has its old turn when it is released. */
static void
test_hold (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (2);
  g_autoptr (GError) error = NULL;
  DvmdJob *running;
  DvmdJob *first;
  DvmdJob *second;
  DvmdJob *held;

  start_world (&world, 1, 2, FALSE, 0, FALSE);
  running = submit (&world, 2);
  first = submit (&world, 2);
  second = submit (&world, 2);
  dvm_job_spec_set_hold (spec, TRUE);
  held = submit_spec (&world, spec);
  assert_held (held, "hold");
  g_assert_false (dvm_job_get_paused (dvmd_job_get_record (held)));
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 3);
  g_assert_true (dvmd_core_hold_job (world.core, first, NULL));
  run (&world);
  assert_held (first, "hold");
  run_to_end (&world, running);
  assert_sent (second);
  g_assert_true (dvmd_core_release_job (world.core, held, NULL));
  g_assert_true (dvmd_core_release_job (world.core, first, NULL));
  run (&world);
  assert_held (held, "slots");
  assert_held (first, "slots");
  g_assert_false (dvmd_core_hold_job (world.core, second, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  run_to_end (&world, second);
  assert_sent (first);
  run_to_end (&world, first);
  assert_sent (held);
  g_assert_false (dvmd_core_release_job (world.core, first, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
}

/* A job that is held can be cancelled; nothing of it is left. */
static void
test_hold_cancelled (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  DvmdJob *held;

  start_world (&world, 1, 2, FALSE, 0, FALSE);
  dvm_job_spec_set_hold (spec, TRUE);
  held = submit_spec (&world, spec);
  g_assert_true (dvmd_core_fail_job (world.core, held, DVM_JOB_STATE_KILLED_BY_CMD, "cancelled"));
  run (&world);
  assert_state (held, DVM_JOB_STATE_KILLED_BY_CMD);
  g_assert_true (dvmd_job_get_ended (held));
  assert_held (held, "");
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 0);
  g_assert_cmpuint (dvmd_core_get_num_live (world.core), ==, 0);
}

/* The nodes that a job brings along come when it is released, and not before. */
static void
test_hold_brings_nodes (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  const char *hosts[] = { "node2", NULL };
  DvmdJob *held;

  start_world (&world, 1, 2, FALSE, 0, TRUE);
  dvm_job_spec_set_hold (spec, TRUE);
  dvm_job_spec_set_add_hosts (spec, hosts);
  held = submit_spec (&world, spec);
  assert_state (held, DVM_JOB_STATE_ALLOCATE);
  assert_held (held, "hold");
  g_assert_cmpuint (dvmd_core_get_last_campaign_id (world.core), ==, 0);
  g_assert_true (dvmd_core_release_job (world.core, held, NULL));
  run (&world);
  g_assert_cmpuint (dvmd_core_get_last_campaign_id (world.core), ==, 1);
}

static void
test_after (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *first;
  DvmdJob *second;
  DvmdJob *started;
  DvmdJob *ok;
  DvmdJob *any;
  DvmdJob *both;

  start_world (&world, 1, 16, FALSE, 0, FALSE);
  first = submit (&world, 1);
  second = submit (&world, 1);
  started = submit_after (&world, dvm_job_spec_set_after, first, NULL);
  ok = submit_after (&world, dvm_job_spec_set_after_ok, first, NULL);
  any = submit_after (&world, dvm_job_spec_set_after_any, second, NULL);
  both = submit_after (&world, dvm_job_spec_set_after_any, first, second);
  assert_held (started, "jobs");
  g_assert_cmpstr (dvm_job_get_awaited_jobs (dvmd_job_get_record (both))[0], ==, "/org/dvm/jobs/1");
  g_assert_cmpstr (dvm_job_get_awaited_jobs (dvmd_job_get_record (both))[1], ==, "/org/dvm/jobs/2");
  launch_all (&world, first);
  assert_sent (started);
  assert_held (ok, "jobs");
  end_proc (&world, first, 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  assert_held (ok, "jobs");
  all_gone (&world, first);
  assert_sent (ok);
  assert_held (both, "jobs");
  g_assert_cmpstr (dvm_job_get_awaited_jobs (dvmd_job_get_record (both))[0], ==, "/org/dvm/jobs/2");
  g_assert_null (dvm_job_get_awaited_jobs (dvmd_job_get_record (both))[1]);
  fail (&world, second);
  assert_sent (any);
  assert_sent (both);
  g_assert_null (dvm_job_get_awaited_jobs (dvmd_job_get_record (both))[0]);
}

/* A job that depends on one that fails never runs, and neither does what depends on that. */
static void
test_after_failed (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *first;
  DvmdJob *ok;
  DvmdJob *next;
  DvmdJob *late;

  start_world (&world, 1, 4, FALSE, 0, FALSE);
  first = submit (&world, 1);
  ok = submit_after (&world, dvm_job_spec_set_after_ok, first, NULL);
  next = submit_after (&world, dvm_job_spec_set_after_ok, ok, NULL);
  fail (&world, first);
  assert_state (ok, DVM_JOB_STATE_NEVER_LAUNCHED);
  assert_state (next, DVM_JOB_STATE_NEVER_LAUNCHED);
  g_assert_true (dvmd_job_get_ended (next));
  g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (ok)), "dvm-test@1"));
  /* It is the same for a job that comes later. */
  late = submit_after (&world, dvm_job_spec_set_after_ok, first, NULL);
  assert_state (late, DVM_JOB_STATE_NEVER_LAUNCHED);
  assert_sent (submit_after (&world, dvm_job_spec_set_after_any, first, NULL));
  assert_sent (submit_after (&world, dvm_job_spec_set_after, first, NULL));
  g_assert_cmpuint (dvmd_core_get_num_held (world.core), ==, 0);
}

/* A job can only name jobs that there are: neither itself, nor one that comes. */
static void
test_after_unknown (void)
{
  g_auto (World) world = { 0 };
  const char *names[] = { "1", "0", "2", "-1", "x", "dvm-test@1", "/org/dvm/jobs/1", "/org/dvm/jobs/x", "4294967297" };

  start_world (&world, 1, 4, FALSE, 0, FALSE);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", 1000, 42);
      g_autoptr (DvmJobSpec) spec = make_spec (1);
      g_autoptr (GError) error = NULL;
      const char *jobs[] = { names[i], NULL };

      dvm_job_spec_set_after_ok (spec, jobs);
      g_assert_null (dvmd_core_submit (world.core, spec, requester, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
      g_assert_nonnull (strstr (error->message, "after-ok"));
      g_assert_nonnull (strstr (error->message, names[i]));
    }
  g_assert_cmpuint (dvm_job_get_id (dvmd_job_get_record (submit (&world, 1))), ==, 1);
}

static DvmdJob *
submit_named (World *world, const char *name, gboolean singleton)
{
  g_autoptr (DvmJobSpec) spec = make_spec (1);

  dvm_job_spec_set_name (spec, name);
  dvm_job_spec_set_singleton (spec, singleton);
  return submit_spec (world, spec);
}

/* Jobs of one name, one after the other; those of other names are not concerned. */
static void
test_singleton (void)
{
  g_auto (World) world = { 0 };
  DvmdJob *first;
  DvmdJob *second;
  DvmdJob *third;
  DvmdJob *fourth;

  start_world (&world, 1, 16, FALSE, 0, FALSE);
  first = submit_named (&world, "a", FALSE);
  second = submit_named (&world, "a", TRUE);
  assert_sent (submit_named (&world, "b", TRUE));
  third = submit_named (&world, "a", FALSE);
  fourth = submit_named (&world, "a", TRUE);
  assert_sent (third);
  assert_held (second, "jobs");
  assert_held (fourth, "jobs");
  /* One that is cancelled while it waits does not let those behind it go. */
  dvmd_core_fail_job (world.core, second, DVM_JOB_STATE_KILLED_BY_CMD, "cancelled");
  run (&world);
  assert_held (fourth, "jobs");
  run_to_end (&world, third);
  assert_held (fourth, "jobs");
  run_to_end (&world, first);
  assert_sent (fourth);
  run_to_end (&world, fourth);
  assert_sent (submit_named (&world, "a", TRUE));
}

/* All reasons must have gone, whatever their order. */
static void
test_several_reasons (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  const char *jobs[] = { "1", NULL };
  DvmdJob *first;
  DvmdJob *job;

  start_world (&world, 1, 4, FALSE, 0, FALSE);
  first = submit (&world, 1);
  dvm_job_spec_set_hold (spec, TRUE);
  dvm_job_spec_set_after (spec, jobs);
  dvm_job_spec_set_after_ok (spec, jobs);
  job = submit_spec (&world, spec);
  assert_held (job, "hold");
  g_assert_true (dvmd_core_release_job (world.core, job, NULL));
  run (&world);
  assert_held (job, "jobs");
  g_assert_true (dvmd_core_hold_job (world.core, job, NULL));
  assert_held (job, "hold");
  run_to_end (&world, first);
  assert_held (job, "hold");
  g_assert_true (dvmd_core_release_job (world.core, job, NULL));
  run (&world);
  assert_sent (job);
}

static void
test_max_running (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) impatient = make_spec (1);
  DvmdJob *jobs[6];

  start_world (&world, 2, 4, FALSE, 2, FALSE);
  for (guint i = 0; i < 5; i++)
    jobs[i] = submit (&world, 1);
  jobs[5] = submit_urgent (&world, 1, 9);
  assert_sent (jobs[1]);
  assert_held (jobs[2], "limit");
  assert_held (jobs[5], "limit");
  dvm_job_spec_set_when_full (impatient, "refuse");
  assert_state (submit_spec (&world, impatient), DVM_JOB_STATE_MAP_FAILED);
  run_to_end (&world, jobs[0]);
  assert_sent (jobs[5]);
  assert_held (jobs[2], "limit");
  run_to_end (&world, jobs[1]);
  run_to_end (&world, jobs[5]);
  assert_sent (jobs[2]);
  assert_sent (jobs[3]);
  assert_held (jobs[4], "limit");
  dvmd_core_fail_job (world.core, jobs[4], DVM_JOB_STATE_KILLED_BY_CMD, "cancelled");
  run (&world);
  run_to_end (&world, jobs[2]);
  run_to_end (&world, jobs[3]);
  assert_sent (submit (&world, 1));
}

/* The large job begins after 100 s at the latest: what ends until then goes before it, and nothing else does. */
static void
test_backfill (gconstpointer data)
{
  gboolean queue = GPOINTER_TO_UINT (data);
  g_auto (World) world = { 0 };
  DvmdJob *running;
  DvmdJob *large;
  DvmdJob *fits;
  DvmdJob *later;

  start_world (&world, 1, 4, queue, 0, FALSE);
  running = submit_limited (&world, 2, 100);
  launch_all (&world, running);
  large = submit (&world, 4);
  assert_held (submit (&world, 1), "slots");
  assert_held (submit_limited (&world, 1, 101), "slots");
  fits = submit_limited (&world, 1, 100);
  if (!queue)
    {
      assert_held (fits, "slots");
      return;
    }
  assert_sent (fits);
  launch_all (&world, fits);
  dvmd_clock_advance (world.clock, 60 * G_USEC_PER_SEC);
  later = submit_limited (&world, 1, 41);
  assert_held (later, "slots");
  assert_sent (submit_limited (&world, 1, 40));
  assert_held (large, "slots");
  for (guint rank = 0; rank < 2; rank++)
    end_proc (&world, running, rank, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (&world, running);
  /* The first one has ended early, and the large one may begin when the other two end. */
  assert_held (large, "slots");
  assert_held (later, "slots");
}

/* The first one has no time limit: nothing goes before the one that waits for it. */
static void
test_backfill_unknown (void)
{
  g_auto (World) world = { 0 };

  start_world (&world, 1, 4, TRUE, 0, FALSE);
  launch_all (&world, submit (&world, 2));
  assert_held (submit (&world, 4), "slots");
  assert_held (submit_limited (&world, 1, 1), "slots");
}

/* A job that is too large waits until the DVM has grown, where it says so, or the setting does; it holds up nobody. */
static void
test_wait_for_slots (gconstpointer data)
{
  gboolean queue = GPOINTER_TO_UINT (data);
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (6);
  DvmdCampaign *campaign;
  DvmdJob *large;

  start_world (&world, 2, 2, queue, 0, TRUE);
  if (!queue)
    {
      assert_state (submit (&world, 6), DVM_JOB_STATE_MAP_FAILED);
      dvm_job_spec_set_wait_for_slots (spec, TRUE);
    }
  large = submit_spec (&world, spec);
  assert_held (large, "slots");
  assert_sent (submit (&world, 1));
  run_to_end (&world, submit (&world, 1));
  assert_held (large, "slots");
  campaign = grow (&world, "node3:4");
  offered (&world, campaign);
  report_in (&world, 3);
  wired (&world, campaign);
  assert_sent (large);
}

/* A DVM that cannot grow refuses it at once. */
static void
test_wait_for_slots_in_vain (void)
{
  g_auto (World) world = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (6);

  start_world (&world, 2, 2, TRUE, 0, FALSE);
  dvm_job_spec_set_wait_for_slots (spec, TRUE);
  assert_state (submit_spec (&world, spec), DVM_JOB_STATE_MAP_FAILED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/queue/rules/order", test_order);
  g_test_add_func ("/queue/rules/start", test_start);
  g_test_add_func ("/queue/rules/may-backfill", test_may_backfill);
  g_test_add_func ("/queue/rules/dependency", test_dependency);
  g_test_add_func ("/queue/priority", test_priority);
  g_test_add_func ("/queue/priority/fits", test_priority_fits);
  g_test_add_func ("/queue/priority/changed", test_priority_changed);
  g_test_add_func ("/queue/hold", test_hold);
  g_test_add_func ("/queue/hold/cancelled", test_hold_cancelled);
  g_test_add_func ("/queue/hold/brings-nodes", test_hold_brings_nodes);
  g_test_add_func ("/queue/after", test_after);
  g_test_add_func ("/queue/after/failed", test_after_failed);
  g_test_add_func ("/queue/after/unknown", test_after_unknown);
  g_test_add_func ("/queue/singleton", test_singleton);
  g_test_add_func ("/queue/several-reasons", test_several_reasons);
  g_test_add_func ("/queue/max-running", test_max_running);
  g_test_add_data_func ("/queue/backfill", GUINT_TO_POINTER (TRUE), test_backfill);
  g_test_add_data_func ("/queue/backfill/off", GUINT_TO_POINTER (FALSE), test_backfill);
  g_test_add_func ("/queue/backfill/unknown", test_backfill_unknown);
  g_test_add_data_func ("/queue/wait-for-slots", GUINT_TO_POINTER (FALSE), test_wait_for_slots);
  g_test_add_data_func ("/queue/wait-for-slots/setting", GUINT_TO_POINTER (TRUE), test_wait_for_slots);
  g_test_add_func ("/queue/wait-for-slots/in-vain", test_wait_for_slots_in_vain);
  return g_test_run ();
}

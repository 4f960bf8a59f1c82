/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Indexes of arrays, descriptions of their jobs, and such jobs in a core.
 */

#include "config.h"

#include "core-world.h"
#include "dvm-job-spec-private.h"
#include "dvmd-core-session-control.h"

/* ---- indexes ---- */

static void
test_indexes (void)
{
  static const struct
  {
    const char *text;
    const char *indexes; /* NULL: it is refused */
    guint32 most;
  } cases[] = {
    { "0", "0", 0 },
    { "0-3", "0 1 2 3", 0 },
    { "7,1-2", "1 2 7", 0 },
    { "0-9:4%2", "0 4 8", 2 },
    { "5-5", "5", 0 },
    { "2147483646-2147483647%3", "2147483646 2147483647", 3 },
    { "", NULL },
    { "a", NULL },
    { "-1", NULL },
    { "1-", NULL },
    { "3-1", NULL },
    { "1,", NULL },
    { ",1", NULL },
    { "1:2", NULL },
    { "0-9:0", NULL },
    { "0-9%", NULL },
    { "0-9%0", NULL },
    { "0-9%2,11", NULL },
    { "0-9%2x", NULL },
    { "0-3,2", NULL },
    { "1 ,2", NULL },
    { "2147483648", NULL },
    { "0-99999999999999999999", NULL },
    { "0-50000", NULL },
    { "0-2147483647", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GString) text = g_string_new (NULL);
      guint32 most;
      g_autoptr (GArray) indexes = _dvm_array_parse (cases[i].text, "", &most, &error);

      if (cases[i].indexes == NULL)
        {
          g_assert_null (indexes);
          g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
          g_assert_nonnull (strstr (error->message, "array"));
          continue;
        }
      g_assert_no_error (error);
      for (guint k = 0; k < indexes->len; k++)
        g_string_append_printf (text, "%s%u", k > 0 ? " " : "", g_array_index (indexes, guint32, k));
      g_assert_cmpstr (text->str, ==, cases[i].indexes);
      g_assert_cmpuint (most, ==, cases[i].most);
    }
}

static void
test_most_indexes (void)
{
  guint32 most;
  g_autoptr (GArray) indexes = _dvm_array_parse ("0-49999", "", &most, NULL);

  g_assert_cmpuint (indexes->len, ==, DVM_ARRAY_MOST);
}

static void
test_paths (void)
{
  const DvmArrayPlace place = { .id = 12, .index = 7 };
  const struct
  {
    const char *path;
    gboolean is_pattern;
    const char *expanded;
  } cases[] = {
    { "/tmp/o", FALSE, "/tmp/o" },
    { "/tmp/%A_%a.out", FALSE, "/tmp/12_7.out" },
    { "100%%-%a%n%", FALSE, "100%-7%n%" },
    { "%a-%%a-%n-%r", TRUE, "7-%%a-%n-%r" },
    { "%", TRUE, "%" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *expanded = _dvm_array_expand_path (&place, cases[i].path, cases[i].is_pattern);
      g_autofree char *same = _dvm_array_expand_path (NULL, cases[i].path, cases[i].is_pattern);

      g_assert_cmpstr (expanded, ==, cases[i].expanded);
      g_assert_cmpstr (same, ==, cases[i].path);
    }
  g_assert_true (_dvm_array_path_has_place ("x%a"));
  g_assert_true (_dvm_array_path_has_place ("%%%A"));
  g_assert_false (_dvm_array_path_has_place ("%%a%"));
  g_assert_false (_dvm_array_path_has_place (NULL));
}

/* A job of an array has all that the description says, but for the array itself. */
static void
test_element (void)
{
  const DvmArrayPlace place = { .index = 3, .count = 4, .min = 0, .max = 3 };
  const char *argv[] = { "/bin/prog", "x", NULL };
  const char *after[] = { "1", "2", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmJobSpec) element = NULL;
  g_autoptr (GVariant) left = NULL;
  g_autoptr (GVariant) right = NULL;

  dvm_job_spec_set_array (spec, "0-3");
  g_object_set (spec, "label", "l", "timeout", 9, "priority", -4, "hold", TRUE, "after-any", after, "session", 0, NULL);
  element = _dvm_job_spec_new_element (spec, &place);
  g_assert_cmpstr (dvm_job_spec_get_name (element), ==, "prog[3]");
  g_assert_null (dvm_job_spec_get_array (element));
  g_assert_true (dvm_job_spec_get_app (element, 0) == dvm_job_spec_get_app (spec, 0));
  g_assert_cmpuint (_dvm_job_spec_get_place (element)->index, ==, 3);
  g_assert_true (dvm_job_spec_validate (element, NULL));
  dvm_job_spec_set_array (spec, NULL);
  dvm_job_spec_set_name (spec, "prog[3]");
  left = dvm_job_spec_to_variant (spec);
  right = dvm_job_spec_to_variant (element);
  g_assert_true (g_variant_equal (left, right));
}

/* ---- jobs ---- */

typedef struct
{
  World world;
  DvmdJob *jobs[8];
  guint n_jobs;
} Fixture;

static void
fixture_clear (Fixture *f)
{
  world_clear (&f->world);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Fixture, fixture_clear)

static void
begin (Fixture *f, guint slots, guint history_limit)
{
  DvmdCoreSettings settings = { .nspace = "dvm-test", .host = "head", .history_limit = history_limit, .uid = 1000 };

  world_init_with (&f->world, 1, slots, &settings);
  bring_up (&f->world);
}

/* The first n of count jobs come. */
static void
submit_array (Fixture *f, guint n, guint count, guint most)
{
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  DvmArrayPlace place = { .count = count, .max = count - 1, .most = most };

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (DvmJobSpec) element = NULL;

      place.index = i;
      element = _dvm_job_spec_new_element (spec, &place);
      f->jobs[f->n_jobs++] = submit_spec (&f->world, element);
      place.id = _dvm_job_spec_get_place (element)->id;
    }
}

static DvmdJob *
submit_behind (Fixture *f, void (*set) (DvmJobSpec *spec, const char *const *jobs), const char *target)
{
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  const char *jobs[] = { target, NULL };

  set (spec, jobs);
  return submit_spec (&f->world, spec);
}

static void
fail (Fixture *f, DvmdJob *job)
{
  launch_all (&f->world, job);
  end_proc (&f->world, job, 0, DVM_PROC_STATE_TERM_NON_ZERO, 3, 0);
  all_gone (&f->world, job);
}

static void
assert_sent (DvmdJob *job)
{
  assert_state (job, DVM_JOB_STATE_SEND_LAUNCH_MSG);
  assert_held (job, "");
}

static void
cancel (Fixture *f, DvmdJob *job)
{
  g_assert_true (dvmd_core_fail_job (f->world.core, job, DVM_JOB_STATE_KILLED_BY_CMD, "cancelled"));
  run (&f->world);
}

static void
test_records (void)
{
  g_auto (Fixture) f = { 0 };
  DvmJob *second;

  begin (&f, 8, 100);
  submit_array (&f, 3, 3, 0);
  second = dvmd_job_get_record (f.jobs[1]);
  g_assert_cmpuint (dvm_job_get_array_id (second), ==, dvmd_job_get_id (f.jobs[0]));
  g_assert_cmpuint (dvm_job_get_array_index (second), ==, 1);
  g_assert_cmpuint (dvm_job_get_array_count (second), ==, 3);
  g_assert_cmpuint (dvm_job_get_array_id (dvmd_job_get_record (submit (&f.world, 1))), ==, 0);
  assert_sent (f.jobs[2]);
}

/* As many run as may, whatever becomes of those that run or wait; slots are left. */
static void
test_most (void)
{
  g_auto (Fixture) f = { 0 };

  begin (&f, 8, 100);
  submit_array (&f, 6, 6, 2);
  assert_sent (f.jobs[0]);
  assert_sent (f.jobs[1]);
  for (guint i = 2; i < 6; i++)
    assert_held (f.jobs[i], "limit");
  g_assert_cmpuint (dvmd_core_get_num_held (f.world.core), ==, 4);
  assert_sent (submit (&f.world, 1));
  cancel (&f, f.jobs[2]);
  assert_held (f.jobs[3], "limit");
  run_to_end (&f.world, f.jobs[1]);
  assert_sent (f.jobs[3]);
  assert_held (f.jobs[4], "limit");
  fail (&f, f.jobs[0]);
  assert_sent (f.jobs[4]);
  run_to_end (&f.world, f.jobs[3]);
  run_to_end (&f.world, f.jobs[4]);
  run_to_end (&f.world, f.jobs[5]);
  g_assert_cmpuint (dvmd_core_get_num_held (f.world.core), ==, 0);
}

/* The reason that a user can do something about is shown, and each must go. */
static void
test_held (void)
{
  g_auto (Fixture) f = { 0 };

  begin (&f, 8, 100);
  submit_array (&f, 2, 2, 1);
  g_assert_true (dvmd_core_hold_job (f.world.core, f.jobs[1], NULL));
  run (&f.world);
  assert_held (f.jobs[1], "hold");
  g_assert_true (dvmd_core_release_job (f.world.core, f.jobs[1], NULL));
  run (&f.world);
  assert_held (f.jobs[1], "limit");
  run_to_end (&f.world, f.jobs[0]);
  assert_sent (f.jobs[1]);
}

/* All of them must have come so far, those that have not been submitted yet among them. */
static void
test_after (void)
{
  g_auto (Fixture) f = { 0 };
  DvmdJob *started;
  DvmdJob *ok;
  DvmdJob *any;

  begin (&f, 8, 100);
  submit_array (&f, 2, 3, 0);
  started = submit_behind (&f, dvm_job_spec_set_after, "array:1");
  ok = submit_behind (&f, dvm_job_spec_set_after_ok, "array:1");
  any = submit_behind (&f, dvm_job_spec_set_after_any, "array:1");
  assert_held (ok, "jobs");
  g_assert_cmpstr (dvm_job_get_awaited_jobs (dvmd_job_get_record (ok))[0], ==, "/org/dvm/jobs/1");
  run_to_end (&f.world, f.jobs[0]);
  run_to_end (&f.world, f.jobs[1]);
  assert_held (started, "jobs");
  assert_held (any, "jobs");
  {
    g_autoptr (DvmJobSpec) spec = make_spec (1);
    const DvmArrayPlace place = { .id = 1, .index = 2, .count = 3, .max = 2 };
    g_autoptr (DvmJobSpec) element = _dvm_job_spec_new_element (spec, &place);

    f.jobs[2] = submit_spec (&f.world, element);
  }
  launch_all (&f.world, f.jobs[2]);
  assert_sent (started);
  assert_held (any, "jobs");
  end_proc (&f.world, f.jobs[2], 0, DVM_PROC_STATE_TERMINATED, 0, 0);
  all_gone (&f.world, f.jobs[2]);
  assert_sent (ok);
  assert_sent (any);
  assert_sent (submit_behind (&f, dvm_job_spec_set_after_ok, "array:1"));
}

/* A job that waits for them all to end well learns at their end which one has not. */
static void
test_after_failed (void)
{
  g_auto (Fixture) f = { 0 };
  DvmdJob *ok;
  DvmdJob *any;

  begin (&f, 8, 100);
  submit_array (&f, 2, 2, 0);
  ok = submit_behind (&f, dvm_job_spec_set_after_ok, "array:1");
  any = submit_behind (&f, dvm_job_spec_set_after_any, "array:1");
  fail (&f, f.jobs[1]);
  assert_held (ok, "jobs");
  run_to_end (&f.world, f.jobs[0]);
  assert_state (ok, DVM_JOB_STATE_NEVER_LAUNCHED);
  g_assert_nonnull (strstr (dvm_job_get_reason (dvmd_job_get_record (ok)), "dvm-test@2"));
  assert_sent (any);
}

/* The rest of an array does not come: nothing waits for it. */
static void
test_lost (void)
{
  g_auto (Fixture) f = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  const DvmArrayPlace place = { .id = 1, .index = 1, .count = 2, .max = 1 };
  g_autoptr (DvmJobSpec) element = _dvm_job_spec_new_element (spec, &place);
  DvmdJob *ok;
  DvmdJob *any;

  begin (&f, 8, 100);
  submit_array (&f, 1, 2, 0);
  ok = submit_behind (&f, dvm_job_spec_set_after_ok, "array:1");
  any = submit_behind (&f, dvm_job_spec_set_after_any, "array:1");
  run_to_end (&f.world, f.jobs[0]);
  assert_held (any, "jobs");
  dvmd_core_lose_job (f.world.core, element);
  run (&f.world);
  assert_sent (any);
  assert_state (ok, DVM_JOB_STATE_NEVER_LAUNCHED);
}

/* An array is known as long as one of its jobs is. */
static void
test_forgotten (void)
{
  g_auto (Fixture) f = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  const char *jobs[] = { "array:1", NULL };
  g_autoptr (GError) error = NULL;
  static const char *const unknown[] = { "array:2", "array:0", "array:", "array:x", "array:99999999999" };

  begin (&f, 8, 2);
  submit_array (&f, 2, 2, 0);
  run_to_end (&f.world, f.jobs[0]);
  run_to_end (&f.world, f.jobs[1]);
  run_to_end (&f.world, submit (&f.world, 1));
  g_assert_null (dvmd_core_get_job (f.world.core, 1));
  run_to_end (&f.world, submit_behind (&f, dvm_job_spec_set_after_ok, "array:1"));
  dvm_job_spec_set_after_ok (spec, jobs);
  g_assert_null (dvmd_core_submit (f.world.core, spec, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  for (guint i = 0; i < G_N_ELEMENTS (unknown); i++)
    {
      jobs[0] = unknown[i];
      dvm_job_spec_set_after_ok (spec, jobs);
      g_clear_error (&error);
      g_assert_null (dvmd_core_submit (f.world.core, spec, NULL, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
    }
}

/* A call that is about one job takes no array. */
static void
test_one_job (void)
{
  g_auto (Fixture) f = { 0 };
  g_autoptr (DvmJobSpec) spec = make_spec (1);
  const char *awaited = NULL;
  g_autoptr (GError) error = NULL;

  begin (&f, 8, 100);
  dvm_job_spec_set_array (spec, "0-1");
  g_assert_null (dvmd_core_submit (f.world.core, spec, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_nonnull (strstr (error->message, "SubmitMany"));
  g_clear_error (&error);
  g_assert_null (dvmd_core_map (f.world.core, spec, NULL, &awaited, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/arrays/indexes", test_indexes);
  g_test_add_func ("/arrays/indexes/most", test_most_indexes);
  g_test_add_func ("/arrays/paths", test_paths);
  g_test_add_func ("/arrays/element", test_element);
  g_test_add_func ("/arrays/records", test_records);
  g_test_add_func ("/arrays/most", test_most);
  g_test_add_func ("/arrays/held", test_held);
  g_test_add_func ("/arrays/after", test_after);
  g_test_add_func ("/arrays/after/failed", test_after_failed);
  g_test_add_func ("/arrays/lost", test_lost);
  g_test_add_func ("/arrays/forgotten", test_forgotten);
  g_test_add_func ("/arrays/one-job", test_one_job);
  return g_test_run ();
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An event of a process reaches those of its range: a controller with two agents in one process, each with a PMIx
 * server whose clients the test plays.
 */

#include "config.h"

#include <unistd.h>

#include "dvmd-controller-private.h"
#include "engine-fixture.h"
#include "wait-until.h"

#define EVENT (-3001)

typedef struct
{
  EngineFixture engine;
  DvmdJob *job; /* one rank on each node */
  char *tool;   /* of the first node, which may control every job */
  guint n_early;
} Fixture;

static DvmdJob *
submit (Fixture *self, guint np)
{
  const char *argv[] = { "/bin/sleep", "1000", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  g_autoptr (GError) error = NULL;
  const int fds[3] = { -1, -1, -1 };
  DvmdJob *job;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), np);
  dvm_job_spec_set_map_by (spec, "node");
  job = dvmd_controller_submit (self->engine.controller, spec, requester, fds, &error);
  g_assert_no_error (error);
  return job;
}

static void
set_up (Fixture *self, gconstpointer data)
{
  DvmdControllerSettings settings = { 0 };

  engine_fixture_start (&self->engine, &settings);
  self->job = submit (self, 2);
  wait_until (dvmd_job_get_state (self->job) == DVM_JOB_STATE_RUNNING);
  self->tool = g_strdup_printf ("%s@tool-1-1", dvmd_controller_get_parts (self->engine.controller)->nspace);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  engine_fixture_end (&self->engine, TRUE);
  engine_fixture_clear (&self->engine);
  g_free (self->tool);
}

static const char *
get_nspace (DvmdJob *job)
{
  return dvm_job_get_nspace (dvmd_job_get_record (job));
}

static guint
count (Fixture *self, guint node, DvmdJob *job, guint32 rank)
{
  return pmix_fake_count_events (self->engine.fakes[node], get_nspace (job), rank, EVENT, NULL);
}

/* A range of one process. */
static GVariant *
describe (DvmdJob *job, guint32 rank)
{
  return g_variant_new ("(iu@a(su)@a{sv})", EVENT, DVMD_PMIX_RANGE_CUSTOM,
                        g_variant_new_parsed ("[(%s, %u)]", get_nspace (job), rank),
                        g_variant_new_array (G_VARIANT_TYPE ("{sv}"), NULL, 0));
}

static int
tell (Fixture *self, GVariant *event)
{
  guint64 token = pmix_fake_call (self->engine.fakes[0], DVMD_CALL_EVENT, get_nspace (self->job), 0, event);
  int status = 0;

  wait_until (pmix_fake_get_answer (self->engine.fakes[0], token, &status, NULL));
  return status;
}

static GVariant *
describe_range (guint range)
{
  return g_variant_new ("(iu@a(su)@a{sv})", EVENT, range, g_variant_new_array (G_VARIANT_TYPE ("(su)"), NULL, 0),
                        g_variant_new_array (G_VARIANT_TYPE ("{sv}"), NULL, 0));
}

/* One node, a job on both, one process. */
static void
test_ranges (Fixture *self, gconstpointer data)
{
  g_assert_cmpint (tell (self, describe_range (DVMD_PMIX_RANGE_LOCAL)), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpuint (count (self, 0, self->job, 0), ==, 1);
  g_assert_cmpint (tell (self, describe (self->job, 1)), ==, DVMD_PMIX_SUCCESS);
  wait_until (count (self, 1, self->job, 1) == 1);
  g_assert_cmpint (tell (self, describe_range (DVMD_PMIX_RANGE_NAMESPACE)), ==, DVMD_PMIX_SUCCESS);
  wait_until (count (self, 1, self->job, DVMD_PMIX_RANK_WILDCARD) == 1);
  g_assert_cmpuint (pmix_fake_get_events (self->engine.fakes[0])->len, ==, 2);
  g_assert_cmpuint (pmix_fake_get_events (self->engine.fakes[1])->len, ==, 2);
}

/* The job has been mapped, and its launch is sent in a later step. */
static void
on_mapped (DvmJob *record, DvmJobState old, DvmJobState state, const char *reason, gpointer user_data)
{
  Fixture *self = user_data;
  DvmdJob *job = dvmd_core_find_job (dvmd_controller_get_core (self->engine.controller), dvm_job_get_nspace (record));

  if (dvmd_job_get_map (job) == NULL || dvmd_job_is_launched (job))
    return;
  g_test_expect_message ("dvmd-controller", G_LOG_LEVEL_MESSAGE, "*has no processes yet*");
  engine_call (self->engine.controller, DVMD_CALL_EVENT, 1, self->tool, 0, describe (job, 0));
  g_test_assert_expected_messages ();
  engine_call (self->engine.controller, DVMD_CALL_EVENT, 1, self->tool, 0, describe_range (DVMD_PMIX_RANGE_SESSION));
  self->n_early++;
}

/* A job that is mapped cannot be told, and that is not a success; one whose launch has been sent is. */
static void
test_launch (Fixture *self, gconstpointer data)
{
  DvmdJob *job = submit (self, 1);

  g_signal_connect (dvmd_job_get_record (job), "state-changed", G_CALLBACK (on_mapped), self);
  wait_until (dvmd_job_is_launched (job));
  g_assert_cmpuint (self->n_early, >, 0);
  engine_call (self->engine.controller, DVMD_CALL_EVENT, 1, self->tool, 0, describe (job, 0));
  wait_until (count (self, 0, job, 0) + count (self, 1, job, 0) == 1);
  g_assert_cmpuint (count (self, 0, job, DVMD_PMIX_RANK_WILDCARD) + count (self, 1, job, DVMD_PMIX_RANK_WILDCARD), ==,
                    0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/engine-events/ranges", Fixture, NULL, set_up, test_ranges, tear_down);
  g_test_add ("/engine-events/launch", Fixture, NULL, set_up, test_launch, tear_down);
  return g_test_run ();
}

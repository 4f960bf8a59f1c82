/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs that find each other: a controller with two agents in one process, each with a PMIx server that the test plays
 * the clients of. One job is on the first node, the other one on the second.
 */

#include "config.h"

#include <signal.h>
#include <unistd.h>

#include "dvmd-controller-private.h"
#include "engine-fixture.h"
#include "wait-until.h"

typedef struct
{
  EngineFixture engine;
  DvmdJob *jobs[2];
} Fixture;

/* host (nullable): one rank after the other on all */
static DvmdJob *
submit (Fixture *self, const char *host, guint np)
{
  const char *argv[] = { "/bin/sleep", "1000", NULL };
  const char *hosts[] = { host, NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  g_autoptr (GError) error = NULL;
  const int fds[3] = { -1, -1, -1 };
  DvmdJob *job;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), np);
  if (host != NULL)
    dvm_app_spec_set_hosts (dvm_job_spec_get_app (spec, 0), hosts);
  else
    dvm_job_spec_set_map_by (spec, "node");
  dvm_job_spec_set_recoverable (spec, TRUE);
  job = dvmd_controller_submit (self->engine.controller, spec, requester, fds, &error);
  g_assert_no_error (error);
  wait_until (dvmd_job_get_state (job) == DVM_JOB_STATE_RUNNING);
  return job;
}

static void
set_up (Fixture *self, gconstpointer data)
{
  DvmdControllerSettings settings = { 0 };

  engine_fixture_start (&self->engine, &settings);
  self->jobs[0] = submit (self, "one", 1);
  self->jobs[1] = submit (self, "two", 2);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  engine_fixture_end (&self->engine, TRUE);
  g_assert_cmpuint (engine_count (self->engine.controller, "collectives-open"), ==, 0);
  engine_fixture_clear (&self->engine);
}

static const char *
nspace (Fixture *self, guint i)
{
  return dvm_job_get_nspace (dvmd_job_get_record (self->jobs[i]));
}

static void
settle (void)
{
  for (guint i = 0; i < 100; i++)
    g_main_context_iteration (NULL, FALSE);
}

static int
get_status (Fixture *self, guint node, guint64 token)
{
  int status = 0;

  wait_until (pmix_fake_get_answer (self->engine.fakes[node], token, &status, NULL));
  return status;
}

static gboolean
is_answered (Fixture *self, guint node, guint64 token)
{
  settle ();
  return pmix_fake_get_answer (self->engine.fakes[node], token, NULL, NULL);
}

/* The first job's rank, and a rank of the second one's. */
static guint64
connect_from (Fixture *self, guint node, gboolean leave, guint32 second, guint timeout)
{
  DvmdPmixProc procs[] = { { nspace (self, 0), 0 }, { nspace (self, 1), second } };

  return pmix_fake_connect (self->engine.fakes[node], leave, procs, 2, timeout);
}

static void
kill_rank (Fixture *self, guint job, guint32 rank)
{
  kill (dvmd_proc_table_row (dvmd_job_get_procs (self->jobs[job]), rank)->pid, SIGKILL);
}

static void
cancel (Fixture *self, guint job)
{
  g_autoptr (GError) error = NULL;

  dvmd_controller_cancel_job (self->engine.controller, self->jobs[job], "the test wants it", &error);
  g_assert_no_error (error);
  wait_until (dvmd_job_get_state (self->jobs[job]) >= DVM_JOB_STATE_UNTERMINATED
              && dvm_job_get_ended (dvmd_job_get_record (self->jobs[job])));
  settle ();
}

static void
test_connect (Fixture *self, gconstpointer data)
{
  guint64 first = connect_from (self, 0, FALSE, 1, 0);
  guint64 second;
  const DvmdPmixJob *guest;

  g_assert_false (is_answered (self, 0, first));
  g_assert_null (pmix_fake_find_job (self->engine.fakes[0], nspace (self, 1)));
  second = connect_from (self, 1, FALSE, 1, 0);
  g_assert_cmpint (get_status (self, 0, first), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (get_status (self, 1, second), ==, DVMD_PMIX_SUCCESS);
  /* Each server knows the job that is not on its node. */
  guest = pmix_fake_find_job (self->engine.fakes[0], nspace (self, 1));
  g_assert_nonnull (guest);
  g_assert_cmpuint (guest->my_node, ==, G_MAXUINT32);
  g_assert_cmpuint (guest->ranks->len, ==, 2);
  g_assert_cmpuint (guest->session_id, ==, 0);
  g_assert_cmpuint (guest->universe_size, ==, 4);
  g_assert_cmpstr (guest->nodes[0], ==, "two");
  g_assert_cmpstr (((DvmdPmixApp *)g_ptr_array_index (guest->apps, 0))->argv[0], ==, "/bin/sleep");
  g_assert_nonnull (pmix_fake_find_job (self->engine.fakes[1], nspace (self, 0)));

  /* They part, and come together again. */
  first = connect_from (self, 0, TRUE, 1, 0);
  g_assert_false (is_answered (self, 0, first));
  second = connect_from (self, 1, TRUE, 1, 0);
  g_assert_cmpint (get_status (self, 0, first), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (get_status (self, 1, second), ==, DVMD_PMIX_SUCCESS);
  first = connect_from (self, 0, FALSE, 0, 0);
  second = connect_from (self, 1, FALSE, 0, 0);
  g_assert_cmpint (get_status (self, 0, first), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (get_status (self, 1, second), ==, DVMD_PMIX_SUCCESS);

  /* When a job has ended, nobody keeps it. */
  cancel (self, 1);
  g_assert_null (pmix_fake_find_job (self->engine.fakes[0], nspace (self, 1)));
  g_assert_cmpuint (engine_count (self->engine.controller, "jobs-known-elsewhere"), ==, 1);
  cancel (self, 0);
  g_assert_null (pmix_fake_find_job (self->engine.fakes[1], nspace (self, 0)));
  g_assert_cmpuint (engine_count (self->engine.controller, "jobs-known-elsewhere"), ==, 0);
}

/* A connect, a disconnect and a fence of the same processes are three things. */
/* Requests that name the same processes mean the same, in whatever order. */
static void
test_any_order (Fixture *self, gconstpointer data)
{
  DvmdPmixProc there[] = { { nspace (self, 1), 1 }, { nspace (self, 1), 0 }, { nspace (self, 0), 0 } };
  DvmdPmixProc here[] = { { nspace (self, 0), 0 }, { nspace (self, 1), 0 }, { nspace (self, 1), 1 } };
  guint64 first = pmix_fake_connect (self->engine.fakes[0], FALSE, here, 3, 0);
  guint64 second;

  g_assert_false (is_answered (self, 0, first));
  second = pmix_fake_connect (self->engine.fakes[1], FALSE, there, 3, 0);
  g_assert_cmpint (get_status (self, 0, first), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpint (get_status (self, 1, second), ==, DVMD_PMIX_SUCCESS);
}

static void
test_three_things (Fixture *self, gconstpointer data)
{
  DvmdPmixProc procs[] = { { nspace (self, 0), 0 }, { nspace (self, 1), 0 } };
  g_autoptr (GBytes) none = g_bytes_new_static ("", 0);
  guint64 connected = connect_from (self, 0, FALSE, 0, 0);
  guint64 fence = pmix_fake_fence (self->engine.fakes[1], procs, 2, none);
  guint64 left = connect_from (self, 1, TRUE, 0, 0);

  g_assert_false (is_answered (self, 0, connected));
  g_assert_false (is_answered (self, 1, fence));
  g_assert_false (is_answered (self, 1, left));
  g_assert_cmpuint (engine_count (self->engine.controller, "collectives-open"), ==, 3);
  cancel (self, 1);
  g_assert_cmpint (get_status (self, 0, connected), ==, DVMD_PMIX_ERR_LOST_CONNECTION);
}

static void
test_timeout (Fixture *self, gconstpointer data)
{
  guint64 first = connect_from (self, 0, FALSE, 1, 1);

  g_assert_cmpint (get_status (self, 0, first), ==, DVMD_PMIX_ERR_TIMEOUT);
}

/* Its job goes on, and nobody else of it comes: the others are not left waiting. */
static void
test_participant_dies (Fixture *self, gconstpointer data)
{
  guint64 first = connect_from (self, 0, FALSE, 1, 0);

  g_assert_false (is_answered (self, 0, first));
  kill_rank (self, 1, 1);
  g_assert_cmpint (get_status (self, 0, first), ==, DVMD_PMIX_ERR_LOST_CONNECTION);
  /* Nor later on. */
  first = connect_from (self, 0, FALSE, 1, 0);
  g_assert_cmpint (get_status (self, 0, first), ==, DVMD_PMIX_ERR_LOST_CONNECTION);
  g_assert_cmpint (dvmd_job_get_state (self->jobs[1]), <, DVM_JOB_STATE_UNTERMINATED);
  /* The other rank is as good as before. */
  first = connect_from (self, 0, FALSE, 0, 0);
  connect_from (self, 1, FALSE, 0, 0);
  g_assert_cmpint (get_status (self, 0, first), ==, DVMD_PMIX_SUCCESS);
}

static void
test_nobody (Fixture *self, gconstpointer data)
{
  const DvmdPmixProc nobody[] = { { nspace (self, 0), 0 }, { "nobody", DVMD_PMIX_RANK_WILDCARD } };
  guint64 token = connect_from (self, 0, FALSE, 2, 0);

  g_assert_cmpint (get_status (self, 0, token), ==, DVMD_PMIX_ERR_LOST_CONNECTION);
  token = pmix_fake_connect (self->engine.fakes[0], FALSE, nobody, 2, 0);
  g_assert_cmpint (get_status (self, 0, token), ==, DVMD_PMIX_ERR_LOST_CONNECTION);
}

/* The data of a rank of another job can be had without a connect; the job comes first. */
static void
test_modex (Fixture *self, gconstpointer data)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static ("data", 4);
  guint64 token;
  GBytes *answer = NULL;

  pmix_fake_put (self->engine.fakes[1], nspace (self, 1), 1, bytes);
  token = pmix_fake_direct_modex (self->engine.fakes[0], nspace (self, 1), 1);
  wait_until (pmix_fake_get_answer (self->engine.fakes[0], token, NULL, &answer));
  g_assert_true (g_bytes_equal (answer, bytes));
  g_assert_nonnull (pmix_fake_find_job (self->engine.fakes[0], nspace (self, 1)));
  /* Of the job as a whole: its server knows it when the answer comes. */
  token = pmix_fake_direct_modex (self->engine.fakes[1], nspace (self, 0), DVMD_PMIX_RANK_WILDCARD);
  g_assert_cmpint (get_status (self, 1, token), ==, DVMD_PMIX_SUCCESS);
  g_assert_nonnull (pmix_fake_find_job (self->engine.fakes[1], nspace (self, 0)));
  token = pmix_fake_direct_modex (self->engine.fakes[0], nspace (self, 1), 2);
  g_assert_cmpint (get_status (self, 0, token), ==, DVMD_PMIX_ERR_NOT_FOUND);
  token = pmix_fake_direct_modex (self->engine.fakes[0], "nobody", DVMD_PMIX_RANK_WILDCARD);
  g_assert_cmpint (get_status (self, 0, token), ==, DVMD_PMIX_ERR_NOT_FOUND);
  cancel (self, 1);
  token = pmix_fake_direct_modex (self->engine.fakes[0], nspace (self, 1), 1);
  g_assert_cmpint (get_status (self, 0, token), ==, DVMD_PMIX_ERR_NOT_FOUND);
}

/* The job ends while a server is being told of it, and somebody waits for its data there: the answer comes first, for
 * the library has nowhere to put it when it has forgotten the job. */
static void
test_modex_of_a_job_that_ends (Fixture *self, gconstpointer data)
{
  guint64 token;

  pmix_fake_hold_registrations (self->engine.fakes[0], TRUE);
  token = pmix_fake_direct_modex (self->engine.fakes[0], nspace (self, 1), 1);
  wait_until (pmix_fake_find_job (self->engine.fakes[0], nspace (self, 1)) != NULL);
  cancel (self, 1);
  g_assert_false (is_answered (self, 0, token));
  g_assert_nonnull (pmix_fake_find_job (self->engine.fakes[0], nspace (self, 1)));
  pmix_fake_hold_registrations (self->engine.fakes[0], FALSE);
  g_assert_cmpint (get_status (self, 0, token), ==, DVMD_PMIX_ERR_NOT_FOUND);
  wait_until (pmix_fake_find_job (self->engine.fakes[0], nspace (self, 1)) == NULL);
}

/* A node whose ranks of a job have ended must be told of the others like every other one. */
static void
test_modex_of_a_job_that_was_here (Fixture *self, gconstpointer data)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static ("data", 4);
  const char *name;
  DvmdJob *both;
  guint64 token;

  cancel (self, 1); /* for its slots */
  both = submit (self, NULL, 2);
  name = dvm_job_get_nspace (dvmd_job_get_record (both));
  g_assert_cmpuint (dvmd_proc_table_row (dvmd_job_get_procs (both), 0)->node, ==, 1);
  g_assert_cmpuint (dvmd_proc_table_row (dvmd_job_get_procs (both), 1)->node, ==, 2);
  kill (dvmd_proc_table_row (dvmd_job_get_procs (both), 0)->pid, SIGKILL);
  wait_until (pmix_fake_find_job (self->engine.fakes[0], name) == NULL
              && engine_count (self->engine.controller, "jobs-ended-in-part") == 1);
  pmix_fake_put (self->engine.fakes[1], name, 1, bytes);
  token = pmix_fake_direct_modex (self->engine.fakes[0], name, 1);
  g_assert_cmpint (get_status (self, 0, token), ==, DVMD_PMIX_SUCCESS);
  g_assert_cmpuint (pmix_fake_find_job (self->engine.fakes[0], name)->ranks->len, ==, 2);
  kill (dvmd_proc_table_row (dvmd_job_get_procs (both), 1)->pid, SIGKILL);
  wait_until (engine_count (self->engine.controller, "jobs-ended-in-part") == 0);
}

/* ---- data ---- */

static guint64
ask (Fixture *self, guint node, DvmdPmixDataOp op, guint job, guint32 rank, const char *request)
{
  return pmix_fake_data (self->engine.fakes[node], op, nspace (self, job), rank, g_variant_new_parsed (request));
}

static void
test_publish (Fixture *self, gconstpointer data)
{
  const char *wait = "{'keys': <['port']>, 'wait': <0>}";
  guint64 waiting = ask (self, 1, DVMD_PMIX_DATA_LOOKUP, 1, 0, wait);
  g_autofree char *expected = g_strdup_printf ("([('%s', 0, 'port', b'here')],)", nspace (self, 0));
  g_autofree char *text = NULL;
  GVariant *found = NULL;
  int status;
  guint64 token;

  g_assert_false (is_answered (self, 1, waiting));
  token = ask (self, 0, DVMD_PMIX_DATA_PUBLISH, 0, 0, "{'items': <[('port', b'here')]>}");
  g_assert_cmpint (get_status (self, 0, token), ==, DVMD_PMIX_SUCCESS);
  wait_until (pmix_fake_get_allocation (self->engine.fakes[1], waiting, &status, &found));
  g_assert_cmpint (status, ==, DVMD_PMIX_SUCCESS);
  text = g_variant_print (found, FALSE);
  g_assert_cmpstr (text, ==, expected);
  /* On the wrong node, or of nobody. */
  token = ask (self, 1, DVMD_PMIX_DATA_PUBLISH, 0, 0, "{'items': <[('other', b'here')]>}");
  g_assert_cmpint (get_status (self, 1, token), ==, DVMD_PMIX_ERR_NO_PERMISSIONS);
  token = ask (self, 1, DVMD_PMIX_DATA_LOOKUP, 1, 7, wait);
  g_assert_cmpint (get_status (self, 1, token), ==, DVMD_PMIX_ERR_NO_PERMISSIONS);
}

/* Some items go with a process, and others with a job; lookups do not outlive those who wait. */
static void
test_purge (Fixture *self, gconstpointer data)
{

  ask (self, 1, DVMD_PMIX_DATA_PUBLISH, 1, 0, "{'items': <[('a', b'')]>, 'persistence': <uint32 2>}");
  ask (self, 1, DVMD_PMIX_DATA_PUBLISH, 1, 1, "{'items': <[('b', b'')]>, 'persistence': <uint32 2>}");
  ask (self, 1, DVMD_PMIX_DATA_PUBLISH, 1, 1, "{'items': <[('c', b'')]>}");
  ask (self, 1, DVMD_PMIX_DATA_PUBLISH, 1, 1, "{'items': <[('d', b'')]>, 'persistence': <uint32 4>}");
  ask (self, 1, DVMD_PMIX_DATA_LOOKUP, 1, 1, "{'keys': <['z']>, 'wait': <0>}");
  ask (self, 1, DVMD_PMIX_DATA_LOOKUP, 1, 0, "{'keys': <['z']>, 'wait': <0>}");
  settle ();
  g_assert_cmpuint (engine_count (self->engine.controller, "data-published"), ==, 4);
  g_assert_cmpuint (engine_count (self->engine.controller, "data-waiting"), ==, 2);
  kill_rank (self, 1, 1);
  wait_until (engine_count (self->engine.controller, "data-published") == 3);
  g_assert_cmpuint (engine_count (self->engine.controller, "data-waiting"), ==, 1);
  cancel (self, 1);
  g_assert_cmpuint (engine_count (self->engine.controller, "data-waiting"), ==, 0);
  g_assert_cmpuint (engine_count (self->engine.controller, "calls-open"), ==, 0);
  /* Its session, the default one, has not ended. */
  g_assert_cmpuint (engine_count (self->engine.controller, "data-published"), ==, 1);
}

/* A tool that has only published and looked up goes with its node, too. */
static void
test_tool_of_lost_node (Fixture *self, gconstpointer data)
{
  guint32 rank = 0;
  g_autofree char *name = dvmd_pmix_host_tool_connected (pmix_fake_get_host (self->engine.fakes[0]), NULL, &rank);
  guint64 token = pmix_fake_data (self->engine.fakes[0], DVMD_PMIX_DATA_PUBLISH, name, rank,
                                  g_variant_new_parsed ("{'items': <[('a', b'')]>}"));

  g_assert_cmpint (get_status (self, 0, token), ==, DVMD_PMIX_SUCCESS);
  pmix_fake_data (self->engine.fakes[0], DVMD_PMIX_DATA_LOOKUP, name, rank,
                  g_variant_new_parsed ("{'keys': <['z']>, 'wait': <0>}"));
  wait_until (engine_count (self->engine.controller, "data-waiting") == 1);
  dvmd_services_agent_gone (self->engine.controller, 2);
  g_assert_cmpuint (engine_count (self->engine.controller, "data-published"), ==, 1);
  dvmd_services_agent_gone (self->engine.controller, 1);
  g_assert_cmpuint (engine_count (self->engine.controller, "data-published"), ==, 0);
  g_assert_cmpuint (engine_count (self->engine.controller, "data-waiting"), ==, 0);
  g_assert_cmpuint (engine_count (self->engine.controller, "calls-open"), ==, 0);
}

/* A tool that goes leaves nothing that was to end with it. */
static void
test_tool_gone (Fixture *self, gconstpointer data)
{
  DvmdPmixHost *host = pmix_fake_get_host (self->engine.fakes[0]);
  guint32 rank = 0;
  g_autofree char *name = dvmd_pmix_host_tool_connected (host, NULL, &rank);

  for (guint i = 0; i < 5; i++)
    {
      g_autofree char *text = g_strdup_printf ("{'items': <[('%u', b'')]>, 'persistence': <uint32 %u>}", i, i);

      pmix_fake_data (self->engine.fakes[0], DVMD_PMIX_DATA_PUBLISH, name, rank, g_variant_new_parsed (text));
    }
  pmix_fake_data (self->engine.fakes[0], DVMD_PMIX_DATA_LOOKUP, name, rank,
                  g_variant_new_parsed ("{'keys': <['z']>, 'wait': <0>}"));
  wait_until (engine_count (self->engine.controller, "data-waiting") == 1);
  g_assert_cmpuint (engine_count (self->engine.controller, "data-published"), ==, 5);
  dvmd_pmix_host_lost (host, name, rank);
  wait_until (engine_count (self->engine.controller, "data-waiting") == 0);
  g_assert_cmpuint (engine_count (self->engine.controller, "calls-open"), ==, 0);
  g_assert_cmpuint (engine_count (self->engine.controller, "data-published"), ==, 2);
  g_assert_cmpuint (engine_count (self->engine.controller, "tools"), ==, 0);
}

/* ---- direct modex that nobody answers ---- */

/* The token is one that the first node's server waits for; the second one's agent does not hear. */
static guint64
ask_the_deaf (Fixture *self, guint32 timeout)
{
  DvmdController *controller = self->engine.controller;
  guint64 token = connect_from (self, 0, FALSE, 0, 0);
  g_autoptr (GVariant)
      ask = g_variant_ref_sink (g_variant_new_parsed ("(%t, %s, uint32 1, %u)", token, nspace (self, 1), timeout));
  g_autoptr (DvmdLink) link = g_object_ref (g_hash_table_lookup (controller->links, GUINT_TO_POINTER (2)));

  g_hash_table_steal (controller->links, GUINT_TO_POINTER (2));
  engine_tell (self->engine.controller, DVMD_MSG_MODEX, 1, ask);
  g_hash_table_insert (controller->links, GUINT_TO_POINTER (2), g_object_ref (link));
  g_object_unref (link);
  g_assert_cmpuint (engine_count (self->engine.controller, "modex-waiting"), ==, 1);
  return token;
}

static void
assert_refused (Fixture *self, guint64 token, int status)
{
  g_assert_cmpint (get_status (self, 0, token), ==, status);
  g_assert_cmpuint (engine_count (self->engine.controller, "modex-waiting"), ==, 0);
}

static void
test_modex_timeout (Fixture *self, gconstpointer data)
{
  assert_refused (self, ask_the_deaf (self, 1), DVMD_PMIX_ERR_TIMEOUT);
}

static void
test_modex_of_lost_node (Fixture *self, gconstpointer data)
{
  guint64 token = ask_the_deaf (self, 0);

  dvmd_services_agent_gone (self->engine.controller, 2);
  assert_refused (self, token, DVMD_PMIX_ERR_LOST_CONNECTION);
  ask_the_deaf (self, 0);
  /* No agent is left that could be told. */
  dvmd_services_agent_gone (self->engine.controller, 1);
  g_assert_cmpuint (engine_count (self->engine.controller, "modex-waiting"), ==, 0);
}

static void
test_modex_of_ended_job (Fixture *self, gconstpointer data)
{
  guint64 token = ask_the_deaf (self, 0);

  dvmd_services_job_ended (self->engine.controller, self->jobs[0]);
  g_assert_cmpuint (engine_count (self->engine.controller, "modex-waiting"), ==, 1);
  dvmd_services_job_ended (self->engine.controller, self->jobs[1]);
  assert_refused (self, token, DVMD_PMIX_ERR_NOT_FOUND);
}

/* ---- agents that say what is not so ---- */

/* A question to one agent is not for another one to answer. */
static void
test_answer_of_another (Fixture *self, gconstpointer data)
{
  g_autoptr (GVariant)
      ask = g_variant_ref_sink (g_variant_new_parsed ("(uint64 4711, %s, uint32 1, uint32 0)", nspace (self, 1)));
  g_autoptr (GVariant) answer = g_variant_ref_sink (g_variant_new_parsed ("(uint32 1, uint64 4711, 0, b'forged')"));

  engine_tell (self->engine.controller, DVMD_MSG_MODEX, 1, ask);
  g_assert_cmpuint (engine_count (self->engine.controller, "modex-waiting"), ==, 1);
  engine_tell (self->engine.controller, DVMD_MSG_MODEX_DATA, 1, answer);
  g_assert_cmpuint (engine_count (self->engine.controller, "modex-waiting"), ==, 1);
  wait_until (engine_count (self->engine.controller, "modex-waiting") == 0);
}

static GVariant *
parse (const char *format, ...)
{
  va_list args;
  GVariant *value;

  va_start (args, format);
  value = g_variant_ref_sink (g_variant_new_parsed_va (format, &args));
  va_end (args);
  return value;
}

/* An agent speaks for the processes and tools of its node, and for nobody else. */
static void
test_for_others (Fixture *self, gconstpointer data)
{
  DvmdController *controller = self->engine.controller;
  const char *theirs = nspace (self, 1);
  guint32 rank = 0;
  g_autofree char *tool = dvmd_pmix_host_tool_connected (pmix_fake_get_host (self->engine.fakes[0]), NULL, &rank);
  g_autofree char *nobody = g_strdup_printf ("%s@tool-7-1", dvmd_controller_get_parts (controller)->nspace);
  const char *const names[] = { theirs, tool, nobody, "bus.0", "scheduler:test", "" };
  guint64 token = pmix_fake_data (self->engine.fakes[0], DVMD_PMIX_DATA_PUBLISH, tool, rank,
                                  g_variant_new_parsed ("{'items': <[('a', b'')]>}"));

  g_assert_cmpint (get_status (self, 0, token), ==, DVMD_PMIX_SUCCESS);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      /* The job is on the second node, the tool on the first one. */
      guint agent = names[i] == theirs ? 1 : 2;
      g_autoptr (GVariant) spawn = parse ("([{'argv': <['true']>}], @a{sv} {}, uint32 0, uint32 0)");
      g_autoptr (GVariant) control = parse ("([(%s, %u)], 'kill', 0)", nspace (self, 0), DVMD_PMIX_RANK_WILDCARD);
      g_autoptr (GVariant) shutdown = parse ("(@a(su) [], 'terminate', 0)");
      g_autoptr (GVariant) abort = parse ("(%s, uint32 0, uint32 0, 1, '', [(%s, %u)])", names[i], nspace (self, 0),
                                          DVMD_PMIX_RANK_WILDCARD);
      g_autoptr (GVariant) session = parse ("(uint32 0, {'instantiate': <true>, 'hosts': <['two']>})");
      g_autoptr (GVariant) allocate = parse ("('new', {'hosts': <['n9']>})");
      g_autoptr (GVariant) unpublish = parse ("(%u, uint32 0, uint32 0, @a{sv} {})", (guint32)DVMD_PMIX_DATA_UNPUBLISH);
      g_autoptr (GVariant) gone = parse ("(%s,)", names[i]);

      engine_call (self->engine.controller, DVMD_CALL_SPAWN, agent, names[i], 0, spawn);
      engine_call (self->engine.controller, DVMD_CALL_JOB_CONTROL, agent, names[i], 0, control);
      engine_call (self->engine.controller, DVMD_CALL_JOB_CONTROL, agent, names[i], 0, shutdown);
      engine_tell (self->engine.controller, DVMD_MSG_ABORT_PROCS, agent, abort);
      engine_call (self->engine.controller, DVMD_CALL_ALLOCATE, agent, names[i], 0, allocate);
      engine_call (self->engine.controller, DVMD_CALL_CONTROL_SESSION, agent, names[i], 0, session);
      engine_call (self->engine.controller, DVMD_CALL_DATA, agent, names[i], 0, unpublish);
      engine_tell (self->engine.controller, DVMD_MSG_TOOL_GONE, agent, gone);
      g_assert_cmpuint (engine_count (self->engine.controller, "spawns-open"), ==, 0);
      g_assert_cmpuint (engine_count (self->engine.controller, "requesters-waiting"), ==, 0);
      g_assert_cmpuint (engine_count (self->engine.controller, "calls-open"), ==, 0);
      g_assert_cmpuint (engine_count (self->engine.controller, "tools"), ==, 1);
    }
  settle ();
  g_assert_cmpuint (engine_count (self->engine.controller, "data-published"), ==, 1);
  g_assert_cmpint (dvmd_job_get_state (self->jobs[0]), ==, DVM_JOB_STATE_RUNNING);
  g_assert_false (self->engine.ended);
}

/* Nor does it come to a collective of others, one that has begun, or one that has not. */
static void
test_collective_of_others (Fixture *self, gconstpointer data)
{
  g_autoptr (GVariant) fence = parse ("(uint64 99, [(%s, uint32 0)], false, b'forged', uint32 0, 0)", nspace (self, 0));
  g_autoptr (GVariant) body = parse ("(uint64 99, false, [(%s, uint32 0)], uint32 0, 0)", nspace (self, 0));

  engine_tell (self->engine.controller, DVMD_MSG_FENCE, 2, fence);
  engine_tell (self->engine.controller, DVMD_MSG_CONNECT, 2, body);
  engine_tell (self->engine.controller, DVMD_MSG_CONNECT, 7, body);
  g_assert_cmpuint (engine_count (self->engine.controller, "collectives-open"), ==, 0);
}

/* Somebody waits in a collective meanwhile. */
static void
test_ranks_that_are_not (Fixture *self, gconstpointer data)
{
  DvmdController *controller = self->engine.controller;
  guint32 id = dvmd_job_get_id (self->jobs[1]);
  static const guint32 ranks[] = { 2, 1000000, G_MAXUINT32 - 1, G_MAXUINT32 };
  guint64 token = connect_from (self, 0, FALSE, 1, 0);

  wait_until (engine_count (self->engine.controller, "collectives-open") == 1);
  for (gsize i = 0; i < G_N_ELEMENTS (ranks); i++)
    {
      g_autoptr (GVariant) states = g_variant_ref_sink (
          g_variant_new_parsed ("(%u, [(%u, %u, 0, 0)])", id, ranks[i], (guint32)DVM_PROC_STATE_TERMINATED));
      g_autoptr (GVariant)
          launched = g_variant_ref_sink (g_variant_new_parsed ("(%u, [(%u, 1)], @a(uis) [])", id, ranks[i]));
      g_autoptr (GVariant) aborted = g_variant_ref_sink (g_variant_new_parsed ("(%u, %u, 1, '')", id, ranks[i]));

      engine_tell (controller, DVMD_MSG_PROC_STATES, 2, states);
      engine_tell (controller, DVMD_MSG_LAUNCHED, 2, launched);
      engine_tell (controller, DVMD_MSG_ABORT, 2, aborted);
    }
  /* Nor does an agent speak of ranks of another one. */
  {
    g_autoptr (GVariant) states = g_variant_ref_sink (
        g_variant_new_parsed ("(%u, [(%u, %u, 0, 0)])", id, 1, (guint32)DVM_PROC_STATE_TERMINATED));

    engine_tell (controller, DVMD_MSG_PROC_STATES, 1, states);
  }
  settle ();
  g_assert_cmpuint (engine_count (self->engine.controller, "collectives-open"), ==, 1);
  g_assert_cmpint (dvmd_job_get_state (self->jobs[1]), ==, DVM_JOB_STATE_RUNNING);
  connect_from (self, 1, FALSE, 1, 0);
  g_assert_cmpint (get_status (self, 0, token), ==, DVMD_PMIX_SUCCESS);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, func) g_test_add ("/engine-connect/" name, Fixture, NULL, set_up, func, tear_down)
  ADD ("connect", test_connect);
  ADD ("any-order", test_any_order);
  ADD ("three-things", test_three_things);
  ADD ("timeout", test_timeout);
  ADD ("participant-dies", test_participant_dies);
  ADD ("nobody", test_nobody);
  ADD ("modex", test_modex);
  ADD ("modex-of-a-job-that-ends", test_modex_of_a_job_that_ends);
  ADD ("modex-of-a-job-that-was-here", test_modex_of_a_job_that_was_here);
  ADD ("publish", test_publish);
  ADD ("purge", test_purge);
  ADD ("tool-gone", test_tool_gone);
  ADD ("tool-of-lost-node", test_tool_of_lost_node);
  ADD ("modex-timeout", test_modex_timeout);
  ADD ("modex-of-lost-node", test_modex_of_lost_node);
  ADD ("modex-of-ended-job", test_modex_of_ended_job);
  ADD ("answer-of-another", test_answer_of_another);
  ADD ("collective-of-others", test_collective_of_others);
  ADD ("for-others", test_for_others);
  ADD ("ranks-that-are-not", test_ranks_that_are_not);
#undef ADD
  return g_test_run ();
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Processes and tools that ask for nodes and are told of changes of size: a controller with two agents in one process,
 * each with a PMIx server that the test plays the clients of.
 */

#include "config.h"

#include <signal.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "dvmd-controller-jobs.h"
#include "dvmd-controller-session.h"
#include "engine-fixture.h"
#include "wait-until.h"

typedef struct
{
  EngineFixture engine;
  DvmdJob *job; /* one rank on each node */
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  DvmdControllerSettings settings = { .pmix_events = TRUE };

  engine_fixture_start (&self->engine, &settings);
  self->job = engine_fixture_run_job (&self->engine);
}

static void
shut_down (Fixture *self)
{
  engine_fixture_end (&self->engine, TRUE);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  shut_down (self);
  engine_fixture_clear (&self->engine);
}

static const char *
get_nspace (Fixture *self)
{
  return dvm_job_get_nspace (dvmd_job_get_record (self->job));
}

/* All that has been sent has come after this. */
static void
settle (void)
{
  for (guint i = 0; i < 50; i++)
    g_main_context_iteration (NULL, FALSE);
}

static int
ask (Fixture *self, guint node, const char *nspace, guint32 rank, const char *request)
{
  guint64 token = pmix_fake_allocate (self->engine.fakes[node], nspace, rank, "new", g_variant_new_parsed (request));
  GVariant *answer;
  int status;

  wait_until (pmix_fake_get_allocation (self->engine.fakes[node], token, &status, &answer));
  g_assert_null (answer);
  return status;
}

/* The answer comes to the node that asked; what is no process of that node is not heard. */
static void
test_request (Fixture *self, gconstpointer data)
{
  g_autoptr (GError) error = g_error_new_literal (DVM_ERROR, DVM_ERROR_NOT_ELASTIC, "");
  const char *request = "@a{sv} {'hosts': <['n9']>}";

  g_assert_cmpint (ask (self, 1, get_nspace (self), 1, request), ==, dvmd_pmix_status_from_error (error));
  g_assert_cmpint (ask (self, 0, get_nspace (self), 0, request), ==, dvmd_pmix_status_from_error (error));
  g_assert_cmpint (ask (self, 0, get_nspace (self), 1, request), ==, DVMD_PMIX_ERR_NO_PERMISSIONS);
  g_assert_cmpint (ask (self, 0, "nobody", 0, request), ==, DVMD_PMIX_ERR_NO_PERMISSIONS);
  g_assert_cmpuint (engine_count (self->engine.controller, "requesters-waiting"), ==, 0);
  g_assert_cmpuint (engine_count (self->engine.controller, "calls-open"), ==, 0);
}

/* A file is read beside the main loop, and what is wrong with it is told as any other thing. */
static void
test_file (Fixture *self, gconstpointer data)
{
  g_autoptr (GError) not_elastic = g_error_new_literal (DVM_ERROR, DVM_ERROR_NOT_ELASTIC, "");
  g_autoptr (GError) not_found = g_error_new_literal (DVM_ERROR, DVM_ERROR_NOT_FOUND, "");
  g_autofree char *path = g_build_filename (self->engine.dir, "hostfile", NULL);
  g_autofree char *request = g_strdup_printf ("@a{sv} {'hostfile': <'%s'>}", path);

  g_assert_cmpint (ask (self, 1, get_nspace (self), 1, request), ==, dvmd_pmix_status_from_error (not_found));
  g_assert_true (g_file_set_contents (path, "n9\n", -1, NULL));
  g_assert_cmpint (ask (self, 1, get_nspace (self), 1, request), ==, dvmd_pmix_status_from_error (not_elastic));
  g_assert_cmpuint (engine_count (self->engine.controller, "requesters-waiting"), ==, 0);
  g_assert_cmpuint (engine_count (self->engine.controller, "calls-open"), ==, 0);
  g_unlink (path);
}

/* ---- sessions ---- */

static int
control_session (Fixture *self, guint node, guint32 number, const char *directives, GVariant **answer)
{
  guint64 token = pmix_fake_call (self->engine.fakes[node], DVMD_CALL_CONTROL_SESSION, get_nspace (self), node,
                                  g_variant_new ("(u@a{sv})", number, g_variant_new_parsed (directives)));
  int status;

  wait_until (pmix_fake_get_allocation (self->engine.fakes[node], token, &status, answer));
  g_assert_true ((*answer != NULL) == (status == DVMD_PMIX_SUCCESS));
  return status;
}

static void
assert_not_controlled (Fixture *self, guint32 number, const char *directives, DvmError code)
{
  g_autoptr (GError) error = g_error_new_literal (DVM_ERROR, code, "");
  GVariant *answer;

  g_assert_cmpint (control_session (self, 0, number, directives, &answer), ==, dvmd_pmix_status_from_error (error));
}

static gboolean
is_paused (DvmdCore *core, guint number)
{
  DvmSession *record = dvmd_session_get_record (dvmd_core_get_session (core, number));

  return dvm_session_get_state (record) == DVM_SESSION_STATE_PAUSED;
}

/* The session of nobody's, with node "one": paused. */
static guint
make_foreign (Fixture *self)
{
  DvmdCore *core = dvmd_controller_get_core (self->engine.controller);
  const guint id = 9;

  dvmd_controller_control_session_async (self->engine.controller, id,
                                         g_variant_new_parsed ("{'instantiate': <true>, 'hosts': <['one']>}"), NULL,
                                         NULL, FALSE, NULL, NULL, NULL);
  wait_until (dvmd_core_get_session (core, id) != NULL);
  dvmd_controller_control_session_async (self->engine.controller, id, g_variant_new_parsed ("{'pause': <true>}"), NULL,
                                         NULL, FALSE, NULL, NULL, NULL);
  wait_until (is_paused (core, id));
  return id;
}

/* A process makes a session, controls it and ends it, and nobody else's; each request is answered. */
static void
test_session (Fixture *self, gconstpointer data)
{
  g_autofree char *path = g_build_filename (self->engine.dir, "hostfile", NULL);
  g_autofree char *by_file = g_strdup_printf ("{'instantiate': <true>, 'hostfile': <'%s'>}", path);
  DvmdCore *core = dvmd_controller_get_core (self->engine.controller);
  guint foreign = make_foreign (self);
  const char *alloc_id;
  const char *req_id;
  GVariant *answer;
  guint32 number;
  guint32 none;

  g_assert_true (g_file_set_contents (path, "two\n", -1, NULL));
  g_assert_cmpint (control_session (self, 1, 0, by_file, &answer), ==, DVMD_PMIX_SUCCESS);
  g_variant_get (answer, "(&s&su)", &alloc_id, &req_id, &number);
  g_assert_cmpuint (number, !=, 0);
  g_assert_cmpstr (alloc_id, ==, dvmd_session_get_alloc_id (dvmd_core_get_session (core, number)));
  g_assert_cmpint (control_session (self, 1, number, "{'pause': <true>}", &answer), ==, DVMD_PMIX_SUCCESS);
  g_assert_true (is_paused (core, number));
  g_assert_cmpint (control_session (self, 0, G_MAXUINT32, "{'resume': <true>}", &answer), ==, DVMD_PMIX_SUCCESS);
  g_variant_get (answer, "(&s&su)", &alloc_id, &req_id, &none);
  g_assert_cmpstr (alloc_id, ==, "");
  g_assert_cmpuint (none, ==, 0);
  g_assert_true (is_paused (core, foreign));
  assert_not_controlled (self, foreign, "{'resume': <true>}", DVM_ERROR_NO_PERMISSIONS);
  g_assert_false (is_paused (core, number));
  assert_not_controlled (self, 0, "{'pause': <true>}", DVM_ERROR_NOT_SUPPORTED);
  assert_not_controlled (self, 77, "{'pause': <true>}", DVM_ERROR_NOT_FOUND);
  assert_not_controlled (self, number, "{'pause': <true>, 'resume': <true>}", DVM_ERROR_BAD_PARAM);
  assert_not_controlled (self, number, "@a{sv} {}", DVM_ERROR_BAD_PARAM);
  assert_not_controlled (self, number, "{'extend': <uint32 0>, 'count': <uint32 3>}", DVM_ERROR_NOT_SUPPORTED);
  g_assert_cmpint (control_session (self, 0, number, "{'terminate': <true>}", &answer), ==, DVMD_PMIX_SUCCESS);
  wait_until (dvmd_core_get_session (core, number) == NULL);
  g_assert_cmpuint (engine_count (self->engine.controller, "requesters-waiting"), ==, 0);
  g_assert_cmpuint (engine_count (self->engine.controller, "calls-open"), ==, 0);
  g_unlink (path);
}

static void
send_event (Fixture *self, guint agent, const char *nspace, guint32 rank, int event, const char *req_id, int cause,
            const char *reason)
{
  dvmd_controller_send (self->engine.controller, agent, DVMD_MSG_SIZE_EVENT,
                        g_variant_new ("(suissis)", nspace, rank, event, "a-1", req_id, cause, reason));
  settle ();
}

static void
assert_event (Fixture *self, guint node, const char *nspace, guint32 rank, int event, const char *expected)
{
  GVariant *details = NULL;
  g_autofree char *text = NULL;

  g_assert_cmpuint (pmix_fake_count_events (self->engine.fakes[node], nspace, rank, event, &details), ==, 1);
  text = g_variant_print (details, TRUE);
  g_assert_cmpstr (text, ==, expected);
}

static guint
count_all (Fixture *self)
{
  return pmix_fake_get_events (self->engine.fakes[0])->len + pmix_fake_get_events (self->engine.fakes[1])->len;
}

static void
test_events (Fixture *self, gconstpointer data)
{
  const char *nspace = get_nspace (self);

  send_event (self, 2, nspace, 1, DVMD_PMIX_DVM_IS_READY, "mine", 0, "");
  assert_event (self, 1, nspace, 1, DVMD_PMIX_DVM_IS_READY, "{'pmix.alloc.id': <'a-1'>, 'pmix.alloc.reqid': <'mine'>}");
  send_event (self, 2, nspace, 1, DVMD_PMIX_ERR_DVM_MOD, "", DVMD_PMIX_ERR_TIMEOUT, "n9 did not come");
  assert_event (self, 1, nspace, 1, DVMD_PMIX_ERR_DVM_MOD,
                "{'pmix.alloc.id': <'a-1'>, 'pmix.job.term.status': <(-24,)>, 'pmix.evtext': <'n9 did not come'>}");
  g_assert_cmpuint (count_all (self), ==, 2);
}

/* A process that has ended is told nothing, nor is another one in its place, but of that end itself. */
static void
test_event_for_nobody (Fixture *self, gconstpointer data)
{
  const DvmdProcTable *procs = dvmd_job_get_procs (self->job);

  kill ((pid_t)dvmd_proc_table_row ((DvmdProcTable *)procs, 1)->pid, SIGKILL);
  wait_until (dvm_job_get_num_terminated (dvmd_job_get_record (self->job)) == 1);
  wait_until (pmix_fake_count_events (self->engine.fakes[0], get_nspace (self), DVMD_PMIX_RANK_WILDCARD,
                                      DVMD_PMIX_ERR_PROC_ABORTED_BY_SIG, NULL)
              == 1);
  send_event (self, 2, get_nspace (self), 1, DVMD_PMIX_DVM_IS_READY, "", 0, "");
  send_event (self, 2, "tool", 0, DVMD_PMIX_DVM_IS_READY, "", 0, "");
  g_assert_cmpuint (count_all (self), ==, 1);
}

/* The ranks on a node that leaves learn it, and when. */
static void
test_warning (Fixture *self, gconstpointer data)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (dvmd_controller_get_core (self->engine.controller)), 2);
  g_autofree char *expected = g_strdup_printf (
      "{'pmix.hname': <'two'>, 'pmix.evterm.node': <true>, 'pmix.evtimeout': <60>, 'pmix.evaffected': <[('%s', uint32 "
      "1)]>}",
      get_nspace (self));

  dvmd_controller_warn_job (self->engine.controller, self->job, node,
                            dvmd_clock_monotonic (dvmd_controller_get_parts (self->engine.controller)->clock)
                                + 60 * G_TIME_SPAN_SECOND + G_TIME_SPAN_SECOND * 9 / 10);
  settle ();
  assert_event (self, 1, get_nspace (self), DVMD_PMIX_RANK_WILDCARD, DVMD_PMIX_EVENT_NODE_OFFLINE, expected);
  g_assert_cmpuint (count_all (self), ==, 1);
}

/* A tool has a name of its own in all of the DVM, asks, and is told of things until it has gone. */
static void
test_tool (Fixture *self, gconstpointer data)
{
  DvmdPmixHost *hosts[] = { pmix_fake_get_host (self->engine.fakes[0]), pmix_fake_get_host (self->engine.fakes[1]) };
  guint32 rank = 7;
  g_autofree char *first = dvmd_pmix_host_tool_connected (hosts[0], "mine", &rank);
  g_autofree char *second = dvmd_pmix_host_tool_connected (hosts[0], NULL, &rank);
  g_autofree char *third = dvmd_pmix_host_tool_connected (hosts[1], "mine", &rank);

  g_assert_cmpuint (rank, ==, 0);
  g_assert_cmpstr (first, !=, second);
  g_assert_cmpstr (first, !=, third);
  g_assert_cmpstr (second, !=, third);
  g_assert_cmpint (ask (self, 1, third, 0, "@a{sv} {'hosts': <['n9']>}"), !=, DVMD_PMIX_ERR_NO_PERMISSIONS);
  g_assert_cmpint (ask (self, 0, third, 0, "@a{sv} {'hosts': <['n9']>}"), ==, DVMD_PMIX_ERR_NO_PERMISSIONS);
  send_event (self, 2, third, 0, DVMD_PMIX_DVM_IS_READY, "", 0, "");
  assert_event (self, 1, third, 0, DVMD_PMIX_DVM_IS_READY, "{'pmix.alloc.id': <'a-1'>}");
  dvmd_pmix_host_lost (hosts[1], third, 0);
  send_event (self, 2, third, 0, DVMD_PMIX_DVM_IS_READY, "", 0, "");
  g_assert_cmpuint (count_all (self), ==, 1);
}

/* A tool that a rank has started is that rank, and its end is not the end of that. */
static void
test_tool_of_rank (Fixture *self, gconstpointer data)
{
  DvmdPmixHost *host = pmix_fake_get_host (self->engine.fakes[1]);
  guint32 rank = 1;
  g_autofree char *name = dvmd_pmix_host_tool_connected (host, get_nspace (self), &rank);

  g_assert_cmpstr (name, ==, get_nspace (self));
  g_assert_cmpuint (rank, ==, 1);
  dvmd_pmix_host_lost (host, name, rank);
  settle ();
  g_assert_cmpint (dvmd_job_get_state (self->job), ==, DVM_JOB_STATE_RUNNING);
  g_assert_cmpint (ask (self, 1, name, rank, "@a{sv} {'hosts': <['n9']>}"), !=, DVMD_PMIX_ERR_NO_PERMISSIONS);
}

/* The server goes: whoever is connected to it learns it before, and of the jobs that end with the DVM. */
static void
test_tool_at_the_end (Fixture *self, gconstpointer data)
{
  DvmdPmixHost *host = pmix_fake_get_host (self->engine.fakes[1]);
  guint32 rank = 0;
  g_autofree char *name = dvmd_pmix_host_tool_connected (host, NULL, &rank);
  g_autofree char *expected = g_strdup_printf (
      "{'pmix.evproc': <('%s', uint32 4294967294)>, 'pmix.job.term.status': <(0,)>}",
      dvmd_controller_get_parts (self->engine.controller)->nspace);
  g_autofree char *text = NULL;
  GVariant *details = NULL;

  wait_until (engine_count (self->engine.controller, "tools") == 1);
  shut_down (self);
  g_assert_cmpuint (pmix_fake_count_events (self->engine.fakes[1], name, 0, DVMD_PMIX_EVENT_JOB_END, &details), ==, 2);
  text = g_variant_print (details, TRUE);
  g_assert_cmpstr (text, ==, expected);
  g_assert_cmpuint (count_all (self), ==, 2);
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    void (*func) (Fixture *, gconstpointer);
  } tests[] = {
    { "/engine-alloc/request", test_request },
    { "/engine-alloc/file", test_file },
    { "/engine-alloc/session", test_session },
    { "/engine-alloc/events", test_events },
    { "/engine-alloc/event-for-nobody", test_event_for_nobody },
    { "/engine-alloc/warning", test_warning },
    { "/engine-alloc/tool", test_tool },
    { "/engine-alloc/tool-of-rank", test_tool_of_rank },
    { "/engine-alloc/tool-at-the-end", test_tool_at_the_end },
  };

  signal (SIGPIPE, SIG_IGN);
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (tests); i++)
    g_test_add (tests[i].name, Fixture, NULL, set_up, tests[i].func, tear_down);
  return g_test_run ();
}

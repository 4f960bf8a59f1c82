/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The library and sessions: nodes that are set aside, the jobs on them, what is done to both, and their time.
 */

#include "config.h"

#include "client-fixture.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* (transfer full): the session as it is now */
static DvmSession *
find (Fixture *fixture, const char *reference)
{
  g_autoptr (GError) error = NULL;
  DvmSession *session = dvm_client_find_session (fixture->client, reference, NULL, &error);

  g_assert_no_error (error);
  return session;
}

/* (transfer full): a session with n9, with two slots, for us alone; request: more keys */
static DvmSession *
reserve (Fixture *fixture, const char *request)
{
  g_autofree char *text = g_strdup_printf ("{'hosts': <['n9:2']>, 'share': <false>, 'req-id': <'mine'>%s}", request);
  guint n_events = fixture->events->len;
  g_autofree char *alloc_id = NULL;
  g_autoptr (DvmCampaign) campaign = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (dvm_client_grow (fixture->client, g_variant_new_parsed (text), NULL, &alloc_id, &campaign, &error));
  g_assert_no_error (error);
  g_assert_true (g_str_has_prefix (fixture_get_event (fixture, n_events), "ready"));
  return find (fixture, alloc_id);
}

static void
check_state (Fixture *fixture, DvmSession *session, const char *expected)
{
  g_autoptr (DvmSession) now = find (fixture, dvm_session_get_object_path (session));

  g_assert_cmpstr (dvm_session_state_to_string (dvm_session_get_state (now)), ==, expected);
}

/* The client's list of sessions follows the end of the session. */
static void
wait_gone (Fixture *fixture, DvmSession *session)
{
  GListModel *sessions = dvm_client_get_sessions (fixture->client);
  g_autoptr (GError) error = NULL;

  wait_until (dvm_client_get_loaded (fixture->client) && g_list_model_get_n_items (sessions) == 1);
  g_assert_null (dvm_client_find_session (fixture->client, dvm_session_get_object_path (session), NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
}

/* (transfer full): a job that runs in the session until it is ended */
static DvmJob *
start_job (Fixture *fixture, DvmSession *session)
{
  static const char *const argv[] = { "sleep", "1000", NULL };
  const char *const targets[] = { dvm_session_get_alloc_id (session), NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new ();
  g_autoptr (DvmAppSpec) app = dvm_app_spec_new (argv);
  g_autoptr (GError) error = NULL;
  DvmJob *job;

  dvm_app_spec_set_np (app, 1);
  dvm_job_spec_add_app (spec, app);
  dvm_job_spec_set_target (spec, targets);
  dvm_job_spec_set_personality (spec, "plain");
  job = dvm_client_submit (fixture->client, spec, NULL, &error);
  g_assert_no_error (error);
  while (dvm_job_get_num_launched (job) == 0)
    {
      g_assert_true (dvm_client_refresh_job (fixture->client, job, NULL, &error));
      g_assert_no_error (error);
      g_assert_false (dvm_job_get_ended (job));
    }
  g_assert_cmpstr (dvm_job_get_session (job), ==, dvm_session_get_object_path (session));
  return job;
}

static void
wait_for (Fixture *fixture, DvmJob *job)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (dvm_client_wait (fixture->client, job, 60000, NULL, &error));
  g_assert_no_error (error);
}

/* ---- tests ---- */

static void
test_find (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmSession) session = reserve (fixture, "");
  g_autoptr (DvmSession) by_request = find (fixture, "mine");
  g_autoptr (DvmSession) by_number = find (fixture, "1");
  g_autoptr (DvmSession) by_path = find (fixture, "/org/dvm/sessions/1");
  g_autoptr (DvmSession) usual = find (fixture, "");
  g_autofree char *owner = g_strdup_printf ("bus.%u", (guint)getuid ());
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (dvm_session_get_id (session), ==, 1);
  g_assert_cmpuint (dvm_session_get_id (by_request), ==, 1);
  g_assert_cmpuint (dvm_session_get_id (by_number), ==, 1);
  g_assert_cmpuint (dvm_session_get_id (by_path), ==, 1);
  g_assert_cmpuint (dvm_session_get_id (usual), ==, 0);
  g_assert_null (dvm_client_find_session (fixture->client, "no-such", NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  g_assert_cmpstr (dvm_session_get_request_id (session), ==, "mine");
  g_assert_cmpstr (dvm_session_get_nodes (session)[0], ==, "n9");
  g_assert_cmpstr (dvm_session_get_owner (session), ==, owner);
  g_assert_cmpstr (dvm_session_get_owners (session)[0], ==, owner);
  g_assert_cmpstr (dvm_session_get_inheritance (session), ==, "default");
  g_assert_false (dvm_session_get_shared (session));
  g_assert_false (dvm_session_get_separate (session));
  g_assert_cmpstr (dvm_session_get_parent (session), ==, "/");
  g_assert_cmpint (dvm_session_get_expires_at (session), ==, 0);
}

static void
test_jobs (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmSession) session = reserve (fixture, ", 'inheritance': <'none'>");
  g_autoptr (DvmJob) one = start_job (fixture, session);
  g_autoptr (DvmJob) other = start_job (fixture, session);
  g_autoptr (GError) error = NULL;

  g_assert_true (dvm_client_pause_session (fixture->client, session, NULL, &error));
  g_assert_no_error (error);
  check_state (fixture, session, "paused");
  g_assert_true (dvm_client_resume_session (fixture->client, session, NULL, &error));
  g_assert_no_error (error);
  check_state (fixture, session, "active");
  g_assert_true (dvm_client_signal_session (fixture->client, session, SIGUSR1, dvm_job_get_nspace (one), NULL, &error));
  g_assert_no_error (error);
  wait_for (fixture, one);
  g_assert_cmpint (dvm_job_get_exit_signal (one), ==, SIGUSR1);
  g_assert_true (dvm_client_terminate_session (fixture->client, session, NULL, &error));
  g_assert_no_error (error);
  wait_for (fixture, other);
  g_assert_cmpstr (dvm_job_get_state_name (other), ==, "KILLED_BY_CMD");
  wait_gone (fixture, session);
  g_assert_false (dvm_client_pause_session (fixture->client, session, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
}

static void
test_size (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmSession) session = reserve (fixture, "");
  g_autoptr (DvmSession) extended = NULL;
  g_autoptr (DvmCampaign) grow = NULL;
  g_autoptr (DvmCampaign) nothing = NULL;
  g_autoptr (DvmCampaign) shrink = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (dvm_client_extend_session (fixture->client, session, g_variant_new_parsed ("{'hosts': <['n10']>}"),
                                            NULL, &grow, &error));
  g_assert_no_error (error);
  g_assert_nonnull (grow);
  g_assert_true (g_str_has_prefix (fixture_get_event (fixture, 1), "ready"));
  g_assert_true (dvm_client_extend_session (fixture->client, session, g_variant_new_parsed ("{'time': <uint32 1000>}"),
                                            NULL, &nothing, &error));
  g_assert_no_error (error);
  g_assert_null (nothing);
  extended = find (fixture, "mine");
  g_assert_cmpuint (g_strv_length ((char **)dvm_session_get_nodes (extended)), ==, 2);
  g_assert_cmpint (dvm_session_get_expires_at (extended), >, g_get_real_time () + 900 * G_USEC_PER_SEC);
  g_assert_true (dvm_client_release_session (fixture->client, session, NULL, NULL, &shrink, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (g_strv_length ((char **)dvm_campaign_get_hosts (shrink)), ==, 2);
  g_assert_true (g_str_has_prefix (fixture_get_event (fixture, 2), "ready"));
  wait_gone (fixture, session);
}

static void
on_extended (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Fixture *fixture = user_data;
  g_autoptr (GError) error = NULL;

  g_assert_true (dvm_client_extend_session_finish (DVM_CLIENT (source), result, NULL, &error));
  g_assert_no_error (error);
  g_ptr_array_add (fixture->events, g_strdup ("answer"));
}

/* The warning comes to the client that extended the session last, after the answer to that, and to no other. */
static void
test_warning (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmSession) session = reserve (fixture, "");
  g_autoptr (DvmClient) other = dvm_client_new_for_address (fixture->socket);
  g_autofree char *expected = g_strdup_printf ("warning %s mine ", dvm_session_get_alloc_id (session));
  g_autoptr (GError) error = NULL;

  g_assert_true (dvm_client_connect (other, NULL, &error));
  g_assert_no_error (error);
  fixture_listen (fixture, other);
  dvm_client_extend_session_async (other, session,
                                   g_variant_new_parsed ("{'time': <uint32 1000>, 'warn-timeout': <uint32 999>}"), NULL,
                                   on_extended, fixture);
  g_assert_cmpstr (fixture_get_event (fixture, 1), ==, "answer");
  g_assert_true (g_str_has_prefix (fixture_get_event (fixture, 2), expected));
  check_state (fixture, session, "active");
  /* Another warning, had it been sent, would have come by now. */
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_assert_cmpuint (fixture->events->len, ==, 3);
}

static void
test_control (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GVariant) answer = NULL;
  g_autoptr (GVariant) paused = NULL;
  g_autoptr (DvmSession) session = NULL;
  g_autoptr (GError) error = NULL;
  const char *path = NULL;
  const char *alloc_id = NULL;

  answer = dvm_client_control_session (
      fixture->client, 0, g_variant_new_parsed ("{'instantiate': <true>, 'hosts': <['node1']>}"), NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_variant_lookup (answer, "session", "&o", &path));
  g_assert_true (g_variant_lookup (answer, "alloc-id", "&s", &alloc_id));
  session = find (fixture, path);
  g_assert_cmpstr (dvm_session_get_alloc_id (session), ==, alloc_id);
  g_assert_false (dvm_session_get_shared (session));
  paused = dvm_client_control_session (fixture->client, G_MAXUINT, g_variant_new_parsed ("{'pause': <true>}"), NULL,
                                       &error);
  g_assert_no_error (error);
  check_state (fixture, session, "paused");
  g_assert_null (dvm_client_control_session (
      fixture->client, 1, g_variant_new_parsed ("{'pause': <true>, 'resume': <true>}"), NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_clear_error (&error);
  g_assert_null (
      dvm_client_control_session (fixture->client, 77, g_variant_new_parsed ("{'pause': <true>}"), NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
}

#define add(name, test) g_test_add ("/client-session/" name, Fixture, NULL, fixture_set_up, test, fixture_tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  add ("find", test_find);
  add ("jobs", test_jobs);
  add ("size", test_size);
  add ("warning", test_warning);
  add ("control", test_control);

  return g_test_run ();
}

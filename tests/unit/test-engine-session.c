/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Control of sessions as it is asked for: what is read, what is refused without a trace, and what becomes of real
 * processes. A controller with two agents in one process.
 */

#include "config.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "dvmd-controller-session.h"
#include "dvmd-core-sessions.h"
#include "dvmd-session-request.h"
#include "engine-fixture.h"
#include "process-state.h"
#include "wait-until.h"

/* ---- requests ---- */

typedef struct
{
  const char *directives;
  DvmError code;
  const char *words[2];
} Refused;

static const Refused refused[] = {
  { "{}", DVM_ERROR_BAD_PARAM, { "instantiate", "separate" } },
  { "{'colour': <'red'>}", DVM_ERROR_BAD_PARAM, { "colour" } },
  { "{'hosts': <['n9']>}", DVM_ERROR_BAD_PARAM, { "instantiate", "separate" } },
  { "{'pause': <true>, 'terminate': <true>}", DVM_ERROR_BAD_PARAM, { "pause", "terminate" } },
  { "{'pause': <true>, 'separate': <true>}", DVM_ERROR_BAD_PARAM, { "pause", "separate" } },
  { "{'pause': <false>}", DVM_ERROR_BAD_PARAM, { "pause", "false" } },
  { "{'pause': <'yes'>}", DVM_ERROR_BAD_PARAM, { "pause", "type b" } },
  { "{'pause': <true>, 'colour': <'red'>}", DVM_ERROR_BAD_PARAM, { "colour" } },
  { "{'pause': <true>, 'hosts': <['n9']>}", DVM_ERROR_BAD_PARAM, { "hosts", "pause" } },
  { "{'pause': <true>, 'nspace': <'x'>}", DVM_ERROR_BAD_PARAM, { "nspace", "pause" } },
  { "{'signal': <4711>}", DVM_ERROR_BAD_PARAM, { "signal", "4711" } },
  { "{'signal': <0>}", DVM_ERROR_BAD_PARAM, { "signal" } },
  { "{'signal': <uint32 10>}", DVM_ERROR_BAD_PARAM, { "signal", "type i" } },
  { "{'extend': <uint32 0>}", DVM_ERROR_BAD_PARAM, { "extend" } },
  { "{'extend': <uint32 5>, 'time': <uint32 6>}", DVM_ERROR_BAD_PARAM, { "extend", "time" } },
  { "{'extend': <uint32 5>, 'apps': <@aa{sv} []>}", DVM_ERROR_BAD_PARAM, { "apps", "extend" } },
  { "{'instantiate': <true>}", DVM_ERROR_BAD_PARAM, { "hosts" } },
  { "{'instantiate': <true>, 'hosts': <@as []>}", DVM_ERROR_BAD_PARAM, { "hosts" } },
  { "{'instantiate': <true>, 'apps': <[{'argv': <['true']>}]>}", DVM_ERROR_BAD_PARAM, { "apps", "hosts" } },
  { "{'instantiate': <true>, 'hosts': <['n9']>, 'apps': <[{'np': <uint32 1>}]>}", DVM_ERROR_BAD_PARAM, { "argv" } },
  { "{'instantiate': <true>, 'count': <uint32 3>}", DVM_ERROR_NOT_SUPPORTED, { "count" } },
  { "{'instantiate': <true>, 'hosts': <['n9']>, 'image': <'x'>}", DVM_ERROR_NOT_SUPPORTED, { "image" } },
};

static GVariant *
parse (const char *text)
{
  g_autoptr (GError) error = NULL;
  GVariant *value = g_variant_parse (G_VARIANT_TYPE_VARDICT, text, NULL, NULL, &error);

  g_assert_no_error (error);
  return value;
}

static void
assert_mentions (const GError *error, const char *word)
{
  if (word != NULL && strstr (error->message, word) == NULL)
    g_error ("“%s” does not mention “%s”", error->message, word);
}

static void
test_request_refused (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (refused); i++)
    {
      g_autoptr (GVariant) value = parse (refused[i].directives);
      g_autoptr (GError) error = NULL;

      g_assert_null (dvmd_session_request_new (value, FALSE, &error));
      g_assert_error (error, DVM_ERROR, (int)refused[i].code);
      assert_mentions (error, refused[i].words[0]);
      assert_mentions (error, refused[i].words[1]);
    }
}

static void
test_request_read (void)
{
  g_autoptr (GVariant) instantiate = parse (
      "{'instantiate': <true>, 'hosts': <['a', 'b']>, 'inheritance': <'none'>, 'separate': <false>, 'apps': "
      "<[{'argv': <['true']>}]>}");
  g_autoptr (GVariant) extend = parse ("{'extend': <uint32 90>, 'hosts': <['c']>}");
  g_autoptr (GVariant) tolerated = parse ("{'terminate': <true>, 'colour': <'red'>}");
  g_autoptr (GVariant) granted = parse ("{'hosts': <['x']>, 'session': <uint32 4>, 'time': <uint32 7>}");
  g_autofree const char **hosts = NULL;
  g_autoptr (GError) error = NULL;
  DvmdSessionRequest *request = dvmd_session_request_new (instantiate, FALSE, &error);
  gboolean share = TRUE;
  guint seconds = 0;

  g_assert_no_error (error);
  g_assert_true (request->tied);
  g_assert_nonnull (request->spec);
  g_assert_true (g_variant_lookup (request->size, "share", "b", &share));
  g_assert_false (share);
  dvmd_session_request_grant (request, granted);
  g_assert_true (g_variant_lookup (request->size, "hosts", "^a&s", &hosts));
  g_assert_cmpstr (hosts[0], ==, "x");
  dvmd_session_request_free (request);
  request = dvmd_session_request_new (extend, FALSE, &error);
  g_assert_no_error (error);
  g_assert_true (g_variant_lookup (request->size, "time", "u", &seconds));
  g_assert_cmpuint (seconds, ==, 90);
  dvmd_session_request_free (request);
  request = dvmd_session_request_new (tolerated, TRUE, &error);
  g_assert_no_error (error);
  g_assert_cmpint (request->control.op, ==, DVMD_SESSION_TERMINATE);
  dvmd_session_request_free (request);
}

/* ---- what is done ---- */

typedef struct
{
  GVariant *answer;
  GError *error;
  gboolean done;
} Outcome;

static void
outcome_clear (Outcome *self)
{
  g_clear_pointer (&self->answer, g_variant_unref);
  g_clear_error (&self->error);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Outcome, outcome_clear)

static void
on_controlled (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Outcome *outcome = user_data;

  outcome->answer = dvmd_controller_control_session_finish (DVMD_CONTROLLER (source), result, &outcome->error);
  outcome->done = TRUE;
}

static void
control (EngineFixture *self, guint id, const char *directives, Outcome *outcome)
{
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  g_autoptr (GVariant) parsed = parse (directives);

  outcome_clear (outcome);
  outcome->done = FALSE;
  dvmd_controller_control_session_async (self->controller, id, parsed, NULL, requester, FALSE, NULL, on_controlled,
                                         outcome);
  wait_until (outcome->done);
}

static DvmdSession *
control_well (EngineFixture *self, guint id, const char *directives)
{
  g_auto (Outcome) outcome = { 0 };
  guint session = id;

  control (self, id, directives, &outcome);
  g_assert_no_error (outcome.error);
  g_variant_lookup (outcome.answer, "session", "u", &session);
  return dvmd_core_get_session (dvmd_controller_get_core (self->controller), session);
}

static void
control_refused (EngineFixture *self, guint id, const char *directives, DvmError code, const char *word)
{
  g_auto (Outcome) outcome = { 0 };

  control (self, id, directives, &outcome);
  g_assert_error (outcome.error, DVM_ERROR, (int)code);
  assert_mentions (outcome.error, word);
}

static DvmdJob *
submit (EngineFixture *self, DvmdSession *session, const char *const *argv)
{
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmdRequester) requester = dvmd_requester_new ("private:1", getuid (), getpid ());
  g_autoptr (GError) error = NULL;
  const int fds[3] = { -1, -1, -1 };
  DvmdJob *job;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 1);
  dvm_job_spec_set_personality (spec, "plain");
  dvm_job_spec_set_session (spec, dvmd_session_get_id (session));
  job = dvmd_controller_submit (self->controller, spec, requester, fds, &error);
  g_assert_no_error (error);
  return job;
}

static DvmdJob *
sleep_in (EngineFixture *self, DvmdSession *session)
{
  const char *argv[] = { "/bin/sleep", "1000", NULL };
  DvmdJob *job = submit (self, session, argv);

  wait_until (dvmd_job_get_state (job) == DVM_JOB_STATE_RUNNING);
  return job;
}

/* Of its one process. */
static char
look_at (DvmdJob *job)
{
  return get_process_state (dvmd_proc_table_row (dvmd_job_get_procs (job), 0)->pid);
}

static guint
count_sessions (EngineFixture *self)
{
  DvmdCore *core = dvmd_controller_get_core (self->controller);
  guint n = 0;

  for (DvmdSession *session = NULL; (session = dvmd_core_next_session (core, session)) != NULL;)
    n++;
  return n - 1;
}

static void
set_up (EngineFixture *self, gconstpointer data)
{
  DvmdControllerSettings settings = { 0 };

  engine_fixture_start (self, &settings);
}

static void
tear_down (EngineFixture *self, gconstpointer data)
{
  engine_fixture_end (self, TRUE);
  engine_fixture_clear (self);
}

/* S14, S16: a session that stands until it is ended; its processes are stopped, and no others. */
static void
test_processes (EngineFixture *self, gconstpointer data)
{
  DvmdSession *session = control_well (self, 0, "{'instantiate': <true>, 'hosts': <['two']>}");
  DvmdSession *everybody = dvmd_core_get_session (dvmd_controller_get_core (self->controller), 0);
  DvmdJob *inside = sleep_in (self, session);
  DvmdJob *outside = sleep_in (self, everybody);
  guint id = dvmd_session_get_id (session);

  g_assert_cmpstr (dvm_job_get_nodes (dvmd_job_get_record (inside))[0], ==, "two");
  g_assert_cmpstr (dvm_job_get_nodes (dvmd_job_get_record (outside))[0], ==, "one");
  control_well (self, id, "{'pause': <true>}");
  wait_until (look_at (inside) == 'T');
  g_assert_cmpint (look_at (outside), !=, 'T');
  control_well (self, id, "{'preempt': <true>}");
  control_well (self, id, "{'resume': <true>}");
  control_well (self, G_MAXUINT32, "{'restore': <true>}");
  wait_until (look_at (inside) != 'T');
  control_well (self, id, "{'pause': <true>}");
  wait_until (look_at (inside) == 'T');
  /* SIGTERM, and not SIGKILL after the grace: it goes on first. */
  control_well (self, id, "{'terminate': <true>}");
  wait_until (dvmd_job_get_ended (inside));
  g_assert_cmpint (dvmd_job_get_state (inside), ==, DVM_JOB_STATE_KILLED_BY_CMD);
  wait_until (count_sessions (self) == 0);
  g_assert_cmpint (dvmd_job_get_state (outside), ==, DVM_JOB_STATE_RUNNING);
}

/* S18 */
static void
test_signal (EngineFixture *self, gconstpointer data)
{
  DvmdSession *session = control_well (self, 0, "{'instantiate': <true>, 'hosts': <['two']>}");
  DvmdJob *first = sleep_in (self, session);
  DvmdJob *second = sleep_in (self, session);
  guint id = dvmd_session_get_id (session);
  g_autofree char *text = g_strdup_printf ("{'signal': <%d>, 'nspace': <'%s'>}", SIGUSR1,
                                           dvm_job_get_nspace (dvmd_job_get_record (second)));

  control_well (self, id, text);
  wait_until (dvmd_job_get_ended (second));
  g_assert_cmpint (dvm_job_get_exit_signal (dvmd_job_get_record (second)), ==, SIGUSR1);
  g_assert_cmpint (dvmd_job_get_state (first), ==, DVM_JOB_STATE_RUNNING);
  control_well (self, id, "{'signal': <15>}");
  wait_until (dvmd_job_get_ended (first));
}

/* S12, S15: the answer comes when its applications run, and the session goes after the last of them. */
static void
test_applications (EngineFixture *self, gconstpointer data)
{
  DvmdCore *core = dvmd_controller_get_core (self->controller);
  g_auto (Outcome) outcome = { 0 };
  const char *nspace = NULL;
  g_autoptr (GError) error = NULL;
  DvmdJob *job;

  control (self, 7,
           "{'instantiate': <true>, 'hosts': <['two']>, 'req-id': <'mine'>, 'apps': <[{'argv': <['sleep', '1000']>, "
           "'np': <uint32 1>}]>}",
           &outcome);
  g_assert_no_error (outcome.error);
  g_assert_true (g_variant_lookup (outcome.answer, "nspace", "&s", &nspace));
  job = dvmd_core_find_job (core, nspace);
  g_assert_nonnull (job);
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_RUNNING);
  g_assert_cmpstr (dvm_job_get_session (dvmd_job_get_record (job)), ==, "/org/dvm/sessions/7");
  g_assert_nonnull (dvmd_core_find_session_by_request (core, "mine"));
  control_refused (self, 7, "{'instantiate': <true>, 'hosts': <['one']>}", DVM_ERROR_EXISTS, "7");
  g_assert_true (dvmd_controller_cancel_job (self->controller, job, "enough", &error));
  wait_until (count_sessions (self) == 0);
  g_assert_true (dvmd_job_get_ended (job));
}

/* Applications that cannot be started are the answer, and nothing of the session stays. */
static void
test_applications_fail (EngineFixture *self, gconstpointer data)
{
  control_refused (self, 0, "{'instantiate': <true>, 'hosts': <['two']>, 'apps': <[{'argv': <['/no/such/program']>}]>}",
                   DVM_ERROR_LAUNCH_FAILED, "/no/such/program");
  wait_until (count_sessions (self) == 0);
  control_refused (self, 0,
                   "{'instantiate': <true>, 'hosts': <['two']>, 'apps': <[{'argv': <['true']>, 'np': <uint32 99>}]>}",
                   DVM_ERROR_MAP_FAILED, "99");
  wait_until (count_sessions (self) == 0);
  control_refused (self, 0, "{'instantiate': <true>, 'hosts': <['nine']>}", DVM_ERROR_NOT_ELASTIC, "elastic");
  g_assert_cmpuint (count_sessions (self), ==, 0);
}

/* S11, S20, S21 and what is refused by number. */
static void
test_numbers (EngineFixture *self, gconstpointer data)
{
  DvmdSession *session;
  guint id;

  control_refused (self, 77, "{'pause': <true>}", DVM_ERROR_NOT_FOUND, "77");
  control_refused (self, 0, "{'pause': <true>}", DVM_ERROR_NOT_SUPPORTED, "default");
  control_refused (self, 0, "{'extend': <uint32 5>}", DVM_ERROR_NOT_SUPPORTED, "default");
  control_refused (self, G_MAXUINT32, "{'extend': <uint32 5>}", DVM_ERROR_BAD_PARAM, "one session");
  control_refused (self, G_MAXUINT32, "{'instantiate': <true>, 'hosts': <['two']>}", DVM_ERROR_BAD_PARAM, "one");
  control_refused (self, G_MAXUINT32, "{'signal': <10>, 'nspace': <'x'>}", DVM_ERROR_BAD_PARAM, "nspace");
  control_well (self, G_MAXUINT32, "{'pause': <true>}");
  session = control_well (self, 0, "{'instantiate': <true>, 'hosts': <['two']>, 'separate': <false>}");
  id = dvmd_session_get_id (session);
  g_assert_false (dvm_session_get_separate (dvmd_session_get_record (session)));
  control_well (self, id, "{'separate': <true>}");
  g_assert_true (dvm_session_get_separate (dvmd_session_get_record (session)));
  control_well (self, id, "{'extend': <uint32 3600>, 'inheritance': <'none'>}");
  g_assert_cmpint (dvm_session_get_expires_at (dvmd_session_get_record (session)), >, 0);
  g_assert_cmpstr (dvm_session_get_inheritance (dvmd_session_get_record (session)), ==, "none");
  control_well (self, G_MAXUINT32, "{'terminate': <true>}");
  wait_until (count_sessions (self) == 0);
  control_refused (self, id, "{'resume': <true>}", DVM_ERROR_NOT_FOUND, "no session");
  control_refused (self, 77, "{'resume': <true>}", DVM_ERROR_NOT_FOUND, "no session 77");
}

/* S23: its time is over: it ends, and what runs in it. */
static void
test_limit (EngineFixture *self, gconstpointer data)
{
  DvmdSession *session = control_well (self, 0, "{'instantiate': <true>, 'hosts': <['two']>, 'time': <uint32 1>}");
  DvmdJob *job = sleep_in (self, session);

  wait_until (count_sessions (self) == 0);
  g_assert_true (dvmd_job_get_ended (job));
  g_assert_cmpint (dvmd_job_get_state (job), ==, DVM_JOB_STATE_KILLED_BY_CMD);
}

/* S27 with processes: the child goes with its parent. */
static void
test_family (EngineFixture *self, gconstpointer data)
{
  DvmdCore *core = dvmd_controller_get_core (self->controller);
  DvmdJob *parent = sleep_in (self, dvmd_core_get_session (core, 0));
  g_autofree char *name = g_strdup_printf ("pmix:%s.0", dvm_job_get_nspace (dvmd_job_get_record (parent)));
  g_autoptr (DvmdRequester) requester = dvmd_requester_new (name, getuid (), getpid ());
  const char *argv[] = { "/bin/sleep", "1000", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (GError) error = NULL;
  const int fds[3] = { -1, -1, -1 };
  DvmdJob *child;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 1);
  child = dvmd_controller_submit (self->controller, spec, requester, fds, &error);
  g_assert_no_error (error);
  wait_until (dvmd_job_get_state (child) == DVM_JOB_STATE_RUNNING);
  g_assert_cmpstr (dvm_job_get_parent (dvmd_job_get_record (child)), ==,
                   dvm_job_get_object_path (dvmd_job_get_record (parent)));
  g_assert_true (dvmd_controller_cancel_job (self->controller, parent, "enough", &error));
  wait_until (dvmd_job_get_ended (child));
  g_assert_cmpint (dvmd_job_get_state (child), ==, DVM_JOB_STATE_KILLED_BY_CMD);
}

#define ADD(path, test) g_test_add (path, EngineFixture, NULL, set_up, test, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine-session/S10,S13,S18,S20,S25,S26/refused", test_request_refused);
  g_test_add_func ("/engine-session/S12,S20,S26/read", test_request_read);
  ADD ("/engine-session/S16,S19/processes", test_processes);
  ADD ("/engine-session/S18/signal", test_signal);
  ADD ("/engine-session/S12,S15/applications", test_applications);
  ADD ("/engine-session/S15/applications-fail", test_applications_fail);
  ADD ("/engine-session/S11,S20,S21/numbers", test_numbers);
  ADD ("/engine-session/S23/limit", test_limit);
  ADD ("/engine-session/S27/family", test_family);
  return g_test_run ();
}

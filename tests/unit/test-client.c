/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <dvm.h>
#include <gio/gunixsocketaddress.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dvm-test-server.h"

#define SAFETY_LIMIT_S 60

typedef struct
{
  char *dir;
  char *path;
  DvmTestServer *server;
  DvmClient *client;
} Fixture;

static void
set_up (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  fixture->dir = g_dir_make_tmp ("dvm-test-XXXXXX", NULL);
  fixture->path = g_build_filename (fixture->dir, "bus", NULL);
  fixture->server = dvm_test_server_new (fixture->path);
  fixture->client = dvm_client_new_for_address (fixture->path);
  g_assert_true (dvm_client_connect (fixture->client, NULL, &error));
  g_assert_no_error (error);
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  g_object_unref (fixture->client);
  dvm_test_server_free (fixture->server);
  g_unlink (fixture->path);
  g_assert_cmpint (g_rmdir (fixture->dir), ==, 0);
  g_free (fixture->path);
  g_free (fixture->dir);
}

static gboolean
on_limit (gpointer data)
{
  g_error ("waited in vain for %s", (const char *)data);
  return G_SOURCE_REMOVE;
}

static void
iterate_until (gboolean *condition, const char *what)
{
  guint limit = g_timeout_add_seconds (SAFETY_LIMIT_S, on_limit, (gpointer)what);

  while (!*condition)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (limit);
}

static DvmJobSpec *
make_spec (const char *program)
{
  const char *const argv[] = { program, "x", NULL };

  return dvm_job_spec_new_for_argv (argv);
}

static DvmJob *
submit (DvmClient *client, const char *program)
{
  g_autoptr (DvmJobSpec) spec = make_spec (program);
  g_autoptr (GError) error = NULL;
  DvmJob *job = dvm_client_submit (client, spec, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (dvm_job_get_object_path (job), ==, "/org/dvm/jobs/1");
  return job;
}

static void
test_connect (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (dvm_client_get_connected (fixture->client));
  g_assert_cmpstr (dvm_client_get_instance_id (fixture->client), ==, "test-instance");
  g_assert_nonnull (strstr (dvm_client_get_address (fixture->client), "/bus"));
  g_assert_false (dvm_client_connect (fixture->client, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_EXISTS);
}

typedef struct
{
  gboolean done;
  gboolean ok;
  DvmJob *job;
  GError *error;
} Answer;

static void
on_connected (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Answer *answer = user_data;

  answer->ok = dvm_client_connect_finish (DVM_CLIENT (source), result, &answer->error);
  answer->done = TRUE;
}

static void
on_submitted (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Answer *answer = user_data;

  answer->job = dvm_client_submit_finish (DVM_CLIENT (source), result, &answer->error);
  answer->done = TRUE;
}

static void
on_waited (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Answer *answer = user_data;

  answer->ok = dvm_client_wait_finish (DVM_CLIENT (source), result, &answer->error);
  answer->done = TRUE;
}

static void
test_async (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmClient) client = dvm_client_new_for_address (fixture->path);
  g_autoptr (DvmJobSpec) spec = make_spec ("a");
  g_autoptr (DvmJob) job = NULL;
  Answer answer = { 0 };

  dvm_client_submit_async (client, spec, NULL, on_submitted, &answer);
  iterate_until (&answer.done, "a refusal");
  g_assert_error (answer.error, DVM_ERROR, DVM_ERROR_NOT_READY);
  g_clear_error (&answer.error);
  answer.done = FALSE;
  dvm_client_connect_async (client, NULL, on_connected, &answer);
  iterate_until (&answer.done, "the connection");
  g_assert_no_error (answer.error);
  g_assert_true (dvm_client_get_connected (client));
  answer.done = FALSE;
  dvm_client_submit_async (client, spec, NULL, on_submitted, &answer);
  iterate_until (&answer.done, "the job");
  g_assert_no_error (answer.error);
  job = answer.job;
  answer.done = FALSE;
  dvm_client_wait_async (client, job, 0, NULL, on_waited, &answer);
  iterate_until (&answer.done, "the end");
  g_assert_no_error (answer.error);
  g_assert_true (answer.ok);
  g_assert_cmpint (dvm_job_get_exit_code (job), ==, 3);
}

static void
test_submit (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = make_spec ("a");
  g_autoptr (DvmJob) job = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *call = NULL;

  dvm_job_spec_set_name (spec, "n");
  job = dvm_client_submit_with_fds (fixture->client, spec, 0, -1, 2, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (dvm_job_get_id (job), ==, 1);
  call = dvm_test_server_get_last_call (fixture->server);
  g_assert_true (g_str_has_prefix (call, "SubmitApps ([{'argv': <['a', 'x']>}], {"));
  g_assert_nonnull (strstr (call, "'name': <'n'>"));
  g_assert_nonnull (strstr (call, "'stdin-fd': <handle 0>"));
  g_assert_nonnull (strstr (call, "'stderr-fd': <handle 1>"));
  g_assert_null (strstr (call, "stdout-fd"));
  g_assert_true (dvm_client_refresh_job (fixture->client, job, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpstr (dvm_job_get_nspace (job), ==, "test@1");
}

static void
test_submit_errors (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJobSpec) empty = dvm_job_spec_new ();
  g_autoptr (DvmJobSpec) refused = make_spec ("refused");
  g_autoptr (DvmJobSpec) garbage = make_spec ("garbage");
  g_autoptr (DvmJobSpec) good = make_spec ("good");
  g_autoptr (GError) error = NULL;

  g_assert_null (dvm_client_submit (fixture->client, empty, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_clear_error (&error);
  g_assert_null (dvm_client_submit (fixture->client, refused, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_cmpstr (error->message, ==, "np: must be at least 1, not 0");
  g_clear_error (&error);
  g_assert_null (dvm_client_submit (fixture->client, garbage, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_clear_error (&error);
  g_assert_null (dvm_client_submit_with_fds (fixture->client, good, 9999, -1, -1, NULL, &error));
  g_assert_nonnull (error);
  g_assert_nonnull (strstr (error->message, "stdin-fd"));
}

/* A DVM that goes away is a sentence, and the client knows. */
static void
test_lost (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = make_spec ("leave");
  g_autoptr (GError) error = NULL;

  g_assert_null (dvm_client_submit (fixture->client, spec, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN);
  while (dvm_client_get_connected (fixture->client))
    g_main_context_iteration (NULL, TRUE);
  g_clear_error (&error);
  g_assert_null (dvm_client_submit (fixture->client, spec, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN);
}

static void
test_shutdown (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (dvm_client_shutdown (fixture->client, TRUE, NULL, &error));
  g_assert_no_error (error);
}

static void
test_wait (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJob) job = submit (fixture->client, "a");
  g_autoptr (GError) error = NULL;

  g_assert_false (dvm_client_wait (fixture->client, job, 10, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_TIMEOUT);
  g_assert_false (dvm_job_get_ended (job));
  g_clear_error (&error);
  g_assert_true (dvm_client_wait (fixture->client, job, 0, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (dvm_job_get_ended (job));
  g_assert_true (dvm_job_get_failed (job));
  g_assert_cmpint (dvm_job_get_state (job), ==, DVM_JOB_STATE_NON_ZERO_TERM);
  g_assert_cmpint (dvm_job_get_exit_code (job), ==, 3);
  g_assert_cmpint (dvm_job_get_failed_rank (job), ==, 1);
  g_assert_cmpstr (dvm_job_get_reason (job), ==, "rank 1 failed");
}

static gboolean
on_cancel (gpointer data)
{
  g_cancellable_cancel (data);
  return G_SOURCE_REMOVE;
}

/* Cancelling stops the waiting, never the job. */
static void
test_cancel_wait (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJob) job = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *before = NULL;
  g_autofree char *after = NULL;
  Answer answer = { 0 };

  job = dvm_client_find_job (fixture->client, "4", NULL, &error);
  g_assert_no_error (error);
  before = dvm_test_server_get_last_call (fixture->server);
  dvm_client_wait_async (fixture->client, job, 0, cancellable, on_waited, &answer);
  g_idle_add (on_cancel, cancellable);
  iterate_until (&answer.done, "the cancelled wait");
  g_assert_error (answer.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&answer.error);
  after = dvm_test_server_get_last_call (fixture->server);
  g_assert_cmpstr (before, ==, after);
  g_assert_false (dvm_job_get_ended (job));
  g_assert_true (dvm_client_send_signal (fixture->client, job, 15, "0-3", NULL, &error));
  g_assert_true (dvm_client_cancel_job (fixture->client, job, NULL, &error));
  g_assert_no_error (error);
}

static void
test_find (Fixture *fixture, gconstpointer data)
{
  static const char *const wrong[] = { "", "/", "/org/dvm/jobs/x", "99999999999999999999", "\xff" };
  g_autoptr (DvmJob) by_name = NULL;
  g_autoptr (DvmJob) by_path = NULL;
  g_autoptr (GError) error = NULL;

  by_name = dvm_client_find_job (fixture->client, "test@2", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (dvm_job_get_id (by_name), ==, 2);
  g_assert_cmpstr (dvm_job_get_nspace (by_name), ==, "test@2");
  by_path = dvm_client_find_job (fixture->client, "/org/dvm/jobs/3", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (dvm_job_get_nspace (by_path), ==, "test@3");
  g_assert_null (dvm_client_find_job (fixture->client, "none", NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  g_assert_cmpstr (error->message, ==, "There is no job “none”");
  g_clear_error (&error);
  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_assert_null (dvm_client_find_job (fixture->client, wrong[i], NULL, &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
      g_clear_error (&error);
    }
}

/* A job is forgotten between the calls for its processes and for their devices, or before both. */
static void
check_forgotten (DvmClient *client)
{
  g_autoptr (DvmJob) job = dvm_client_find_job (client, "3", NULL, NULL);
  g_autoptr (DvmJob) gone = dvm_client_find_job (client, "4", NULL, NULL);
  g_autoptr (GPtrArray) procs = NULL;
  g_autoptr (GError) error = NULL;

  procs = dvm_client_list_procs (client, job, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (procs->len, ==, 2);
  g_assert_cmpstr (dvm_proc_get_devices (procs->pdata[1]), ==, "");
  g_assert_null (dvm_client_list_procs (client, gone, NULL, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
}

static void
test_lists (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJob) job = submit (fixture->client, "a");
  g_autoptr (GPtrArray) jobs = NULL;
  g_autoptr (GPtrArray) nodes = NULL;
  g_autoptr (GVariant) plugins = NULL;
  g_autoptr (GPtrArray) procs = NULL;
  g_autofree char *last = NULL;
  const char *const keys[] = { "version", NULL };
  g_autoptr (GVariant) values = NULL;
  g_autoptr (GError) error = NULL;

  /* Three pages. */
  jobs = dvm_client_list_jobs (fixture->client, TRUE, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (jobs->len, ==, 4);
  g_assert_cmpstr (dvm_job_get_nspace (jobs->pdata[0]), ==, "a@0");
  last = dvm_test_server_get_last_call (fixture->server);
  g_assert_cmpstr (last, ==,
                   "ListJobs ({'all': <true>, 'sparse': <true>, 'by-column': <true>, 'once': <true>, 'packed': <true>, "
                   "'ids': <'3'>},)");
  for (guint i = 0; i < 4; i++)
    g_assert_cmpuint (dvm_job_get_id (jobs->pdata[i]), ==, i);
  plugins = dvm_client_list_plugins (fixture->client, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_variant_is_of_type (plugins, G_VARIANT_TYPE ("aa{sv}")));
  g_assert_cmpuint (g_variant_n_children (plugins), ==, 1);
  values = dvm_client_query (fixture->client, keys, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_variant_n_children (values), ==, 1);
  g_assert_cmpint (dvm_client_cancel_jobs (fixture->client, g_variant_new_parsed ("{'label': <'x'>}"), NULL, &error),
                   ==, 3);
  g_assert_no_error (error);
  g_assert_true (dvm_client_reload (fixture->client, NULL, &error));
  g_assert_no_error (error);
  nodes = dvm_client_list_nodes (fixture->client, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (nodes->len, ==, 1);
  g_assert_cmpstr (dvm_node_get_name (nodes->pdata[0]), ==, "node1");
  g_assert_cmpint (dvm_node_get_state (nodes->pdata[0]), ==, DVM_NODE_STATE_UP);
  procs = dvm_client_list_procs (fixture->client, job, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (procs->len, ==, 2);
  g_assert_cmpint (dvm_proc_get_pid (procs->pdata[1]), ==, 43);
  g_assert_cmpstr (dvm_proc_get_devices (procs->pdata[0]), ==, "");
  g_assert_cmpstr (dvm_proc_get_devices (procs->pdata[1]), ==, "nvml0");
  check_forgotten (fixture->client);
  dvm_test_server_set_stuck (fixture->server, TRUE);
  g_assert_null (dvm_client_list_jobs (fixture->client, FALSE, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_FAILED);
}

static void
assert_reads (int fd, const char *expected)
{
  char text[32] = "";

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (read (fd, text, sizeof text - 1), ==, (int)strlen (expected));
  g_assert_cmpstr (text, ==, expected);
  close (fd);
}

static void
test_attach (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJob) job = submit (fixture->client, "a");
  g_autoptr (GError) error = NULL;
  int in, out, err;

  g_assert_true (
      dvm_client_attach (fixture->client, job, DVM_STREAMS_STDOUT | DVM_STREAMS_STDERR, NULL, &in, &out, &err, &error));
  g_assert_no_error (error);
  g_assert_cmpint (in, ==, -1);
  assert_reads (out, "stdout");
  assert_reads (err, "stderr");
  /* Descriptors that nobody takes are closed. */
  g_assert_true (
      dvm_client_attach (fixture->client, job, DVM_STREAMS_STDIN | DVM_STREAMS_STDOUT, NULL, NULL, &out, NULL, &error));
  assert_reads (out, "stdout");
  g_assert_true (dvm_client_attach (fixture->client, job, DVM_STREAMS_PTY, NULL, &in, &out, &err, &error));
  g_assert_cmpint (err, ==, -1);
  g_assert_cmpint (in, !=, out);
  assert_reads (out, "pty");
  close (in);
  g_assert_false (dvm_client_attach (fixture->client, job, DVM_STREAMS_NONE, NULL, &in, &out, &err, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
}

static void
test_stacks (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJob) job = submit (fixture->client, "a");
  g_autoptr (GVariant) all = NULL;
  g_autoptr (GVariant) some = NULL;
  g_autoptr (GError) error = NULL;
  const char *asked;

  all = dvm_client_collect_stacks (fixture->client, job, NULL, 0, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (g_variant_get_type_string (all), ==, "a(usss)");
  g_variant_get_child (all, 0, "(us&ss)", NULL, NULL, &asked, NULL);
  g_assert_cmpstr (asked, ==, "('', {})");
  some = dvm_client_collect_stacks (fixture->client, job, "0-3", 7, NULL, &error);
  g_assert_no_error (error);
  g_variant_get_child (some, 0, "(us&ss)", NULL, NULL, &asked, NULL);
  g_assert_cmpstr (asked, ==, "('0-3', {'timeout': <uint32 7>})");
}

static void
test_trace (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJob) job = submit (fixture->client, "a");
  g_autoptr (GVariant) trace = NULL;
  g_autoptr (GVariant) info = NULL;
  g_autoptr (GError) error = NULL;
  const char *id;

  trace = dvm_client_get_trace (fixture->client, job, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (g_variant_get_type_string (trace), ==, "a(tsuus)");
  g_assert_cmpuint (g_variant_n_children (trace), ==, 1);
  info = dvm_client_get_info (fixture->client, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_variant_lookup (info, "InstanceId", "&s", &id));
  g_assert_cmpstr (id, ==, "test-instance");
}

typedef struct
{
  GString *log;
  gboolean ended;
  gboolean proc;
} Follower;

static void
on_state_changed (DvmJob *job, DvmJobState old_state, DvmJobState new_state, const char *reason, gpointer user_data)
{
  Follower *follower = user_data;

  /* The end comes with the state that goes with it, not before. */
  g_assert_false (dvm_job_get_ended (job));
  g_string_append_printf (follower->log, "%d->%d ", old_state, new_state);
}

static void
on_ended (DvmJob *job, GParamSpec *pspec, gpointer user_data)
{
  Follower *follower = user_data;

  g_assert_cmpint (dvm_job_get_state (job), ==, DVM_JOB_STATE_NOTIFIED);
  follower->ended = TRUE;
}

static void
on_proc_state_changed (DvmJob *job, guint rank, DvmProcState old_state, DvmProcState new_state, gpointer user_data)
{
  Follower *follower = user_data;

  g_assert_cmpuint (rank, ==, 1);
  g_assert_cmpint (new_state, ==, DVM_PROC_STATE_RUNNING);
  follower->proc = TRUE;
}

static void
follow (DvmClient *client, Follower *follower)
{
  g_autoptr (DvmJob) job = NULL;
  g_autoptr (GError) error = NULL;

  follower->log = g_string_new (NULL);
  g_assert_true (dvm_client_subscribe (client, NULL, &error));
  g_assert_no_error (error);
  job = submit (client, "steps");
  g_signal_connect (job, "state-changed", G_CALLBACK (on_state_changed), follower);
  g_signal_connect (job, "notify::ended", G_CALLBACK (on_ended), follower);
  g_signal_connect (job, "proc-state-changed", G_CALLBACK (on_proc_state_changed), follower);
  g_assert_true (dvm_client_watch_job (client, job, NULL, &error));
  g_assert_no_error (error);
  iterate_until (&follower->ended, "the end");
  iterate_until (&follower->proc, "a process");
  g_assert_cmpstr (follower->log->str, ==, "0->1 1->2 2->3 3->14 14->31 31->34 34->35 ");
  g_assert_cmpuint (dvm_job_get_num_procs (job), ==, 2);
  g_assert_cmpstr (dvm_job_get_reason (job), ==, "done");
  g_string_free (follower->log, TRUE);
}

static void
test_watch (Fixture *fixture, gconstpointer data)
{
  Follower follower = { 0 };

  follow (fixture->client, &follower);
}

static void
drop_client (DvmJob *job, DvmJobState old_state, DvmJobState new_state, const char *reason, gpointer user_data)
{
  Fixture *fixture = user_data;

  g_clear_object (&fixture->client);
}

/* A handler may let the client go in the middle of its signals. */
static void
test_watch_and_leave (Fixture *fixture, gconstpointer data)
{
  gpointer client = fixture->client;
  g_autoptr (DvmJob) job = NULL;

  g_object_add_weak_pointer (G_OBJECT (fixture->client), &client);
  g_assert_true (dvm_client_subscribe (fixture->client, NULL, NULL));
  job = submit (fixture->client, "steps");
  g_signal_connect (job, "state-changed", G_CALLBACK (drop_client), fixture);
  g_assert_true (dvm_client_watch_job (fixture->client, job, NULL, NULL));
  /* The call that reads the values has a reference of its own. */
  while (client != NULL)
    g_main_context_iteration (NULL, TRUE);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  fixture->client = dvm_client_new (NULL);
}

/* Ended by Wait, a record does not go back when older news come in. */
static void
test_watch_and_wait (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJob) job = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (dvm_client_subscribe (fixture->client, NULL, NULL));
  job = submit (fixture->client, "steps");
  g_assert_true (dvm_client_watch_job (fixture->client, job, NULL, &error));
  g_assert_true (dvm_client_wait (fixture->client, job, 0, NULL, &error));
  g_assert_no_error (error);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_assert_cmpint (dvm_job_get_state (job), ==, DVM_JOB_STATE_NON_ZERO_TERM);
  g_assert_true (dvm_job_get_ended (job));
}

static void
assert_not_connected (DvmClient *client, int code, const char *word)
{
  g_autoptr (GError) error = NULL;
  Answer answer = { 0 };

  g_assert_false (dvm_client_connect (client, NULL, &error));
  g_assert_error (error, DVM_ERROR, code);
  g_assert_nonnull (strstr (error->message, word));
  dvm_client_connect_async (client, NULL, on_connected, &answer);
  iterate_until (&answer.done, "a refusal");
  g_assert_error (answer.error, DVM_ERROR, code);
  g_assert_cmpstr (answer.error->message, ==, error->message);
  g_clear_error (&answer.error);
  g_assert_false (dvm_client_get_connected (client));
}

/* The socket file of a DVM that has crashed. */
static void
make_stale_socket (const char *path)
{
  g_autoptr (GSocket) socket = g_socket_new (G_SOCKET_FAMILY_UNIX, G_SOCKET_TYPE_STREAM, 0, NULL);
  g_autoptr (GSocketAddress) address = g_unix_socket_address_new (path);

  g_assert_true (g_socket_bind (socket, address, TRUE, NULL));
}

static void
test_nowhere (void)
{
  g_autofree char *dir = g_dir_make_tmp ("dvm-test-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (dir, "bus", NULL);
  g_autofree char *long_name = g_strnfill (200, 'x');
  g_autofree char *long_path = g_build_filename (dir, long_name, NULL);
  g_autoptr (DvmClient) missing = dvm_client_new_for_address (path);
  g_autoptr (DvmClient) too_long = dvm_client_new_for_address (long_path);
  g_autoptr (DvmClient) nonsense = dvm_client_new_for_address ("nonsense");
  g_autoptr (DvmClient) name = dvm_client_new ("a/b");

  assert_not_connected (missing, DVM_ERROR_NOT_FOUND, path);
  make_stale_socket (path);
  assert_not_connected (missing, DVM_ERROR_NOT_FOUND, path);
  assert_not_connected (too_long, DVM_ERROR_BAD_PARAM, "shorter");
  assert_not_connected (nonsense, DVM_ERROR_BAD_PARAM, "nonsense");
  assert_not_connected (name, DVM_ERROR_BAD_PARAM, "a/b");
  g_unlink (path);
  g_assert_cmpint (g_rmdir (dir), ==, 0);
}

/* In the usual place, and only if the directory is ours alone. */
static void
test_runtime_dir (void)
{
  g_autofree char *dir = g_dir_make_tmp ("dvm-test-XXXXXX", NULL);
  g_autofree char *parent = g_build_filename (dir, "dvm", NULL);
  g_autofree char *own = g_build_filename (parent, "blue", NULL);
  g_autofree char *path = g_build_filename (own, "bus", NULL);
  g_autoptr (DvmClient) client = NULL;
  g_autoptr (DvmClient) stranger = NULL;
  g_autoptr (GError) error = NULL;
  DvmTestServer *server;

  g_assert_cmpint (g_mkdir_with_parents (own, 0700), ==, 0);
  g_setenv ("XDG_RUNTIME_DIR", dir, TRUE);
  server = dvm_test_server_new (path);
  client = dvm_client_new ("blue");
  g_assert_true (dvm_client_connect (client, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (g_chmod (own, 0777), ==, 0);
  stranger = dvm_client_new ("blue");
  assert_not_connected (stranger, DVM_ERROR_NO_PERMISSIONS, "trusted");
  g_unsetenv ("XDG_RUNTIME_DIR");
  g_clear_object (&client);
  dvm_test_server_free (server);
  g_unlink (path);
  g_assert_cmpint (g_rmdir (own) + g_rmdir (parent) + g_rmdir (dir), ==, 0);
}

/* Each scheduler's job has a name that a DVM may have. */
static void
test_job_name (void)
{
  static const struct
  {
    const char *variables[4];
    const char *name;
  } rows[] = {
    { { "HOME=/" }, NULL },
    { { "SLURM_JOB_ID=4" }, "slurm-4" },
    { { "SLURM_JOBID=4", "SLURM_JOB_ID=" }, "slurm-4" },
    { { "PBS_JOBID=12.server-1.example" }, "pbs-12-server-1-example" },
    { { "PBS_JOBID=12[3].server" }, "pbs-12-3-server" },
    { { "LSB_JOBID=7", "LSB_JOBINDEX=0" }, "lsf-7" },
    { { "LSB_JOBID=7", "LSB_JOBINDEX=2" }, "lsf-7-2" },
    { { "JOB_ID=9" }, NULL },
    { { "JOB_ID=9", "SGE_ROOT=/opt/sge", "SGE_TASK_ID=undefined" }, "gridengine-9" },
    { { "JOB_ID=9", "SGE_ROOT=/opt/sge", "SGE_TASK_ID=3" }, "gridengine-9-3" },
    { { "FLUX_JOB_ID=f2Wx" }, NULL },
    { { "FLUX_JOB_ID=f2Wx", "FLUX_URI=local:///tmp/a", "SLURM_JOB_ID=4" }, "flux-f2Wx" },
    { { "FLUX_URI=local:///tmp/a" }, "flux-local-tmp-a" },
  };
  g_autofree char *long_id = g_strnfill (300, 'x');
  g_autofree char *variable = g_strconcat ("PBS_JOBID=", long_id, NULL);
  const char *environment[] = { variable, NULL };
  g_autofree char *name = dvm_client_build_job_name (environment);
  g_autofree char *other = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *found = dvm_client_build_job_name (rows[i].variables);

      g_assert_cmpstr (found, ==, rows[i].name);
    }
  g_assert_cmpuint (strlen (name), ==, 64);
  variable[strlen (variable) - 1] = 'y';
  other = dvm_client_build_job_name (environment);
  g_assert_cmpstr (name, !=, other);
}

static void
test_environment (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmClient) client = NULL;
  g_autoptr (GError) error = NULL;

  g_setenv ("DVM_SOCKET", fixture->path, TRUE);
  client = dvm_client_new (NULL);
  g_assert_true (dvm_client_connect (client, NULL, &error));
  g_assert_no_error (error);
  g_unsetenv ("DVM_SOCKET");
}

static void
test_fd (void)
{
  g_autoptr (DvmTestServer) server = NULL;
  g_autoptr (DvmClient) client = NULL;
  g_autoptr (DvmJob) job = NULL;
  g_autoptr (GError) error = NULL;
  int fds[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
  server = dvm_test_server_new_for_fd (fds[0]);
  client = dvm_client_new_for_fd (fds[1]);
  g_assert_true (dvm_client_connect (client, NULL, &error));
  g_assert_no_error (error);
  job = submit (client, "a");
  g_assert_true (dvm_client_wait (client, job, 0, NULL, &error));
  g_clear_object (&client);
  /* One that is never connected closes its descriptor. */
  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
  client = dvm_client_new_for_fd (fds[1]);
  g_clear_object (&client);
  g_assert_cmpint (write (fds[0], "", 1), ==, -1);
  close (fds[0]);
}

static void
test_bus (void)
{
  g_autoptr (GTestDBus) bus = g_test_dbus_new (G_TEST_DBUS_NONE);
  g_autoptr (DvmClient) client = NULL;
  g_autoptr (DvmClient) other = NULL;
  g_autoptr (GError) error = NULL;
  Follower follower = { 0 };
  Answer answer = { 0 };
  DvmTestServer *server;

  g_test_dbus_up (bus);
  other = g_object_new (DVM_TYPE_CLIENT, "name", "nobody", "address", "session", NULL);
  assert_not_connected (other, DVM_ERROR_NOT_FOUND, "org.dvm.Manager.nobody");
  server = dvm_test_server_new_for_bus (g_test_dbus_get_bus_address (bus), "org.dvm.Manager.blue");
  client = g_object_new (DVM_TYPE_CLIENT, "name", "blue", "address", "session", NULL);
  dvm_client_connect_async (client, NULL, on_connected, &answer);
  iterate_until (&answer.done, "the connection");
  g_assert_no_error (answer.error);
  follow (client, &follower);
  g_clear_object (&client);
  client = g_object_new (DVM_TYPE_CLIENT, "name", "blue", "address", "session", NULL);
  g_assert_true (dvm_client_connect_sync (client, NULL, &error));
  g_assert_no_error (error);
  g_clear_object (&client);
  dvm_test_server_free (server);
  g_test_dbus_down (bus);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_unsetenv ("DVM_SOCKET");
  g_unsetenv ("DVM_NAME");
  /* First: GTestDBus forks a watcher, in which the threads of later tests would look like leaks. */
  g_test_add_func ("/client/bus", test_bus);
  g_test_add ("/client/connect", Fixture, NULL, set_up, test_connect, tear_down);
  g_test_add ("/client/async", Fixture, NULL, set_up, test_async, tear_down);
  g_test_add ("/client/submit", Fixture, NULL, set_up, test_submit, tear_down);
  g_test_add ("/client/submit-errors", Fixture, NULL, set_up, test_submit_errors, tear_down);
  g_test_add ("/client/lost", Fixture, NULL, set_up, test_lost, tear_down);
  g_test_add ("/client/shutdown", Fixture, NULL, set_up, test_shutdown, tear_down);
  g_test_add ("/client/wait", Fixture, NULL, set_up, test_wait, tear_down);
  g_test_add ("/client/cancel-wait", Fixture, NULL, set_up, test_cancel_wait, tear_down);
  g_test_add ("/client/find", Fixture, NULL, set_up, test_find, tear_down);
  g_test_add ("/client/lists", Fixture, NULL, set_up, test_lists, tear_down);
  g_test_add ("/client/attach", Fixture, NULL, set_up, test_attach, tear_down);
  g_test_add ("/client/stacks", Fixture, NULL, set_up, test_stacks, tear_down);
  g_test_add ("/client/trace", Fixture, NULL, set_up, test_trace, tear_down);
  g_test_add ("/client/watch", Fixture, NULL, set_up, test_watch, tear_down);
  g_test_add ("/client/watch-and-leave", Fixture, NULL, set_up, test_watch_and_leave, tear_down);
  g_test_add ("/client/watch-and-wait", Fixture, NULL, set_up, test_watch_and_wait, tear_down);
  g_test_add ("/client/environment", Fixture, NULL, set_up, test_environment, tear_down);
  g_test_add_func ("/client/nowhere", test_nowhere);
  g_test_add_func ("/client/runtime-dir", test_runtime_dir);
  g_test_add_func ("/client/job-name", test_job_name);
  g_test_add_func ("/client/fd", test_fd);
  return g_test_run ();
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The library against a real dvmd: $DVM_DVMD with a private socket in a directory of its own.
 */

#include "config.h"

#include <dvm.h>
#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAFETY_LIMIT_S 60

typedef struct
{
  char *dir;
  char *socket;
  GPid pid;
  DvmClient *client;
} Fixture;

/* A test that fails must not leave a daemon behind. */
static void
inherit_fd (gpointer data)
{
  prctl (PR_SET_PDEATHSIG, SIGTERM);
  fcntl (GPOINTER_TO_INT (data), F_SETFD, 0);
}

static GPid
start_dvmd (Fixture *fixture, const char *const *arguments, int fd)
{
  g_auto (GStrv) environment = g_environ_setenv (g_get_environ (), "XDG_RUNTIME_DIR", fixture->dir, TRUE);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  GPid pid;

  g_ptr_array_add (argv, (gpointer)g_getenv ("DVM_DVMD"));
  for (gsize i = 0; arguments[i] != NULL; i++)
    g_ptr_array_add (argv, (gpointer)arguments[i]);
  g_ptr_array_add (argv, NULL);
  g_spawn_async (NULL, (char **)argv->pdata, environment, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_LEAVE_DESCRIPTORS_OPEN,
                 inherit_fd, GINT_TO_POINTER (fd), &pid, &error);
  g_assert_no_error (error);
  return pid;
}

/* Waits until the daemon has written "ready", or has gone. */
static void
await_ready (int fd)
{
  char text[64];
  ssize_t n;

  do
    n = read (fd, text, sizeof text);
  while (n < 0 && errno == EINTR);
  g_assert_cmpint (n, >, 0);
  close (fd);
}

static void
start_daemon (Fixture *fixture)
{
  g_autofree char *ready = NULL;
  g_autofree char *socket = g_strconcat ("--socket=", fixture->socket, NULL);
  g_autoptr (GError) error = NULL;
  int fds[2];

  g_assert_true (g_unix_open_pipe (fds, FD_CLOEXEC, &error));
  ready = g_strdup_printf ("--ready-fd=%d", fds[1]);
  {
    const char *const arguments[] = { "--bus=none", "--slots=4", "--set=kill-grace=1", socket, ready, NULL };

    fixture->pid = start_dvmd (fixture, arguments, fds[1]);
  }
  close (fds[1]);
  await_ready (fds[0]);
}

static void
set_up (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  fixture->dir = g_dir_make_tmp ("dvm-test-XXXXXX", NULL);
  fixture->socket = g_build_filename (fixture->dir, "socket", NULL);
  start_daemon (fixture);
  fixture->client = dvm_client_new_for_address (fixture->socket);
  g_assert_true (dvm_client_connect (fixture->client, NULL, &error));
  g_assert_no_error (error);
}

static void
remove_dir (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);

      if (g_file_test (child, G_FILE_TEST_IS_DIR))
        remove_dir (child);
      else
        g_unlink (child);
    }
  g_rmdir (path);
}

static void
await_exit (GPid pid)
{
  int status;

  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  if (fixture->pid != 0)
    {
      g_assert_true (dvm_client_shutdown (fixture->client, TRUE, NULL, &error));
      g_assert_no_error (error);
      await_exit (fixture->pid);
    }
  g_object_unref (fixture->client);
  remove_dir (fixture->dir);
  g_free (fixture->socket);
  g_free (fixture->dir);
}

static DvmJobSpec *
shell (const char *script, const char *argument)
{
  const char *const argv[] = { "/bin/sh", "-c", script, "sh", argument, NULL };
  DvmJobSpec *spec = dvm_job_spec_new_for_argv (argv);

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 1);
  dvm_job_spec_set_personality (spec, "plain");
  return spec;
}

static DvmJob *
submit (Fixture *fixture, DvmJobSpec *spec, int out)
{
  g_autoptr (GError) error = NULL;
  DvmJob *job = dvm_client_submit_with_fds (fixture->client, spec, -1, out, out, NULL, &error);

  g_assert_no_error (error);
  return job;
}

static void
wait_for (Fixture *fixture, DvmJob *job)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (dvm_client_wait (fixture->client, job, 0, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (dvm_job_get_ended (job));
}

/* Reads all text until the other side closes. */
static char *
read_all (int fd)
{
  GString *text = g_string_new (NULL);
  char buffer[1024];
  ssize_t n;

  while ((n = read (fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
    if (n > 0)
      g_string_append_len (text, buffer, n);
  close (fd);
  return g_string_free (text, FALSE);
}

static void
test_run (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = shell ("printf '%s %s %s' \"$1\" \"$DVM_TEST\" \"$PWD\"; exit 3", "\xff\xfe");
  DvmAppSpec *app = dvm_job_spec_get_app (spec, 0);
  g_autofree char *output = NULL;
  g_autoptr (DvmJob) job = NULL;
  g_autoptr (GError) error = NULL;
  int fds[2];

  dvm_app_spec_setenv (app, "DVM_TEST", "\xe4=");
  dvm_app_spec_set_cwd (app, "/usr");
  g_assert_true (g_unix_open_pipe (fds, FD_CLOEXEC, NULL));
  job = submit (fixture, spec, fds[1]);
  close (fds[1]);
  output = read_all (fds[0]);
  g_assert_cmpstr (output, ==, "\xff\xfe \xe4= /usr");
  wait_for (fixture, job);
  g_assert_cmpint (dvm_job_get_state (job), ==, DVM_JOB_STATE_NON_ZERO_TERM);
  g_assert_cmpint (dvm_job_get_exit_code (job), ==, 3);
  g_assert_cmpint (dvm_job_get_failed_rank (job), ==, 0);
  g_assert_true (dvm_client_refresh_job (fixture->client, job, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpstr (dvm_job_get_nspace (job), !=, "");
  g_assert_cmpint (dvm_job_get_ended_at (job), >, dvm_job_get_created_at (job));
  g_assert_cmpuint (dvm_job_get_submitter_uid (job), ==, geteuid ());
}

static void
on_state_changed (DvmJob *job, DvmJobState old_state, DvmJobState new_state, const char *reason, gpointer user_data)
{
  GArray *states = user_data;

  g_assert_cmpint (old_state, ==, g_array_index (states, DvmJobState, states->len - 1));
  g_array_append_val (states, new_state);
}

static void
on_waited (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (dvm_client_wait_finish (DVM_CLIENT (source), result, &error));
  g_assert_no_error (error);
  g_main_loop_quit (user_data);
}

static gboolean
on_limit (gpointer data)
{
  g_error ("waited in vain for the end of a job");
  return G_SOURCE_REMOVE;
}

/* L4: a follower that subscribed before sees every state, in the order of the specification. */
static void
test_follow (Fixture *fixture, gconstpointer data)
{
  static const DvmJobState expected[] = {
    DVM_JOB_STATE_UNDEF,
    DVM_JOB_STATE_INIT,
    DVM_JOB_STATE_INIT_COMPLETE,
    DVM_JOB_STATE_ALLOCATE,
    DVM_JOB_STATE_ALLOCATION_COMPLETE,
    DVM_JOB_STATE_LAUNCH_DAEMONS,
    DVM_JOB_STATE_DAEMONS_REPORTED,
    DVM_JOB_STATE_VM_READY,
    DVM_JOB_STATE_MAP,
    DVM_JOB_STATE_MAP_COMPLETE,
    DVM_JOB_STATE_SYSTEM_PREP,
    DVM_JOB_STATE_LAUNCH_APPS,
    DVM_JOB_STATE_SEND_LAUNCH_MSG,
    DVM_JOB_STATE_STARTED,
    DVM_JOB_STATE_LOCAL_LAUNCH_COMPLETE,
    DVM_JOB_STATE_RUNNING,
    DVM_JOB_STATE_TERMINATED,
    DVM_JOB_STATE_NOTIFY_COMPLETED,
    DVM_JOB_STATE_NOTIFIED,
  };
  g_autoptr (DvmJobSpec) spec = shell ("exit 0", NULL);
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  g_autoptr (GArray) states = g_array_new (FALSE, FALSE, sizeof (DvmJobState));
  g_autoptr (DvmJob) job = NULL;
  g_autoptr (GError) error = NULL;
  guint limit = g_timeout_add_seconds (SAFETY_LIMIT_S, on_limit, NULL);

  g_array_append_val (states, expected[0]);
  g_assert_true (dvm_client_subscribe (fixture->client, NULL, &error));
  g_assert_no_error (error);
  job = submit (fixture, spec, -1);
  g_signal_connect (job, "state-changed", G_CALLBACK (on_state_changed), states);
  g_assert_true (dvm_client_watch_job (fixture->client, job, NULL, &error));
  g_assert_no_error (error);
  dvm_client_wait_async (fixture->client, job, 0, NULL, on_waited, loop);
  g_main_loop_run (loop);
  g_source_remove (limit);
  g_assert_cmpmem (states->data, states->len * sizeof (DvmJobState), expected, sizeof expected);
  g_assert_true (dvm_job_get_ended (job));
}

static void
test_signal (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = shell ("echo go; exec sleep 1000", NULL);
  g_autoptr (DvmJob) job = NULL;
  g_autoptr (GError) error = NULL;
  char text[8];
  int fds[2];

  g_assert_true (g_unix_open_pipe (fds, FD_CLOEXEC, NULL));
  job = submit (fixture, spec, fds[1]);
  close (fds[1]);
  g_assert_cmpint (read (fds[0], text, sizeof text), ==, 3);
  close (fds[0]);
  g_assert_false (dvm_client_send_signal (fixture->client, job, 4711, NULL, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_clear_error (&error);
  g_assert_true (dvm_client_send_signal (fixture->client, job, SIGTERM, "0", NULL, &error));
  g_assert_no_error (error);
  wait_for (fixture, job);
  g_assert_cmpint (dvm_job_get_state (job), ==, DVM_JOB_STATE_ABORTED_BY_SIG);
  g_assert_cmpint (dvm_job_get_exit_signal (job), ==, SIGTERM);
}

static void
test_cancel (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = shell ("exec sleep 1000", NULL);
  g_autoptr (DvmJob) job = submit (fixture, spec, -1);
  g_autoptr (GError) error = NULL;

  g_assert_true (dvm_client_cancel_job (fixture->client, job, NULL, &error));
  g_assert_no_error (error);
  wait_for (fixture, job);
  g_assert_cmpint (dvm_job_get_state (job), ==, DVM_JOB_STATE_KILLED_BY_CMD);
}

static void
test_attach (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = shell ("exec cat", NULL);
  g_autoptr (DvmJob) job = NULL;
  g_autofree char *output = NULL;
  g_autoptr (GError) error = NULL;
  int in, out, err;

  /* A job whose spec says where the input goes has an input, which waits for a client to attach. */
  dvm_job_spec_set_stdin_target (spec, "0");
  job = submit (fixture, spec, -1);
  g_assert_true (
      dvm_client_attach (fixture->client, job, DVM_STREAMS_STDIN | DVM_STREAMS_STDOUT, NULL, &in, &out, &err, &error));
  g_assert_no_error (error);
  g_assert_cmpint (err, ==, -1);
  g_assert_cmpint (write (in, "hello", 5), ==, 5);
  close (in);
  output = read_all (out);
  g_assert_cmpstr (output, ==, "hello");
  wait_for (fixture, job);
  g_assert_cmpint (dvm_job_get_state (job), ==, DVM_JOB_STATE_NOTIFIED);
}

static void
test_lists (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = shell ("exit 0", NULL);
  g_autoptr (DvmJob) job = NULL;
  g_autoptr (DvmJob) found = NULL;
  g_autoptr (GPtrArray) jobs = NULL;
  g_autoptr (GPtrArray) nodes = NULL;
  g_autoptr (GPtrArray) procs = NULL;
  g_autoptr (GVariant) trace = NULL;
  g_autoptr (GError) error = NULL;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 3);
  job = submit (fixture, spec, -1);
  wait_for (fixture, job);
  procs = dvm_client_list_procs (fixture->client, job, "1-2", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (procs->len, ==, 2);
  g_assert_cmpuint (dvm_proc_get_rank (procs->pdata[1]), ==, 2);
  g_assert_cmpint (dvm_proc_get_state (procs->pdata[1]), ==, DVM_PROC_STATE_TERMINATED);
  jobs = dvm_client_list_jobs (fixture->client, TRUE, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (jobs->len, ==, 1);
  found = dvm_client_find_job (fixture->client, dvm_job_get_nspace (jobs->pdata[0]), NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (dvm_job_get_id (found), ==, dvm_job_get_id (job));
  g_assert_cmpuint (dvm_job_get_num_procs (found), ==, 3);
  nodes = dvm_client_list_nodes (fixture->client, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (nodes->len, ==, 2);
  g_assert_cmpuint (dvm_node_get_slots (nodes->pdata[1]), ==, 4);
  trace = dvm_client_get_trace (fixture->client, job, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_variant_n_children (trace), >, 18);
  g_assert_null (dvm_client_find_job (fixture->client, "4711", NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
}

/* A DVM that is killed in the middle of a wait ends the wait. */
static void
test_killed (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = shell ("exec sleep 1", NULL);
  g_autoptr (DvmJob) job = submit (fixture, spec, -1);
  g_autoptr (GError) error = NULL;
  int status;

  g_assert_cmpint (kill (fixture->pid, SIGKILL), ==, 0);
  g_assert_false (dvm_client_wait (fixture->client, job, 0, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN);
  g_assert_cmpint (waitpid (fixture->pid, &status, 0), ==, fixture->pid);
  fixture->pid = 0;
}

/* A private DVM on a socket pair leaves when its client does. */
static void
test_private (Fixture *fixture, gconstpointer data)
{
  g_autofree char *fd = NULL;
  g_autoptr (DvmClient) client = NULL;
  g_autoptr (DvmJobSpec) spec = shell ("exit 7", NULL);
  g_autoptr (DvmJob) job = NULL;
  g_autoptr (GError) error = NULL;
  int fds[2];
  GPid pid;

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
  fd = g_strdup_printf ("--fd=%d", fds[1]);
  {
    const char *const arguments[] = { "--bus=none", "--name=private", fd, NULL };

    pid = start_dvmd (fixture, arguments, fds[1]);
  }
  close (fds[1]);
  client = dvm_client_new_for_fd (fds[0]);
  g_assert_true (dvm_client_connect (client, NULL, &error));
  g_assert_no_error (error);
  job = dvm_client_submit (client, spec, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (dvm_client_wait (client, job, 0, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (dvm_job_get_exit_code (job), ==, 7);
  g_clear_object (&client);
  await_exit (pid);
}

/* Runs the main loop until a list has so many items. */
static void
await_items (GListModel *model, guint n, const char *what)
{
  guint limit = g_timeout_add_seconds (SAFETY_LIMIT_S, on_limit, (gpointer)what);

  while (g_list_model_get_n_items (model) != n)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (limit);
}

/* A copy of a list that is kept by its change signals alone: it must equal the list. */
typedef struct
{
  GPtrArray *items;
  GHashTable *gone; /* records that have left */
  guint n_changes;
  guint turn; /* of the main loop */
  guint last_turn;
} Mirror;

static void
mirror_clear (Mirror *mirror)
{
  g_ptr_array_unref (mirror->items);
  g_hash_table_unref (mirror->gone);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Mirror, mirror_clear)

static void
on_items_changed (GListModel *model, guint position, guint removed, guint added, gpointer user_data)
{
  Mirror *mirror = user_data;

  g_assert_cmpuint (mirror->turn, >, mirror->last_turn);
  mirror->last_turn = mirror->turn;
  mirror->n_changes++;
  g_assert_cmpuint (removed + added, >, 0);
  g_assert_cmpuint (position + removed, <=, mirror->items->len);
  for (guint i = 0; i < removed; i++)
    g_hash_table_add (mirror->gone, g_ptr_array_steal_index (mirror->items, position));
  for (guint i = 0; i < added; i++)
    {
      GObject *item = g_list_model_get_item (model, position + i);

      /* A record may not leave and come again: a view that has it selected would lose it. */
      g_assert_false (g_hash_table_contains (mirror->gone, item));
      g_ptr_array_insert (mirror->items, (int)(position + i), item);
    }
  g_assert_cmpuint (g_list_model_get_n_items (model), ==, mirror->items->len);
  for (guint i = 0; i < mirror->items->len; i++)
    {
      g_autoptr (GObject) item = g_list_model_get_item (model, i);

      g_assert_true (item == mirror->items->pdata[i]);
    }
}

static void
mirror_init (Mirror *mirror, GListModel *model)
{
  mirror->items = g_ptr_array_new_with_free_func (g_object_unref);
  mirror->gone = g_hash_table_new_full (NULL, NULL, g_object_unref, NULL);
  for (guint i = 0; i < g_list_model_get_n_items (model); i++)
    g_ptr_array_add (mirror->items, g_list_model_get_item (model, i));
  g_signal_connect (model, "items-changed", G_CALLBACK (on_items_changed), mirror);
}

/* Runs the main loop until the list has so many items, and so many have left it. */
static void
mirror_await (Mirror *mirror, guint n, guint n_gone, const char *what)
{
  guint limit = g_timeout_add_seconds (SAFETY_LIMIT_S, on_limit, (gpointer)what);

  while (mirror->items->len != n || g_hash_table_size (mirror->gone) != n_gone)
    {
      mirror->turn++;
      g_main_context_iteration (NULL, TRUE);
    }
  g_source_remove (limit);
}

/* The job sends back the text that is written to it. */
static void
test_streams (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = shell ("read x; echo got $x; echo wrong >&2", "");
  g_autoptr (DvmJobStreams) streams = NULL;
  g_autoptr (DvmJobStreams) second = NULL;
  g_autoptr (GDataInputStream) lines = NULL;
  g_autoptr (DvmJob) job = NULL;
  g_autofree char *line = NULL;
  g_autoptr (GError) error = NULL;
  char buffer[16] = "";

  dvm_job_spec_set_stdin_target (spec, "0");
  job = dvm_client_submit (fixture->client, spec, NULL, &error);
  g_assert_no_error (error);
  streams = dvm_client_open_streams (fixture->client, job, DVM_STREAMS_STDIN | DVM_STREAMS_STDOUT | DVM_STREAMS_STDERR,
                                     NULL, &error);
  g_assert_no_error (error);
  second = dvm_client_open_streams (fixture->client, job, DVM_STREAMS_STDIN, NULL, &error);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_EXISTS);
  g_assert_null (second);
  g_clear_error (&error);
  g_assert_true (g_output_stream_write_all (dvm_job_streams_get_stdin (streams), "ping\n", 5, NULL, NULL, &error));
  g_assert_no_error (error);
  lines = g_data_input_stream_new (dvm_job_streams_get_stdout (streams));
  line = g_data_input_stream_read_line (lines, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (line, ==, "got ping");
  g_assert_true (
      g_input_stream_read_all (dvm_job_streams_get_stderr (streams), buffer, sizeof buffer - 1, NULL, NULL, &error));
  g_assert_cmpstr (buffer, ==, "wrong\n");
  wait_for (fixture, job);
}

static void
test_resize (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = shell ("while test \"$(stty size)\" != '7 77'; do sleep 0.02; done", "");
  g_autoptr (DvmJobSpec) plain = shell ("exec sleep 600", "");
  g_autoptr (DvmJob) job = NULL;
  g_autoptr (DvmJob) without = NULL;
  g_autoptr (GError) error = NULL;

  dvm_job_spec_set_pty (spec, TRUE);
  job = dvm_client_submit (fixture->client, spec, NULL, &error);
  g_assert_no_error (error);
  g_assert_false (dvm_client_resize_job (fixture->client, job, 7, 65536, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_clear_error (&error);
  g_assert_false (dvm_client_resize_job (fixture->client, job, 0, 77, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_clear_error (&error);
  /* The size may arrive before the job is launched or after that. */
  g_assert_true (dvm_client_resize_job (fixture->client, job, 7, 77, NULL, &error));
  g_assert_no_error (error);
  wait_for (fixture, job);
  g_assert_false (dvm_client_resize_job (fixture->client, job, 7, 77, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  g_clear_error (&error);
  without = dvm_client_submit (fixture->client, plain, NULL, &error);
  g_assert_no_error (error);
  g_assert_false (dvm_client_resize_job (fixture->client, without, 7, 77, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_true (dvm_client_cancel_job (fixture->client, without, NULL, NULL));
}

/* The client hears of both ends in one turn of its main loop. */
static void
end_every_second (Fixture *fixture, GPtrArray *jobs)
{
  g_autoptr (GError) error = NULL;

  for (guint i = 1; i < jobs->len; i += 2)
    {
      g_assert_true (dvm_client_cancel_job (fixture->client, jobs->pdata[i], NULL, &error));
      g_assert_no_error (error);
      g_assert_true (dvm_client_wait (fixture->client, jobs->pdata[i], 0, NULL, &error));
      g_assert_no_error (error);
    }
}

static void
await_loaded (DvmClient *client, gboolean loaded)
{
  guint limit = g_timeout_add_seconds (SAFETY_LIMIT_S, on_limit, "the lists");

  while (dvm_client_get_loaded (client) != loaded)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (limit);
}

static void
on_many (GObject *source, GAsyncResult *result, gpointer user_data)
{
  *(GAsyncResult **)user_data = g_object_ref (result);
}

/* The specs take more than one message; a call that is cancelled submits none of them. */
static void
test_submit_many (Fixture *fixture, gconstpointer data)
{
  g_autofree char *value = g_strnfill (20000, 'x');
  g_autofree char *variable = g_strconcat ("LONG=", value, NULL);
  const char *const env[] = { variable, NULL };
  g_autoptr (GPtrArray) specs = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GPtrArray) jobs = NULL;
  g_autoptr (GPtrArray) listed = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 100; i++)
    {
      DvmJobSpec *spec = shell ("test ${#LONG} = 20000", "");
      g_autofree char *label = g_strdup_printf ("%u", i);

      dvm_app_spec_set_env (dvm_job_spec_get_app (spec, 0), env);
      dvm_job_spec_set_label (spec, label);
      g_ptr_array_add (specs, spec);
    }
  dvm_client_submit_many_async (fixture->client, specs, cancellable, on_many, &result);
  g_cancellable_cancel (cancellable);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_assert_null (dvm_client_submit_many_finish (fixture->client, result, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  jobs = dvm_client_submit_many (fixture->client, specs, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (jobs->len, ==, 100);
  for (guint i = 0; i < jobs->len; i++)
    {
      g_autofree char *label = g_strdup_printf ("%u", i);

      g_assert_true (dvm_client_wait (fixture->client, jobs->pdata[i], 0, NULL, &error));
      g_assert_no_error (error);
      g_assert_true (dvm_client_refresh_job (fixture->client, jobs->pdata[i], NULL, &error));
      g_assert_cmpint (dvm_job_get_exit_code (jobs->pdata[i]), ==, 0);
      g_assert_cmpstr (dvm_job_get_label (jobs->pdata[i]), ==, label);
    }
  listed = dvm_client_list_jobs (fixture->client, TRUE, NULL, &error);
  g_assert_cmpuint (listed->len, ==, 100);
}

static void
test_find_session (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmSession) session = dvm_client_find_session (fixture->client, "", NULL, &error);
  g_autoptr (DvmSession) same = NULL;

  g_assert_no_error (error);
  g_assert_cmpstr (dvm_session_get_object_path (session), ==, "/org/dvm/sessions/0");
  g_assert_cmpint (dvm_session_get_state (session), ==, DVM_SESSION_STATE_ACTIVE);
  g_assert_cmpuint (g_strv_length ((char **)dvm_session_get_nodes (session)), ==, 1);
  same = dvm_client_find_session (fixture->client, "/org/dvm/sessions/0", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (dvm_session_get_id (same), ==, 0);
  g_assert_null (dvm_client_find_session (fixture->client, "alloc.7", NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_null (dvm_client_find_session (fixture->client, "/org/dvm/sessions/7", NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_null (dvm_client_find_session (fixture->client, "/org/dvm", NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
}

/* Jobs that were there, jobs that come, jobs that go. */
static void
test_models (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmJobSpec) spec = shell ("read x", "");
  GListModel *jobs, *nodes, *sessions;
  g_autoptr (GPtrArray) held = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (DvmJob) first = NULL;
  g_autoptr (DvmSession) session = NULL;
  g_auto (Mirror) mirror = { 0 };
  int fds[2];

  g_assert_true (g_unix_open_pipe (fds, FD_CLOEXEC, NULL));
  for (guint i = 0; i < 3; i++)
    g_ptr_array_add (held, dvm_client_submit_with_fds (fixture->client, spec, fds[0], -1, -1, NULL, NULL));
  jobs = dvm_client_get_jobs (fixture->client);
  nodes = dvm_client_get_nodes (fixture->client);
  sessions = dvm_client_get_sessions (fixture->client);
  g_assert_true (jobs == dvm_client_get_jobs (fixture->client));
  g_assert_true (g_list_model_get_item_type (jobs) == DVM_TYPE_JOB);
  g_assert_cmpuint (g_list_model_get_n_items (dvm_client_get_campaigns (fixture->client)), ==, 0);
  mirror_init (&mirror, jobs);
  g_assert_false (dvm_client_get_loaded (fixture->client));
  mirror_await (&mirror, 3, 0, "the jobs that were there");
  g_assert_cmpuint (mirror.n_changes, ==, 1);
  await_loaded (fixture->client, TRUE);
  g_assert_cmpuint (g_list_model_get_n_items (jobs), ==, 3);
  g_assert_cmpuint (g_list_model_get_n_items (nodes), ==, 2);
  g_assert_cmpuint (g_list_model_get_n_items (sessions), ==, 1);
  for (guint i = 0; i < 2; i++)
    g_ptr_array_add (held, dvm_client_submit_with_fds (fixture->client, spec, fds[0], -1, -1, NULL, NULL));
  mirror_await (&mirror, 5, 0, "the jobs that came");
  session = g_list_model_get_item (sessions, 0);
  g_assert_cmpint (dvm_session_get_state (session), ==, DVM_SESSION_STATE_ACTIVE);
  first = g_list_model_get_item (jobs, 0);
  g_assert_cmpstr (dvm_job_get_object_path (first), ==, dvm_job_get_object_path (held->pdata[0]));
  end_every_second (fixture, held);
  g_ptr_array_add (held, dvm_client_submit_with_fds (fixture->client, spec, fds[0], -1, -1, NULL, NULL));
  mirror_await (&mirror, 4, 2, "the end of two that are no neighbours, and one that comes");
  close (fds[0]);
  close (fds[1]);
  mirror_await (&mirror, 0, 6, "the end of the jobs");
  g_signal_handlers_disconnect_by_data (jobs, &mirror);
  /* The record has seen the end before it left the list. */
  g_assert_true (dvm_job_get_ended (first));
}

static void
on_instance_changed (DvmClient *client, const char *id, gpointer user_data)
{
  char **last = user_data;

  g_free (*last);
  *last = g_strdup (id);
}

/* A dvmd goes and a new one comes: the client is there again, with the lists of the new one. */
static void
test_reconnect (Fixture *fixture, gconstpointer data)
{
  GListModel *nodes = dvm_client_get_nodes (fixture->client);
  g_autofree char *before = g_strdup (dvm_client_get_instance_id (fixture->client));
  g_autofree char *after = NULL;
  g_autoptr (GError) error = NULL;
  guint limit;

  dvm_client_set_reconnect (fixture->client, TRUE);
  g_signal_connect (fixture->client, "instance-changed", G_CALLBACK (on_instance_changed), &after);
  await_loaded (fixture->client, TRUE);
  g_assert_true (dvm_client_shutdown (fixture->client, TRUE, NULL, &error));
  g_assert_no_error (error);
  await_items (nodes, 0, "the nodes to go");
  g_assert_false (dvm_client_get_connected (fixture->client));
  g_assert_false (dvm_client_get_loaded (fixture->client));
  await_exit (fixture->pid);
  start_daemon (fixture);
  await_loaded (fixture->client, TRUE);
  g_assert_cmpuint (g_list_model_get_n_items (nodes), ==, 2);
  g_assert_true (dvm_client_get_connected (fixture->client));
  limit = g_timeout_add_seconds (SAFETY_LIMIT_S, on_limit, "the new instance");
  while (after == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (limit);
  g_assert_cmpstr (before, !=, after);
  g_assert_cmpstr (dvm_client_get_instance_id (fixture->client), ==, after);
  dvm_client_set_reconnect (fixture->client, FALSE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  if (g_getenv ("DVM_DVMD") == NULL)
    g_error ("DVM_DVMD must say where dvmd is");
  g_unsetenv ("DVM_SOCKET");
  g_unsetenv ("DVM_NAME");
  g_test_add ("/client-dvmd/run", Fixture, NULL, set_up, test_run, tear_down);
  g_test_add ("/client-dvmd/follow", Fixture, NULL, set_up, test_follow, tear_down);
  g_test_add ("/client-dvmd/signal", Fixture, NULL, set_up, test_signal, tear_down);
  g_test_add ("/client-dvmd/cancel", Fixture, NULL, set_up, test_cancel, tear_down);
  g_test_add ("/client-dvmd/attach", Fixture, NULL, set_up, test_attach, tear_down);
  g_test_add ("/client-dvmd/lists", Fixture, NULL, set_up, test_lists, tear_down);
  g_test_add ("/client-dvmd/submit-many", Fixture, NULL, set_up, test_submit_many, tear_down);
  g_test_add ("/client-dvmd/find-session", Fixture, NULL, set_up, test_find_session, tear_down);
  g_test_add ("/client-dvmd/streams", Fixture, NULL, set_up, test_streams, tear_down);
  g_test_add ("/client-dvmd/resize", Fixture, NULL, set_up, test_resize, tear_down);
  g_test_add ("/client-dvmd/models", Fixture, NULL, set_up, test_models, tear_down);
  g_test_add ("/client-dvmd/reconnect", Fixture, NULL, set_up, test_reconnect, tear_down);
  g_test_add ("/client-dvmd/killed", Fixture, NULL, set_up, test_killed, tear_down);
  g_test_add ("/client-dvmd/private", Fixture, NULL, set_up, test_private, tear_down);
  return g_test_run ();
}

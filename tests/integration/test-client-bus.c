/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The library's client on a message bus that goes and comes back, and that could start a DVM.
 */

#include "config.h"

#include <dvm.h>
#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAFETY_LIMIT_S 60
#define MANAGER        "org.dvm.Manager"

typedef struct
{
  char *dir;
  char *address;
  char *activated; /* a file that is there when the bus has started something */
  GPid bus;
  GPid dvmd;
  DvmClient *client;
  guint n_instances; /* instance-changed */
} Fixture;

static void
prepare_child (gpointer data)
{
  prctl (PR_SET_PDEATHSIG, SIGTERM);
  fcntl (GPOINTER_TO_INT (data), F_SETFD, 0);
}

/* Starts a program and returns when it has written something to the descriptor that "%d" in its last argument is. */
static GPid
start (const char *program, const char *const *arguments, const char *ready)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError) error = NULL;
  char text[256];
  int fds[2];
  ssize_t n;
  GPid pid;

  g_assert_true (g_unix_open_pipe (fds, FD_CLOEXEC, &error));
  g_ptr_array_add (argv, g_strdup (program));
  for (gsize i = 0; arguments[i] != NULL; i++)
    g_ptr_array_add (argv, g_strdup (arguments[i]));
  g_ptr_array_add (argv, g_strdup_printf ("%s%d", ready, fds[1]));
  g_ptr_array_add (argv, NULL);
  g_spawn_async (NULL, (char **)argv->pdata, NULL,
                 G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_LEAVE_DESCRIPTORS_OPEN, prepare_child,
                 GINT_TO_POINTER (fds[1]), &pid, &error);
  g_assert_no_error (error);
  close (fds[1]);
  do
    n = read (fds[0], text, sizeof text);
  while (n < 0 && errno == EINTR);
  g_assert_cmpint (n, >, 0);
  close (fds[0]);
  return pid;
}

static void
stop (GPid *pid)
{
  if (*pid == 0)
    return;
  g_assert_cmpint (kill (*pid, SIGTERM), ==, 0);
  g_assert_cmpint (waitpid (*pid, NULL, 0), ==, *pid);
  *pid = 0;
}

static void
start_bus (Fixture *f)
{
  g_autofree char *address = g_strconcat ("--address=", f->address, NULL);
  const char *const arguments[] = { "--session", "--nofork", "--nopidfile", address, NULL };

  f->bus = start ("dbus-daemon", arguments, "--print-address=");
}

static void
start_dvmd (Fixture *f)
{
  const char *const arguments[] = { "--bus=session", "--slots=1", NULL };

  f->dvmd = start (g_getenv ("DVM_DVMD"), arguments, "--ready-fd=");
}

/* The service that a call of the name would start leaves a mark and ends. */
static void
add_service (Fixture *f)
{
  g_autofree char *services = g_build_filename (f->dir, "dbus-1", "services", NULL);
  g_autofree char *path = g_build_filename (services, MANAGER ".service", NULL);
  g_autofree char *text = g_strdup_printf ("[D-BUS Service]\nName=%s\nExec=/usr/bin/touch %s\n", MANAGER, f->activated);

  g_assert_cmpint (g_mkdir_with_parents (services, 0700), ==, 0);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static void
on_instance_changed (DvmClient *client, const char *id, gpointer user_data)
{
  ((Fixture *)user_data)->n_instances++;
}

static void
set_up (Fixture *f, gconstpointer data)
{
  f->dir = g_dir_make_tmp ("dvm-test-XXXXXX", NULL);
  f->address = g_strdup_printf ("unix:path=%s/session", f->dir);
  f->activated = g_build_filename (f->dir, "activated", NULL);
  g_setenv ("XDG_RUNTIME_DIR", f->dir, TRUE);
  g_setenv ("XDG_DATA_HOME", f->dir, TRUE);
  g_setenv ("DBUS_SESSION_BUS_ADDRESS", f->address, TRUE);
  g_unsetenv ("DVM_SOCKET");
  g_unsetenv ("DVM_NAME");
  add_service (f);
  start_bus (f);
  f->client = dvm_client_new_for_address ("session");
  g_signal_connect (f->client, "instance-changed", G_CALLBACK (on_instance_changed), f);
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
tear_down (Fixture *f, gconstpointer data)
{
  g_object_unref (f->client);
  stop (&f->dvmd);
  stop (&f->bus);
  remove_dir (f->dir);
  g_free (f->dir);
  g_free (f->address);
  g_free (f->activated);
}

static gboolean
on_limit (gpointer what)
{
  g_error ("waited %d s in vain for %s", SAFETY_LIMIT_S, (const char *)what);
  return G_SOURCE_REMOVE;
}

static void
await_connected (Fixture *f, gboolean connected)
{
  guint limit = g_timeout_add_seconds (SAFETY_LIMIT_S, on_limit, connected ? "the connection" : "its end");

  while (dvm_client_get_connected (f->client) != connected)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (limit);
}

/* A job goes from its submission to its end. */
static void
check_job (Fixture *f)
{
  const char *const argv[] = { "/bin/sh", "-c", "exit 4", NULL };
  g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
  g_autoptr (DvmJob) job = NULL;
  g_autoptr (GError) error = NULL;

  dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 1);
  job = dvm_client_submit (f->client, spec, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (dvm_client_wait (f->client, job, 0, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (dvm_job_get_exit_code (job), ==, 4);
}

static void
connect_client (Fixture *f)
{
  g_autoptr (GError) error = NULL;

  dvm_client_set_reconnect (f->client, TRUE);
  g_assert_true (dvm_client_connect (f->client, NULL, &error));
  g_assert_no_error (error);
}

/* The DVM is the same before and after. */
static void
test_bus_returns (Fixture *f, gconstpointer data)
{
  start_dvmd (f);
  connect_client (f);
  check_job (f);
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *instance = g_strdup (dvm_client_get_instance_id (f->client));

      stop (&f->bus);
      await_connected (f, FALSE);
      start_bus (f);
      await_connected (f, TRUE);
      check_job (f);
      g_assert_cmpstr (dvm_client_get_instance_id (f->client), ==, instance);
    }
  g_assert_cmpuint (f->n_instances, ==, 0);
}

/* While the bus was away the DVM was replaced. */
static void
test_other_instance (Fixture *f, gconstpointer data)
{
  guint limit;

  start_dvmd (f);
  connect_client (f);
  check_job (f);
  stop (&f->bus);
  await_connected (f, FALSE);
  stop (&f->dvmd);
  start_bus (f);
  start_dvmd (f);
  await_connected (f, TRUE);
  limit = g_timeout_add_seconds (SAFETY_LIMIT_S, on_limit, (gpointer) "instance-changed");
  while (f->n_instances == 0)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (limit);
  check_job (f);
  g_assert_cmpuint (f->n_instances, ==, 1);
}

static void
on_result (GObject *source, GAsyncResult *result, gpointer user_data)
{
  *(GAsyncResult **)user_data = g_object_ref (result);
}

/* The bus has answered everything that was sent before. */
static GVariant *
call_bus (Fixture *f, const char *destination, const char *path, const char *interface, const char *method,
          GDBusCallFlags flags, GError **error)
{
  g_autoptr (GDBusConnection) connection = g_dbus_connection_new_for_address_sync (
      f->address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION, NULL,
      NULL, NULL);

  g_assert_nonnull (connection);
  return g_dbus_connection_call_sync (connection, destination, path, interface, method, NULL, NULL, flags, -1, NULL,
                                      error);
}

static void
check_not_started (Fixture *f)
{
  g_autoptr (GVariant) reply = call_bus (f, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                         "GetId", G_DBUS_CALL_FLAGS_NONE, NULL);

  g_assert_nonnull (reply);
  g_assert_false (g_file_test (f->activated, G_FILE_TEST_EXISTS));
}

/* No call of the client makes the bus start the service; a plain call would. */
static void
test_starts_nothing (Fixture *f, gconstpointer data)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GVariant) reply = NULL;
  g_autoptr (GPtrArray) jobs = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_false (dvm_client_connect (f->client, NULL, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  g_clear_error (&error);
  dvm_client_connect_async (f->client, NULL, on_result, &result);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_assert_false (dvm_client_connect_finish (f->client, result, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  g_clear_error (&error);
  check_not_started (f);

  /* A DVM that was there has gone. */
  start_dvmd (f);
  g_assert_true (dvm_client_connect (f->client, NULL, &error));
  check_job (f);
  stop (&f->dvmd);
  jobs = dvm_client_list_jobs (f->client, FALSE, NULL, &error);
  g_assert_null (jobs);
  g_assert_nonnull (error);
  g_clear_error (&error);
  dvm_client_set_reconnect (f->client, TRUE);
  check_not_started (f);

  reply = call_bus (f, MANAGER, "/org/dvm/Manager", "org.freedesktop.DBus.Peer", "Ping", G_DBUS_CALL_FLAGS_NONE,
                    &error);
  g_assert_null (reply);
  g_assert_true (g_file_test (f->activated, G_FILE_TEST_EXISTS));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/client-bus/bus-returns", Fixture, NULL, set_up, test_bus_returns, tear_down);
  g_test_add ("/client-bus/other-instance", Fixture, NULL, set_up, test_other_instance, tear_down);
  g_test_add ("/client-bus/starts-nothing", Fixture, NULL, set_up, test_starts_nothing, tear_down);
  return g_test_run ();
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sockets, buses, descriptors, and the programs that people use by hand.
 */

#include "config.h"

#include "bus-fixture.h"
#include "fake-controller.h"

#include <gio/gunixsocketaddress.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct
{
  BusFixture bus;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  bus_fixture_set_up (&f->bus, fake_controller_new (4, 10), data);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  bus_fixture_tear_down (&f->bus);
}

/* ---- sockets ---- */

static void
test_socket (Fixture *f, gconstpointer data)
{
  g_autoptr (DvmdBusServer) second = dvmd_bus_server_new (f->bus.controller, NULL);
  g_autofree char *plain = g_build_filename (f->bus.dir, "plain", NULL);
  g_autofree char *missing = g_build_filename (f->bus.dir, "missing", "bus", NULL);
  g_autofree char *long_path = g_strnfill (108, 'x');
  g_autoptr (GError) error = NULL;
  GStatBuf status;

  g_assert_cmpint (g_stat (f->bus.socket, &status), ==, 0);
  g_assert_cmpuint (status.st_mode & 0777, ==, 0600);
  g_assert_false (dvmd_bus_server_listen (second, f->bus.socket, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_EXISTS);
  g_clear_error (&error);
  g_assert_true (g_file_set_contents (plain, "mine", -1, NULL));
  g_assert_false (dvmd_bus_server_listen (second, plain, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_EXISTS);
  g_assert_true (g_file_test (plain, G_FILE_TEST_IS_REGULAR));
  g_clear_error (&error);
  g_assert_false (dvmd_bus_server_listen (second, missing, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_FAILED);
  g_clear_error (&error);
  g_assert_false (dvmd_bus_server_listen (second, long_path, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_nonnull (strstr (error->message, "107"));
  g_unlink (plain);
}

/* Its owner has crashed: nobody listens any more. */
static void
test_stale_socket (Fixture *f, gconstpointer data)
{
  g_autofree char *path = g_build_filename (f->bus.dir, "stale", NULL);
  g_autoptr (GSocket)
      socket = g_socket_new (G_SOCKET_FAMILY_UNIX, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT, NULL);
  g_autoptr (GSocketAddress) address = g_unix_socket_address_new (path);
  g_autoptr (DvmdBusServer) second = dvmd_bus_server_new (f->bus.controller, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_true (g_socket_bind (socket, address, FALSE, NULL));
  g_socket_close (socket, NULL);
  g_assert_true (g_file_test (path, G_FILE_TEST_EXISTS));
  g_assert_true (dvmd_bus_server_listen (second, path, &error));
  g_assert_no_error (error);
  g_clear_object (&second);
  g_unlink (path);
}

static void
on_read (GObject *source, GAsyncResult *result, gpointer user_data)
{
  gssize *size = user_data;

  *size = g_input_stream_read_finish (G_INPUT_STREAM (source), result, NULL);
}

/* A nul byte begins the protocol. */
static void
test_authentication (Fixture *f, gconstpointer data)
{
  g_autoptr (GSocketClient) client = g_socket_client_new ();
  g_autoptr (GSocketAddress) address = g_unix_socket_address_new (f->bus.socket);
  static const char *const hellos[] = { "AUTH ANONYMOUS 61\r\n", "AUTH DBUS_COOKIE_SHA1 30\r\n", "AUTH\r\n" };
  BusClient *good;

  for (guint i = 0; i < G_N_ELEMENTS (hellos); i++)
    {
      g_autofree char *text = g_strdup_printf ("x%s", hellos[i]);
      g_autoptr (GSocketConnection)
          stream = g_socket_client_connect (client, G_SOCKET_CONNECTABLE (address), NULL, NULL);
      GInputStream *in = g_io_stream_get_input_stream (G_IO_STREAM (stream));
      char reply[256] = "";
      gssize size = -2;

      text[0] = '\0';
      g_output_stream_write_all (g_io_stream_get_output_stream (G_IO_STREAM (stream)), text, strlen (hellos[i]) + 1,
                                 NULL, NULL, NULL);
      g_input_stream_read_async (in, reply, sizeof reply - 1, G_PRIORITY_DEFAULT, NULL, on_read, &size);
      wait_until (size != -2);
      if (size > 0)
        g_assert_true (g_str_has_prefix (reply, "REJECTED EXTERNAL\r\n"));
    }
  g_assert_cmpuint (dvmd_bus_server_get_n_connections (f->bus.server), ==, 0);
  good = bus_client_new_private (&f->bus);
  bus_client_sync (good);
  bus_client_free (good);
}

/* Subscribed, and then it does not read: memory stays bounded, others are served, and in the end it is closed. */
static void
test_never_reads (Fixture *f, gconstpointer data)
{
  g_autoptr (GSocketClient) client = g_socket_client_new ();
  g_autoptr (GSocketAddress) address = g_unix_socket_address_new (f->bus.socket);
  g_autoptr (GSocketConnection) stream = g_socket_client_connect (client, G_SOCKET_CONNECTABLE (address), NULL, NULL);
  GOutputStream *out = g_io_stream_get_output_stream (G_IO_STREAM (stream));
  g_autofree char *uid = g_strdup_printf ("%u", (guint)getuid ());
  g_autoptr (GString) hello = g_string_new ("xAUTH EXTERNAL ");
  g_autoptr (GDBusMessage) message = g_dbus_message_new_method_call (NULL, MANAGER_PATH, MANAGER, "Subscribe");
  g_autofree guchar *blob = NULL;
  BusClient *other = bus_client_new_private (&f->bus);
  gsize size;

  for (const char *p = uid; *p != '\0'; p++)
    g_string_append_printf (hello, "%02x", *p);
  g_string_append (hello, "\r\nBEGIN\r\n");
  hello->str[0] = '\0';
  g_dbus_message_set_serial (message, 1);
  blob = g_dbus_message_to_blob (message, &size, G_DBUS_CAPABILITY_FLAGS_NONE, NULL);
  g_assert_true (g_output_stream_write_all (out, hello->str, hello->len, NULL, NULL, NULL));
  g_assert_true (g_output_stream_write_all (out, blob, size, NULL, NULL, NULL));
  wait_until (dvmd_bus_server_get_n_connections (f->bus.server) == 2);
  /* It may be away for a while: what happens meanwhile is not lost, and not kept one by one. */
  for (guint i = 0; i < 2000 || dvmd_bus_server_get_n_connections (f->bus.server) == 2; i++)
    {
      g_autofree char *job = bus_client_submit (other, "true", "{'np': <uint32 1>, 'signals': <false>}");
      g_autoptr (GVariant) result = bus_client_check (other, job, JOB, "Wait", g_variant_new_parsed ("(@a{sv} {},)"));
      const char *number = strrchr (job, '/') + 1;

      g_assert_cmpint (atoi (number), ==, i + 1);
      if (i == 1999)
        {
          g_assert_cmpuint (dvmd_bus_server_get_n_connections (f->bus.server), ==, 2);
          dvmd_bus_server_set_timeout (f->bus.server, 0);
        }
    }
  bus_client_sync (other);
  bus_client_free (other);
}

static void
on_closed (DvmdBusServer *server, gboolean is_bus, guint n_left, gpointer user_data)
{
  g_assert_false (is_bus);
  *(int *)user_data = n_left;
}

static void
on_connected (GObject *source, GAsyncResult *result, gpointer user_data)
{
  *(GDBusConnection **)user_data = g_dbus_connection_new_finish (result, NULL);
}

static void
test_descriptor (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GSocket) socket = NULL;
  g_autoptr (GSocketConnection) stream = NULL;
  GDBusConnection *connection = NULL;
  BusClient *client;
  g_autofree char *job = NULL;
  int pair[2];
  int left = -1;

  g_signal_connect (f->bus.server, "connection-closed", G_CALLBACK (on_closed), &left);
  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), ==, 0);
  g_assert_true (dvmd_bus_server_add_fd (f->bus.server, pair[0], &error));
  g_assert_cmpuint (dvmd_bus_server_get_n_connections (f->bus.server), ==, 1);
  socket = g_socket_new_from_fd (pair[1], NULL);
  stream = g_socket_connection_factory_create_connection (socket);
  g_dbus_connection_new (G_IO_STREAM (stream), NULL, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, NULL, NULL,
                         on_connected, &connection);
  wait_until (connection != NULL);
  client = bus_client_new (connection, NULL);
  job = bus_client_submit (client, "true", NULL);
  g_assert_cmpstr (job, ==, "/org/dvm/jobs/1");
  bus_client_free (client);
  wait_until (left == 0);

  g_assert_false (dvmd_bus_server_add_fd (f->bus.server, dup (STDIN_FILENO), &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  /* A peer that goes before it has said anything. */
  left = -1;
  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), ==, 0);
  g_assert_true (dvmd_bus_server_add_fd (f->bus.server, pair[0], NULL));
  close (pair[1]);
  wait_until (left == 0);
}

/* The end answers those who wait. */
static void
on_waited (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, user_data);
}

static void
on_stopped (GObject *source, GAsyncResult *result, gpointer user_data)
{
  *(gboolean *)user_data = TRUE;
}

static void
test_stop (Fixture *f, gconstpointer data)
{
  BusClient *client = bus_client_new_private (&f->bus);
  g_autofree char *job = bus_client_submit (client, "hold", NULL);
  g_autoptr (GError) error = NULL;
  gboolean stopped = FALSE;

  g_dbus_connection_call (client->connection, NULL, job, JOB, "Wait", g_variant_new_parsed ("(@a{sv} {},)"), NULL,
                          G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL, on_waited, &error);
  bus_client_sync (client);
  dvmd_bus_server_stop_async (f->bus.server, on_stopped, &stopped);
  wait_until (stopped && error != NULL);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN);
  bus_client_free (client);
}

/* ---- as on a bus ---- */

static void
test_hello (Fixture *f, gconstpointer data)
{
  const char *address = dvmd_bus_server_get_address (f->bus.server);
  BusClient *client = bus_client_new_on_bus (address, "org.dvm.Manager");
  g_autofree char *job = NULL;
  g_autoptr (GVariant) owner = NULL;
  g_autoptr (GVariant) result = NULL;
  const char *name;

  g_assert_true (g_dbus_is_unique_name (g_dbus_connection_get_unique_name (client->connection)));
  job = bus_client_submit (client, "true", NULL);
  result = bus_client_check (client, job, JOB, "Wait", g_variant_new_parsed ("(@a{sv} {},)"));
  /* Subscribed by the name of the sender: the signals have one. */
  bus_client_wait_for (client, "* *.InterfacesRemoved *");
  client->destination = "org.freedesktop.DBus";
  owner = bus_client_check (client, "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner",
                            g_variant_new ("(s)", "org.dvm.Manager"));
  g_variant_get (owner, "(&s)", &name);
  g_assert_true (g_dbus_is_unique_name (name));
  bus_client_refused (client, "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner",
                      g_variant_new ("(s)", "org.dvm.Manager.other"), "org.freedesktop.DBus.Error.NameHasNoOwner",
                      NULL);
  bus_client_refused (client, "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello", NULL,
                      "org.freedesktop.DBus.Error.Failed", NULL);
  bus_client_refused (client, "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
                      g_variant_new ("(su)", "a.b", 0), "org.freedesktop.DBus.Error.UnknownMethod", NULL);
  bus_client_free (client);
}

static void
on_communicated (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;

  g_subprocess_communicate_utf8_finish (G_SUBPROCESS (source), result, user_data, NULL, &error);
  g_assert_no_error (error);
}

/* (transfer full): what the program prints; it must succeed */
static char *
run (const char *const *argv)
{
  g_autoptr (GSubprocessLauncher)
      launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_MERGE);
  g_autoptr (GSubprocess) process = NULL;
  g_autoptr (GError) error = NULL;
  char *output = NULL;

  g_subprocess_launcher_unsetenv (launcher, "G_DEBUG");
  process = g_subprocess_launcher_spawnv (launcher, argv, &error);
  g_assert_no_error (error);
  g_subprocess_communicate_utf8_async (process, NULL, NULL, on_communicated, &output);
  wait_until (output != NULL);
  wait_until (g_subprocess_get_if_exited (process) || g_subprocess_get_if_signaled (process));
  if (!g_subprocess_get_successful (process))
    g_error ("%s %s: %s", argv[0], argv[1], output);
  return output;
}

static gboolean
skip_without (const char *program)
{
  g_autofree char *path = g_find_program_in_path (program);

  if (path != NULL)
    return FALSE;
  g_test_skip ("the program is not installed");
  return TRUE;
}

static void
test_busctl (Fixture *f, gconstpointer data)
{
  g_autofree char *address = g_strdup_printf ("--address=%s", dvmd_bus_server_get_address (f->bus.server));
  const char *submit[] = { "busctl", address, "call", "--", MANAGER, MANAGER_PATH, MANAGER, "Submit", "asa{sv}",
                           "2",      "hold",  "-f",   "1",  "np",    "u",          "4",     NULL };
  const char *introspect[] = { "busctl", address, "introspect", MANAGER, "/org/dvm/jobs/1", NULL };
  const char *tree[] = { "busctl", address, "tree", "--list", MANAGER, NULL };
  const char *get[] = { "busctl", address, "get-property", MANAGER, MANAGER_PATH, MANAGER, "Ready", NULL };
  g_autofree char *submit_out = NULL;
  g_autofree char *introspect_out = NULL;
  g_autofree char *tree_out = NULL;
  g_autofree char *get_out = NULL;

  if (skip_without ("busctl"))
    return;
  submit_out = run (submit);
  g_assert_cmpstr (submit_out, ==, "o \"/org/dvm/jobs/1\"\n");
  introspect_out = run (introspect);
  g_assert_nonnull (strstr (introspect_out, ".StateName"));
  g_assert_nonnull (strstr (introspect_out, ".ProcStateChanged"));
  tree_out = run (tree);
  g_assert_nonnull (strstr (tree_out, "/org/dvm/jobs/1\n"));
  g_assert_nonnull (strstr (tree_out, "/org/dvm/sessions/0\n"));
  g_assert_nonnull (strstr (tree_out, "/org/dvm/Manager\n"));
  get_out = run (get);
  g_assert_cmpstr (get_out, ==, "b true\n");
}

static void
test_gdbus (Fixture *f, gconstpointer data)
{
  const char *address = dvmd_bus_server_get_address (f->bus.server);
  const char *call[] = { "gdbus",      "call",     "--address",       address,    "--dest", MANAGER, "--object-path",
                         MANAGER_PATH, "--method", MANAGER ".Submit", "['true']", "{}",     NULL };
  const char *introspect[] = { "gdbus", "introspect",    "--address", address,     "--dest",
                               MANAGER, "--object-path", "/org/dvm",  "--recurse", NULL };
  g_autofree char *call_out = NULL;
  g_autofree char *introspect_out = NULL;

  if (skip_without ("gdbus"))
    return;
  call_out = run (call);
  g_assert_cmpstr (call_out, ==, "(objectpath '/org/dvm/jobs/1',)\n");
  introspect_out = run (introspect);
  g_assert_nonnull (strstr (introspect_out, "org.dvm.Session"));
}

/* ---- session buses ---- */

static void
on_added (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GError **error = user_data;

  if (dvmd_bus_server_add_bus_finish (DVMD_BUS_SERVER (source), result, error))
    *error = g_error_new (DVM_ERROR, DVM_ERROR_FAILED, "none");
}

static void
test_names (Fixture *f, gconstpointer data)
{
  g_autoptr (GTestDBus) dbus = g_test_dbus_new (G_TEST_DBUS_NONE);
  g_autoptr (DvmdBusServer) same = dvmd_bus_server_new (f->bus.controller, "blue");
  g_autoptr (DvmdBusServer) other = dvmd_bus_server_new (f->bus.controller, NULL);
  g_autoptr (GError) first = NULL;
  g_autoptr (GError) second = NULL;
  g_autoptr (GError) third = NULL;
  BusClient *client;
  gboolean stopped = FALSE;

  g_test_dbus_up (dbus);
  dvmd_bus_server_add_bus_async (f->bus.server, G_BUS_TYPE_SESSION, NULL, on_added, &first);
  wait_until (first != NULL);
  g_assert_error (first, DVM_ERROR, DVM_ERROR_FAILED);
  dvmd_bus_server_add_bus_async (same, G_BUS_TYPE_SESSION, NULL, on_added, &second);
  dvmd_bus_server_add_bus_async (other, G_BUS_TYPE_SESSION, NULL, on_added, &third);
  wait_until (second != NULL && third != NULL);
  g_assert_error (second, DVM_ERROR, DVM_ERROR_EXISTS);
  g_assert_nonnull (strstr (second->message, "org.dvm.Manager.blue"));
  g_assert_error (third, DVM_ERROR, DVM_ERROR_FAILED);

  client = bus_client_new_on_bus (g_test_dbus_get_bus_address (dbus), "org.dvm.Manager.blue");
  bus_client_sync (client);
  dvmd_bus_server_stop_async (f->bus.server, on_stopped, &stopped);
  wait_until (stopped);
  bus_client_refused (client, MANAGER_PATH, MANAGER, "FindJob", g_variant_new ("(s)", "x"),
                      "org.freedesktop.DBus.Error.ServiceUnknown", NULL);
  bus_client_free (client);
  g_clear_object (&same);
  g_clear_object (&other);
  g_test_dbus_down (dbus);
}

static void
test_no_bus (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *old = g_strdup (g_getenv ("DBUS_SESSION_BUS_ADDRESS"));

  g_setenv ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus", TRUE);
  dvmd_bus_server_add_bus_async (f->bus.server, G_BUS_TYPE_SESSION, NULL, on_added, &error);
  wait_until (error != NULL);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND);
  if (old != NULL)
    g_setenv ("DBUS_SESSION_BUS_ADDRESS", old, TRUE);
  else
    g_unsetenv ("DBUS_SESSION_BUS_ADDRESS");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/bus/connections/socket", Fixture, NULL, set_up, test_socket, tear_down);
  g_test_add ("/bus/connections/stale-socket", Fixture, NULL, set_up, test_stale_socket, tear_down);
  g_test_add ("/bus/connections/authentication", Fixture, NULL, set_up, test_authentication, tear_down);
  g_test_add ("/bus/connections/never-reads", Fixture, NULL, set_up, test_never_reads, tear_down);
  g_test_add ("/bus/connections/descriptor", Fixture, NULL, set_up, test_descriptor, tear_down);
  g_test_add ("/bus/connections/stop", Fixture, NULL, set_up, test_stop, tear_down);
  g_test_add ("/bus/connections/hello", Fixture, NULL, set_up, test_hello, tear_down);
  g_test_add ("/bus/connections/busctl", Fixture, NULL, set_up, test_busctl, tear_down);
  g_test_add ("/bus/connections/gdbus", Fixture, NULL, set_up, test_gdbus, tear_down);
  g_test_add ("/bus/connections/names", Fixture, "blue", set_up, test_names, tear_down);
  g_test_add ("/bus/connections/no-bus", Fixture, NULL, set_up, test_no_bus, tear_down);
  return g_test_run ();
}

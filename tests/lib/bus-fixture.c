/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "bus-fixture.h"

#include <gio/gunixfdlist.h>
#include <glib/gstdio.h>
#include <string.h>

void
bus_iterate (void)
{
  guint tick = g_timeout_add (50, wait_look_again, NULL);

  g_main_context_iteration (NULL, TRUE);
  g_source_remove (tick);
}

void
bus_fixture_set_up (BusFixture *fixture, DvmdController *controller, const char *name)
{
  g_autoptr (GError) error = NULL;

  fixture->controller = controller;
  fixture->dir = g_dir_make_tmp ("dvm-bus-XXXXXX", &error);
  g_assert_no_error (error);
  fixture->socket = g_build_filename (fixture->dir, "bus", NULL);
  fixture->server = dvmd_bus_server_new (controller, name);
  dvmd_bus_server_listen (fixture->server, fixture->socket, &error);
  g_assert_no_error (error);
  dvmd_controller_start (controller);
  wait_until (dvmd_core_get_ready (dvmd_controller_get_core (controller)));
}

static void
on_stopped (GObject *source, GAsyncResult *result, gpointer user_data)
{
  dvmd_bus_server_stop_finish (DVMD_BUS_SERVER (source), result);
  *(gboolean *)user_data = TRUE;
}

void
bus_fixture_tear_down (BusFixture *fixture)
{
  gboolean stopped = FALSE;

  dvmd_bus_server_stop_async (fixture->server, on_stopped, &stopped);
  wait_until (stopped);
  g_assert_cmpuint (dvmd_bus_server_get_n_connections (fixture->server), ==, 0);
  g_assert_false (g_file_test (fixture->socket, G_FILE_TEST_EXISTS));
  g_assert_finalize_object (fixture->server);
  g_object_unref (fixture->controller);
  g_rmdir (fixture->dir);
  g_free (fixture->dir);
  g_free (fixture->socket);
}

static void
on_signal (GDBusConnection *connection, const char *sender, const char *path, const char *interface, const char *signal,
           GVariant *parameters, gpointer user_data)
{
  BusClient *client = user_data;
  g_autofree char *text = g_variant_print (parameters, FALSE);

  if (!g_str_has_prefix (path, "/org/dvm"))
    return;
  g_ptr_array_add (client->signals, g_strdup_printf ("%s %s.%s %s", path, interface, signal, text));
}

BusClient *
bus_client_new (GDBusConnection *connection, const char *destination)
{
  BusClient *client = g_new0 (BusClient, 1);

  client->connection = connection;
  client->destination = destination;
  client->signals = g_ptr_array_new_with_free_func (g_free);
  g_dbus_connection_signal_subscribe (connection, destination, NULL, NULL, NULL, NULL, G_DBUS_SIGNAL_FLAGS_NONE,
                                      on_signal, client, NULL);
  return client;
}

static void
on_result (GObject *source, GAsyncResult *result, gpointer user_data)
{
  *(GAsyncResult **)user_data = g_object_ref (result);
}

static GDBusConnection *
connect_to (const char *address, GDBusConnectionFlags flags)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  GDBusConnection *connection;

  g_dbus_connection_new_for_address (address, flags | G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, NULL, NULL,
                                     on_result, &result);
  wait_until (result != NULL);
  connection = g_dbus_connection_new_for_address_finish (result, &error);
  g_assert_no_error (error);
  return connection;
}

/* The server has taken the connection, and numbered it, when it answers: the next one has the next number. */
static void
wait_for_number (GDBusConnection *connection)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GVariant) reply = NULL;

  g_dbus_connection_call (connection, NULL, "/", "org.freedesktop.DBus.Peer", "Ping", NULL, NULL,
                          G_DBUS_CALL_FLAGS_NONE, -1, NULL, on_result, &result);
  wait_until (result != NULL);
  reply = g_dbus_connection_call_finish (connection, result, NULL);
}

static void
on_connected (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;

  dvm_client_connect_finish (DVM_CLIENT (source), result, &error);
  g_assert_no_error (error);
}

DvmClient *
bus_fixture_connect (BusFixture *fixture)
{
  g_autofree char *address = g_strdup_printf ("unix:path=%s", fixture->socket);
  DvmClient *client = dvm_client_new_for_address (address);

  dvm_client_connect_async (client, NULL, on_connected, NULL);
  wait_until (dvm_client_get_connected (client));
  return client;
}

BusClient *
bus_client_new_private (BusFixture *fixture)
{
  GDBusConnection *connection = connect_to (dvmd_bus_server_get_address (fixture->server),
                                            G_DBUS_CONNECTION_FLAGS_NONE);

  wait_for_number (connection);
  return bus_client_new (connection, NULL);
}

BusClient *
bus_client_new_on_bus (const char *address, const char *destination)
{
  return bus_client_new (connect_to (address, G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION), destination);
}

void
bus_client_free (BusClient *client)
{
  g_autoptr (GAsyncResult) result = NULL;

  if (!g_dbus_connection_is_closed (client->connection))
    {
      g_dbus_connection_close (client->connection, NULL, on_result, &result);
      wait_until (result != NULL);
    }
  g_signal_handlers_disconnect_by_data (client->connection, client);
  g_object_unref (client->connection);
  /* Signals that were on their way to on_signal() go with the context's next turns. */
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_ptr_array_unref (client->signals);
  g_free (client);
}

GVariant *
bus_client_call_with_fds (BusClient *client, const char *path, const char *interface, const char *method,
                          GVariant *parameters, GUnixFDList *fds, GUnixFDList **out_fds, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  g_dbus_connection_call_with_unix_fd_list (client->connection, client->destination, path, interface, method,
                                            parameters, NULL, G_DBUS_CALL_FLAGS_NONE, G_MAXINT, fds, NULL, on_result,
                                            &result);
  wait_until (result != NULL);
  return g_dbus_connection_call_with_unix_fd_list_finish (client->connection, out_fds, result, error);
}

GVariant *
bus_client_call (BusClient *client, const char *path, const char *interface, const char *method, GVariant *parameters,
                 GError **error)
{
  return bus_client_call_with_fds (client, path, interface, method, parameters, NULL, NULL, error);
}

GVariant *
bus_client_check (BusClient *client, const char *path, const char *interface, const char *method, GVariant *parameters)
{
  g_autoptr (GError) error = NULL;
  GVariant *reply = bus_client_call (client, path, interface, method, parameters, &error);

  g_assert_no_error (error);
  return reply;
}

void
bus_client_refused (BusClient *client, const char *path, const char *interface, const char *method,
                    GVariant *parameters, const char *error_name, const char *what)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) reply = bus_client_call (client, path, interface, method, parameters, &error);
  g_autofree char *name = NULL;

  if (reply != NULL)
    g_test_message ("%s is answered: %s", method, g_variant_print (reply, TRUE));
  g_assert_null (reply);
  name = g_dbus_error_get_remote_error (error);
  g_assert_cmpstr (name, ==, error_name);
  if (what != NULL && strstr (error->message, what) == NULL)
    g_error ("%s: “%s” does not speak of “%s”", method, error->message, what);
}

GVariant *
bus_client_get (BusClient *client, const char *path, const char *interface, const char *property)
{
  g_autoptr (GVariant)
      reply = bus_client_check (client, path, PROPERTIES, "Get", g_variant_new ("(ss)", interface, property));
  GVariant *value;

  g_variant_get (reply, "(v)", &value);
  return value;
}

char *
bus_client_submit (BusClient *client, const char *program, const char *options)
{
  const char *argv[] = { program, NULL };
  g_autoptr (GVariant) reply = bus_client_check (
      client, MANAGER_PATH, MANAGER, "Submit",
      g_variant_new ("(^as@a{sv})", argv, g_variant_new_parsed (options != NULL ? options : "@a{sv} {}")));
  char *path;

  g_variant_get (reply, "(o)", &path);
  return path;
}

int
bus_client_find (BusClient *client, const char *pattern, guint start)
{
  for (guint i = start; i < client->signals->len; i++)
    if (g_pattern_match_simple (pattern, client->signals->pdata[i]))
      return i;
  return -1;
}

guint
bus_client_count (BusClient *client, const char *pattern)
{
  guint n = 0;

  for (int i = 0; (i = bus_client_find (client, pattern, i)) >= 0; i++)
    n++;
  return n;
}

void
bus_client_wait_for (BusClient *client, const char *pattern)
{
  wait_until (bus_client_find (client, pattern, 0) >= 0);
}

void
bus_client_sync (BusClient *client)
{
  /* Twice: signals of a turn go at its end. */
  for (int i = 0; i < 2; i++)
    {
      g_autoptr (GVariant) version = bus_client_get (client, MANAGER_PATH, MANAGER, "Version");
    }
}

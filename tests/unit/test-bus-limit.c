/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many calls of others wait in the main loop: counted on a bus of its own, while the main loop is not run.
 */

#include "config.h"

#include <gio/gunixfdlist.h>
#include <unistd.h>

#include "dvmd-bus-limit.h"
#include "wait-until.h"

#define FLAGS      (G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION)
#define MAX_OF_ONE 64
#define MANY_CALLS 100

typedef struct
{
  GTestDBus *dbus;
  GDBusConnection *service;
  DvmdBusLimit *limit;
  guint object;
  guint n_served;
  gint n_refused; /* counted in the thread of GDBus */
} Fixture;

static GDBusConnection *
connect_to (Fixture *f)
{
  g_autoptr (GError) error = NULL;
  GDBusConnection *connection = g_dbus_connection_new_for_address_sync (g_test_dbus_get_bus_address (f->dbus), FLAGS,
                                                                        NULL, NULL, &error);

  g_assert_no_error (error);
  g_dbus_connection_set_exit_on_close (connection, FALSE);
  return connection;
}

static void
on_call (GDBusConnection *connection, const char *sender, const char *path, const char *interface, const char *method,
         GVariant *parameters, GDBusMethodInvocation *invocation, gpointer user_data)
{
  Fixture *f = user_data;

  f->n_served++;
  dvmd_bus_limit_serve (invocation);
  g_dbus_method_invocation_return_value (invocation, NULL);
}

static void
setup (Fixture *f, gconstpointer data)
{
  static const GDBusInterfaceVTable vtable = { .method_call = on_call };
  g_autoptr (GDBusNodeInfo) info = g_dbus_node_info_new_for_xml (
      "<node><interface name='a.b'><method name='Look'/><method name='Submit'/></interface></node>", NULL);

  f->dbus = g_test_dbus_new (G_TEST_DBUS_NONE);
  g_test_dbus_up (f->dbus);
  f->service = connect_to (f);
  f->limit = dvmd_bus_limit_new (f->service);
  f->object = g_dbus_connection_register_object (f->service, "/a", info->interfaces[0], &vtable, f, NULL, NULL);
}

static void
teardown (Fixture *f, gconstpointer data)
{
  g_dbus_connection_unregister_object (f->service, f->object);
  g_dbus_connection_close_sync (f->service, NULL, NULL);
  g_clear_object (&f->service);
  dvmd_bus_limit_unref (f->limit);
  g_test_dbus_stop (f->dbus);
  g_object_unref (f->dbus);
}

static GDBusMessage *
count_refusals (GDBusConnection *connection, GDBusMessage *message, gboolean incoming, gpointer user_data)
{
  Fixture *f = user_data;

  if (incoming && g_strcmp0 (g_dbus_message_get_error_name (message), "org.freedesktop.DBus.Error.LimitsExceeded") == 0)
    g_atomic_int_inc (&f->n_refused);
  return message;
}

static GDBusConnection *
add_client (Fixture *f)
{
  GDBusConnection *client = connect_to (f);

  g_dbus_connection_add_filter (client, count_refusals, f, NULL);
  return client;
}

static void
call (Fixture *f, GDBusConnection *client, const char *method, int fd)
{
  g_autoptr (GDBusMessage)
      message = g_dbus_message_new_method_call (g_dbus_connection_get_unique_name (f->service), "/a", "a.b", method);
  g_autoptr (GUnixFDList) list = g_unix_fd_list_new ();

  for (guint i = 0; fd >= 0 && i < 16; i++)
    g_unix_fd_list_append (list, fd, NULL);
  if (fd >= 0)
    g_dbus_message_set_unix_fd_list (message, list);
  g_dbus_connection_send_message (client, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL);
}

/* Not by the main loop: it stands still. */
static void
await_refusals (Fixture *f, int n)
{
  for (guint i = 0; g_atomic_int_get (&f->n_refused) < n; i++)
    {
      g_assert_cmpuint (i, <, 60000);
      g_usleep (1000);
    }
  g_assert_cmpint (g_atomic_int_get (&f->n_refused), ==, n);
}

/* One client may have so many calls waiting, and another one a few then; and again when they have been served. */
static void
test_calls (Fixture *f, gconstpointer data)
{
  g_autoptr (GDBusConnection) client = add_client (f);
  g_autoptr (GDBusConnection) other = add_client (f);

  for (guint i = 0; i < MANY_CALLS; i++)
    call (f, client, "Look", -1);
  await_refusals (f, MANY_CALLS - MAX_OF_ONE);
  for (guint i = 0; i < 10; i++)
    call (f, other, "Look", -1);
  await_refusals (f, MANY_CALLS - MAX_OF_ONE + 10 - 2);
  wait_until (f->n_served == MAX_OF_ONE + 2);
  f->n_refused = 0;
  for (guint i = 0; i < MANY_CALLS; i++)
    call (f, client, "Look", -1);
  await_refusals (f, MANY_CALLS - MAX_OF_ONE);
}

/* Those of the owner all wait for their turn. */
static void
test_trusted (Fixture *f, gconstpointer data)
{
  g_autoptr (GDBusConnection) client = add_client (f);

  dvmd_bus_limit_trust (f->limit, g_dbus_connection_get_unique_name (client));
  for (guint i = 0; i < MANY_CALLS; i++)
    call (f, client, "Look", -1);
  wait_until (f->n_served == MANY_CALLS);
  g_assert_cmpint (g_atomic_int_get (&f->n_refused), ==, 0);
  /* When it has left, that name is nobody's any more. */
  dvmd_bus_limit_forget (f->limit, g_dbus_connection_get_unique_name (client));
  for (guint i = 0; i < MANY_CALLS; i++)
    call (f, client, "Look", -1);
  await_refusals (f, MANY_CALLS - MAX_OF_ONE);
}

/* 64 of them, with calls that take some; with others they are closed. */
static void
test_descriptors (Fixture *f, gconstpointer data)
{
  g_autoptr (GDBusConnection) client = add_client (f);

  for (guint i = 0; i < 8; i++)
    call (f, client, "Look", STDIN_FILENO);
  for (guint i = 0; i < 8; i++)
    call (f, client, "Submit", STDIN_FILENO);
  await_refusals (f, 4);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/bus/limit/calls", Fixture, NULL, setup, test_calls, teardown);
  g_test_add ("/bus/limit/trusted", Fixture, NULL, setup, test_trusted, teardown);
  g_test_add ("/bus/limit/descriptors", Fixture, NULL, setup, test_descriptors, teardown);
  return g_test_run ();
}

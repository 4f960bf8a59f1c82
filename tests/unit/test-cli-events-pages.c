/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A DVM whose sessions are more than one answer holds is followed: a filter of the connection makes its pages short.
 */

#include "config.h"

#include <string.h>

#include "bus-fixture.h"
#include "dvm-cli-events.h"
#include "dvmd-core-sessions.h"
#include "fake-controller.h"
#include "fake-elastic.h"

#define N_SESSIONS 5

typedef struct
{
  BusFixture bus;
  DvmdCore *core;
  BusClient *owner;
  DvmClient *client;
  guint n_pages;
  GPtrArray *told; /* names of sessions */
} Fixture;

/* In the thread that calls, which is the one of the test. */
static GDBusMessage *
shorten_pages (GDBusConnection *connection, GDBusMessage *message, gboolean incoming, gpointer user_data)
{
  Fixture *f = user_data;
  g_autoptr (GVariant) filter = NULL;
  GVariantDict dict;
  GDBusMessage *changed;

  if (incoming || g_strcmp0 (g_dbus_message_get_member (message), "ListSessions") != 0)
    return message;
  f->n_pages++;
  filter = g_variant_get_child_value (g_dbus_message_get_body (message), 0);
  g_variant_dict_init (&dict, filter);
  g_variant_dict_insert (&dict, "limit", "u", 2);
  changed = g_dbus_message_copy (message, NULL);
  g_dbus_message_set_body (changed, g_variant_new ("(@a{sv})", g_variant_dict_end (&dict)));
  g_object_unref (message);
  return changed;
}

static void
reserve (Fixture *f, guint id)
{
  g_autofree char *text = g_strdup_printf ("({'hosts': <['n%u']>, 'req-id': <'mine-%u'>},)", id, id);
  g_autoptr (GVariant) reply = bus_client_check (f->owner, MANAGER_PATH, MANAGER, "Grow", g_variant_new_parsed (text));

  wait_until (dvmd_core_get_session (f->core, id) != NULL);
}

static void
set_up (Fixture *f, gconstpointer data)
{
  DvmdController *controller = fake_controller_new_elastic (4, 10);

  bus_fixture_set_up (&f->bus, controller, NULL);
  f->core = dvmd_controller_get_core (controller);
  f->owner = bus_client_new_private (&f->bus);
  for (guint i = 1; i <= N_SESSIONS; i++)
    reserve (f, i);
  f->client = bus_fixture_connect (&f->bus);
  g_dbus_connection_add_filter (dvm_client_get_dbus_connection (f->client), shorten_pages, f, NULL);
  f->told = g_ptr_array_new_with_free_func (g_free);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  g_ptr_array_unref (f->told);
  g_object_unref (f->client);
  bus_client_free (f->owner);
  bus_fixture_tear_down (&f->bus);
}

static void
on_event (const DvmCliEvent *event, gpointer user_data)
{
  Fixture *f = user_data;

  if (event->kind == DVM_CLI_EVENT_SESSION && event->is_current)
    g_ptr_array_add (f->told, g_strdup (event->name));
}

static void
check_told (Fixture *f, guint id)
{
  const char *name = dvmd_session_get_alloc_id (dvmd_core_get_session (f->core, id));

  g_assert_true (g_ptr_array_find_with_equal_func (f->told, name, g_str_equal, NULL));
}

static void
test_pages (Fixture *f, gconstpointer data)
{
  DvmCliEvents *events = dvm_cli_events_new (f->client, DVM_CLI_EVENT_SESSION | DVM_CLI_EVENT_CAMPAIGN, on_event, f);
  GError *error = NULL;

  g_assert_true (dvm_cli_events_start (events, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (f->n_pages, ==, (N_SESSIONS + 1 + 1) / 2);
  g_assert_cmpuint (f->told->len, ==, N_SESSIONS + 1);
  for (guint i = 1; i <= N_SESSIONS; i++)
    check_told (f, i);
  dvm_cli_events_free (events);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/cli-events/pages", Fixture, NULL, set_up, test_pages, tear_down);
  return g_test_run ();
}

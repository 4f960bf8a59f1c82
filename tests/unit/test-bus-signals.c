/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What goes out by itself: to whom, in which order, and how often.
 */

#include "config.h"

#include "bus-fixture.h"
#include "dvm-records-private.h"
#include "fake-controller.h"

#include <string.h>

typedef struct
{
  BusFixture bus;
  GTestDBus *dbus;
  BusClient *client;
  BusClient *other;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  bus_fixture_set_up (&f->bus, fake_controller_new (4, 10), NULL);
  f->client = bus_client_new_private (&f->bus);
  f->other = bus_client_new_private (&f->bus);
}

static void
on_added (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;

  dvmd_bus_server_add_bus_finish (DVMD_BUS_SERVER (source), result, &error);
  g_assert_no_error (error);
  *(gboolean *)user_data = TRUE;
}

/* The clients are on a session bus. */
static void
set_up_bus (Fixture *f, gconstpointer data)
{
  gboolean added = FALSE;

  bus_fixture_set_up (&f->bus, fake_controller_new (4, 10), NULL);
  f->dbus = g_test_dbus_new (G_TEST_DBUS_NONE);
  g_test_dbus_up (f->dbus);
  dvmd_bus_server_add_bus_async (f->bus.server, G_BUS_TYPE_SESSION, NULL, on_added, &added);
  wait_until (added);
  f->client = bus_client_new_on_bus (g_test_dbus_get_bus_address (f->dbus), MANAGER);
  f->other = bus_client_new_on_bus (g_test_dbus_get_bus_address (f->dbus), MANAGER);
  bus_client_sync (f->client);
  bus_client_sync (f->other);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  if (f->other != NULL)
    bus_client_free (f->other);
  bus_client_free (f->client);
  bus_fixture_tear_down (&f->bus);
  if (f->dbus != NULL)
    g_test_dbus_down (f->dbus);
  g_clear_object (&f->dbus);
}

static void
finish (BusClient *client, const char *path)
{
  g_autoptr (GVariant) result = bus_client_check (client, path, JOB, "Wait", g_variant_new_parsed ("(@a{sv} {},)"));
}

static void
subscribe (BusClient *client)
{
  g_autoptr (GVariant) reply = bus_client_check (client, MANAGER_PATH, MANAGER, "Subscribe", NULL);
}

static DvmdJob *
job_at (Fixture *f, const char *path)
{
  return dvmd_core_get_job (dvmd_controller_get_core (f->bus.controller), strtoul (strrchr (path, '/') + 1, NULL, 10));
}

static void
wait_running (Fixture *f, const char *path)
{
  wait_until (dvmd_job_get_state (job_at (f, path)) == DVM_JOB_STATE_RUNNING);
}

/* The connection that created a job gets its signals; another one nothing at all. */
static void
test_owner (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "true", "{'np': <uint32 2>}");

  finish (f->client, job);
  bus_client_sync (f->client);
  bus_client_sync (f->other);
  g_assert_cmpuint (f->other->signals->len, ==, 0);
  g_assert_cmpuint (bus_client_count (f->client, "/org/dvm org.freedesktop.DBus.ObjectManager.InterfacesAdded *"), ==,
                    1);
  g_assert_cmpuint (bus_client_count (f->client, "/org/dvm org.freedesktop.DBus.ObjectManager.InterfacesRemoved *"), ==,
                    1);
  g_assert_cmpuint (bus_client_count (f->client, "/org/dvm/jobs/1 org.dvm.Job.StateChanged (34, 35, *"), ==, 1);
  g_assert_cmpuint (bus_client_count (f->client, "/org/dvm/jobs/1 org.dvm.Job.ProcStateChanged *"), >=, 1);
  g_assert_cmpuint (bus_client_count (f->client, "/org/dvm/Manager *"), ==, 0);
  g_assert_cmpuint (bus_client_count (f->client, "/org/dvm/sessions/*"), ==, 0);
}

/* The client of the library waits for the end and wants to hear of nothing else. */
static void
test_quiet (Fixture *f, gconstpointer data)
{
  g_autofree char *quiet = bus_client_submit (f->client, "hold", "{'np': <uint32 1>, 'signals': <false>}");
  g_autofree char *loud = bus_client_submit (f->client, "true", "{'np': <uint32 1>, 'signals': <true>}");

  finish (f->client, loud);
  wait_running (f, quiet);
  /* Somebody else listens for a while. */
  subscribe (f->other);
  bus_client_sync (f->client);
  g_assert_cmpuint (bus_client_count (f->client, "/org/dvm/jobs/1 *"), ==, 0);
  g_assert_cmpuint (bus_client_count (f->client, "/org/dvm/jobs/2 *"), >, 0);
  fake_controller_end_job (f->bus.controller, job_at (f, quiet), 0);
  finish (f->client, quiet);
  bus_client_sync (f->client);
  g_assert_cmpuint (bus_client_count (f->client, "*'/org/dvm/jobs/1'*"), ==, 0);
  g_assert_cmpuint (bus_client_count (f->client, "/org/dvm/jobs/1 *"), ==, 0);
  bus_client_wait_for (f->other, "/org/dvm/jobs/1 org.dvm.Job.StateChanged (34, 35, *");
}

/* Every state in its order, whatever the turns of the main loop were. */
static void
test_all_states (Fixture *f, gconstpointer data)
{
  static const guint states[] = { 1, 2, 3, 4, 8, 10, 11, 5, 6, 7, 12, 13, 20, 18, 14, 31, 34, 35 };
  g_autofree char *job = bus_client_submit (f->client, "true", "{'np': <uint32 1>}");
  int at = -1;

  finish (f->client, job);
  bus_client_sync (f->client);
  for (guint i = 0; i < G_N_ELEMENTS (states); i++)
    {
      g_autofree char *pattern = g_strdup_printf ("* org.dvm.Job.StateChanged (*, %u, *", states[i]);
      int next = bus_client_find (f->client, pattern, at + 1);

      g_assert_cmpint (next, >, at);
      at = next;
    }
}

/* New values before the signal that tells of them, the last ones before the object leaves, Wait after all that. */
static void
test_order (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", "{'np': <uint32 2>}");
  int properties;
  int state;
  int added;
  int removed;

  wait_running (f, job);
  bus_client_wait_for (f->client, "* org.dvm.Job.StateChanged (18, 14, *");
  added = bus_client_find (f->client, "* *.InterfacesAdded *", 0);
  g_assert_cmpint (added, ==, 0);
  g_ptr_array_set_size (f->client->signals, 0);
  fake_controller_end_job (f->bus.controller, job_at (f, job), 0);
  finish (f->client, job);
  properties = bus_client_find (f->client, "* *.PropertiesChanged *'State': <35>*", 0);
  if (properties < 0)
    properties = bus_client_find (f->client, "* *.PropertiesChanged *'State': <uint32 35>*", 0);
  state = bus_client_find (f->client, "* org.dvm.Job.StateChanged (34, 35, *", 0);
  removed = bus_client_find (f->client, "* *.InterfacesRemoved ('/org/dvm/jobs/1', ['org.dvm.Job'])", 0);
  g_assert_cmpint (properties, >=, 0);
  g_assert_cmpint (state, >, properties);
  g_assert_cmpint (removed, >, state);
  g_assert_cmpint (bus_client_find (f->client, "* *.PropertiesChanged *'NumTerminated': <uint32 2>*", 0), >=, 0);
  g_assert_cmpint (bus_client_find (f->client, "* *.PropertiesChanged *'Ended': <true>*", 0), >=, 0);
  g_assert_cmpint (removed, ==, f->client->signals->len - 1);
}

static void
test_subscribed (Fixture *f, gconstpointer data)
{
  g_autofree char *job = NULL;
  g_autoptr (GVariant) reply = NULL;
  g_autofree char *second = NULL;

  subscribe (f->other);
  job = bus_client_submit (f->client, "true", NULL);
  finish (f->client, job);
  bus_client_wait_for (f->other, "/org/dvm/Manager org.dvm.Manager.JobsChanged *'/org/dvm/jobs/1', 34, 35,*");
  bus_client_wait_for (f->other, "/org/dvm/jobs/1 org.dvm.Job.StateChanged (34, 35, *");
  bus_client_wait_for (f->other, "* *.InterfacesRemoved *");
  g_assert_cmpuint (bus_client_count (f->client, "* org.dvm.Manager.JobsChanged *"), ==, 0);

  reply = bus_client_check (f->other, MANAGER_PATH, MANAGER, "Unsubscribe", NULL);
  bus_client_sync (f->other);
  g_ptr_array_set_size (f->other->signals, 0);
  second = bus_client_submit (f->client, "true", NULL);
  finish (f->client, second);
  bus_client_sync (f->other);
  g_assert_cmpuint (f->other->signals->len, ==, 0);
}

/* A client that has asked for all objects hears of what follows. */
static void
test_managed_objects (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", NULL);
  g_autoptr (GVariant) reply = NULL;
  g_autoptr (GVariant) objects = NULL;
  g_autoptr (GVariant) interfaces = NULL;
  g_autoptr (GVariant) later = NULL;

  wait_running (f, job);
  reply = bus_client_check (f->other, "/org/dvm", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL);
  objects = g_variant_get_child_value (reply, 0);
  g_assert_cmpuint (g_variant_n_children (objects), ==, 3);
  g_assert_true (g_variant_lookup (objects, "/org/dvm/jobs/1", "@a{sa{sv}}", &interfaces));
  g_assert_cmpuint (f->other->signals->len, ==, 0);
  fake_controller_end_job (f->bus.controller, job_at (f, job), 0);
  bus_client_wait_for (f->other, "* *.InterfacesRemoved ('/org/dvm/jobs/1'*");
  bus_client_wait_for (f->other, "/org/dvm/Manager *.PropertiesChanged *JobsRunning*");
  bus_client_wait_for (f->other, "/org/dvm/sessions/0 *.PropertiesChanged *'Jobs': <@ao []>*");
  later = bus_client_check (f->client, "/org/dvm", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL);
  g_clear_pointer (&objects, g_variant_unref);
  objects = g_variant_get_child_value (later, 0);
  g_assert_cmpuint (g_variant_n_children (objects), ==, 2);
}

/* The news that one connection has read, in the thread that reads it */
typedef struct
{
  guint32 serial; /* of the list */
  guint state;    /* of job 1, as signals have told it */
  guint told;     /* that before the list */
  guint listed;   /* and in it; 0: it has not come */
} Heard;

static guint
read_listed (GDBusMessage *message)
{
  GVariant *body = g_dbus_message_get_body (message);
  g_autoptr (GVariant) rows = g_variant_get_child_value (body, 0);
  g_autoptr (GVariant) row = g_variant_get_child_value (rows, 0);
  guint state = 0;

  g_assert_true (g_variant_lookup (row, "State", "u", &state));
  return state;
}

static GDBusMessage *
hear (GDBusConnection *connection, GDBusMessage *message, gboolean incoming, gpointer user_data)
{
  Heard *heard = user_data;

  if (incoming && g_strcmp0 (g_dbus_message_get_member (message), "StateChanged") == 0)
    g_variant_get (g_dbus_message_get_body (message), "(uus)", NULL, &heard->state, NULL);
  else if (incoming && g_dbus_message_get_reply_serial (message) == heard->serial)
    {
      heard->told = heard->state;
      g_atomic_int_set (&heard->listed, read_listed (message));
    }
  return message;
}

static void
ask_list (BusClient *client, Heard *heard)
{
  g_autoptr (GDBusMessage) message = g_dbus_message_new_method_call (NULL, MANAGER_PATH, MANAGER, "ListJobs");

  g_dbus_message_set_body (message, g_variant_new_parsed ("({'ids': <'1'>, 'columns': <['State']>},)"));
  g_atomic_int_set (&heard->listed, 0);
  g_dbus_message_set_serial (message, heard->serial);
  g_dbus_connection_send_message (client->connection, message, G_DBUS_SEND_MESSAGE_FLAGS_PRESERVE_SERIAL, NULL, NULL);
}

static void
change_state (Fixture *f, const char *path, DvmJobState state)
{
  DvmdJob *job = job_at (f, path);
  DvmJobState before = dvmd_job_get_state (job);

  _dvm_job_set_state (dvmd_job_get_record (job), state, NULL);
  g_signal_emit_by_name (dvmd_controller_get_core (f->bus.controller), "job-state-changed", job, before, state);
}

/* A list has nothing that is told behind it, however soon it comes after a change. */
static void
test_lists (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", NULL);
  Heard heard = { .serial = 100000 };
  guint filter = g_dbus_connection_add_filter (f->other->connection, hear, &heard, NULL);

  subscribe (f->other);
  wait_running (f, job);
  bus_client_sync (f->other);
  for (guint i = 0; i < 20; i++)
    {
      change_state (f, job, i % 2 == 0 ? DVM_JOB_STATE_REGISTERED : DVM_JOB_STATE_RUNNING);
      ask_list (f->other, &heard);
      wait_until (g_atomic_int_get (&heard.listed) != 0);
      g_assert_cmpuint (heard.told, ==, heard.listed);
    }
  g_dbus_connection_remove_filter (f->other->connection, filter);
}

/* A thousand processes that register one after another: counters ten times a second, the last value always. */
static void
test_counters (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", "{'np': <uint32 4>}");
  DvmJob *record;
  gint64 start = g_get_monotonic_time ();
  guint most;

  wait_running (f, job);
  bus_client_sync (f->client);
  g_ptr_array_set_size (f->client->signals, 0);
  record = dvmd_job_get_record (job_at (f, job));
  for (guint i = 1; i <= 1000; i++)
    {
      _dvm_job_set_counts (record, 4, i, 0);
      g_main_context_iteration (NULL, FALSE);
    }
  bus_client_wait_for (f->client, "* *.PropertiesChanged *'NumRegistered': <uint32 1000>*");
  most = (g_get_monotonic_time () - start) / 100000 + 2;
  g_assert_cmpuint (bus_client_count (f->client, "* *.PropertiesChanged *NumRegistered*"), <=, most);
}

/* ---- on a bus ---- */

static void
test_bus (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "true", NULL);
  g_autoptr (GVariant) submitter = NULL;
  g_autofree char *second = NULL;

  finish (f->client, job);
  submitter = bus_client_get (f->client, job, JOB, "Submitter");
  g_assert_cmpstr (g_variant_get_string (submitter, NULL), ==,
                   g_dbus_connection_get_unique_name (f->client->connection));
  bus_client_wait_for (f->other, "* *.InterfacesAdded *");
  bus_client_wait_for (f->other, "* *.InterfacesRemoved *");
  g_assert_cmpuint (bus_client_count (f->other, "*StateChanged*"), ==, 0);
  g_assert_cmpuint (bus_client_count (f->client, "*StateChanged*"), ==, 0);
  g_assert_cmpuint (bus_client_count (f->other, "*JobsChanged*"), ==, 0);

  subscribe (f->other);
  second = bus_client_submit (f->client, "true", NULL);
  finish (f->client, second);
  bus_client_wait_for (f->other, "* org.dvm.Manager.JobsChanged *'/org/dvm/jobs/2', 34, 35,*");
  bus_client_wait_for (f->other, "/org/dvm/jobs/2 org.dvm.Job.StateChanged (34, 35, *");
}

/* A subscription ends with the one who has it. */
static void
test_bus_leave (Fixture *f, gconstpointer data)
{
  g_autofree char *job = NULL;
  gint64 limit = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;

  subscribe (f->other);
  subscribe (f->other);
  g_clear_pointer (&f->other, bus_client_free);
  for (;;)
    {
      g_autofree char *next = NULL;

      bus_client_sync (f->client);
      g_ptr_array_set_size (f->client->signals, 0);
      next = bus_client_submit (f->client, "true", NULL);
      finish (f->client, next);
      bus_client_sync (f->client);
      if (bus_client_count (f->client, "*JobsChanged*") == 0)
        break;
      g_assert_cmpint (g_get_monotonic_time (), <, limit);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/bus/signals/owner", Fixture, NULL, set_up, test_owner, tear_down);
  g_test_add ("/bus/signals/quiet", Fixture, NULL, set_up, test_quiet, tear_down);
  g_test_add ("/bus/signals/all-states", Fixture, NULL, set_up, test_all_states, tear_down);
  g_test_add ("/bus/signals/order", Fixture, NULL, set_up, test_order, tear_down);
  g_test_add ("/bus/signals/subscribed", Fixture, NULL, set_up, test_subscribed, tear_down);
  g_test_add ("/bus/signals/managed-objects", Fixture, NULL, set_up, test_managed_objects, tear_down);
  g_test_add ("/bus/signals/lists", Fixture, NULL, set_up, test_lists, tear_down);
  g_test_add ("/bus/signals/counters", Fixture, NULL, set_up, test_counters, tear_down);
  g_test_add ("/bus/signals/on-a-bus", Fixture, NULL, set_up_bus, test_bus, tear_down);
  g_test_add ("/bus/signals/leave-a-bus", Fixture, NULL, set_up_bus, test_bus_leave, tear_down);
  return g_test_run ();
}

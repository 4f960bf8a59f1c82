/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sessions on the bus: what the methods ask for, and the warning that goes to whoever asked last.
 */

#include "config.h"

#include "bus-fixture.h"
#include "dvmd-bus-log.h"
#include "dvmd-core-sessions.h"
#include "fake-elastic.h"

#include <string.h>

#define SESSION "org.dvm.Session"
#define FIRST   "/org/dvm/sessions/1"
#define USUAL   "/org/dvm/sessions/0"
#define WARNING MANAGER_PATH " " MANAGER ".AllocTimeoutWarning "

typedef struct
{
  BusFixture bus;
  GTestDBus *dbus;
  BusClient *client; /* has made a session with n9 */
  BusClient *other;
  DvmdCore *core;
  FakeElastic *agents;
  DvmdSession *session; /* unowned */
} Fixture;

static void
reserve (Fixture *f)
{
  g_autoptr (GVariant) reply = bus_client_check (f->client, MANAGER_PATH, MANAGER, "Grow",
                                                 g_variant_new_parsed ("({'hosts': <['n9']>, 'req-id': <'mine'>},)"));

  bus_client_wait_for (f->client, "*.DvmIsReady *");
  f->session = dvmd_core_get_session (f->core, 1);
  g_assert_nonnull (f->session);
}

static void
set_up_controller (Fixture *f)
{
  DvmdController *controller = fake_controller_new_elastic (4, 10);

  bus_fixture_set_up (&f->bus, controller, NULL);
  f->core = dvmd_controller_get_core (controller);
  f->agents = fake_controller_get_elastic (controller);
}

static void
set_up (Fixture *f, gconstpointer data)
{
  set_up_controller (f);
  f->client = bus_client_new_private (&f->bus);
  f->other = bus_client_new_private (&f->bus);
  reserve (f);
}

static void
on_added (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;

  dvmd_bus_server_add_bus_finish (DVMD_BUS_SERVER (source), result, &error);
  g_assert_no_error (error);
  *(gboolean *)user_data = TRUE;
}

static void
set_up_bus (Fixture *f, gconstpointer data)
{
  gboolean added = FALSE;

  set_up_controller (f);
  f->dbus = g_test_dbus_new (G_TEST_DBUS_NONE);
  g_test_dbus_up (f->dbus);
  dvmd_bus_server_add_bus_async (f->bus.server, G_BUS_TYPE_SESSION, NULL, on_added, &added);
  wait_until (added);
  f->client = bus_client_new_on_bus (g_test_dbus_get_bus_address (f->dbus), MANAGER);
  f->other = bus_client_new_on_bus (g_test_dbus_get_bus_address (f->dbus), MANAGER);
  bus_client_sync (f->client);
  bus_client_sync (f->other);
  reserve (f);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  bus_client_free (f->other);
  if (f->client != NULL)
    bus_client_free (f->client);
  bus_fixture_tear_down (&f->bus);
  if (f->dbus != NULL)
    g_test_dbus_down (f->dbus);
  g_clear_object (&f->dbus);
}

/* ---- what is asked for ---- */

/* The call is answered with what is expected, and has asked for this. */
static void
check_call (Fixture *f, const char *path, const char *interface, const char *method, const char *parameters,
            const char *answer, const char *asked)
{
  g_autoptr (GVariant) reply = bus_client_check (f->client, path, interface, method, g_variant_new_parsed (parameters));
  g_autofree char *text = g_variant_print (reply, FALSE);

  g_assert_cmpstr (text, ==, answer);
  g_assert_cmpstr (fake_elastic_get_last_control (f->agents), ==, asked);
}

static void
test_methods (Fixture *f, gconstpointer data)
{
  check_call (f, FIRST, SESSION, "Pause", "(@a{sv} {},)", "()", "private:1 1 {'pause': <true>}");
  check_call (f, FIRST, SESSION, "Resume", "(@a{sv} {},)", "()", "private:1 1 {'resume': <true>}");
  check_call (f, FIRST, SESSION, "Terminate", "(@a{sv} {},)", "()", "private:1 1 {'terminate': <true>}");
  check_call (f, FIRST, SESSION, "Signal", "(10, @a{sv} {})", "()", "private:1 1 {'signal': <10>}");
  check_call (f, FIRST, SESSION, "Signal", "(-3, {'nspace': <'a@1'>})", "()",
              "private:1 1 {'signal': <-3>, 'nspace': <'a@1'>}");
  check_call (f, MANAGER_PATH, MANAGER, "ControlSession", "(uint32 1, {'separate': <false>, 'colour': <1>})",
              "({'session': <objectpath '/org/dvm/sessions/1'>, 'campaign': <objectpath '/'>},)",
              "private:1 1 {'separate': <false>, 'colour': <1>}");
  check_call (f, MANAGER_PATH, MANAGER, "ControlSession", "(uint32 4294967295, {'pause': <true>})",
              "({'sessions': <[objectpath '/org/dvm/sessions/1', '/org/dvm/sessions/2']>, "
              "'campaign': <objectpath '/'>},)",
              "private:1 4294967295 {'pause': <true>}");
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "ControlSession",
                      g_variant_new_parsed ("(uint32 1, @a{sv} {})"), "org.dvm.Error.BadParam", "operation");
}

static void
test_refused (Fixture *f, gconstpointer data)
{
  static const char *const methods[] = { "Pause", "Resume", "Terminate" };
  static const char *const selectors[] = { "{'alloc-id': <'x'>}", "{'of-req-id': <'x'>}", "{'session': <uint32 1>}" };

  for (gsize i = 0; i < G_N_ELEMENTS (methods); i++)
    {
      bus_client_refused (f->client, FIRST, SESSION, methods[i], g_variant_new_parsed ("({'colour': <1>},)"),
                          "org.dvm.Error.BadParam", "colour");
      bus_client_refused (f->client, "/org/dvm/sessions/7", SESSION, methods[i], g_variant_new_parsed ("(@a{sv} {},)"),
                          "org.dvm.Error.NotFound", "7");
    }
  bus_client_refused (f->client, FIRST, SESSION, "Signal", g_variant_new_parsed ("(9, {'nspace': <3>})"),
                      "org.dvm.Error.BadParam", "nspace");
  for (gsize i = 0; i < G_N_ELEMENTS (selectors); i++)
    bus_client_refused (f->client, FIRST, SESSION, "Extend",
                        g_variant_new ("(@a{sv})", g_variant_new_parsed (selectors[i])), "org.dvm.Error.BadParam",
                        "called");
  bus_client_refused (f->client, USUAL, SESSION, "Extend", g_variant_new_parsed ("({'hosts': <['n1']>},)"),
                      "org.dvm.Error.NotSupported", "default session");
  bus_client_refused (f->client, USUAL, SESSION, "Release", g_variant_new_parsed ("(@a{sv} {},)"),
                      "org.dvm.Error.NotSupported", "default session");
  g_assert_null (fake_elastic_get_last_control (f->agents));
}

static void
extend (BusClient *client, const char *host)
{
  g_autofree char *request = g_strdup_printf ("({'hosts': <['%s']>},)", host);
  g_autoptr (GVariant) reply = bus_client_check (client, FIRST, SESSION, "Extend", g_variant_new_parsed (request));
  const char *path;

  g_variant_get (reply, "(&o)", &path);
  g_assert_cmpstr (path, !=, "/");
}

static void
test_extend (Fixture *f, gconstpointer data)
{
  g_autoptr (GVariant) nodes = NULL;
  g_autofree char *text = NULL;

  extend (f->other, "n10");
  bus_client_wait_for (f->other, "*.DvmIsReady *");
  nodes = bus_client_get (f->other, FIRST, SESSION, "Nodes");
  text = g_variant_print (nodes, FALSE);
  g_assert_cmpstr (text, ==, "['n9', 'n10']");
}

/* ---- the warning ---- */

static guint
count_warnings (BusClient *client)
{
  bus_client_sync (client);
  return bus_client_count (client, WARNING "*");
}

static void
test_warning (Fixture *f, gconstpointer data)
{
  g_autofree char *expected = g_strdup_printf (WARNING "('%s', 'mine', 17)", dvmd_session_get_alloc_id (f->session));

  dvmd_core_warn_session (f->core, f->session, 17);
  bus_client_wait_for (f->client, expected);
  g_assert_cmpuint (count_warnings (f->client), ==, 1);
  g_assert_cmpuint (count_warnings (f->other), ==, 0);
  /* It changes nothing (R70). */
  g_assert_cmpuint (bus_client_count (f->client, "*'terminating'*"), ==, 0);
  dvmd_core_warn_session (f->core, f->session, 3);
  bus_client_wait_for (f->client, WARNING "*, 3)");
}

/* RP7: whoever extends it is the one who is warned. */
static void
test_warning_after_extend (Fixture *f, gconstpointer data)
{
  extend (f->other, "n10");
  dvmd_core_warn_session (f->core, f->session, 17);
  bus_client_wait_for (f->other, WARNING "*");
  g_assert_cmpuint (count_warnings (f->client), ==, 0);
}

static void
on_reply (GObject *source, GAsyncResult *result, gpointer user_data)
{
  BusClient *client = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);

  g_assert_no_error (error);
  g_ptr_array_add (client->signals, g_strdup ("reply"));
}

static void
call (BusClient *client, const char *method, const char *parameters)
{
  g_dbus_connection_call (client->connection, client->destination, MANAGER_PATH, MANAGER, method,
                          g_variant_new_parsed (parameters), NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, on_reply, client);
}

static void
check_warned_after_reply (Fixture *f, BusClient *client)
{
  g_assert_cmpuint (count_warnings (client), ==, 0);
  fake_elastic_hold_answers (f->agents, FALSE);
  bus_client_wait_for (client, WARNING "*");
  g_assert_cmpint (bus_client_find (client, "reply", 0), <, bus_client_find (client, WARNING "*", 0));
  g_assert_cmpuint (count_warnings (client), ==, 1);
}

/* Its time is soon over before the request that has made it is answered. */
static void
test_reply_first (Fixture *f, gconstpointer data)
{
  DvmdSession *session;

  fake_elastic_hold_answers (f->agents, TRUE);
  call (f->other, "Allocate", "('new', {'hosts': <['n10']>})");
  wait_until ((session = dvmd_core_get_session (f->core, 2)) != NULL);
  dvmd_core_warn_session (f->core, session, 17);
  check_warned_after_reply (f, f->other);
}

static DvmdCampaign *
wait_campaign (Fixture *f, guint id)
{
  DvmdCampaign *campaign;

  wait_until ((campaign = dvmd_core_get_campaign (f->core, id)) != NULL);
  return campaign;
}

/* The same of one that extends it, whoever has it. */
static void
test_reply_first_of_extend (Fixture *f, gconstpointer data)
{
  BusClient *client = data != NULL ? f->other : f->client;

  fake_elastic_hold_answers (f->agents, TRUE);
  call (client, "Allocate", "('extend', {'hosts': <['n10']>, 'of-req-id': <'mine'>})");
  wait_campaign (f, 2);
  dvmd_core_warn_session (f->core, f->session, 17);
  check_warned_after_reply (f, client);
}

/* A request that ends in an error lets the warning go to whoever has it still. */
static void
test_extend_fails (Fixture *f, gconstpointer data)
{
  bus_client_refused (f->other, FIRST, SESSION, "Extend", g_variant_new_parsed ("(@a{sv} {},)"),
                      "org.dvm.Error.BadParam", NULL);
  dvmd_core_warn_session (f->core, f->session, 17);
  bus_client_wait_for (f->client, WARNING "*");
  g_assert_cmpuint (count_warnings (f->other), ==, 0);
}

/* R67, D13: nobody gets it in the place of one that has gone. */
static void
test_gone (Fixture *f, gconstpointer data)
{
  g_autoptr (GVariant) reply = bus_client_check (f->other, MANAGER_PATH, MANAGER, "Subscribe", NULL);
  BusClient *gone = g_steal_pointer (&f->client);

  bus_client_free (gone);
  bus_client_sync (f->other);
  dvmd_core_warn_session (f->core, f->session, 17);
  g_assert_cmpuint (count_warnings (f->other), ==, 0);
  /* It can still be extended by the same user, who is warned then. */
  extend (f->other, "n10");
  dvmd_core_warn_session (f->core, f->session, 17);
  bus_client_wait_for (f->other, WARNING "*");
}

/* One that has ended in the same turn is not spoken of any more. */
static void
test_ended (Fixture *f, gconstpointer data)
{
  const DvmdShrinkRequest request = { .session = 1, .scheduler = TRUE };
  g_auto (DvmdSizeAnswer) answer = { NULL };
  g_autoptr (GError) error = NULL;

  dvmd_core_warn_session (f->core, f->session, 17);
  g_assert_true (dvmd_core_shrink (f->core, &request, &answer, &error));
  g_assert_no_error (error);
  bus_client_wait_for (f->client, "*InterfacesRemoved*sessions/1*");
  g_assert_cmpuint (count_warnings (f->client), <=, 1);
}

/* The new time is told before the warning that follows from it. */
static void
test_values_first (Fixture *f, gconstpointer data)
{
  const DvmdGrowRequest request = {
    .scheduler = TRUE,
    .extend = TRUE,
    .session = dvmd_session_get_id (f->session),
    .limit = { .time = 1000, .warn_timeout = 1000 },
  };
  g_auto (DvmdSizeAnswer) answer = { 0 };
  int values;

  g_assert_true (dvmd_core_grow (f->core, &request, &answer, NULL));
  bus_client_wait_for (f->client, WARNING "*");
  values = bus_client_find (f->client, FIRST " *PropertiesChanged *'ExpiresAt'*", 0);
  g_assert_cmpint (values, >=, 0);
  g_assert_cmpint (values, <, bus_client_find (f->client, WARNING "*", 0));
}

/* A name that was used before is that of the new session, also while the old one is still leaving. */
static void
test_name_again (Fixture *f, gconstpointer data)
{
  static const char *const calls[] = { "('release', {'of-req-id': <'mine'>})",
                                       "('new', {'hosts': <['here']>, 'req-id': <'mine'>})" };
  g_autoptr (GVariant) found = NULL;
  const char *path;

  fake_elastic_hold (f->agents, TRUE);
  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++)
    g_variant_unref (bus_client_check (f->client, MANAGER_PATH, MANAGER, "Allocate", g_variant_new_parsed (calls[i])));
  g_assert_true (dvmd_session_is_ending (f->session));
  found = bus_client_check (f->client, MANAGER_PATH, MANAGER, "FindSession", g_variant_new ("(s)", "mine"));
  g_variant_get (found, "(&o)", &path);
  g_assert_cmpstr (path, ==, "/org/dvm/sessions/2");
  fake_elastic_hold (f->agents, FALSE);
}

/* A client that does not listen for long costs nothing for sessions that came and went meanwhile. */
static void
test_come_and_gone (Fixture *f, gconstpointer data)
{
  g_autoptr (DvmdBusLog) backlog = dvmd_bus_log_new ();

  for (guint id = 1; id <= 100; id++)
    {
      g_autoptr (DvmdBusLog) log = dvmd_bus_log_new ();
      DvmdBusChange *change = dvmd_bus_log_get (log, DVMD_BUS_SESSION, id);

      change->added = id > 1;
      dvmd_bus_log_merge (backlog, change, TRUE);
      change->added = FALSE;
      dvmd_bus_change_add_state (change, DVM_SESSION_STATE_ACTIVE, DVM_SESSION_STATE_ENDED, "It was released");
      change->ended = TRUE;
      dvmd_bus_log_merge (backlog, change, TRUE);
    }
  /* The first one was known before, and that it has gone is news. */
  g_assert_cmpuint (dvmd_bus_log_count (backlog, DVMD_BUS_LOG_OTHERS), ==, 1);
}

#define add(name, set_up, data, test) g_test_add ("/bus-sessions/" name, Fixture, data, set_up, test, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  add ("methods", set_up, NULL, test_methods);
  add ("refused", set_up, NULL, test_refused);
  add ("extend", set_up, NULL, test_extend);
  add ("warning", set_up, NULL, test_warning);
  add ("warning-on-bus", set_up_bus, NULL, test_warning);
  add ("warning-after-extend", set_up, NULL, test_warning_after_extend);
  add ("warning-after-extend-on-bus", set_up_bus, NULL, test_warning_after_extend);
  add ("reply-first", set_up, NULL, test_reply_first);
  add ("reply-first-on-bus", set_up_bus, NULL, test_reply_first);
  add ("reply-first-of-extend", set_up, NULL, test_reply_first_of_extend);
  add ("reply-first-of-other", set_up, "other", test_reply_first_of_extend);
  add ("extend-fails", set_up, NULL, test_extend_fails);
  add ("gone", set_up, NULL, test_gone);
  add ("gone-on-bus", set_up_bus, NULL, test_gone);
  add ("ended", set_up, NULL, test_ended);
  add ("values-first", set_up, NULL, test_values_first);
  add ("name-again", set_up, NULL, test_name_again);
  add ("lagging-come-and-gone", set_up, NULL, test_come_and_gone);

  return g_test_run ();
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Changes of the size on the bus: campaigns and sessions as objects, who is told of the end, when, and how often.
 */

#include "config.h"

#include "bus-fixture.h"
#include "dvmd-core-elastic.h"
#include "fake-elastic.h"

#include <string.h>

#define CAMPAIGN "org.dvm.Campaign"
#define SESSION  "org.dvm.Session"

typedef struct
{
  BusFixture bus;
  GTestDBus *dbus;
  BusClient *client;
  BusClient *other;
  DvmdCore *core;
  FakeElastic *agents;
} Fixture;

static void
on_added (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;

  dvmd_bus_server_add_bus_finish (DVMD_BUS_SERVER (source), result, &error);
  g_assert_no_error (error);
  *(gboolean *)user_data = TRUE;
}

static void
set_up_controller (Fixture *f, DvmdController *controller)
{
  bus_fixture_set_up (&f->bus, controller, NULL);
  f->core = dvmd_controller_get_core (controller);
  f->agents = fake_controller_get_elastic (controller);
}

static void
set_up (Fixture *f, gconstpointer data)
{
  set_up_controller (f, fake_controller_new_elastic (4, 10));
  f->client = bus_client_new_private (&f->bus);
  f->other = bus_client_new_private (&f->bus);
}

static void
set_up_bus (Fixture *f, gconstpointer data)
{
  gboolean added = FALSE;

  set_up_controller (f, fake_controller_new_elastic (4, 10));
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
set_up_rigid (Fixture *f, gconstpointer data)
{
  set_up_controller (f, fake_controller_new (4, 10));
  f->client = bus_client_new_private (&f->bus);
}

/* The history is short. */
static void
set_up_forgetful (Fixture *f, gconstpointer data)
{
  set_up_controller (f, fake_controller_new_elastic (4, 1));
  f->client = bus_client_new_private (&f->bus);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  if (f->other != NULL)
    bus_client_free (f->other);
  if (f->client != NULL)
    bus_client_free (f->client);
  bus_fixture_tear_down (&f->bus);
  if (f->dbus != NULL)
    g_test_dbus_down (f->dbus);
  g_clear_object (&f->dbus);
}

static void
subscribe (BusClient *client)
{
  g_autoptr (GVariant) reply = bus_client_check (client, MANAGER_PATH, MANAGER, "Subscribe", NULL);
}

/* (transfer full): the path of the campaign; request in the text form of GVariant */
static char *
ask (BusClient *client, const char *method, const char *request, char **alloc_id)
{
  g_autoptr (GVariant) reply = bus_client_check (client, MANAGER_PATH, MANAGER, method,
                                                 g_variant_new ("(@a{sv})", g_variant_new_parsed (request)));
  char *path;

  g_variant_get (reply, "(so)", alloc_id, &path);
  if (alloc_id != NULL)
    g_assert_cmpstr (*alloc_id, !=, "");
  return path;
}

static char *
grow (BusClient *client, const char *request)
{
  g_autofree char *alloc_id = NULL;

  return ask (client, "Grow", request, &alloc_id);
}

/* (transfer full): the state that it ended in */
static char *
wait_end (BusClient *client, const char *campaign)
{
  g_autoptr (GVariant)
      reply = bus_client_check (client, campaign, CAMPAIGN, "Wait", g_variant_new_parsed ("(@a{sv} {},)"));
  g_autoptr (GVariant) result = g_variant_get_child_value (reply, 0);
  char *state = NULL;

  g_assert_true (g_variant_lookup (result, "state", "s", &state));
  return state;
}

static void
check_end (BusClient *client, const char *campaign, const char *expected)
{
  g_autofree char *state = wait_end (client, campaign);

  g_assert_cmpstr (state, ==, expected);
}

static guint
get_uint (BusClient *client, const char *path, const char *interface, const char *property)
{
  g_autoptr (GVariant) value = bus_client_get (client, path, interface, property);

  return g_variant_get_uint32 (value);
}

static char *
get_text (BusClient *client, const char *path, const char *interface, const char *property)
{
  g_autoptr (GVariant) value = bus_client_get (client, path, interface, property);

  return g_variant_print (value, FALSE);
}

#define check_text(client, path, interface, property, expected)                                                        \
  do                                                                                                                   \
    {                                                                                                                  \
      g_autofree char *check_value = get_text (client, path, interface, property);                                     \
      g_assert_cmpstr (check_value, ==, expected);                                                                     \
    }                                                                                                                  \
  while (0)

/* ---- without elastic mode ---- */

static void
test_not_elastic (Fixture *f, gconstpointer data)
{
  check_text (f->client, MANAGER_PATH, MANAGER, "ElasticMode", "false");
  g_assert_cmpuint (get_uint (f->client, MANAGER_PATH, MANAGER, "LaunchFence"), ==, 0);
  g_assert_cmpuint (get_uint (f->client, MANAGER_PATH, MANAGER, "CampaignsRunning"), ==, 0);
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "Grow", g_variant_new_parsed ("({'hosts': <['n9']>},)"),
                      "org.dvm.Error.NotElastic", "elastic");
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "Shrink", g_variant_new_parsed ("({'hosts': <['here']>},)"),
                      "org.dvm.Error.NotElastic", "elastic");
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "Allocate",
                      g_variant_new_parsed ("('new', {'hosts': <['n9']>})"), "org.dvm.Error.NotElastic",
                      "n9 is not in the DVM");
  bus_client_refused (f->client, "/org/dvm/sessions/0", SESSION, "Release", g_variant_new_parsed ("(@a{sv} {},)"),
                      "org.dvm.Error.NotSupported", "default session");
}

/* ---- campaigns as objects ---- */

static void
test_grow (Fixture *f, gconstpointer data)
{
  g_autofree char *alloc_id = NULL;
  g_autofree char *quoted = NULL;
  g_autofree char *path = NULL;

  fake_elastic_hold (f->agents, TRUE);
  path = ask (f->client, "Grow", "{'hosts': <['n9', 'n10']>, 'req-id': <'mine'>}", &alloc_id);
  g_assert_cmpstr (path, ==, "/org/dvm/campaigns/1");
  quoted = g_strdup_printf ("'%s'", alloc_id);
  check_text (f->client, path, CAMPAIGN, "AllocId", quoted);
  check_text (f->client, path, CAMPAIGN, "Kind", "'grow'");
  check_text (f->client, path, CAMPAIGN, "State", "'running'");
  check_text (f->client, path, CAMPAIGN, "RequestId", "'mine'");
  check_text (f->client, path, CAMPAIGN, "Requester", "'private:1'");
  check_text (f->client, path, CAMPAIGN, "Hosts", "['n9', 'n10']");
  check_text (f->client, path, CAMPAIGN, "Targets", "[2, 3]");
  check_text (f->client, path, CAMPAIGN, "Pending", "2");
  g_assert_cmpuint (get_uint (f->client, MANAGER_PATH, MANAGER, "LaunchFence"), ==, 2);
  g_assert_cmpuint (get_uint (f->client, MANAGER_PATH, MANAGER, "CampaignsRunning"), ==, 1);
  g_assert_cmpuint (get_uint (f->client, MANAGER_PATH, MANAGER, "NodeCount"), ==, 1);
  fake_elastic_hold (f->agents, FALSE);
  check_end (f->client, path, "completed");
  check_text (f->client, path, CAMPAIGN, "Pending", "0");
  check_text (f->client, path, CAMPAIGN, "Cause", "''");
  g_assert_cmpuint (get_uint (f->client, MANAGER_PATH, MANAGER, "NodeCount"), ==, 3);
  g_assert_cmpuint (get_uint (f->client, MANAGER_PATH, MANAGER, "LaunchFence"), ==, 0);
  g_assert_cmpuint (get_uint (f->client, MANAGER_PATH, MANAGER, "CampaignsRunning"), ==, 0);
}

/* A host that is in already: no campaign, and no event (E49). */
static void
test_no_change (Fixture *f, gconstpointer data)
{
  g_autofree char *path = grow (f->client, "{'hosts': <['here']>}");

  g_assert_cmpstr (path, ==, "/");
  bus_client_sync (f->client);
  g_assert_cmpuint (bus_client_count (f->client, "*.Dvm*"), ==, 0);
}

static void
test_history (Fixture *f, gconstpointer data)
{
  g_autofree char *first = grow (f->client, "{'hosts': <['n1']>}");
  g_autofree char *second = NULL;

  check_end (f->client, first, "completed");
  check_end (f->client, first, "completed"); /* it answers though it has ended */
  second = grow (f->client, "{'hosts': <['n2']>}");
  check_end (f->client, second, "completed");
  bus_client_refused (f->client, first, CAMPAIGN, "Wait", g_variant_new_parsed ("(@a{sv} {},)"),
                      "org.dvm.Error.NotFound", "HistoryLimit");
  bus_client_refused (f->client, first, PROPERTIES, "GetAll", g_variant_new ("(s)", CAMPAIGN), "org.dvm.Error.NotFound",
                      NULL);
  bus_client_refused (f->client, "/org/dvm/campaigns/x", CAMPAIGN, "Cancel", g_variant_new_parsed ("(@a{sv} {},)"),
                      "org.freedesktop.DBus.Error.UnknownMethod", NULL);
}

static void
test_wait_timeout (Fixture *f, gconstpointer data)
{
  g_autofree char *path = NULL;

  fake_elastic_hold (f->agents, TRUE);
  path = grow (f->client, "{'hosts': <['n9']>}");
  bus_client_refused (f->client, path, CAMPAIGN, "Wait", g_variant_new_parsed ("({'timeout': <uint32 1>},)"),
                      "org.dvm.Error.Timeout", "Campaign 1");
  fake_elastic_hold (f->agents, FALSE);
  check_end (f->client, path, "completed");
}

static void
test_cancel (Fixture *f, gconstpointer data)
{
  g_autoptr (GVariant) reply = NULL;
  g_autofree char *path = NULL;

  fake_elastic_hold (f->agents, TRUE);
  path = grow (f->client, "{'hosts': <['n9']>}");
  bus_client_refused (f->client, path, CAMPAIGN, "Cancel", g_variant_new_parsed ("({'colour': <1>},)"),
                      "org.dvm.Error.BadParam", "colour");
  reply = bus_client_check (f->client, path, CAMPAIGN, "Cancel", g_variant_new_parsed ("(@a{sv} {},)"));
  fake_elastic_hold (f->agents, FALSE);
  check_end (f->client, path, "failed");
  check_text (f->client, path, CAMPAIGN, "Cause", "'cancelled'");
  bus_client_wait_for (f->client, MANAGER_PATH " " MANAGER ".DvmModFailed *");
  g_assert_cmpuint (get_uint (f->client, MANAGER_PATH, MANAGER, "NodeCount"), ==, 1);
}

static void
test_list (Fixture *f, gconstpointer data)
{
  g_autofree char *first = grow (f->client, "{'hosts': <['n1']>}");
  g_autofree char *second = NULL;
  g_autoptr (GVariant) live = NULL;
  g_autoptr (GVariant) all = NULL;
  g_autoptr (GVariant) sessions = NULL;
  g_autofree char *text = NULL;
  g_autofree char *all_text = NULL;
  g_autofree char *session_text = NULL;

  check_end (f->client, first, "completed");
  fake_elastic_hold (f->agents, TRUE);
  second = grow (f->client, "{'hosts': <['n2']>}");
  live = bus_client_check (f->client, MANAGER_PATH, MANAGER, "ListCampaigns",
                           g_variant_new_parsed ("({'columns': <['Id', 'State']>},)"));
  text = g_variant_print (live, FALSE);
  g_assert_cmpstr (text, ==, "([{'Id': <uint32 2>, 'State': <'running'>}], '')");
  all = bus_client_check (f->client, MANAGER_PATH, MANAGER, "ListCampaigns",
                          g_variant_new_parsed ("({'all': <true>, 'columns': <['Id']>, 'limit': <uint32 1>},)"));
  all_text = g_variant_print (all, FALSE);
  g_assert_cmpstr (all_text, ==, "([{'Id': <uint32 1>}], '2')");
  sessions = bus_client_check (f->client, MANAGER_PATH, MANAGER, "ListSessions",
                               g_variant_new_parsed ("({'columns': <['Id']>},)"));
  session_text = g_variant_print (sessions, FALSE);
  g_assert_cmpstr (session_text, ==, "([{'Id': <uint32 0>}, {'Id': <uint32 1>}, {'Id': <uint32 2>}], '')");
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "ListCampaigns",
                      g_variant_new_parsed ("({'columns': <['Colour']>},)"), "org.dvm.Error.BadParam", "Colour");
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "ListSessions", g_variant_new_parsed ("({'all': <true>},)"),
                      "org.dvm.Error.BadParam", "all");
  fake_elastic_hold (f->agents, FALSE);
  check_end (f->client, second, "completed");
}

/* ---- signals ---- */

/* In this order, once each. */
static void
check_order (BusClient *client, const char *const *patterns)
{
  int last = -1;

  for (guint i = 0; patterns[i] != NULL; i++)
    {
      int position = bus_client_find (client, patterns[i], last + 1);

      if (position < 0)
        for (guint j = 0; j < client->signals->len; j++)
          g_test_message ("%u %s", j, (const char *)client->signals->pdata[j]);
      g_test_message ("%s: %d", patterns[i], position);
      g_assert_cmpint (position, >, last);
      last = position;
    }
}

/* The client that asked hears of the campaign without having subscribed; the others do not hear anything. */
static void
test_requester (Fixture *f, gconstpointer data)
{
  static const char *const order[] = {
    "/org/dvm org.freedesktop.DBus.ObjectManager.InterfacesAdded *campaigns/1*",
    "/org/dvm/campaigns/1 " PROPERTIES ".PropertiesChanged *'State': <'completed'>*",
    "/org/dvm/campaigns/1 " CAMPAIGN ".StateChanged *'completed'*",
    MANAGER_PATH " " MANAGER ".DvmIsReady *",
    "/org/dvm org.freedesktop.DBus.ObjectManager.InterfacesRemoved *campaigns/1*",
    NULL,
  };
  g_autofree char *alloc_id = NULL;
  g_autofree char *path = NULL;
  g_autofree char *event = NULL;

  fake_elastic_hold (f->agents, TRUE);
  path = ask (f->client, "Grow", "{'hosts': <['n9']>, 'req-id': <'r1'>}", &alloc_id);
  bus_client_sync (f->client);
  g_assert_cmpuint (bus_client_count (f->client, "*.Dvm*"), ==, 0);
  fake_elastic_hold (f->agents, FALSE);
  bus_client_wait_for (f->client, "*InterfacesRemoved*campaigns/1*");
  event = g_strdup_printf (MANAGER_PATH " " MANAGER ".DvmIsReady ('%s', 'r1', {'campaign': <objectpath "
                                        "'/org/dvm/campaigns/1'>, 'kind': <'grow'>, 'nodes': <['n9']>})",
                           alloc_id);
  check_order (f->client, order);
  bus_client_sync (f->client);
  bus_client_sync (f->other);
  g_assert_cmpint (bus_client_find (f->client, event, 0), >=, 0);
  g_assert_cmpuint (bus_client_count (f->client, "*.Dvm*"), ==, 1);
  g_assert_cmpuint (bus_client_count (f->other, "*.Dvm*"), ==, 0);
  if (data == NULL)
    g_assert_cmpuint (f->other->signals->len, ==, 0);
}

/* The new membership is known before the event (E42). */
static void
test_values_first (Fixture *f, gconstpointer data)
{
  static const char *const order[] = {
    MANAGER_PATH " " PROPERTIES ".PropertiesChanged *'NodeCount': <uint32 2>*",
    MANAGER_PATH " " MANAGER ".NodesChanged *(2, 3)*",
    MANAGER_PATH " " MANAGER ".DvmIsReady *",
    NULL,
  };
  g_autofree char *path = NULL;

  subscribe (f->client);
  path = grow (f->client, "{'hosts': <['n9']>}");
  bus_client_wait_for (f->client, "*.DvmIsReady *");
  check_order (f->client, order);
}

/* Somebody who has subscribed follows the campaigns of others, and gets no event. */
static void
test_subscriber (Fixture *f, gconstpointer data)
{
  g_autofree char *path = NULL;

  subscribe (f->other);
  path = grow (f->client, "{'hosts': <['n9']>}");
  bus_client_wait_for (f->other, "*InterfacesRemoved*campaigns/1*");
  g_assert_cmpuint (bus_client_count (f->other, "/org/dvm/campaigns/1 " CAMPAIGN ".StateChanged *"), >=, 1);
  g_assert_cmpuint (bus_client_count (f->other, "*InterfacesAdded*sessions/1*"), ==, 1);
  g_assert_cmpuint (bus_client_count (f->other, "*.Dvm*"), ==, 0);
}

static void
test_failure (Fixture *f, gconstpointer data)
{
  g_autofree char *alloc_id = NULL;
  g_autofree char *path = NULL;
  g_autofree char *event = NULL;
  int status;

  fake_elastic_hold (f->agents, TRUE);
  path = ask (f->client, "Grow", "{'hosts': <['n9', 'n10']>, 'req-id': <'r1'>}", &alloc_id);
  fake_elastic_fail (f->agents, "n10", DVMD_CAUSE_LAUNCH, "no such host");
  fake_elastic_hold (f->agents, FALSE);
  check_end (f->client, path, "failed");
  check_text (f->client, path, CAMPAIGN, "Cause", "'launch-failed'");
  status = dvmd_cause_get_status (DVMD_CAUSE_LAUNCH);
  event = g_strdup_printf (MANAGER_PATH " " MANAGER ".DvmModFailed ('%s', 'r1', %d, *no such host*'launch-failed'*",
                           alloc_id, status);
  bus_client_wait_for (f->client, event);
  bus_client_sync (f->client);
  g_assert_cmpuint (bus_client_count (f->client, "*.Dvm*"), ==, 1);
  g_assert_cmpuint (get_uint (f->client, MANAGER_PATH, MANAGER, "NodeCount"), ==, 1);
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

/* The campaign is over before its request is answered: the event waits for the answer. */
static void
test_reply_first (Fixture *f, gconstpointer data)
{
  static const char *const order[] = { "reply", "*.DvmIsReady *", NULL };
  DvmdCampaign *campaign = NULL;

  fake_elastic_hold_answers (f->agents, TRUE);
  g_dbus_connection_call (f->client->connection, f->client->destination, MANAGER_PATH, MANAGER, "Grow",
                          g_variant_new_parsed ("({'hosts': <['n9']>},)"), NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL,
                          on_reply, f->client);
  wait_until ((campaign = dvmd_core_get_campaign (f->core, 1)) != NULL && dvmd_campaign_get_ended (campaign));
  bus_client_sync (f->client);
  g_assert_cmpuint (bus_client_count (f->client, "*.Dvm*"), ==, 0);
  fake_elastic_hold_answers (f->agents, FALSE);
  bus_client_wait_for (f->client, "*.DvmIsReady *");
  check_order (f->client, order);
  bus_client_sync (f->client);
  g_assert_cmpuint (bus_client_count (f->client, "*.Dvm*"), ==, 1);
}

/* While the connection is given a long list, what happens is gathered; the event is not lost, and comes last. */
static void
test_behind (Fixture *f, gconstpointer data)
{
  static const char *const order[] = { "reply",
                                       "/org/dvm/campaigns/1 " PROPERTIES ".PropertiesChanged *'State': <'completed'>*",
                                       "/org/dvm/campaigns/1 " CAMPAIGN ".StateChanged *'completed'*", "*.DvmIsReady *",
                                       NULL };
  g_autofree char *path = NULL;

  fake_elastic_hold (f->agents, TRUE);
  path = grow (f->client, "{'hosts': <['n9']>}");
  for (guint i = 0; i < 1000; i++)
    g_free (bus_client_submit (f->other, "hold", "{'np': <uint32 1>, 'signals': <false>}"));
  g_dbus_connection_call (f->client->connection, f->client->destination, "/org/dvm",
                          "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL, NULL, G_DBUS_CALL_FLAGS_NONE,
                          -1, NULL, on_reply, f->client);
  /* Its call has been taken by then. */
  check_text (f->client, MANAGER_PATH, MANAGER, "ElasticMode", "true");
  fake_elastic_hold (f->agents, FALSE);
  bus_client_wait_for (f->client, "*.DvmIsReady *");
  check_order (f->client, order);
  bus_client_wait_for (f->client, "*InterfacesRemoved*campaigns/1*");
  bus_client_sync (f->client);
  g_assert_cmpuint (bus_client_count (f->client, "*.Dvm*"), ==, 1);
}

/* D13 */
static void
test_requester_gone (Fixture *f, gconstpointer data)
{
  BusClient *gone = f->client;
  g_autofree char *path = NULL;

  subscribe (f->other);
  fake_elastic_hold (f->agents, TRUE);
  path = grow (gone, "{'hosts': <['n9']>}");
  f->client = NULL;
  bus_client_free (gone);
  bus_client_sync (f->other);
  fake_elastic_hold (f->agents, FALSE);
  check_end (f->other, path, "completed");
  bus_client_sync (f->other);
  g_assert_cmpuint (bus_client_count (f->other, "*.Dvm*"), ==, 0);
}

/* Two requests of one connection and one of another: each has its own event. */
static void
test_many_requests (Fixture *f, gconstpointer data)
{
  g_autofree char *first = NULL;
  g_autofree char *second = NULL;
  g_autofree char *third = NULL;

  fake_elastic_hold (f->agents, TRUE);
  first = grow (f->client, "{'hosts': <['n1']>, 'req-id': <'a'>}");
  second = grow (f->client, "{'hosts': <['n2']>, 'req-id': <'b'>}");
  third = grow (f->other, "{'hosts': <['n3']>, 'req-id': <'c'>}");
  g_assert_cmpuint (get_uint (f->client, MANAGER_PATH, MANAGER, "CampaignsRunning"), ==, 3);
  fake_elastic_hold (f->agents, FALSE);
  bus_client_wait_for (f->client, "*.DvmIsReady *'a'*");
  bus_client_wait_for (f->client, "*.DvmIsReady *'b'*");
  bus_client_wait_for (f->other, "*.DvmIsReady *'c'*");
  bus_client_sync (f->client);
  bus_client_sync (f->other);
  g_assert_cmpuint (bus_client_count (f->client, "*.Dvm*"), ==, 2);
  g_assert_cmpuint (bus_client_count (f->other, "*.Dvm*"), ==, 1);
}

/* ---- shrink, nodes and sessions ---- */

static void
test_shrink (Fixture *f, gconstpointer data)
{
  g_autofree char *grown = grow (f->client, "{'hosts': <['n9', 'n10']>}");
  g_autofree char *path = NULL;
  g_autoptr (GVariant) nodes = NULL;
  g_autofree char *text = NULL;

  check_end (f->client, grown, "completed");
  subscribe (f->other);
  fake_elastic_hold (f->agents, TRUE);
  path = ask (f->client, "Shrink", "{'hosts': <['n9']>}", NULL);
  check_text (f->client, path, CAMPAIGN, "Kind", "'shrink'");
  check_text (f->client, path, CAMPAIGN, "Targets", "[2]");
  g_assert_cmpuint (get_uint (f->client, MANAGER_PATH, MANAGER, "NodeCount"), ==, 3);
  bus_client_refused (f->client, path, CAMPAIGN, "Cancel", g_variant_new_parsed ("(@a{sv} {},)"),
                      "org.dvm.Error.NotSupported", NULL);
  fake_elastic_hold (f->agents, FALSE);
  bus_client_wait_for (f->client, "*.DvmIsReady *'shrink'*['n9']*");
  g_assert_cmpuint (get_uint (f->client, MANAGER_PATH, MANAGER, "NodeCount"), ==, 2);
  bus_client_wait_for (f->other, MANAGER_PATH " " MANAGER ".NodesChanged *(2, 6)*");
  bus_client_refused (f->client, "/org/dvm/nodes/2", PROPERTIES, "GetAll", g_variant_new ("(s)", "org.dvm.Node"),
                      "org.dvm.Error.NotFound", "nodes/2");
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "FindNode", g_variant_new ("(s)", "n9"),
                      "org.dvm.Error.NotFound", "n9");
  nodes = bus_client_check (f->client, MANAGER_PATH, MANAGER, "ListNodes",
                            g_variant_new_parsed ("('', {'columns': <['Name']>})"));
  text = g_variant_print (nodes, FALSE);
  g_assert_cmpstr (text, ==, "([{'Name': <'here'>}, {'Name': <'here'>}, {'Name': <'n10'>}], '')");
}

static void
test_shrink_nothing (Fixture *f, gconstpointer data)
{
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "Shrink", g_variant_new_parsed ("(@a{sv} {},)"),
                      "org.dvm.Error.BadParam", NULL);
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "Shrink", g_variant_new_parsed ("({'hosts': <['n77']>},)"),
                      "org.dvm.Error.NotFound", "n77");
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "Shrink", g_variant_new_parsed ("({'alloc-id': <'no'>},)"),
                      "org.dvm.Error.NotFound", "no");
}

static void
test_session (Fixture *f, gconstpointer data)
{
  g_autofree char *alloc_id = NULL;
  g_autofree char *path = NULL;
  g_autofree char *session = NULL;
  g_autofree char *campaign = NULL;
  g_autofree char *owner = g_strdup_printf ("'bus.%u'", (guint)getuid ());
  g_autofree char *owners = g_strdup_printf ("[%s]", owner);
  g_autofree char *quoted = NULL;
  g_autoptr (GVariant) found = NULL;
  g_autoptr (GVariant) reply = NULL;

  path = ask (f->client, "Grow", "{'hosts': <['n9']>, 'req-id': <'r1'>}", &alloc_id);
  check_end (f->client, path, "completed");
  found = bus_client_check (f->client, MANAGER_PATH, MANAGER, "FindSession", g_variant_new ("(s)", alloc_id));
  g_variant_get (found, "(o)", &session);
  g_assert_cmpstr (session, ==, "/org/dvm/sessions/1");
  quoted = g_strdup_printf ("'%s'", alloc_id);
  check_text (f->client, session, SESSION, "AllocId", quoted);
  check_text (f->client, session, SESSION, "RequestId", "'r1'");
  check_text (f->client, session, SESSION, "Nodes", "['n9']");
  check_text (f->client, session, SESSION, "Shared", "true");
  check_text (f->client, session, SESSION, "Owner", owner);
  check_text (f->client, session, SESSION, "State", "'active'");
  check_text (f->client, session, SESSION, "Owners", owners);
  check_text (f->client, session, SESSION, "Parent", "'/'");
  check_text (f->client, session, SESSION, "Children", "[]");
  check_text (f->client, session, SESSION, "Inheritance", "'default'");
  check_text (f->client, session, SESSION, "Separate", "false");
  check_text (f->client, session, SESSION, "ExpiresAt", "0");
  bus_client_refused (f->client, session, SESSION, "Release", g_variant_new_parsed ("({'hosts': <['n9']>},)"),
                      "org.dvm.Error.BadParam", "hosts");
  reply = bus_client_check (f->client, session, SESSION, "Release", g_variant_new_parsed ("({'req-id': <'r2'>},)"));
  g_variant_get (reply, "(o)", &campaign);
  g_assert_cmpstr (campaign, ==, "/org/dvm/campaigns/2");
  bus_client_wait_for (f->client, "*.DvmIsReady *'r2'*");
  bus_client_wait_for (f->client, "*InterfacesRemoved*sessions/1*");
  g_assert_cmpint (
      bus_client_find (f->client, "/org/dvm/sessions/1 " SESSION ".StateChanged ('active', 'terminating', *", 0), >=,
      0);
  g_assert_cmpint (
      bus_client_find (f->client, "/org/dvm/sessions/1 " SESSION ".StateChanged ('terminating', 'ended', *", 0), >=, 0);
  bus_client_refused (f->client, session, PROPERTIES, "GetAll", g_variant_new ("(s)", SESSION),
                      "org.dvm.Error.NotFound", NULL);
}

/* A session is found by its allocation first; else by the request for that, or its number, if that is not two sessions.
 */
static void
test_find_session (Fixture *f, gconstpointer data)
{
  const char *const ids[] = { "r1", "1" };
  g_autofree char *first = grow (f->client, "{'hosts': <['n8']>, 'req-id': <'r1'>}");
  g_autofree char *second = grow (f->client, "{'hosts': <['n9']>, 'req-id': <'0'>}");
  g_autofree char *third = NULL;

  check_end (f->client, first, "completed");
  check_end (f->client, second, "completed");
  for (gsize i = 0; i < G_N_ELEMENTS (ids); i++)
    {
      g_autoptr (GVariant)
          found = bus_client_check (f->client, MANAGER_PATH, MANAGER, "FindSession", g_variant_new ("(s)", ids[i]));
      g_autofree char *text = g_variant_print (found, FALSE);

      g_assert_cmpstr (text, ==, "('/org/dvm/sessions/1',)");
    }
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "FindSession", g_variant_new ("(s)", "0"),
                      "org.dvm.Error.BadParam", "number");
  for (gsize i = 0; i < G_N_ELEMENTS (ids); i++)
    bus_client_refused (f->client, MANAGER_PATH, MANAGER, "FindSession", g_variant_new ("(s)", i == 0 ? "r2" : "01"),
                        "org.dvm.Error.NotFound", NULL);
  third = grow (f->client, "{'hosts': <['n10']>, 'req-id': <'r1'>}");
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "FindSession", g_variant_new ("(s)", "r1"),
                      "org.dvm.Error.BadParam", "Several");
}

static void
test_managed_objects (Fixture *f, gconstpointer data)
{
  g_autofree char *path = NULL;
  g_autoptr (GVariant) reply = NULL;
  g_autoptr (GVariant) objects = NULL;
  g_autofree char *text = NULL;

  fake_elastic_hold (f->agents, TRUE);
  path = grow (f->client, "{'hosts': <['n9']>}");
  reply = bus_client_check (f->other, "/org/dvm", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL);
  text = g_variant_print (reply, FALSE);
  g_assert_nonnull (strstr (text, "'/org/dvm/campaigns/1': {'org.dvm.Campaign': {"));
  g_assert_nonnull (strstr (text, "'/org/dvm/sessions/0': {'org.dvm.Session': {"));
  g_assert_nonnull (strstr (text, "'/org/dvm/sessions/1': {'org.dvm.Session': {"));
  fake_elastic_hold (f->agents, FALSE);
  /* It hears of everything from now on, after the list. */
  bus_client_wait_for (f->other, "*InterfacesRemoved*campaigns/1*");
  check_end (f->client, path, "completed");
}

/* A job that is parked names what it waits for. */
static void
test_parked_job (Fixture *f, gconstpointer data)
{
  g_autofree char *path = NULL;
  g_autofree char *job = NULL;
  g_autofree char *held = NULL;
  g_autoptr (GVariant) ended = NULL;

  fake_elastic_hold (f->agents, TRUE);
  path = grow (f->client, "{'hosts': <['n9']>}");
  job = bus_client_submit (f->client, "true", "{'np': <uint32 1>}");
  wait_until (strcmp (held = get_text (f->client, job, JOB, "HeldAt"), "'map'") == 0 || (g_free (held), FALSE));
  check_text (f->client, job, JOB, "WaitsFor", "['/org/dvm/campaigns/1']");
  check_text (f->client, path, CAMPAIGN, "HeldJobs", "['/org/dvm/jobs/1']");
  check_text (f->client, job, JOB, "StateName", "'WAITING_FOR_DAEMONS'");
  g_assert_cmpuint (get_uint (f->client, MANAGER_PATH, MANAGER, "JobsHeld"), ==, 1);
  fake_elastic_hold (f->agents, FALSE);
  check_end (f->client, path, "completed");
  ended = bus_client_check (f->client, job, JOB, "Wait", g_variant_new_parsed ("(@a{sv} {},)"));
  check_text (f->client, job, JOB, "WaitsFor", "[]");
  check_text (f->client, job, JOB, "Remapped", "0");
}

#define add(name, set_up, test) g_test_add ("/bus-size/" name, Fixture, NULL, set_up, test, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  add ("not-elastic", set_up_rigid, test_not_elastic);
  add ("grow", set_up, test_grow);
  add ("no-change", set_up, test_no_change);
  add ("history", set_up_forgetful, test_history);
  add ("wait-timeout", set_up, test_wait_timeout);
  add ("cancel", set_up, test_cancel);
  add ("list", set_up, test_list);
  add ("requester", set_up, test_requester);
  g_test_add ("/bus-size/requester-on-bus", Fixture, "bus", set_up_bus, test_requester, tear_down);
  add ("values-first", set_up, test_values_first);
  add ("subscriber", set_up, test_subscriber);
  add ("failure", set_up, test_failure);
  add ("reply-first", set_up, test_reply_first);
  add ("reply-first-on-bus", set_up_bus, test_reply_first);
  add ("behind", set_up, test_behind);
  add ("requester-gone", set_up, test_requester_gone);
  add ("requester-gone-on-bus", set_up_bus, test_requester_gone);
  add ("many-requests", set_up, test_many_requests);
  add ("many-requests-on-bus", set_up_bus, test_many_requests);
  add ("shrink", set_up, test_shrink);
  add ("shrink-nothing", set_up, test_shrink_nothing);
  add ("session", set_up, test_session);
  add ("find-session", set_up, test_find_session);
  add ("managed-objects", set_up, test_managed_objects);
  add ("parked-job", set_up, test_parked_job);

  return g_test_run ();
}

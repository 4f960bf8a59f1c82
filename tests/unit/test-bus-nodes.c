/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The objects of nodes: found, looked at, drained and resumed.
 */

#include "config.h"

#include "bus-fixture.h"
#include "fake-controller.h"

#include <string.h>

#define BAD_PARAM     "org.dvm.Error.BadParam"
#define NOT_FOUND     "org.dvm.Error.NotFound"
#define NOT_SUPPORTED "org.dvm.Error.NotSupported"
#define MAP_FAILED    "org.dvm.Error.MapFailed"
#define NODE          "org.dvm.Node"
#define NODE_PATH     "/org/dvm/nodes/1"

typedef struct
{
  BusFixture bus;
  BusClient *client;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  bus_fixture_set_up (&f->bus, fake_controller_new (4, 100), NULL);
  f->client = bus_client_new_private (&f->bus);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  bus_client_free (f->client);
  bus_fixture_tear_down (&f->bus);
}

static void
refused (Fixture *f, const char *path, const char *interface, const char *method, const char *parameters,
         const char *error, const char *what)
{
  bus_client_refused (f->client, path, interface, method, parameters != NULL ? g_variant_new_parsed (parameters) : NULL,
                      error, what);
}

static char *
ask (Fixture *f, const char *path, const char *interface, const char *method, const char *parameters)
{
  g_autoptr (GVariant) reply = bus_client_check (f->client, path, interface, method,
                                                 parameters != NULL ? g_variant_new_parsed (parameters) : NULL);

  return g_variant_print (reply, FALSE);
}

static char *
get (Fixture *f, const char *path, const char *name)
{
  g_autoptr (GVariant) value = bus_client_get (f->client, path, NODE, name);

  return g_variant_print (value, FALSE);
}

static void
check_get (Fixture *f, const char *path, const char *name, const char *wanted)
{
  g_autofree char *value = get (f, path, name);

  g_assert_cmpstr (value, ==, wanted);
}

static DvmdJob *
job_at (Fixture *f, const char *path)
{
  return dvmd_core_get_job (dvmd_controller_get_core (f->bus.controller), strtoul (strrchr (path, '/') + 1, NULL, 10));
}

static void
call (Fixture *f, const char *method, const char *parameters)
{
  g_autofree char *reply = ask (f, NODE_PATH, NODE, method, parameters);

  g_assert_cmpstr (reply, ==, "()");
}

static void
test_find (Fixture *f, gconstpointer data)
{
  g_autofree char *found = ask (f, MANAGER_PATH, MANAGER, "FindNode", "('here',)");
  g_autofree char *session = ask (f, MANAGER_PATH, MANAGER, "FindSession", "('',)");
  g_autofree char *xml = ask (f, NODE_PATH, NODE, "GetTopology", NULL);
  g_autofree char *tree = ask (f, "/org/dvm/nodes", "org.freedesktop.DBus.Introspectable", "Introspect", NULL);

  g_assert_cmpstr (found, ==, "('/org/dvm/nodes/1',)");
  g_assert_cmpstr (session, ==, "('/org/dvm/sessions/0',)");
  g_assert_nonnull (strstr (xml, "<topology"));
  g_assert_nonnull (strstr (tree, "name=\"0\""));
  g_assert_nonnull (strstr (tree, "name=\"1\""));
  check_get (f, NODE_PATH, "Name", "'here'");
  check_get (f, NODE_PATH, "Slots", "4");
  check_get (f, "/org/dvm/nodes/0", "Slots", "0");
  check_get (f, "/org/dvm/nodes/0", "Rank", "0");
  refused (f, MANAGER_PATH, MANAGER, "FindNode", "('nowhere',)", NOT_FOUND, "nowhere");
  refused (f, MANAGER_PATH, MANAGER, "FindSession", "('a-1',)", NOT_FOUND, "a-1");
  refused (f, "/org/dvm/nodes/2", NODE, "GetTopology", NULL, NOT_FOUND, "/org/dvm/nodes/2");
  refused (f, "/org/dvm/nodes/01", NODE, "GetTopology", NULL, "org.freedesktop.DBus.Error.UnknownMethod", NULL);
}

static void
test_drain (Fixture *f, gconstpointer data)
{
  g_autofree char *running = bus_client_submit (f->client, "hold", "{'np': <uint32 1>}");
  g_autofree char *waiting = NULL;

  wait_until (dvmd_job_get_state (job_at (f, running)) == DVM_JOB_STATE_RUNNING);
  call (f, "Drain", "('memory', @a{sv} {})");
  check_get (f, NODE_PATH, "StateName", "'DO_NOT_USE'");
  check_get (f, NODE_PATH, "Reason", "'memory'");
  check_get (f, NODE_PATH, "Jobs", "['/org/dvm/jobs/1']");
  waiting = bus_client_submit (f->client, "hold", "{'np': <uint32 2>}");
  wait_until (g_strcmp0 (dvm_job_get_held_at (dvmd_job_get_record (job_at (f, waiting))), "slots") == 0);
  refused (f, MANAGER_PATH, MANAGER, "Map", "([{'argv': <['x']>, 'np': <uint32 1>}], {'when-full': <'refuse'>})",
           MAP_FAILED, "drained");
  g_assert_cmpint (dvmd_job_get_state (job_at (f, running)), ==, DVM_JOB_STATE_RUNNING);
  call (f, "Resume", "(@a{sv} {},)");
  wait_until (dvmd_job_get_state (job_at (f, waiting)) == DVM_JOB_STATE_RUNNING);
  check_get (f, NODE_PATH, "StateName", "'UP'");
  check_get (f, NODE_PATH, "Reason", "''");
}

static void
test_drain_refused (Fixture *f, gconstpointer data)
{
  refused (f, "/org/dvm/nodes/0", NODE, "Drain", "('x', @a{sv} {})", NOT_SUPPORTED, "controller");
  refused (f, NODE_PATH, NODE, "Drain", "('x', {'now': <true>})", BAD_PARAM, "now");
  refused (f, NODE_PATH, NODE, "Resume", "({'now': <true>},)", BAD_PARAM, "now");
  check_get (f, NODE_PATH, "StateName", "'UP'");
  call (f, "Resume", "(@a{sv} {},)");
}

/* The new values before the signal that tells of them; another reason is a change too. */
static void
test_signals (Fixture *f, gconstpointer data)
{
  g_autofree char *subscribed = ask (f, MANAGER_PATH, MANAGER, "Subscribe", NULL);
  int values;
  int changed;

  call (f, "Drain", "('first', @a{sv} {})");
  bus_client_wait_for (f->client, "*NodesChanged*");
  values = bus_client_find (f->client, NODE_PATH "*PropertiesChanged*first*", 0);
  changed = bus_client_find (f->client, "*NodesChanged*", 0);
  g_assert_cmpint (values, >=, 0);
  g_assert_cmpint (values, <, changed);
  call (f, "Drain", "('second', @a{sv} {})");
  bus_client_wait_for (f->client, NODE_PATH "*PropertiesChanged*second*");
}

/* Jobs come and go without a change of the state; many of them are one change. */
static void
test_jobs (Fixture *f, gconstpointer data)
{
  g_autofree char *subscribed = ask (f, MANAGER_PATH, MANAGER, "Subscribe", NULL);
  g_autofree char *first = bus_client_submit (f->client, "hold", "{'np': <uint32 1>}");
  gint64 begin = g_get_monotonic_time ();
  guint n_changes;
  int position;

  bus_client_wait_for (f->client, NODE_PATH " *PropertiesChanged*'Jobs': <*'/org/dvm/jobs/1']>*");
  for (guint i = 0; i < 100; i++)
    g_free (bus_client_submit (f->client, "true", "{'np': <uint32 1>}"));
  wait_until (dvmd_core_get_num_live (dvmd_controller_get_core (f->bus.controller)) == 1);
  call (f, "Drain", "('here', @a{sv} {})");
  position = f->client->signals->len;
  g_variant_unref (bus_client_check (f->client, first, JOB, "Cancel", g_variant_new_parsed ("(@a{sv} {},)")));
  wait_until (bus_client_find (f->client, NODE_PATH " *PropertiesChanged*'Jobs': <@ao []>*", position) >= 0);
  n_changes = bus_client_count (f->client, NODE_PATH " *PropertiesChanged*'Jobs'*");
  g_assert_cmpuint (n_changes, <=, 2 + (g_get_monotonic_time () - begin) / (100 * G_TIME_SPAN_MILLISECOND));
  g_assert_cmpuint (bus_client_count (f->client, NODE_PATH " *PropertiesChanged*'Jobs'*'State'*"), ==, 0);
}

/* Where it is in the tree, and what else is told as soon as it changes. */
static void
test_place (Fixture *f, gconstpointer data)
{
  DvmdCore *core = dvmd_controller_get_core (f->bus.controller);
  g_autofree char *subscribed = ask (f, MANAGER_PATH, MANAGER, "Subscribe", NULL);

  check_get (f, NODE_PATH, "ParentRank", "0");
  check_get (f, NODE_PATH, "Depth", "1");
  check_get (f, NODE_PATH, "Sessions", "['/org/dvm/sessions/0']");
  check_get (f, "/org/dvm/nodes/0", "Depth", "0");
  check_get (f, "/org/dvm/nodes/0", "Sessions", "[]");
  dvmd_core_place_node (core, 1, 5, 2);
  dvmd_core_set_tree (core, 2, 7);
  bus_client_wait_for (f->client, NODE_PATH " *PropertiesChanged*'ParentRank': <uint32 5>*'Depth': <uint32 2>*");
  bus_client_wait_for (f->client,
                       MANAGER_PATH " *PropertiesChanged*'TreeDepth': <uint32 2>*'TreeRepairs': <uint64 7>*");
  check_get (f, NODE_PATH, "Depth", "2");
  dvmd_core_place_node (core, 1, 5, 2);
  bus_client_sync (f->client);
  bus_client_sync (f->client);
  g_assert_cmpuint (bus_client_count (f->client, NODE_PATH " *PropertiesChanged*"), ==, 1);
  g_assert_cmpuint (bus_client_count (f->client, "*NodesChanged*"), ==, 0);
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *path;
    void (*func) (Fixture *f, gconstpointer data);
  } tests[] = {
    { "/bus/nodes/find", test_find },
    { "/bus/nodes/drain", test_drain },
    { "/bus/nodes/drain-refused", test_drain_refused },
    { "/bus/nodes/signals", test_signals },
    { "/bus/nodes/jobs", test_jobs },
    { "/bus/nodes/place", test_place },
  };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    g_test_add (tests[i].path, Fixture, NULL, set_up, tests[i].func, tear_down);
  return g_test_run ();
}

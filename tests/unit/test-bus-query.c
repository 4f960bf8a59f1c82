/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Query of the manager: each key, by its word and by the name of PMIx, what narrows it, and what is refused.
 */

#include "config.h"

#include "bus-fixture.h"
#include "dvm-records-private.h"
#include "fake-controller.h"

#include <string.h>

#define BAD_PARAM     "org.dvm.Error.BadParam"
#define NOT_SUPPORTED "org.dvm.Error.NotSupported"
#define NOT_FOUND     "org.dvm.Error.NotFound"

typedef struct
{
  BusFixture bus;
  BusClient *client;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  bus_fixture_set_up (&f->bus, fake_controller_new (4, 3), NULL);
  f->client = bus_client_new_private (&f->bus);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  bus_client_free (f->client);
  bus_fixture_tear_down (&f->bus);
}

static GVariant *
parse (const char *text)
{
  return g_variant_new_parsed (text);
}

static void
refused (Fixture *f, const char *parameters, const char *error, const char *what)
{
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "Query", parse (parameters), error, what);
}

static void
wait_until_running (Fixture *f, const char *path)
{
  guint id = strtoul (strrchr (path, '/') + 1, NULL, 10);
  DvmdJob *job = dvmd_core_get_job (dvmd_controller_get_core (f->bus.controller), id);

  wait_until (dvmd_job_get_state (job) == DVM_JOB_STATE_RUNNING);
}

static void
check_query (Fixture *f, const char *parameters, const char *wanted)
{
  g_autoptr (GVariant) reply = bus_client_check (f->client, MANAGER_PATH, MANAGER, "Query", parse (parameters));
  g_autofree char *text = g_variant_print (reply, FALSE);

  g_assert_cmpstr (text, ==, wanted);
}

static void
test_query (Fixture *f, gconstpointer data)
{
  DvmdNode *there;
  g_autofree char *path = bus_client_submit (f->client, "sleep", "{'np': <uint32 2>}");

  wait_until_running (f, path);
  check_query (f, "(['namespaces'], @a{sv} {})", "({'namespaces': <['dvm-fake@1']>},)");
  check_query (f, "(['nodes'], @a{sv} {})", "({'nodes': <['here']>},)");
  check_query (f, "(['PMIX_JOB_SIZE'], {'PMIX_NSPACE': <'dvm-fake@1'>})", "({'PMIX_JOB_SIZE': <uint32 2>},)");
  check_query (f, "(['job-states'], @a{sv} {})", "({'job-states': <{'dvm-fake@1': (uint32 14, 'RUNNING')}>},)");
  check_query (f, "(['slots'], @a{sv} {})", "({'slots': <uint32 4>},)");
  check_query (f, "(['free-slots'], {'node': <'here'>})", "({'free-slots': <uint32 2>},)");
  check_query (f, "(['peers'], {'nspace': <'dvm-fake@1'>, 'node': <'here'>})", "({'peers': <[uint32 0, 1]>},)");
  check_query (
      f, "(['local-proc-table'], {'nspace': <'dvm-fake@1'>, 'PMIX_HOSTNAME': <'here'>, 'rank': <uint32 1>})",
      "({'local-proc-table': <[(uint32 1, uint32 0, 'here', uint32 1, uint32 1, 1001, uint32 4, 0, 0, '')]>},)");
  {
    g_autoptr (GVariant) depth = bus_client_get (f->client, MANAGER_PATH, MANAGER, "TreeDepth");

    g_assert_cmpuint (g_variant_get_uint32 (depth), ==, 1);
  }
  check_query (f, "(['alloc-ids'], @a{sv} {})", "({'alloc-ids': <['']>},)");
  check_query (f, "(['free-slots'], {'PMIX_ALLOC_ID': <'1'>})", "({'free-slots': <uint32 7>},)");
  check_query (f, "(['PMIX_QUERY_PSET_NAMES'], {'nspace': <'dvm-fake@1'>})", "({'PMIX_QUERY_PSET_NAMES': <['ice']>},)");
  refused (f, "(['psets'], {'alloc-id': <'1'>})", BAD_PARAM, "psets takes no qualifier");
  refused (f, "(['alloc-status'], @a{sv} {})", BAD_PARAM, "needs the qualifier");
  refused (f, "(['pset-members'], @a{sv} {})", BAD_PARAM, "needs the qualifier");
  refused (f, "(['allocations'], {'request-id': <'no'>})", NOT_FOUND, "no");
  refused (f, "(['node-usage', 'proc-usage'], {'node': <'here'>, 'nspace': <'dvm-fake@1'>})", BAD_PARAM,
           "node-usage takes no");
  refused (f, "(['proc-usage', 'PMIX_QUERY_PROC_RESOURCE_USAGE'], {'nspace': <'dvm-fake@1'>})", BAD_PARAM,
           "one at a time");
  refused (f, "(@as [], @a{sv} {})", BAD_PARAM, "query-keys");
  refused (f, "(['colour'], @a{sv} {})", BAD_PARAM, "colour");
  refused (f, "(['nodes', 'nodes'], @a{sv} {})", BAD_PARAM, "twice");
  refused (f, "(['nodes'], {'colour': <1>})", BAD_PARAM, "nspace");
  refused (f, "(['version'], {'node': <'here'>})", BAD_PARAM, "version takes no qualifier");
  refused (f, "(['proc-table'], @a{sv} {})", BAD_PARAM, "needs the qualifier");
  refused (f, "(['proc-table'], {'nspace': <'dvm-fake@1'>, 'rank': <uint32 2>})", NOT_FOUND, "rank 2");
  refused (f, "(['proc-table'], {'nspace': <'no'>})", NOT_FOUND, "no");
  refused (f, "(['slots'], {'node': <'nowhere'>})", NOT_FOUND, "nowhere");
  refused (f, "(['nodes'], {'names': <['here']>})", BAD_PARAM, "nodes takes no qualifier");
  refused (f, "(['topologies'], {'nodes': <uint32 2>})", BAD_PARAM, "need a topology");
  refused (f, "(['topologies'], {'topology': <['package:x']>})", BAD_PARAM, "package:x");
  check_query (f, "(['node-usage'], {'node': <'here'>})",
               "({'node-usage': <{'load-1': <0.5>, 'mem-total': <uint64 1024>}>},)");
  refused (f, "(['node-usage'], @a{sv} {})", BAD_PARAM, "needs the qualifier");
  /* Of two nodes that are up one does not answer. */
  there = dvmd_core_add_node (dvmd_controller_get_core (f->bus.controller), "there", 4, 0);
  _dvm_node_set_state (there->record, DVM_NODE_STATE_UP, "");
  check_query (f, "(['slots', 'node-loads'], @a{sv} {})",
               "({'slots': <uint32 4>, 'node-loads': <[(uint32 1, 0.5, uint64 1024, uint64 0)]>},)");
  refused (f, "(['node-loads'], {'node': <'here'>})", BAD_PARAM, "takes no qualifier");
  refused (f, "(['node-loads', 'proc-usage'], {'nspace': <'dvm-fake@1'>})", BAD_PARAM, "takes no qualifier");
  refused (f, "(['settings'], @a{sv} {})", NOT_SUPPORTED, "settings");
}

/* Each key has an answer, of the type that is documented. */
static void
test_query_keys (Fixture *f, gconstpointer data)
{
  g_autofree char *path = bus_client_submit (f->client, "sleep", "{'np': <uint32 2>}");
  g_autofree char *xml_path = g_test_build_filename (G_TEST_DIST, "..", "..", "dbus", "org.dvm.Manager.xml", NULL);
  g_autofree char *xml = NULL;
  g_autoptr (DvmdConfig) settings = dvmd_config_new ();
  g_autoptr (GVariant)
      reply = bus_client_check (f->client, MANAGER_PATH, MANAGER, "Query", parse ("(['query-keys'], @a{sv} {})"));
  g_autoptr (GVariant) dict = g_variant_get_child_value (reply, 0);
  g_autofree const char **keys = NULL;

  g_assert_true (g_file_get_contents (xml_path, &xml, NULL, NULL));
  dvmd_bus_server_set_settings (f->bus.server, settings, NULL, NULL);
  wait_until_running (f, path);
  g_assert_true (g_variant_lookup (dict, "query-keys", "^a&s", &keys));
  for (guint i = 0; keys[i] != NULL; i++)
    {
      gboolean of_job = g_str_has_suffix (keys[i], "proc-table") || g_str_equal (keys[i], "peers")
                        || g_str_equal (keys[i], "policies") || g_str_equal (keys[i], "job-size")
                        || g_str_equal (keys[i], "proc-usage");
      gboolean of_node = g_str_equal (keys[i], "local-proc-table") || g_str_equal (keys[i], "node-usage");
      const char *other = g_str_equal (keys[i], "group-members")  ? "'group': <'fjord'>"
                          : g_str_equal (keys[i], "pset-members") ? "'pset': <'ice'>"
                          : g_str_has_prefix (keys[i], "alloc-status") || g_str_has_prefix (keys[i], "alloc-properties")
                              ? "'alloc-id': <'1'>"
                              : "";
      g_autofree char *parameters = g_strdup_printf ("([%s'%s'], @a{sv} {%s%s%s})", "", keys[i],
                                                     of_job ? "'nspace': <'dvm-fake@1'>" : "",
                                                     !of_node ? ""
                                                     : of_job ? ", 'node': <'here'>"
                                                              : "'node': <'here'>",
                                                     other);
      g_autoptr (GVariant) answer = bus_client_check (f->client, MANAGER_PATH, MANAGER, "Query", parse (parameters));
      g_autoptr (GVariant) values = g_variant_get_child_value (answer, 0);
      g_autoptr (GVariant) value = g_variant_lookup_value (values, keys[i], NULL);
      g_autofree char *line = NULL;
      char *found;

      g_assert_nonnull (value);
      line = g_strdup_printf ("\n      %s", keys[i]);
      found = strstr (xml, line);
      g_assert_nonnull (found);
      found = strstr (found, ": ") + 2;
      g_test_message ("%s: %s", keys[i], g_variant_get_type_string (value));
      g_assert_cmpint (strncmp (found, g_variant_get_type_string (value), strlen (g_variant_get_type_string (value))),
                       ==, 0);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/bus/query", Fixture, NULL, set_up, test_query, tear_down);
  g_test_add ("/bus/query-keys", Fixture, NULL, set_up, test_query_keys, tear_down);
  return g_test_run ();
}

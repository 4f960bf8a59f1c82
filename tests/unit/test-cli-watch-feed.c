/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A live view, and the lists of the library, of a DVM of today and of an older one: that one refuses words which it
 * does not know, as the DVM here does when a filter of the connection has changed them.
 */

#include "config.h"

#include <string.h>

#include "bus-fixture.h"
#include "dvm-cli-watch-feed.h"
#include "dvm-records-private.h"
#include "fake-controller.h"

#define N_NODES 70

typedef struct
{
  BusFixture bus;
  DvmClient *client;
  DvmCliWatchModel *model;
  DvmCliWatchFeed *feed;
  GError *error;
  gboolean is_fed;
  const char *unknown; /* (nullable): a word that the DVM does not know */
  guint n_loads;       /* calls that ask for the load of all nodes, and of one */
  guint n_usages;
} Fixture;

static void
on_fed (const GError *error, gpointer user_data)
{
  Fixture *f = user_data;

  f->is_fed = TRUE;
  if (error != NULL && f->error == NULL)
    f->error = g_error_copy (error);
}

/* In the thread that calls, which is the one of the test. */
static GDBusMessage *
play_older (GDBusConnection *connection, GDBusMessage *message, gboolean incoming, gpointer user_data)
{
  Fixture *f = user_data;
  GVariant *body = incoming ? NULL : g_dbus_message_get_body (message);
  g_autofree char *text = body != NULL ? g_variant_print (body, TRUE) : NULL;
  g_autofree char *word = f->unknown != NULL ? g_strdup_printf ("'%s'", f->unknown) : NULL;
  g_auto (GStrv) parts = NULL;
  g_autofree char *other = NULL;
  GDBusMessage *changed;

  if (text == NULL)
    return message;
  f->n_loads += strstr (text, "'node-loads'") != NULL;
  f->n_usages += strstr (text, "'node-usage'") != NULL;
  if (word == NULL || strstr (text, word) == NULL)
    return message;
  parts = g_strsplit (text, word, -1);
  other = g_strjoinv ("'of-tomorrow'", parts);
  changed = g_dbus_message_copy (message, NULL);
  g_dbus_message_set_body (changed, g_variant_new_parsed (other));
  g_object_unref (message);
  return changed;
}

static void
set_up (Fixture *f, gconstpointer data)
{
  DvmdCore *core;

  bus_fixture_set_up (&f->bus, fake_controller_new (4, 3), NULL);
  fake_controller_measure_all (f->bus.controller);
  core = dvmd_controller_get_core (f->bus.controller);
  for (guint i = 2; i <= N_NODES; i++)
    {
      g_autofree char *name = g_strdup_printf ("n%u", i);

      _dvm_node_set_state (dvmd_core_add_node (core, name, 4, 0)->record, DVM_NODE_STATE_UP, "");
    }
  f->client = bus_fixture_connect (&f->bus);
  g_dbus_connection_add_filter (dvm_client_get_dbus_connection (f->client), play_older, f, NULL);
  f->model = dvm_cli_watch_model_new ();
  f->feed = dvm_cli_watch_feed_new (f->client, f->model, on_fed, f);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  g_clear_error (&f->error);
  dvm_cli_watch_feed_free (f->feed);
  dvm_cli_watch_model_free (f->model);
  g_object_unref (f->client);
  bus_fixture_tear_down (&f->bus);
}

static void
submit (Fixture *f, guint n_jobs)
{
  BusClient *client = bus_client_new_private (&f->bus);

  for (guint i = 0; i < n_jobs; i++)
    g_free (bus_client_submit (client, "sleep", "{'np': <uint32 1>}"));
  bus_client_free (client);
}

/* (transfer full): all that the view has */
static char *
take_picture (Fixture *f)
{
  f->is_fed = FALSE;
  dvm_cli_watch_feed_refresh (f->feed, DVM_CLI_WATCH_N_PANELS, NULL);
  dvm_cli_watch_feed_measure_all (f->feed);
  wait_until (f->is_fed && dvm_cli_watch_feed_is_idle (f->feed));
  g_assert_no_error (f->error);
  return dvm_cli_watch_model_to_json (f->model, "dvm", 1);
}

static void
check_loads (Fixture *f)
{
  guint column = (guint)dvm_cli_watch_find_column (DVM_CLI_WATCH_NODES, "load");

  g_assert_cmpuint (dvm_cli_watch_model_count (f->model, DVM_CLI_WATCH_NODES), ==, N_NODES);
  for (guint i = 1; i <= N_NODES; i++)
    g_assert_cmpint (dvm_cli_watch_model_lookup (f->model, DVM_CLI_WATCH_NODES, i)->numbers[column], ==, i * 25);
}

/* One call for all nodes; where it is refused, a call for each of them. */
static void
test_loads (Fixture *f, gconstpointer data)
{
  g_autofree char *now = take_picture (f);
  g_autofree char *older = NULL;

  check_loads (f);
  g_assert_cmpuint (f->n_loads, ==, 1);
  g_assert_cmpuint (f->n_usages, ==, 0);
  for (guint i = 1; i <= N_NODES; i++)
    dvm_cli_watch_model_set_load (f->model, i, -1, 0, 0);
  f->unknown = "node-loads";
  older = take_picture (f);
  check_loads (f);
  g_assert_cmpuint (f->n_usages, ==, N_NODES);
  g_assert_cmpstr (older, ==, now);
}

/* A node that does not answer is not shown as it was. */
static void
test_silent (Fixture *f, gconstpointer data)
{
  guint column = (guint)dvm_cli_watch_find_column (DVM_CLI_WATCH_NODES, "load");
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (dvmd_controller_get_core (f->bus.controller)), 7);

  g_free (take_picture (f));
  _dvm_node_set_state (node->record, DVM_NODE_STATE_UNKNOWN, "");
  g_free (take_picture (f));
  g_assert_cmpint (dvm_cli_watch_model_lookup (f->model, DVM_CLI_WATCH_NODES, 7)->numbers[column], ==, -1);
  g_assert_cmpint (dvm_cli_watch_model_lookup (f->model, DVM_CLI_WATCH_NODES, 8)->numbers[column], ==, 200);
}

/* The first picture needs no signals, and those that follow miss nothing. */
static void
test_jobs (Fixture *f, gconstpointer data)
{
  g_autofree char *now = NULL, *older = NULL;

  submit (f, 2);
  g_free (take_picture (f));
  g_assert_cmpuint (dvm_cli_watch_model_count (f->model, DVM_CLI_WATCH_JOBS), ==, 2);
  submit (f, 1);
  now = take_picture (f);
  g_assert_cmpuint (dvm_cli_watch_model_count (f->model, DVM_CLI_WATCH_JOBS), ==, 3);
  dvm_cli_watch_model_clear (f->model);
  f->unknown = *(const char *const *)data;
  older = take_picture (f);
  g_assert_cmpstr (older, ==, now);
}

/* Of many jobs those alone are read again that the DVM tells of, which it does from the second picture on. */
static void
test_many (Fixture *f, gconstpointer data)
{
  submit (f, 2049);
  g_free (take_picture (f));
  g_assert_cmpuint (dvm_cli_watch_model_count (f->model, DVM_CLI_WATCH_JOBS), ==, 2049);
  submit (f, 1);
  g_free (take_picture (f));
  g_assert_cmpuint (dvm_cli_watch_model_count (f->model, DVM_CLI_WATCH_JOBS), ==, 2050);
  submit (f, 1);
  wait_until ((g_free (take_picture (f)), dvm_cli_watch_model_count (f->model, DVM_CLI_WATCH_JOBS) == 2051));
}

static char *
describe (GPtrArray *records)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < records->len; i++)
    {
      g_autoptr (GVariant) values = _dvm_record_to_sparse_variant (records->pdata[i]);

      g_variant_print_string (values, text, TRUE);
    }
  return g_string_free (text, FALSE);
}

static void
on_listed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  *(GAsyncResult **)user_data = g_object_ref (result);
}

static char *
list (Fixture *f, gboolean nodes)
{
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GPtrArray) records = NULL;
  g_autoptr (GError) error = NULL;

  if (nodes)
    dvm_client_list_nodes_async (f->client, NULL, on_listed, &result);
  else
    dvm_client_list_jobs_async (f->client, FALSE, NULL, on_listed, &result);
  wait_until (result != NULL);
  records = nodes ? dvm_client_list_nodes_finish (f->client, result, &error)
                  : dvm_client_list_jobs_finish (f->client, result, &error);
  g_assert_no_error (error);
  return describe (records);
}

/* The library has the same records from both. */
static void
test_lists (Fixture *f, gconstpointer data)
{
  g_autofree char *jobs = NULL, *nodes = NULL, *jobs_of_older = NULL, *nodes_of_older = NULL;

  submit (f, 3);
  jobs = list (f, FALSE);
  nodes = list (f, TRUE);
  g_assert_nonnull (strstr (jobs, "dvm-fake@3"));
  g_assert_nonnull (strstr (nodes, "n70"));
  f->unknown = "once";
  jobs_of_older = list (f, FALSE);
  nodes_of_older = list (f, TRUE);
  g_assert_cmpstr (jobs_of_older, ==, jobs);
  g_assert_cmpstr (nodes_of_older, ==, nodes);
}

static void
add (const char *path, void (*test) (Fixture *, gconstpointer))
{
  g_test_add (path, Fixture, NULL, set_up, test, tear_down);
}

/* A word of the filter, and a property of each list */
static void
add_older (void)
{
  static const char *const words[] = { "once", "by-column", "OutputBytes", "MemoryAllotted", "Pending" };

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_autofree char *path = g_strdup_printf ("/cli-watch-feed/jobs/%s", words[i]);

      g_test_add (path, Fixture, &words[i], set_up, test_jobs, tear_down);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add ("/cli-watch-feed/loads", test_loads);
  add ("/cli-watch-feed/silent", test_silent);
  add_older ();
  add ("/cli-watch-feed/many", test_many);
  add ("/cli-watch-feed/lists", test_lists);
  return g_test_run ();
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Many jobs in one call, and where processes would go.
 */

#include "config.h"

#include "bus-fixture.h"
#include "fake-controller.h"

#include <gio/gunixfdlist.h>
#include <string.h>

#define BAD_PARAM     "org.dvm.Error.BadParam"
#define NOT_FOUND     "org.dvm.Error.NotFound"
#define NOT_READY     "org.dvm.Error.NotReady"
#define MAP_FAILED    "org.dvm.Error.MapFailed"
#define SHUTTING_DOWN "org.dvm.Error.ShuttingDown"
#define MANY          10000

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
  bus_client_refused (f->client, path, interface, method, g_variant_new_parsed (parameters), error, what);
}

static DvmdCore *
get_core (Fixture *f)
{
  return dvmd_controller_get_core (f->bus.controller);
}

/* The answer to SubmitMany or Map as text. */
static char *
ask (Fixture *f, const char *path, const char *interface, const char *method, const char *parameters)
{
  g_autoptr (GVariant) reply = bus_client_check (f->client, path, interface, method, g_variant_new_parsed (parameters));

  return g_variant_print (reply, FALSE);
}

/* ---- SubmitMany ---- */

static void
test_submit_many (Fixture *f, gconstpointer data)
{
  g_autofree char *none = ask (f, MANAGER_PATH, MANAGER, "SubmitMany", "(@a(asa{sv}) [], @a{sv} {})");
  g_autofree char *two = ask (f, MANAGER_PATH, MANAGER, "SubmitMany",
                              "([(['true'], {'label': <'a'>}), (['hold', 'x'], {'np': <uint32 2>, 'label': <'b'>})], "
                              "@a{sv} {})");
  g_autofree char *single = bus_client_submit (f->client, "hold", NULL);
  DvmdJob *second = dvmd_core_get_job (get_core (f), 2);

  g_assert_cmpstr (none, ==, "([],)");
  g_assert_cmpstr (two, ==, "(['/org/dvm/jobs/1', '/org/dvm/jobs/2'],)");
  g_assert_cmpstr (single, ==, "/org/dvm/jobs/3");
  g_assert_cmpstr (dvm_job_get_label (dvmd_job_get_record (second)), ==, "b");
  wait_until (dvmd_job_get_state (second) == DVM_JOB_STATE_RUNNING);
  g_assert_cmpuint (dvm_job_get_num_procs (dvmd_job_get_record (second)), ==, 2);
}

static void
test_all_or_none (Fixture *f, gconstpointer data)
{
  static const char *const wrong[][2] = {
    { "([(['true'], @a{sv} {}), (['true'], {'np': <uint32 0>})], @a{sv} {})", "jobs[1]" },
    { "([(['true'], @a{sv} {}), (@as [], @a{sv} {})], @a{sv} {})", "jobs[1]" },
    { "([(['true'], {'colour': <'red'>}), (['true'], @a{sv} {})], @a{sv} {})", "jobs[0]" },
    { "([(['true'], @a{sv} {}), (['true'], @a{sv} {}), (['true'], {'timeout': <'long'>})], @a{sv} {})", "jobs[2]" },
    { "([(['true'], {'stdin-fd': <@h 3>})], @a{sv} {})", "0 descriptors" },
    { "([(['true'], {'end-with-caller': <'yes'>})], @a{sv} {})", "end-with-caller" },
    { "([(['true'], @a{sv} {})], {'label': <'x'>})", "label" },
  };
  g_autofree char *path = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    refused (f, MANAGER_PATH, MANAGER, "SubmitMany", wrong[i][0], BAD_PARAM, wrong[i][1]);
  g_assert_cmpuint (dvmd_core_get_num_live (get_core (f)), ==, 0);
  g_assert_cmpuint (dvmd_core_get_statistics (get_core (f))->jobs_submitted, ==, 0);
  /* The numbers of those that came to nothing are given. */
  path = bus_client_submit (f->client, "true", NULL);
  g_assert_cmpstr (path, ==, "/org/dvm/jobs/1");
}

static GVariant *
make_many (guint n, const char *program, const char *end_with)
{
  GVariantBuilder jobs;
  const char *argv[] = { program, NULL };

  g_variant_builder_init (&jobs, G_VARIANT_TYPE ("a(asa{sv})"));
  for (guint i = 0; i < n; i++)
    g_variant_builder_add (&jobs, "(^as@a{sv})", argv, g_variant_new_parsed ("{'np': <uint32 1>}"));
  if (end_with != NULL)
    g_variant_builder_add (&jobs, "(^as@a{sv})", argv, g_variant_new_parsed (end_with));
  return g_variant_new ("(a(asa{sv})@a{sv})", &jobs, g_variant_new_parsed ("{'signals': <false>}"));
}

static void
test_ten_thousand (Fixture *f, gconstpointer data)
{
  g_autoptr (GVariant) reply = NULL;
  g_autoptr (GVariant) paths = NULL;

  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "SubmitMany", make_many (MANY, "hold", "{'np': <uint32 0>}"),
                      BAD_PARAM, "jobs[10000]");
  g_assert_cmpuint (dvmd_core_get_num_live (get_core (f)), ==, 0);
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "SubmitMany", make_many (50001, "hold", NULL), BAD_PARAM,
                      "use several calls");
  reply = bus_client_check (f->client, MANAGER_PATH, MANAGER, "SubmitMany", make_many (MANY, "hold", NULL));
  paths = g_variant_get_child_value (reply, 0);
  g_assert_cmpuint (g_variant_n_children (paths), ==, MANY);
  g_assert_cmpuint (dvmd_core_get_num_live (get_core (f)), ==, MANY);
}

/* Several calls, and all or none all the same. */
static void
test_parts (Fixture *f, gconstpointer data)
{
  static const char *const part =
      "([(['hold'], {'np': <uint32 1>}), (['hold'], @a{sv} {})], {'batch': <'a'>, 'more': <true>})";
  g_autofree char *first = ask (f, MANAGER_PATH, MANAGER, "SubmitMany", part);
  g_autofree char *between = bus_client_submit (f->client, "hold", NULL);
  g_autofree char *second = ask (f, MANAGER_PATH, MANAGER, "SubmitMany", part);
  g_autofree char *other = ask (f, MANAGER_PATH, MANAGER, "SubmitMany",
                                "([(['x'], @a{sv} {})], {'batch': <'b'>, 'more': <true>})");
  g_autofree char *last = NULL;
  g_autofree char *given_up = NULL;
  g_autofree char *rest = NULL;

  g_assert_cmpstr (first, ==, "([],)");
  g_assert_cmpstr (second, ==, "([],)");
  g_assert_cmpuint (dvmd_core_get_num_live (get_core (f)), ==, 1);
  last = ask (f, MANAGER_PATH, MANAGER, "SubmitMany", "([(['hold'], @a{sv} {})], {'batch': <'a'>})");
  g_assert_cmpstr (
      last, ==, "(['/org/dvm/jobs/1', '/org/dvm/jobs/2', '/org/dvm/jobs/4', '/org/dvm/jobs/5', '/org/dvm/jobs/7'],)");
  g_assert_cmpstr (between, ==, "/org/dvm/jobs/3");
  given_up = ask (f, MANAGER_PATH, MANAGER, "SubmitMany", "(@a(asa{sv}) [], {'batch': <'b'>, 'forget': <true>})");
  g_assert_cmpstr (given_up, ==, "([],)");
  /* The wrong job is named by its place in the whole, and nothing is left of the jobs that came before. */
  g_free (ask (f, MANAGER_PATH, MANAGER, "SubmitMany", part));
  refused (f, MANAGER_PATH, MANAGER, "SubmitMany", "([(['x'], {'np': <uint32 0>})], {'batch': <'a'>, 'more': <true>})",
           BAD_PARAM, "jobs[2]");
  rest = ask (f, MANAGER_PATH, MANAGER, "SubmitMany", "(@a(asa{sv}) [], {'batch': <'a'>})");
  g_assert_cmpstr (rest, ==, "([],)");
  g_assert_cmpuint (dvmd_core_get_num_live (get_core (f)), ==, 6);
}

static void
test_parts_refused (Fixture *f, gconstpointer data)
{
  static const char *const wrong[][2] = {
    { "([(['x'], @a{sv} {})], {'more': <true>})", "batch" },
    { "(@a(asa{sv}) [], {'forget': <true>})", "batch" },
    { "([(['x'], @a{sv} {})], {'batch': <''>})", "empty" },
    { "([(['x'], @a{sv} {})], {'batch': <'a'>, 'forget': <true>})", "forget" },
  };
  BusClient *other = bus_client_new_private (&f->bus);

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    refused (f, MANAGER_PATH, MANAGER, "SubmitMany", wrong[i][0], BAD_PARAM, wrong[i][1]);
  for (guint i = 0; i < 16; i++)
    {
      g_autofree char *call = g_strdup_printf ("([(['x'], @a{sv} {})], {'batch': <'%u'>, 'more': <true>})", i);

      g_variant_unref (bus_client_check (other, MANAGER_PATH, MANAGER, "SubmitMany", g_variant_new_parsed (call)));
    }
  bus_client_refused (other, MANAGER_PATH, MANAGER, "SubmitMany",
                      g_variant_new_parsed ("([(['x'], @a{sv} {})], {'batch': <'z'>, 'more': <true>})"),
                      "org.dvm.Error.OutOfResource", "16 batches");
  /* They are nobody else's, and go with the one who began them. */
  g_free (ask (f, MANAGER_PATH, MANAGER, "SubmitMany", "(@a(asa{sv}) [], {'batch': <'0'>})"));
  bus_client_free (other);
  g_assert_cmpuint (dvmd_core_get_num_live (get_core (f)), ==, 0);
}

static gboolean
count_turn (gpointer user_data)
{
  (*(guint *)user_data)++;
  return G_SOURCE_CONTINUE;
}

static void
on_reply (GObject *source, GAsyncResult *result, gpointer user_data)
{
  *(GVariant **)user_data = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, NULL);
  g_assert_nonnull (*(GVariant **)user_data);
}

/* Others have their turns in between, and jobs of theirs stand among the many in the order of the numbers. */
static void
test_slices (Fixture *f, gconstpointer data)
{
  g_autoptr (GVariant) reply = NULL;
  g_autoptr (GPtrArray) jobs = NULL;
  guint n_turns = 0;
  guint source = g_idle_add_full (G_PRIORITY_DEFAULT, count_turn, &n_turns, NULL);
  BusClient *other = bus_client_new_private (&f->bus);

  g_dbus_connection_call (f->client->connection, NULL, MANAGER_PATH, MANAGER, "SubmitMany",
                          make_many (MANY, "hold", NULL), NULL, G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL, on_reply,
                          &reply);
  while (reply == NULL)
    {
      g_autofree char *path = bus_client_submit (other, "hold", NULL);

      g_assert_nonnull (path);
    }
  g_source_remove (source);
  bus_client_free (other);
  g_assert_cmpuint (n_turns, >, 10);
  jobs = dvmd_core_list_jobs (get_core (f), FALSE);
  g_assert_cmpuint (jobs->len, >, MANY);
  for (guint i = 1; i < jobs->len; i++)
    g_assert_cmpuint (dvmd_job_get_id (jobs->pdata[i - 1]), <, dvmd_job_get_id (jobs->pdata[i]));
}

static void
test_caller_leaves (Fixture *f, gconstpointer data)
{
  BusClient *other = bus_client_new_private (&f->bus);
  guint n_live;

  g_dbus_connection_call (other->connection, NULL, MANAGER_PATH, MANAGER, "SubmitMany", make_many (MANY, "hold", NULL),
                          NULL, G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL, NULL, NULL);
  g_dbus_connection_flush_sync (other->connection, NULL, NULL);
  bus_iterate ();
  g_dbus_connection_close_sync (other->connection, NULL, NULL);
  bus_client_free (other);
  bus_client_sync (f->client);
  wait_until (dvmd_bus_server_get_n_connections (f->bus.server) == 1);
  n_live = dvmd_core_get_num_live (get_core (f));
  if (n_live > 0)
    wait_until (dvmd_core_get_num_live (get_core (f)) == MANY);
}

static void
test_shutdown (Fixture *f, gconstpointer data)
{
  g_autoptr (GVariant)
      reply = bus_client_check (f->client, MANAGER_PATH, MANAGER, "Shutdown", g_variant_new_parsed ("(@a{sv} {},)"));

  wait_until (dvmd_core_get_shutting_down (get_core (f)));
  refused (f, MANAGER_PATH, MANAGER, "SubmitMany", "([(['true'], @a{sv} {})], @a{sv} {})", SHUTTING_DOWN, NULL);
  refused (f, MANAGER_PATH, MANAGER, "Map", "([{'argv': <['true']>}], @a{sv} {})", SHUTTING_DOWN, NULL);
}

/* ---- Map ---- */

static void
test_map (Fixture *f, gconstpointer data)
{
  g_autofree char *map = ask (
      f, MANAGER_PATH, MANAGER, "Map",
      "([{'argv': <['a']>, 'np': <uint32 2>}, {'argv': <['b']>, 'np': <uint32 1>}], @a{sv} {})");
  g_autofree char *some = ask (f, MANAGER_PATH, MANAGER, "Map",
                               "([{'argv': <['a']>, 'np': <uint32 3>}], {'ranks': <'1,2-7'>})");

  g_assert_cmpstr (map, ==,
                   "([(0, 0, 0, 'here', '', '', ''), (1, 0, 1, 'here', '', '', ''), (2, 1, 2, "
                   "'here', '', '', '')],)");
  g_assert_cmpstr (some, ==, "([(1, 0, 1, 'here', '', '', ''), (2, 0, 2, 'here', '', '', '')],)");
  refused (f, MANAGER_PATH, MANAGER, "Map", "([{'argv': <['a']>, 'np': <uint32 3>}], {'ranks': <'1,7'>})", BAD_PARAM,
           "rank 7");
  g_assert_cmpuint (dvmd_core_get_statistics (get_core (f))->jobs_submitted, ==, 0);
  g_assert_cmpuint (dvmd_node_pool_count_slots_in_use (dvmd_core_get_nodes (get_core (f))), ==, 0);
}

static void
test_map_waits (Fixture *f, gconstpointer data)
{
  g_autofree char *job = bus_client_submit (f->client, "hold", "{'np': <uint32 3>}");
  g_autofree char *map = NULL;

  wait_until (dvmd_job_get_state (dvmd_core_get_job (get_core (f), 1)) == DVM_JOB_STATE_RUNNING);
  map = ask (f, MANAGER_PATH, MANAGER, "Map", "([{'argv': <['a']>, 'np': <uint32 2>}], {'ranks': <'0'>})");
  g_assert_cmpstr (map, ==, "([(0, 0, 0, 'here', '', '', 'waits for slots')],)");
  refused (f, MANAGER_PATH, MANAGER, "Map", "([{'argv': <['a']>, 'np': <uint32 2>}], {'when-full': <'refuse'>})",
           MAP_FAILED, "not to wait");
}

static void
test_map_refused (Fixture *f, gconstpointer data)
{
  static const char *const wrong[][3] = {
    { "(@aa{sv} [], @a{sv} {})", BAD_PARAM, NULL },
    { "([{'np': <uint32 1>}], @a{sv} {})", BAD_PARAM, "argv" },
    { "([{'argv': <['a']>}], {'colour': <'red'>})", BAD_PARAM, "colour" },
    { "([{'argv': <['a']>}], {'ranks': <uint32 1>})", BAD_PARAM, "ranks" },
    { "([{'argv': <['a']>, 'np': <uint32 1>}], {'ranks': <'3-1'>})", "org.dvm.Error.ParseFailed", "ranks" },
    { "([{'argv': <['a']>, 'np': <uint32 5>}], @a{sv} {})", MAP_FAILED, "4 slots" },
    { "([{'argv': <['a']>, 'hosts': <['nowhere']>}], @a{sv} {})", MAP_FAILED, "nowhere" },
    { "([{'argv': <['a']>, 'np': <uint32 65537>}], {'when-full': <'oversubscribe'>})", MAP_FAILED, "65537" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    refused (f, MANAGER_PATH, MANAGER, "Map", wrong[i][0], wrong[i][1], wrong[i][2]);
}

static void
test_map_of_job (Fixture *f, gconstpointer data)
{
  g_autofree char *first = bus_client_submit (f->client, "hold", "{'np': <uint32 4>}");
  g_autofree char *second = bus_client_submit (f->client, "hold", "{'np': <uint32 1>}");
  g_autofree char *map = NULL;
  g_autoptr (GVariant) cancelled = NULL;

  wait_until (dvmd_job_get_state (dvmd_core_get_job (get_core (f), 1)) == DVM_JOB_STATE_RUNNING);
  map = ask (f, first, JOB, "Map", "({'ranks': <'3'>},)");
  g_assert_cmpstr (map, ==, "([(3, 0, 3, 'here', '', '', '')],)");
  refused (f, first, JOB, "Map", "({'ranks': <'x'>},)", "org.dvm.Error.ParseFailed", "ranks");
  refused (f, first, JOB, "Map", "({'limit': <uint32 1>},)", BAD_PARAM, "limit");
  refused (f, second, JOB, "Map", "(@a{sv} {},)", NOT_READY, "not mapped yet");
  cancelled = bus_client_check (f->client, second, JOB, "Cancel", g_variant_new_parsed ("(@a{sv} {},)"));
  wait_until (dvmd_job_get_ended (dvmd_core_get_job (get_core (f), 2)));
  refused (f, second, JOB, "Map", "(@a{sv} {},)", NOT_FOUND, "before it was mapped");
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *path;
    void (*func) (Fixture *f, gconstpointer data);
  } tests[] = {
    { "/bus/submit-many", test_submit_many },
    { "/bus/submit-many/all-or-none", test_all_or_none },
    { "/bus/submit-many/ten-thousand", test_ten_thousand },
    { "/bus/submit-many/slices", test_slices },
    { "/bus/submit-many/parts", test_parts },
    { "/bus/submit-many/parts-refused", test_parts_refused },
    { "/bus/submit-many/caller-leaves", test_caller_leaves },
    { "/bus/submit-many/shutdown", test_shutdown },
    { "/bus/map", test_map },
    { "/bus/map/waits", test_map_waits },
    { "/bus/map/refused", test_map_refused },
    { "/bus/map/of-job", test_map_of_job },
  };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    g_test_add (tests[i].path, Fixture, NULL, set_up, tests[i].func, tear_down);
  return g_test_run ();
}

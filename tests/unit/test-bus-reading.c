/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Calls that name files, or are long: they are read beside the main loop, in the order in which they came.
 */

#include "config.h"

#include "bus-fixture.h"
#include "dvmd-core-sessions.h"
#include "fake-elastic.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/inotify.h>

#define OUT_OF_RESOURCE "org.dvm.Error.OutOfResource"
/* Some hundredths of a second's work, and half of what one call may name. */
#define MANY 100000
#define HALF 500000

typedef struct
{
  BusFixture bus;
  DvmdCore *core;
  BusClient *client;
  BusClient *other;
  char *hostfile; /* no host of it is a node: what becomes of such jobs is another matter */
  int opened;     /* inotify */
} Fixture;

static void
set_up (Fixture *f, gconstpointer n_hosts)
{
  DvmdController *controller = fake_controller_new_elastic (4, 100);
  g_autoptr (GString) text = g_string_new (NULL);

  bus_fixture_set_up (&f->bus, controller, NULL);
  f->core = dvmd_controller_get_core (controller);
  f->client = bus_client_new_private (&f->bus);
  f->other = bus_client_new_private (&f->bus);
  for (guint i = 0; i < GPOINTER_TO_UINT (n_hosts); i++)
    g_string_append_printf (text, "^host%u\n", i);
  f->hostfile = g_build_filename (f->bus.dir, "hostfile", NULL);
  g_assert_true (g_file_set_contents (f->hostfile, text->str, text->len, NULL));
  f->opened = inotify_init1 (IN_NONBLOCK | IN_CLOEXEC);
  g_assert_cmpint (inotify_add_watch (f->opened, f->hostfile, IN_OPEN), >=, 0);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  close (f->opened);
  g_unlink (f->hostfile);
  g_free (f->hostfile);
  bus_client_free (f->other);
  if (f->client != NULL)
    bus_client_free (f->client);
  bus_fixture_tear_down (&f->bus);
}

/* ---- calls that are under way ---- */

typedef struct
{
  GPtrArray *order; /* names, as the answers come */
  const char *name;
  GVariant *reply; /* (nullable) */
  GError *error;   /* (nullable) */
} Answer;

static void
on_answer (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Answer *answer = user_data;

  answer->reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &answer->error);
  g_ptr_array_add (answer->order, (gpointer)answer->name);
}

static void
answer_clear (Answer *answer)
{
  g_clear_pointer (&answer->reply, g_variant_unref);
  g_clear_error (&answer->error);
}

static void
send (BusClient *client, const char *path, const char *interface, const char *method, GVariant *parameters,
      Answer *answer)
{
  g_dbus_connection_call (client->connection, NULL, path, interface, method, parameters, NULL, G_DBUS_CALL_FLAGS_NONE,
                          G_MAXINT, NULL, on_answer, answer);
}

static gboolean
is_being_read (Fixture *f)
{
  char buffer[4096];

  return read (f->opened, buffer, sizeof buffer) > 0;
}

static GVariant *
make_submit (Fixture *f, const char *label)
{
  return g_variant_new_parsed ("(['hold'], {'np': <uint32 1>, 'hostfile': <%s>, 'label': <%s>})", f->hostfile, label);
}

static void
assert_path (const Answer *answer, const char *path)
{
  g_autofree char *text = NULL;

  g_assert_no_error (answer->error);
  text = g_variant_print (answer->reply, FALSE);
  g_assert_nonnull (strstr (text, path));
}

/* Those of one caller are done and answered as they came; those of another do not wait. */
static void
test_order (Fixture *f, gconstpointer data)
{
  g_autoptr (GPtrArray) order = g_ptr_array_new ();
  Answer first = { order, "first" };
  Answer second = { order, "second" };
  Answer many = { order, "many" };
  Answer list = { order, "list" };

  send (f->client, MANAGER_PATH, MANAGER, "Submit", make_submit (f, "first"), &first);
  send (f->client, MANAGER_PATH, MANAGER, "Submit", g_variant_new_parsed ("(['hold'], {'np': <uint32 1>})"), &second);
  send (f->client, MANAGER_PATH, MANAGER, "SubmitMany",
        g_variant_new_parsed ("([(['hold'], {'np': <uint32 1>}), (['hold'], {'np': <uint32 1>, 'hostfile': <%s>}), "
                              "(['hold'], {'np': <uint32 1>})], @a{sv} {})",
                              f->hostfile),
        &many);
  send (f->client, MANAGER_PATH, MANAGER, "ListJobs", g_variant_new_parsed ("(@a{sv} {},)"), &list);
  wait_until (is_being_read (f));
  bus_client_sync (f->other);
  g_variant_unref (
      bus_client_check (f->other, MANAGER_PATH, MANAGER, "ListPlugins", g_variant_new_parsed ("(@a{sv} {},)")));
  g_assert_cmpuint (order->len, ==, 0);
  wait_until (order->len == 4);
  assert_path (&first, "'/org/dvm/jobs/1'");
  assert_path (&second, "'/org/dvm/jobs/2'");
  assert_path (&many, "['/org/dvm/jobs/3', '/org/dvm/jobs/4', '/org/dvm/jobs/5']");
  g_assert_cmpstr (order->pdata[0], ==, "first");
  g_assert_cmpstr (order->pdata[1], ==, "second");
  g_assert_no_error (list.error);
  answer_clear (&first);
  answer_clear (&second);
  answer_clear (&many);
  answer_clear (&list);
}

/* How often the main loop comes around while a call is answered. */
static gboolean
on_tick (gpointer user_data)
{
  ++*(guint *)user_data;
  return G_SOURCE_CONTINUE;
}

static void
assert_beside (Fixture *f, const char *method, GVariant *parameters)
{
  g_autoptr (GPtrArray) order = g_ptr_array_new ();
  Answer answer = { order, method };
  guint n_ticks = 0;
  guint source;

  send (f->client, MANAGER_PATH, MANAGER, method, parameters, &answer);
  wait_until (is_being_read (f));
  source = g_timeout_add (1, on_tick, &n_ticks);
  wait_until (order->len == 1);
  g_source_remove (source);
  g_test_message ("%s: %u ticks, %s", method, n_ticks, answer.error != NULL ? answer.error->message : "done");
  g_assert_cmpuint (n_ticks, >, 5);
  answer_clear (&answer);
  while (is_being_read (f))
    ;
}

/* Every method that may name a file, while the main loop goes on. */
static void
test_beside (Fixture *f, gconstpointer data)
{
  const char *path = f->hostfile;

  assert_beside (f, "Submit", make_submit (f, "one"));
  assert_beside (f, "Submit", g_variant_new_parsed ("(['hold'], {'add-hostfile': <%s>})", path));
  assert_beside (f, "SubmitApps", g_variant_new_parsed ("([{'argv': <['hold']>, 'hostfile': <%s>}], @a{sv} {})", path));
  assert_beside (f, "SubmitMany", g_variant_new_parsed ("([(['hold'], {'hostfile': <%s>})], @a{sv} {})", path));
  assert_beside (f, "Map", g_variant_new_parsed ("([{'argv': <['hold']>, 'hostfile': <%s>}], @a{sv} {})", path));
  assert_beside (f, "Grow", g_variant_new_parsed ("({'hostfile': <%s>},)", path));
  assert_beside (f, "Shrink", g_variant_new_parsed ("({'hostfile': <%s>},)", path));
  assert_beside (f, "Allocate", g_variant_new_parsed ("('new', {'hostfile': <%s>})", path));
  assert_beside (f, "ControlSession",
                 g_variant_new_parsed ("(uint32 0, {'instantiate': <true>, 'hostfile': <%s>})", path));
  assert_beside (f, "ControlSession",
                 g_variant_new_parsed ("(uint32 0, {'instantiate': <true>, 'hosts': <['n9']>, "
                                       "'apps': <[{'argv': <['hold']>, 'hostfile': <%s>}]>})",
                                       path));
}

/* One who leaves before that has not called. */
static void
test_caller_leaves (Fixture *f, gconstpointer data)
{
  g_autoptr (GPtrArray) order = g_ptr_array_new ();
  Answer gone = { order, "gone" };
  Answer behind = { order, "behind" };
  g_autoptr (GVariant) reply = NULL;
  g_autofree char *path = NULL;

  send (f->client, MANAGER_PATH, MANAGER, "Submit", make_submit (f, "gone"), &gone);
  send (f->client, MANAGER_PATH, MANAGER, "Submit", g_variant_new_parsed ("(['hold'], {'np': <uint32 1>})"), &behind);
  wait_until (is_being_read (f));
  bus_client_free (g_steal_pointer (&f->client));
  wait_until (dvmd_bus_server_get_n_connections (f->bus.server) == 1);
  /* Twice as long as that was. */
  reply = bus_client_check (f->other, MANAGER_PATH, MANAGER, "Submit", make_submit (f, "after"));
  g_clear_pointer (&reply, g_variant_unref);
  reply = bus_client_check (f->other, MANAGER_PATH, MANAGER, "Submit", make_submit (f, "after"));
  path = g_variant_print (reply, FALSE);
  g_assert_cmpstr (path, ==, "('/org/dvm/jobs/2',)");
  g_assert_cmpuint (dvmd_core_get_statistics (f->core)->jobs_submitted, ==, 2);
  wait_until (order->len == 2);
  answer_clear (&gone);
  answer_clear (&behind);
}

/* A batch whose caller leaves is none. */
static void
test_batch_leaves (Fixture *f, gconstpointer data)
{
  g_autoptr (GPtrArray) order = g_ptr_array_new ();
  Answer gone = { order, "gone" };
  g_autoptr (GVariant) reply = NULL;

  send (f->client, MANAGER_PATH, MANAGER, "SubmitMany",
        g_variant_new_parsed ("([(['hold'], {'np': <uint32 1>, 'hostfile': <%s>})], @a{sv} {})", f->hostfile), &gone);
  wait_until (is_being_read (f));
  bus_client_free (g_steal_pointer (&f->client));
  wait_until (dvmd_bus_server_get_n_connections (f->bus.server) == 1);
  reply = bus_client_check (f->other, MANAGER_PATH, MANAGER, "Submit", make_submit (f, "after"));
  g_assert_cmpuint (dvmd_core_get_statistics (f->core)->jobs_submitted, ==, 1);
  wait_until (order->len == 1);
  answer_clear (&gone);
}

/* The session that is called may have gone when the file is read. */
static void
test_session_ends (Fixture *f, gconstpointer data)
{
  g_autoptr (GPtrArray) order = g_ptr_array_new ();
  Answer answer = { order, "extend" };
  g_autofree char *name = NULL;
  g_autoptr (GVariant) reply = bus_client_check (f->client, MANAGER_PATH, MANAGER, "Grow",
                                                 g_variant_new_parsed ("({'hosts': <['n9']>},)"));

  bus_client_wait_for (f->client, "*.DvmIsReady *");
  g_assert_nonnull (dvmd_core_get_session (f->core, 1));
  send (f->client, "/org/dvm/sessions/1", "org.dvm.Session", "Extend",
        g_variant_new_parsed ("({'hostfile': <%s>},)", f->hostfile), &answer);
  wait_until (is_being_read (f));
  g_clear_pointer (&reply, g_variant_unref);
  reply = bus_client_check (f->other, "/org/dvm/sessions/1", "org.dvm.Session", "Release",
                            g_variant_new_parsed ("(@a{sv} {},)"));
  wait_until (dvmd_core_get_session (f->core, 1) == NULL);
  g_assert_cmpuint (order->len, ==, 0);
  wait_until (order->len == 1);
  g_assert_nonnull (answer.error);
  answer_clear (&answer);
}

/* The limit is that of a call, however its hosts are divided among its jobs. */
static void
test_limits (Fixture *f, gconstpointer data)
{
  g_autofree char *one = g_strdup_printf ("(['hold'], {'np': <uint32 1>, 'hostfile': <'%s'>})", f->hostfile);
  g_autofree char *two = g_strdup_printf ("([%s, %s, (['hold'], {'np': <uint32 1>, 'hosts': <['n1']>})], @a{sv} {})",
                                          one, one);

  bus_client_refused (
      f->client, MANAGER_PATH, MANAGER, "SubmitMany", g_variant_new_parsed (two), OUT_OF_RESOURCE,
      "jobs[2]: apps[0].hosts: one call names 1000000 hosts at most, in all its lists and files together: "
      "use several calls");
  g_assert_cmpuint (dvmd_core_get_statistics (f->core)->jobs_submitted, ==, 0);
  g_variant_unref (bus_client_check (f->client, MANAGER_PATH, MANAGER, "Submit", make_submit (f, "alone")));
}

/* A long text without a file takes the same way, and means the same. */
static void
test_long_list (Fixture *f, gconstpointer data)
{
  g_autoptr (GString) hosts = g_string_new ("here");
  g_autofree char *path = NULL;
  DvmdJob *job;

  for (guint i = 0; i < 30000; i++)
    g_string_append (hosts, ",here");
  path = g_strdup_printf ("{'np': <uint32 2>, 'hosts': <['%s']>}", hosts->str);
  g_free (bus_client_submit (f->client, "hold", path));
  job = dvmd_core_get_job (f->core, 1);
  wait_until (dvmd_job_get_state (job) == DVM_JOB_STATE_RUNNING);
  g_string_append (hosts, ",+x");
  g_clear_pointer (&path, g_free);
  bus_client_refused (f->client, MANAGER_PATH, MANAGER, "Submit",
                      g_variant_new_parsed ("(['hold'], {'hosts': <[%s]>})", hosts->str), "org.dvm.Error.BadParam",
                      "“+x”");
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    void (*func) (Fixture *f, gconstpointer data);
    guint n_hosts;
  } tests[] = {
    { "/bus/reading/order", test_order, MANY },
    { "/bus/reading/beside", test_beside, MANY },
    { "/bus/reading/caller-leaves", test_caller_leaves, MANY },
    { "/bus/reading/batch-leaves", test_batch_leaves, MANY },
    { "/bus/reading/session-ends", test_session_ends, MANY },
    { "/bus/reading/limits", test_limits, HALF },
    { "/bus/reading/long-list", test_long_list, MANY },
  };

  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (tests); i++)
    g_test_add (tests[i].name, Fixture, GUINT_TO_POINTER (tests[i].n_hosts), set_up, tests[i].func, tear_down);
  return g_test_run ();
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Very many jobs, and those who look at them: whoever reads is not closed and knows in the end what there is.
 */

#include "config.h"

#include "bus-fixture.h"
#include "fake-controller.h"

#include <string.h>
#include <unistd.h>

#define OBJECT_MANAGER "org.freedesktop.DBus.ObjectManager"
#define N_SLOTS        4
/* Each takes more than 2 KiB of signals: several times what may wait for one connection. */
#define N_AT_ONCE 1500

/* A view is what a client knows of the jobs by one GetManagedObjects and the signals behind it. */
typedef struct
{
  BusClient *client;
  GMutex lock;
  GQueue messages;    /* GDBusMessage, as they have come */
  guint32 serial;     /* of GetManagedObjects */
  GHashTable *states; /* path -> state; NULL until that is answered */
  guint n_signals;
  guint n_quiet;
  GString *node; /* what was told of node 1 */
} View;

typedef struct
{
  BusFixture bus;
  BusClient *client;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  bus_fixture_set_up (&f->bus, fake_controller_new (N_SLOTS, 10), NULL);
  f->client = bus_client_new_private (&f->bus);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  bus_client_free (f->client);
  bus_fixture_tear_down (&f->bus);
}

/* In one turn of the main loop; the first one takes all slots, the others wait. */
static void
submit_many (Fixture *f, guint n)
{
  const char *argv[] = { "hold", NULL };
  const DvmdRequester nobody = { .name = (char *)"private:0", .uid = getuid () };
  const int no_fds[] = { -1, -1, -1 };

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (DvmJobSpec) spec = dvm_job_spec_new_for_argv (argv);
      g_autoptr (GError) error = NULL;

      dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), i == 0 ? N_SLOTS : 1);
      dvmd_controller_submit (f->bus.controller, spec, &nobody, no_fds, &error);
      g_assert_no_error (error);
    }
}

/* ---- a view ---- */

static GDBusMessage *
on_message (GDBusConnection *connection, GDBusMessage *message, gboolean incoming, gpointer user_data)
{
  View *view = user_data;

  if (!incoming)
    return message;
  g_mutex_lock (&view->lock);
  g_queue_push_tail (&view->messages, g_object_ref (message));
  g_mutex_unlock (&view->lock);
  return message;
}

static View *
view_new (Fixture *f)
{
  View *view = g_new0 (View, 1);

  view->client = bus_client_new_private (&f->bus);
  view->node = g_string_new (NULL);
  g_queue_init (&view->messages);
  g_mutex_init (&view->lock);
  g_dbus_connection_add_filter (view->client->connection, on_message, view, NULL);
  return view;
}

static void
view_free (View *view)
{
  g_dbus_connection_close_sync (view->client->connection, NULL, NULL);
  bus_client_free (view->client);
  g_queue_clear_full (&view->messages, g_object_unref);
  g_mutex_clear (&view->lock);
  g_string_free (view->node, TRUE);
  g_clear_pointer (&view->states, g_hash_table_unref);
  g_free (view);
}

static void
view_ask (View *view)
{
  g_autoptr (GDBusMessage)
      message = g_dbus_message_new_method_call (NULL, "/org/dvm", OBJECT_MANAGER, "GetManagedObjects");

  g_dbus_connection_send_message (view->client->connection, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, &view->serial,
                                  NULL);
}

static void
add_job (View *view, const char *path, GVariant *interfaces)
{
  g_autoptr (GVariant) properties = NULL;
  guint32 state;

  if (!g_variant_lookup (interfaces, JOB, "@a{sv}", &properties))
    return;
  g_assert_true (g_variant_lookup (properties, "State", "u", &state));
  g_hash_table_insert (view->states, g_strdup (path), GUINT_TO_POINTER (state));
}

static void
take_list (View *view, GVariant *body)
{
  g_autoptr (GVariantIter) iter = NULL;
  const char *path;
  GVariant *interfaces;

  view->states = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_variant_get (body, "(a{oa{sa{sv}}})", &iter);
  while (g_variant_iter_loop (iter, "{&o@a{sa{sv}}}", &path, &interfaces))
    add_job (view, path, interfaces);
}

static void
take_node_signal (View *view, const char *path, const char *member, GVariant *body)
{
  g_autoptr (GVariant) values = NULL;
  const char *reason;

  if (strcmp (member, "NodesChanged") == 0)
    g_string_append (view->node, "changed ");
  else if (strcmp (path, "/org/dvm/nodes/1") == 0)
    {
      g_variant_get_child (body, 1, "@a{sv}", &values);
      if (g_variant_lookup (values, "Reason", "&s", &reason))
        g_string_append_printf (view->node, "%s ", reason);
    }
}

static void
take_signal (View *view, GDBusMessage *message, GVariant *body)
{
  const char *member = g_dbus_message_get_member (message);
  const char *path = g_dbus_message_get_path (message);
  g_autoptr (GVariant) values = NULL;
  guint32 state;

  view->n_signals++;
  take_node_signal (view, path, member, body);
  if (view->states == NULL)
    return;
  if (strcmp (member, "InterfacesAdded") == 0)
    {
      g_variant_get (body, "(&o@a{sa{sv}})", &path, &values);
      add_job (view, path, values);
    }
  else if (strcmp (member, "InterfacesRemoved") == 0)
    {
      g_variant_get_child (body, 0, "&o", &path);
      g_hash_table_remove (view->states, path);
    }
  else if (strcmp (member, "PropertiesChanged") == 0 && g_hash_table_contains (view->states, path))
    {
      g_variant_get_child (body, 1, "@a{sv}", &values);
      if (g_variant_lookup (values, "State", "u", &state))
        g_hash_table_insert (view->states, g_strdup (path), GUINT_TO_POINTER (state));
    }
}

static gboolean
view_read (View *view)
{
  g_autoptr (GDBusMessage) message = NULL;

  g_mutex_lock (&view->lock);
  message = g_queue_pop_head (&view->messages);
  g_mutex_unlock (&view->lock);
  if (message == NULL)
    return FALSE;
  if (g_dbus_message_get_message_type (message) == G_DBUS_MESSAGE_TYPE_SIGNAL)
    take_signal (view, message, g_dbus_message_get_body (message));
  else if (g_dbus_message_get_reply_serial (message) == view->serial)
    take_list (view, g_dbus_message_get_body (message));
  return TRUE;
}

static gboolean
view_is_right (View *view, Fixture *f)
{
  DvmdCore *core = dvmd_controller_get_core (f->bus.controller);
  g_autoptr (GPtrArray) jobs = NULL;
  gboolean news = FALSE;

  while (view_read (view))
    news = TRUE;
  /* Looked at when something has come, and again when all is quiet. */
  if (view->states == NULL || (!news && view->n_quiet++ % 16 != 0))
    return FALSE;
  jobs = dvmd_core_list_jobs (core, FALSE);
  if (g_hash_table_size (view->states) != jobs->len)
    return FALSE;
  for (guint i = 0; i < jobs->len; i++)
    {
      g_autofree char *path = g_strdup_printf ("/org/dvm/jobs/%u", dvmd_job_get_id (jobs->pdata[i]));

      if (GPOINTER_TO_UINT (g_hash_table_lookup (view->states, path)) != dvmd_job_get_state (jobs->pdata[i]))
        return FALSE;
    }
  return TRUE;
}

/* ---- tests ---- */

/* One who is subscribed when thousands come in one turn, and one who comes late. */
static void
test_at_once (Fixture *f, gconstpointer data)
{
  View *early = view_new (f);
  View *late;

  g_variant_unref (bus_client_check (early->client, MANAGER_PATH, MANAGER, "Subscribe", NULL));
  view_ask (early);
  submit_many (f, N_AT_ONCE);
  late = view_new (f);
  view_ask (late);
  wait_until (view_is_right (early, f) && view_is_right (late, f));
  g_assert_cmpuint (g_hash_table_size (late->states), ==, N_AT_ONCE);
  view_free (early);
  view_free (late);
}

/* While the list is made its jobs end, and others come. */
static void
test_changing (Fixture *f, gconstpointer data)
{
  DvmdCore *core = dvmd_controller_get_core (f->bus.controller);
  View *view = view_new (f);
  guint turns;

  submit_many (f, 1000);
  wait_until (dvmd_job_get_state (dvmd_core_get_job (core, 1)) == DVM_JOB_STATE_RUNNING);
  view_ask (view);
  for (turns = 0; view->states == NULL; turns++)
    {
      DvmdJob *first = dvmd_core_get_job (core, turns + 1);

      if (first != NULL && dvmd_job_get_state (first) == DVM_JOB_STATE_RUNNING)
        fake_controller_end_job (f->bus.controller, first, 0);
      if (turns % 8 == 0)
        submit_many (f, 1);
      bus_iterate ();
      view_read (view);
    }
  wait_until (view_is_right (view, f));
  g_test_message ("%u turns, %u signals", turns, view->n_signals);
  view_free (view);
}

/* A client that is being given a list hears of nodes behind it: the values, then that they have changed. */
static void
test_nodes (Fixture *f, gconstpointer data)
{
  DvmdCore *core = dvmd_controller_get_core (f->bus.controller);
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (core), 1);
  View *view = view_new (f);
  g_autoptr (GError) error = NULL;

  submit_many (f, N_AT_ONCE);
  wait_until (dvmd_job_get_state (dvmd_core_get_job (core, 1)) == DVM_JOB_STATE_RUNNING);
  view_ask (view);
  g_variant_unref (bus_client_check (view->client, MANAGER_PATH, MANAGER, "Subscribe", NULL));
  g_assert_true (dvmd_core_drain_node (core, node, "first", &error));
  bus_client_sync (f->client);
  g_assert_true (dvmd_core_drain_node (core, node, "second", &error));
  bus_client_sync (f->client);
  while (view_read (view))
    ;
  g_assert_null (view->states);
  wait_until (view_is_right (view, f) && view->node->len > 0);
  g_assert_cmpstr (view->node->str, ==, "second changed ");
  view_free (view);
}

static void
on_reply (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);

  g_assert_no_error (error);
  (*(guint *)user_data)++;
}

/* Pages hold every job once, and are short enough to let others in. */
static void
test_pages (Fixture *f, gconstpointer data)
{
  g_autofree char *ids = g_strdup ("");
  guint n_pages = 0;
  guint n_rows = 0;
  guint n_answers = 0;

  submit_many (f, 2000);
  do
    {
      g_autoptr (GVariant) reply = NULL;
      g_autoptr (GVariant) rows = NULL;

      g_dbus_connection_call (f->client->connection, NULL, MANAGER_PATH, PROPERTIES, "Get",
                              g_variant_new ("(ss)", MANAGER, "State"), NULL, G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL,
                              on_reply, &n_answers);
      reply = bus_client_check (f->client, MANAGER_PATH, MANAGER, "ListJobs",
                                g_variant_new_parsed ("({'ids': <%s>},)", ids));
      rows = g_variant_get_child_value (reply, 0);
      g_assert_cmpuint (g_variant_get_size (rows), <, 1024 * 1024);
      n_rows += g_variant_n_children (rows);
      n_pages++;
      g_free (ids);
      g_variant_get_child (reply, 1, "s", &ids);
    }
  while (ids[0] != '\0');
  g_assert_cmpuint (n_rows, ==, 2000);
  g_assert_cmpuint (n_pages, >, 3);
  wait_until (n_answers == n_pages);
}

/* Bytes of all pages, and how many jobs they hold */
static gsize
measure_pages (Fixture *f, gboolean by_column, guint *n_pages, guint *n_jobs)
{
  g_autofree char *ids = g_strdup ("");
  gsize n_bytes = 0;

  *n_pages = *n_jobs = 0;
  do
    {
      g_autoptr (GVariant) reply = bus_client_check (
          f->client, MANAGER_PATH, MANAGER, "ListJobs",
          g_variant_new_parsed ("({'ids': <%s>, 'sparse': <true>, 'by-column': <%b>},)", ids, by_column));
      g_autoptr (GVariant) rows = g_variant_get_child_value (reply, 0);
      g_autoptr (GVariant) first = g_variant_get_child_value (rows, 0);
      g_autoptr (GVariant) known = g_variant_lookup_value (first, "Id", G_VARIANT_TYPE ("au"));

      g_assert_cmpuint (g_variant_get_size (rows), <, 256 * 1024);
      n_bytes += g_variant_get_size (rows);
      *n_jobs += g_variant_n_children (by_column ? known : rows);
      (*n_pages)++;
      g_free (ids);
      g_variant_get_child (reply, 1, "s", &ids);
    }
  while (ids[0] != '\0');
  return n_bytes;
}

/* A column has its name once, and not once for each job. */
static void
test_by_column (Fixture *f, gconstpointer data)
{
  guint n_pages, n_jobs, n_row_pages, n_row_jobs;
  gsize n_bytes, n_row_bytes;

  submit_many (f, 2000);
  n_bytes = measure_pages (f, TRUE, &n_pages, &n_jobs);
  n_row_bytes = measure_pages (f, FALSE, &n_row_pages, &n_row_jobs);
  g_test_message ("%u pages of %zu bytes by columns, %u of %zu by rows", n_pages, n_bytes, n_row_pages, n_row_bytes);
  g_assert_cmpuint (n_jobs, ==, 2000);
  g_assert_cmpuint (n_row_jobs, ==, 2000);
  g_assert_cmpuint (2 * n_bytes, <, n_row_bytes);
  g_assert_cmpuint (n_pages, >, 1);
  g_assert_cmpuint (n_pages, <, n_row_pages);
}

/* Every step of every job is told in debug messages: here they would be most of the work. */
static void
log_without_debug (const char *domain, GLogLevelFlags level, const char *message, gpointer user_data)
{
  if ((level & (G_LOG_LEVEL_DEBUG | G_LOG_LEVEL_INFO)) == 0)
    g_log_default_handler (domain, level, message, user_data);
}

int
main (int argc, char **argv)
{
  g_setenv ("LC_ALL", "C.UTF-8", TRUE);
  g_test_init (&argc, &argv, NULL);
  g_log_set_default_handler (log_without_debug, NULL);

  g_test_add ("/bus/load/at-once", Fixture, NULL, set_up, test_at_once, tear_down);
  g_test_add ("/bus/load/changing", Fixture, NULL, set_up, test_changing, tear_down);
  g_test_add ("/bus/load/nodes", Fixture, NULL, set_up, test_nodes, tear_down);
  g_test_add ("/bus/load/pages", Fixture, NULL, set_up, test_pages, tear_down);
  g_test_add ("/bus/load/by-column", Fixture, NULL, set_up, test_by_column, tear_down);
  return g_test_run ();
}

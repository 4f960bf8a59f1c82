/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Few rows are all read each time. Of many jobs only those are that a signal has named, and those that are seen.
 */

#include "config.h"

#include "dvm-cli-watch-feed.h"

#include <string.h>

#define MANAGER      "org.dvm.Manager"
#define MANAGER_PATH "/org/dvm/Manager"

/* Up to so many jobs all are read each time. */
#define FEW_JOBS 2048

/* At most this many agents are asked at a time, by a call each. */
#define MAX_MEASURED 64

/* The controller is not measured: among the ranks that are asked, this one stands for all. */
#define ALL_NODES 0

/* The load of many nodes by one call */
typedef struct
{
  DvmCliWatchFeed *feed; /* gone, if the call was cancelled */
  GArray *ranks;         /* (nullable): of nodes that are known; NULL: of all */
  GVariant *rows;        /* (nullable): it has not come, or was refused */
} Loads;

static void
loads_free (Loads *loads)
{
  g_clear_pointer (&loads->ranks, g_array_unref);
  g_clear_pointer (&loads->rows, g_variant_unref);
  g_free (loads);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Loads, loads_free)

struct _DvmCliWatchFeed
{
  DvmClient *client;
  DvmCliWatchModel *model;
  DvmCliWatchFeedFunc func;
  gpointer user_data;
  gulong handler;

  GDBusConnection *connection; /* (nullable): that is followed */
  char *instance;              /* (nullable): of the DVM that the model is of */
  GCancellable *cancellable;   /* of the calls of this connection */
  guint subscription;
  GHashTable *changed;                      /* ids of jobs */
  GHashTable *measured;                     /* ranks whose agents have been asked */
  GQueue to_measure;                        /* those that are asked after them */
  Loads *loads;                             /* (nullable): of nodes that are on their way */
  gboolean is_read[DVM_CLI_WATCH_N_PANELS]; /* whole, once */
  gboolean is_plain;                        /* the DVM is older: it tells all, and by rows */
  guint n_open;
  gboolean again;
  DvmCliWatchPanel panel; /* of the last refresh */
  GArray *visible;
  guint n_refreshes; /* of this connection */
};

/* A list that is on its way */
typedef struct
{
  DvmCliWatchFeed *feed; /* gone, if the call was cancelled */
  DvmCliWatchPanel panel;
  GArray *asked; /* (nullable): ids that were asked for; NULL: all */
  gboolean is_plain;
  char *ids;
} Page;

static void
page_free (Page *page)
{
  g_clear_pointer (&page->asked, g_array_unref);
  g_free (page->ids);
  g_free (page);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Page, page_free)

static gboolean
is_cancelled (const GError *error)
{
  return g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static void settle_loads (DvmCliWatchFeed *self);

static void
close_one (DvmCliWatchFeed *self, const GError *error)
{
  self->n_open--;
  if (error != NULL)
    self->func (error, self->user_data);
  if (self->n_open > 0)
    return;
  settle_loads (self);
  if (self->again)
    {
      g_autoptr (GArray) visible = g_array_copy (self->visible);

      self->again = FALSE;
      dvm_cli_watch_feed_refresh (self, self->panel, visible);
    }
  self->func (NULL, self->user_data);
}

/* ---- lists ---- */

static void ask_page (Page *page);

static gboolean
comes_by_column (const Page *page)
{
  return page->panel != DVM_CLI_WATCH_CAMPAIGNS && !page->is_plain;
}

static void
put_rows (Page *page, GVariant *rows)
{
  GVariantIter iter;
  gint64 now = g_get_real_time ();
  GVariant *row;

  g_variant_iter_init (&iter, rows);
  while (g_variant_iter_loop (&iter, "@a{sv}", &row))
    if (comes_by_column (page))
      dvm_cli_watch_model_put_columns (page->feed->model, page->panel, row, now);
    else
      dvm_cli_watch_model_put (page->feed->model, page->panel, row, now);
}

static void
on_page (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Page) page = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);
  g_autoptr (GVariant) rows = NULL;
  g_autoptr (GVariant) ids = NULL;
  const char *rest;

  if (is_cancelled (error))
    return;
  /* A DVM that is older refuses words of the filter that it does not know, and properties. */
  if (reply == NULL && !page->is_plain && g_error_matches (error, DVM_ERROR, DVM_ERROR_BAD_PARAM))
    {
      page->feed->is_plain = TRUE;
      ask_page (g_steal_pointer (&page));
      return;
    }
  if (reply == NULL)
    {
      g_dbus_error_strip_remote_error (error);
      close_one (page->feed, error);
      return;
    }
  rows = g_variant_get_child_value (reply, 0);
  ids = g_variant_get_child_value (reply, 1);
  rest = g_variant_get_string (ids, NULL);
  put_rows (page, rows);
  /* A DVM that does not get on would be asked for ever. */
  if (rest[0] != '\0' && strcmp (rest, page->ids) != 0)
    {
      g_free (page->ids);
      page->ids = g_strdup (rest);
      ask_page (g_steal_pointer (&page));
      return;
    }
  dvm_cli_watch_model_end (page->feed->model, page->panel, page->asked);
  page->feed->is_read[page->panel] = TRUE;
  close_one (page->feed, NULL);
}

static GVariant *
make_filter (Page *page)
{
  GVariantDict filter;

  g_variant_dict_init (&filter, NULL);
  if (!page->is_plain)
    g_variant_dict_insert_value (&filter, "columns", g_variant_new_strv (dvm_cli_watch_properties (page->panel), -1));
  if (comes_by_column (page))
    {
      g_variant_dict_insert (&filter, "sparse", "b", TRUE);
      g_variant_dict_insert (&filter, "by-column", "b", TRUE);
      g_variant_dict_insert (&filter, "once", "b", TRUE);
      g_variant_dict_insert (&filter, "packed", "b", TRUE);
    }
  if (page->panel == DVM_CLI_WATCH_NODES)
    return g_variant_new ("(s@a{sv})", page->ids, g_variant_dict_end (&filter));
  if (page->ids[0] != '\0')
    g_variant_dict_insert (&filter, "ids", "s", page->ids);
  if (dvm_cli_watch_model_get_all (page->feed->model))
    g_variant_dict_insert (&filter, "all", "b", TRUE);
  return g_variant_new ("(@a{sv})", g_variant_dict_end (&filter));
}

/* Takes it over. */
static void
ask_page (Page *page)
{
  static const char *const methods[] = { "ListJobs", "ListNodes", "ListCampaigns" };
  DvmCliWatchFeed *self = page->feed;

  page->is_plain = self->is_plain;
  g_dbus_connection_call (self->connection, dvm_client_get_dbus_name_owner (self->client), MANAGER_PATH, MANAGER,
                          methods[page->panel], make_filter (page), G_VARIANT_TYPE ("(aa{sv}s)"),
                          G_DBUS_CALL_FLAGS_NO_AUTO_START, G_MAXINT, self->cancellable, on_page, page);
}

static gint
compare_ids (gconstpointer a, gconstpointer b)
{
  guint one = *(const guint *)a;
  guint two = *(const guint *)b;

  return (one > two) - (one < two);
}

/* (transfer full): "1-3,7" */
static char *
format_ids (GArray *ids)
{
  GString *text = g_string_new (NULL);

  g_array_sort (ids, compare_ids);
  for (guint i = 0; i < ids->len;)
    {
      guint first = g_array_index (ids, guint, i);
      guint last = first;

      while (++i < ids->len && g_array_index (ids, guint, i) <= last + 1)
        last = g_array_index (ids, guint, i);
      g_string_append_printf (text, "%s%u", text->len > 0 ? "," : "", first);
      if (last > first)
        g_string_append_printf (text, "-%u", last);
    }
  return g_string_free (text, FALSE);
}

/* ids: (transfer full) (nullable): NULL: all */
static void
ask_list (DvmCliWatchFeed *self, DvmCliWatchPanel panel, GArray *ids)
{
  Page *page = g_new0 (Page, 1);

  page->feed = self;
  page->panel = panel;
  page->asked = ids;
  page->ids = ids != NULL ? format_ids (ids) : g_strdup ("");
  self->n_open++;
  dvm_cli_watch_model_begin (self->model, panel, ids);
  ask_page (page);
}

/* Those that the DVM has forgotten are found by reading all. */
static gboolean
has_too_many (DvmCliWatchFeed *self, guint n)
{
  guint limit = dvm_cli_watch_model_get_history_limit (self->model);

  return dvm_cli_watch_model_get_all (self->model) && limit > 0 && n > limit + limit / 4 + FEW_JOBS;
}

static void
ask_jobs (DvmCliWatchFeed *self)
{
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (guint));
  guint n = dvm_cli_watch_model_count (self->model, DVM_CLI_WATCH_JOBS);
  GHashTableIter iter;
  gpointer id;

  if (!self->is_read[DVM_CLI_WATCH_JOBS] || n <= FEW_JOBS || has_too_many (self, n))
    {
      g_hash_table_remove_all (self->changed);
      ask_list (self, DVM_CLI_WATCH_JOBS, NULL);
      return;
    }
  if (self->panel == DVM_CLI_WATCH_JOBS)
    g_array_append_vals (ids, self->visible->data, self->visible->len);
  g_hash_table_iter_init (&iter, self->changed);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    {
      guint number = GPOINTER_TO_UINT (id);

      g_array_append_val (ids, number);
    }
  g_hash_table_remove_all (self->changed);
  if (ids->len > 0)
    ask_list (self, DVM_CLI_WATCH_JOBS, g_steal_pointer (&ids));
}

/* ---- nodes are measured ---- */

typedef struct
{
  DvmCliWatchFeed *feed; /* gone, if the call was cancelled */
  guint rank;
} Measure;

static void measure_next (DvmCliWatchFeed *self);

static void
on_measured (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autofree Measure *measure = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) values = dvm_client_query_finish (DVM_CLIENT (source), result, &error);
  g_autoptr (GVariant) usage = NULL;

  if (is_cancelled (error))
    return;
  /* A node that does not tell has "-" there. */
  if (values != NULL)
    usage = g_variant_lookup_value (values, "node-usage", G_VARIANT_TYPE_VARDICT);
  g_hash_table_remove (measure->feed->measured, GUINT_TO_POINTER (measure->rank));
  dvm_cli_watch_model_set_usage (measure->feed->model, measure->rank, usage);
  measure_next (measure->feed);
  if (g_hash_table_size (measure->feed->measured) == 0)
    measure->feed->func (NULL, measure->feed->user_data);
}

static void
measure_node (DvmCliWatchFeed *self, guint rank)
{
  static const char *const keys[] = { "node-usage", NULL };
  const DvmCliWatchRow *row = dvm_cli_watch_model_lookup (self->model, DVM_CLI_WATCH_NODES, rank);
  GVariantDict qualifiers;
  Measure *measure;

  if (row == NULL || !g_hash_table_add (self->measured, GUINT_TO_POINTER (rank)))
    return;
  g_variant_dict_init (&qualifiers, NULL);
  g_variant_dict_insert (&qualifiers, "node", "s", row->texts[1]);
  measure = g_new (Measure, 1);
  *measure = (Measure){ self, rank };
  dvm_client_query_async (self->client, keys, g_variant_dict_end (&qualifiers), self->cancellable, on_measured,
                          measure);
}

static void
measure_next (DvmCliWatchFeed *self)
{
  while (!g_queue_is_empty (&self->to_measure) && g_hash_table_size (self->measured) < MAX_MEASURED)
    measure_node (self, GPOINTER_TO_UINT (g_queue_pop_head (&self->to_measure)));
}

/* (transfer full) (element-type guint) */
static GArray *
list_shown (DvmCliWatchModel *model)
{
  GArray *ranks = g_array_new (FALSE, FALSE, sizeof (guint));
  const DvmCliWatchRow *row;

  for (guint i = 0; (row = dvm_cli_watch_model_get (model, DVM_CLI_WATCH_NODES, i)) != NULL; i++)
    g_array_append_val (ranks, row->id);
  return ranks;
}

/* A node that is not among the rows has not answered. */
static void
put_loads (DvmCliWatchModel *model, const GArray *ranks, GVariant *rows)
{
  g_autoptr (GHashTable) told = g_hash_table_new (NULL, NULL);
  GVariantIter iter;
  guint64 total, unused;
  double load;
  guint rank;

  g_variant_iter_init (&iter, rows);
  while (g_variant_iter_next (&iter, "(udtt)", &rank, &load, &total, &unused))
    {
      g_hash_table_add (told, GUINT_TO_POINTER (rank));
      dvm_cli_watch_model_set_load (model, rank, load, total, unused);
    }
  for (guint i = 0; i < ranks->len; i++)
    if (!g_hash_table_contains (told, GUINT_TO_POINTER (g_array_index (ranks, guint, i))))
      dvm_cli_watch_model_set_load (model, g_array_index (ranks, guint, i), -1, 0, 0);
}

/* When the nodes are known, too. */
static void
settle_loads (DvmCliWatchFeed *self)
{
  g_autoptr (Loads) loads = g_steal_pointer (&self->loads);

  if (loads == NULL)
    return;
  g_hash_table_remove (self->measured, GUINT_TO_POINTER (ALL_NODES));
  if (loads->ranks == NULL)
    loads->ranks = list_shown (self->model);
  if (loads->rows != NULL)
    put_loads (self->model, loads->ranks, loads->rows);
  /* Users who may not ask for all may ask for each, and a DVM that is older knows that alone. */
  for (guint i = 0; loads->rows == NULL && i < loads->ranks->len; i++)
    g_queue_push_tail (&self->to_measure, GUINT_TO_POINTER (g_array_index (loads->ranks, guint, i)));
  measure_next (self);
}

static void
on_loads (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (Loads) loads = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) values = dvm_client_query_finish (DVM_CLIENT (source), result, &error);
  DvmCliWatchFeed *self = loads->feed;

  if (is_cancelled (error))
    return;
  if (values != NULL)
    loads->rows = g_variant_lookup_value (values, "node-loads", G_VARIANT_TYPE ("a(udtt)"));
  self->loads = g_steal_pointer (&loads);
  if (self->n_open > 0)
    return;
  settle_loads (self);
  if (g_hash_table_size (self->measured) == 0)
    self->func (NULL, self->user_data);
}

/* ranks: (transfer full) (nullable): NULL: all that are shown then */
static void
ask_loads (DvmCliWatchFeed *self, GArray *ranks)
{
  static const char *const keys[] = { "node-loads", NULL };
  Loads *loads = g_new0 (Loads, 1);

  loads->feed = self;
  loads->ranks = ranks;
  g_hash_table_add (self->measured, GUINT_TO_POINTER (ALL_NODES));
  dvm_client_query_async (self->client, keys, NULL, self->cancellable, on_loads, loads);
}

/* ---- the DVM itself ---- */

static void
on_info (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmCliWatchFeed *self = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) info = dvm_client_get_info_finish (DVM_CLIENT (source), result, &error);

  if (is_cancelled (error))
    return;
  if (info != NULL)
    dvm_cli_watch_model_set_info (self->model, info, g_get_real_time ());
  close_one (self, error);
}

static void
on_jobs_changed (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                 const char *name, GVariant *parameters, gpointer user_data)
{
  DvmCliWatchFeed *self = user_data;
  g_autoptr (GVariantIter) changes = NULL;
  const char *job;

  if (!g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(a(ouus))")))
    return;
  g_variant_get (parameters, "(a(ouus))", &changes);
  while (g_variant_iter_next (changes, "(&ouu&s)", &job, NULL, NULL, NULL))
    g_hash_table_add (self->changed, GUINT_TO_POINTER (g_ascii_strtoull (strrchr (job, '/') + 1, NULL, 10)));
}

static void
on_subscribed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;

  /* A user who may not subscribe sees rows that are old by a while. */
  if (!dvm_client_subscribe_finish (DVM_CLIENT (source), result, &error) && !is_cancelled (error))
    g_debug ("no signals: %s", error->message);
}

static void
stop_following (DvmCliWatchFeed *self)
{
  if (self->connection == NULL)
    return;
  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  g_dbus_connection_signal_unsubscribe (self->connection, self->subscription);
  g_clear_object (&self->connection);
  g_hash_table_remove_all (self->measured);
  g_queue_clear (&self->to_measure);
  g_clear_pointer (&self->loads, loads_free);
  self->n_open = 0;
  self->again = FALSE;
}

static void
start_following (DvmCliWatchFeed *self)
{
  const char *instance = dvm_client_get_instance_id (self->client);

  if (g_strcmp0 (self->instance, instance) != 0)
    dvm_cli_watch_model_clear (self->model);
  g_free (self->instance);
  self->instance = g_strdup (instance);
  self->connection = g_object_ref (dvm_client_get_dbus_connection (self->client));
  self->cancellable = g_cancellable_new ();
  self->subscription = g_dbus_connection_signal_subscribe (
      self->connection, dvm_client_get_dbus_name_owner (self->client), MANAGER, "JobsChanged", MANAGER_PATH, NULL,
      G_DBUS_SIGNAL_FLAGS_NONE, on_jobs_changed, self, NULL);
  self->n_refreshes = 0;
  self->is_plain = FALSE;
  dvm_cli_watch_feed_forget (self);
}

static void
on_connected_changed (DvmCliWatchFeed *self)
{
  gboolean connected = dvm_client_get_connected (self->client);

  stop_following (self);
  if (connected)
    start_following (self);
  self->func (NULL, self->user_data);
}

DvmCliWatchFeed *
dvm_cli_watch_feed_new (DvmClient *client, DvmCliWatchModel *model, DvmCliWatchFeedFunc func, gpointer user_data)
{
  DvmCliWatchFeed *self = g_new0 (DvmCliWatchFeed, 1);

  self->client = client;
  self->model = model;
  self->func = func;
  self->user_data = user_data;
  self->changed = g_hash_table_new (NULL, NULL);
  self->measured = g_hash_table_new (NULL, NULL);
  self->visible = g_array_new (FALSE, FALSE, sizeof (guint));
  self->handler = g_signal_connect_swapped (client, "notify::connected", G_CALLBACK (on_connected_changed), self);
  if (dvm_client_get_connected (client))
    start_following (self);
  return self;
}

void
dvm_cli_watch_feed_free (DvmCliWatchFeed *self)
{
  g_signal_handler_disconnect (self->client, self->handler);
  stop_following (self);
  g_hash_table_unref (self->changed);
  g_hash_table_unref (self->measured);
  g_array_unref (self->visible);
  g_free (self->instance);
  g_free (self);
}

void
dvm_cli_watch_feed_forget (DvmCliWatchFeed *self)
{
  memset (self->is_read, 0, sizeof self->is_read);
}

gboolean
dvm_cli_watch_feed_is_idle (DvmCliWatchFeed *self)
{
  return self->n_open == 0 && g_hash_table_size (self->measured) == 0;
}

/* A DVM that tells of changes watches each of its objects for us: one picture alone is not worth that, and from the
 * second one on nothing is missed, as it reads all again. */
static void
subscribe (DvmCliWatchFeed *self)
{
  self->is_read[DVM_CLI_WATCH_JOBS] = FALSE;
  dvm_client_subscribe_async (self->client, self->cancellable, on_subscribed, NULL);
}

static gboolean
wants (DvmCliWatchFeed *self, DvmCliWatchPanel panel)
{
  return self->panel == panel || self->panel == DVM_CLI_WATCH_N_PANELS || !self->is_read[panel];
}

/* Instead of those that wait for it. */
static void
measure_nodes (DvmCliWatchFeed *self, const GArray *ranks)
{
  g_queue_clear (&self->to_measure);
  if (self->connection != NULL && ranks->len > MAX_MEASURED)
    {
      if (!g_hash_table_contains (self->measured, GUINT_TO_POINTER (ALL_NODES)))
        ask_loads (self, g_array_copy ((GArray *)ranks));
      return;
    }
  for (guint i = 0; self->connection != NULL && i < ranks->len; i++)
    g_queue_push_tail (&self->to_measure, GUINT_TO_POINTER (g_array_index (ranks, guint, i)));
  measure_next (self);
}

void
dvm_cli_watch_feed_refresh (DvmCliWatchFeed *self, DvmCliWatchPanel panel, const GArray *visible)
{
  self->panel = panel;
  g_array_set_size (self->visible, 0);
  if (visible != NULL)
    g_array_append_vals (self->visible, visible->data, visible->len);
  if (self->connection == NULL)
    return;
  if (self->n_open > 0)
    {
      self->again = TRUE;
      return;
    }
  if (++self->n_refreshes == 2)
    subscribe (self);
  self->n_open++;
  dvm_client_get_info_async (self->client, self->cancellable, on_info, self);
  if (wants (self, DVM_CLI_WATCH_JOBS))
    ask_jobs (self);
  if (wants (self, DVM_CLI_WATCH_NODES))
    ask_list (self, DVM_CLI_WATCH_NODES, NULL);
  if (wants (self, DVM_CLI_WATCH_CAMPAIGNS))
    ask_list (self, DVM_CLI_WATCH_CAMPAIGNS, NULL);
  if (panel == DVM_CLI_WATCH_NODES)
    measure_nodes (self, self->visible);
  else
    g_queue_clear (&self->to_measure);
}

void
dvm_cli_watch_feed_measure_all (DvmCliWatchFeed *self)
{
  if (self->connection != NULL && !g_hash_table_contains (self->measured, GUINT_TO_POINTER (ALL_NODES)))
    ask_loads (self, NULL);
}

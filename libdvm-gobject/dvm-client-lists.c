/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lists for people who look: listed once, then kept up to date by signals. Each list changes by at most one splice per
 * turn of the main loop, however much has happened, and what stays is never taken out.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <string.h>

#include "dvm-client-private.h"

#define OBJECT_MANAGER "org.freedesktop.DBus.ObjectManager"

struct _DvmClientLists
{
  DvmClient *client; /* unowned: it owns us */
  GMainContext *context;
  GListStore *stores[DVM_N_KINDS];
  GHashTable *records; /* object path -> record, whether it is in its store yet or not */
  GPtrArray *added[DVM_N_KINDS];
  GHashTable *removed[DVM_N_KINDS]; /* set of records (owned) */
  guint settled[DVM_N_KINDS];       /* so many items at the front of a list are not among the removed */
  GSource *flush;                   /* (nullable): something is to be spliced */

  /* As long as there is a connection. */
  GDBusConnection *connection; /* (nullable) */
  GCancellable *cancellable;
  guint subscriptions[4];
  guint n_pending; /* answers, without which the lists are not whole */
  gboolean listing[DVM_N_KINDS];
  gboolean listed[DVM_N_KINDS]; /* once */
  GHashTable *gone;             /* paths that were removed while objects are being listed */
  GHashTable *touched;          /* paths of objects that changed before they were listed */
  GString *new_nodes;           /* ranks that no list has told of yet, as an id set */
};

static gboolean
find_kind (const char *interface, DvmKind *kind)
{
  for (DvmKind i = 0; i < DVM_N_KINDS; i++)
    if (strcmp (_dvm_kind_get_info (i)->interface, interface) == 0)
      {
        *kind = i;
        return TRUE;
      }
  return FALSE;
}

static gboolean
has_changes (DvmClientLists *self, DvmKind kind)
{
  return self->added[kind]->len > 0 || g_hash_table_size (self->removed[kind]) > 0;
}

static void
new_changes (DvmClientLists *self, DvmKind kind)
{
  self->added[kind] = g_ptr_array_new_with_free_func (g_object_unref);
  self->removed[kind] = g_hash_table_new_full (NULL, NULL, g_object_unref, NULL);
}

static gboolean
is_removed (DvmClientLists *self, DvmKind kind, guint position)
{
  g_autoptr (GObject) record = g_list_model_get_item (G_LIST_MODEL (self->stores[kind]), position);

  return g_hash_table_contains (self->removed[kind], record);
}

/* The tail is made of the last items that go, and the new ones behind them; first is where it begins. */
static guint
find_tail (DvmClientLists *self, DvmKind kind, guint n)
{
  guint first = n;

  while (first > 0 && is_removed (self, kind, first - 1))
    first--;
  return first;
}

/* The first items that go and are neighbours. */
static guint
find_run (DvmClientLists *self, DvmKind kind, guint n, guint *last)
{
  guint first = self->settled[kind];

  while (first < n && !is_removed (self, kind, first))
    first++;
  for (*last = first; *last < n && is_removed (self, kind, *last);)
    (*last)++;
  self->settled[kind] = first;
  return first;
}

static void
forget_removed (DvmClientLists *self, DvmKind kind, guint first, guint last)
{
  for (guint i = first; i < last; i++)
    {
      g_autoptr (GObject) record = g_list_model_get_item (G_LIST_MODEL (self->stores[kind]), i);

      g_hash_table_remove (self->removed[kind], record);
    }
}

/*
 * One change that leaves alone what stays: whoever shows the list loses the selection of an item that goes and comes
 * again. What is left is for the next turn.
 */
static void
splice (DvmClientLists *self, DvmKind kind)
{
  guint n = g_list_model_get_n_items (G_LIST_MODEL (self->stores[kind]));
  g_autoptr (GPtrArray) added = NULL;
  guint first;
  guint last = n;

  if (self->added[kind]->len > 0)
    {
      first = find_tail (self, kind, n);
      /* A handler of this change may cause the next one. */
      added = g_steal_pointer (&self->added[kind]);
      self->added[kind] = g_ptr_array_new_with_free_func (g_object_unref);
    }
  else
    first = find_run (self, kind, n, &last);
  forget_removed (self, kind, first, last);
  g_list_store_splice (self->stores[kind], first, last - first, added != NULL ? added->pdata : NULL,
                       added != NULL ? added->len : 0);
}

static void queue_flush (DvmClientLists *self);

static gboolean
on_flush (gpointer user_data)
{
  DvmClientLists *self = user_data;
  g_autoptr (DvmClient) client = g_object_ref (self->client);

  g_clear_pointer (&self->flush, g_source_unref);
  for (DvmKind kind = 0; kind < DVM_N_KINDS && client->lists == self; kind++)
    {
      if (has_changes (self, kind))
        splice (self, kind);
      if (client->lists == self && has_changes (self, kind))
        queue_flush (self);
    }
  if (client->lists == self && self->flush == NULL && self->connection != NULL && self->n_pending == 0)
    _dvm_client_set_loaded (client, TRUE);
  return G_SOURCE_REMOVE;
}

static void
queue_flush (DvmClientLists *self)
{
  if (self->flush != NULL)
    return;
  self->flush = g_idle_source_new ();
  g_source_set_priority (self->flush, G_PRIORITY_DEFAULT_IDLE);
  g_source_set_static_name (self->flush, "dvm-client-lists");
  g_source_set_callback (self->flush, on_flush, self, NULL);
  g_source_attach (self->flush, self->context);
}

static void
answered (DvmClientLists *self)
{
  self->n_pending--;
  /* The lists have what came with it after the next splice. */
  if (self->n_pending == 0)
    queue_flush (self);
}

static void
add_record (DvmClientLists *self, DvmKind kind, GObject *record)
{
  const char *path = _dvm_record_get_path (record);

  if (g_hash_table_contains (self->records, path))
    return;
  g_hash_table_insert (self->records, g_strdup (path), g_object_ref (record));
  g_ptr_array_add (self->added[kind], g_object_ref (record));
  queue_flush (self);
}

static void
remove_path (DvmClientLists *self, DvmKind kind, const char *path)
{
  GObject *record = g_hash_table_lookup (self->records, path);

  if (record == NULL)
    return;
  /* A record that has not been shown yet is never shown. */
  if (!g_ptr_array_remove (self->added[kind], record))
    {
      g_hash_table_add (self->removed[kind], g_object_ref (record));
      self->settled[kind] = 0;
    }
  g_hash_table_remove (self->records, path);
  queue_flush (self);
}

/* The answer to a list that was asked for may still name the object. */
static void
object_gone (DvmClientLists *self, DvmKind kind, const char *path)
{
  remove_path (self, kind, path);
  if (self->listing[kind])
    g_hash_table_add (self->gone, g_strdup (path));
}

static void
update_record (GObject *record, GVariant *properties)
{
  g_autoptr (GError) error = NULL;

  if (!_dvm_record_update (record, properties, &error))
    g_message ("%s: %s", _dvm_record_get_path (record), error->message);
}

static void
add_properties (DvmClientLists *self, DvmKind kind, GVariant *properties)
{
  g_autoptr (GObject) record = _dvm_kind_new_record (kind);
  GObject *known;

  update_record (record, properties);
  known = g_hash_table_lookup (self->records, _dvm_record_get_path (record));
  if (known != NULL)
    update_record (known, properties);
  else
    add_record (self, kind, record);
}

static void
on_added (GDBusConnection *connection, const char *sender, const char *path, const char *interface, const char *name,
          GVariant *parameters, gpointer user_data)
{
  DvmClientLists *self = user_data;
  g_autoptr (GVariantIter) iter = NULL;
  const char *added;
  GVariant *properties;
  DvmKind kind;

  if (!g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(oa{sa{sv}})")))
    return;
  g_variant_get (parameters, "(&oa{sa{sv}})", NULL, &iter);
  while (g_variant_iter_loop (iter, "{&s@a{sv}}", &added, &properties))
    if (find_kind (added, &kind))
      add_properties (self, kind, properties);
}

static void
on_removed (GDBusConnection *connection, const char *sender, const char *path, const char *interface, const char *name,
            GVariant *parameters, gpointer user_data)
{
  DvmClientLists *self = user_data;
  g_autofree const char **removed = NULL;
  const char *object;
  DvmKind kind;

  if (!g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(oas)")))
    return;
  g_variant_get (parameters, "(&o^a&s)", &object, &removed);
  for (gsize i = 0; removed[i] != NULL; i++)
    if (find_kind (removed[i], &kind))
      {
        object_gone (self, kind, object);
      }
}

static gboolean
is_listing (DvmClientLists *self)
{
  for (DvmKind kind = 0; kind < DVM_N_KINDS; kind++)
    if (self->listing[kind])
      return TRUE;
  return FALSE;
}

static void
on_changed (GDBusConnection *connection, const char *sender, const char *path, const char *interface, const char *name,
            GVariant *parameters, gpointer user_data)
{
  DvmClientLists *self = user_data;
  g_autoptr (GVariant) changed = NULL;
  g_autoptr (GObject) record = NULL;

  if (!g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(sa{sv}as)")))
    return;
  record = g_hash_table_lookup (self->records, path);
  if (record != NULL)
    {
      g_object_ref (record);
      g_variant_get (parameters, "(&s@a{sv}@as)", NULL, &changed, NULL);
      update_record (record, changed);
    }
  else if (is_listing (self))
    g_hash_table_add (self->touched, g_strdup (path));
}

static void
add_listed (DvmClientLists *self, DvmKind kind, GPtrArray *records)
{
  for (guint i = 0; i < records->len; i++)
    {
      const char *path = _dvm_record_get_path (records->pdata[i]);

      if (g_hash_table_contains (self->gone, path) || g_hash_table_contains (self->records, path))
        continue;
      if (g_hash_table_contains (self->touched, path))
        _dvm_client_refresh_async (self->client, records->pdata[i], NULL, self->cancellable, NULL, NULL);
      add_record (self, kind, records->pdata[i]);
    }
}

/* A cancelled answer comes when the lists do not exist any more. */
static gboolean
is_cancelled (GError *error)
{
  if (error == NULL || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return error != NULL;
  g_info ("a list cannot be had: %s", error->message);
  return FALSE;
}

static void list_new_nodes (DvmClientLists *self);

static void
on_list (DvmKind kind, GAsyncResult *result, DvmClientLists *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) records = _dvm_client_list_finish (result, &error);

  if (is_cancelled (error))
    return;
  if (records != NULL)
    add_listed (self, kind, records);
  self->listing[kind] = FALSE;
  if (!self->listed[kind])
    {
      self->listed[kind] = TRUE;
      answered (self);
    }
  list_new_nodes (self);
  if (is_listing (self))
    return;
  g_hash_table_remove_all (self->gone);
  g_hash_table_remove_all (self->touched);
}

static void
on_jobs (GObject *source, GAsyncResult *result, gpointer user_data)
{
  on_list (DVM_KIND_JOB, result, user_data);
}

static void
on_nodes (GObject *source, GAsyncResult *result, gpointer user_data)
{
  on_list (DVM_KIND_NODE, result, user_data);
}

static void
on_sessions (GObject *source, GAsyncResult *result, gpointer user_data)
{
  on_list (DVM_KIND_SESSION, result, user_data);
}

static void
on_campaigns (GObject *source, GAsyncResult *result, gpointer user_data)
{
  on_list (DVM_KIND_CAMPAIGN, result, user_data);
}

/* ids: "" for all */
static void
list_objects (DvmClientLists *self, DvmKind kind, const char *ids)
{
  static const GAsyncReadyCallback done[DVM_N_KINDS] = {
    [DVM_KIND_JOB] = on_jobs,
    [DVM_KIND_NODE] = on_nodes,
    [DVM_KIND_SESSION] = on_sessions,
    [DVM_KIND_CAMPAIGN] = on_campaigns,
  };

  self->listing[kind] = TRUE;
  _dvm_client_list_async (self->client, kind, FALSE, ids, NULL, self->cancellable, done[kind], self);
}

/* Nodes have no InterfacesAdded: there can be tens of thousands. */
static void
list_new_nodes (DvmClientLists *self)
{
  g_autofree char *ids = NULL;

  if (self->listing[DVM_KIND_NODE] || self->new_nodes->len == 0)
    return;
  ids = g_string_free (self->new_nodes, FALSE);
  self->new_nodes = g_string_new (NULL);
  list_objects (self, DVM_KIND_NODE, ids);
}

static void
on_nodes_changed (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                  const char *name, GVariant *parameters, gpointer user_data)
{
  DvmClientLists *self = user_data;
  g_autoptr (GVariantIter) iter = NULL;
  guint rank, state;

  if (!g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(a(uu))")))
    return;
  g_variant_get (parameters, "(a(uu))", &iter);
  while (g_variant_iter_next (iter, "(uu)", &rank, &state))
    {
      g_autofree char *node = g_strdup_printf (DVM_NODES_PATH "/%u", rank);

      if (state == DVM_NODE_STATE_NOT_INCLUDED)
        object_gone (self, DVM_KIND_NODE, node);
      else if (!g_hash_table_contains (self->records, node))
        g_string_append_printf (self->new_nodes, "%s%u", self->new_nodes->len > 0 ? "," : "", rank);
    }
  list_new_nodes (self);
}

static guint
subscribe (DvmClientLists *self, const char *interface, const char *member, const char *path,
           GDBusSignalCallback callback)
{
  /* One rule for all of them goes to a bus, which these calls cannot say. */
  return g_dbus_connection_signal_subscribe (self->connection, self->client->owner, interface, member, path, NULL,
                                             G_DBUS_SIGNAL_FLAGS_NO_MATCH_RULE, callback, self, NULL);
}

static void
ask_for_signals (DvmClientLists *self)
{
  DvmClient *client = self->client;

  self->subscriptions[0] = subscribe (self, OBJECT_MANAGER, "InterfacesAdded", "/org/dvm", on_added);
  self->subscriptions[1] = subscribe (self, OBJECT_MANAGER, "InterfacesRemoved", "/org/dvm", on_removed);
  self->subscriptions[2] = subscribe (self, DVM_PROPERTIES, "PropertiesChanged", NULL, on_changed);
  self->subscriptions[3] = subscribe (self, DVM_MANAGER_INTERFACE, "NodesChanged", DVM_MANAGER_PATH, on_nodes_changed);
  if (client->owner != NULL)
    {
      g_autofree char *rule = g_strdup_printf ("type='signal',sender='%s',path_namespace='/org/dvm'", client->owner);

      g_dbus_connection_call (self->connection, DVM_BUS_NAME, DVM_BUS_PATH, DVM_BUS_NAME, "AddMatch",
                              g_variant_new ("(s)", rule), NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL, NULL);
    }
  g_dbus_connection_call (self->connection, client->owner, DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "Subscribe", NULL,
                          NULL, G_DBUS_CALL_FLAGS_NO_AUTO_START, -1, NULL, NULL, NULL);
}

void
_dvm_client_lists_connected (DvmClientLists *self)
{
  g_return_if_fail (self->connection == NULL);

  self->connection = g_object_ref (self->client->connection);
  self->cancellable = g_cancellable_new ();
  g_main_context_push_thread_default (self->context);
  ask_for_signals (self);
  self->n_pending = DVM_N_KINDS;
  g_string_truncate (self->new_nodes, 0);
  for (DvmKind kind = 0; kind < DVM_N_KINDS; kind++)
    {
      self->listed[kind] = FALSE;
      list_objects (self, kind, "");
    }
  g_main_context_pop_thread_default (self->context);
}

static void
disconnect (DvmClientLists *self)
{
  if (self->connection == NULL)
    return;
  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  for (gsize i = 0; i < G_N_ELEMENTS (self->subscriptions); i++)
    g_dbus_connection_signal_unsubscribe (self->connection, self->subscriptions[i]);
  g_clear_object (&self->connection);
}

void
_dvm_client_lists_lost (DvmClientLists *self)
{
  disconnect (self);
  g_hash_table_remove_all (self->records);
  g_hash_table_remove_all (self->gone);
  g_hash_table_remove_all (self->touched);
  for (DvmKind kind = 0; kind < DVM_N_KINDS; kind++)
    {
      GListModel *model = G_LIST_MODEL (self->stores[kind]);

      g_ptr_array_set_size (self->added[kind], 0);
      self->settled[kind] = 0;
      for (guint i = 0; i < g_list_model_get_n_items (model); i++)
        g_hash_table_add (self->removed[kind], g_list_model_get_item (model, i));
    }
  queue_flush (self);
  _dvm_client_set_loaded (self->client, FALSE);
}

static DvmClientLists *
lists_new (DvmClient *client)
{
  DvmClientLists *self = g_new0 (DvmClientLists, 1);

  self->client = client;
  self->context = g_main_context_ref_thread_default ();
  self->records = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
  self->new_nodes = g_string_new (NULL);
  self->gone = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->touched = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (DvmKind kind = 0; kind < DVM_N_KINDS; kind++)
    {
      self->stores[kind] = g_list_store_new (_dvm_kind_get_info (kind)->get_type ());
      new_changes (self, kind);
    }
  return self;
}

void
_dvm_client_lists_free (DvmClientLists *self)
{
  disconnect (self);
  if (self->flush != NULL)
    g_source_destroy (self->flush);
  g_clear_pointer (&self->flush, g_source_unref);
  for (DvmKind kind = 0; kind < DVM_N_KINDS; kind++)
    {
      g_object_unref (self->stores[kind]);
      g_ptr_array_unref (self->added[kind]);
      g_hash_table_unref (self->removed[kind]);
    }
  g_string_free (self->new_nodes, TRUE);
  g_hash_table_unref (self->records);
  g_hash_table_unref (self->gone);
  g_hash_table_unref (self->touched);
  g_main_context_unref (self->context);
  g_free (self);
}

static GListModel *
get_list (DvmClient *client, DvmKind kind)
{
  if (client->lists == NULL)
    {
      client->lists = lists_new (client);
      if (dvm_client_get_connected (client))
        _dvm_client_lists_connected (client->lists);
    }
  return G_LIST_MODEL (client->lists->stores[kind]);
}

/**
 * dvm_client_get_jobs:
 * @self: a client, connected or not yet
 *
 * The live jobs of the DVM, in the order in which they came. A job leaves the list when it has ended and everybody has
 * been told. The records change with the jobs; a state that is passed quickly may not be seen here:
 * dvm_client_watch_job() tells of each.
 *
 * The list is empty at first and is filled in the main context that is the thread's default when the first list is
 * asked for; #DvmClient:loaded tells when it is. It changes at most once per turn of the main loop. It is emptied when
 * the connection is lost, and filled again when there is a new one.
 *
 * Returns: (transfer none): a list of #DvmJob, always the same one
 * Since: 0.1
 */
GListModel *
dvm_client_get_jobs (DvmClient *self)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  return get_list (self, DVM_KIND_JOB);
}

/**
 * dvm_client_get_nodes:
 * @self: a client, connected or not yet
 *
 * The nodes of the DVM, the controller (rank 0) among them.
 *
 * The list is empty at first and is filled in the main context that is the thread's default when the first list is
 * asked for; #DvmClient:loaded tells when it is. It changes at most once per turn of the main loop. It is emptied when
 * the connection is lost, and filled again when there is a new one.
 *
 * Returns: (transfer none): a list of #DvmNode, always the same one
 * Since: 0.1
 */
GListModel *
dvm_client_get_nodes (DvmClient *self)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  return get_list (self, DVM_KIND_NODE);
}

/**
 * dvm_client_get_sessions:
 * @self: a client, connected or not yet
 *
 * The sessions of the DVM; the default one is always there.
 *
 * The list is empty at first and is filled in the main context that is the thread's default when the first list is
 * asked for; #DvmClient:loaded tells when it is. It changes at most once per turn of the main loop. It is emptied when
 * the connection is lost, and filled again when there is a new one.
 *
 * Returns: (transfer none): a list of #DvmSession, always the same one
 * Since: 0.1
 */
GListModel *
dvm_client_get_sessions (DvmClient *self)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  return get_list (self, DVM_KIND_SESSION);
}

/**
 * dvm_client_get_campaigns:
 * @self: a client, connected or not yet
 *
 * The campaigns that are running.
 *
 * The list is empty at first and is filled in the main context that is the thread's default when the first list is
 * asked for; #DvmClient:loaded tells when it is. It changes at most once per turn of the main loop. It is emptied when
 * the connection is lost, and filled again when there is a new one.
 *
 * Returns: (transfer none): a list of #DvmCampaign, always the same one
 * Since: 0.1
 */
GListModel *
dvm_client_get_campaigns (DvmClient *self)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  return get_list (self, DVM_KIND_CAMPAIGN);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The changes that a slow connection has not been told of are kept, as the last state of each object.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-dbus-interfaces.h"
#include "dvmd-bus-behind.h"
#include "dvmd-bus-node-changes.h"

typedef struct
{
  guint id;
  gboolean added;
  gboolean ended;
  guint64 fields;
  gboolean has_state;
  guint old_state;
  guint new_state;
  char *reason;
  GArray *procs; /* (nullable) DvmdBusProcChange */
} MissedJob;

typedef struct
{
  const DvmdBusClass *klass;
  GList *link; /* in object_order */
  guint id;
  char *path;
  gboolean added;
  gboolean changed;
  gboolean ended;
  char *old_state; /* (nullable): it did not change */
  char *new_state;
  char *reason;
} MissedObject;

typedef struct
{
  char *destination; /* (nullable) */
  char *signal;
  GVariant *body;
} MissedDirected;

struct _DvmdBusBehind
{
  GHashTable *jobs; /* id -> MissedJob, owned by order */
  GQueue order;
  DvmdBusNodeChanges *nodes;
  GHashTable *objects; /* path -> MissedObject, owned by object_order */
  GQueue object_order;
  GQueue directed;
};

static void
missed_job_free (gpointer data)
{
  MissedJob *job = data;

  g_free (job->reason);
  g_clear_pointer (&job->procs, g_array_unref);
  g_free (job);
}

static void
missed_object_free (gpointer data)
{
  MissedObject *object = data;

  g_free (object->path);
  g_free (object->old_state);
  g_free (object->new_state);
  g_free (object->reason);
  g_free (object);
}

static void
missed_directed_free (gpointer data)
{
  MissedDirected *directed = data;

  g_free (directed->destination);
  g_free (directed->signal);
  g_variant_unref (directed->body);
  g_free (directed);
}

DvmdBusBehind *
dvmd_bus_behind_new (void)
{
  DvmdBusBehind *self = g_new0 (DvmdBusBehind, 1);

  self->jobs = g_hash_table_new (NULL, NULL);
  g_queue_init (&self->order);
  self->objects = g_hash_table_new (g_str_hash, g_str_equal);
  g_queue_init (&self->object_order);
  g_queue_init (&self->directed);
  self->nodes = dvmd_bus_node_changes_new ();
  return self;
}

void
dvmd_bus_behind_free (DvmdBusBehind *self)
{
  g_hash_table_unref (self->jobs);
  g_queue_clear_full (&self->order, missed_job_free);
  g_hash_table_unref (self->objects);
  g_queue_clear_full (&self->object_order, missed_object_free);
  g_queue_clear_full (&self->directed, missed_directed_free);
  dvmd_bus_node_changes_free (self->nodes);
  g_free (self);
}

static MissedJob *
get_job (DvmdBusBehind *self, guint id)
{
  MissedJob *job = g_hash_table_lookup (self->jobs, GUINT_TO_POINTER (id));

  if (job != NULL)
    return job;
  job = g_new0 (MissedJob, 1);
  job->id = id;
  g_hash_table_insert (self->jobs, GUINT_TO_POINTER (id), job);
  g_queue_push_tail (&self->order, job);
  return job;
}

static void
miss_states (MissedJob *job, GArray *states)
{
  const DvmdBusStateChange *last;

  if (states->len == 0)
    return;
  last = &g_array_index (states, DvmdBusStateChange, states->len - 1);
  if (!job->has_state)
    job->old_state = g_array_index (states, DvmdBusStateChange, 0).old_state;
  job->has_state = TRUE;
  job->new_state = last->new_state;
  g_free (job->reason);
  job->reason = g_strdup (last->reason);
}

/* One row for each process: from its first old state to its last new one. */
static void
merge_procs (GArray *procs)
{
  g_autoptr (GHashTable) rows = g_hash_table_new (NULL, NULL);
  guint n = 0;

  for (guint i = 0; i < procs->len; i++)
    {
      DvmdBusProcChange change = g_array_index (procs, DvmdBusProcChange, i);
      gpointer row;

      if (g_hash_table_lookup_extended (rows, GUINT_TO_POINTER (change.rank), NULL, &row))
        {
          g_array_index (procs, DvmdBusProcChange, GPOINTER_TO_UINT (row)).new_state = change.new_state;
          continue;
        }
      g_hash_table_insert (rows, GUINT_TO_POINTER (change.rank), GUINT_TO_POINTER (n));
      g_array_index (procs, DvmdBusProcChange, n++) = change;
    }
  g_array_set_size (procs, n);
}

static void
miss_procs (MissedJob *job, GArray *procs, guint n_procs)
{
  if (procs->len == 0)
    return;
  if (job->procs == NULL)
    job->procs = g_array_new (FALSE, FALSE, sizeof (DvmdBusProcChange));
  g_array_append_vals (job->procs, procs->data, procs->len);
  if (job->procs->len > 4 * n_procs + 16)
    merge_procs (job->procs);
}

void
dvmd_bus_behind_miss_job (DvmdBusBehind *self, const DvmdBusLiveJob *live, gboolean added, guint64 fields,
                          gboolean follows)
{
  MissedJob *job = get_job (self, dvmd_job_get_id (live->job));

  job->added |= added;
  job->fields |= fields;
  job->ended |= live->ended;
  if (!follows)
    return;
  miss_states (job, live->states);
  miss_procs (job, live->procs, dvm_job_get_num_procs (dvmd_job_get_record (live->job)));
  /* Many may end while somebody sleeps, and each with many processes. */
  if (job->ended)
    g_clear_pointer (&job->procs, g_array_unref);
}

void
dvmd_bus_behind_miss_node (DvmdBusBehind *self, guint rank, guint what)
{
  dvmd_bus_node_changes_add (self->nodes, rank, what);
}

static MissedObject *
get_object (DvmdBusBehind *self, const DvmdBusWatched *watched)
{
  MissedObject *object = g_hash_table_lookup (self->objects, watched->path);

  if (object != NULL)
    return object;
  object = g_new0 (MissedObject, 1);
  object->klass = watched->klass;
  object->id = watched->id;
  object->path = g_strdup (watched->path);
  g_hash_table_insert (self->objects, object->path, object);
  g_queue_push_tail (&self->object_order, object);
  object->link = self->object_order.tail;
  return object;
}

static void
forget_object (DvmdBusBehind *self, MissedObject *object)
{
  g_hash_table_remove (self->objects, object->path);
  g_queue_delete_link (&self->object_order, object->link);
  missed_object_free (object);
}

void
dvmd_bus_behind_miss_object (DvmdBusBehind *self, const DvmdBusWatched *watched, gboolean added, gboolean changed)
{
  MissedObject *object = get_object (self, watched);
  const DvmdBusWordChange *last;

  object->added |= added;
  object->changed |= changed;
  object->ended |= watched->ended;
  /* A session that has come and gone cannot be found any more, and will not be told of: many may do so. */
  if (object->added && object->ended && object->klass == &dvmd_bus_sessions.klass)
    {
      forget_object (self, object);
      return;
    }
  if (watched->states->len == 0)
    return;
  last = &g_array_index (watched->states, DvmdBusWordChange, watched->states->len - 1);
  if (object->old_state == NULL)
    object->old_state = g_strdup (g_array_index (watched->states, DvmdBusWordChange, 0).old_state);
  g_free (object->new_state);
  g_free (object->reason);
  object->new_state = g_strdup (last->new_state);
  object->reason = g_strdup (last->reason);
}

void
dvmd_bus_behind_miss_directed (DvmdBusBehind *self, const char *destination, const char *signal, GVariant *body)
{
  MissedDirected *directed = g_new0 (MissedDirected, 1);

  directed->destination = g_strdup (destination);
  directed->signal = g_strdup (signal);
  directed->body = g_variant_ref_sink (body);
  g_queue_push_tail (&self->directed, directed);
}

guint
dvmd_bus_behind_get_size (DvmdBusBehind *self)
{
  return self->order.length + self->object_order.length;
}

/* ---- telling it ---- */

static void
send_procs (DvmdBusPeer *peer, const char *path, GArray *procs)
{
  guint position = 0;
  GVariant *body;

  merge_procs (procs);
  while ((body = dvmd_bus_proc_changes_take (procs, &position)) != NULL)
    dvmd_bus_peer_send_signal (peer, path, dvm_dbus_job_interface.name, "ProcStateChanged", body);
}

static void
send_values (DvmdBusPeer *peer, const char *path, const MissedJob *missed, DvmdJob *job)
{
  if (missed->added)
    dvmd_bus_peer_send_signal (
        peer, "/org/dvm", "org.freedesktop.DBus.ObjectManager", "InterfacesAdded",
        g_variant_new ("(o@a{sa{sv}})", path, dvmd_bus_get_interfaces (peer->server, &dvmd_bus_jobs.klass, job)));
  else if (missed->fields != 0)
    dvmd_bus_peer_send_signal (peer, path, DVMD_BUS_PROPERTIES_INTERFACE, "PropertiesChanged",
                               g_variant_new ("(s@a{sv}@as)", dvm_dbus_job_interface.name,
                                              dvmd_bus_job_get_fields (job, missed->fields),
                                              g_variant_new_strv (NULL, 0)));
}

static void
send_job (DvmdBusPeer *peer, const MissedJob *missed)
{
  const char *const interfaces[] = { dvm_dbus_job_interface.name, NULL };
  DvmdJob *job = dvmd_core_get_job (peer->server->core, missed->id);
  g_autofree char *path = dvmd_bus_job_path (missed->id);

  /* One that has been forgotten meanwhile has no values any more. */
  if (job != NULL)
    send_values (peer, path, missed, job);
  if (missed->procs != NULL)
    send_procs (peer, path, missed->procs);
  if (missed->has_state)
    dvmd_bus_peer_send_signal (
        peer, path, dvm_dbus_job_interface.name, "StateChanged",
        g_variant_new ("(uus)", missed->old_state, missed->new_state, missed->reason != NULL ? missed->reason : ""));
  if (missed->ended && (job != NULL || !missed->added))
    dvmd_bus_peer_send_signal (peer, "/org/dvm", "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved",
                               g_variant_new ("(o^as)", path, interfaces));
}

/* FALSE: not all of them yet */
static gboolean
send_nodes (DvmdBusBehind *self, DvmdBusPeer *peer, gsize most, gint64 until)
{
  GVariant *states;

  while (!dvmd_bus_node_changes_is_empty (self->nodes))
    {
      g_autofree char *path = NULL;
      const DvmdBusNodeChange *change;
      GVariant *body;

      if (dvmd_bus_backlog_get_bytes (peer->backlog) >= most || g_get_monotonic_time () >= until)
        return FALSE;
      body = dvmd_bus_node_changes_take (self->nodes, peer->server, &change);
      path = dvmd_bus_node_path (change->rank);
      if (body != NULL)
        dvmd_bus_peer_send_signal (peer, path, DVMD_BUS_PROPERTIES_INTERFACE, "PropertiesChanged", body);
    }
  states = dvmd_bus_node_changes_get_states (self->nodes);
  dvmd_bus_node_changes_free (self->nodes);
  self->nodes = dvmd_bus_node_changes_new ();
  if (states == NULL)
    return TRUE;
  g_variant_ref_sink (states);
  if (dvmd_bus_peer_is_subscribed (peer))
    dvmd_bus_peer_send_signal (peer, DVMD_BUS_MANAGER_PATH, dvm_dbus_manager_interface.name, "NodesChanged", states);
  g_variant_unref (states);
  return TRUE;
}

static void
send_object_values (DvmdBusPeer *peer, const MissedObject *missed, gpointer object)
{
  DvmdBusServer *server = peer->server;
  GVariant *values;

  if (missed->added)
    {
      dvmd_bus_peer_send_signal (
          peer, "/org/dvm", "org.freedesktop.DBus.ObjectManager", "InterfacesAdded",
          g_variant_new ("(o@a{sa{sv}})", missed->path, dvmd_bus_get_interfaces (server, missed->klass, object)));
      return;
    }
  if (!missed->changed)
    return;
  values = dvmd_bus_signals_get_sent (server->signals, missed->path);
  if (values == NULL)
    values = dvmd_bus_get_all (server, missed->klass, object);
  dvmd_bus_peer_send_signal (
      peer, missed->path, DVMD_BUS_PROPERTIES_INTERFACE, "PropertiesChanged",
      g_variant_new ("(s@a{sv}@as)", missed->klass->interface->name, values, g_variant_new_strv (NULL, 0)));
}

/* As a job: one that came and went, and cannot be found any more, is not named. */
static void
send_object (DvmdBusPeer *peer, const MissedObject *missed)
{
  const char *const interfaces[] = { missed->klass->interface->name, NULL };
  g_autoptr (GError) error = NULL;
  gpointer object = missed->klass->find != NULL ? missed->klass->find (peer->server, missed->id, &error) : NULL;

  if (error == NULL)
    send_object_values (peer, missed, object);
  else if (missed->added)
    return;
  if (missed->old_state != NULL)
    dvmd_bus_peer_send_signal (peer, missed->path, interfaces[0], "StateChanged",
                               g_variant_new ("(sss)", missed->old_state, missed->new_state, missed->reason));
  if (missed->ended)
    dvmd_bus_peer_send_signal (peer, "/org/dvm", "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved",
                               g_variant_new ("(o^as)", missed->path, interfaces));
}

static void
send_rest (DvmdBusBehind *self, DvmdBusPeer *peer)
{
  MissedObject *object;
  MissedDirected *directed;

  g_hash_table_remove_all (self->objects);
  while ((object = g_queue_pop_head (&self->object_order)) != NULL)
    {
      send_object (peer, object);
      missed_object_free (object);
    }
  while ((directed = g_queue_pop_head (&self->directed)) != NULL)
    {
      dvmd_bus_peer_send_directed (peer, directed->destination, directed->signal, directed->body);
      missed_directed_free (directed);
    }
}

static gboolean
send_jobs (DvmdBusBehind *self, DvmdBusPeer *peer, GVariantBuilder *changes, gsize most, gint64 until)
{
  while (!g_queue_is_empty (&self->order))
    {
      MissedJob *job;
      g_autofree char *path = NULL;

      if (dvmd_bus_backlog_get_bytes (peer->backlog) >= most || g_get_monotonic_time () >= until)
        return FALSE;
      job = g_queue_pop_head (&self->order);
      g_hash_table_remove (self->jobs, GUINT_TO_POINTER (job->id));
      send_job (peer, job);
      path = dvmd_bus_job_path (job->id);
      if (job->has_state)
        g_variant_builder_add (changes, "(ouus)", path, job->old_state, job->new_state,
                               job->reason != NULL ? job->reason : "");
      missed_job_free (job);
    }
  return TRUE;
}

gboolean
dvmd_bus_behind_send (DvmdBusBehind *self, DvmdBusPeer *peer, gsize most, gint64 until)
{
  g_autoptr (GVariant) changes = NULL;
  GVariantBuilder builder;
  gboolean all;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(ouus)"));
  all = send_jobs (self, peer, &builder, most, until);
  changes = g_variant_ref_sink (g_variant_builder_end (&builder));
  if (g_variant_n_children (changes) > 0 && dvmd_bus_peer_is_subscribed (peer))
    dvmd_bus_peer_send_signal (peer, DVMD_BUS_MANAGER_PATH, dvm_dbus_manager_interface.name, "JobsChanged",
                               g_variant_new ("(@a(ouus))", changes));
  all = all && send_nodes (self, peer, most, until);
  if (all)
    send_rest (self, peer);
  return all;
}

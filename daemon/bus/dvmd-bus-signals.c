/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Signals go out, and this file decides to whom. What happens in one turn of the main loop is collected and sent at its
 * end: new values first, in one PropertiesChanged for each object, then the signals that tell of them, then the objects
 * that leave. Nothing is built that nobody gets.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-dbus-interfaces.h"
#include "dvmd-bus-behind.h"
#include "dvmd-bus-signals-private.h"

#include <string.h>

#define COUNTER_INTERVAL_MS 100
/* The jobs of a session may be thousands: telling of counters takes no more than this part of the time. */
#define COUNTER_PART 20
/* Nobody is served while signals are made: so much of a turn. */
#define SLICE (3 * G_TIME_SPAN_MILLISECOND)
/* After what was sent there is a pause: who listens to a busy DVM is not woken for each job, a longer one after many.
 */
#define PAUSE      (4 * G_TIME_SPAN_MILLISECOND)
#define LONG_PAUSE (16 * G_TIME_SPAN_MILLISECOND)
#define MANY_JOBS  4
/* Rows of one JobsChanged. */
#define MAX_JOB_CHANGES 4096

typedef struct
{
  guint32 job;
  guint32 old_state;
  guint32 new_state;
  char *reason;
} JobChange;

/* What has happened up to one moment. Values go before the signals that tell of them. */
struct _DvmdBusBatch
{
  GArray *queue;
  GArray *job_changes;
  DvmdBusNodeChanges *nodes;
  GPtrArray *told; /* DvmdCampaign */
  guint position;
  gboolean with_counters;
  gboolean left; /* counters that may not go yet */
};

static gboolean
peer_is_public (DvmdBusPeer *peer)
{
  return peer->is_bus || dvmd_bus_peer_is_subscribed (peer);
}

gboolean
dvmd_bus_signals_is_for (DvmdBusPeer *peer, DvmdBusPeer *owner, DvmdBusAudience audience)
{
  switch (audience)
    {
    case DVMD_BUS_TO_EVERYBODY:
      return peer == owner || peer_is_public (peer);
    case DVMD_BUS_TO_SUBSCRIBERS:
      return dvmd_bus_peer_is_subscribed (peer);
    case DVMD_BUS_TO_FOLLOWERS:
      return peer == owner || dvmd_bus_peer_is_subscribed (peer);
    default:
      return FALSE;
    }
}

gboolean
dvmd_bus_signals_has_audience (DvmdBusSignals *self, DvmdBusPeer *owner, DvmdBusAudience audience)
{
  return (audience != DVMD_BUS_TO_SUBSCRIBERS && owner != NULL)
         || (audience == DVMD_BUS_TO_EVERYBODY ? self->has_public : self->has_subscribers);
}

void
dvmd_bus_signals_broadcast (DvmdBusSignals *self, DvmdBusAudience audience, DvmdBusPeer *owner, const char *path,
                            const char *interface, const char *signal, GVariant *body)
{
  g_autoptr (GVariant) shared = g_variant_ref_sink (body);
  GPtrArray *peers = self->server->peers;

  for (guint i = 0; i < peers->len; i++)
    if (((DvmdBusPeer *)peers->pdata[i])->behind == NULL && dvmd_bus_signals_is_for (peers->pdata[i], owner, audience))
      dvmd_bus_peer_send_signal (peers->pdata[i], path, interface, signal, shared);
}

void
dvmd_bus_signals_send_properties (DvmdBusSignals *self, DvmdBusPeer *owner, const char *path, const char *interface,
                                  GVariant *changed)
{
  dvmd_bus_signals_broadcast (self, DVMD_BUS_TO_EVERYBODY, owner, path, DVMD_BUS_PROPERTIES_INTERFACE,
                              "PropertiesChanged",
                              g_variant_new ("(s@a{sv}@as)", interface, changed, g_variant_new_strv (NULL, 0)));
}

static gboolean on_flush (gpointer user_data);

void
dvmd_bus_signals_schedule (DvmdBusSignals *self)
{
  gint64 pause = 0;

  self->pending = TRUE;
  if (self->flush_source != 0)
    return;
  if (self->batch == NULL)
    pause = MAX (self->pause_ends - g_get_monotonic_time (), 0);
  if (pause > 0)
    self->flush_source = g_timeout_add (pause / 1000 + 1, on_flush, self);
  else
    self->flush_source = g_idle_add_full (G_PRIORITY_DEFAULT, on_flush, self, NULL);
}

static gboolean
on_counters_due (gpointer user_data)
{
  DvmdBusSignals *self = user_data;

  self->counter_source = 0;
  dvmd_bus_signals_schedule (self);
  return G_SOURCE_REMOVE;
}

static gboolean
on_flush (gpointer user_data)
{
  DvmdBusSignals *self = user_data;

  self->flush_source = 0;
  dvmd_bus_signals_flush_some (self);
  return G_SOURCE_REMOVE;
}

static void
schedule_counters (DvmdBusSignals *self, gint64 now)
{
  if (self->counter_source == 0)
    self->counter_source = g_timeout_add (MAX (self->counters_due - now, 0) / 1000 + 1, on_counters_due, self);
}

static void
queue_job (DvmdBusSignals *self, DvmdBusLiveJob *live)
{
  guint id = dvmd_job_get_id (live->job);

  if (!live->queued)
    g_array_append_val (self->queue, id);
  live->queued = TRUE;
  dvmd_bus_signals_schedule (self);
}

/* ---- what happens ---- */

static guint64
get_mask (DvmdBusSignals *self, DvmdBusLiveJob *live, GParamSpec *pspec)
{
  guint64 *mask = g_hash_table_lookup (self->masks, pspec);

  if (mask == NULL)
    {
      mask = g_new (guint64, 1);
      *mask = dvmd_bus_live_job_get_mask (live, g_param_spec_get_name (pspec));
      g_hash_table_insert (self->masks, pspec, mask);
    }
  return *mask;
}

static void
on_notify (GObject *record, GParamSpec *pspec, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  DvmdBusLiveJob *live = g_hash_table_lookup (self->live, GUINT_TO_POINTER (dvm_job_get_id (DVM_JOB (record))));

  /* An object that is not told of yet will be told of with all its values. */
  if (live->added)
    return;
  live->dirty |= get_mask (self, live, pspec);
  if (live->dirty != 0)
    queue_job (self, live);
}

static void
on_proc_state_changed (DvmJob *record, guint rank, guint old_state, guint new_state, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  DvmdBusLiveJob *live = g_hash_table_lookup (self->live, GUINT_TO_POINTER (dvm_job_get_id (record)));
  DvmdBusProcChange change = { rank, old_state, new_state };

  if (!dvmd_bus_signals_has_audience (self, live->owner, DVMD_BUS_TO_FOLLOWERS))
    return;
  g_array_append_val (live->procs, change);
  queue_job (self, live);
}

/* owner: (nullable) the private connection that is to hear of the job though it has not subscribed */
static DvmdBusLiveJob *
watch_job (DvmdBusSignals *self, DvmdJob *job, DvmdBusPeer *owner)
{
  DvmJob *record = dvmd_job_get_record (job);
  DvmdBusLiveJob *live;

  if (!dvmd_bus_signals_has_audience (self, owner, DVMD_BUS_TO_EVERYBODY))
    return NULL;
  live = dvmd_bus_live_job_new (job);
  live->owner = owner;
  live->notify_handler = g_signal_connect (record, "notify", G_CALLBACK (on_notify), self);
  live->proc_handler = g_signal_connect (record, "proc-state-changed", G_CALLBACK (on_proc_state_changed), self);
  g_hash_table_insert (self->live, GUINT_TO_POINTER (dvmd_job_get_id (job)), live);
  return live;
}

/* A job is added while the call that submits it is served. */
static DvmdBusPeer *
find_owner (DvmdBusSignals *self, DvmdJob *job)
{
  const DvmdRequester *requester = dvmd_job_get_requester (job);
  DvmdBusPeer *owner = NULL;

  if (requester != NULL && requester->name != NULL)
    owner = g_hash_table_lookup (self->server->private_peers, requester->name);
  return owner != NULL && !owner->submits_quietly ? owner : NULL;
}

/* ---- jobs and nodes ---- */

static void
mark_session_of (DvmdBusSignals *self, DvmdJob *job)
{
  dvmd_bus_signals_mark (self, dvm_job_get_session (dvmd_job_get_record (job)));
}

static void
on_job_added (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  DvmdBusLiveJob *live = watch_job (self, job, find_owner (self, job));

  if (live == NULL)
    return;
  live->added = TRUE;
  queue_job (self, live);
  mark_session_of (self, job);
}

static void
on_job_ended (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  DvmdBusLiveJob *live = g_hash_table_lookup (self->live, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  if (live == NULL)
    return;
  live->ended = TRUE;
  queue_job (self, live);
  mark_session_of (self, job);
}

static void
on_core_changed (DvmdCore *core, gpointer user_data)
{
  dvmd_bus_signals_mark (user_data, DVMD_BUS_MANAGER_PATH);
}

static void
on_job_state_changed (DvmdCore *core, DvmdJob *job, guint old_state, guint new_state, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  guint id = dvmd_job_get_id (job);
  DvmdBusLiveJob *live = g_hash_table_lookup (self->live, GUINT_TO_POINTER (id));
  const char *reason = dvm_job_get_reason (dvmd_job_get_record (job));

  on_core_changed (core, self);
  if (self->has_subscribers)
    {
      JobChange change = { id, old_state, new_state, g_strdup (reason) };

      g_array_append_val (self->job_changes, change);
      dvmd_bus_signals_schedule (self);
    }
  if (live != NULL && dvmd_bus_signals_has_audience (self, live->owner, DVMD_BUS_TO_FOLLOWERS))
    {
      DvmdBusStateChange change = { old_state, new_state, g_strdup (reason) };

      g_array_append_val (live->states, change);
      queue_job (self, live);
    }
}

/* The DVM's own job is the manager's state and no object. */
static void
on_vm_state (GObject *record, GParamSpec *pspec, gpointer user_data)
{
  DvmdBusSignals *self = user_data;

  on_core_changed (self->server->core, self);
}

static void
on_node_state_changed (DvmdCore *core, guint rank, guint state, gpointer user_data)
{
  DvmdBusSignals *self = user_data;

  if (!self->has_public)
    return;
  dvmd_bus_node_changes_add (self->nodes, rank, DVMD_BUS_NODE_VALUES | DVMD_BUS_NODE_STATE);
  dvmd_bus_signals_mark (self, DVMD_BUS_DEFAULT_SESSION_PATH);
  on_core_changed (core, self);
}

/* Both are told of by their state: there is no object that is added or removed. */
static void
on_node_added (DvmdCore *core, guint rank, gpointer user_data)
{
  on_node_state_changed (core, rank, DVM_NODE_STATE_ADDED, user_data);
}

static void
on_node_removed (DvmdCore *core, guint rank, gpointer user_data)
{
  on_node_state_changed (core, rank, DVM_NODE_STATE_NOT_INCLUDED, user_data);
}

static void
on_node_changed (DvmdCore *core, guint rank, gpointer user_data)
{
  DvmdBusSignals *self = user_data;

  if (!self->has_public)
    return;
  dvmd_bus_node_changes_add (self->nodes, rank, DVMD_BUS_NODE_VALUES);
  dvmd_bus_signals_schedule (self);
}

static void
on_job_finished (DvmdController *controller, DvmdJob *job, gpointer user_data)
{
  DvmdBusSignals *self = user_data;

  /* The core may not have told us yet that it has ended, or long since. */
  on_job_ended (self->server->core, job, self);
  dvmd_bus_waiters_job_finished (self->server->waiters, job);
}

/* ---- sending ---- */

static void
send_job_signals (DvmdBusSignals *self, DvmdBusLiveJob *live)
{
  const char *interface = dvm_dbus_job_interface.name;
  guint position = 0;
  GVariant *body;

  while ((body = dvmd_bus_proc_changes_take (live->procs, &position)) != NULL)
    dvmd_bus_signals_broadcast (self, DVMD_BUS_TO_FOLLOWERS, live->owner, live->path, interface, "ProcStateChanged",
                                body);
  g_array_set_size (live->procs, 0);
  for (guint i = 0; i < live->states->len; i++)
    {
      const DvmdBusStateChange *change = &g_array_index (live->states, DvmdBusStateChange, i);

      dvmd_bus_signals_broadcast (
          self, DVMD_BUS_TO_FOLLOWERS, live->owner, live->path, interface, "StateChanged",
          g_variant_new ("(uus)", change->old_state, change->new_state, change->reason != NULL ? change->reason : ""));
    }
  g_array_set_size (live->states, 0);
}

/* Those who are behind are told later. */
static void
miss_job (DvmdBusSignals *self, DvmdBusLiveJob *live, gboolean added, guint64 fields)
{
  GPtrArray *peers = self->server->peers;

  for (guint i = 0; i < peers->len; i++)
    {
      DvmdBusPeer *peer = peers->pdata[i];

      if (peer->behind != NULL && dvmd_bus_signals_is_for (peer, live->owner, DVMD_BUS_TO_EVERYBODY))
        dvmd_bus_behind_miss_job (peer->behind, live, added, fields,
                                  dvmd_bus_signals_is_for (peer, live->owner, DVMD_BUS_TO_FOLLOWERS));
    }
}

/* Only now: nobody falls behind in the midst of an object. */
static void
check_peers (DvmdBusSignals *self)
{
  GPtrArray *peers = self->server->peers;

  for (guint i = 0; i < peers->len; i++)
    if (((DvmdBusPeer *)peers->pdata[i])->full)
      dvmd_bus_peer_fall_behind (peers->pdata[i]);
}

static void
send_job (DvmdBusSignals *self, DvmdBusLiveJob *live, gboolean with_counters)
{
  const char *const interfaces[] = { dvm_dbus_job_interface.name, NULL };
  gboolean added = live->added;
  guint64 fields = dvmd_bus_live_job_take_fields (live, with_counters || live->ended || added);

  live->added = FALSE;
  miss_job (self, live, added, fields);
  if (added)
    dvmd_bus_signals_broadcast (
        self, DVMD_BUS_TO_EVERYBODY, live->owner, "/org/dvm", "org.freedesktop.DBus.ObjectManager", "InterfacesAdded",
        g_variant_new ("(o@a{sa{sv}})", live->path,
                       dvmd_bus_get_interfaces (self->server, &dvmd_bus_jobs.klass, live->job)));
  else if (fields != 0)
    dvmd_bus_signals_send_properties (self, live->owner, live->path, interfaces[0],
                                      dvmd_bus_job_get_fields (live->job, fields));
  send_job_signals (self, live);
  if (live->ended)
    {
      dvmd_bus_signals_broadcast (self, DVMD_BUS_TO_EVERYBODY, live->owner, "/org/dvm",
                                  "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved",
                                  g_variant_new ("(o^as)", live->path, interfaces));
      g_hash_table_remove (self->live, GUINT_TO_POINTER (dvmd_job_get_id (live->job)));
    }
  check_peers (self);
}

static void
queue_left_jobs (DvmdBusSignals *self)
{
  GHashTableIter iter;
  DvmdBusLiveJob *live;

  g_hash_table_iter_init (&iter, self->live);
  while (g_hash_table_iter_next (&iter, NULL, (gpointer *)&live))
    if (live->dirty != 0)
      queue_job (self, live);
}

/* FALSE: the time is over before the batch is. */
static gboolean
send_jobs (DvmdBusSignals *self, DvmdBusBatch *batch, gint64 until)
{
  while (batch->position < batch->queue->len)
    {
      guint id = g_array_index (batch->queue, guint, batch->position);
      DvmdBusLiveJob *live = g_hash_table_lookup (self->live, GUINT_TO_POINTER (id));

      if (g_get_monotonic_time () >= until)
        return FALSE;
      batch->position++;
      if (live == NULL)
        continue; /* its end has been told already, or nobody listens any more */
      live->queued = FALSE;
      send_job (self, live, batch->with_counters);
      live = g_hash_table_lookup (self->live, GUINT_TO_POINTER (id));
      batch->left |= live != NULL && live->dirty != 0;
    }
  return TRUE;
}

/* Those who are behind know by the states of the jobs. */
static void
send_job_changes (DvmdBusSignals *self, GArray *changes)
{
  for (guint first = 0; first < changes->len; first += MAX_JOB_CHANGES)
    {
      GVariantBuilder builder;

      g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(ouus)"));
      for (guint i = first; i < MIN (first + MAX_JOB_CHANGES, changes->len); i++)
        {
          const JobChange *change = &g_array_index (changes, JobChange, i);
          g_autofree char *path = dvmd_bus_job_path (change->job);

          g_variant_builder_add (&builder, "(ouus)", path, change->old_state, change->new_state,
                                 change->reason != NULL ? change->reason : "");
        }
      dvmd_bus_signals_broadcast (self, DVMD_BUS_TO_SUBSCRIBERS, NULL, DVMD_BUS_MANAGER_PATH,
                                  dvm_dbus_manager_interface.name, "JobsChanged",
                                  g_variant_new ("(a(ouus))", &builder));
    }
}

/* Those who are behind are told later. */
static void
miss_node (DvmdBusSignals *self, const DvmdBusNodeChange *change)
{
  GPtrArray *peers = self->server->peers;

  for (guint i = 0; i < peers->len; i++)
    {
      DvmdBusPeer *peer = peers->pdata[i];

      if (peer->behind != NULL && peer_is_public (peer))
        dvmd_bus_behind_miss_node (peer->behind, change->rank, change->what);
    }
}

/* Once for each node, whatever happened to it in this turn. FALSE: the time is over before the batch is. */
static gboolean
send_nodes (DvmdBusSignals *self, DvmdBusNodeChanges *nodes, gint64 until)
{
  while (!dvmd_bus_node_changes_is_empty (nodes))
    {
      g_autofree char *path = NULL;
      const DvmdBusNodeChange *change;
      GVariant *body;

      if (g_get_monotonic_time () >= until)
        return FALSE;
      body = dvmd_bus_node_changes_take (nodes, self->server, &change);
      path = dvmd_bus_node_path (change->rank);
      miss_node (self, change);
      if (body != NULL)
        dvmd_bus_signals_broadcast (self, DVMD_BUS_TO_EVERYBODY, NULL, path, DVMD_BUS_PROPERTIES_INTERFACE,
                                    "PropertiesChanged", body);
      check_peers (self);
    }
  return TRUE;
}

static void
send_node_changes (DvmdBusSignals *self, DvmdBusNodeChanges *nodes)
{
  GVariant *states = dvmd_bus_node_changes_get_states (nodes);

  if (states != NULL)
    dvmd_bus_signals_broadcast (self, DVMD_BUS_TO_SUBSCRIBERS, NULL, DVMD_BUS_MANAGER_PATH,
                                dvm_dbus_manager_interface.name, "NodesChanged", states);
}

static void
job_change_clear (gpointer data)
{
  JobChange *change = data;

  g_free (change->reason);
}

static GArray *
new_job_changes (void)
{
  GArray *changes = g_array_new (FALSE, FALSE, sizeof (JobChange));

  g_array_set_clear_func (changes, job_change_clear);
  return changes;
}

static void
batch_free (DvmdBusBatch *batch)
{
  g_array_unref (batch->queue);
  g_array_unref (batch->job_changes);
  dvmd_bus_node_changes_free (batch->nodes);
  g_ptr_array_unref (batch->told);
  g_free (batch);
}

/* The jobs of nodes are counters: they change with every job. */
static void
add_node_jobs (DvmdBusSignals *self, DvmdBusBatch *batch)
{
  DvmdNodePool *pool = dvmd_core_get_nodes (self->server->core);
  g_autoptr (GArray) ranks = NULL;

  if (!self->has_public || !dvmd_node_pool_has_jobs_changed (pool))
    return;
  if (!batch->with_counters)
    {
      batch->left = TRUE;
      return;
    }
  ranks = dvmd_node_pool_take_jobs_changed (pool);
  for (guint i = 0; i < ranks->len; i++)
    dvmd_bus_node_changes_add (batch->nodes, g_array_index (ranks, guint, i), DVMD_BUS_NODE_JOBS);
}

static DvmdBusBatch *
begin_batch (DvmdBusSignals *self)
{
  DvmdBusBatch *batch = g_new0 (DvmdBusBatch, 1);

  batch->with_counters = g_get_monotonic_time () >= self->counters_due;
  if (batch->with_counters && self->counters_due != 0)
    queue_left_jobs (self);
  batch->queue = g_steal_pointer (&self->queue);
  batch->job_changes = g_steal_pointer (&self->job_changes);
  batch->nodes = g_steal_pointer (&self->nodes);
  batch->told = g_steal_pointer (&self->told);
  add_node_jobs (self, batch);
  self->queue = g_array_new (FALSE, FALSE, sizeof (guint));
  self->job_changes = new_job_changes ();
  self->nodes = dvmd_bus_node_changes_new ();
  self->told = g_ptr_array_new_with_free_func (g_object_unref);
  return batch;
}

static void
tell_requester (DvmdBusSignals *self, gpointer object)
{
  if (DVMD_IS_SESSION (object))
    dvmd_bus_events_tell_warning (self->server, object);
  else
    dvmd_bus_events_tell_end (self->server, object);
}

static void
end_batch (DvmdBusSignals *self, DvmdBusBatch *batch)
{
  gint64 begin = g_get_monotonic_time ();
  g_autoptr (GPtrArray) changed = dvmd_bus_signals_send_objects (self, batch->with_counters, &batch->left);
  gint64 now = g_get_monotonic_time ();

  send_job_changes (self, batch->job_changes);
  send_node_changes (self, batch->nodes);
  for (guint i = 0; i < batch->told->len; i++)
    tell_requester (self, batch->told->pdata[i]);
  dvmd_bus_signals_send_removals (self, changed);
  check_peers (self);
  if (batch->with_counters)
    self->counters_due = now + MAX (COUNTER_INTERVAL_MS * G_TIME_SPAN_MILLISECOND, COUNTER_PART * (now - begin));
  if (batch->left)
    schedule_counters (self, now);
  self->pause_ends = now + (batch->queue->len >= MANY_JOBS ? LONG_PAUSE : PAUSE);
  batch_free (batch);
}

/* One batch at most, or as much of it as there is time for. */
static void
send_some (DvmdBusSignals *self, gint64 until)
{
  gboolean done;

  if (self->flushing)
    return;
  self->flushing = TRUE;
  if (self->batch == NULL)
    {
      g_clear_handle_id (&self->flush_source, g_source_remove);
      self->pending = FALSE;
      self->batch = begin_batch (self);
    }
  done = send_jobs (self, self->batch, until) && send_nodes (self, self->batch->nodes, until);
  if (done)
    end_batch (self, g_steal_pointer (&self->batch));
  self->flushing = FALSE;
}

void
dvmd_bus_signals_flush (DvmdBusSignals *self)
{
  /* What is left of a batch, and what has come since. */
  if (self->batch != NULL)
    send_some (self, G_MAXINT64);
  send_some (self, G_MAXINT64);
}

void
dvmd_bus_signals_flush_some (DvmdBusSignals *self)
{
  send_some (self, g_get_monotonic_time () + SLICE);
  if (self->batch != NULL || self->pending)
    dvmd_bus_signals_schedule (self);
}

void
dvmd_bus_signals_flush_job (DvmdBusSignals *self, DvmdJob *job)
{
  DvmdBusLiveJob *live = g_hash_table_lookup (self->live, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  if (live != NULL && live->queued && !self->flushing)
    send_job (self, live, TRUE);
}

/* ---- who listens ---- */

/* From now on every object is watched. */
static void
begin_public (DvmdBusSignals *self)
{
  g_autoptr (GPtrArray) jobs = dvmd_core_list_jobs (self->server->core, FALSE);
  g_autoptr (GArray) told = dvmd_node_pool_take_jobs_changed (dvmd_core_get_nodes (self->server->core));

  dvmd_bus_signals_watch_objects (self);
  for (guint i = 0; i < jobs->len; i++)
    if (!g_hash_table_contains (self->live, GUINT_TO_POINTER (dvmd_job_get_id (jobs->pdata[i]))))
      watch_job (self, jobs->pdata[i], NULL);
}

static gboolean
has_no_audience (gpointer key, gpointer value, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  DvmdBusLiveJob *live = value;

  return !dvmd_bus_signals_has_audience (self, live->owner, DVMD_BUS_TO_EVERYBODY);
}

void
dvmd_bus_signals_listeners_changed (DvmdBusSignals *self)
{
  GPtrArray *peers = self->server->peers;
  gboolean had_public = self->has_public;

  self->has_public = FALSE;
  self->has_subscribers = FALSE;
  for (guint i = 0; i < peers->len; i++)
    {
      self->has_public |= peer_is_public (peers->pdata[i]);
      self->has_subscribers |= dvmd_bus_peer_is_subscribed (peers->pdata[i]);
    }
  if (self->has_public && !had_public)
    begin_public (self);
  if (self->has_public)
    return;
  g_hash_table_foreach_remove (self->live, has_no_audience, self);
  dvmd_bus_signals_forget_objects (self);
}

void
dvmd_bus_signals_peer_gone (DvmdBusSignals *self, DvmdBusPeer *peer)
{
  GHashTableIter iter;
  DvmdBusLiveJob *live;

  g_hash_table_iter_init (&iter, self->live);
  while (g_hash_table_iter_next (&iter, NULL, (gpointer *)&live))
    if (live->owner == peer)
      live->owner = NULL;
  dvmd_bus_signals_disown_objects (self, peer);
  dvmd_bus_signals_listeners_changed (self);
}

static void
connect_model (DvmdBusSignals *self)
{
  DvmdCore *core = self->server->core;

  g_signal_connect (core, "job-added", G_CALLBACK (on_job_added), self);
  g_signal_connect (core, "job-ended", G_CALLBACK (on_job_ended), self);
  g_signal_connect (core, "job-state-changed", G_CALLBACK (on_job_state_changed), self);
  g_signal_connect (core, "node-state-changed", G_CALLBACK (on_node_state_changed), self);
  g_signal_connect (core, "node-changed", G_CALLBACK (on_node_changed), self);
  g_signal_connect (core, "node-added", G_CALLBACK (on_node_added), self);
  g_signal_connect (core, "node-removed", G_CALLBACK (on_node_removed), self);
  g_signal_connect (core, "changed", G_CALLBACK (on_core_changed), self);
  g_signal_connect (dvmd_job_get_record (dvmd_core_get_vm_job (core)), "notify::state", G_CALLBACK (on_vm_state), self);
  g_signal_connect (self->server->controller, "job-finished", G_CALLBACK (on_job_finished), self);
}

DvmdBusSignals *
dvmd_bus_signals_new (DvmdBusServer *server)
{
  DvmdBusSignals *self = g_new0 (DvmdBusSignals, 1);

  self->server = server;
  self->live = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)dvmd_bus_live_job_free);
  self->masks = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->queue = g_array_new (FALSE, FALSE, sizeof (guint));
  self->job_changes = new_job_changes ();
  self->nodes = dvmd_bus_node_changes_new ();
  self->watched = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify)dvmd_bus_watched_free);
  self->changed = g_ptr_array_new ();
  self->told = g_ptr_array_new_with_free_func (g_object_unref);
  connect_model (self);
  dvmd_bus_signals_connect_objects (self);
  return self;
}

void
dvmd_bus_signals_free (DvmdBusSignals *self)
{
  g_signal_handlers_disconnect_by_data (dvmd_job_get_record (dvmd_core_get_vm_job (self->server->core)), self);
  dvmd_bus_signals_disconnect_objects (self);
  g_signal_handlers_disconnect_by_data (self->server->core, self);
  g_signal_handlers_disconnect_by_data (self->server->controller, self);
  g_clear_handle_id (&self->flush_source, g_source_remove);
  g_clear_handle_id (&self->counter_source, g_source_remove);
  g_clear_pointer (&self->batch, batch_free);
  g_array_unref (self->queue);
  g_hash_table_unref (self->live);
  g_hash_table_unref (self->masks);
  g_array_unref (self->job_changes);
  dvmd_bus_node_changes_free (self->nodes);
  g_ptr_array_unref (self->changed);
  g_ptr_array_unref (self->told);
  g_hash_table_unref (self->watched);
  g_free (self);
}

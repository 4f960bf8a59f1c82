/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Signals go out, and this file decides when, and to whom. What happens in one turn of the main loop is collected in
 * the change log and told at its end, in slices if it is much.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-log.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"
#include "dvmd-bus-signals-private.h"
#include "dvmd-bus-signals.h"

#define COUNTER_INTERVAL_MS 100
/* The jobs of a session may be thousands: telling of counters takes no more than this part of the time. */
#define COUNTER_PART 20
/* Other clients wait while a slice of the signals is made. */
#define SLICE (3 * G_TIME_SPAN_MILLISECOND)
/* After what was sent there is a pause: who listens to a busy DVM is not woken for each job, a longer one after many.
 */
#define PAUSE      (4 * G_TIME_SPAN_MILLISECOND)
#define LONG_PAUSE (16 * G_TIME_SPAN_MILLISECOND)
#define MANY_JOBS  4
/* How long somebody may leave unread what waits for it. */
#define TIMEOUT (300 * G_TIME_SPAN_SECOND)

/* ---- to whom ---- */

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

DvmdBusWatch *
dvmd_bus_signals_find (DvmdBusSignals *self, DvmdBusKind kind, guint id)
{
  const DvmdBusKey key = { kind, id };

  return g_hash_table_lookup (self->watches, &key);
}

static gboolean
has_no_audience (gpointer key, gpointer value, gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  DvmdBusWatch *watch = value;
  DvmdBusChange *change;

  if (dvmd_bus_signals_has_audience (self, watch->owner, DVMD_BUS_TO_EVERYBODY))
    return FALSE;
  change = dvmd_bus_log_take (self->log, watch->key.kind, watch->key.id);
  g_clear_pointer (&change, dvmd_bus_change_free);
  return TRUE;
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
    dvmd_bus_signals_watch_all (self);
  if (!self->has_public)
    g_hash_table_foreach_remove (self->watches, has_no_audience, self);
}

void
dvmd_bus_signals_peer_gone (DvmdBusSignals *self, DvmdBusPeer *peer)
{
  GHashTableIter iter;
  DvmdBusWatch *watch;

  g_hash_table_iter_init (&iter, self->watches);
  while (g_hash_table_iter_next (&iter, NULL, (gpointer *)&watch))
    if (watch->owner == peer)
      watch->owner = NULL;
  dvmd_bus_signals_listeners_changed (self);
}

/* ---- when ---- */

static gboolean
on_flush (gpointer user_data)
{
  DvmdBusSignals *self = user_data;

  self->flush_source = 0;
  dvmd_bus_signals_flush_some (self);
  return G_SOURCE_REMOVE;
}

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

/* After the values. Somebody waits for just this: without the pause. */
void
dvmd_bus_signals_tell (DvmdBusSignals *self, gpointer object)
{
  dvmd_bus_log_add_about (self->log, object);
  if (self->batch == NULL)
    g_clear_handle_id (&self->flush_source, g_source_remove);
  self->pause_ends = 0;
  dvmd_bus_signals_schedule (self);
}

/* ---- batches ---- */

static void
add_left (DvmdBusSignals *self)
{
  GHashTableIter iter;
  DvmdBusWatch *watch;

  g_hash_table_iter_init (&iter, self->watches);
  while (g_hash_table_iter_next (&iter, NULL, (gpointer *)&watch))
    if (watch->left != 0)
      dvmd_bus_log_get (self->batch, watch->key.kind, watch->key.id);
}

/* The jobs of nodes are counters: they change with every job. */
static void
add_node_jobs (DvmdBusSignals *self)
{
  DvmdNodePool *pool = dvmd_core_get_nodes (self->server->core);
  g_autoptr (GArray) ranks = NULL;
  guint64 fields;

  if (!self->has_public || !dvmd_node_pool_has_jobs_changed (pool))
    return;
  if (!self->with_counters)
    {
      self->counters_left = TRUE;
      return;
    }
  ranks = dvmd_node_pool_take_jobs_changed (pool);
  fields = dvmd_bus_get_fields (DVMD_BUS_NODE, TRUE);
  for (guint i = 0; i < ranks->len; i++)
    dvmd_bus_log_get (self->batch, DVMD_BUS_NODE, g_array_index (ranks, guint, i))->fields |= fields;
}

static void
begin_batch (DvmdBusSignals *self)
{
  g_clear_handle_id (&self->flush_source, g_source_remove);
  self->pending = FALSE;
  self->batch = self->log;
  self->log = dvmd_bus_log_new ();
  self->with_counters = g_get_monotonic_time () >= self->counters_due;
  self->counters_left = FALSE;
  if (self->with_counters)
    add_left (self);
  self->n_jobs = dvmd_bus_log_count (self->batch, DVMD_BUS_LOG_JOBS);
  add_node_jobs (self);
}

static void
end_batch (DvmdBusSignals *self, gint64 others_took)
{
  gint64 now = g_get_monotonic_time ();

  if (self->with_counters)
    self->counters_due = now + MAX (COUNTER_INTERVAL_MS * G_TIME_SPAN_MILLISECOND, COUNTER_PART * others_took);
  if (self->counters_left && self->counter_source == 0)
    self->counter_source = g_timeout_add (MAX (self->counters_due - now, 0) / 1000 + 1, on_counters_due, self);
  self->pause_ends = now + (self->n_jobs >= MANY_JOBS ? LONG_PAUSE : PAUSE);
  g_clear_pointer (&self->batch, dvmd_bus_log_free);
}

/* One batch at most, or as much of it as there is time for. */
static void
send_some (DvmdBusSignals *self, gint64 until)
{
  DvmdBusFlush flush = { .signals = self, .until = until };
  gint64 others_took;

  if (self->flushing)
    return;
  self->flushing = TRUE;
  if (self->batch == NULL)
    begin_batch (self);
  flush.log = self->batch;
  flush.with_counters = self->with_counters;
  if (dvmd_bus_flush (&flush, &others_took))
    end_batch (self, others_took);
  self->flushing = FALSE;
}

void
dvmd_bus_signals_flush (DvmdBusSignals *self)
{
  /* The first call sends the rest of a batch, the second one the changes that have come since. */
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
dvmd_bus_signals_flush_before_list (DvmdBusPeer *peer)
{
  if (dvmd_bus_peer_is_subscribed (peer))
    dvmd_bus_signals_flush_some (peer->server->signals);
}

void
dvmd_bus_signals_flush_job (DvmdBusSignals *self, DvmdJob *job)
{
  const DvmdBusFlush flush = { .signals = self, .log = self->log, .with_counters = TRUE };
  guint id = dvmd_job_get_id (job);
  g_autoptr (DvmdBusChange) change = NULL;

  if (self->flushing)
    return;
  if (self->batch != NULL)
    change = dvmd_bus_log_take (self->batch, DVMD_BUS_JOB, id);
  if (change == NULL)
    change = dvmd_bus_log_take (self->log, DVMD_BUS_JOB, id);
  if (change != NULL)
    dvmd_bus_flush_object (&flush, change);
}

/* ---- the whole ---- */

void
dvmd_bus_signals_set_timeout (DvmdBusSignals *self, gint64 timeout)
{
  self->timeout = timeout;
}

DvmdBusSignals *
dvmd_bus_signals_new (DvmdBusServer *server)
{
  DvmdBusSignals *self = g_new0 (DvmdBusSignals, 1);

  self->server = server;
  self->timeout = TIMEOUT;
  self->watches = g_hash_table_new_full (dvmd_bus_key_hash, dvmd_bus_key_equal, NULL,
                                         (GDestroyNotify)dvmd_bus_watch_free);
  self->masks = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->log = dvmd_bus_log_new ();
  dvmd_bus_signals_connect (self);
  return self;
}

void
dvmd_bus_signals_free (DvmdBusSignals *self)
{
  dvmd_bus_signals_disconnect (self);
  g_clear_handle_id (&self->flush_source, g_source_remove);
  g_clear_handle_id (&self->counter_source, g_source_remove);
  g_clear_handle_id (&self->lag_timer, g_source_remove);
  g_hash_table_unref (self->watches);
  g_hash_table_unref (self->masks);
  g_clear_pointer (&self->batch, dvmd_bus_log_free);
  dvmd_bus_log_free (self->log);
  g_free (self);
}

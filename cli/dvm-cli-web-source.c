/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Without a reader the DVM is asked now and then alone: what its signals tell would heap up otherwise.
 */

#include "config.h"

#include "dvm-cli-web-source.h"

#include <glib/gi18n-lib.h>

#include "dvm-cli-watch-feed.h"

#define TICK_MS 1000
/* Ticks between two readings that nobody waits for */
#define IDLE_TICKS 20
/* Readings of this age are new: while somebody looks, each is. */
#define FRESH (3 * G_USEC_PER_SEC / 2)
/* After this time people are told that the DVM does not answer. */
#define SILENCE (5 * G_USEC_PER_SEC)
/* The number of nodes that are measured in each second reading, one after the other */
#define N_MEASURED 64

struct _DvmCliWebSource
{
  DvmClient *client;
  DvmCliWatchModel *model;
  DvmCliWatchFeed *feed;
  DvmCliWebSourceFunc func;
  gpointer user_data;
  GCancellable *cancellable; /* of the first connection */
  gboolean connecting;
  guint timer;
  guint n_ticks; /* since the DVM was asked */
  guint n_readings;
  gboolean watched;
  gboolean reading;
  gboolean silent;
  gint64 asked_at; /* monotonic, as the next one */
  gint64 read_at;  /* 0: never */
  char *failure;   /* (nullable): of the reading that goes on */
  char *problem;   /* (nullable): of the last one */
  guint next_node; /* in the order of the model: the first one to be measured */
};

static void
end_reading (DvmCliWebSource *self)
{
  self->reading = FALSE;
  self->silent = FALSE;
  self->read_at = g_get_monotonic_time ();
  g_free (self->problem);
  self->problem = g_steal_pointer (&self->failure);
}

static void
on_fed (const GError *error, gpointer user_data)
{
  DvmCliWebSource *self = user_data;

  if (error != NULL)
    {
      g_free (self->failure);
      self->failure = g_strdup (error->message);
      return;
    }
  /* NULL while it is made */
  if (self->feed == NULL)
    return;
  if (!dvm_client_get_connected (self->client))
    {
      self->reading = self->silent = FALSE;
      self->read_at = 0;
      g_clear_pointer (&self->failure, g_free);
      g_clear_pointer (&self->problem, g_free);
    }
  else if (!self->reading)
    dvm_cli_web_source_refresh (self);
  else if (dvm_cli_watch_feed_is_idle (self->feed))
    end_reading (self);
  if (!self->reading)
    self->func (self->user_data);
}

/* The nodes that are measured next */
static void
measure_nodes (DvmCliWebSource *self)
{
  g_autoptr (GArray) ranks = g_array_new (FALSE, FALSE, sizeof (guint));
  guint n = dvm_cli_watch_model_count_shown (self->model, DVM_CLI_WATCH_NODES);

  for (guint i = 0; i < MIN (n, N_MEASURED); i++)
    {
      const DvmCliWatchRow *row = dvm_cli_watch_model_get (self->model, DVM_CLI_WATCH_NODES, (self->next_node + i) % n);

      g_array_append_val (ranks, row->id);
    }
  self->next_node = n > 0 ? (self->next_node + ranks->len) % n : 0;
  dvm_cli_watch_feed_refresh (self->feed, DVM_CLI_WATCH_NODES, ranks);
}

static void
begin_reading (DvmCliWebSource *self)
{
  self->reading = TRUE;
  self->n_ticks = 0;
  self->asked_at = g_get_monotonic_time ();
  dvm_cli_watch_feed_refresh (self->feed, DVM_CLI_WATCH_N_PANELS, NULL);
  if (self->watched && self->n_readings++ % 2 == 0)
    measure_nodes (self);
}

gboolean
dvm_cli_web_source_refresh (DvmCliWebSource *self)
{
  if (self->feed == NULL || !dvm_client_get_connected (self->client) || self->silent)
    return FALSE;
  if (self->reading)
    return TRUE;
  if (self->read_at != 0 && g_get_monotonic_time () - self->read_at < FRESH)
    return FALSE;
  begin_reading (self);
  return TRUE;
}

static void
on_connected (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;
  DvmCliWebSource *self = user_data;

  dvm_client_connect_finish (DVM_CLIENT (source), result, &error);
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  self->connecting = FALSE;
  if (error != NULL)
    {
      g_debug ("no DVM yet: %s", error->message);
      return;
    }
  /* From now on the client comes back by itself. */
  dvm_client_set_reconnect (self->client, TRUE);
  self->feed = dvm_cli_watch_feed_new (self->client, self->model, on_fed, self);
  dvm_cli_web_source_refresh (self);
  self->func (self->user_data);
}

static void
connect_first (DvmCliWebSource *self)
{
  if (self->connecting)
    return;
  self->connecting = TRUE;
  dvm_client_connect_async (self->client, self->cancellable, on_connected, self);
}

static gboolean
on_tick (gpointer user_data)
{
  DvmCliWebSource *self = user_data;

  self->n_ticks++;
  if (self->feed == NULL)
    connect_first (self);
  else if (self->reading && !self->silent && g_get_monotonic_time () - self->asked_at > SILENCE)
    {
      self->silent = TRUE;
      self->func (self->user_data);
    }
  else if (!self->reading && dvm_client_get_connected (self->client) && (self->watched || self->n_ticks >= IDLE_TICKS))
    begin_reading (self);
  return G_SOURCE_CONTINUE;
}

DvmCliWebSource *
dvm_cli_web_source_new (DvmClient *client, DvmCliWatchModel *model, DvmCliWebSourceFunc func, gpointer user_data)
{
  DvmCliWebSource *self = g_new0 (DvmCliWebSource, 1);

  self->client = client;
  self->model = model;
  self->func = func;
  self->user_data = user_data;
  self->cancellable = g_cancellable_new ();
  self->timer = g_timeout_add (TICK_MS, on_tick, self);
  connect_first (self);
  return self;
}

void
dvm_cli_web_source_free (DvmCliWebSource *self)
{
  g_source_remove (self->timer);
  g_cancellable_cancel (self->cancellable);
  g_object_unref (self->cancellable);
  g_clear_pointer (&self->feed, dvm_cli_watch_feed_free);
  g_free (self->failure);
  g_free (self->problem);
  g_free (self);
}

void
dvm_cli_web_source_set_watched (DvmCliWebSource *self, gboolean watched)
{
  self->watched = watched;
}

const char *
dvm_cli_web_source_get_problem (DvmCliWebSource *self)
{
  return self->silent ? _ ("the DVM does not answer") : self->problem;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A peer lags that reads more slowly than things happen, or is being given a list: the changes go into its backlog, and
 * are told when it can take them. One that takes nothing at all is closed.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-log.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"
#include "dvmd-bus-signals-private.h"
#include "dvmd-bus-signals.h"

/* Its backlog is told when no more bytes than this are unsent. */
#define FEW (256 * 1024)
/* Other clients wait while a slice of a backlog is told. */
#define SLICE         (3 * G_TIME_SPAN_MILLISECOND)
#define WATCH_SECONDS 1

static void
check_progress (DvmdBusPeer *peer, gint64 timeout)
{
  guint written = dvmd_bus_unsent_get_written (peer->unsent);
  gint64 now = g_get_monotonic_time ();
  g_autofree char *why = NULL;

  if (written != peer->written || dvmd_bus_unsent_get_bytes (peer->unsent) == 0)
    {
      peer->written = written;
      peer->written_at = now;
    }
  else if (peer->is_bus)
    return; /* the bus sees to its own clients */
  else if (now - peer->written_at >= timeout)
    {
      why = g_strdup_printf ("for %" G_GINT64_FORMAT " s", (now - peer->written_at) / G_USEC_PER_SEC);
      dvmd_bus_peer_give_up (peer, why);
    }
}

/* It is looked whether they take anything at all. */
static gboolean
on_watch (gpointer user_data)
{
  DvmdBusSignals *self = user_data;
  g_autoptr (GPtrArray) peers = g_ptr_array_copy (self->server->peers, (GCopyFunc)dvmd_bus_peer_ref, NULL);
  gboolean any = FALSE;

  g_ptr_array_set_free_func (peers, (GDestroyNotify)dvmd_bus_peer_unref);
  for (guint i = 0; i < peers->len; i++)
    if (((DvmdBusPeer *)peers->pdata[i])->backlog != NULL)
      {
        check_progress (peers->pdata[i], self->timeout);
        any = TRUE;
      }
  if (!any)
    self->lag_timer = 0;
  return any;
}

static void
catch_up (gpointer user_data)
{
  DvmdBusPeer *peer = user_data;
  DvmdBusFlush flush = { .log = peer->backlog, .lagging = peer, .until = g_get_monotonic_time () + SLICE };
  gint64 others_took;

  if (peer->server == NULL || peer->backlog == NULL || peer->n_lists > 0)
    return;
  flush.signals = peer->server->signals;
  if (dvmd_bus_flush (&flush, &others_took))
    {
      g_clear_pointer (&peer->backlog, dvmd_bus_log_free);
      peer->full = FALSE;
    }
  else
    dvmd_bus_unsent_request (peer->unsent, FEW, catch_up, peer);
}

void
dvmd_bus_lagging_begin (DvmdBusPeer *peer)
{
  DvmdBusSignals *signals;

  peer->full = FALSE;
  if (peer->backlog != NULL || peer->server == NULL)
    return;
  g_debug ("%s lags: %zu bytes wait for it", peer->name, dvmd_bus_unsent_get_bytes (peer->unsent));
  signals = peer->server->signals;
  peer->backlog = dvmd_bus_log_new ();
  peer->written = dvmd_bus_unsent_get_written (peer->unsent);
  peer->written_at = g_get_monotonic_time ();
  if (signals->lag_timer == 0)
    signals->lag_timer = g_timeout_add_seconds (WATCH_SECONDS, on_watch, signals);
  if (peer->n_lists == 0)
    dvmd_bus_unsent_request (peer->unsent, FEW, catch_up, peer);
}

void
dvmd_bus_lagging_begin_list (DvmdBusPeer *peer)
{
  peer->n_lists++;
  dvmd_bus_lagging_begin (peer);
}

void
dvmd_bus_lagging_end_list (DvmdBusPeer *peer)
{
  if (--peer->n_lists == 0)
    dvmd_bus_unsent_request (peer->unsent, FEW, catch_up, peer);
}

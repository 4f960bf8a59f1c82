/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The server exports the DVM on several connections at once, and tells them of changes.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-dispatch.h"
#include "dvmd-bus-events.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"
#include "dvmd-bus-signals.h"
#include "dvmd-bus-wait.h"

#define STOP_LIMIT_MS 2000

enum
{
  SIGNAL_CONNECTION_CLOSED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (DvmdBusServer, dvmd_bus_server, G_TYPE_OBJECT)

static void
dvmd_bus_server_dispose (GObject *object)
{
  DvmdBusServer *self = DVMD_BUS_SERVER (object);

  g_cancellable_cancel (self->cancellable);
  g_clear_handle_id (&self->force_timer, g_source_remove);
  dvmd_bus_buses_stop (self->buses);
  dvmd_bus_socket_stop (self->socket);
  for (guint i = 0; i < self->peers->len; i++)
    {
      DvmdBusPeer *peer = self->peers->pdata[i];

      dvmd_bus_unexport (peer);
      g_dbus_connection_close (peer->connection, NULL, NULL, NULL);
    }
  g_ptr_array_set_size (self->peers, 0);
  g_hash_table_remove_all (self->private_peers);
  g_clear_pointer (&self->settings, dvmd_config_unref);
  g_clear_pointer (&self->waiters, dvmd_bus_waiters_free);
  g_clear_pointer (&self->events, dvmd_bus_events_free);
  g_clear_pointer (&self->batches, g_ptr_array_unref);
  g_clear_pointer (&self->early_maps, g_ptr_array_unref);
  g_clear_pointer (&self->signals, dvmd_bus_signals_free);
  g_clear_object (&self->controller);

  G_OBJECT_CLASS (dvmd_bus_server_parent_class)->dispose (object);
}

static void
dvmd_bus_server_finalize (GObject *object)
{
  DvmdBusServer *self = DVMD_BUS_SERVER (object);

  g_ptr_array_unref (self->peers);
  g_hash_table_unref (self->private_peers);
  g_object_unref (self->cancellable);
  dvmd_bus_socket_free (self->socket);
  dvmd_bus_buses_free (self->buses);
  g_free (self->bus_name);

  G_OBJECT_CLASS (dvmd_bus_server_parent_class)->finalize (object);
}

static void
dvmd_bus_server_class_init (DvmdBusServerClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = dvmd_bus_server_dispose;
  object_class->finalize = dvmd_bus_server_finalize;

  signals[SIGNAL_CONNECTION_CLOSED] = g_signal_new ("connection-closed", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST,
                                                    0, NULL, NULL, NULL, G_TYPE_NONE, 2, G_TYPE_BOOLEAN, G_TYPE_UINT);
  /* Registers the names of our errors. */
  dvm_error_quark ();
}

static void
dvmd_bus_server_init (DvmdBusServer *self)
{
  self->peers = g_ptr_array_new_with_free_func ((GDestroyNotify)dvmd_bus_peer_unref);
  self->private_peers = g_hash_table_new (g_str_hash, g_str_equal);
  self->cancellable = g_cancellable_new ();
  self->socket = dvmd_bus_socket_new ();
  self->buses = dvmd_bus_buses_new ();
}

DvmdBusServer *
dvmd_bus_server_new (DvmdController *controller, const char *name)
{
  DvmdBusServer *self = g_object_new (DVMD_TYPE_BUS_SERVER, NULL);

  self->controller = g_object_ref (controller);
  self->core = dvmd_controller_get_core (controller);
  self->bus_name = g_strjoin (".", "org.dvm.Manager", name, NULL);
  self->waiters = dvmd_bus_waiters_new (self);
  self->events = dvmd_bus_events_new ();
  self->batches = dvmd_bus_batches_new ();
  self->early_maps = dvmd_bus_maps_new ();
  g_signal_connect_object (controller, "ready", G_CALLBACK (dvmd_bus_maps_ready), self, G_CONNECT_SWAPPED);
  self->signals = dvmd_bus_signals_new (self);
  return self;
}

void
dvmd_bus_server_set_settings (DvmdBusServer *self, DvmdConfig *settings, DvmdBusReloadFunc reload, gpointer user_data)
{
  g_clear_pointer (&self->settings, dvmd_config_unref);
  self->settings = settings != NULL ? dvmd_config_ref (settings) : NULL;
  self->hides = settings != NULL && dvmd_config_get_bool (settings, "private");
  self->reload = reload;
  self->reload_data = user_data;
}

void
dvmd_bus_server_set_timeout (DvmdBusServer *self, gint64 timeout)
{
  dvmd_bus_signals_set_timeout (self->signals, timeout);
}

/* ---- connections that come and go ---- */

static void
remove_peer (DvmdBusServer *self, DvmdBusPeer *peer)
{
  g_autoptr (DvmdBusPeer) keep = dvmd_bus_peer_ref (peer);

  if (peer->is_guest)
    dvmd_bus_socket_guest_gone (self->socket);
  g_hash_table_remove (self->private_peers, peer->name);
  g_ptr_array_remove (self->peers, peer);
  dvmd_bus_unexport (peer);
  dvmd_bus_signals_peer_gone (self->signals, peer);
}

static void
on_closed (GDBusConnection *connection, gboolean remote_peer_vanished, GError *error, gpointer user_data)
{
  g_autoptr (DvmdBusPeer) peer = dvmd_bus_peer_ref (user_data);
  g_autoptr (DvmdBusServer) self = g_object_ref (peer->server);

  if (!peer->is_bus)
    g_debug ("%s is gone", peer->name);
  remove_peer (self, peer);
  if (peer->is_bus)
    dvmd_bus_lost (self, error);
  g_signal_emit (self, signals[SIGNAL_CONNECTION_CLOSED], 0, peer->is_bus, dvmd_bus_server_get_n_connections (self));
}

static gboolean
on_closed_before (gpointer user_data)
{
  DvmdBusPeer *peer = user_data;

  if (peer->closed_handler != 0)
    on_closed (peer->connection, TRUE, NULL, peer);
  return G_SOURCE_REMOVE;
}

/* The signal "closed" may be over before its handler is connected: an idle source calls the handler then. */
static void
check_closed (DvmdBusPeer *peer)
{
  g_autoptr (GSource) source = NULL;

  if (!g_dbus_connection_is_closed (peer->connection))
    return;
  source = g_idle_source_new ();
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, on_closed_before, dvmd_bus_peer_ref (peer), (GDestroyNotify)dvmd_bus_peer_unref);
  g_source_attach (source, g_main_context_get_thread_default ());
}

void
dvmd_bus_insert_peer (DvmdBusServer *self, DvmdBusPeer *peer)
{
  g_ptr_array_add (self->peers, dvmd_bus_peer_ref (peer));
  if (!peer->is_bus)
    g_hash_table_insert (self->private_peers, peer->name, peer);
  peer->closed_handler = g_signal_connect (peer->connection, "closed", G_CALLBACK (on_closed), peer);
  check_closed (peer);
  dvmd_bus_signals_listeners_changed (self->signals);
}

/* ---- the end ---- */

typedef struct
{
  guint n_pending; /* releases and flushes under way */
  guint timer;
} StopData;

static void
stop_data_free (gpointer data)
{
  StopData *stop = data;

  g_clear_handle_id (&stop->timer, g_source_remove);
  g_free (stop);
}

static void
finish_stop (GTask *task)
{
  DvmdBusServer *self = g_task_get_source_object (task);
  StopData *stop = g_task_get_task_data (task);

  if (g_task_get_completed (task) || self->waiters == NULL)
    return;
  g_clear_handle_id (&stop->timer, g_source_remove);
  while (self->peers->len > 0)
    {
      g_autoptr (DvmdBusPeer) peer = dvmd_bus_peer_ref (self->peers->pdata[self->peers->len - 1]);

      remove_peer (self, peer);
      g_dbus_connection_close (peer->connection, NULL, NULL, NULL);
    }
  g_task_return_boolean (task, TRUE);
}

static gboolean
on_stop_limit (gpointer user_data)
{
  GTask *task = user_data;

  ((StopData *)g_task_get_task_data (task))->timer = 0;
  g_message ("Not everybody has read the last messages: closed");
  finish_stop (task);
  return G_SOURCE_REMOVE;
}

static void
stop_step_done (GTask *task)
{
  StopData *stop = g_task_get_task_data (task);

  if (--stop->n_pending == 0)
    finish_stop (task);
}

static void
on_stop_flushed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;

  g_dbus_connection_flush_finish (G_DBUS_CONNECTION (source), result, NULL);
  stop_step_done (task);
}

static void
on_name_released (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, NULL);

  stop_step_done (task);
}

static void
stop_peer (GTask *task, DvmdBusPeer *peer)
{
  DvmdBusServer *self = g_task_get_source_object (task);
  StopData *stop = g_task_get_task_data (task);

  if (peer->owns_name)
    {
      stop->n_pending++;
      g_dbus_connection_call (peer->connection, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                              "ReleaseName", g_variant_new ("(s)", self->bus_name), NULL, G_DBUS_CALL_FLAGS_NONE,
                              STOP_LIMIT_MS, NULL, on_name_released, g_object_ref (task));
    }
  stop->n_pending++;
  g_dbus_connection_flush (peer->connection, NULL, on_stop_flushed, g_object_ref (task));
}

void
dvmd_bus_server_stop_async (DvmdBusServer *self, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  g_autoptr (GError)
      error = g_error_new (DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The DVM ends, and nothing is left to wait for");
  StopData *stop = g_new0 (StopData, 1);

  g_task_set_source_tag (task, dvmd_bus_server_stop_async);
  g_task_set_task_data (task, stop, stop_data_free);
  self->stopped = TRUE;
  g_clear_handle_id (&self->force_timer, g_source_remove);
  dvmd_bus_buses_stop (self->buses);
  g_cancellable_cancel (self->cancellable);
  dvmd_bus_socket_stop (self->socket);
  /* Clients are told of the objects that have ended, also those clients that wait for them. */
  dvmd_bus_signals_flush (self->signals);
  dvmd_bus_waiters_fail (self->waiters, error);
  dvmd_bus_batches_fail (self, error);
  dvmd_bus_maps_fail (self, error);
  stop->n_pending = 1;
  stop->timer = g_timeout_add (STOP_LIMIT_MS, on_stop_limit, task);
  for (guint i = 0; i < self->peers->len; i++)
    stop_peer (task, self->peers->pdata[i]);
  stop_step_done (task);
}

void
dvmd_bus_server_stop_finish (DvmdBusServer *self, GAsyncResult *result)
{
  g_task_propagate_boolean (G_TASK (result), NULL);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The message bus: the connection to it, the name on it, coming back to a bus that has gone, and leaving it without
 * losing a call.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-caller.h"
#include "dvmd-bus-dispatch.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"

#define CALL_LIMIT_MS             10000
#define REQUEST_NAME_DO_NOT_QUEUE 4

/* A bus that is only restarted is back at once; one that stays away must cost nothing. */
#define FIRST_DELAY_MS 100
#define LAST_DELAY_MS  5000

/* Two answers of the bus later every call that came before has at least begun: those of subtrees take two turns. */
#define MIN_ROUND_TRIPS 2

enum
{
  REPLY_PRIMARY_OWNER = 1,
  REPLY_ALREADY_OWNER = 4
};

struct _DvmdBusBuses
{
  char *address;      /* (nullable): where to come back to */
  gboolean is_shared; /* by other users */
  guint n_joining;    /* attempts under way */
  guint retry;        /* source */
  guint delay;        /* ms before the next try */
  gboolean told;      /* that another DVM has the name */
};

DvmdBusBuses *
dvmd_bus_buses_new (void)
{
  return g_new0 (DvmdBusBuses, 1);
}

void
dvmd_bus_buses_stop (DvmdBusBuses *self)
{
  g_clear_handle_id (&self->retry, g_source_remove);
}

void
dvmd_bus_buses_free (DvmdBusBuses *self)
{
  dvmd_bus_buses_stop (self);
  g_free (self->address);
  g_free (self);
}

static void
call_bus (DvmdBusPeer *peer, const char *method, GVariant *parameters, GCancellable *cancellable,
          GAsyncReadyCallback callback, gpointer user_data)
{
  g_dbus_connection_call (peer->connection, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                          method, parameters, NULL, G_DBUS_CALL_FLAGS_NONE, CALL_LIMIT_MS, cancellable, callback,
                          user_data);
}

static void
request_name (DvmdBusServer *self, DvmdBusPeer *peer, GCancellable *cancellable, GAsyncReadyCallback callback,
              gpointer user_data)
{
  call_bus (peer, "RequestName", g_variant_new ("(su)", self->bus_name, REQUEST_NAME_DO_NOT_QUEUE), cancellable,
            callback, user_data);
}

static gboolean
request_name_finish (DvmdBusServer *self, GObject *source, GAsyncResult *result, GError **error)
{
  g_autoptr (GError) own_error = NULL;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &own_error);
  guint32 code = 0;

  if (reply != NULL && g_variant_is_of_type (reply, G_VARIANT_TYPE ("(u)")))
    g_variant_get (reply, "(u)", &code);
  if (code == REPLY_PRIMARY_OWNER || code == REPLY_ALREADY_OWNER)
    return TRUE;
  if (reply != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS,
                 "Another DVM has the name %s: stop it, or give this one another --name", self->bus_name);
  else
    {
      g_dbus_error_strip_remote_error (own_error);
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "The name %s cannot be had: %s", self->bus_name,
                   own_error->message);
    }
  return FALSE;
}

/* ---- joining ---- */

static void
on_join_completed (GObject *task, GParamSpec *pspec, gpointer user_data)
{
  ((DvmdBusServer *)user_data)->buses->n_joining--;
}

static GTask *
join_new (DvmdBusServer *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *task = g_task_new (self, cancellable, callback, user_data);

  self->buses->n_joining++;
  g_signal_connect (task, "notify::completed", G_CALLBACK (on_join_completed), self);
  return task;
}

static void
on_name_requested (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  DvmdBusServer *self = g_task_get_source_object (task);
  DvmdBusPeer *peer = g_task_get_task_data (task);
  GError *error = NULL;

  if (!request_name_finish (self, source, result, &error))
    {
      dvmd_bus_unexport (peer);
      g_task_return_error (task, error);
      return;
    }
  peer->owns_name = TRUE;
  dvmd_bus_insert_peer (self, peer);
  g_task_return_boolean (task, TRUE);
}

static void
take_bus (GTask *task, GDBusConnection *connection)
{
  DvmdBusServer *self = g_task_get_source_object (task);
  DvmdBusPeer *peer = dvmd_bus_peer_new (self, connection, TRUE);
  GError *error = NULL;

  g_task_set_task_data (task, peer, (GDestroyNotify)dvmd_bus_peer_unref);
  g_dbus_connection_set_exit_on_close (connection, FALSE);
  if (self->buses->is_shared)
    peer->limit = dvmd_bus_limit_new (connection);
  if (!dvmd_bus_export (peer, &error))
    {
      dvmd_bus_unexport (peer);
      g_task_return_error (task, error);
      g_object_unref (task);
      return;
    }
  /* The objects are there before the name is: whoever waits for the name finds them. */
  request_name (self, peer, g_task_get_cancellable (task), on_name_requested, task);
}

static void
on_bus_connected (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GDBusConnection) connection = g_dbus_connection_new_for_address_finish (result, &error);

  if (connection != NULL)
    {
      take_bus (task, connection);
      return;
    }
  g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_FOUND, "The bus cannot be reached: %s", error->message);
  g_object_unref (task);
}

/* Takes task over. */
static void
connect_bus (GTask *task)
{
  DvmdBusServer *self = g_task_get_source_object (task);

  g_dbus_connection_new_for_address (self->buses->address,
                                     G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT
                                         | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                     NULL, g_task_get_cancellable (task), on_bus_connected, task);
}

void
dvmd_bus_server_add_bus_async (DvmdBusServer *self, GBusType type, GCancellable *cancellable,
                               GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *task = join_new (self, cancellable, callback, user_data);
  g_autofree char *address = g_dbus_address_get_for_bus_sync (type, NULL, NULL);

  g_task_set_source_tag (task, dvmd_bus_server_add_bus_async);
  /* A bus is used, never started. */
  if (address == NULL || g_str_has_prefix (address, "autolaunch:"))
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_FOUND, "There is no %s bus here",
                               type == G_BUS_TYPE_SYSTEM ? "system" : "session");
      g_object_unref (task);
      return;
    }
  g_free (self->buses->address);
  self->buses->address = g_steal_pointer (&address);
  self->buses->is_shared = type == G_BUS_TYPE_SYSTEM;
  connect_bus (task);
}

void
dvmd_bus_server_add_bus_connection_async (DvmdBusServer *self, GDBusConnection *connection, GCancellable *cancellable,
                                          GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *task = join_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, dvmd_bus_server_add_bus_connection_async);
  take_bus (task, connection);
}

gboolean
dvmd_bus_server_add_bus_finish (DvmdBusServer *self, GAsyncResult *result, GError **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

/* ---- coming back ---- */

static void schedule_return (DvmdBusServer *self);

static void
on_returned (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmdBusServer *self = DVMD_BUS_SERVER (source);
  g_autoptr (GError) error = NULL;

  if (g_task_propagate_boolean (G_TASK (result), &error))
    {
      g_message ("The message bus is back, and the DVM is on it as %s", self->bus_name);
      return;
    }
  if (self->stopped)
    return;
  if (g_error_matches (error, DVM_ERROR, DVM_ERROR_EXISTS) && !self->buses->told)
    {
      g_message ("%s; until then this one goes on with its socket", error->message);
      self->buses->told = TRUE;
    }
  else
    g_debug ("not back on the bus yet: %s", error->message);
  schedule_return (self);
}

static gboolean
on_retry (gpointer user_data)
{
  DvmdBusServer *self = user_data;

  self->buses->retry = 0;
  connect_bus (join_new (self, self->cancellable, on_returned, NULL));
  return G_SOURCE_REMOVE;
}

static void
schedule_return (DvmdBusServer *self)
{
  self->buses->retry = g_timeout_add (self->buses->delay, on_retry, self);
  self->buses->delay = MIN (2 * self->buses->delay, LAST_DELAY_MS);
}

void
dvmd_bus_lost (DvmdBusServer *self, const GError *error)
{
  const char *reason = error != NULL ? error->message : "closed";

  if (self->buses->address == NULL || self->stopped)
    {
      g_message ("The message bus has gone (%s): the DVM goes on with its socket", reason);
      return;
    }
  g_message ("The message bus has gone (%s): the DVM goes on with its socket until it is back", reason);
  self->buses->told = FALSE;
  self->buses->delay = FIRST_DELAY_MS;
  if (self->buses->retry == 0)
    schedule_return (self);
}

/* ---- leaving ---- */

static DvmdBusPeer *
find_bus (DvmdBusServer *self)
{
  for (guint i = 0; i < self->peers->len; i++)
    if (((DvmdBusPeer *)self->peers->pdata[i])->is_bus)
      return self->peers->pdata[i];
  return NULL;
}

static gboolean
has_pending_calls (DvmdBusPeer *peer)
{
  GHashTableIter iter;
  gpointer caller;

  g_hash_table_iter_init (&iter, peer->callers);
  while (g_hash_table_iter_next (&iter, NULL, &caller))
    if (!g_queue_is_empty (&((DvmdBusCaller *)caller)->pending))
      return TRUE;
  return FALSE;
}

typedef struct
{
  DvmdBusPeer *peer;
  guint n_round_trips;
} Leave;

static void
leave_free (gpointer data)
{
  Leave *leave = data;

  dvmd_bus_peer_unref (leave->peer);
  g_free (leave);
}

/* Messages of one connection come in their order: what was sent to the name is here when the bus's answer is. */
static void
on_round_trip (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  Leave *leave = g_task_get_task_data (task);
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, NULL);

  if (reply != NULL && leave->peer->server != NULL
      && (leave->n_round_trips++ < MIN_ROUND_TRIPS || has_pending_calls (leave->peer)))
    {
      call_bus (leave->peer, "GetId", NULL, NULL, on_round_trip, task);
      return;
    }
  g_task_return_boolean (task, TRUE);
  g_object_unref (task);
}

static void
on_name_released (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Leave *leave = g_task_get_task_data (user_data);

  leave->peer->owns_name = FALSE;
  on_round_trip (source, result, user_data);
}

void
dvmd_bus_server_leave_async (DvmdBusServer *self, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  DvmdBusPeer *peer = find_bus (self);
  Leave *leave;

  g_task_set_source_tag (task, dvmd_bus_server_leave_async);
  if (peer == NULL)
    {
      g_task_return_boolean (task, self->buses->n_joining == 0);
      return;
    }
  leave = g_new0 (Leave, 1);
  leave->peer = dvmd_bus_peer_ref (peer);
  g_task_set_task_data (task, leave, leave_free);
  call_bus (peer, "ReleaseName", g_variant_new ("(s)", self->bus_name), NULL, on_name_released,
            g_steal_pointer (&task));
}

gboolean
dvmd_bus_server_leave_finish (DvmdBusServer *self, GAsyncResult *result)
{
  return g_task_propagate_boolean (G_TASK (result), NULL);
}

static void
on_name_again (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (DvmdBusPeer) peer = user_data;
  DvmdBusServer *self = peer->server;
  g_autoptr (GError) error = NULL;

  if (self == NULL)
    return;
  peer->owns_name = request_name_finish (self, source, result, &error);
  /* Without its connection the DVM begins anew, as after the end of the bus. */
  if (!peer->owns_name)
    {
      g_message ("%s", error->message);
      g_dbus_connection_close (peer->connection, NULL, NULL, NULL);
    }
}

void
dvmd_bus_server_stay (DvmdBusServer *self)
{
  DvmdBusPeer *peer = find_bus (self);

  if (peer != NULL && !peer->owns_name && !self->stopped)
    request_name (self, peer, NULL, on_name_again, dvmd_bus_peer_ref (peer));
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-private.h"

/* So many messages may be under way before it is looked whether the other end reads them; it is closed at MAX, 55 MB.
 */
#define UNCONFIRMED_LOOK 1024
#define UNCONFIRMED_MAX  16384

DvmdBusPeer *
dvmd_bus_peer_new (DvmdBusServer *server, GDBusConnection *connection, gboolean is_bus)
{
  DvmdBusPeer *self = g_rc_box_new0 (DvmdBusPeer);

  self->server = server;
  self->connection = g_object_ref (connection);
  self->is_bus = is_bus;
  self->id = ++server->last_peer;
  self->name = g_strdup_printf ("%s:%u", is_bus ? "bus" : "private", self->id);
  self->objects = g_array_new (FALSE, FALSE, sizeof (guint));
  self->subtrees = g_array_new (FALSE, FALSE, sizeof (guint));
  if (is_bus)
    self->callers = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify)dvmd_bus_caller_unref);
  else
    self->self = dvmd_bus_caller_new_private (self);
  return self;
}

DvmdBusPeer *
dvmd_bus_peer_ref (DvmdBusPeer *self)
{
  return g_rc_box_acquire (self);
}

static void
peer_clear (gpointer data)
{
  DvmdBusPeer *self = data;

  g_clear_pointer (&self->callers, g_hash_table_unref);
  g_clear_pointer (&self->self, dvmd_bus_caller_unref);
  g_array_unref (self->objects);
  g_array_unref (self->subtrees);
  g_free (self->name);
  g_object_unref (self->connection);
}

void
dvmd_bus_peer_unref (DvmdBusPeer *self)
{
  g_rc_box_release_full (self, peer_clear);
}

gboolean
dvmd_bus_peer_export (DvmdBusPeer *self, GError **error)
{
  return dvmd_bus_object_manager_export (self, error) && dvmd_bus_manager_export (self, error)
         && dvmd_bus_jobs_export (self, error) && dvmd_bus_sessions_export (self, error)
         && (self->is_bus || dvmd_bus_daemon_export (self, error));
}

static void
drop_callers (DvmdBusPeer *self)
{
  if (self->self != NULL)
    dvmd_bus_caller_leave (self->self);
  if (self->callers != NULL)
    {
      g_autoptr (GList) callers = g_hash_table_get_values (self->callers);

      for (GList *l = callers; l != NULL; l = l->next)
        dvmd_bus_caller_leave (l->data);
    }
}

void
dvmd_bus_peer_detach (DvmdBusPeer *self)
{
  g_autoptr (DvmdBusPeer) keep = dvmd_bus_peer_ref (self);

  if (self->server == NULL)
    return;
  drop_callers (self);
  self->server = NULL;
  g_clear_signal_handler (&self->closed_handler, self->connection);
  for (guint i = 0; i < self->objects->len; i++)
    g_dbus_connection_unregister_object (self->connection, g_array_index (self->objects, guint, i));
  for (guint i = 0; i < self->subtrees->len; i++)
    g_dbus_connection_unregister_subtree (self->connection, g_array_index (self->subtrees, guint, i));
  g_array_set_size (self->objects, 0);
  g_array_set_size (self->subtrees, 0);
}

static void
on_flushed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (DvmdBusPeer) self = user_data;

  self->flushing = FALSE;
  if (g_dbus_connection_flush_finish (G_DBUS_CONNECTION (source), result, NULL))
    self->n_unconfirmed = 0;
}

/* Memory stays bounded: GDBus itself queues without end for a peer that does not read. */
static void
count_message (DvmdBusPeer *self)
{
  if (++self->n_unconfirmed < UNCONFIRMED_LOOK)
    return;
  if (!self->flushing)
    {
      self->flushing = TRUE;
      g_dbus_connection_flush (self->connection, NULL, on_flushed, dvmd_bus_peer_ref (self));
    }
  if (self->n_unconfirmed == UNCONFIRMED_MAX)
    {
      g_message ("%s does not read its messages: closed", self->name);
      g_dbus_connection_close (self->connection, NULL, NULL, NULL);
    }
}

void
dvmd_bus_peer_send_signal (DvmdBusPeer *self, const char *path, const char *interface, const char *signal,
                           GVariant *body)
{
  g_autoptr (GDBusMessage) message = g_dbus_message_new_signal (path, interface, signal);
  g_autoptr (GError) error = NULL;

  g_dbus_message_set_body (message, body);
  if (!g_dbus_connection_send_message (self->connection, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, &error))
    {
      g_debug ("%s: %s is lost: %s", self->name, signal, error->message);
      return;
    }
  count_message (self);
}

gboolean
dvmd_bus_peer_is_subscribed (DvmdBusPeer *self)
{
  return self->n_subscriptions > 0 || self->saw_objects;
}

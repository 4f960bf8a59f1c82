/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A peer is one connection on which the objects of the DVM are exported.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-caller.h"
#include "dvmd-bus-hidden.h"
#include "dvmd-bus-log.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"

/* With more than MANY bytes unsent it lags, and with MAX it is closed. */
#define MANY        (1024 * 1024)
#define MAX_WAITING (64 * 1024 * 1024)
/* So many objects nobody has on its screen. */
#define MAX_BACKLOG 200000

static GQuark
peer_quark (void)
{
  return g_quark_from_static_string ("dvmd-bus-peer");
}

DvmdBusPeer *
dvmd_bus_peer_new (DvmdBusServer *server, GDBusConnection *connection, gboolean is_bus)
{
  DvmdBusPeer *self = g_rc_box_new0 (DvmdBusPeer);

  self->server = server;
  self->connection = g_object_ref (connection);
  self->is_bus = is_bus;
  self->unsent = dvmd_bus_unsent_new ();
  g_object_set_qdata (G_OBJECT (connection), peer_quark (), self);
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
  g_clear_pointer (&self->limit, dvmd_bus_limit_unref);
  g_clear_pointer (&self->backlog, dvmd_bus_log_free);
  dvmd_bus_unsent_release (self->unsent);
  g_object_set_qdata (G_OBJECT (self->connection), peer_quark (), NULL);
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

const GDBusInterfaceInfo *
dvmd_bus_read_interface (gsize *once, const char *xml)
{
  if (g_once_init_enter (once))
    g_once_init_leave (once, (gsize)g_dbus_node_info_new_for_xml (xml, NULL));
  return ((const GDBusNodeInfo *)*once)->interfaces[0];
}

gboolean
dvmd_bus_peer_register (DvmdBusPeer *self, const char *path, const GDBusInterfaceInfo *info,
                        const GDBusInterfaceVTable *vtable, GError **error)
{
  guint id = g_dbus_connection_register_object (self->connection, path, (GDBusInterfaceInfo *)info, vtable,
                                                dvmd_bus_peer_ref (self), (GDestroyNotify)dvmd_bus_peer_unref, error);

  if (id != 0)
    g_array_append_val (self->objects, id);
  return id != 0;
}

DvmdBusPeer *
dvmd_bus_peer_of (GDBusConnection *connection)
{
  return g_object_get_qdata (G_OBJECT (connection), peer_quark ());
}

/* ---- those who read slowly, or not at all ---- */

void
dvmd_bus_peer_give_up (DvmdBusPeer *self, const char *why)
{
  if (self->given_up)
    return;
  self->given_up = TRUE;
  g_message ("%s does not read its messages (%s): closed", self->name, why);
  g_dbus_connection_close (self->connection, NULL, NULL, NULL);
}

gboolean
dvmd_bus_peer_is_full (DvmdBusPeer *self)
{
  return dvmd_bus_unsent_get_bytes (self->unsent) >= MANY;
}

/* Nodes excepted: there are no more of them than there are. */
static guint
count_backlog (DvmdBusPeer *self)
{
  return dvmd_bus_log_count (self->backlog, DVMD_BUS_LOG_JOBS)
         + dvmd_bus_log_count (self->backlog, DVMD_BUS_LOG_OTHERS);
}

void
dvmd_bus_peer_send (DvmdBusPeer *self, GDBusMessage *message)
{
  g_autoptr (GError) error = NULL;
  gsize waiting = dvmd_bus_unsent_get_bytes (self->unsent);

  if (g_dbus_connection_is_closed (self->connection))
    return;
  dvmd_bus_unsent_add (self->unsent, message);
  if (!g_dbus_connection_send_message (self->connection, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, &error))
    g_debug ("%s: a message is lost: %s", self->name, error->message);
  self->full |= waiting > MANY;
  if (!self->is_bus && waiting > MAX_WAITING)
    dvmd_bus_peer_give_up (self, "64 MiB wait for it");
  else if (self->backlog != NULL && count_backlog (self) > MAX_BACKLOG)
    dvmd_bus_peer_give_up (self, "more jobs have come and gone than can be kept for it");
}

static void
send_signal (DvmdBusPeer *self, const char *destination, const char *path, const char *interface, const char *signal,
             GVariant *body)
{
  g_autoptr (GDBusMessage) message = g_dbus_message_new_signal (path, interface, signal);

  if (destination != NULL)
    g_dbus_message_set_destination (message, destination);
  g_dbus_message_set_body (message, body);
  if (self->said_hello)
    g_dbus_message_set_sender (message, DVMD_BUS_PRIVATE_UNIQUE_NAME);
  dvmd_bus_peer_send (self, message);
}

void
dvmd_bus_peer_send_signal (DvmdBusPeer *self, const char *path, const char *interface, const char *signal,
                           GVariant *body)
{
  g_autoptr (GVariant) whole = g_variant_ref_sink (body);
  gboolean hides = self->is_bus && self->server != NULL && self->server->hides;

  send_signal (self, NULL, path, interface, signal, hides ? dvmd_bus_hide_signal (interface, signal, whole) : whole);
}

void
dvmd_bus_peer_send_directed (DvmdBusPeer *self, const char *destination, const char *signal, GVariant *body)
{
  send_signal (self, destination, DVMD_BUS_MANAGER_PATH, dvmd_bus_manager.interface->name, signal, body);
}

gboolean
dvmd_bus_peer_is_subscribed (DvmdBusPeer *self)
{
  return self->n_subscriptions > 0 || self->saw_objects;
}

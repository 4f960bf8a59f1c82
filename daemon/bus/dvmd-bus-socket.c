/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Private connections come in by the socket, or are handed in as descriptors.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-caller.h"
#include "dvmd-bus-dispatch.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"

#include <gio/gunixconnection.h>
#include <gio/gunixsocketaddress.h>
#include <glib/gstdio.h>
#include <sys/un.h>
#include <unistd.h>

struct _DvmdBusSocket
{
  DvmdBusListener *listener; /* (nullable) */
  GDBusAuthObserver *observer;
  char *guid;
  char *address;
  guint n_authenticating;
};

/* Both run in a thread of GDBus and touch nothing of ours. */
static gboolean
on_allow_mechanism (GDBusAuthObserver *observer, const char *mechanism, gpointer user_data)
{
  return g_strcmp0 (mechanism, "EXTERNAL") == 0;
}

static gboolean
on_authorize (GDBusAuthObserver *observer, GIOStream *stream, GCredentials *credentials, gpointer user_data)
{
  uid_t uid = credentials != NULL ? g_credentials_get_unix_user (credentials, NULL) : (uid_t)-1;

  return uid != (uid_t)-1 && (uid == getuid () || uid == 0);
}

DvmdBusSocket *
dvmd_bus_socket_new (void)
{
  DvmdBusSocket *self = g_new0 (DvmdBusSocket, 1);

  self->guid = g_dbus_generate_guid ();
  self->observer = g_dbus_auth_observer_new ();
  g_signal_connect (self->observer, "allow-mechanism", G_CALLBACK (on_allow_mechanism), NULL);
  g_signal_connect (self->observer, "authorize-authenticated-peer", G_CALLBACK (on_authorize), NULL);
  return self;
}

void
dvmd_bus_socket_stop (DvmdBusSocket *self)
{
  g_clear_pointer (&self->listener, dvmd_bus_listener_free);
}

void
dvmd_bus_socket_free (DvmdBusSocket *self)
{
  dvmd_bus_socket_stop (self);
  g_object_unref (self->observer);
  g_free (self->guid);
  g_free (self->address);
  g_free (self);
}

void
dvmd_bus_socket_guest_gone (DvmdBusSocket *self)
{
  if (self->listener != NULL)
    dvmd_bus_listener_connection_gone (self->listener);
}

static gboolean
add_private (DvmdBusServer *self, GDBusConnection *connection, gboolean is_guest)
{
  g_autoptr (DvmdBusPeer) peer = dvmd_bus_peer_new (self, connection, FALSE);
  g_autoptr (GError) error = NULL;

  peer->is_guest = is_guest;
  if (!dvmd_bus_export (peer, &error))
    {
      g_message ("%s is refused: %s", peer->name, error->message);
      dvmd_bus_unexport (peer);
      return FALSE;
    }
  dvmd_bus_insert_peer (self, peer);
  g_debug ("%s is uid %u, pid %u", peer->name, peer->self->requester.uid, peer->self->requester.pid);
  return TRUE;
}

static gboolean
on_new_connection (GDBusConnection *connection, gpointer user_data)
{
  DvmdBusServer *self = user_data;

  return !self->stopped && add_private (self, connection, TRUE);
}

static gboolean
check_path (const char *path, GError **error)
{
  gsize longest = sizeof ((struct sockaddr_un *)NULL)->sun_path - 1;

  if (strlen (path) <= longest)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The path of the socket has %zu bytes, and %zu are possible: %s",
               strlen (path), longest, path);
  return FALSE;
}

static gboolean
is_listening (const char *path)
{
  g_autoptr (GSocket)
      socket = g_socket_new (G_SOCKET_FAMILY_UNIX, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT, NULL);
  g_autoptr (GSocketAddress) address = g_unix_socket_address_new (path);

  return socket != NULL && g_socket_connect (socket, address, NULL, NULL);
}

/* A socket that a crashed DVM has left is in the way; anything else is not ours to remove. */
static gboolean
clear_path (const char *path, GError **error)
{
  GStatBuf status;

  if (g_lstat (path, &status) != 0)
    return TRUE;
  if (!S_ISSOCK (status.st_mode))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, "%s is there and is no socket: give another path", path);
      return FALSE;
    }
  if (is_listening (path))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, "Another DVM listens on %s", path);
      return FALSE;
    }
  g_message ("%s was left by a DVM that is gone: replaced", path);
  if (g_unlink (path) == 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "%s cannot be removed: %s", path, g_strerror (errno));
  return FALSE;
}

gboolean
dvmd_bus_server_listen (DvmdBusServer *self, const char *path, GError **error)
{
  g_autofree char *escaped = g_dbus_address_escape_value (path);
  g_autofree char *address = g_strdup_printf ("unix:path=%s", escaped);
  const DvmdBusListenerSettings settings = { self->socket->guid, self->socket->observer, on_new_connection, self };
  g_autoptr (GError) own_error = NULL;

  g_return_val_if_fail (self->socket->listener == NULL, FALSE);

  if (!check_path (path, error) || !clear_path (path, error))
    return FALSE;
  self->socket->listener = dvmd_bus_listener_new (path, &settings, &own_error);
  if (self->socket->listener == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "The socket %s cannot be made: %s", path, own_error->message);
      return FALSE;
    }
  /* Its folder is private; this is for a --socket elsewhere. */
  if (g_chmod (path, 0600) != 0)
    g_message ("%s keeps its mode: %s", path, g_strerror (errno));
  self->socket->address = g_steal_pointer (&address);
  return TRUE;
}

static void
on_fd_authenticated (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (DvmdBusServer) self = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GDBusConnection) connection = g_dbus_connection_new_finish (result, &error);

  self->socket->n_authenticating--;
  if (connection != NULL && !self->stopped && add_private (self, connection, FALSE))
    {
      g_dbus_connection_start_message_processing (connection);
      return;
    }
  /* Its other end hears of it, if it has not gone: an interrupted dvm-cli wants no line of us. */
  if (error != NULL)
    g_info ("The connection that was handed in is refused: %s", error->message);
  g_signal_emit_by_name (self, "connection-closed", FALSE, dvmd_bus_server_get_n_connections (self));
}

gboolean
dvmd_bus_server_add_fd (DvmdBusServer *self, int fd, GError **error)
{
  g_autoptr (GError) own_error = NULL;
  g_autoptr (GSocket) socket = g_socket_new_from_fd (fd, &own_error);
  g_autoptr (GSocketConnection) stream = NULL;

  if (socket == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "Descriptor %d is no socket: %s", fd, own_error->message);
      close (fd);
      return FALSE;
    }
  if (g_socket_get_family (socket) != G_SOCKET_FAMILY_UNIX)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "Descriptor %d is no unix socket", fd);
      return FALSE;
    }
  stream = g_socket_connection_factory_create_connection (socket);
  self->socket->n_authenticating++;
  g_dbus_connection_new (G_IO_STREAM (stream), self->socket->guid,
                         G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_SERVER
                             | G_DBUS_CONNECTION_FLAGS_DELAY_MESSAGE_PROCESSING,
                         self->socket->observer, self->cancellable, on_fd_authenticated, g_object_ref (self));
  return TRUE;
}

DvmdBusListener *
dvmd_bus_server_get_listener (DvmdBusServer *self)
{
  return self->socket->listener;
}

guint
dvmd_bus_server_get_n_connections (DvmdBusServer *self)
{
  return g_hash_table_size (self->private_peers) + self->socket->n_authenticating;
}

const char *
dvmd_bus_server_get_address (DvmdBusServer *self)
{
  return self->socket->address;
}

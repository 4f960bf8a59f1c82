/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Connections of tools are carried to the port of the library, which does not survive all of their deaths.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-relay.h"

#include <netinet/tcp.h>
#include <unistd.h>

#include "dvmd-pmix-ends.h"

#define DRAIN_SIZE 65536

struct _DvmdPmixRelay
{
  GSocketService *service;
  guint port;    /* ours */
  guint library; /* the library's */
  GCancellable *cancellable;
  gint64 said;         /* when one who was not let in was logged last; 0: never */
  GHashTable *to_tool; /* Passage, unowned: the library may still have something for the tool */
  DvmdPmixDone finished;
  gpointer finished_data;
};

/* One tool. Lives until both ways have ended. */
typedef struct
{
  DvmdPmixRelay *relay; /* unowned; NULL: it has gone, or the tool has all that the library has said */
  GIOStream *tool;
  GIOStream *library;
  GCancellable *cancellable;
  guint n_ways;
} Passage;

static void
end_way (Passage *self)
{
  if (--self->n_ways > 0)
    return;
  g_io_stream_close (self->tool, NULL, NULL);
  g_io_stream_close (self->library, NULL, NULL);
  g_object_unref (self->tool);
  g_object_unref (self->library);
  g_object_unref (self->cancellable);
  g_free (self);
}

static void
end_writing (GIOStream *stream)
{
  g_socket_shutdown (g_socket_connection_get_socket (G_SOCKET_CONNECTION (stream)), FALSE, TRUE, NULL);
}

/* The tool says nothing any more; what the library says to it is still taken. */
static void
on_tool_ended (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Passage *self = user_data;

  g_output_stream_splice_finish (G_OUTPUT_STREAM (source), result, NULL);
  end_writing (self->library);
  end_way (self);
}

static void
on_drained (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Passage *self = user_data;

  if (g_input_stream_skip_finish (G_INPUT_STREAM (source), result, NULL) > 0)
    g_input_stream_skip_async (G_INPUT_STREAM (source), DRAIN_SIZE, G_PRIORITY_DEFAULT, self->cancellable, on_drained,
                               self);
  else
    end_way (self);
}

static void
end_to_tool (Passage *self)
{
  DvmdPmixRelay *relay = g_steal_pointer (&self->relay);

  if (relay == NULL)
    return;
  g_hash_table_remove (relay->to_tool, self);
  if (g_hash_table_size (relay->to_tool) == 0 && relay->finished != NULL)
    g_steal_pointer (&relay->finished) (relay->finished_data);
}

/* The library has ended its side, or the tool cannot be written to any more. */
static void
on_library_ended (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Passage *self = user_data;

  if (g_output_stream_splice_finish (G_OUTPUT_STREAM (source), result, NULL) >= 0)
    end_writing (self->tool);
  g_input_stream_skip_async (g_io_stream_get_input_stream (self->library), DRAIN_SIZE, G_PRIORITY_DEFAULT,
                             self->cancellable, on_drained, self);
  end_to_tool (self);
}

/* (nullable): with the error set */
static GSocketConnection *
connect_library (DvmdPmixRelay *self, GError **error)
{
  g_autoptr (GSocketAddress) address = g_inet_socket_address_new_from_string ("127.0.0.1", self->library);
  g_autoptr (GSocket) socket = g_socket_new (G_SOCKET_FAMILY_IPV4, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, error);

  if (socket == NULL || !g_socket_connect (socket, address, NULL, error))
    return NULL;
  return g_socket_connection_factory_create_connection (socket);
}

/* Bytes of one side are not kept back until the other has confirmed those before. */
static void
send_at_once (GIOStream *stream)
{
  g_socket_set_option (g_socket_connection_get_socket (G_SOCKET_CONNECTION (stream)), IPPROTO_TCP, TCP_NODELAY, 1,
                       NULL);
}

static gboolean
is_ours (DvmdPmixRelay *self, GSocketConnection *connection)
{
  gint64 now = g_get_monotonic_time ();
  guint uid = 0;
  gboolean known;

  if (!dvmd_pmix_ends_is_stranger (g_socket_get_fd (g_socket_connection_get_socket (connection)), &uid, &known))
    return TRUE;
  if (!known || (self->said != 0 && now - self->said < G_USEC_PER_SEC))
    return FALSE;
  self->said = now;
  g_message ("A tool of user %u is not let in: this DVM belongs to user %u", uid, (guint)geteuid ());
  return FALSE;
}

static gboolean
on_incoming (GSocketService *service, GSocketConnection *connection, GObject *source, gpointer user_data)
{
  DvmdPmixRelay *self = user_data;
  g_autoptr (GSocketConnection) library = NULL;
  g_autoptr (GError) error = NULL;
  Passage *passage;

  if (!is_ours (self, connection))
    return TRUE;
  library = connect_library (self, &error);
  if (library == NULL)
    {
      g_message ("A tool cannot be let in: %s", error->message);
      return TRUE;
    }
  passage = g_new0 (Passage, 1);
  passage->relay = self;
  g_hash_table_add (self->to_tool, passage);
  passage->tool = G_IO_STREAM (g_object_ref (connection));
  passage->library = G_IO_STREAM (g_steal_pointer (&library));
  send_at_once (passage->tool);
  send_at_once (passage->library);
  passage->cancellable = g_object_ref (self->cancellable);
  passage->n_ways = 2;
  g_output_stream_splice_async (g_io_stream_get_output_stream (passage->library),
                                g_io_stream_get_input_stream (passage->tool), G_OUTPUT_STREAM_SPLICE_NONE,
                                G_PRIORITY_DEFAULT, passage->cancellable, on_tool_ended, passage);
  g_output_stream_splice_async (g_io_stream_get_output_stream (passage->tool),
                                g_io_stream_get_input_stream (passage->library), G_OUTPUT_STREAM_SPLICE_NONE,
                                G_PRIORITY_DEFAULT, passage->cancellable, on_library_ended, passage);
  return TRUE;
}

DvmdPmixRelay *
dvmd_pmix_relay_new (guint port, GError **error)
{
  g_autoptr (DvmdPmixRelay) self = g_new0 (DvmdPmixRelay, 1);
  g_autoptr (GSocketAddress) address = g_inet_socket_address_new_from_string ("127.0.0.1", 0);
  g_autoptr (GSocketAddress) effective = NULL;

  self->library = port;
  self->cancellable = g_cancellable_new ();
  self->to_tool = g_hash_table_new (NULL, NULL);
  self->service = g_socket_service_new ();
  if (!g_socket_listener_add_address (G_SOCKET_LISTENER (self->service), address, G_SOCKET_TYPE_STREAM,
                                      G_SOCKET_PROTOCOL_TCP, NULL, &effective, error))
    return NULL;
  self->port = g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (effective));
  g_signal_connect (self->service, "incoming", G_CALLBACK (on_incoming), self);
  return g_steal_pointer (&self);
}

guint
dvmd_pmix_relay_get_port (DvmdPmixRelay *self)
{
  return self->port;
}

static void
close_door (DvmdPmixRelay *self)
{
  if (self->service == NULL)
    return;
  g_signal_handlers_disconnect_by_data (self->service, self);
  g_socket_service_stop (self->service);
  g_socket_listener_close (G_SOCKET_LISTENER (self->service));
  g_clear_object (&self->service);
}

gboolean
dvmd_pmix_relay_finish (DvmdPmixRelay *self, DvmdPmixDone func, gpointer user_data)
{
  GHashTableIter iter;
  gpointer key;

  close_door (self);
  if (g_hash_table_size (self->to_tool) == 0)
    return TRUE;
  self->finished = func;
  self->finished_data = user_data;
  /* The data that has come is still read; behind it the stream ends. */
  g_hash_table_iter_init (&iter, self->to_tool);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      GIOStream *library = ((Passage *)key)->library;
      g_socket_shutdown (g_socket_connection_get_socket (G_SOCKET_CONNECTION (library)), TRUE, FALSE, NULL);
    }
  return FALSE;
}

void
dvmd_pmix_relay_free (DvmdPmixRelay *self)
{
  GHashTableIter iter;
  gpointer key;

  close_door (self);
  g_hash_table_iter_init (&iter, self->to_tool);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    ((Passage *)key)->relay = NULL;
  g_cancellable_cancel (self->cancellable);
  g_hash_table_unref (self->to_tool);
  g_object_unref (self->cancellable);
  g_free (self);
}

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

/*
 * libpmix (4.2.2 to 6.1) forgets the first bytes of a header that comes in two pieces, and takes others for it. So the
 * relay reads all that there is of one side, and writes it when the kernel has sent what it had: it cuts a header only
 * where more than a chunk waits. The server itself reads headers as a whole (dvmd-pmix-headers-intercept.c).
 */
#define CHUNK_SIZE 65536

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

typedef struct _Passage Passage;

typedef struct
{
  Passage *passage;
  GSocket *from; /* unowned */
  GSocket *to;   /* unowned; NULL: it cannot be written to any more, and what comes is dropped */
  GSource *source;
  gsize length; /* of what is to be written */
  gsize done;
  char bytes[CHUNK_SIZE];
} Way;

/* One tool. Lives until both ways have ended. */
struct _Passage
{
  DvmdPmixRelay *relay; /* unowned; NULL: it has gone, or the tool has all that the library has said */
  GSocketConnection *tool;
  GSocketConnection *library;
  GCancellable *cancellable;
  Way *to_library; /* (nullable) */
  Way *to_tool;    /* (nullable) */
};

static void watch (Way *self, GSocket *socket, GIOCondition condition, GSocketSourceFunc func);

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

static void
passage_free (Passage *self)
{
  g_io_stream_close (G_IO_STREAM (self->tool), NULL, NULL);
  g_io_stream_close (G_IO_STREAM (self->library), NULL, NULL);
  g_object_unref (self->tool);
  g_object_unref (self->library);
  g_object_unref (self->cancellable);
  g_free (self);
}

/* One side says nothing any more; what the other says to it is still taken. */
static void
end_way (Way *self)
{
  Passage *passage = self->passage;

  if (self->to != NULL)
    g_socket_shutdown (self->to, FALSE, TRUE, NULL);
  if (self == passage->to_tool)
    end_to_tool (passage);
  *(self == passage->to_tool ? &passage->to_tool : &passage->to_library) = NULL;
  g_source_unref (self->source);
  g_free (self);
  if (passage->to_tool == NULL && passage->to_library == NULL)
    passage_free (passage);
}

/* The tool has all that it will ever have. */
static void
give_up_writing (Way *self)
{
  self->to = NULL;
  if (self == self->passage->to_tool)
    end_to_tool (self->passage);
}

/* FALSE: there is more, for which there is no room now */
static gboolean
write_chunk (Way *self)
{
  while (self->to != NULL && self->done < self->length)
    {
      g_autoptr (GError) error = NULL;
      gssize n;

      if ((g_socket_condition_check (self->to, G_IO_OUT) & (G_IO_OUT | G_IO_ERR | G_IO_HUP)) == 0)
        return FALSE;
      n = g_socket_send (self->to, self->bytes + self->done, self->length - self->done, NULL, &error);
      if (n < 0 && g_error_matches (error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
        return FALSE;
      if (n < 0)
        give_up_writing (self);
      else
        self->done += (gsize)n;
    }
  return TRUE;
}

static gboolean on_readable (GSocket *socket, GIOCondition condition, gpointer user_data);

static gboolean
on_writable (GSocket *socket, GIOCondition condition, gpointer user_data)
{
  Way *self = user_data;

  if (g_cancellable_is_cancelled (self->passage->cancellable))
    end_way (self);
  else if (write_chunk (self))
    watch (self, self->from, G_IO_IN, on_readable);
  else
    return G_SOURCE_CONTINUE;
  return G_SOURCE_REMOVE;
}

static gboolean
on_readable (GSocket *socket, GIOCondition condition, gpointer user_data)
{
  Way *self = user_data;
  g_autoptr (GError) error = NULL;
  gssize n = g_socket_receive (self->from, self->bytes, sizeof self->bytes, self->passage->cancellable, &error);

  if (n < 0 && g_error_matches (error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
    return G_SOURCE_CONTINUE;
  if (n <= 0)
    {
      end_way (self);
      return G_SOURCE_REMOVE;
    }
  self->length = (gsize)n;
  self->done = 0;
  if (write_chunk (self))
    return G_SOURCE_CONTINUE;
  watch (self, self->to, G_IO_OUT, on_writable);
  return G_SOURCE_REMOVE;
}

static void
watch (Way *self, GSocket *socket, GIOCondition condition, GSocketSourceFunc func)
{
  if (self->source != NULL)
    g_source_unref (self->source);
  self->source = g_socket_create_source (socket, condition, self->passage->cancellable);
  g_source_set_callback (self->source, G_SOURCE_FUNC (func), self, NULL);
  g_source_attach (self->source, g_main_context_get_thread_default ());
}

static Way *
way_new (Passage *passage, GSocketConnection *from, GSocketConnection *to)
{
  Way *self = g_new0 (Way, 1);

  self->passage = passage;
  self->from = g_socket_connection_get_socket (from);
  self->to = g_socket_connection_get_socket (to);
  watch (self, self->from, G_IO_IN, on_readable);
  return self;
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
send_at_once (GSocketConnection *connection)
{
  GSocket *socket = g_socket_connection_get_socket (connection);

  g_socket_set_option (socket, IPPROTO_TCP, TCP_NODELAY, 1, NULL);
  g_socket_set_option (socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 1, NULL);
  g_socket_set_blocking (socket, FALSE);
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
  passage->tool = g_object_ref (connection);
  passage->library = g_steal_pointer (&library);
  send_at_once (passage->tool);
  send_at_once (passage->library);
  passage->cancellable = g_object_ref (self->cancellable);
  passage->to_library = way_new (passage, passage->tool, passage->library);
  passage->to_tool = way_new (passage, passage->library, passage->tool);
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
    g_socket_shutdown (g_socket_connection_get_socket (((Passage *)key)->library), TRUE, FALSE, NULL);
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

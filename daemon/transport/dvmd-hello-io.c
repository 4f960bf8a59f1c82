/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hellos are written and read over a stream, never blocking, never a byte too far.
 */

#include "config.h"

#include "dvmd-hello-io.h"
#include "dvmd-transport-error.h"

void
dvmd_hello_io_init (DvmdHelloIo *io, DvmdSocket *stream)
{
  io->stream = stream;
  io->in = g_byte_array_new ();
  io->wanted = DVMD_HELLO_HEADER_SIZE;
  io->out = g_byte_array_new ();
  io->sent = 0;
  io->source = NULL;
}

/* READY has the key of all members in it. */
static void
wipe (GByteArray *array)
{
  if (array->len > 0)
    explicit_bzero (array->data, array->len);
  g_byte_array_set_size (array, 0);
}

void
dvmd_hello_io_clear (DvmdHelloIo *io)
{
  dvmd_hello_io_unwatch (io);
  g_clear_pointer (&io->stream, dvmd_socket_free);
  wipe (io->in);
  wipe (io->out);
  g_clear_pointer (&io->in, g_byte_array_unref);
  g_clear_pointer (&io->out, g_byte_array_unref);
}

DvmdSocket *
dvmd_hello_io_steal_stream (DvmdHelloIo *io)
{
  dvmd_hello_io_unwatch (io);
  return g_steal_pointer (&io->stream);
}

void
dvmd_hello_io_unwatch (DvmdHelloIo *io)
{
  if (io->source != NULL)
    g_source_destroy (io->source);
  g_clear_pointer (&io->source, g_source_unref);
}

void
dvmd_hello_io_watch (DvmdHelloIo *io, GIOCondition condition, GUnixFDSourceFunc func, gpointer user_data)
{
  if (io->source != NULL && io->condition == condition)
    return;
  dvmd_hello_io_unwatch (io);
  io->condition = condition;
  io->source = g_unix_fd_source_new (dvmd_socket_get_fd (io->stream), condition);
  g_source_set_callback (io->source, G_SOURCE_FUNC (func), user_data, NULL);
  g_source_set_static_name (io->source, "dvmd hello");
  g_source_attach (io->source, g_main_context_get_thread_default ());
}

void
dvmd_hello_io_await (DvmdHelloIo *io, gboolean in_tls, GUnixFDSourceFunc func, gpointer user_data)
{
  GIOCondition condition = in_tls ? dvmd_socket_get_condition (io->stream) : G_IO_IN;

  dvmd_hello_io_watch (io, io->sent < io->out->len ? G_IO_OUT : condition, func, user_data);
}

GBytes *
dvmd_hello_io_send (DvmdHelloIo *io, const DvmdHello *hello)
{
  GBytes *encoded = dvmd_hello_encode (hello);
  gsize size;
  const guint8 *data = g_bytes_get_data (encoded, &size);

  g_byte_array_append (io->out, data, (guint)size);
  return encoded;
}

gboolean
dvmd_hello_io_flush (DvmdHelloIo *io, GError **error)
{
  while (io->sent < io->out->len)
    {
      gssize n = dvmd_socket_write (io->stream, io->out->data + io->sent, io->out->len - io->sent, error);

      if (n < 0)
        return FALSE;
      io->sent += (guint)n;
    }
  io->sent = 0;
  wipe (io->out);
  return TRUE;
}

static gboolean
read_wanted (DvmdHelloIo *io, GError **error)
{
  while (io->in->len < io->wanted)
    {
      guint8 data[1024];
      gssize n = dvmd_socket_read (io->stream, data, MIN (io->wanted - io->in->len, sizeof data), error);

      if (n == 0)
        g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_LOST, "it has gone in the middle of the hello");
      if (n <= 0)
        return FALSE;
      g_byte_array_append (io->in, data, (guint)n);
      explicit_bzero (data, (gsize)n);
    }
  return TRUE;
}

DvmdHello *
dvmd_hello_io_receive (DvmdHelloIo *io, GBytes **encoded, GError **error)
{
  DvmdHello *hello;

  for (;;)
    {
      g_autoptr (GError) failure = NULL;
      gboolean whole = read_wanted (io, &failure);
      gsize size = 0;

      /*
       * The header is checked as soon as it is there, so that a peer that speaks another protocol is refused at once
       * and not by the timeout.
       */
      if (failure == NULL && io->in->len > 0)
        size = dvmd_hello_peek_size (io->in->data, io->in->len, &failure);
      if (failure != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&failure));
          return NULL;
        }
      if (!whole)
        return NULL;
      if (size == io->in->len)
        break;
      io->wanted = size;
    }
  if (encoded != NULL)
    *encoded = g_bytes_new (io->in->data, io->in->len);
  hello = dvmd_hello_decode (io->in->data, io->in->len, error);
  wipe (io->in);
  io->wanted = DVMD_HELLO_HEADER_SIZE;
  return hello;
}

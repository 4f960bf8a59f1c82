/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib-unix.h>

#include "dvmd-hello.h"
#include "dvmd-socket.h"

G_BEGIN_DECLS

/* Hellos over a stream, never blocking, never a byte further than the hello that is read. */
typedef struct
{
  DvmdSocket *stream; /* owned; may be taken away */
  GByteArray *in;
  gsize wanted;
  GByteArray *out;
  guint sent;
  GSource *source; /* (nullable): what watches the socket */
  GIOCondition condition;
} DvmdHelloIo;

/* stream is taken. */
void dvmd_hello_io_init (DvmdHelloIo *io, DvmdSocket *stream);
void dvmd_hello_io_clear (DvmdHelloIo *io);
DvmdSocket *dvmd_hello_io_steal_stream (DvmdHelloIo *io);

/* Returns what was encoded. */
GBytes *dvmd_hello_io_send (DvmdHelloIo *io, const DvmdHello *hello);
/* TRUE: all has gone; FALSE without error: the socket is full. */
gboolean dvmd_hello_io_flush (DvmdHelloIo *io, GError **error);
/* NULL without error: nothing whole has come yet. encoded: (out) (optional). LOST: the other end has gone. */
DvmdHello *dvmd_hello_io_receive (DvmdHelloIo *io, GBytes **encoded, GError **error);

/* func is called when the socket is ready for condition, until it is unwatched, or the stream is taken away. */
void dvmd_hello_io_watch (DvmdHelloIo *io, GIOCondition condition, GUnixFDSourceFunc func, gpointer user_data);
void dvmd_hello_io_unwatch (DvmdHelloIo *io);
/* The same for the next step of a hello: what is left of ours is to be written first. */
void dvmd_hello_io_await (DvmdHelloIo *io, gboolean in_tls, GUnixFDSourceFunc func, gpointer user_data);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * Writes what is queued to one descriptor, as fast as its reader takes it, without ever blocking on a reader. What was
 * queued in one turn of the main loop is written by one system call.
 *
 * The process must ignore SIGPIPE.
 */

typedef struct _DvmdSink DvmdSink;

typedef struct
{
  /* The queue has become empty; called from the main context or from dvmd_sink_flush(). */
  void (*emptied) (DvmdSink *self, gpointer user_data);
  /* The reader has left (message NULL) or writing failed. The queue is dropped after this; nothing is taken any more.
   */
  void (*closed) (DvmdSink *self, const char *message, gpointer user_data);
} DvmdSinkFuncs;

/*
 * Takes fd over. own: nobody shares our file description (its O_NONBLOCK may be set); else it is left as it is: a pipe
 * or terminal is opened once more, a socket and a file are written as they are. (An error if fd cannot be written.)
 */
DvmdSink *dvmd_sink_new (GMainContext *context, int fd, gboolean own, const DvmdSinkFuncs *funcs, gpointer user_data,
                         GError **error);
void dvmd_sink_free (DvmdSink *self);

/* release (nullable) is called with token when these bytes are written or dropped. */
void dvmd_sink_write (DvmdSink *self, GBytes *bytes, gpointer token, GDestroyNotify release);
/* Writes what can be written now. */
void dvmd_sink_flush (DvmdSink *self);
/* (transfer full) (nullable): what has not been written; for closed() */
GBytes *dvmd_sink_get_rest (DvmdSink *self);
gboolean dvmd_sink_is_empty (DvmdSink *self);
gboolean dvmd_sink_is_closed (DvmdSink *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdSink, dvmd_sink_free)

G_END_DECLS

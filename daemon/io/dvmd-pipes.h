/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-stream.h"

G_BEGIN_DECLS

/*
 * Agent side: the standard streams of one rank.
 *
 *   pipes = dvmd_pipes_new (...);                        both ends exist, nothing is read yet
 *   request.stdin_fd = dvmd_pipes_get_child_fd (pipes, DVMD_STREAM_STDIN); ... spawn
 *   dvmd_pipes_start (pipes);                            closes the child's ends and starts to read
 *   ... output() and eof() are called ...
 *   dvmd_pipes_drain (pipes);                            when the rank has been reaped
 */

typedef struct _DvmdCredit DvmdCredit;
typedef struct _DvmdPipes DvmdPipes;

/* How many bytes of output a job's ranks of this node may send on; without credit nothing is read. One for a job. */
DvmdCredit *dvmd_credit_new (gint64 bytes);
DvmdCredit *dvmd_credit_ref (DvmdCredit *self);
void dvmd_credit_unref (DvmdCredit *self);
/* Wakes the readers that wait, in the order in which they ran dry. G_MAXINT64: no limit any more. */
void dvmd_credit_add (DvmdCredit *self, gint64 bytes);
gint64 dvmd_credit_get (DvmdCredit *self);

typedef enum
{
  DVMD_PIPES_NONE = 0,
  DVMD_PIPES_STDIN = 1 << 0, /* a pipe for stdin; without it stdin is /dev/null (never with a pty) */
  DVMD_PIPES_PTY = 1 << 1,   /* one pty is stdin, stdout and stderr */
} DvmdPipesFlags;

typedef struct
{
  /* Bytes that are left free before each piece, for what the caller writes there: so it need not copy the piece. */
  gsize headroom;
  /* piece (transfer full), from g_malloc(): the headroom, then size bytes, 1 to DVMD_STREAM_CHUNK; the credit has been
   * taken. */
  void (*output) (DvmdPipes *self, guint rank, DvmdStream stream, char *piece, gsize size, gpointer user_data);
  /* Once for each stream of output (pty: stdout alone); never from within a call into the pipes. */
  void (*eof) (DvmdPipes *self, guint rank, DvmdStream stream, gpointer user_data);
  /* (nullable): so many bytes have left the queue of stdin, written or (nobody reads any more) thrown away. */
  void (*stdin_written) (DvmdPipes *self, guint rank, gsize n_bytes, gpointer user_data);
} DvmdPipesFuncs;

DvmdPipes *dvmd_pipes_new (GMainContext *context, guint rank, DvmdPipesFlags flags, DvmdCredit *credit,
                           const DvmdPipesFuncs *funcs, gpointer user_data, GError **error);
/* May be called from within a callback. */
void dvmd_pipes_free (DvmdPipes *self);

/* For the request of the spawner; -1: /dev/null. */
int dvmd_pipes_get_child_fd (DvmdPipes *self, DvmdStream stream);
gboolean dvmd_pipes_is_pty (DvmdPipes *self);
void dvmd_pipes_start (DvmdPipes *self);
/* TRUE when every stream of output has had its eof(). */
gboolean dvmd_pipes_is_done (DvmdPipes *self);

/*
 * The bytes that are in the pipes now are still read (as credit allows), then comes eof(), even if another process
 * keeps the other end open. Pending input is thrown away.
 */
void dvmd_pipes_drain (DvmdPipes *self);

/* FALSE: more than DVMD_STREAM_WINDOW bytes would wait, the bytes were not taken: the sender disregards its credit. */
gboolean dvmd_pipes_write_stdin (DvmdPipes *self, GBytes *bytes);
/* After what is queued. On a pty: the end-of-file character. */
void dvmd_pipes_close_stdin (DvmdPipes *self);
/* FALSE: not a pty */
gboolean dvmd_pipes_set_window_size (DvmdPipes *self, guint rows, guint columns);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdCredit, dvmd_credit_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPipes, dvmd_pipes_free)

G_END_DECLS

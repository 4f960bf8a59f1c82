/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The standard streams of one rank are pipes or a terminal, with credit for their bytes.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pipes"

#include "dvmd-pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <dvm.h>

#include "dvmd-turn-source.h"

/* Reads of one stream before others get their turn. */
#define READS_PER_TURN 4

#define END_OF_FILE_CHAR "\004"

/* Output of a rank. */
typedef struct
{
  DvmdPipes *pipes;
  DvmdStream stream;
  int fd; /* -1: not used, or had its eof */
  gpointer tag;
  gboolean waiting;   /* for credit */
  gssize drain_bytes; /* what may still be read when draining; -1: not draining */
} Reader;

struct _DvmdPipes
{
  gint ref_count;
  gboolean freed;
  guint rank;
  DvmdPipesFlags flags;
  DvmdCredit *credit;
  const DvmdPipesFuncs *funcs;
  gpointer user_data;
  GSource *source;
  Reader readers[DVMD_N_STREAMS]; /* of stdout and stderr */
  int child_fds[DVMD_N_STREAMS];
  gboolean started;

  int hangup_fd; /* of a pty whose other side nobody has open */
  int stdin_fd;
  gpointer stdin_tag;
  GQueue stdin_queue; /* GBytes */
  gsize stdin_offset; /* in the first */
  gsize stdin_bytes;  /* in all */
  gboolean stdin_mid_line;
  gboolean stdin_closing;
};

struct _DvmdCredit
{
  gint ref_count;
  gint64 bytes;
  GQueue waiting; /* Reader */
};

static void wake_reader (Reader *reader);

DvmdCredit *
dvmd_credit_new (gint64 bytes)
{
  DvmdCredit *self = g_new0 (DvmdCredit, 1);

  self->ref_count = 1;
  self->bytes = bytes;
  return self;
}

DvmdCredit *
dvmd_credit_ref (DvmdCredit *self)
{
  self->ref_count++;
  return self;
}

void
dvmd_credit_unref (DvmdCredit *self)
{
  if (--self->ref_count > 0)
    return;
  g_queue_clear (&self->waiting);
  g_free (self);
}

gint64
dvmd_credit_get (DvmdCredit *self)
{
  return self->bytes;
}

void
dvmd_credit_add (DvmdCredit *self, gint64 bytes)
{
  Reader *reader;

  self->bytes = bytes > G_MAXINT64 - MAX (self->bytes, 0) ? G_MAXINT64 : self->bytes + bytes;
  if (self->bytes <= 0)
    return;
  while ((reader = g_queue_pop_head (&self->waiting)) != NULL)
    wake_reader (reader);
}

static void
credit_take (DvmdCredit *self, gsize bytes)
{
  if (self->bytes != G_MAXINT64)
    self->bytes -= (gint64)bytes;
}

static void
pipes_unref (DvmdPipes *self)
{
  if (--self->ref_count == 0)
    g_free (self);
}

static void
close_fd (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

static void
unwatch_pipe (DvmdPipes *self, gpointer *tag)
{
  if (*tag != NULL)
    g_source_remove_unix_fd (self->source, *tag);
  *tag = NULL;
}

/* A descriptor without a reader would still make poll() return when its other end closes: it is taken out altogether.
 */
static void
wait_for_credit (Reader *reader)
{
  unwatch_pipe (reader->pipes, &reader->tag);
  reader->waiting = TRUE;
  g_queue_push_tail (&reader->pipes->credit->waiting, reader);
}

static void
wake_reader (Reader *reader)
{
  reader->waiting = FALSE;
  reader->tag = g_source_add_unix_fd (reader->pipes->source, reader->fd, G_IO_IN);
  if (reader->drain_bytes >= 0)
    dvmd_turn_source_request (reader->pipes->source);
}

static void
close_reader (Reader *reader)
{
  DvmdPipes *self = reader->pipes;

  if (reader->waiting)
    g_queue_remove (&self->credit->waiting, reader);
  reader->waiting = FALSE;
  unwatch_pipe (self, &reader->tag);
  close_fd (&reader->fd);
}

static void
end_reader (Reader *reader)
{
  DvmdPipes *self = reader->pipes;

  unwatch_pipe (self, &reader->tag);
  /* Closing a pty hangs up on who may only be about to exit, its descriptors closed already. */
  if (self->flags & DVMD_PIPES_PTY)
    self->hangup_fd = g_steal_fd (&reader->fd);
  close_reader (reader);
  self->funcs->eof (self, self->rank, reader->stream, self->user_data);
}

typedef enum
{
  READING_ON, /* there may be more */
  READING_EMPTY,
  READING_DRY, /* no credit */
  READING_ENDED,
} Reading;

/* One read behind what is in the buffer. */
static Reading
read_once (Reader *reader, char *buffer, gsize *got)
{
  DvmdCredit *credit = reader->pipes->credit;
  gsize wanted = DVMD_STREAM_CHUNK - *got;
  ssize_t n;

  if (credit->bytes <= 0)
    return READING_DRY;
  wanted = (gsize)MIN ((gint64)wanted, credit->bytes);
  if (reader->drain_bytes >= 0)
    wanted = MIN (wanted, (gsize)reader->drain_bytes);
  n = wanted > 0 ? read (reader->fd, buffer + *got, wanted) : 0;
  if (n < 0 && errno == EINTR)
    return READING_ON;
  if (n < 0 && errno == EAGAIN && reader->drain_bytes < 0)
    return READING_EMPTY;
  /* A pty says EIO when nobody has its other side open. */
  if (n <= 0)
    return READING_ENDED;
  if (reader->drain_bytes >= 0)
    reader->drain_bytes -= n;
  credit_take (credit, (gsize)n);
  *got += (gsize)n;
  return READING_ON;
}

/* Passed on in one piece: who writes little at a time writes often, and each piece costs its way. */
static void
read_stream (Reader *reader)
{
  DvmdPipes *self = reader->pipes;
  gsize headroom = self->funcs->headroom;
  char *piece = g_malloc (headroom + DVMD_STREAM_CHUNK);
  Reading reading = READING_ON;
  gsize got = 0;

  for (guint i = 0; i < READS_PER_TURN && got < DVMD_STREAM_CHUNK && reading == READING_ON; i++)
    reading = read_once (reader, piece + headroom, &got);
  if (got > 0)
    self->funcs->output (self, self->rank, reader->stream, g_realloc (piece, headroom + got), got, self->user_data);
  else
    g_free (piece);
  if (self->freed || reader->fd < 0)
    return;
  if (reading == READING_ENDED)
    end_reader (reader);
  /* Unless the credit has come back meanwhile. */
  else if (reading == READING_DRY && self->credit->bytes <= 0)
    wait_for_credit (reader);
  /* More is there perhaps; poll() does not tell of a drained descriptor that somebody keeps open. */
  else if (reader->drain_bytes >= 0)
    dvmd_turn_source_request (self->source);
}

static void
notify_written (DvmdPipes *self, gsize n_bytes)
{
  self->stdin_bytes -= n_bytes;
  if (n_bytes > 0 && self->funcs->stdin_written != NULL)
    self->funcs->stdin_written (self, self->rank, n_bytes, self->user_data);
}

static void
drop_stdin (DvmdPipes *self)
{
  unwatch_pipe (self, &self->stdin_tag);
  close_fd (&self->stdin_fd);
  close_fd (&self->hangup_fd);
  g_queue_clear_full (&self->stdin_queue, (GDestroyNotify)g_bytes_unref);
  self->stdin_offset = 0;
  notify_written (self, self->stdin_bytes);
}

static void
end_stdin (DvmdPipes *self)
{
  if (self->flags & DVMD_PIPES_PTY)
    {
      /* The first one only ends a line that has been begun. */
      const char *text = self->stdin_mid_line ? END_OF_FILE_CHAR END_OF_FILE_CHAR : END_OF_FILE_CHAR;

      if (write (self->stdin_fd, text, strlen (text)) < 0)
        g_debug ("end-of-file cannot be written to the pty: %s", g_strerror (errno));
    }
  drop_stdin (self);
}

static void
write_stdin (DvmdPipes *self)
{
  GBytes *bytes;
  gsize written = 0;

  while (self->stdin_fd >= 0 && (bytes = g_queue_peek_head (&self->stdin_queue)) != NULL)
    {
      gsize size;
      const char *data = g_bytes_get_data (bytes, &size);
      ssize_t n = write (self->stdin_fd, data + self->stdin_offset, size - self->stdin_offset);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0 && errno == EAGAIN)
        break;
      if (n < 0)
        {
          drop_stdin (self);
          return;
        }
      written += (gsize)n;
      self->stdin_offset += (gsize)n;
      self->stdin_mid_line = data[self->stdin_offset - 1] != '\n';
      if (self->stdin_offset == size)
        {
          g_bytes_unref (g_queue_pop_head (&self->stdin_queue));
          self->stdin_offset = 0;
        }
    }
  if (!g_queue_is_empty (&self->stdin_queue) && self->stdin_tag == NULL)
    self->stdin_tag = g_source_add_unix_fd (self->source, self->stdin_fd, G_IO_OUT);
  else if (g_queue_is_empty (&self->stdin_queue))
    unwatch_pipe (self, &self->stdin_tag);
  notify_written (self, written);
  if (!self->freed && self->stdin_closing && g_queue_is_empty (&self->stdin_queue) && self->stdin_fd >= 0)
    end_stdin (self);
}

static gboolean
on_ready (gpointer user_data)
{
  DvmdPipes *self = user_data;

  self->ref_count++;
  for (guint i = DVMD_STREAM_STDOUT; i <= DVMD_STREAM_STDERR && !self->freed; i++)
    {
      Reader *reader = &self->readers[i];

      if (reader->fd < 0 || reader->tag == NULL)
        continue;
      if (reader->drain_bytes >= 0 || g_source_query_unix_fd (self->source, reader->tag) != 0)
        read_stream (reader);
    }
  if (!self->freed && self->stdin_fd >= 0)
    write_stdin (self);
  pipes_unref (self);
  return G_SOURCE_CONTINUE;
}

static void
set_nonblocking (int fd)
{
  fcntl (fd, F_SETFL, fcntl (fd, F_GETFL) | O_NONBLOCK);
}

static gboolean
open_pipe (int *ours, int *childs, gboolean we_read)
{
  int fds[2];

  if (pipe2 (fds, O_CLOEXEC) != 0)
    return FALSE;
  *ours = we_read ? fds[0] : fds[1];
  *childs = we_read ? fds[1] : fds[0];
  set_nonblocking (*ours);
  return TRUE;
}

static gboolean
open_pty (DvmdPipes *self)
{
  int master;
  int slave;

  if (openpty (&master, &slave, NULL, NULL, NULL) != 0)
    return FALSE;
  self->readers[DVMD_STREAM_STDOUT].fd = master;
  fcntl (master, F_SETFD, FD_CLOEXEC);
  fcntl (slave, F_SETFD, FD_CLOEXEC);
  set_nonblocking (master);
  for (guint i = 0; i < DVMD_N_STREAMS; i++)
    self->child_fds[i] = slave;
  self->stdin_fd = fcntl (master, F_DUPFD_CLOEXEC, 3);
  return self->stdin_fd >= 0;
}

static gboolean
open_all (DvmdPipes *self)
{
  Reader *readers = self->readers;
  int *child_fds = self->child_fds;

  if (self->flags & DVMD_PIPES_PTY)
    return open_pty (self);
  if ((self->flags & DVMD_PIPES_STDIN) && !open_pipe (&self->stdin_fd, &child_fds[DVMD_STREAM_STDIN], FALSE))
    return FALSE;
  if (!open_pipe (&readers[DVMD_STREAM_STDOUT].fd, &child_fds[DVMD_STREAM_STDOUT], TRUE))
    return FALSE;
  if (!open_pipe (&readers[DVMD_STREAM_STDERR].fd, &child_fds[DVMD_STREAM_STDERR], TRUE))
    return FALSE;
  return TRUE;
}

DvmdPipes *
dvmd_pipes_new (GMainContext *context, guint rank, DvmdPipesFlags flags, DvmdCredit *credit,
                const DvmdPipesFuncs *funcs, gpointer user_data, GError **error)
{
  g_autoptr (DvmdPipes) self = g_new0 (DvmdPipes, 1);

  self->ref_count = 1;
  self->rank = rank;
  self->flags = flags;
  self->credit = dvmd_credit_ref (credit);
  self->funcs = funcs;
  self->user_data = user_data;
  self->stdin_fd = -1;
  self->hangup_fd = -1;
  for (guint i = 0; i < DVMD_N_STREAMS; i++)
    {
      self->child_fds[i] = -1;
      self->readers[i] = (Reader){ .pipes = self, .stream = (DvmdStream)i, .fd = -1, .drain_bytes = -1 };
    }
  self->source = dvmd_turn_source_new (context, "dvmd pipes", on_ready, self);
  if (!open_all (self))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "cannot make the %s of rank %u: %s",
                   flags & DVMD_PIPES_PTY ? "pty" : "pipes", rank, g_strerror (errno));
      return NULL;
    }
  return g_steal_pointer (&self);
}

static void
close_child_fds (DvmdPipes *self)
{
  int *fds = self->child_fds;

  if (fds[DVMD_STREAM_STDERR] == fds[DVMD_STREAM_STDOUT])
    fds[DVMD_STREAM_STDERR] = -1;
  if (fds[DVMD_STREAM_STDOUT] == fds[DVMD_STREAM_STDIN])
    fds[DVMD_STREAM_STDOUT] = -1;
  for (guint i = 0; i < DVMD_N_STREAMS; i++)
    close_fd (&fds[i]);
}

void
dvmd_pipes_free (DvmdPipes *self)
{
  self->freed = TRUE;
  close_child_fds (self);
  for (guint i = 0; i < DVMD_N_STREAMS; i++)
    close_reader (&self->readers[i]);
  unwatch_pipe (self, &self->stdin_tag);
  close_fd (&self->stdin_fd);
  close_fd (&self->hangup_fd);
  g_queue_clear_full (&self->stdin_queue, (GDestroyNotify)g_bytes_unref);
  g_clear_pointer (&self->source, dvmd_turn_source_free);
  g_clear_pointer (&self->credit, dvmd_credit_unref);
  pipes_unref (self);
}

int
dvmd_pipes_get_child_fd (DvmdPipes *self, DvmdStream stream)
{
  return self->child_fds[stream];
}

gboolean
dvmd_pipes_is_pty (DvmdPipes *self)
{
  return (self->flags & DVMD_PIPES_PTY) != 0;
}

void
dvmd_pipes_start (DvmdPipes *self)
{
  if (self->started)
    return;
  self->started = TRUE;
  close_child_fds (self);
  for (guint i = 0; i < DVMD_N_STREAMS; i++)
    if (self->readers[i].fd >= 0)
      self->readers[i].tag = g_source_add_unix_fd (self->source, self->readers[i].fd, G_IO_IN);
  if (self->stdin_bytes > 0 || self->stdin_closing)
    dvmd_turn_source_request (self->source);
}

gboolean
dvmd_pipes_is_done (DvmdPipes *self)
{
  return self->readers[DVMD_STREAM_STDOUT].fd < 0 && self->readers[DVMD_STREAM_STDERR].fd < 0;
}

void
dvmd_pipes_drain (DvmdPipes *self)
{
  dvmd_pipes_start (self);
  drop_stdin (self);
  for (guint i = 0; i < DVMD_N_STREAMS; i++)
    {
      Reader *reader = &self->readers[i];
      int capacity;

      if (reader->fd < 0 || reader->drain_bytes >= 0)
        continue;
      /* No more than can be in the pipe now: whoever keeps it open may write for ever. */
      capacity = fcntl (reader->fd, F_GETPIPE_SZ);
      reader->drain_bytes = capacity > 0 ? capacity : DVMD_STREAM_CHUNK;
    }
  dvmd_turn_source_request (self->source);
}

gboolean
dvmd_pipes_write_stdin (DvmdPipes *self, GBytes *bytes)
{
  gsize size = g_bytes_get_size (bytes);

  if (self->stdin_bytes + size > DVMD_STREAM_WINDOW)
    return FALSE;
  if (size == 0)
    return TRUE;
  self->stdin_bytes += size;
  if (self->stdin_fd < 0 || self->stdin_closing)
    {
      notify_written (self, size);
      return TRUE;
    }
  g_queue_push_tail (&self->stdin_queue, g_bytes_ref (bytes));
  if (self->started)
    dvmd_turn_source_request (self->source);
  return TRUE;
}

void
dvmd_pipes_close_stdin (DvmdPipes *self)
{
  self->stdin_closing = TRUE;
  if (self->started)
    dvmd_turn_source_request (self->source);
}

gboolean
dvmd_pipes_set_window_size (DvmdPipes *self, guint rows, guint columns)
{
  struct winsize size = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns };
  Reader *reader = &self->readers[DVMD_STREAM_STDOUT];

  if (!(self->flags & DVMD_PIPES_PTY) || reader->fd < 0)
    return FALSE;
  return ioctl (reader->fd, TIOCSWINSZ, &size) == 0;
}

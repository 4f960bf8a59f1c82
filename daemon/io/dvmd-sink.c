/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A sink writes what is queued to one descriptor and never blocks on its reader.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-sink"

#include "dvmd-sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <dvm.h>

#include "dvmd-turn-source.h"

#define BATCH 64
/* Written in one turn of the main loop before others get theirs. */
#define WRITES_PER_TURN 8
/* Of a pipe whose reader does not keep up; fewer wake-ups on both sides. */
#define PIPE_BYTES         (256 * 1024)
#define DEFAULT_PIPE_BYTES (64 * 1024)

typedef enum
{
  WAY_DIRECT,      /* regular files, devices without a reader */
  WAY_NONBLOCKING, /* O_NONBLOCK is set on a description of our own */
  WAY_SOCKET,
  WAY_POLLED, /* a shared description that may block: ask first, and write little */
} Way;

typedef struct
{
  GBytes *bytes;
  gpointer token;
  GDestroyNotify release;
} Item;

struct _DvmdSink
{
  gint ref_count;
  gboolean freed;
  int fd;
  Way way;
  GSource *source;
  gpointer tag; /* NULL: direct */
  GQueue queue; /* Item */
  gsize offset; /* in the first */
  gboolean blocked;
  gboolean widened; /* the pipe, or it is none */
  gboolean named;   /* a file that we have opened by its name */
  const DvmdSinkFuncs *funcs;
  gpointer user_data;
};

static void
item_free (gpointer data)
{
  Item *item = data;

  g_bytes_unref (item->bytes);
  if (item->release != NULL)
    item->release (item->token);
  g_free (item);
}

static void
sink_unref (DvmdSink *self)
{
  if (--self->ref_count == 0)
    g_free (self);
}

/* The queue is taken first: releasing an item may call us again. */
static void
drop_queue (DvmdSink *self)
{
  GQueue queue = self->queue;

  g_queue_init (&self->queue);
  self->offset = 0;
  g_queue_clear_full (&queue, item_free);
}

static void
close_descriptor (DvmdSink *self)
{
  g_clear_pointer (&self->source, dvmd_turn_source_free);
  self->tag = NULL;
  if (self->fd >= 0)
    close (self->fd);
  self->fd = -1;
}

static void
close_sink (DvmdSink *self, int error)
{
  gboolean left = error == EPIPE || error == ECONNRESET
                  || (self->way != WAY_DIRECT && (error == EIO || error == ENXIO));

  close_descriptor (self);
  if (!self->freed)
    self->funcs->closed (self, left ? NULL : g_strerror (error), self->user_data);
  drop_queue (self);
}

/* Output to a file that has been removed would be lost without an error. */
static gboolean
is_removed (int fd)
{
  struct stat about;

  return fstat (fd, &about) == 0 && about.st_nlink == 0;
}

static ssize_t
write_batch (DvmdSink *self)
{
  struct iovec vector[BATCH];
  int n = 0;
  struct msghdr message = { .msg_iov = vector };
  struct pollfd poll_fd = { .fd = self->fd, .events = POLLOUT };

  for (GList *link = self->queue.head; link != NULL && n < BATCH; link = link->next, n++)
    {
      Item *item = link->data;
      gsize size;
      const char *data = g_bytes_get_data (item->bytes, &size);
      gsize skip = n == 0 ? self->offset : 0;

      vector[n].iov_base = (char *)data + skip;
      vector[n].iov_len = size - skip;
    }
  message.msg_iovlen = (size_t)n;
  switch (self->way)
    {
    case WAY_DIRECT:
      if (self->named && is_removed (self->fd))
        {
          errno = ENOENT;
          return -1;
        }
      return writev (self->fd, vector, n);
    case WAY_NONBLOCKING:
      return writev (self->fd, vector, n);
    case WAY_SOCKET:
      return sendmsg (self->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    case WAY_POLLED:
      if (poll (&poll_fd, 1, 0) != 1 || !(poll_fd.revents & (POLLOUT | POLLERR)))
        break;
      return write (self->fd, vector[0].iov_base, MIN (vector[0].iov_len, PIPE_BUF));
    }
  errno = EAGAIN;
  return -1;
}

static void
take_written (DvmdSink *self, gsize n)
{
  while (n > 0)
    {
      Item *item = g_queue_peek_head (&self->queue);
      gsize left = g_bytes_get_size (item->bytes) - self->offset;

      if (n < left)
        {
          self->offset += n;
          return;
        }
      n -= left;
      self->offset = 0;
      item_free (g_queue_pop_head (&self->queue));
      /* The callback of the item may have freed the sink. */
      if (self->freed)
        return;
    }
}

/* Waits for the reader; with nothing to write, for its leaving only. */
static void
wait_for_reader (DvmdSink *self, gboolean to_write)
{
  /* Each change wakes the loop once more. */
  if (self->blocked == to_write)
    return;
  self->blocked = to_write;
  if (self->tag != NULL)
    g_source_modify_unix_fd (self->source, self->tag, to_write ? G_IO_OUT : 0);
}

/* Once, and of those alone that have been full: what a user may have in pipes is limited. Who has made his pipe smaller
 * wants it so. */
static gboolean
widen_pipe (DvmdSink *self)
{
  int size = self->widened ? -1 : fcntl (self->fd, F_GETPIPE_SZ);

  self->widened = TRUE;
  return size >= DEFAULT_PIPE_BYTES && size < PIPE_BYTES && fcntl (self->fd, F_SETPIPE_SZ, PIPE_BYTES) > size;
}

static void
write_queue (DvmdSink *self)
{
  for (guint i = 0; i < WRITES_PER_TURN && !g_queue_is_empty (&self->queue); i++)
    {
      ssize_t n = write_batch (self);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0 && errno == EAGAIN)
        {
          if (widen_pipe (self))
            continue;
          wait_for_reader (self, TRUE);
          return;
        }
      if (n < 0)
        {
          close_sink (self, errno);
          return;
        }
      take_written (self, (gsize)n);
      if (self->freed || self->fd < 0)
        return;
    }
  wait_for_reader (self, FALSE);
  if (!g_queue_is_empty (&self->queue))
    dvmd_turn_source_request (self->source);
  else
    self->funcs->emptied (self, self->user_data);
}

static gboolean
on_ready (gpointer user_data)
{
  DvmdSink *self = user_data;
  GIOCondition condition = self->tag != NULL ? g_source_query_unix_fd (self->source, self->tag) : 0;

  self->ref_count++;
  if (!g_queue_is_empty (&self->queue))
    write_queue (self);
  else if (condition & (G_IO_ERR | G_IO_HUP | G_IO_NVAL))
    close_sink (self, EPIPE);
  sink_unref (self);
  return G_SOURCE_CONTINUE;
}

static int
reopen (int fd)
{
  char path[64];

  g_snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  return open (path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* How the descriptor can be written without blocking and without changing what a client shares. */
static gboolean
choose_way (DvmdSink *self, gboolean own, GError **error)
{
  struct stat st;
  int flags = fcntl (self->fd, F_GETFL);
  int again;

  if (flags < 0 || fstat (self->fd, &st) != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "the descriptor given for output is not open: %s",
                   g_strerror (errno));
      return FALSE;
    }
  if ((flags & O_ACCMODE) == O_RDONLY)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "the descriptor given for output is open for reading only");
      return FALSE;
    }
  fcntl (self->fd, F_SETFD, FD_CLOEXEC);
  self->named = own && S_ISREG (st.st_mode);
  if (S_ISSOCK (st.st_mode))
    self->way = WAY_SOCKET;
  else if (!S_ISFIFO (st.st_mode) && !isatty (self->fd))
    self->way = WAY_DIRECT;
  else if (own)
    {
      fcntl (self->fd, F_SETFL, flags | O_NONBLOCK);
      self->way = WAY_NONBLOCKING;
    }
  else
    {
      again = reopen (self->fd);
      if (again >= 0)
        {
          close (self->fd);
          self->fd = again;
        }
      self->way = again >= 0 ? WAY_NONBLOCKING : WAY_POLLED;
    }
  return TRUE;
}

DvmdSink *
dvmd_sink_new (GMainContext *context, int fd, gboolean own, const DvmdSinkFuncs *funcs, gpointer user_data,
               GError **error)
{
  g_autoptr (DvmdSink) self = g_new0 (DvmdSink, 1);

  self->ref_count = 1;
  self->fd = fd;
  self->funcs = funcs;
  self->user_data = user_data;
  if (!choose_way (self, own, error))
    return NULL;
  self->source = dvmd_turn_source_new (context, "dvmd sink", on_ready, self);
  if (self->way != WAY_DIRECT)
    self->tag = g_source_add_unix_fd (self->source, self->fd, 0);
  return g_steal_pointer (&self);
}

void
dvmd_sink_free (DvmdSink *self)
{
  self->freed = TRUE;
  close_descriptor (self);
  drop_queue (self);
  sink_unref (self);
}

void
dvmd_sink_write (DvmdSink *self, GBytes *bytes, gpointer token, GDestroyNotify release)
{
  Item *item;

  if (self->fd < 0 || g_bytes_get_size (bytes) == 0)
    {
      if (release != NULL)
        release (token);
      return;
    }
  item = g_new (Item, 1);
  item->bytes = g_bytes_ref (bytes);
  item->token = token;
  item->release = release;
  g_queue_push_tail (&self->queue, item);
  if (!self->blocked)
    dvmd_turn_source_request (self->source);
}

void
dvmd_sink_flush (DvmdSink *self)
{
  self->ref_count++;
  if (self->fd >= 0 && !g_queue_is_empty (&self->queue))
    write_queue (self);
  sink_unref (self);
}

GBytes *
dvmd_sink_get_rest (DvmdSink *self)
{
  GByteArray *rest = g_byte_array_new ();
  gsize skip = self->offset;

  for (GList *link = self->queue.head; link != NULL; link = link->next, skip = 0)
    {
      gsize size;
      const guint8 *data = g_bytes_get_data (((Item *)link->data)->bytes, &size);

      g_byte_array_append (rest, data + skip, (guint)(size - skip));
    }
  if (rest->len > 0)
    return g_byte_array_free_to_bytes (rest);
  g_byte_array_unref (rest);
  return NULL;
}

gboolean
dvmd_sink_is_empty (DvmdSink *self)
{
  return g_queue_is_empty (&self->queue);
}

gboolean
dvmd_sink_is_closed (DvmdSink *self)
{
  return self->fd < 0;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The standard input of a job is read from one descriptor and given to one rank, to some or to all, as fast as they
 * take it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-input"

#include "dvmd-input.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dvm.h>

#include "dvmd-turn-source.h"

/* A target that has ended. */
#define ENDED G_MAXSIZE

/* Bytes that are for some of those that read. */
typedef struct
{
  gsize left;
  DvmdIdSet *to; /* (nullable): all that read */
  gboolean end;  /* their input ends behind them */
} Aim;

struct _DvmdInput
{
  gint ref_count;
  gboolean freed;
  guint target;
  guint n_ranks;
  const DvmdInputFuncs *funcs;
  gpointer user_data;

  gsize *pending; /* bytes that a target has not taken yet, or ENDED */
  guint n_pending;
  guint n_live;
  GQueue aims; /* of what comes next; behind the last one everything is for all that read */

  gboolean owned;
  gboolean started;
  gboolean closed; /* end-of-file has been sent */
  int fd;
  gboolean is_socket;
  GSource *source;
  gpointer tag;
};

/* some (out) (nullable) (transfer full) */
static gboolean
read_list (const char *text, guint n_ranks, DvmdIdSet **some)
{
  g_autoptr (DvmdIdSet) set = dvmd_id_set_parse (text, "stdin", NULL);
  guint wrong;

  if (set == NULL || dvmd_id_set_next (set, n_ranks, &wrong))
    return FALSE;
  if (some != NULL)
    *some = g_steal_pointer (&set);
  return TRUE;
}

gboolean
dvmd_input_parse_target (const char *text, guint n_ranks, guint *target, DvmdIdSet **some, GError **error)
{
  guint64 rank = 0;

  if (some != NULL)
    *some = NULL;
  if (g_strcmp0 (text, "all") == 0)
    *target = DVMD_INPUT_ALL;
  else if (g_strcmp0 (text, "none") == 0)
    *target = DVMD_INPUT_NONE;
  else if (text == NULL || text[0] == '\0')
    *target = 0;
  else if (g_ascii_string_to_unsigned (text, 10, 0, DVMD_INPUT_NONE - 1, &rank, NULL) && rank < n_ranks)
    *target = (guint)rank;
  else if (read_list (text, n_ranks, some))
    *target = DVMD_INPUT_SOME;
  else
    {
      g_autofree char *shown = g_utf8_make_valid (text, -1);

      g_set_error (
          error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
          "stdin: '%s' is neither a rank of this job (0 to %u), nor a list such as 0,2-4, nor 'all' nor 'none'", shown,
          n_ranks > 0 ? n_ranks - 1 : 0);
      return FALSE;
    }
  return TRUE;
}

static void
input_unref (DvmdInput *self)
{
  if (--self->ref_count == 0)
    g_free (self);
}

static void
unwatch_source (DvmdInput *self)
{
  if (self->tag != NULL)
    g_source_remove_unix_fd (self->source, self->tag);
  self->tag = NULL;
}

static void
close_descriptor (DvmdInput *self)
{
  unwatch_source (self);
  if (self->fd >= 0)
    close (self->fd);
  self->fd = -1;
}

static void
aim_free (gpointer data)
{
  Aim *aim = data;

  g_clear_pointer (&aim->to, dvmd_id_set_free);
  g_free (aim);
}

/* (nullable): the next bytes are for all */
static DvmdIdSet *
get_aim (DvmdInput *self)
{
  Aim *aim = g_queue_peek_head (&self->aims);

  return aim != NULL ? aim->to : NULL;
}

/* Input is read only as fast as the slowest of those has room that the next bytes are for. */
static gsize
get_room (DvmdInput *self)
{
  DvmdIdSet *to = get_aim (self);
  gsize most = 0;

  for (guint i = 0; i < self->n_pending; i++)
    if (self->pending[i] != ENDED && (to == NULL || dvmd_id_set_contains (to, i)))
      most = MAX (most, self->pending[i]);
  return most < DVMD_STREAM_WINDOW ? DVMD_STREAM_WINDOW - most : 0;
}

/* Without room the descriptor is not even polled: the end of its writer would be told again and again. */
static void
watch_if_room (DvmdInput *self)
{
  if (self->fd < 0 || !self->started || get_room (self) == 0)
    unwatch_source (self);
  else if (self->tag == NULL)
    self->tag = g_source_add_unix_fd (self->source, self->fd, G_IO_IN);
}

static void
send_to_some (DvmdInput *self, DvmdIdSet *to, GBytes *bytes)
{
  for (guint i = 0; i < self->n_pending; i++)
    if (self->pending[i] != ENDED && dvmd_id_set_contains (to, i))
      {
        self->pending[i] += g_bytes_get_size (bytes);
        self->funcs->send (self, i, bytes, self->user_data);
      }
}

static void
send_bytes (DvmdInput *self, const char *data, gsize n)
{
  g_autoptr (GBytes) bytes = g_bytes_new (data, n);
  DvmdIdSet *to = get_aim (self);

  if (to != NULL)
    {
      send_to_some (self, to, bytes);
      return;
    }
  for (guint i = 0; i < self->n_pending; i++)
    if (self->pending[i] != ENDED)
      self->pending[i] += n;
  self->funcs->send (self, self->target, bytes, self->user_data);
}

static void
end_some (DvmdInput *self, DvmdIdSet *to)
{
  for (guint i = 0; i < self->n_pending; i++)
    if (self->pending[i] != ENDED && dvmd_id_set_contains (to, i))
      {
        self->funcs->send (self, i, NULL, self->user_data);
        dvmd_input_rank_ended (self, i);
      }
}

/* The bytes that have been read of what the first aim is for */
static void
advance (DvmdInput *self, gsize n)
{
  Aim *aim = g_queue_peek_head (&self->aims);

  if (aim != NULL)
    aim->left -= n;
  while ((aim = g_queue_peek_head (&self->aims)) != NULL && aim->left == 0)
    {
      g_queue_pop_head (&self->aims);
      if (aim->end && aim->to != NULL)
        end_some (self, aim->to);
      aim_free (aim);
    }
}

static gsize
limit_to_aim (DvmdInput *self, gsize n)
{
  const Aim *aim = g_queue_peek_head (&self->aims);

  return aim != NULL ? MIN (n, aim->left) : n;
}

static gboolean
on_readable (gpointer user_data)
{
  DvmdInput *self = user_data;
  char buffer[DVMD_STREAM_CHUNK];
  gsize wanted = limit_to_aim (self, MIN (sizeof buffer, get_room (self)));
  ssize_t n;

  if (self->fd < 0 || wanted == 0)
    {
      watch_if_room (self);
      return G_SOURCE_CONTINUE;
    }
  n = self->is_socket ? recv (self->fd, buffer, wanted, MSG_DONTWAIT) : read (self->fd, buffer, wanted);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return G_SOURCE_CONTINUE;
  self->ref_count++;
  if (n > 0)
    {
      send_bytes (self, buffer, (gsize)n);
      advance (self, (gsize)n);
    }
  else
    dvmd_input_close (self);
  if (!self->freed)
    watch_if_room (self);
  input_unref (self);
  return G_SOURCE_CONTINUE;
}

static gboolean
is_many (DvmdInput *self)
{
  return self->target == DVMD_INPUT_ALL || self->target == DVMD_INPUT_SOME;
}

DvmdInput *
dvmd_input_new (GMainContext *context, guint target, DvmdIdSet *some, guint n_ranks, const DvmdInputFuncs *funcs,
                gpointer user_data)
{
  DvmdInput *self = g_new0 (DvmdInput, 1);

  self->ref_count = 1;
  self->target = target;
  self->n_ranks = n_ranks;
  self->funcs = funcs;
  self->user_data = user_data;
  self->fd = -1;
  g_queue_init (&self->aims);
  self->n_pending = is_many (self) ? n_ranks : target == DVMD_INPUT_NONE ? 0 : 1;
  self->n_live = self->n_pending;
  self->pending = g_new0 (gsize, MAX (self->n_pending, 1));
  for (guint i = 0; target == DVMD_INPUT_SOME && i < n_ranks; i++)
    if (!dvmd_id_set_contains (some, i))
      {
        self->pending[i] = ENDED;
        self->n_live--;
      }
  self->source = dvmd_turn_source_new (context, "dvmd input", on_readable, self);
  return self;
}

void
dvmd_input_free (DvmdInput *self)
{
  self->freed = TRUE;
  close_descriptor (self);
  g_clear_pointer (&self->source, dvmd_turn_source_free);
  g_clear_pointer (&self->pending, g_free);
  self->n_pending = 0;
  g_queue_clear_full (&self->aims, aim_free);
  input_unref (self);
}

static gboolean
check_free (DvmdInput *self, GError **error)
{
  if (self->target == DVMD_INPUT_NONE)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "no rank of this job reads stdin: it was submitted with 'none'");
  else if (self->closed)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "nobody reads stdin of this job any more");
  else if (self->owned)
    g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, "stdin of this job has its owner already");
  else
    return TRUE;
  return FALSE;
}

static int
reopen (int fd)
{
  char path[64];

  g_snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  return open (path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static void
take_fd (DvmdInput *self, int fd)
{
  self->owned = TRUE;
  self->fd = fd;
  watch_if_room (self);
}

gboolean
dvmd_input_set_fd (DvmdInput *self, int fd, GError **error)
{
  struct stat st;
  int flags = fcntl (fd, F_GETFL);
  int again;

  if (!check_free (self, error))
    {
      close (fd);
      return FALSE;
    }
  if (flags < 0 || fstat (fd, &st) != 0 || (flags & O_ACCMODE) == O_WRONLY || S_ISDIR (st.st_mode))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "the descriptor given for stdin cannot be read");
      close (fd);
      return FALSE;
    }
  fcntl (fd, F_SETFD, FD_CLOEXEC);
  self->is_socket = S_ISSOCK (st.st_mode);
  /* The client shares the description: O_NONBLOCK is not ours to set, so a pipe or terminal is opened once more. */
  if (S_ISFIFO (st.st_mode) || isatty (fd))
    {
      again = reopen (fd);
      if (again >= 0)
        {
          close (fd);
          fd = again;
        }
    }
  take_fd (self, fd);
  return TRUE;
}

int
dvmd_input_attach (DvmdInput *self, GError **error)
{
  int fds[2];

  if (!check_free (self, error))
    return -1;
  if (pipe2 (fds, O_CLOEXEC) != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "cannot make a pipe for stdin: %s", g_strerror (errno));
      return -1;
    }
  fcntl (fds[0], F_SETFL, O_NONBLOCK);
  take_fd (self, fds[0]);
  return fds[1];
}

gboolean
dvmd_input_has_owner (DvmdInput *self)
{
  return self->owned;
}

static void
push_aim (DvmdInput *self, gsize n_bytes, DvmdIdSet *to, gboolean end)
{
  Aim *aim = g_new0 (Aim, 1);

  aim->left = n_bytes;
  aim->to = to;
  aim->end = end;
  g_queue_push_tail (&self->aims, aim);
}

void
dvmd_input_aim (DvmdInput *self, gsize n_bytes, DvmdIdSet *to, gboolean end)
{
  int unread = 0;

  if (self->fd < 0 || (to == NULL && g_queue_is_empty (&self->aims)))
    {
      g_clear_pointer (&to, dvmd_id_set_free);
      return;
    }
  if (g_queue_is_empty (&self->aims) && ioctl (self->fd, FIONREAD, &unread) == 0 && unread > 0)
    push_aim (self, (gsize)unread, NULL, FALSE);
  push_aim (self, n_bytes, to, end);
  if (self->started)
    advance (self, 0);
  watch_if_room (self);
}

gboolean
dvmd_input_is_read (DvmdInput *self, DvmdIdSet *to, DvmdIdSet *but)
{
  if (self->closed)
    return FALSE;
  for (guint i = 0; i < self->n_pending; i++)
    {
      guint rank = is_many (self) ? i : self->target;

      if (self->pending[i] != ENDED && (to == NULL || dvmd_id_set_contains (to, rank))
          && (but == NULL || !dvmd_id_set_contains (but, rank)))
        return TRUE;
    }
  return FALSE;
}

void
dvmd_input_start (DvmdInput *self)
{
  self->started = TRUE;
  advance (self, 0);
  watch_if_room (self);
}

static guint
find_target (DvmdInput *self, guint rank)
{
  if (is_many (self) && rank < self->n_pending)
    return rank;
  return self->target == rank && self->n_pending == 1 ? 0 : G_MAXUINT;
}

void
dvmd_input_add_credit (DvmdInput *self, guint rank, gsize n_bytes)
{
  guint i = find_target (self, rank);

  if (i == G_MAXUINT || self->pending[i] == ENDED)
    return;
  self->pending[i] -= MIN (self->pending[i], n_bytes);
  watch_if_room (self);
}

void
dvmd_input_rank_ended (DvmdInput *self, guint rank)
{
  guint i = find_target (self, rank);

  if (i == G_MAXUINT || self->pending[i] == ENDED)
    return;
  self->pending[i] = ENDED;
  if (--self->n_live == 0)
    {
      self->closed = TRUE;
      close_descriptor (self);
    }
  else
    watch_if_room (self);
}

void
dvmd_input_close (DvmdInput *self)
{
  close_descriptor (self);
  if (self->closed)
    return;
  self->closed = TRUE;
  if (self->n_live > 0)
    self->funcs->send (self, self->target, NULL, self->user_data);
}

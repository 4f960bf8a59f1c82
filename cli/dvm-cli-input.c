/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The standard input of dvm-cli, a terminal above all, is forwarded to a job.
 */

#include "config.h"

#include "dvm-cli-input.h"

#include <errno.h>
#include <glib-unix.h>
#include <termios.h>
#include <unistd.h>

#include "dvm-cli-screen.h"

/* Nothing tells a process that a shell has put it into the foreground, unless it was stopped before. */
#define FOREGROUND_CHECK_MS 250

struct _DvmCliInput
{
  int from;
  int to;
  gboolean is_terminal;
  guint source;  /* waits for input, or for room when there is some to be written */
  gsize length;  /* of what waits in buffer */
  gsize written; /* of that */
  gboolean is_raw;
  struct termios saved;
  char buffer[65536];
};

static void wait_for_input (DvmCliInput *self);

static gboolean
is_in_background (DvmCliInput *self)
{
  return self->is_terminal && tcgetpgrp (self->from) != getpgrp ();
}

static void
finish_input (DvmCliInput *self)
{
  if (self->to >= 0)
    close (self->to);
  self->to = -1;
}

static gboolean on_room (int fd, GIOCondition condition, gpointer user_data);

/* FALSE: the rest has to wait, or nobody reads any more */
static gboolean
flush (DvmCliInput *self)
{
  while (self->written < self->length)
    {
      gssize n = write (self->to, self->buffer + self->written, self->length - self->written);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0 && errno == EAGAIN)
        {
          self->source = g_unix_fd_add (self->to, G_IO_OUT, on_room, self);
          return FALSE;
        }
      if (n < 0)
        {
          finish_input (self);
          return FALSE;
        }
      self->written += (gsize)n;
    }
  return TRUE;
}

static gboolean
on_room (int fd, GIOCondition condition, gpointer user_data)
{
  DvmCliInput *self = user_data;

  self->source = 0;
  if (flush (self))
    wait_for_input (self);
  return G_SOURCE_REMOVE;
}

static gboolean
on_input (int fd, GIOCondition condition, gpointer user_data)
{
  DvmCliInput *self = user_data;
  gssize n = read (self->from, self->buffer, sizeof self->buffer);

  if (n < 0 && (errno == EINTR || errno == EAGAIN))
    return G_SOURCE_CONTINUE;
  self->source = 0;
  /* A terminal that is not ours at the moment. */
  if (n < 0 && errno == EIO && is_in_background (self))
    {
      wait_for_input (self);
      return G_SOURCE_REMOVE;
    }
  if (n <= 0)
    {
      finish_input (self);
      return G_SOURCE_REMOVE;
    }
  self->length = (gsize)n;
  self->written = 0;
  if (flush (self))
    wait_for_input (self);
  return G_SOURCE_REMOVE;
}

static gboolean
on_check (gpointer user_data)
{
  DvmCliInput *self = user_data;

  if (is_in_background (self))
    return G_SOURCE_CONTINUE;
  wait_for_input (self);
  return G_SOURCE_REMOVE;
}

static void
wait_for_input (DvmCliInput *self)
{
  if (is_in_background (self))
    self->source = g_timeout_add (FOREGROUND_CHECK_MS, on_check, self);
  else
    self->source = g_unix_fd_add (self->from, G_IO_IN | G_IO_HUP | G_IO_ERR, on_input, self);
}

DvmCliInput *
dvm_cli_input_new (int from, int to)
{
  DvmCliInput *self = g_new (DvmCliInput, 1);

  self->from = from;
  self->to = to;
  self->is_terminal = isatty (from);
  self->source = 0;
  self->length = 0;
  self->written = 0;
  self->is_raw = FALSE;
  g_unix_set_fd_nonblocking (to, TRUE, NULL);
  wait_for_input (self);
  return self;
}

void
dvm_cli_input_free (DvmCliInput *self)
{
  g_clear_handle_id (&self->source, g_source_remove);
  finish_input (self);
  if (self->is_raw)
    tcsetattr (self->from, TCSADRAIN, &self->saved);
  g_free (self);
}

void
dvm_cli_input_check_foreground (DvmCliInput *self)
{
  if (self->to < 0 || self->written < self->length)
    return;
  g_clear_handle_id (&self->source, g_source_remove);
  wait_for_input (self);
}

void
dvm_cli_input_make_raw (DvmCliInput *self)
{
  struct termios raw;

  if (!self->is_terminal || tcgetattr (self->from, &self->saved) != 0)
    return;
  raw = self->saved;
  cfmakeraw (&raw);
  self->is_raw = tcsetattr (self->from, TCSADRAIN, &raw) == 0;
}

/* A job without a terminal, or that has just ended, refuses it. */
void
dvm_cli_pass_terminal_size (DvmClient *client, DvmJob *job)
{
  guint rows;
  guint columns;

  if (dvm_cli_get_terminal_size (&rows, &columns))
    dvm_client_resize_job_async (client, job, rows, columns, NULL, NULL, NULL);
}

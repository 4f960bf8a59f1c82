/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The end of the process that reads standard output is noticed, though the DVM writes there itself.
 */

#include "config.h"

#include "dvm-cli-reader.h"

#include <errno.h>
#include <glib-unix.h>
#include <sys/stat.h>
#include <unistd.h>

struct _DvmCliReader
{
  DvmClient *client;
  DvmJob *job;
  DvmCliReaderFunc missed;
  gpointer user_data;
  GCancellable *cancellable;
  int fd;       /* what the job writes when nobody reads it any more; -1 before */
  guint source; /* waits for the reader to leave, then for output */
};

/* Output that the job writes later is drained by the DVM. */
static void
close_output (DvmCliReader *self)
{
  if (self->fd >= 0)
    close (self->fd);
  self->fd = -1;
}

static gboolean
on_output (int fd, GIOCondition condition, gpointer user_data)
{
  DvmCliReader *self = user_data;
  char byte;
  gssize n = read (fd, &byte, 1);

  if (n < 0 && (errno == EINTR || errno == EAGAIN))
    return G_SOURCE_CONTINUE;
  self->source = 0;
  close_output (self);
  if (n > 0)
    self->missed (self->user_data);
  return G_SOURCE_REMOVE;
}

static void
on_attached (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmCliReader *self = user_data;
  g_autoptr (GError) error = NULL;
  int in = -1;
  int out = -1;
  int err = -1;

  if (!dvm_client_attach_finish (DVM_CLIENT (source), result, &in, &out, &err, &error) || out < 0)
    return;
  self->fd = out;
  self->source = g_unix_fd_add (out, G_IO_IN | G_IO_HUP | G_IO_ERR, on_output, self);
}

/* From now on the output comes to us. */
static gboolean
on_left (int fd, GIOCondition condition, gpointer user_data)
{
  DvmCliReader *self = user_data;

  self->source = 0;
  dvm_client_attach_async (self->client, self->job, DVM_STREAMS_STDOUT, self->cancellable, on_attached, self);
  return G_SOURCE_REMOVE;
}

DvmCliReader *
dvm_cli_reader_new (DvmClient *client, DvmJob *job, DvmCliReaderFunc missed, gpointer user_data)
{
  DvmCliReader *self = g_new0 (DvmCliReader, 1);
  struct stat info;

  self->client = g_object_ref (client);
  self->job = g_object_ref (job);
  self->missed = missed;
  self->user_data = user_data;
  self->cancellable = g_cancellable_new ();
  self->fd = -1;
  if (fstat (STDOUT_FILENO, &info) == 0 && (S_ISFIFO (info.st_mode) || S_ISSOCK (info.st_mode)))
    self->source = g_unix_fd_add (STDOUT_FILENO, G_IO_ERR | G_IO_HUP, on_left, self);
  return self;
}

void
dvm_cli_reader_free (DvmCliReader *self)
{
  g_clear_handle_id (&self->source, g_source_remove);
  close_output (self);
  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  g_clear_object (&self->job);
  g_clear_object (&self->client);
  g_free (self);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The end of a pipe is watched without reading from it: whatever is in there is not for us.
 */

#include "config.h"

#include "dvm-cli-keepalive.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib-unix.h>
#include <glib/gi18n-lib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dvm-cli-options.h"

struct _DvmCliKeepalive
{
  int fd;
  guint source; /* 0: it has closed */
  void (*closed) (gpointer user_data);
  gpointer user_data;
};

static gboolean
on_hang_up (int fd, GIOCondition condition, gpointer user_data)
{
  DvmCliKeepalive *self = user_data;

  self->source = 0;
  self->closed (self->user_data);
  return G_SOURCE_REMOVE;
}

/* A descriptor is a copy of ours, which neither dvmd nor anything else that we start gets. */
static int
open_pipe (const char *text, GError **error)
{
  guint64 number;
  int fd = g_ascii_string_to_unsigned (text, 10, 0, G_MAXINT, &number, NULL)
               ? fcntl ((int)number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
               : open (text, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  int saved_errno = errno;
  struct stat info;

  if (fd < 0)
    {
      g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("--keepalive: '%s' is neither an open descriptor nor a pipe: %s"),
                   text, g_strerror (saved_errno));
      return -1;
    }
  if (fstat (fd, &info) == 0 && (S_ISFIFO (info.st_mode) || S_ISSOCK (info.st_mode)))
    return fd;
  close (fd);
  g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("--keepalive: '%s' is no pipe, whose end could be seen"), text);
  return -1;
}

DvmCliKeepalive *
dvm_cli_keepalive_new (const char *text, void (*closed) (gpointer user_data), gpointer user_data, GError **error)
{
  int fd = open_pipe (text, error);
  DvmCliKeepalive *self;

  if (fd < 0)
    return NULL;
  self = g_new0 (DvmCliKeepalive, 1);
  self->fd = fd;
  self->closed = closed;
  self->user_data = user_data;
  self->source = g_unix_fd_add (fd, G_IO_HUP | G_IO_ERR, on_hang_up, self);
  return self;
}

void
dvm_cli_keepalive_free (DvmCliKeepalive *self)
{
  g_clear_handle_id (&self->source, g_source_remove);
  close (self->fd);
  g_free (self);
}

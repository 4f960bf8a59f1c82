/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Listening sockets of another process, by pidfd_getfd() (Linux 5.6, of a child of the same user).
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-ports.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct _DvmdPmixPorts
{
  GArray *fds;     /* int */
  GArray *sources; /* guint */
  void (*refused) (gpointer user_data);
  gpointer user_data;
};

static gboolean
is_port (int fd)
{
  int domain = 0;
  int listens = 0;
  socklen_t length = sizeof domain;

  return getsockopt (fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && (domain == AF_INET || domain == AF_INET6)
         && getsockopt (fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens != 0;
}

static void
take_from (DvmdPmixPorts *self, int pidfd, GDir *dir)
{
  const char *name;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      int fd = (int)syscall (SYS_pidfd_getfd, pidfd, (int)g_ascii_strtoll (name, NULL, 10), 0);

      if (fd >= 0 && is_port (fd))
        g_array_append_val (self->fds, fd);
      else if (fd >= 0)
        close (fd);
      else if (errno != EBADF)
        {
          g_info ("The ports of PMIx server %d cannot be held for it: %s", pidfd, g_strerror (errno));
          return;
        }
    }
}

DvmdPmixPorts *
dvmd_pmix_ports_take (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/fd", (int)pid);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  int pidfd = dir != NULL ? (int)syscall (SYS_pidfd_open, pid, 0) : -1;
  DvmdPmixPorts *self;

  if (pidfd < 0)
    return NULL;
  self = g_new0 (DvmdPmixPorts, 1);
  self->fds = g_array_new (FALSE, FALSE, sizeof (int));
  self->sources = g_array_new (FALSE, FALSE, sizeof (guint));
  take_from (self, pidfd, dir);
  close (pidfd);
  if (self->fds->len > 0)
    return self;
  dvmd_pmix_ports_free (self);
  return NULL;
}

static gboolean
on_connection (int fd, GIOCondition condition, gpointer user_data)
{
  DvmdPmixPorts *self = user_data;
  int connection = accept4 (fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

  if (connection < 0)
    return G_SOURCE_CONTINUE;
  self->refused (self->user_data);
  close (connection);
  return G_SOURCE_CONTINUE;
}

void
dvmd_pmix_ports_guard (DvmdPmixPorts *self, void (*refused) (gpointer user_data), gpointer user_data)
{
  self->refused = refused;
  self->user_data = user_data;
  for (guint i = 0; i < self->fds->len; i++)
    {
      int fd = g_array_index (self->fds, int, i);
      guint source;

      g_unix_set_fd_nonblocking (fd, TRUE, NULL);
      source = g_unix_fd_add (fd, G_IO_IN, on_connection, self);
      g_array_append_val (self->sources, source);
    }
}

void
dvmd_pmix_ports_free (DvmdPmixPorts *self)
{
  for (guint i = 0; i < self->sources->len; i++)
    g_source_remove (g_array_index (self->sources, guint, i));
  for (guint i = 0; i < self->fds->len; i++)
    close (g_array_index (self->fds, int, i));
  g_array_unref (self->sources);
  g_array_unref (self->fds);
  g_free (self);
}

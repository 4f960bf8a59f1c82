/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The private sockets of the user's DVMs, and which process listens at one.
 */

#include "config.h"

#include "dvm-cli-sockets.h"

#include <dvm.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

pid_t
dvm_cli_find_listener (const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  struct ucred peer = { 0 };
  socklen_t length = sizeof peer;
  int fd;

  if (strlen (path) >= sizeof address.sun_path)
    return 0;
  fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return 0;
  memcpy (address.sun_path, path, strlen (path) + 1);
  if (connect (fd, (struct sockaddr *)&address, sizeof address) != 0
      || getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    peer.pid = 0;
  close (fd);
  return peer.pid;
}

GPtrArray *
dvm_cli_list_sockets (void)
{
  g_autofree char *own = dvm_client_build_runtime_dir (NULL);
  g_autofree char *parent = g_path_get_dirname (own);
  g_autoptr (GDir) directory = g_dir_open (parent, 0, NULL);
  GPtrArray *sockets = g_ptr_array_new_with_free_func (g_free);
  const char *name;

  while (directory != NULL && (name = g_dir_read_name (directory)) != NULL)
    {
      g_autofree char *socket = g_build_filename (parent, name, "bus", NULL);

      if (g_file_test (socket, G_FILE_TEST_EXISTS))
        g_ptr_array_add (sockets, g_steal_pointer (&socket));
    }
  return sockets;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Connections of other users to the PMIx port are found and expelled.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-peers.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dvmd-pmix-ends.h"

/*
 * Whether a connection of ours, with that port, is one of another user. An end of others whose process has gone says
 * nothing of its user, and the door has looked at it when it came.
 */
static gboolean
is_of_stranger (int fd, guint port, guint *uid)
{
  DvmdPmixEndpoint local;
  DvmdPmixEndpoint remote;
  DvmdPmixEnd other;

  if (!dvmd_pmix_ends_read_socket (fd, &local, &remote) || local.port != port
      || !dvmd_pmix_ends_find (&remote, &local, &other) || other.inode == 0 || dvmd_pmix_end_is_ours (&other))
    return FALSE;
  *uid = other.uid;
  return TRUE;
}

/*
 * How many connections of others there are among our own descriptors: the kernel takes 10 ms to list the connections of
 * the machine. ends: they are ended; the library finds its end closed, and tidies up as when a peer goes.
 */
static guint
count_strangers (guint port, gboolean ends, guint *uid)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/fd", 0, NULL);
  const char *name;
  guint n = 0;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      int fd = atoi (name);

      if (!is_of_stranger (fd, port, uid))
        continue;
      n++;
      if (ends)
        shutdown (fd, SHUT_RDWR);
    }
  return n;
}

gboolean
dvmd_pmix_peers_find_stranger (guint port, guint *uid)
{
  return count_strangers (port, FALSE, uid) > 0;
}

guint
dvmd_pmix_peers_expel_strangers (guint port)
{
  guint uid = 0;
  guint n = count_strangers (port, TRUE, &uid);

  if (n > 0)
    g_message ("A process of user %u has connected to the PMIx server of user %u, and is shown the door", uid,
               (guint)geteuid ());
  return n;
}

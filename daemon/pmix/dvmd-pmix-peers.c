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

/* -1: it is closed by now. */
static int
find_descriptor (guint64 inode)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/fd", 0, NULL);
  g_autofree char *wanted = g_strdup_printf ("socket:[%" G_GUINT64_FORMAT "]", inode);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename ("/proc/self/fd", name, NULL);
      g_autofree char *target = g_file_read_link (path, NULL);

      if (g_strcmp0 (target, wanted) == 0)
        return atoi (name);
    }
  return -1;
}

/* The library finds its end closed, and tidies up as when a peer goes. */
static void
expel (const DvmdPmixEnd *end)
{
  int fd = find_descriptor (end->inode);

  if (fd >= 0)
    shutdown (fd, SHUT_RDWR);
}

/*
 * Ends of others whose process has gone say nothing of its user, and the door has looked at them when they came. An end
 * of another user with our port, on another address, is none of ours.
 */
static gboolean
is_of_stranger (const DvmdPmixEnd *end, guint *uid)
{
  DvmdPmixEnd other;

  if (end->inode == 0 || end->uid != geteuid () || !dvmd_pmix_ends_find (&end->remote, &end->local, &other)
      || other.inode == 0 || dvmd_pmix_end_is_ours (&other))
    return FALSE;
  *uid = other.uid;
  return TRUE;
}

/* (element-type DvmdPmixEnd) (transfer full): our ends of connections of others */
static GArray *
list_strangers (guint port, guint *uid)
{
  GArray *ends = dvmd_pmix_ends_list (port);

  for (guint i = ends->len; i > 0; i--)
    if (!is_of_stranger (&g_array_index (ends, DvmdPmixEnd, i - 1), uid))
      g_array_remove_index_fast (ends, i - 1);
  return ends;
}

gboolean
dvmd_pmix_peers_find_stranger (guint port, guint *uid)
{
  g_autoptr (GArray) strangers = list_strangers (port, uid);

  return strangers->len > 0;
}

guint
dvmd_pmix_peers_expel_strangers (guint port)
{
  guint uid = 0;
  g_autoptr (GArray) strangers = list_strangers (port, &uid);

  if (strangers->len > 0)
    g_message ("A process of user %u has connected to the PMIx server of user %u, and is shown the door", uid,
               (guint)geteuid ());
  for (guint i = 0; i < strangers->len; i++)
    expel (&g_array_index (strangers, DvmdPmixEnd, i));
  return strangers->len;
}

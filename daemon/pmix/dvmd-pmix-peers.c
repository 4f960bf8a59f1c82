/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* As /proc/net/tcp has them. Of a connection that we have closed, the other end can learn nothing more. */
#define STATE_ESTABLISHED 0x01
#define STATE_CLOSE_WAIT  0x08

/* One end of a connection within this machine. */
typedef struct
{
  guint local_port;
  guint remote_port;
  guint state;
  guint uid;
  guint64 inode;
} End;

typedef struct
{
  guint port;
  GArray *ours;       /* End */
  GHashTable *theirs; /* local port -> End */
} Ends;

static void
take_line (Ends *ends, const char *line)
{
  End end;

  /* slot, local address and port, remote ones, state, queues, timer, retransmissions, user, timeout, inode */
  if (sscanf (line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%x %x %*x:%*x %*x:%*x %*x %u %*u %" G_GINT64_MODIFIER "u",
              &end.local_port, &end.remote_port, &end.state, &end.uid, &end.inode)
      != 5)
    return;
  if (end.state != STATE_ESTABLISHED && end.state != STATE_CLOSE_WAIT)
    return;
  if (end.local_port == ends->port)
    g_array_append_val (ends->ours, end);
  else if (end.remote_port == ends->port)
    g_hash_table_insert (ends->theirs, GUINT_TO_POINTER (end.local_port), g_memdup2 (&end, sizeof end));
}

static void
read_table (Ends *ends, const char *path)
{
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return;
  lines = g_strsplit (text, "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    take_line (ends, *line);
}

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
expel (const End *end)
{
  int fd = find_descriptor (end->inode);

  if (fd >= 0)
    shutdown (fd, SHUT_RDWR);
}

/* (element-type End) (transfer full): our ends of connections of others */
static GArray *
list_strangers (guint port, guint *uid)
{
  GArray *ours = g_array_new (FALSE, FALSE, sizeof (End));
  g_autoptr (GHashTable) theirs = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  Ends ends = { port, ours, theirs };

  read_table (&ends, "/proc/self/net/tcp");
  read_table (&ends, "/proc/self/net/tcp6");
  for (guint i = ours->len; i > 0; i--)
    {
      const End *end = &g_array_index (ours, End, i - 1);
      const End *other = g_hash_table_lookup (theirs, GUINT_TO_POINTER (end->remote_port));

      if (other == NULL || other->uid == 0 || other->uid == geteuid ())
        g_array_remove_index_fast (ours, i - 1);
      else
        *uid = other->uid;
    }
  return ours;
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
    expel (&g_array_index (strangers, End, i));
  return strangers->len;
}

gboolean
dvmd_pmix_peers_find_user (guint local_port, guint remote_port, guint *uid)
{
  g_autoptr (GArray) ours = g_array_new (FALSE, FALSE, sizeof (End));
  g_autoptr (GHashTable) theirs = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  Ends ends = { remote_port, ours, theirs };
  const End *end;

  read_table (&ends, "/proc/self/net/tcp");
  end = g_hash_table_lookup (theirs, GUINT_TO_POINTER (local_port));
  if (end == NULL)
    return FALSE;
  *uid = end->uid;
  return TRUE;
}

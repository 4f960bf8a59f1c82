/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>
#include <netinet/in.h>

G_BEGIN_DECLS

/*
 * The ends of TCP connections within this machine, and whose they are. libpmix believes the user that a peer claims to
 * be, and shows no socket; the kernel knows who has connected. From any thread.
 */

typedef struct
{
  struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d */
  guint port;
} DvmdPmixEndpoint;

typedef struct
{
  DvmdPmixEndpoint local;
  DvmdPmixEndpoint remote;
  guint state; /* as in tcp_states.h of Linux; 10 listens */
  guint uid;
  guint queue;   /* bytes that wait for the other end; from the table alone */
  guint64 inode; /* 0: no process holds it any more, and the uid says nothing */
} DvmdPmixEnd;

/* Both ends of a connected socket. FALSE: it has none, or is of another kind. */
gboolean dvmd_pmix_ends_read_socket (int fd, DvmdPmixEndpoint *local, DvmdPmixEndpoint *remote);
/* Whether the local end of a socket is TCP, and one that this machine alone can reach. */
gboolean dvmd_pmix_ends_is_loopback (int fd);

/* Finds the connection of exactly these two, in whatever state but listening. FALSE: there is none. */
gboolean dvmd_pmix_ends_find (const DvmdPmixEndpoint *local, const DvmdPmixEndpoint *remote, DvmdPmixEnd *end);
/* The same, from the kernel's table, which takes longer the more connections there are. */
gboolean dvmd_pmix_ends_find_in_table (const DvmdPmixEndpoint *local, const DvmdPmixEndpoint *remote, DvmdPmixEnd *end);
/* (element-type DvmdPmixEnd) (transfer full): all with this local port that have another end */
GArray *dvmd_pmix_ends_list (guint local_port);

/* Whether a process of ours or of root holds it. */
gboolean dvmd_pmix_end_is_ours (const DvmdPmixEnd *end);
/*
 * Whether a connected socket is one within this machine whose other end no process of ours or of root holds. known:
 * whose it is, in uid; else it has gone again.
 */
gboolean dvmd_pmix_ends_is_stranger (int fd, guint *uid, gboolean *known);

G_END_DECLS

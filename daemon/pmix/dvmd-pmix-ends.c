/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Asks the kernel who holds the other end of a TCP connection within this machine.
 */

#include "config.h"

#include "dvmd-pmix-ends.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STATE_LISTEN 10

static gboolean
read_address (const struct sockaddr_storage *from, DvmdPmixEndpoint *endpoint)
{
  const struct sockaddr_in *in = (const struct sockaddr_in *)from;
  const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;

  memset (endpoint, 0, sizeof *endpoint);
  if (from->ss_family == AF_INET6)
    {
      endpoint->address = in6->sin6_addr;
      endpoint->port = ntohs (in6->sin6_port);
      return TRUE;
    }
  endpoint->address.s6_addr32[2] = htonl (0xffff);
  endpoint->address.s6_addr32[3] = in->sin_addr.s_addr;
  endpoint->port = ntohs (in->sin_port);
  return from->ss_family == AF_INET;
}

gboolean
dvmd_pmix_ends_read_socket (int fd, DvmdPmixEndpoint *local, DvmdPmixEndpoint *remote)
{
  struct sockaddr_storage address;
  socklen_t length = sizeof address;

  if (getsockname (fd, (struct sockaddr *)&address, &length) != 0 || !read_address (&address, local))
    return FALSE;
  length = sizeof address;
  return getpeername (fd, (struct sockaddr *)&address, &length) == 0 && read_address (&address, remote);
}

gboolean
dvmd_pmix_ends_is_loopback (int fd)
{
  DvmdPmixEndpoint end;
  struct sockaddr_storage address;
  socklen_t length = sizeof address;

  if (getsockname (fd, (struct sockaddr *)&address, &length) != 0 || !read_address (&address, &end))
    return FALSE;
  return IN6_IS_ADDR_LOOPBACK (&end.address)
         || (IN6_IS_ADDR_V4MAPPED (&end.address) && end.address.s6_addr[12] == IN_LOOPBACKNET);
}

static gboolean
is_same (const DvmdPmixEndpoint *a, const DvmdPmixEndpoint *b)
{
  return a->port == b->port && IN6_ARE_ADDR_EQUAL (&a->address, &b->address);
}

/* Netlink: one question about one connection, however many there are. */

typedef struct
{
  struct nlmsghdr header;
  struct inet_diag_req_v2 body;
} Question;

static void
copy_address (const DvmdPmixEndpoint *endpoint, gboolean v4, __be32 *words)
{
  memcpy (words, &endpoint->address.s6_addr32[v4 ? 3 : 0], v4 ? 4 : 16);
}

static void
fill_question (Question *question, const DvmdPmixEndpoint *local, const DvmdPmixEndpoint *remote)
{
  gboolean v4 = IN6_IS_ADDR_V4MAPPED (&local->address);
  struct inet_diag_sockid *id = &question->body.id;

  memset (question, 0, sizeof *question);
  question->header.nlmsg_len = sizeof *question;
  question->header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question->header.nlmsg_flags = NLM_F_REQUEST;
  question->body.sdiag_family = v4 ? AF_INET : AF_INET6;
  question->body.sdiag_protocol = IPPROTO_TCP;
  question->body.idiag_states = G_MAXUINT32;
  id->idiag_sport = htons ((guint16)local->port);
  id->idiag_dport = htons ((guint16)remote->port);
  copy_address (local, v4, id->idiag_src);
  copy_address (remote, v4, id->idiag_dst);
  id->idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
}

/* Where nobody has exactly these two, the kernel shows the socket that listens there. */
static gboolean
read_answer (const void *data, gsize size, const Question *question, DvmdPmixEnd *end)
{
  const struct nlmsghdr *header = data;
  const struct inet_diag_msg *message = NLMSG_DATA (header);

  if (size < NLMSG_LENGTH (sizeof *message) || header->nlmsg_type != SOCK_DIAG_BY_FAMILY
      || message->idiag_state == STATE_LISTEN || message->id.idiag_sport != question->body.id.idiag_sport
      || message->id.idiag_dport != question->body.id.idiag_dport)
    return FALSE;
  end->state = message->idiag_state;
  end->uid = message->idiag_uid;
  end->inode = message->idiag_inode;
  return TRUE;
}

static gboolean
ask_netlink (const DvmdPmixEndpoint *local, const DvmdPmixEndpoint *remote, DvmdPmixEnd *end)
{
  int fd = socket (AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
  /* The kernel answers within sendto(). */
  union
  {
    struct nlmsghdr header;
    char bytes[1024];
  } answer;
  Question question;
  ssize_t n = -1;

  if (fd < 0)
    return FALSE;
  fill_question (&question, local, remote);
  if (sendto (fd, &question, sizeof question, 0, (struct sockaddr *)&kernel, sizeof kernel) == sizeof question)
    n = recv (fd, &answer, sizeof answer, MSG_DONTWAIT);
  close (fd);
  return n > 0 && read_answer (&answer, (gsize)n, &question, end);
}

/* The table, for machines where netlink does not answer. */

/* Words of four bytes as this machine has them in memory: one for IPv4, four for IPv6. */
static gboolean
parse_address (const char *text, struct in6_addr *address)
{
  gsize n = strlen (text) / 8;

  if (strlen (text) % 8 != 0 || (n != 1 && n != 4))
    return FALSE;
  *address = (struct in6_addr){ 0 };
  if (n == 1)
    address->s6_addr32[2] = htonl (0xffff);
  for (gsize i = 0; i < n; i++)
    if (sscanf (text + 8 * i, "%8x", &address->s6_addr32[4 - n + i]) != 1)
      return FALSE;
  return TRUE;
}

/* slot, local address and port, remote ones, state, queues, timer, retransmissions, user, timeout, inode */
static gboolean
parse_line (const char *line, DvmdPmixEnd *end)
{
  char local[33];
  char remote[33];

  return sscanf (line, " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %x:%*x %*x:%*x %*x %u %*u %" G_GINT64_MODIFIER "u",
                 local, &end->local.port, remote, &end->remote.port, &end->state, &end->queue, &end->uid, &end->inode)
             == 8
         && end->state != STATE_LISTEN && parse_address (local, &end->local.address)
         && parse_address (remote, &end->remote.address);
}

/* TRUE: that was the one. */
typedef gboolean (*Visitor) (const DvmdPmixEnd *end, gpointer user_data);

static gboolean
visit_table (const char *path, Visitor visitor, gpointer user_data)
{
  FILE *file = fopen (path, "re");
  char line[512];
  gboolean found = FALSE;
  DvmdPmixEnd end;

  if (file == NULL)
    return FALSE;
  while (!found && fgets (line, sizeof line, file) != NULL)
    found = parse_line (line, &end) && visitor (&end, user_data);
  fclose (file);
  return found;
}

/* Of a process, not of a thread: all of ours are in one network. */
static gboolean
visit (Visitor visitor, gpointer user_data)
{
  return visit_table ("/proc/self/net/tcp", visitor, user_data)
         || visit_table ("/proc/self/net/tcp6", visitor, user_data);
}

static gboolean
take_same (const DvmdPmixEnd *end, gpointer user_data)
{
  DvmdPmixEnd *wanted = user_data;

  if (!is_same (&end->local, &wanted->local) || !is_same (&end->remote, &wanted->remote))
    return FALSE;
  *wanted = *end;
  return TRUE;
}

gboolean
dvmd_pmix_ends_find_in_table (const DvmdPmixEndpoint *local, const DvmdPmixEndpoint *remote, DvmdPmixEnd *end)
{
  end->local = *local;
  end->remote = *remote;
  return visit (take_same, end);
}

/* An empty answer of netlink may also mean that this kernel has no such answers, not even for the end that we have. */
gboolean
dvmd_pmix_ends_find (const DvmdPmixEndpoint *local, const DvmdPmixEndpoint *remote, DvmdPmixEnd *end)
{
  DvmdPmixEnd other;

  end->local = *local;
  end->remote = *remote;
  return ask_netlink (local, remote, end)
         || (!ask_netlink (remote, local, &other) && dvmd_pmix_ends_find_in_table (local, remote, end));
}

typedef struct
{
  guint port;
  GArray *ends;
} List;

static gboolean
take_of_port (const DvmdPmixEnd *end, gpointer user_data)
{
  List *list = user_data;

  if (end->local.port == list->port)
    g_array_append_vals (list->ends, end, 1);
  return FALSE;
}

GArray *
dvmd_pmix_ends_list (guint local_port)
{
  List list = { local_port, g_array_new (FALSE, FALSE, sizeof (DvmdPmixEnd)) };

  visit (take_of_port, &list);
  return list.ends;
}

gboolean
dvmd_pmix_end_is_ours (const DvmdPmixEnd *end)
{
  return end->inode != 0 && (end->uid == 0 || end->uid == geteuid ());
}

/* A client has its end before accept() returns: one that is not there has gone again. */
gboolean
dvmd_pmix_ends_is_stranger (int fd, guint *uid, gboolean *known)
{
  DvmdPmixEndpoint local;
  DvmdPmixEndpoint remote;
  DvmdPmixEnd end;

  *known = FALSE;
  if (!dvmd_pmix_ends_is_loopback (fd))
    return FALSE;
  if (!dvmd_pmix_ends_read_socket (fd, &local, &remote) || !dvmd_pmix_ends_find (&remote, &local, &end))
    return TRUE;
  *uid = end.uid;
  *known = end.inode != 0;
  return !dvmd_pmix_end_is_ours (&end);
}

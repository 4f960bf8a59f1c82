/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The writev() of a client or tool for the tests, which libpmix finds before the system's. With PMIX_CUT_WRITES in the
 * environment the header of each message comes in two pieces, as a kernel that has no room cuts it, the second when
 * the reader has taken the first: one that leaves it there may keep the room that the rest needs.
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Bytes of the header that libpmix sends before each message. */
#define HEADER_SIZE 16
#define MOST_TRIES  20000

/* Whether the other end of a connection of this machine has bytes that it has not read. */
static bool
has_unread (in_port_t here, in_port_t there)
{
  FILE *table = fopen ("/proc/net/tcp", "r");
  char line[256];
  bool found = false;

  while (table != NULL && !found && fgets (line, sizeof line, table) != NULL)
    {
      unsigned local, remote, unread;

      found = sscanf (line, " %*d: %*x:%x %*x:%x %*x %*x:%x", &local, &remote, &unread) == 3 && local == ntohs (there)
              && remote == ntohs (here) && unread > 0;
    }
  if (table != NULL)
    fclose (table);
  return found;
}

static void
wait_until_taken (int fd)
{
  struct sockaddr_in here, there;
  socklen_t length = sizeof here;
  int n_tries = 0;

  getsockname (fd, (struct sockaddr *)&here, &length);
  length = sizeof there;
  getpeername (fd, (struct sockaddr *)&there, &length);
  while (has_unread (here.sin_port, there.sin_port))
    {
      usleep (1000);
      if (++n_tries < MOST_TRIES)
        continue;
      fprintf (stderr, "the reader has not taken the first piece of a header\n");
      _exit (92);
    }
}

ssize_t
writev (int fd, const struct iovec *parts, int n_parts)
{
  struct iovec rest[2];
  ssize_t first = 0;
  ssize_t second;

  if (getenv ("PMIX_CUT_WRITES") == NULL || n_parts < 1 || n_parts > 2 || parts[0].iov_len != HEADER_SIZE)
    return syscall (SYS_writev, fd, parts, n_parts);
  first = write (fd, parts[0].iov_base, HEADER_SIZE / 3);
  if (first != HEADER_SIZE / 3)
    return first;
  wait_until_taken (fd);
  memcpy (rest, parts, (size_t)n_parts * sizeof rest[0]);
  rest[0].iov_base = (char *)rest[0].iov_base + first;
  rest[0].iov_len -= (size_t)first;
  second = syscall (SYS_writev, fd, rest, n_parts);
  return second < 0 ? first : first + second;
}

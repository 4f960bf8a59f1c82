/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The function by which libpmix reads what has come on a connection, which it finds before its own.
 *
 * The library (4.2.2 to 6.1) forgets the first bytes of a header that comes in two pieces, takes others for it, and
 * loses the connection or waits for ever. So it reads none before all of it is there.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <pmix_server.h>

#include "src/include/pmix_globals.h"
#include "src/mca/ptl/base/base.h"

#include "dvmd-pmix-groups.h"

/* As it is on the way. */
G_STATIC_ASSERT (sizeof (pmix_ptl_hdr_t) == (sizeof (size_t) == 8 ? 16 : 12));

#define EXPORTED __attribute__ ((visibility ("default")))

typedef void (*Receive) (int fd, short flags, void *data);

static Receive
find_next (void)
{
  static gsize next_once;

  if (g_once_init_enter (&next_once))
    g_once_init_leave (&next_once, (gsize)dlsym (RTLD_NEXT, "pmix_ptl_base_recv_handler"));
  return (Receive)next_once;
}

static gboolean
has_ended (int fd)
{
  struct pollfd end = { .fd = fd, .events = POLLRDHUP };

  return poll (&end, 1, 0) > 0;
}

/* Nothing comes any more behind the end of a connection: the library sees that for itself. */
static gboolean
is_whole (int fd)
{
  pmix_ptl_hdr_t header;
  gssize n = recv (fd, &header, sizeof header, MSG_PEEK | MSG_DONTWAIT);

  if (n > 0 && n < (gssize)sizeof header)
    return has_ended (fd);
  return n >= 0 || errno != EAGAIN;
}

/* The kernel says that there is something to read when there is so much, or the connection ends. */
static void
wait_for_bytes (int fd, int n)
{
  int now = 0;
  socklen_t length = sizeof now;

  if (getsockopt (fd, SOL_SOCKET, SO_RCVLOWAT, &now, &length) != 0 || now != n)
    setsockopt (fd, SOL_SOCKET, SO_RCVLOWAT, &n, sizeof n);
}

/* On PMIx's thread. */
EXPORTED void
pmix_ptl_base_recv_handler (int fd, short flags, void *data)
{
  const pmix_peer_t *peer = data;

  if (dvmd_pmix_groups_are_served () && peer->recv_msg == NULL)
    {
      if (!is_whole (fd))
        wait_for_bytes (fd, sizeof (pmix_ptl_hdr_t));
      if (!is_whole (fd))
        return;
      wait_for_bytes (fd, 1);
    }
  find_next () (fd, flags, data);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The function by which libpmix reads what has come on a connection, which it finds before its own.
 *
 * The library (4.2.2 to 6.1) forgets the first bytes of a header that comes in two pieces, takes others for it, and
 * loses the connection or waits for ever. So it reads none of those: they are put together here.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
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

/* Nothing has been read of the header yet. */
static gboolean
comes_in_pieces (int fd)
{
  pmix_ptl_hdr_t header;
  gssize n = recv (fd, &header, sizeof header, MSG_PEEK | MSG_DONTWAIT);

  return n > 0 && n < (gssize)sizeof header;
}

static pmix_ptl_recv_t *
begin_message (pmix_peer_t *peer, int fd)
{
  pmix_ptl_recv_t *message = PMIX_NEW (pmix_ptl_recv_t);

  PMIX_RETAIN (peer);
  message->peer = peer;
  message->sd = fd;
  message->rdptr = (char *)&message->hdr;
  message->rdbytes = sizeof message->hdr;
  return message;
}

/* Without memory for it the library finds no place to read to, and ends the connection. */
static void
expect_body (pmix_ptl_recv_t *message)
{
  pmix_ptl_hdr_t *header = &message->hdr;

  header->pindex = ntohl (header->pindex);
  header->tag = ntohl (header->tag);
  header->nbytes = ntohl (header->nbytes);
  message->hdr_recvd = true;
  if (header->nbytes > 0 && (pmix_ptl_base.max_msg_size == 0 || header->nbytes <= pmix_ptl_base.max_msg_size))
    message->data = calloc (1, header->nbytes);
  message->rdptr = message->data;
  message->rdbytes = header->nbytes;
  if (header->nbytes > 0 && message->data == NULL)
    shutdown (message->sd, SHUT_RDWR);
}

/* The first bytes are taken at once: the kernel has no room for the rest while the first bytes hold the memory of all
 * that came with them. Returns: whether the library is to go on, also when the connection has ended */
static gboolean
read_header (pmix_ptl_recv_t *message)
{
  gssize n = recv (message->sd, message->rdptr, message->rdbytes, MSG_DONTWAIT);

  if (n <= 0)
    return n == 0 || errno != EAGAIN;
  message->rdptr += n;
  message->rdbytes -= n;
  if (message->rdbytes > 0)
    return FALSE;
  expect_body (message);
  return TRUE;
}

/* On PMIx's thread. */
EXPORTED void
pmix_ptl_base_recv_handler (int fd, short flags, void *data)
{
  pmix_peer_t *peer = data;

  if (dvmd_pmix_groups_are_served ())
    {
      if (peer->recv_msg == NULL && comes_in_pieces (fd))
        peer->recv_msg = begin_message (peer, fd);
      if (peer->recv_msg != NULL && !peer->recv_msg->hdr_recvd && !read_header (peer->recv_msg))
        return;
    }
  find_next () (fd, flags, data);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Bytes are read and written over a socket that never blocks, in clear or in TLS.
 */

#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib-unix.h>
#include <glib/gstdio.h>

#include "dvmd-identity-private.h"
#include "dvmd-socket.h"
#include "dvmd-transport-error.h"

/* Bytes that wait in the kernel: more would only keep control behind bulk. */
#define UNSENT_LIMIT (128 * 1024)

struct _DvmdSocket
{
  int fd;
  char *peer;
  DvmdIdentity *identity; /* of the session */
  const DvmdTls *tls;
  DvmdTlsSession *session;
};

DvmdSocket *
dvmd_socket_new (int fd, const char *peer)
{
  DvmdSocket *self = g_new0 (DvmdSocket, 1);

  g_unix_set_fd_nonblocking (fd, TRUE, NULL);
  self->fd = fd;
  self->peer = g_strdup (peer);
  return self;
}

void
dvmd_socket_free (DvmdSocket *self)
{
  if (self->session != NULL)
    self->tls->session_free (self->session);
  g_clear_pointer (&self->identity, dvmd_identity_unref);
  g_close (self->fd, NULL);
  g_free (self->peer);
  g_free (self);
}

int
dvmd_socket_get_fd (DvmdSocket *self)
{
  return self->fd;
}

const char *
dvmd_socket_get_peer (DvmdSocket *self)
{
  return self->peer;
}

static void
set_option (int fd, int level, int option, int value)
{
  if (setsockopt (fd, level, option, &value, sizeof value) < 0)
    g_debug ("Option %d of level %d cannot be set on a socket: %s", option, level, g_strerror (errno));
}

void
dvmd_socket_tune (DvmdSocket *self, guint timeout)
{
  int domain = AF_UNIX;
  socklen_t size = sizeof domain;
  int pause = (int)MAX (timeout / 4000, 1);

  if (getsockopt (self->fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 || domain == AF_UNIX)
    return;
  set_option (self->fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option (self->fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option (self->fd, IPPROTO_TCP, TCP_KEEPIDLE, pause);
  set_option (self->fd, IPPROTO_TCP, TCP_KEEPINTVL, pause);
  set_option (self->fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set_option (self->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)timeout);
  set_option (self->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_LIMIT);
}

static gssize
fail_errno (DvmdSocket *self, GError **error)
{
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
    return DVMD_STREAM_AGAIN;
  if (errno == ETIMEDOUT)
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_TIMEOUT, "%s does not answer: %s", self->peer,
                 g_strerror (errno));
  else
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_LOST, "The connection to %s is lost: %s", self->peer,
                 g_strerror (errno));
  return DVMD_STREAM_FAILED;
}

gssize
dvmd_socket_read (DvmdSocket *self, gpointer data, gsize size, GError **error)
{
  gssize n;

  if (self->session != NULL)
    return self->tls->session_read (self->session, data, size, error);
  n = recv (self->fd, data, size, 0);
  return n >= 0 ? n : fail_errno (self, error);
}

gssize
dvmd_socket_write (DvmdSocket *self, gconstpointer data, gsize size, GError **error)
{
  gssize n;

  if (self->session != NULL)
    return self->tls->session_write (self->session, data, size, error);
  n = send (self->fd, data, size, MSG_NOSIGNAL);
  return n >= 0 ? n : fail_errno (self, error);
}

gssize
dvmd_socket_read_vector (DvmdSocket *self, const struct iovec *vector, guint n, GError **error)
{
  struct msghdr message = { .msg_iov = (struct iovec *)vector, .msg_iovlen = n };
  gssize got;

  if (self->session != NULL)
    return self->tls->session_read (self->session, vector[0].iov_base, vector[0].iov_len, error);
  got = recvmsg (self->fd, &message, 0);
  return got >= 0 ? got : fail_errno (self, error);
}

gssize
dvmd_socket_write_vector (DvmdSocket *self, const struct iovec *vector, guint n, GError **error)
{
  struct msghdr message = { .msg_iov = (struct iovec *)vector, .msg_iovlen = n };
  gssize written;

  g_return_val_if_fail (self->session == NULL, DVMD_STREAM_FAILED);

  written = sendmsg (self->fd, &message, MSG_NOSIGNAL);
  return written >= 0 ? written : fail_errno (self, error);
}

/* ---- TLS ---- */

gboolean
dvmd_socket_start_tls (DvmdSocket *self, DvmdIdentity *identity, gboolean is_server, GError **error)
{
  g_return_val_if_fail (self->session == NULL, FALSE);

  if (!dvmd_identity_has_key (identity))
    {
      g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION,
                   "This daemon has no certificate: it knows links of its own machine alone");
      return FALSE;
    }
  self->identity = dvmd_identity_ref (identity);
  self->tls = dvmd_identity_get_tls (identity);
  self->session = self->tls->session_new (dvmd_identity_get_key (identity), self->fd, self->peer, is_server, error);
  return self->session != NULL;
}

int
dvmd_socket_handshake (DvmdSocket *self, guint32 *rank, GError **error)
{
  const guint8 *certificate;
  gsize size;
  int status = self->tls->session_handshake (self->session, &certificate, &size, error);

  if (status != 1 || dvmd_identity_verify (self->identity, certificate, size, rank, error))
    return status;
  self->tls->session_refuse (self->session);
  return DVMD_STREAM_FAILED;
}

GIOCondition
dvmd_socket_get_condition (DvmdSocket *self)
{
  return self->session != NULL ? self->tls->session_get_condition (self->session) : G_IO_IN;
}

gboolean
dvmd_socket_is_encrypted (DvmdSocket *self)
{
  return self->session != NULL;
}

void
dvmd_socket_end (DvmdSocket *self)
{
  if (self->session != NULL)
    self->tls->session_end (self->session);
  shutdown (self->fd, SHUT_WR);
}

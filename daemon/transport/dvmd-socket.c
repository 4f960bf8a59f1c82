/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
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

/* TLS 1.3 alone: no older version, no resumption, certificates of both. */
#define PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1"

/* Bytes that wait in the kernel: more would only keep control behind bulk. */
#define UNSENT_LIMIT (128 * 1024)

struct _DvmdSocket
{
  int fd;
  char *peer;
  DvmdIdentity *identity; /* of the session */
  gnutls_session_t session;
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
  g_clear_pointer (&self->session, gnutls_deinit);
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

/* The other end's word about why. */
static const char *
describe (DvmdSocket *self, int status)
{
  const char *alert = NULL;

  if (status == GNUTLS_E_FATAL_ALERT_RECEIVED || status == GNUTLS_E_WARNING_ALERT_RECEIVED)
    alert = gnutls_alert_get_name (gnutls_alert_get (self->session));
  return alert != NULL ? alert : gnutls_strerror (status);
}

static gssize
fail_tls (DvmdSocket *self, int status, GError **error)
{
  if (status == GNUTLS_E_AGAIN || status == GNUTLS_E_INTERRUPTED)
    return DVMD_STREAM_AGAIN;
  if (status == GNUTLS_E_PUSH_ERROR || status == GNUTLS_E_PULL_ERROR || status == GNUTLS_E_PREMATURE_TERMINATION)
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_LOST, "The connection to %s is lost: %s", self->peer,
                 gnutls_strerror (status));
  else if (status == GNUTLS_E_FATAL_ALERT_RECEIVED)
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION,
                 "%s refuses the encrypted connection: %s", self->peer, describe (self, status));
  else
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_PROTOCOL,
                 "The encrypted connection to %s has failed: %s", self->peer, describe (self, status));
  return DVMD_STREAM_FAILED;
}

gssize
dvmd_socket_read (DvmdSocket *self, gpointer data, gsize size, GError **error)
{
  gssize n;

  if (self->session == NULL)
    {
      n = recv (self->fd, data, size, 0);
      return n >= 0 ? n : fail_errno (self, error);
    }
  n = gnutls_record_recv (self->session, data, size);
  if (n == GNUTLS_E_PREMATURE_TERMINATION)
    return 0;
  return n >= 0 ? n : fail_tls (self, (int)n, error);
}

gssize
dvmd_socket_write (DvmdSocket *self, gconstpointer data, gsize size, GError **error)
{
  gssize n;

  if (self->session == NULL)
    {
      n = send (self->fd, data, size, MSG_NOSIGNAL);
      return n >= 0 ? n : fail_errno (self, error);
    }
  n = gnutls_record_send (self->session, data, size);
  return n >= 0 ? n : fail_tls (self, (int)n, error);
}

gboolean
dvmd_socket_has_pending (DvmdSocket *self)
{
  return self->session != NULL && gnutls_record_check_pending (self->session) > 0;
}

/* ---- TLS ---- */

gboolean
dvmd_socket_start_tls (DvmdSocket *self, DvmdIdentity *identity, gboolean is_server, GError **error)
{
  guint flags = GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS | GNUTLS_NO_AUTO_SEND_TICKET;

  g_return_val_if_fail (self->session == NULL, FALSE);

  self->identity = dvmd_identity_ref (identity);
  if (!dvmd_gnutls_check (gnutls_init (&self->session, flags | (is_server ? GNUTLS_SERVER : GNUTLS_CLIENT)),
                          "Starting TLS", error)
      || !dvmd_gnutls_check (gnutls_priority_set_direct (self->session, PRIORITIES, NULL), "Starting TLS", error)
      || !dvmd_gnutls_check (
          gnutls_credentials_set (self->session, GNUTLS_CRD_CERTIFICATE, dvmd_identity_get_credentials (identity)),
          "Starting TLS", error))
    return FALSE;
  if (is_server)
    gnutls_certificate_server_set_request (self->session, GNUTLS_CERT_REQUIRE);
  gnutls_handshake_set_timeout (self->session, 0);
  gnutls_transport_set_int (self->session, self->fd);
  return TRUE;
}

static int
verify_peer (DvmdSocket *self, guint32 *rank, GError **error)
{
  guint n = 0;
  const gnutls_datum_t *chain = gnutls_certificate_get_peers (self->session, &n);

  if (chain == NULL || n == 0)
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "%s shows no certificate",
                 self->peer);
  else if (dvmd_identity_verify (self->identity, chain[0].data, chain[0].size, rank, error))
    return 1;
  gnutls_alert_send (self->session, GNUTLS_AL_FATAL, GNUTLS_A_BAD_CERTIFICATE);
  return DVMD_STREAM_FAILED;
}

int
dvmd_socket_handshake (DvmdSocket *self, guint32 *rank, GError **error)
{
  int status;

  do
    status = gnutls_handshake (self->session);
  while (status < 0 && !gnutls_error_is_fatal (status) && status != GNUTLS_E_AGAIN);
  if (status == 0)
    return verify_peer (self, rank, error);
  if (status == GNUTLS_E_AGAIN)
    return DVMD_STREAM_AGAIN;
  gnutls_alert_send_appropriate (self->session, status);
  if (status == GNUTLS_E_NO_CERTIFICATE_FOUND || status == GNUTLS_E_CERTIFICATE_REQUIRED)
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "%s shows no certificate",
                 self->peer);
  else
    fail_tls (self, status, error);
  return DVMD_STREAM_FAILED;
}

GIOCondition
dvmd_socket_get_condition (DvmdSocket *self)
{
  return self->session != NULL && gnutls_record_get_direction (self->session) == 1 ? G_IO_OUT : G_IO_IN;
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
    gnutls_bye (self->session, GNUTLS_SHUT_WR);
  shutdown (self->fd, SHUT_WR);
}

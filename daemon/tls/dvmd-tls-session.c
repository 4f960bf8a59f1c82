/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A TLS 1.3 session is driven from the main loop, without threads.
 */

#include "config.h"

#include "dvmd-tls-session.h"

#include "dvmd-socket.h"
#include "dvmd-tls-key.h"
#include "dvmd-transport-error.h"

/* TLS 1.3 alone: no older version, no resumption, certificates of both. */
#define PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1"

struct _DvmdTlsSession
{
  gnutls_session_t session;
  const char *peer;
};

/* The other end's word about why. */
static const char *
describe_status (DvmdTlsSession *self, int status)
{
  const char *alert = NULL;

  if (status == GNUTLS_E_FATAL_ALERT_RECEIVED || status == GNUTLS_E_WARNING_ALERT_RECEIVED)
    alert = gnutls_alert_get_name (gnutls_alert_get (self->session));
  return alert != NULL ? alert : gnutls_strerror (status);
}

static gssize
fail_tls (DvmdTlsSession *self, int status, GError **error)
{
  if (status == GNUTLS_E_AGAIN || status == GNUTLS_E_INTERRUPTED)
    return DVMD_STREAM_AGAIN;
  if (status == GNUTLS_E_PUSH_ERROR || status == GNUTLS_E_PULL_ERROR || status == GNUTLS_E_PREMATURE_TERMINATION)
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_LOST, "The connection to %s is lost: %s", self->peer,
                 gnutls_strerror (status));
  else if (status == GNUTLS_E_FATAL_ALERT_RECEIVED)
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION,
                 "%s refuses the encrypted connection: %s", self->peer, describe_status (self, status));
  else
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_PROTOCOL,
                 "The encrypted connection to %s has failed: %s", self->peer, describe_status (self, status));
  return DVMD_STREAM_FAILED;
}

DvmdTlsSession *
dvmd_tls_session_new (DvmdTlsKey *key, int fd, const char *peer, gboolean is_server, GError **error)
{
  guint flags = GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS | GNUTLS_NO_AUTO_SEND_TICKET;
  DvmdTlsSession *self = g_new0 (DvmdTlsSession, 1);

  self->peer = peer;
  if (!dvmd_gnutls_check (gnutls_init (&self->session, flags | (is_server ? GNUTLS_SERVER : GNUTLS_CLIENT)),
                          "Starting TLS", error)
      || !dvmd_gnutls_check (gnutls_priority_set_direct (self->session, PRIORITIES, NULL), "Starting TLS", error)
      || !dvmd_gnutls_check (
          gnutls_credentials_set (self->session, GNUTLS_CRD_CERTIFICATE, dvmd_tls_key_get_credentials (key)),
          "Starting TLS", error))
    {
      dvmd_tls_session_free (self);
      return NULL;
    }
  if (is_server)
    gnutls_certificate_server_set_request (self->session, GNUTLS_CERT_REQUIRE);
  gnutls_handshake_set_timeout (self->session, 0);
  gnutls_transport_set_int (self->session, fd);
  return self;
}

void
dvmd_tls_session_free (DvmdTlsSession *self)
{
  g_clear_pointer (&self->session, gnutls_deinit);
  g_free (self);
}

static gboolean
get_certificate (DvmdTlsSession *self, const guint8 **certificate, gsize *size, GError **error)
{
  guint n = 0;
  const gnutls_datum_t *chain = gnutls_certificate_get_peers (self->session, &n);

  if (chain != NULL && n > 0)
    {
      *certificate = chain[0].data;
      *size = chain[0].size;
      return TRUE;
    }
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "%s shows no certificate", self->peer);
  dvmd_tls_session_refuse (self);
  return FALSE;
}

int
dvmd_tls_session_handshake (DvmdTlsSession *self, const guint8 **certificate, gsize *size, GError **error)
{
  int status;

  do
    status = gnutls_handshake (self->session);
  while (status < 0 && !gnutls_error_is_fatal (status) && status != GNUTLS_E_AGAIN);
  if (status == 0)
    return get_certificate (self, certificate, size, error) ? 1 : DVMD_STREAM_FAILED;
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

void
dvmd_tls_session_refuse (DvmdTlsSession *self)
{
  gnutls_alert_send (self->session, GNUTLS_AL_FATAL, GNUTLS_A_BAD_CERTIFICATE);
}

gssize
dvmd_tls_session_read (DvmdTlsSession *self, gpointer data, gsize size, GError **error)
{
  gssize n = gnutls_record_recv (self->session, data, size);

  if (n == GNUTLS_E_PREMATURE_TERMINATION)
    return 0;
  return n >= 0 ? n : fail_tls (self, (int)n, error);
}

gssize
dvmd_tls_session_write (DvmdTlsSession *self, gconstpointer data, gsize size, GError **error)
{
  gssize n = gnutls_record_send (self->session, data, size);

  return n >= 0 ? n : fail_tls (self, (int)n, error);
}

GIOCondition
dvmd_tls_session_get_condition (DvmdTlsSession *self)
{
  return gnutls_record_get_direction (self->session) == 1 ? G_IO_OUT : G_IO_IN;
}

void
dvmd_tls_session_end (DvmdTlsSession *self)
{
  gnutls_bye (self->session, GNUTLS_SHUT_WR);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-part.h"

G_BEGIN_DECLS

/*
 * Keys, certificates and encrypted connections: the part "tls" (daemon/tls), which alone knows GnuTLS. Links of one
 * machine need none of it, and GnuTLS with what it brings is a third of what a daemon loads: so it is opened when there
 * is a link to another machine to come. For dvmd-identity, dvmd-authority and dvmd-socket, nobody else.
 */

typedef struct _DvmdTlsKey DvmdTlsKey; /* of a daemon, and its certificate when it has one */
typedef struct _DvmdTlsAuthority DvmdTlsAuthority;
typedef struct _DvmdTlsSession DvmdTlsSession;

typedef struct
{
  DvmdPartInfo info;

  /* public_key: as SubjectPublicKeyInfo (DER) */
  DvmdTlsKey *(*key_new) (GBytes **public_key, GError **error);
  void (*key_free) (DvmdTlsKey *key);
  /* DER both. Once. */
  gboolean (*key_certify) (DvmdTlsKey *key, GBytes *certificate, GBytes *authority, char **instance, guint32 *rank,
                           GError **error);
  /* Verifies the certificate of another daemon by the authority that has signed our own. */
  gboolean (*key_verify) (DvmdTlsKey *key, const guint8 *certificate, gsize size, char **instance, guint32 *rank,
                          GError **error);

  DvmdTlsAuthority *(*authority_new) (const char *instance, GBytes **certificate, GError **error);
  void (*authority_free) (DvmdTlsAuthority *authority);
  GBytes *(*authority_sign) (DvmdTlsAuthority *authority, GBytes *public_key, guint32 rank, GError **error);

  /*
   * The functions of a session return counts, DVMD_STREAM_FAILED and DVMD_STREAM_AGAIN, as dvmd-socket.h says. peer
   * lives as long.
   */
  DvmdTlsSession *(*session_new) (DvmdTlsKey *key, int fd, const char *peer, gboolean is_server, GError **error);
  void (*session_free) (DvmdTlsSession *session);
  /* 1: done, and the peer has shown this certificate, that nobody has verified yet. */
  int (*session_handshake) (DvmdTlsSession *session, const guint8 **certificate, gsize *size, GError **error);
  /* Tells the peer that its certificate is not right. */
  void (*session_refuse) (DvmdTlsSession *session);
  gssize (*session_read) (DvmdTlsSession *session, gpointer data, gsize size, GError **error);
  gssize (*session_write) (DvmdTlsSession *session, gconstpointer data, gsize size, GError **error);
  GIOCondition (*session_get_condition) (DvmdTlsSession *session);
  void (*session_end) (DvmdTlsSession *session);
} DvmdTls;

/* NULL with an error: it is missing, or cannot be opened. */
const DvmdTls *dvmd_tls_open (GError **error);

G_END_DECLS

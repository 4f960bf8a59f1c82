/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "dvmd-tls.h"

G_BEGIN_DECLS

DvmdTlsKey *dvmd_tls_key_new (GBytes **public_key, GError **error);
void dvmd_tls_key_free (DvmdTlsKey *self);
gboolean dvmd_tls_key_certify (DvmdTlsKey *self, GBytes *certificate, GBytes *authority, char **instance, guint32 *rank,
                               GError **error);
gboolean dvmd_tls_key_verify (DvmdTlsKey *self, const guint8 *certificate, gsize size, char **instance, guint32 *rank,
                              GError **error);
gnutls_certificate_credentials_t dvmd_tls_key_get_credentials (DvmdTlsKey *self);

/* A new P-256 key, NULL with an error. */
gnutls_privkey_t dvmd_key_new (GError **error);
GBytes *dvmd_key_dup_public (gnutls_privkey_t key, GError **error);

/* FALSE with "WHAT: why" for a negative status. */
gboolean dvmd_gnutls_check (int status, const char *what, GError **error);

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (gnutls_x509_crt_t, gnutls_x509_crt_deinit, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (gnutls_privkey_t, gnutls_privkey_deinit, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (gnutls_pubkey_t, gnutls_pubkey_deinit, NULL)

G_END_DECLS

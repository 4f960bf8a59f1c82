/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The certificate authority of a DVM signs certificates with GnuTLS.
 */

#include "config.h"

#include "dvmd-tls-authority.h"

#include <string.h>

#include <gnutls/crypto.h>

#include "dvmd-tls-key.h"
#include "dvmd-transport-error.h"

#define DAY           ((gint64)24 * 3600)
#define LIFETIME_DAYS 3650

struct _DvmdTlsAuthority
{
  char *instance;
  gnutls_privkey_t key;
  gnutls_x509_crt_t certificate;
};

/* Sets the fields that every certificate of a DVM has: serial, times, version. */
static gboolean
fill_in (gnutls_x509_crt_t certificate, const char *name, GError **error)
{
  guint8 serial[16];
  gint64 now = g_get_real_time () / G_USEC_PER_SEC;

  if (!dvmd_gnutls_check (gnutls_rnd (GNUTLS_RND_NONCE, serial, sizeof serial), "Drawing a number", error))
    return FALSE;
  serial[0] &= 0x7f;
  return dvmd_gnutls_check (gnutls_x509_crt_set_version (certificate, 3), "Making a certificate", error)
         && dvmd_gnutls_check (gnutls_x509_crt_set_serial (certificate, serial, sizeof serial), "Making a certificate",
                               error)
         && dvmd_gnutls_check (gnutls_x509_crt_set_activation_time (certificate, now - DAY), "Making a certificate",
                               error)
         && dvmd_gnutls_check (gnutls_x509_crt_set_expiration_time (certificate, now + LIFETIME_DAYS * DAY),
                               "Making a certificate", error)
         && dvmd_gnutls_check (
             gnutls_x509_crt_set_dn_by_oid (certificate, GNUTLS_OID_X520_COMMON_NAME, 0, name, (guint)strlen (name)),
             "Making a certificate", error);
}

static gboolean
set_public_key (gnutls_x509_crt_t certificate, GBytes *der, GError **error)
{
  g_auto (gnutls_pubkey_t) key = NULL;
  gnutls_ecc_curve_t curve = GNUTLS_ECC_CURVE_INVALID;
  gnutls_datum_t datum;
  gsize size;

  datum.data = (guint8 *)g_bytes_get_data (der, &size);
  datum.size = (guint)size;
  if (!dvmd_gnutls_check (gnutls_pubkey_init (&key), "Reading a public key", error)
      || !dvmd_gnutls_check (gnutls_pubkey_import (key, &datum, GNUTLS_X509_FMT_DER), "Reading a public key", error))
    return FALSE;
  if (gnutls_pubkey_get_pk_algorithm (key, NULL) != GNUTLS_PK_ECDSA
      || gnutls_pubkey_export_ecc_raw (key, &curve, NULL, NULL) < 0 || curve != GNUTLS_ECC_CURVE_SECP256R1)
    {
      g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION,
                   "The public key is of another kind than EC P-256");
      return FALSE;
    }
  return dvmd_gnutls_check (gnutls_x509_crt_set_pubkey (certificate, key), "Making a certificate", error);
}

static GBytes *export(gnutls_x509_crt_t certificate, GError **error)
{
  gnutls_datum_t datum = { NULL, 0 };

  if (!dvmd_gnutls_check (gnutls_x509_crt_export2 (certificate, GNUTLS_X509_FMT_DER, &datum), "Making a certificate",
                          error))
    return NULL;
  return g_bytes_new_with_free_func (datum.data, datum.size, gnutls_free, datum.data);
}

static gboolean
make_root (DvmdTlsAuthority *self, GBytes **der, GError **error)
{
  g_autofree char *name = g_strdup_printf ("dvm %.50s", self->instance);
  g_autoptr (GBytes) public_key = NULL;

  self->key = dvmd_key_new (error);
  if (self->key == NULL)
    return FALSE;
  public_key = dvmd_key_dup_public (self->key, error);
  if (public_key == NULL
      || !dvmd_gnutls_check (gnutls_x509_crt_init (&self->certificate), "Making a certificate", error)
      || !fill_in (self->certificate, name, error) || !set_public_key (self->certificate, public_key, error)
      || !dvmd_gnutls_check (gnutls_x509_crt_set_basic_constraints (self->certificate, 1, 0), "Making a certificate",
                             error)
      || !dvmd_gnutls_check (gnutls_x509_crt_set_key_usage (self->certificate, GNUTLS_KEY_KEY_CERT_SIGN),
                             "Making a certificate", error)
      || !dvmd_gnutls_check (
          gnutls_x509_crt_privkey_sign (self->certificate, self->certificate, self->key, GNUTLS_DIG_SHA256, 0),
          "Making a certificate", error))
    return FALSE;
  *der = export(self->certificate, error);
  return *der != NULL;
}

DvmdTlsAuthority *
dvmd_tls_authority_new (const char *instance, GBytes **certificate, GError **error)
{
  DvmdTlsAuthority *self = g_new0 (DvmdTlsAuthority, 1);

  self->instance = g_strdup (instance);
  if (make_root (self, certificate, error))
    return self;
  dvmd_tls_authority_free (self);
  return NULL;
}

void
dvmd_tls_authority_free (DvmdTlsAuthority *self)
{
  g_clear_pointer (&self->certificate, gnutls_x509_crt_deinit);
  g_clear_pointer (&self->key, gnutls_privkey_deinit);
  g_free (self->instance);
  g_free (self);
}

GBytes *
dvmd_tls_authority_sign (DvmdTlsAuthority *self, GBytes *public_key, guint32 rank, GError **error)
{
  g_auto (gnutls_x509_crt_t) certificate = NULL;
  g_autofree char *name = g_strdup_printf ("rank %u", rank);
  g_autofree char *uri = g_strdup_printf ("dvm:%s/%u", self->instance, rank);

  if (!dvmd_gnutls_check (gnutls_x509_crt_init (&certificate), "Making a certificate", error)
      || !fill_in (certificate, name, error) || !set_public_key (certificate, public_key, error)
      || !dvmd_gnutls_check (gnutls_x509_crt_set_basic_constraints (certificate, 0, -1), "Making a certificate", error)
      || !dvmd_gnutls_check (gnutls_x509_crt_set_key_usage (certificate, GNUTLS_KEY_DIGITAL_SIGNATURE),
                             "Making a certificate", error)
      || !dvmd_gnutls_check (
          gnutls_x509_crt_set_subject_alt_name (certificate, GNUTLS_SAN_URI, uri, (guint)strlen (uri), GNUTLS_FSAN_SET),
          "Making a certificate", error)
      || !dvmd_gnutls_check (
          gnutls_x509_crt_privkey_sign (certificate, self->certificate, self->key, GNUTLS_DIG_SHA256, 0),
          "Making a certificate", error))
    return NULL;
  return export(certificate, error);
}

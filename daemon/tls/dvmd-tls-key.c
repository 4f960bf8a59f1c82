/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Keys are made and written with GnuTLS.
 */

#include "config.h"

#include "dvmd-tls-key.h"

#include <string.h>

#include "dvmd-transport-error.h"

struct _DvmdTlsKey
{
  gnutls_privkey_t key; /* NULL: the credentials have it */
  GBytes *public_key;
  gnutls_x509_crt_t authority; /* NULL: no certificate yet */
  gnutls_certificate_credentials_t credentials;
};

gboolean
dvmd_gnutls_check (int status, const char *what, GError **error)
{
  if (status >= 0)
    return TRUE;
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "%s: %s", what,
               gnutls_strerror (status));
  return FALSE;
}

gnutls_privkey_t
dvmd_key_new (GError **error)
{
  g_auto (gnutls_privkey_t) key = NULL;

  if (!dvmd_gnutls_check (gnutls_privkey_init (&key), "Making a key", error)
      || !dvmd_gnutls_check (
          gnutls_privkey_generate (key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS (GNUTLS_ECC_CURVE_SECP256R1), 0),
          "Making a key", error))
    return NULL;
  return g_steal_pointer (&key);
}

GBytes *
dvmd_key_dup_public (gnutls_privkey_t key, GError **error)
{
  g_auto (gnutls_pubkey_t) public_key = NULL;
  gnutls_datum_t datum = { NULL, 0 };

  if (!dvmd_gnutls_check (gnutls_pubkey_init (&public_key), "Reading a key", error)
      || !dvmd_gnutls_check (gnutls_pubkey_import_privkey (public_key, key, 0, 0), "Reading a key", error)
      || !dvmd_gnutls_check (gnutls_pubkey_export2 (public_key, GNUTLS_X509_FMT_DER, &datum), "Reading a key", error))
    return NULL;
  return g_bytes_new_with_free_func (datum.data, datum.size, gnutls_free, datum.data);
}

DvmdTlsKey *
dvmd_tls_key_new (GBytes **public_key, GError **error)
{
  DvmdTlsKey *self = g_new0 (DvmdTlsKey, 1);

  self->key = dvmd_key_new (error);
  if (self->key != NULL)
    self->public_key = dvmd_key_dup_public (self->key, error);
  if (self->public_key != NULL)
    {
      *public_key = g_bytes_ref (self->public_key);
      return self;
    }
  dvmd_tls_key_free (self);
  return NULL;
}

void
dvmd_tls_key_free (DvmdTlsKey *self)
{
  g_clear_pointer (&self->credentials, gnutls_certificate_free_credentials);
  g_clear_pointer (&self->authority, gnutls_x509_crt_deinit);
  g_clear_pointer (&self->key, gnutls_privkey_deinit);
  g_clear_pointer (&self->public_key, g_bytes_unref);
  g_free (self);
}

gnutls_certificate_credentials_t
dvmd_tls_key_get_credentials (DvmdTlsKey *self)
{
  return self->credentials;
}

static gboolean
import (const guint8 *data, gsize size, gnutls_x509_crt_t *certificate, GError **error)
{
  g_auto (gnutls_x509_crt_t) imported = NULL;
  gnutls_datum_t datum = { (guint8 *)data, (guint)size };

  if (!dvmd_gnutls_check (gnutls_x509_crt_init (&imported), "Reading a certificate", error)
      || !dvmd_gnutls_check (gnutls_x509_crt_import (imported, &datum, GNUTLS_X509_FMT_DER), "Reading a certificate",
                             error))
    return FALSE;
  *certificate = g_steal_pointer (&imported);
  return TRUE;
}

/* "dvm:INSTANCE/RANK" */
static gboolean
parse_name (gnutls_x509_crt_t certificate, char **instance, guint32 *rank, GError **error)
{
  char uri[128];
  gsize size = sizeof uri - 1;
  char *slash;
  guint64 value;

  if (gnutls_x509_crt_get_subject_alt_name (certificate, 0, uri, &size, NULL) == GNUTLS_SAN_URI && size < sizeof uri)
    {
      uri[size] = '\0';
      slash = strchr (uri, '/');
      if (g_str_has_prefix (uri, "dvm:") && slash != NULL
          && g_ascii_string_to_unsigned (slash + 1, 10, 0, G_MAXUINT32 - 1, &value, NULL))
        {
          *instance = g_strndup (uri + strlen ("dvm:"), slash - uri - strlen ("dvm:"));
          *rank = (guint32)value;
          return TRUE;
        }
    }
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "The certificate names no rank");
  return FALSE;
}

static gboolean
verify (gnutls_x509_crt_t authority, gnutls_x509_crt_t certificate, GError **error)
{
  guint wrong = 0;

  /* The clocks of nodes differ, and certificates end with their DVM. */
  if (!dvmd_gnutls_check (gnutls_x509_crt_list_verify (
                              &certificate, 1, &authority, 1, NULL, 0,
                              GNUTLS_VERIFY_DISABLE_TIME_CHECKS | GNUTLS_VERIFY_DISABLE_TRUSTED_TIME_CHECKS, &wrong),
                          "Checking a certificate", error))
    return FALSE;
  if (wrong == 0 && gnutls_x509_crt_get_ca_status (certificate, NULL) == 0)
    return TRUE;
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION,
               "The certificate was not made by the authority of this DVM");
  return FALSE;
}

static gboolean
is_of_key (DvmdTlsKey *self, gnutls_x509_crt_t certificate, GError **error)
{
  g_auto (gnutls_pubkey_t) public_key = NULL;
  gnutls_datum_t datum = { NULL, 0 };
  gboolean same;

  if (!dvmd_gnutls_check (gnutls_pubkey_init (&public_key), "Reading a certificate", error)
      || !dvmd_gnutls_check (gnutls_pubkey_import_x509 (public_key, certificate, 0), "Reading a certificate", error)
      || !dvmd_gnutls_check (gnutls_pubkey_export2 (public_key, GNUTLS_X509_FMT_DER, &datum), "Reading a certificate",
                             error))
    return FALSE;
  same = g_bytes_get_size (self->public_key) == datum.size
         && memcmp (g_bytes_get_data (self->public_key, NULL), datum.data, datum.size) == 0;
  gnutls_free (datum.data);
  if (!same)
    g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION,
                 "The certificate is for another key");
  return same;
}

static gboolean
make_credentials (DvmdTlsKey *self, GBytes *certificate, GError **error)
{
  g_autofree gnutls_pcert_st *chain = g_new0 (gnutls_pcert_st, 1);
  g_auto (gnutls_privkey_t) key = NULL;
  gnutls_datum_t datum;
  gsize size;

  datum.data = (guint8 *)g_bytes_get_data (certificate, &size);
  datum.size = (guint)size;
  if (!dvmd_gnutls_check (gnutls_certificate_allocate_credentials (&self->credentials), "Using a certificate", error)
      || !dvmd_gnutls_check (gnutls_pcert_import_x509_raw (chain, &datum, GNUTLS_X509_FMT_DER, 0),
                             "Using a certificate", error))
    return FALSE;
  /* Credentials own what they are given. */
  key = g_steal_pointer (&self->key);
  if (!dvmd_gnutls_check (gnutls_certificate_set_key (self->credentials, NULL, 0, chain, 1, key), "Using a certificate",
                          error))
    {
      gnutls_pcert_deinit (chain);
      return FALSE;
    }
  key = NULL;
  return TRUE;
}

gboolean
dvmd_tls_key_certify (DvmdTlsKey *self, GBytes *certificate, GBytes *authority, char **instance, guint32 *rank,
                      GError **error)
{
  g_auto (gnutls_x509_crt_t) own = NULL;
  g_auto (gnutls_x509_crt_t) root = NULL;
  g_autofree char *name = NULL;
  gconstpointer data;
  gsize size;

  g_return_val_if_fail (self->authority == NULL && self->credentials == NULL, FALSE);

  data = g_bytes_get_data (certificate, &size);
  if (!import (data, size, &own, error))
    return FALSE;
  data = g_bytes_get_data (authority, &size);
  if (!import (data, size, &root, error) || !is_of_key (self, own, error) || !verify (root, own, error)
      || !parse_name (own, &name, rank, error) || !make_credentials (self, certificate, error))
    return FALSE;
  self->authority = g_steal_pointer (&root);
  *instance = g_steal_pointer (&name);
  return TRUE;
}

gboolean
dvmd_tls_key_verify (DvmdTlsKey *self, const guint8 *certificate, gsize size, char **instance, guint32 *rank,
                     GError **error)
{
  g_auto (gnutls_x509_crt_t) other = NULL;

  g_return_val_if_fail (self->authority != NULL, FALSE);

  return import (certificate, size, &other, error) && verify (self->authority, other, error)
         && parse_name (other, instance, rank, error);
}

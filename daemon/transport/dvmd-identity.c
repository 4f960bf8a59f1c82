/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The identity of a daemon is its key, its certificate, and the key of the links of one machine.
 */

#include "config.h"

#include <string.h>

#include "dvmd-identity-private.h"
#include "dvmd-secret.h"
#include "dvmd-transport-error.h"

/* Of what a daemon says instead of a public key when it has none. */
#define NUMBER_SIZE 32

struct _DvmdIdentity
{
  gatomicrefcount ref_count;
  const DvmdTls *tls; /* NULL: no key */
  DvmdTlsKey *key;
  GBytes *public_key;
  gboolean is_certified;
  char *instance;
  guint32 rank;
  gboolean has_link_key;
  guint8 link_key[DVMD_LINK_KEY_SIZE];
};

DvmdIdentity *
dvmd_identity_new (GError **error)
{
  g_autoptr (DvmdIdentity) self = dvmd_identity_new_local ();

  return dvmd_identity_make_key (self, error) ? g_steal_pointer (&self) : NULL;
}

DvmdIdentity *
dvmd_identity_new_local (void)
{
  DvmdIdentity *self = g_new0 (DvmdIdentity, 1);
  guint8 number[NUMBER_SIZE];

  g_atomic_ref_count_init (&self->ref_count);
  dvmd_secret_draw (number, sizeof number);
  self->public_key = g_bytes_new (number, sizeof number);
  return self;
}

DvmdIdentity *
dvmd_identity_ref (DvmdIdentity *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
dvmd_identity_unref (DvmdIdentity *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  if (self->key != NULL)
    self->tls->key_free (self->key);
  g_clear_pointer (&self->public_key, g_bytes_unref);
  g_free (self->instance);
  explicit_bzero (self->link_key, sizeof self->link_key);
  g_free (self);
}

gboolean
dvmd_identity_make_key (DvmdIdentity *self, GError **error)
{
  g_autoptr (GBytes) public_key = NULL;

  g_return_val_if_fail (self->key == NULL, FALSE);

  self->tls = dvmd_tls_open (error);
  if (self->tls != NULL)
    self->key = self->tls->key_new (&public_key, error);
  if (self->key == NULL)
    {
      self->tls = NULL;
      return FALSE;
    }
  g_clear_pointer (&self->public_key, g_bytes_unref);
  self->public_key = g_steal_pointer (&public_key);
  return TRUE;
}

gboolean
dvmd_identity_has_key (DvmdIdentity *self)
{
  return self->key != NULL;
}

GBytes *
dvmd_identity_get_public_key (DvmdIdentity *self)
{
  return self->public_key;
}

const DvmdTls *
dvmd_identity_get_tls (DvmdIdentity *self)
{
  return self->tls;
}

DvmdTlsKey *
dvmd_identity_get_key (DvmdIdentity *self)
{
  return self->key;
}

gboolean
dvmd_identity_is_member (DvmdIdentity *self)
{
  return self->instance != NULL && self->has_link_key;
}

const char *
dvmd_identity_get_instance (DvmdIdentity *self)
{
  return self->instance;
}

guint32
dvmd_identity_get_rank (DvmdIdentity *self)
{
  return self->rank;
}

void
dvmd_identity_set_name (DvmdIdentity *self, const char *instance, guint32 rank)
{
  g_return_if_fail (self->instance == NULL);

  self->instance = g_strdup (instance);
  self->rank = rank;
}

void
dvmd_identity_set_link_key (DvmdIdentity *self, const guint8 *link_key)
{
  memcpy (self->link_key, link_key, sizeof self->link_key);
  self->has_link_key = TRUE;
}

const guint8 *
dvmd_identity_get_link_key (DvmdIdentity *self)
{
  g_return_val_if_fail (self->has_link_key, NULL);
  return self->link_key;
}

gboolean
dvmd_identity_set_certificate (DvmdIdentity *self, GBytes *certificate, GBytes *authority, GError **error)
{
  g_autofree char *instance = NULL;
  guint32 rank;

  g_return_val_if_fail (self->key != NULL && !self->is_certified, FALSE);

  if (!self->tls->key_certify (self->key, certificate, authority, &instance, &rank, error))
    return FALSE;
  self->is_certified = TRUE;
  if (self->instance == NULL)
    dvmd_identity_set_name (self, instance, rank);
  if (g_str_equal (self->instance, instance) && self->rank == rank)
    return TRUE;
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION,
               "The certificate is for another daemon");
  return FALSE;
}

gboolean
dvmd_identity_verify (DvmdIdentity *self, const guint8 *certificate, gsize size, guint32 *rank, GError **error)
{
  g_autofree char *instance = NULL;

  g_return_val_if_fail (self->is_certified, FALSE);

  if (!self->tls->key_verify (self->key, certificate, size, &instance, rank, error))
    return FALSE;
  if (g_strcmp0 (instance, self->instance) == 0)
    return TRUE;
  g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION, "The certificate is of another DVM");
  return FALSE;
}

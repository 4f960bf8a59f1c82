/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The certificate authority of a DVM lives in the memory of its controller.
 */

#include "config.h"

#include "dvmd-authority.h"

#include <string.h>

#include "dvmd-tls.h"
#include "dvmd-transport-error.h"

struct _DvmdAuthority
{
  gatomicrefcount ref_count;
  char *instance;
  const DvmdTls *tls;
  DvmdTlsAuthority *root;
  GBytes *der;
};

static gboolean
is_instance (const char *text)
{
  gsize length = strspn (text, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-_.");

  return length > 0 && length <= 64 && text[length] == '\0';
}

DvmdAuthority *
dvmd_authority_new (const char *instance, GError **error)
{
  g_autoptr (DvmdAuthority) self = g_new0 (DvmdAuthority, 1);

  g_atomic_ref_count_init (&self->ref_count);
  if (instance != NULL && !is_instance (instance))
    {
      g_set_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_AUTHENTICATION,
                   "\"%s\" is no name of a DVM's instance: up to 64 letters, digits, \"-\", \"_\", \".\"", instance);
      return NULL;
    }
  self->instance = instance != NULL ? g_strdup (instance) : g_uuid_string_random ();
  self->tls = dvmd_tls_open (error);
  if (self->tls != NULL)
    self->root = self->tls->authority_new (self->instance, &self->der, error);
  return self->root != NULL ? g_steal_pointer (&self) : NULL;
}

DvmdAuthority *
dvmd_authority_ref (DvmdAuthority *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
dvmd_authority_unref (DvmdAuthority *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  if (self->root != NULL)
    self->tls->authority_free (self->root);
  g_clear_pointer (&self->der, g_bytes_unref);
  g_free (self->instance);
  g_free (self);
}

GBytes *
dvmd_authority_get_certificate (DvmdAuthority *self)
{
  return self->der;
}

GBytes *
dvmd_authority_sign (DvmdAuthority *self, GBytes *public_key, guint32 rank, GError **error)
{
  return self->tls->authority_sign (self->root, public_key, rank, error);
}

gboolean
dvmd_authority_certify (DvmdAuthority *self, DvmdIdentity *identity, guint32 rank, GError **error)
{
  g_autoptr (GBytes) certificate = NULL;

  if (!dvmd_identity_has_key (identity) && !dvmd_identity_make_key (identity, error))
    return FALSE;
  certificate = dvmd_authority_sign (self, dvmd_identity_get_public_key (identity), rank, error);
  return certificate != NULL && dvmd_identity_set_certificate (identity, certificate, self->der, error);
}

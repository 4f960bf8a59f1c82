/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-identity.h"

G_BEGIN_DECLS

/*
 * The certificate authority of one DVM, in the memory of its controller alone: it ends with it. A certificate names a
 * rank of this DVM: subject "rank N", URI "dvm:INSTANCE/N".
 */

typedef struct _DvmdAuthority DvmdAuthority;

/* instance: up to 64 letters, digits, "-", "_", "."; NULL: drawn. */
DvmdAuthority *dvmd_authority_new (const char *instance, GError **error);
DvmdAuthority *dvmd_authority_ref (DvmdAuthority *self);
void dvmd_authority_unref (DvmdAuthority *self);

/* DER. */
GBytes *dvmd_authority_get_certificate (DvmdAuthority *self);
/* public_key: SubjectPublicKeyInfo (DER) of a P-256 key. Returns DER. */
GBytes *dvmd_authority_sign (DvmdAuthority *self, GBytes *public_key, guint32 rank, GError **error);
/* Gives identity, whose key is here, a certificate: the controller's own. It gets a key if it has none. */
gboolean dvmd_authority_certify (DvmdAuthority *self, DvmdIdentity *identity, guint32 rank, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdAuthority, dvmd_authority_unref)

G_END_DECLS

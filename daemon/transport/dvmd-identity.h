/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * The identity of a daemon towards the others of its DVM: a key that never leaves the process, the certificate that
 * names its rank, the authority's certificate, and the key that all members share to tell each other from
 * unauthenticated peers before anything costs time. A joiner has a key alone, until the controller has answered.
 *
 * Where all links are of one machine nobody asks for certificates: a daemon has a name then, and no key. In the place
 * of its public key stands a number that it has drawn, which tells it from others that come for the same rank.
 */

#define DVMD_LINK_KEY_SIZE 32

typedef struct _DvmdIdentity DvmdIdentity;

/* A new key. */
DvmdIdentity *dvmd_identity_new (GError **error);
/* Without a key, for links of this machine alone. */
DvmdIdentity *dvmd_identity_new_local (void);
DvmdIdentity *dvmd_identity_ref (DvmdIdentity *self);
void dvmd_identity_unref (DvmdIdentity *self);

/* Once: for links to other machines. It is nobody's until there is a certificate for it. */
gboolean dvmd_identity_make_key (DvmdIdentity *self, GError **error);
gboolean dvmd_identity_has_key (DvmdIdentity *self);
/* As SubjectPublicKeyInfo (DER); without a key the number. */
GBytes *dvmd_identity_get_public_key (DvmdIdentity *self);
/* DER both. Refuses a certificate of another key, or that this authority has not signed. Once. */
gboolean dvmd_identity_set_certificate (DvmdIdentity *self, GBytes *certificate, GBytes *authority, GError **error);
/* DVMD_LINK_KEY_SIZE bytes, copied. */
void dvmd_identity_set_link_key (DvmdIdentity *self, const guint8 *link_key);

/* Without a certificate. */
void dvmd_identity_set_name (DvmdIdentity *self, const char *instance, guint32 rank);

/* The name and the link key are there. */
gboolean dvmd_identity_is_member (DvmdIdentity *self);
/* (nullable): of the certificate, or set */
const char *dvmd_identity_get_instance (DvmdIdentity *self);
guint32 dvmd_identity_get_rank (DvmdIdentity *self);
const guint8 *dvmd_identity_get_link_key (DvmdIdentity *self);

/* The rank in a certificate (DER) that the authority of this DVM has signed. */
gboolean dvmd_identity_verify (DvmdIdentity *self, const guint8 *certificate, gsize size, guint32 *rank,
                               GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdIdentity, dvmd_identity_unref)

G_END_DECLS

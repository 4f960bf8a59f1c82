/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-tls.h"

G_BEGIN_DECLS

DvmdTlsAuthority *dvmd_tls_authority_new (const char *instance, GBytes **certificate, GError **error);
void dvmd_tls_authority_free (DvmdTlsAuthority *self);
GBytes *dvmd_tls_authority_sign (DvmdTlsAuthority *self, GBytes *public_key, guint32 rank, GError **error);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-identity.h"
#include "dvmd-tls.h"

G_BEGIN_DECLS

/* For dvmd-socket. NULL of one that has no key. */
const DvmdTls *dvmd_identity_get_tls (DvmdIdentity *self);
DvmdTlsKey *dvmd_identity_get_key (DvmdIdentity *self);

G_END_DECLS

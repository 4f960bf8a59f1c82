/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The entry of the part tls, which alone is linked with GnuTLS.
 */

#include "config.h"

#include <gmodule.h>

#include "dvmd-tls-authority.h"
#include "dvmd-tls-key.h"
#include "dvmd-tls-session.h"

G_MODULE_EXPORT extern const DvmdTls dvmd_tls;

const DvmdTls dvmd_tls = {
  .info = { sizeof (DvmdTls), DVM_VERSION_STRING },
  .key_new = dvmd_tls_key_new,
  .key_free = dvmd_tls_key_free,
  .key_certify = dvmd_tls_key_certify,
  .key_verify = dvmd_tls_key_verify,
  .authority_new = dvmd_tls_authority_new,
  .authority_free = dvmd_tls_authority_free,
  .authority_sign = dvmd_tls_authority_sign,
  .session_new = dvmd_tls_session_new,
  .session_free = dvmd_tls_session_free,
  .session_handshake = dvmd_tls_session_handshake,
  .session_refuse = dvmd_tls_session_refuse,
  .session_read = dvmd_tls_session_read,
  .session_write = dvmd_tls_session_write,
  .session_get_condition = dvmd_tls_session_get_condition,
  .session_end = dvmd_tls_session_end,
};

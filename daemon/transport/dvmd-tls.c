/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The part tls is opened when a link to another machine needs it.
 */

#include "config.h"

#include "dvmd-tls.h"

const DvmdTls *
dvmd_tls_open (GError **error)
{
  return dvmd_part_open ("tls", "dvmd_tls", sizeof (DvmdTls), error);
}

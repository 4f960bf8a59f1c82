/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table by which the part "unpack" is used.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-stage"

#include "dvmd-unpack-private.h"

#include <dvm.h>

extern const DvmdUnpack dvmd_unpack;

G_MODULE_EXPORT const DvmdUnpack dvmd_unpack = {
  .info = { sizeof (DvmdUnpack), DVM_VERSION_STRING },
  .open = dvmd_unpack_stream_open,
  .next = dvmd_unpack_stream_next,
};

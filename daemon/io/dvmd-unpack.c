/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The part "unpack" is opened.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-stage"

#include "dvmd-unpack.h"

const DvmdUnpack *
dvmd_unpack_open (GError **error)
{
  return dvmd_part_open ("unpack", "dvmd_unpack", sizeof (DvmdUnpack), error);
}

void
dvmd_unpack_entry_clear (DvmdUnpackEntry *entry)
{
  g_clear_pointer (&entry->target, g_free);
  g_clear_pointer (&entry->link, g_free);
}

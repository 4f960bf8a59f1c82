/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table by which the part "archive" is used.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-archive"

#include "dvmd-archive-private.h"

#include <dvm.h>

extern const DvmdArchive dvmd_archive;

G_MODULE_EXPORT const DvmdArchive dvmd_archive = {
  .info = { sizeof (DvmdArchive), DVM_VERSION_STRING },
  .book_new = dvmd_archive_book_new,
  .book_start = dvmd_archive_book_start,
  .book_add = dvmd_archive_book_add,
  .book_count = dvmd_archive_book_count,
  .book_free = dvmd_archive_book_free,
  .search = dvmd_archive_search,
};

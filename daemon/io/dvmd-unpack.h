/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

#include "dvmd-part.h"

G_BEGIN_DECLS

/*
 * Archives that are staged, entry by entry: the part "unpack" (daemon/unpack), which alone knows libarchive, and is
 * opened with the first archive of a job.
 */

typedef struct
{
  char *target; /* NULL: there are no more entries */
  guint mode;   /* with the type: a file, a directory or a symbolic link */
  guint64 size; /* of a file; what comes out of the stream */
  char *link;   /* (nullable): where a symbolic link leads to */
} DvmdUnpackEntry;

typedef struct
{
  DvmdPartInfo info;

  /* Takes fd. Reading it gives the content of the entry that next() found. For threads, one at a time. */
  GInputStream *(*open) (int fd, GError **error);
  /*
   * The next entry, whose target begins with folder (“” or “sub/”). FALSE with DVM_ERROR_FAILED and what stands behind
   * the archive's name in a sentence: it is damaged, or has what would not be a file, a directory or a link inside of
   * the session directory.
   */
  gboolean (*next) (GInputStream *stream, const char *folder, DvmdUnpackEntry *entry, GError **error);
} DvmdUnpack;

/* NULL with an error: it is missing, or cannot be opened. */
const DvmdUnpack *dvmd_unpack_open (GError **error);
void dvmd_unpack_entry_clear (DvmdUnpackEntry *entry);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-part.h"

G_BEGIN_DECLS

/*
 * Jobs and campaigns that have ended, in a file that outlives the DVM: the part "archive" (daemon/archive), which alone
 * knows SQLite, and is opened when there is an archive to write or to read.
 */

typedef struct _DvmdArchiveBook DvmdArchiveBook;

typedef enum
{
  DVMD_ARCHIVE_JOB,
  DVMD_ARCHIVE_CAMPAIGN,
} DvmdArchiveKind;

typedef struct
{
  const char *path;     /* is made with the mode 0600 */
  const char *instance; /* of the DVM: numbers of jobs are unique in it */
  guint days;           /* what has ended longer ago goes; 0: no limit */
  guint64 size;         /* bytes of the file, about: the oldest go first */
} DvmdArchiveSettings;

typedef struct
{
  DvmdPartInfo info;

  DvmdArchiveBook *(*book_new) (const DvmdArchiveSettings *settings, GError **error);
  /* It lives: when the DVM is killed before book_add() the last such record stays, and is told to be lost. */
  void (*book_start) (DvmdArchiveBook *book, DvmdArchiveKind kind, guint id, GVariant *record);
  /* record: a{sv}, the properties of the job or campaign, floating, once. Never blocks. */
  void (*book_add) (DvmdArchiveBook *book, DvmdArchiveKind kind, guint id, GVariant *record);
  /* Records that wait since the archive cannot be written, and those that were given up */
  void (*book_count) (DvmdArchiveBook *book, guint64 *n_waiting, guint64 *n_dropped);
  /* Returns when all is written, or cannot be. */
  void (*book_free) (DvmdArchiveBook *book);

  /*
   * filter: a{sv}: campaigns b, since x, until x (µs: of their ends), uid u, label s, name s, failed b, ids au, limit
   * u (the last ones). Returns a(sa{sv}), by their ends: the instance of the DVM, and the record. (transfer full)
   */
  GVariant *(*search) (const char *path, GVariant *filter, GError **error);
} DvmdArchive;

/* NULL with an error: it is missing, or cannot be opened. */
const DvmdArchive *dvmd_archive_open (GError **error);

G_END_DECLS

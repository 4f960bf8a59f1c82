/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <sqlite3.h>

#include "dvmd-archive.h"

G_BEGIN_DECLS

/* Archives of another layout have another number, and are refused. */
#define DVMD_ARCHIVE_LAYOUT 1

DvmdArchiveBook *dvmd_archive_book_new (const DvmdArchiveSettings *settings, GError **error);
void dvmd_archive_book_start (DvmdArchiveBook *self, DvmdArchiveKind kind, guint id, GVariant *record);
void dvmd_archive_book_add (DvmdArchiveBook *self, DvmdArchiveKind kind, guint id, GVariant *record);
void dvmd_archive_book_count (DvmdArchiveBook *self, guint64 *n_waiting, guint64 *n_dropped);
void dvmd_archive_book_free (DvmdArchiveBook *self);

GVariant *dvmd_archive_search (const char *path, GVariant *filter, GError **error);

/*
 * ---- the file ----
 *
 * A DVM that has jobs or campaigns has a row in "writers" and holds a lock on the byte of its number, far behind the
 * end of the file, as long as its process lives. Those that have not ended are in "running", by their keys; those of a
 * writer whose byte is free are lost.
 */

/* In "running" the kind is above the 32 bits of the number. */
#define DVMD_ARCHIVE_KEY(kind, id) ((gint64)(kind) << 32 | (id))
#define DVMD_ARCHIVE_KEY_KIND(key) ((DvmdArchiveKind)((key) >> 32))
#define DVMD_ARCHIVE_KEY_ID(key)   ((guint)((key)&G_MAXUINT32))

typedef struct
{
  sqlite3 *db;
  sqlite3_stmt *insert;
  int lock_fd;   /* closed after the database: the first close of a file drops the locks that SQLite has on it */
  gint64 writer; /* our number; 0: none yet */
} DvmdArchiveFile;

/* Opens it, makes it when it is not there. DVM_ERROR_OUT_OF_RESOURCE: it may work later. */
gboolean dvmd_archive_file_open (DvmdArchiveFile *self, const char *path, GError **error);
void dvmd_archive_file_close (DvmdArchiveFile *self);
/* These are in a transaction of the caller, and FALSE means that sqlite3_errmsg() tells why not. */
gboolean dvmd_archive_file_add (DvmdArchiveFile *self, DvmdArchiveKind kind, const char *instance, guint id,
                                GVariant *record);
gboolean dvmd_archive_file_add_running (DvmdArchiveFile *self, const char *instance, gint64 key, GVariant *record);
gboolean dvmd_archive_file_remove_running (DvmdArchiveFile *self, gint64 key);
/* Jobs and campaigns of writers that have gone become records. */
gboolean dvmd_archive_file_take_lost (DvmdArchiveFile *self);
/* Says that we live; the end of jobs that are lost is the last time that it was said. */
gboolean dvmd_archive_file_touch (DvmdArchiveFile *self);
/* Undoes the transaction; was_entered: we had a number before it began */
void dvmd_archive_file_roll_back (DvmdArchiveFile *self, gboolean was_entered);

/* Whether the writer with that number has gone; fd: of the file */
gboolean dvmd_archive_writer_is_gone (int fd, gint64 writer);
/* (transfer full): the record of what a writer that has gone had; record: as it was written */
GVariant *dvmd_archive_make_lost (DvmdArchiveKind kind, GVariant *record, gint64 seen);
/* (transfer full): a{sv}; a record that is damaged is empty. */
GVariant *dvmd_archive_read_record (sqlite3_stmt *statement, int column);

/* The layout of a database; 0: it has none yet, -1 with an error: it cannot be read */
int dvmd_archive_get_layout (sqlite3 *db, const char *path, GError **error);
/* Sets DVM_ERROR_FAILED, or DVM_ERROR_OUT_OF_RESOURCE, with what SQLite says. Returns FALSE */
gboolean dvmd_archive_set_error (sqlite3 *db, const char *path, GError **error);

G_END_DECLS

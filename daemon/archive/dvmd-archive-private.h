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
void dvmd_archive_book_start (DvmdArchiveBook *self, guint id, GVariant *record);
void dvmd_archive_book_add (DvmdArchiveBook *self, DvmdArchiveKind kind, guint id, GVariant *record);
void dvmd_archive_book_count (DvmdArchiveBook *self, guint64 *n_waiting, guint64 *n_dropped);
void dvmd_archive_book_free (DvmdArchiveBook *self);

GVariant *dvmd_archive_search (const char *path, GVariant *filter, GError **error);

/*
 * ---- the file ----
 *
 * A DVM that runs jobs has a row in "writers" and holds a lock on the byte of its number, far behind the end of the
 * file, as long as its process lives. Jobs that run are in "running"; those of a writer whose byte is free are lost.
 */

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
gboolean dvmd_archive_file_add_running (DvmdArchiveFile *self, const char *instance, guint id, GVariant *record);
gboolean dvmd_archive_file_remove_running (DvmdArchiveFile *self, guint id);
/* The jobs of writers that have gone become records. */
gboolean dvmd_archive_file_take_lost (DvmdArchiveFile *self);
/* Says that we live; the end of jobs that are lost is the last time that it was said. */
gboolean dvmd_archive_file_touch (DvmdArchiveFile *self);
/* Undoes the transaction; was_entered: we had a number before it began */
void dvmd_archive_file_roll_back (DvmdArchiveFile *self, gboolean was_entered);

/* Whether the writer with that number has gone; fd: of the file */
gboolean dvmd_archive_writer_is_gone (int fd, gint64 writer);
/* (transfer full): the record of a job of a writer that has gone; record: as it was written when the job ran */
GVariant *dvmd_archive_make_lost (GVariant *record, gint64 seen);
/* (transfer full): a{sv}; a record that is damaged is empty. */
GVariant *dvmd_archive_read_record (sqlite3_stmt *statement, int column);

/* The layout of a database; 0: it has none yet, -1 with an error: it cannot be read */
int dvmd_archive_get_layout (sqlite3 *db, const char *path, GError **error);
/* Sets DVM_ERROR_FAILED, or DVM_ERROR_OUT_OF_RESOURCE, with what SQLite says. Returns FALSE */
gboolean dvmd_archive_set_error (sqlite3 *db, const char *path, GError **error);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The file of an archive: its tables, and what is written into them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-archive"

#include "dvmd-archive-private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <dvm.h>

/* How long another process, which reads, may keep us waiting */
#define BUSY_MS 5000

/* The byte of the writer 0: SQLite locks bytes behind the first GiB. */
#define FIRST_LOCK ((off_t)1 << 40)

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS records (kind INTEGER NOT NULL, instance TEXT NOT NULL, id INTEGER NOT NULL,"
    " ended INTEGER NOT NULL, failed INTEGER NOT NULL, uid INTEGER NOT NULL, label TEXT NOT NULL,"
    " name TEXT NOT NULL, record BLOB NOT NULL);"
    "CREATE INDEX IF NOT EXISTS ends ON records (ended);"
    /* A number is never given again: its byte may still be locked. */
    "CREATE TABLE IF NOT EXISTS writers (number INTEGER PRIMARY KEY AUTOINCREMENT, instance TEXT NOT NULL,"
    " seen INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS running (writer INTEGER NOT NULL, id INTEGER NOT NULL, uid INTEGER NOT NULL,"
    " label TEXT NOT NULL, name TEXT NOT NULL, record BLOB NOT NULL, PRIMARY KEY (writer, id)) WITHOUT ROWID;";

gboolean
dvmd_archive_set_error (sqlite3 *db, const char *path, GError **error)
{
  int status = db != NULL ? sqlite3_errcode (db) : SQLITE_NOMEM;
  gboolean passing = status == SQLITE_FULL || status == SQLITE_IOERR || status == SQLITE_BUSY || status == SQLITE_NOMEM;

  g_set_error (error, DVM_ERROR, passing ? DVM_ERROR_OUT_OF_RESOURCE : DVM_ERROR_FAILED,
               "The archive %s cannot be used: %s", path,
               db != NULL ? sqlite3_errmsg (db) : "there is no memory for it");
  return FALSE;
}

int
dvmd_archive_get_layout (sqlite3 *db, const char *path, GError **error)
{
  sqlite3_stmt *statement = NULL;
  int layout = -1;

  if (sqlite3_prepare_v2 (db, "PRAGMA user_version", -1, &statement, NULL) == SQLITE_OK
      && sqlite3_step (statement) == SQLITE_ROW)
    layout = sqlite3_column_int (statement, 0);
  else
    dvmd_archive_set_error (db, path, error);
  sqlite3_finalize (statement);
  return layout;
}

/* SQLite would make it with the mode that the umask leaves. */
static gboolean
make_file (DvmdArchiveFile *self, const char *path, GError **error)
{
  int saved_errno;

  self->lock_fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  saved_errno = errno;
  if (self->lock_fd >= 0)
    return TRUE;
  g_set_error (error, DVM_ERROR,
               saved_errno == ENOSPC || saved_errno == EDQUOT ? DVM_ERROR_OUT_OF_RESOURCE : DVM_ERROR_FAILED,
               "The archive %s cannot be opened: %s", path, g_strerror (saved_errno));
  return FALSE;
}

static gboolean
open_database (DvmdArchiveFile *self, const char *path, GError **error)
{
  static const char pragmas[] =
      "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;";
  int layout;

  if (sqlite3_open_v2 (path, &self->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK
      || sqlite3_busy_timeout (self->db, BUSY_MS) != SQLITE_OK)
    return dvmd_archive_set_error (self->db, path, error);
  layout = dvmd_archive_get_layout (self->db, path, error);
  if (layout < 0)
    return FALSE;
  if (layout != 0 && layout != DVMD_ARCHIVE_LAYOUT)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED,
                   "The archive %s was written by another version of dvm (layout %d, not %d): move it away", path,
                   layout, DVMD_ARCHIVE_LAYOUT);
      return FALSE;
    }
  if (sqlite3_exec (self->db, pragmas, NULL, NULL, NULL) == SQLITE_OK
      && sqlite3_exec (self->db, schema, NULL, NULL, NULL) == SQLITE_OK
      && sqlite3_exec (self->db, "PRAGMA user_version = " G_STRINGIFY (DVMD_ARCHIVE_LAYOUT), NULL, NULL, NULL)
             == SQLITE_OK
      && sqlite3_prepare_v2 (self->db, "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", -1, &self->insert,
                             NULL)
             == SQLITE_OK)
    return TRUE;
  return dvmd_archive_set_error (self->db, path, error);
}

gboolean
dvmd_archive_file_open (DvmdArchiveFile *self, const char *path, GError **error)
{
  if (make_file (self, path, error) && open_database (self, path, error))
    return TRUE;
  dvmd_archive_file_close (self);
  return FALSE;
}

void
dvmd_archive_file_close (DvmdArchiveFile *self)
{
  sqlite3_finalize (g_steal_pointer (&self->insert));
  sqlite3_close (g_steal_pointer (&self->db));
  if (self->lock_fd >= 0)
    close (self->lock_fd);
  self->lock_fd = -1;
  self->writer = 0;
}

/* ---- records ---- */

static const char *
get_text (GVariant *record, const char *key)
{
  const char *text = "";

  g_variant_lookup (record, key, "&s", &text);
  return text;
}

/* Campaigns end with the status 0 or with an error, or are lost. */
static gboolean
has_failed (DvmdArchiveKind kind, GVariant *record)
{
  gboolean failed = FALSE;
  gint32 status = 0;

  g_variant_lookup (record, "Failed", "b", &failed);
  if (kind == DVMD_ARCHIVE_JOB || failed)
    return failed;
  if (g_variant_lookup (record, "Status", "i", &status))
    failed = status != 0;
  return failed;
}

gboolean
dvmd_archive_file_add (DvmdArchiveFile *self, DvmdArchiveKind kind, const char *instance, guint id, GVariant *record)
{
  sqlite3_stmt *insert = self->insert;
  guint64 ended = 0;
  guint32 uid = 0;
  gboolean good;
  /* First of all: a look at a text would write out each entry by itself. */
  gconstpointer data = g_variant_get_data (record);

  g_variant_lookup (record, "EndedAt", "t", &ended);
  g_variant_lookup (record, "SubmitterUid", "u", &uid);
  sqlite3_bind_int (insert, 1, kind);
  sqlite3_bind_text (insert, 2, instance, -1, SQLITE_STATIC);
  sqlite3_bind_int64 (insert, 3, id);
  sqlite3_bind_int64 (insert, 4, (gint64)(ended != 0 ? ended : (guint64)g_get_real_time ()));
  sqlite3_bind_int (insert, 5, has_failed (kind, record));
  sqlite3_bind_int64 (insert, 6, uid);
  sqlite3_bind_text (insert, 7, get_text (record, "Label"), -1, SQLITE_TRANSIENT);
  sqlite3_bind_text (insert, 8, get_text (record, "Name"), -1, SQLITE_TRANSIENT);
  sqlite3_bind_blob64 (insert, 9, data, g_variant_get_size (record), SQLITE_STATIC);
  good = sqlite3_step (insert) == SQLITE_DONE;
  sqlite3_reset (insert);
  sqlite3_clear_bindings (insert);
  return good;
}

GVariant *
dvmd_archive_read_record (sqlite3_stmt *statement, int column)
{
  const void *data = sqlite3_column_blob (statement, column);
  g_autoptr (GBytes) bytes = g_bytes_new (data, (gsize)sqlite3_column_bytes (statement, column));
  g_autoptr (GVariant) stored = g_variant_ref_sink (g_variant_new_from_bytes (G_VARIANT_TYPE_VARDICT, bytes, FALSE));

  return g_variant_get_normal_form (stored);
}

/* ---- those that have not ended ---- */

/* Of numbers alone; FALSE: sqlite3_errmsg() tells why not. */
static gboolean
execute (DvmdArchiveFile *self, const char *text, gint64 first, gint64 second)
{
  sqlite3_stmt *statement = NULL;
  gboolean good = sqlite3_prepare_v2 (self->db, text, -1, &statement, NULL) == SQLITE_OK
                  && sqlite3_bind_int64 (statement, 1, first) == SQLITE_OK
                  && (sqlite3_bind_parameter_count (statement) < 2
                      || sqlite3_bind_int64 (statement, 2, second) == SQLITE_OK)
                  && sqlite3_step (statement) == SQLITE_DONE;

  sqlite3_finalize (statement);
  return good;
}

/* Held by the open file, not by the process: SQLite opens and closes the file as it likes. */
static gboolean
lock_byte (int fd, gint64 writer, short type)
{
  struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = FIRST_LOCK + (off_t)writer, .l_len = 1 };

  return fcntl (fd, F_OFD_SETLK, &lock) == 0;
}

gboolean
dvmd_archive_writer_is_gone (int fd, gint64 writer)
{
  struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = FIRST_LOCK + (off_t)writer, .l_len = 1 };

  return fcntl (fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

/* In the transaction in which others look who has gone, or after it. */
static gboolean
enter_writer (DvmdArchiveFile *self, const char *instance)
{
  sqlite3_stmt *statement = NULL;
  gboolean good = sqlite3_prepare_v2 (self->db, "INSERT INTO writers (instance, seen) VALUES (?, ?)", -1, &statement,
                                      NULL)
                      == SQLITE_OK
                  && sqlite3_bind_text (statement, 1, instance, -1, SQLITE_STATIC) == SQLITE_OK
                  && sqlite3_bind_int64 (statement, 2, g_get_real_time ()) == SQLITE_OK
                  && sqlite3_step (statement) == SQLITE_DONE;

  sqlite3_finalize (statement);
  if (!good)
    return FALSE;
  self->writer = sqlite3_last_insert_rowid (self->db);
  if (!lock_byte (self->lock_fd, self->writer, F_WRLCK))
    g_info ("The archive cannot be locked, jobs that are lost with this DVM will seem to be so at once: %s",
            g_strerror (errno));
  return TRUE;
}

gboolean
dvmd_archive_file_add_running (DvmdArchiveFile *self, const char *instance, gint64 key, GVariant *record)
{
  sqlite3_stmt *statement = NULL;
  guint32 uid = 0;
  gboolean good;

  if (self->writer == 0 && !enter_writer (self, instance))
    return FALSE;
  g_variant_get_data (record);
  g_variant_lookup (record, "SubmitterUid", "u", &uid);
  good = sqlite3_prepare_v2 (self->db, "INSERT OR REPLACE INTO running VALUES (?, ?, ?, ?, ?, ?)", -1, &statement, NULL)
             == SQLITE_OK
         && sqlite3_bind_int64 (statement, 1, self->writer) == SQLITE_OK
         && sqlite3_bind_int64 (statement, 2, key) == SQLITE_OK && sqlite3_bind_int64 (statement, 3, uid) == SQLITE_OK
         && sqlite3_bind_text (statement, 4, get_text (record, "Label"), -1, SQLITE_TRANSIENT) == SQLITE_OK
         && sqlite3_bind_text (statement, 5, get_text (record, "Name"), -1, SQLITE_TRANSIENT) == SQLITE_OK
         && sqlite3_bind_blob64 (statement, 6, g_variant_get_data (record), g_variant_get_size (record), SQLITE_STATIC)
                == SQLITE_OK
         && sqlite3_step (statement) == SQLITE_DONE;
  sqlite3_finalize (statement);
  return good && dvmd_archive_file_touch (self);
}

gboolean
dvmd_archive_file_remove_running (DvmdArchiveFile *self, gint64 key)
{
  return execute (self, "DELETE FROM running WHERE writer = ? AND id = ?", self->writer, key);
}

gboolean
dvmd_archive_file_touch (DvmdArchiveFile *self)
{
  return execute (self, "UPDATE writers SET seen = ?2 WHERE number = ?1", self->writer, g_get_real_time ());
}

void
dvmd_archive_file_roll_back (DvmdArchiveFile *self, gboolean was_entered)
{
  if (sqlite3_get_autocommit (self->db) == 0)
    sqlite3_exec (self->db, "ROLLBACK", NULL, NULL, NULL);
  if (was_entered || self->writer == 0)
    return;
  lock_byte (self->lock_fd, self->writer, F_UNLCK);
  self->writer = 0;
}

/* ---- those that are lost ---- */

GVariant *
dvmd_archive_make_lost (DvmdArchiveKind kind, GVariant *record, gint64 seen)
{
  g_autoptr (GVariantDict) dict = g_variant_dict_new (record);
  g_autofree char *reason = g_strdup_printf (
      "its DVM was killed, or its machine went down: how the %s ended is not known",
      kind == DVMD_ARCHIVE_CAMPAIGN ? "campaign" : "job");

  g_variant_dict_insert (dict, "Lost", "b", TRUE);
  g_variant_dict_insert (dict, "Failed", "b", TRUE);
  g_variant_dict_insert (dict, "EndedAt", "t", (guint64)seen);
  g_variant_dict_insert (dict, "Reason", "s", reason);
  return g_variant_ref_sink (g_variant_dict_end (dict));
}

static gboolean
take_all (DvmdArchiveFile *self, gint64 writer)
{
  sqlite3_stmt *statement = NULL;
  gboolean good = sqlite3_prepare_v2 (self->db,
                                      "SELECT instance, seen, id, record FROM running JOIN writers ON number = writer"
                                      " WHERE writer = ? ORDER BY id",
                                      -1, &statement, NULL)
                      == SQLITE_OK
                  && sqlite3_bind_int64 (statement, 1, writer) == SQLITE_OK;
  int status = SQLITE_DONE;

  while (good && (status = sqlite3_step (statement)) == SQLITE_ROW)
    {
      g_autoptr (GVariant) record = dvmd_archive_read_record (statement, 3);
      gint64 key = sqlite3_column_int64 (statement, 2);
      DvmdArchiveKind kind = DVMD_ARCHIVE_KEY_KIND (key);
      g_autoptr (GVariant) lost = dvmd_archive_make_lost (kind, record, sqlite3_column_int64 (statement, 1));

      good = dvmd_archive_file_add (self, kind, (const char *)sqlite3_column_text (statement, 0),
                                    DVMD_ARCHIVE_KEY_ID (key), lost);
    }
  sqlite3_finalize (statement);
  return good && status == SQLITE_DONE && execute (self, "DELETE FROM running WHERE writer = ?", writer, 0)
         && execute (self, "DELETE FROM writers WHERE number = ?", writer, 0);
}

gboolean
dvmd_archive_file_take_lost (DvmdArchiveFile *self)
{
  g_autoptr (GArray) gone = g_array_new (FALSE, FALSE, sizeof (gint64));
  sqlite3_stmt *statement = NULL;
  gboolean good = sqlite3_prepare_v2 (self->db, "SELECT number FROM writers", -1, &statement, NULL) == SQLITE_OK;
  int status = SQLITE_DONE;

  while (good && (status = sqlite3_step (statement)) == SQLITE_ROW)
    {
      gint64 writer = sqlite3_column_int64 (statement, 0);

      if (writer != self->writer && dvmd_archive_writer_is_gone (self->lock_fd, writer))
        g_array_append_val (gone, writer);
    }
  sqlite3_finalize (statement);
  for (guint i = 0; good && i < gone->len; i++)
    good = take_all (self, g_array_index (gone, gint64, i));
  return good && status == SQLITE_DONE;
}

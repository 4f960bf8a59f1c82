/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An archive is written by a thread of its own: disks are slow, and main loops do not wait for them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-archive"

#include "dvmd-archive-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <dvm.h>

/* Records that are written in one transaction, at most */
#define MANY 1000
/* Transactions between two looks at the limits */
#define LOOK_AFTER 64
/* How long another process, which reads, may keep us waiting */
#define BUSY_MS 5000

typedef struct
{
  DvmdArchiveKind kind;
  guint id;
  GVariant *record; /* NULL: nothing comes any more */
} Entry;

struct _DvmdArchiveBook
{
  sqlite3 *db;
  sqlite3_stmt *insert;
  char *path;
  char *instance;
  guint days;
  guint64 size;
  GAsyncQueue *queue; /* Entry */
  GThread *thread;

  /* the thread's own */
  guint n_transactions;
  gboolean failed; /* the disk is full or the file is damaged: that was told */
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS records (kind INTEGER NOT NULL, instance TEXT NOT NULL, id INTEGER NOT NULL,"
    " ended INTEGER NOT NULL, failed INTEGER NOT NULL, uid INTEGER NOT NULL, label TEXT NOT NULL,"
    " name TEXT NOT NULL, record BLOB NOT NULL);"
    "CREATE INDEX IF NOT EXISTS ends ON records (ended);";

static void
entry_free (Entry *entry)
{
  g_clear_pointer (&entry->record, g_variant_unref);
  g_free (entry);
}

gboolean
dvmd_archive_set_error (sqlite3 *db, const char *path, GError **error)
{
  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "The archive %s cannot be used: %s", path,
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
make_file (const char *path, GError **error)
{
  int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

  if (fd < 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "The archive %s cannot be opened: %s", path, g_strerror (errno));
      return FALSE;
    }
  close (fd);
  return TRUE;
}

static gboolean
open_database (DvmdArchiveBook *self, GError **error)
{
  static const char pragmas[] =
      "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;";
  int layout;

  if (sqlite3_open_v2 (self->path, &self->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK
      || sqlite3_busy_timeout (self->db, BUSY_MS) != SQLITE_OK)
    return dvmd_archive_set_error (self->db, self->path, error);
  layout = dvmd_archive_get_layout (self->db, self->path, error);
  if (layout < 0)
    return FALSE;
  if (layout != 0 && layout != DVMD_ARCHIVE_LAYOUT)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED,
                   "The archive %s was written by another version of dvm (layout %d, not %d): move it away", self->path,
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
  return dvmd_archive_set_error (self->db, self->path, error);
}

/* ---- the thread ---- */

static const char *
get_text (GVariant *record, const char *key)
{
  const char *text = "";

  g_variant_lookup (record, key, "&s", &text);
  return text;
}

/* Campaigns end with the status 0 or with an error. */
static gboolean
has_failed (DvmdArchiveKind kind, GVariant *record)
{
  gboolean failed = FALSE;
  gint32 status = 0;

  if (kind == DVMD_ARCHIVE_JOB)
    g_variant_lookup (record, "Failed", "b", &failed);
  else if (g_variant_lookup (record, "Status", "i", &status))
    failed = status != 0;
  return failed;
}

static gboolean
write_entry (DvmdArchiveBook *self, const Entry *entry)
{
  sqlite3_stmt *insert = self->insert;
  guint64 ended = 0;
  guint32 uid = 0;
  gboolean good;
  /* First of all: a look at a text would write out each entry by itself. */
  gconstpointer data = g_variant_get_data (entry->record);

  g_variant_lookup (entry->record, "EndedAt", "t", &ended);
  g_variant_lookup (entry->record, "SubmitterUid", "u", &uid);
  sqlite3_bind_int (insert, 1, entry->kind);
  sqlite3_bind_text (insert, 2, self->instance, -1, SQLITE_STATIC);
  sqlite3_bind_int64 (insert, 3, entry->id);
  sqlite3_bind_int64 (insert, 4, (gint64)(ended != 0 ? ended : (guint64)g_get_real_time ()));
  sqlite3_bind_int (insert, 5, has_failed (entry->kind, entry->record));
  sqlite3_bind_int64 (insert, 6, uid);
  sqlite3_bind_text (insert, 7, get_text (entry->record, "Label"), -1, SQLITE_TRANSIENT);
  sqlite3_bind_text (insert, 8, get_text (entry->record, "Name"), -1, SQLITE_TRANSIENT);
  sqlite3_bind_blob64 (insert, 9, data, g_variant_get_size (entry->record), SQLITE_STATIC);
  good = sqlite3_step (insert) == SQLITE_DONE;
  sqlite3_reset (insert);
  sqlite3_clear_bindings (insert);
  return good;
}

/* Bytes of the file that hold something */
static guint64
get_size (sqlite3 *db)
{
  static const char text[] =
      "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count,"
      " pragma_page_size";
  sqlite3_stmt *statement = NULL;
  guint64 size = 0;

  if (sqlite3_prepare_v2 (db, text, -1, &statement, NULL) == SQLITE_OK && sqlite3_step (statement) == SQLITE_ROW)
    size = (guint64)sqlite3_column_int64 (statement, 0);
  sqlite3_finalize (statement);
  return size;
}

static gboolean
keep_limits (DvmdArchiveBook *self)
{
  g_autofree char *old = g_strdup_printf ("DELETE FROM records WHERE ended < %" G_GINT64_FORMAT,
                                          g_get_real_time () - (gint64)self->days * 24 * 60 * 60 * G_USEC_PER_SEC);
  static const char oldest[] = "DELETE FROM records WHERE rowid IN (SELECT rowid FROM records ORDER BY ended LIMIT"
                               " (SELECT count(*) / 10 + 1 FROM records))";
  gboolean good = self->days == 0 || sqlite3_exec (self->db, old, NULL, NULL, NULL) == SQLITE_OK;

  while (good && get_size (self->db) > self->size)
    {
      good = sqlite3_exec (self->db, oldest, NULL, NULL, NULL) == SQLITE_OK;
      if (sqlite3_changes (self->db) == 0)
        break;
    }
  return good && sqlite3_exec (self->db, "PRAGMA incremental_vacuum", NULL, NULL, NULL) == SQLITE_OK;
}

static void
check (DvmdArchiveBook *self, gboolean good)
{
  if (good || self->failed)
    return;
  self->failed = TRUE;
  g_message ("The archive %s is not written any more: %s", self->path, sqlite3_errmsg (self->db));
}

/* first and what stands behind it, as far as it is there already; TRUE: more may come */
static gboolean
write_entries (DvmdArchiveBook *self, Entry *first)
{
  gboolean more = first->record != NULL;
  Entry *entry = first;

  check (self, sqlite3_exec (self->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
  for (guint n = 0; entry != NULL; entry = more && n < MANY ? g_async_queue_try_pop (self->queue) : NULL)
    {
      more = entry->record != NULL;
      n++;
      if (more && !self->failed)
        check (self, write_entry (self, entry));
      entry_free (entry);
    }
  if (sqlite3_get_autocommit (self->db) == 0)
    check (self, sqlite3_exec (self->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
  return more;
}

static gpointer
run (gpointer user_data)
{
  DvmdArchiveBook *self = user_data;

  check (self, keep_limits (self));
  while (write_entries (self, g_async_queue_pop (self->queue)))
    if (++self->n_transactions % LOOK_AFTER == 0 && !self->failed)
      check (self, keep_limits (self));
  return NULL;
}

/* ---- the main thread ---- */

static void
push (DvmdArchiveBook *self, DvmdArchiveKind kind, guint id, GVariant *record)
{
  Entry *entry = g_new0 (Entry, 1);

  entry->kind = kind;
  entry->id = id;
  entry->record = record;
  g_async_queue_push (self->queue, entry);
}

DvmdArchiveBook *
dvmd_archive_book_new (const DvmdArchiveSettings *settings, GError **error)
{
  DvmdArchiveBook *self = g_new0 (DvmdArchiveBook, 1);

  self->path = g_strdup (settings->path);
  self->instance = g_strdup (settings->instance);
  self->days = settings->days;
  self->size = settings->size;
  self->queue = g_async_queue_new ();
  if (make_file (self->path, error) && open_database (self, error))
    self->thread = g_thread_try_new ("archive", run, self, error);
  if (self->thread != NULL)
    return self;
  dvmd_archive_book_free (self);
  return NULL;
}

void
dvmd_archive_book_add (DvmdArchiveBook *self, DvmdArchiveKind kind, guint id, GVariant *record)
{
  /* It is serialized by the thread: nobody else has it any more. */
  push (self, kind, id, g_variant_ref_sink (record));
}

void
dvmd_archive_book_free (DvmdArchiveBook *self)
{
  if (self->thread != NULL)
    {
      push (self, DVMD_ARCHIVE_JOB, 0, NULL);
      g_thread_join (self->thread);
    }
  sqlite3_finalize (self->insert);
  sqlite3_close (self->db);
  g_async_queue_unref (self->queue);
  g_free (self->path);
  g_free (self->instance);
  g_free (self);
}

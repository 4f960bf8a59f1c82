/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An archive is written by a thread of its own: disks are slow, and main loops do not wait for them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-archive"

#include "dvmd-archive-private.h"

#include <string.h>

#include <dvm.h>

/* Records that are taken from the queue for one transaction, at most */
#define MANY 1000
/* Records that wait while the archive cannot be written, at most */
#define MOST 10000
/* Transactions between two looks at the limits */
#define LOOK_AFTER 64
/* The pause between two attempts to write what could not be written (µs) */
#define RETRY G_USEC_PER_SEC
/* While jobs run, the archive is told at this interval (µs) that the DVM lives. */
#define TOUCH (60 * G_USEC_PER_SEC)

typedef enum
{
  ENTRY_START, /* of what has not ended */
  ENTRY_END,
  ENTRY_LAST, /* nothing comes any more */
} EntryKind;

typedef struct
{
  EntryKind what;
  DvmdArchiveKind kind;
  guint id;
  gboolean started; /* there is an ENTRY_START of it already */
  GVariant *record;
} Entry;

struct _DvmdArchiveBook
{
  char *path;
  char *instance;
  guint days;
  guint64 size;
  GAsyncQueue *queue; /* Entry */
  GThread *thread;
  GHashTable *started; /* of the main thread: keys of what has begun, and not ended */
  gint n_waiting;      /* atomic: what is not written, since it cannot be */
  gint n_dropped;      /* atomic: what was given up */

  /* the thread's own */
  DvmdArchiveFile file;
  GQueue pending; /* Entry: not written yet */
  guint n_running;
  guint n_transactions;
  gint64 tried_at;   /* monotonic */
  gint64 touched_at; /* likewise */
  gboolean failed;   /* that was told */
  gboolean ending;
};

static void
entry_free (Entry *entry)
{
  g_clear_pointer (&entry->record, g_variant_unref);
  g_free (entry);
}

/* ---- the thread ---- */

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
  sqlite3 *db = self->file.db;
  g_autofree char *old = g_strdup_printf ("DELETE FROM records WHERE ended < %" G_GINT64_FORMAT,
                                          g_get_real_time () - (gint64)self->days * 24 * 60 * 60 * G_USEC_PER_SEC);
  static const char oldest[] = "DELETE FROM records WHERE rowid IN (SELECT rowid FROM records ORDER BY ended LIMIT"
                               " (SELECT count(*) / 10 + 1 FROM records))";
  gboolean good = self->days == 0 || sqlite3_exec (db, old, NULL, NULL, NULL) == SQLITE_OK;

  while (good && get_size (db) > self->size)
    {
      good = sqlite3_exec (db, oldest, NULL, NULL, NULL) == SQLITE_OK;
      if (sqlite3_changes (db) == 0)
        break;
    }
  return good && sqlite3_exec (db, "PRAGMA incremental_vacuum", NULL, NULL, NULL) == SQLITE_OK;
}

/* A problem is told once, and its end once more. problem: (nullable): a sentence; NULL: it works */
static void
note (DvmdArchiveBook *self, const char *problem)
{
  guint n_waiting = g_queue_get_length (&self->pending);

  g_atomic_int_set (&self->n_waiting, problem != NULL ? (gint)n_waiting : 0);
  if (problem != NULL && !self->failed)
    g_message ("%s; up to %d jobs and campaigns that end wait until it can", problem, MOST);
  else if (problem == NULL && self->failed)
    g_message ("The archive %s is written again", self->path);
  self->failed = problem != NULL;
}

static void
note_failure (DvmdArchiveBook *self)
{
  g_autofree char *problem = g_strdup_printf ("The archive %s cannot be written: %s", self->path,
                                              sqlite3_errmsg (self->file.db));

  note (self, problem);
}

static gboolean
write_entry (DvmdArchiveBook *self, const Entry *entry)
{
  DvmdArchiveFile *file = &self->file;
  gint64 key = DVMD_ARCHIVE_KEY (entry->kind, entry->id);

  if (entry->what == ENTRY_START)
    return dvmd_archive_file_add_running (file, self->instance, key, entry->record);
  return dvmd_archive_file_add (file, entry->kind, self->instance, entry->id, entry->record)
         && (!entry->started || dvmd_archive_file_remove_running (file, key));
}

/* All or nothing */
static gboolean
write_pending (DvmdArchiveBook *self)
{
  sqlite3 *db = self->file.db;
  gboolean was_entered = self->file.writer != 0;
  gboolean good = sqlite3_exec (db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK;
  guint n_running = self->n_running;
  gboolean touches = n_running > 0 && self->tried_at - self->touched_at >= TOUCH;

  for (GList *link = self->pending.head; good && link != NULL; link = link->next)
    {
      const Entry *entry = link->data;

      good = write_entry (self, entry);
      n_running += entry->what == ENTRY_START;
      n_running -= entry->started;
    }
  if (good && touches)
    good = dvmd_archive_file_touch (&self->file);
  if (good && sqlite3_exec (db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
    {
      g_queue_clear_full (&self->pending, (GDestroyNotify)entry_free);
      self->n_running = n_running;
      self->touched_at = touches ? self->tried_at : self->touched_at;
      return TRUE;
    }
  note_failure (self);
  dvmd_archive_file_roll_back (&self->file, was_entered);
  return FALSE;
}

static gboolean
take_lost (DvmdArchiveBook *self)
{
  sqlite3 *db = self->file.db;
  gboolean good = sqlite3_exec (db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK
                  && dvmd_archive_file_take_lost (&self->file)
                  && sqlite3_exec (db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;

  if (good)
    return TRUE;
  note_failure (self);
  dvmd_archive_file_roll_back (&self->file, TRUE);
  return FALSE;
}

/* The file may not be open yet: at the start there may have been no room for it. */
static gboolean
ensure_open (DvmdArchiveBook *self)
{
  g_autoptr (GError) error = NULL;

  if (self->file.db != NULL || dvmd_archive_file_open (&self->file, self->path, &error))
    return TRUE;
  note (self, error->message);
  return FALSE;
}

static void
try_to_write (DvmdArchiveBook *self)
{
  self->tried_at = g_get_monotonic_time ();
  if (!ensure_open (self))
    return;
  if (self->n_transactions % LOOK_AFTER == 0)
    {
      if (self->n_transactions == 0 && !take_lost (self))
        return;
      if (!keep_limits (self))
        {
          note_failure (self);
          return;
        }
    }
  if ((self->pending.head != NULL || self->n_running > 0) && !write_pending (self))
    return;
  self->n_transactions++;
  note (self, NULL);
}

/* Waits for the next entry, at most as long as there is nothing to do by itself. */
static Entry *
pop_entry (DvmdArchiveBook *self)
{
  gint64 passed = g_get_monotonic_time () - (self->failed ? self->tried_at : self->touched_at);
  gint64 pause = self->failed ? RETRY : TOUCH;

  if (!self->failed && self->n_running == 0)
    return g_async_queue_pop (self->queue);
  return g_async_queue_timeout_pop (self->queue, (guint64)CLAMP (pause - passed, 1, pause));
}

static void
collect_entries (DvmdArchiveBook *self)
{
  Entry *entry = pop_entry (self);

  for (guint n = 0; entry != NULL; entry = !self->ending && ++n < MANY ? g_async_queue_try_pop (self->queue) : NULL)
    if (entry->what == ENTRY_LAST)
      {
        self->ending = TRUE;
        entry_free (entry);
      }
    else
      g_queue_push_tail (&self->pending, entry);
  while (g_queue_get_length (&self->pending) > MOST)
    {
      entry = g_queue_pop_head (&self->pending);
      self->n_running += entry->what == ENTRY_START;
      self->n_running -= entry->started;
      entry_free (entry);
      g_atomic_int_inc (&self->n_dropped);
    }
}

static gpointer
run (gpointer user_data)
{
  DvmdArchiveBook *self = user_data;

  try_to_write (self);
  while (!self->ending)
    {
      collect_entries (self);
      if (!self->failed || self->ending || g_get_monotonic_time () - self->tried_at >= RETRY)
        try_to_write (self);
      else
        g_atomic_int_set (&self->n_waiting, (gint)g_queue_get_length (&self->pending));
    }
  if (self->pending.head != NULL)
    g_message ("The archive %s lacks the last %u of what has ended", self->path, g_queue_get_length (&self->pending));
  return NULL;
}

/* ---- the main thread ---- */

/* record: (nullable) (transfer floating): it is serialized by the thread: nobody else has it any more. */
static void
push (DvmdArchiveBook *self, EntryKind what, DvmdArchiveKind kind, guint id, GVariant *record)
{
  Entry *entry = g_new0 (Entry, 1);
  gint64 key = DVMD_ARCHIVE_KEY (kind, id);

  entry->what = what;
  entry->kind = kind;
  entry->id = id;
  if (what == ENTRY_START)
    entry->started = !g_hash_table_add (self->started, g_memdup2 (&key, sizeof key));
  else if (what == ENTRY_END)
    entry->started = g_hash_table_remove (self->started, &key);
  entry->record = record != NULL ? g_variant_ref_sink (record) : NULL;
  g_async_queue_push (self->queue, entry);
}

DvmdArchiveBook *
dvmd_archive_book_new (const DvmdArchiveSettings *settings, GError **error)
{
  DvmdArchiveBook *self = g_new0 (DvmdArchiveBook, 1);
  g_autoptr (GError) own_error = NULL;

  self->path = g_strdup (settings->path);
  self->instance = g_strdup (settings->instance);
  self->days = settings->days;
  self->size = settings->size;
  self->queue = g_async_queue_new ();
  self->started = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  self->file.lock_fd = -1;
  if (dvmd_archive_file_open (&self->file, self->path, &own_error)
      || g_error_matches (own_error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE))
    {
      g_clear_error (&own_error);
      self->thread = g_thread_try_new ("archive", run, self, &own_error);
    }
  if (self->thread != NULL)
    return self;
  g_propagate_error (error, g_steal_pointer (&own_error));
  dvmd_archive_book_free (self);
  return NULL;
}

void
dvmd_archive_book_start (DvmdArchiveBook *self, DvmdArchiveKind kind, guint id, GVariant *record)
{
  push (self, ENTRY_START, kind, id, record);
}

void
dvmd_archive_book_add (DvmdArchiveBook *self, DvmdArchiveKind kind, guint id, GVariant *record)
{
  push (self, ENTRY_END, kind, id, record);
}

void
dvmd_archive_book_count (DvmdArchiveBook *self, guint64 *n_waiting, guint64 *n_dropped)
{
  *n_waiting = (guint)g_atomic_int_get (&self->n_waiting);
  *n_dropped = (guint)g_atomic_int_get (&self->n_dropped);
}

void
dvmd_archive_book_free (DvmdArchiveBook *self)
{
  if (self->thread != NULL)
    {
      push (self, ENTRY_LAST, DVMD_ARCHIVE_JOB, 0, NULL);
      g_thread_join (self->thread);
    }
  g_queue_clear_full (&self->pending, (GDestroyNotify)entry_free);
  dvmd_archive_file_close (&self->file);
  g_async_queue_unref (self->queue);
  g_hash_table_unref (self->started);
  g_free (self->path);
  g_free (self->instance);
  g_free (self);
}

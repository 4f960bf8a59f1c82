/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Records are looked for in an archive that nobody else need have open.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-archive"

#include "dvmd-archive-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dvm.h>

/* How long the DVM, which writes, may keep us waiting */
#define BUSY_MS 5000

typedef struct
{
  gint64 since;
  gint64 until;
  guint32 limit;
  gboolean campaigns;
  gboolean failed;
  gboolean has_uid;
  guint32 uid;
  const char *label;
  const char *name;
  GVariant *ids; /* (nullable): au */
} Filter;

static void
read_filter (GVariant *dict, Filter *filter)
{
  filter->until = G_MAXINT64;
  filter->limit = G_MAXUINT32;
  g_variant_lookup (dict, "since", "x", &filter->since);
  g_variant_lookup (dict, "until", "x", &filter->until);
  g_variant_lookup (dict, "limit", "u", &filter->limit);
  g_variant_lookup (dict, "campaigns", "b", &filter->campaigns);
  g_variant_lookup (dict, "failed", "b", &filter->failed);
  filter->has_uid = g_variant_lookup (dict, "uid", "u", &filter->uid);
  g_variant_lookup (dict, "label", "&s", &filter->label);
  g_variant_lookup (dict, "name", "&s", &filter->name);
  filter->ids = g_variant_lookup_value (dict, "ids", G_VARIANT_TYPE ("au"));
}

/* Jobs and campaigns that lived under DVMs that have gone are among those that have ended. */
static void
append_lost (GString *text, const char *gone)
{
  g_string_append_printf (text,
                          " UNION ALL SELECT id >> 32, instance, id & 4294967295, seen, 1, uid, label, name, record, 1"
                          " FROM running JOIN writers ON number = writer WHERE number IN (%s)",
                          gone);
}

/* gone: (nullable): numbers of writers; (transfer full): the last ones first */
static char *
build_statement (const Filter *filter, const char *gone)
{
  g_autoptr (GString)
      text = g_string_new ("SELECT instance, record, lost, ended FROM (SELECT kind, instance, id, ended,"
                           " failed, uid, label, name, record, 0 AS lost FROM records");

  if (gone != NULL)
    append_lost (text, gone);
  g_string_append (text, ") WHERE kind = ?1 AND ended >= ?2 AND ended <= ?3"
                         " AND (?4 IS NULL OR uid = ?4) AND (?5 IS NULL OR label = ?5)"
                         " AND (?6 IS NULL OR name = ?6) AND (?7 = 0 OR failed = 1)");
  for (gsize i = 0; filter->ids != NULL && i < g_variant_n_children (filter->ids); i++)
    {
      guint32 id;

      g_variant_get_child (filter->ids, i, "u", &id);
      g_string_append_printf (text, "%s%u", i == 0 ? " AND id IN (" : ", ", id);
    }
  if (filter->ids != NULL && g_variant_n_children (filter->ids) > 0)
    g_string_append_c (text, ')');
  g_string_append (text, " ORDER BY ended DESC, id DESC LIMIT ?8");
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static DvmdArchiveKind
get_kind (const Filter *filter)
{
  return filter->campaigns ? DVMD_ARCHIVE_CAMPAIGN : DVMD_ARCHIVE_JOB;
}

static void
bind (sqlite3_stmt *statement, const Filter *filter)
{
  sqlite3_bind_int (statement, 1, get_kind (filter));
  sqlite3_bind_int64 (statement, 2, filter->since);
  sqlite3_bind_int64 (statement, 3, filter->until);
  /* A parameter that is not bound is NULL. */
  if (filter->has_uid)
    sqlite3_bind_int64 (statement, 4, filter->uid);
  sqlite3_bind_text (statement, 5, filter->label, -1, SQLITE_STATIC);
  sqlite3_bind_text (statement, 6, filter->name, -1, SQLITE_STATIC);
  sqlite3_bind_int (statement, 7, filter->failed);
  sqlite3_bind_int64 (statement, 8, filter->limit);
}

/* (transfer full): (sa{sv}) */
static GVariant *
read_row (sqlite3_stmt *statement, DvmdArchiveKind kind)
{
  g_autoptr (GVariant) record = dvmd_archive_read_record (statement, 1);
  g_autoptr (GVariant) lost = NULL;

  if (sqlite3_column_int (statement, 2) != 0)
    lost = dvmd_archive_make_lost (kind, record, sqlite3_column_int64 (statement, 3));
  return g_variant_ref_sink (
      g_variant_new ("(s@a{sv})", (const char *)sqlite3_column_text (statement, 0), lost != NULL ? lost : record));
}

/* (transfer full) (nullable): "3, 4": the writers that have gone, and whose jobs no other has found so far */
static char *
list_gone (sqlite3 *db, int fd)
{
  g_autoptr (GString) text = g_string_new (NULL);
  sqlite3_stmt *statement = NULL;

  /* An archive of an older dvm has no such table. */
  if (sqlite3_prepare_v2 (db, "SELECT DISTINCT writer FROM running", -1, &statement, NULL) == SQLITE_OK)
    while (sqlite3_step (statement) == SQLITE_ROW)
      {
        gint64 writer = sqlite3_column_int64 (statement, 0);

        if (dvmd_archive_writer_is_gone (fd, writer))
          g_string_append_printf (text, "%s%" G_GINT64_FORMAT, text->len > 0 ? ", " : "", writer);
      }
  sqlite3_finalize (statement);
  return text->len > 0 ? g_string_free (g_steal_pointer (&text), FALSE) : NULL;
}

static GVariant *
collect (sqlite3 *db, int fd, const char *path, const Filter *filter, GError **error)
{
  g_autofree char *gone = list_gone (db, fd);
  g_autofree char *text = build_statement (filter, gone);
  g_autoptr (GPtrArray) records = g_ptr_array_new_with_free_func ((GDestroyNotify)g_variant_unref);
  GVariantBuilder builder;
  sqlite3_stmt *statement = NULL;
  int status = sqlite3_prepare_v2 (db, text, -1, &statement, NULL);

  if (status == SQLITE_OK)
    {
      bind (statement, filter);
      while ((status = sqlite3_step (statement)) == SQLITE_ROW)
        g_ptr_array_add (records, read_row (statement, get_kind (filter)));
    }
  sqlite3_finalize (statement);
  if (status != SQLITE_DONE)
    {
      dvmd_archive_set_error (db, path, error);
      return NULL;
    }
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(sa{sv})"));
  for (guint i = records->len; i > 0; i--)
    g_variant_builder_add_value (&builder, g_ptr_array_index (records, i - 1));
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

/* Whether there is more than in the archive itself: a DVM has it open, or was killed. */
static gboolean
has_journal (const char *path)
{
  g_autofree char *journal = g_strconcat (path, "-wal", NULL);
  struct stat info;

  return stat (journal, &info) == 0 && info.st_size > 0;
}

/* Of one to which nothing is added; FALSE: it cannot be opened so. */
static gboolean
open_still (const char *path, sqlite3 **db)
{
  g_autofree char *absolute = g_canonicalize_filename (path, NULL);
  g_autofree char *uri = g_filename_to_uri (absolute, NULL, NULL);
  g_autofree char *still = g_strconcat (uri != NULL ? uri : "", "?immutable=1", NULL);

  return uri != NULL && sqlite3_open_v2 (still, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) == SQLITE_OK;
}

/* layout: (out): -1 with an error: it cannot be read */
static sqlite3 *
open_database (const char *path, int *layout, GError **error)
{
  sqlite3 *db = NULL;

  *layout = -1;
  /* An archive in WAL mode that nobody has open is read by somebody who could write it. */
  if (sqlite3_open_v2 (path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK
      && sqlite3_busy_timeout (db, BUSY_MS) == SQLITE_OK)
    *layout = dvmd_archive_get_layout (db, path, NULL);
  if (*layout < 0 && db != NULL && sqlite3_errcode (db) != SQLITE_NOTADB && !has_journal (path))
    {
      /* A disk that is full has no room for what readers and writers share. */
      sqlite3_close (g_steal_pointer (&db));
      if (!open_still (path, &db))
        dvmd_archive_set_error (db, path, error);
      else
        *layout = dvmd_archive_get_layout (db, path, error);
    }
  else if (*layout < 0)
    dvmd_archive_set_error (db, path, error);
  return db;
}

GVariant *
dvmd_archive_search (const char *path, GVariant *dict, GError **error)
{
  sqlite3 *db = NULL;
  Filter filter = { 0 };
  GVariant *found = NULL;
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  struct stat info = { 0 };
  int layout;

  if (fd < 0)
    {
      if (errno == ENOENT)
        g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "There is no archive %s: no DVM has kept one there", path);
      else
        g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "The archive %s cannot be opened: %s", path,
                     g_strerror (errno));
      return NULL;
    }
  db = open_database (path, &layout, error);
  if (layout == DVMD_ARCHIVE_LAYOUT)
    {
      read_filter (dict, &filter);
      found = collect (db, fd, path, &filter, error);
      g_clear_pointer (&filter.ids, g_variant_unref);
    }
  else if (layout == 0 && fstat (fd, &info) == 0 && info.st_size == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
                 "The archive %s is empty: its DVM has not begun to write it, or had no room for that", path);
  else if (layout >= 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "%s is no archive of this version of dvm (layout %d, not %d)",
                 path, layout, DVMD_ARCHIVE_LAYOUT);
  sqlite3_close (db);
  /* Not before: it would drop the locks that SQLite has. */
  close (fd);
  return found;
}

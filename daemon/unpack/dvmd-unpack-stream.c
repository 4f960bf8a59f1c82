/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An archive is read entry by entry, and what would leave the session directory is refused.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-stage"

#include "dvmd-unpack-private.h"

#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dvm.h>

#define BLOCK 65536

#define DVMD_TYPE_UNPACK_STREAM (dvmd_unpack_stream_get_type ())
G_DECLARE_FINAL_TYPE (DvmdUnpackStream, dvmd_unpack_stream, DVMD, UNPACK_STREAM, GInputStream)

struct _DvmdUnpackStream
{
  GInputStream parent_instance;

  struct archive *archive;
  int fd;
};

G_DEFINE_FINAL_TYPE (DvmdUnpackStream, dvmd_unpack_stream, G_TYPE_INPUT_STREAM)

static gboolean
set_damaged (DvmdUnpackStream *self, GError **error)
{
  const char *why = archive_error_string (self->archive);

  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "cannot be unpacked: %s", why != NULL ? why : "it is damaged");
  return FALSE;
}

static gssize
dvmd_unpack_stream_read (GInputStream *stream, void *buffer, gsize count, GCancellable *cancellable, GError **error)
{
  DvmdUnpackStream *self = DVMD_UNPACK_STREAM (stream);
  la_ssize_t n;

  do
    n = archive_read_data (self->archive, buffer, count);
  while (n == ARCHIVE_RETRY);
  if (n >= 0)
    return n;
  set_damaged (self, error);
  return -1;
}

static void
dvmd_unpack_stream_finalize (GObject *object)
{
  DvmdUnpackStream *self = DVMD_UNPACK_STREAM (object);

  archive_read_free (self->archive);
  close (self->fd);
  G_OBJECT_CLASS (dvmd_unpack_stream_parent_class)->finalize (object);
}

static void
dvmd_unpack_stream_class_init (DvmdUnpackStreamClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_unpack_stream_finalize;
  G_INPUT_STREAM_CLASS (klass)->read_fn = dvmd_unpack_stream_read;
}

static void
dvmd_unpack_stream_init (DvmdUnpackStream *self)
{
}

GInputStream *
dvmd_unpack_stream_open (int fd, GError **error)
{
  g_autoptr (DvmdUnpackStream) self = g_object_new (DVMD_TYPE_UNPACK_STREAM, NULL);

  self->fd = fd;
  self->archive = archive_read_new ();
  archive_read_support_format_tar (self->archive);
  archive_read_support_format_zip (self->archive);
  archive_read_support_filter_gzip (self->archive);
  archive_read_support_filter_bzip2 (self->archive);
  archive_read_support_filter_xz (self->archive);
  archive_read_support_filter_zstd (self->archive);
  if (archive_read_open_fd (self->archive, fd, BLOCK) == ARCHIVE_OK)
    return G_INPUT_STREAM (g_steal_pointer (&self));
  set_damaged (self, error);
  return NULL;
}

/* ---- entries ---- */

static gboolean
refuse_entry (const char *name, const char *why, GError **error)
{
  g_autofree char *shown = g_filename_display_name (name);

  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "cannot be unpacked: “%s” %s", shown, why);
  return FALSE;
}

/* Without “.” and doubled slashes. NULL: it would lead out. */
static char *
build_path (const char *name)
{
  g_auto (GStrv) words = g_strsplit (name, "/", -1);
  g_autoptr (GString) path = g_string_new (NULL);

  if (name[0] == '/')
    return NULL;
  for (gsize i = 0; words[i] != NULL; i++)
    {
      if (strcmp (words[i], "..") == 0)
        return NULL;
      if (words[i][0] != '\0' && strcmp (words[i], ".") != 0)
        g_string_append_printf (path, "%s%s", path->len > 0 ? "/" : "", words[i]);
    }
  return g_string_free (g_steal_pointer (&path), FALSE);
}

static guint
count_folders (const char *target)
{
  guint n = 0;

  for (const char *at = target; (at = strchr (at, '/')) != NULL; at++)
    n++;
  return n;
}

/* Up no further than to the session directory, and not up again: what is on the way may be a link itself. */
static gboolean
is_link_inside (const char *target, const char *link)
{
  g_auto (GStrv) words = g_strsplit (link, "/", -1);
  guint depth = count_folders (target);
  gboolean down = FALSE;

  if (link[0] == '/' || link[0] == '\0')
    return FALSE;
  for (gsize i = 0; words[i] != NULL; i++)
    if (strcmp (words[i], "..") == 0)
      {
        if (down || depth-- == 0)
          return FALSE;
      }
    else
      down = down || (words[i][0] != '\0' && strcmp (words[i], ".") != 0);
  return TRUE;
}

static gboolean
check_type (struct archive_entry *header, const char *name, const DvmdUnpackEntry *entry, GError **error)
{
  if (archive_entry_hardlink (header) != NULL)
    return refuse_entry (name, "is a hard link: archives of copies or symbolic links are unpacked", error);
  if (archive_entry_filetype (header) == AE_IFLNK)
    return (entry->link != NULL && is_link_inside (entry->target, entry->link))
           || refuse_entry (name, "is a link that leads, or could lead, out of the session directory", error);
  if (archive_entry_filetype (header) != AE_IFREG && archive_entry_filetype (header) != AE_IFDIR)
    return refuse_entry (name, "is neither a file nor a directory nor a symbolic link", error);
  if (archive_entry_filetype (header) == AE_IFREG && !archive_entry_size_is_set (header))
    return refuse_entry (name, "does not say how large it is", error);
  return TRUE;
}

static gboolean
fill_entry (struct archive_entry *header, const char *folder, DvmdUnpackEntry *entry, GError **error)
{
  const char *name = archive_entry_pathname (header);
  g_autofree char *path = name != NULL ? build_path (name) : NULL;
  gsize digits;

  if (path == NULL)
    return refuse_entry (name != NULL ? name : "?", "would not be in the session directory", error);
  entry->target = g_strconcat (folder, path, NULL);
  digits = strspn (entry->target, "0123456789");
  if (digits > 0 && (entry->target[digits] == '\0' || entry->target[digits] == '/'))
    return refuse_entry (name, "has a name of digits alone, as the directories of the ranks", error);
  entry->mode = archive_entry_mode (header) & (S_IFMT | 0777);
  entry->link = g_strdup (archive_entry_symlink (header));
  entry->size = S_ISREG (entry->mode) ? (guint64)archive_entry_size (header) : 0;
  return check_type (header, name, entry, error);
}

/* “./”, the directory of the archive itself */
static gboolean
is_nothing (const DvmdUnpackEntry *entry, const char *folder)
{
  return S_ISDIR (entry->mode) && strcmp (entry->target, folder) == 0;
}

gboolean
dvmd_unpack_stream_next (GInputStream *stream, const char *folder, DvmdUnpackEntry *entry, GError **error)
{
  DvmdUnpackStream *self = DVMD_UNPACK_STREAM (stream);
  struct archive_entry *header;
  int code;

  for (;;)
    {
      do
        code = archive_read_next_header (self->archive, &header);
      while (code == ARCHIVE_RETRY);
      if (code == ARCHIVE_EOF)
        return TRUE;
      if (code < ARCHIVE_WARN)
        return set_damaged (self, error);
      if (!fill_entry (header, folder, entry, error))
        break;
      if (!is_nothing (entry, folder))
        return TRUE;
      g_clear_pointer (&entry->target, g_free);
      g_clear_pointer (&entry->link, g_free);
    }
  g_clear_pointer (&entry->target, g_free);
  g_clear_pointer (&entry->link, g_free);
  return FALSE;
}

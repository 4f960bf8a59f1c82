/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files that output=dir and output=file name, so that nothing that was to be in them is lost without a word.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-output"

#include "dvmd-output-files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include <dvm.h>

#define OPEN_MAX_FILES 64

typedef struct
{
  char *path;
  int fd;
  gboolean made;
  gboolean is_new; /* it was not there before */
  gboolean written;
  int error;         /* what was found when it was closed, not told yet; REMOVED: it is not there any more */
  gboolean notified; /* it failed */
} File;

#define REMOVED (-1)

struct _DvmdOutputFiles
{
  GHashTable *files; /* path -> File */
  GQueue open;       /* File, the one not used for the longest time first */
};

static void
file_free (gpointer data)
{
  File *file = data;

  if (file->fd >= 0)
    close (file->fd);
  g_free (file->path);
  g_free (file);
}

DvmdOutputFiles *
dvmd_output_files_new (void)
{
  DvmdOutputFiles *self = g_new0 (DvmdOutputFiles, 1);

  self->files = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, file_free);
  return self;
}

void
dvmd_output_files_free (DvmdOutputFiles *self)
{
  g_queue_clear (&self->open);
  g_hash_table_unref (self->files);
  g_free (self);
}

/* Bytes that go to a file without a name are gone when it is closed. */
static gboolean
is_removed (int fd)
{
  struct stat about;

  return fstat (fd, &about) == 0 && S_ISREG (about.st_mode) && about.st_nlink == 0;
}

/* Some file systems tell only now that they had no room. */
static void
close_file (DvmdOutputFiles *self, File *file)
{
  if (file->fd < 0)
    return;
  if (file->written && is_removed (file->fd))
    file->error = REMOVED;
  if (close (file->fd) != 0 && errno != EINTR)
    file->error = errno;
  file->fd = -1;
  g_queue_remove (&self->open, file);
}

/* FALSE: error is set if it is news. */
static gboolean
check_file (DvmdOutputFiles *self, File *file, GError **error)
{
  if (file->error == 0)
    return TRUE;
  if (!file->notified)
    g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "output cannot be written to '%s': %s", file->path,
                 file->error == REMOVED ? "the file has been removed" : g_strerror (file->error));
  file->notified = TRUE;
  close_file (self, file);
  return FALSE;
}

/* A pipe that nobody reads must not hold up the DVM. One that was made before and is not there is not made anew: what
 * it had is lost. */
static void
open_file (DvmdOutputFiles *self, File *file)
{
  int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (file->made ? 0 : O_CREAT | O_TRUNC);

  if (file->fd >= 0 || file->error != 0)
    return;
  if (!file->made)
    {
      g_autofree char *dir = g_path_get_dirname (file->path);

      if (g_mkdir_with_parents (dir, 0755) != 0)
        {
          file->error = errno;
          return;
        }
    }
  if (g_queue_get_length (&self->open) >= OPEN_MAX_FILES)
    close_file (self, g_queue_peek_head (&self->open));
  file->fd = file->made ? -1 : open (file->path, flags | O_EXCL, 0644);
  file->is_new = file->is_new || file->fd >= 0;
  if (file->fd < 0)
    file->fd = open (file->path, flags, 0644);
  if (file->fd < 0)
    {
      file->error = file->made && errno == ENOENT ? REMOVED : errno;
      return;
    }
  file->made = TRUE;
  g_queue_push_tail (&self->open, file);
}

static gsize
write_some (File *file, GBytes *bytes)
{
  gsize size;
  const char *data = g_bytes_get_data (bytes, &size);
  gsize done = 0;

  while (done < size)
    {
      ssize_t n = write (file->fd, data + done, size - done);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        {
          file->error = errno;
          break;
        }
      done += (gsize)n;
      file->written = TRUE;
    }
  return done;
}

static File *
find_file (DvmdOutputFiles *self, const char *path)
{
  File *file = g_hash_table_lookup (self->files, path);

  if (file == NULL)
    {
      file = g_new0 (File, 1);
      file->path = g_strdup (path);
      file->fd = -1;
      g_hash_table_insert (self->files, file->path, file);
    }
  open_file (self, file);
  return file;
}

gboolean
dvmd_output_files_open (DvmdOutputFiles *self, const char *path, GError **error)
{
  return check_file (self, find_file (self, path), error);
}

gsize
dvmd_output_files_write (DvmdOutputFiles *self, const char *path, GBytes *bytes, GError **error)
{
  File *file = find_file (self, path);
  gsize done = 0;

  if (file->error == 0 && is_removed (file->fd))
    file->error = REMOVED;
  if (file->error == 0)
    done = write_some (file, bytes);
  check_file (self, file, error);
  return done;
}

/* A stream that had nothing to say leaves no file; it makes one if it says something later. */
static void
remove_empty (File *file)
{
  GStatBuf about;

  if (!file->made || !file->is_new || file->written || g_lstat (file->path, &about) != 0 || about.st_size > 0)
    return;
  g_unlink (file->path);
  file->made = FALSE;
}

gboolean
dvmd_output_files_close (DvmdOutputFiles *self, const char *path, GError **error)
{
  File *file = g_hash_table_lookup (self->files, path);

  if (file == NULL || file->notified)
    return TRUE;
  close_file (self, file);
  if (!check_file (self, file, error))
    return FALSE;
  remove_empty (file);
  return TRUE;
}

gboolean
dvmd_output_files_close_all (DvmdOutputFiles *self, GError **error)
{
  gboolean ok = TRUE;
  GHashTableIter iter;
  const char *path;

  g_hash_table_iter_init (&iter, self->files);
  while (g_hash_table_iter_next (&iter, (gpointer *)&path, NULL))
    ok = dvmd_output_files_close (self, path, ok ? error : NULL) && ok;
  return ok;
}

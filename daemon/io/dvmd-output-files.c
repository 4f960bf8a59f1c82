/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-output"

#include "dvmd-output-files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <dvm.h>

#define OPEN_MAX_FILES 64

typedef struct
{
  char *path;
  int fd;
  gboolean made;
  gboolean failed;
} File;

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

static void
close_file (DvmdOutputFiles *self, File *file)
{
  if (file->fd < 0)
    return;
  close (file->fd);
  file->fd = -1;
  g_queue_remove (&self->open, file);
}

static gboolean
open_file (DvmdOutputFiles *self, File *file)
{
  int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | (file->made ? 0 : O_TRUNC);

  if (file->fd >= 0)
    return TRUE;
  if (!file->made)
    {
      g_autofree char *dir = g_path_get_dirname (file->path);

      if (g_mkdir_with_parents (dir, 0755) != 0)
        return FALSE;
    }
  if (g_queue_get_length (&self->open) >= OPEN_MAX_FILES)
    close_file (self, g_queue_peek_head (&self->open));
  file->fd = open (file->path, flags, 0644);
  if (file->fd < 0)
    return FALSE;
  file->made = TRUE;
  g_queue_push_tail (&self->open, file);
  return TRUE;
}

static gboolean
write_all (int fd, GBytes *bytes)
{
  gsize size;
  const char *data = g_bytes_get_data (bytes, &size);

  while (size > 0)
    {
      ssize_t n = write (fd, data, size);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return FALSE;
      data += n;
      size -= (gsize)n;
    }
  return TRUE;
}

gboolean
dvmd_output_files_write (DvmdOutputFiles *self, const char *path, GBytes *bytes, GError **error)
{
  File *file = g_hash_table_lookup (self->files, path);

  if (file == NULL)
    {
      file = g_new0 (File, 1);
      file->path = g_strdup (path);
      file->fd = -1;
      g_hash_table_insert (self->files, file->path, file);
    }
  if (file->failed)
    return TRUE;
  if (!open_file (self, file) || !write_all (file->fd, bytes))
    {
      int saved = errno;

      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "output cannot be written to '%s': %s", path,
                   g_strerror (saved));
      close_file (self, file);
      file->failed = TRUE;
      return FALSE;
    }
  return TRUE;
}

void
dvmd_output_files_close (DvmdOutputFiles *self, const char *path)
{
  File *file = g_hash_table_lookup (self->files, path);

  if (file != NULL)
    close_file (self, file);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files are written below one directory, piece by piece, on a thread.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-stage"

#include "dvmd-stage-writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dvm.h>

#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

#define COMPARE_CHUNK 65536

struct _DvmdStageWriter
{
  char *directory;
  int root;   /* -1 until it is there */
  int parent; /* directory of the file that is being written */
  int fd;     /* -1: none is */
  char *target;
  char *name;
  char temp[32];
  guint mode; /* with the type; 0: a file */
  guint64 left;
};

DvmdStageWriter *
dvmd_stage_writer_new (const char *directory)
{
  DvmdStageWriter *self = g_new0 (DvmdStageWriter, 1);

  self->directory = g_strdup (directory);
  self->root = self->parent = self->fd = -1;
  return self;
}

static void
close_fd (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

static void
forget_file (DvmdStageWriter *self)
{
  close_fd (&self->fd);
  close_fd (&self->parent);
  g_clear_pointer (&self->target, g_free);
  g_clear_pointer (&self->name, g_free);
}

void
dvmd_stage_writer_abandon (DvmdStageWriter *self)
{
  if (self->fd >= 0)
    unlinkat (self->parent, self->temp, 0);
  forget_file (self);
}

void
dvmd_stage_writer_free (DvmdStageWriter *self)
{
  dvmd_stage_writer_abandon (self);
  close_fd (&self->root);
  g_free (self->directory);
  g_free (self);
}

static gboolean
fail_target (const char *target, const char *what, int code, GError **error)
{
  g_autofree char *shown = g_filename_display_name (target);

  g_set_error (error, DVM_ERROR, code == ENOSPC || code == EDQUOT ? DVM_ERROR_OUT_OF_RESOURCE : DVM_ERROR_FAILED,
               "“%s” %s: %s", shown, what, g_strerror (code));
  return FALSE;
}

static gboolean
refuse_target (const char *target, const char *why, GError **error)
{
  g_autofree char *shown = g_filename_display_name (target);

  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "“%s” %s", shown, why);
  return FALSE;
}

gboolean
dvmd_stage_writer_create (DvmdStageWriter *self, GError **error)
{
  g_autofree char *parent = g_path_get_dirname (self->directory);

  if (self->root >= 0)
    return TRUE;
  if (g_mkdir_with_parents (parent, 0700) != 0 || (mkdir (self->directory, 0700) != 0 && errno != EEXIST))
    return fail_target (self->directory, "could not be made", errno, error);
  self->root = open (self->directory, OPEN_DIRECTORY);
  return self->root >= 0 || fail_target (self->directory, "could not be opened", errno, error);
}

static gboolean
stays_inside (char **words)
{
  for (gsize i = 0; words[i] != NULL; i++)
    if (words[i][0] == '\0' || strcmp (words[i], ".") == 0 || strcmp (words[i], "..") == 0)
      return FALSE;
  return words[0] != NULL;
}

/* Goes down word by word, so that nobody can put a link in the way. */
static gboolean
open_parent (DvmdStageWriter *self, char **words, GError **error)
{
  self->parent = openat (self->root, ".", OPEN_DIRECTORY);
  for (; self->parent >= 0 && words[1] != NULL; words++)
    {
      int above = self->parent;

      self->parent = -1;
      if (mkdirat (above, words[0], 0700) == 0 || errno == EEXIST)
        self->parent = openat (above, words[0], OPEN_DIRECTORY);
      close (above);
    }
  if (self->parent < 0)
    return fail_target (self->target, "cannot get its directory", errno, error);
  self->name = g_strdup (words[0]);
  return TRUE;
}

static gboolean
open_temp (DvmdStageWriter *self, GError **error)
{
  g_snprintf (self->temp, sizeof self->temp, ".dvm-%08x%08x", g_random_int (), g_random_int ());
  self->fd = openat (self->parent, self->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  return self->fd >= 0 || fail_target (self->target, "could not be made", errno, error);
}

static gboolean
read_fully (int fd, char *buffer, gsize length, off_t offset)
{
  while (length > 0)
    {
      ssize_t n = pread (fd, buffer, length, offset);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return FALSE;
      buffer += n;
      length -= n;
      offset += n;
    }
  return TRUE;
}

static gboolean
has_same_content (int one, int other)
{
  g_autofree char *a = g_malloc (COMPARE_CHUNK);
  g_autofree char *b = g_malloc (COMPARE_CHUNK);
  struct stat left;
  struct stat right;

  if (fstat (one, &left) != 0 || fstat (other, &right) != 0 || !S_ISREG (right.st_mode)
      || left.st_size != right.st_size)
    return FALSE;
  for (off_t offset = 0; offset < left.st_size; offset += COMPARE_CHUNK)
    {
      gsize length = MIN (COMPARE_CHUNK, left.st_size - offset);

      if (!read_fully (one, a, length, offset) || !read_fully (other, b, length, offset) || memcmp (a, b, length) != 0)
        return FALSE;
    }
  return TRUE;
}

static gboolean
accept_existing (DvmdStageWriter *self, GError **error)
{
  int there = openat (self->parent, self->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  gboolean same = there >= 0 && has_same_content (self->fd, there);

  close_fd (&there);
  unlinkat (self->parent, self->temp, 0);
  return same || refuse_target (self->target, "is there already with another content", error);
}

/* Not every file system can rename without replacing. */
static gboolean
rename_temp (DvmdStageWriter *self)
{
  if (renameat2 (self->parent, self->temp, self->parent, self->name, RENAME_NOREPLACE) == 0)
    return TRUE;
  if (errno != EINVAL && errno != ENOSYS)
    return FALSE;
  if (linkat (self->parent, self->temp, self->parent, self->name, 0) != 0)
    return FALSE;
  unlinkat (self->parent, self->temp, 0);
  return TRUE;
}

static gboolean
make_folder (DvmdStageWriter *self, GError **error)
{
  int folder = -1;

  if (mkdirat (self->parent, self->name, 0700 | (self->mode & 0777)) == 0 || errno == EEXIST)
    folder = openat (self->parent, self->name, OPEN_DIRECTORY);
  if (folder < 0)
    return fail_target (self->target, "could not be made", errno, error);
  close (folder);
  return TRUE;
}

/* The file becomes a symbolic link to what it has. Such a link alone may be there already. */
static gboolean
make_link (DvmdStageWriter *self, GError **error)
{
  char link[PATH_MAX] = "";
  char there[PATH_MAX] = "";
  off_t size = lseek (self->fd, 0, SEEK_END);
  gboolean good;

  if (size <= 0 || size >= PATH_MAX || !read_fully (self->fd, link, size, 0))
    good = refuse_target (self->target, "is no link", error);
  else if (symlinkat (link, self->parent, self->name) == 0)
    good = TRUE;
  else if (errno != EEXIST)
    good = fail_target (self->target, "could not be made", errno, error);
  else
    good = (readlinkat (self->parent, self->name, there, sizeof there - 1) == size && strcmp (link, there) == 0)
           || refuse_target (self->target, "is there already with another content", error);
  dvmd_stage_writer_abandon (self);
  return good;
}

static gboolean
publish (DvmdStageWriter *self, GError **error)
{
  gboolean good;

  if (S_ISLNK (self->mode))
    return make_link (self, error);
  good = fchmod (self->fd, self->mode & 0777) == 0
         || fail_target (self->target, "could not get its mode", errno, error);

  if (good && !rename_temp (self))
    good = errno == EEXIST ? accept_existing (self, error)
                           : fail_target (self->target, "could not get its name", errno, error);
  if (!good)
    {
      dvmd_stage_writer_abandon (self);
      return FALSE;
    }
  /* Some file systems tell only now that there was no room. */
  if (close (self->fd) != 0 && errno != EINTR)
    good = fail_target (self->target, "could not be written", errno, error);
  self->fd = -1;
  forget_file (self);
  return good;
}

gboolean
dvmd_stage_writer_begin (DvmdStageWriter *self, const char *target, guint mode, guint64 size, GError **error)
{
  g_auto (GStrv) words = g_strsplit (target, "/", -1);
  gboolean good;

  if (!stays_inside (words))
    return refuse_target (target, "would not be in the session directory", error);
  if (!dvmd_stage_writer_finish (self, error) || !dvmd_stage_writer_create (self, error))
    return FALSE;
  self->target = g_strdup (target);
  self->mode = mode & (S_IFMT | 0777);
  self->left = size;
  good = open_parent (self, words, error) && (S_ISDIR (mode) ? make_folder (self, error) : open_temp (self, error));
  if (!good || S_ISDIR (mode))
    {
      forget_file (self);
      return good;
    }
  return size > 0 || publish (self, error);
}

gboolean
dvmd_stage_writer_write (DvmdStageWriter *self, const void *data, gsize length, GError **error)
{
  const char *from = data;

  if (self->fd < 0 || length > self->left)
    return refuse_target (self->target != NULL ? self->target : "?", "has got more than was announced", error);
  self->left -= length;
  while (length > 0)
    {
      ssize_t n = write (self->fd, from, length);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        {
          fail_target (self->target, "could not be written", errno, error);
          dvmd_stage_writer_abandon (self);
          return FALSE;
        }
      from += n;
      length -= n;
    }
  return self->left > 0 || publish (self, error);
}

gboolean
dvmd_stage_writer_finish (DvmdStageWriter *self, GError **error)
{
  if (self->fd < 0)
    return TRUE;
  refuse_target (self->target, "has got less than was announced", error);
  dvmd_stage_writer_abandon (self);
  return FALSE;
}

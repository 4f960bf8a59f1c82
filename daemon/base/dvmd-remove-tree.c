/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs leave whatever they like behind: links, directories without permissions, trees too deep for a path or for one
 * descriptor a level. So: one open directory at a time, names relative to it, and the way up is checked.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-remove-tree"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dvm.h>

#include "dvmd-remove-tree.h"

typedef struct
{
  dev_t dev;
  ino_t ino;
  char *name;         /* in the level above */
  GHashTable *failed; /* (nullable): names that cannot be removed */
} Level;

typedef struct
{
  const char *root;
  GArray *levels; /* of Level; the last is the open one */
  int fd;
  GError *error; /* the first one */
} Walk;

static Level *
top_level (Walk *walk)
{
  return &g_array_index (walk->levels, Level, walk->levels->len - 1);
}

static void
level_clear (gpointer data)
{
  Level *level = data;

  g_free (level->name);
  g_clear_pointer (&level->failed, g_hash_table_unref);
}

static void
add_failure (Walk *walk, const char *name, int saved_errno)
{
  Level *level = top_level (walk);
  g_autofree char *shown = g_utf8_make_valid (name, -1);

  if (level->failed == NULL)
    level->failed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_hash_table_add (level->failed, g_strdup (name));
  if (walk->error == NULL)
    g_set_error (&walk->error, DVM_ERROR, DVM_ERROR_FAILED, "cannot remove \"%s\" in %s: %s", shown, walk->root,
                 g_strerror (saved_errno));
}

static gboolean
push_level (Walk *walk, int fd, const char *name)
{
  Level level = { 0 };
  struct stat st;

  if (fstat (fd, &st) != 0)
    return FALSE;
  if (walk->levels->len > 0 && st.st_dev != top_level (walk)->dev)
    {
      errno = EXDEV;
      return FALSE;
    }
  level.dev = st.st_dev;
  level.ino = st.st_ino;
  level.name = g_strdup (name);
  g_array_append_val (walk->levels, level);
  if (walk->fd >= 0)
    close (walk->fd);
  walk->fd = fd;
  return TRUE;
}

static gboolean
descend (Walk *walk, const char *name)
{
  int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int fd = openat (walk->fd, name, flags);

  if (fd < 0 && errno == EACCES && fchmodat (walk->fd, name, 0700, 0) == 0)
    fd = openat (walk->fd, name, flags);
  if (fd >= 0)
    {
      int saved_errno;

      /* A directory may be readable but not writable. */
      fchmod (fd, 0700);
      if (push_level (walk, fd, name))
        return TRUE;
      saved_errno = errno;
      close (fd);
      errno = saved_errno;
    }
  add_failure (walk, name, errno);
  return FALSE;
}

/* TRUE: went down into name */
static gboolean
remove_entry (Walk *walk, const char *name)
{
  if (unlinkat (walk->fd, name, 0) == 0 || errno == ENOENT)
    return FALSE;
  if (errno != EISDIR && errno != EPERM)
    {
      add_failure (walk, name, errno);
      return FALSE;
    }
  if (unlinkat (walk->fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
    return FALSE;
  if (errno != ENOTEMPTY && errno != EEXIST)
    {
      add_failure (walk, name, errno);
      return FALSE;
    }
  return descend (walk, name);
}

/* TRUE: went down into a directory; FALSE: what can be removed here has been. */
static gboolean
scan_level (Walk *walk)
{
  int fd = openat (walk->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *directory = fd >= 0 ? fdopendir (fd) : NULL;
  GHashTable *failed = NULL;
  struct dirent *entry;
  gboolean went_down = FALSE;

  if (directory == NULL)
    {
      if (fd >= 0)
        close (fd);
      add_failure (walk, ".", errno);
      return FALSE;
    }
  while (!went_down && (entry = readdir (directory)) != NULL)
    {
      if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0)
        continue;
      failed = top_level (walk)->failed;
      if (failed == NULL || !g_hash_table_contains (failed, entry->d_name))
        went_down = remove_entry (walk, entry->d_name);
    }
  closedir (directory);
  return went_down;
}

/* Goes up and removes the directory just left. FALSE: the way up is not the way that we came. */
static gboolean
ascend (Walk *walk)
{
  int fd = openat (walk->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  g_autofree char *name = g_steal_pointer (&top_level (walk)->name);
  struct stat st;

  g_array_set_size (walk->levels, walk->levels->len - 1);
  if (fd < 0 || fstat (fd, &st) != 0 || st.st_dev != top_level (walk)->dev || st.st_ino != top_level (walk)->ino)
    {
      add_failure (walk, name, fd < 0 ? errno : EXDEV);
      if (fd >= 0)
        close (fd);
      return FALSE;
    }
  close (walk->fd);
  walk->fd = fd;
  if (unlinkat (walk->fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
    add_failure (walk, name, errno);
  return TRUE;
}

gboolean
dvmd_remove_tree_contents (const char *path, GError **error)
{
  Walk walk = { .root = path, .fd = -1 };
  int fd = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

  if (fd < 0)
    {
      if (errno == ENOENT)
        return TRUE;
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "cannot open the directory %s: %s", path, g_strerror (errno));
      return FALSE;
    }
  walk.levels = g_array_new (FALSE, FALSE, sizeof (Level));
  g_array_set_clear_func (walk.levels, level_clear);
  push_level (&walk, fd, "");
  for (;;)
    {
      if (scan_level (&walk))
        continue;
      if (walk.levels->len == 1 || !ascend (&walk))
        break;
    }
  close (walk.fd);
  g_array_unref (walk.levels);
  if (walk.error == NULL)
    return TRUE;
  g_propagate_error (error, walk.error);
  return FALSE;
}

gboolean
dvmd_remove_tree (const char *path, GError **error)
{
  if (unlink (path) == 0 || errno == ENOENT)
    return TRUE;
  if (errno != EISDIR && errno != EPERM)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "cannot remove %s: %s", path, g_strerror (errno));
      return FALSE;
    }
  if (rmdir (path) == 0)
    return TRUE;
  /* The owner of the directory may have taken its permissions away. */
  if (access (path, R_OK | W_OK | X_OK) != 0)
    chmod (path, 0700);
  if (!dvmd_remove_tree_contents (path, error))
    return FALSE;
  if (rmdir (path) == 0 || errno == ENOENT)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "cannot remove %s: %s", path, g_strerror (errno));
  return FALSE;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A file that is to be staged is opened, without blocking on what is no file.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-stage"

#include "dvmd-stage-source.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dvm.h>

static const char *
describe_kind (mode_t mode)
{
  if (S_ISDIR (mode))
    return "a directory; name its files";
  if (S_ISFIFO (mode))
    return "a FIFO";
  if (S_ISSOCK (mode))
    return "a socket";
  return "a device";
}

static char *
find_program (const char *name, const char *search)
{
  g_auto (GStrv) folders = g_strsplit (search, ":", -1);

  for (gsize i = 0; folders[i] != NULL; i++)
    {
      g_autofree char *path = g_build_filename (folders[i][0] != '\0' ? folders[i] : ".", name, NULL);

      if (g_file_test (path, G_FILE_TEST_IS_REGULAR) && access (path, X_OK) == 0)
        return g_steal_pointer (&path);
    }
  return NULL;
}

static int
open_path (const char *path, guint64 *size, guint *mode, GError **error)
{
  g_autofree char *shown = g_filename_display_name (path);
  struct stat status;
  int fd = open (path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

  if (fd < 0 || fstat (fd, &status) != 0)
    {
      g_set_error (error, DVM_ERROR, errno == ENOENT ? DVM_ERROR_NOT_FOUND : DVM_ERROR_FAILED,
                   "“%s” cannot be opened: %s", shown, g_strerror (errno));
      if (fd >= 0)
        close (fd);
      return -1;
    }
  if (!S_ISREG (status.st_mode))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "“%s” is no file but %s", shown, describe_kind (status.st_mode));
      close (fd);
      return -1;
    }
  *size = status.st_size;
  *mode = status.st_mode & 0777;
  return fd;
}

int
dvmd_stage_source_open (const char *path, const char *search, guint64 *size, guint *mode, GError **error)
{
  g_autofree char *found = NULL;

  if (search == NULL || strchr (path, '/') != NULL)
    return open_path (path, size, mode, error);
  found = find_program (path, search);
  if (found != NULL)
    return open_path (found, size, mode, error);
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "the program “%s” was not found in PATH (%s)", path, search);
  return -1;
}

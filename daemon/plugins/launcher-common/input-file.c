/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The input of a process on another machine, in a file of a directory that both machines have.
 */

#include "config.h"

#include "input-file.h"
#include "command-launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

/* A pipe of the other machine takes all of it at once. */
#define MOST_BYTES (60 * 1024)

struct _DvmdInputFile
{
  char *path;
};

static gboolean
refuse_directory (const char *directory, const char *place, const char *reason, GError **error)
{
  g_autofree char *shown = g_utf8_make_valid (directory, -1);

  g_set_error (error, DVM_ERROR, DVM_ERROR_LAUNCH_FAILED,
               "the tokens of agents cannot be put into “%s”: %s. It must be a directory of yours, with the mode 0700, "
               "that all nodes have (%s)",
               shown, reason, place);
  return FALSE;
}

/* A directory that somebody else may write to is no place for a token: the file might be exchanged. */
static gboolean
make_directory (const char *directory, const char *place, GError **error)
{
  struct stat status;

  if (!g_path_is_absolute (directory))
    return refuse_directory (directory, place, "it is no absolute path", error);
  if (g_mkdir_with_parents (directory, 0700) < 0 || lstat (directory, &status) < 0)
    return refuse_directory (directory, place, g_strerror (errno), error);
  if (!S_ISDIR (status.st_mode))
    return refuse_directory (directory, place, "it is no directory", error);
  if (status.st_uid != geteuid () || (status.st_mode & 077) != 0)
    return refuse_directory (directory, place, "others have access to it", error);
  return TRUE;
}

static gboolean
write_all (int fd, GBytes *input)
{
  gsize size;
  const char *at = g_bytes_get_data (input, &size);

  while (size > 0)
    {
      gssize n = write (fd, at, size);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return FALSE;
      at += n;
      size -= (gsize)n;
    }
  return TRUE;
}

DvmdInputFile *
dvmd_input_file_new (const char *directory, const char *place, GBytes *input, GError **error)
{
  g_autofree char *path = g_build_filename (directory, "agent-XXXXXX", NULL);
  DvmdInputFile *self;
  gboolean written;
  int fd;

  if (g_bytes_get_size (input) > MOST_BYTES)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_LAUNCH_FAILED,
                   "PATH and LD_LIBRARY_PATH, which its agent gets, are longer than 60 KiB");
      return NULL;
    }
  if (!make_directory (directory, place, error))
    return NULL;
  fd = g_mkstemp_full (path, O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0)
    {
      refuse_directory (directory, place, g_strerror (errno), error);
      return NULL;
    }
  self = g_new0 (DvmdInputFile, 1);
  self->path = g_steal_pointer (&path);
  written = write_all (fd, input);
  /* A full disk may be told as late as here. */
  if (close (fd) == 0 && written)
    return self;
  refuse_directory (directory, place, g_strerror (errno), error);
  dvmd_input_file_free (self);
  return NULL;
}

const char *
dvmd_input_file_get_path (DvmdInputFile *self)
{
  return self->path;
}

/* It is opened each time: that is when a network file system asks its server what there is now. */
int
dvmd_input_file_find_pid (DvmdInputFile *self)
{
  char text[64] = "";
  int fd = open (self->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  gssize n = fd >= 0 ? read (fd, text, sizeof text - 1) : -1;

  if (fd >= 0)
    close (fd);
  /* Half of a line is none yet. */
  if (n <= 0 || !g_str_has_prefix (text, DVMD_COMMAND_ARRIVED) || strchr (text, '\n') == NULL)
    return 0;
  return atoi (text + strlen (DVMD_COMMAND_ARRIVED));
}

void
dvmd_input_file_free (DvmdInputFile *self)
{
  g_unlink (self->path);
  g_free (self->path);
  g_free (self);
}

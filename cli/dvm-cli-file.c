/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files that users name are read whole.
 */

#include "config.h"

#include "dvm-cli-file.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <string.h>
#include <unistd.h>

#define MOST_MIB 64

static gboolean
set_error (const char *path, int saved_errno, GError **error)
{
  g_set_error (error, G_IO_ERROR, g_io_error_from_errno (saved_errno), _ ("cannot read '%s': %s"), path,
               g_strerror (saved_errno));
  return FALSE;
}

static gboolean
read_all (int fd, const char *path, GString *whole, GError **error)
{
  char buffer[65536];
  gssize n;

  while ((n = read (fd, buffer, sizeof buffer)) != 0)
    {
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return set_error (path, errno, error);
      if (whole->len + (gsize)n > MOST_MIB * 1024 * 1024)
        {
          g_set_error (error, G_IO_ERROR, G_IO_ERROR_NO_SPACE, _ ("cannot read '%s': it has more than %d MiB"), path,
                       MOST_MIB);
          return FALSE;
        }
      g_string_append_len (whole, buffer, n);
    }
  return TRUE;
}

gboolean
dvm_cli_read_file (const char *path, char **text, gsize *length, GError **error)
{
  g_autoptr (GString) whole = g_string_new (NULL);
  gboolean is_stdin = strcmp (path, "-") == 0;
  int fd = is_stdin ? STDIN_FILENO : open (path, O_RDONLY | O_CLOEXEC);
  gboolean ok;

  if (fd < 0)
    return set_error (path, errno, error);
  ok = read_all (fd, is_stdin ? _ ("standard input") : path, whole, error);
  if (!is_stdin)
    close (fd);
  if (!ok)
    return FALSE;
  *length = whole->len;
  *text = g_string_free (g_steal_pointer (&whole), FALSE);
  return TRUE;
}

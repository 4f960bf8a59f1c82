/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The data of a fence, which may be megabytes for each server, are written once, to a file that the other process maps:
 * through the socket they are copied four times, in pieces of what its buffer holds.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-pmix"

#include "dvmd-pmix-bulk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "dvm.h"

/* Fewer bytes are cheaper in the message. */
#define FILE_SIZE (32 * 1024)

static gboolean
write_all (int fd, const char *data, gsize size)
{
  while (size > 0)
    {
      gssize n = write (fd, data, size);

      if (n < 0 && errno != EINTR)
        return FALSE;
      data += MAX (n, 0);
      size -= (gsize)MAX (n, 0);
    }
  return TRUE;
}

/* (transfer full): the name of the file; NULL: there is none */
static char *
write_file (const char *dir, GBytes *bytes)
{
  g_autofree char *path = g_build_filename (dir, "bulk-XXXXXX", NULL);
  int fd = g_mkstemp_full (path, O_WRONLY | O_CLOEXEC, 0600);
  gsize size;
  const char *data = g_bytes_get_data (bytes, &size);
  gboolean done;

  if (fd < 0)
    return NULL;
  done = write_all (fd, data, size);
  if (!g_close (fd, NULL) || !done)
    {
      g_unlink (path);
      return NULL;
    }
  return g_path_get_basename (path);
}

GVariant *
dvmd_pmix_bulk_new (const char *dir, GBytes *bytes)
{
  g_autoptr (GBytes) none = g_bytes_new_static ("", 0);
  g_autofree char *name = NULL;

  if (bytes != NULL && g_bytes_get_size (bytes) >= FILE_SIZE)
    name = write_file (dir, bytes);
  return g_variant_new (
      "(@ays)",
      g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING, bytes != NULL && name == NULL ? bytes : none, TRUE),
      name != NULL ? name : "");
}

static GBytes *
map_file (const char *path, GError **error)
{
  g_autoptr (GMappedFile) file = NULL;
  int fd = g_open (path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);

  if (fd < 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "The data of a fence cannot be read from %s: %s", path,
                   g_strerror (errno));
      return NULL;
    }
  file = g_mapped_file_new_from_fd (fd, FALSE, error);
  g_close (fd, NULL);
  g_unlink (path);
  return file != NULL ? g_mapped_file_get_bytes (file) : NULL;
}

GBytes *
dvmd_pmix_bulk_read (const char *dir, GVariant *bulk, GError **error)
{
  g_autoptr (GVariant) bytes = NULL;
  g_autofree char *path = NULL;
  const char *name;

  g_variant_get (bulk, "(@ay&s)", &bytes, &name);
  if (name[0] == '\0')
    return g_variant_get_data_as_bytes (bytes);
  if (!g_str_has_prefix (name, "bulk-") || strchr (name, G_DIR_SEPARATOR) != NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“%s” is no file with the data of a fence", name);
      return NULL;
    }
  path = g_build_filename (dir, name, NULL);
  return map_file (path, error);
}

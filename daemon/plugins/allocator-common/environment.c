/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Variables of a scheduler: the numbers in them, and the files that they name.
 */

#include "config.h"

#include "environment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of a wrong text in a message. */
#define SHOWN 60

const char *
dvmd_environment_get (const char *const *environ, const char *name)
{
  const char *value = g_environ_getenv ((char **)environ, name);

  return value != NULL && value[0] != '\0' ? value : NULL;
}

const char *
dvmd_environment_find (const char *const *environ, const char *const *names, const char **name)
{
  for (; *names != NULL; names++)
    {
      const char *value = g_environ_getenv ((char **)environ, *names);

      if (value == NULL || value[0] == '\0')
        continue;
      if (name != NULL)
        *name = *names;
      return value;
    }
  if (name != NULL)
    *name = NULL;
  return NULL;
}

gboolean
dvmd_environment_parse_number (const char *text, const char *place, guint32 least, guint32 most, guint32 *number,
                               GError **error)
{
  g_autofree char *start = g_strndup (text, strnlen (text, SHOWN));
  g_autofree char *shown = NULL;
  guint64 read;

  if (g_ascii_string_to_unsigned (text, 10, least, most, &read, NULL))
    {
      *number = (guint32)read;
      return TRUE;
    }
  shown = g_utf8_make_valid (start, -1);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s: “%s” is no whole number from %u to %u", place, shown, least,
               most);
  return FALSE;
}

gboolean
dvmd_environment_read_number (const char *const *environ, const char *name, guint32 least, guint32 most,
                              guint32 *number, GError **error)
{
  const char *const names[] = { name, NULL };
  const char *value = dvmd_environment_find (environ, names, NULL);

  return value == NULL || dvmd_environment_parse_number (value, name, least, most, number, error);
}

/* (nullable): why the file cannot be read */
static const char *
read_regular (int fd, GString *text)
{
  struct stat status;
  gssize n;

  if (fd < 0 || fstat (fd, &status) < 0)
    return g_strerror (errno);
  if (!S_ISREG (status.st_mode))
    return "it is no regular file";
  do
    {
      char bytes[65536];

      n = read (fd, bytes, sizeof (bytes));
      if (n > 0)
        g_string_append_len (text, bytes, n);
      if (text->len > DVMD_ENVIRONMENT_MOST_BYTES)
        return "it is larger than 16 MiB";
    }
  while (n > 0 || (n < 0 && errno == EINTR));
  if (n < 0)
    return g_strerror (errno);
  return g_utf8_validate (text->str, (gssize)text->len, NULL) ? NULL : "it is no text in UTF-8";
}

char *
dvmd_environment_read_file (const char *path, const char *name, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  /* A FIFO without a writer would stop the DVM. */
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const char *wrong = read_regular (fd, text);
  g_autofree char *shown = NULL;

  if (fd >= 0)
    close (fd);
  if (wrong == NULL)
    return g_string_free (g_steal_pointer (&text), FALSE);
  shown = g_utf8_make_valid (path, -1);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s names “%s”, which cannot be read: %s", name, shown, wrong);
  return NULL;
}

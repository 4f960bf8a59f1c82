/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files and variables in which a scheduler names nodes by words.
 */

#include "config.h"

#include "node-file.h"

#include <string.h>

#include "environment.h"

/* Bytes of a wrong text in a message. */
#define SHOWN 60

gboolean
dvmd_node_refuse_text (const char *text, const char *place, const char *reason, GError **error)
{
  g_autofree char *start = g_strndup (text, strnlen (text, SHOWN));
  g_autofree char *shown = g_utf8_make_valid (start, -1);

  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s: “%s”%s %s", place, shown,
               strlen (start) < strlen (text) ? "..." : "", reason);
  return FALSE;
}

char *
dvmd_node_file_name_place (const char *variable, const char *path)
{
  g_autofree char *shown = g_utf8_make_valid (path != NULL ? path : "", -1);

  return g_strdup_printf ("%s: %s", variable, shown);
}

char **
dvmd_node_words (const char *value)
{
  g_auto (GStrv) words = g_strsplit_set (value, " \t\r\n", -1);
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  for (guint i = 0; words[i] != NULL; i++)
    if (words[i][0] != '\0')
      g_strv_builder_add (builder, words[i]);
  return g_strv_builder_end (builder);
}

gboolean
dvmd_node_check_name (const char *name, const char *place, GError **error)
{
  const char *at = name;

  while (g_ascii_isalnum (*at) || *at == '_' || (at > name && (*at == '.' || *at == '-')))
    at++;
  if (at > name && *at == '\0' && at - name <= DVM_HOST_LIST_MOST_BYTES)
    return TRUE;
  return dvmd_node_refuse_text (name, place, "is no name of a host", error);
}

static gboolean
read_line (const char *line, const char *place, guint least, guint most, const char *form, DvmdNodeLineFunc func,
           gpointer data, GError **error)
{
  g_auto (GStrv) words = dvmd_node_words (line);
  guint n = g_strv_length (words);
  g_autofree char *reason = NULL;

  if (n == 0)
    return TRUE;
  if (n < least || n > most)
    {
      reason = g_strdup_printf ("is not written “%s”", form);
      return dvmd_node_refuse_text (line, place, reason, error);
    }
  return dvmd_node_check_name (words[0], place, error) && func (data, (const char *const *)words, place, error);
}

/* Of a line. strchr() would look at the whole rest of a large text each time, where its arguments are checked. */
static gsize
get_length (const char *line)
{
  gsize length = 0;

  while (line[length] != '\0' && line[length] != '\n')
    length++;
  return length;
}

gboolean
dvmd_node_file_read (const char *path, const char *variable, guint least, guint most, const char *form,
                     DvmdNodeLineFunc func, gpointer data, GError **error)
{
  g_autofree char *text = dvmd_environment_read_file (path, variable, error);
  g_autofree char *file = dvmd_node_file_name_place (variable, path);
  char *line = text;

  for (guint number = 1; line != NULL; number++)
    {
      gsize length = get_length (line);
      gboolean is_last = line[length] == '\0';
      g_autofree char *place = g_strdup_printf ("%s:%u", file, number);

      line[length] = '\0';
      if (!read_line (line, place, least, most, form, func, data, error))
        return FALSE;
      line = is_last ? NULL : line + length + 1;
    }
  return text != NULL;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A line of PMI-1 is taken apart.
 */

#include "config.h"

#include "dvmd-pmi-line.h"

#include <string.h>

struct _DvmdPmiLine
{
  GStrv words; /* "name=value" */
};

static gboolean
is_word (const char *word)
{
  return word[0] != '\0' && word[0] != '=' && strchr (word, '=') != NULL;
}

/* (transfer full) (nullable): "service=..." up to the port, or the end; what is left of the line follows its place */
static char *
cut_service (char *line)
{
  char *begin = strstr (line, " service=");
  char *end = NULL;
  char *service;

  if (begin == NULL)
    return NULL;
  for (char *port = begin; port != NULL; port = strstr (port + 1, " port="))
    if (port != begin)
      end = port;
  service = g_strndup (begin + 1, end != NULL ? (gsize)(end - begin - 1) : strlen (begin + 1));
  memmove (begin, end != NULL ? end : "", end != NULL ? strlen (end) + 1 : 1);
  return service;
}

DvmdPmiLine *
dvmd_pmi_line_parse (const char *text, gsize length)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *copy = g_strndup (text, length);
  char *message = strstr (copy, " message=");
  g_autofree char *service = NULL;
  g_auto (GStrv) parts = NULL;

  if (strlen (copy) != length)
    return NULL;
  if (message != NULL)
    *message++ = '\0';
  service = cut_service (copy);
  parts = g_strsplit (copy, " ", -1);
  for (char **part = parts; *part != NULL; part++)
    if (is_word (*part))
      g_ptr_array_add (words, g_strdup (*part));
    else if (**part != '\0')
      return NULL;
  if (words->len == 0)
    return NULL;
  if (service != NULL)
    g_ptr_array_add (words, g_steal_pointer (&service));
  if (message != NULL)
    g_ptr_array_add (words, g_strdup (message));
  g_ptr_array_add (words, NULL);
  return dvmd_pmi_line_new ((GStrv)g_ptr_array_free (g_steal_pointer (&words), FALSE));
}

DvmdPmiLine *
dvmd_pmi_line_new (GStrv words)
{
  DvmdPmiLine *self = g_new0 (DvmdPmiLine, 1);

  self->words = words;
  return self;
}

const char *const *
dvmd_pmi_line_get_words (const DvmdPmiLine *self)
{
  return (const char *const *)self->words;
}

void
dvmd_pmi_line_free (DvmdPmiLine *self)
{
  g_strfreev (self->words);
  g_free (self);
}

const char *
dvmd_pmi_line_get (const DvmdPmiLine *self, const char *name)
{
  gsize length = strlen (name);

  for (char **word = self->words; *word != NULL; word++)
    if (strncmp (*word, name, length) == 0 && (*word)[length] == '=')
      return *word + length + 1;
  return NULL;
}

gboolean
dvmd_pmi_line_get_int (const DvmdPmiLine *self, const char *name, int *value)
{
  const char *text = dvmd_pmi_line_get (self, name);
  gint64 number;

  if (text == NULL || !g_ascii_string_to_signed (text, 10, G_MININT, G_MAXINT, &number, NULL))
    return FALSE;
  *value = (int)number;
  return TRUE;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * map-by: "slot", "ppr:2:node", "word=value:argument:qualifier=value". The words are those of the mappers of the DVM,
 * which alone knows them: here only the form is checked.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-job-spec-private.h"
#include "dvm-words-private.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* No word at all is the default, and only qualifiers follow then. */
static gboolean
is_word (const char *part, gboolean alone)
{
  gsize length = strspn (part, LETTERS "0123456789-_");

  if (part[0] == '\0')
    return !alone;
  return strspn (part, LETTERS) > 0 && (part[length] == '\0' || part[length] == '=');
}

static gboolean
is_part (const char *part)
{
  for (const char *c = part; *c != '\0'; c++)
    if (g_ascii_iscntrl (*c))
      return FALSE;
  return part[0] != '\0';
}

gboolean
_dvm_map_by_check (const char *text, const char *place, GError **error)
{
  g_auto (GStrv) parts = NULL;
  g_autofree char *shown = NULL;
  gboolean right;

  if (text == NULL)
    return TRUE;
  parts = g_strsplit (text, ":", -1);
  right = is_part (text) && is_word (parts[0], parts[1] == NULL);
  for (gsize i = 1; right && parts[i] != NULL; i++)
    right = is_part (parts[i]);
  if (right)
    return TRUE;
  shown = _dvm_words_show (text);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%smap-by: “%s” is not written as it must be: WORD, then arguments and qualifiers, each behind a "
                  "colon, such as ppr:2:node"),
               place, shown);
  return FALSE;
}

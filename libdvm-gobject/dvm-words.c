/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A word of an option is found in any case, and as short as it is unambiguous.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-words"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-words-private.h"

/* Longer texts are not a slip of the finger. */
#define LONGEST_TYPO 40
/* A message shows so many bytes of a text. */
#define SHOWN_BYTES 100

/* How many letters must be changed, added or left out. */
static guint
distance (const char *a, const char *b)
{
  gsize length_a = strlen (a);
  gsize length_b = strlen (b);
  guint row[LONGEST_TYPO + 1];

  if (length_a > LONGEST_TYPO || length_b > LONGEST_TYPO)
    return G_MAXUINT;
  for (gsize j = 0; j <= length_b; j++)
    row[j] = j;
  for (gsize i = 1; i <= length_a; i++)
    {
      guint diagonal = row[0];

      row[0] = i;
      for (gsize j = 1; j <= length_b; j++)
        {
          gboolean same = g_ascii_tolower (a[i - 1]) == g_ascii_tolower (b[j - 1]);
          guint best = diagonal + (same ? 0 : 1);

          diagonal = row[j];
          row[j] = MIN (best, MIN (row[j], row[j - 1]) + 1);
        }
    }
  return row[length_b];
}

char *
_dvm_words_show (const char *text)
{
  g_autofree char *start = g_strndup (text, SHOWN_BYTES);
  char *shown;

  /* A message is one line, and does nothing to a terminal: these become what is no text either. */
  for (char *c = start; *c != '\0'; c++)
    if (g_ascii_iscntrl (*c))
      *c = '\xff';
  shown = g_utf8_make_valid (start, -1);
  if (strlen (text) > SHOWN_BYTES)
    {
      g_autofree char *whole = shown;

      shown = g_strconcat (whole, "…", NULL);
    }
  return shown;
}

static void
consider (const char *text, const char *name, const char **nearest, guint *least)
{
  guint d = distance (text, name);

  if (d < *least && d <= MAX (strlen (name) / 2, 1))
    {
      *least = d;
      *nearest = name;
    }
}

const char *
_dvm_words_nearest (const char *text, const char *const *names)
{
  const char *nearest = NULL;
  guint least = G_MAXUINT;

  for (gsize i = 0; names[i] != NULL; i++)
    consider (text, names[i], &nearest, &least);
  return nearest;
}

static void
set_unknown (const DvmWord *words, gsize n_words, const char *text, const char *place, const char *what, GError **error)
{
  g_autofree char *shown = _dvm_words_show (text);
  const char *nearest = NULL;
  guint least = G_MAXUINT;

  for (gsize i = 0; i < n_words; i++)
    consider (text, words[i].name, &nearest, &least);
  if (nearest != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: unknown word “%s”; did you mean “%s”?"), place, what,
                 shown, nearest);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: unknown word “%s”"), place, what, shown);
}

/* An exact name wins over longer ones that begin like it. */
static const DvmWord *
match (const DvmWord *words, gsize n_words, const char *text, gsize length, gboolean *ambiguous)
{
  const DvmWord *found = NULL;

  *ambiguous = FALSE;
  for (gsize i = 0; i < n_words; i++)
    {
      if (g_ascii_strncasecmp (words[i].name, text, length) != 0)
        continue;
      if (words[i].name[length] == '\0')
        {
          *ambiguous = FALSE;
          return &words[i];
        }
      if (found != NULL)
        *ambiguous = TRUE;
      else
        found = &words[i];
    }
  return found;
}

gboolean
_dvm_words_has (const DvmWord *words, gsize n_words, const char *text, gsize length)
{
  g_autofree char *word = g_strndup (text, length);
  gboolean ambiguous;

  return length > 0 && match (words, n_words, word, length, &ambiguous) != NULL;
}

static void
set_ambiguous (const DvmWord *words, gsize n_words, const char *text, const char *place, const char *what,
               GError **error)
{
  g_autofree char *shown = _dvm_words_show (text);
  g_autoptr (GString) list = g_string_new (NULL);
  gsize length = strlen (text);

  for (gsize i = 0; i < n_words; i++)
    if (g_ascii_strncasecmp (words[i].name, text, length) == 0)
      g_string_append_printf (list, "%s“%s”", list->len > 0 ? ", " : "", words[i].name);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: “%s” is the beginning of more than one word: %s"),
               place, what, shown, list->str);
}

const DvmWord *
_dvm_words_find (const DvmWord *words, gsize n_words, const char *text, gsize length, const char *place,
                 const char *what, GError **error)
{
  g_autofree char *word = g_strndup (text, length);
  const DvmWord *found;
  gboolean ambiguous;

  if (length == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: a word is missing"), place, what);
      return NULL;
    }
  found = match (words, n_words, word, length, &ambiguous);
  if (found == NULL)
    {
      set_unknown (words, n_words, word, place, what, error);
      return NULL;
    }
  if (ambiguous)
    {
      set_ambiguous (words, n_words, word, place, what, error);
      return NULL;
    }
  if (!found->supported)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, _ ("%s%s: “%s” is not supported yet"), place, what,
                   found->name);
      return NULL;
    }
  return found;
}

gboolean
_dvm_words_parse_boolean (const char *text, gboolean *value)
{
  static const char *const yes[] = { "1", "t", "true", "y", "yes", "enable", NULL };
  static const char *const no[] = { "0", "f", "false", "n", "no", "disable", NULL };

  *value = TRUE;
  if (text == NULL)
    return TRUE;
  for (gsize i = 0; yes[i] != NULL; i++)
    if (g_ascii_strcasecmp (text, yes[i]) == 0)
      return TRUE;
  *value = FALSE;
  for (gsize i = 0; no[i] != NULL; i++)
    if (g_ascii_strcasecmp (text, no[i]) == 0)
      return TRUE;
  return FALSE;
}

void
_dvm_words_add (GVariantBuilder *rows, const char *option, const char *kind, const DvmWord *words, gsize n_words,
                gboolean (*has_value) (int value))
{
  for (gsize i = 0; i < n_words; i++)
    {
      gboolean valued = has_value != NULL && has_value (words[i].value);
      g_autofree char *written = g_strconcat (words[i].name, valued ? "=" : "", NULL);

      g_variant_builder_add (rows, "(ssss)", option, words[i].supported ? kind : "client", "", written);
    }
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The option `output` of a job: how lines are marked and which files are written.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-job-spec-private.h"
#include "dvm-words-private.h"

enum
{
  OUTPUT_TAG,
  OUTPUT_TAG_DETAILED,
  OUTPUT_TAG_FULLNAME,
  OUTPUT_RANK,
  OUTPUT_TIMESTAMP,
  OUTPUT_XML,
  OUTPUT_MERGE,
  OUTPUT_DIR,
  OUTPUT_FILE,
};

enum
{
  QUALIFIER_COPY,
  QUALIFIER_NOCOPY,
  QUALIFIER_RAW,
  QUALIFIER_PATTERN,
};

static const DvmWord output_words[] = {
  { "tag", OUTPUT_TAG, TRUE },
  { "tag-detailed", OUTPUT_TAG_DETAILED, TRUE },
  { "tag-fullname", OUTPUT_TAG_FULLNAME, TRUE },
  { "rank", OUTPUT_RANK, TRUE },
  { "timestamp", OUTPUT_TIMESTAMP, TRUE },
  { "merge-stderr-to-stdout", OUTPUT_MERGE, TRUE },
  { "dir", OUTPUT_DIR, TRUE },
  { "file", OUTPUT_FILE, TRUE },
  { "xml", OUTPUT_XML, TRUE },
};

static const DvmWord output_qualifiers[] = {
  { "copy", QUALIFIER_COPY, TRUE },
  { "nocopy", QUALIFIER_NOCOPY, TRUE },
  { "raw", QUALIFIER_RAW, TRUE },
  { "pattern", QUALIFIER_PATTERN, TRUE },
};

void
_dvm_output_options_clear (DvmOutputOptions *options)
{
  g_clear_pointer (&options->dir, g_free);
  g_clear_pointer (&options->file, g_free);
}

static void
set_qualifier (DvmOutputOptions *options, int qualifier)
{
  if (qualifier == QUALIFIER_COPY || qualifier == QUALIFIER_NOCOPY)
    options->copy = qualifier == QUALIFIER_COPY;
  else if (qualifier == QUALIFIER_RAW)
    options->raw = TRUE;
  else
    options->pattern = TRUE;
}

static gboolean
is_letters (const char *text)
{
  for (; *text != '\0'; text++)
    if (!g_ascii_isalpha (*text))
      return FALSE;
  return TRUE;
}

/*
 * Takes ":QUALIFIER"s from the end of what stands behind a word. In a path a colon may be part of a name, as in a time
 * of day; but a part of letters alone is a qualifier, so that a slip of the finger makes no strange directory.
 */
static gboolean
take_qualifiers (DvmOutputOptions *options, char *rest, const char *place, GError **error)
{
  gboolean in_path = rest[0] == '=';
  char *colon;

  while ((colon = strrchr (rest, ':')) != NULL && (!in_path || is_letters (colon + 1)))
    {
      const DvmWord *word = _dvm_words_find (output_qualifiers, G_N_ELEMENTS (output_qualifiers), colon + 1,
                                             strlen (colon + 1), place, "output", error);

      if (word == NULL)
        return FALSE;
      set_qualifier (options, word->value);
      *colon = '\0';
    }
  return TRUE;
}

static gboolean
set_path (char **path, const DvmWord *word, const char *rest, const char *place, GError **error)
{
  if (rest[0] != '=' || rest[1] == '\0')
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%soutput: “%s” needs a path: %s=PATH"), place, word->name,
                   word->name);
      return FALSE;
    }
  g_free (*path);
  *path = g_strdup (rest + 1);
  return TRUE;
}

static gboolean
set_word (DvmOutputOptions *options, const DvmWord *word, const char *rest, const char *place, GError **error)
{
  g_autofree char *shown = NULL;

  if (word->value == OUTPUT_DIR || word->value == OUTPUT_FILE)
    return set_path (word->value == OUTPUT_DIR ? &options->dir : &options->file, word, rest, place, error);
  if (rest[0] != '\0')
    {
      shown = _dvm_words_show (rest);
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s%s: “%s” makes no sense there"), place, "output",
                   shown);
      return FALSE;
    }
  if (word->value == OUTPUT_TIMESTAMP)
    options->timestamp = TRUE;
  else if (word->value == OUTPUT_XML)
    options->xml = TRUE;
  else if (word->value == OUTPUT_MERGE)
    options->merge = TRUE;
  else
    options->tag = DVM_OUTPUT_TAG_SHORT + (word->value - OUTPUT_TAG);
  return TRUE;
}

static gboolean
parse_entry (DvmOutputOptions *options, char *entry, const char *place, GError **error)
{
  gsize length = strcspn (entry, "=:");
  char *rest = entry + length;
  const DvmWord *word = NULL;

  /* Qualifiers alone are for all that is put out. */
  if (rest[0] != ':' || length > 0)
    {
      word = _dvm_words_find (output_words, G_N_ELEMENTS (output_words), entry, length, place, "output", error);
      if (word == NULL)
        return FALSE;
    }
  return take_qualifiers (options, rest, place, error)
         && (word == NULL || set_word (options, word, rest, place, error));
}

static gboolean
check_pattern (const char *pattern, const char *place, GError **error)
{
  for (const char *at = strchr (pattern, '%'); at != NULL; at = strchr (at + 2, '%'))
    if (at[1] == '\0' || strchr ("aAnrRh%", at[1]) == NULL)
      {
        g_autofree char *shown = _dvm_words_show (at);

        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                     _ ("%soutput: “%s” in the pattern is not known; known are %%n, %%a, %%A, %%r, %%R, %%h and %%%%"),
                     place, shown);
        return FALSE;
      }
  return TRUE;
}

static gboolean
check_whole (DvmOutputOptions *options, const char *place, GError **error)
{
  if (options->dir != NULL && options->file != NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%soutput: dir= and file= cannot be used together"),
                   place);
      return FALSE;
    }
  if (options->pattern && options->file == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%soutput: pattern needs file=PATH"), place);
      return FALSE;
    }
  return !options->pattern || check_pattern (options->file, place, error);
}

gboolean
_dvm_output_parse (const char *text, const char *place, DvmOutputOptions *options, GError **error)
{
  g_auto (GStrv) entries = NULL;
  gboolean good = TRUE;

  memset (options, 0, sizeof *options);
  entries = text != NULL && text[0] != '\0' ? g_strsplit (text, ",", -1) : g_new0 (char *, 1);
  for (gsize i = 0; good && entries[i] != NULL; i++)
    good = parse_entry (options, entries[i], place, error);
  if (good && check_whole (options, place, error))
    return TRUE;
  _dvm_output_options_clear (options);
  return FALSE;
}

/* ---- for completion ---- */

static gboolean
is_path (int value)
{
  return value == OUTPUT_DIR || value == OUTPUT_FILE;
}

void
_dvm_output_add_words (GVariantBuilder *rows)
{
  _dvm_words_add (rows, "output", "word", output_words, G_N_ELEMENTS (output_words), is_path);
  _dvm_words_add (rows, "output", "qualifier", output_qualifiers, G_N_ELEMENTS (output_qualifiers), NULL);
}

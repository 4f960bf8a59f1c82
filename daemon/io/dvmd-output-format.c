/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-output-format"

#include "dvmd-output-format.h"

#include <string.h>

#include <dvm.h>

typedef enum
{
  WORD_TAG,
  WORD_TAG_DETAILED,
  WORD_TAG_FULLNAME,
  WORD_RANK,
  WORD_TIMESTAMP,
  WORD_XML,
  WORD_MERGE,
  WORD_DIR,
  WORD_FILE,
  WORD_COPY,
  WORD_NOCOPY,
  WORD_RAW,
  WORD_PATTERN,
  N_WORDS,
} Word;

static const char *const words[N_WORDS] = {
  [WORD_TAG] = "tag",
  [WORD_TAG_DETAILED] = "tag-detailed",
  [WORD_TAG_FULLNAME] = "tag-fullname",
  [WORD_RANK] = "rank",
  [WORD_TIMESTAMP] = "timestamp",
  [WORD_XML] = "xml",
  [WORD_MERGE] = "merge-stderr-to-stdout",
  [WORD_DIR] = "dir",
  [WORD_FILE] = "file",
  [WORD_COPY] = "copy",
  [WORD_NOCOPY] = "nocopy",
  [WORD_RAW] = "raw",
  [WORD_PATTERN] = "pattern",
};

static gboolean refuse (GError **error, int code, const char *format, ...) G_GNUC_PRINTF (3, 4);

static gboolean
refuse (GError **error, int code, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, DVM_ERROR, code, text);
  return FALSE;
}

/* The word that text is, or begins unambiguously; N_WORDS: none. */
static Word
find_word (const char *text, gsize length)
{
  Word found = N_WORDS;

  for (guint i = 0; i < N_WORDS && length > 0; i++)
    {
      if (g_ascii_strncasecmp (words[i], text, length) != 0)
        continue;
      if (strlen (words[i]) == length)
        return (Word)i;
      if (found != N_WORDS)
        return N_WORDS;
      found = (Word)i;
    }
  return found;
}

static gboolean
is_qualifier (Word word)
{
  return word == WORD_COPY || word == WORD_NOCOPY || word == WORD_RAW || word == WORD_PATTERN;
}

static gboolean
set_word (DvmdOutputFormat *self, Word word, const char *value, GError **error)
{
  if ((word == WORD_DIR || word == WORD_FILE) != (value != NULL && value[0] != '\0'))
    return refuse (error, DVM_ERROR_BAD_PARAM, "output: '%s' %s", words[word],
                   value != NULL && value[0] != '\0' ? "takes no value" : "needs a value: dir=DIRECTORY, file=NAME");
  switch (word)
    {
    case WORD_TAG:
      self->tag = DVMD_OUTPUT_TAG_SHORT;
      break;
    case WORD_TAG_DETAILED:
      self->tag = DVMD_OUTPUT_TAG_DETAILED;
      break;
    case WORD_TAG_FULLNAME:
      self->tag = DVMD_OUTPUT_TAG_FULLNAME;
      break;
    case WORD_RANK:
      self->tag = DVMD_OUTPUT_TAG_RANK;
      break;
    case WORD_TIMESTAMP:
      self->timestamp = TRUE;
      break;
    case WORD_MERGE:
      self->merge = TRUE;
      break;
    case WORD_DIR:
      g_free (self->dir);
      self->dir = g_strdup (value);
      break;
    case WORD_FILE:
      g_free (self->file);
      self->file = g_strdup (value);
      break;
    case WORD_COPY:
    case WORD_NOCOPY:
      self->copy = word == WORD_COPY;
      break;
    case WORD_RAW:
      self->raw = TRUE;
      break;
    case WORD_PATTERN:
      self->pattern = TRUE;
      break;
    case WORD_XML:
    case N_WORDS:
      return refuse (error, DVM_ERROR_NOT_SUPPORTED, "output: '%s' is not supported", words[WORD_XML]);
    }
  return TRUE;
}

/*
 * Takes ":QUALIFIER"s from the end; anything else behind a colon belongs to the value. Behind a value they are written
 * in full: a directory may well be called a:c.
 */
static gboolean
take_qualifiers (DvmdOutputFormat *self, char *item, GError **error)
{
  gboolean has_value = strchr (item, '=') != NULL;
  char *colon;

  while ((colon = strrchr (item, ':')) != NULL)
    {
      Word word = find_word (colon + 1, strlen (colon + 1));

      if (word == N_WORDS || !is_qualifier (word) || (has_value && strlen (colon + 1) < strlen (words[word])))
        break;
      if (!set_word (self, word, NULL, error))
        return FALSE;
      *colon = '\0';
    }
  return TRUE;
}

static gboolean
parse_item (DvmdOutputFormat *self, const char *text, GError **error)
{
  g_autofree char *item = g_strdup (g_strstrip ((char *)text));
  const char *value;
  Word word;
  gsize length;

  if (!take_qualifiers (self, item, error))
    return FALSE;
  if (item[0] == '\0')
    return TRUE;
  value = strchr (item, '=');
  length = value != NULL ? (gsize)(value - item) : strlen (item);
  word = find_word (item, length);
  if (word == N_WORDS)
    return refuse (error, DVM_ERROR_BAD_PARAM,
                   "output: '%.*s' is not known; known are tag, tag-detailed, tag-fullname, rank, timestamp, "
                   "merge-stderr-to-stdout, dir=, file=, and copy, nocopy, raw, pattern",
                   (int)length, item);
  return set_word (self, word, value != NULL ? value + 1 : NULL, error);
}

static gboolean
check_pattern (const char *pattern, GError **error)
{
  for (const char *at = strchr (pattern, '%'); at != NULL; at = strchr (at + 2, '%'))
    if (at[1] == '\0' || strchr ("nrRh%", at[1]) == NULL)
      return refuse (error, DVM_ERROR_BAD_PARAM,
                     "output: '%%%.1s' in the pattern '%s' is not known; known are %%n, %%r, %%R, %%h, %%%%", at + 1,
                     pattern);
  return TRUE;
}

static gboolean
check_whole (DvmdOutputFormat *self, GError **error)
{
  if (self->dir != NULL && self->file != NULL)
    return refuse (error, DVM_ERROR_BAD_PARAM, "output: dir= and file= cannot be used together");
  if (self->pattern && self->file == NULL)
    return refuse (error, DVM_ERROR_BAD_PARAM, "output: pattern needs file=");
  return !self->pattern || check_pattern (self->file, error);
}

DvmdOutputFormat *
dvmd_output_format_new (void)
{
  return g_new0 (DvmdOutputFormat, 1);
}

DvmdOutputFormat *
dvmd_output_format_parse (const char *text, GError **error)
{
  g_autoptr (DvmdOutputFormat) self = dvmd_output_format_new ();
  g_auto (GStrv) items = g_strsplit (text != NULL ? text : "", ",", -1);

  for (guint i = 0; items[i] != NULL; i++)
    if (!parse_item (self, items[i], error))
      return NULL;
  if (!check_whole (self, error))
    return NULL;
  return g_steal_pointer (&self);
}

void
dvmd_output_format_free (DvmdOutputFormat *self)
{
  g_free (self->dir);
  g_free (self->file);
  g_free (self);
}

gboolean
dvmd_output_format_is_plain (const DvmdOutputFormat *self)
{
  return self->tag == DVMD_OUTPUT_TAG_NONE && !self->timestamp;
}

static void
append_time (gint64 time, GString *text)
{
  g_autoptr (GDateTime) utc = g_date_time_new_from_unix_utc (time / G_USEC_PER_SEC);
  g_autoptr (GDateTime) local = g_date_time_to_local (utc);
  g_autofree char *seconds = g_date_time_format (local, "%Y-%m-%dT%H:%M:%S");
  g_autofree char *zone = g_date_time_format (local, "%z");

  g_string_append_printf (text, "%s.%06d%s", seconds, (int)(time % G_USEC_PER_SEC), zone);
}

void
dvmd_output_format_append_tag (const DvmdOutputFormat *self, const DvmdOutputSource *source, GString *text)
{
  const char *host = source->host != NULL ? source->host : "unknown";

  if (dvmd_output_format_is_plain (self))
    return;
  if (self->timestamp)
    append_time (source->time, text);
  switch (self->tag)
    {
    case DVMD_OUTPUT_TAG_NONE:
      break;
    case DVMD_OUTPUT_TAG_SHORT:
      g_string_append_printf (text, "[%u,%u]", source->job, source->rank);
      break;
    case DVMD_OUTPUT_TAG_DETAILED:
      g_string_append_printf (text, "[%s,%u][%s:%" G_GINT64_FORMAT "]", source->nspace, source->rank, host,
                              source->pid);
      break;
    case DVMD_OUTPUT_TAG_FULLNAME:
      g_string_append_printf (text, "[%s,%u]", source->nspace, source->rank);
      break;
    case DVMD_OUTPUT_TAG_RANK:
      g_string_append_printf (text, "[%u]", source->rank);
      break;
    }
  g_string_append_printf (text, "<%s>: ", dvmd_stream_name (source->stream));
}

/* A name that is one component of a path. */
static void
append_component (GString *path, const char *name)
{
  for (const char *at = name; *at != '\0'; at++)
    g_string_append_c (path, *at == '/' ? '_' : *at);
}

static int
rank_width (guint n_ranks)
{
  int width = 1;

  for (guint last = n_ranks > 0 ? n_ranks - 1 : 0; last >= 10; last /= 10)
    width++;
  return width;
}

static void
append_pattern (const char *pattern, const DvmdOutputSource *source, GString *path)
{
  for (const char *at = pattern; *at != '\0'; at++)
    {
      if (*at != '%')
        {
          g_string_append_c (path, *at);
          continue;
        }
      at++;
      if (*at == 'n')
        append_component (path, source->nspace);
      else if (*at == 'r')
        g_string_append_printf (path, "%u", source->rank);
      else if (*at == 'R')
        g_string_append_printf (path, "%0*u", rank_width (source->n_ranks), source->rank);
      else if (*at == 'h')
        append_component (path, source->host != NULL ? source->host : "unknown");
      else
        g_string_append_c (path, '%');
    }
}

char *
dvmd_output_format_get_path (const DvmdOutputFormat *self, const DvmdOutputSource *source)
{
  GString *path;

  if (self->dir == NULL && self->file == NULL)
    return NULL;
  path = g_string_new (self->dir);
  if (self->dir != NULL)
    {
      g_string_append_c (path, '/');
      append_component (path, source->nspace);
      g_string_append_printf (path, "/rank.%u/%s", source->rank, dvmd_stream_name (source->stream));
      return g_string_free (path, FALSE);
    }
  if (self->pattern)
    append_pattern (self->file, source, path);
  else
    g_string_append_printf (path, "%s.%u", self->file, source->rank);
  g_string_append (path, source->stream == DVMD_STREAM_STDERR ? ".err" : ".out");
  return g_string_free (path, FALSE);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Words of placement become one struct: map-by, rank-by and bind-to together, without contradictions.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-placement-private.h"
#include "dvm-words-private.h"

enum
{
  BIND_OVERLOAD,
  BIND_NO_OVERLOAD,
  BIND_IF_SUPPORTED,
  BIND_LIMIT,
  BIND_REPORT,
};

static const DvmWord rank_by_words[] = {
  { "slot", DVM_RANK_BY_SLOT, TRUE },
  { "node", DVM_RANK_BY_NODE, TRUE },
  { "fill", DVM_RANK_BY_FILL, TRUE },
  { "span", DVM_RANK_BY_SPAN, TRUE },
};

static const DvmWord bind_to_words[] = {
  { "none", DVM_BIND_TO_NONE, TRUE },       { "hwthread", DVM_BIND_TO_HWTHREAD, TRUE },
  { "core", DVM_BIND_TO_CORE, TRUE },       { "l1cache", DVM_BIND_TO_L1CACHE, TRUE },
  { "l2cache", DVM_BIND_TO_L2CACHE, TRUE }, { "l3cache", DVM_BIND_TO_L3CACHE, TRUE },
  { "numa", DVM_BIND_TO_NUMA, TRUE },       { "package", DVM_BIND_TO_PACKAGE, TRUE },
};

static const DvmWord bind_qualifiers[] = {
  { "overload-allowed", BIND_OVERLOAD, TRUE },
  { "no-overload", BIND_NO_OVERLOAD, TRUE },
  { "if-supported", BIND_IF_SUPPORTED, TRUE },
  { "limit", BIND_LIMIT, TRUE },
  { "report", BIND_REPORT, TRUE },
};

G_GNUC_PRINTF (3, 4)
static gboolean
refuse_bind_to (const char *place, GError **error, const char *format, ...)
{
  g_autofree char *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%sbind-to: %s", place, message);
  return FALSE;
}

const DvmWord *
_dvm_placement_find_word (const DvmWord *words, gsize n_words, const char *text, gsize length, const char *place,
                          const char *what, GError **error)
{
  GError *local = NULL;
  const DvmWord *word = _dvm_words_find (words, n_words, text, length, place, what, &local);
  g_autoptr (GString) list = g_string_new (NULL);

  if (local == NULL)
    return word;
  for (gsize i = 0; i < n_words; i++)
    g_string_append_printf (list, "%s%s", i > 0 ? ", " : "", words[i].name);
  /* One that is the beginning of several is told which. */
  if (g_error_matches (local, DVM_ERROR, DVM_ERROR_BAD_PARAM) && !_dvm_words_has (words, n_words, text, length))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s (there are: %s)"), local->message, list->str);
  else
    g_propagate_error (error, g_steal_pointer (&local));
  g_clear_error (&local);
  return NULL;
}

/* ---- rank-by ---- */

static gboolean
read_rank_by (DvmPlacement *self, const char *text, const char *place, GError **error)
{
  const DvmWord *word;

  if (text == NULL)
    return TRUE;
  if (strchr (text, ':') != NULL || strchr (text, '=') != NULL)
    {
      g_autofree char *shown = _dvm_words_show (text);

      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   _ ("%srank-by: “%s”: it is one word, slot, node, fill or span, without qualifiers"), place, shown);
      return FALSE;
    }
  word = _dvm_placement_find_word (rank_by_words, G_N_ELEMENTS (rank_by_words), text, strlen (text), place, "rank-by",
                                   error);
  if (word == NULL)
    return FALSE;
  self->rank_by = word->value;
  self->rank_given = TRUE;
  return TRUE;
}

/* ---- bind-to ---- */

static gboolean
read_limit (DvmPlacement *self, const char *value, const char *place, GError **error)
{
  g_autofree char *shown = _dvm_words_show (value != NULL ? value : "");
  guint64 limit;

  if (value == NULL || !g_ascii_string_to_unsigned (value, 10, 1, G_MAXUINT16, &limit, NULL))
    return refuse_bind_to (place, error, _ ("“limit=%s”: it takes a number from 1 to %d"), shown, G_MAXUINT16);
  self->bind_limit = (guint)limit;
  return TRUE;
}

static gboolean
set_bind_qualifier (DvmPlacement *self, const DvmWord *word, const char *value, const char *place, GError **error)
{
  g_autofree char *shown = _dvm_words_show (value != NULL ? value : "");
  gboolean on;

  if (word->value == BIND_LIMIT)
    return read_limit (self, value, place, error);
  if (!_dvm_words_parse_boolean (value, &on))
    return refuse_bind_to (place, error, _ ("%s is “%s”; it can be yes or no"), word->name, shown);
  if (word->value == BIND_REPORT)
    self->report = on;
  else if (word->value == BIND_IF_SUPPORTED)
    self->if_supported = on;
  else
    {
      self->overload = (word->value == BIND_OVERLOAD) == on;
      self->no_overload = !self->overload;
    }
  return TRUE;
}

static gboolean
read_bind_qualifiers (DvmPlacement *self, char **parts, const char *place, GError **error)
{
  guint given = 0;

  for (gsize i = 0; parts[i] != NULL; i++)
    {
      gsize length = strcspn (parts[i], "=");
      const char *value = parts[i][length] == '=' ? parts[i] + length + 1 : NULL;
      const DvmWord *word = _dvm_placement_find_word (bind_qualifiers, G_N_ELEMENTS (bind_qualifiers), parts[i], length,
                                                      place, "bind-to", error);

      if (word == NULL)
        return FALSE;
      if ((given & (1u << word->value)) != 0)
        return refuse_bind_to (place, error, _ ("“%s” is given twice"), word->name);
      given |= 1u << word->value;
      if ((given & (1u << BIND_OVERLOAD)) != 0 && (given & (1u << BIND_NO_OVERLOAD)) != 0)
        return refuse_bind_to (place, error, _ ("“overload-allowed” and “no-overload” contradict each other"));
      if (!set_bind_qualifier (self, word, value, place, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
read_bind_to (DvmPlacement *self, const char *text, const char *place, GError **error)
{
  g_auto (GStrv) parts = NULL;
  const char *today;
  const DvmWord *word;

  if (text == NULL)
    return TRUE;
  parts = g_strsplit (text, ":", -1);
  /* Qualifiers alone are for the binding that there is without them. */
  if (parts[0] != NULL && parts[0][0] == '\0' && parts[1] != NULL)
    return read_bind_qualifiers (self, parts + 1, place, error);
  today = parts[0] == NULL ? "" : g_ascii_strcasecmp (parts[0], "socket") == 0 ? "package" : parts[0];
  word = _dvm_placement_find_word (bind_to_words, G_N_ELEMENTS (bind_to_words), today, strlen (today), place, "bind-to",
                                   error);
  if (word == NULL)
    return FALSE;
  self->bind_to = word->value;
  self->bind_given = TRUE;
  return read_bind_qualifiers (self, parts + 1, place, error);
}

/* ---- all of them ---- */

DvmPlacement *
_dvm_placement_parse (const char *map_by, const char *rank_by, const char *bind_to, const char *place, GError **error)
{
  g_autoptr (DvmPlacement) self = g_new0 (DvmPlacement, 1);
  DvmPlacementReader reader = { .placement = self, .place = place };

  self->oversubscribe = -1;
  self->inherit = -1;
  self->rest = g_new0 (char *, 1);
  if (!_dvm_placement_read_map_by (&reader, map_by, error) || !read_rank_by (self, rank_by, place, error)
      || !read_bind_to (self, bind_to, place, error) || !_dvm_placement_check (&reader, error))
    return NULL;
  if (self->arguments == NULL)
    self->arguments = g_new0 (char *, 1);
  return g_steal_pointer (&self);
}

void
_dvm_placement_free (DvmPlacement *self)
{
  if (self == NULL)
    return;
  g_free (self->word);
  g_free (self->value);
  g_strfreev (self->arguments);
  g_strfreev (self->rest);
  g_free (self);
}

/* ---- for completion ---- */

static gboolean
is_limit (int value)
{
  return value == BIND_LIMIT;
}

void
_dvm_placement_add_words (GVariantBuilder *rows)
{
  _dvm_map_by_add_words (rows);
  _dvm_words_add (rows, "rank-by", "word", rank_by_words, G_N_ELEMENTS (rank_by_words), NULL);
  _dvm_words_add (rows, "bind-to", "word", bind_to_words, G_N_ELEMENTS (bind_to_words), NULL);
  _dvm_words_add (rows, "bind-to", "qualifier", bind_qualifiers, G_N_ELEMENTS (bind_qualifiers), is_limit);
}

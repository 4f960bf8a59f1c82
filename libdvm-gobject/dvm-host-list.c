/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lists of hosts in which ranges of numbers stand in brackets.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-hosts"

#include "dvm-host-list.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-error.h"
#include "dvm-hosts-private.h"
#include "dvm-words-private.h"

/* Digits of one number at most. */
#define MOST_DIGITS 18
/* Bytes of the list in a message, before and behind the place of the mistake. */
#define SHOWN 20

typedef struct
{
  const char *text;
  const char *place;
  GPtrArray *names;
  GString *name; /* as far as it is known */
  gsize most;    /* names; more are not looked at */
  gboolean full;
} Expander;

static const char *expand_rest (Expander *self, const char *at, GError **error);

/* ---- mistakes ---- */

/* (nullable): always NULL */
static const char *
fail_at (Expander *self, const char *at, const char *reason, GError **error)
{
  const char *from = at - MIN (at - self->text, SHOWN);
  g_autofree char *around = g_strndup (from, (gsize)(at - from) + strnlen (at, SHOWN));
  g_autofree char *shown = _dvm_words_show (around);

  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("%s: byte %u, at “%s”: %s; a list of hosts is written n[001-128,200],login1"), self->place,
               (guint)(at - self->text) + 1, shown, reason);
  return NULL;
}

/* strspn() and strcspn() would look at the whole rest of a large text each time, where their arguments are checked. */

static gsize
count_digits (const char *at)
{
  gsize n = 0;

  while (g_ascii_isdigit (at[n]))
    n++;
  return n;
}

static const char *
find_bracket (const char *at)
{
  while (*at != '\0' && *at != '[' && *at != ']')
    at++;
  return at;
}

/* ---- one name ---- */

static const char *
add_name (Expander *self, const char *at, GError **error)
{
  if (self->name->len == 0)
    return fail_at (self, at, _ ("a name is missing"), error);
  self->full = self->names->len >= self->most;
  if (self->full)
    return NULL;
  if (self->names->len >= DVM_HOST_LIST_MOST_NAMES)
    return fail_at (self, at, _ ("these are more than a million names"), error);
  g_ptr_array_add (self->names, g_strndup (self->name->str, self->name->len));
  return at;
}

static const char *
read_number (Expander *self, const char *at, guint64 *number, GError **error)
{
  gsize n = count_digits (at);

  if (n == 0)
    return fail_at (self, at, _ ("a number is missing in the bracket"), error);
  if (n > MOST_DIGITS)
    return fail_at (self, at, _ ("a number has more than 18 digits"), error);
  *number = g_ascii_strtoull (at, NULL, 10);
  return at + n;
}

/* "001-128" or "200": each of these numbers, with all that follows the bracket */
static const char *
expand_range (Expander *self, const char *at, const char *rest, const char **end, GError **error)
{
  const char *start = at;
  gsize length = self->name->len;
  guint64 first, last;
  int width;

  at = read_number (self, at, &first, error);
  if (at == NULL)
    return NULL;
  width = (int)(at - start);
  last = first;
  if (*at == '-')
    at = read_number (self, at + 1, &last, error);
  if (at == NULL)
    return NULL;
  if (last < first)
    return fail_at (self, start, _ ("the range ends before it begins"), error);
  if (last - first >= DVM_HOST_LIST_MOST_NAMES)
    return fail_at (self, start, _ ("the range has more than a million names"), error);
  for (guint64 number = first; number <= last; number++)
    {
      g_string_append_printf (self->name, "%0*" G_GUINT64_FORMAT, width, number);
      *end = expand_rest (self, rest, error);
      if (*end == NULL)
        return NULL;
      g_string_truncate (self->name, length);
    }
  return at;
}

/* at: behind '['. Returns the end of the whole name. */
static const char *
expand_bracket (Expander *self, const char *at, GError **error)
{
  const char *stop = find_bracket (at);
  const char *end = NULL;

  if (*stop != ']')
    return fail_at (self, at - 1, *stop == '[' ? _ ("brackets are not nested") : _ ("the bracket is not closed"),
                    error);
  do
    {
      at = expand_range (self, at, stop + 1, &end, error);
      if (at == NULL)
        return NULL;
    }
  while (*at == ',' && at++ < stop);
  return at == stop ? end : fail_at (self, at, _ ("this is no range of numbers"), error);
}

/* The rest of a name: returns its end, a comma or the end of the text. */
static const char *
expand_rest (Expander *self, const char *at, GError **error)
{
  const char *start = at;

  while (g_ascii_isgraph (*at) ? strchr ("[],", *at) == NULL : (guchar)*at >= 0x80)
    at++;
  if (self->name->len + (gsize)(at - start) > DVM_HOST_LIST_MOST_BYTES)
    return fail_at (self, start, _ ("a name is longer than 255 bytes"), error);
  g_string_append_len (self->name, start, at - start);
  if (*at == '[')
    return expand_bracket (self, at + 1, error);
  if (*at == ',' || *at == '\0')
    return add_name (self, at, error);
  return fail_at (self, at, *at == ']' ? _ ("this bracket was not opened") : _ ("a name has no such character"), error);
}

/* ---- the list ---- */

/**
 * dvm_host_list_expand:
 * @list: names of hosts with commas between them, and ranges of numbers in brackets:
 * `n[001-128,200],rack[1-2]n[1-4]-ib`
 * @place: what the message of an error begins with, such as the name of a variable
 * @error: return location for an error
 *
 * Returns the names of a list, in its order. Numbers are as wide as the first one of their range, brackets are not
 * nested, and a name that comes twice is there twice.
 *
 * Returns: (transfer full) (array zero-terminated=1): the names; %NULL with %DVM_ERROR_BAD_PARAM, which says where the
 *   mistake is; an empty list is one, too
 *
 * Since: 0.1
 */
char **
dvm_host_list_expand (const char *list, const char *place, GError **error)
{
  return _dvm_host_list_expand_first (list, place, G_MAXSIZE, error);
}

char **
_dvm_host_list_expand_first (const char *list, const char *place, gsize most, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) name = g_string_new (NULL);
  Expander self = { .text = list, .place = place, .names = names, .name = name, .most = most };
  const char *at = list;
  const char *wrong;

  if (!g_utf8_validate (list, -1, &wrong))
    {
      fail_at (&self, wrong, _ ("this is no UTF-8"), error);
      return NULL;
    }
  do
    {
      g_string_truncate (name, 0);
      at = expand_rest (&self, at, error);
      if (at == NULL && !self.full)
        return NULL;
    }
  while (at != NULL && *at == ',' && at++ != NULL);
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

/* ---- names to a list ---- */

/* A name as it stands in a list: its first bytes, and the number behind them. */
typedef struct
{
  const char *name;
  gsize stem; /* bytes; that of the whole name where no number ends it */
  int width;  /* digits of the number */
  guint64 number;
} Word;

static Word
split_name (const char *name)
{
  Word word = { .name = name, .stem = strlen (name) };
  gsize stem = word.stem;

  while (stem > 0 && word.stem - stem < MOST_DIGITS && g_ascii_isdigit (name[stem - 1]))
    stem--;
  if (stem == 0 || stem == word.stem)
    return word;
  word.width = (int)(word.stem - stem);
  word.number = g_ascii_strtoull (name + stem, NULL, 10);
  word.stem = stem;
  return word;
}

static gboolean
have_one_stem (const Word *a, const Word *b)
{
  return a->width > 0 && b->width > 0 && a->stem == b->stem && strncmp (a->name, b->name, a->stem) == 0;
}

/* The numbers of a range are as wide as its first one, or wider where they need it. */
static gboolean
follows (const Word *first, const Word *last, const Word *next)
{
  g_autofree char *expected = g_strdup_printf ("%0*" G_GUINT64_FORMAT, first->width, last->number + 1);

  return have_one_stem (last, next) && strcmp (next->name + next->stem, expected) == 0;
}

static void
append_range (GString *list, const Word *first, const Word *last)
{
  g_string_append (list, first->name + first->stem);
  if (last->number > first->number)
    g_string_append_printf (list, "-%s", last->name + last->stem);
}

/* One range after another, of names with one stem. Returns the index behind them. */
static gsize
append_stem (GString *list, const Word *words, gsize at, gsize n_words)
{
  const Word *word = &words[at];
  gboolean alone = at + 1 == n_words || !have_one_stem (word, word + 1);

  if (alone)
    {
      g_string_append (list, word->name);
      return at + 1;
    }
  g_string_append_len (list, word->name, (gssize)word->stem);
  for (char mark = '['; at < n_words && have_one_stem (word, &words[at]); mark = ',')
    {
      gsize last = at;

      while (last + 1 < n_words && follows (&words[at], &words[last], &words[last + 1]))
        last++;
      g_string_append_c (list, mark);
      append_range (list, &words[at], &words[last]);
      at = last + 1;
    }
  g_string_append_c (list, ']');
  return at;
}

/**
 * dvm_host_list_compress:
 * @names: (array length=n_names): names of hosts, which have none of `[],`
 * @n_names: how many; -1: the array ends itself, as those of strings do
 *
 * Makes a list that dvm_host_list_expand() turns into these names again, in this order: numbers at the end of names
 * that follow each other are written as ranges.
 *
 * Returns: (transfer full): the list; empty without names
 *
 * Since: 0.1
 */
char *
dvm_host_list_compress (const char *const *names, gssize n_names)
{
  gsize n = n_names < 0 ? g_strv_length ((GStrv)names) : (gsize)n_names;
  g_autofree Word *words = g_new (Word, n);
  GString *list = g_string_new (NULL);

  for (gsize i = 0; i < n; i++)
    words[i] = split_name (names[i]);
  for (gsize at = 0; at < n;)
    {
      if (at > 0)
        g_string_append_c (list, ',');
      at = append_stem (list, words, at, n);
    }
  return g_string_free (list, FALSE);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A set of ids is read, written and kept as sorted ranges.
 */

#include "config.h"

#include <string.h>

#include <dvm.h>

#include "dvmd-id-set.h"

struct _DvmdIdSet
{
  GArray *ranges; /* of DvmdIdRange, sorted, with a gap between each two */
};

DvmdIdSet *
dvmd_id_set_new (void)
{
  DvmdIdSet *self = g_new0 (DvmdIdSet, 1);

  self->ranges = g_array_new (FALSE, FALSE, sizeof (DvmdIdRange));
  return self;
}

DvmdIdSet *
dvmd_id_set_new_all (void)
{
  DvmdIdSet *self = dvmd_id_set_new ();

  dvmd_id_set_add_range (self, 0, G_MAXUINT);
  return self;
}

void
dvmd_id_set_free (DvmdIdSet *self)
{
  g_array_unref (self->ranges);
  g_free (self);
}

static DvmdIdRange *
get_range (DvmdIdSet *self, guint index)
{
  return &g_array_index (self->ranges, DvmdIdRange, index);
}

/* Index of the first range that ends at id or behind it. */
static guint
lower_bound (DvmdIdSet *self, guint id)
{
  guint low = 0;
  guint high = self->ranges->len;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (get_range (self, middle)->last < id)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

void
dvmd_id_set_add (DvmdIdSet *self, guint id)
{
  dvmd_id_set_add_range (self, id, id);
}

void
dvmd_id_set_add_range (DvmdIdSet *self, guint first, guint last)
{
  DvmdIdRange range = { first, last };
  guint from;
  guint to;

  g_return_if_fail (first <= last);

  /* Ranges that touch the new one melt into it. */
  from = lower_bound (self, first > 0 ? first - 1 : 0);
  for (to = from; to < self->ranges->len; to++)
    {
      const DvmdIdRange *other = get_range (self, to);

      if (last != G_MAXUINT && other->first > last + 1)
        break;
      range.first = MIN (range.first, other->first);
      range.last = MAX (range.last, other->last);
    }
  if (to > from)
    {
      *get_range (self, from) = range;
      if (to > from + 1)
        g_array_remove_range (self->ranges, from + 1, to - from - 1);
    }
  else
    g_array_insert_val (self->ranges, from, range);
}

void
dvmd_id_set_add_part (DvmdIdSet *self, DvmdIdSet *other, guint first, guint last)
{
  for (guint i = lower_bound (other, first); i < other->ranges->len && get_range (other, i)->first <= last; i++)
    dvmd_id_set_add_range (self, MAX (first, get_range (other, i)->first), MIN (last, get_range (other, i)->last));
}

gboolean
dvmd_id_set_contains (DvmdIdSet *self, guint id)
{
  guint index = lower_bound (self, id);

  return index < self->ranges->len && get_range (self, index)->first <= id;
}

gboolean
dvmd_id_set_is_empty (DvmdIdSet *self)
{
  return self->ranges->len == 0;
}

guint64
dvmd_id_set_count (DvmdIdSet *self)
{
  guint64 count = 0;

  for (guint i = 0; i < self->ranges->len; i++)
    count += (guint64)get_range (self, i)->last - get_range (self, i)->first + 1;
  return count;
}

gboolean
dvmd_id_set_next (DvmdIdSet *self, guint from, guint *id)
{
  guint index = lower_bound (self, from);

  if (index >= self->ranges->len)
    return FALSE;
  *id = MAX (from, get_range (self, index)->first);
  return TRUE;
}

gboolean
dvmd_id_set_last_start (DvmdIdSet *self, guint *id)
{
  if (self->ranges->len == 0)
    return FALSE;
  *id = get_range (self, self->ranges->len - 1)->first;
  return TRUE;
}

/* Digits alone: no sign, no blanks. */
static gboolean
parse_number (const char **position, guint *number)
{
  const char *p = *position;
  guint64 value = 0;

  if (!g_ascii_isdigit (*p))
    return FALSE;
  for (; g_ascii_isdigit (*p); p++)
    {
      value = value * 10 + (guint64)(*p - '0');
      if (value > G_MAXUINT)
        return FALSE;
    }
  *number = (guint)value;
  *position = p;
  return TRUE;
}

static void
set_parse_error (GError **error, const char *what, const char *text, const char *position, const char *problem)
{
  g_autofree char *shown = g_utf8_make_valid (position, MIN (strlen (position), 20));

  g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED,
               "%s: at character %zu (\"%s\"): %s; right is a list like 0-99,200 of numbers up to %u", what,
               (gsize)(position - text) + 1, shown, problem, G_MAXUINT);
}

static gboolean
parse_range (const char *what, const char *text, const char **position, DvmdIdRange *range, GError **error)
{
  const char *start = *position;

  if (!parse_number (position, &range->first))
    {
      set_parse_error (error, what, text, *position, "no number that fits");
      return FALSE;
    }
  range->last = range->first;
  if (**position != '-')
    return TRUE;
  (*position)++;
  if (!parse_number (position, &range->last))
    {
      set_parse_error (error, what, text, *position, "no number that fits");
      return FALSE;
    }
  if (range->last < range->first)
    {
      set_parse_error (error, what, text, start, "the range ends before it starts");
      return FALSE;
    }
  return TRUE;
}

static int
compare_ranges (gconstpointer a, gconstpointer b)
{
  const DvmdIdRange *left = a;
  const DvmdIdRange *right = b;

  return left->first < right->first ? -1 : left->first > right->first;
}

DvmdIdSet *
dvmd_id_set_new_from_ranges (GArray *ranges)
{
  DvmdIdSet *self = dvmd_id_set_new ();

  g_array_sort (ranges, compare_ranges);
  for (guint i = 0; i < ranges->len; i++)
    dvmd_id_set_add_range (self, g_array_index (ranges, DvmdIdRange, i).first,
                           g_array_index (ranges, DvmdIdRange, i).last);
  return self;
}

DvmdIdSet *
dvmd_id_set_parse (const char *text, const char *what, GError **error)
{
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof (DvmdIdRange));
  const char *position = text;

  if (text[0] == '\0')
    return dvmd_id_set_new_all ();
  for (;;)
    {
      DvmdIdRange range;

      if (!parse_range (what, text, &position, &range, error))
        return NULL;
      g_array_append_val (ranges, range);
      if (*position == '\0')
        break;
      if (*position != ',')
        {
          set_parse_error (error, what, text, position, "neither a comma nor the end");
          return NULL;
        }
      position++;
    }
  return dvmd_id_set_new_from_ranges (ranges);
}

char *
dvmd_id_set_format (DvmdIdSet *self)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < self->ranges->len; i++)
    {
      const DvmdIdRange *range = get_range (self, i);

      g_string_append_printf (text, "%s%u", i == 0 ? "" : ",", range->first);
      if (range->last > range->first)
        g_string_append_printf (text, "-%u", range->last);
    }
  return g_string_free (text, FALSE);
}

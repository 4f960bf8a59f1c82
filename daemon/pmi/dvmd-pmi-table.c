/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The keys and values of a job. Nodes tell each other of them by lines "key=value", behind one without a key that has
 * the number of their program.
 */

#include "config.h"

#include "dvmd-pmi-table.h"

#include <string.h>

struct _DvmdPmiTable
{
  GHashTable *values; /* key -> value */
  gsize size;         /* bytes of these */
  GString *news;      /* lines that no other node knows of yet */
};

DvmdPmiTable *
dvmd_pmi_table_new (void)
{
  DvmdPmiTable *self = g_new0 (DvmdPmiTable, 1);

  self->values = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->news = g_string_new (NULL);
  return self;
}

void
dvmd_pmi_table_free (DvmdPmiTable *self)
{
  g_hash_table_unref (self->values);
  g_string_free (self->news, TRUE);
  g_free (self);
}

/* The memory of a pair besides its text. */
#define PAIR_SIZE 64

DvmdPmiPut
dvmd_pmi_table_check (const char *key, const char *value)
{
  if (key[0] == '\0' || strlen (key) > DVMD_PMI_KEY_MAX || strpbrk (key, " =\n") != NULL)
    return DVMD_PMI_BAD_KEY;
  if (strlen (value) > DVMD_PMI_VALUE_MAX || strpbrk (value, " \n") != NULL)
    return DVMD_PMI_BAD_VALUE;
  return DVMD_PMI_PUT;
}

static DvmdPmiPut
store (DvmdPmiTable *self, const char *key, const char *value)
{
  DvmdPmiPut result = dvmd_pmi_table_check (key, value);
  const char *old;
  gsize size;

  if (result != DVMD_PMI_PUT)
    return result;
  old = g_hash_table_lookup (self->values, key);
  size = self->size + strlen (value) + (old != NULL ? 0 : strlen (key) + PAIR_SIZE) - (old != NULL ? strlen (old) : 0);
  if (size > DVMD_PMI_TABLE_LIMIT)
    return DVMD_PMI_NO_ROOM;
  self->size = size;
  g_hash_table_replace (self->values, g_strdup (key), g_strdup (value));
  return DVMD_PMI_PUT;
}

void
dvmd_pmi_table_seed (DvmdPmiTable *self, const char *key, const char *value)
{
  store (self, key, value);
}

DvmdPmiPut
dvmd_pmi_table_put (DvmdPmiTable *self, const char *key, const char *value)
{
  DvmdPmiPut result;

  /* A rank that puts one key for ever, and never comes to a barrier. */
  if (self->news->len > DVMD_PMI_TABLE_LIMIT)
    return DVMD_PMI_NO_ROOM;
  result = store (self, key, value);
  if (result == DVMD_PMI_PUT)
    g_string_append_printf (self->news, "%s=%s\n", key, value);
  return result;
}

const char *
dvmd_pmi_table_get (const DvmdPmiTable *self, const char *key)
{
  return g_hash_table_lookup (self->values, key);
}

GBytes *
dvmd_pmi_table_take_news (DvmdPmiTable *self, guint program)
{
  g_autofree char *line = g_strdup_printf ("=%u\n", program);
  GString *news = g_string_prepend (self->news, line);

  self->news = g_string_new (NULL);
  return g_string_free_to_bytes (news);
}

static DvmdPmiMerge
compare_program (const char *text, guint program)
{
  guint64 number;

  if (!g_ascii_string_to_unsigned (text, 10, 1, G_MAXUINT, &number, NULL))
    return DVMD_PMI_NO_NEWS;
  return number == program ? DVMD_PMI_MERGED : DVMD_PMI_OTHER_PROGRAM;
}

/* line: without its line feed */
static DvmdPmiMerge
merge_line (DvmdPmiTable *self, const char *line, gsize length, guint program)
{
  g_autofree char *key = g_strndup (line, length);
  char *value = strchr (key, '=');

  if (value == NULL || strlen (key) != length)
    return DVMD_PMI_NO_NEWS;
  *value++ = '\0';
  if (key[0] == '\0')
    return compare_program (value, program);
  return store (self, key, value) == DVMD_PMI_PUT ? DVMD_PMI_MERGED : DVMD_PMI_NO_NEWS;
}

DvmdPmiMerge
dvmd_pmi_table_merge (DvmdPmiTable *self, GBytes *news, guint program)
{
  DvmdPmiMerge result = DVMD_PMI_MERGED;
  gsize size;
  const char *text = g_bytes_get_data (news, &size);

  while (size > 0 && result == DVMD_PMI_MERGED)
    {
      const char *end = memchr (text, '\n', size);

      if (end == NULL)
        return DVMD_PMI_NO_NEWS;
      result = merge_line (self, text, (gsize)(end - text), program);
      size -= (gsize)(end - text) + 1;
      text = end + 1;
    }
  return result;
}

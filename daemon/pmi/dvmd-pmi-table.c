/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The keys and values of a job. Nodes tell each other of them by lines "key=value".
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

static DvmdPmiPut
store (DvmdPmiTable *self, const char *key, const char *value)
{
  const char *old;
  gsize size;

  if (key[0] == '\0' || strlen (key) > DVMD_PMI_KEY_MAX || strpbrk (key, " =\n") != NULL)
    return DVMD_PMI_BAD_KEY;
  if (strlen (value) > DVMD_PMI_VALUE_MAX || strpbrk (value, " \n") != NULL)
    return DVMD_PMI_BAD_VALUE;
  old = g_hash_table_lookup (self->values, key);
  size = self->size + strlen (value) + (old != NULL ? 0 : strlen (key) + PAIR_SIZE) - (old != NULL ? strlen (old) : 0);
  if (size > DVMD_PMI_TABLE_LIMIT)
    return DVMD_PMI_NO_ROOM;
  self->size = size;
  g_hash_table_replace (self->values, g_strdup (key), g_strdup (value));
  return DVMD_PMI_PUT;
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
dvmd_pmi_table_take_news (DvmdPmiTable *self)
{
  GString *news = self->news;

  self->news = g_string_new (NULL);
  return g_string_free_to_bytes (news);
}

/* line: without its line feed */
static gboolean
merge_line (DvmdPmiTable *self, const char *line, gsize length)
{
  g_autofree char *key = g_strndup (line, length);
  char *value = strchr (key, '=');

  if (value == NULL || strlen (key) != length)
    return FALSE;
  *value++ = '\0';
  return store (self, key, value) == DVMD_PMI_PUT;
}

gboolean
dvmd_pmi_table_merge (DvmdPmiTable *self, GBytes *news)
{
  gsize size;
  const char *text = g_bytes_get_data (news, &size);

  while (size > 0)
    {
      const char *end = memchr (text, '\n', size);

      if (end == NULL || !merge_line (self, text, (gsize)(end - text)))
        return FALSE;
      size -= (gsize)(end - text) + 1;
      text = end + 1;
    }
  return TRUE;
}

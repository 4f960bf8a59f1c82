/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Environments of processes that have most in common are put together, one over the other.
 */

#include "config.h"

#include "dvmd-variables.h"

#include <string.h>

struct _DvmdVariables
{
  const DvmdVariables *below; /* (nullable) (unowned) */
  GPtrArray *entries;         /* in their order; NULL where one was removed */
  GPtrArray *owned;           /* the texts that are not of the one below */
  GHashTable *index;          /* entry, of which only the name counts -> position + 1, or 0: it was removed */
  GPtrArray *vector;          /* (nullable) */
};

static guint
name_hash (gconstpointer data)
{
  guint32 hash = 5381;

  for (const char *p = data; *p != '\0' && *p != '='; p++)
    hash = hash * 33 + (guchar)*p;
  return hash;
}

/* Two entries, or an entry and a name. */
static gboolean
name_equal (gconstpointer data1, gconstpointer data2)
{
  const char *a = data1;
  const char *b = data2;

  while (*a == *b && *a != '\0' && *a != '=')
    {
      a++;
      b++;
    }
  return (*a == '\0' || *a == '=') && (*b == '\0' || *b == '=');
}

DvmdVariables *
dvmd_variables_new (const DvmdVariables *below)
{
  DvmdVariables *self = g_new0 (DvmdVariables, 1);

  self->below = below;
  self->entries = below != NULL ? g_ptr_array_copy (below->entries, NULL, NULL) : g_ptr_array_new ();
  self->owned = g_ptr_array_new_with_free_func (g_free);
  self->index = g_hash_table_new (name_hash, name_equal);
  return self;
}

void
dvmd_variables_free (DvmdVariables *self)
{
  g_hash_table_unref (self->index);
  g_ptr_array_unref (self->owned);
  g_ptr_array_unref (self->entries);
  g_clear_pointer (&self->vector, g_ptr_array_unref);
  g_free (self);
}

/* Its position + 1, 0 if it is not there. */
static guint
find_position (const DvmdVariables *self, const char *name)
{
  gpointer position;

  if (g_hash_table_lookup_extended (self->index, name, NULL, &position))
    return GPOINTER_TO_UINT (position);
  return self->below != NULL ? find_position (self->below, name) : 0;
}

/* entry: (transfer full) */
static void
take_entry (DvmdVariables *self, char *entry)
{
  guint position = find_position (self, entry);

  g_ptr_array_add (self->owned, entry);
  if (position > 0)
    g_ptr_array_index (self->entries, position - 1) = entry;
  else
    g_ptr_array_add (self->entries, entry);
  g_hash_table_replace (self->index, entry, GUINT_TO_POINTER (position > 0 ? position : self->entries->len));
}

void
dvmd_variables_put (DvmdVariables *self, const char *entry)
{
  take_entry (self, g_strdup (entry));
}

void
dvmd_variables_put_all (DvmdVariables *self, const char *const *entries)
{
  for (gsize i = 0; entries != NULL && entries[i] != NULL; i++)
    dvmd_variables_put (self, entries[i]);
}

void
dvmd_variables_take_all (DvmdVariables *self, GStrv entries)
{
  for (gsize i = 0; entries != NULL && entries[i] != NULL; i++)
    take_entry (self, entries[i]);
  g_free (entries);
}

void
dvmd_variables_printf (DvmdVariables *self, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  take_entry (self, g_strdup_vprintf (format, args));
  va_end (args);
}

void
dvmd_variables_remove (DvmdVariables *self, const char *name)
{
  guint position = find_position (self, name);
  char *key;

  if (position == 0)
    return;
  g_ptr_array_index (self->entries, position - 1) = NULL;
  key = g_strdup (name);
  g_ptr_array_add (self->owned, key);
  g_hash_table_replace (self->index, key, NULL);
}

const char *
dvmd_variables_get (const DvmdVariables *self, const char *name)
{
  guint position = find_position (self, name);
  const char *mark = position > 0 ? strchr (g_ptr_array_index (self->entries, position - 1), '=') : NULL;

  return mark != NULL ? mark + 1 : NULL;
}

const char *const *
dvmd_variables_get_vector (DvmdVariables *self)
{
  g_clear_pointer (&self->vector, g_ptr_array_unref);
  self->vector = g_ptr_array_sized_new (self->entries->len + 1);
  for (guint i = 0; i < self->entries->len; i++)
    if (g_ptr_array_index (self->entries, i) != NULL)
      g_ptr_array_add (self->vector, g_ptr_array_index (self->entries, i));
  g_ptr_array_add (self->vector, NULL);
  return (const char *const *)self->vector->pdata;
}

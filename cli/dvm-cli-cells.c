/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Of thousands of objects each number is read where the answer has it, and a column is looked up by its name once.
 */

#include "config.h"

#include "dvm-cli-cells.h"

#include <string.h>

/* All values of one name */
typedef struct
{
  GVariant *values;
  const GVariantType *type; /* of one of them */
  gsize n;
  gconstpointer numbers; /* (nullable): as they lie in a row, where each is of one size */
  const char **texts;    /* (nullable): as they lie in a row */
} Column;

void
dvm_cli_cells_init (DvmCliCells *self, GVariant *values)
{
  *self = (DvmCliCells){ .values = values };
}

static void
column_free (gpointer data)
{
  Column *column = data;

  g_variant_unref (column->values);
  g_free (column->texts);
  g_free (column);
}

/* In the normal form of an array each text stands behind the one before it. */
static const char **
list_texts (GVariant *values, gsize n)
{
  const char **texts = g_new (const char *, n);
  const char *text = g_variant_get_data (values);

  for (gsize i = 0; i < n; i++, text += strlen (text) + 1)
    texts[i] = text;
  return texts;
}

/* values: (transfer full) */
static Column *
column_new (GVariant *values)
{
  Column *column = g_new0 (Column, 1);

  column->values = values;
  if (!g_variant_is_of_type (values, G_VARIANT_TYPE_ARRAY))
    return column;
  column->type = g_variant_type_element (g_variant_get_type (values));
  column->n = g_variant_n_children (values);
  if (g_variant_type_equal (column->type, G_VARIANT_TYPE_UINT32)
      || g_variant_type_equal (column->type, G_VARIANT_TYPE_UINT64)
      || g_variant_type_equal (column->type, G_VARIANT_TYPE_BOOLEAN))
    column->numbers = g_variant_get_data (values);
  else if (g_variant_type_equal (column->type, G_VARIANT_TYPE_STRING))
    column->texts = list_texts (values, column->n);
  return column;
}

/* (transfer full) */
static GVariant *
unpack (GVariant *values)
{
  g_autoptr (GVariant) packed = g_variant_lookup_value (values, "Packed", G_VARIANT_TYPE_BYTESTRING);
  g_autoptr (GBytes) bytes = packed != NULL ? g_variant_get_data_as_bytes (packed) : NULL;
  g_autoptr (GVariant) whole = NULL;

  if (packed == NULL)
    return g_variant_ref (values);
  whole = g_variant_ref_sink (g_variant_new_from_bytes (G_VARIANT_TYPE_VARDICT, bytes, FALSE));
  return G_BYTE_ORDER == G_BIG_ENDIAN ? g_variant_byteswap (whole) : g_variant_get_normal_form (whole);
}

gsize
dvm_cli_cells_init_columns (DvmCliCells *self, GVariant *values)
{
  gsize n = 0;
  GVariantIter iter;
  const char *name;
  GVariant *value;

  *self = (DvmCliCells){ .unpacked = unpack (values) };
  self->values = self->unpacked;
  self->columns = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, column_free);
  self->found = g_hash_table_new (NULL, NULL);
  g_variant_iter_init (&iter, self->values);
  while (g_variant_iter_next (&iter, "{&sv}", &name, &value))
    {
      Column *column = column_new (value);

      /* The first one has a value for each object, and others may have one for all. No column is read behind its end.
       */
      if (g_hash_table_size (self->columns) == 0)
        n = column->n;
      else if (column->n != 1)
        n = MIN (n, column->n);
      g_hash_table_insert (self->columns, g_strdup (name), column);
    }
  return n;
}

void
dvm_cli_cells_clear (DvmCliCells *self)
{
  g_clear_pointer (&self->found, g_hash_table_unref);
  g_clear_pointer (&self->columns, g_hash_table_unref);
  g_clear_pointer (&self->unpacked, g_variant_unref);
}

/* (nullable): NULL: there is none, or it is of another type */
static const Column *
find_column (const DvmCliCells *self, const char *key, const GVariantType *type)
{
  gpointer column;

  if (!g_hash_table_lookup_extended (self->found, key, NULL, &column))
    {
      column = g_hash_table_lookup (self->columns, key);
      g_hash_table_insert (self->found, (gpointer)key, column);
    }
  if (column == NULL || ((Column *)column)->type == NULL)
    return NULL;
  return g_variant_type_is_subtype_of (((Column *)column)->type, type) ? column : NULL;
}

static gsize
get_row (const DvmCliCells *self, const Column *column)
{
  return column->n > 1 ? self->row : 0;
}

/* (transfer full) (nullable): NULL: there is none, or it is of another type */
static GVariant *
find_value (const DvmCliCells *self, const char *key, const GVariantType *type)
{
  const Column *column;

  if (self->columns == NULL)
    return g_variant_lookup_value (self->values, key, type);
  column = find_column (self, key, type);
  return column != NULL ? g_variant_get_child_value (column->values, get_row (self, column)) : NULL;
}

guint
dvm_cli_cells_get_uint (const DvmCliCells *self, const char *key)
{
  const Column *column;
  guint number = 0;

  if (self->columns == NULL)
    {
      g_variant_lookup (self->values, key, "u", &number);
      return number;
    }
  column = find_column (self, key, G_VARIANT_TYPE_UINT32);
  return column != NULL ? ((const guint32 *)column->numbers)[get_row (self, column)] : 0;
}

gint64
dvm_cli_cells_get_time (const DvmCliCells *self, const char *key)
{
  const Column *column;
  guint64 time = 0;

  if (self->columns == NULL)
    {
      g_variant_lookup (self->values, key, "t", &time);
      return (gint64)time;
    }
  column = find_column (self, key, G_VARIANT_TYPE_UINT64);
  return column != NULL ? ((const gint64 *)column->numbers)[get_row (self, column)] : 0;
}

gboolean
dvm_cli_cells_get_boolean (const DvmCliCells *self, const char *key)
{
  const Column *column;
  gboolean is_so = FALSE;

  if (self->columns == NULL)
    {
      g_variant_lookup (self->values, key, "b", &is_so);
      return is_so;
    }
  column = find_column (self, key, G_VARIANT_TYPE_BOOLEAN);
  return column != NULL && ((const guint8 *)column->numbers)[get_row (self, column)] != 0;
}

const char *
dvm_cli_cells_get_text (const DvmCliCells *self, const char *key)
{
  const Column *column;
  const char *text = "";

  if (self->columns == NULL)
    {
      g_variant_lookup (self->values, key, "&s", &text);
      return text;
    }
  column = find_column (self, key, G_VARIANT_TYPE_STRING);
  return column != NULL ? column->texts[get_row (self, column)] : "";
}

const char **
dvm_cli_cells_get_list (const DvmCliCells *self, const char *key)
{
  g_autoptr (GVariant) value = find_value (self, key, G_VARIANT_TYPE_ARRAY);

  if (value == NULL)
    return NULL;
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_STRING_ARRAY))
    return g_variant_get_strv (value, NULL);
  return g_variant_is_of_type (value, G_VARIANT_TYPE_OBJECT_PATH_ARRAY) ? g_variant_get_objv (value, NULL) : NULL;
}

void
dvm_cli_cells_append_joined (const DvmCliCells *self, const char *key, const char *separator, GString *text)
{
  g_autoptr (GVariant) value = find_value (self, key, G_VARIANT_TYPE_STRING_ARRAY);
  gsize n = value != NULL ? g_variant_n_children (value) : 0;
  const char *item = n > 0 ? g_variant_get_data (value) : NULL;

  for (gsize i = 0; i < n; i++, item += strlen (item) + 1)
    {
      g_string_append (text, i > 0 ? separator : "");
      g_string_append (text, item);
    }
}

guint
dvm_cli_cells_count_items (const DvmCliCells *self, const char *key)
{
  g_autoptr (GVariant) value = find_value (self, key, G_VARIANT_TYPE_ARRAY);

  return value != NULL ? (guint)g_variant_n_children (value) : 0;
}

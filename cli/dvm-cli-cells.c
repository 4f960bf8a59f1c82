/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Of thousands of objects each value is found by the name of its column, which is looked up, and not searched for.
 */

#include "config.h"

#include "dvm-cli-cells.h"

void
dvm_cli_cells_init (DvmCliCells *self, GVariant *values)
{
  *self = (DvmCliCells){ .values = values };
}

gsize
dvm_cli_cells_init_columns (DvmCliCells *self, GVariant *values)
{
  gsize n = 0;
  GVariantIter iter;
  const char *name;
  GVariant *column;

  *self = (DvmCliCells){ .values = values };
  self->columns = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_variant_unref);
  g_variant_iter_init (&iter, values);
  while (g_variant_iter_next (&iter, "{&sv}", &name, &column))
    {
      gsize n_values = g_variant_is_of_type (column, G_VARIANT_TYPE_ARRAY) ? g_variant_n_children (column) : 0;

      /* The first one has a value for each object, and others may have one for all. No column is read behind its end.
       */
      if (g_hash_table_size (self->columns) == 0)
        n = n_values;
      else if (n_values != 1)
        n = MIN (n, n_values);
      g_hash_table_insert (self->columns, g_strdup (name), column);
    }
  return n;
}

void
dvm_cli_cells_clear (DvmCliCells *self)
{
  g_clear_pointer (&self->columns, g_hash_table_unref);
}

/* (transfer full) (nullable): NULL: there is none, or it is of another type */
static GVariant *
find_value (const DvmCliCells *self, const char *key, const GVariantType *type)
{
  g_autoptr (GVariant) value = NULL;
  GVariant *column;

  if (self->columns == NULL)
    return g_variant_lookup_value (self->values, key, type);
  column = g_hash_table_lookup (self->columns, key);
  if (column == NULL)
    return NULL;
  value = g_variant_get_child_value (column, g_variant_n_children (column) > 1 ? self->row : 0);
  return g_variant_is_of_type (value, type) ? g_steal_pointer (&value) : NULL;
}

guint
dvm_cli_cells_get_uint (const DvmCliCells *self, const char *key)
{
  g_autoptr (GVariant) value = find_value (self, key, G_VARIANT_TYPE_UINT32);

  return value != NULL ? g_variant_get_uint32 (value) : 0;
}

gint64
dvm_cli_cells_get_time (const DvmCliCells *self, const char *key)
{
  g_autoptr (GVariant) value = find_value (self, key, G_VARIANT_TYPE_UINT64);

  return value != NULL ? (gint64)g_variant_get_uint64 (value) : 0;
}

gboolean
dvm_cli_cells_get_boolean (const DvmCliCells *self, const char *key)
{
  g_autoptr (GVariant) value = find_value (self, key, G_VARIANT_TYPE_BOOLEAN);

  return value != NULL && g_variant_get_boolean (value);
}

const char *
dvm_cli_cells_get_text (const DvmCliCells *self, const char *key)
{
  g_autoptr (GVariant) value = find_value (self, key, G_VARIANT_TYPE_STRING);

  return value != NULL ? g_variant_get_string (value, NULL) : "";
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

guint
dvm_cli_cells_count_items (const DvmCliCells *self, const char *key)
{
  g_autoptr (GVariant) value = find_value (self, key, G_VARIANT_TYPE_ARRAY);

  return value != NULL ? (guint)g_variant_n_children (value) : 0;
}

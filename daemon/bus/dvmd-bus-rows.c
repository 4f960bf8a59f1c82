/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Long answers come in pages: as many rows as fit, and the ids of the rest.
 */

#include "config.h"

#include "dvmd-bus-call.h"
#include "dvmd-bus-hidden.h"
#include "dvmd-bus-rows.h"

#include <string.h>

void
dvmd_bus_rows_init (DvmdBusRows *rows, const GVariantType *type, guint limit)
{
  g_variant_builder_init (&rows->builder, type);
  rows->records = NULL;
  rows->rest = dvmd_id_set_new ();
  rows->n_rows = 0;
  rows->limit = limit == 0 ? DVMD_BUS_MAX_ROWS : MIN (limit, DVMD_BUS_MAX_ROWS);
  rows->n_bytes = 0;
}

gboolean
dvmd_bus_rows_want (DvmdBusRows *rows, guint id)
{
  if (rows->n_rows < rows->limit && rows->n_bytes < DVMD_BUS_MAX_BYTES)
    return TRUE;
  dvmd_id_set_add (rows->rest, id);
  return FALSE;
}

void
dvmd_bus_rows_add (DvmdBusRows *rows, GVariant *row)
{
  rows->n_rows++;
  rows->n_bytes += g_variant_get_size (row);
  g_variant_builder_add_value (&rows->builder, row);
}

GVariant *
dvmd_bus_rows_end (DvmdBusRows *rows)
{
  g_autofree char *rest = dvmd_id_set_format (rows->rest);
  GVariant *children[2] = { g_variant_builder_end (&rows->builder), g_variant_new_string (rest) };

  g_clear_pointer (&rows->rest, dvmd_id_set_free);
  return g_variant_new_tuple (children, 2);
}

static gboolean
is_field (const char *name, const DvmRecordField *fields, guint n_fields)
{
  for (guint i = 0; i < n_fields; i++)
    if (strcmp (fields[i].bus_name, name) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
refuse_column (const char *column, const char *first, const char *second, GError **error)
{
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "columns: there is no property “%s”; they are called as on the object, such as %s and %s", column, first,
               second);
  return FALSE;
}

gboolean
dvmd_bus_check_columns (const char *const *columns, const DvmRecordField *fields, guint n_fields, GError **error)
{
  for (gsize i = 0; columns != NULL && columns[i] != NULL; i++)
    if (!is_field (columns[i], fields, n_fields))
      return refuse_column (columns[i], fields[0].bus_name, fields[1].bus_name, error);
  return TRUE;
}

gboolean
dvmd_bus_check_properties (const GDBusInterfaceInfo *info, const char *const *columns, GError **error)
{
  for (gsize i = 0; columns != NULL && columns[i] != NULL; i++)
    if (g_dbus_interface_info_lookup_property ((GDBusInterfaceInfo *)info, columns[i]) == NULL)
      return refuse_column (columns[i], info->properties[0]->name, info->properties[1]->name, error);
  return TRUE;
}

GVariant *
dvmd_bus_record_row (gpointer record, const DvmRecordField *fields, guint n_fields, const char *const *columns,
                     gboolean sparse)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (guint i = 0; i < n_fields; i++)
    if ((columns == NULL || g_strv_contains (columns, fields[i].bus_name))
        && !(sparse && _dvm_record_field_is_empty (record, &fields[i])))
      _dvm_record_add_field (&builder, record, &fields[i]);
  return g_variant_builder_end (&builder);
}

void
dvmd_bus_telling_choose (DvmdBusTelling *telling, const char *const *columns)
{
  telling->columns = columns;
  telling->told = 0;
  for (guint i = 0; i < telling->n_fields; i++)
    if (columns == NULL || g_strv_contains (columns, telling->fields[i].bus_name))
      telling->told |= G_GUINT64_CONSTANT (1) << i;
}

static gboolean
is_told (const DvmdBusTelling *telling, guint field)
{
  return (telling->told >> field & 1) != 0;
}

/* Columns are made when all is known that goes into them: until then the record is only measured. */
void
dvmd_bus_rows_add_record (DvmdBusRows *rows, gpointer record, const DvmdBusTelling *telling)
{
  /* A row for a stranger is whole: what is missing there would tell what is empty. */
  gboolean sparse = telling->sparse && !telling->hides;
  GVariant *row;

  if (!telling->by_column)
    {
      row = dvmd_bus_record_row (record, telling->fields, telling->n_fields, telling->columns, sparse);
      dvmd_bus_rows_add (rows, telling->hides ? dvmd_bus_hide_values (row) : row);
      return;
    }
  if (rows->records == NULL)
    rows->records = g_ptr_array_new ();
  g_ptr_array_add (rows->records, record);
  rows->n_rows++;
  for (guint i = 0; i < telling->n_fields; i++)
    if (is_told (telling, i))
      rows->n_bytes += _dvm_record_field_measure (record, &telling->fields[i]);
}

static gboolean
are_empty (GPtrArray *records, const DvmRecordField *field)
{
  for (guint i = 0; i < records->len; i++)
    if (!_dvm_record_field_is_empty (records->pdata[i], field))
      return FALSE;
  return TRUE;
}

static GVariant *
hide_column (const char *name, GVariant *column)
{
  g_autoptr (GVariant) whole = g_variant_ref_sink (column);
  gsize n = g_variant_n_children (whole);
  g_autofree GVariant **values = g_new (GVariant *, n);

  for (gsize i = 0; i < n; i++)
    {
      g_autoptr (GVariant) value = g_variant_get_child_value (whole, i);

      values[i] = dvmd_bus_hide_value (name, value);
    }
  return g_variant_new_array (NULL, values, n);
}

void
dvmd_bus_rows_end_records (DvmdBusRows *rows, const DvmdBusTelling *telling)
{
  g_autoptr (GPtrArray) records = g_steal_pointer (&rows->records);
  gboolean has_first = FALSE;
  GVariantBuilder dict;
  GVariant *columns;

  if (records == NULL)
    return;
  g_variant_builder_init (&dict, G_VARIANT_TYPE_VARDICT);
  for (guint i = 0; i < telling->n_fields; i++)
    {
      const DvmRecordField *field = &telling->fields[i];
      GVariant *column;
      guint n;

      if (!is_told (telling, i) || (telling->sparse && !telling->hides && are_empty (records, field)))
        continue;
      n = has_first && telling->once && !telling->hides && _dvm_records_are_same (records->pdata, records->len, field)
              ? 1
              : records->len;
      column = _dvm_record_make_column (records->pdata, n, field);
      has_first = TRUE;
      if (telling->hides && dvmd_bus_is_hidden (field->bus_name))
        column = hide_column (field->bus_name, column);
      g_variant_builder_add (&dict, "{sv}", field->bus_name, column);
    }
  columns = g_variant_builder_end (&dict);
  g_variant_builder_add_value (&rows->builder, telling->packed ? _dvm_record_pack_columns (columns) : columns);
}

GVariant *
dvmd_bus_object_row (DvmdBusServer *server, const DvmdBusClass *klass, gpointer object, const char *const *columns)
{
  GDBusPropertyInfo **properties = klass->interface->properties;
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (guint i = 0; properties[i] != NULL; i++)
    if (columns == NULL || g_strv_contains (columns, properties[i]->name))
      g_variant_builder_add (&builder, "{sv}", properties[i]->name,
                             klass->get_property (server, object, properties[i]->name));
  return g_variant_builder_end (&builder);
}

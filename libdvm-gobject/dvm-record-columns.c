/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Many records at once, as one array of values for each field: numbers are bytes in a row then, and no value has its
 * name beside it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-record"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-record-codec-private.h"

/* ---- to columns ---- */

static gsize
measure_list (char **list)
{
  gsize size = 0;

  for (guint i = 0; list != NULL && list[i] != NULL; i++)
    size += strlen (list[i]) + 1;
  return size;
}

gsize
_dvm_record_field_measure (gconstpointer record, const DvmRecordField *field)
{
  const char *text;
  GVariant *ranks;

  switch (field->kind)
    {
    case DVM_RECORD_FIELD_TIME:
    case DVM_RECORD_FIELD_BYTES:
      return sizeof (guint64);
    case DVM_RECORD_FIELD_STRING:
    case DVM_RECORD_FIELD_PATH:
      text = G_STRUCT_MEMBER (const char *, record, field->offset);
      return text != NULL ? strlen (text) + 1 : 1;
    case DVM_RECORD_FIELD_ENUM_WORD:
    case DVM_RECORD_FIELD_ENUM_NAME:
      return strlen (field->words->to_string (G_STRUCT_MEMBER (guint, record, field->offset))) + 1;
    case DVM_RECORD_FIELD_STRV:
    case DVM_RECORD_FIELD_PATHS:
      return measure_list (G_STRUCT_MEMBER (char **, record, field->offset));
    case DVM_RECORD_FIELD_RANKS:
      ranks = G_STRUCT_MEMBER (GVariant *, record, field->offset);
      return ranks != NULL ? g_variant_get_size (ranks) : 0;
    default:
      return sizeof (guint32);
    }
}

static gboolean
is_same (gconstpointer a, gconstpointer b, const DvmRecordField *field)
{
  const char *const *one;
  const char *const *two;

  switch (field->kind)
    {
    case DVM_RECORD_FIELD_STRING:
    case DVM_RECORD_FIELD_PATH:
      return g_strcmp0 (G_STRUCT_MEMBER (const char *, a, field->offset),
                        G_STRUCT_MEMBER (const char *, b, field->offset))
             == 0;
    case DVM_RECORD_FIELD_STRV:
    case DVM_RECORD_FIELD_PATHS:
      one = _dvm_record_get_strv (G_STRUCT_MEMBER (char **, a, field->offset));
      two = _dvm_record_get_strv (G_STRUCT_MEMBER (char **, b, field->offset));
      return g_strv_equal (one, two);
    case DVM_RECORD_FIELD_RANKS:
      return G_STRUCT_MEMBER (gpointer, a, field->offset) == G_STRUCT_MEMBER (gpointer, b, field->offset);
    case DVM_RECORD_FIELD_TIME:
    case DVM_RECORD_FIELD_BYTES:
      return G_STRUCT_MEMBER (gint64, a, field->offset) == G_STRUCT_MEMBER (gint64, b, field->offset);
    default:
      return G_STRUCT_MEMBER (guint, a, field->offset) == G_STRUCT_MEMBER (guint, b, field->offset);
    }
}

gboolean
_dvm_records_are_same (gpointer const *records, guint n_records, const DvmRecordField *field)
{
  for (guint i = 1; i < n_records; i++)
    if (!is_same (records[i], records[i - 1], field))
      return FALSE;
  return TRUE;
}

/* Records beside each other often have the same command or session: their values are one. */
static GVariant *
collect_values (gpointer const *records, guint n_records, const DvmRecordField *field)
{
  g_autofree GVariant **values = g_new (GVariant *, n_records);

  for (guint i = 0; i < n_records; i++)
    values[i] = i > 0 && is_same (records[i], records[i - 1], field) ? values[i - 1]
                                                                     : _dvm_record_field_to_variant (records[i], field);
  return g_variant_new_array (NULL, values, n_records);
}

GVariant *
_dvm_record_make_column (gpointer const *records, guint n_records, const DvmRecordField *field)
{
  const char *type = _dvm_record_field_get_type (field);
  g_autofree guint32 *numbers = NULL;
  g_autofree guint64 *times = NULL;

  switch (type[0])
    {
    case 'u':
    case 'i':
      numbers = g_new (guint32, n_records);
      for (guint i = 0; i < n_records; i++)
        numbers[i] = G_STRUCT_MEMBER (guint32, records[i], field->offset);
      return g_variant_new_fixed_array (G_VARIANT_TYPE (type), numbers, n_records, sizeof *numbers);
    case 't':
      times = g_new (guint64, n_records);
      for (guint i = 0; i < n_records; i++)
        times[i] = G_STRUCT_MEMBER (guint64, records[i], field->offset);
      return g_variant_new_fixed_array (G_VARIANT_TYPE (type), times, n_records, sizeof *times);
    default:
      return collect_values (records, n_records, field);
    }
}

/* ---- from columns ---- */

static gboolean
check_column (const DvmRecordField *field, GVariant *column, gsize n_records, GError **error)
{
  g_autofree char *type = g_strconcat ("a", _dvm_record_field_get_type (field), NULL);
  const char *given = g_variant_get_type_string (column);

  if (strcmp (given, type) != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("The property %s is of type %s, not %s"), field->bus_name,
                   given, type);
      return FALSE;
    }
  /* One value is that of all records. */
  if (g_variant_n_children (column) == n_records || (g_variant_n_children (column) == 1 && n_records > 0))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("The property %s has %zu values, where others have %zu"),
               field->bus_name, g_variant_n_children (column), n_records);
  return FALSE;
}

/* The first one that there is says how many records there are.
 * columns: by the place of the field, NULL where there is none; for the caller to unref, also on error */
static gboolean
read_columns (const DvmRecordCodec *codec, GVariant *dict, GVariant **columns, gsize *n_records, GError **error)
{
  gboolean is_first = TRUE;

  for (guint i = 0; i < codec->n_fields; i++)
    {
      columns[i] = g_variant_lookup_value (dict, codec->fields[i].bus_name, NULL);
      if (columns[i] == NULL)
        continue;
      if (is_first && g_variant_is_container (columns[i]))
        *n_records = g_variant_n_children (columns[i]);
      is_first = FALSE;
      if (!check_column (&codec->fields[i], columns[i], *n_records, error))
        return FALSE;
    }
  return TRUE;
}

static gsize
get_place (gsize n_values, gsize i)
{
  return n_values > 1 ? i : 0;
}

static void
put_numbers (GPtrArray *records, guint first, const DvmRecordCodec *codec, const DvmRecordField *field,
             GVariant *column)
{
  gsize n;
  const guint32 *numbers = g_variant_get_fixed_array (column, &n, sizeof *numbers);

  for (gsize i = 0; first + i < records->len; i++)
    {
      gpointer record = records->pdata[first + i];

      _dvm_record_set_uint (record, codec, G_STRUCT_MEMBER_P (record, field->offset), numbers[get_place (n, i)]);
    }
}

static void
put_times (GPtrArray *records, guint first, const DvmRecordCodec *codec, const DvmRecordField *field, GVariant *column)
{
  gsize n;
  const guint64 *times = g_variant_get_fixed_array (column, &n, sizeof *times);

  for (gsize i = 0; first + i < records->len; i++)
    {
      gpointer record = records->pdata[first + i];

      _dvm_record_set_time (record, codec, G_STRUCT_MEMBER_P (record, field->offset), (gint64)times[get_place (n, i)]);
    }
}

static void
put_column (GPtrArray *records, guint first, const DvmRecordCodec *codec, const DvmRecordField *field, GVariant *column)
{
  char type = _dvm_record_field_get_type (field)[0];
  gsize n = g_variant_n_children (column);

  if (type == 'u' || type == 'i')
    put_numbers (records, first, codec, field, column);
  else if (type == 't')
    put_times (records, first, codec, field, column);
  else
    for (gsize i = 0; first + i < records->len; i++)
      {
        g_autoptr (GVariant) value = g_variant_get_child_value (column, get_place (n, i));

        _dvm_record_field_from_variant (records->pdata[first + i], codec, field, value);
      }
}

/* As in an update of one record, the state comes last. */
static void
put_states (GPtrArray *records, guint first, const DvmRecordCodec *codec, GVariant **columns)
{
  const DvmRecordField *field = NULL;
  GVariant *states = NULL;
  GVariant *reasons = NULL;
  gsize n_states;
  gsize n_reasons;

  for (guint i = 0; i < codec->n_fields; i++)
    if (strcmp (codec->fields[i].bus_name, "Reason") == 0)
      reasons = columns[i];
    else if (strcmp (codec->fields[i].bus_name, "State") == 0)
      {
        field = &codec->fields[i];
        states = columns[i];
      }
  n_states = states != NULL ? g_variant_n_children (states) : 0;
  n_reasons = reasons != NULL ? g_variant_n_children (reasons) : 0;
  for (gsize i = 0; states != NULL && first + i < records->len; i++)
    {
      g_autoptr (GVariant) state = g_variant_get_child_value (states, get_place (n_states, i));
      g_autoptr (GVariant) reason = reasons != NULL ? g_variant_get_child_value (reasons, get_place (n_reasons, i))
                                                    : NULL;

      _dvm_record_set_state (records->pdata[first + i], codec, _dvm_record_field_to_enum (field, state),
                             reason != NULL ? g_variant_get_string (reason, NULL) : NULL);
    }
}

static void
add_records (GPtrArray *records, GType type, gsize n_records, GVariant **columns)
{
  const DvmRecordCodec *codec = _dvm_record_type_get_codec (type);
  guint first = records->len;

  for (gsize i = 0; i < n_records; i++)
    g_ptr_array_add (records, g_object_new (type, NULL));
  for (guint i = 0; i < codec->n_fields; i++)
    if (columns[i] != NULL && !codec->fields[i].guarded)
      put_column (records, first, codec, &codec->fields[i], columns[i]);
  put_states (records, first, codec, columns);
}

gboolean
_dvm_records_add_columns (GPtrArray *records, GType type, GVariant *dict, GError **error)
{
  const DvmRecordCodec *codec = _dvm_record_type_get_codec (type);
  g_autofree GVariant **columns = g_new0 (GVariant *, codec->n_fields);
  gsize n_records = 0;
  gboolean ok = read_columns (codec, dict, columns, &n_records, error);

  if (ok)
    add_records (records, type, n_records, columns);
  for (guint i = 0; i < codec->n_fields; i++)
    g_clear_pointer (&columns[i], g_variant_unref);
  return ok;
}

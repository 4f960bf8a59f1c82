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

/* The one entry of a dictionary that is packed */
#define PACKED "Packed"

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

static GVariant *
collect_values (gpointer const *records, guint n_records, const DvmRecordField *field)
{
  g_autofree GVariant **values = g_new (GVariant *, n_records);

  for (guint i = 0; i < n_records; i++)
    values[i] = _dvm_record_field_to_variant (records[i], field);
  return g_variant_new_array (NULL, values, n_records);
}

/* An array of texts, or of lists of them, is written as the bytes that a GVariant has: no text is one by itself. All
 * texts with their zeros come first, and then where each ends, in as few bytes as the whole array allows. */
typedef struct
{
  GByteArray *bytes;
  GArray *ends; /* gsize, of the array that is written */
} Texts;

static void
add_text (Texts *self, const char *text)
{
  g_byte_array_append (self->bytes, (const guint8 *)text, (guint)strlen (text) + 1);
}

static guint
measure_end (gsize n_bytes, gsize n_ends)
{
  if (n_bytes + n_ends <= G_MAXUINT8)
    return 1;
  if (n_bytes + 2 * n_ends <= G_MAXUINT16)
    return 2;
  return n_bytes + 4 * n_ends <= G_MAXUINT32 ? 4 : 8;
}

/* start: of the array; first: of its ends, which are forgotten then */
static void
close_array (Texts *self, guint start, guint first)
{
  guint width = measure_end (self->bytes->len - start, self->ends->len - first);

  for (guint i = first; i < self->ends->len; i++)
    {
      guint64 end = GUINT64_TO_LE (g_array_index (self->ends, gsize, i) - start);

      g_byte_array_append (self->bytes, (const guint8 *)&end, width);
    }
  g_array_set_size (self->ends, first);
}

static void
end_item (Texts *self)
{
  gsize end = self->bytes->len;

  g_array_append_val (self->ends, end);
}

static void
add_list (Texts *self, const char *const *list)
{
  guint start = self->bytes->len;
  guint first = self->ends->len;

  for (; *list != NULL; list++)
    {
      add_text (self, *list);
      end_item (self);
    }
  close_array (self, start, first);
}

static void
add_item (Texts *self, gconstpointer record, const DvmRecordField *field)
{
  const char *text = NULL;

  if (field->kind == DVM_RECORD_FIELD_STRV || field->kind == DVM_RECORD_FIELD_PATHS)
    add_list (self, _dvm_record_get_strv (G_STRUCT_MEMBER (char **, record, field->offset)));
  else if (field->kind == DVM_RECORD_FIELD_STRING || field->kind == DVM_RECORD_FIELD_PATH)
    {
      text = G_STRUCT_MEMBER (const char *, record, field->offset);
      add_text (self, text != NULL ? text : field->kind == DVM_RECORD_FIELD_PATH ? "/" : "");
    }
  else
    add_text (self, field->words->to_string (G_STRUCT_MEMBER (guint, record, field->offset)));
  end_item (self);
}

static GVariant *
write_texts (gpointer const *records, guint n_records, const DvmRecordField *field)
{
  g_autofree char *type = g_strconcat ("a", _dvm_record_field_get_type (field), NULL);
  g_autoptr (GArray) ends = g_array_new (FALSE, FALSE, sizeof (gsize));
  Texts texts = { g_byte_array_new (), ends };
  g_autoptr (GBytes) bytes = NULL;

  for (guint i = 0; i < n_records; i++)
    add_item (&texts, records[i], field);
  close_array (&texts, 0, 0);
  bytes = g_byte_array_free_to_bytes (texts.bytes);
  return g_variant_new_from_bytes (G_VARIANT_TYPE (type), bytes, TRUE);
}

GVariant *
_dvm_record_make_column (gpointer const *records, guint n_records, const DvmRecordField *field)
{
  const char *type = _dvm_record_field_get_type (field);
  g_autofree guint32 *numbers = NULL;
  g_autofree guint64 *times = NULL;
  g_autofree guint8 *booleans = NULL;

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
    case 'b':
      booleans = g_new (guint8, n_records);
      for (guint i = 0; i < n_records; i++)
        booleans[i] = G_STRUCT_MEMBER (gboolean, records[i], field->offset) != FALSE;
      return g_variant_new_fixed_array (G_VARIANT_TYPE (type), booleans, n_records, sizeof *booleans);
    default:
      return field->kind == DVM_RECORD_FIELD_RANKS ? collect_values (records, n_records, field)
                                                   : write_texts (records, n_records, field);
    }
}

GVariant *
_dvm_record_pack_columns (GVariant *dict)
{
  g_autoptr (GVariant) whole = g_variant_ref_sink (dict);
  g_autoptr (GVariant) swapped = G_BYTE_ORDER == G_BIG_ENDIAN ? g_variant_byteswap (whole) : g_variant_ref (whole);
  g_autoptr (GBytes) bytes = g_variant_get_data_as_bytes (swapped);
  GVariantBuilder packed;

  g_variant_builder_init (&packed, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&packed, "{sv}", PACKED, g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING, bytes, TRUE));
  return g_variant_builder_end (&packed);
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

/* (transfer full): in normal form: bytes that are none give a dictionary that lacks values */
static GVariant *
unpack_columns (GVariant *dict)
{
  g_autoptr (GVariant) packed = g_variant_lookup_value (dict, PACKED, G_VARIANT_TYPE_BYTESTRING);
  g_autoptr (GBytes) bytes = packed != NULL ? g_variant_get_data_as_bytes (packed) : NULL;
  g_autoptr (GVariant) whole = NULL;

  if (packed == NULL)
    return g_variant_get_normal_form (dict);
  whole = g_variant_ref_sink (g_variant_new_from_bytes (G_VARIANT_TYPE_VARDICT, bytes, FALSE));
  return G_BYTE_ORDER == G_BIG_ENDIAN ? g_variant_byteswap (whole) : g_variant_get_normal_form (whole);
}

static void
find_columns (const DvmRecordCodec *codec, GVariant *dict, GVariant **columns)
{
  GVariantIter iter;
  const char *name;
  GVariant *column;

  g_variant_iter_init (&iter, dict);
  while (g_variant_iter_next (&iter, "{&sv}", &name, &column))
    {
      guint i = 0;

      while (i < codec->n_fields && strcmp (codec->fields[i].bus_name, name) != 0)
        i++;
      if (i < codec->n_fields && columns[i] == NULL)
        columns[i] = column;
      else
        g_variant_unref (column);
    }
}

/* The first one that there is says how many records there are.
 * columns: by the place of the field, NULL where there is none; for the caller to unref, also on error */
static gboolean
read_columns (const DvmRecordCodec *codec, GVariant *dict, GVariant **columns, gsize *n_records, GError **error)
{
  gboolean is_first = TRUE;

  find_columns (codec, dict, columns);
  for (guint i = 0; i < codec->n_fields; i++)
    {
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

/* In the normal form of an array each text stands behind the one before it. */
static void
put_texts (GPtrArray *records, guint first, const DvmRecordCodec *codec, const DvmRecordField *field, GVariant *column)
{
  const char *text = g_variant_get_data (column);
  gboolean has_one = g_variant_n_children (column) == 1;

  for (guint i = first; i < records->len; i++)
    {
      char **place = G_STRUCT_MEMBER_P (records->pdata[i], field->offset);

      if (field->kind == DVM_RECORD_FIELD_PATH)
        _dvm_record_set_path (records->pdata[i], codec, place, text);
      else
        _dvm_record_set_string (records->pdata[i], codec, place, text);
      text += has_one ? 0 : strlen (text) + 1;
    }
}

static void
put_values (GPtrArray *records, guint first, const DvmRecordCodec *codec, const DvmRecordField *field, GVariant *column)
{
  gsize n = g_variant_n_children (column);
  g_autoptr (GVariant) value = NULL;

  for (gsize i = 0; first + i < records->len; i++)
    {
      if (value == NULL || n > 1)
        {
          g_clear_pointer (&value, g_variant_unref);
          value = g_variant_get_child_value (column, get_place (n, i));
        }
      _dvm_record_field_from_variant (records->pdata[first + i], codec, field, value);
    }
}

static void
put_column (GPtrArray *records, guint first, const DvmRecordCodec *codec, const DvmRecordField *field, GVariant *column)
{
  char type = _dvm_record_field_get_type (field)[0];

  if (type == 'u' || type == 'i')
    put_numbers (records, first, codec, field, column);
  else if (type == 't')
    put_times (records, first, codec, field, column);
  else if (field->kind == DVM_RECORD_FIELD_STRING || field->kind == DVM_RECORD_FIELD_PATH)
    put_texts (records, first, codec, field, column);
  else
    put_values (records, first, codec, field, column);
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
  g_autoptr (GVariant) whole = unpack_columns (dict);
  gsize n_records = 0;
  gboolean ok = read_columns (codec, whole, columns, &n_records, error);

  if (ok)
    add_records (records, type, n_records, columns);
  for (guint i = 0; i < codec->n_fields; i++)
    g_clear_pointer (&columns[i], g_variant_unref);
  return ok;
}

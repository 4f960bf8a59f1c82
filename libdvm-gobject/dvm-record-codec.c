/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One table of fields serves each record: properties, GVariant, changes.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-record"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-json-private.h"
#include "dvm-record-codec-private.h"

static const DvmRecordField *
find_field (const DvmRecordCodec *codec, const char *bus_name)
{
  for (guint i = 0; i < codec->n_fields; i++)
    if (strcmp (codec->fields[i].bus_name, bus_name) == 0)
      return &codec->fields[i];
  return NULL;
}

const DvmRecordField *
_dvm_record_get_fields (GType type, guint *n_fields)
{
  const DvmRecordCodec *codec = _dvm_record_type_get_codec (type);

  if (n_fields != NULL)
    *n_fields = codec->n_fields;
  return codec->fields;
}

GVariant *
_dvm_record_get_bus_property (GObject *record, const char *bus_name)
{
  const DvmRecordCodec *codec = _dvm_record_get_codec (record);
  const DvmRecordField *field;

  g_return_val_if_fail (codec != NULL, NULL);

  field = find_field (codec, bus_name);
  return field != NULL ? _dvm_record_field_to_variant (record, field) : NULL;
}

static const DvmRecordField *
find_property (const DvmRecordCodec *codec, const char *name)
{
  for (guint i = 0; i < codec->n_fields; i++)
    {
      const DvmRecordField *field = &codec->fields[i];

      if (strcmp (field->property != NULL ? field->property : field->json_name, name) == 0)
        return field;
    }
  return NULL;
}

guint64
_dvm_record_get_changed_fields (GObject *record, const char *property_name)
{
  const DvmRecordCodec *codec = _dvm_record_get_codec (record);
  const DvmRecordField *changed;
  guint64 mask = 0;

  g_return_val_if_fail (codec != NULL, 0);

  changed = find_property (codec, property_name);
  for (guint i = 0; changed != NULL && i < codec->n_fields; i++)
    if (codec->fields[i].offset == changed->offset)
      mask |= G_GUINT64_CONSTANT (1) << i;
  return mask;
}

/* A format string for each entry would cost as much again. */
void
_dvm_record_add_field (GVariantBuilder *dict, gconstpointer record, const DvmRecordField *field)
{
  GVariant *value = g_variant_new_variant (_dvm_record_field_to_variant (record, field));

  g_variant_builder_add_value (dict, g_variant_new_dict_entry (g_variant_new_string (field->bus_name), value));
}

static GVariant *
make_variant (gpointer record, gboolean sparse)
{
  const DvmRecordCodec *codec = _dvm_record_get_codec (record);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (guint i = 0; i < codec->n_fields; i++)
    if (!sparse || !_dvm_record_field_is_empty (record, &codec->fields[i]))
      _dvm_record_add_field (&builder, record, &codec->fields[i]);
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

GVariant *
_dvm_record_to_variant (gpointer record)
{
  return make_variant (record, FALSE);
}

GVariant *
_dvm_record_to_sparse_variant (gpointer record)
{
  return make_variant (record, TRUE);
}

static void
append_texts (GString *json, const char *const *texts)
{
  g_string_append_c (json, '[');
  for (guint i = 0; texts[i] != NULL; i++)
    {
      g_string_append (json, i > 0 ? "," : "");
      _dvm_json_append_string (json, texts[i]);
    }
  g_string_append_c (json, ']');
}

static void
append_text (GString *json, const char *text, const char *otherwise)
{
  _dvm_json_append_string (json, text != NULL ? text : otherwise);
}

/* As _dvm_json_append_variant() would write its value, without one. */
static void
append_json_value (GString *json, gpointer record, const DvmRecordField *field)
{
  g_autoptr (GVariant) ranks = NULL;

  switch (field->kind)
    {
    case DVM_RECORD_FIELD_UINT:
      _dvm_json_append_int (json, G_STRUCT_MEMBER (guint, record, field->offset));
      break;
    case DVM_RECORD_FIELD_INT:
    case DVM_RECORD_FIELD_RANK:
      _dvm_json_append_int (json, G_STRUCT_MEMBER (int, record, field->offset));
      break;
    case DVM_RECORD_FIELD_BOOLEAN:
      g_string_append (json, G_STRUCT_MEMBER (gboolean, record, field->offset) ? "true" : "false");
      break;
    case DVM_RECORD_FIELD_TIME:
      _dvm_json_append_time (json, G_STRUCT_MEMBER (gint64, record, field->offset));
      break;
    case DVM_RECORD_FIELD_BYTES:
      _dvm_json_append_int (json, G_STRUCT_MEMBER (gint64, record, field->offset));
      break;
    case DVM_RECORD_FIELD_STRING:
      append_text (json, G_STRUCT_MEMBER (const char *, record, field->offset), "");
      break;
    case DVM_RECORD_FIELD_PATH:
      append_text (json, G_STRUCT_MEMBER (const char *, record, field->offset), "/");
      break;
    case DVM_RECORD_FIELD_STRV:
    case DVM_RECORD_FIELD_PATHS:
      append_texts (json, _dvm_record_get_strv (G_STRUCT_MEMBER (char **, record, field->offset)));
      break;
    case DVM_RECORD_FIELD_RANKS:
      ranks = g_variant_ref_sink (_dvm_record_field_to_variant (record, field));
      _dvm_json_append_variant (json, ranks);
      break;
    case DVM_RECORD_FIELD_ENUM_NUMBER:
    case DVM_RECORD_FIELD_ENUM_WORD:
    case DVM_RECORD_FIELD_ENUM_NAME:
      _dvm_json_append_string (json, field->words->to_string (G_STRUCT_MEMBER (guint, record, field->offset)));
      break;
    }
}

char *
_dvm_record_to_json (gpointer record)
{
  const DvmRecordCodec *codec = _dvm_record_get_codec (record);
  GString *json = g_string_sized_new (1024);

  g_string_append_c (json, '{');
  for (guint i = 0; i < codec->n_fields; i++)
    if (codec->fields[i].kind != DVM_RECORD_FIELD_ENUM_NAME)
      {
        _dvm_json_append_key (json, codec->fields[i].json_name);
        append_json_value (json, record, &codec->fields[i]);
      }
  g_string_append_c (json, '}');
  return g_string_free (json, FALSE);
}

/* The fields of a row mostly come in the order of the table: the search begins behind the one before. */
static const DvmRecordField *
find_next_field (const DvmRecordCodec *codec, const DvmRecordField *before, const char *bus_name)
{
  const DvmRecordField *end = codec->fields + codec->n_fields;

  for (const DvmRecordField *field = before != NULL ? before + 1 : codec->fields; field < end; field++)
    if (strcmp (field->bus_name, bus_name) == 0)
      return field;
  return before != NULL ? find_field (codec, bus_name) : NULL;
}

/*
 * values: by the place of the field in the table, NULL where there is none; for the caller to unref, also on error.
 * Children are taken one by one: a format string with "&" would write each entry out as bytes first.
 */
static gboolean
read_values (const DvmRecordCodec *codec, GVariant *properties, GVariant **values, GError **error)
{
  const DvmRecordField *field = NULL;
  gsize n = g_variant_n_children (properties);

  for (gsize i = 0; i < n; i++)
    {
      g_autoptr (GVariant) entry = g_variant_get_child_value (properties, i);
      g_autoptr (GVariant) name = g_variant_get_child_value (entry, 0);
      g_autoptr (GVariant) boxed = g_variant_get_child_value (entry, 1);
      g_autoptr (GVariant) value = g_variant_get_variant (boxed);
      const DvmRecordField *found = find_next_field (codec, field, g_variant_get_string (name, NULL));

      if (found == NULL)
        continue;
      field = found;
      if (strcmp (g_variant_get_type_string (value), _dvm_record_field_get_type (field)) != 0)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("The property %s is of type %s, not %s"),
                       field->bus_name, _dvm_record_field_get_type (field), g_variant_get_type_string (value));
          return FALSE;
        }
      g_clear_pointer (&values[field - codec->fields], g_variant_unref);
      values[field - codec->fields] = g_steal_pointer (&value);
    }
  return TRUE;
}

/* (transfer full) (nullable): (type GVariant) */
static GVariant *
take_value (const DvmRecordCodec *codec, GVariant **values, const char *bus_name)
{
  const DvmRecordField *field = find_field (codec, bus_name);

  return field != NULL ? g_steal_pointer (&values[field - codec->fields]) : NULL;
}

/* The state comes last, so that whoever hears of the new one finds everything else up to date. */
static void
update_state (gpointer record, const DvmRecordCodec *codec, GVariant **values)
{
  g_autoptr (GVariant) state = take_value (codec, values, "State");
  g_autoptr (GVariant) reason = take_value (codec, values, "Reason");

  if (state == NULL && reason == NULL)
    return;
  if (state == NULL)
    state = g_variant_ref_sink (_dvm_record_get_bus_property (record, "State"));
  if (reason == NULL)
    reason = g_variant_ref_sink (_dvm_record_get_bus_property (record, "Reason"));
  _dvm_record_set_state (record, codec, _dvm_record_field_to_enum (find_field (codec, "State"), state),
                         g_variant_get_string (reason, NULL));
}

static void
apply_values (GObject *record, const DvmRecordCodec *codec, GVariant **values)
{
  g_object_freeze_notify (record);
  for (guint i = 0; i < codec->n_fields; i++)
    if (values[i] != NULL && !codec->fields[i].guarded)
      _dvm_record_field_from_variant (record, codec, &codec->fields[i], values[i]);
  update_state (record, codec, values);
  g_object_thaw_notify (record);
}

gboolean
_dvm_record_update (GObject *record, GVariant *properties, GError **error)
{
  const DvmRecordCodec *codec = _dvm_record_get_codec (record);
  g_autofree GVariant **values = NULL;
  gboolean ok;

  g_return_val_if_fail (codec != NULL, FALSE);

  if (!g_variant_is_of_type (properties, G_VARIANT_TYPE_VARDICT))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("The properties of a record are a{sv}, not %s"),
                   g_variant_get_type_string (properties));
      return FALSE;
    }
  values = g_new0 (GVariant *, codec->n_fields);
  ok = read_values (codec, properties, values, error);
  if (ok)
    apply_values (record, codec, values);
  for (guint i = 0; i < codec->n_fields; i++)
    g_clear_pointer (&values[i], g_variant_unref);
  return ok;
}

gpointer
_dvm_record_new_from_variant (GType type, GVariant *properties, GError **error)
{
  GObject *record = g_object_new (type, NULL);

  if (!_dvm_record_update (record, properties, error))
    g_clear_object (&record);
  return record;
}

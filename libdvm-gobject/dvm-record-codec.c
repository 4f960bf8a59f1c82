/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One table of fields serves each record: properties, GVariant, changes.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-record"

#include <glib/gi18n-lib.h>
#include <json-glib/json-glib.h>
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

GVariant *
_dvm_record_to_variant (gpointer record)
{
  const DvmRecordCodec *codec = _dvm_record_get_codec (record);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (guint i = 0; i < codec->n_fields; i++)
    _dvm_record_add_field (&builder, record, &codec->fields[i]);
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

static void
add_json_field (JsonBuilder *builder, gpointer record, const DvmRecordField *field)
{
  g_autoptr (GVariant) value = NULL;

  if (field->kind == DVM_RECORD_FIELD_ENUM_NAME)
    return;
  value = g_variant_ref_sink (_dvm_record_field_to_variant (record, field));
  json_builder_set_member_name (builder, field->json_name);
  if (field->kind == DVM_RECORD_FIELD_TIME)
    _dvm_json_add_time (builder, g_variant_get_uint64 (value));
  else if (field->kind == DVM_RECORD_FIELD_ENUM_NUMBER)
    json_builder_add_string_value (builder, field->words->to_string (g_variant_get_uint32 (value)));
  else
    _dvm_json_add_variant (builder, value);
}

char *
_dvm_record_to_json (gpointer record)
{
  const DvmRecordCodec *codec = _dvm_record_get_codec (record);
  g_autoptr (JsonBuilder) builder = json_builder_new_immutable ();

  json_builder_begin_object (builder);
  for (guint i = 0; i < codec->n_fields; i++)
    add_json_field (builder, record, &codec->fields[i]);
  json_builder_end_object (builder);
  return _dvm_json_finish (builder, FALSE);
}

static gboolean
check_types (const DvmRecordCodec *codec, GVariant *properties, GError **error)
{
  GVariantIter iter;
  const char *name;
  GVariant *value;

  if (!g_variant_is_of_type (properties, G_VARIANT_TYPE_VARDICT))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("The properties of a record are a{sv}, not %s"),
                   g_variant_get_type_string (properties));
      return FALSE;
    }
  g_variant_iter_init (&iter, properties);
  while (g_variant_iter_loop (&iter, "{&sv}", &name, &value))
    {
      const DvmRecordField *field = find_field (codec, name);

      if (field == NULL || strcmp (g_variant_get_type_string (value), _dvm_record_field_get_type (field)) == 0)
        continue;
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("The property %s is of type %s, not %s"), name,
                   _dvm_record_field_get_type (field), g_variant_get_type_string (value));
      g_variant_unref (value);
      return FALSE;
    }
  return TRUE;
}

/* The state comes last, so that whoever hears of the new one finds everything else up to date. */
static void
update_state (gpointer record, const DvmRecordCodec *codec, GVariant *properties)
{
  g_autoptr (GVariant) state = g_variant_lookup_value (properties, "State", NULL);
  g_autoptr (GVariant) reason = g_variant_lookup_value (properties, "Reason", NULL);

  if (state == NULL && reason == NULL)
    return;
  if (state == NULL)
    state = g_variant_ref_sink (_dvm_record_get_bus_property (record, "State"));
  if (reason == NULL)
    reason = g_variant_ref_sink (_dvm_record_get_bus_property (record, "Reason"));
  _dvm_record_set_state (record, codec, _dvm_record_field_to_enum (find_field (codec, "State"), state),
                         g_variant_get_string (reason, NULL));
}

gboolean
_dvm_record_update (GObject *record, GVariant *properties, GError **error)
{
  const DvmRecordCodec *codec = _dvm_record_get_codec (record);
  GVariantIter iter;
  const char *name;
  GVariant *value;

  g_return_val_if_fail (codec != NULL, FALSE);

  if (!check_types (codec, properties, error))
    return FALSE;
  g_object_freeze_notify (record);
  g_variant_iter_init (&iter, properties);
  while (g_variant_iter_loop (&iter, "{&sv}", &name, &value))
    {
      const DvmRecordField *field = find_field (codec, name);

      if (field != NULL && !field->guarded)
        _dvm_record_field_from_variant (record, codec, field, value);
    }
  update_state (record, codec, properties);
  g_object_thaw_notify (record);
  return TRUE;
}

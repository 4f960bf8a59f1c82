/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-record"

#include <glib/gi18n-lib.h>
#include <json-glib/json-glib.h>
#include <string.h>

#include "dvm-json-private.h"
#include "dvm-record-codec-private.h"

static GQuark
codec_quark (void)
{
  return g_quark_from_static_string ("dvm-record-codec");
}

void
_dvm_record_class_set_codec (gpointer klass, const DvmRecordCodec *codec)
{
  g_type_set_qdata (G_TYPE_FROM_CLASS (klass), codec_quark (), (gpointer)codec);
}

static const DvmRecordCodec *
get_codec (gpointer record)
{
  return g_type_get_qdata (G_OBJECT_TYPE (record), codec_quark ());
}

static const DvmRecordField *
find_field (const DvmRecordCodec *codec, const char *bus_name, guint *index)
{
  for (guint i = 0; i < codec->n_fields; i++)
    if (strcmp (codec->fields[i].bus_name, bus_name) == 0)
      {
        *index = i;
        return &codec->fields[i];
      }
  return NULL;
}

GVariant *
_dvm_record_get_bus_property (GObject *record, const char *bus_name)
{
  const DvmRecordCodec *codec = get_codec (record);
  guint index;

  g_return_val_if_fail (codec != NULL, NULL);

  if (find_field (codec, bus_name, &index) == NULL)
    return NULL;
  return _dvm_record_field_to_variant (record, &codec->fields[index]);
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
  const DvmRecordCodec *codec = get_codec (record);
  const DvmRecordField *changed;
  guint64 mask = 0;

  g_return_val_if_fail (codec != NULL, 0);

  changed = find_property (codec, property_name);
  for (guint i = 0; changed != NULL && i < codec->n_fields; i++)
    if (codec->fields[i].offset == changed->offset)
      mask |= G_GUINT64_CONSTANT (1) << i;
  return mask;
}

GVariant *
_dvm_record_to_variant (gpointer record)
{
  const DvmRecordCodec *codec = get_codec (record);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (guint i = 0; i < codec->n_fields; i++)
    g_variant_builder_add (&builder, "{sv}", codec->fields[i].bus_name,
                           _dvm_record_field_to_variant (record, &codec->fields[i]));
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
  const DvmRecordCodec *codec = get_codec (record);
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
      guint index;
      const DvmRecordField *field = find_field (codec, name, &index);

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
  const DvmRecordField *field;
  guint index;

  if (state == NULL && reason == NULL)
    return;
  if (state == NULL)
    state = g_variant_ref_sink (_dvm_record_get_bus_property (record, "State"));
  if (reason == NULL)
    reason = g_variant_ref_sink (_dvm_record_get_bus_property (record, "Reason"));
  field = find_field (codec, "State", &index);
  codec->set_state (record, _dvm_record_field_to_enum (field, state), g_variant_get_string (reason, NULL));
}

gboolean
_dvm_record_update (GObject *record, GVariant *properties, GError **error)
{
  const DvmRecordCodec *codec = get_codec (record);
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
      guint index;
      const DvmRecordField *field = find_field (codec, name, &index);

      if (field != NULL && !field->guarded)
        _dvm_record_field_from_variant (record, field, value, codec->properties[index + 1]);
    }
  update_state (record, codec, properties);
  g_object_thaw_notify (record);
  return TRUE;
}

gboolean
_dvm_record_set_uint (gpointer record, guint *field, guint value, GParamSpec *pspec)
{
  if (*field == value)
    return FALSE;
  *field = value;
  g_object_notify_by_pspec (record, pspec);
  return TRUE;
}

gboolean
_dvm_record_set_int (gpointer record, int *field, int value, GParamSpec *pspec)
{
  if (*field == value)
    return FALSE;
  *field = value;
  g_object_notify_by_pspec (record, pspec);
  return TRUE;
}

gboolean
_dvm_record_set_boolean (gpointer record, gboolean *field, gboolean value, GParamSpec *pspec)
{
  return _dvm_record_set_int (record, field, value, pspec);
}

gboolean
_dvm_record_set_time (gpointer record, gint64 *field, gint64 value, GParamSpec *pspec)
{
  if (*field == value)
    return FALSE;
  *field = value;
  g_object_notify_by_pspec (record, pspec);
  return TRUE;
}

gboolean
_dvm_record_set_string (gpointer record, char **field, const char *value, GParamSpec *pspec)
{
  if (value != NULL && value[0] == '\0')
    value = NULL;
  if (g_strcmp0 (*field, value) == 0)
    return FALSE;
  g_free (*field);
  *field = g_strdup (value);
  g_object_notify_by_pspec (record, pspec);
  return TRUE;
}

gboolean
_dvm_record_set_path (gpointer record, char **field, const char *value, GParamSpec *pspec)
{
  return _dvm_record_set_string (record, field, g_strcmp0 (value, "/") == 0 ? NULL : value, pspec);
}

gboolean
_dvm_record_set_strv (gpointer record, char ***field, const char *const *value, GParamSpec *pspec)
{
  if (value != NULL && value[0] == NULL)
    value = NULL;
  if (*field == NULL ? value == NULL : value != NULL && g_strv_equal ((const char *const *)*field, value))
    return FALSE;
  g_strfreev (*field);
  *field = g_strdupv ((char **)value);
  g_object_notify_by_pspec (record, pspec);
  return TRUE;
}

gboolean
_dvm_record_set_variant (gpointer record, GVariant **field, GVariant *value, GParamSpec *pspec)
{
  if (value != NULL && g_variant_n_children (value) == 0)
    value = NULL;
  if (*field == NULL ? value == NULL : value != NULL && g_variant_equal (*field, value))
    return FALSE;
  g_clear_pointer (field, g_variant_unref);
  *field = value != NULL ? g_variant_ref (value) : NULL;
  g_object_notify_by_pspec (record, pspec);
  return TRUE;
}

gboolean
_dvm_record_set_strv_variant (gpointer record, char ***field, GVariant *value, GParamSpec *pspec)
{
  g_autofree const char **list = g_variant_is_of_type (value, G_VARIANT_TYPE_STRING_ARRAY)
                                     ? g_variant_get_strv (value, NULL)
                                     : g_variant_get_objv (value, NULL);

  return _dvm_record_set_strv (record, field, list, pspec);
}

const char *const *
_dvm_record_get_strv (char **field)
{
  static const char *const empty[] = { NULL };

  return field != NULL ? (const char *const *)field : empty;
}

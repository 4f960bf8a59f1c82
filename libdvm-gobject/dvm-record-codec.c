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
  return codec->get (record, index);
}

const char *const *
_dvm_record_get_bus_names (GObject *record, const char *property_name)
{
  const DvmRecordCodec *codec = get_codec (record);

  g_return_val_if_fail (codec != NULL, NULL);

  for (guint i = 0; i < codec->n_fields; i++)
    {
      const DvmRecordField *field = &codec->fields[i];

      if (strcmp (field->property != NULL ? field->property : field->json_name, property_name) == 0)
        return field->bus_names;
    }
  return NULL;
}

GVariant *
_dvm_record_to_variant (gpointer record)
{
  const DvmRecordCodec *codec = get_codec (record);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (guint i = 0; i < codec->n_fields; i++)
    g_variant_builder_add (&builder, "{sv}", codec->fields[i].bus_name, codec->get (record, i));
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

static void
add_json_field (JsonBuilder *builder, const DvmRecordCodec *codec, guint index, GVariant *value)
{
  const DvmRecordField *field = &codec->fields[index];

  if (field->kind == DVM_RECORD_FIELD_STATE_NAME)
    return;
  json_builder_set_member_name (builder, field->json_name);
  if (field->kind == DVM_RECORD_FIELD_TIME)
    _dvm_json_add_time (builder, g_variant_get_uint64 (value));
  else if (field->kind == DVM_RECORD_FIELD_STATE)
    json_builder_add_string_value (builder, codec->state_name (g_variant_get_uint32 (value)));
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
    {
      g_autoptr (GVariant) value = g_variant_ref_sink (codec->get (record, i));

      add_json_field (builder, codec, i, value);
    }
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

      if (field == NULL || strcmp (g_variant_get_type_string (value), field->type) == 0)
        continue;
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("The property %s is of type %s, not %s"), name,
                   field->type, g_variant_get_type_string (value));
      g_variant_unref (value);
      return FALSE;
    }
  return TRUE;
}

gboolean
_dvm_record_update (GObject *record, GVariant *properties, GError **error)
{
  const DvmRecordCodec *codec = get_codec (record);
  g_autoptr (GVariant) state = NULL;
  g_autoptr (GVariant) reason = NULL;
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

      if (field == NULL)
        continue;
      codec->set (record, index, value);
    }
  /* Last, so that whoever hears of the new state finds everything else up to date. */
  state = g_variant_lookup_value (properties, "State", NULL);
  reason = g_variant_lookup_value (properties, "Reason", NULL);
  if (state != NULL || reason != NULL)
    codec->set_state (record, state, reason);
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

GVariant *
_dvm_record_string_variant (const char *value)
{
  return g_variant_new_string (value != NULL ? value : "");
}

GVariant *
_dvm_record_strv_variant (char **value)
{
  return g_variant_new_strv (_dvm_record_get_strv (value), -1);
}

GVariant *
_dvm_record_path_variant (const char *value)
{
  return g_variant_new_object_path (value != NULL ? value : "/");
}

GVariant *
_dvm_record_paths_variant (char **value)
{
  return g_variant_new_objv (_dvm_record_get_strv (value), -1);
}

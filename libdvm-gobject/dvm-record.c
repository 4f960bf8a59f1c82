/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The classes of records have this in common: their properties, their state, and who is told of a change.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-record"

#include "dvm-record-codec-private.h"

/* ---- the class ---- */

static GQuark
codec_quark (void)
{
  static gsize quark;

  if (g_once_init_enter (&quark))
    g_once_init_leave (&quark, g_quark_from_static_string ("dvm-record-codec"));
  return (GQuark)quark;
}

const DvmRecordCodec *
_dvm_record_get_codec (gpointer record)
{
  return g_type_get_qdata (G_OBJECT_TYPE (record), codec_quark ());
}

const DvmRecordCodec *
_dvm_record_type_get_codec (GType type)
{
  const DvmRecordCodec *codec = g_type_get_qdata (type, codec_quark ());

  if (codec != NULL)
    return codec;
  g_type_class_unref (g_type_class_ref (type)); /* the first that is asked for this class, before there is any record */
  return g_type_get_qdata (type, codec_quark ());
}

static void
get_property (GObject *record, guint prop_id, GValue *value, GParamSpec *pspec)
{
  const DvmRecordCodec *codec = _dvm_record_get_codec (record);

  _dvm_record_field_get_value (record, &codec->fields[prop_id - 1], value, pspec);
}

static void
set_property (GObject *record, guint prop_id, const GValue *value, GParamSpec *pspec)
{
  const DvmRecordCodec *codec = _dvm_record_get_codec (record);

  _dvm_record_field_set_value (record, codec, &codec->fields[prop_id - 1], value);
}

void
_dvm_record_finalize (GObject *record)
{
  const DvmRecordCodec *codec = _dvm_record_get_codec (record);

  _dvm_record_clear_fields (record, codec);
  if (codec->states != NULL)
    g_free (((DvmRecord *)record)->object_path);
  G_OBJECT_CLASS (g_type_class_peek_parent (G_OBJECT_GET_CLASS (record)))->finalize (record);
}

static void
install_properties (GObjectClass *klass, const DvmRecordCodec *codec)
{
  g_autofree GParamSpec **pspecs = g_new0 (GParamSpec *, codec->n_fields + 1);

  for (guint i = 0; i < codec->n_fields; i++)
    {
      GParamSpec **place = codec->properties[codec->fields[i].offset / sizeof (guint)];

      pspecs[i + 1] = _dvm_record_field_make_pspec (&codec->fields[i], codec->states == NULL);
      place[place[0] != NULL] = pspecs[i + 1];
    }
  g_object_class_install_properties (klass, codec->n_fields + 1, pspecs);
}

void
_dvm_record_class_install (gpointer klass, const DvmRecordCodec *codec)
{
  GObjectClass *object_class = klass;
  GType type = G_TYPE_FROM_CLASS (klass);

  g_type_set_qdata (type, codec_quark (), (gpointer)codec);
  object_class->get_property = get_property;
  object_class->set_property = codec->states == NULL ? set_property : NULL;
  object_class->finalize = _dvm_record_finalize;
  install_properties (object_class, codec);
  if (codec->states != NULL)
    *codec->state_changed = g_signal_new ("state-changed", type, G_SIGNAL_RUN_LAST | G_SIGNAL_DETAILED, 0, NULL, NULL,
                                          NULL, G_TYPE_NONE, 3, codec->states->get_type (), codec->states->get_type (),
                                          G_TYPE_STRING | G_SIGNAL_TYPE_STATIC_SCOPE);
}

/* ---- changes ---- */

void
_dvm_record_notify (gpointer record, const DvmRecordCodec *codec, gconstpointer field)
{
  gsize offset = (const char *)field - (const char *)record;
  GParamSpec *const *place = codec->properties[offset / sizeof (guint)];

  g_object_notify_by_pspec (record, place[0]);
  if (place[1] != NULL)
    g_object_notify_by_pspec (record, place[1]);
}

void
_dvm_record_set_state (DvmRecord *self, const DvmRecordCodec *codec, guint state, const char *reason)
{
  guint old_state = self->state;

  _dvm_record_set_string (self, codec, &self->reason, reason);
  if (!_dvm_record_set_uint (self, codec, &self->state, state))
    return;
  if (codec->follow_state != NULL)
    codec->follow_state (self);
  g_signal_emit (self, *codec->state_changed, g_quark_from_static_string (codec->states->to_string (state)), old_state,
                 state, reason != NULL ? reason : "");
}

gboolean
_dvm_record_set_uint (gpointer record, const DvmRecordCodec *codec, guint *field, guint value)
{
  if (*field == value)
    return FALSE;
  *field = value;
  _dvm_record_notify (record, codec, field);
  return TRUE;
}

gboolean
_dvm_record_set_int (gpointer record, const DvmRecordCodec *codec, int *field, int value)
{
  if (*field == value)
    return FALSE;
  *field = value;
  _dvm_record_notify (record, codec, field);
  return TRUE;
}

gboolean
_dvm_record_set_boolean (gpointer record, const DvmRecordCodec *codec, gboolean *field, gboolean value)
{
  return _dvm_record_set_int (record, codec, field, value);
}

gboolean
_dvm_record_set_time (gpointer record, const DvmRecordCodec *codec, gint64 *field, gint64 value)
{
  if (*field == value)
    return FALSE;
  *field = value;
  _dvm_record_notify (record, codec, field);
  return TRUE;
}

gboolean
_dvm_record_set_string (gpointer record, const DvmRecordCodec *codec, char **field, const char *value)
{
  if (value != NULL && value[0] == '\0')
    value = NULL;
  if (g_strcmp0 (*field, value) == 0)
    return FALSE;
  g_free (*field);
  *field = g_strdup (value);
  _dvm_record_notify (record, codec, field);
  return TRUE;
}

gboolean
_dvm_record_set_path (gpointer record, const DvmRecordCodec *codec, char **field, const char *value)
{
  return _dvm_record_set_string (record, codec, field, g_strcmp0 (value, "/") == 0 ? NULL : value);
}

gboolean
_dvm_record_set_strv (gpointer record, const DvmRecordCodec *codec, char ***field, const char *const *value)
{
  if (value != NULL && value[0] == NULL)
    value = NULL;
  if (*field == NULL ? value == NULL : value != NULL && g_strv_equal ((const char *const *)*field, value))
    return FALSE;
  g_strfreev (*field);
  *field = g_strdupv ((char **)value);
  _dvm_record_notify (record, codec, field);
  return TRUE;
}

gboolean
_dvm_record_set_variant (gpointer record, const DvmRecordCodec *codec, GVariant **field, GVariant *value)
{
  if (value != NULL && g_variant_n_children (value) == 0)
    value = NULL;
  if (*field == NULL ? value == NULL : value != NULL && g_variant_equal (*field, value))
    return FALSE;
  g_clear_pointer (field, g_variant_unref);
  *field = value != NULL ? g_variant_ref (value) : NULL;
  _dvm_record_notify (record, codec, field);
  return TRUE;
}

/* ---- what getters give ---- */

const char *const *
_dvm_record_get_strv (char **field)
{
  static const char *const empty[] = { NULL };

  return field != NULL ? (const char *const *)field : empty;
}

const char *
_dvm_record_get_object_path (DvmRecord *self, const char *folder, guint number)
{
  if (self->object_path == NULL)
    self->object_path = g_strdup_printf ("%s%u", folder, number);
  return self->object_path;
}

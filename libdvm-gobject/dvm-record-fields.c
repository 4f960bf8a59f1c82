/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kind of a field decides the rest: its property, how it is read and written as GValue and as GVariant, and how it
 * is freed.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-record"

#include <string.h>

#include "dvm-record-codec-private.h"

/* Enumerations are read and written as guint. */
G_STATIC_ASSERT (sizeof (DvmJobState) == sizeof (guint));

static guint
get_number (gconstpointer record, const DvmRecordField *field)
{
  return G_STRUCT_MEMBER (guint, record, field->offset);
}

static const char *
get_text (gconstpointer record, const DvmRecordField *field)
{
  return G_STRUCT_MEMBER (const char *, record, field->offset);
}

static char **
get_list (gconstpointer record, const DvmRecordField *field)
{
  return G_STRUCT_MEMBER (char **, record, field->offset);
}

/* ---- properties ---- */

GParamSpec *
_dvm_record_field_make_pspec (const DvmRecordField *field, gboolean is_spec)
{
  const char *name = field->property != NULL ? field->property : field->json_name;
  GParamFlags flags = G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS;

  if (is_spec && !field->guarded)
    flags |= G_PARAM_WRITABLE;
  switch (field->kind)
    {
    case DVM_RECORD_FIELD_UINT:
      return g_param_spec_uint (name, NULL, NULL, 0, G_MAXUINT, field->otherwise, flags);
    case DVM_RECORD_FIELD_INT:
      return g_param_spec_int (name, NULL, NULL, G_MININT, G_MAXINT, 0, flags);
    case DVM_RECORD_FIELD_RANK:
      return g_param_spec_int (name, NULL, NULL, -1, G_MAXINT, -1, flags);
    case DVM_RECORD_FIELD_BOOLEAN:
      return g_param_spec_boolean (name, NULL, NULL, FALSE, flags);
    case DVM_RECORD_FIELD_TIME:
    case DVM_RECORD_FIELD_BYTES:
      return g_param_spec_int64 (name, NULL, NULL, 0, G_MAXINT64, 0, flags);
    case DVM_RECORD_FIELD_STRING:
    case DVM_RECORD_FIELD_ENUM_NAME:
      return g_param_spec_string (name, NULL, NULL, is_spec ? NULL : "", flags);
    case DVM_RECORD_FIELD_PATH:
      return g_param_spec_string (name, NULL, NULL, "/", flags);
    case DVM_RECORD_FIELD_STRV:
    case DVM_RECORD_FIELD_PATHS:
      return g_param_spec_boxed (name, NULL, NULL, G_TYPE_STRV, flags);
    case DVM_RECORD_FIELD_RANKS:
      return g_param_spec_variant (name, NULL, NULL, G_VARIANT_TYPE ("au"), NULL, flags);
    case DVM_RECORD_FIELD_ENUM_NUMBER:
    case DVM_RECORD_FIELD_ENUM_WORD:
      return g_param_spec_enum (name, NULL, NULL, field->words->get_type (), 0, flags);
    default:
      g_assert_not_reached ();
    }
}

void
_dvm_record_field_get_value (gpointer record, const DvmRecordField *field, GValue *value, GParamSpec *pspec)
{
  const char *text;

  switch (field->kind)
    {
    case DVM_RECORD_FIELD_UINT:
      g_value_set_uint (value, get_number (record, field));
      break;
    case DVM_RECORD_FIELD_INT:
    case DVM_RECORD_FIELD_RANK:
      g_value_set_int (value, G_STRUCT_MEMBER (int, record, field->offset));
      break;
    case DVM_RECORD_FIELD_BOOLEAN:
      g_value_set_boolean (value, G_STRUCT_MEMBER (gboolean, record, field->offset));
      break;
    case DVM_RECORD_FIELD_TIME:
    case DVM_RECORD_FIELD_BYTES:
      g_value_set_int64 (value, G_STRUCT_MEMBER (gint64, record, field->offset));
      break;
    case DVM_RECORD_FIELD_STRING:
    case DVM_RECORD_FIELD_PATH:
      text = get_text (record, field);
      g_value_set_string (value, text != NULL ? text : G_PARAM_SPEC_STRING (pspec)->default_value);
      break;
    case DVM_RECORD_FIELD_STRV:
    case DVM_RECORD_FIELD_PATHS:
      g_value_set_boxed (value, pspec->flags & G_PARAM_WRITABLE ? (gconstpointer)get_list (record, field)
                                                                : _dvm_record_get_strv (get_list (record, field)));
      break;
    case DVM_RECORD_FIELD_RANKS:
      g_value_take_variant (value, g_variant_ref_sink (_dvm_record_field_to_variant (record, field)));
      break;
    case DVM_RECORD_FIELD_ENUM_NUMBER:
    case DVM_RECORD_FIELD_ENUM_WORD:
      g_value_set_enum (value, (int)get_number (record, field));
      break;
    case DVM_RECORD_FIELD_ENUM_NAME:
      g_value_set_string (value, field->words->to_string (get_number (record, field)));
      break;
    }
}

void
_dvm_record_field_set_value (gpointer record, const DvmRecordCodec *codec, const DvmRecordField *field,
                             const GValue *value)
{
  gpointer place = G_STRUCT_MEMBER_P (record, field->offset);

  switch (field->kind)
    {
    case DVM_RECORD_FIELD_UINT:
      _dvm_record_set_uint (record, codec, place, g_value_get_uint (value));
      break;
    case DVM_RECORD_FIELD_INT:
      _dvm_record_set_int (record, codec, place, g_value_get_int (value));
      break;
    case DVM_RECORD_FIELD_BOOLEAN:
      _dvm_record_set_boolean (record, codec, place, g_value_get_boolean (value));
      break;
    case DVM_RECORD_FIELD_STRING:
      _dvm_record_set_string (record, codec, place, g_value_get_string (value));
      break;
    case DVM_RECORD_FIELD_STRV:
      _dvm_record_set_strv (record, codec, place, g_value_get_boxed (value));
      break;
    default: /* only descriptions of jobs are written by strangers, and they have no other kinds */
      g_assert_not_reached ();
    }
}

/* ---- variants ---- */

const char *
_dvm_record_field_get_type (const DvmRecordField *field)
{
  static const char *const types[] = {
    [DVM_RECORD_FIELD_UINT] = "u",      [DVM_RECORD_FIELD_INT] = "i",         [DVM_RECORD_FIELD_RANK] = "i",
    [DVM_RECORD_FIELD_BOOLEAN] = "b",   [DVM_RECORD_FIELD_TIME] = "t",        [DVM_RECORD_FIELD_STRING] = "s",
    [DVM_RECORD_FIELD_PATH] = "o",      [DVM_RECORD_FIELD_STRV] = "as",       [DVM_RECORD_FIELD_PATHS] = "ao",
    [DVM_RECORD_FIELD_RANKS] = "au",    [DVM_RECORD_FIELD_ENUM_NUMBER] = "u", [DVM_RECORD_FIELD_ENUM_WORD] = "s",
    [DVM_RECORD_FIELD_ENUM_NAME] = "s", [DVM_RECORD_FIELD_BYTES] = "t",
  };

  return types[field->kind];
}

/* A floating one, as the values of all other fields are. */
static GVariant *
copy_ranks (GVariant *ranks)
{
  const guint32 *numbers = NULL;
  gsize n_numbers = 0;

  if (ranks != NULL)
    numbers = g_variant_get_fixed_array (ranks, &n_numbers, sizeof *numbers);
  return g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, numbers, n_numbers, sizeof *numbers);
}

GVariant *
_dvm_record_field_to_variant (gconstpointer record, const DvmRecordField *field)
{
  const char *text;

  switch (field->kind)
    {
    case DVM_RECORD_FIELD_UINT:
    case DVM_RECORD_FIELD_ENUM_NUMBER:
      return g_variant_new_uint32 (get_number (record, field));
    case DVM_RECORD_FIELD_INT:
    case DVM_RECORD_FIELD_RANK:
      return g_variant_new_int32 (G_STRUCT_MEMBER (int, record, field->offset));
    case DVM_RECORD_FIELD_BOOLEAN:
      return g_variant_new_boolean (G_STRUCT_MEMBER (gboolean, record, field->offset));
    case DVM_RECORD_FIELD_TIME:
    case DVM_RECORD_FIELD_BYTES:
      return g_variant_new_uint64 (G_STRUCT_MEMBER (gint64, record, field->offset));
    case DVM_RECORD_FIELD_STRING:
      text = get_text (record, field);
      return g_variant_new_string (text != NULL ? text : "");
    case DVM_RECORD_FIELD_PATH:
      text = get_text (record, field);
      return g_variant_new_object_path (text != NULL ? text : "/");
    case DVM_RECORD_FIELD_STRV:
      return g_variant_new_strv (_dvm_record_get_strv (get_list (record, field)), -1);
    case DVM_RECORD_FIELD_PATHS:
      return g_variant_new_objv (_dvm_record_get_strv (get_list (record, field)), -1);
    case DVM_RECORD_FIELD_RANKS:
      return copy_ranks (G_STRUCT_MEMBER (GVariant *, record, field->offset));
    case DVM_RECORD_FIELD_ENUM_WORD:
    case DVM_RECORD_FIELD_ENUM_NAME:
      return g_variant_new_string (field->words->to_string (get_number (record, field)));
    default:
      g_assert_not_reached ();
    }
}

gboolean
_dvm_record_field_is_empty (gconstpointer record, const DvmRecordField *field)
{
  switch (field->kind)
    {
    case DVM_RECORD_FIELD_UINT:
    case DVM_RECORD_FIELD_INT:
      return G_STRUCT_MEMBER (guint, record, field->offset) == 0;
    case DVM_RECORD_FIELD_RANK:
      return G_STRUCT_MEMBER (int, record, field->offset) == -1;
    case DVM_RECORD_FIELD_BOOLEAN:
      return !G_STRUCT_MEMBER (gboolean, record, field->offset);
    case DVM_RECORD_FIELD_TIME:
    case DVM_RECORD_FIELD_BYTES:
      return G_STRUCT_MEMBER (gint64, record, field->offset) == 0;
    case DVM_RECORD_FIELD_STRING:
    case DVM_RECORD_FIELD_PATH:
    case DVM_RECORD_FIELD_STRV:
    case DVM_RECORD_FIELD_PATHS:
    case DVM_RECORD_FIELD_RANKS:
      return G_STRUCT_MEMBER (gconstpointer, record, field->offset) == NULL;
    default: /* a state is never left out */
      return FALSE;
    }
}

guint
_dvm_record_field_to_enum (const DvmRecordField *field, GVariant *value)
{
  if (field->kind == DVM_RECORD_FIELD_ENUM_NUMBER)
    return g_variant_get_uint32 (value);
  return field->words->from_string (g_variant_get_string (value, NULL));
}

/* (transfer container): by g_variant_get_strv() the list would be written out as bytes, and read again */
static const char **
borrow_texts (GVariant *list)
{
  gsize n = g_variant_n_children (list);
  const char **texts = g_new (const char *, n + 1);

  for (gsize i = 0; i < n; i++)
    {
      /* The list holds it. */
      g_autoptr (GVariant) text = g_variant_get_child_value (list, i);

      texts[i] = g_variant_get_string (text, NULL);
    }
  texts[n] = NULL;
  return texts;
}

void
_dvm_record_field_from_variant (gpointer record, const DvmRecordCodec *codec, const DvmRecordField *field,
                                GVariant *value)
{
  gpointer place = G_STRUCT_MEMBER_P (record, field->offset);

  switch (field->kind)
    {
    case DVM_RECORD_FIELD_UINT:
      _dvm_record_set_uint (record, codec, place, g_variant_get_uint32 (value));
      break;
    case DVM_RECORD_FIELD_INT:
    case DVM_RECORD_FIELD_RANK:
      _dvm_record_set_int (record, codec, place, g_variant_get_int32 (value));
      break;
    case DVM_RECORD_FIELD_BOOLEAN:
      _dvm_record_set_boolean (record, codec, place, g_variant_get_boolean (value));
      break;
    case DVM_RECORD_FIELD_TIME:
    case DVM_RECORD_FIELD_BYTES:
      _dvm_record_set_time (record, codec, place, g_variant_get_uint64 (value));
      break;
    case DVM_RECORD_FIELD_STRING:
      _dvm_record_set_string (record, codec, place, g_variant_get_string (value, NULL));
      break;
    case DVM_RECORD_FIELD_PATH:
      _dvm_record_set_path (record, codec, place, g_variant_get_string (value, NULL));
      break;
    case DVM_RECORD_FIELD_STRV:
    case DVM_RECORD_FIELD_PATHS:
      {
        g_autofree const char **list = borrow_texts (value);

        _dvm_record_set_strv (record, codec, place, list);
        break;
      }
    case DVM_RECORD_FIELD_RANKS:
      _dvm_record_set_variant (record, codec, place, value);
      break;
    case DVM_RECORD_FIELD_ENUM_NUMBER:
    case DVM_RECORD_FIELD_ENUM_WORD:
      _dvm_record_set_uint (record, codec, place, _dvm_record_field_to_enum (field, value));
      break;
    case DVM_RECORD_FIELD_ENUM_NAME: /* follows from the enumeration */
      break;
    }
}

/* ---- the end ---- */

void
_dvm_record_clear_fields (gpointer record, const DvmRecordCodec *codec)
{
  for (guint i = 0; i < codec->n_fields; i++)
    {
      gpointer place = G_STRUCT_MEMBER_P (record, codec->fields[i].offset);

      switch (codec->fields[i].kind)
        {
        case DVM_RECORD_FIELD_STRING:
        case DVM_RECORD_FIELD_PATH:
          g_clear_pointer ((char **)place, g_free);
          break;
        case DVM_RECORD_FIELD_STRV:
        case DVM_RECORD_FIELD_PATHS:
          g_clear_pointer ((char ***)place, g_strfreev);
          break;
        case DVM_RECORD_FIELD_RANKS:
          g_clear_pointer ((GVariant **)place, g_variant_unref);
          break;
        default:
          break;
        }
    }
}

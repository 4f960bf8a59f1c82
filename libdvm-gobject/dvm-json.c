/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Records and GVariants are written as JSON.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-json"

#include <string.h>

#include "dvm-json-private.h"
#include "dvm-record-codec-private.h"

char *
_dvm_format_time (gint64 microseconds)
{
  g_autoptr (GDateTime) seconds = NULL;
  g_autofree char *text = NULL;

  if (microseconds == 0)
    return NULL;
  seconds = g_date_time_new_from_unix_utc (microseconds / G_USEC_PER_SEC);
  if (seconds == NULL)
    return NULL;
  text = g_date_time_format (seconds, "%Y-%m-%dT%H:%M:%S");
  return g_strdup_printf ("%s.%06dZ", text, (int)(microseconds % G_USEC_PER_SEC));
}

void
_dvm_json_add_time (JsonBuilder *builder, gint64 microseconds)
{
  g_autofree char *text = _dvm_format_time (microseconds);

  if (text != NULL)
    json_builder_add_string_value (builder, text);
  else
    json_builder_add_null_value (builder);
}

/* "NumProcs" and "num-procs" both become "num-procs". */
static char *
kebab_case (const char *name)
{
  GString *text = g_string_sized_new (strlen (name) + 8);

  for (const char *c = name; *c != '\0'; c++)
    {
      if (g_ascii_isupper (*c) && c != name && !g_ascii_isupper (c[-1]) && c[-1] != '-')
        g_string_append_c (text, '-');
      g_string_append_c (text, g_ascii_tolower (*c));
    }
  return g_string_free (text, FALSE);
}

static void
add_string (JsonBuilder *builder, GVariant *value)
{
  json_builder_add_string_value (builder, g_variant_get_string (value, NULL));
}

static void
add_number (JsonBuilder *builder, GVariant *value)
{
  switch (g_variant_classify (value))
    {
    case G_VARIANT_CLASS_BYTE:
      json_builder_add_int_value (builder, g_variant_get_byte (value));
      break;
    case G_VARIANT_CLASS_INT16:
      json_builder_add_int_value (builder, g_variant_get_int16 (value));
      break;
    case G_VARIANT_CLASS_UINT16:
      json_builder_add_int_value (builder, g_variant_get_uint16 (value));
      break;
    case G_VARIANT_CLASS_INT32:
      json_builder_add_int_value (builder, g_variant_get_int32 (value));
      break;
    case G_VARIANT_CLASS_UINT32:
      json_builder_add_int_value (builder, g_variant_get_uint32 (value));
      break;
    case G_VARIANT_CLASS_INT64:
      json_builder_add_int_value (builder, g_variant_get_int64 (value));
      break;
    case G_VARIANT_CLASS_UINT64:
      json_builder_add_int_value (builder, (gint64)g_variant_get_uint64 (value));
      break;
    case G_VARIANT_CLASS_HANDLE:
      json_builder_add_int_value (builder, g_variant_get_handle (value));
      break;
    default:
      json_builder_add_double_value (builder, g_variant_get_double (value));
      break;
    }
}

static gboolean
has_state_name (GVariant *dict, const char *key)
{
  g_autofree char *name_key = g_strconcat (key, "Name", NULL);
  g_autoptr (GVariant) name = g_variant_lookup_value (dict, name_key, G_VARIANT_TYPE_STRING);

  return name != NULL;
}

static gboolean
is_time (const char *key, GVariant *value)
{
  return g_variant_is_of_type (value, G_VARIANT_TYPE_UINT64)
         && (g_str_has_suffix (key, "At") || strcmp (key, "LastSeen") == 0);
}

/* Properties of an object: a state is its name, a time is a date. */
static void
add_properties (JsonBuilder *builder, GVariant *dict)
{
  GVariantIter iter;
  const char *key;
  GVariant *value;

  json_builder_begin_object (builder);
  g_variant_iter_init (&iter, dict);
  while (g_variant_iter_loop (&iter, "{&sv}", &key, &value))
    {
      g_autofree char *name = kebab_case (key);

      if (strcmp (key, "State") == 0 && g_variant_is_of_type (value, G_VARIANT_TYPE_UINT32)
          && has_state_name (dict, key))
        continue;
      json_builder_set_member_name (builder, strcmp (key, "StateName") == 0 ? "state" : name);
      if (is_time (key, value))
        _dvm_json_add_time (builder, g_variant_get_uint64 (value));
      else
        _dvm_json_add_variant (builder, value);
    }
  json_builder_end_object (builder);
}

/* The keys of other dictionaries are data, such as names of environment variables. */
static void
add_dictionary (JsonBuilder *builder, GVariant *dict)
{
  json_builder_begin_object (builder);
  for (gsize i = 0; i < g_variant_n_children (dict); i++)
    {
      g_autoptr (GVariant) entry = g_variant_get_child_value (dict, i);
      g_autoptr (GVariant) key = g_variant_get_child_value (entry, 0);
      g_autoptr (GVariant) value = g_variant_get_child_value (entry, 1);
      g_autofree char *printed = NULL;

      if (g_variant_is_of_type (key, G_VARIANT_TYPE_STRING) || g_variant_is_of_type (key, G_VARIANT_TYPE_OBJECT_PATH))
        json_builder_set_member_name (builder, g_variant_get_string (key, NULL));
      else
        json_builder_set_member_name (builder, (printed = g_variant_print (key, FALSE)));
      _dvm_json_add_variant (builder, value);
    }
  json_builder_end_object (builder);
}

/* Bytes that are text are printed as text; others are escaped as in C. */
static void
add_bytes (JsonBuilder *builder, GVariant *value)
{
  gsize length;
  const char *data = g_variant_get_fixed_array (value, &length, 1);
  g_autofree char *text = g_strndup (data, length);

  if (g_utf8_validate (text, -1, NULL))
    json_builder_add_string_value (builder, text);
  else
    {
      g_autofree char *escaped = g_strescape (text, NULL);

      json_builder_add_string_value (builder, escaped);
    }
}

static void
add_children (JsonBuilder *builder, GVariant *value)
{
  json_builder_begin_array (builder);
  for (gsize i = 0; i < g_variant_n_children (value); i++)
    {
      g_autoptr (GVariant) child = g_variant_get_child_value (value, i);

      _dvm_json_add_variant (builder, child);
    }
  json_builder_end_array (builder);
}

void
_dvm_json_add_variant (JsonBuilder *builder, GVariant *value)
{
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_VARIANT))
    {
      g_autoptr (GVariant) child = g_variant_get_variant (value);

      _dvm_json_add_variant (builder, child);
    }
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_VARDICT))
    add_properties (builder, value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_DICTIONARY))
    add_dictionary (builder, value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_BYTESTRING))
    add_bytes (builder, value);
  else if (g_variant_is_container (value))
    add_children (builder, value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_BOOLEAN))
    json_builder_add_boolean_value (builder, g_variant_get_boolean (value));
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_STRING)
           || g_variant_is_of_type (value, G_VARIANT_TYPE_OBJECT_PATH)
           || g_variant_is_of_type (value, G_VARIANT_TYPE_SIGNATURE))
    add_string (builder, value);
  else
    add_number (builder, value);
}

/* Terminals obey the controls of C1 too, and the generator leaves them as they are; they stand in strings alone. */
static char *
escape_c1 (const char *data)
{
  GString *text = g_string_sized_new (strlen (data));

  for (const char *c = data; *c != '\0'; c++)
    if ((guchar)c[0] == 0xc2 && (guchar)c[1] < 0xa0)
      g_string_append_printf (text, "\\u%04x", (guint)(guchar) * ++c);
    else
      g_string_append_c (text, *c);
  return g_string_free (text, FALSE);
}

char *
_dvm_json_finish (JsonBuilder *builder, gboolean pretty)
{
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autofree char *data = NULL;
  g_autoptr (JsonNode) root = json_builder_get_root (builder);

  json_generator_set_root (generator, root);
  json_generator_set_pretty (generator, pretty);
  data = json_generator_to_data (generator, NULL);
  return escape_c1 (data);
}

char *
_dvm_variant_to_json (GVariant *value, gboolean pretty)
{
  g_autoptr (JsonBuilder) builder = json_builder_new_immutable ();

  _dvm_json_add_variant (builder, value);
  return _dvm_json_finish (builder, pretty);
}

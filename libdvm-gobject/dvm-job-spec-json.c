/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The description of a job is written as JSON and read again.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-spec"

#include <glib/gi18n-lib.h>
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <string.h>

#include "dvm-job-spec-private.h"
#include "dvm-json-private.h"
#include "dvm-words-private.h"

/* The parser calls itself for each level. */
#define DEEPEST 32

/* Out. */

static void
append_byte_lists (GString *json, GVariant *value)
{
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_BYTE))
    {
      _dvm_json_append_int (json, g_variant_get_byte (value));
      return;
    }
  g_string_append_c (json, '[');
  for (gsize i = 0; i < g_variant_n_children (value); i++)
    {
      g_autoptr (GVariant) child = g_variant_get_child_value (value, i);

      g_string_append (json, i > 0 ? "," : "");
      append_byte_lists (json, child);
    }
  g_string_append_c (json, ']');
}

static void
append_members (GString *json, GVariant *dict)
{
  GVariantIter iter;
  const char *key;
  GVariant *value;

  g_variant_iter_init (&iter, dict);
  while (g_variant_iter_loop (&iter, "{&sv}", &key, &value))
    {
      _dvm_json_append_key (json, key);
      if (g_str_has_suffix (key, "-bytes"))
        append_byte_lists (json, value);
      else
        _dvm_json_append_variant (json, value);
    }
}

/**
 * dvm_job_spec_to_json:
 * @self: a job description that has been validated
 *
 * The description as a JSON object: `apps` is a list with one object per program, the other members are the options of
 * the job under the names that they have on the bus.
 *
 * Returns: (transfer full): the text
 * Since: 0.1
 */
char *
dvm_job_spec_to_json (DvmJobSpec *self)
{
  g_autoptr (GString) json = g_string_new ("{\"apps\":[");
  g_autoptr (GVariant) value = NULL;
  g_autoptr (GVariant) apps = NULL;
  g_autoptr (GVariant) options = NULL;

  g_return_val_if_fail (DVM_IS_JOB_SPEC (self), NULL);

  value = dvm_job_spec_to_variant (self);
  g_variant_get (value, "(@aa{sv}@a{sv})", &apps, &options);
  for (gsize i = 0; i < g_variant_n_children (apps); i++)
    {
      g_autoptr (GVariant) app = g_variant_get_child_value (apps, i);

      g_string_append (json, i > 0 ? ",{" : "{");
      append_members (json, app);
      g_string_append_c (json, '}');
    }
  g_string_append_c (json, ']');
  append_members (json, options);
  g_string_append_c (json, '}');
  return _dvm_json_indent (json->str);
}

/* In. */

static const char *
describe_node (JsonNode *node)
{
  switch (json_node_get_node_type (node))
    {
    case JSON_NODE_OBJECT:
      return _ ("an object");
    case JSON_NODE_ARRAY:
      return _ ("a list");
    case JSON_NODE_NULL:
      return _ ("null");
    default:
      break;
    }
  if (json_node_get_value_type (node) == G_TYPE_STRING)
    return _ ("a text");
  if (json_node_get_value_type (node) == G_TYPE_BOOLEAN)
    return _ ("true or false");
  if (json_node_get_value_type (node) == G_TYPE_DOUBLE)
    return _ ("a fraction or a number that is too large");
  return _ ("a number");
}

static GVariant *
set_wrong_type (JsonNode *node, const char *place, const char *expected, GError **error)
{
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s: must be %s, not %s"), place, expected,
               describe_node (node));
  return NULL;
}

static GVariant *
number_to_variant (JsonNode *node, const char *type, const char *place, GError **error)
{
  gint64 most = type[0] == 'y' ? G_MAXUINT8 : type[0] == 'i' ? G_MAXINT32 : G_MAXUINT32;
  gint64 least = type[0] == 'i' ? G_MININT32 : 0;
  gint64 value;

  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_INT64)
    return set_wrong_type (node, place, _ ("a whole number"), error);
  value = json_node_get_int (node);
  if (value < least || value > most)
    {
      g_autofree char *least_text = g_strdup_printf ("%" G_GINT64_FORMAT, least);
      g_autofree char *most_text = g_strdup_printf ("%" G_GINT64_FORMAT, most);
      g_autofree char *value_text = g_strdup_printf ("%" G_GINT64_FORMAT, value);

      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("%s: must be a whole number from %s to %s, not %s"), place,
                   least_text, most_text, value_text);
      return NULL;
    }
  if (type[0] == 'i')
    return g_variant_new_int32 (value);
  return type[0] == 'y' ? g_variant_new_byte (value) : g_variant_new_uint32 (value);
}

static GVariant *node_to_variant (JsonNode *node, const char *type, const char *place, GError **error);

static GVariant *
list_to_variant (JsonNode *node, const char *type, const char *place, GError **error)
{
  g_autoptr (GVariant) list = NULL;
  GVariantBuilder builder;
  JsonArray *array;

  if (!JSON_NODE_HOLDS_ARRAY (node))
    return set_wrong_type (node, place, _ ("a list"), error);
  array = json_node_get_array (node);
  g_variant_builder_init (&builder, G_VARIANT_TYPE (type));
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      g_autofree char *item_place = g_strdup_printf ("%s[%u]", place, i);
      GVariant *item = node_to_variant (json_array_get_element (array, i), type + 1, item_place, error);

      if (item == NULL)
        {
          g_variant_builder_clear (&builder);
          return NULL;
        }
      g_variant_builder_add_value (&builder, item);
    }
  list = g_variant_builder_end (&builder);
  return g_steal_pointer (&list);
}

static GVariant *
texts_to_variant (JsonNode *node, const char *place, GError **error)
{
  GVariantBuilder builder;
  JsonObjectIter iter;
  const char *name;
  JsonNode *value;

  if (!JSON_NODE_HOLDS_OBJECT (node))
    return set_wrong_type (node, place, _ ("an object"), error);
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{ss}"));
  json_object_iter_init_ordered (&iter, json_node_get_object (node));
  while (json_object_iter_next_ordered (&iter, &name, &value))
    {
      g_autofree char *shown = _dvm_words_show (name);
      g_autofree char *item_place = g_strdup_printf ("%s.%s", place, shown);

      if (!JSON_NODE_HOLDS_VALUE (value) || json_node_get_value_type (value) != G_TYPE_STRING)
        {
          g_variant_builder_clear (&builder);
          return set_wrong_type (value, item_place, _ ("a text"), error);
        }
      g_variant_builder_add (&builder, "{ss}", name, json_node_get_string (value));
    }
  return g_variant_builder_end (&builder);
}

static GVariant *
node_to_variant (JsonNode *node, const char *type, const char *place, GError **error)
{
  GType value_type = JSON_NODE_HOLDS_VALUE (node) ? json_node_get_value_type (node) : G_TYPE_INVALID;

  if (strcmp (type, "a{ss}") == 0)
    return texts_to_variant (node, place, error);
  switch (type[0])
    {
    case 'a':
      return list_to_variant (node, type, place, error);
    case 's':
      if (value_type != G_TYPE_STRING)
        return set_wrong_type (node, place, _ ("a text"), error);
      return g_variant_new_string (json_node_get_string (node));
    case 'b':
      if (value_type != G_TYPE_BOOLEAN)
        return set_wrong_type (node, place, _ ("true or false"), error);
      return g_variant_new_boolean (json_node_get_boolean (node));
    default:
      return number_to_variant (node, type, place, error);
    }
}

/* One object; skip is a member that is looked at elsewhere. */
static GVariant *
object_to_variant (JsonObject *object, gboolean in_app, const char *place, const char *skip, GError **error)
{
  GVariantBuilder builder;
  JsonObjectIter iter;
  const char *name;
  JsonNode *node;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  json_object_iter_init_ordered (&iter, object);
  while (json_object_iter_next_ordered (&iter, &name, &node))
    {
      const DvmSpecKey *key = in_app ? NULL : _dvm_spec_find_job_key (name);
      g_autofree char *member_place = g_strconcat (place, name, NULL);
      GVariant *value = NULL;

      if (g_strcmp0 (name, skip) == 0)
        continue;
      if (key == NULL)
        key = _dvm_spec_find_app_key (name);
      if (key == NULL)
        _dvm_spec_set_key_error (name, in_app, place, error);
      else
        value = node_to_variant (node, key->type, member_place, error);
      if (value == NULL)
        {
          g_variant_builder_clear (&builder);
          return NULL;
        }
      g_variant_builder_add (&builder, "{sv}", name, value);
    }
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

static GVariant *
apps_to_variant (JsonNode *node, GError **error)
{
  GVariantBuilder builder;
  JsonArray *array;

  if (!JSON_NODE_HOLDS_ARRAY (node))
    return set_wrong_type (node, "$.apps", _ ("a list of applications"), error);
  array = json_node_get_array (node);
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("aa{sv}"));
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      JsonNode *item = json_array_get_element (array, i);
      g_autofree char *place = g_strdup_printf ("$.apps[%u]", i);
      g_autofree char *member_place = g_strconcat (place, ".", NULL);
      g_autoptr (GVariant) app = NULL;

      if (JSON_NODE_HOLDS_OBJECT (item))
        app = object_to_variant (json_node_get_object (item), TRUE, member_place, NULL, error);
      else
        set_wrong_type (item, place, _ ("an object"), error);
      if (app == NULL)
        {
          g_variant_builder_clear (&builder);
          return NULL;
        }
      g_variant_builder_add_value (&builder, app);
    }
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

/* {"argv": ["a", "b"], "np": 4} is a job with one application. */
static GVariant *
only_app_to_variant (JsonObject *object, GError **error)
{
  JsonNode *argv = json_object_get_member (object, "argv");
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  if (argv != NULL)
    {
      GVariant *value = node_to_variant (argv, "as", "$.argv", error);

      if (value == NULL)
        {
          g_variant_builder_clear (&builder);
          return NULL;
        }
      g_variant_builder_add (&builder, "{sv}", "argv", value);
    }
  return g_variant_ref_sink (g_variant_new ("(a{sv})", &builder));
}

static DvmJobSpec *
spec_from_object (JsonObject *object, GError **error)
{
  JsonNode *list = json_object_get_member (object, "apps");
  g_autoptr (GVariant) apps = NULL;
  g_autoptr (GVariant) options = NULL;

  if (list != NULL)
    apps = apps_to_variant (list, error);
  else
    {
      g_autoptr (GVariant) tuple = only_app_to_variant (object, error);

      if (tuple != NULL)
        {
          GVariant *app = g_variant_get_child_value (tuple, 0);

          apps = g_variant_ref_sink (g_variant_new_array (G_VARIANT_TYPE_VARDICT, &app, 1));
          g_variant_unref (app);
        }
    }
  if (apps == NULL)
    return NULL;
  options = object_to_variant (object, FALSE, "$.", list != NULL ? "apps" : "argv", error);
  if (options == NULL)
    return NULL;
  return _dvm_job_spec_new_from_variant_at (apps, options, "$.", error);
}

static gboolean
set_parse_error (const char *json, gsize offset, const char *what, GError **error)
{
  guint line = 1;

  for (gsize i = 0; i < offset; i++)
    if (json[i] == '\n')
      line++;
  g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, _ ("line %u: %s"), line, what);
  return FALSE;
}

/* "<data>:2:3: Parse error: ..." as the parser says it; of half a surrogate it makes what is no UTF-8. */
static void
set_syntax_error (const char *said, GError **error)
{
  g_autofree char *message = g_utf8_make_valid (said, -1);
  guint line, column;
  int start = 0;

  if (sscanf (message, "<data>:%u:%u: Parse error: %n", &line, &column, &start) >= 2 && start > 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, _ ("line %u, column %u: this is not JSON: %s"), line, column,
                 message + start);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, _ ("this is not JSON: %s"), message);
}

/* Refuses texts on which the parser would fail, or which it would cut short. */
static gboolean
check_text (const char *json, gsize length, GError **error)
{
  gboolean in_string = FALSE;
  guint depth = 0;
  const char *end;

  if (!g_utf8_validate_len (json, length, &end))
    return set_parse_error (json, end - json, _ ("this is not UTF-8"), error);
  for (gsize i = 0; i < length; i++)
    {
      if (in_string && json[i] == '\\' && i + 1 < length)
        {
          if (length - i > 5 && strncmp (json + i, "\\u0000", 6) == 0)
            return set_parse_error (json, i, _ ("a NUL character cannot be in a text"), error);
          i++;
        }
      else if (json[i] == '"')
        in_string = !in_string;
      /* The parser takes comments and single quotes, JSON has neither; they could hide brackets from this check. */
      else if (!in_string && (json[i] == '/' || json[i] == '\''))
        return set_parse_error (json, i, _ ("this is not JSON: comments and single quotes are not part of it"), error);
      else if (!in_string && (json[i] == '[' || json[i] == '{') && ++depth > DEEPEST)
        return set_parse_error (json, i, _ ("lists and objects are nested too deeply"), error);
      else if (!in_string && (json[i] == ']' || json[i] == '}') && depth > 0)
        depth--;
    }
  return TRUE;
}

/**
 * dvm_job_spec_new_from_json:
 * @json: a text
 * @length: its length in bytes, -1 if it ends with a NUL
 * @error: return location for an error
 *
 * Makes a description from JSON and validates it. Besides what dvm_job_spec_to_json() writes, a job with one program
 * may have its `argv` and the rest beside each other without `apps`.
 *
 * Returns: (transfer full): the description; %NULL on error: %DVM_ERROR_PARSE_FAILED with the line,
 *   %DVM_ERROR_BAD_PARAM or %DVM_ERROR_NOT_SUPPORTED with the JSON path
 * Since: 0.1
 */
DvmJobSpec *
dvm_job_spec_new_from_json (const char *json, gssize length, GError **error)
{
  g_autoptr (JsonParser) parser = NULL;
  g_autoptr (GError) parse_error = NULL;
  JsonNode *root;

  g_return_val_if_fail (json != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (length < 0)
    length = strlen (json);
  if (!check_text (json, length, error))
    return NULL;
  parser = json_parser_new_immutable ();
  if (!json_parser_load_from_data (parser, json, length, &parse_error))
    {
      set_syntax_error (parse_error->message, error);
      return NULL;
    }
  root = json_parser_get_root (parser);
  if (root == NULL || !JSON_NODE_HOLDS_OBJECT (root))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("$: a job is an object, not %s"),
                   root != NULL ? describe_node (root) : _ ("nothing"));
      return NULL;
    }
  return spec_from_object (json_node_get_object (root), error);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The properties of the DVM are shown, as text and as JSON.
 */

#include "config.h"

#include "dvm-cli-info.h"

#include <string.h>

#include "dvm-cli-json.h"
#include "dvm-cli-output.h"
#include "dvm-cli-table.h"

/* "State" beside "StateName": the name alone is shown, under the key of the number. */
static gboolean
has_name (GVariant *properties, const char *key)
{
  g_autofree char *name_key = g_strconcat (key, "Name", NULL);
  g_autoptr (GVariant) name = g_variant_lookup_value (properties, name_key, G_VARIANT_TYPE_STRING);

  return name != NULL;
}

static char *
shown_key (GVariant *properties, const char *key)
{
  g_autofree char *base = g_str_has_suffix (key, "Name") ? g_strndup (key, strlen (key) - strlen ("Name")) : NULL;
  g_autoptr (GVariant) number = base != NULL && base[0] != '\0' ? g_variant_lookup_value (properties, base, NULL)
                                                                : NULL;

  return dvm_cli_json_key (number != NULL ? base : key);
}

static gboolean
is_time (const char *key, GVariant *value)
{
  return g_str_has_suffix (key, "At") && g_variant_is_of_type (value, G_VARIANT_TYPE_UINT64);
}

static void
append_json (GString *json, const char *key, GVariant *value)
{
  g_autofree char *time = NULL;

  if (!is_time (key, value))
    {
      dvm_cli_json_append_value (json, value);
      return;
    }
  if (g_variant_get_uint64 (value) == 0)
    {
      g_string_append (json, "null");
      return;
    }
  time = dvm_cli_format_time ((gint64)g_variant_get_uint64 (value));
  dvm_cli_json_append_string (json, time);
}

char *
dvm_cli_info_to_json (GVariant *properties)
{
  GString *json = g_string_new ("{");
  GVariantIter iter;
  const char *key;
  GVariant *value;

  g_variant_iter_init (&iter, properties);
  while (g_variant_iter_loop (&iter, "{&sv}", &key, &value))
    {
      g_autofree char *shown = shown_key (properties, key);

      if (has_name (properties, key))
        continue;
      if (json->len > 1)
        g_string_append_c (json, ',');
      dvm_cli_json_append_string (json, shown);
      g_string_append_c (json, ':');
      append_json (json, key, value);
    }
  g_string_append (json, "}\n");
  return g_string_free (json, FALSE);
}

static char *
show_value (const char *key, GVariant *value)
{
  if (is_time (key, value) && g_variant_get_uint64 (value) != 0)
    return dvm_cli_format_time ((gint64)g_variant_get_uint64 (value));
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_STRING) || g_variant_is_of_type (value, G_VARIANT_TYPE_OBJECT_PATH))
    return dvm_cli_escape (g_variant_get_string (value, NULL));
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_BOOLEAN))
    return g_strdup (g_variant_get_boolean (value) ? "yes" : "no");
  return g_variant_print (value, FALSE);
}

static void
collect_properties (GPtrArray *lines, GVariant *properties, const char *prefix)
{
  GVariantIter iter;
  const char *key;
  GVariant *value;

  g_variant_iter_init (&iter, properties);
  while (g_variant_iter_loop (&iter, "{&sv}", &key, &value))
    {
      g_autofree char *shown = shown_key (properties, key);
      g_autofree char *whole = g_strconcat (prefix, shown, NULL);
      g_autofree char *escaped = dvm_cli_escape (whole);
      g_autofree char *text = NULL;

      if (has_name (properties, key))
        continue;
      if (g_variant_is_of_type (value, G_VARIANT_TYPE_VARDICT))
        {
          g_autofree char *inner = g_strconcat (whole, ".", NULL);

          collect_properties (lines, value, inner);
          continue;
        }
      text = show_value (key, value);
      g_ptr_array_add (lines, g_strdup_printf ("%s: %s\n", escaped, text));
    }
}

static int
compare_lines (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

char *
dvm_cli_info_to_text (GVariant *properties)
{
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);
  GString *text = g_string_new (NULL);

  collect_properties (lines, properties, "");
  g_ptr_array_sort (lines, compare_lines);
  for (guint i = 0; i < lines->len; i++)
    g_string_append (text, g_ptr_array_index (lines, i));
  return g_string_free (text, FALSE);
}

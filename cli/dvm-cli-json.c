/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * GVariants are written as JSON, in one pass and without loss.
 */

#include "config.h"

#include "dvm-cli-json.h"

#include <math.h>

/* C1: terminals obey these too. */
static gboolean
is_c1 (const char *p)
{
  return (guchar)p[0] == 0xc2 && (guchar)p[1] < 0xa0;
}

void
dvm_cli_json_append_string (GString *json, const char *text)
{
  g_autofree char *valid = g_utf8_validate (text, -1, NULL) ? NULL : g_utf8_make_valid (text, -1);
  const char *start = valid != NULL ? valid : text;

  g_string_append_c (json, '"');
  for (const char *p = start; *p != '\0'; p++)
    {
      if ((guchar)*p >= 0x20 && *p != '"' && *p != '\\' && *p != 0x7f && !is_c1 (p))
        continue;
      g_string_append_len (json, start, p - start);
      if (*p == '"' || *p == '\\')
        g_string_append_printf (json, "\\%c", *p);
      else
        {
          p += is_c1 (p);
          g_string_append_printf (json, "\\u%04x", (guint)(guchar)*p);
        }
      start = p + 1;
    }
  g_string_append (json, start);
  g_string_append_c (json, '"');
}

char *
dvm_cli_json_key (const char *name)
{
  GString *key = g_string_new (NULL);

  for (const char *p = name; *p != '\0'; p++)
    {
      if (g_ascii_isupper (*p) && p != name && !g_ascii_isupper (p[-1]) && p[-1] != '-')
        g_string_append_c (key, '-');
      g_string_append_c (key, g_ascii_tolower (*p));
    }
  return g_string_free (key, FALSE);
}

static void
append_entry (GString *json, GVariant *entry)
{
  g_autoptr (GVariant) key = g_variant_get_child_value (entry, 0);
  g_autoptr (GVariant) value = g_variant_get_child_value (entry, 1);
  g_autofree char *printed = NULL;

  if (g_variant_is_of_type (key, G_VARIANT_TYPE_STRING))
    printed = dvm_cli_json_key (g_variant_get_string (key, NULL));
  else
    printed = g_variant_print (key, FALSE);
  dvm_cli_json_append_string (json, printed);
  g_string_append_c (json, ':');
  dvm_cli_json_append_value (json, value);
}

static void
append_container (GString *json, GVariant *value)
{
  gboolean is_dictionary = g_variant_is_of_type (value, G_VARIANT_TYPE_DICTIONARY);
  gsize n = g_variant_n_children (value);

  g_string_append_c (json, is_dictionary ? '{' : '[');
  for (gsize i = 0; i < n; i++)
    {
      g_autoptr (GVariant) child = g_variant_get_child_value (value, i);

      if (i > 0)
        g_string_append_c (json, ',');
      if (is_dictionary)
        append_entry (json, child);
      else
        dvm_cli_json_append_value (json, child);
    }
  g_string_append_c (json, is_dictionary ? '}' : ']');
}

static void
append_double (GString *json, double number)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append (json, isfinite (number) ? g_ascii_dtostr (buffer, sizeof buffer, number) : "null");
}

/**
 * dvm_cli_json_append_value:
 * @json: where to
 * @value: any value of D-Bus; dictionaries become objects with keys in kebab-case
 */
void
dvm_cli_json_append_value (GString *json, GVariant *value)
{
  g_autoptr (GVariant) inner = NULL;

  switch (g_variant_classify (value))
    {
    case G_VARIANT_CLASS_VARIANT:
      inner = g_variant_get_variant (value);
      dvm_cli_json_append_value (json, inner);
      break;
    case G_VARIANT_CLASS_STRING:
    case G_VARIANT_CLASS_OBJECT_PATH:
    case G_VARIANT_CLASS_SIGNATURE:
      dvm_cli_json_append_string (json, g_variant_get_string (value, NULL));
      break;
    case G_VARIANT_CLASS_DOUBLE:
      append_double (json, g_variant_get_double (value));
      break;
    case G_VARIANT_CLASS_ARRAY:
    case G_VARIANT_CLASS_TUPLE:
      append_container (json, value);
      break;
    case G_VARIANT_CLASS_BYTE:
      g_string_append_printf (json, "%u", g_variant_get_byte (value));
      break;
    case G_VARIANT_CLASS_BOOLEAN:
    case G_VARIANT_CLASS_INT16:
    case G_VARIANT_CLASS_UINT16:
    case G_VARIANT_CLASS_INT32:
    case G_VARIANT_CLASS_UINT32:
    case G_VARIANT_CLASS_INT64:
    case G_VARIANT_CLASS_UINT64:
      g_variant_print_string (value, json, FALSE);
      break;
    case G_VARIANT_CLASS_HANDLE:
    case G_VARIANT_CLASS_MAYBE:
    case G_VARIANT_CLASS_DICT_ENTRY:
    default:
      g_string_append (json, "null");
    }
}

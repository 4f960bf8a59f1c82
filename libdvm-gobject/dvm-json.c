/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Records and GVariants are written as JSON.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-json"

#include <math.h>
#include <string.h>
#include <time.h>

#include "dvm-json-private.h"
#include "dvm-record-codec-private.h"

/* That of the year 9999: a date of ISO 8601 has four digits there. */
#define LAST_SECOND G_GINT64_CONSTANT (253402300799)

/* As GDateTime would write it, which takes ten times as long, and lists have thousands of times. */
void
_dvm_json_append_time (GString *json, gint64 microseconds)
{
  time_t seconds = microseconds / G_USEC_PER_SEC;
  char date[sizeof "2026-01-31T12:00:00"];
  struct tm parts;

  if (microseconds <= 0 || seconds > LAST_SECOND || gmtime_r (&seconds, &parts) == NULL)
    {
      g_string_append (json, "null");
      return;
    }
  strftime (date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  g_string_append_printf (json, "\"%s.%06dZ\"", date, (int)(microseconds % G_USEC_PER_SEC));
}

/* (nullable): the letter behind a backslash */
static const char *
find_letter (char c)
{
  static const char *const letters[] = { "\"\"", "\\\\", "\bb", "\ff", "\nn", "\rr", "\tt" };

  for (gsize i = 0; i < G_N_ELEMENTS (letters); i++)
    if (letters[i][0] == c)
      return letters[i] + 1;
  return NULL;
}

/* Terminals obey the controls of C1, too. */
void
_dvm_json_append_string (GString *json, const char *text)
{
  const char *start = text;

  g_string_append_c (json, '"');
  for (const char *c = text; *c != '\0'; c++)
    {
      gboolean is_c1 = (guchar)c[0] == 0xc2 && (guchar)c[1] < 0xa0;
      const char *letter;

      if ((guchar)*c >= 0x20 && *c != '"' && *c != '\\' && *c != 0x7f && !is_c1)
        continue;
      g_string_append_len (json, start, c - start);
      letter = find_letter (*c);
      c += is_c1;
      if (letter != NULL)
        g_string_append_printf (json, "\\%c", *letter);
      else
        g_string_append_printf (json, "\\u%04x", (guint)(guchar)*c);
      start = c + 1;
    }
  g_string_append (json, start);
  g_string_append_c (json, '"');
}

void
_dvm_json_append_int (GString *json, gint64 number)
{
  char digits[24];
  char *first = digits + sizeof digits - 1;
  guint64 rest = number < 0 ? -(guint64)number : (guint64)number;

  *first = '\0';
  do
    *--first = (char)('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (number < 0)
    *--first = '-';
  g_string_append (json, first);
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

/* JSON has no number for what is none. */
static void
append_double (GString *json, double number)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append (json, isfinite (number) ? g_ascii_dtostr (text, sizeof text, number) : "null");
  if (isfinite (number) && strpbrk (text, ".e") == NULL)
    g_string_append (json, ".0");
}

static void
append_number (GString *json, GVariant *value)
{
  switch (g_variant_classify (value))
    {
    case G_VARIANT_CLASS_BYTE:
      _dvm_json_append_int (json, g_variant_get_byte (value));
      break;
    case G_VARIANT_CLASS_INT16:
      _dvm_json_append_int (json, g_variant_get_int16 (value));
      break;
    case G_VARIANT_CLASS_UINT16:
      _dvm_json_append_int (json, g_variant_get_uint16 (value));
      break;
    case G_VARIANT_CLASS_INT32:
      _dvm_json_append_int (json, g_variant_get_int32 (value));
      break;
    case G_VARIANT_CLASS_UINT32:
      _dvm_json_append_int (json, g_variant_get_uint32 (value));
      break;
    case G_VARIANT_CLASS_INT64:
      _dvm_json_append_int (json, g_variant_get_int64 (value));
      break;
    case G_VARIANT_CLASS_UINT64:
      _dvm_json_append_int (json, (gint64)g_variant_get_uint64 (value));
      break;
    case G_VARIANT_CLASS_HANDLE:
      _dvm_json_append_int (json, g_variant_get_handle (value));
      break;
    default:
      append_double (json, g_variant_get_double (value));
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

void
_dvm_json_append_key (GString *json, const char *name)
{
  char before = json->len > 0 ? json->str[json->len - 1] : '{';

  if (before != '{')
    g_string_append_c (json, ',');
  _dvm_json_append_string (json, name);
  g_string_append_c (json, ':');
}

/* Properties of an object: a state is its name, a time is a date. */
static void
append_properties (GString *json, GVariant *dict)
{
  GVariantIter iter;
  const char *key;
  GVariant *value;

  g_string_append_c (json, '{');
  g_variant_iter_init (&iter, dict);
  while (g_variant_iter_loop (&iter, "{&sv}", &key, &value))
    {
      g_autofree char *name = kebab_case (key);

      if (strcmp (key, "State") == 0 && g_variant_is_of_type (value, G_VARIANT_TYPE_UINT32)
          && has_state_name (dict, key))
        continue;
      _dvm_json_append_key (json, strcmp (key, "StateName") == 0 ? "state" : name);
      if (is_time (key, value))
        _dvm_json_append_time (json, g_variant_get_uint64 (value));
      else
        _dvm_json_append_variant (json, value);
    }
  g_string_append_c (json, '}');
}

/* The keys of other dictionaries are data, such as names of environment variables. */
static void
append_dictionary (GString *json, GVariant *dict)
{
  g_string_append_c (json, '{');
  for (gsize i = 0; i < g_variant_n_children (dict); i++)
    {
      g_autoptr (GVariant) entry = g_variant_get_child_value (dict, i);
      g_autoptr (GVariant) key = g_variant_get_child_value (entry, 0);
      g_autoptr (GVariant) value = g_variant_get_child_value (entry, 1);
      g_autofree char *printed = NULL;

      if (g_variant_is_of_type (key, G_VARIANT_TYPE_STRING) || g_variant_is_of_type (key, G_VARIANT_TYPE_OBJECT_PATH))
        _dvm_json_append_key (json, g_variant_get_string (key, NULL));
      else
        _dvm_json_append_key (json, (printed = g_variant_print (key, FALSE)));
      _dvm_json_append_variant (json, value);
    }
  g_string_append_c (json, '}');
}

/* Bytes that are text are printed as text; others are escaped as in C. */
static void
append_bytes (GString *json, GVariant *value)
{
  gsize length;
  const char *data = g_variant_get_fixed_array (value, &length, 1);
  g_autofree char *text = g_strndup (data, length);
  g_autofree char *escaped = g_utf8_validate (text, -1, NULL) ? NULL : g_strescape (text, NULL);

  _dvm_json_append_string (json, escaped != NULL ? escaped : text);
}

static void
append_children (GString *json, GVariant *value)
{
  g_string_append_c (json, '[');
  for (gsize i = 0; i < g_variant_n_children (value); i++)
    {
      g_autoptr (GVariant) child = g_variant_get_child_value (value, i);

      g_string_append (json, i > 0 ? "," : "");
      _dvm_json_append_variant (json, child);
    }
  g_string_append_c (json, ']');
}

void
_dvm_json_append_variant (GString *json, GVariant *value)
{
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_VARIANT))
    {
      g_autoptr (GVariant) child = g_variant_get_variant (value);

      _dvm_json_append_variant (json, child);
    }
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_VARDICT))
    append_properties (json, value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_DICTIONARY))
    append_dictionary (json, value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_BYTESTRING))
    append_bytes (json, value);
  else if (g_variant_is_container (value))
    append_children (json, value);
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_BOOLEAN))
    g_string_append (json, g_variant_get_boolean (value) ? "true" : "false");
  else if (g_variant_is_of_type (value, G_VARIANT_TYPE_STRING)
           || g_variant_is_of_type (value, G_VARIANT_TYPE_OBJECT_PATH)
           || g_variant_is_of_type (value, G_VARIANT_TYPE_SIGNATURE))
    _dvm_json_append_string (json, g_variant_get_string (value, NULL));
  else
    append_number (json, value);
}

char *
_dvm_variant_to_json (GVariant *value)
{
  GString *json = g_string_new (NULL);

  _dvm_json_append_variant (json, value);
  return g_string_free (json, FALSE);
}

static void
begin_line (GString *text, guint depth)
{
  g_string_append_c (text, '\n');
  for (guint i = 0; i < depth; i++)
    g_string_append (text, "  ");
}

char *
_dvm_json_indent (const char *json)
{
  GString *text = g_string_sized_new (2 * strlen (json));
  gboolean in_string = FALSE;
  guint depth = 0;

  for (const char *c = json; *c != '\0'; c++)
    {
      gboolean opens = !in_string && (*c == '{' || *c == '[');
      gboolean closes = !in_string && (*c == '}' || *c == ']');

      if (closes && c[-1] != *c - 2)
        begin_line (text, --depth);
      if (*c == ':' && !in_string)
        g_string_append (text, " :");
      else
        g_string_append_c (text, *c);
      if (*c == '\\' && in_string)
        g_string_append_c (text, *++c);
      else if (*c == '"')
        in_string = !in_string;
      else if (*c == ':' && !in_string)
        g_string_append_c (text, ' ');
      /* A bracket that closes is two behind the one that opens. */
      else if ((opens && c[1] != *c + 2) || (*c == ',' && !in_string))
        begin_line (text, depth += opens);
    }
  return g_string_free (text, FALSE);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Members of a struct are put into messages, and read from them, by one table.
 */

#include "config.h"

#include "dvmd-fields.h"

#include <string.h>

#include "dvm.h"

/* (nullable): floating, unless it is a GVariant of the struct's own */
static GVariant *
get_value (const DvmdField *field, gconstpointer values)
{
  gconstpointer member = G_STRUCT_MEMBER_P (values, field->offset);
  const char *text;

  switch (field->type[0])
    {
    case 'b':
      return *(const gboolean *)member ? g_variant_new_boolean (TRUE) : NULL;
    case 'u':
      return *(const guint32 *)member != 0 ? g_variant_new_uint32 (*(const guint32 *)member) : NULL;
    case 'x':
      return *(const gint64 *)member != 0 ? g_variant_new_int64 (*(const gint64 *)member) : NULL;
    case 't':
      return *(const guint64 *)member != 0 ? g_variant_new_uint64 (*(const guint64 *)member) : NULL;
    case 's':
      text = *(char *const *)member;
      return text != NULL ? g_variant_new_string (text) : NULL;
    default:
      return *(GVariant *const *)member;
    }
}

static void
set_value (const DvmdField *field, gpointer values, GVariant *value)
{
  gpointer member = G_STRUCT_MEMBER_P (values, field->offset);

  switch (field->type[0])
    {
    case 'b':
      *(gboolean *)member = g_variant_get_boolean (value);
      break;
    case 'u':
      *(guint32 *)member = g_variant_get_uint32 (value);
      break;
    case 'x':
      *(gint64 *)member = g_variant_get_int64 (value);
      break;
    case 't':
      *(guint64 *)member = g_variant_get_uint64 (value);
      break;
    case 's':
      g_free (*(char **)member);
      *(char **)member = g_variant_dup_string (value, NULL);
      break;
    default:
      g_clear_pointer ((GVariant **)member, g_variant_unref);
      *(GVariant **)member = g_variant_ref (value);
      break;
    }
}

GVariant *
dvmd_fields_to_dict (const DvmdField *fields, gconstpointer values)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (const DvmdField *field = fields; field->key != NULL; field++)
    {
      GVariant *value = get_value (field, values);

      if (value != NULL)
        g_variant_builder_add (&builder, "{sv}", field->key, value);
    }
  return g_variant_builder_end (&builder);
}

static const DvmdField *
find_field (const DvmdField *fields, const char *key)
{
  for (const DvmdField *field = fields; field->key != NULL; field++)
    if (g_str_equal (field->key, key))
      return field;
  return NULL;
}

gboolean
dvmd_fields_from_dict (const DvmdField *fields, gpointer values, GVariant *dict, GError **error)
{
  GVariantIter iter;
  const char *key;
  GVariant *value;

  g_variant_iter_init (&iter, dict);
  while (g_variant_iter_next (&iter, "{&sv}", &key, &value))
    {
      g_autoptr (GVariant) owned = value;
      const DvmdField *field = find_field (fields, key);

      if (field == NULL || !g_variant_is_of_type (value, G_VARIANT_TYPE (field->type)))
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_PARSE_FAILED, "A message has “%s” of type %s, which nobody knows",
                       key, g_variant_get_type_string (value));
          return FALSE;
        }
      set_value (field, values, value);
    }
  return TRUE;
}

void
dvmd_fields_clear (const DvmdField *fields, gpointer values)
{
  for (const DvmdField *field = fields; field->key != NULL; field++)
    {
      gpointer *member = G_STRUCT_MEMBER_P (values, field->offset);

      if (strchr ("buxt", field->type[0]) != NULL)
        continue;
      if (field->type[0] == 's')
        g_clear_pointer (member, g_free);
      else
        g_clear_pointer ((GVariant **)member, g_variant_unref);
    }
}

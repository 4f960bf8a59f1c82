/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The a{sv} of a method is checked against the keys that the method knows.
 */

#include "config.h"

#include "dvmd-bus-options.h"

#include <dvm.h>
#include <string.h>

static char *
list_names (const DvmdBusOption *options, gsize n_options)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (gsize i = 0; i < n_options; i++)
    g_ptr_array_add (names, (gpointer)options[i].name);
  g_ptr_array_add (names, NULL);
  return g_strjoinv (", ", (char **)names->pdata);
}

static gboolean
refuse_unknown (const char *key, const DvmdBusOption *options, gsize n_options, GError **error)
{
  g_autofree char *names = list_names (options, n_options);

  if (n_options == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "Unknown option “%s”: this method has no options", key);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "Unknown option “%s”: there are %s", key, names);
  return FALSE;
}

static gboolean
take (const DvmdBusOption *option, GVariant *value, GError **error)
{
  if (!g_variant_is_of_type (value, G_VARIANT_TYPE (option->type)))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The option “%s” is of type %s, not %s", option->name,
                   option->type, g_variant_get_type_string (value));
      return FALSE;
    }
  switch (option->type[0])
    {
    case 's':
      *(const char **)option->value = g_variant_get_string (value, NULL);
      break;
    case 'u':
      *(guint *)option->value = g_variant_get_uint32 (value);
      break;
    case 'b':
      *(gboolean *)option->value = g_variant_get_boolean (value);
      break;
    case 'a':
      *(const char ***)option->value = g_variant_get_strv (value, NULL);
      break;
    default:
      g_assert_not_reached ();
    }
  if (option->given != NULL)
    *option->given = TRUE;
  return TRUE;
}

gboolean
dvmd_bus_options_parse (GVariant *dict, const DvmdBusOption *options, gsize n_options, GError **error)
{
  gsize n_entries = g_variant_n_children (dict);
  guint64 seen = 0;

  g_assert (n_options <= 64);

  for (gsize i = 0; i < n_entries; i++)
    {
      g_autoptr (GVariant) value = NULL;
      const char *key;
      gsize j = 0;

      g_variant_get_child (dict, i, "{&sv}", &key, &value);
      while (j < n_options && strcmp (options[j].name, key) != 0)
        j++;
      if (j == n_options)
        return refuse_unknown (key, options, n_options, error);
      if (seen & (G_GUINT64_CONSTANT (1) << j))
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The option “%s” is given twice", key);
          return FALSE;
        }
      seen |= G_GUINT64_CONSTANT (1) << j;
      if (!take (&options[j], value, error))
        return FALSE;
    }
  return TRUE;
}

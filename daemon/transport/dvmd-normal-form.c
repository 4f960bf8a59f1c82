/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The normal form of a GVariant is checked without looking at each byte of its arrays.
 */

#include "config.h"

#include <string.h>

#include "dvmd-normal-form.h"

/* Bytes below which GLib is quick enough. */
#define LARGE 512
/* Containers in containers that are taken apart; what is deeper is left to GLib. */
#define MAX_DEPTH 4

/* Of numbers of which no value is wrong; 0: something else. */
static gsize
get_element_size (const GVariantType *type)
{
  switch (g_variant_type_is_array (type) ? g_variant_type_peek_string (type)[1] : '\0')
    {
    case 'y':
      return 1;
    case 'n':
    case 'q':
      return 2;
    case 'i':
    case 'u':
      return 4;
    case 'x':
    case 't':
    case 'd':
      return 8;
    default:
      return 0;
    }
}

static gboolean
is_container (GVariant *value)
{
  return g_variant_is_of_type (value, G_VARIANT_TYPE_TUPLE) || g_variant_is_of_type (value, G_VARIANT_TYPE_VARIANT);
}

static gboolean is_normal (GVariant *value, guint depth);

/* There is one normal form of each value: that of its parts, put together again. */
static gboolean
is_put_together_so (GVariant *value, guint depth)
{
  gsize n = g_variant_n_children (value);
  g_autoptr (GPtrArray) parts = g_ptr_array_new_full (n, (GDestroyNotify)g_variant_unref);
  g_autoptr (GVariant) again = NULL;

  for (gsize i = 0; i < n; i++)
    {
      g_ptr_array_add (parts, g_variant_get_child_value (value, i));
      if (!is_normal (g_ptr_array_index (parts, i), depth + 1))
        return FALSE;
    }
  again = g_variant_is_of_type (value, G_VARIANT_TYPE_VARIANT)
              ? g_variant_new_variant (g_ptr_array_index (parts, 0))
              : g_variant_new_tuple ((GVariant *const *)parts->pdata, n);
  g_variant_ref_sink (again);
  return g_variant_get_size (again) == g_variant_get_size (value)
         && memcmp (g_variant_get_data (again), g_variant_get_data (value), g_variant_get_size (value)) == 0;
}

static gboolean
is_normal (GVariant *value, guint depth)
{
  gsize element_size = get_element_size (g_variant_get_type (value));

  if (element_size > 0)
    return g_variant_get_size (value) % element_size == 0;
  if (g_variant_get_size (value) < LARGE || depth >= MAX_DEPTH || !is_container (value))
    return g_variant_is_normal_form (value);
  return is_put_together_so (value, depth);
}

gboolean
dvmd_variant_is_normal (GVariant *value)
{
  return is_normal (value, 0);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory of nodes, as schedulers write it.
 */

#include "config.h"

#include "node-memory.h"

#include <string.h>

#include "node-table.h"

gboolean
dvmd_size_parse (const char *text, const DvmdSizeUnit *units, guint64 *bytes)
{
  gsize n_digits = strspn (text, "0123456789");
  gsize n_part = text[n_digits] == '.' ? strspn (text + n_digits + 1, "0123456789") + 1 : 0;
  const char *suffix = text + n_digits + n_part;
  double size;

  if (n_digits == 0 || n_part == 1)
    return FALSE;
  while (strcmp (units->suffix, suffix) != 0)
    if (units++->suffix[0] == '\0')
      return FALSE;
  size = g_ascii_strtod (text, NULL) * (double)units->factor;
  *bytes = size < (double)DVMD_NODE_TABLE_MOST_MEMORY ? (guint64)size : DVMD_NODE_TABLE_MOST_MEMORY;
  return TRUE;
}

gboolean
dvmd_node_is_same_host (const char *a, const char *b)
{
  gsize a_length = strlen (a);
  gsize b_length = strlen (b);
  gsize length = MIN (a_length, b_length);

  return g_ascii_strncasecmp (a, b, length) == 0
         && (a_length == b_length || (a_length > b_length ? a : b)[length] == '.');
}

GVariant *
dvmd_node_memory_describe (DvmdAllocation *allocation, const guint64 *memory)
{
  GVariantBuilder rows;
  guint n_nodes;
  const DvmdPluginNode *nodes = dvmd_allocation_get_nodes (allocation, &n_nodes);

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a{sa{sv}}"));
  for (guint i = 0; i < n_nodes; i++)
    {
      g_variant_builder_open (&rows, G_VARIANT_TYPE ("{sa{sv}}"));
      g_variant_builder_add (&rows, "s", nodes[i].name);
      g_variant_builder_open (&rows, G_VARIANT_TYPE_VARDICT);
      g_variant_builder_add (&rows, "{sv}", "memory", g_variant_new_uint64 (memory[i]));
      g_variant_builder_close (&rows);
      g_variant_builder_close (&rows);
    }
  return g_variant_builder_end (&rows);
}

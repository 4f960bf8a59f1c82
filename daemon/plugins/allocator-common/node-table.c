/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes that a scheduler names, some of them several times, become an allocation.
 */

#include "config.h"

#include "node-table.h"

typedef struct
{
  char *name;
  guint64 slots;
  GString *cpus; /* (nullable): nothing has been said of them */
  gboolean has_all_cpus;
  guint64 memory; /* bytes; 0: nothing has been said of it */
} Node;

struct _DvmdNodeTable
{
  GArray *nodes;      /* Node */
  GHashTable *places; /* name in lower case -> place in nodes */
};

static void
clear_node (gpointer data)
{
  Node *node = data;

  g_free (node->name);
  if (node->cpus != NULL)
    g_string_free (node->cpus, TRUE);
}

DvmdNodeTable *
dvmd_node_table_new (void)
{
  DvmdNodeTable *self = g_new0 (DvmdNodeTable, 1);

  self->nodes = g_array_new (FALSE, FALSE, sizeof (Node));
  g_array_set_clear_func (self->nodes, clear_node);
  self->places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return self;
}

void
dvmd_node_table_free (DvmdNodeTable *self)
{
  g_array_unref (self->nodes);
  g_hash_table_unref (self->places);
  g_free (self);
}

void
dvmd_node_table_add (DvmdNodeTable *self, const char *name, guint32 slots)
{
  g_autofree char *key = g_ascii_strdown (name, -1);
  gpointer place;

  if (!g_hash_table_lookup_extended (self->places, key, NULL, &place))
    {
      Node node = { .name = g_strdup (name) };

      place = GUINT_TO_POINTER (self->nodes->len);
      g_array_append_val (self->nodes, node);
      g_hash_table_insert (self->places, g_steal_pointer (&key), place);
    }
  g_array_index (self->nodes, Node, GPOINTER_TO_UINT (place)).slots += slots;
}

void
dvmd_node_table_add_cpus (DvmdNodeTable *self, const char *name, const char *unit, const char *list)
{
  g_autofree char *key = g_ascii_strdown (name, -1);
  gpointer place;
  Node *node;

  if (!g_hash_table_lookup_extended (self->places, key, NULL, &place))
    return;
  node = &g_array_index (self->nodes, Node, GPOINTER_TO_UINT (place));
  if (list == NULL)
    node->has_all_cpus = TRUE;
  else if (node->cpus != NULL)
    g_string_append_printf (node->cpus, ";%s", list);
  else
    {
      node->cpus = g_string_new (unit);
      g_string_append_printf (node->cpus, ":%s", list);
    }
}

void
dvmd_node_table_add_memory (DvmdNodeTable *self, const char *name, guint64 bytes)
{
  g_autofree char *key = g_ascii_strdown (name, -1);
  gpointer place;
  Node *node;

  if (!g_hash_table_lookup_extended (self->places, key, NULL, &place))
    return;
  node = &g_array_index (self->nodes, Node, GPOINTER_TO_UINT (place));
  node->memory += MIN (bytes, DVMD_NODE_TABLE_MOST_MEMORY - node->memory);
}

guint
dvmd_node_table_get_n_nodes (DvmdNodeTable *self)
{
  return self->nodes->len;
}

DvmdAllocation *
dvmd_node_table_to_allocation (DvmdNodeTable *self, const char *alloc_id, const char *place, GError **error)
{
  g_autoptr (DvmdAllocation) allocation = dvmd_allocation_new (alloc_id);

  if (self->nodes->len == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED, "%s names no node", place);
      return NULL;
    }
  for (guint i = 0; i < self->nodes->len; i++)
    {
      const Node *node = &g_array_index (self->nodes, Node, i);

      if (node->slots > DVMD_NODE_TABLE_MOST_SLOTS)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                       "%s: node %s has %" G_GUINT64_FORMAT " slots; there are at most %u", place, node->name,
                       node->slots, DVMD_NODE_TABLE_MOST_SLOTS);
          return NULL;
        }
      dvmd_allocation_add_node (allocation, node->name, (guint32)node->slots, 0);
      if (node->cpus != NULL && !node->has_all_cpus)
        dvmd_allocation_set_cpus (allocation, i, node->cpus->str);
      dvmd_allocation_set_memory (allocation, i, node->memory);
    }
  return g_steal_pointer (&allocation);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes are ordered and drawn as the tree that their daemons are.
 */

#include "config.h"

#include "dvm-cli-tree.h"

typedef struct
{
  GHashTable *by_rank;  /* rank -> DvmNode */
  GHashTable *children; /* rank -> GPtrArray of DvmNode, in the order of nodes */
  GPtrArray *sorted;
  GPtrArray *branches;
  gboolean plain;
} Tree;

/* (nullable): who is on none of the lists hangs on nobody, and so does who is lost */
static DvmNode *
find_parent (Tree *tree, DvmNode *node)
{
  guint depth = dvm_node_get_depth (node);
  DvmNode *parent = depth > 0 ? g_hash_table_lookup (tree->by_rank, GUINT_TO_POINTER (dvm_node_get_parent_rank (node)))
                              : NULL;

  /* While the tree is mended the places of two nodes may be of different times: they never make a circle. */
  return parent != NULL && dvm_node_get_depth (parent) < depth ? parent : NULL;
}

static void
add_child (Tree *tree, DvmNode *parent, DvmNode *node)
{
  gpointer key = GUINT_TO_POINTER (dvm_node_get_rank (parent));
  GPtrArray *children = g_hash_table_lookup (tree->children, key);

  if (children == NULL)
    {
      children = g_ptr_array_new ();
      g_hash_table_insert (tree->children, key, children);
    }
  g_ptr_array_add (children, node);
}

static void
add_below (Tree *tree, DvmNode *node, const char *branch, const char *indent)
{
  GPtrArray *children = g_hash_table_lookup (tree->children, GUINT_TO_POINTER (dvm_node_get_rank (node)));

  g_ptr_array_add (tree->sorted, node);
  g_ptr_array_add (tree->branches, g_strdup (branch));
  for (guint i = 0; children != NULL && i < children->len; i++)
    {
      gboolean last = i + 1 == children->len;
      const char *here = tree->plain ? (last ? "`- " : "|- ") : (last ? "└─ " : "├─ ");
      const char *below = last ? "   " : tree->plain ? "|  " : "│  ";
      g_autofree char *child_branch = g_strconcat (indent, here, NULL);
      g_autofree char *child_indent = g_strconcat (indent, below, NULL);

      add_below (tree, g_ptr_array_index (children, i), child_branch, child_indent);
    }
}

GPtrArray *
dvm_cli_tree_sort (GPtrArray *nodes, gboolean plain)
{
  g_autoptr (GHashTable) by_rank = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) children = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
  g_autoptr (GPtrArray) roots = g_ptr_array_new ();
  g_autoptr (GPtrArray) sorted = g_ptr_array_new ();
  Tree tree = { by_rank, children, sorted, g_ptr_array_new_with_free_func (g_free), plain };

  for (guint i = 0; i < nodes->len; i++)
    g_hash_table_insert (by_rank, GUINT_TO_POINTER (dvm_node_get_rank (nodes->pdata[i])), nodes->pdata[i]);
  for (guint i = 0; i < nodes->len; i++)
    {
      DvmNode *parent = find_parent (&tree, nodes->pdata[i]);

      if (parent != NULL)
        add_child (&tree, parent, nodes->pdata[i]);
      else
        g_ptr_array_add (roots, nodes->pdata[i]);
    }
  for (guint i = 0; i < roots->len; i++)
    add_below (&tree, roots->pdata[i], "", "");
  for (guint i = 0; i < nodes->len; i++)
    nodes->pdata[i] = sorted->pdata[i];
  return tree.branches;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes drawn as a tree.
 */

#include "config.h"

#include <dvm.h>

#include "dvm-cli-tree.h"
#include "dvm-records-private.h"

typedef struct
{
  guint rank;
  guint parent;
  guint depth;
} Place;

static void
assert_drawn (const Place *places, gsize n_places, const char *expected)
{
  g_autoptr (GPtrArray) nodes = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GPtrArray) branches = NULL;
  g_autoptr (GString) drawn = g_string_new (NULL);

  for (gsize i = 0; i < n_places; i++)
    {
      g_autofree char *name = g_strdup_printf ("n%u", places[i].rank);
      DvmNode *node = _dvm_node_new (places[i].rank, name);

      _dvm_node_set_place (node, places[i].parent, places[i].depth);
      g_ptr_array_add (nodes, node);
    }
  branches = dvm_cli_tree_sort (nodes, FALSE);
  g_assert_cmpuint (branches->len, ==, n_places);
  g_assert_cmpuint (nodes->len, ==, n_places);
  for (guint i = 0; i < nodes->len; i++)
    g_string_append_printf (drawn, "%s%s\n", (char *)branches->pdata[i], dvm_node_get_name (nodes->pdata[i]));
  g_assert_cmpstr (drawn->str, ==, expected);
}

static void
test_tree (void)
{
  const Place places[] = { { 0, 0, 0 }, { 1, 0, 1 }, { 2, 0, 1 }, { 3, 1, 2 }, { 4, 1, 2 }, { 5, 2, 2 }, { 6, 3, 3 } };

  assert_drawn (places, G_N_ELEMENTS (places),
                "n0\n"
                "├─ n1\n"
                "│  ├─ n3\n"
                "│  │  └─ n6\n"
                "│  └─ n4\n"
                "└─ n2\n"
                "   └─ n5\n");
  assert_drawn (places, 1, "n0\n");
  assert_drawn (places, 0, "");
}

/* A node that is lost, or hangs on one that was not asked for, stands alone. */
static void
test_orphans (void)
{
  const Place lost[] = { { 0, 0, 0 }, { 1, 0, 1 }, { 2, 0, 0 }, { 3, 1, 2 } };
  const Place some[] = { { 3, 1, 2 }, { 4, 1, 2 }, { 6, 3, 3 } };

  assert_drawn (lost, G_N_ELEMENTS (lost), "n0\n└─ n1\n   └─ n3\nn2\n");
  assert_drawn (some, G_N_ELEMENTS (some), "n3\n└─ n6\nn4\n");
}

/* Places that are told at different times make no circle, and nobody is drawn twice or never. */
static void
test_circle (void)
{
  const Place places[] = { { 1, 2, 1 }, { 2, 1, 1 }, { 3, 3, 1 }, { 4, 1, 2 } };

  assert_drawn (places, G_N_ELEMENTS (places), "n1\n└─ n4\nn2\nn3\n");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli-tree/tree", test_tree);
  g_test_add_func ("/cli-tree/orphans", test_orphans);
  g_test_add_func ("/cli-tree/circle", test_circle);
  return g_test_run ();
}

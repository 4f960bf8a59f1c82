/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which agent of a tree starts which.
 */

#include "config.h"

#include "command-tree.h"

static guint
find_level (guint agent, guint n, guint radix)
{
  guint level = 1;

  for (guint parent = agent; (parent = command_tree_find_parent (parent, n, radix)) != COMMAND_TREE_ROOT; level++)
    g_assert_cmpuint (parent, <, agent);
  return level;
}

static void
check_tree (guint n, guint radix, guint n_levels, guint most, guint least)
{
  g_autofree guint *children = g_new0 (guint, n);
  guint n_roots = 0;

  for (guint i = 0; i < n; i++)
    {
      guint parent = command_tree_find_parent (i, n, radix);

      if (parent == COMMAND_TREE_ROOT)
        n_roots++;
      else
        children[parent]++;
      g_assert_cmpuint (find_level (i, n, radix), <=, n_levels);
    }
  g_assert_cmpuint (n_roots, ==, MIN (n, radix));
  g_assert_cmpuint (find_level (n - 1, n, radix), ==, n_levels);
  /* Those of the first level have all the same work, or one agent less. */
  for (guint i = 0; i < n_roots; i++)
    {
      g_assert_cmpuint (children[i], <=, most);
      g_assert_cmpuint (children[i], >=, least);
    }
  for (guint i = 0; i < n; i++)
    g_assert_cmpuint (children[i], <=, radix);
}

static void
test_levels (void)
{
  check_tree (1, 2, 1, 0, 0);
  check_tree (2, 2, 1, 0, 0);
  check_tree (3, 2, 2, 1, 0);
  check_tree (6, 2, 2, 2, 2);
  check_tree (7, 2, 3, 2, 2);
  check_tree (64, 32, 2, 1, 1);
  check_tree (1000, 32, 2, 31, 30);
  check_tree (1056, 32, 2, 32, 32);
  check_tree (1057, 32, 3, 32, 32);
  check_tree (100000, 2, 16, 2, 2);
  g_assert_cmpuint (command_tree_find_parent (2, 7, 2), ==, 0);
  g_assert_cmpuint (command_tree_find_parent (3, 7, 2), ==, 1);
  g_assert_cmpuint (command_tree_find_parent (4, 7, 2), ==, 0);
  g_assert_cmpuint (command_tree_find_parent (5, 7, 2), ==, 1);
  g_assert_cmpuint (command_tree_find_parent (6, 7, 2), ==, 2);
  g_assert_cmpuint (command_tree_find_parent (G_MAXUINT - 2, G_MAXUINT - 1, 1000000), <, 1000000);
}

static void
test_depth (void)
{
  g_assert_cmpuint (command_tree_widen (1000, 2, 0), ==, 2);
  g_assert_cmpuint (command_tree_widen (1000, 32, 2), ==, 32);
  g_assert_cmpuint (command_tree_widen (1000, 2, 2), ==, 32);
  g_assert_cmpuint (command_tree_widen (1056, 2, 2), ==, 32);
  g_assert_cmpuint (command_tree_widen (1057, 2, 2), ==, 33);
  g_assert_cmpuint (command_tree_widen (1000, 2, 1), ==, 1000);
  g_assert_cmpuint (command_tree_widen (1000, 2, 1000000), ==, 2);
  g_assert_cmpuint (command_tree_widen (3, 1000000, 1), ==, 1000000);
  check_tree (1000, command_tree_widen (1000, 2, 2), 2, 31, 30);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/command-tree/levels", test_levels);
  g_test_add_func ("/command-tree/depth", test_depth);
  return g_test_run ();
}

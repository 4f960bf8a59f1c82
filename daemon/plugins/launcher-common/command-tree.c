/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents are put into levels, of which each starts the next one.
 */

#include "config.h"

#include "command-tree.h"

/* radix + radix^2 + ... of so many levels; n is enough */
static guint64
count_places (guint64 radix, guint depth, guint64 n)
{
  guint64 level = 1;
  guint64 places = 0;

  for (guint i = 0; i < depth && places < n; i++)
    {
      level *= radix;
      places += level;
    }
  return places;
}

guint
command_tree_widen (guint n_agents, guint radix, guint depth)
{
  if (depth > 0)
    while (radix < n_agents && count_places (radix, depth, n_agents) < n_agents)
      radix++;
  return radix;
}

guint
command_tree_find_parent (guint agent, guint n_agents, guint radix)
{
  guint64 above = 0; /* where the level above begins */
  guint64 begin = 0; /* where that of the agent does */
  guint64 size = radix;

  while (agent >= begin + size)
    {
      above = begin;
      begin += size;
      size = MIN (size * radix, n_agents - begin);
    }
  return begin == 0 ? COMMAND_TREE_ROOT : (guint)(above + (agent - begin) % (begin - above));
}

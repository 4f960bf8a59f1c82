/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * The order in which agents start each other: the launcher starts the first level, and each agent of a level as many of
 * the next one as the others of its level do, or one less. Agents are counted from 0, level by level.
 */

/* Stands for the launcher itself. */
#define COMMAND_TREE_ROOT G_MAXUINT

/* How many agents each one starts at most, so that so many come in no more levels than depth (0: as many as it takes).
 */
guint command_tree_widen (guint n_agents, guint radix, guint depth);

/* The agent that starts this one. */
guint command_tree_find_parent (guint agent, guint n_agents, guint radix);

G_END_DECLS

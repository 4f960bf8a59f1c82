/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

G_BEGIN_DECLS

/*
 * All daemons of a world have the same table of routes in the same epoch: the one that the controller has made. Linked
 * in by -Wl,--wrap, in place of the functions that make one; thousands of tables of thousands of ranks would be most of
 * what a simulation does.
 */

/* A world has ended. */
void sim_shared_routes_clear (void);

G_END_DECLS

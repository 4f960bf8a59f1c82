/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * How many histories, and which: DVM_SIM_SEED=N runs that one alone, DVM_SIM_TRACE=1 shows what happens in it.
 * DVM_SIM_HISTORIES says how many; 10,000 without it, 100,000 with DVM_TEST_SOAK.
 */

/* g_test_init(), and nothing but warnings is said unless somebody wants to see a trace. */
void sim_seeds_init (int *argc, char ***argv);
gboolean sim_seeds_is_traced (void);
/* FALSE: all of them are wanted. */
gboolean sim_seeds_get_one (guint *seed);
guint sim_seeds_get_n (void);
/* The one that is wanted, or 1 to as many as are. */
void sim_seeds_run (void (*run) (guint seed));

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-spawn.h"

G_BEGIN_DECLS

/* For tests: go the way of kernels and filters that do not know clone3(). */
void dvmd_spawner_set_without_clone3 (DvmdSpawner *self, gboolean without);
/* For tests: a child could not part with the table of descriptors, and has had a copy since. */
gboolean dvmd_spawner_is_without_shared_table (DvmdSpawner *self);

G_END_DECLS

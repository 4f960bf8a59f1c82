/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <pmix.h>

/* Commands of pmix-alloc for debuggers, as those of pmix-spawn.h. -1: it is none of these. */
int pmix_debug_command (const pmix_proc_t *self, char **argv);

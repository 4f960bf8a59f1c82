/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <pmix.h>

/* Commands of pmix-alloc about jobs. Each tells how many of the arguments were for it; the first is its name. */

/* -1: it is none of these. id: of the allocation that was answered last, for "@". */
int pmix_spawn_command (const pmix_proc_t *self, char **argv, const char *id);

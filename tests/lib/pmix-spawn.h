/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <pmix.h>

/* Commands of pmix-alloc about jobs. Each tells how many of the arguments were for it; the first is its name. */

/* -1: it is none of these. id: of the allocation that was answered last, for "@". */
int pmix_spawn_command (const pmix_proc_t *self, char **argv, const char *id);
/* NSPACE, and "@@" for the one that was spawned last, or is remembered. */
const char *pmix_find_nspace (const char *word);
void pmix_remember_nspace (const char *nspace);

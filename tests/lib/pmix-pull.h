/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <pmix.h>
#include <stddef.h>

/* Commands of pmix-alloc about output of jobs, as those of pmix-spawn.h. -1: it is none of these. */
int pmix_pull_command (const pmix_proc_t *self, char **argv);

/* Of pmix-spawn.c: NSPACE, NSPACE.RANK, or "none", of which there are 0. */
size_t pmix_read_target (const char *word, pmix_proc_t *proc);
void pmix_print_status (const char *what, pmix_status_t status);

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

/* Its process has gone, or was never started: fences that wait for it fail, unless the library does that by itself. */
void dvmd_pmix_miss (const pmix_proc_t *proc);

G_END_DECLS

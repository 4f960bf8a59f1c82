/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

/* Its process has gone, or was never started: fences that wait for it fail, unless the library does that by itself. */
void dvmd_pmix_miss (const pmix_proc_t *proc);
/*
 * On PMIx's thread: another process comes in the place of this one. Fences and connects that are open here fail, and
 * the next ones wait for it as if it were the first. FALSE: the library does not take it back.
 */
gboolean dvmd_pmix_expect_again (const pmix_proc_t *proc, GError **error);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-gates.h"

G_BEGIN_DECLS

void dvmd_pmix_upcall_log (const pmix_proc_t *proc, const pmix_info_t data[], size_t n_data,
                           const pmix_info_t directives[], size_t n_directives, pmix_op_cbfunc_t callback,
                           void *callback_data);

/* Adds the channels of a log, and the directives that are heeded. */
void dvmd_pmix_list_log_keys (GPtrArray *keys);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

pmix_status_t dvmd_pmix_upcall_monitor (const pmix_proc_t *proc, const pmix_info_t *monitor, pmix_status_t code,
                                        const pmix_info_t directives[], size_t n_directives,
                                        pmix_info_cbfunc_t callback, void *callback_data);

void dvmd_pmix_list_monitor_keys (GPtrArray *keys);

/* proc (nullable): the one whose monitors end; NULL: all do. */
void dvmd_pmix_server_drop_monitors (DvmdPmixServer *self, const pmix_proc_t *proc);

G_END_DECLS

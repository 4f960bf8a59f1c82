/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-gates.h"

G_BEGIN_DECLS

pmix_status_t dvmd_pmix_upcall_session_control (const pmix_proc_t *proc, uint32_t session,
                                                const pmix_info_t directives[], size_t n_directives,
                                                pmix_info_cbfunc_t callback, void *callback_data);
/* (transfer full) (nullable): a{sv} as of Manager.ControlSession */
GVariant *dvmd_pmix_read_session_control (const pmix_info_t *info, gsize n, GError **error);

/* Adds the directives of a control of sessions. */
void dvmd_pmix_list_session_keys (GPtrArray *keys);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-gates.h"
#include "dvmd-pmix-host.h"

G_BEGIN_DECLS

pmix_status_t dvmd_pmix_upcall_publish (const pmix_proc_t *proc, const pmix_info_t info[], size_t n_info,
                                        pmix_op_cbfunc_t callback, void *callback_data);
pmix_status_t dvmd_pmix_upcall_lookup (const pmix_proc_t *proc, char **keys, const pmix_info_t info[], size_t n_info,
                                       pmix_lookup_cbfunc_t callback, void *callback_data);
pmix_status_t dvmd_pmix_upcall_unpublish (const pmix_proc_t *proc, char **keys, const pmix_info_t info[], size_t n_info,
                                          pmix_op_cbfunc_t callback, void *callback_data);
pmix_status_t dvmd_pmix_upcall_connect (const pmix_proc_t procs[], size_t n_procs, const pmix_info_t info[],
                                        size_t n_info, pmix_op_cbfunc_t callback, void *callback_data);
pmix_status_t dvmd_pmix_upcall_disconnect (const pmix_proc_t procs[], size_t n_procs, const pmix_info_t info[],
                                           size_t n_info, pmix_op_cbfunc_t callback, void *callback_data);
/* (transfer full) (nullable): a{sv} as in dvmd_data_store_handle(); keys (nullable): of all but publishing */
GVariant *dvmd_pmix_read_data (DvmdPmixDataOp op, char **keys, const pmix_info_t *info, gsize n, GError **error);

/* Add the attributes that are heeded. */
void dvmd_pmix_list_publish_keys (GPtrArray *keys);
void dvmd_pmix_list_lookup_keys (GPtrArray *keys);
void dvmd_pmix_list_unpublish_keys (GPtrArray *keys);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

/* Output on its way to the clients of a server. */
DvmdPmixOutputs *dvmd_pmix_outputs_new (void);
/* The library listens at that port, for the server of that name. */
void dvmd_pmix_outputs_start (DvmdPmixOutputs *self, guint port, const char *nspace, guint32 rank);
void dvmd_pmix_outputs_free (DvmdPmixOutputs *self);
/* The host is told nothing any more. */
void dvmd_pmix_outputs_stop (DvmdPmixOutputs *self);

void dvmd_pmix_server_deliver_output (DvmdPmix *pmix, guint server, const DvmdPmixProc *source, guint stream,
                                      GBytes *bytes);

/*
 * On PMIx's thread, which waits for the answer: of PMIx_IOF_pull(), and (without processes, with PMIX_IOF_STOP) of
 * PMIx_IOF_deregister(). callback is not called.
 */
pmix_status_t dvmd_pmix_upcall_pull (const pmix_proc_t procs[], size_t n_procs, const pmix_info_t directives[],
                                     size_t n_directives, pmix_iof_channel_t channels, pmix_op_cbfunc_t callback,
                                     void *callback_data);
void dvmd_pmix_list_pull_keys (GPtrArray *keys);
/* (nullable): floating, of the type of the call */
GVariant *dvmd_pmix_read_pull (const pmix_proc_t *procs, gsize n_procs, const pmix_info_t *directives,
                               gsize n_directives, pmix_iof_channel_t channels, GError **error);

G_END_DECLS

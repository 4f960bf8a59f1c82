/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-gates.h"

G_BEGIN_DECLS

/* On PMIx's thread; what is handed over is the library's until it is answered. */
pmix_status_t dvmd_pmix_upcall_get_credential (const pmix_proc_t *proc, const pmix_info_t directives[],
                                               size_t n_directives, pmix_credential_cbfunc_t callback,
                                               void *callback_data);
pmix_status_t dvmd_pmix_upcall_validate_credential (const pmix_proc_t *proc, const pmix_byte_object_t *credential,
                                                    const pmix_info_t directives[], size_t n_directives,
                                                    pmix_validation_cbfunc_t callback, void *callback_data);

G_END_DECLS

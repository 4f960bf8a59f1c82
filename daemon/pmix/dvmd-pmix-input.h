/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

/* On PMIx's thread; what is handed over is the library's until it is answered. data: (nullable) */
void dvmd_pmix_upcall_input (const pmix_proc_t *source, const pmix_proc_t targets[], size_t n_targets,
                             const pmix_info_t directives[], size_t n_directives, const pmix_byte_object_t *data,
                             pmix_op_cbfunc_t callback, void *callback_data);

G_END_DECLS

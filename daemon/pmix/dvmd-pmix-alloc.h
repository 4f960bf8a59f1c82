/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-calls.h"
#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

/* info: until it is answered */
void dvmd_pmix_server_allocate (DvmdPmixServer *self, const pmix_proc_t *proc, pmix_alloc_directive_t directive,
                                const pmix_info_t *info, gsize n_info, pmix_info_cbfunc_t callback,
                                void *callback_data);
/* (transfer full) (nullable): a{sv}, with the directive's word in *word */
GVariant *dvmd_pmix_read_allocation (pmix_alloc_directive_t directive, const pmix_info_t *info, gsize n,
                                     const char **word, GError **error);

/* One attribute of such a request goes to the request, or to the hosts that it names. */
gboolean dvmd_pmix_take_resource (GVariantDict *request, GPtrArray *hosts, const pmix_info_t *info, GError **error);
/* Hands on the ids of the allocation, if there is one; answer: (ssu) */
void dvmd_pmix_answer_allocation (const DvmdPmixCall *call, int status, GVariant *answer);

/* Adds the attributes of a request for nodes that are heeded. */
void dvmd_pmix_list_alloc_keys (GPtrArray *keys);

G_END_DECLS

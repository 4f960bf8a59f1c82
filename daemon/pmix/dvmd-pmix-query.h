/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-inner.h"

G_BEGIN_DECLS

/* queries: until it is answered */
void dvmd_pmix_server_query (DvmdPmixServer *self, const pmix_query_t *queries, gsize n_queries,
                             pmix_info_cbfunc_t callback, void *callback_data);

/* Adds the keys of queries that are answered. */
void dvmd_pmix_list_query_keys (GPtrArray *keys);

G_END_DECLS

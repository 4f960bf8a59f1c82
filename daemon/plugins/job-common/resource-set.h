/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "node-table.h"

G_BEGIN_DECLS

/*
 * Adds the nodes of a resource set (RFC 20 of Flux, version 1), each with its cores as slots. ranks: gets for each name
 * in lower case, which it owns as it does the text, the first rank of the node: that of its broker, or, if relative,
 * its place among those of the set. expiration (out) (optional): when the set ends, in seconds since the epoch; 0: it
 * does not say so. FALSE: DVM_ERROR_BAD_PARAM, of which place is the beginning
 */
gboolean dvmd_resource_set_read (const char *text, const char *place, DvmdNodeTable *table, GHashTable *ranks,
                                 gboolean relative, gint64 *expiration, GError **error);

G_END_DECLS

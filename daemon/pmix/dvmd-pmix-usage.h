/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-info.h"

G_BEGIN_DECLS

/* Upstream's names, of later than the library at hand. */
#ifndef PMIX_QUERY_PROC_RESOURCE_USAGE
#define PMIX_QUERY_PROC_RESOURCE_USAGE "pmix.qry.pres"
#define PMIX_QUERY_NODE_RESOURCE_USAGE "pmix.qry.nres"
#endif
#ifndef PMIX_PROC_RESOURCE_USAGE
#define PMIX_PROC_RESOURCE_USAGE "pmix.proc.res"
#define PMIX_NODE_RESOURCE_USAGE "pmix.node.res"
#endif

/*
 * Adds what was measured (dvmd-usage.h), as key: of one process or node (a{sv}) the array of its values; of several
 * (aa{sv}) an array of such arrays, each with the key row. FALSE: it is something else.
 */
gboolean dvmd_pmix_usage_add (DvmdPmixInfo *self, const char *key, const char *row, GVariant *value);

G_END_DECLS

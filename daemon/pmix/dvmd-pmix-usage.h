/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-pmix-info.h"

G_BEGIN_DECLS

/*
 * Adds what was measured (dvmd-usage.h), as key: of one process or node (a{sv}) the array of its values; of several
 * (aa{sv}) an array of such arrays, each with the key row. FALSE: it is something else.
 */
gboolean dvmd_pmix_usage_add (DvmdPmixInfo *self, const char *key, const char *row, GVariant *value);
/* Adds an array with the key row for each process or node that was measured. */
gboolean dvmd_pmix_usage_add_rows (DvmdPmixInfo *self, const char *row, GVariant *value);

G_END_DECLS

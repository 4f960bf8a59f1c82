/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>
#include <pmix_common.h>

G_BEGIN_DECLS

/* Reads and checks the pmix_info_t of clients; the errors, which name the key, are DVM_ERROR_BAD_PARAM. */

/* (nullable): borrowed; what is no UTF-8 cannot be passed on */
const char *dvmd_pmix_read_text (const pmix_info_t *info, GError **error);
/* Of whatever type a client takes for numbers. */
gboolean dvmd_pmix_read_number (const pmix_info_t *info, guint32 *number, GError **error);
/* TRUE for a flag, or no value, which PMIx takes for a yes. */
gboolean dvmd_pmix_check_flag (const pmix_info_t *info, GError **error);
/* Adds the parts of "a, b" to list. keep_empty: parts without text mean something. */
gboolean dvmd_pmix_read_list (const pmix_info_t *info, gboolean keep_empty, GPtrArray *list, GError **error);
/*
 * Ranks of a job that there is not yet: a rank, or an array of ranks or of processes without a namespace.
 *
 * Returns: (transfer full) (nullable): "0,3-4"; "" for all
 */
char *dvmd_pmix_read_ranks (const pmix_info_t *info, GError **error);

/*
 * Values of any type travel between servers in the library's own form.
 *
 * Returns: (nullable): floating, "ay"
 */
GVariant *dvmd_pmix_pack_value (const pmix_info_t *info, GError **error);
/* FALSE: bytes is nothing that the library has packed. */
gboolean dvmd_pmix_unpack_value (GVariant *bytes, pmix_value_t *value);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-verb.h"

G_BEGIN_DECLS

/* Jobs of an array as words name them: "array:12", "12[3-9,20]", "dvm@12[3]". */
typedef struct
{
  guint id;
  char *list; /* (nullable): indexes; NULL: all of them */
} DvmCliArray;

void dvm_cli_array_clear (DvmCliArray *array);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DvmCliArray, dvm_cli_array_clear)

/* Whether the word is of that form; one that is wrong has an id of 0. */
gboolean dvm_cli_array_read (const char *word, DvmCliArray *array);
/*
 * (transfer full) (nullable) (element-type DvmJob): those that the DVM knows; NULL: error says that there are none.
 * known (inout) (transfer full): *known is NULL, or the list that a word before this one has got; many words ask once.
 */
GPtrArray *dvm_cli_array_find_jobs (DvmClient *client, const char *word, GPtrArray **known, GError **error);
/* (transfer full): "12[3-5,7]" of jobs of one array, in their order */
char *dvm_cli_array_describe (DvmJob *const *jobs, guint n_jobs);

G_END_DECLS

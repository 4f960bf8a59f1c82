/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs and other records on the way out.
 */

#pragma once

#include <dvm.h>

#include "dvm-cli-table.h"
#include "dvm-cli-verb.h"

G_BEGIN_DECLS

gboolean dvm_cli_print_table (DvmCli *cli, DvmCliTable *table, GError **error);
/* jobs: (element-type DvmJob): one JSON array of the whole records */
gboolean dvm_cli_print_jobs_json (GPtrArray *jobs, GError **error);
/* One JSON object, on one line */
gboolean dvm_cli_print_job_json (DvmJob *job, GError **error);

/* (transfer full): the jobs that the words name, in order; NULL with error when one does not exist */
GPtrArray *dvm_cli_find_jobs (DvmClient *client, const char *const *references, GError **error);

/* (transfer full): for messages: the namespace, or the number while the DVM has not told more */
char *dvm_cli_job_name (DvmJob *job);
/* (transfer full) */
char *dvm_cli_describe_command (DvmJob *job);
char *dvm_cli_describe_state (DvmJob *job);
char *dvm_cli_describe_elapsed (DvmJob *job);

G_END_DECLS

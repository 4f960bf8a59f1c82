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

/* (transfer full): the jobs that the words name, in order, array:12 and 12[3-9] among them; NULL with error when one
 * does not exist */
GPtrArray *dvm_cli_find_jobs (DvmClient *client, const char *const *references, GError **error);

/* (transfer full): for messages: the namespace, or the number while the DVM has not told more */
char *dvm_cli_job_name (DvmJob *job);
/* (transfer full) */
char *dvm_cli_describe_command (DvmJob *job);
char *dvm_cli_describe_state (DvmJob *job);

/* A job's state in words depends on these, for rows that are no records. */
typedef struct
{
  DvmJobState state;
  const char *held_at;
  const char *const *campaigns; /* (nullable): those it waits for */
  const char *const *jobs;      /* (nullable): likewise */
  guint num_launched;
  gboolean paused;
} DvmCliJobFacts;

/* (transfer full) */
char *dvm_cli_describe_facts (const DvmCliJobFacts *facts);
char *dvm_cli_describe_elapsed (DvmJob *job);
/* (transfer full): "1.250s" of two times in µs since the epoch; end 0: until now. Empty without a start */
char *dvm_cli_describe_span (gint64 start, gint64 end);
/* The same behind text */
void dvm_cli_append_span (GString *text, gint64 start, gint64 end);
/* (transfer full): "nvml0 (dvm@4:0-1), nvml1" of those of a node */
char *dvm_cli_describe_devices (const char *const *devices);
/* (transfer full): "4.0 GiB"; empty for 0 */
char *dvm_cli_describe_memory (gint64 bytes);
/* (transfer full): "3,7" of /org/dvm/jobs/3 and /org/dvm/jobs/7; paths: (nullable) */
char *dvm_cli_join_ids (const char *const *paths);

/* (transfer floating): what comes from elsewhere may be NULL or no UTF-8 */
GVariant *dvm_cli_text (const char *value);
/* Of an a{sv}; "": it has no such text */
const char *dvm_cli_lookup_text (GVariant *properties, const char *key);
GVariant *dvm_cli_take_text (char *value);

/* (transfer full): sentences: what a DVM with these properties of its manager could not write of its own */
char **dvm_cli_list_losses (GVariant *properties);

G_END_DECLS

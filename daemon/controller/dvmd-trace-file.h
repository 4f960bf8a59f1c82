/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-job.h"

G_BEGIN_DECLS

/*
 * The trace of a DVM as a file: one JSON object a line for every transition of a job, of a process, and of the DVM
 * itself. Lines are collected and written when the main loop has nothing else to do, or when there are many. A file
 * that cannot be written (a full disk) loses lines, with one message for the whole time that it lasts.
 */

typedef struct _DvmdTraceFile DvmdTraceFile;

/* Opens path, to append. Error: DVM_ERROR_FAILED or DVM_ERROR_BAD_PARAM with path and reason. */
DvmdTraceFile *dvmd_trace_file_new (const char *path, GMainContext *context, GError **error);
/* Writes what was collected. */
void dvmd_trace_file_free (DvmdTraceFile *self);

/* what: "job", "rank 3", or "dvm" for the DVM's own job */
void dvmd_trace_file_add (DvmdTraceFile *self, const char *nspace, const char *what, const DvmdTraceEntry *entry);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdTraceFile, dvmd_trace_file_free)

G_END_DECLS

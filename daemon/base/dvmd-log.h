/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-log-file.h"

G_BEGIN_DECLS

/*
 * Where g_log() messages of a daemon go: one plain line each on stderr, or the journal when stderr is one. info and
 * debug are shown for the domains in G_MESSAGES_DEBUG ("all", "dvmd-state dvmd-exec").
 *
 * Values of environment variables, credentials and a job's data are never given to the log, at no level: log the name
 * of a variable and the length of data.
 */

typedef struct _DvmdLog DvmdLog;

/* Once, at the start of main(). program: "dvmd", kept by reference. (transfer none) */
DvmdLog *dvmd_log_install (const char *program);
/* Before the first thread. file: (transfer full): what standard error is; the journal is preferred to it. */
void dvmd_log_set_file (DvmdLog *self, DvmdLogFile *file);

/* The subject of a message; NULL: no such thing. In the journal these are fields to search by: JOB, RANK, NODE. */
typedef struct
{
  const char *job;     /* namespace */
  const guint32 *rank; /* of the job */
  const char *node;    /* name */
} DvmdLogSubject;

/* The message has its subject in front, as in "job default@1 rank 3 on node1: ". */
void dvmd_log_about (const char *domain, GLogLevelFlags level, const DvmdLogSubject *subject, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
void dvmd_log_job (const char *domain, GLogLevelFlags level, const char *job, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
void dvmd_log_rank (const char *domain, GLogLevelFlags level, const char *job, guint32 rank, const char *format, ...)
    G_GNUC_PRINTF (5, 6);

/* (transfer full): "job default@1 rank 3 on node1" */
char *dvmd_log_describe (const DvmdLogSubject *subject);
/* Whether a message of this level is in the journal, and not on standard error. */
gboolean dvmd_log_is_in_journal (const char *domain, GLogLevelFlags level);

/* (transfer full): control characters and bytes that are no UTF-8 are escaped; of a long text its beginning */
char *dvmd_log_escape (const char *text);
/* The line that stderr gets, without its newline: control characters and bytes that are no UTF-8 are escaped. */
char *dvmd_log_format_line (const char *program, GLogLevelFlags level, const GLogField *fields, gsize n_fields);

G_END_DECLS

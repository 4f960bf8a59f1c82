/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvm-reason-private.h"
#include "dvmd-job.h"

G_BEGIN_DECLS

/* A failure that is posted with its text has this code and these arguments. */
void dvmd_job_add_reason (DvmdJob *self, const DvmReason *reason);
/* The state of its record, with what is said of it and of what else is wrong with the job by then. reason (nullable) */
void dvmd_job_write_state (DvmdJob *self, guint state, const char *reason);
/* The one who fails first gives the job's exit. */
void dvmd_job_record_exit (DvmdJob *self, int rank, int exit_code, int exit_signal);
gboolean dvmd_job_has_exit (DvmdJob *self);

G_END_DECLS

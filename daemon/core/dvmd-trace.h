/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-job.h"

G_BEGIN_DECLS

/*
 * A transition of the job (rank DVMD_TRACE_JOB) or of one of its processes has happened. This is the one source of the
 * job's trace, of the log domain dvmd-state and of the trace file.
 */
void dvmd_job_trace (DvmdJob *self, guint rank, guint old_state, guint new_state, const char *note);

G_END_DECLS

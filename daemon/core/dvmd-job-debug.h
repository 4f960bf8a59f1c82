/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-job.h"

G_BEGIN_DECLS

/*
 * The stop of a job for a debugger: all of its ranks wait that are to and have not ended, later the last of them goes
 * on.
 */

typedef enum
{
  DVMD_DEBUG_NOTHING,
  DVMD_DEBUG_READY, /* all of them wait now */
  DVMD_DEBUG_OVER,  /* none is waited for any more */
} DvmdDebugNews;

/* The job is held back from RUNNING and REGISTERED, which are for jobs that go on. */
gboolean dvmd_job_debug_holds (DvmdJob *job);
/* A rank has another state. */
void dvmd_job_debug_count (DvmdJob *job, DvmProcState old_state, DvmProcState new_state);
/* It has ended. */
void dvmd_job_debug_ended (DvmdJob *job, guint rank);
/* The result tells each piece of news once. n_ended: how many ranks have ended */
DvmdDebugNews dvmd_job_debug_check (DvmdJob *job, guint n_ended);
/* The job need not wait for a debugger. FALSE: it did not */
gboolean dvmd_job_debug_skip (DvmdJob *job);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How far a job is that stops for a debugger.
 */

#include "config.h"

#include "dvmd-job-debug.h"

#include "dvmd-job-parts.h"

typedef struct
{
  DvmdDebugNews last; /* how far it is */
  guint n_waiting;    /* ranks, now */
} Debug;

static Debug *
debug_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_DEBUG, sizeof (Debug), NULL);
}

gboolean
dvmd_job_debug_holds (DvmdJob *job)
{
  return dvmd_job_stops (job) && debug_of (job)->last != DVMD_DEBUG_OVER;
}

void
dvmd_job_debug_count (DvmdJob *job, DvmProcState old_state, DvmProcState new_state)
{
  debug_of (job)->n_waiting += (new_state == DVM_PROC_STATE_READY_FOR_DEBUG)
                               - (old_state == DVM_PROC_STATE_READY_FOR_DEBUG);
}

DvmdDebugNews
dvmd_job_debug_check (DvmdJob *job, guint n_ended)
{
  Debug *self = debug_of (job);
  DvmdDebugNews news = DVMD_DEBUG_NOTHING;

  if (!dvmd_job_debug_holds (job))
    return DVMD_DEBUG_NOTHING;
  if (self->last == DVMD_DEBUG_READY && self->n_waiting == 0)
    news = DVMD_DEBUG_OVER;
  else if (self->last == DVMD_DEBUG_NOTHING && self->n_waiting > 0
           && self->n_waiting + n_ended == dvmd_job_get_procs (job)->n_rows)
    news = DVMD_DEBUG_READY;
  self->last = MAX (self->last, news);
  return news;
}

gboolean
dvmd_job_debug_skip (DvmdJob *job)
{
  Debug *self = debug_of (job);

  if (!dvmd_job_debug_holds (job) || self->last != DVMD_DEBUG_NOTHING)
    return FALSE;
  self->last = DVMD_DEBUG_OVER;
  return TRUE;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How far a job is that stops for a debugger.
 */

#include "config.h"

#include "dvmd-job-debug.h"

#include "dvm-job-spec-private.h"
#include "dvmd-id-set.h"
#include "dvmd-job-parts.h"

typedef struct
{
  DvmdDebugNews last; /* how far it is */
  guint n_waiting;    /* ranks, now */
  DvmdIdSet *ranks;   /* that are to wait; NULL: not asked for yet */
  guint n_others;     /* ranks that are not to wait and have ended */
} Debug;

static void
debug_clear (gpointer part)
{
  g_clear_pointer (&((Debug *)part)->ranks, dvmd_id_set_free);
}

static Debug *
debug_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_DEBUG, sizeof (Debug), debug_clear);
}

/* Of a job that stops. */
static DvmdIdSet *
get_ranks (DvmdJob *job)
{
  Debug *self = debug_of (job);
  const char *text = _dvm_job_spec_get_stop_ranks (dvmd_job_get_spec (job));

  if (self->ranks == NULL)
    self->ranks = dvmd_id_set_parse (text != NULL ? text : "", "stop-ranks", NULL);
  return self->ranks;
}

/* How many ranks that are not to wait have not ended. */
static guint
count_spared (DvmdJob *job)
{
  guint n = dvmd_job_get_procs (job)->n_rows;

  return n - (guint)MIN (n, dvmd_id_set_count (get_ranks (job))) - debug_of (job)->n_others;
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

void
dvmd_job_debug_ended (DvmdJob *job, guint rank)
{
  if (dvmd_job_stops (job) && !dvmd_id_set_contains (get_ranks (job), rank))
    debug_of (job)->n_others++;
}

/* Ranks that are not to wait do not wait for those that have ended before they did. */
DvmdDebugNews
dvmd_job_debug_check (DvmdJob *job, guint n_ended)
{
  Debug *self = debug_of (job);
  DvmdDebugNews news = DVMD_DEBUG_NOTHING;
  gboolean all_came;
  guint n_spared;

  if (!dvmd_job_debug_holds (job))
    return DVMD_DEBUG_NOTHING;
  n_spared = count_spared (job);
  all_came = self->n_waiting + n_ended + n_spared == dvmd_job_get_procs (job)->n_rows;
  if (self->n_waiting == 0 && (self->last == DVMD_DEBUG_READY || (all_came && n_spared > 0)))
    news = DVMD_DEBUG_OVER;
  else if (self->last == DVMD_DEBUG_NOTHING && self->n_waiting > 0 && all_came)
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

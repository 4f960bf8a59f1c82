/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-job.h"

G_BEGIN_DECLS

/*
 * Jobs that do not go on for a while: as long as there is one reason. Those that run are stopped once and continued
 * once, whatever the number of reasons; those that have not been launched wait, and hold no slots before they are
 * placed.
 */
typedef enum
{
  DVMD_HOLD_PAUSE = 1 << 0,   /* their session is paused */
  DVMD_HOLD_PREEMPT = 1 << 1, /* they are preempted */
  DVMD_HOLD_ITSELF = 1 << 2,  /* the job alone is paused */
  /* These four hold a job that has no nodes yet, and no other: */
  DVMD_HOLD_USER = 1 << 3,      /* until a user releases it */
  DVMD_HOLD_JOBS = 1 << 4,      /* other jobs have not come so far as it says */
  DVMD_HOLD_NAMESAKES = 1 << 5, /* jobs of its name have not ended */
  DVMD_HOLD_ARRAY = 1 << 6,     /* as many of its array run as may */
} DvmdHold;

void dvmd_job_hold (DvmdJob *job, DvmdHold why);
void dvmd_job_unhold (DvmdJob *job, DvmdHold why);

/* Ranks that were on their way are there now, or wait for a debugger no more: they are stopped if the job is held. */
void dvmd_job_hold_ranks (DvmdJob *job);
/* Ranks have come to another node: they stop there, if the others are stopped. */
void dvmd_job_hold_moved (DvmdJob *job);
/* The job comes, before it brings nodes along: TRUE: it waits for other jobs, or to be released. */
gboolean dvmd_job_hold_early (DvmdJob *job);
/* The job comes to its map, to its launch: TRUE: it waits there. */
gboolean dvmd_job_hold_map (DvmdJob *job);
gboolean dvmd_job_hold_launch (DvmdJob *job);
/* It ends: nobody waits any more, and what is stopped goes on, so that it can end. */
void dvmd_job_hold_end (DvmdJob *job);

G_END_DECLS

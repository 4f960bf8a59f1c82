/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-job.h"

G_BEGIN_DECLS

/*
 * The parts of a job. A part is a struct of one file of the core, which alone knows what is in it: other files call the
 * functions of that file. The job keeps the struct and knows nothing of it either.
 */
typedef enum
{
  DVMD_JOB_PART_TRACE,     /* dvmd-trace.c */
  DVMD_JOB_PART_REASONS,   /* dvmd-job-reason.c */
  DVMD_JOB_PART_SESSIONS,  /* dvmd-job-sessions.c */
  DVMD_JOB_PART_FAMILY,    /* dvmd-job-family.c */
  DVMD_JOB_PART_HOLD,      /* dvmd-job-hold.c */
  DVMD_JOB_PART_PAST,      /* dvmd-candidates.c */
  DVMD_JOB_PART_CLAIMS,    /* dvmd-admission.c */
  DVMD_JOB_PART_PARKING,   /* dvmd-launch-fence.c */
  DVMD_JOB_PART_GATES,     /* dvmd-gates.c */
  DVMD_JOB_PART_OWN_NODES, /* dvmd-grow-job.c */
  DVMD_JOB_PART_ANSWERS,   /* dvmd-job-answers.c */
  DVMD_JOB_PART_STAGING,   /* dvmd-staging.c */
  DVMD_JOB_PART_COUNTS,    /* dvmd-proc-tracking.c */
  DVMD_JOB_PART_DEBUG,     /* dvmd-job-debug.c */
  DVMD_JOB_PART_BESIDE,    /* dvmd-colocation.c */
  DVMD_JOB_PART_STACKS,    /* dvmd-job-stacks.c */
  DVMD_JOB_PART_MOVES,     /* dvmd-job-moves.c */
  DVMD_JOB_PART_DEPENDS,   /* dvmd-dependencies.c */
  DVMD_JOB_N_PARTS
} DvmdJobPart;

/* Zeros at first. clear (nullable): what it holds is let go, with the job. */
gpointer dvmd_job_get_part (DvmdJob *self, DvmdJobPart part, gsize size, void (*clear) (gpointer part));

G_END_DECLS

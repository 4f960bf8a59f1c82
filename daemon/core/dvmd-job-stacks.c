/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Stacks are kept with the job as long as it is known.
 */

#include "config.h"

#include "dvmd-job-stacks.h"

#include "dvmd-job-parts.h"

typedef struct
{
  GVariant *kept; /* (nullable) */
} Stacks;

static void
stacks_clear (gpointer part)
{
  g_clear_pointer (&((Stacks *)part)->kept, g_variant_unref);
}

static Stacks *
stacks_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_STACKS, sizeof (Stacks), stacks_clear);
}

void
dvmd_job_keep_stacks (DvmdJob *job, GVariant *stacks)
{
  stacks_clear (stacks_of (job));
  stacks_of (job)->kept = g_variant_ref_sink (stacks);
}

GVariant *
dvmd_job_get_stacks (DvmdJob *job)
{
  return stacks_of (job)->kept;
}

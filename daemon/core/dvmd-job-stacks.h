/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-job.h"

G_BEGIN_DECLS

/* The stacks that the processes of a job had at its time limit: a(usss), as Job.CollectStacks answers. */

/* stacks: sunk if it is floating */
void dvmd_job_keep_stacks (DvmdJob *job, GVariant *stacks);
/* (nullable) (transfer none): none were kept */
GVariant *dvmd_job_get_stacks (DvmdJob *job);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"

G_BEGIN_DECLS

/* The jobs of the DVM: see dvmd-core.h for how they are found. */

/* Jobs are counted by these. */
typedef enum
{
  DVMD_JOBS_RUNNING,
  DVMD_JOBS_PAUSED,   /* they wait because they, or their session, are paused */
  DVMD_JOBS_AWAITING, /* their own nodes */
  DVMD_N_JOB_COUNTS
} DvmdJobCount;

DvmdJobRegistry *dvmd_job_registry_new (const DvmdCoreSettings *settings);
void dvmd_job_registry_free (DvmdJobRegistry *self);
/* (element-type DvmdJob) (transfer none): ascending by id */
GList *dvmd_core_get_live_jobs (DvmdCore *self);

/* The next number; it may be given back, if it was the last one. */
guint dvmd_job_registry_mint_id (DvmdJobRegistry *self);
void dvmd_job_registry_return_id (DvmdJobRegistry *self, guint id);
/* (transfer full) */
void dvmd_job_registry_add (DvmdJobRegistry *self, DvmdJob *job);
/* It is not live any more; then it is known how large it is. */
void dvmd_job_registry_end (DvmdJobRegistry *self, DvmdJob *job);
void dvmd_job_registry_measure (DvmdJobRegistry *self, DvmdJob *job);
/* (transfer full) (nullable): the oldest of those that are too many in the history */
DvmdJob *dvmd_job_registry_forget (DvmdJobRegistry *self);
gboolean dvmd_job_registry_is_full (DvmdJobRegistry *self);
void dvmd_job_registry_set_limit (DvmdJobRegistry *self, guint limit);

void dvmd_job_registry_count (DvmdJobRegistry *self, DvmdJobCount what, int change);
/* Jobs that wait, but not for slots nor at a gate */
guint dvmd_job_registry_count_waiting (DvmdJobRegistry *self);
/* The DVM is not ready: the job goes on when it is. */
void dvmd_job_registry_keep (DvmdJobRegistry *self, DvmdJob *job);
/* It does not, if it was kept. */
void dvmd_job_registry_drop (DvmdJobRegistry *self, DvmdJob *job);
/* Jobs that were kept until the DVM was ready go on. */
void dvmd_core_dispatch_kept (DvmdCore *self);

G_END_DECLS

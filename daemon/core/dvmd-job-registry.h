/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"
#include "dvmd-registry.h"

G_BEGIN_DECLS

/* Jobs are counted by these. */
typedef enum
{
  DVMD_JOBS_RUNNING,
  DVMD_JOBS_PAUSED,   /* they wait because they, or their session, are paused */
  DVMD_JOBS_AWAITING, /* their own nodes */
  DVMD_N_JOB_COUNTS
} DvmdJobCount;

/* The jobs of the DVM. These functions alone write it. */
typedef struct
{
  DvmdRegistry *all;     /* of DvmdJob */
  GHashTable *by_nspace; /* namespace -> DvmdJob, live and in the history */
  GQueue kept;           /* DvmdJob that came before the DVM was ready */
  guint last_id;
  guint counts[DVMD_N_JOB_COUNTS];
} DvmdJobRegistry;

void dvmd_job_registry_init (DvmdJobRegistry *self, const DvmdCoreSettings *settings);
void dvmd_job_registry_clear (DvmdJobRegistry *self);
void dvmd_job_registry_count (DvmdJobRegistry *self, DvmdJobCount what, int change);
/* The DVM is not ready: the job goes on when it is. */
void dvmd_job_registry_keep (DvmdJobRegistry *self, DvmdJob *job);
/* It does not, if it was kept. */
void dvmd_job_registry_drop (DvmdJobRegistry *self, DvmdJob *job);
/* Jobs that were kept until the DVM was ready go on. */
void dvmd_core_dispatch_kept (DvmdCore *self);
/* The job is over: out of the live ones, into the history. */
void dvmd_core_end_job (DvmdJob *job);

G_END_DECLS

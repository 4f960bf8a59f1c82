/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* A job of Slurm, as its variables tell of it. */
typedef struct
{
  DvmdAllocation *allocation; /* its nodes; the id is that of the job */
  gboolean heterogeneous;     /* of several components, each of which is a job of its own for Slurm */
  char *script_node;          /* (nullable): the node that runs the job's script, or the step that the DVM is in */
} SlurmJob;

void slurm_job_free (SlurmJob *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SlurmJob, slurm_job_free)

/* (transfer full) (nullable): NULL without error: this is no job of Slurm; NULL with DVM_ERROR_BAD_PARAM or
 * DVM_ERROR_ALLOC_FAILED: its variables are wrong */
SlurmJob *slurm_job_read (const char *const *environ, GError **error);

G_END_DECLS

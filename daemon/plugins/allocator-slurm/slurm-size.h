/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

#include "slurm-job.h"

G_BEGIN_DECLS

/*
 * The nodes of a job, by Slurm's last word, and which of them the DVM has. Changes of the size are made one after
 * another, and after each of them Slurm is asked.
 */
typedef struct _SlurmSize SlurmSize;

/* At the start the DVM has all nodes of the job. */
SlurmSize *slurm_size_new (DvmdPluginHost *host, const SlurmJob *job);
SlurmSize *slurm_size_ref (SlurmSize *self);
void slurm_size_unref (SlurmSize *self);

/* Slurm has said that the job has these. It is not heard while a change is under way, which asks itself. */
void slurm_size_learn (SlurmSize *self, const char *const *names);

/* Whether all of these are nodes of the job that the DVM does not have. */
gboolean slurm_size_are_spare (SlurmSize *self, const char *const *names);

/* These have left the DVM. FALSE: none of them is the job's */
gboolean slurm_size_leave (SlurmSize *self, const char *const *names);

/* task (transfer full): of its nodes those that the DVM does not have come first, then more of Slurm: its answer is a
 * DvmdAllocation. Withdrawn, it leaves the job as it was. */
void slurm_size_grow (SlurmSize *self, const DvmdAllocationRequest *request, GTask *task);

/* task (transfer full): the job gives back those of the names that have left the DVM: its answer is TRUE, or an error
 * with Slurm's own words. */
void slurm_size_release (SlurmSize *self, const char *const *names, GTask *task);

G_END_DECLS

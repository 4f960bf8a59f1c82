/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-effects.h"

G_BEGIN_DECLS

/*
 * Jobs that processes of other jobs have spawned. A child ends with its parent, unless it is to go on without (S27);
 * parents that nobody can ask about any more are forgotten (who descends from whom is known for longer: see
 * dvmd-lineage.h).
 */

/* Whether a process may spawn that: not if the job that it is of has ended, and the other one were to end with it. */
gboolean dvmd_job_family_check (DvmdCore *core, const DvmdRequester *requester, DvmJobSpec *spec, GError **error);
/* A process of parent spawns self, which is new. */
void dvmd_job_family_join (DvmdJob *job, DvmdJob *parent);
/* It goes on without its parent from now on, also when that has ended in this moment. */
void dvmd_job_family_separate (DvmdJob *job);
/* The clock may go on without it. */
void dvmd_job_family_stop_timer (DvmdJob *job);
/* The job has ended: so do its children. */
void dvmd_job_family_ended (DvmdJob *job);
/* It has failed in this moment: those above it, that went well so far, learn that it was the first of their family. */
void dvmd_job_family_failed (DvmdJob *job);
/* It leaves the history. */
void dvmd_job_family_forget (DvmdJob *job);
/* Where the job is to be placed first: on the node where its parent has stopped (L15). */
void dvmd_job_family_order (DvmdJob *job, DvmdPlaces *places);
/* (nullable) (element-type guint): jobs that its parent has spawned, itself too, as long as they are known */
GArray *dvmd_job_family_get_siblings (DvmdJob *job);

G_END_DECLS

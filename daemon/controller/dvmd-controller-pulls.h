/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-requesters.h"

G_BEGIN_DECLS

/*
 * The output of jobs for processes and tools, by PMIx_IOF_pull() or because they have spawned the job. It goes to the
 * PMIx servers that they have, once to each, and is credited when the server has handed it over.
 */

/* The caller has spawned the job: streams (DVMD_PMIX_STDOUT, ...) are kept for its server until they are released. */
void dvmd_controller_pull_spawned (DvmdController *self, DvmdJob *job, const DvmdCall *call, guint streams);
/* The caller has been told the name of the job. */
void dvmd_controller_release_spawned (DvmdController *self, DvmdJob *job);
/* The caller has gone. */
void dvmd_controller_drop_spawned (DvmdController *self, guint job);
/* All of the job's output has come. */
void dvmd_controller_end_pulls (DvmdController *self, DvmdJob *job);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"

G_BEGIN_DECLS

/*
 * Ranks that may be started again move to another node when theirs is lost. They wait until nothing of them can run
 * there any more, and then for a node that has nothing of the job, all of them together.
 */

/* The rank has failed, and is started again. */
void dvmd_job_moves_count (DvmdJob *job, guint32 rank);
/* So often was, or is, it started again. */
guint dvmd_job_moves_get_count (DvmdJob *job, guint32 rank);
/*
 * The node is DOWN, with these ranks (element-type DvmdMapRank). Those that may go to another node wait for one, and go
 * from ranks. (transfer full) (element-type guint32)
 */
GArray *dvmd_job_moves_take (DvmdJob *job, DvmdNode *node, GArray *ranks, const DvmReason *reason);
gboolean dvmd_job_moves_is_waiting (DvmdJob *job);
/* The job ends: no rank waits any more. */
void dvmd_job_moves_end (DvmdJob *job);

G_END_DECLS

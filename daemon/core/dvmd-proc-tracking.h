/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"

G_BEGIN_DECLS

/*
 * A launched job has lost this node: its processes there are over, and the job fails, unless it is one that may lose
 * ranks and has some elsewhere.
 */
void dvmd_core_lose_procs (DvmdJob *job, DvmdNode *node, const DvmReason *reason);
/* Ranks (element-type guint32) that were to go to another node do not: the job fails, or goes on without them. */
void dvmd_core_give_up_moves (DvmdJob *job, GArray *ranks, const DvmReason *reason);
gboolean dvmd_core_is_launching (DvmdJob *job);
/* A launched job is about to lose the nodes that leave to a campaign: it ends, unless it is one that may lose ranks. */
void dvmd_core_take_away (DvmdJob *job);

G_END_DECLS

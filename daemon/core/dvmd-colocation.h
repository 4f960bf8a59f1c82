/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-job.h"

G_BEGIN_DECLS

/*
 * A job that is placed beside the processes of others (map-by "colocate=JOB:RANKS"), such as debuggers and monitors. It
 * takes no slots, and never waits: these processes run, or it is refused.
 */

/* (transfer none) (nullable): the processes that the job names, as it names them; NULL: it has slots, as most jobs */
const char *dvmd_colocation_get (DvmdJob *job);
/*
 * (transfer full) (nullable) (element-type DvmdMapShare): where these processes are, in the order in which they are
 * named; those that follow each other on one node are one share. NULL: error says which does not run, or is where the
 * job cannot be.
 */
GArray *dvmd_colocation_find (DvmdJob *job, GError **error);
/* jobs (out) (transfer container) (nullable): those that are named; NULL: none. FALSE: one is none */
gboolean dvmd_colocation_list_jobs (DvmdCore *core, DvmJobSpec *spec, GPtrArray **jobs, GError **error);
/* Whether the processes run that a job which comes names. */
gboolean dvmd_colocation_check (DvmdCore *core, DvmJobSpec *spec, GError **error);
/* Whether the job was placed beside processes of the other one, which may have ended. */
gboolean dvmd_colocation_is_beside (DvmdJob *job, DvmdJob *other);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent-job.h"

G_BEGIN_DECLS

/* Settles which cpus the processes of the job have here. FALSE with an error: they cannot be bound as the map says. */
gboolean dvmd_agent_bind_procs (DvmdAgentJob *job, GError **error);
/* (nullable): "0-3,8"; NULL: the process is not bound */
const char *dvmd_agent_get_cpus (const DvmdAgentJob *job, guint local_rank);
/* (transfer full): variables for programs of many threads and libraries that would bind by themselves */
GStrv dvmd_agent_dup_binding_variables (const DvmdAgentJob *job, const DvmdAgentApp *app);

G_END_DECLS

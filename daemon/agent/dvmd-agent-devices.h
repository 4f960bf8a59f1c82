/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent-job.h"

G_BEGIN_DECLS

/* Settles which devices the processes of the job have here. FALSE with an error: this node does not have them. */
gboolean dvmd_agent_find_devices (DvmdAgentJob *job, GError **error);
/* (transfer full) (nullable): "nvml0,nvml1", by which people and programs know them; NULL: the process has none */
char *dvmd_agent_dup_devices (const DvmdAgentJob *job, guint local_rank);
/*
 * (transfer full) (nullable): variables by which the libraries of the vendors use the devices of the process. given:
 * those of the user, which stay. NULL with DVM_ERROR_BAD_PARAM: one of them makes the others wrong
 */
GStrv dvmd_agent_dup_device_variables (const DvmdAgentJob *job, guint local_rank, const char *const *given,
                                       GError **error);

G_END_DECLS

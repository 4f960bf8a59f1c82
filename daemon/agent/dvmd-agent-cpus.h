/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-topology.h"

G_BEGIN_DECLS

/* This process, and what it starts from now on, may use these cpus of its machine alone: as DVMD_MSG_ALLOTMENT has
 * them. topology: what it has until then. (transfer full) (nullable): the machine as it is then; NULL with an error:
 * all is as it was */
DvmdTopology *dvmd_agent_keep_to_cpus (DvmdTopology *machine, DvmdTopology *topology, const char *cpus, GError **error);

G_END_DECLS

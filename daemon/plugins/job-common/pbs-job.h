/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* (transfer full) (nullable): the nodes of the job of PBS that this environment is of; NULL without error: it is of
 * none. smp: (nullable): what the setting "smp" of the allocator says */
DvmdAllocation *pbs_job_read (const char *const *environ, const char *smp, GError **error);

G_END_DECLS

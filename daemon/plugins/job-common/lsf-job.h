/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* (transfer full) (nullable): the nodes of the job of LSF that this environment is of; NULL without error: it is of
 * none. launch_node: (out) (transfer full) (nullable): one that is left out, because it is no place for processes */
DvmdAllocation *lsf_job_read (const char *const *environ, char **launch_node, GError **error);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-plugin.h"

G_BEGIN_DECLS

/* (transfer full) (nullable): the nodes of the job of Grid Engine that this environment is of; NULL without error: it
 * is of none */
DvmdAllocation *gridengine_job_read (const char *const *environ, GError **error);

G_END_DECLS

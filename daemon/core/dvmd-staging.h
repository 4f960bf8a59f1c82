/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-job.h"

G_BEGIN_DECLS

/* Its files are brought to the nodes of its map: each time that it has another one. */
void dvmd_staging_begin (DvmdJob *job);
/* They have not come to all of its nodes. */
gboolean dvmd_staging_is_half (DvmdJob *job);
/* Nodes of the DVM have begun to leave: what a job brings along is not waited for there. */
void dvmd_core_files_leaving (DvmdCore *core, DvmdJob *job);

G_END_DECLS

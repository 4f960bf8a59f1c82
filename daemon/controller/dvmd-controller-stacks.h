/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"

G_BEGIN_DECLS

/* How long it may take unless the caller says so, and at most (s). */
#define DVMD_STACKS_SECONDS     30
#define DVMD_STACKS_MAX_SECONDS 3600

/*
 * The agents of the job read the stacks of these ranks (id set; "": all of them). The result has a row for each rank:
 * a(usss): rank, node, stacks of its threads or "", and why there is none, or not all of it, or "". (transfer full)
 */
void dvmd_controller_collect_stacks_async (DvmdController *self, DvmdJob *job, const char *ranks, guint seconds,
                                           GAsyncReadyCallback callback, gpointer user_data);
GVariant *dvmd_controller_collect_stacks_finish (DvmdController *self, GAsyncResult *result, GError **error);

G_END_DECLS

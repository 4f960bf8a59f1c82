/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"
#include "dvmd-fence.h"

G_BEGIN_DECLS

/* tree, user_data: borrowed as long as there are services */
void dvmd_controller_set_fence_tree (DvmdController *self, const DvmdFenceTree *tree, gpointer user_data);
/* All contributions to a fence have come. */
void dvmd_controller_gathered (DvmdController *self, const char *key, GVariant *whole);
/* Before the launch: whether the fences of the job go by the tree. */
gboolean dvmd_controller_choose_tree_fences (DvmdController *self, DvmdJob *job);
gboolean dvmd_controller_has_failed_fences (DvmdController *self, DvmdJob *job);

G_END_DECLS

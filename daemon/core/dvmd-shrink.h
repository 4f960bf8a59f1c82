/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"

G_BEGIN_DECLS

/* A shrink: its steps, and the jobs that are on its nodes. */

void dvmd_shrink_try_begin (DvmdCampaign *self);
void dvmd_shrink_order (DvmdCampaign *self);
void dvmd_shrink_departed (DvmdCampaign *self);
void dvmd_shrink_drain (DvmdCampaign *self);
void dvmd_shrink_drained (DvmdCampaign *self);
void dvmd_shrink_offered (DvmdCampaign *self);
void dvmd_shrink_completed (DvmdCampaign *self);
void dvmd_shrink_failed (DvmdCampaign *self);
void dvmd_shrink_order_lost (DvmdCampaign *self);
/* (nullable): the release of the session that is on its way, and has not begun */
DvmdCampaign *dvmd_shrink_find_slow (DvmdSession *session);
/* Such a one waits for nobody any more. */
void dvmd_shrink_hurry (DvmdCampaign *self);
gboolean dvmd_drain_is_running (DvmdJob *job);
/* The job is launched on nodes that will be taken away. */
void dvmd_shrink_warn (DvmdJob *job);
/* A job or a node is not there any more: a drain may be over. */
void dvmd_shrink_check_drains (DvmdCore *core);

G_END_DECLS

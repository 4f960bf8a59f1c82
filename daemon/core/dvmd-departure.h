/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"

G_BEGIN_DECLS

/* These agents are told to leave, all together. */
void dvmd_core_order_away (DvmdCampaign *campaign, GPtrArray *nodes);
/* Its node is down, and nobody waits for it. reason: of the node; for its jobs, the node is named before it. */
void dvmd_core_drop_agent (DvmdCore *self, DvmdNode *node, const char *reason);
/* It is not a node of the DVM any more. Those who waited for that go on. */
void dvmd_core_depart (DvmdCore *self, DvmdNode *node);

G_END_DECLS

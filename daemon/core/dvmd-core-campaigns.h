/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"

G_BEGIN_DECLS

/* Some of those that are too many in the history leave it. */
void dvmd_core_trim_campaigns (DvmdCore *self);
/* It has its final state: out of those that run, into the history. */
void dvmd_core_end_campaign (DvmdCampaign *campaign);
/* The DVM ends. */
void dvmd_core_give_up_campaigns (DvmdCore *self, const char *reason);

G_END_DECLS

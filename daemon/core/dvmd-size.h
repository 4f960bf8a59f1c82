/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What grow and shrink have in common, for these files alone.
 */

#pragma once

#include "dvmd-core-elastic.h"

G_BEGIN_DECLS

gboolean dvmd_size_check (DvmdCore *self, GError **error);
gboolean dvmd_size_check_elastic (DvmdCore *self, GError **error);
/* (nullable): whose rights count: the scheduler has all of them, as the DVM itself */
const DvmdRequester *dvmd_size_get_asker (const DvmdRequester *requester, gboolean scheduler);
void dvmd_size_answer (DvmdSizeAnswer *answer, const char *alloc_id, const char *req_id, DvmdSession *session,
                       DvmdCampaign *campaign);
DvmdCampaign *dvmd_size_make_campaign (DvmdCore *self, DvmCampaignKind kind, const DvmdRequester *requester,
                                       const char *alloc_id, const char *req_id);
/* Its targets are known: the core has it from now on, and it begins when it may. */
void dvmd_size_start_campaign (DvmdCampaign *campaign, gboolean never_held);
/* One that may not be held back needs it. */
void dvmd_size_unhold (DvmdCampaign *campaign);
/* A node that was to leave stays after all: grows that wait for that look again. */
void dvmd_size_resume_waiting (DvmdCore *self);
/* targets: (element-type DvmdTarget). FALSE: there is nothing to offer, or nobody to offer it. */
gboolean dvmd_size_offer (DvmdCore *self, DvmdCampaign *campaign, GPtrArray *targets);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"

G_BEGIN_DECLS

/* The campaigns of the DVM: see dvmd-core-elastic.h for how they are found. */

DvmdCampaignRegistry *dvmd_campaign_registry_new (const DvmdCoreSettings *settings);
void dvmd_campaign_registry_free (DvmdCampaignRegistry *self);
/* (element-type DvmdCampaign) (transfer none): ascending by id */
GList *dvmd_core_get_live_campaigns (DvmdCore *self);

guint dvmd_campaign_registry_mint_id (DvmdCampaignRegistry *self);
/* (transfer full) */
void dvmd_campaign_registry_add (DvmdCampaignRegistry *self, DvmdCampaign *campaign);
/* It is not live any more. */
void dvmd_campaign_registry_end (DvmdCampaignRegistry *self, DvmdCampaign *campaign);
/* (transfer full) (nullable): the oldest of those that are too many in the history */
DvmdCampaign *dvmd_campaign_registry_forget (DvmdCampaignRegistry *self);
gboolean dvmd_campaign_registry_is_full (DvmdCampaignRegistry *self);
void dvmd_campaign_registry_set_limit (DvmdCampaignRegistry *self, guint limit);

/* It waits until no job has been parked for too long, or does not any more. */
void dvmd_campaign_registry_hold (DvmdCampaignRegistry *self, DvmdCampaign *campaign, gboolean held);
/* (element-type DvmdCampaign) (transfer none): those that do, in their order */
GList *dvmd_campaign_registry_get_held (DvmdCampaignRegistry *self);
/* A job has been parked for too long: campaigns that come now begin later. */
gboolean dvmd_core_holds_back (DvmdCore *self);

/* (nullable): the campaign that brings a node of that name, or would */
DvmdCampaign *dvmd_campaign_registry_find_coming (DvmdCampaignRegistry *self, const char *name);
void dvmd_campaign_registry_add_coming (DvmdCampaignRegistry *self, const char *name, DvmdCampaign *campaign);
/* campaign: it alone brings it no more; another one may by now */
void dvmd_campaign_registry_remove_coming (DvmdCampaignRegistry *self, const char *name, DvmdCampaign *campaign);
/* (element-type DvmdTarget) (transfer none): nodes that were down and have been released: to be offered with the next
 * turn. is_new (out): there were none before */
GPtrArray *dvmd_campaign_registry_open_offer (DvmdCampaignRegistry *self, gboolean *is_new);
/* (transfer full) (nullable) */
GPtrArray *dvmd_campaign_registry_take_offer (DvmdCampaignRegistry *self);
/* Shrinks that wait for running jobs */
void dvmd_campaign_registry_count_draining (DvmdCampaignRegistry *self, int change);
gboolean dvmd_campaign_registry_is_draining (DvmdCampaignRegistry *self);

G_END_DECLS

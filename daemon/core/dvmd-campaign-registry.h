/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"
#include "dvmd-registry.h"

G_BEGIN_DECLS

/* The campaigns of the DVM. These functions alone write it. */
typedef struct
{
  DvmdRegistry *all; /* of DvmdCampaign */
  guint last_id;
  GQueue held_back;    /* DvmdCampaign that begin when no job has been parked for too long, in their order */
  GHashTable *coming;  /* name -> DvmdCampaign that brings the node, or would */
  GPtrArray *to_offer; /* (element-type DvmdTarget) (nullable): nodes that were down and have been released */
  guint n_draining;    /* shrinks that wait for running jobs */
} DvmdCampaignRegistry;

void dvmd_campaign_registry_init (DvmdCampaignRegistry *self, const DvmdCoreSettings *settings);
void dvmd_campaign_registry_clear (DvmdCampaignRegistry *self);
guint dvmd_campaign_registry_mint_id (DvmdCampaignRegistry *self);
/* It waits until no job has been parked for too long, or does not any more. */
void dvmd_campaign_registry_hold (DvmdCampaignRegistry *self, DvmdCampaign *campaign, gboolean held);
/* (nullable): the campaign that brings a node of that name, or would */
DvmdCampaign *dvmd_campaign_registry_find_coming (DvmdCampaignRegistry *self, const char *name);
void dvmd_campaign_registry_add_coming (DvmdCampaignRegistry *self, const char *name, DvmdCampaign *campaign);
/* campaign: it alone brings it no more; another one may by now */
void dvmd_campaign_registry_remove_coming (DvmdCampaignRegistry *self, const char *name, DvmdCampaign *campaign);
/* (element-type DvmdTarget) (transfer none): to be offered with the next turn */
GPtrArray *dvmd_campaign_registry_open_offer (DvmdCampaignRegistry *self);
/* (transfer full) (nullable) */
GPtrArray *dvmd_campaign_registry_take_offer (DvmdCampaignRegistry *self);
void dvmd_campaign_registry_count_draining (DvmdCampaignRegistry *self, int change);
/* A job has been parked for too long: campaigns that come now begin later. */
gboolean dvmd_core_holds_back (DvmdCore *self);
/* Some of those that are too many in the history leave it. */
void dvmd_core_trim_campaigns (DvmdCore *self);
/* It has its final state: out of those that run, into the history. */
void dvmd_core_end_campaign (DvmdCampaign *campaign);
/* The DVM ends. */
void dvmd_core_give_up_campaigns (DvmdCore *self, const char *reason);

G_END_DECLS

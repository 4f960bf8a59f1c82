/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-state-machine.h"

G_BEGIN_DECLS

/* Events of a campaign. Their facts are written in the campaign at once; effects and states wait for the queue. */
typedef enum
{
  DVMD_CAMPAIGN_BEGUN,    /* it has its ticket, and its nodes are known */
  DVMD_CAMPAIGN_RESUMED,  /* its reason to wait may be over */
  DVMD_CAMPAIGN_DRAINING, /* its nodes take no more jobs */
  DVMD_CAMPAIGN_DRAINED,  /* the jobs on its nodes have ended, or their time is over */
  DVMD_CAMPAIGN_NOTHING_LEFT,
  DVMD_CAMPAIGN_REPORTED, /* all agents have */
  DVMD_CAMPAIGN_WIRED,
  DVMD_CAMPAIGN_DEPARTED, /* all targets have */
  DVMD_CAMPAIGN_OFFERED,
  DVMD_CAMPAIGN_FAILED,
  DVMD_CAMPAIGN_GIVEN_UP, /* there is no way back: the DVM ends, or an order could not be sent */
  DVMD_CAMPAIGN_N_EVENTS
} DvmdCampaignEvent;

extern const DvmdStateTable dvmd_campaign_table;

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-job.h"

G_BEGIN_DECLS

/* A campaign is one change of the size of the DVM, from request to end. People see it by the record that it holds. */

#define DVMD_TYPE_CAMPAIGN (dvmd_campaign_get_type ())
G_DECLARE_FINAL_TYPE (DvmdCampaign, dvmd_campaign, DVMD, CAMPAIGN, GObject)

/* The cause that made a campaign fail, or an agent not come (D7). */
typedef enum
{
  DVMD_CAUSE_NONE,
  DVMD_CAUSE_LAUNCH,         /* the agent could not be started: nothing of it is there */
  DVMD_CAUSE_CONNECT,        /* it could not reach the controller, or its parent */
  DVMD_CAUSE_AUTHENTICATION, /* it could not prove who it is */
  DVMD_CAUSE_TIMEOUT,        /* it did not report in time */
  DVMD_CAUSE_LOST,           /* it was there */
  DVMD_CAUSE_CANCELLED,
  DVMD_CAUSE_SHUTTING_DOWN, /* the DVM ends */
  DVMD_CAUSE_ORDER,         /* the agents could not be told */
} DvmdCause;

/* The word for the cause in Campaign.Cause: "launch-failed", ...; "" for none. */
const char *dvmd_cause_to_string (DvmdCause cause);
/* The number of the PMIx status for the cause; 0 for none. */
int dvmd_cause_get_status (DvmdCause cause);

DvmdCore *dvmd_campaign_get_core (DvmdCampaign *self);
guint dvmd_campaign_get_id (DvmdCampaign *self);
DvmCampaign *dvmd_campaign_get_record (DvmdCampaign *self);
DvmCampaignKind dvmd_campaign_get_kind (DvmdCampaign *self);
DvmCampaignState dvmd_campaign_get_state (DvmdCampaign *self);
/* The campaign has completed or failed. */
gboolean dvmd_campaign_get_ended (DvmdCampaign *self);
/* The campaign keeps gates of the launch fence closed. */
gboolean dvmd_campaign_has_ticket (DvmdCampaign *self);
/* (nullable): the campaign's end is told to it; NULL: to nobody */
const DvmdRequester *dvmd_campaign_get_requester (DvmdCampaign *self);
DvmdCause dvmd_campaign_get_cause (DvmdCampaign *self);
/* (nullable): the job whose own grow the campaign is */
DvmdJob *dvmd_campaign_get_job (DvmdCampaign *self);
/* (transfer full): "campaign 3 (grow of node4, node5)" */
char *dvmd_campaign_describe (DvmdCampaign *self);
/* The campaign brings a lost node back: nobody has requested it, and nobody is told of it. */
gboolean dvmd_campaign_is_restart (DvmdCampaign *self);
/* Brings the record up to date before it is read: it does not follow each of thousands of waiting jobs. */
void dvmd_campaign_publish_held_jobs (DvmdCampaign *self);

G_END_DECLS

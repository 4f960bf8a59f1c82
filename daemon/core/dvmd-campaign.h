/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-job.h"

G_BEGIN_DECLS

/* One change of the size of the DVM, from the request to its end. It holds a record, which is what people see of it. */

#define DVMD_TYPE_CAMPAIGN (dvmd_campaign_get_type ())
G_DECLARE_FINAL_TYPE (DvmdCampaign, dvmd_campaign, DVMD, CAMPAIGN, GObject)

/* What made a campaign fail, or an agent not come (D7). */
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

/* As Campaign.Cause says it: "launch-failed", ...; "" for none. */
const char *dvmd_cause_to_string (DvmdCause cause);
/* The PMIx status of the same, as a number; 0 for none. */
int dvmd_cause_get_status (DvmdCause cause);

guint dvmd_campaign_get_id (DvmdCampaign *self);
DvmCampaign *dvmd_campaign_get_record (DvmdCampaign *self);
DvmCampaignKind dvmd_campaign_get_kind (DvmdCampaign *self);
DvmCampaignState dvmd_campaign_get_state (DvmdCampaign *self);
/* It has completed or failed. */
gboolean dvmd_campaign_get_ended (DvmdCampaign *self);
/* It closes gates of the launch fence. */
gboolean dvmd_campaign_has_ticket (DvmdCampaign *self);
/* (nullable): nobody is told of its end */
const DvmdRequester *dvmd_campaign_get_requester (DvmdCampaign *self);
DvmdCause dvmd_campaign_get_cause (DvmdCampaign *self);
/* (nullable): the job whose own grow it is */
DvmdJob *dvmd_campaign_get_job (DvmdCampaign *self);
/* (transfer full): "campaign 3 (grow of node4, node5)" */
char *dvmd_campaign_describe (DvmdCampaign *self);
/* It brings a node back: nobody has asked for it, and nobody is told of it. */
gboolean dvmd_campaign_is_restart (DvmdCampaign *self);
/* Before the record is read: thousands of jobs may wait, and it does not follow each that comes and goes. */
void dvmd_campaign_publish_held_jobs (DvmdCampaign *self);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-campaign-private.h"

#include "dvm-records-private.h"

G_DEFINE_FINAL_TYPE (DvmdCampaign, dvmd_campaign, G_TYPE_OBJECT)

static const struct
{
  const char *word;
  int status; /* of PMIx */
} causes[] = {
  [DVMD_CAUSE_NONE] = { "", 0 },
  [DVMD_CAUSE_LAUNCH] = { "launch-failed", -181 },                /* PMIX_ERR_JOB_FAILED_TO_LAUNCH */
  [DVMD_CAUSE_CONNECT] = { "connect-failed", -25 },               /* PMIX_ERR_UNREACH */
  [DVMD_CAUSE_AUTHENTICATION] = { "authentication-failed", -12 }, /* PMIX_ERR_INVALID_CRED */
  [DVMD_CAUSE_TIMEOUT] = { "timeout", -24 },                      /* PMIX_ERR_TIMEOUT */
  [DVMD_CAUSE_LOST] = { "lost", -61 },                            /* PMIX_ERR_LOST_CONNECTION */
  [DVMD_CAUSE_CANCELLED] = { "cancelled", -180 },                 /* PMIX_ERR_JOB_CANCELED */
  [DVMD_CAUSE_SHUTTING_DOWN] = { "shutting-down", -189 },         /* PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT */
  [DVMD_CAUSE_ORDER] = { "order-failed", -49 },                   /* PMIX_ERR_COMM_FAILURE */
};

const char *
dvmd_cause_to_string (DvmdCause cause)
{
  return causes[cause].word;
}

int
dvmd_cause_get_status (DvmdCause cause)
{
  return causes[cause].status;
}

static void
dvmd_campaign_finalize (GObject *object)
{
  DvmdCampaign *self = DVMD_CAMPAIGN (object);

  g_clear_object (&self->record);
  g_clear_object (&self->job);
  g_clear_pointer (&self->requester, dvmd_requester_free);
  G_OBJECT_CLASS (dvmd_campaign_parent_class)->finalize (object);
}

static void
dvmd_campaign_class_init (DvmdCampaignClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_campaign_finalize;
}

static void
dvmd_campaign_init (DvmdCampaign *self)
{
}

guint
dvmd_campaign_get_id (DvmdCampaign *self)
{
  return dvm_campaign_get_id (self->record);
}

DvmCampaign *
dvmd_campaign_get_record (DvmdCampaign *self)
{
  return self->record;
}

DvmCampaignKind
dvmd_campaign_get_kind (DvmdCampaign *self)
{
  return dvm_campaign_get_kind (self->record);
}

DvmCampaignState
dvmd_campaign_get_state (DvmdCampaign *self)
{
  return dvm_campaign_get_state (self->record);
}

gboolean
dvmd_campaign_get_ended (DvmdCampaign *self)
{
  DvmCampaignState state = dvmd_campaign_get_state (self);

  return state == DVM_CAMPAIGN_STATE_COMPLETED || state == DVM_CAMPAIGN_STATE_FAILED;
}

gboolean
dvmd_campaign_has_ticket (DvmdCampaign *self)
{
  return self->has_ticket;
}

const DvmdRequester *
dvmd_campaign_get_requester (DvmdCampaign *self)
{
  return self->requester;
}

DvmdCause
dvmd_campaign_get_cause (DvmdCampaign *self)
{
  return self->cause;
}

DvmdJob *
dvmd_campaign_get_job (DvmdCampaign *self)
{
  return self->job;
}

void
dvmd_campaign_publish_held_jobs (DvmdCampaign *self)
{
}

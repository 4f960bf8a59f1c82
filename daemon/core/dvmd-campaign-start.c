/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A campaign begins, as soon as nothing stands in its way, or is cancelled before.
 */

#include "config.h"

#include "dvm-records-private.h"
#include "dvmd-campaign-inner.h"
#include "dvmd-campaign-private.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-news.h"
#include "dvmd-core-parts.h"
#include "dvmd-grow.h"
#include "dvmd-shrink.h"
#include "dvmd-size.h"

void
dvmd_size_start_campaign (DvmdCampaign *campaign, gboolean never_held)
{
  DvmdCore *self = campaign->core;

  dvmd_campaign_registry_add (dvmd_core_get_campaign_registry (self), campaign);
  dvmd_campaign_publish_targets (campaign);
  campaign->n_pending = campaign->targets->len;
  _dvm_campaign_set_pending (campaign->record, campaign->n_pending);
  if (!never_held
      && (dvmd_campaign_registry_get_held (dvmd_core_get_campaign_registry (self)) != NULL
          || dvmd_core_holds_back (self)))
    campaign->start = DVMD_START_HELD;
  dvmd_core_tell_campaign (campaign, DVMD_NEWS_ADDED);
  dvmd_core_changed (self);
  if (campaign->start == DVMD_START_HELD)
    {
      dvmd_campaign_registry_hold (dvmd_core_get_campaign_registry (self), campaign, TRUE);
      dvmd_campaign_wait (campaign, "It begins when jobs that have been parked for long have been admitted");
    }
  dvmd_campaign_try_begin (campaign);
}

void
dvmd_campaign_try_begin (DvmdCampaign *self)
{
  if (self->start != DVMD_START_FREE || self->failure.known)
    return;
  if (dvmd_campaign_get_kind (self) == DVM_CAMPAIGN_KIND_GROW)
    dvmd_grow_try_begin (self);
  else
    dvmd_shrink_try_begin (self);
}

gboolean
dvmd_core_cancel_campaign (DvmdCore *self, DvmdCampaign *campaign, GError **error)
{
  if (dvmd_campaign_get_ended (campaign) || campaign->grown == DVMD_GROW_WIRED)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "Campaign %u has ended: there is nothing to cancel",
                 dvmd_campaign_get_id (campaign));
  else if (dvmd_campaign_get_kind (campaign) == DVM_CAMPAIGN_KIND_SHRINK && campaign->start == DVMD_START_BEGUN)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                 "Campaign %u is a shrink that has begun: its agents cannot be called back",
                 dvmd_campaign_get_id (campaign));
  else
    {
      dvmd_campaign_fail (campaign, DVMD_CAUSE_CANCELLED, "It was cancelled");
      return TRUE;
    }
  return FALSE;
}

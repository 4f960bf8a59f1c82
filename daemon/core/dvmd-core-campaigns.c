/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Campaigns end: counted, told, and forgotten when there are too many.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-core-campaigns.h"

#include "dvmd-campaign-inner.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core-news.h"
#include "dvmd-core-parts.h"
#include "dvmd-heal.h"
#include "dvmd-registry.h"

void
dvmd_core_trim_campaigns (DvmdCore *self)
{
  DvmdCampaignRegistry *campaigns = dvmd_core_get_campaign_registry (self);
  DvmdCampaign *forgotten;

  for (guint n = 0; n < DVMD_TRIM_AT_ONCE && (forgotten = dvmd_campaign_registry_forget (campaigns)) != NULL; n++)
    {
      dvmd_core_tell_campaign (forgotten, DVMD_NEWS_FORGOTTEN);
      g_object_unref (forgotten);
    }
}

void
dvmd_core_end_campaign (DvmdCampaign *campaign)
{
  DvmdCore *self = dvmd_campaign_get_core (campaign);
  g_autofree char *what = dvmd_campaign_describe (campaign);

  if (dvmd_campaign_is_restart (campaign))
    {
      dvmd_heal_ended (campaign);
      return;
    }
  if (dvmd_campaign_get_state (campaign) == DVM_CAMPAIGN_STATE_COMPLETED)
    dvmd_core_get_counters (self)->campaigns_completed++;
  else
    dvmd_core_get_counters (self)->campaigns_failed++;
  dvmd_campaign_registry_end (dvmd_core_get_campaign_registry (self), campaign);
  if (dvmd_campaign_get_failure_reason (campaign) != NULL)
    g_message ("%s has failed: %s", what, dvmd_campaign_get_failure_reason (campaign));
  else
    g_info ("%s has completed", what);
  dvmd_core_tell_campaign (campaign, DVMD_NEWS_ENDED);
  if (dvmd_core_get_effects (self)->campaign_ended != NULL)
    dvmd_core_get_effects (self)->campaign_ended (dvmd_core_get_user_data (self), campaign);
  for (guint i = 0; i < dvmd_campaign_get_targets (campaign)->len; i++)
    g_clear_object (&((DvmdTarget *)g_ptr_array_index (dvmd_campaign_get_targets (campaign), i))->offered_by);
  dvmd_core_trim_campaigns (self);
  dvmd_core_changed (self);
}

void
dvmd_core_give_up_campaigns (DvmdCore *self, const char *reason)
{
  g_autofree char *text = g_strdup_printf ("The DVM is ending%s%s", reason != NULL && reason[0] != '\0' ? ": " : "",
                                           reason != NULL ? reason : "");

  for (GList *l = dvmd_core_get_live_campaigns (self); l != NULL; l = l->next)
    dvmd_campaign_give_up (l->data, DVMD_CAUSE_SHUTTING_DOWN, text);
  dvmd_heal_stop_all (self);
}

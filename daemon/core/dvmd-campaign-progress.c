/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The progress of a campaign: what is left to wait for, why it waits, its events, and the first cause of its failure.
 */

#include "config.h"

#include "dvm-records-private.h"
#include "dvmd-campaign-inner.h"
#include "dvmd-campaign-machine.h"
#include "dvmd-campaign-private.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core-news.h"
#include "dvmd-core-parts.h"
#include "dvmd-gates.h"
#include "dvmd-size.h"

void
dvmd_campaign_set_pending (DvmdCampaign *self, guint pending)
{
  if (self->ticket.given)
    dvmd_gate_count_targets (self->core, pending - self->n_pending);
  self->n_pending = pending;
  _dvm_campaign_set_pending (self->record, pending);
  dvmd_core_tell_campaign (self, DVMD_NEWS_CHANGED);
}

void
dvmd_campaign_wait (DvmdCampaign *self, const char *reason)
{
  _dvm_campaign_set_state (self->record, DVM_CAMPAIGN_STATE_WAITING, reason);
  dvmd_core_tell_campaign (self, DVMD_NEWS_CHANGED);
}

void
dvmd_campaign_post (DvmdCampaign *self, guint event, const char *reason)
{
  dvmd_state_machine_post (dvmd_core_get_queue (self->core), &dvmd_campaign_table, self, event, 0, reason);
}

void
dvmd_campaign_held_changed (DvmdCampaign *self)
{
  if (self->held_untold)
    return;
  self->held_untold = TRUE;
  dvmd_core_tell_campaign (self, DVMD_NEWS_CHANGED);
}

gboolean
dvmd_campaign_take_held_changed (DvmdCampaign *self)
{
  gboolean changed = self->held_untold;

  self->held_untold = FALSE;
  return changed;
}

void
dvmd_campaign_stop_timer (DvmdCampaign *self)
{
  dvmd_clock_remove_timer (dvmd_core_get_clock (self->core), self->timer);
  self->timer = 0;
}

static void
note_failure (DvmdCampaign *self, DvmdCause cause, const char *reason)
{
  if (self->failure.known)
    return;
  self->failure.known = TRUE;
  self->failure.cause = cause;
  self->failure.reason = g_strdup (reason);
}

void
dvmd_campaign_fail (DvmdCampaign *self, DvmdCause cause, const char *reason)
{
  if (self->failure.known || dvmd_campaign_get_ended (self))
    return;
  note_failure (self, cause, reason);
  dvmd_campaign_post (self, DVMD_CAMPAIGN_FAILED, reason);
}

void
dvmd_campaign_give_up (DvmdCampaign *self, DvmdCause cause, const char *reason)
{
  if (dvmd_campaign_get_ended (self))
    return;
  note_failure (self, cause, reason);
  dvmd_campaign_post (self, DVMD_CAMPAIGN_GIVEN_UP, self->failure.reason);
}

void
dvmd_size_unhold (DvmdCampaign *campaign)
{
  if (campaign->start != DVMD_START_HELD)
    return;
  dvmd_campaign_registry_hold (dvmd_core_get_campaign_registry (campaign->core), campaign, FALSE);
  campaign->start = DVMD_START_FREE;
}

void
dvmd_size_resume_waiting (DvmdCore *self)
{
  for (GList *l = dvmd_core_get_live_campaigns (self); l != NULL; l = l->next)
    {
      DvmdCampaign *campaign = l->data;

      if (dvmd_campaign_get_kind (campaign) == DVM_CAMPAIGN_KIND_GROW && campaign->start == DVMD_START_FREE
          && !campaign->failure.known)
        dvmd_campaign_post (campaign, DVMD_CAMPAIGN_RESUMED, NULL);
    }
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Grow and shrink have this in common: checks before, making a campaign, and offers after.
 */

#include "config.h"

#include "dvm-records-private.h"
#include "dvmd-campaign-inner.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-parts.h"
#include "dvmd-size.h"

void
dvmd_size_answer_clear (DvmdSizeAnswer *self)
{
  g_clear_pointer (&self->alloc_id, g_free);
  g_clear_pointer (&self->req_id, g_free);
}

gboolean
dvmd_size_check (DvmdCore *self, GError **error)
{
  if (dvmd_core_get_shutting_down (self))
    g_set_error (error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The DVM is ending and does not change its size any more");
  else if (!dvmd_core_get_ready (self))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "The DVM is not up yet");
  else
    return TRUE;
  return FALSE;
}

gboolean
dvmd_size_check_elastic (DvmdCore *self, GError **error)
{
  if (dvmd_core_get_settings (self)->elastic)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_ELASTIC,
               "This DVM keeps the nodes that it was started with: start one with --elastic, or elastic = true in "
               "dvm.conf");
  return FALSE;
}

const DvmdRequester *
dvmd_size_get_asker (const DvmdRequester *requester, gboolean scheduler)
{
  return scheduler ? NULL : requester;
}

void
dvmd_size_answer (DvmdSizeAnswer *answer, const char *alloc_id, const char *req_id, DvmdSession *session,
                  DvmdCampaign *campaign)
{
  answer->alloc_id = g_strdup (alloc_id);
  answer->req_id = g_strdup (req_id);
  answer->session = session != NULL ? dvmd_session_get_id (session) : 0;
  answer->campaign = campaign != NULL ? dvmd_campaign_get_id (campaign) : 0;
}

DvmdCampaign *
dvmd_size_make_campaign (DvmdCore *self, DvmCampaignKind kind, const DvmdRequester *requester, const char *alloc_id,
                         const char *req_id)
{
  DvmdCampaign *campaign = dvmd_campaign_new (
      self, dvmd_campaign_registry_mint_id (dvmd_core_get_campaign_registry (self)), kind);

  dvmd_campaign_set_requester (campaign, requester);
  _dvm_campaign_set_request (dvmd_campaign_get_record (campaign), kind, alloc_id, req_id,
                             requester != NULL ? requester->name : NULL);
  return campaign;
}

gboolean
dvmd_size_offer (DvmdCore *self, DvmdCampaign *campaign, GPtrArray *targets)
{
  g_autofree DvmdOffer *offers = g_new (DvmdOffer, targets->len + 1);

  if (targets->len == 0 || dvmd_core_get_effects (self)->offer_nodes == NULL)
    return FALSE;
  for (guint i = 0; i < targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (targets, i);

      offers[i] = (DvmdOffer){ .name = target->name, .allocator = target->allocator };
    }
  dvmd_core_get_effects (self)->offer_nodes (dvmd_core_get_user_data (self), campaign, offers, targets->len);
  return TRUE;
}

gboolean
dvmd_core_get_elastic (DvmdCore *self)
{
  return dvmd_core_get_settings (self)->elastic;
}

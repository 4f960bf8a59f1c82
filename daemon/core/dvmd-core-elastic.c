/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The DVM changes its size: what grow and shrink have in common, and the nodes as campaigns leave them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-size.h"

#include "dvm-records-private.h"
#include "dvmd-gates.h"
#include "dvmd-heal.h"
#include "dvmd-log.h"

void
dvmd_size_answer_clear (DvmdSizeAnswer *self)
{
  g_clear_pointer (&self->alloc_id, g_free);
  g_clear_pointer (&self->req_id, g_free);
}

/* ---- requests ---- */

gboolean
dvmd_size_check (DvmdCore *self, GError **error)
{
  if (self->vm.shutting_down)
    g_set_error (error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The DVM is ending and does not change its size any more");
  else if (!self->vm.ready)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "The DVM is not up yet");
  else
    return TRUE;
  return FALSE;
}

gboolean
dvmd_size_check_elastic (DvmdCore *self, GError **error)
{
  if (self->settings.elastic)
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
  DvmdCampaign *campaign = dvmd_campaign_new (self, dvmd_campaign_registry_mint_id (&self->campaigns), kind);

  if (requester != NULL)
    campaign->requester = dvmd_requester_copy (requester);
  _dvm_campaign_set_request (campaign->record, kind, alloc_id, req_id, requester != NULL ? requester->name : NULL);
  return campaign;
}

void
dvmd_size_start_campaign (DvmdCampaign *campaign, gboolean never_held)
{
  DvmdCore *self = campaign->core;

  dvmd_registry_add (self->campaigns.all, campaign);
  dvmd_campaign_publish_targets (campaign);
  campaign->n_pending = campaign->targets->len;
  _dvm_campaign_set_pending (campaign->record, campaign->n_pending);
  if (!never_held && (self->campaigns.held_back.length > 0 || dvmd_core_holds_back (self)))
    campaign->start = DVMD_START_HELD;
  dvmd_core_tell_campaign (campaign, DVMD_NEWS_ADDED);
  dvmd_core_changed (self);
  if (campaign->start == DVMD_START_HELD)
    {
      dvmd_campaign_registry_hold (&self->campaigns, campaign, TRUE);
      dvmd_campaign_wait (campaign, "It begins when jobs that have been parked for long have been admitted");
    }
  dvmd_campaign_try_begin (campaign);
}

void
dvmd_size_unhold (DvmdCampaign *campaign)
{
  if (campaign->start != DVMD_START_HELD)
    return;
  dvmd_campaign_registry_hold (&campaign->core->campaigns, campaign, FALSE);
  campaign->start = DVMD_START_FREE;
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

/* ---- nodes ---- */

DvmdNode *
dvmd_size_find_agent (DvmdCore *self, const char *name)
{
  DvmdNode *node = dvmd_node_pool_find (self->nodes, name);

  return node != NULL && node->rank > 0 ? node : NULL;
}

gboolean
dvmd_size_is_leaving (DvmdNode *node)
{
  return node->ordered || (node->shrinks != NULL && node->shrinks->len > 0)
         || (node->grow != NULL && node->grow->failure.known);
}

gboolean
dvmd_size_is_down (DvmdNode *node)
{
  return dvm_node_get_state (node->record) == DVM_NODE_STATE_DOWN;
}

DvmdNode *
dvmd_core_bring_node (DvmdCore *self, const char *name, guint slots, guint slots_max)
{
  DvmdNode *node = dvmd_node_pool_add (self->nodes, name, slots, slots_max);

  node->brought = TRUE;
  dvmd_membership_add (&self->membership);
  dvmd_node_pool_set_state (self->nodes, node, DVM_NODE_STATE_ADDED, NULL);
  return node;
}

void
dvmd_core_unplan_node (DvmdCore *self, DvmdNode *node)
{
  for (GList *l = dvmd_registry_list (self->jobs.all, FALSE); l != NULL; l = l->next)
    if (dvmd_job_get_map (l->data) == NULL)
      dvmd_admission_give_back_node (self->admission, l->data, node);
}

void
dvmd_core_refresh_node (DvmdCore *self, DvmdNode *node)
{
  gboolean was_barred = node->barred;
  gboolean barred = FALSE;
  gboolean leaving = FALSE;

  for (guint i = 0; node->shrinks != NULL && i < node->shrinks->len; i++)
    {
      DvmdCampaign *campaign = g_ptr_array_index (node->shrinks, i);

      barred = barred || campaign->start == DVMD_START_BEGUN || campaign->drain.state != DVMD_DRAIN_NONE;
      leaving = leaving || campaign->start == DVMD_START_BEGUN;
    }
  /* A node that is to come back stays one when an attempt has failed. */
  if (node->grow != NULL && node->grow->failure.known && !node->healing)
    barred = leaving = TRUE;
  if (barred == node->barred && leaving == node->leaving)
    return;
  dvmd_node_pool_set_leaving (self->nodes, node, barred, leaving);
  if (barred && !was_barred)
    dvmd_core_unplan_node (self, node);
  dvmd_core_look_again (self);
  dvmd_core_changed (self);
}

/* (nullable) */
static DvmdCampaign *
find_taker (DvmdNode *node)
{
  for (guint i = 0; node->shrinks != NULL && i < node->shrinks->len; i++)
    if (((DvmdCampaign *)g_ptr_array_index (node->shrinks, i))->start == DVMD_START_BEGUN)
      return g_ptr_array_index (node->shrinks, i);
  return node->grow;
}

DvmReason *
dvmd_core_describe_departure (DvmdNode *node)
{
  DvmdCampaign *campaign = find_taker (node);
  g_autofree char *what = NULL;

  if (campaign == NULL)
    return _dvm_reason_new (DVM_REASON_NODE_LEFT, dvm_node_get_name (node->record));
  what = dvmd_campaign_describe (campaign);
  return _dvm_reason_new (DVM_REASON_NODE_TAKEN, what, dvm_node_get_name (node->record));
}

/* One target fewer to wait for. */
static void
count_departure (DvmdCampaign *campaign, guint rank)
{
  DvmdTarget *target = dvmd_campaign_find_target (campaign, rank);

  if (target == NULL || target->gone)
    return;
  target->gone = TRUE;
  dvmd_campaign_set_pending (campaign, campaign->n_pending - 1);
  /* One that waits looks at what is left when it begins. */
  if (campaign->n_pending == 0 && dvmd_campaign_get_state (campaign) != DVM_CAMPAIGN_STATE_WAITING)
    dvmd_campaign_post (campaign, DVMD_CAMPAIGN_DEPARTED, NULL);
}

void
dvmd_size_resume_waiting (DvmdCore *self)
{
  for (GList *l = dvmd_registry_list (self->campaigns.all, FALSE); l != NULL; l = l->next)
    {
      DvmdCampaign *campaign = l->data;

      if (dvmd_campaign_get_kind (campaign) == DVM_CAMPAIGN_KIND_GROW && campaign->start == DVMD_START_FREE
          && !campaign->failure.known)
        dvmd_campaign_post (campaign, DVMD_CAMPAIGN_RESUMED, NULL);
    }
}

gboolean
dvmd_size_offer (DvmdCore *self, DvmdCampaign *campaign, GPtrArray *targets)
{
  g_autofree DvmdOffer *offers = g_new (DvmdOffer, targets->len + 1);

  if (targets->len == 0 || self->effects->offer_nodes == NULL)
    return FALSE;
  for (guint i = 0; i < targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (targets, i);

      offers[i] = (DvmdOffer){ .name = target->name, .allocator = target->allocator };
    }
  self->effects->offer_nodes (self->user_data, campaign, offers, targets->len);
  return TRUE;
}

static void
leave_sessions (DvmdCore *self, DvmdNode *node)
{
  while (node->sessions != NULL && node->sessions->len > 0)
    {
      guint id = g_array_index (node->sessions, guint, 0);
      DvmdSession *session = dvmd_core_get_session (self, id);

      /* One that is not there any more cannot be: it has parted from its nodes. */
      if (session == NULL)
        break;
      dvmd_session_part (session, node);
    }
}

/* The attempt to bring it back has failed, and nobody takes it: its row stays, and waits for the next one. */
static gboolean
stays_down (DvmdNode *node)
{
  return node->grow != NULL && node->grow->heal != NULL && (node->shrinks == NULL || node->shrinks->len == 0)
         && !node->grow->core->vm.shutting_down;
}

static void
keep_down (DvmdCore *self, DvmdNode *node)
{
  DvmdCampaign *attempt = g_steal_pointer (&node->grow);
  const char *why = dvmd_core_strip_name (node, attempt->failure.reason);
  g_autoptr (DvmReason) reason = _dvm_reason_new (DVM_REASON_NODE_LOST, dvm_node_get_name (node->record), why);
  g_autofree char *told = NULL;

  dvmd_core_lose_node (self, node, reason);
  node->ordered = FALSE;
  told = dvmd_heal_plan (self, node, why);
  dvmd_node_pool_set_state (self->nodes, node, DVM_NODE_STATE_DOWN, told);
  dvmd_core_refresh_node (self, node);
  count_departure (attempt, node->rank);
  dvmd_grow_rank_departed (self, node->rank);
  dvmd_core_changed (self);
}

static gboolean
is_member (DvmdNode *node)
{
  return dvm_node_get_state (node->record) == DVM_NODE_STATE_UP || dvmd_node_is_drained (node);
}

static void
remove_node (DvmdCore *self, DvmdNode *node)
{
  guint rank = node->rank;
  DvmdCampaign *taker = find_taker (node);
  g_autoptr (DvmReason) why = dvmd_core_describe_departure (node);
  g_autoptr (GPtrArray) campaigns = g_steal_pointer (&node->shrinks);
  g_autoptr (DvmdCampaign) grow = node->grow != NULL ? g_object_ref (node->grow) : NULL;

  node->grow = NULL;
  dvmd_log_about (G_LOG_DOMAIN, G_LOG_LEVEL_INFO, &(DvmdLogSubject){ .node = dvm_node_get_name (node->record) },
                  "rank %u has left the DVM", rank);
  dvmd_core_lose_node (self, node, why);
  leave_sessions (self, node);
  if (is_member (node) || (grow != NULL && grow->grown >= DVMD_GROW_WIRING))
    dvmd_membership_renew (&self->membership);
  dvmd_heal_forget (node);
  node->taken_by = taker != NULL ? dvmd_campaign_get_id (taker) : 0;
  dvmd_node_pool_remove (self->nodes, node);
  dvmd_core_tell_node (self, rank, FALSE);
  if (grow != NULL)
    count_departure (grow, rank);
  for (guint i = 0; campaigns != NULL && i < campaigns->len; i++)
    count_departure (g_ptr_array_index (campaigns, i), rank);
  dvmd_grow_rank_departed (self, rank);
  dvmd_shrink_check_drains (self);
  dvmd_core_changed (self);
}

void
dvmd_core_depart (DvmdCore *self, DvmdNode *node)
{
  if (stays_down (node))
    keep_down (self, node);
  else
    remove_node (self, node);
}

/* ---- answers to effects ---- */

void
dvmd_core_order_failed (DvmdCore *self, DvmdCampaign *campaign, const char *reason)
{
  if (dvmd_campaign_get_kind (campaign) != DVM_CAMPAIGN_KIND_SHRINK)
    return;
  /* The DVM has begun to end meanwhile: an agent of those that is lost now has not left by order. */
  if (campaign->failure.known)
    dvmd_shrink_order_lost (campaign);
  else
    dvmd_campaign_give_up (campaign, DVMD_CAUSE_ORDER, reason);
}

void
dvmd_core_offered (DvmdCore *self, DvmdCampaign *campaign)
{
  if (campaign != NULL && campaign->shrunk >= DVMD_SHRINK_OFFERING)
    dvmd_shrink_offered (campaign);
}

/* ---- lookups ---- */

gboolean
dvmd_core_get_elastic (DvmdCore *self)
{
  return self->settings.elastic;
}

guint
dvmd_core_get_launch_fence (DvmdCore *self)
{
  return self->gates.n_targets;
}

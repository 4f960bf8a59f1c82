/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A shrink: jobs may end first, its agents are ordered to leave, and when all of them have, whoever brought their nodes
 * is offered them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-gates.h"
#include "dvmd-size.h"

#include "dvmd-shrink.h"

#include "dvm-records-private.h"
#include "dvmd-agent-life.h"
#include "dvmd-campaign-inner.h"
#include "dvmd-campaign-machine.h"
#include "dvmd-campaign-private.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-news.h"
#include "dvmd-core-nodes.h"
#include "dvmd-core-parts.h"
#include "dvmd-departure.h"
#include "dvmd-job-registry.h"
#include "dvmd-proc-tracking.h"
#include "dvmd-session-end.h"
#include "dvmd-session-inner.h"
#include "dvmd-staging.h"

/* ---- it begins ---- */

static void
refresh_nodes (DvmdCampaign *self)
{
  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);
      DvmdNode *node = !target->gone ? dvmd_node_pool_get (dvmd_core_get_nodes (self->core), target->rank) : NULL;

      if (node != NULL)
        dvmd_core_refresh_node (self->core, node);
    }
}

void
dvmd_shrink_try_begin (DvmdCampaign *self)
{
  if (self->drain.state == DVMD_DRAIN_ON)
    return;
  if (self->drain.timeout > 0 && self->drain.state != DVMD_DRAIN_OVER)
    {
      self->drain.state = DVMD_DRAIN_ON;
      dvmd_campaign_registry_count_draining (dvmd_core_get_campaign_registry (self->core), 1);
      self->drain.end = dvmd_clock_monotonic (dvmd_core_get_clock (self->core))
                        + (gint64)self->drain.timeout * G_USEC_PER_SEC;
      refresh_nodes (self);
      dvmd_campaign_wait (self, "It begins when the jobs on its nodes have ended, or their time is over");
      dvmd_campaign_post (self, DVMD_CAMPAIGN_DRAINING, NULL);
      return;
    }
  self->start = DVMD_START_BEGUN;
  dvmd_gate_close (self);
  refresh_nodes (self);
  for (GList *l = dvmd_core_get_live_jobs (self->core); l != NULL; l = l->next)
    dvmd_core_files_leaving (self->core, l->data);
  dvmd_campaign_post (self, DVMD_CAMPAIGN_BEGUN, NULL);
}

/* ---- running jobs may end first ---- */

void
dvmd_shrink_drained (DvmdCampaign *self)
{
  self->drain.state = DVMD_DRAIN_OVER;
  dvmd_campaign_try_begin (self);
}

void
dvmd_shrink_hurry (DvmdCampaign *self)
{
  self->drain.timeout = 0;
  dvmd_size_unhold (self);
  if (self->drain.state != DVMD_DRAIN_NONE)
    dvmd_campaign_post (self, DVMD_CAMPAIGN_DRAINED, NULL);
  else
    dvmd_campaign_try_begin (self);
}

/* ---- they leave ---- */

/* Nodes that have been lost are gone; nodes that another campaign has ordered are on their way. */
static GPtrArray *
list_to_order (DvmdCampaign *self)
{
  GPtrArray *nodes = g_ptr_array_new ();

  for (guint i = 0; i < self->targets->len; i++)
    {
      DvmdTarget *target = g_ptr_array_index (self->targets, i);
      DvmdNode *node = !target->gone ? dvmd_node_pool_get (dvmd_core_get_nodes (self->core), target->rank) : NULL;

      target->ordered = node != NULL && node->stage != DVMD_STAGE_ORDERED && !dvmd_node_is_down (node);
      if (node == NULL || node->stage == DVMD_STAGE_ORDERED)
        continue;
      if (target->ordered)
        g_ptr_array_add (nodes, node);
      else
        dvmd_core_depart (self->core, node);
    }
  return nodes;
}

void
dvmd_shrink_order (DvmdCampaign *self)
{
  DvmdCore *core = self->core;
  g_autoptr (GPtrArray) nodes = list_to_order (self);

  for (GList *l = nodes->len > 0 ? dvmd_core_get_live_jobs (core) : NULL; l != NULL; l = l->next)
    if (dvmd_drain_is_running (l->data))
      dvmd_core_take_away (l->data);
  dvmd_core_order_away (self, nodes);
  if (self->n_pending == 0)
    dvmd_campaign_post (self, DVMD_CAMPAIGN_DEPARTED, NULL);
}

/* A campaign that shares a node with this one waits for its offer, and makes none of its own for that node. */
static void
claim_offers (DvmdCampaign *self)
{
  g_autoptr (GHashTable) ranks = g_hash_table_new (NULL, NULL);

  if (dvmd_core_get_campaigns_running (self->core) < 2)
    return;
  for (guint i = 0; i < self->targets->len; i++)
    g_hash_table_add (ranks, GUINT_TO_POINTER (((DvmdTarget *)g_ptr_array_index (self->targets, i))->rank));
  for (GList *l = dvmd_core_get_live_campaigns (self->core); l != NULL; l = l->next)
    {
      DvmdCampaign *other = l->data;

      for (guint i = 0; other != self && other->shrunk < DVMD_SHRINK_DEPARTED && i < other->targets->len; i++)
        {
          DvmdTarget *target = g_ptr_array_index (other->targets, i);

          if (target->offered_by == NULL && target->rank != 0
              && g_hash_table_contains (ranks, GUINT_TO_POINTER (target->rank)))
            target->offered_by = g_object_ref (self);
        }
    }
}

static gboolean
waits_for_offers (DvmdCampaign *self)
{
  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);

      if (target->offered_by != NULL && target->offered_by->shrunk < DVMD_SHRINK_OFFERED
          && !dvmd_campaign_get_ended (target->offered_by))
        return TRUE;
    }
  return FALSE;
}

static void
check_finished (DvmdCampaign *self)
{
  if (self->shrunk != DVMD_SHRINK_OFFERED || self->failure.known || waits_for_offers (self))
    return;
  self->shrunk = DVMD_SHRINK_FINISHED;
  dvmd_campaign_post (self, DVMD_CAMPAIGN_OFFERED, NULL);
}

void
dvmd_shrink_offered (DvmdCampaign *self)
{
  if (self->shrunk >= DVMD_SHRINK_OFFERED)
    return;
  self->shrunk = DVMD_SHRINK_OFFERED;
  check_finished (self);
  for (GList *l = dvmd_core_get_live_campaigns (self->core); l != NULL; l = l->next)
    if (l->data != self)
      check_finished (l->data);
}

/* The DVM has its new size: the ticket comes back, and then the allocators are asked (D17). */
void
dvmd_shrink_departed (DvmdCampaign *self)
{
  DvmdCore *core = self->core;
  g_autoptr (GPtrArray) targets = g_ptr_array_new ();

  if (self->shrunk >= DVMD_SHRINK_DEPARTED)
    return;
  self->shrunk = DVMD_SHRINK_DEPARTED;
  dvmd_gate_open (self);
  for (guint i = 0; i < self->targets->len; i++)
    {
      DvmdTarget *target = g_ptr_array_index (self->targets, i);

      if (target->offered_by == NULL)
        g_ptr_array_add (targets, target);
    }
  for (guint i = 0; i < self->to_offer->len; i++)
    g_ptr_array_add (targets, g_ptr_array_index (self->to_offer, i));
  claim_offers (self);
  self->shrunk = DVMD_SHRINK_OFFERING;
  if (!dvmd_size_offer (core, self, targets))
    dvmd_shrink_offered (self);
}

static void
stop_draining (DvmdCampaign *self)
{
  if (self->drain.state != DVMD_DRAIN_NONE)
    dvmd_campaign_registry_count_draining (dvmd_core_get_campaign_registry (self->core), -1);
  self->drain.state = DVMD_DRAIN_NONE;
}

void
dvmd_shrink_completed (DvmdCampaign *self)
{
  stop_draining (self);
  if (self->stake == DVMD_STAKE_ENDS)
    {
      const char *cause = dvmd_session_get_cause (self->session);

      dvmd_session_end (self->session, cause != NULL ? cause : "It was released");
    }
}

/* ---- or they do not ---- */

/* Campaigns that rely on an order that could not be sent give one of their own. */
static void
order_again (GPtrArray *campaigns)
{
  for (guint i = 0; i < campaigns->len; i++)
    {
      DvmdCampaign *campaign = g_ptr_array_index (campaigns, i);

      if (campaign->start == DVMD_START_BEGUN && !campaign->failure.known
          && dvmd_campaign_get_state (campaign) == DVM_CAMPAIGN_STATE_RUNNING)
        dvmd_shrink_order (campaign);
    }
}

static DvmdAgentStage
find_stage (DvmdNode *node)
{
  if (node->grow == NULL)
    return DVMD_STAGE_MEMBER;
  return node->hwthreads == 0 ? DVMD_STAGE_COMING : DVMD_STAGE_REPORTED;
}

/* The targets have not received the order and stay, unless another campaign orders them. */
void
dvmd_shrink_order_lost (DvmdCampaign *self)
{
  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);
      DvmdNode *node = !target->gone ? dvmd_node_pool_get (dvmd_core_get_nodes (self->core), target->rank) : NULL;

      if (node != NULL && target->ordered && node->stage == DVMD_STAGE_ORDERED)
        dvmd_core_agent_step (self->core, node, DVMD_LIFE_ORDER_LOST, find_stage (node), NULL);
    }
}

static void
leave_nodes (DvmdCampaign *self)
{
  g_autoptr (GPtrArray) others = g_ptr_array_new_with_free_func (g_object_unref);

  if (self->failure.cause == DVMD_CAUSE_ORDER)
    dvmd_shrink_order_lost (self);
  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);
      DvmdNode *node = !target->gone ? dvmd_node_pool_get (dvmd_core_get_nodes (self->core), target->rank) : NULL;

      if (node == NULL)
        continue;
      if (node->shrinks != NULL)
        g_ptr_array_remove (node->shrinks, self);
      for (guint k = 0; self->failure.cause == DVMD_CAUSE_ORDER && target->ordered && k < node->shrinks->len; k++)
        if (!g_ptr_array_find (others, g_ptr_array_index (node->shrinks, k), NULL))
          g_ptr_array_add (others, g_object_ref (g_ptr_array_index (node->shrinks, k)));
      dvmd_core_refresh_node (self->core, node);
    }
  order_again (others);
}

/* Nodes that stay have not been released from their sessions. */
static void
unlend (DvmdCampaign *self)
{
  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);
      DvmdNode *node = !target->gone ? dvmd_node_pool_get (dvmd_core_get_nodes (self->core), target->rank) : NULL;

      /* Another campaign may take the node all the same. */
      if (node == NULL || dvmd_node_is_leaving (node))
        continue;
      for (guint k = 0; node->sessions != NULL && k < node->sessions->len; k++)
        {
          DvmdSession *session = dvmd_core_get_session (self->core, g_array_index (node->sessions, guint, k));

          /* The session may have ended with the grow that made it. */
          if (session != NULL)
            dvmd_session_unlend (session, target->name);
        }
    }
}

/* A node that was to stay in the DVM is in the session again, if nobody else has reserved it meanwhile. */
static void
take_back (DvmdCampaign *self)
{
  for (guint i = 0; i < self->joined->len; i++)
    {
      DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (self->core), g_array_index (self->joined, guint, i));

      if (node != NULL && !dvmd_node_is_reserved (node))
        dvmd_session_join (self->session, node);
    }
}

void
dvmd_shrink_failed (DvmdCampaign *self)
{
  stop_draining (self);
  dvmd_size_unhold (self);
  leave_nodes (self);
  unlend (self);
  if (self->stake == DVMD_STAKE_ENDS)
    {
      take_back (self);
      dvmd_session_go_on (self->session);
    }
  dvmd_gate_open (self);
  dvmd_size_resume_waiting (self->core);
}

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

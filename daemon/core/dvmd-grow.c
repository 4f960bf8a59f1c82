/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A grow: its nodes are launched, report, and are wired together; or all of it is rolled back.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-gates.h"
#include "dvmd-heal.h"
#include "dvmd-size.h"

#include "dvmd-grow.h"

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
#include "dvmd-core-sessions.h"
#include "dvmd-departure.h"
#include "dvmd-grow-job.h"
#include "dvmd-membership.h"
#include "dvmd-session-end.h"
#include "dvmd-session-inner.h"
#include "dvmd-vm-machine.h"
#include "dvmd-vm.h"

/* ---- it begins ---- */

/* The node is in the DVM, or stays after all. */
static void
take_in (DvmdCampaign *self, DvmdNode *node)
{
  dvmd_session_join (self->session, node);
  g_array_append_val (self->joined, node->rank);
}

/* Finds the nodes that have to leave before the grow can begin. */
static void
find_waits (DvmdCampaign *self)
{
  g_hash_table_remove_all (self->waits);
  for (guint i = 0; i < self->targets->len;)
    {
      DvmdTarget *target = g_ptr_array_index (self->targets, i);
      DvmdNode *node = dvmd_core_find_agent (self->core, target->name);

      target->waits_for = 0;
      if (node != NULL && !dvmd_node_is_down (node) && dvmd_node_is_leaving (node))
        target->waits_for = node->rank;
      else if (node != NULL && !dvmd_node_is_down (node) && node->grow == NULL)
        {
          take_in (self, node);
          dvmd_campaign_registry_remove_coming (dvmd_core_get_campaign_registry (self->core), target->name, self);
          g_ptr_array_remove_index (self->targets, i);
          continue;
        }
      if (target->waits_for != 0)
        g_hash_table_add (self->waits, GUINT_TO_POINTER (target->waits_for));
      i++;
    }
}

static void
bring_target (DvmdCampaign *self, DvmdTarget *target)
{
  DvmdCore *core = self->core;
  DvmdNode *old = dvmd_core_find_agent (core, target->name);
  DvmdNode *node;

  /* A node of that name that is down is one that nobody waits for. */
  if (old != NULL && dvmd_node_is_down (old))
    dvmd_core_depart (core, old);
  node = dvmd_core_bring_node (core, target->name, target->slots, target->slots_max, NULL);
  node->address = g_strdup (target->address);
  node->grow = self;
  node->coming_for = dvmd_session_is_reserved (self->session);
  if (node->coming_for)
    dvmd_node_pool_reserve (node, TRUE);
  dvmd_campaign_set_target_rank (self, target, node->rank);
  if (target->allocator != NULL)
    _dvm_node_set_origin (node->record, dvm_node_get_launcher (node->record), target->allocator);
  dvmd_core_tell_node (core, node->rank, TRUE);
}

void
dvmd_grow_try_begin (DvmdCampaign *self)
{
  guint n_before = self->targets->len;

  dvmd_gate_close (self);
  find_waits (self);
  if (self->targets->len < n_before)
    {
      dvmd_campaign_publish_targets (self);
      dvmd_campaign_set_pending (self, self->targets->len);
    }
  if (g_hash_table_size (self->waits) > 0)
    {
      dvmd_grow_tell_wait (self);
      return;
    }
  self->start = DVMD_START_BEGUN;
  if (self->targets->len == 0)
    {
      dvmd_campaign_post (self, DVMD_CAMPAIGN_NOTHING_LEFT, NULL);
      return;
    }
  for (guint i = 0; i < self->targets->len; i++)
    bring_target (self, g_ptr_array_index (self->targets, i));
  dvmd_campaign_publish_targets (self);
  dvmd_core_changed (self->core);
  dvmd_campaign_post (self, DVMD_CAMPAIGN_BEGUN, NULL);
}

static void
on_timeout (gpointer user_data)
{
  DvmdCampaign *self = user_data;
  g_autoptr (GString) reason = g_string_new (NULL);

  self->timer = 0;
  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);

      if (!target->reported)
        g_string_append_printf (reason, "%s%s", reason->len > 0 ? ", " : "", target->name);
    }
  g_string_append_printf (reason, ": no report within %u s", dvmd_core_get_settings (self->core)->grow_timeout);
  dvmd_campaign_fail (self, DVMD_CAUSE_TIMEOUT, reason->str);
}

void
dvmd_grow_launch (DvmdCampaign *self)
{
  DvmdCore *core = self->core;
  g_autoptr (GPtrArray) nodes = dvmd_grow_list_nodes (self);

  self->grown = DVMD_GROW_LAUNCHED;
  if (dvmd_core_get_settings (core)->grow_timeout > 0)
    self->timer = dvmd_clock_add_timer (dvmd_core_get_clock (core),
                                        (gint64)dvmd_core_get_settings (core)->grow_timeout * G_USEC_PER_SEC,
                                        on_timeout, self);
  dvmd_core_get_effects (core)->launch_agents (dvmd_core_get_user_data (core), (DvmdNode *const *)nodes->pdata,
                                               nodes->len);
}

static void
check_jobs (DvmdCampaign *self)
{
  for (guint i = 0; i < self->own_jobs->len; i++)
    dvmd_grow_check_job (g_ptr_array_index (self->own_jobs, i));
}

void
dvmd_grow_reported (DvmdCampaign *self, DvmdNode *node)
{
  DvmdTarget *target = dvmd_campaign_find_target (self, node->rank);

  if (target == NULL || target->reported)
    return;
  target->reported = TRUE;
  if (++self->n_reported < self->targets->len)
    return;
  if (!self->failure.known)
    dvmd_campaign_post (self, DVMD_CAMPAIGN_REPORTED, NULL);
  check_jobs (self);
}

/* ---- they are wired ---- */

void
dvmd_grow_wire (DvmdCampaign *self)
{
  g_autoptr (GPtrArray) nodes = dvmd_grow_list_nodes (self);

  self->grown = DVMD_GROW_WIRING;
  dvmd_core_wire (self->core, self, nodes);
}

/* From now on the nodes of the grow are members, and lost as such. */
void
dvmd_core_agents_wired (DvmdCore *self, DvmdCampaign *campaign)
{
  g_autoptr (GPtrArray) nodes = NULL;

  if (campaign == NULL)
    {
      dvmd_core_post_vm (self, DVMD_VM_DISTRIBUTED, 0, NULL);
      return;
    }
  if (campaign->grown != DVMD_GROW_WIRING || campaign->failure.known)
    return;
  campaign->grown = DVMD_GROW_WIRED;
  nodes = dvmd_grow_list_nodes (campaign);
  for (guint i = 0; i < nodes->len; i++)
    {
      DvmdNode *node = g_ptr_array_index (nodes, i);

      node->grow = NULL;
      if (campaign->session != NULL && !dvmd_session_is_over (campaign->session))
        dvmd_session_join (campaign->session, node);
      dvmd_grow_free_coming (node);
      if (campaign->heal != NULL)
        dvmd_heal_came (campaign->heal);
      else
        dvmd_core_agent_step (self, node, DVMD_LIFE_WIRED, DVM_NODE_STATE_UP, NULL);
      dvmd_core_node_changed (self, node->rank);
    }
  dvmd_campaign_post (campaign, DVMD_CAMPAIGN_WIRED, NULL);
}

static void
forget_names (DvmdCampaign *self)
{
  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);

      dvmd_campaign_registry_remove_coming (dvmd_core_get_campaign_registry (self->core), target->name, self);
    }
}

static void
forget_jobs (DvmdCampaign *self)
{
  check_jobs (self);
  g_ptr_array_set_size (self->own_jobs, 0);
}

void
dvmd_grow_completed (DvmdCampaign *self)
{
  forget_names (self);
  if (self->session != NULL)
    dvmd_session_changed (self->session);
  dvmd_gate_open (self);
  forget_jobs (self);
}

/* ---- or it fails ---- */

void
dvmd_grow_roll_back (DvmdCampaign *self)
{
  DvmdCore *core = self->core;
  g_autoptr (GPtrArray) nodes = dvmd_grow_list_nodes (self);
  g_autoptr (GPtrArray) there = g_ptr_array_new ();

  forget_names (self);
  dvmd_gate_abort (self);
  for (guint i = 0; i < nodes->len; i++)
    {
      DvmdNode *node = g_ptr_array_index (nodes, i);

      dvmd_core_refresh_node (core, node);
      if (self->grown == DVMD_GROW_PLANNED || node->stage == DVMD_STAGE_UNSTARTED)
        dvmd_core_depart (core, node);
      else
        g_ptr_array_add (there, node);
    }
  dvmd_core_order_away (self, there);
}

/* (nullable): one that brings nodes into the same session */
static DvmdCampaign *
find_other_grow (DvmdCampaign *self)
{
  for (GList *l = dvmd_core_get_live_campaigns (self->core); l != NULL; l = l->next)
    {
      DvmdCampaign *other = l->data;

      if (other != self && other->session == self->session && !other->failure.known
          && dvmd_campaign_get_kind (other) == DVM_CAMPAIGN_KIND_GROW)
        return other;
    }
  return NULL;
}

static gboolean
has_nodes (DvmdSession *session)
{
  g_autoptr (GPtrArray) nodes = dvmd_session_list_nodes (session);

  return nodes->len > 0;
}

/* A session that the grow made is void, unless others have brought nodes into it, or do: the last of them decides. */
static void
void_session (DvmdCampaign *self)
{
  DvmdCampaign *other = self->stake == DVMD_STAKE_MINTED ? find_other_grow (self) : NULL;

  for (guint i = 0; i < self->joined->len; i++)
    {
      DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (self->core), g_array_index (self->joined, guint, i));

      if (node != NULL && !dvmd_session_is_over (self->session))
        dvmd_session_part (self->session, node);
    }
  if (other != NULL)
    other->stake = DVMD_STAKE_MINTED;
  else if (self->stake == DVMD_STAKE_MINTED && !has_nodes (self->session))
    dvmd_session_end (self->session, self->failure.reason);
  else
    dvmd_session_changed (self->session);
}

/* Nodes that allocators gave for the grow go back to them. Nobody waits for that. */
static void
offer_back (DvmdCampaign *self)
{
  DvmdCore *core = self->core;
  g_autoptr (GPtrArray) targets = g_ptr_array_new ();

  for (guint i = 0; i < self->targets->len; i++)
    {
      DvmdTarget *target = g_ptr_array_index (self->targets, i);

      if (target->allocator != NULL && target->offered_by == NULL)
        g_ptr_array_add (targets, target);
    }
  dvmd_size_offer (core, self, targets);
}

void
dvmd_grow_failed (DvmdCampaign *self)
{
  g_autoptr (GPtrArray) nodes = dvmd_grow_list_nodes (self);

  forget_names (self);
  dvmd_size_unhold (self);
  dvmd_gate_abort (self);
  /* The end of the DVM takes the nodes, and those of which nothing was started are gone. */
  for (guint i = 0; i < nodes->len; i++)
    if (self->grown != DVMD_GROW_PLANNED)
      ((DvmdNode *)g_ptr_array_index (nodes, i))->grow = NULL;
    else
      dvmd_core_depart (self->core, g_ptr_array_index (nodes, i));
  if (self->session != NULL)
    void_session (self);
  dvmd_gate_open (self);
  dvmd_core_look_again (self->core);
  offer_back (self);
  g_ptr_array_set_size (self->own_jobs, 0);
  dvmd_core_check_all_gone (self->core);
}

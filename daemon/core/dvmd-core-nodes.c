/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of the DVM as campaigns leave them: found, brought, drained, and not used any more.
 */

#include "config.h"

#include "dvmd-core-nodes.h"

#include "dvm-records-private.h"
#include "dvmd-agent-life.h"
#include "dvmd-campaign-inner.h"
#include "dvmd-core-news.h"
#include "dvmd-core-parts.h"
#include "dvmd-job-private.h"
#include "dvmd-job-registry.h"
#include "dvmd-membership.h"
#include "dvmd-vm.h"

#include <string.h>

DvmdNode *
dvmd_core_find_agent (DvmdCore *self, const char *name)
{
  DvmdNode *node = dvmd_node_pool_find (dvmd_core_get_nodes (self), name);

  return node != NULL && node->rank > 0 ? node : NULL;
}

gboolean
dvmd_node_is_leaving (DvmdNode *node)
{
  return node->stage == DVMD_STAGE_ORDERED || (node->shrinks != NULL && node->shrinks->len > 0)
         || (node->grow != NULL && dvmd_campaign_has_failed (node->grow));
}

gboolean
dvmd_node_is_down (DvmdNode *node)
{
  return node->stage == DVMD_STAGE_DOWN;
}

gboolean
dvmd_node_is_member (DvmdNode *node)
{
  return dvm_node_get_state (node->record) == DVM_NODE_STATE_UP || dvmd_node_is_drained (node);
}

void
dvmd_core_agent_step (DvmdCore *self, DvmdNode *node, guint event, guint given, const char *reason)
{
  dvmd_state_machine_step (&dvmd_agent_table, &(DvmdAgent){ self, node, node->stage }, event, given, reason);
}

DvmdNode *
dvmd_core_bring_node (DvmdCore *self, const char *name, guint slots, guint slots_max, const char *why)
{
  DvmdNode *node = dvmd_node_pool_add (dvmd_core_get_nodes (self), name, slots, slots_max);

  node->brought = TRUE;
  dvmd_membership_add (dvmd_core_get_membership (self));
  dvmd_core_agent_step (self, node, DVMD_LIFE_LAUNCHED, DVM_NODE_STATE_ADDED, why);
  return node;
}

void
dvmd_core_unplan_node (DvmdCore *self, DvmdNode *node)
{
  for (GList *l = dvmd_core_get_live_jobs (self); l != NULL; l = l->next)
    if (dvmd_job_get_map (l->data) == NULL)
      dvmd_admission_give_back_node (dvmd_core_get_admission (self), l->data, node);
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

      barred = barred || dvmd_campaign_bars_nodes (campaign);
      leaving = leaving || dvmd_campaign_has_begun (campaign);
    }
  /* A node that is to come back stays one when an attempt has failed. */
  if (node->grow != NULL && dvmd_campaign_has_failed (node->grow) && !node->healing)
    barred = leaving = TRUE;
  if (barred == node->barred && leaving == node->leaving)
    return;
  dvmd_node_pool_set_leaving (dvmd_core_get_nodes (self), node, barred, leaving);
  if (barred && !was_barred)
    dvmd_core_unplan_node (self, node);
  dvmd_core_look_again (self);
  dvmd_core_changed (self);
}

DvmdCampaign *
dvmd_core_find_taker (DvmdNode *node)
{
  for (guint i = 0; node->shrinks != NULL && i < node->shrinks->len; i++)
    if (dvmd_campaign_has_begun (g_ptr_array_index (node->shrinks, i)))
      return g_ptr_array_index (node->shrinks, i);
  return node->grow;
}

DvmReason *
dvmd_core_describe_departure (DvmdNode *node)
{
  DvmdCampaign *campaign = dvmd_core_find_taker (node);
  g_autofree char *what = NULL;

  if (campaign == NULL)
    return _dvm_reason_new (DVM_REASON_NODE_LEFT, dvm_node_get_name (node->record));
  what = dvmd_campaign_describe (campaign);
  return _dvm_reason_new (DVM_REASON_NODE_TAKEN, what, dvm_node_get_name (node->record));
}

static gboolean
check_agent_up (DvmdNode *node, GError **error)
{
  if (node->rank == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                 "Rank 0 is the controller: it has no slots, and no job runs there");
  else if (!dvmd_node_is_member (node))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "The node %s is not up (%s)", dvm_node_get_name (node->record),
                 dvm_node_state_to_string (dvm_node_get_state (node->record)));
  else
    return TRUE;
  return FALSE;
}

gboolean
dvmd_core_drain_node (DvmdCore *self, DvmdNode *node, const char *reason, GError **error)
{
  gboolean was_drained = dvmd_node_is_drained (node);

  if (!check_agent_up (node, error))
    return FALSE;
  dvmd_core_unplan_node (self, node);
  dvmd_node_pool_set_state (dvmd_core_get_nodes (self), node, DVM_NODE_STATE_DO_NOT_USE, reason);
  /* The reason may be another one. */
  if (was_drained)
    dvmd_core_tell_node_state (self, node);
  dvmd_core_changed (self);
  return TRUE;
}

gboolean
dvmd_core_resume_node (DvmdCore *self, DvmdNode *node, GError **error)
{
  if (!check_agent_up (node, error))
    return FALSE;
  dvmd_node_pool_set_state (dvmd_core_get_nodes (self), node, DVM_NODE_STATE_UP, NULL);
  dvmd_core_changed (self);
  return TRUE;
}

void
dvmd_core_place_node (DvmdCore *self, guint rank, guint parent_rank, guint depth)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (self), rank);

  g_return_if_fail (rank > 0);
  g_return_if_fail (depth > 0 || parent_rank == 0);

  /* One that has left may still stand in a table of the tree. */
  if (node != NULL && _dvm_node_set_place (node->record, parent_rank, depth))
    dvmd_core_node_changed (self, rank);
}

void
dvmd_core_withdraw_node (DvmdCore *self, guint rank)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (self), rank);

  if (node != NULL)
    node->withdrawn = TRUE;
}

void
dvmd_core_agent_leaves (DvmdCore *self, guint rank)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (self), rank);

  if (node == NULL || node->barred)
    return;
  dvmd_node_pool_set_leaving (dvmd_core_get_nodes (self), node, TRUE, node->leaving);
  dvmd_core_unplan_node (self, node);
  dvmd_core_look_again (self);
  dvmd_core_changed (self);
}

void
dvmd_core_set_node_origin (DvmdCore *self, guint rank, const char *launcher, const char *allocator)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (self), rank);

  if (node == NULL)
    return;
  _dvm_node_set_origin (node->record, launcher != NULL ? launcher : dvm_node_get_launcher (node->record),
                        allocator != NULL ? allocator : dvm_node_get_allocator (node->record));
  dvmd_core_node_changed (self, rank);
}

const char *
dvmd_core_strip_name (DvmdNode *node, const char *reason)
{
  g_autofree char *named = g_strdup_printf ("%s: ", dvm_node_get_name (node->record));

  while (g_str_has_prefix (reason, named))
    reason += strlen (named);
  return reason;
}

DvmdNode *
dvmd_core_add_node (DvmdCore *self, const char *name, guint slots, guint slots_max)
{
  return dvmd_node_pool_add (dvmd_core_get_nodes (self), name, slots, slots_max);
}

guint
dvmd_core_find_missing (DvmdJob *job)
{
  g_autoptr (GArray) agents = dvmd_map_get_nodes (job->map);

  for (guint i = 0; i < agents->len; i++)
    {
      guint rank = g_array_index (agents, guint, i);
      DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (job->core), rank);

      if (node == NULL || node->leaving || dvmd_node_is_down (node))
        return rank;
    }
  return G_MAXUINT;
}

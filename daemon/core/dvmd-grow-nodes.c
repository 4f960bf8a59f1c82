/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of grows: those that they bring, and those that have to leave before.
 */

#include "config.h"

#include "dvmd-campaign-machine.h"
#include "dvmd-campaign-inner.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core-parts.h"
#include "dvmd-core-sessions.h"
#include "dvmd-grow.h"
#include "dvmd-job-sessions.h"
#include "dvmd-session-inner.h"

/* At most so many nodes that a grow waits for are named. */
#define MAX_NAMED 3

GPtrArray *
dvmd_grow_list_nodes (DvmdCampaign *self)
{
  GPtrArray *nodes = g_ptr_array_new ();

  for (guint i = 0; i < dvmd_campaign_get_targets (self)->len; i++)
    {
      DvmdTarget *target = g_ptr_array_index (dvmd_campaign_get_targets (self), i);
      DvmdNode *node = target->rank != 0 && !target->gone
                           ? dvmd_node_pool_get (dvmd_core_get_nodes (dvmd_campaign_get_core (self)), target->rank)
                           : NULL;

      if (node != NULL)
        g_ptr_array_add (nodes, node);
    }
  return nodes;
}

/* Many nodes are counted, not named: they may leave one by one. */
void
dvmd_grow_tell_wait (DvmdCampaign *self)
{
  guint n = g_hash_table_size (dvmd_campaign_get_waits (self));
  g_autoptr (GString) text = g_string_new (NULL);
  const char *separator = "";

  if (n > MAX_NAMED)
    g_string_printf (text, "It begins when %u nodes have left the DVM", n);
  else
    g_string_assign (text, "It begins when these have left the DVM: ");
  for (guint i = 0; n <= MAX_NAMED && i < dvmd_campaign_get_targets (self)->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (dvmd_campaign_get_targets (self), i);

      if (!g_hash_table_contains (dvmd_campaign_get_waits (self), GUINT_TO_POINTER (target->waits_for)))
        continue;
      g_string_append_printf (text, "%s%s", separator, target->name);
      separator = ", ";
    }
  dvmd_campaign_wait (self, text->str);
}

void
dvmd_grow_rank_departed (DvmdCore *core, guint rank)
{
  for (GList *l = dvmd_core_get_live_campaigns (core); l != NULL; l = l->next)
    {
      DvmdCampaign *campaign = l->data;

      if (!g_hash_table_remove (dvmd_campaign_get_waits (campaign), GUINT_TO_POINTER (rank))
          || dvmd_campaign_has_failed (campaign))
        continue;
      if (g_hash_table_size (dvmd_campaign_get_waits (campaign)) > 0)
        dvmd_grow_tell_wait (campaign);
      else
        dvmd_campaign_post (campaign, DVMD_CAMPAIGN_RESUMED, NULL);
    }
}

void
dvmd_grow_free_coming (DvmdNode *node)
{
  if (node->coming_for)
    dvmd_node_pool_reserve (node, FALSE);
  node->coming_for = FALSE;
}

void
dvmd_grow_unreserve (DvmdSession *session)
{
  for (GList *l = dvmd_core_get_live_campaigns (dvmd_session_get_core (session)); l != NULL; l = l->next)
    {
      DvmdCampaign *campaign = l->data;
      g_autoptr (GPtrArray) nodes = NULL;

      if (dvmd_campaign_get_session (campaign) != session
          || dvmd_campaign_get_kind (campaign) != DVM_CAMPAIGN_KIND_GROW)
        continue;
      nodes = dvmd_grow_list_nodes (campaign);
      for (guint i = 0; i < nodes->len; i++)
        dvmd_grow_free_coming (g_ptr_array_index (nodes, i));
    }
}

gboolean
dvmd_grow_is_awaited (DvmdJob *job)
{
  for (GList *l = dvmd_campaign_registry_get_held (dvmd_core_get_campaign_registry (dvmd_job_get_core (job)));
       l != NULL; l = l->next)
    {
      DvmdCampaign *campaign = l->data;

      if (dvmd_campaign_get_kind (campaign) == DVM_CAMPAIGN_KIND_GROW && !dvmd_campaign_has_failed (campaign)
          && dvmd_session_is_reserved (dvmd_campaign_get_session (campaign))
          && dvmd_job_uses_session (job, dvmd_session_get_id (dvmd_campaign_get_session (campaign))))
        return TRUE;
    }
  return FALSE;
}

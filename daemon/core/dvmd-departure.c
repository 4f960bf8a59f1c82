/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A node leaves the DVM, or its agent is lost: nobody waits for an answer of it any more.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-departure.h"

#include "dvm-records-private.h"
#include "dvmd-agent-life.h"
#include "dvmd-campaign-inner.h"
#include "dvmd-campaign-machine.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-news.h"
#include "dvmd-core-nodes.h"
#include "dvmd-core-parts.h"
#include "dvmd-grow.h"
#include "dvmd-heal.h"
#include "dvmd-job-answers.h"
#include "dvmd-job-registry.h"
#include "dvmd-log.h"
#include "dvmd-membership.h"
#include "dvmd-proc-tracking.h"
#include "dvmd-session-inner.h"
#include "dvmd-shrink.h"
#include "dvmd-vm.h"

/* One target fewer to wait for. */
static void
count_departure (DvmdCampaign *campaign, guint rank)
{
  DvmdTarget *target = dvmd_campaign_find_target (campaign, rank);

  if (target == NULL || target->gone)
    return;
  target->gone = TRUE;
  dvmd_campaign_set_pending (campaign, dvmd_campaign_get_pending (campaign) - 1);
  /* One that waits looks at what is left when it begins. */
  if (dvmd_campaign_get_pending (campaign) == 0 && dvmd_campaign_get_state (campaign) != DVM_CAMPAIGN_STATE_WAITING)
    dvmd_campaign_post (campaign, DVMD_CAMPAIGN_DEPARTED, NULL);
}

/* Its answers for this job do not come any more. */
static void
lose_agent_of_job (DvmdCore *self, DvmdJob *job, DvmdNode *node, const DvmReason *reason)
{
  /* Most jobs have nothing there. */
  if (!dvmd_job_answers_await (job, DVMD_ANSWER_GONE, node->rank))
    return;
  if (dvmd_job_get_procs (job) != NULL && dvmd_job_is_launched (job))
    dvmd_core_lose_procs (job, node, reason);
  dvmd_core_files_staged (self, job, node->rank, NULL);
  dvmd_core_job_gone (self, job, node->rank);
}

static void
lose_node (DvmdCore *self, DvmdNode *node, const DvmReason *reason)
{
  for (GList *l = dvmd_core_get_live_jobs (self); l != NULL; l = l->next)
    dvmd_admission_give_back_node (dvmd_core_get_admission (self), l->data, node);
  dvmd_membership_remove (dvmd_core_get_membership (self));
  for (GList *l = dvmd_core_get_live_jobs (self); l != NULL; l = l->next)
    lose_agent_of_job (self, l->data, node, reason);
}

void
dvmd_core_drop_agent (DvmdCore *self, DvmdNode *node, const char *reason)
{
  g_autoptr (DvmReason) what = NULL;
  g_autofree char *told = dvmd_heal_plan (self, node, reason);

  if (node->leaving)
    what = dvmd_core_describe_departure (node);
  else
    what = _dvm_reason_new (DVM_REASON_NODE_LOST, dvm_node_get_name (node->record), reason);
  dvmd_node_pool_set_state (dvmd_core_get_nodes (self), node, DVM_NODE_STATE_DOWN, told);
  lose_node (self, node, what);
  /* The next agent there is not one that leaves. */
  dvmd_core_refresh_node (self, node);
  dvmd_shrink_check_drains (self);
  dvmd_core_changed (self);
  dvmd_core_check_all_gone (self);
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
  return node->grow != NULL && dvmd_campaign_get_heal (node->grow) != NULL
         && (node->shrinks == NULL || node->shrinks->len == 0)
         && !dvmd_core_get_shutting_down (dvmd_campaign_get_core (node->grow));
}

static void
keep_down (DvmdCore *self, DvmdNode *node)
{
  DvmdCampaign *attempt = g_steal_pointer (&node->grow);

  dvmd_core_agent_step (self, node, DVMD_LIFE_KEPT, 0,
                        dvmd_core_strip_name (node, dvmd_campaign_get_failure_reason (attempt)));
  dvmd_core_refresh_node (self, node);
  count_departure (attempt, node->rank);
  dvmd_grow_rank_departed (self, node->rank);
}

static void
remove_node (DvmdCore *self, DvmdNode *node)
{
  guint rank = node->rank;
  DvmdCampaign *taker = dvmd_core_find_taker (node);
  g_autoptr (DvmReason) why = dvmd_core_describe_departure (node);
  g_autoptr (GPtrArray) campaigns = g_steal_pointer (&node->shrinks);
  g_autoptr (DvmdCampaign) grow = node->grow != NULL ? g_object_ref (node->grow) : NULL;

  node->grow = NULL;
  dvmd_log_about (G_LOG_DOMAIN, G_LOG_LEVEL_INFO, &(DvmdLogSubject){ .node = dvm_node_get_name (node->record) },
                  "rank %u has left the DVM", rank);
  if (!dvmd_node_is_down (node))
    lose_node (self, node, why);
  leave_sessions (self, node);
  if (dvmd_node_is_member (node) || (grow != NULL && dvmd_campaign_is_wiring (grow)))
    dvmd_membership_renew (dvmd_core_get_membership (self));
  dvmd_heal_forget (node);
  node->taken_by = taker != NULL ? dvmd_campaign_get_id (taker) : 0;
  dvmd_node_pool_remove (dvmd_core_get_nodes (self), node);
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
dvmd_core_order_away (DvmdCampaign *campaign, GPtrArray *nodes)
{
  DvmdCore *self = dvmd_campaign_get_core (campaign);
  DvmdSendOff order = { .nodes = (DvmdNode *const *)nodes->pdata, .n_nodes = nodes->len, .campaign = campaign };

  for (guint i = 0; i < nodes->len; i++)
    dvmd_core_agent_step (self, g_ptr_array_index (nodes, i), DVMD_LIFE_ORDERED, 0, NULL);
  if (nodes->len > 0)
    dvmd_core_get_effects (self)->see_off (dvmd_core_get_user_data (self), &order);
  _dvm_campaign_set_repairs (dvmd_campaign_get_record (campaign), order.repairs, order.links_changed);
  dvmd_core_tell_campaign (campaign, DVMD_NEWS_CHANGED);
}

void
dvmd_core_depart (DvmdCore *self, DvmdNode *node)
{
  if (stays_down (node))
    keep_down (self, node);
  else
    remove_node (self, node);
}

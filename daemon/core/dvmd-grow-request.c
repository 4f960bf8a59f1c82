/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A grow as it is asked for: what becomes of each host, and phase one of the answer.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-size.h"

/* What becomes of each host of it. */
typedef struct
{
  const DvmdGrowRequest *request;
  GArray *in;        /* guint: indexes of hosts that are nodes already */
  GArray *to_add;    /* guint: of those that are to come */
  GPtrArray *others; /* DvmdCampaign that bring one already: the job waits for them */
} Plan;

static void
plan_clear (Plan *plan)
{
  g_clear_pointer (&plan->in, g_array_unref);
  g_clear_pointer (&plan->to_add, g_array_unref);
  g_clear_pointer (&plan->others, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Plan, plan_clear)

static gboolean
plan_host (DvmdCore *self, Plan *plan, guint i, GError **error)
{
  const char *name = plan->request->hosts[i].name;
  DvmdCampaign *other = g_hash_table_lookup (self->coming, name);
  DvmdNode *node = dvmd_size_find_agent (self, name);

  if (other == NULL && node != NULL && node->grow != NULL)
    other = node->grow;
  if (other != NULL && !other->failing)
    {
      if (plan->request->job != NULL)
        {
          if (!g_ptr_array_find (plan->others, other, NULL))
            g_ptr_array_add (plan->others, other);
          return TRUE;
        }
      g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, "%s: campaign %u is adding it already", name,
                   dvmd_campaign_get_id (other));
      return FALSE;
    }
  g_array_append_val (
      node != NULL && !dvmd_size_is_down (node) && !dvmd_size_is_leaving (node) ? plan->in : plan->to_add, i);
  return TRUE;
}

static gboolean
check_names (const DvmdGrowRequest *request, GError **error)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  if (request->n_hosts == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "hosts: no node is named that could be added");
      return FALSE;
    }
  for (guint i = 0; i < request->n_hosts; i++)
    if (request->hosts[i].name == NULL || request->hosts[i].name[0] == '\0')
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "hosts: number %u has no name", i + 1);
        return FALSE;
      }
    else if (!g_hash_table_add (seen, (gpointer)request->hosts[i].name))
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "hosts: %s is named twice", request->hosts[i].name);
        return FALSE;
      }
  return TRUE;
}

static gboolean
make_plan (DvmdCore *self, Plan *plan, GError **error)
{
  plan->in = g_array_new (FALSE, FALSE, sizeof (guint));
  plan->to_add = g_array_new (FALSE, FALSE, sizeof (guint));
  plan->others = g_ptr_array_new ();
  for (guint i = 0; i < plan->request->n_hosts; i++)
    if (!plan_host (self, plan, i, error))
      return FALSE;
  return plan->to_add->len == 0 || dvmd_size_check_elastic (self, error);
}

static void
add_targets (DvmdCampaign *campaign, const Plan *plan)
{
  for (guint i = 0; i < plan->to_add->len; i++)
    {
      const DvmdGrowHost *host = &plan->request->hosts[g_array_index (plan->to_add, guint, i)];
      DvmdNode *node = dvmd_size_find_agent (campaign->core, host->name);
      DvmdTarget *target = dvmd_campaign_add_target (campaign, host->name, 0);

      target->slots = host->slots;
      target->slots_max = host->slots_max;
      target->address = g_strdup (host->address);
      target->allocator = g_strdup (host->allocator);
      target->waits_for = node != NULL && !dvmd_size_is_down (node) && dvmd_size_is_leaving (node) ? node->rank : 0;
      g_hash_table_insert (campaign->core->coming, g_strdup (host->name), campaign);
    }
}

/* Hosts that are in already are in the allocation from now on, whatever becomes of the others. */
static void
join_session (DvmdCore *self, const Plan *plan, DvmdSession *session, DvmdCampaign *campaign)
{
  guint id = dvmd_session_get_id (session);

  for (guint i = 0; i < plan->in->len; i++)
    {
      DvmdNode *node = dvmd_size_find_agent (self, plan->request->hosts[g_array_index (plan->in, guint, i)].name);

      if (dvmd_node_is_in (node, id))
        continue;
      dvmd_node_pool_join (node, id);
      dvmd_core_node_changed (self, node->rank);
      if (campaign != NULL)
        g_array_append_val (campaign->joined, node->rank);
    }
  if (plan->in->len > 0)
    dvmd_session_changed (session);
}

static DvmdCampaign *
start (DvmdCore *self, const Plan *plan, DvmdSession *session, gboolean minted)
{
  const DvmdGrowRequest *request = plan->request;
  const DvmdRequester *requester = request->job == NULL ? request->requester : NULL;
  DvmdCampaign *campaign;

  if (plan->to_add->len == 0)
    return NULL;
  campaign = dvmd_size_make_campaign (self, DVM_CAMPAIGN_KIND_GROW, requester, request->scheduler,
                                      dvmd_session_get_alloc_id (session), request->req_id);
  campaign->session = g_object_ref (session);
  campaign->minted = minted;
  if (request->job != NULL)
    campaign->job = g_object_ref (request->job);
  add_targets (campaign, plan);
  return campaign;
}

/* One that is never held back cannot wait for a shrink that is. */
static void
unhold_shrinks (DvmdCampaign *campaign)
{
  for (guint i = 0; i < campaign->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (campaign->targets, i);
      DvmdNode *node = dvmd_node_pool_get (campaign->core->nodes, target->waits_for);

      for (guint k = 0; target->waits_for != 0 && node != NULL && node->shrinks != NULL && k < node->shrinks->len; k++)
        {
          DvmdCampaign *shrink = g_ptr_array_index (node->shrinks, k);

          if (!shrink->held)
            continue;
          dvmd_size_unhold (shrink);
          dvmd_campaign_try_begin (shrink);
        }
    }
}

static void
wait_for (DvmdJob *job, DvmdCampaign *campaign)
{
  if (job->own_grows == NULL)
    job->own_grows = g_ptr_array_new_with_free_func (g_object_unref);
  g_ptr_array_add (job->own_grows, g_object_ref (campaign));
  g_ptr_array_add (campaign->own_jobs, g_object_ref (job));
  dvmd_campaign_held_changed (campaign);
}

gboolean
dvmd_core_grow (DvmdCore *self, const DvmdGrowRequest *request, DvmdSizeAnswer *answer, GError **error)
{
  g_auto (Plan) plan = { .request = request };
  DvmdSession *session = NULL;
  DvmdCampaign *campaign;
  gboolean minted;

  if (!dvmd_size_check (self, error) || !check_names (request, error)
      || !dvmd_size_find_session (self, request->alloc_id, request->of_req_id, &session, error))
    return FALSE;
  if (session != NULL && dvmd_session_get_id (session) == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                   "The default session is not an allocation: leave the id out");
      return FALSE;
    }
  if (!request->share)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                   "share: nodes cannot be reserved yet, only shared with all jobs");
      return FALSE;
    }
  if (!make_plan (self, &plan, error))
    return FALSE;
  minted = session == NULL;
  if (minted)
    {
      g_autofree char *alloc_id = dvmd_core_mint_alloc_id (self);

      session = dvmd_core_add_session (self, alloc_id, request->req_id, request->requester, request->share);
    }
  campaign = start (self, &plan, session, minted);
  join_session (self, &plan, session, campaign);
  for (guint i = 0; i < plan.others->len; i++)
    wait_for (request->job, g_ptr_array_index (plan.others, i));
  if (campaign != NULL && request->job != NULL)
    wait_for (request->job, campaign);
  if (campaign != NULL)
    dvmd_size_start_campaign (campaign, FALSE);
  if (campaign != NULL && !campaign->held)
    unhold_shrinks (campaign);
  dvmd_size_answer (answer, dvmd_session_get_alloc_id (session), request->req_id, session, campaign);
  return TRUE;
}

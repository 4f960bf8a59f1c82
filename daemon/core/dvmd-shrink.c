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

#include "dvm-records-private.h"
#include "dvmd-vm-machine.h"

/* ---- the request ---- */

typedef struct
{
  const DvmdShrinkRequest *request;
  DvmdSession *session; /* (nullable) */
  GPtrArray *nodes;     /* DvmdNode that are to leave */
  GPtrArray *down;      /* DvmdNode that have been lost */
  GPtrArray *kept;      /* DvmdNode that only leave the session */
  GPtrArray *grows;     /* DvmdCampaign that bring what is released */
} Plan;

static void
plan_init (Plan *plan)
{
  plan->nodes = g_ptr_array_new ();
  plan->down = g_ptr_array_new ();
  plan->kept = g_ptr_array_new ();
  plan->grows = g_ptr_array_new ();
}

static void
plan_clear (Plan *plan)
{
  g_clear_pointer (&plan->nodes, g_ptr_array_unref);
  g_clear_pointer (&plan->down, g_ptr_array_unref);
  g_clear_pointer (&plan->kept, g_ptr_array_unref);
  g_clear_pointer (&plan->grows, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Plan, plan_clear)

static void
add_once (GPtrArray *list, gpointer item)
{
  if (!g_ptr_array_find (list, item, NULL))
    g_ptr_array_add (list, item);
}

static gboolean
is_down (DvmdNode *node)
{
  return dvm_node_get_state (node->record) == DVM_NODE_STATE_DOWN;
}

static void
plan_node (Plan *plan, DvmdNode *node)
{
  if (is_down (node))
    add_once (plan->down, node);
  else
    add_once (plan->nodes, node);
  if (node->grow != NULL && !node->grow->failing)
    add_once (plan->grows, node->grow);
}

static gboolean
is_of_session (const Plan *plan, DvmdNode *node, DvmdCampaign *grow)
{
  if (plan->session == NULL)
    return TRUE;
  if (grow != NULL && grow->session == plan->session)
    return TRUE;
  return node != NULL && dvmd_node_is_in (node, dvmd_session_get_id (plan->session));
}

static gboolean
plan_host (DvmdCore *self, Plan *plan, const char *name, GError **error)
{
  DvmdCampaign *grow = g_hash_table_lookup (self->coming, name);
  DvmdNode *node = dvmd_node_pool_find (self->nodes, name);

  /* What has been wired is in, and leaves like others. */
  if (grow != NULL && (grow->failing || grow->wired))
    grow = NULL;
  if (grow == NULL && node == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "hosts: %s is not a node of this DVM", name);
  else if (grow == NULL && node->rank == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                 "hosts: on %s there is the controller alone, which cannot leave the DVM", name);
  else if (!is_of_session (plan, node, grow))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "hosts: %s is not a node of the allocation %s", name,
                 dvmd_session_get_alloc_id (plan->session));
  else
    {
      if (grow != NULL)
        add_once (plan->grows, grow);
      if (node != NULL && node->rank > 0)
        plan_node (plan, node);
      return TRUE;
    }
  return FALSE;
}

static gboolean
is_in_another (DvmdNode *node, guint session)
{
  return node->sessions != NULL && node->sessions->len > (dvmd_node_is_in (node, session) ? 1 : 0);
}

/* Nodes that were there at the start stay, and so do those that another allocation has too (D19). */
static void
plan_session (DvmdCore *self, Plan *plan)
{
  guint id = dvmd_session_get_id (plan->session);
  g_autoptr (GPtrArray) nodes = dvmd_session_list_nodes (plan->session);

  for (guint i = 0; i < nodes->len; i++)
    {
      DvmdNode *node = g_ptr_array_index (nodes, i);

      if (!node->brought || is_in_another (node, id))
        g_ptr_array_add (plan->kept, node);
      else
        plan_node (plan, node);
    }
  for (GList *l = self->campaigns_live.head; l != NULL; l = l->next)
    {
      DvmdCampaign *campaign = l->data;

      if (campaign->session != plan->session || dvmd_campaign_get_kind (campaign) != DVM_CAMPAIGN_KIND_GROW
          || campaign->failing || campaign->wired)
        continue;
      add_once (plan->grows, campaign);
      for (guint i = 0; i < campaign->targets->len; i++)
        {
          const DvmdTarget *target = g_ptr_array_index (campaign->targets, i);
          DvmdNode *node = target->rank != 0 ? dvmd_node_pool_get (self->nodes, target->rank) : NULL;

          if (node != NULL)
            plan_node (plan, node);
        }
    }
}

static gboolean
make_plan (DvmdCore *self, Plan *plan, GError **error)
{
  const char *const *hosts = plan->request->hosts;

  if (plan->session != NULL && dvmd_session_get_id (plan->session) == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "The default session cannot be released");
      return FALSE;
    }
  if (plan->session == NULL && (hosts == NULL || hosts[0] == NULL))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "Neither an allocation nor hosts are named that are to leave");
      return FALSE;
    }
  if (hosts == NULL)
    plan_session (self, plan);
  for (gsize i = 0; hosts != NULL && hosts[i] != NULL; i++)
    if (!plan_host (self, plan, hosts[i], error))
      return FALSE;
  if (plan->nodes->len + plan->down->len + plan->grows->len == 0)
    return TRUE;
  return dvmd_size_check_elastic (self, error);
}

/* (nullable): the one allocation that all of them are in, and no other */
static DvmdSession *
find_common_session (DvmdCore *self, const Plan *plan)
{
  guint id = 0;

  for (guint i = 0; i < plan->nodes->len; i++)
    {
      DvmdNode *node = g_ptr_array_index (plan->nodes, i);

      if (node->sessions == NULL || node->sessions->len != 1
          || (id != 0 && id != g_array_index (node->sessions, guint, 0)))
        return NULL;
      id = g_array_index (node->sessions, guint, 0);
    }
  return id != 0 ? dvmd_core_get_session (self, id) : NULL;
}

static DvmdCampaign *
start (DvmdCore *self, const Plan *plan, const char *alloc_id)
{
  const DvmdShrinkRequest *request = plan->request;
  DvmdCampaign *campaign;

  if (plan->nodes->len == 0)
    return NULL;
  campaign = dvmd_size_make_campaign (self, DVM_CAMPAIGN_KIND_SHRINK, request->requester, request->scheduler, alloc_id,
                                      request->req_id);
  campaign->drain_timeout = request->drain_timeout;
  if (plan->session != NULL)
    campaign->session = g_object_ref (plan->session);
  campaign->ends_session = plan->session != NULL && request->hosts == NULL;
  for (guint i = 0; i < plan->nodes->len; i++)
    {
      DvmdNode *node = g_ptr_array_index (plan->nodes, i);

      dvmd_campaign_add_target (campaign, dvm_node_get_name (node->record), node->rank);
      if (node->shrinks == NULL)
        node->shrinks = g_ptr_array_new ();
      g_ptr_array_add (node->shrinks, campaign);
    }
  return campaign;
}

/* Nodes that are down are no members: they go at once, and whoever brought them is offered them. */
static void
release_down (DvmdCore *self, const Plan *plan, DvmdCampaign *campaign)
{
  GPtrArray *names;

  if (plan->down->len == 0)
    return;
  if (campaign == NULL && self->to_offer == NULL)
    {
      self->to_offer = g_ptr_array_new_with_free_func (g_free);
      dvmd_core_post_vm (self, DVMD_VM_RELEASED_DOWN, 0, NULL);
    }
  names = campaign != NULL ? campaign->to_offer : self->to_offer;
  for (guint i = 0; i < plan->down->len; i++)
    {
      DvmdNode *node = g_ptr_array_index (plan->down, i);

      g_ptr_array_add (names, g_strdup (dvm_node_get_name (node->record)));
      dvmd_core_depart (self, node);
    }
}

static void
end_session (DvmdCore *self, const Plan *plan, DvmdCampaign *campaign)
{
  guint id;

  if (plan->session == NULL || plan->request->hosts != NULL)
    return;
  id = dvmd_session_get_id (plan->session);
  for (guint i = 0; i < plan->kept->len; i++)
    {
      DvmdNode *node = g_ptr_array_index (plan->kept, i);

      dvmd_node_pool_part (node, id);
      dvmd_core_node_changed (self, node->rank);
    }
  if (campaign == NULL)
    {
      dvmd_core_remove_session (plan->session, "It was released");
      return;
    }
  _dvm_session_set_state (plan->session->record, DVM_SESSION_STATE_TERMINATING, "It is being released");
  dvmd_core_tell_session (plan->session, DVMD_SESSION_CHANGED);
}

gboolean
dvmd_core_shrink (DvmdCore *self, const DvmdShrinkRequest *request, DvmdSizeAnswer *answer, GError **error)
{
  g_auto (Plan) plan = { .request = request };
  DvmdSession *of = NULL;
  DvmdCampaign *campaign;
  g_autofree char *alloc_id = NULL;

  plan_init (&plan);
  if (!dvmd_size_check (self, error)
      || !dvmd_size_find_session (self, request->alloc_id, request->of_req_id, &plan.session, error)
      || !make_plan (self, &plan, error))
    return FALSE;
  of = plan.session != NULL ? plan.session : find_common_session (self, &plan);
  alloc_id = of != NULL ? g_strdup (dvmd_session_get_alloc_id (of)) : dvmd_core_mint_alloc_id (self);
  campaign = start (self, &plan, alloc_id);
  for (guint i = 0; i < plan.grows->len; i++)
    dvmd_campaign_fail (g_ptr_array_index (plan.grows, i), DVMD_CAUSE_CANCELLED, "Nodes that it brings were released");
  dvmd_size_answer (answer, alloc_id, request->req_id, of, campaign);
  end_session (self, &plan, campaign);
  release_down (self, &plan, campaign);
  if (campaign != NULL)
    dvmd_size_start_campaign (campaign, plan.grows->len > 0);
  return TRUE;
}

/* ---- it begins ---- */

static void
refresh_nodes (DvmdCampaign *self)
{
  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);
      DvmdNode *node = !target->gone ? dvmd_node_pool_get (self->core->nodes, target->rank) : NULL;

      if (node != NULL)
        dvmd_core_refresh_node (self->core, node);
    }
}

void
dvmd_shrink_try_begin (DvmdCampaign *self)
{
  if (self->draining && !self->drained)
    return;
  if (self->drain_timeout > 0 && !self->drained)
    {
      self->draining = TRUE;
      self->core->n_draining++;
      self->drain_end = dvmd_clock_monotonic (self->core->clock) + (gint64)self->drain_timeout * G_USEC_PER_SEC;
      refresh_nodes (self);
      dvmd_campaign_wait (self, "It begins when the jobs on its nodes have ended, or their time is over");
      dvmd_campaign_post (self, DVMD_CAMPAIGN_DRAINING, NULL);
      return;
    }
  self->begun = TRUE;
  dvmd_gate_close (self);
  refresh_nodes (self);
  for (GList *l = self->core->live.head; l != NULL; l = l->next)
    dvmd_core_files_leaving (self->core, l->data);
  dvmd_campaign_post (self, DVMD_CAMPAIGN_BEGUN, NULL);
}

/* ---- running jobs may end first ---- */

static void
warn (DvmdJob *job, DvmdNode *node, gint64 when)
{
  const DvmdEffects *effects = job->core->effects;

  if (effects->warn_job != NULL)
    effects->warn_job (job->core->world, job, node, when);
}

static void
on_drain_end (gpointer user_data)
{
  DvmdCampaign *self = user_data;

  self->timer = 0;
  dvmd_campaign_post (self, DVMD_CAMPAIGN_DRAINED, NULL);
}

static void
check_drain (DvmdCampaign *self)
{
  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);
      DvmdNode *node = !target->gone ? dvmd_node_pool_get (self->core->nodes, target->rank) : NULL;

      if (node != NULL && g_hash_table_size (node->jobs) > 0)
        return;
    }
  dvmd_campaign_post (self, DVMD_CAMPAIGN_DRAINED, NULL);
}

static gboolean
is_running (DvmdJob *job)
{
  return job->launch_sent && job->procs != NULL && dvmd_job_get_state (job) < DVM_JOB_STATE_UNTERMINATED;
}

void
dvmd_shrink_drain (DvmdCampaign *self)
{
  DvmdCore *core = self->core;

  if (self->failing)
    return;
  self->timer = dvmd_clock_add_timer (core->clock, (gint64)self->drain_timeout * G_USEC_PER_SEC, on_drain_end, self);
  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);
      DvmdNode *node = !target->gone ? dvmd_node_pool_get (core->nodes, target->rank) : NULL;

      for (GList *l = node != NULL ? core->live.head : NULL; l != NULL; l = l->next)
        if (is_running (l->data) && dvmd_map_count_on_node (((DvmdJob *)l->data)->map, node->rank) > 0)
          warn (l->data, node, self->drain_end);
    }
  check_drain (self);
}

void
dvmd_shrink_job_ended (DvmdCore *core)
{
  for (GList *l = core->n_draining > 0 ? core->campaigns_live.head : NULL; l != NULL; l = l->next)
    {
      DvmdCampaign *campaign = l->data;

      if (campaign->draining && !campaign->drained)
        check_drain (campaign);
    }
}

void
dvmd_shrink_warn (DvmdJob *job)
{
  g_autoptr (GArray) ranks = NULL;

  if (job->core->n_draining == 0)
    return;
  ranks = dvmd_map_get_nodes (job->map);
  for (guint i = 0; i < ranks->len; i++)
    {
      DvmdNode *node = dvmd_node_pool_get (job->core->nodes, g_array_index (ranks, guint, i));

      for (guint k = 0; node != NULL && node->shrinks != NULL && k < node->shrinks->len; k++)
        {
          DvmdCampaign *campaign = g_ptr_array_index (node->shrinks, k);

          if (campaign->draining && !campaign->drained)
            warn (job, node, campaign->drain_end);
        }
    }
}

/* ---- they leave ---- */

/* Those that have been lost are gone; those that another campaign has ordered are on their way. */
static GPtrArray *
list_to_order (DvmdCampaign *self)
{
  GPtrArray *nodes = g_ptr_array_new ();

  for (guint i = 0; i < self->targets->len; i++)
    {
      DvmdTarget *target = g_ptr_array_index (self->targets, i);
      DvmdNode *node = !target->gone ? dvmd_node_pool_get (self->core->nodes, target->rank) : NULL;

      if (node == NULL || node->ordered)
        continue;
      target->ordered = !is_down (node);
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
  guint repairs = 0;
  guint links_changed = 0;

  for (GList *l = nodes->len > 0 ? core->live.head : NULL; l != NULL; l = l->next)
    if (is_running (l->data))
      dvmd_core_take_away (l->data);
  for (guint i = 0; i < nodes->len; i++)
    ((DvmdNode *)g_ptr_array_index (nodes, i))->ordered = TRUE;
  if (nodes->len > 0 && core->effects->remove_agents != NULL)
    core->effects->remove_agents (core->world, self, (DvmdNode *const *)nodes->pdata, nodes->len, &repairs,
                                  &links_changed);
  _dvm_campaign_set_repairs (self->record, repairs, links_changed);
  dvmd_core_campaign_changed (self);
  if (self->n_pending == 0)
    dvmd_campaign_post (self, DVMD_CAMPAIGN_DEPARTED, NULL);
}

/* Whoever shares a node with it waits for its offer, and makes none of its own for that node. */
static void
claim_offers (DvmdCampaign *self)
{
  g_autoptr (GHashTable) ranks = g_hash_table_new (NULL, NULL);

  if (self->core->campaigns_live.length < 2)
    return;
  for (guint i = 0; i < self->targets->len; i++)
    g_hash_table_add (ranks, GUINT_TO_POINTER (((DvmdTarget *)g_ptr_array_index (self->targets, i))->rank));
  for (GList *l = self->core->campaigns_live.head; l != NULL; l = l->next)
    {
      DvmdCampaign *other = l->data;

      for (guint i = 0; other != self && !other->departed && i < other->targets->len; i++)
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

      if (target->offered_by != NULL && !target->offered_by->offered && !dvmd_campaign_get_ended (target->offered_by))
        return TRUE;
    }
  return FALSE;
}

static void
check_finished (DvmdCampaign *self)
{
  if (!self->offered || self->finished || waits_for_offers (self))
    return;
  self->finished = TRUE;
  dvmd_campaign_post (self, DVMD_CAMPAIGN_OFFERED, NULL);
}

void
dvmd_shrink_offered (DvmdCampaign *self)
{
  if (self->offered)
    return;
  self->offered = TRUE;
  check_finished (self);
  for (GList *l = self->core->campaigns_live.head; l != NULL; l = l->next)
    if (l->data != self)
      check_finished (l->data);
}

/* The DVM has its new size: the ticket comes back, and then the allocators are asked (D17). */
void
dvmd_shrink_departed (DvmdCampaign *self)
{
  DvmdCore *core = self->core;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  if (self->departed)
    return;
  self->departed = TRUE;
  dvmd_gate_open (self);
  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);

      if (target->offered_by == NULL)
        g_ptr_array_add (names, target->name);
    }
  for (guint i = 0; i < self->to_offer->len; i++)
    g_ptr_array_add (names, g_ptr_array_index (self->to_offer, i));
  claim_offers (self);
  self->offering = TRUE;
  if (names->len > 0 && core->effects->offer_nodes != NULL)
    core->effects->offer_nodes (core->world, self, (const char *const *)names->pdata, names->len);
  else
    dvmd_shrink_offered (self);
}

static void
stop_draining (DvmdCampaign *self)
{
  if (self->draining)
    self->core->n_draining--;
  self->draining = FALSE;
}

void
dvmd_shrink_completed (DvmdCampaign *self)
{
  stop_draining (self);
  if (self->ends_session && dvmd_core_get_session (self->core, dvmd_session_get_id (self->session)) == self->session)
    dvmd_core_remove_session (self->session, "It was released");
}

/* ---- or they do not ---- */

/* Whoever relies on an order that could not be sent gives one of its own. */
static void
order_again (GPtrArray *campaigns)
{
  for (guint i = 0; i < campaigns->len; i++)
    {
      DvmdCampaign *campaign = g_ptr_array_index (campaigns, i);

      if (campaign->begun && !campaign->failing && dvmd_campaign_get_state (campaign) == DVM_CAMPAIGN_STATE_RUNNING)
        dvmd_shrink_order (campaign);
    }
}

static void
leave_nodes (DvmdCampaign *self)
{
  g_autoptr (GPtrArray) others = g_ptr_array_new_with_free_func (g_object_unref);

  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);
      DvmdNode *node = !target->gone ? dvmd_node_pool_get (self->core->nodes, target->rank) : NULL;

      if (node == NULL)
        continue;
      if (node->shrinks != NULL)
        g_ptr_array_remove (node->shrinks, self);
      for (guint k = 0; self->cause == DVMD_CAUSE_ORDER && target->ordered && k < node->shrinks->len; k++)
        if (!g_ptr_array_find (others, g_ptr_array_index (node->shrinks, k), NULL))
          g_ptr_array_add (others, g_object_ref (g_ptr_array_index (node->shrinks, k)));
      if (self->cause == DVMD_CAUSE_ORDER && target->ordered)
        node->ordered = FALSE;
      dvmd_core_refresh_node (self->core, node);
    }
  order_again (others);
}

void
dvmd_shrink_failed (DvmdCampaign *self)
{
  stop_draining (self);
  dvmd_size_unhold (self);
  leave_nodes (self);
  if (self->ends_session && dvmd_core_get_session (self->core, dvmd_session_get_id (self->session)) == self->session)
    {
      _dvm_session_set_state (self->session->record, DVM_SESSION_STATE_ACTIVE, NULL);
      dvmd_core_tell_session (self->session, DVMD_SESSION_CHANGED);
    }
  dvmd_gate_open (self);
  dvmd_size_resume_waiting (self->core);
}

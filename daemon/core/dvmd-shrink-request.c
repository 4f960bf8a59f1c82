/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A shrink as it is asked for: which nodes leave, which only leave an allocation, and phase one of the answer.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-size.h"

#include "dvmd-campaign-inner.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-nodes.h"
#include "dvmd-core-parts.h"
#include "dvmd-core-sessions.h"
#include "dvmd-departure.h"
#include "dvmd-requester.h"
#include "dvmd-rights.h"
#include "dvmd-session-end.h"
#include "dvmd-session-inner.h"
#include "dvmd-session-registry.h"
#include "dvmd-shrink.h"
#include "dvmd-vm-machine.h"
#include "dvmd-vm.h"

typedef struct
{
  const DvmdShrinkRequest *request;
  DvmdSession *session; /* (nullable) */
  GPtrArray *nodes;     /* DvmdNode that are to leave */
  GPtrArray *down;      /* DvmdNode that have been lost */
  GPtrArray *kept;      /* DvmdNode that only leave the session */
  GPtrArray *grows;     /* DvmdCampaign that bring what is released */
  GHashTable *seen;     /* set of what is in one of these already */
} Plan;

static void
plan_init (Plan *plan)
{
  plan->nodes = g_ptr_array_new ();
  plan->down = g_ptr_array_new ();
  plan->kept = g_ptr_array_new ();
  plan->grows = g_ptr_array_new ();
  plan->seen = g_hash_table_new (NULL, NULL);
}

static void
plan_clear (Plan *plan)
{
  g_clear_pointer (&plan->nodes, g_ptr_array_unref);
  g_clear_pointer (&plan->down, g_ptr_array_unref);
  g_clear_pointer (&plan->kept, g_ptr_array_unref);
  g_clear_pointer (&plan->grows, g_ptr_array_unref);
  g_clear_pointer (&plan->seen, g_hash_table_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Plan, plan_clear)

static void
add_once (Plan *plan, GPtrArray *list, gpointer item)
{
  if (g_hash_table_add (plan->seen, item))
    g_ptr_array_add (list, item);
}

static void
plan_node (Plan *plan, DvmdNode *node)
{
  if (dvmd_node_is_down (node))
    add_once (plan, plan->down, node);
  else
    add_once (plan, plan->nodes, node);
  if (node->grow != NULL && !dvmd_campaign_has_failed (node->grow))
    add_once (plan, plan->grows, node->grow);
}

static gboolean
is_of_session (const Plan *plan, DvmdNode *node, DvmdCampaign *grow)
{
  if (plan->session == NULL)
    return TRUE;
  if (grow != NULL && dvmd_campaign_get_session (grow) == plan->session)
    return TRUE;
  return node != NULL && dvmd_node_is_in (node, dvmd_session_get_id (plan->session));
}

/*
 * A requester needs the right to every session that reserves the node. A node that nobody reserves is the tools'; an
 * application may release it from an allocation of its own (R46, R53).
 */
static gboolean
check_node (DvmdCore *self, const Plan *plan, DvmdNode *node, GError **error)
{
  const DvmdRequester *who = dvmd_size_get_asker (plan->request->requester, plan->request->scheduler);
  gboolean is_application = dvmd_core_is_application (self, who);
  guint n = 0;

  for (guint i = 0; node->sessions != NULL && i < node->sessions->len; i++)
    {
      DvmdSession *session = dvmd_core_get_session (self, g_array_index (node->sessions, guint, i));

      if (session == NULL || (!dvmd_session_is_reserved (session) && !is_application))
        continue;
      n++;
      if (!dvmd_core_may (self, who, DVMD_RIGHT_RELEASE, session, NULL, error))
        return FALSE;
    }
  return n > 0 || dvmd_core_may (self, who, DVMD_RIGHT_RELEASE, NULL, NULL, error);
}

static gboolean
check_grow (DvmdCore *self, const Plan *plan, DvmdCampaign *grow, GError **error)
{
  const DvmdRequester *who = dvmd_size_get_asker (plan->request->requester, plan->request->scheduler);

  return (!dvmd_session_is_reserved (dvmd_campaign_get_session (grow)) && !dvmd_core_is_application (self, who))
         || dvmd_core_may (self, who, DVMD_RIGHT_RELEASE, dvmd_campaign_get_session (grow), NULL, error);
}

static gboolean
plan_host (DvmdCore *self, Plan *plan, const char *name, GError **error)
{
  DvmdCampaign *grow = dvmd_campaign_registry_find_coming (dvmd_core_get_campaign_registry (self), name);
  DvmdNode *node = dvmd_node_pool_find (dvmd_core_get_nodes (self), name);

  /* A node that has been wired is in, and leaves like others. */
  if (grow != NULL && (dvmd_campaign_has_failed (grow) || dvmd_campaign_is_wired (grow)))
    grow = NULL;
  if (grow == NULL && node == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "hosts: %s is not a node of this DVM", name);
  else if (grow == NULL && node->rank == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                 "hosts: on %s there is the controller alone, which cannot leave the DVM", name);
  else if (!is_of_session (plan, node, grow))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "hosts: %s is not a node of the allocation %s", name,
                 dvmd_session_get_alloc_id (plan->session));
  else if (grow != NULL ? !check_grow (self, plan, grow, error) : !check_node (self, plan, node, error))
    g_prefix_error (error, "hosts: %s: ", name);
  else
    {
      if (grow != NULL)
        add_once (plan, plan->grows, grow);
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
  for (GList *l = dvmd_core_get_live_campaigns (self); l != NULL; l = l->next)
    {
      DvmdCampaign *campaign = l->data;

      if (!dvmd_campaign_brings_to (campaign, plan->session))
        continue;
      add_once (plan, plan->grows, campaign);
      for (guint i = 0; i < dvmd_campaign_get_targets (campaign)->len; i++)
        {
          const DvmdTarget *target = g_ptr_array_index (dvmd_campaign_get_targets (campaign), i);
          DvmdNode *node = target->rank != 0 ? dvmd_node_pool_get (dvmd_core_get_nodes (self), target->rank) : NULL;

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
  campaign = dvmd_size_make_campaign (self, DVM_CAMPAIGN_KIND_SHRINK, request->requester, alloc_id, request->req_id);
  dvmd_campaign_set_drain_timeout (campaign, request->drain_timeout);
  dvmd_campaign_set_session (campaign, plan->session,
                             plan->session != NULL && request->hosts == NULL ? DVMD_STAKE_ENDS : DVMD_STAKE_NONE, NULL);
  for (guint i = 0; i < plan->nodes->len; i++)
    {
      DvmdNode *node = g_ptr_array_index (plan->nodes, i);
      DvmdTarget *target;

      target = dvmd_campaign_add_target (campaign, dvm_node_get_name (node->record), node->rank);
      if (dvm_node_get_allocator (node->record)[0] != '\0')
        target->allocator = g_strdup (dvm_node_get_allocator (node->record));
      if (node->shrinks == NULL)
        node->shrinks = g_ptr_array_new ();
      g_ptr_array_add (node->shrinks, campaign);
    }
  return campaign;
}

/* Nodes that are down are no members: they go at once, and are offered to the allocators that brought them. */
static void
release_down (DvmdCore *self, const Plan *plan, DvmdCampaign *campaign)
{
  GPtrArray *targets = campaign != NULL ? dvmd_campaign_get_released (campaign) : NULL;
  gboolean is_new = FALSE;

  if (plan->down->len == 0)
    return;
  if (targets == NULL)
    targets = dvmd_campaign_registry_open_offer (dvmd_core_get_campaign_registry (self), &is_new);
  if (is_new)
    dvmd_core_post_vm (self, DVMD_VM_RELEASED_DOWN, 0, NULL);
  for (guint i = 0; i < plan->down->len; i++)
    {
      DvmdNode *node = g_ptr_array_index (plan->down, i);

      g_ptr_array_add (targets, dvmd_target_new (dvm_node_get_name (node->record), node->rank,
                                                 dvm_node_get_allocator (node->record)));
      dvmd_core_depart (self, node);
    }
}

/* Nodes that stay go back to where they came from before anything else happens (R60, RP5). */
static void
end_session (const Plan *plan, DvmdCampaign *campaign)
{
  const char *cause = plan->request->cause;

  if (plan->session == NULL || plan->request->hosts != NULL)
    return;
  dvmd_session_set_cause (plan->session, cause);
  for (guint i = 0; i < plan->kept->len; i++)
    {
      DvmdNode *node = g_ptr_array_index (plan->kept, i);

      dvmd_session_part (plan->session, node);
      if (campaign != NULL)
        dvmd_campaign_note_moved (campaign, node->rank);
    }
  if (campaign == NULL)
    dvmd_session_end (plan->session, cause != NULL ? cause : "It was released");
  else
    dvmd_session_begin_end (plan->session, cause != NULL ? cause : "It is being released",
                            dvmd_campaign_get_drain_timeout (campaign) > 0);
}

/* A host that leaves a session on its own can be taken back into it (REAQUIRE). */
static void
lend (DvmdCore *self, const Plan *plan, DvmdNode *node)
{
  for (guint i = 0; node->sessions != NULL && i < node->sessions->len; i++)
    {
      DvmdSession *session = dvmd_core_get_session (self, g_array_index (node->sessions, guint, i));

      if (session != NULL && (plan->session == NULL || plan->session == session))
        dvmd_session_lend (session, node);
    }
}

static void
lend_all (DvmdCore *self, const Plan *plan)
{
  for (guint i = 0; plan->request->hosts != NULL && i < plan->nodes->len; i++)
    lend (self, plan, g_ptr_array_index (plan->nodes, i));
  for (guint i = 0; plan->request->hosts != NULL && i < plan->down->len; i++)
    lend (self, plan, g_ptr_array_index (plan->down, i));
}

/* The DVM itself also releases a session that is being terminated; no session is released twice. */
static gboolean
select_session (DvmdCore *self, Plan *plan, GError **error)
{
  const DvmdShrinkRequest *request = plan->request;
  const DvmdRequester *who = dvmd_size_get_asker (request->requester, request->scheduler);
  DvmdSession *session = request->scheduler ? dvmd_core_get_session (self, request->session) : NULL;

  if (request->session != 0 && session != NULL && dvmd_session_is_ending (session)
      && !dvmd_session_is_releasing (session))
    {
      plan->session = session;
      return TRUE;
    }
  return dvmd_core_select_session_for (self, who, request->session, request->alloc_id, request->of_req_id,
                                       &plan->session, error)
         && (plan->session == NULL || dvmd_core_may (self, who, DVMD_RIGHT_RELEASE, plan->session, NULL, error));
}

/* (nullable): the shrink that releases the session already: a scheduler that takes it back ends that wait (R55) */
static DvmdCampaign *
find_slow (DvmdCore *self, const DvmdShrinkRequest *request)
{
  DvmdSession *session = NULL;

  if (!request->scheduler || request->hosts != NULL || request->drain_timeout > 0)
    return NULL;
  if (request->session != 0)
    session = dvmd_core_get_session (self, request->session);
  else if (request->alloc_id != NULL)
    session = dvmd_core_find_session (self, request->alloc_id);
  return session != NULL ? dvmd_shrink_find_slow (session) : NULL;
}

gboolean
dvmd_core_check_shrink (DvmdCore *self, const DvmdShrinkRequest *request, GError **error)
{
  g_auto (Plan) plan = { .request = request };

  plan_init (&plan);
  return dvmd_size_check (self, error)
         && (find_slow (self, request) != NULL
             || (select_session (self, &plan, error) && make_plan (self, &plan, error)));
}

gboolean
dvmd_core_shrink (DvmdCore *self, const DvmdShrinkRequest *request, DvmdSizeAnswer *answer, GError **error)
{
  g_auto (Plan) plan = { .request = request };
  DvmdSession *of = NULL;
  DvmdCampaign *slow = find_slow (self, request);
  DvmdCampaign *campaign;
  g_autofree char *alloc_id = NULL;

  plan_init (&plan);
  if (slow != NULL && dvmd_size_check (self, NULL))
    {
      dvmd_shrink_hurry (slow);
      dvmd_size_answer (answer, dvmd_session_get_alloc_id (dvmd_campaign_get_session (slow)), request->req_id,
                        dvmd_campaign_get_session (slow), slow);
      return TRUE;
    }
  if (!dvmd_size_check (self, error) || !select_session (self, &plan, error) || !make_plan (self, &plan, error))
    return FALSE;
  of = plan.session != NULL ? plan.session : find_common_session (self, &plan);
  alloc_id = of != NULL ? g_strdup (dvmd_session_get_alloc_id (of)) : dvmd_core_mint_alloc_id (self);
  campaign = start (self, &plan, alloc_id);
  lend_all (self, &plan);
  for (guint i = 0; i < plan.grows->len; i++)
    dvmd_campaign_fail (g_ptr_array_index (plan.grows, i), DVMD_CAUSE_CANCELLED, "Nodes that it brings were released");
  dvmd_size_answer (answer, alloc_id, request->req_id, of, campaign);
  end_session (&plan, campaign);
  release_down (self, &plan, campaign);
  if (campaign == NULL)
    return TRUE;
  dvmd_size_start_campaign (campaign, request->scheduler || plan.grows->len > 0);
  /* The children end after it: the campaigns that release them have higher numbers. */
  if (dvmd_campaign_ends_session (campaign))
    dvmd_session_end_children (dvmd_campaign_get_session (campaign), dvmd_campaign_get_drain_timeout (campaign));
  return TRUE;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A grow as it is asked for: what becomes of each host, and phase one of the answer.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-size.h"

#include "dvm-hosts-private.h"
#include "dvmd-campaign-inner.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core-elastic.h"
#include "dvmd-core-news.h"
#include "dvmd-core-nodes.h"
#include "dvmd-core-parts.h"
#include "dvmd-core-sessions.h"
#include "dvmd-grow-job.h"
#include "dvmd-job-sessions.h"
#include "dvmd-requester.h"
#include "dvmd-rights.h"
#include "dvmd-session-disposal.h"
#include "dvmd-session-inner.h"
#include "dvmd-session-limit.h"
#include "dvmd-session-owners.h"
#include "dvmd-session-registry.h"

/* A plan says what becomes of each host of a request. */
typedef struct
{
  const DvmdGrowRequest *request;
  DvmdSession *session; /* (nullable): that is extended */
  DvmdSession *parent;  /* (nullable): of the new one */
  char *owner;          /* of the new one */
  GArray *in;           /* guint: indexes of hosts that are nodes already */
  GArray *to_add;       /* guint: of those that are to come */
  GPtrArray *others;    /* DvmdCampaign that bring one already: the job waits for them */
} Plan;

static void
plan_clear (Plan *plan)
{
  g_clear_pointer (&plan->owner, g_free);
  g_clear_pointer (&plan->in, g_array_unref);
  g_clear_pointer (&plan->to_add, g_array_unref);
  g_clear_pointer (&plan->others, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Plan, plan_clear)

/* Only a requester that may extend a session gets its reserved nodes: a reservation cannot be entered from the side. */
static gboolean
check_node (DvmdCore *self, const Plan *plan, DvmdNode *node, GError **error)
{
  for (guint i = 0; node->sessions != NULL && i < node->sessions->len; i++)
    {
      DvmdSession *session = dvmd_core_get_session (self, g_array_index (node->sessions, guint, i));

      if (session == NULL || session == plan->session || !dvmd_session_is_reserved (session)
          || dvmd_core_may (self, dvmd_size_get_asker (plan->request->requester, plan->request->scheduler),
                            DVMD_RIGHT_EXTEND, session, NULL, error))
        continue;
      g_prefix_error (error, "hosts: %s is reserved: ", dvm_node_get_name (node->record));
      return FALSE;
    }
  return TRUE;
}

/* A job waits for a node that is coming back, as for a drained one; others find it neither in nor free to be added. */
static gboolean
plan_restarted (DvmdCore *self, Plan *plan, guint i, DvmdNode *node, GError **error)
{
  gboolean for_job = plan->request->job != NULL;

  if (for_job && !check_node (self, plan, node, error))
    return FALSE;
  if (for_job || !dvmd_core_get_settings (self)->elastic)
    {
      g_array_append_val (for_job ? plan->in : plan->to_add, i);
      return TRUE;
    }
  g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, "%s: its agent is being started again",
               plan->request->hosts[i].name);
  return FALSE;
}

static gboolean
check_restarted_slots (const Plan *plan, guint i, GError **error)
{
  const DvmdGrowHost *host = &plan->request->hosts[i];

  if (!host->more)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS,
               "hosts: the agent of %s is being started again: slots are added to nodes that are up", host->name);
  return FALSE;
}

static gboolean
plan_host (DvmdCore *self, Plan *plan, guint i, GError **error)
{
  const char *name = plan->request->hosts[i].name;
  DvmdCampaign *other = dvmd_campaign_registry_find_coming (dvmd_core_get_campaign_registry (self), name);
  DvmdNode *node = dvmd_core_find_agent (self, name);

  if (other == NULL && node != NULL && node->grow != NULL)
    other = node->grow;
  if (other != NULL && !dvmd_campaign_has_failed (other) && dvmd_campaign_is_restart (other))
    return check_restarted_slots (plan, i, error) && plan_restarted (self, plan, i, node, error);
  if (other != NULL && !dvmd_campaign_has_failed (other))
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
  /* A node that leaves is in no session when it comes again. */
  if (node != NULL && !dvmd_node_is_leaving (node) && !check_node (self, plan, node, error))
    return FALSE;
  if (plan->request->hosts[i].more && node != NULL && dvmd_node_is_down (node) && !dvmd_node_is_leaving (node))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, "hosts: %s is down: slots are added to nodes that are up", name);
      return FALSE;
    }
  g_array_append_val (
      node != NULL && !dvmd_node_is_down (node) && !dvmd_node_is_leaving (node) ? plan->in : plan->to_add, i);
  return TRUE;
}

/* ---- without its hosts ---- */

static gboolean
is_extension (const DvmdGrowRequest *request)
{
  return request->extend || request->reaquire || request->alloc_id != NULL || request->of_req_id != NULL;
}

/* The request asks for more time or another inheritance, and for no nodes. */
static gboolean
only_renews (const DvmdGrowRequest *request)
{
  return request->n_hosts == 0 && is_extension (request) && !request->reaquire
         && (request->limit.time > 0 || request->limit.time_given || request->limit.warn_timeout > 0
             || request->limit.warn_timeout_given || request->inheritance_given);
}

/* A job's namespace owns nothing when no such job is live: as far as is known it is nobody's, and would never end. */
static gboolean
check_owner (DvmdCore *self, const char *nspace, GError **error)
{
  DvmdJob *job = dvmd_core_find_job (self, nspace);

  if (!dvmd_core_has_job_form (self, nspace, NULL) || (job != NULL && !dvmd_job_get_ended (job)))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "%s is not a job that is there: it cannot own an allocation",
               nspace);
  return FALSE;
}

/* An empty target counts as none, and the requester's namespace becomes the owner. */
static gboolean
check_target (DvmdCore *self, Plan *plan, GError **error)
{
  const DvmdGrowRequest *request = plan->request;
  const DvmdRequester *who = dvmd_size_get_asker (request->requester, request->scheduler);

  if (request->target == NULL || request->target[0] == '\0')
    {
      plan->owner = dvmd_requester_dup_nspace (request->requester);
      return is_extension (request) || check_owner (self, plan->owner, error);
    }
  if (!dvmd_core_may (self, who, DVMD_RIGHT_OWNER_FOR_OTHERS, NULL, NULL, error)
      || !check_owner (self, request->target, error))
    {
      g_prefix_error (error, "target: ");
      return FALSE;
    }
  plan->owner = g_strdup (request->target);
  return TRUE;
}

static gboolean
check_extended (DvmdCore *self, Plan *plan, GError **error)
{
  const DvmdGrowRequest *request = plan->request;
  const DvmdRequester *who = dvmd_size_get_asker (request->requester, request->scheduler);

  if (request->session == 0 && request->alloc_id == NULL && request->of_req_id == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "Which allocation is meant is not said: alloc-id, of-req-id or session is needed");
  else if (!dvmd_core_select_session_for (self, who, request->session, request->alloc_id, request->of_req_id,
                                          &plan->session, error)
           || !dvmd_core_may (self, who, DVMD_RIGHT_EXTEND, plan->session, NULL, error))
    return FALSE;
  else if (dvmd_session_get_id (plan->session) == 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                 "The default session is not an allocation: leave the id out");
  else if (request->target != NULL && request->target[0] != '\0'
           && g_strcmp0 (dvmd_session_get_owner (plan->session), plan->owner) != 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "target: the allocation belongs to %s for life",
                 dvmd_session_get_owner (plan->session) != NULL ? dvmd_session_get_owner (plan->session) : "nobody");
  else if (request->share_given && request->share == dvmd_session_is_reserved (plan->session))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "share: the allocation is %s, and stays so",
                 request->share ? "reserved" : "shared");
  else
    return TRUE;
  return FALSE;
}

static DvmdSession *
find_parent (DvmdCore *self, const DvmdGrowRequest *request)
{
  DvmdJob *job = request->job == NULL ? dvmd_core_find_requesting_job (self, request->requester) : NULL;
  guint id = job != NULL ? dvmd_job_get_session (job) : 0;
  DvmdSession *session = id != 0 ? dvmd_core_get_session (self, id) : NULL;

  return session != NULL && !dvmd_session_is_ending (session) ? session : NULL;
}

static gboolean
check_new (DvmdCore *self, Plan *plan, GError **error)
{
  const DvmdGrowRequest *request = plan->request;

  if (request->wanted_session_id != 0 && !dvmd_core_check_session_number (self, request->wanted_session_id, error))
    return FALSE;
  if (request->given_alloc_id != NULL && dvmd_core_find_session (self, request->given_alloc_id) != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, "There is an allocation “%s” already", request->given_alloc_id);
  else if (request->session == 0)
    {
      plan->parent = find_parent (self, request);
      return TRUE;
    }
  else
    return dvmd_core_select_session (self, request->session, NULL, NULL, &plan->parent, error)
           && dvmd_core_may (self, dvmd_size_get_asker (request->requester, request->scheduler), DVMD_RIGHT_SPAWN,
                             plan->parent, NULL, error);
  return FALSE;
}

/* Hosts that were released from it, and no others. */
static gboolean
check_lent (const Plan *plan, GError **error)
{
  const DvmdGrowRequest *request = plan->request;
  g_autoptr (GPtrArray) lent = dvmd_session_list_lent (plan->session);

  if (lent->len == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "Nothing has been released from the allocation %s alone",
                   dvmd_session_get_alloc_id (plan->session));
      return FALSE;
    }
  for (guint i = 0; i < request->n_hosts; i++)
    if (!dvmd_session_has_lent (plan->session, request->hosts[i].name))
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "hosts: %s has not been released from the allocation %s",
                     request->hosts[i].name, dvmd_session_get_alloc_id (plan->session));
        return FALSE;
      }
  return TRUE;
}

static gboolean
check_request (DvmdCore *self, Plan *plan, GError **error)
{
  const DvmdGrowRequest *request = plan->request;

  if (!dvmd_size_check (self, error) || !check_target (self, plan, error))
    return FALSE;
  if (!is_extension (request))
    return check_new (self, plan, error);
  return check_extended (self, plan, error) && (!request->reaquire || check_lent (plan, error));
}

gboolean
dvmd_core_check_grow (DvmdCore *self, const DvmdGrowRequest *request, GError **error)
{
  g_auto (Plan) plan = { .request = request };

  return check_request (self, &plan, error);
}

/* ---- with them ---- */

static gboolean
check_names (const DvmdGrowRequest *request, GError **error)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (_dvm_host_name_hash, _dvm_host_name_equal);

  if (request->n_hosts == 0 && !only_renews (request))
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
check_elastic (DvmdCore *self, const Plan *plan, GError **error)
{
  const char *name;

  if (plan->to_add->len == 0 || dvmd_size_check_elastic (self, error))
    return TRUE;
  name = plan->request->hosts[g_array_index (plan->to_add, guint, 0)].name;
  g_prefix_error (error, "hosts: %s is %s. ", name,
                  dvmd_core_find_agent (self, name) != NULL ? "down" : "not in the DVM");
  return FALSE;
}

static gboolean
check_more_slots (DvmdCore *self, const Plan *plan, GError **error)
{
  for (guint i = 0; i < plan->in->len; i++)
    {
      const DvmdGrowHost *host = &plan->request->hosts[g_array_index (plan->in, guint, i)];
      const DvmdNode *node = dvmd_core_find_agent (self, host->name);
      guint most = node->slots_max > 0 ? node->slots_max : G_MAXINT;

      if (!host->more)
        continue;
      if (host->slots_max > 0)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       "hosts: %s is in the DVM, and the most slots that it may have stay as they are: say slots=+%u "
                       "alone",
                       host->name, host->slots);
          return FALSE;
        }
      if (node->slots <= most && host->slots <= most - node->slots)
        continue;
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "hosts: %s has %u slots of at most %u: there is no room for %u more", host->name, node->slots, most,
                   host->slots);
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
  return check_more_slots (self, plan, error) && check_elastic (self, plan, error);
}

static void
add_targets (DvmdCampaign *campaign, const Plan *plan)
{
  for (guint i = 0; i < plan->to_add->len; i++)
    {
      const DvmdGrowHost *host = &plan->request->hosts[g_array_index (plan->to_add, guint, i)];
      DvmdNode *node = dvmd_core_find_agent (dvmd_campaign_get_core (campaign), host->name);
      DvmdTarget *target = dvmd_campaign_add_target (campaign, host->name, 0);

      target->slots = host->slots;
      target->slots_max = host->slots_max;
      target->address = g_strdup (host->address);
      target->allocator = g_strdup (host->allocator);
      target->waits_for = node != NULL && !dvmd_node_is_down (node) && dvmd_node_is_leaving (node) ? node->rank : 0;
      dvmd_campaign_registry_add_coming (dvmd_core_get_campaign_registry (dvmd_campaign_get_core (campaign)),
                                         host->name, campaign);
    }
}

/* Hosts that are in already are in the allocation from now on, whatever becomes of the others. */
static void
join_session (DvmdCore *self, const Plan *plan, DvmdSession *session, DvmdCampaign *campaign)
{
  for (guint i = 0; i < plan->in->len; i++)
    {
      const DvmdGrowHost *host = &plan->request->hosts[g_array_index (plan->in, guint, i)];
      DvmdNode *node = dvmd_core_find_agent (self, host->name);

      if (!dvmd_node_is_in (node, dvmd_session_get_id (session)))
        {
          dvmd_session_forget_slots (session, node);
          dvmd_session_join (session, node);
          if (campaign != NULL)
            dvmd_campaign_note_moved (campaign, node->rank);
        }
      if (host->more)
        dvmd_session_add_slots (session, node, host->slots);
    }
}

static DvmdCampaign *
start (DvmdCore *self, const Plan *plan, DvmdSession *session, gboolean minted)
{
  const DvmdGrowRequest *request = plan->request;
  const DvmdRequester *requester = request->job == NULL ? request->requester : NULL;
  DvmdCampaign *campaign;

  if (plan->to_add->len == 0)
    return NULL;
  campaign = dvmd_size_make_campaign (self, DVM_CAMPAIGN_KIND_GROW, requester, dvmd_session_get_alloc_id (session),
                                      request->req_id);
  dvmd_campaign_set_session (campaign, session, minted ? DVMD_STAKE_MINTED : DVMD_STAKE_NONE, request->job);
  add_targets (campaign, plan);
  return campaign;
}

/* A grow that is not held back cannot wait for a shrink that is. */
static void
unhold_shrinks (DvmdCampaign *campaign)
{
  for (guint i = 0; i < dvmd_campaign_get_targets (campaign)->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (dvmd_campaign_get_targets (campaign), i);
      DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (dvmd_campaign_get_core (campaign)), target->waits_for);

      for (guint k = 0; target->waits_for != 0 && node != NULL && node->shrinks != NULL && k < node->shrinks->len; k++)
        {
          DvmdCampaign *shrink = g_ptr_array_index (node->shrinks, k);

          if (!dvmd_campaign_is_held (shrink))
            continue;
          dvmd_size_unhold (shrink);
          dvmd_campaign_try_begin (shrink);
        }
    }
}

static void
wait_for (DvmdJob *job, DvmdCampaign *campaign)
{
  dvmd_grow_add_own (job, campaign);
  g_ptr_array_add (dvmd_campaign_get_own_jobs (campaign), g_object_ref (job));
  dvmd_campaign_held_changed (campaign);
}

static DvmdSession *
make_session (DvmdCore *self, const Plan *plan)
{
  const DvmdGrowRequest *request = plan->request;
  g_autofree char *minted = request->given_alloc_id == NULL ? dvmd_core_mint_alloc_id (self) : NULL;
  DvmdSession *session = dvmd_core_add_session (self, request->wanted_session_id,
                                                minted != NULL ? minted : request->given_alloc_id, request->req_id,
                                                request->share);

  dvmd_session_tie (session, request->child_separate || request->detached, request->detached);
  if (request->instantiated)
    dvmd_session_set_instantiated (session);
  dvmd_session_init_inheritance (session, request->inheritance_given ? request->inheritance : DVMD_INHERIT_DEFAULT);
  dvmd_session_set_owner (session, plan->owner, request->requester);
  if (plan->parent != NULL)
    dvmd_session_set_parent (session, dvmd_session_get_id (plan->parent));
  dvmd_core_tell_session (self, session, DVMD_NEWS_ADDED);
  return session;
}

/* The requester that extends a session is the one that is warned from now on (RP7). */
static void
renew (DvmdCore *self, DvmdSession *session, const DvmdGrowRequest *request)
{
  if (request->requester != NULL)
    dvmd_session_set_requester (session, request->requester);
  if (is_extension (request) && !request->reaquire && request->inheritance_given)
    dvmd_session_set_inheritance (session, request->inheritance);
  dvmd_session_set_limit (session, request);
}

gboolean
dvmd_core_grow (DvmdCore *self, const DvmdGrowRequest *request, DvmdSizeAnswer *answer, GError **error)
{
  g_auto (Plan) plan = { .request = request };
  DvmdSession *session;
  DvmdCampaign *campaign;

  if (!check_names (request, error) || !check_request (self, &plan, error) || !make_plan (self, &plan, error))
    return FALSE;
  session = plan.session != NULL ? plan.session : make_session (self, &plan);
  campaign = start (self, &plan, session, plan.session == NULL);
  join_session (self, &plan, session, campaign);
  for (guint i = 0; i < plan.others->len; i++)
    wait_for (request->job, g_ptr_array_index (plan.others, i));
  if (campaign != NULL && request->job != NULL)
    wait_for (request->job, campaign);
  renew (self, session, request);
  if (campaign != NULL)
    dvmd_size_start_campaign (campaign, request->scheduler);
  if (campaign != NULL && !dvmd_campaign_is_held (campaign))
    unhold_shrinks (campaign);
  dvmd_size_answer (answer, dvmd_session_get_alloc_id (session), request->req_id, session, campaign);
  return TRUE;
}

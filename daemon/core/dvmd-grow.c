/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A grow: its nodes are launched, report, and are wired together; or all of it is rolled back.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-gates.h"
#include "dvmd-size.h"

#include "dvm-job-spec-private.h"
#include "dvm-records-private.h"
#include "dvmd-job-machine.h"

/* ---- the request ---- */

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

/* An agent of that name which is there, or on its way. */
static DvmdNode *
find_agent (DvmdCore *self, const char *name)
{
  DvmdNode *node = dvmd_node_pool_find (self->nodes, name);

  return node != NULL && node->rank > 0 ? node : NULL;
}

static gboolean
is_leaving (DvmdNode *node)
{
  return node->ordered || (node->shrinks != NULL && node->shrinks->len > 0)
         || (node->grow != NULL && node->grow->failing);
}

static gboolean
is_down (DvmdNode *node)
{
  return dvm_node_get_state (node->record) == DVM_NODE_STATE_DOWN;
}

static gboolean
plan_host (DvmdCore *self, Plan *plan, guint i, GError **error)
{
  const char *name = plan->request->hosts[i].name;
  DvmdCampaign *other = g_hash_table_lookup (self->coming, name);
  DvmdNode *node = find_agent (self, name);

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
  g_array_append_val (node != NULL && !is_down (node) && !is_leaving (node) ? plan->in : plan->to_add, i);
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
      DvmdNode *node = find_agent (campaign->core, host->name);
      DvmdTarget *target = dvmd_campaign_add_target (campaign, host->name, 0);

      target->slots = host->slots;
      target->slots_max = host->slots_max;
      target->address = g_strdup (host->address);
      target->allocator = g_strdup (host->allocator);
      target->waits_for = node != NULL && !is_down (node) && is_leaving (node) ? node->rank : 0;
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
      DvmdNode *node = find_agent (self, plan->request->hosts[g_array_index (plan->in, guint, i)].name);

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

/* ---- it begins ---- */

/* It is in, or stays after all. */
static void
take_in (DvmdCampaign *self, DvmdNode *node)
{
  dvmd_node_pool_join (node, dvmd_session_get_id (self->session));
  dvmd_core_node_changed (self->core, node->rank);
  g_array_append_val (self->joined, node->rank);
}

/* Those that have to leave before it can begin. */
static guint
count_waits (DvmdCampaign *self)
{
  guint n = 0;

  for (guint i = 0; i < self->targets->len;)
    {
      DvmdTarget *target = g_ptr_array_index (self->targets, i);
      DvmdNode *node = find_agent (self->core, target->name);

      target->waits_for = 0;
      if (node != NULL && !is_down (node) && is_leaving (node))
        target->waits_for = node->rank;
      else if (node != NULL && !is_down (node) && node->grow == NULL)
        {
          take_in (self, node);
          g_hash_table_remove (self->core->coming, target->name);
          g_ptr_array_remove_index (self->targets, i);
          continue;
        }
      n += target->waits_for != 0;
      i++;
    }
  return n;
}

static void
bring_target (DvmdCampaign *self, DvmdTarget *target)
{
  DvmdCore *core = self->core;
  DvmdNode *old = find_agent (core, target->name);
  DvmdNode *node;

  /* What was there once is down, and nobody waits for it. */
  if (old != NULL && is_down (old))
    dvmd_core_depart (core, old);
  node = dvmd_core_bring_node (core, target->name, target->slots, target->slots_max);
  node->address = g_strdup (target->address);
  node->grow = self;
  target->rank = node->rank;
  if (target->allocator != NULL)
    _dvm_node_set_origin (node->record, dvm_node_get_launcher (node->record), target->allocator);
  dvmd_core_tell_node (core, node->rank, TRUE);
}

static void
tell_wait (DvmdCampaign *self)
{
  g_autoptr (GString) text = g_string_new ("It begins when these have left the DVM: ");
  const char *separator = "";

  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);

      if (target->waits_for == 0)
        continue;
      g_string_append_printf (text, "%s%s", separator, target->name);
      separator = ", ";
    }
  dvmd_campaign_wait (self, text->str);
}

void
dvmd_grow_try_begin (DvmdCampaign *self)
{
  guint n_before = self->targets->len;
  guint n_waits;

  dvmd_gate_close (self);
  n_waits = count_waits (self);
  if (self->targets->len < n_before)
    {
      dvmd_campaign_publish_targets (self);
      dvmd_campaign_set_pending (self, self->targets->len);
    }
  if (n_waits > 0)
    {
      tell_wait (self);
      return;
    }
  self->begun = TRUE;
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

/* (element-type DvmdNode): of the targets that are there */
static GPtrArray *
list_nodes (DvmdCampaign *self)
{
  GPtrArray *nodes = g_ptr_array_new ();

  for (guint i = 0; i < self->targets->len; i++)
    {
      DvmdTarget *target = g_ptr_array_index (self->targets, i);
      DvmdNode *node = target->rank != 0 && !target->gone ? dvmd_node_pool_get (self->core->nodes, target->rank) : NULL;

      if (node != NULL)
        g_ptr_array_add (nodes, node);
    }
  return nodes;
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
  g_string_append_printf (reason, ": no report within %u s", self->core->grow_timeout);
  dvmd_campaign_fail (self, DVMD_CAUSE_TIMEOUT, reason->str);
}

void
dvmd_grow_launch (DvmdCampaign *self)
{
  DvmdCore *core = self->core;
  g_autoptr (GPtrArray) nodes = list_nodes (self);

  self->launched = TRUE;
  if (core->grow_timeout > 0)
    self->timer = dvmd_clock_add_timer (core->clock, (gint64)core->grow_timeout * G_USEC_PER_SEC, on_timeout, self);
  core->effects->launch_agents (core->world, (DvmdNode *const *)nodes->pdata, nodes->len);
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
  for (guint i = 0; i < self->targets->len; i++)
    {
      DvmdTarget *target = g_ptr_array_index (self->targets, i);

      if (target->rank != node->rank || target->reported)
        continue;
      target->reported = TRUE;
      if (++self->n_reported < self->targets->len)
        return;
      dvmd_campaign_post (self, DVMD_CAMPAIGN_REPORTED, NULL);
      check_jobs (self);
      return;
    }
}

/* ---- they are wired ---- */

void
dvmd_grow_wire (DvmdCampaign *self)
{
  DvmdCore *core = self->core;
  g_autoptr (GPtrArray) nodes = list_nodes (self);

  for (guint i = 0; i < nodes->len; i++)
    {
      DvmdNode *node = g_ptr_array_index (nodes, i);

      if (!node->slots_given)
        dvmd_node_pool_set_slots (core->nodes, node, MAX (node->hwthreads, 1), node->slots_max);
    }
  self->wiring = TRUE;
  core->epoch++;
  core->effects->wire_agents (core->world, self, (DvmdNode *const *)nodes->pdata, nodes->len);
}

/* From now on they are members, and lost as such. */
void
dvmd_core_agents_wired (DvmdCore *self, DvmdCampaign *campaign)
{
  g_autoptr (GPtrArray) nodes = NULL;

  if (!campaign->wiring || campaign->wired || campaign->failing)
    return;
  campaign->wired = TRUE;
  nodes = list_nodes (campaign);
  for (guint i = 0; i < nodes->len; i++)
    {
      DvmdNode *node = g_ptr_array_index (nodes, i);

      node->grow = NULL;
      dvmd_node_pool_join (node, dvmd_session_get_id (campaign->session));
      dvmd_node_pool_set_state (self->nodes, node, DVM_NODE_STATE_UP, NULL);
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

      if (g_hash_table_lookup (self->core->coming, target->name) == self)
        g_hash_table_remove (self->core->coming, target->name);
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
  dvmd_session_changed (self->session);
  dvmd_gate_open (self);
  forget_jobs (self);
}

/* ---- or it fails ---- */

void
dvmd_grow_roll_back (DvmdCampaign *self)
{
  DvmdCore *core = self->core;
  g_autoptr (GPtrArray) nodes = list_nodes (self);
  g_autoptr (GPtrArray) there = g_ptr_array_new ();
  guint repairs = 0;
  guint links_changed = 0;

  forget_names (self);
  dvmd_gate_abort (self);
  for (guint i = 0; i < nodes->len; i++)
    {
      DvmdNode *node = g_ptr_array_index (nodes, i);

      dvmd_core_refresh_node (core, node);
      if (!self->launched || node->never_came)
        dvmd_core_depart (core, node);
      else
        g_ptr_array_add (there, node);
    }
  for (guint i = 0; i < there->len; i++)
    ((DvmdNode *)g_ptr_array_index (there, i))->ordered = TRUE;
  if (there->len > 0 && core->effects->remove_agents != NULL)
    core->effects->remove_agents (core->world, self, (DvmdNode *const *)there->pdata, there->len, &repairs,
                                  &links_changed);
  _dvm_campaign_set_repairs (self->record, repairs, links_changed);
  dvmd_core_campaign_changed (self);
}

static void
void_session (DvmdCampaign *self)
{
  guint id = dvmd_session_get_id (self->session);

  for (guint i = 0; i < self->joined->len; i++)
    {
      DvmdNode *node = dvmd_node_pool_get (self->core->nodes, g_array_index (self->joined, guint, i));

      if (node == NULL)
        continue;
      dvmd_node_pool_part (node, id);
      dvmd_core_node_changed (self->core, node->rank);
    }
  if (self->minted && dvmd_core_get_session (self->core, id) != NULL)
    dvmd_core_remove_session (self->session, self->reason);
  else
    dvmd_session_changed (self->session);
}

/* Nodes that were got for it go back where they came from. Nobody waits for that. */
static void
offer_back (DvmdCampaign *self)
{
  DvmdCore *core = self->core;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint i = 0; i < self->targets->len; i++)
    {
      const DvmdTarget *target = g_ptr_array_index (self->targets, i);

      if (target->allocator != NULL && target->offered_by == NULL)
        g_ptr_array_add (names, target->name);
    }
  if (names->len > 0 && core->effects->offer_nodes != NULL)
    core->effects->offer_nodes (core->world, self, (const char *const *)names->pdata, names->len);
}

void
dvmd_grow_failed (DvmdCampaign *self)
{
  g_autoptr (GPtrArray) nodes = list_nodes (self);

  forget_names (self);
  dvmd_size_unhold (self);
  dvmd_gate_abort (self);
  /* The end of the DVM takes them, and those of which nothing was started are gone. */
  for (guint i = 0; i < nodes->len; i++)
    if (self->launched)
      ((DvmdNode *)g_ptr_array_index (nodes, i))->grow = NULL;
    else
      dvmd_core_depart (self->core, g_ptr_array_index (nodes, i));
  void_session (self);
  dvmd_gate_open (self);
  offer_back (self);
  g_ptr_array_set_size (self->own_jobs, 0);
  dvmd_core_check_all_gone (self->core);
}

/* ---- nodes that a job brings ---- */

static void
read_hosts (DvmHosts *hosts, GArray *into)
{
  for (guint i = 0; i < _dvm_hosts_get_n (hosts); i++)
    {
      const DvmHost *host = _dvm_hosts_get (hosts, i);
      DvmdGrowHost added = {
        .name = host->name,
        .slots = host->slots > 0                            ? host->slots
                 : host->n_mentions > 1 && !host->all_slots ? host->n_mentions
                                                            : 0,
        .slots_max = host->slots_max,
        .address = g_strcmp0 (host->address, host->name) != 0 ? host->address : NULL,
      };

      g_array_append_val (into, added);
    }
}

static void
publish_waits (DvmdJob *job)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new ();

  for (guint i = 0; i < job->own_grows->len; i++)
    {
      DvmdCampaign *campaign = g_ptr_array_index (job->own_grows, i);

      if (!dvmd_campaign_get_ended (campaign))
        g_ptr_array_add (paths, (gpointer)dvm_campaign_get_object_path (campaign->record));
    }
  g_ptr_array_add (paths, NULL);
  _dvm_job_set_held_at (job->record, "map");
  _dvm_job_set_waits_for (job->record, (const char *const *)paths->pdata);
}

void
dvmd_grow_for_job (DvmdJob *job)
{
  DvmdCore *core = job->core;
  g_autoptr (GArray) hosts = g_array_new (FALSE, FALSE, sizeof (DvmdGrowHost));
  g_auto (DvmdSizeAnswer) answer = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdGrowRequest request = { .requester = job->requester, .share = TRUE, .job = job };

  job->grown = TRUE;
  read_hosts (_dvm_job_spec_get_additions (job->spec), hosts);
  request.hosts = (const DvmdGrowHost *)hosts->data;
  request.n_hosts = hosts->len;
  if (!dvmd_core_grow (core, &request, &answer, &error))
    {
      dvmd_core_post_failure (job, DVM_JOB_STATE_ALLOC_FAILED, error->message);
      return;
    }
  if (job->own_grows == NULL)
    {
      dvmd_core_post (job, DVMD_JOB_AGENTS_REPORTED);
      return;
    }
  core->n_own_waiting++;
  job->waits_for_own = TRUE;
  publish_waits (job);
  dvmd_core_post (job, DVMD_JOB_AGENTS_LAUNCHED);
}

static gboolean
has_come (DvmdCampaign *campaign)
{
  return dvmd_campaign_get_ended (campaign)
         || (campaign->n_reported > 0 && campaign->n_reported == campaign->targets->len);
}

void
dvmd_grow_check_job (DvmdJob *job)
{
  if (!job->waits_for_own)
    return;
  for (guint i = 0; i < job->own_grows->len; i++)
    {
      DvmdCampaign *campaign = g_ptr_array_index (job->own_grows, i);

      if (!campaign->failing && has_come (campaign))
        continue;
      publish_waits (job);
      return;
    }
  job->waits_for_own = FALSE;
  job->core->n_own_waiting--;
  _dvm_job_set_held_at (job->record, "");
  _dvm_job_set_waits_for (job->record, NULL);
  dvmd_core_post (job, DVMD_JOB_AGENTS_REPORTED);
}

void
dvmd_grow_forget_job (DvmdJob *job)
{
  if (job->waits_for_own)
    {
      job->waits_for_own = FALSE;
      job->core->n_own_waiting--;
      _dvm_job_set_waits_for (job->record, NULL);
    }
  for (guint i = 0; job->own_grows != NULL && i < job->own_grows->len; i++)
    {
      DvmdCampaign *campaign = g_ptr_array_index (job->own_grows, i);

      g_ptr_array_remove (campaign->own_jobs, job);
      dvmd_campaign_held_changed (campaign);
    }
  g_clear_pointer (&job->own_grows, g_ptr_array_unref);
}

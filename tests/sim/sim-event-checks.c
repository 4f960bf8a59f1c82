/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The checks that are made when something happens.
 */

#include "config.h"

#include "sim-event-checks.h"

#include "dvmd-campaign-private.h"

#include "dvm-preload-private.h"
#include "dvmd-staging.h"

/* ---- what was seen ---- */

SimCampaign *
sim_find_ticket (SimWorld *world, gboolean shrinks_alone, guint64 before)
{
  for (guint i = 0; i < world->campaigns->len; i++)
    {
      SimCampaign *campaign = g_ptr_array_index (world->campaigns, i);

      if (!dvmd_campaign_has_ticket (campaign->campaign) || campaign->began >= before)
        continue;
      if (!shrinks_alone || dvmd_campaign_get_kind (campaign->campaign) == DVM_CAMPAIGN_KIND_SHRINK)
        return campaign;
    }
  return NULL;
}

gboolean
sim_has_target (DvmdCampaign *campaign, guint rank)
{
  gsize n;
  const guint32 *targets = dvm_campaign_get_targets (dvmd_campaign_get_record (campaign), &n);

  for (gsize i = 0; i < n; i++)
    if (targets[i] == rank)
      return TRUE;
  return FALSE;
}

/* (nullable): the grow that brings the agent, or has brought it */
static SimCampaign *
find_grow (SimWorld *world, guint rank)
{
  for (guint i = 0; i < world->campaigns->len; i++)
    {
      SimCampaign *campaign = g_ptr_array_index (world->campaigns, i);

      if (dvmd_campaign_get_kind (campaign->campaign) == DVM_CAMPAIGN_KIND_GROW
          && sim_has_target (campaign->campaign, rank))
        return campaign;
    }
  return NULL;
}

void
sim_note_cause (SimWorld *world, guint rank, DvmdCause cause)
{
  SimCampaign *grow = find_grow (world, rank);

  if (grow != NULL)
    grow->causes |= 1u << cause;
}

gboolean
sim_is_member (SimWorld *world, guint rank)
{
  SimDaemon *daemon = sim_world_get (world, rank);
  SimCampaign *grow = find_grow (world, rank);

  if (daemon == NULL || daemon->departed || daemon->declared)
    return FALSE;
  if (grow != NULL)
    return dvmd_campaign_get_state (grow->campaign) == DVM_CAMPAIGN_STATE_COMPLETED;
  return daemon->wired;
}

gboolean
sim_is_leaving (SimWorld *world, guint rank)
{
  for (guint i = 0; i < world->campaigns->len; i++)
    {
      SimCampaign *campaign = g_ptr_array_index (world->campaigns, i);

      if (dvmd_campaign_get_kind (campaign->campaign) == DVM_CAMPAIGN_KIND_SHRINK
          && dvmd_campaign_has_ticket (campaign->campaign) && sim_has_target (campaign->campaign, rank))
        return TRUE;
    }
  return FALSE;
}

/*
 * An agent is as good as gone when its link broke after it had said LEFT, all of its links broke while it lives, or the
 * launcher has not seen it start: it is told so when it comes again, and ends.
 */
gboolean
sim_is_gone (SimDaemon *daemon)
{
  if (!daemon->alive || daemon->declared || daemon->fate == SIM_FATE_LATE)
    return TRUE;
  return daemon->said_left && daemon->was_cut && !sim_agent_has_running (daemon->agent);
}

void
sim_check_gone (SimWorld *world, DvmdCampaign *campaign, SimStatement statement)
{
  gsize n;
  const guint32 *targets = dvm_campaign_get_targets (dvmd_campaign_get_record (campaign), &n);

  for (gsize i = 0; i < n; i++)
    {
      SimDaemon *daemon = sim_world_get (world, targets[i]);

      if (targets[i] > 0)
        sim_hold (world, statement, daemon == NULL || sim_is_gone (daemon));
    }
}

/* A release of nodes that a grow is bringing cancels the grow, and is not held back. */
static gboolean
cancels_grow (SimWorld *world, SimCampaign *campaign)
{
  gsize n;
  const guint32 *targets = dvm_campaign_get_targets (dvmd_campaign_get_record (campaign->campaign), &n);

  for (gsize i = 0; i < n && dvmd_campaign_get_kind (campaign->campaign) == DVM_CAMPAIGN_KIND_SHRINK; i++)
    {
      SimCampaign *grow = find_grow (world, targets[i]);

      if (grow != NULL && dvmd_campaign_get_state (grow->campaign) != DVM_CAMPAIGN_STATE_COMPLETED)
        return TRUE;
    }
  return FALSE;
}

/* A job that has been parked for longer than the limit goes before campaigns that were accepted after that. */
static void
check_park_limit (SimWorld *world, SimCampaign *campaign)
{
  gint64 limit = SIM_PARK_LIMIT * G_TIME_SPAN_SECOND;

  if (campaign->scheduler || campaign->has_job || cancels_grow (world, campaign))
    return;
  for (guint i = 0; i < world->watches->len; i++)
    {
      SimWatch *watch = g_ptr_array_index (world->watches, i);

      if (watch->parked > 0)
        sim_hold (world, SIM_D4_LIMIT, campaign->accepted_at < watch->parked_at + limit);
    }
}

void
sim_note_tickets (SimWorld *world)
{
  for (guint i = 0; i < world->campaigns->len; i++)
    {
      SimCampaign *campaign = g_ptr_array_index (world->campaigns, i);

      if (campaign->began > 0 || !dvmd_campaign_has_ticket (campaign->campaign))
        continue;
      campaign->began = ++world->seq;
      campaign->began_at = dvmd_clock_monotonic (world->clock);
      g_array_set_size (world->released, 0);
      check_park_limit (world, campaign);
    }
}

/* ---- campaigns ---- */

static void
on_campaign_added (DvmdCore *core, DvmdCampaign *campaign, gpointer user_data)
{
  SimWorld *world = user_data;
  SimCampaign *self = g_new0 (SimCampaign, 1);

  self->campaign = g_object_ref (campaign);
  self->id = dvmd_campaign_get_id (campaign);
  self->accepted_at = dvmd_clock_monotonic (world->clock);
  self->has_job = dvmd_campaign_get_job (campaign) != NULL;
  /* A shrink that no request asked for takes back the nodes of a session that is over, as a scheduler would (R55). */
  self->scheduler = world->by_scheduler
                    || (!world->in_phase_one && dvmd_campaign_get_kind (campaign) == DVM_CAMPAIGN_KIND_SHRINK);
  g_assert_cmpuint (self->id, ==, world->campaigns->len + 1);
  g_ptr_array_add (world->campaigns, self);
  sim_note_tickets (world);
}

static gboolean
waits_for (SimWatch *watch, guint campaign)
{
  for (guint i = 0; i < watch->waits->len; i++)
    if (g_array_index (watch->waits, guint, i) == campaign)
      return TRUE;
  return FALSE;
}

static void
note_waits (SimWorld *world, SimWatch *watch)
{
  watch->parked_at = watch->asked_at;
  g_array_set_size (watch->waits, 0);
  for (guint i = 0; i < world->campaigns->len; i++)
    {
      SimCampaign *campaign = g_ptr_array_index (world->campaigns, i);

      if (dvmd_campaign_has_ticket (campaign->campaign) && campaign->began < watch->asked && campaign->failed_seq == 0)
        g_array_append_val (watch->waits, campaign->id);
    }
}

/* The job is at the gate at once; the state that shows it may still be on its way. */
static gboolean
is_at_map_gate (DvmdJob *job)
{
  DvmJobState state = dvmd_job_get_state (job);

  return g_str_equal (dvm_job_get_held_at (dvmd_job_get_record (job)), "map")
         && (state == DVM_JOB_STATE_VM_READY || state == DVM_JOB_STATE_MAP
             || state == DVM_JOB_STATE_WAITING_FOR_DAEMONS);
}

/* Jobs may fail that waited for the campaign when they were parked, and might have used its nodes. */
static void
doom_jobs (SimWorld *world, SimCampaign *campaign)
{
  for (guint i = 0; i < world->watches->len; i++)
    {
      SimWatch *watch = g_ptr_array_index (world->watches, i);

      /* The nodes that a job asks for itself may be those of another campaign. */
      if (watch->has_own)
        sim_may_end (world, watch->job, DVM_JOB_STATE_NEVER_LAUNCHED);
      if (!is_at_map_gate (watch->job))
        continue;
      if (!watch->parks)
        note_waits (world, watch);
      watch->parks = TRUE;
      if (!waits_for (watch, campaign->id))
        continue;
      if (watch->n_mapped > 0)
        {
          sim_hold (world, SIM_D4_REMAPPED, !watch->doomed);
          continue;
        }
      sim_may_end (world, watch->job, DVM_JOB_STATE_NEVER_LAUNCHED);
      watch->doomed |= !watch->has_hosts && !watch->has_targets && campaign->is_shared;
    }
}

static void
on_campaign_state_changed (DvmdCore *core, DvmdCampaign *campaign, guint old_state, guint new_state, gpointer user_data)
{
  SimWorld *world = user_data;
  SimCampaign *self = sim_world_get_campaign (world, dvmd_campaign_get_id (campaign));

  sim_note_tickets (world);
  sim_world_trace (world, "campaign %u: %s -> %s", self->id, dvm_campaign_state_to_string (old_state),
                   dvm_campaign_state_to_string (new_state));
  sim_hold (world, SIM_E47, self->n_ended == 0);
  if (self->has_job && self->failed_seq == 0
      && (new_state == DVM_CAMPAIGN_STATE_ROLLING_BACK || new_state == DVM_CAMPAIGN_STATE_FAILED))
    sim_may_end (world, dvmd_campaign_get_job (campaign), DVM_JOB_STATE_NEVER_LAUNCHED);
  if (dvmd_campaign_get_kind (campaign) != DVM_CAMPAIGN_KIND_GROW || self->failed_seq > 0)
    return;
  if (new_state != DVM_CAMPAIGN_STATE_ROLLING_BACK && new_state != DVM_CAMPAIGN_STATE_FAILED)
    return;
  doom_jobs (world, self);
  self->failed_seq = ++world->seq;
}

static gboolean
is_cause_true (SimWorld *world, SimCampaign *self)
{
  switch (dvmd_campaign_get_cause (self->campaign))
    {
    case DVMD_CAUSE_CANCELLED:
      return self->cancelled;
    case DVMD_CAUSE_SHUTTING_DOWN:
      return world->shutdown;
    case DVMD_CAUSE_ORDER:
      return self->order_failed;
    case DVMD_CAUSE_TIMEOUT:
      return dvmd_clock_monotonic (world->clock) - self->accepted_at >= SIM_GROW_TIMEOUT * G_TIME_SPAN_SECOND;
    case DVMD_CAUSE_NONE:
      return FALSE;
    default:
      return (self->causes & (1u << dvmd_campaign_get_cause (self->campaign))) != 0;
    }
}

static void
check_failure (SimWorld *world, SimCampaign *self)
{
  DvmdCause cause = dvmd_campaign_get_cause (self->campaign);
  DvmCampaign *record = dvmd_campaign_get_record (self->campaign);

  sim_hold (world, SIM_E45, is_cause_true (world, self));
  sim_hold (world, SIM_E45, g_str_equal (dvm_campaign_get_cause (record), dvmd_cause_to_string (cause)));
  sim_hold (world, SIM_E45, dvm_campaign_get_status (record) == dvmd_cause_get_status (cause));
  sim_hold (world, SIM_E45, dvm_campaign_get_reason (record)[0] != '\0');
  if (dvmd_campaign_get_kind (self->campaign) == DVM_CAMPAIGN_KIND_SHRINK)
    {
      sim_hold (world, SIM_D7,
                cause == DVMD_CAUSE_ORDER || cause == DVMD_CAUSE_SHUTTING_DOWN
                    || (cause == DVMD_CAUSE_CANCELLED && self->began == 0));
      return;
    }
  world->tally->counts[SIM_COUNT_ROLLED_BACK]++;
  if (world->shutdown)
    return;
  sim_check_gone (world, self->campaign, SIM_D3);
  sim_check_not_in (world, self->campaign, SIM_E20);
}

static void
check_success (SimWorld *world, SimCampaign *self)
{
  gsize n;
  const guint32 *targets = dvm_campaign_get_targets (dvmd_campaign_get_record (self->campaign), &n);

  if (dvmd_campaign_get_kind (self->campaign) == DVM_CAMPAIGN_KIND_SHRINK)
    {
      world->tally->counts[SIM_COUNT_SHRUNK]++;
      sim_check_gone (world, self->campaign, SIM_E42);
      sim_check_not_in (world, self->campaign, SIM_E42);
      sim_hold (world, SIM_E40, self->offered || self->n_offers == 0);
      return;
    }
  world->tally->counts[SIM_COUNT_GROWN]++;
  /* A grow without targets has found that the hosts that it waited for stay. */
  sim_hold (world, SIM_E5, self->wired || n == 0);
  for (gsize i = 0; i < n; i++)
    if (sim_is_member (world, targets[i]))
      sim_hold (world, SIM_E42, dvmd_node_pool_get (dvmd_core_get_nodes (world->core), targets[i]) != NULL);
}

void
sim_check_not_in (SimWorld *world, DvmdCampaign *campaign, SimStatement statement)
{
  gsize n;
  const guint32 *targets = dvm_campaign_get_targets (dvmd_campaign_get_record (campaign), &n);

  for (gsize i = 0; i < n; i++)
    {
      /* A target without a rank was never launched. */
      if (targets[i] == 0)
        continue;
      sim_hold (world, statement, dvmd_node_pool_get (dvmd_core_get_nodes (world->core), targets[i]) == NULL);
      sim_hold (world, statement, !sim_world_is_member (world, targets[i]));
    }
}

static void
on_campaign_ended (DvmdCore *core, DvmdCampaign *campaign, gpointer user_data)
{
  SimWorld *world = user_data;
  SimCampaign *self = sim_world_get_campaign (world, dvmd_campaign_get_id (campaign));
  DvmCampaign *record = dvmd_campaign_get_record (campaign);

  if (world->setting.unchecked)
    return;
  sim_hold (world, SIM_E38, !world->in_phase_one);
  sim_hold (world, SIM_E47, ++self->n_ended == 1 && dvmd_campaign_get_ended (campaign));
  sim_hold (world, SIM_E43, dvm_campaign_get_alloc_id (record)[0] != '\0' || self->has_job);
  if (self->req_id != NULL)
    sim_hold (world, SIM_E43, g_strcmp0 (self->req_id, dvm_campaign_get_request_id (record)) == 0);
  if (dvmd_campaign_get_state (campaign) == DVM_CAMPAIGN_STATE_COMPLETED)
    check_success (world, self);
  else
    check_failure (world, self);
}

void
sim_statements_event (SimWorld *world, DvmdCampaign *campaign)
{
  SimCampaign *self = sim_world_get_campaign (world, dvmd_campaign_get_id (campaign));

  sim_hold (world, SIM_E47, ++self->n_events == 1 && dvmd_campaign_get_ended (campaign));
  sim_hold (world, SIM_E38, !world->in_phase_one);
  if (self->accepted)
    sim_hold (world, SIM_E50, (dvmd_campaign_get_requester (campaign) != NULL) == self->has_requester);
}

/* ---- agents ---- */

static gboolean
is_restart (SimWorld *world, guint rank)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (world->core), rank);

  return node != NULL && node->grow != NULL && dvmd_campaign_is_restart (node->grow);
}

guint
sim_count_restarts (SimWorld *world, const char *host, gboolean failed_alone)
{
  guint n = 0;

  for (guint i = 1; i < world->daemons->len; i++)
    {
      SimDaemon *daemon = sim_world_get (world, i);

      if (!g_str_equal (daemon->host, host))
        continue;
      if (daemon->restart && (!daemon->wired || !failed_alone))
        n++;
      else
        n = failed_alone ? 0 : n;
    }
  return n;
}

/* The last agent of the host was lost, and nobody has ordered it to go; no campaign's ticket waits for the new one. */
static void
check_restart (SimWorld *world, guint rank, const char *host)
{
  SimDaemon *last = NULL;

  for (guint i = 1; i < world->daemons->len; i++)
    if (g_str_equal (sim_world_get (world, i)->host, host))
      last = sim_world_get (world, i);
  sim_hold (world, SIM_HEAL_LOST, world->setting.heal && !world->shutdown);
  sim_hold (world, SIM_HEAL_LOST, last != NULL && (last->declared || (last->departed && last->restart)));
  sim_hold (world, SIM_HEAL_TRIES,
            sim_count_restarts (world, host, TRUE) < SIM_HEAL_LIMIT
                || dvmd_node_pool_count_up (dvmd_core_get_nodes (world->core)) == 0);
  sim_hold (world, SIM_HEAL_FREE,
            !dvmd_campaign_has_ticket (dvmd_node_pool_get (dvmd_core_get_nodes (world->core), rank)->grow));
}

void
sim_statements_restarted (SimWorld *world, DvmdCampaign *attempt, guint rank)
{
  SimDaemon *daemon = sim_world_get (world, rank);

  if (attempt->grown != DVMD_GROW_WIRED || daemon->wired)
    return;
  daemon->wired = TRUE;
  world->tally->counts[SIM_COUNT_HEALED]++;
  sim_world_reach (world, SIM_STEP_WIRED, rank);
}

gboolean
sim_is_coming_back (SimWorld *world, guint rank)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (world->core), rank);

  if (node == NULL || node->heal == NULL || world->shutdown || sim_is_member (world, rank))
    return FALSE;
  return node->healing || dvmd_node_pool_count_up (dvmd_core_get_nodes (world->core)) == 0;
}

void
sim_statements_launched (SimWorld *world, guint rank, const char *host)
{
  SimCampaign *grow;
  gboolean again = FALSE;

  if (world->setting.unchecked)
    return;
  grow = find_grow (world, rank);
  sim_hold (world, SIM_E37, !world->in_phase_one);
  sim_hold (world, SIM_E70, !dvmd_core_was_ready (world->core) || grow != NULL || is_restart (world, rank));
  if (is_restart (world, rank))
    check_restart (world, rank, host);
  if (grow != NULL)
    sim_hold (world, SIM_E44, !dvmd_campaign_get_ended (grow->campaign));
  for (guint i = 1; i < world->daemons->len; i++)
    {
      SimDaemon *daemon = sim_world_get (world, i);

      if (daemon == NULL || !g_str_equal (daemon->host, host))
        continue;
      again = TRUE;
      sim_hold (world, SIM_D14_LEAVING, daemon->departed || daemon->declared);
      if ((daemon->declared && !daemon->departed) || daemon->restart)
        sim_hold (world, SIM_D14_DOWN, dvmd_node_pool_get (dvmd_core_get_nodes (world->core), i) == NULL);
    }
  if (again)
    sim_hold (world, SIM_E67, sim_world_get (world, rank) == NULL || !sim_world_get (world, rank)->launched);
}

void
sim_statements_wire (SimWorld *world, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes)
{
  if (world->setting.unchecked)
    return;
  sim_hold (world, SIM_E37, !world->in_phase_one);
  sim_hold (world, SIM_E44, !dvmd_campaign_get_ended (campaign));
  for (guint i = 0; i < n_nodes; i++)
    {
      sim_hold (world, SIM_E5, sim_world_get (world, nodes[i]->rank)->reported);
      sim_hold (world, SIM_E22, sim_has_target (campaign, nodes[i]->rank));
    }
}

void
sim_statements_wired (SimWorld *world, gpointer data)
{
  SimCampaign *campaign = data;
  gsize n;
  const guint32 *targets = dvm_campaign_get_targets (dvmd_campaign_get_record (campaign->campaign), &n);

  campaign->wired = TRUE;
  for (gsize i = 0; i < n; i++)
    if (sim_world_is_member (world, targets[i]))
      {
        sim_world_get (world, targets[i])->wired = TRUE;
        sim_world_reach (world, SIM_STEP_WIRED, targets[i]);
      }
}

void
sim_statements_remove (SimWorld *world, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes)
{
  gboolean any = FALSE;

  if (world->setting.unchecked)
    return;
  sim_note_tickets (world);
  sim_hold (world, SIM_E37, !world->in_phase_one);
  for (guint i = 0; i < n_nodes; i++)
    {
      SimDaemon *daemon = sim_world_get (world, nodes[i]->rank);

      sim_hold (world, SIM_D10, nodes[i]->rank > 0);
      any |= sim_world_is_member (world, nodes[i]->rank);
      if (campaign == NULL)
        continue;
      sim_hold (world, SIM_E22, sim_has_target (campaign, nodes[i]->rank));
      sim_hold (world, SIM_D14_ORDERED, !daemon->ordered);
    }
  if (campaign == NULL || dvmd_campaign_is_restart (campaign))
    return;
  sim_hold (world, SIM_E44, !dvmd_campaign_get_ended (campaign));
  sim_hold (world, SIM_D17_TICKET, dvmd_campaign_has_ticket (campaign));
  if (any)
    /* The campaign may have relied on the order of another one, which could not be sent. */
    sim_hold (world, SIM_D12_REPAIR,
              ++sim_world_get_campaign (world, dvmd_campaign_get_id (campaign))->n_changes <= 1 + world->n_orders_lost);
}

void
sim_statements_offer (SimWorld *world, DvmdCampaign *campaign, const DvmdOffer *nodes, guint n)
{
  SimCampaign *self = sim_world_get_campaign (world, dvmd_campaign_get_id (campaign));
  gsize n_targets;
  const guint32 *targets;

  if (world->setting.unchecked)
    return;
  if (dvmd_campaign_get_kind (campaign) == DVM_CAMPAIGN_KIND_GROW)
    return;
  targets = dvm_campaign_get_targets (dvmd_campaign_get_record (campaign), &n_targets);
  sim_hold (world, SIM_E40, ++self->n_offers == 1 && !dvmd_campaign_get_ended (campaign));
  sim_hold (world, SIM_D17_TICKET, !dvmd_campaign_has_ticket (campaign));
  sim_check_gone (world, campaign, SIM_E40);
  sim_check_not_in (world, campaign, SIM_E40);
  for (guint i = 0; i < n; i++)
    {
      SimDaemon *daemon = NULL;

      for (gsize k = 0; k < n_targets; k++)
        if (sim_world_get (world, targets[k]) != NULL
            && g_str_equal (sim_world_get (world, targets[k])->host, nodes[i].name))
          daemon = sim_world_get (world, targets[k]);
      /* Nodes that are no targets were down, and are released with the campaign. */
      if (daemon == NULL)
        continue;
      sim_hold (world, SIM_D14_OFFERED, !daemon->offered);
      daemon->offered = TRUE;
    }
}

/* ---- jobs ---- */

void
sim_statements_submitted (SimWorld *world, DvmdJob *job)
{
  SimWatch *watch = g_new0 (SimWatch, 1);

  watch->job = g_object_ref (job);
  watch->waits = g_array_new (FALSE, FALSE, sizeof (guint));
  g_assert_cmpuint (dvmd_job_get_id (job), ==, world->watches->len + 1);
  g_ptr_array_add (world->watches, watch);
  world->tally->counts[SIM_COUNT_JOBS]++;
}

static void
check_drain (SimWorld *world, guint rank)
{
  for (guint i = 0; i < world->campaigns->len; i++)
    {
      DvmdCampaign *campaign = ((SimCampaign *)g_ptr_array_index (world->campaigns, i))->campaign;

      if (campaign->drain.state != DVMD_DRAIN_NONE)
        sim_hold (world, SIM_D15_DRAIN, !sim_has_target (campaign, rank));
    }
}

/* R4, R33-R36: reserved nodes are for jobs that name their session, others for jobs in the default session. */
static gboolean
is_in_pool (SimWorld *world, DvmdJob *job, DvmdNode *node)
{
  gboolean is_reserved = FALSE;
  gboolean is_named = FALSE;
  gboolean is_default = FALSE;

  for (guint i = 0; i < dvmd_job_get_sessions (job)->len; i++)
    {
      guint id = g_array_index (dvmd_job_get_sessions (job), guint, i);

      is_default |= id == 0;
      is_named |= id != 0 && dvmd_node_is_in (node, id);
    }
  for (guint i = 0; node->sessions != NULL && i < node->sessions->len; i++)
    is_reserved |= dvmd_session_is_reserved (
        dvmd_core_get_session (world->core, g_array_index (node->sessions, guint, i)));
  return is_named || (is_default && !is_reserved);
}

void
sim_statements_places (SimWorld *world, DvmdJob *job, const DvmdPlaces *places)
{
  sim_note_tickets (world);
  for (guint i = 0; i < places->n_nodes; i++)
    {
      if (!sim_world_get_watch (world, job)->has_own)
        sim_hold (world, SIM_R35, is_in_pool (world, job, places->nodes[i]));
      sim_hold (world, SIM_E13, dvm_node_get_state (places->nodes[i]->record) == DVM_NODE_STATE_UP);
      sim_hold (world, SIM_E13, !sim_is_leaving (world, places->nodes[i]->rank));
      check_drain (world, places->nodes[i]->rank);
      if (!world->shutdown)
        sim_hold (world, SIM_E13, sim_is_member (world, places->nodes[i]->rank));
    }
}

static void
check_staged (SimWorld *world, SimWatch *watch, guint rank)
{
  if (_dvm_job_spec_has_preloads (dvmd_job_get_spec (watch->job)))
    sim_hold (world, SIM_D2_STAGED,
              watch->staged != NULL && g_hash_table_contains (watch->staged, GUINT_TO_POINTER (rank)));
}

/* The release of the session waits for its jobs: jobs on their way may still be launched (D15). */
static gboolean
is_drained (SimWorld *world, DvmdSession *session)
{
  for (GList *l = dvmd_core_get_live_campaigns (world->core); l != NULL; l = l->next)
    {
      DvmdCampaign *campaign = l->data;

      if (campaign->session == session && campaign->drain.timeout > 0)
        return TRUE;
    }
  return FALSE;
}

void
sim_statements_send (SimWorld *world, DvmdJob *job)
{
  SimWatch *watch = sim_world_get_watch (world, job);
  g_autoptr (GArray) nodes = dvmd_map_get_nodes (dvmd_job_get_map (job));

  sim_note_tickets (world);
  sim_hold (world, SIM_E25, sim_find_ticket (world, TRUE, G_MAXUINT64) == NULL);
  sim_hold (world, SIM_E58, !dvm_job_state_is_error (dvmd_job_get_state (job)));
  for (guint i = 0; i < dvmd_job_get_sessions (job)->len; i++)
    {
      DvmdSession *session = dvmd_core_get_session (world->core, g_array_index (dvmd_job_get_sessions (job), guint, i));

      sim_hold (world, SIM_D18, session != NULL && (!dvmd_session_is_ending (session) || is_drained (world, session)));
    }
  sim_hold (world, SIM_E29, ++watch->n_sent == 1);
  sim_hold (world, SIM_E28, dvm_job_get_remapped (dvmd_job_get_record (job)) + 1 == watch->n_mapped);
  for (guint i = 0; i < nodes->len; i++)
    {
      guint rank = g_array_index (nodes, guint, i);
      DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (world->core), rank);

      sim_hold (world, SIM_E14, node != NULL && dvm_node_get_state (node->record) != DVM_NODE_STATE_DOWN);
      if (!world->shutdown)
        sim_hold (world, SIM_E14, sim_is_member (world, rank) && !sim_is_leaving (world, rank));
      check_staged (world, watch, rank);
    }
}

static void
park (SimWorld *world, SimWatch *watch, guint old_state)
{
  watch->parked = ++world->seq;
  g_array_set_size (world->released, 0);
  watch->parked_at_map = old_state == DVM_JOB_STATE_VM_READY || old_state == DVM_JOB_STATE_MAP;
  world->tally->counts[SIM_COUNT_PARKED]++;
  sim_hold (world, SIM_E62, world->campaigns->len > 0);
  /* A job that was let go and has not passed the gate yet waits on. */
  if (!watch->parks)
    note_waits (world, watch);
  watch->parks = TRUE;
  sim_world_reach (world, SIM_STEP_PARKED, dvmd_job_get_id (watch->job));
}

static gboolean
is_map_whole (SimWorld *world, SimWatch *watch)
{
  for (guint i = 0; i < watch->nodes->len; i++)
    {
      guint rank = g_array_index (watch->nodes, guint, i);

      if (!sim_is_member (world, rank) || sim_is_leaving (world, rank))
        return FALSE;
    }
  return TRUE;
}

/* Jobs that are let go together go in order: remapped ones first, then as they were submitted. */
static void
check_order (SimWorld *world, SimWatch *watch)
{
  guint place = dvmd_job_get_id (watch->job) + (watch->n_mapped == 0 ? G_MAXINT32 : 0);

  if (world->released->len > 0)
    sim_hold (world, SIM_D4_ORDER, g_array_index (world->released, guint, world->released->len - 1) < place);
  g_array_append_val (world->released, place);
}

static void
unpark (SimWorld *world, SimWatch *watch, guint new_state)
{
  watch->parked = 0;
  watch->was_parked = TRUE;
  if (watch->parked_at_map && !dvm_job_state_is_error (new_state))
    check_order (world, watch);
}

/* A job that has a map goes back to where it gets another one. */
static void
check_remap (SimWorld *world, SimWatch *watch)
{
  sim_hold (world, SIM_E27, dvmd_staging_is_half (watch->job) || !is_map_whole (world, watch));
  g_clear_pointer (&watch->nodes, g_array_unref);
}

/* A gate looks at campaigns that began before the job came to it. */
static void
check_map_gate (SimWorld *world, SimWatch *watch)
{
  gboolean is_open = sim_find_ticket (world, FALSE, watch->ready) == NULL;

  if (watch->was_parked)
    sim_hold (world, SIM_E16, is_open);
  else
    sim_hold (world, SIM_E15, is_open);
  watch->was_parked = FALSE;
}

static void
check_abort (SimWorld *world, SimWatch *watch)
{
  const char *reason = dvm_job_get_reason (dvmd_job_get_record (watch->job));

  if (world->shutdown || !dvmd_core_was_ready (world->core))
    return;
  sim_hold (world, SIM_E21, watch->may[0] & (G_GUINT64_CONSTANT (1) << DVM_JOB_STATE_NEVER_LAUNCHED));
  sim_hold (world, SIM_E21, reason != NULL && (strstr (reason, "ampaign") != NULL || watch->session_ended));
  sim_hold (world, SIM_E58, watch->n_sent == 0);
  if (watch->n_mapped > 0)
    sim_hold (world, SIM_D4_REMAPPED, watch->has_own || watch->session_ended);
}

static void
check_kill (SimWorld *world, SimWatch *watch)
{
  if (!watch->may_be_killed && !world->shutdown)
    sim_hold (world, SIM_D15_KILLED, strstr (dvm_job_get_reason (dvmd_job_get_record (watch->job)), "ampaign") != NULL);
}

static void
on_state_changed (DvmdCore *core, DvmdJob *job, guint old_state, guint new_state, gpointer user_data)
{
  SimWorld *world = user_data;
  SimWatch *watch = sim_world_get_watch (world, job);

  sim_note_tickets (world);
  sim_world_trace (world, "job %u: %s -> %s", dvmd_job_get_id (job), dvm_job_state_to_string (old_state),
                   dvm_job_state_to_string (new_state));
  sim_hold (world, SIM_E9, !dvm_job_state_is_error (old_state) && old_state != DVM_JOB_STATE_NOTIFIED);
  sim_hold (world, SIM_E9, watch->n_ended == 0);
  if (old_state == DVM_JOB_STATE_WAITING_FOR_DAEMONS)
    unpark (world, watch, new_state);
  if (new_state == DVM_JOB_STATE_WAITING_FOR_DAEMONS)
    park (world, watch, old_state);
  if (new_state == DVM_JOB_STATE_VM_READY)
    watch->ready = ++world->seq;
  if (new_state != DVM_JOB_STATE_WAITING_FOR_DAEMONS)
    {
      watch->asked = ++world->seq;
      watch->asked_at = dvmd_clock_monotonic (world->clock);
    }
  if (new_state == DVM_JOB_STATE_VM_READY && watch->nodes != NULL)
    check_remap (world, watch);
  /* A job that finds no slots behind the gate comes to it again. */
  if (new_state == DVM_JOB_STATE_MAP || new_state == DVM_JOB_STATE_ALLOCATE
      || new_state == DVM_JOB_STATE_SEND_LAUNCH_MSG)
    watch->parks = FALSE;
  if (new_state == DVM_JOB_STATE_MAP)
    check_map_gate (world, watch);
  if (new_state == DVM_JOB_STATE_MAP_COMPLETE)
    {
      watch->n_mapped++;
      watch->nodes = dvmd_map_get_nodes (dvmd_job_get_map (job));
    }
  if (new_state == DVM_JOB_STATE_LAUNCH_APPS)
    sim_world_reach (world, SIM_STEP_GATE, dvmd_job_get_id (job));
  if (new_state == DVM_JOB_STATE_NEVER_LAUNCHED)
    check_abort (world, watch);
  if (new_state == DVM_JOB_STATE_KILLED_BY_CMD)
    check_kill (world, watch);
}

static void
on_ended (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  sim_world_get_watch (user_data, job)->n_ended++;
}

/* Grows of a session that ends are called off, and its jobs that have not been launched never will be. */
static void
on_session_state_changed (DvmdCore *core, DvmdSession *session, const char *old_word, const char *new_word,
                          const char *reason, gpointer user_data)
{
  SimWorld *world = user_data;
  const char *alloc_id = dvmd_session_get_alloc_id (session);

  if (g_str_equal (new_word, "active"))
    return;
  for (guint i = 0; i < world->campaigns->len; i++)
    {
      SimCampaign *campaign = g_ptr_array_index (world->campaigns, i);

      if (g_strcmp0 (dvm_campaign_get_alloc_id (dvmd_campaign_get_record (campaign->campaign)), alloc_id) == 0)
        campaign->cancelled |= dvmd_campaign_get_kind (campaign->campaign) == DVM_CAMPAIGN_KIND_GROW;
    }
  for (guint i = 0; i < world->watches->len; i++)
    {
      SimWatch *watch = g_ptr_array_index (world->watches, i);

      for (guint k = 0; dvmd_job_get_sessions (watch->job) != NULL && k < dvmd_job_get_sessions (watch->job)->len; k++)
        if (g_array_index (dvmd_job_get_sessions (watch->job), guint, k) == dvmd_session_get_id (session))
          {
            watch->session_ended = TRUE;
            sim_may_end (world, watch->job, DVM_JOB_STATE_NEVER_LAUNCHED);
          }
    }
}

static void
on_job_added (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  sim_statements_submitted (user_data, job);
}

void
sim_statements_watch (SimWorld *world)
{
  g_signal_connect (world->core, "job-added", G_CALLBACK (on_job_added), world);
  g_signal_connect (world->core, "job-ended", G_CALLBACK (on_ended), world);
  g_signal_connect (world->core, "job-state-changed", G_CALLBACK (on_state_changed), world);
  g_signal_connect (world->core, "session-state-changed", G_CALLBACK (on_session_state_changed), world);
  g_signal_connect (world->core, "campaign-added", G_CALLBACK (on_campaign_added), world);
  g_signal_connect (world->core, "campaign-state-changed", G_CALLBACK (on_campaign_state_changed), world);
  g_signal_connect (world->core, "campaign-ended", G_CALLBACK (on_campaign_ended), world);
}

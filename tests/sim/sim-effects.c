/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the core asks for, as the engine would do it, and what agents answer.
 */

#include "config.h"

#include "sim-event-checks.h"

#include "dvmd-campaign-inner.h"

void
sim_may_end (SimWorld *self, DvmdJob *job, DvmJobState state)
{
  sim_world_get_watch (self, job)->may[state / 64] |= G_GUINT64_CONSTANT (1) << (state % 64);
}

void
sim_all_may_end (SimWorld *self, DvmJobState state)
{
  for (GList *l = dvmd_core_get_live_jobs (self->core); l != NULL; l = l->next)
    sim_may_end (self, l->data, state);
}

static void
say (SimWorld *self, guint rank, SimKind kind, DvmdJob *job, gboolean flag)
{
  SimMessage *message = sim_message_new (kind, rank, job);

  message->flag = flag;
  if (kind == SIM_LAUNCH)
    message->ranks = dvmd_map_expand_node (dvmd_job_get_map (job), rank);
  sim_world_say (self, rank, message);
}

static void
say_to_job (SimWorld *self, DvmdJob *job, SimKind kind, gboolean flag)
{
  g_autoptr (GArray) nodes = dvmd_map_get_nodes (dvmd_job_get_map (job));

  for (guint i = 0; i < nodes->len; i++)
    say (self, g_array_index (nodes, guint, i), kind, job, flag);
}

/* ---- agents come ---- */

static void
launch_one (SimWorld *self, DvmdNode *node)
{
  SimDaemon *daemon;
  gint64 soon = sim_world_soon (self);

  sim_statements_launched (self, node->rank, dvm_node_get_name (node->record));
  daemon = sim_world_add_daemon (self, node->rank, dvm_node_get_name (node->record));
  daemon->restart = node->grow != NULL && dvmd_campaign_is_restart (node->grow);
  switch (daemon->fate)
    {
    case SIM_FATE_NOT_STARTED:
      sim_world_post (self, soon, SIM_POST_FAIL, node->rank, DVMD_CAUSE_LAUNCH);
      break;
    case SIM_FATE_NO_CONNECTION:
      sim_world_post (self, soon, SIM_POST_FAIL, node->rank, DVMD_CAUSE_CONNECT);
      break;
    case SIM_FATE_NOT_AUTHENTIC:
      sim_world_post (self, soon, SIM_POST_FAIL, node->rank, DVMD_CAUSE_AUTHENTICATION);
      break;
    case SIM_FATE_SILENT:
      break;
    case SIM_FATE_LATE:
      sim_world_post (self, SIM_GROW_TIMEOUT * G_TIME_SPAN_SECOND + soon, SIM_POST_START, node->rank, 0);
      break;
    case SIM_FATE_GOOD:
    default:
      sim_world_post (self, soon, SIM_POST_START, node->rank, 0);
    }
  sim_world_reach (self, SIM_STEP_LAUNCH, node->rank);
}

static void
launch_agents (gpointer data, DvmdNode *const *nodes, guint n_nodes)
{
  for (guint i = 0; i < n_nodes; i++)
    launch_one (data, nodes[i]);
}

/* Makes one new table with the agents that are neither lost nor departed nor members yet. 0: nothing changes */
static guint64
wire (SimWorld *self, DvmdNode *const *nodes, guint n_nodes)
{
  g_autoptr (GArray) joined = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 0; i < n_nodes; i++)
    {
      guint32 rank = nodes[i]->rank;
      SimDaemon *daemon = sim_world_get (self, rank);

      if (daemon->declared || daemon->departed || daemon->lost_untold || sim_world_is_member (self, rank))
        continue;
      g_array_append_val (joined, rank);
      sim_world_reach (self, SIM_STEP_WIRE, rank);
    }
  if (joined->len == 0)
    return 0;
  return dvmd_tree_change (sim_world_get (self, 0)->tree, (guint32 *)joined->data, joined->len, NULL, 0,
                           DVMD_LEFT_ORDERED);
}

static void
wire_agents (gpointer data, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes)
{
  SimWorld *self = data;
  guint number = 0;

  if (campaign != NULL)
    {
      number = dvmd_campaign_is_restart (campaign) ? SIM_RESTART (nodes[0]->rank) : dvmd_campaign_get_id (campaign);
      sim_statements_wire (self, campaign, nodes, n_nodes);
    }
  sim_world_await (self, number, wire (self, nodes, n_nodes));
}

static void
dvm_ready (gpointer data)
{
  SimWorld *self = data;

  for (guint rank = 1; rank < self->daemons->len; rank++)
    sim_world_get (self, rank)->wired = sim_world_is_member (self, rank);
}

/* ---- agents go ---- */

static void
order_members (SimWorld *self, GArray *ranks, DvmdSendOff *order)
{
  g_autoptr (DvmdRoutes) old = dvmd_routes_ref (sim_world_get_routes (self));
  g_autoptr (GArray) parents = g_array_new (FALSE, FALSE, sizeof (guint32));
  const guint32 *left = (const guint32 *)ranks->data;

  for (guint i = 0; i < ranks->len; i++)
    {
      guint32 parent = dvmd_routes_get_parent (old, left[i]);

      g_array_append_val (parents, parent);
      sim_world_reach (self, SIM_STEP_ORDER, left[i]);
    }
  dvmd_departures_order (self->departures, left, (const guint32 *)parents->data, ranks->len);
  dvmd_tree_change (sim_world_get (self, 0)->tree, NULL, 0, left, ranks->len, DVMD_LEFT_ORDERED);
  order->repairs = 1;
  order->links_changed = dvmd_routes_count_new_links (old, sim_world_get_routes (self));
}

static void
order_away (SimWorld *self, DvmdSendOff *order)
{
  g_autoptr (GArray) members = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) others = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 0; i < order->n_nodes; i++)
    sim_expect_loss (self, order->nodes[i]->rank, TRUE);
  if (self->order_fails && order->campaign != NULL
      && dvmd_campaign_get_kind (order->campaign) == DVM_CAMPAIGN_KIND_SHRINK)
    {
      self->order_fails = FALSE;
      self->n_orders_lost++;
      sim_world_get_campaign (self, dvmd_campaign_get_id (order->campaign))->order_failed = TRUE;
      sim_world_post (self, sim_world_soon (self), SIM_POST_NOT_SENT, dvmd_campaign_get_id (order->campaign), 0);
      return;
    }
  sim_statements_remove (self, order->campaign, order->nodes, order->n_nodes);
  for (guint i = 0; i < order->n_nodes; i++)
    {
      guint32 rank = order->nodes[i]->rank;

      g_array_append_val (sim_world_is_member (self, rank) ? members : others, rank);
      sim_world_get (self, rank)->ordered = TRUE;
    }
  if (members->len > 0)
    order_members (self, members, order);
  if (others->len > 0)
    dvmd_departures_end (self->departures, (const guint32 *)others->data, others->len);
}

static void
offer_nodes (gpointer data, DvmdCampaign *campaign, const DvmdOffer *nodes, guint n)
{
  SimWorld *self = data;
  gint64 delay = SIM_ALLOCATOR_TIMEOUT * G_TIME_SPAN_SECOND;

  /* An offer of nodes that were down has no campaign, and its answer is not waited for. */
  if (campaign == NULL)
    return;
  sim_statements_offer (self, campaign, nodes, n);
  sim_world_reach (self, SIM_STEP_OFFER, dvmd_campaign_get_id (campaign));
  if (self->allocator == 0)
    delay = sim_world_soon (self);
  else if (self->allocator == 1)
    delay = sim_world_chance (self, SIM_ALLOCATOR_TIMEOUT * G_TIME_SPAN_SECOND);
  sim_world_post (self, delay, SIM_POST_OFFERED, dvmd_campaign_get_id (campaign), 0);
}

static void
campaign_ended (gpointer data, DvmdCampaign *campaign)
{
  sim_statements_event (data, campaign);
}

/* ---- jobs ---- */

static DvmdMap *
map_job (gpointer data, DvmdJob *job, const DvmdPlaces *places, GError **error)
{
  SimWorld *self = data;
  GArray *np = dvmd_job_get_app_np (job);
  DvmdMap *map = dvmd_map_new ();
  guint n_nodes = places->n_nodes;
  g_autofree guint *left = g_memdup2 (places->limits, n_nodes * sizeof *left);
  guint at = sim_world_chance (self, n_nodes);
  guint rank = 0;
  guint full = 0;

  sim_statements_places (self, job, places);
  for (guint app = 0; app < np->len; app++)
    for (guint n = g_array_index (np, guint, app); n > 0; at = (at + 1) % n_nodes)
      {
        guint most = places->oversubscribe && full >= n_nodes ? n : left[at];
        guint take = most > 0 ? 1 + sim_world_chance (self, MIN (most, n)) : 0;

        full = take > 0 ? 0 : full + 1;
        left[at] -= MIN (take, left[at]);
        if (take > 0)
          dvmd_map_add_run (
              map, &(DvmdMapRow){
                       .node = places->nodes[at]->rank, .app = app, .first_rank = rank, .count = take, .stride = 1 });
        rank += take;
        n -= take;
      }
  return map;
}

static void
stage_files (gpointer data, DvmdJob *job)
{
  SimWatch *watch = sim_world_get_watch (data, job);
  g_autoptr (GArray) old = g_steal_pointer (&watch->staging);

  /* Agents that are not in the new map remove the files that they have got. */
  for (guint i = 0; old != NULL && i < old->len; i++)
    if (dvmd_map_count_on_node (dvmd_job_get_map (job), g_array_index (old, guint, i)) == 0)
      say (data, g_array_index (old, guint, i), SIM_KILL, job, FALSE);
  watch->staging = dvmd_map_get_nodes (dvmd_job_get_map (job));
  g_clear_pointer (&watch->staged, g_hash_table_unref);
  watch->staged = g_hash_table_new (NULL, NULL);
  say_to_job (data, job, SIM_STAGE, FALSE);
}

static void
send_launch (gpointer data, DvmdJob *job)
{
  sim_statements_send (data, job);
  sim_world_reach (data, SIM_STEP_SEND, dvmd_job_get_id (job));
  say_to_job (data, job, SIM_LAUNCH, dvmd_job_stops (job));
}

static void
kill_job (gpointer data, DvmdJob *job)
{
  say_to_job (data, job, SIM_KILL, dvmd_core_get_forced (dvmd_job_get_core (job)));
}

static void
node_lost (gpointer data, DvmdJob *job, DvmdNode *node)
{
}

static void
warn_job (gpointer data, DvmdJob *job, DvmdNode *node, gint64 when)
{
  SimWorld *self = data;

  sim_hold (self, SIM_D15_WARN, dvmd_job_is_launched (job) && when >= dvmd_clock_monotonic (self->clock));
}

static void
tell (gpointer data, DvmdJob *job)
{
}

static void
see_off (gpointer data, DvmdSendOff *order)
{
  SimWorld *self = data;

  if (order->nodes != NULL)
    {
      order_away (self, order);
      return;
    }
  self->stopping = TRUE;
  for (guint rank = 1; rank < self->daemons->len; rank++)
    if (sim_world_is_member (self, rank))
      say (self, rank, SIM_STOP, NULL, order->force);
    else
      sim_world_terminate (sim_world_get (self, rank));
}

static void
dvm_ended (gpointer data, DvmJobState state, const char *reason)
{
  SimWorld *self = data;

  self->n_ended++;
  self->end_state = state;
}

const DvmdEffects sim_effects = {
  .launch_agents = launch_agents,
  .dvm_ready = dvm_ready,
  .wire_agents = wire_agents,
  .warn_job = warn_job,
  .offer_nodes = offer_nodes,
  .campaign_ended = campaign_ended,
  .placement.map = map_job,
  .stage_files = stage_files,
  .send_launch = send_launch,
  .kill = kill_job,
  .node_lost = node_lost,
  .tell_started = tell,
  .tell_ended = tell,
  .see_off = see_off,
  .dvm_ended = dvm_ended,
};

/* ---- what jobs may end in ---- */

static DvmJobState
job_state_for (DvmProcState state)
{
  switch (state)
    {
    case DVM_PROC_STATE_ABORTED_BY_SIG:
      return DVM_JOB_STATE_ABORTED_BY_SIG;
    case DVM_PROC_STATE_TERM_WO_SYNC:
      return DVM_JOB_STATE_ABORTED_WO_SYNC;
    case DVM_PROC_STATE_CALLED_ABORT:
      return DVM_JOB_STATE_CALLED_ABORT;
    case DVM_PROC_STATE_TERM_NON_ZERO:
      return DVM_JOB_STATE_NON_ZERO_TERM;
    default:
      return DVM_JOB_STATE_KILLED_BY_CMD;
    }
}

void
sim_expect_loss (SimWorld *self, guint rank, gboolean ordered)
{
  for (GList *l = dvmd_core_get_live_jobs (self->core); l != NULL; l = l->next)
    {
      DvmdJob *job = l->data;

      if (dvmd_job_get_map (job) == NULL || dvmd_map_count_on_node (dvmd_job_get_map (job), rank) == 0)
        continue;
      /* A job that was not sent is mapped again; it may be sent before the controller knows of the loss. */
      if (!ordered)
        sim_may_end (self, job, DVM_JOB_STATE_COMM_FAILED);
      if (!ordered)
        sim_may_end (self, job, DVM_JOB_STATE_FAILED_TO_LAUNCH);
      if ((ordered || sim_is_leaving (self, rank)) && dvmd_job_is_launched (job))
        sim_may_end (self, job, DVM_JOB_STATE_KILLED_BY_CMD);
    }
}

/* ---- messages to the controller ---- */

static void
take_launched (SimWorld *self, const SimMessage *message)
{
  for (guint i = 0; i < message->starts->len; i++)
    {
      const SimStart *start = &g_array_index (message->starts, SimStart, i);

      if (start->pid == 0)
        sim_may_end (self, message->job, DVM_JOB_STATE_FAILED_TO_START);
      dvmd_core_proc_launched (self->core, message->job, start->rank, start->pid, start->pid > 0 ? 0 : 127,
                               start->pid > 0 ? NULL : "it is not there");
    }
  dvmd_core_local_launch_complete (self->core, message->job, message->agent);
}

static void
take_state (SimWorld *self, const SimMessage *message)
{
  if (dvm_proc_state_is_error (message->state))
    sim_may_end (self, message->job, job_state_for (message->state));
  /* Ranks that have registered may wait for one that ended without registering. */
  if (message->state == DVM_PROC_STATE_REGISTERED)
    sim_may_end (self, message->job, DVM_JOB_STATE_ABORTED_WO_SYNC);
  dvmd_core_proc_state (self->core, message->job, message->rank, message->state, message->exit_code,
                        message->exit_signal);
}

static void
take_staged (SimWorld *self, const SimMessage *message)
{
  SimWatch *watch = sim_world_get_watch (self, message->job);

  if (message->flag)
    sim_may_end (self, message->job, DVM_JOB_STATE_FILES_POSN_FAILED);
  if (watch->staged != NULL)
    g_hash_table_add (watch->staged, GUINT_TO_POINTER (message->agent));
  dvmd_core_files_staged (self->core, message->job, message->agent, message->flag ? "no room" : NULL);
}

void
sim_take (SimWorld *self, const SimMessage *message)
{
  self->dirty = TRUE;
  switch (message->kind)
    {
    case SIM_STAGED:
      take_staged (self, message);
      break;
    case SIM_LAUNCHED:
      take_launched (self, message);
      break;
    case SIM_STATE:
      take_state (self, message);
      break;
    case SIM_ABORT:
      sim_may_end (self, message->job, DVM_JOB_STATE_CALLED_ABORT);
      dvmd_core_abort_called (self->core, message->job, message->rank, 7, "no more");
      break;
    case SIM_JOB_GONE:
      dvmd_core_job_gone (self->core, message->job, message->agent);
      break;
    case SIM_GONE:
    default:
      dvmd_core_agent_ended (self->core, message->agent, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
      break;
    }
}

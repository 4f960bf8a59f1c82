/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The world as a whole: what will happen in it, departures and losses, and what its network tells.
 */

#include "config.h"

#include "sim-world.h"

#include <stdarg.h>

#include "sim-daemon.h"
#include "sim-event-checks.h"
#include "sim-seeds.h"

/* Losses that come so close together (µs) are one repair. */
#define LOST_DELAY (10 * G_TIME_SPAN_MILLISECOND)

/* The remains of agents that have departed are cleaned up after so long. */
#define CLEAN_DELAY (50 * G_TIME_SPAN_MILLISECOND)

guint
sim_world_chance (SimWorld *self, guint n)
{
  return g_rand_int_range (self->rand, 0, n);
}

gint64
sim_world_soon (SimWorld *self)
{
  return sim_world_chance (self, self->setting.max_delay) + 1;
}

SimDaemon *
sim_world_get (SimWorld *self, guint rank)
{
  return rank < self->daemons->len ? g_ptr_array_index (self->daemons, rank) : NULL;
}

SimCampaign *
sim_world_get_campaign (SimWorld *self, guint id)
{
  return id > 0 && id <= self->campaigns->len ? g_ptr_array_index (self->campaigns, id - 1) : NULL;
}

SimWatch *
sim_world_get_watch (SimWorld *self, DvmdJob *job)
{
  return g_ptr_array_index (self->watches, dvmd_job_get_id (job) - 1);
}

DvmdRoutes *
sim_world_get_routes (SimWorld *self)
{
  return dvmd_tree_get_routes (sim_world_get (self, 0)->tree);
}

gboolean
sim_world_is_member (SimWorld *self, guint rank)
{
  return dvmd_routes_contains (sim_world_get_routes (self), rank);
}

void
sim_world_trace (SimWorld *self, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  if (!sim_seeds_is_traced ())
    return;
  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_printerr ("%9.3f ms  %s\n", (double)dvmd_clock_monotonic (self->clock) / 1000, text);
}

const char *
sim_step_to_string (SimStep step)
{
  static const char *const names[SIM_N_STEPS] = {
    "now",  "launch", "start", "join",     "report", "wire",   "wired", "order", "leave",
    "idle", "left",   "exit",  "departed", "offer",  "parked", "gate",  "send",
  };

  return names[step];
}

const char *
sim_fate_to_string (SimFate fate)
{
  static const char *const names[SIM_N_FATES] = { "good",          "not started", "no connection",
                                                  "not authentic", "silent",      "late" };

  return names[fate];
}

/* ---- what will happen ---- */

void
sim_world_post (SimWorld *self, gint64 delay, SimPostKind what, guint a, guint b)
{
  SimPost post = { what, a, b };

  g_array_append_val (self->posts, post);
  sim_net_add_action (self->net, delay, GUINT_TO_POINTER (self->posts->len - 1));
}

static void
on_queue_has_work (gpointer user_data)
{
  SimWorld *self = user_data;

  if (self->draining)
    return;
  self->draining = TRUE;
  sim_world_post (self, sim_world_chance (self, 4) == 0 ? sim_world_soon (self) : 0, SIM_POST_DRAIN, 0, 0);
}

/* Events of the core are handled one by one, and other things happen between them. */
static void
drain (SimWorld *self)
{
  guint n = sim_world_chance (self, 2) == 0 ? 1 + sim_world_chance (self, 2) : 0;

  self->draining = FALSE;
  if (dvmd_event_queue_drain (self->queue, n))
    on_queue_has_work (self);
}

/* ---- moments ---- */

void
sim_world_arm (SimWorld *self, SimStep step, guint action)
{
  SimTrap trap = { step, action };

  g_array_append_val (self->traps, trap);
}

void
sim_world_reach (SimWorld *self, SimStep step, guint rank)
{
  sim_world_trace (self, "%s %u", sim_step_to_string (step), rank);
  self->seq++;
  for (guint i = 0; i < self->traps->len; i++)
    {
      SimTrap *trap = &g_array_index (self->traps, SimTrap, i);

      if (trap->step != step)
        continue;
      sim_world_post (self, sim_world_chance (self, 2) == 0 ? 0 : sim_world_soon (self), SIM_POST_DO, trap->action,
                      rank);
      g_array_remove_index (self->traps, i);
      return;
    }
}

/* ---- departures ---- */

static void
departures_terminate (gpointer data, const guint32 *ranks, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      SimDaemon *daemon = sim_world_get (data, ranks[i]);

      if (!daemon->terminated)
        sim_world_terminate (daemon);
      else
        sim_world_post (data, sim_world_soon (data), SIM_POST_ENDED, ranks[i], 0);
    }
}

static void
departures_departed (gpointer data, guint32 rank, DvmdDepartedHow how)
{
  SimWorld *world = data;
  SimDaemon *daemon = sim_world_get (world, rank);

  sim_hold (world, SIM_E30, sim_is_gone (daemon));
  sim_hold (world, SIM_E56, !daemon->departed);
  daemon->departed = TRUE;
  world->dirty = TRUE;
  sim_world_reach (world, SIM_STEP_DEPARTED, rank);
  if (world->forgotten->len == 0)
    sim_world_post (world, CLEAN_DELAY, SIM_POST_CLEAN, 0, 0);
  g_array_append_val (world->forgotten, rank);
  dvmd_core_agent_ended (world->core, rank, DVMD_AGENT_DEPARTED, DVMD_CAUSE_NONE, NULL);
}

/* Cleans up after the agents that have departed, all at once. */
static void
clean_up (SimWorld *self)
{
  g_autoptr (GArray) forgotten = g_steal_pointer (&self->forgotten);

  self->forgotten = g_array_new (FALSE, FALSE, sizeof (guint32));
  dvmd_tree_forget (sim_world_get (self, 0)->tree, (const guint32 *)forgotten->data, forgotten->len);
  for (guint i = 0; i < forgotten->len; i++)
    sim_world_terminate (sim_world_get (self, g_array_index (forgotten, guint32, i)));
}

static const DvmdDepartureFuncs departure_funcs = {
  .terminate = departures_terminate,
  .departed = departures_departed,
};

/* ---- losses ---- */

static void
declare (SimDaemon *self)
{
  SimWorld *world = self->world;

  self->lost_untold = FALSE;
  self->declared = TRUE;
  sim_expect_loss (world, self->rank, FALSE);
  sim_world_trace (world, "declared %u", self->rank);
  sim_note_cause (world, self->rank, DVMD_CAUSE_LOST);
  dvmd_core_agent_ended (world->core, self->rank, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "connection closed");
  sim_world_terminate (self);
}

void
sim_world_lose_later (SimWorld *self)
{
  if (!self->losing)
    sim_world_post (self, LOST_DELAY, SIM_POST_LOST, 0, 0);
  self->losing = TRUE;
}

static gboolean
is_ordered (SimWorld *self, guint32 rank)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (self->core), rank);

  return node != NULL && node->stage == DVMD_STAGE_ORDERED;
}

static void
tell_lost (SimWorld *self)
{
  g_autoptr (GArray) lost = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) left = g_array_new (FALSE, FALSE, sizeof (guint32));

  self->losing = FALSE;
  for (guint32 rank = 1; rank < self->daemons->len; rank++)
    {
      SimDaemon *daemon = sim_world_get (self, rank);

      if (daemon == NULL || !daemon->lost_untold)
        continue;
      /* The agent has been ordered to leave meanwhile. */
      if (dvmd_departures_contains (self->departures, rank))
        {
          daemon->lost_untold = FALSE;
          dvmd_departures_link_lost (self->departures, rank, 0);
          continue;
        }
      /* The order to the agent could not be sent, and the core does not know that yet. */
      if (is_ordered (self, rank))
        {
          sim_world_lose_later (self);
          continue;
        }
      g_array_append_val (lost, rank);
      if (sim_world_is_member (self, rank))
        g_array_append_val (left, rank);
    }
  if (left->len > 0)
    dvmd_tree_change (sim_world_get (self, 0)->tree, NULL, 0, (guint32 *)left->data, left->len, DVMD_LEFT_LOST);
  for (guint i = 0; i < lost->len; i++)
    declare (sim_world_get (self, g_array_index (lost, guint32, i)));
}

void
sim_world_repeat (SimWorld *self, guint rank, guint which)
{
  SimDaemon *daemon = sim_world_get (self, rank);
  guint fence;

  if (daemon == NULL || rank == 0 || (!daemon->departed && !daemon->declared))
    return;
  sim_world_trace (self, "said again of %u", rank);
  fence = dvmd_core_get_launch_fence (self->core);
  if (which % 3 == 0)
    dvmd_core_agent_ended (self->core, rank, DVMD_AGENT_LOST, DVMD_CAUSE_LOST, "connection closed, again");
  else if (which % 3 == 1)
    dvmd_core_agent_ended (self->core, rank, DVMD_AGENT_FAILED, DVMD_CAUSE_CONNECT, "it is not there, again");
  else if (daemon->departed)
    dvmd_core_agent_ended (self->core, rank, DVMD_AGENT_DEPARTED, DVMD_CAUSE_NONE, NULL);
  sim_hold (self, SIM_E66, dvmd_core_get_launch_fence (self->core) == fence);
}

/* ---- what the controller does ---- */

void
sim_world_begin_work (SimWorld *self)
{
  self->cost.work -= self->setting.read_meter != NULL ? self->setting.read_meter () : 0;
}

void
sim_world_end_work (SimWorld *self)
{
  self->cost.work += self->setting.read_meter != NULL ? self->setting.read_meter () : 0;
}

/* ---- what the network tells ---- */

/* Is called after everything that can have changed something. */
static void
look (SimWorld *self, guint rank)
{
  if (rank > 0)
    sim_daemon_look (sim_world_get (self, rank));
  self->seq++;
  if (self->dirty)
    sim_statements_check (self);
  self->dirty = FALSE;
}

static void
begin_of (SimWorld *self, guint32 rank)
{
  if (rank == 0)
    sim_world_begin_work (self);
}

static void
end_of (SimWorld *self, guint32 rank)
{
  if (rank == 0)
    sim_world_end_work (self);
}

static void
net_link_up (gpointer data, guint32 rank, guint32 neighbour)
{
  SimWorld *self = data;
  SimDaemon *other = sim_world_get (self, neighbour);

  begin_of (self, rank);
  dvmd_tree_link_up (sim_world_get (self, rank)->tree, neighbour);
  end_of (self, rank);
  look (self, rank);
  if (rank != 0 || other->joined)
    return;
  other->joined = TRUE;
  sim_world_reach (self, SIM_STEP_JOIN, neighbour);
  sim_world_post (self, sim_world_soon (self), SIM_POST_REPORT, neighbour, 0);
}

static void
net_link_down (gpointer data, guint32 rank, guint32 neighbour)
{
  begin_of (data, rank);
  dvmd_tree_link_down (sim_world_get (data, rank)->tree, neighbour);
  end_of (data, rank);
  look (data, rank);
}

static void
net_connect_failed (gpointer data, guint32 rank, guint32 neighbour)
{
  dvmd_tree_connect_failed (sim_world_get (data, rank)->tree, neighbour);
  look (data, rank);
}

static void
net_receive (gpointer data, guint32 rank, guint32 neighbour, DvmdPacket *packet)
{
  begin_of (data, rank);
  dvmd_tree_receive (sim_world_get (data, rank)->tree, neighbour, packet);
  end_of (data, rank);
  look (data, rank);
}

/* ---- what was to happen ---- */

static void
restart_answer (SimWorld *self, guint rank)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (self->core), rank);
  g_autoptr (DvmdCampaign) attempt = node != NULL && node->grow != NULL ? g_object_ref (node->grow) : NULL;

  if (attempt == NULL)
    return;
  dvmd_core_agents_wired (self->core, attempt);
  sim_statements_restarted (self, attempt, rank);
}

static void
campaign_answer (SimWorld *self, const SimPost *post)
{
  SimCampaign *campaign = sim_world_get_campaign (self, post->a);

  if (post->what == SIM_POST_OFFERED)
    {
      campaign->offered = TRUE;
      dvmd_core_offered (self->core, campaign->campaign);
    }
  else if (post->what == SIM_POST_NOT_SENT)
    dvmd_core_order_failed (self->core, campaign->campaign, "no memory");
  else
    {
      sim_statements_wired (self, campaign);
      campaign->wired = TRUE;
      dvmd_core_agents_wired (self->core, campaign->campaign);
    }
}

static void
lost_answer (SimWorld *self, const SimPost *post)
{
  if (post->b == 0)
    tell_lost (self);
  else
    dvmd_departures_link_lost (self->departures, post->a, post->b - 1);
}

static void
do_post (SimWorld *self, const SimPost *post)
{
  SimDaemon *daemon = sim_world_get (self, post->a);

  switch ((SimPostKind)post->what)
    {
    case SIM_POST_DRAIN:
      drain (self);
      break;
    case SIM_POST_ACT:
      sim_daemon_act (daemon);
      break;
    case SIM_POST_START:
      sim_daemon_start (daemon);
      break;
    case SIM_POST_FAIL:
      sim_daemon_fail (daemon, post->b);
      break;
    case SIM_POST_REPORT:
      if (sim_world_get (self, post->a)->alive)
        sim_daemon_report (daemon);
      break;
    case SIM_POST_ENDED:
      sim_daemon_ended (daemon);
      break;
    case SIM_POST_LOST:
      lost_answer (self, post);
      break;
    case SIM_POST_CLEAN:
      clean_up (self);
      break;
    case SIM_POST_DO:
      self->act (self, post->a);
      break;
    case SIM_POST_WIRED:
      if (post->a == 0)
        dvmd_core_agents_wired (self->core, NULL);
      else if (SIM_IS_RESTART (post->a))
        restart_answer (self, SIM_RESTARTED (post->a));
      else
        campaign_answer (self, post);
      break;
    case SIM_POST_OFFERED:
    case SIM_POST_NOT_SENT:
      campaign_answer (self, post);
      break;
    }
}

static void
net_act (gpointer data, gpointer number)
{
  SimWorld *self = data;
  SimPost post = g_array_index (self->posts, SimPost, GPOINTER_TO_UINT (number));
  gboolean of_agent = post.what == SIM_POST_ACT || post.what == SIM_POST_START;

  begin_of (self, of_agent ? post.a : 0);
  do_post (self, &post);
  end_of (self, of_agent ? post.a : 0);
  self->dirty |= post.what != SIM_POST_ACT;
  look (self, post.what == SIM_POST_ACT ? post.a : 0);
}

static const SimNetFuncs net_funcs = {
  .link_up = net_link_up,
  .link_down = net_link_down,
  .connect_failed = net_connect_failed,
  .receive = net_receive,
  .act = net_act,
};

gboolean
sim_world_run (SimWorld *self, gint64 time)
{
  return sim_net_run (self->net, time);
}

static gboolean
is_daemon_quiet (SimDaemon *self)
{
  SimWorld *world = self->world;

  if (self->lost_untold || dvmd_departures_contains (world->departures, self->rank))
    return FALSE;
  if (!self->alive)
    return !sim_world_is_member (world, self->rank);
  if (!sim_world_is_member (world, self->rank) || !dvmd_tree_is_settled (self->tree)
      || dvmd_tree_get_n_unacknowledged (self->tree, DVMD_NO_RANK) > 0)
    return FALSE;
  return self->agent == NULL || self->stuck || sim_agent_is_idle (self->agent);
}

gboolean
sim_world_is_quiet (SimWorld *self)
{
  if (!dvmd_event_queue_is_empty (self->queue) || self->losing || self->wirings->len + self->forgotten->len > 0
      || dvmd_core_get_campaigns_running (self->core) > 0)
    return FALSE;
  for (guint rank = 1; rank <= dvmd_node_pool_get_max_rank (dvmd_core_get_nodes (self->core)); rank++)
    if (sim_is_coming_back (self, rank))
      return FALSE;
  for (guint rank = 0; rank < self->daemons->len; rank++)
    if (!is_daemon_quiet (sim_world_get (self, rank)))
      return FALSE;
  return !self->shutdown || self->n_ended > 0;
}

void
sim_world_explain (SimWorld *self)
{
  for (guint rank = 0; rank < self->daemons->len; rank++)
    {
      SimDaemon *daemon = sim_world_get (self, rank);

      g_printerr ("agent %u on %s:%s%s%s%s%s%s%s%s%s%s%s\n", rank, daemon->host, daemon->alive ? " alive" : "",
                  daemon->stuck ? " stuck" : "", sim_world_is_member (self, rank) ? " in the tree" : "",
                  daemon->reported ? " reported" : "", daemon->wired ? " wired" : "", daemon->ordered ? " ordered" : "",
                  daemon->departed ? " departed" : "", daemon->declared ? " lost" : "",
                  dvmd_departures_contains (self->departures, rank) ? " departing" : "",
                  daemon->tree != NULL && dvmd_tree_is_settled (daemon->tree) ? " settled" : "",
                  daemon->agent != NULL && daemon->alive && sim_agent_is_idle (daemon->agent) ? " idle" : "");
    }
  for (guint i = 0; i < self->campaigns->len; i++)
    {
      DvmCampaign *record = dvmd_campaign_get_record (
          ((SimCampaign *)g_ptr_array_index (self->campaigns, i))->campaign);

      g_printerr ("campaign %u: %s, %s, pending %u, %s\n", i + 1,
                  dvm_campaign_kind_to_string (dvm_campaign_get_kind (record)),
                  dvm_campaign_state_to_string (dvm_campaign_get_state (record)), dvm_campaign_get_pending (record),
                  dvm_campaign_get_reason (record));
    }
  for (GList *l = dvmd_core_get_live_jobs (self->core); l != NULL; l = l->next)
    g_printerr ("job %u: %s, held at \"%s\"\n", dvmd_job_get_id (l->data),
                dvm_job_state_to_string (dvmd_job_get_state (l->data)),
                dvm_job_get_held_at (dvmd_job_get_record (l->data)));
}

/* ---- the world ---- */

static void
message_free (gpointer data)
{
  if (data != NULL)
    sim_message_free (data);
}

static void
watch_free (gpointer data)
{
  SimWatch *self = data;

  g_object_unref (self->job);
  g_array_unref (self->waits);
  g_clear_pointer (&self->nodes, g_array_unref);
  g_clear_pointer (&self->staging, g_array_unref);
  g_clear_pointer (&self->staged, g_hash_table_unref);
  g_free (self);
}

static void
campaign_free (gpointer data)
{
  SimCampaign *self = data;

  g_object_unref (self->campaign);
  g_free (self->req_id);
  g_free (self);
}

static DvmdCore *
make_core (SimWorld *self)
{
  DvmdCoreSettings settings = {
    .nspace = "dvm",
    .host = "head",
    .history_limit = 10000,
    .elastic = self->setting.elastic,
    .heal = self->setting.heal,
    .heal_limit = SIM_HEAL_LIMIT,
    .heal_pause = SIM_HEAL_PAUSE * G_USEC_PER_SEC,
    .park_limit = SIM_PARK_LIMIT,
    .grow_timeout = SIM_GROW_TIMEOUT,
    .uid = 1000,
  };

  return dvmd_core_new (&settings, self->clock, self->queue, &sim_effects, self);
}

SimWorld *
sim_world_new (const SimSetting *setting, SimTally *tally)
{
  SimWorld *self = g_new0 (SimWorld, 1);

  self->setting = *setting;
  self->tally = tally;
  self->rand = g_rand_new_with_seed (setting->seed);
  self->clock = dvmd_clock_new_manual (0);
  self->queue = dvmd_event_queue_new (on_queue_has_work, self);
  self->net = sim_net_new (self->rand, self->clock, setting->max_delay, &net_funcs, self);
  self->daemons = g_ptr_array_new_with_free_func (sim_daemon_free);
  self->messages = g_ptr_array_new_with_free_func (message_free);
  self->posts = g_array_new (FALSE, FALSE, sizeof (SimPost));
  self->watches = g_ptr_array_new_with_free_func (watch_free);
  self->campaigns = g_ptr_array_new_with_free_func (campaign_free);
  self->wirings = g_array_new (FALSE, FALSE, sizeof (SimWiring));
  self->traps = g_array_new (FALSE, FALSE, sizeof (SimTrap));
  self->fates = g_array_new (FALSE, FALSE, sizeof (SimFate));
  self->forgotten = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->released = g_array_new (FALSE, FALSE, sizeof (guint));
  self->departures = dvmd_departures_new (self->clock, SIM_SHRINK_GRACE * G_TIME_SPAN_SECOND, &departure_funcs, self);
  sim_daemon_start (sim_world_add_daemon (self, 0, "head"));
  self->core = make_core (self);
  sim_statements_watch (self);
  for (guint i = 1; i <= setting->n_nodes; i++)
    {
      g_autofree char *name = g_strdup_printf ("h%u", i);

      dvmd_core_add_node (self->core, name, sim_world_chance (self, 4), 0);
    }
  dvmd_core_start (self->core);
  return self;
}

void
sim_world_free (SimWorld *self)
{
  g_ptr_array_unref (self->watches);
  g_ptr_array_unref (self->campaigns);
  dvmd_departures_free (self->departures);
  g_ptr_array_unref (self->daemons);
  g_ptr_array_unref (self->messages);
  sim_net_free (self->net);
  dvmd_event_queue_free (self->queue);
  g_object_unref (self->core);
  dvmd_clock_unref (self->clock);
  g_array_unref (self->posts);
  g_array_unref (self->wirings);
  g_array_unref (self->traps);
  g_array_unref (self->fates);
  g_array_unref (self->forgotten);
  g_array_unref (self->released);
  g_rand_free (self->rand);
  g_free (self);
}

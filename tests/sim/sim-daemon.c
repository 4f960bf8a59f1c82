/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The programs of agents: how they start, what they hear, what their trees ask of them, and how they end.
 */

#include "config.h"

#include "sim-daemon.h"

#include "sim-event-checks.h"

#define KIND_SAID 20 /* between two: (number of the message) */
#define KIND_LEFT 21 /* to the controller: (uplink) */

/* ---- an agent ---- */

static void
poke (SimDaemon *self)
{
  if (self->poked || self->stuck || !self->alive || self->agent == NULL)
    return;
  if (sim_agent_is_idle (self->agent) && g_queue_is_empty (&self->agent->outbox))
    return;
  self->poked = TRUE;
  sim_world_post (self->world, 1 + sim_world_chance (self->world, self->world->setting.pace), SIM_POST_ACT, self->rank,
                  0);
}

void
sim_world_poke_all (SimWorld *self)
{
  for (guint rank = 1; rank < self->daemons->len; rank++)
    poke (sim_world_get (self, rank));
}

static void
die (SimDaemon *self, gboolean with_links)
{
  if (!self->alive)
    return;
  self->alive = FALSE;
  self->world->dirty = TRUE;
  if (self->agent != NULL)
    {
      sim_agent_die (self->agent);
      g_queue_clear_full (&self->agent->outbox, (GDestroyNotify)sim_message_free);
    }
  if (with_links)
    sim_net_remove (self->world->net, self->rank);
}

void
sim_world_kill (SimWorld *self, guint rank)
{
  SimDaemon *daemon = sim_world_get (self, rank);

  if (daemon == NULL || rank == 0 || !daemon->alive)
    return;
  sim_world_trace (self, "killed %u", rank);
  sim_expect_loss (self, rank, daemon->ordered);
  die (daemon, TRUE);
}

void
sim_world_stick (SimWorld *self, guint rank)
{
  SimDaemon *daemon = sim_world_get (self, rank);

  if (daemon != NULL && rank > 0)
    daemon->stuck = TRUE;
}

void
sim_world_cut (SimWorld *self, guint rank)
{
  SimDaemon *daemon = sim_world_get (self, rank);
  guint32 uplink = daemon != NULL && daemon->tree != NULL ? dvmd_tree_get_uplink (daemon->tree) : DVMD_NO_RANK;

  if (uplink == DVMD_NO_RANK || !sim_net_cut (self->net, rank, uplink))
    return;
  daemon->was_cut = TRUE;
  sim_world_trace (self, "cut %u from %u", rank, uplink);
}

static void
leaving_end_work (gpointer data)
{
  SimDaemon *self = data;
  SimMessage *message;

  if (self->agent->gone)
    {
      dvmd_leaving_work_ended (self->leaving);
      return;
    }
  message = sim_message_new (SIM_STOP, self->rank, NULL);
  message->flag = FALSE;
  g_queue_push_tail (&self->agent->inbox, message);
  poke (self);
}

static void
leaving_say_left (gpointer data, guint32 uplink)
{
  SimDaemon *self = data;

  self->said_left = TRUE;
  sim_world_reach (self->world, SIM_STEP_LEFT, self->rank);
  dvmd_tree_post (self->tree, 0, KIND_LEFT, g_variant_new ("(u)", uplink), FALSE);
}

static void
leaving_exit (gpointer data)
{
  SimDaemon *self = data;

  /* A launch message may come after the order, and starts nothing. */
  sim_hold (self->world, SIM_D1_EXIT, !sim_agent_has_running (self->agent));
  sim_hold (self->world, SIM_D1_EXIT, dvmd_tree_get_n_children (self->tree) == 0);
  sim_world_reach (self->world, SIM_STEP_EXIT, self->rank);
  die (self, TRUE);
}

static const DvmdLeavingFuncs leaving_funcs = {
  .end_work = leaving_end_work,
  .say_left = leaving_say_left,
  .exit = leaving_exit,
};

/* The departure of the agent, if it is to leave, is told what the agent's tree knows. */
void
sim_daemon_look (SimDaemon *self)
{
  if (self->leaving == NULL || !self->alive)
    return;
  dvmd_leaving_set_below (self->leaving, dvmd_tree_get_n_children (self->tree));
  dvmd_leaving_set_uplink (self->leaving, dvmd_tree_get_uplink (self->tree));
  if (self->alive)
    dvmd_leaving_set_unacknowledged (self->leaving, dvmd_tree_get_n_unacknowledged (self->tree, 0));
}

static void
say_all (SimDaemon *self)
{
  SimMessage *message;

  while ((message = g_queue_pop_head (&self->agent->outbox)) != NULL)
    {
      if (message->kind == SIM_GONE)
        {
          sim_world_reach (self->world, SIM_STEP_IDLE, self->rank);
          if (dvmd_leaving_is_ordered (self->leaving))
            dvmd_leaving_work_ended (self->leaving);
          if (!self->stopped)
            {
              sim_message_free (message);
              continue;
            }
        }
      g_ptr_array_add (self->world->messages, message);
      dvmd_tree_post (self->tree, 0, KIND_SAID, g_variant_new ("(u)", self->world->messages->len - 1), FALSE);
    }
}

void
sim_daemon_act (SimDaemon *self)
{
  self->poked = FALSE;
  if (!self->alive || self->stuck)
    return;
  sim_agent_act (self->agent, self->world->ending);
  say_all (self);
  poke (self);
}

void
sim_world_say (SimWorld *self, guint rank, SimMessage *message)
{
  SimDaemon *daemon = sim_world_get (self, rank);

  if (daemon == NULL || daemon->tree == NULL || daemon->departed || daemon->declared
      || (!sim_world_is_member (self, rank) && !daemon->ordered))
    {
      sim_message_free (message);
      return;
    }
  g_ptr_array_add (self->messages, message);
  dvmd_tree_post (sim_world_get (self, 0)->tree, rank, KIND_SAID, g_variant_new ("(u)", self->messages->len - 1),
                  FALSE);
}

static void
hear (SimDaemon *self, guint number)
{
  SimMessage *message = g_ptr_array_index (self->world->messages, number);

  sim_hold (self->world, SIM_ONCE, message != NULL);
  self->world->messages->pdata[number] = NULL;
  if (self->rank == 0)
    {
      sim_take (self->world, message);
      sim_message_free (message);
      return;
    }
  self->stopped |= message->kind == SIM_STOP;
  g_queue_push_tail (&self->agent->inbox, message);
  poke (self);
}

/* ---- what a tree asks and tells ---- */

static void
tree_send (gpointer data, guint32 neighbour, DvmdPacket *packet)
{
  SimDaemon *self = data;

  self->world->cost.n_sent += self->rank == 0;
  sim_net_send (self->world->net, self->rank, neighbour, packet);
}

static void
tree_connect (gpointer data, guint32 rank)
{
  SimDaemon *self = data;

  sim_net_connect (self->world->net, self->rank, rank);
}

static void
tree_disconnect (gpointer data, guint32 rank)
{
  SimDaemon *self = data;

  sim_net_disconnect (self->world->net, self->rank, rank);
}

static void
tree_deliver (gpointer data, guint32 source, guint16 kind, GVariant *body)
{
  SimDaemon *self = data;
  guint n;

  g_variant_get (body, "(u)", &n);
  if (kind != KIND_LEFT)
    {
      hear (self, n);
      return;
    }
  dvmd_departures_left (self->world->departures, source, n);
  /* The sender waits for the acknowledgement. */
  dvmd_tree_acknowledge (self->tree, source);
}

static void
tree_deliver_broadcast (gpointer data, guint64 number, guint16 kind, GVariant *body)
{
}

static void
tree_completed (gpointer data, guint64 number)
{
  SimWorld *world = ((SimDaemon *)data)->world;

  sim_hold (world, SIM_E69, number == world->completed + 1);
  world->completed = number;
  for (guint i = 0; i < world->wirings->len; i++)
    {
      SimWiring *wiring = &g_array_index (world->wirings, SimWiring, i);

      if (wiring->number > number)
        continue;
      sim_world_post (world, 0, SIM_POST_WIRED, wiring->campaign, 0);
      g_array_remove_index (world->wirings, i--);
    }
}

void
sim_world_await (SimWorld *self, guint campaign, guint64 number)
{
  SimWiring wiring = { campaign, number };

  if (number > self->completed)
    g_array_append_val (self->wirings, wiring);
  else
    sim_world_post (self, 0, SIM_POST_WIRED, campaign, 0);
}

static void
tree_routes_changed (gpointer data, DvmdRoutes *old, DvmdRoutes *routes)
{
}

static void
tree_lost (gpointer data, guint32 rank, guint32 reporter)
{
  SimWorld *world = ((SimDaemon *)data)->world;
  SimDaemon *daemon = sim_world_get (world, rank);

  sim_world_trace (world, "lost %u, says %u", rank, reporter);
  if (dvmd_departures_contains (world->departures, rank))
    {
      sim_world_post (world, 0, SIM_POST_LOST, rank, reporter + 1);
      return;
    }
  if (daemon->declared || daemon->departed || daemon->lost_untold)
    return;
  daemon->lost_untold = TRUE;
  sim_world_lose_later (world);
}

/* Nothing is to be done, since the controller lives: sooner or later there is a way to it. */
static void
tree_cut_off (gpointer data, gint64 since)
{
}

static void
tree_way_found (gpointer data)
{
}

static void
tree_leave (gpointer data)
{
  SimDaemon *self = data;

  sim_hold (self->world, SIM_E64, self->ordered);
  sim_world_reach (self->world, SIM_STEP_LEAVE, self->rank);
  dvmd_leaving_order (self->leaving);
}

/* An agent whose rank is no longer a member ends its processes and exits. */
static void
tree_expelled (gpointer data)
{
  SimDaemon *self = data;

  sim_hold (self->world, SIM_D1_EXPELLED, self->declared || self->departed || self->lost_untold);
  die (self, TRUE);
}

static GVariant *
tree_merge (gpointer data, const char *key, GPtrArray *parts)
{
  return g_variant_ref (g_ptr_array_index (parts, 0));
}

static const DvmdTreeFuncs tree_funcs = {
  .send = tree_send,
  .connect = tree_connect,
  .disconnect = tree_disconnect,
  .deliver = tree_deliver,
  .deliver_broadcast = tree_deliver_broadcast,
  .completed = tree_completed,
  .routes_changed = tree_routes_changed,
  .lost = tree_lost,
  .cut_off = tree_cut_off,
  .way_found = tree_way_found,
  .leave = tree_leave,
  .expelled = tree_expelled,
  .merge = tree_merge,
};

/* ---- the launcher ---- */

void
sim_daemon_free (gpointer data)
{
  SimDaemon *self = data;

  g_clear_pointer (&self->tree, dvmd_tree_free);
  g_clear_pointer (&self->agent, sim_agent_free);
  g_clear_pointer (&self->leaving, dvmd_leaving_free);
  g_free (self->host);
  g_free (self);
}

static SimDaemon *
daemon_new (SimWorld *world, guint rank, const char *host)
{
  SimDaemon *self = g_new0 (SimDaemon, 1);

  self->world = world;
  self->rank = rank;
  self->host = g_strdup (host);
  return self;
}

SimDaemon *
sim_world_add_daemon (SimWorld *self, guint rank, const char *host)
{
  SimDaemon *daemon = daemon_new (self, rank, host);

  daemon->launched = TRUE;
  if (self->fates->len > 0)
    {
      daemon->fate = g_array_index (self->fates, SimFate, 0);
      g_array_remove_index (self->fates, 0);
    }
  /* Ranks up to this one get a place, for they are launched later, or never. */
  while (self->daemons->len <= rank)
    g_ptr_array_add (self->daemons, daemon_new (self, self->daemons->len, "-"));
  sim_daemon_free (self->daemons->pdata[rank]);
  self->daemons->pdata[rank] = daemon;
  return daemon;
}

void
sim_daemon_start (SimDaemon *self)
{
  SimWorld *world = self->world;

  if ((self->terminated && self->fate != SIM_FATE_LATE) || self->tree != NULL)
    return;
  self->tree = dvmd_tree_new (self->rank, world->setting.radix, world->clock, &tree_funcs, self);
  self->alive = TRUE;
  sim_net_add (world->net, self->rank);
  if (self->rank == 0)
    return;
  self->agent = sim_agent_new (self->rank, world->rand);
  self->leaving = dvmd_leaving_new (&leaving_funcs, self);
  sim_world_reach (world, SIM_STEP_START, self->rank);
  sim_net_connect (world->net, self->rank, 0);
}

void
sim_daemon_report (SimDaemon *self)
{
  DvmdAgentReport report = { .host = self->host, .address = "", .pid = 7, .hwthreads = 2, .topology = "t" };

  if (self->reported)
    return;
  self->reported = TRUE;
  sim_world_reach (self->world, SIM_STEP_REPORT, self->rank);
  dvmd_core_agent_reported (self->world->core, self->rank, &report);
  /* An agent that is taken for lost, or has departed, is not waited for any more: it is told so. */
  if (self->declared || self->departed)
    sim_world_post (self->world, sim_world_soon (self->world), SIM_POST_ENDED, self->rank, 0);
}

void
sim_daemon_fail (SimDaemon *self, DvmdCause cause)
{
  SimWorld *world = self->world;

  if (self->terminated || self->declared || self->reported)
    return;
  self->declared = TRUE;
  sim_world_trace (world, "failed %u", self->rank);
  sim_note_cause (world, self->rank, cause);
  dvmd_core_agent_ended (world->core, self->rank, DVMD_AGENT_FAILED, cause, "it is not there");
}

void
sim_daemon_ended (SimDaemon *self)
{
  sim_expect_loss (self->world, self->rank, self->ordered);
  die (self, TRUE);
  if (!dvmd_departures_ended (self->world->departures, self->rank) && self->world->stopping)
    dvmd_core_agent_ended (self->world->core, self->rank, DVMD_AGENT_GONE, DVMD_CAUSE_LOST, NULL);
}

void
sim_world_terminate (SimDaemon *self)
{
  if (self->terminated)
    return;
  self->terminated = TRUE;
  sim_world_post (self->world, sim_world_soon (self->world) * (sim_world_chance (self->world, 4) == 0 ? 100 : 1),
                  SIM_POST_ENDED, self->rank, 0);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that are ordered to leave, until they have, and what is left of them then.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-remote.h"
#include "dvmd-core-elastic.h"

/* A launcher has so long (µs) to say that it has ended an agent; then nobody can reach it. */
#define ENDING_LIMIT (60 * G_TIME_SPAN_SECOND)
/* Those that go so close together (µs) are cleared up after together. */
#define CLEAN_DELAY (50 * G_TIME_SPAN_MILLISECOND)

struct _DvmdRemoteDepartures
{
  DvmdRemote *remote; /* unowned */
  DvmdDepartures *machine;
  GArray *departed; /* guint32: told together */
  guint departed_timer;
  GArray *forgotten;    /* guint32: have departed, and members are to be told */
  GPtrArray *leftovers; /* DvmdAgentEntry, of which something may be left */
  guint clean_timer;
  GHashTable *endings; /* rank -> Ending: of those that launchers are asked to end */
};

/* ---- orders ---- */

typedef struct
{
  GArray *members; /* guint32 */
  GArray *joiners; /* guint32: have a link, and no place */
  GArray *others;  /* guint32: cannot be told */
} Leavers;

static void
sort_leaver (DvmdRemote *self, guint32 rank, Leavers *leavers)
{
  DvmdAgentEntry *entry = dvmd_remote_find (self, rank);
  DvmdAgentStep step = entry != NULL ? entry->step : AGENT_LOST;

  if (entry != NULL)
    {
      dvmd_remote_close_launch (self, entry);
      entry->step = AGENT_LEAVING;
    }
  switch (step)
    {
    case AGENT_MEMBER:
      g_array_append_val (leavers->members, rank);
      break;
    case AGENT_JOINED:
    case AGENT_REPORTED:
      g_array_append_val (leavers->joiners, rank);
      break;
    case AGENT_LEAVING:
      break;
    case AGENT_LAUNCHED:
    case AGENT_GONE:
    case AGENT_LOST:
      /* Its loss has not been told, and it has its place: the order is the repair. */
      if (entry != NULL && dvmd_remote_is_untold (self, rank))
        g_array_append_val (leavers->members, rank);
      g_array_append_val (leavers->others, rank);
      break;
    }
}

static void
order_members (DvmdRemote *self, GArray *members, DvmdSendOff *order)
{
  const guint32 *ranks = (const guint32 *)members->data;
  g_autofree guint32 *parents = g_new0 (guint32, members->len + 1);

  if (members->len == 0)
    return;
  self->repairs++;
  order->repairs = 1;
  order->links_changed = dvmd_router_order (self->router, ranks, members->len, parents);
  for (guint i = 0; i < members->len; i++)
    dvmd_core_place_node (dvmd_controller_get_core (self->controller), ranks[i], 0, 0);
  dvmd_departures_order (self->departures->machine, ranks, parents, members->len);
}

static void
order_joiners (DvmdRemote *self, GArray *joiners)
{
  g_autofree guint32 *parents = g_new0 (guint32, joiners->len + 1);

  for (guint i = 0; i < joiners->len; i++)
    dvmd_controller_send (self->controller, g_array_index (joiners, guint32, i), DVMD_MSG_LEAVE, g_variant_new ("()"));
  dvmd_departures_order (self->departures->machine, (const guint32 *)joiners->data, parents, joiners->len);
}

void
dvmd_remote_order_away (DvmdRemote *self, DvmdSendOff *order)
{
  g_autoptr (GArray) members = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) joiners = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) others = g_array_new (FALSE, FALSE, sizeof (guint32));
  Leavers leavers = { members, joiners, others };

  for (guint i = 0; i < order->n_nodes; i++)
    sort_leaver (self, order->nodes[i]->rank, &leavers);
  order_members (self, members, order);
  order_joiners (self, joiners);
  dvmd_departures_end (self->departures->machine, (const guint32 *)others->data, others->len);
}

void
dvmd_remote_left (DvmdAgents *agents, guint rank, guint uplink)
{
  DvmdRemote *self = (DvmdRemote *)agents;

  if (!dvmd_departures_left (self->departures->machine, rank, uplink))
    g_debug ("Agent %u says that it has left, and nobody has told it to", rank);
  dvmd_router_acknowledge (self->router, rank);
}

/* ---- the launcher ends them ---- */

typedef struct
{
  DvmdRemote *remote; /* unowned */
  guint32 rank;
  guint timer;
} Ending;

static void
ending_free (gpointer data)
{
  Ending *self = data;

  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->remote->controller)->clock, self->timer);
  g_free (self);
}

static void
on_ending_limit (gpointer user_data)
{
  Ending *ending = user_data;

  ending->timer = 0;
  g_message ("Agent %u cannot be reached: its launcher does not say that it has ended it", ending->rank);
  dvmd_departures_ended (ending->remote->departures->machine, ending->rank);
}

static void
on_leaver_ended (DvmdRemote *self, GPtrArray *entries)
{
  for (guint i = 0; i < entries->len; i++)
    dvmd_departures_ended (self->departures->machine, ((DvmdAgentEntry *)g_ptr_array_index (entries, i))->rank);
}

static void
departures_terminate (gpointer user_data, const guint32 *ranks, guint n)
{
  DvmdRemote *self = user_data;

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GPtrArray) one = g_ptr_array_new ();
      DvmdAgentEntry *entry = dvmd_remote_find (self, ranks[i]);
      Ending *ending = g_new0 (Ending, 1);

      ending->remote = self;
      ending->rank = ranks[i];
      /* An agent of which nothing was ever started does not have to be ended. */
      ending->timer = dvmd_clock_add_timer (dvmd_controller_get_parts (self->controller)->clock,
                                            entry != NULL ? ENDING_LIMIT : 0, on_ending_limit, ending);
      g_hash_table_insert (self->departures->endings, GUINT_TO_POINTER (ranks[i]), ending);
      if (entry == NULL)
        continue;
      g_ptr_array_add (one, entry);
      dvmd_remote_terminate (self, one, on_leaver_ended);
      /* It has had its time, or has nothing yet that would need some. */
      dvmd_remote_kill (self, one);
    }
}

/* ---- they have gone ---- */

static void
make_leftovers (DvmdRemoteDepartures *self)
{
  self->forgotten = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->leftovers = g_ptr_array_new_with_free_func (dvmd_agent_entry_unref);
}

/* Nothing of it is known any more: who comes back under this rank is told so. */
static void
forget (DvmdRemote *self, guint32 rank)
{
  DvmdAgentEntry *entry = dvmd_remote_find (self, rank);

  dvmd_controller_remove_link (self->controller, rank);
  dvmd_services_agent_gone (self->controller, rank);
  if (self->router != NULL)
    dvmd_router_drop (self->router, rank);
  g_hash_table_remove (self->departures->endings, GUINT_TO_POINTER (rank));
  g_array_append_val (self->departures->forgotten, rank);
  if (entry == NULL)
    return;
  g_ptr_array_add (self->departures->leftovers, g_rc_box_acquire (entry));
  g_hash_table_remove (self->agents, GUINT_TO_POINTER (rank));
}

/* The leftovers of agents that have gone are removed, here and with all members: nobody waits for that. */
static void
on_clean_up (gpointer user_data)
{
  DvmdRemote *self = user_data;
  g_autoptr (GArray) forgotten = g_steal_pointer (&self->departures->forgotten);
  g_autoptr (GPtrArray) leftovers = g_steal_pointer (&self->departures->leftovers);

  self->departures->clean_timer = 0;
  make_leftovers (self->departures);
  if (self->router != NULL)
    dvmd_router_forget (self->router, (const guint32 *)forgotten->data, forgotten->len);
  dvmd_remote_terminate (self, leftovers, dvmd_remote_clear_directories);
}

void
dvmd_remote_clean_up (DvmdAgents *agents)
{
  DvmdRemote *self = (DvmdRemote *)agents;

  if (self->departures->clean_timer == 0)
    return;
  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->controller)->clock, self->departures->clean_timer);
  on_clean_up (self);
}

static void
on_departed (gpointer user_data)
{
  DvmdRemote *self = user_data;
  g_autoptr (DvmdController) controller = g_object_ref (self->controller);
  g_autoptr (GArray) departed = g_steal_pointer (&self->departures->departed);

  self->departures->departed_timer = 0;
  self->departures->departed = g_array_new (FALSE, FALSE, sizeof (guint32));
  for (guint i = 0; i < departed->len; i++)
    forget (self, g_array_index (departed, guint32, i));
  if (self->departures->clean_timer == 0)
    self->departures->clean_timer = dvmd_clock_add_timer (dvmd_controller_get_parts (self->controller)->clock,
                                                          CLEAN_DELAY, on_clean_up, self);
  for (guint i = 0; i < departed->len; i++)
    dvmd_core_agent_ended (dvmd_controller_get_core (controller), g_array_index (departed, guint32, i),
                           DVMD_AGENT_DEPARTED, DVMD_CAUSE_NONE, NULL);
}

static void
departures_departed (gpointer user_data, guint32 rank, DvmdDepartedHow how)
{
  DvmdRemote *self = user_data;

  g_info ("Agent %u has left: %s", rank,
          how == DVMD_DEPARTED_LEFT ? "it has said so, and its link has ended" : "its launcher says so");
  g_array_append_val (self->departures->departed, rank);
  if (self->departures->departed_timer == 0)
    self->departures->departed_timer = dvmd_clock_add_timer (dvmd_controller_get_parts (self->controller)->clock, 0,
                                                             on_departed, self);
}

static const DvmdDepartureFuncs departure_funcs = {
  .terminate = departures_terminate,
  .departed = departures_departed,
};

gboolean
dvmd_remote_has_departed (DvmdRemote *self, guint32 rank)
{
  return dvmd_departures_ended (self->departures->machine, rank);
}

gboolean
dvmd_remote_departs_by_link (DvmdRemote *self, guint32 rank, guint32 reporter)
{
  return dvmd_departures_link_lost (self->departures->machine, rank, reporter);
}

DvmdRemoteDepartures *
dvmd_remote_departures_new (DvmdRemote *remote, gint64 grace)
{
  DvmdRemoteDepartures *self = g_new0 (DvmdRemoteDepartures, 1);

  self->remote = remote;
  self->machine = dvmd_departures_new (dvmd_controller_get_parts (remote->controller)->clock, grace, &departure_funcs,
                                       remote);
  self->departed = g_array_new (FALSE, FALSE, sizeof (guint32));
  make_leftovers (self);
  self->endings = g_hash_table_new_full (NULL, NULL, NULL, ending_free);
  return self;
}

void
dvmd_remote_departures_free (DvmdRemoteDepartures *self)
{
  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->remote->controller)->clock, self->departed_timer);
  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->remote->controller)->clock, self->clean_timer);
  dvmd_departures_free (self->machine);
  g_array_unref (self->departed);
  g_array_unref (self->forgotten);
  g_ptr_array_unref (self->leftovers);
  g_hash_table_unref (self->endings);
  g_free (self);
}

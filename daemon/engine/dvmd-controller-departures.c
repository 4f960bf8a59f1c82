/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that come while the DVM runs, as far as their places go, and those that are ordered to leave, until they have.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-wired.h"
#include "dvmd-core-elastic.h"

/* A launcher has so long (µs) to say that it has ended an agent; then nobody can reach it. */
#define ENDING_LIMIT (60 * G_TIME_SPAN_SECOND)
/* Those that go so close together (µs) are cleared up after together. */
#define CLEAN_DELAY (50 * G_TIME_SPAN_MILLISECOND)

/* ---- wiring ---- */

typedef struct
{
  guint64 number; /* of the broadcast that tells the membership */
  DvmdCampaign *campaign;
} Wiring;

static void
wiring_free (gpointer data)
{
  Wiring *self = data;

  g_object_unref (self->campaign);
  g_free (self);
}

void
dvmd_wired_wire_agents (DvmdWired *self, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes)
{
  g_autofree guint32 *ranks = g_new (guint32, n_nodes + 1);
  Wiring *wiring = g_new0 (Wiring, 1);
  guint n = 0;

  for (guint i = 0; i < n_nodes; i++)
    {
      DvmdAgentEntry *entry = dvmd_wired_find (self, nodes[i]->rank);

      /* It may have been lost just now: the core will hear of that. */
      if (entry == NULL || entry->step != AGENT_REPORTED)
        continue;
      entry->step = AGENT_MEMBER;
      ranks[n++] = entry->rank;
    }
  if (n > 0)
    dvmd_router_add (self->router, ranks, n);
  wiring->campaign = g_object_ref (campaign);
  g_queue_push_tail (&self->wirings, wiring);
  wiring->number = G_MAXUINT64;
  wiring->number = dvmd_router_broadcast (self->router, DVMD_MSG_MEMBERSHIP,
                                          dvmd_controller_describe_membership (self->controller));
}

void
dvmd_wired_check_wirings (DvmdWired *self, guint64 number)
{
  Wiring *first;

  while ((first = g_queue_peek_head (&self->wirings)) != NULL && first->number <= number)
    {
      g_queue_pop_head (&self->wirings);
      dvmd_core_agents_wired (self->controller->core, first->campaign);
      wiring_free (first);
    }
}

/* ---- orders ---- */

typedef struct
{
  GArray *members; /* guint32 */
  GArray *joiners; /* guint32: have a link, and no place */
  GArray *others;  /* guint32: cannot be told */
} Leavers;

static void
sort_leaver (DvmdWired *self, guint32 rank, Leavers *leavers)
{
  DvmdAgentEntry *entry = dvmd_wired_find (self, rank);
  DvmdAgentStep step = entry != NULL ? entry->step : AGENT_LOST;

  if (entry != NULL)
    {
      dvmd_wired_close_launch (self, entry);
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
      if (entry != NULL && dvmd_wired_is_untold (self, rank))
        g_array_append_val (leavers->members, rank);
      g_array_append_val (leavers->others, rank);
      break;
    }
}

static void
order_members (DvmdWired *self, GArray *members, guint *repairs, guint *links_changed)
{
  const guint32 *ranks = (const guint32 *)members->data;
  g_autofree guint32 *parents = g_new0 (guint32, members->len + 1);

  if (members->len == 0)
    return;
  self->repairs++;
  *repairs = 1;
  *links_changed = dvmd_router_order (self->router, ranks, members->len, parents);
  for (guint i = 0; i < members->len; i++)
    dvmd_core_place_node (self->controller->core, ranks[i], 0, 0);
  dvmd_departures_order (self->departures, ranks, parents, members->len);
}

static void
order_joiners (DvmdWired *self, GArray *joiners)
{
  g_autofree guint32 *parents = g_new0 (guint32, joiners->len + 1);

  for (guint i = 0; i < joiners->len; i++)
    dvmd_controller_send (self->controller, g_array_index (joiners, guint32, i), DVMD_MSG_LEAVE, g_variant_new ("()"));
  dvmd_departures_order (self->departures, (const guint32 *)joiners->data, parents, joiners->len);
}

void
dvmd_wired_remove_agents (DvmdWired *self, DvmdNode *const *nodes, guint n_nodes, guint *repairs, guint *links_changed)
{
  g_autoptr (GArray) members = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) joiners = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) others = g_array_new (FALSE, FALSE, sizeof (guint32));
  Leavers leavers = { members, joiners, others };

  *repairs = 0;
  *links_changed = 0;
  for (guint i = 0; i < n_nodes; i++)
    sort_leaver (self, nodes[i]->rank, &leavers);
  order_members (self, members, repairs, links_changed);
  order_joiners (self, joiners);
  dvmd_departures_end (self->departures, (const guint32 *)others->data, others->len);
}

void
dvmd_wired_tell_latecomer (DvmdWired *self, DvmdAgentEntry *entry)
{
  g_message ("%s: its agent, rank %u, has come too late, and is told to leave", entry->name, entry->rank);
  dvmd_controller_add_link (self->controller, entry->rank,
                            g_object_ref (dvmd_router_get_link (self->router, entry->rank)));
  dvmd_controller_send (self->controller, entry->rank, DVMD_MSG_LEAVE, g_variant_new ("()"));
}

void
dvmd_wired_left (DvmdWired *self, guint32 rank, guint32 uplink)
{
  if (!dvmd_departures_left (self->departures, rank, uplink))
    g_debug ("Agent %u says that it has left, and nobody has told it to", rank);
  dvmd_router_acknowledge (self->router, rank);
}

/* ---- the launcher ends them ---- */

typedef struct
{
  DvmdWired *wired; /* unowned */
  guint32 rank;
  guint timer;
} Ending;

static void
ending_free (gpointer data)
{
  Ending *self = data;

  dvmd_clock_remove_timer (self->wired->controller->clock, self->timer);
  g_free (self);
}

static void
on_ending_limit (gpointer user_data)
{
  Ending *ending = user_data;

  ending->timer = 0;
  g_message ("Agent %u cannot be reached: its launcher does not say that it has ended it", ending->rank);
  dvmd_departures_ended (ending->wired->departures, ending->rank);
}

static void
on_leaver_ended (DvmdWired *self, GPtrArray *entries)
{
  for (guint i = 0; i < entries->len; i++)
    dvmd_departures_ended (self->departures, ((DvmdAgentEntry *)g_ptr_array_index (entries, i))->rank);
}

static void
departures_terminate (gpointer world, const guint32 *ranks, guint n)
{
  DvmdWired *self = world;

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GPtrArray) one = g_ptr_array_new ();
      DvmdAgentEntry *entry = dvmd_wired_find (self, ranks[i]);
      Ending *ending = g_new0 (Ending, 1);

      ending->wired = self;
      ending->rank = ranks[i];
      /* Of whom nothing was ever started nothing has to be ended. */
      ending->timer = dvmd_clock_add_timer (self->controller->clock, entry != NULL ? ENDING_LIMIT : 0, on_ending_limit,
                                            ending);
      g_hash_table_insert (self->endings, GUINT_TO_POINTER (ranks[i]), ending);
      if (entry == NULL)
        continue;
      g_ptr_array_add (one, entry);
      dvmd_wired_terminate (self, one, on_leaver_ended);
      /* It has had its time, or has nothing yet that would need some. */
      dvmd_wired_kill (self, one);
    }
}

/* ---- they have gone ---- */

static void
make_leftovers (DvmdWired *self)
{
  self->forgotten = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->leftovers = g_ptr_array_new_with_free_func (dvmd_agent_entry_unref);
}

/* Nothing of it is known any more: who comes back under this rank is told so. */
static void
forget (DvmdWired *self, guint32 rank)
{
  DvmdAgentEntry *entry = dvmd_wired_find (self, rank);

  dvmd_controller_remove_link (self->controller, rank);
  dvmd_controller_forget_agent (self->controller, rank);
  if (self->router != NULL)
    dvmd_router_drop (self->router, rank);
  g_hash_table_remove (self->endings, GUINT_TO_POINTER (rank));
  g_array_append_val (self->forgotten, rank);
  if (entry == NULL)
    return;
  g_ptr_array_add (self->leftovers, g_rc_box_acquire (entry));
  g_hash_table_remove (self->agents, GUINT_TO_POINTER (rank));
}

/* What is left of those that have gone goes too, here and with all members: nobody waits for that. */
static void
on_clean_up (gpointer user_data)
{
  DvmdWired *self = user_data;
  g_autoptr (GArray) forgotten = g_steal_pointer (&self->forgotten);
  g_autoptr (GPtrArray) leftovers = g_steal_pointer (&self->leftovers);

  self->clean_timer = 0;
  make_leftovers (self);
  if (self->router != NULL)
    dvmd_router_forget (self->router, (const guint32 *)forgotten->data, forgotten->len);
  dvmd_wired_terminate (self, leftovers, dvmd_wired_clear_directories);
}

void
dvmd_wired_clean_up (DvmdWired *self)
{
  if (self->clean_timer == 0)
    return;
  dvmd_clock_remove_timer (self->controller->clock, self->clean_timer);
  on_clean_up (self);
}

static void
on_departed (gpointer user_data)
{
  DvmdWired *self = user_data;
  g_autoptr (DvmdController) controller = g_object_ref (self->controller);
  g_autoptr (GArray) departed = g_steal_pointer (&self->departed);

  self->departed_timer = 0;
  self->departed = g_array_new (FALSE, FALSE, sizeof (guint32));
  for (guint i = 0; i < departed->len; i++)
    forget (self, g_array_index (departed, guint32, i));
  if (self->clean_timer == 0)
    self->clean_timer = dvmd_clock_add_timer (self->controller->clock, CLEAN_DELAY, on_clean_up, self);
  for (guint i = 0; i < departed->len; i++)
    dvmd_core_agent_departed (controller->core, g_array_index (departed, guint32, i));
}

static void
departures_departed (gpointer world, guint32 rank, DvmdDepartedHow how)
{
  DvmdWired *self = world;

  g_info ("Agent %u has left: %s", rank,
          how == DVMD_DEPARTED_LEFT ? "it has said so, and its link has ended" : "its launcher says so");
  g_array_append_val (self->departed, rank);
  if (self->departed_timer == 0)
    self->departed_timer = dvmd_clock_add_timer (self->controller->clock, 0, on_departed, self);
}

static const DvmdDepartureFuncs departure_funcs = {
  .terminate = departures_terminate,
  .departed = departures_departed,
};

void
dvmd_wired_open_departures (DvmdWired *self, gint64 grace)
{
  self->departures = dvmd_departures_new (self->controller->clock, grace, &departure_funcs, self);
  self->departed = g_array_new (FALSE, FALSE, sizeof (guint32));
  make_leftovers (self);
  self->endings = g_hash_table_new_full (NULL, NULL, NULL, ending_free);
  g_queue_init (&self->wirings);
}

void
dvmd_wired_close_departures (DvmdWired *self)
{
  dvmd_clock_remove_timer (self->controller->clock, self->departed_timer);
  self->departed_timer = 0;
  g_clear_pointer (&self->departures, dvmd_departures_free);
  dvmd_clock_remove_timer (self->controller->clock, self->clean_timer);
  self->clean_timer = 0;
  g_clear_pointer (&self->departed, g_array_unref);
  g_clear_pointer (&self->forgotten, g_array_unref);
  g_clear_pointer (&self->leftovers, g_ptr_array_unref);
  g_clear_pointer (&self->endings, g_hash_table_unref);
  g_queue_clear_full (&self->wirings, wiring_free);
}

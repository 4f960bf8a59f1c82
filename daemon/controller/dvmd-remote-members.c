/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that are processes: they come, and become members of the tree.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-core-elastic.h"
#include "dvmd-remote.h"

DvmdAgentEntry *
dvmd_remote_find (DvmdRemote *self, guint32 rank)
{
  return g_hash_table_lookup (self->agents, GUINT_TO_POINTER (rank));
}

static void
agent_entry_clear (gpointer data)
{
  DvmdAgentEntry *self = data;

  g_clear_object (&self->launcher);
  g_free (self->name);
  g_free (self->address);
}

void
dvmd_agent_entry_unref (gpointer entry)
{
  g_rc_box_release_full (entry, agent_entry_clear);
}

guint
dvmd_remote_count (DvmdRemote *self, DvmdAgentStep first, DvmdAgentStep last)
{
  GHashTableIter iter;
  gpointer entry;
  guint n = 0;

  g_hash_table_iter_init (&iter, self->agents);
  while (g_hash_table_iter_next (&iter, NULL, &entry))
    if (((DvmdAgentEntry *)entry)->step >= first && ((DvmdAgentEntry *)entry)->step <= last)
      n++;
  return n;
}

GPtrArray *
dvmd_remote_list (DvmdRemote *self, DvmdAgentStep first, DvmdAgentStep last)
{
  GPtrArray *entries = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer entry;

  g_hash_table_iter_init (&iter, self->agents);
  while (g_hash_table_iter_next (&iter, NULL, &entry))
    if (((DvmdAgentEntry *)entry)->step >= first && ((DvmdAgentEntry *)entry)->step <= last)
      g_ptr_array_add (entries, entry);
  return entries;
}

/* ---- they come ---- */

/* An agent of which nobody wants anything any more has come all the same (D8). */
static void
tell_latecomer (DvmdRemote *self, DvmdAgentEntry *entry)
{
  g_message ("%s: its agent, rank %u, has come too late, and is told to leave", entry->name, entry->rank);
  dvmd_controller_add_link (self->controller, entry->rank,
                            g_object_ref (dvmd_router_get_link (self->router, entry->rank)));
  dvmd_controller_send (self->controller, entry->rank, DVMD_MSG_LEAVE, g_variant_new ("()"));
}

void
dvmd_remote_joined (DvmdRemote *self, guint32 rank, const char *name)
{
  DvmdAgentEntry *entry = dvmd_remote_find (self, rank);

  if (entry != NULL && entry->step == AGENT_LEAVING)
    {
      tell_latecomer (self, entry);
      return;
    }
  if (entry == NULL || entry->step != AGENT_LAUNCHED)
    {
      g_message ("An agent joins as rank %u, which is not expected: it is turned away", rank);
      dvmd_router_drop (self->router, rank);
      return;
    }
  entry->step = AGENT_JOINED;
  dvmd_controller_add_link (self->controller, rank, g_object_ref (dvmd_router_get_link (self->router, rank)));
}

/* It may have other ones started by this one. */
static void
tell_launcher (DvmdRemote *self, guint32 rank)
{
  DvmdAgentEntry *entry = dvmd_remote_find (self, rank);

  if (entry == NULL || entry->launcher == NULL || entry->step >= AGENT_LEAVING)
    return;
  dvmd_controller_enter (self->controller);
  dvmd_launcher_came (entry->launcher, rank);
  dvmd_controller_leave (self->controller);
}

void
dvmd_remote_reported (DvmdAgents *agents, guint rank, const DvmdAgentReport *report)
{
  DvmdRemote *self = (DvmdRemote *)agents;
  DvmdAgentEntry *entry = dvmd_remote_find (self, rank);

  if (entry != NULL && (entry->step == AGENT_REPORTED || entry->step == AGENT_MEMBER))
    {
      dvmd_core_agent_changed (dvmd_controller_get_core (self->controller), rank, report);
      dvmd_services_agent_reported (self->controller, rank);
      return;
    }
  if (entry == NULL || entry->step != AGENT_JOINED)
    {
      g_debug ("Agent %u reports, and is not waited for", rank);
      return;
    }
  entry->step = AGENT_REPORTED;
  dvmd_router_set_addresses (self->router, rank, report->address);
  dvmd_remote_close_launch (self, entry);
  dvmd_core_agent_reported (dvmd_controller_get_core (self->controller), rank, report);
  dvmd_services_agent_reported (self->controller, rank);
  tell_launcher (self, rank);
}

typedef struct
{
  guint64 number;         /* of the broadcast that tells the membership */
  DvmdCampaign *campaign; /* (nullable) */
} Wiring;

static void
wiring_free (gpointer data)
{
  Wiring *self = data;

  g_clear_object (&self->campaign);
  g_free (self);
}

void
dvmd_remote_wire (DvmdAgents *agents, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes)
{
  DvmdRemote *self = (DvmdRemote *)agents;
  g_autofree guint32 *ranks = g_new (guint32, n_nodes + 1);
  Wiring *wiring = g_new0 (Wiring, 1);
  guint n = 0;

  for (guint i = 0; i < n_nodes; i++)
    {
      DvmdAgentEntry *entry = dvmd_remote_find (self, nodes[i]->rank);

      /* The agent may have been lost in this moment: the core is told so by the report of the loss. */
      if (entry == NULL || entry->step != AGENT_REPORTED)
        continue;
      entry->step = AGENT_MEMBER;
      ranks[n++] = entry->rank;
    }
  if (n > 0)
    dvmd_router_add (self->router, ranks, n);
  g_set_object (&wiring->campaign, campaign);
  g_queue_push_tail (&self->wirings, wiring);
  wiring->number = G_MAXUINT64;
  wiring->number = dvmd_router_broadcast (self->router, DVMD_MSG_MEMBERSHIP,
                                          dvmd_controller_describe_membership (self->controller));
}

void
dvmd_remote_completed (DvmdRemote *self, guint64 number)
{
  Wiring *first;

  while ((first = g_queue_peek_head (&self->wirings)) != NULL && first->number <= number)
    {
      g_queue_pop_head (&self->wirings);
      dvmd_core_agents_wired (dvmd_controller_get_core (self->controller), first->campaign);
      wiring_free (first);
    }
}

/* ---- all of them ---- */

/* Jobs on fewer agents than this are spoken of to those alone. */
#define BROADCAST_MIN 8

gboolean
dvmd_remote_is_for_all (DvmdAgents *agents, DvmdMap *map)
{
  DvmdRemote *self = (DvmdRemote *)agents;
  g_autoptr (GArray) nodes = dvmd_map_get_nodes (map);

  return nodes->len >= BROADCAST_MIN && nodes->len * 2 >= dvmd_remote_count (self, AGENT_MEMBER, AGENT_MEMBER);
}

void
dvmd_remote_broadcast (DvmdAgents *agents, DvmdMessageKind kind, GVariant *body)
{
  DvmdRemote *self = (DvmdRemote *)agents;

  dvmd_router_broadcast (self->router, kind, body);
}

void
dvmd_remote_tell_places (DvmdRemote *self, DvmdRoutes *routes)
{
  DvmdCore *core = dvmd_controller_get_core (self->controller);

  for (guint place = 1; place < dvmd_routes_get_n_members (routes); place++)
    {
      guint32 rank = dvmd_routes_get_rank (routes, place);

      dvmd_core_place_node (core, rank, dvmd_routes_get_parent (routes, rank), dvmd_routes_get_depth (routes, rank));
    }
  dvmd_core_set_tree (core, dvmd_routes_get_max_depth (routes), self->repairs);
}

void
dvmd_remote_close_wirings (DvmdRemote *self)
{
  g_queue_clear_full (&self->wirings, wiring_free);
}

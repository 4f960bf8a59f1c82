/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The agents, as the core asks for them, and what they say of themselves.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-address.h"
#include "dvmd-controller-private.h"
#include "dvmd-heal.h"
#include "dvmd-node-allotment.h"

typedef void (*Handler) (DvmdController *self, guint rank, GVariant *body);

static void
add_names (GPtrArray *names, const char *const *added)
{
  for (gsize i = 0; added[i] != NULL; i++)
    if (!g_ptr_array_find_with_equal_func (names, added[i], g_str_equal, NULL))
      g_ptr_array_add (names, g_strdup (added[i]));
}

/* Every machine is that to itself; to those who give us jobs it is ours, as are its addresses. (transfer full) */
static GPtrArray *
name_localhost (DvmdController *self, const char *host, const char *const *aliases)
{
  static const char *const localhost[] = { "localhost", "127.0.0.1", "::1", NULL };
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);

  add_names (names, aliases);
  /* Logical nodes have no other names. */
  if (names->len > 0 && g_strcmp0 (host, self->parts.host) == 0)
    {
      g_auto (GStrv) own = dvmd_address_list_own ();

      add_names (names, localhost);
      add_names (names, (const char *const *)own);
    }
  g_ptr_array_add (names, NULL);
  return names;
}

static void
handle_report (DvmdController *self, guint source, GVariant *body)
{
  DvmdAgents *agents = self->agents;
  DvmdAgentReport report = { 0 };
  g_autofree const char **aliases = NULL;
  g_autoptr (GPtrArray) names = NULL;
  const char *version;
  const char *cpus;
  guint32 rank;

  g_variant_get (body, "(u&s&s^a&s&siu&s&st)", &rank, &version, &report.host, &aliases, &report.address, &report.pid,
                 &report.hwthreads, &report.topology, &cpus, &report.memory);
  names = name_localhost (self, report.host, aliases);
  report.aliases = (const char *const *)names->pdata;
  report.hwthreads = dvmd_shape_get_default_slots (self->parts.shape, &report);
  if (rank != source)
    {
      g_message ("Agent %u reports as rank %u", source, rank);
      return;
    }
  if (!dvmd_controller_keeps_to_allotment (self, rank, cpus, report.memory))
    return;
  agents->funcs->reported (agents, rank, &report);
}

static void
handle_gone (DvmdController *self, guint rank, GVariant *body)
{
  dvmd_services_agent_gone (self, rank);
  self->agents->funcs->gone (self->agents, rank);
}

static void
handle_left (DvmdController *self, guint rank, GVariant *body)
{
  guint32 uplink;

  g_variant_get (body, "(u)", &uplink);
  if (self->agents->funcs->left != NULL)
    self->agents->funcs->left (self->agents, rank, uplink);
}

static void
handle_leaving (DvmdController *self, guint rank, GVariant *body)
{
  const char *reason;

  g_variant_get (body, "(&s)", &reason);
  if (self->agents->funcs->leaving != NULL)
    self->agents->funcs->leaving (self->agents, rank, reason);
}

static Handler
find_handler (DvmdMessageKind kind)
{
  static const Handler handlers[] = {
    [DVMD_MSG_REPORT] = handle_report,
    [DVMD_MSG_GONE] = handle_gone,
    [DVMD_MSG_LEAVING] = handle_leaving,
    [DVMD_MSG_LEFT] = handle_left,
  };

  return kind < G_N_ELEMENTS (handlers) ? handlers[kind] : NULL;
}

/* The ranks of a lost node are lost with it: an agent that leaves has ended them, and its reports are no failures. */
static gboolean
is_aftermath (DvmdController *self, DvmdMessage *message)
{
  switch (message->kind)
    {
    case DVMD_MSG_LAUNCHED:
    case DVMD_MSG_PROC_STATES:
    case DVMD_MSG_RELAUNCHED:
    case DVMD_MSG_ABORT:
    case DVMD_MSG_JOB_GONE:
      return self->agents->funcs->ends_work != NULL && self->agents->funcs->ends_work (self->agents, message->source);
    default:
      return FALSE;
    }
}

gboolean
dvmd_controller_is_lost (DvmdController *self, guint rank)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (self->core), rank);

  return node == NULL || dvm_node_get_state (node->record) == DVM_NODE_STATE_DOWN;
}

static void
on_message (DvmdLink *link, DvmdMessage *message, gpointer user_data)
{
  DvmdController *self = user_data;
  Handler handler = find_handler (message->kind);

  /* LEFT comes after the loss where a grow has failed: the node is down before its agent has left. */
  if (message->kind != DVMD_MSG_LEFT && dvmd_controller_is_lost (self, message->source))
    g_debug ("Agent %u was lost: its message of kind %s comes too late", message->source,
             dvmd_message_kind_name (message->kind));
  else if (is_aftermath (self, message))
    g_debug ("Agent %u leaves: its message of kind %s comes too late", message->source,
             dvmd_message_kind_name (message->kind));
  else if (handler != NULL)
    handler (self, message->source, message->body);
  else if (!dvmd_services_handle (self, message))
    g_message ("A message of kind %s is not for the controller", dvmd_message_kind_name (message->kind));
}

void
dvmd_controller_add_link (DvmdController *self, guint rank, DvmdLink *link)
{
  g_signal_connect_object (link, "message", G_CALLBACK (on_message), self, 0);
  g_hash_table_insert (self->links, GUINT_TO_POINTER (rank), link);
}

void
dvmd_controller_remove_link (DvmdController *self, guint rank)
{
  DvmdLink *link = g_hash_table_lookup (self->links, GUINT_TO_POINTER (rank));

  if (link == NULL)
    return;
  self->gone.sent += dvmd_link_get_n_sent (link);
  self->gone.received += dvmd_link_get_n_received (link);
  g_signal_handlers_disconnect_by_data (link, self);
  g_hash_table_remove (self->links, GUINT_TO_POINTER (rank));
}

gboolean
dvmd_controller_has_link (DvmdController *self, guint rank)
{
  return g_hash_table_contains (self->links, GUINT_TO_POINTER (rank));
}

void
dvmd_controller_send (DvmdController *self, guint rank, DvmdMessageKind kind, GVariant *body)
{
  DvmdLink *link = g_hash_table_lookup (self->links, GUINT_TO_POINTER (rank));
  g_autoptr (DvmdMessage) message = dvmd_message_new (kind, 0, rank, body);

  if (link != NULL)
    dvmd_link_send (link, message);
}

void
dvmd_controller_send_to_links (DvmdController *self, DvmdMessageKind kind, GVariant *body)
{
  g_autoptr (GVariant) sunk = g_variant_ref_sink (body);
  GHashTableIter iter;
  gpointer rank;

  g_hash_table_iter_init (&iter, self->links);
  while (g_hash_table_iter_next (&iter, &rank, NULL))
    dvmd_controller_send (self, GPOINTER_TO_UINT (rank), kind, sunk);
}

void
dvmd_controller_broadcast (DvmdController *self, DvmdMessageKind kind, GVariant *body)
{
  self->agents->funcs->broadcast (self->agents, kind, body);
}

/* ---- what the core asks for ---- */

void
dvmd_controller_launch_agents (gpointer user_data, DvmdNode *const *nodes, guint n_nodes)
{
  DvmdAgents *agents = ((DvmdController *)user_data)->agents;

  agents->funcs->launch (agents, nodes, n_nodes);
}

GVariant *
dvmd_controller_describe_membership (DvmdController *self)
{
  DvmdNodePool *nodes = dvmd_core_get_nodes (self->core);
  GVariantBuilder rows;

  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(uss)"));
  for (guint rank = 0; rank <= dvmd_node_pool_get_max_rank (nodes); rank++)
    {
      DvmdNode *node = dvmd_node_pool_get (nodes, rank);
      const char *address = node != NULL ? dvm_node_get_address (node->record) : NULL;

      if (node != NULL)
        g_variant_builder_add (&rows, "(uss)", rank, dvm_node_get_name (node->record), address != NULL ? address : "");
    }
  return g_variant_new ("(ta(uss))", dvmd_core_get_membership_epoch (self->core), &rows);
}

void
dvmd_controller_wire_agents (gpointer user_data, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes)
{
  DvmdAgents *agents = ((DvmdController *)user_data)->agents;

  agents->funcs->wire (agents, campaign, nodes, n_nodes);
}

void
dvmd_controller_see_off (gpointer user_data, DvmdSendOff *order)
{
  DvmdController *self = user_data;

  self->agents->funcs->see_off (self->agents, order, order->force ? 0 : self->kill_grace);
}

/* ---- agents that somebody wants to be started again ---- */

gboolean
dvmd_controller_restart_node (DvmdController *self, DvmdNode *node, gboolean force, GError **error)
{
  guint rank = node->rank;
  guint n_jobs = g_hash_table_size (node->jobs.ids);
  g_autofree char *name = g_strdup (dvm_node_get_name (node->record));
  g_autofree char *reason = g_strdup_printf ("%s: it is started again by command", name);

  if (self->agents->funcs->restart == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                 "The agents of this DVM live in dvmd itself: they are there as long as it is");
  else if (n_jobs > 0 && !force)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY,
                 "%u job%s processes on %s, which would end: drain the node and wait for %s, or use the option "
                 "“force”",
                 n_jobs, n_jobs == 1 ? " has" : "s have", name, n_jobs == 1 ? "it" : "them");
  else if (dvmd_core_restart_node (self->core, node, error))
    {
      self->agents->funcs->restart (self->agents, rank, reason);
      return TRUE;
    }
  return FALSE;
}

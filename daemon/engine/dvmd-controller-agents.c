/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The agents, as the core asks for them: in this process, or processes of their own; told of the membership, stopped.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-wired.h"
#include "dvmd-loopback.h"

typedef void (*Handler) (DvmdController *self, guint rank, GVariant *body);

static Handler
find_handler (DvmdMessageKind kind)
{
  static const Handler handlers[] = {
    [DVMD_MSG_REPORT] = dvmd_controller_handle_report,
    [DVMD_MSG_LAUNCHED] = dvmd_controller_handle_launched,
    [DVMD_MSG_PROC_STATES] = dvmd_controller_handle_proc_states,
    [DVMD_MSG_ABORT] = dvmd_controller_handle_abort,
    [DVMD_MSG_ENVIRONMENT_ASK] = dvmd_controller_handle_environment_ask,
    [DVMD_MSG_JOB_GONE] = dvmd_controller_handle_job_gone,
    [DVMD_MSG_OUTPUT] = dvmd_controller_handle_output,
    [DVMD_MSG_OUTPUT_EOF] = dvmd_controller_handle_output_eof,
    [DVMD_MSG_INPUT_TAKEN] = dvmd_controller_handle_input_taken,
    [DVMD_MSG_FENCE] = dvmd_controller_handle_fence,
    [DVMD_MSG_FENCE_GIVEN_UP] = dvmd_controller_handle_fence_given_up,
    [DVMD_MSG_MODEX] = dvmd_controller_handle_modex,
    [DVMD_MSG_MODEX_DATA] = dvmd_controller_handle_modex_data,
    [DVMD_MSG_GONE] = dvmd_controller_handle_gone,
    [DVMD_MSG_LEAVING] = dvmd_controller_handle_leaving,
    [DVMD_MSG_TOPOLOGY] = dvmd_controller_handle_topology,
    [DVMD_MSG_TABLES] = dvmd_controller_handle_tables,
    [DVMD_MSG_STAGE_TAKEN] = dvmd_controller_handle_stage_taken,
    [DVMD_MSG_STAGED] = dvmd_controller_handle_staged,
    [DVMD_MSG_LEFT] = dvmd_controller_handle_left,
    [DVMD_MSG_ALLOCATE] = dvmd_controller_handle_allocate,
    [DVMD_MSG_TOOL_GONE] = dvmd_controller_handle_tool_gone,
    [DVMD_MSG_SPAWN] = dvmd_controller_handle_spawn,
    [DVMD_MSG_JOB_CONTROL] = dvmd_controller_handle_job_control,
    [DVMD_MSG_ABORT_OTHERS] = dvmd_controller_handle_abort_others,
    [DVMD_MSG_DATA] = dvmd_controller_handle_data,
    [DVMD_MSG_CONNECT] = dvmd_controller_handle_connect,
  };

  return kind < G_N_ELEMENTS (handlers) ? handlers[kind] : NULL;
}

/* Of a node that is lost its ranks are, too: they have not failed because the agent, which leaves, has ended them. */
static gboolean
is_aftermath (DvmdController *self, DvmdMessage *message)
{
  switch (message->kind)
    {
    case DVMD_MSG_LAUNCHED:
    case DVMD_MSG_PROC_STATES:
    case DVMD_MSG_ABORT:
    case DVMD_MSG_JOB_GONE:
      return self->wired != NULL && dvmd_wired_ends_work (self->wired, message->source);
    default:
      return FALSE;
    }
}

static void
on_message (DvmdLink *link, DvmdMessage *message, gpointer user_data)
{
  DvmdController *self = user_data;
  Handler handler = find_handler (message->kind);

  /* Of those whose grow has failed the node is down before they have left. */
  if (message->kind != DVMD_MSG_LEFT && dvmd_controller_is_lost (self, message->source))
    g_debug ("Agent %u was lost: its message of kind %s comes too late", message->source,
             dvmd_message_kind_name (message->kind));
  else if (is_aftermath (self, message))
    g_debug ("Agent %u leaves: its message of kind %s comes too late", message->source,
             dvmd_message_kind_name (message->kind));
  else if (handler == NULL)
    g_message ("A message of kind %s is not for the controller", dvmd_message_kind_name (message->kind));
  else
    handler (self, message->source, message->body);
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
  self->gone_sent += dvmd_link_get_n_sent (link);
  self->gone_received += dvmd_link_get_n_received (link);
  g_signal_handlers_disconnect_by_data (link, self);
  g_hash_table_remove (self->links, GUINT_TO_POINTER (rank));
}

static void
start_embedded (DvmdController *self, DvmdNode *node)
{
  /* Each node has a place of its own, also where several are one machine. */
  g_autofree char *place = self->hosts != NULL ? g_strdup_printf ("%s/node-%u", self->runtime_dir, node->rank)
                                               : g_strdup (self->runtime_dir);
  DvmdAgentSettings settings = {
    .rank = node->rank,
    .name = dvm_node_get_name (node->record),
    .dvm_nspace = self->nspace,
    .runtime_dir = place,
    .pmix_gds = self->pmix_gds,
    .pmix_eager = self->pmix_eager,
    .adopt_orphans = self->adopt_orphans,
    .reaper = self->reaper,
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdLink) theirs = NULL;
  g_autoptr (DvmdAgent) agent = NULL;
  DvmdLink *ours = NULL;
  DvmdPmix *given = NULL;

  dvmd_loopback_new_pair (self->context, &ours, &theirs);
  dvmd_controller_add_link (self, node->rank, ours);
  if (node->rank <= self->pmix->len)
    given = g_ptr_array_index (self->pmix, node->rank - 1);
  agent = dvmd_agent_new (&settings, theirs, given, self->clock, self->context);
  if (!dvmd_agent_start (agent, &error))
    {
      dvmd_core_agent_failed (self->core, node->rank, DVMD_CAUSE_LAUNCH, error->message);
      return;
    }
  g_ptr_array_add (self->embedded, g_steal_pointer (&agent));
}

void
dvmd_controller_launch_agents (gpointer world, DvmdNode *const *nodes, guint n_nodes)
{
  DvmdController *self = world;

  if (self->wired != NULL)
    dvmd_wired_launch (self->wired, nodes, n_nodes);
  else
    for (guint i = 0; i < n_nodes; i++)
      start_embedded (self, nodes[i]);
}

static void
broadcast (DvmdController *self, DvmdMessageKind kind, GVariant *body)
{
  g_autoptr (GVariant) sunk = g_variant_ref_sink (body);
  GHashTableIter iter;
  gpointer rank;

  self->broadcasts++;
  g_hash_table_iter_init (&iter, self->links);
  while (g_hash_table_iter_next (&iter, &rank, NULL))
    dvmd_controller_send (self, GPOINTER_TO_UINT (rank), kind, sunk);
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
dvmd_controller_distribute_membership (gpointer world, guint64 epoch)
{
  DvmdController *self = world;

  self->epoch = epoch;
  if (self->wired != NULL)
    {
      dvmd_wired_distribute (self->wired, epoch, dvmd_controller_describe_membership (self));
      return;
    }
  broadcast (self, DVMD_MSG_MEMBERSHIP, dvmd_controller_describe_membership (self));
  /* Nothing overtakes it within a process. */
  dvmd_core_membership_distributed (self->core, epoch);
}

void
dvmd_controller_stop_agents (gpointer world, gboolean force)
{
  DvmdController *self = world;

  gint64 grace = force ? 0 : self->kill_grace;

  if (self->wired != NULL)
    dvmd_wired_stop (self->wired, grace, force);
  else
    broadcast (self, DVMD_MSG_STOP, g_variant_new ("(x)", grace));
}

/* Every machine is that to itself; to those who give us jobs it is ours. (transfer full): its names are not ours. */
static GPtrArray *
name_localhost (DvmdController *self, const char *host, const char *const *aliases)
{
  GPtrArray *names = g_ptr_array_new ();

  for (gsize i = 0; aliases[i] != NULL; i++)
    if (!g_ptr_array_find_with_equal_func (names, aliases[i], g_str_equal, NULL))
      g_ptr_array_add (names, (gpointer)aliases[i]);
  /* Logical nodes have no other names. */
  if (names->len > 0 && g_strcmp0 (host, self->host) == 0)
    g_ptr_array_add (names, (gpointer) "localhost");
  g_ptr_array_add (names, NULL);
  return names;
}

void
dvmd_controller_handle_report (DvmdController *self, guint source, GVariant *body)
{
  DvmdAgentReport report = { 0 };
  g_autofree const char **aliases = NULL;
  g_autoptr (GPtrArray) names = NULL;
  const char *version;
  guint32 rank;

  g_variant_get (body, "(u&s&s^a&s&siu&s)", &rank, &version, &report.host, &aliases, &report.address, &report.pid,
                 &report.hwthreads, &report.topology);
  names = name_localhost (self, report.host, aliases);
  report.aliases = (const char *const *)names->pdata;
  if (rank != source)
    {
      g_message ("Agent %u reports as rank %u", source, rank);
      return;
    }
  if (self->wired != NULL && !dvmd_wired_reported (self->wired, rank, report.address))
    {
      g_debug ("Agent %u reports, and is not waited for", rank);
      return;
    }
  dvmd_core_agent_reported (self->core, rank, &report);
  if (self->wired != NULL)
    dvmd_controller_learn_topology (self, rank);
}

void
dvmd_controller_handle_gone (DvmdController *self, guint rank, GVariant *body)
{
  dvmd_controller_fail_topologies (self, rank);
  dvmd_controller_fail_tables (self, rank);
  if (self->wired != NULL)
    dvmd_wired_gone (self->wired, rank);
  else
    dvmd_core_agent_gone (self->core, rank);
}

void
dvmd_controller_handle_left (DvmdController *self, guint rank, GVariant *body)
{
  guint32 uplink;

  g_variant_get (body, "(u)", &uplink);
  if (self->wired != NULL)
    dvmd_wired_left (self->wired, rank, uplink);
}

void
dvmd_controller_handle_leaving (DvmdController *self, guint rank, GVariant *body)
{
  const char *reason;

  g_variant_get (body, "(&s)", &reason);
  if (self->wired != NULL)
    dvmd_wired_leaving (self->wired, rank, reason);
}

/* ---- a DVM that changes its size: its agents are processes ---- */

void
dvmd_controller_wire_agents (gpointer world, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes)
{
  dvmd_wired_wire_agents (((DvmdController *)world)->wired, campaign, nodes, n_nodes);
}

void
dvmd_controller_remove_agents (gpointer world, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes,
                               guint *repairs, guint *links_changed)
{
  dvmd_wired_remove_agents (((DvmdController *)world)->wired, nodes, n_nodes, repairs, links_changed);
}

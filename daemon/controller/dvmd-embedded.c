/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents of this process: nothing is started, nothing overtakes anything, and they are there as long as it is.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-map.h"
#include "dvmd-loopback.h"
#include "dvmd-services.h"

typedef struct
{
  DvmdAgents parent;
  DvmdController *controller; /* unowned */
  DvmdEmbedFunc embed;        /* (nullable) */
  gpointer embed_data;
  GPtrArray *agents; /* GObject */
  guint64 broadcasts;
} Embedded;

static void
start (Embedded *self, DvmdNode *node)
{
  DvmdController *controller = self->controller;
  /* Each node has a place of its own, also where several are one machine. */
  g_autofree char *place = dvmd_controller_get_parts (controller)->shape->embedded != NULL
                               ? g_strdup_printf ("%s/node-%u", dvmd_controller_get_parts (controller)->runtime_dir,
                                                  node->rank)
                               : g_strdup (dvmd_controller_get_parts (controller)->runtime_dir);
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdLink) theirs = NULL;
  g_autoptr (DvmdTopology) topology = NULL;
  DvmdLink *ours = NULL;
  GObject *agent;

  dvmd_loopback_new_pair (dvmd_controller_get_parts (controller)->context, &ours, &theirs);
  dvmd_controller_add_link (controller, node->rank, ours);
  agent = self->embed (
      &(DvmdEmbeddedAgent){
          .rank = node->rank,
          .name = dvm_node_get_name (node->record),
          .dvm_nspace = dvmd_controller_get_parts (controller)->nspace,
          .runtime_dir = place,
          .link = theirs,
          .clock = dvmd_controller_get_parts (controller)->clock,
          .context = dvmd_controller_get_parts (controller)->context,
          .reaper = dvmd_controller_get_parts (controller)->processes != NULL
                        ? dvmd_host_processes_get_reaper (dvmd_controller_get_parts (controller)->processes)
                        : NULL,
          .topology = &topology,
      },
      self->embed_data, &error);
  if (topology != NULL)
    dvmd_controller_keep_topology (controller, topology);
  if (agent != NULL)
    g_ptr_array_add (self->agents, agent);
  else
    dvmd_core_agent_ended (dvmd_controller_get_core (controller), node->rank, DVMD_AGENT_FAILED, DVMD_CAUSE_LAUNCH,
                           error->message);
}

static void
launch (DvmdAgents *agents, DvmdNode *const *nodes, guint n_nodes)
{
  for (guint i = 0; i < n_nodes; i++)
    start ((Embedded *)agents, nodes[i]);
}

static void
broadcast (DvmdAgents *agents, DvmdMessageKind kind, GVariant *body)
{
  Embedded *self = (Embedded *)agents;

  self->broadcasts++;
  dvmd_controller_send_to_links (self->controller, kind, body);
}

static void
wire (DvmdAgents *agents, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes)
{
  DvmdController *controller = ((Embedded *)agents)->controller;

  broadcast (agents, DVMD_MSG_MEMBERSHIP, dvmd_controller_describe_membership (controller));
  dvmd_core_agents_wired (dvmd_controller_get_core (controller), campaign);
}

static void
see_off (DvmdAgents *agents, DvmdSendOff *order, gint64 grace)
{
  g_return_if_fail (order->nodes == NULL);

  broadcast (agents, DVMD_MSG_STOP, g_variant_new ("(x)", grace));
}

static void
reported (DvmdAgents *agents, guint rank, const DvmdAgentReport *report)
{
  dvmd_core_agent_reported (dvmd_controller_get_core (((Embedded *)agents)->controller), rank, report);
}

static void
gone (DvmdAgents *agents, guint rank)
{
  dvmd_core_agent_ended (dvmd_controller_get_core (((Embedded *)agents)->controller), rank, DVMD_AGENT_GONE,
                         DVMD_CAUSE_LOST, NULL);
}

/* Agents in this process have no links, so that no stranger can be refused. */
static void
add_statistics (DvmdAgents *agents, GVariantBuilder *statistics)
{
  static const char *const none[] = { "broadcast-bytes", "links-opened", "links-lost", "joins-refused", "listen-port" };

  dvmd_services_add_number (statistics, "broadcasts", ((Embedded *)agents)->broadcasts);
  for (gsize i = 0; i < G_N_ELEMENTS (none); i++)
    dvmd_services_add_number (statistics, none[i], 0);
}

static void
embedded_free (DvmdAgents *agents)
{
  Embedded *self = (Embedded *)agents;

  g_ptr_array_unref (self->agents);
  g_free (self);
}

static const DvmdAgentsFuncs funcs = {
  .see_to_orphans = TRUE,
  .free = embedded_free,
  .launch = launch,
  .wire = wire,
  .see_off = see_off,
  .reported = reported,
  .gone = gone,
  .broadcast = broadcast,
  .add_statistics = add_statistics,
};

DvmdAgents *
dvmd_embedded_new (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Embedded *self = g_new0 (Embedded, 1);

  self->parent.funcs = &funcs;
  self->controller = controller;
  self->embed = settings->embed;
  self->embed_data = settings->embed_data;
  self->agents = g_ptr_array_new_with_free_func (g_object_unref);
  return &self->parent;
}

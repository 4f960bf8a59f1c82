/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A private DVM has its agents in the process of its controller. Neither knows the other's class: here they meet.
 */

#include "config.h"

#include "dvmd-embed.h"

#include "dvmd-agent-frame.h"

GObject *
dvmd_embed_agent (const DvmdEmbeddedAgent *description, gpointer data, GError **error)
{
  const DvmdEmbedding *embedding = data;
  DvmdAgentSettings settings = {
    .rank = description->rank,
    .name = description->name,
    .dvm_nspace = description->dvm_nspace,
    .runtime_dir = description->runtime_dir,
    .pmix_gds = embedding->pmix_gds,
    .pmix_eager = embedding->pmix_eager,
    .pmix_tools = embedding->pmix_tools,
    .pmix_system = embedding->pmix_system,
    .adopt_orphans = embedding->adopt_orphans,
    .reaper = description->reaper,
  };
  DvmdPmix *given = description->rank <= embedding->n_pmix ? embedding->pmix[description->rank - 1] : NULL;
  g_autoptr (DvmdAgent)
      agent = dvmd_agent_new (&settings, description->link, given, description->clock, description->context);

  if (!dvmd_agent_start (agent, error))
    return NULL;
  if (description->topology != NULL)
    *description->topology = dvmd_topology_ref (dvmd_agent_get_parts (agent)->topology);
  return G_OBJECT (g_steal_pointer (&agent));
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The services of the agent are listed here; they are freed in the opposite order.
 */

#include "config.h"

#include "dvmd-agent-private.h"

static const DvmdAgentService *const services[] = {
  &dvmd_agent_frame_service,  &dvmd_agent_launch_service,      &dvmd_agent_stage_service,  &dvmd_agent_procs_service,
  &dvmd_agent_io_service,     &dvmd_agent_debug_service,       &dvmd_agent_pmix_service,   &dvmd_agent_fences_service,
  &dvmd_agent_tools_service,  &dvmd_agent_size_service,        &dvmd_agent_spawn_service,  &dvmd_agent_connect_service,
  &dvmd_agent_calls_service,  &dvmd_agent_environment_service, &dvmd_agent_events_service, &dvmd_agent_usage_service,
  &dvmd_agent_stacks_service, &dvmd_agent_pmi_service,         &dvmd_agent_psets_service,  &dvmd_agent_runs_service,
};

struct _DvmdAgentServices
{
  gpointer services[G_N_ELEMENTS (services)];
  DvmdDispatch *dispatch;
};

DvmdAgentServices *
dvmd_agent_services_new (DvmdAgent *agent, const DvmdAgentSettings *settings)
{
  DvmdAgentServices *self = g_new0 (DvmdAgentServices, 1);

  self->dispatch = dvmd_dispatch_new ();
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    {
      self->services[i] = services[i]->create != NULL ? services[i]->create (agent, settings) : agent;
      dvmd_dispatch_add (self->dispatch, services[i]->handlers, self->services[i]);
    }
  return self;
}

void
dvmd_agent_services_free (DvmdAgentServices *self)
{
  for (gsize i = G_N_ELEMENTS (services); i-- > 0;)
    if (services[i]->free != NULL)
      services[i]->free (self->services[i]);
  dvmd_dispatch_free (self->dispatch);
  g_free (self);
}

gpointer
dvmd_agent_services_get (DvmdAgent *agent, const DvmdAgentService *service)
{
  gsize i = 0;

  while (services[i] != service)
    i++;
  return agent->services->services[i];
}

gboolean
dvmd_agent_services_handle (DvmdAgent *agent, DvmdMessage *message)
{
  return dvmd_dispatch_deliver (agent->services->dispatch, message);
}

void
dvmd_agent_services_ending (DvmdAgent *agent)
{
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    if (services[i]->ending != NULL)
      services[i]->ending (agent->services->services[i]);
}

void
dvmd_agent_services_told_members (DvmdAgent *agent)
{
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    if (services[i]->told_members != NULL)
      services[i]->told_members (agent->services->services[i]);
}

gboolean
dvmd_agent_services_are_busy (DvmdAgent *agent)
{
  for (gsize i = 0; i < G_N_ELEMENTS (services); i++)
    if (services[i]->is_busy != NULL && services[i]->is_busy (agent->services->services[i]))
      return TRUE;
  return FALSE;
}

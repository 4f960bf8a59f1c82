/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent-frame.h"
#include "dvmd-dispatch.h"

G_BEGIN_DECLS

/*
 * A service is one concern of the agent: a struct that no other file sees, and the messages that it takes. The agent
 * does not change when it gets another one; dvmd-agent-services.c lists them.
 */

/* All but name are nullable. */
typedef struct
{
  const char *name;
  gpointer (*create) (
      DvmdAgent *agent,
      const DvmdAgentSettings *settings); /* NULL: the service has no struct, its handlers get the agent */
  void (*free) (gpointer service);
  const DvmdHandler *handlers; /* the last one has no function */
  /* The agent ends: what it serves is told. It may be told twice. */
  void (*ending) (gpointer service);
  /* The agent knows who is in the DVM. */
  void (*told_members) (gpointer service);
  /* Something of it has to come to its end before the agent's does. */
  gboolean (*is_busy) (gpointer service);
} DvmdAgentService;

/* The struct of a service. */
gpointer dvmd_agent_services_get (DvmdAgent *agent, const DvmdAgentService *service);
/* FALSE: no service takes messages of this kind. */
gboolean dvmd_agent_services_handle (DvmdAgent *agent, DvmdMessage *message);

/* One file each. */
extern const DvmdAgentService dvmd_agent_frame_service;
extern const DvmdAgentService dvmd_agent_calls_service;
extern const DvmdAgentService dvmd_agent_connect_service;
extern const DvmdAgentService dvmd_agent_debug_service;
extern const DvmdAgentService dvmd_agent_environment_service;
extern const DvmdAgentService dvmd_agent_events_service;
extern const DvmdAgentService dvmd_agent_fences_service;
extern const DvmdAgentService dvmd_agent_io_service;
extern const DvmdAgentService dvmd_agent_launch_service;
extern const DvmdAgentService dvmd_agent_pmi_service;
extern const DvmdAgentService dvmd_agent_pmix_service;
extern const DvmdAgentService dvmd_agent_procs_service;
extern const DvmdAgentService dvmd_agent_psets_service;
extern const DvmdAgentService dvmd_agent_runs_service;
extern const DvmdAgentService dvmd_agent_size_service;
extern const DvmdAgentService dvmd_agent_spawn_service;
extern const DvmdAgentService dvmd_agent_stacks_service;
extern const DvmdAgentService dvmd_agent_stage_service;
extern const DvmdAgentService dvmd_agent_tools_service;
extern const DvmdAgentService dvmd_agent_usage_service;

G_END_DECLS

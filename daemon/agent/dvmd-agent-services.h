/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agent.h"
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
  gpointer (*create) (DvmdAgent *agent); /* NULL: the service has no struct, its handlers get the agent */
  void (*free) (gpointer service);
  const DvmdHandler *handlers; /* the last one has no function */
  /* The agent ends: what it serves is told. It may be told twice. */
  void (*ending) (gpointer service);
} DvmdAgentService;

typedef struct _DvmdAgentServices DvmdAgentServices;

/* agent: unowned; what services need of it is there. */
DvmdAgentServices *dvmd_agent_services_new (DvmdAgent *agent);
void dvmd_agent_services_free (DvmdAgentServices *self);
/* The struct of a service. */
gpointer dvmd_agent_services_get (DvmdAgentServices *self, const DvmdAgentService *service);
/* FALSE: no service takes messages of this kind. */
gboolean dvmd_agent_services_handle (DvmdAgentServices *self, DvmdMessage *message);
void dvmd_agent_services_ending (DvmdAgentServices *self);

/* One file each. */
extern const DvmdAgentService dvmd_agent_frame_service;
extern const DvmdAgentService dvmd_agent_calls_service;
extern const DvmdAgentService dvmd_agent_connect_service;
extern const DvmdAgentService dvmd_agent_debug_service;
extern const DvmdAgentService dvmd_agent_fences_service;
extern const DvmdAgentService dvmd_agent_io_service;
extern const DvmdAgentService dvmd_agent_launch_service;
extern const DvmdAgentService dvmd_agent_pmix_service;
extern const DvmdAgentService dvmd_agent_procs_service;
extern const DvmdAgentService dvmd_agent_size_service;
extern const DvmdAgentService dvmd_agent_spawn_service;
extern const DvmdAgentService dvmd_agent_stage_service;
extern const DvmdAgentService dvmd_agent_tools_service;

G_END_DECLS

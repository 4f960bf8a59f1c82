/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The agent's own struct, for the files of the frame alone; dvmd-agent-frame.h is what services see.
 */

#pragma once

#include "dvmd-agent-job.h"
#include "dvmd-local-daemon.h"

G_BEGIN_DECLS

typedef struct _DvmdAgentServices DvmdAgentServices;

struct _DvmdAgent
{
  GObject parent_instance;

  DvmdAgentParts parts;
  struct
  {
    char *addresses;     /* (nullable) */
    char *topology_file; /* (nullable) */
    gboolean logical;
    gboolean pmix_eager;
    gboolean adopt_orphans;
    gboolean shares_reaper;
  } options;             /* DvmdAgentSettings says what they are */
  DvmdTopology *machine; /* as it was at the start: parts.topology has the cpus that are given of it */
  DvmdLink *link;
  DvmdPmix *pmix; /* (nullable): not opened yet */
  gboolean pmix_started;
  DvmdAgentServices *services;
  GHashTable *jobs;        /* id -> DvmdAgentJob */
  GHashTable *by_nspace;   /* namespace -> DvmdAgentJob */
  GHashTable *node_names;  /* rank -> name, from MEMBERSHIP */
  DvmdLocalDaemon *daemon; /* the agent's own row */
  guint memory_timer;
};

/* There is an agent on every node, and most of the time it waits: what it took to come there is given back. */
void dvmd_agent_give_memory_back (DvmdAgent *self);

/* agent: unowned; what services need of it is there. */
DvmdAgentServices *dvmd_agent_services_new (DvmdAgent *agent, const DvmdAgentSettings *settings);
void dvmd_agent_services_free (DvmdAgentServices *self);
void dvmd_agent_services_ending (DvmdAgent *agent);
void dvmd_agent_services_told_members (DvmdAgent *agent);
/* Something of theirs has to come to its end before the agent's does. */
gboolean dvmd_agent_services_are_busy (DvmdAgent *agent);

G_END_DECLS

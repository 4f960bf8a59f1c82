/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-controller.h"
#include "dvmd-message.h"

G_BEGIN_DECLS

/*
 * The agents of a DVM, and how they are started, told and ended: in this process (dvmd_embedded_new()), or processes of
 * their own (dvmd_remote_new()). The controller knows no difference.
 */
typedef struct _DvmdAgents DvmdAgents;

/* An implementation leaves a nullable function out if it has nothing to do there. */
typedef struct
{
  gboolean see_to_orphans; /* of this process */
  void (*free) (DvmdAgents *agents);
  void (*launch) (DvmdAgents *agents, DvmdNode *const *nodes, guint n_nodes);
  /* (nullable): whether so many more may be started */
  gboolean (*check_room) (DvmdAgents *agents, guint n, GError **error);
  /* These get their places, and all are told who is there: dvmd_core_agents_wired() follows. campaign: (nullable) */
  void (*wire) (DvmdAgents *agents, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes);
  /* (nullable): it ends; of one that is down this is no news */
  void (*restart) (DvmdAgents *agents, guint rank, const char *reason);
  /*
   * These go, or all: dvmd_core_agent_ended() follows for each. Some go in an elastic DVM alone. grace: µs that
   * processes have where all go
   */
  void (*see_off) (DvmdAgents *agents, DvmdSendOff *order, gint64 grace);
  /* (nullable): what has not ended soon is killed, whatever runs there */
  void (*force) (DvmdAgents *agents);
  /* (nullable): the DVM has ended; what those have left who went just now is not forgotten */
  void (*dvm_ended) (DvmdAgents *agents);
  /* (nullable): whether some are still being ended */
  gboolean (*is_ending) (DvmdAgents *agents);

  /* The agents' reports: */
  /* dvmd_core_agent_reported() follows if it is waited for. */
  void (*reported) (DvmdAgents *agents, guint rank, const DvmdAgentReport *report);
  void (*gone) (DvmdAgents *agents, guint rank);
  /* (nullable): it has done as it was ordered */
  void (*left) (DvmdAgents *agents, guint rank, guint uplink);
  /* (nullable): it goes without being told to */
  void (*leaving) (DvmdAgents *agents, guint rank, const char *reason);
  /* (nullable): it is going so: what its ranks do from now on is because of that */
  gboolean (*ends_work) (DvmdAgents *agents, guint rank);

  /* (nullable): whether what concerns all of a job with this map had best go to all agents */
  gboolean (*is_for_all) (DvmdAgents *agents, DvmdMap *map);
  void (*broadcast) (DvmdAgents *agents, DvmdMessageKind kind, GVariant *body);
  void (*add_statistics) (DvmdAgents *agents, GVariantBuilder *statistics);
} DvmdAgentsFuncs;

struct _DvmdAgents
{
  const DvmdAgentsFuncs *funcs;
};

/* controller: unowned */
DvmdAgents *dvmd_embedded_new (DvmdController *controller, const DvmdControllerSettings *settings);
DvmdAgents *dvmd_remote_new (DvmdController *controller, const DvmdControllerSettings *settings);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The controller's own struct, for the files of the frame alone; dvmd-controller-frame.h is what services see.
 */

#pragma once

#include "dvmd-services.h"

G_BEGIN_DECLS

typedef struct _DvmdServices DvmdServices;

struct _DvmdController
{
  GObject parent_instance;

  DvmdControllerParts parts;
  gint64 started_at;
  gint64 kill_grace;
  gboolean adopt_orphans;
  DvmdEventQueue *queue;
  DvmdCore *core;
  DvmdAgents *agents;
  gboolean was_ready;
  struct
  {
    gboolean reached; /* as far as the core is concerned */
    DvmJobState state;
    char *reason;
  } end;
  GHashTable *links; /* rank -> DvmdLink */
  DvmdServices *services;
  struct
  {
    guint64 sent;
    guint64 received;
  } gone; /* messages of links that are no more */
};

/* controller: unowned; what services need of it is there. */
DvmdServices *dvmd_services_new (DvmdController *controller, const DvmdControllerSettings *settings);
void dvmd_services_free (DvmdServices *self);

/* dvmd-controller.c: effects of the core */
void dvmd_controller_tell_ready (gpointer user_data);
void dvmd_controller_tell_ended (gpointer user_data, DvmJobState state, const char *reason);

/* dvmd-agents.c: likewise */
void dvmd_controller_launch_agents (gpointer user_data, DvmdNode *const *nodes, guint n_nodes);
void dvmd_controller_see_off (gpointer user_data, DvmdSendOff *order);
void dvmd_controller_wire_agents (gpointer user_data, DvmdCampaign *campaign, DvmdNode *const *nodes, guint n_nodes);

G_END_DECLS

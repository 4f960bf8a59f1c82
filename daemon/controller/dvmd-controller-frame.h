/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-agents.h"
#include "dvmd-controller.h"
#include "dvmd-message.h"
#include "dvmd-shape.h"

G_BEGIN_DECLS

/*
 * The controller as its services and its agents see it: what they may ask of it besides what dvmd-controller.h lets
 * everybody ask.
 */

/* The parts are the identity of the controller, and the objects that its services share. */
typedef struct
{
  char *instance_id;
  char *runtime_dir;     /* private directory of this DVM */
  char *nspace;          /* of the DVM */
  char *host;            /* this machine */
  GMainContext *context; /* (nullable) */
  DvmdClock *clock;
  DvmdPlugins *plugins;
  DvmdHostProcesses *processes; /* (nullable): plugins cannot start commands */
  DvmdShape *shape;
  gboolean end_is_asked; /* by dvmd_controller_shutdown(): the core may not know yet */
} DvmdControllerParts;

const DvmdControllerParts *dvmd_controller_get_parts (DvmdController *self);
/* (nullable): the controller has been disposed of */
DvmdAgents *dvmd_controller_get_agents (DvmdController *self);
gint64 dvmd_controller_get_kill_grace (DvmdController *self);
/* Plugins answer where they are asked: around what asks them. */
void dvmd_controller_enter (DvmdController *self);
void dvmd_controller_leave (DvmdController *self);
/* The output of a job that has ended is delivered. */
void dvmd_controller_finish_job (DvmdController *self, DvmdJob *job);
/* When the DVM has ended, and nothing is being ended any more: tells so. */
void dvmd_controller_check_end (DvmdController *self);

/* dvmd-agents.c */
void dvmd_controller_send (DvmdController *self, guint rank, DvmdMessageKind kind, GVariant *body);
/* To all agents. */
void dvmd_controller_broadcast (DvmdController *self, DvmdMessageKind kind, GVariant *body);
/* link is taken. */
void dvmd_controller_add_link (DvmdController *self, guint rank, DvmdLink *link);
void dvmd_controller_remove_link (DvmdController *self, guint rank);
gboolean dvmd_controller_has_link (DvmdController *self, guint rank);
/* One by one to all that have a link. */
void dvmd_controller_send_to_links (DvmdController *self, DvmdMessageKind kind, GVariant *body);
gboolean dvmd_controller_is_lost (DvmdController *self, guint rank);
/* (transfer floating): the body of DVMD_MSG_MEMBERSHIP */
GVariant *dvmd_controller_describe_membership (DvmdController *self);

G_END_DECLS

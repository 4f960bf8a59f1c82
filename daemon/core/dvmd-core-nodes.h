/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core.h"

G_BEGIN_DECLS

/* The nodes of the DVM, as jobs and campaigns find them. */

/* (nullable): an agent of that name which is there, or on its way */
DvmdNode *dvmd_core_find_agent (DvmdCore *self, const char *name);
gboolean dvmd_node_is_leaving (DvmdNode *node);
gboolean dvmd_node_is_down (DvmdNode *node);
/* It is up, drained or not, or was when it was told to leave. */
gboolean dvmd_node_is_member (DvmdNode *node);
/* An event of dvmd-agent-life.h, with what it carries and (nullable) its reason. */
void dvmd_core_agent_step (DvmdCore *self, DvmdNode *node, guint event, guint given, const char *reason);
/* Launchers put the name of the node before what happened: without it. */
const char *dvmd_core_strip_name (DvmdNode *node, const char *reason);
/* A node that a grow brings; its agent has yet to be started. why (nullable): of its state */
DvmdNode *dvmd_core_bring_node (DvmdCore *self, const char *name, guint slots, guint slots_max, const char *why);
/* A node as the campaigns that it is in leave it. */
void dvmd_core_refresh_node (DvmdCore *self, DvmdNode *node);
/* Jobs that were let through and not placed yet look for other nodes. */
void dvmd_core_unplan_node (DvmdCore *self, DvmdNode *node);
/* (nullable): the campaign that takes it away, or brings it */
DvmdCampaign *dvmd_core_find_taker (DvmdNode *node);
/* (nullable, transfer full): what takes the node away, for the jobs that it takes with it */
DvmReason *dvmd_core_describe_departure (DvmdNode *node);
/* (nullable): a rank of the job's map that is no member, or is leaving; G_MAXUINT: none */
guint dvmd_core_find_missing (DvmdJob *job);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "sim-world.h"

G_BEGIN_DECLS

/* Questions of the statements about the events that were seen so far. */

/* (nullable): a campaign that has closed a gate before that moment (world->seq), and keeps it closed */
SimCampaign *sim_find_ticket (SimWorld *world, gboolean shrinks_alone, guint64 before);
/* Notes campaigns that have closed a gate since the last call. */
void sim_note_tickets (SimWorld *world);
gboolean sim_has_target (DvmdCampaign *campaign, guint rank);
/* The agent is a member by all that has happened to it: wired, and neither departed nor lost. */
gboolean sim_is_member (SimWorld *world, guint rank);
/* A shrink of the agent holds its ticket. */
gboolean sim_is_leaving (SimWorld *world, guint rank);
/* Notes the cause of an agent's end. */
void sim_note_cause (SimWorld *world, guint rank, DvmdCause cause);
/* Nothing of the agent lives, or it has nothing left to do but to go. */
gboolean sim_is_gone (SimDaemon *daemon);
/* All targets of the campaign are gone. */
void sim_check_gone (SimWorld *world, DvmdCampaign *campaign, SimStatement statement);
/* No target of the campaign is a member, neither in the core's pool nor in the tree. */
void sim_check_not_in (SimWorld *world, DvmdCampaign *campaign, SimStatement statement);

/* The attempt was told that its agent has been wired. */
void sim_statements_restarted (SimWorld *world, DvmdCampaign *attempt, guint rank);
/* The node will be tried again. */
gboolean sim_is_coming_back (SimWorld *world, guint rank);
/* Attempts to bring that host back so far; failed_alone: those that failed since the last success. */
guint sim_count_restarts (SimWorld *world, const char *host, gboolean failed_alone);

G_END_DECLS

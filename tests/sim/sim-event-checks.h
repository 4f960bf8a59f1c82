/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "sim-world.h"

G_BEGIN_DECLS

/* What the statements ask of what was seen so far. */

/* (nullable): a campaign that has closed a gate before that moment, and keeps it closed */
SimCampaign *sim_find_ticket (SimWorld *world, gboolean shrinks_alone, guint64 before);
/* Campaigns that have closed a gate since the last look. */
void sim_note_tickets (SimWorld *world);
gboolean sim_has_target (DvmdCampaign *campaign, guint rank);
/* By all that has happened to it: wired, and neither departed nor lost. */
gboolean sim_is_member (SimWorld *world, guint rank);
/* A shrink has taken its ticket for it. */
gboolean sim_is_leaving (SimWorld *world, guint rank);
/* That has happened to an agent. */
void sim_note_cause (SimWorld *world, guint rank, DvmdCause cause);
/* Nothing of it lives, or it has nothing left to do but to go. */
gboolean sim_is_gone (SimDaemon *daemon);
/* The same for all of its targets. */
void sim_check_gone (SimWorld *world, DvmdCampaign *campaign, SimStatement statement);
/* None of its targets is a member, for anybody. */
void sim_check_not_in (SimWorld *world, DvmdCampaign *campaign, SimStatement statement);

/* It was told that its agent has been wired. */
void sim_statements_restarted (SimWorld *world, DvmdCampaign *attempt, guint rank);
/* The node will be tried again. */
gboolean sim_is_coming_back (SimWorld *world, guint rank);
/* Attempts to bring that host back, up to now: all, and those in a row that have not. */
guint sim_count_restarts (SimWorld *world, const char *host, gboolean failed_alone);

G_END_DECLS

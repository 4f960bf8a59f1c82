/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-core-parts.h"

G_BEGIN_DECLS

/* The agents of the DVM in numbers, and the membership that they are told of. */

DvmdMembership *dvmd_membership_new (void);
void dvmd_membership_free (DvmdMembership *self);
/* The DVM starts with so many. */
void dvmd_membership_begin (DvmdMembership *self, guint n_agents);
/* One of those has reported, or will not come; it may have reported before. */
void dvmd_membership_report (DvmdMembership *self);
void dvmd_membership_miss (DvmdMembership *self, gboolean has_reported);
/* Each of them has reported or failed. */
gboolean dvmd_membership_is_settled (const DvmdMembership *self);
/* The agents that failed before the DVM was ready */
guint dvmd_membership_count_missing (const DvmdMembership *self);
/* An agent more, one fewer */
void dvmd_membership_add (DvmdMembership *self);
void dvmd_membership_remove (DvmdMembership *self);
/* Agents that have not gone */
guint dvmd_membership_count_agents (const DvmdMembership *self);
/* Members have come or gone: it has a new number. */
void dvmd_membership_renew (DvmdMembership *self);
/* These nodes are to be members. campaign (nullable): that brings them */
void dvmd_core_wire (DvmdCore *core, DvmdCampaign *campaign, GPtrArray *nodes);

G_END_DECLS

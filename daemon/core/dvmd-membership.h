/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The agents of the DVM in numbers, and the membership that they are told of. These functions alone write it. */
typedef struct
{
  guint64 epoch;    /* of the membership */
  guint n_expected; /* at the start */
  guint n_reported; /* of these */
  guint n_missing;  /* that failed before the DVM was ready */
  guint n_agents;   /* that have not gone */
  guint tree_depth; /* 0: nobody has said */
  guint64 tree_repairs;
} DvmdMembership;

/* The DVM starts with so many. */
void dvmd_membership_begin (DvmdMembership *self, guint n_agents);
/* One of those has reported, or will not come; it may have reported before. */
void dvmd_membership_report (DvmdMembership *self);
void dvmd_membership_miss (DvmdMembership *self, gboolean has_reported);
/* Each of them has reported or failed. */
gboolean dvmd_membership_is_settled (const DvmdMembership *self);
/* An agent more, one fewer */
void dvmd_membership_add (DvmdMembership *self);
void dvmd_membership_remove (DvmdMembership *self);
/* Members have come or gone: its new number. */
guint64 dvmd_membership_renew (DvmdMembership *self);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many agents there are, and the number of the membership.
 */

#include "config.h"

#include "dvmd-membership.h"

#include "dvmd-core-private.h"

void
dvmd_membership_begin (DvmdMembership *self, guint n_agents)
{
  self->n_expected = self->n_agents = n_agents;
}

void
dvmd_membership_report (DvmdMembership *self)
{
  self->n_reported++;
}

void
dvmd_membership_miss (DvmdMembership *self, gboolean has_reported)
{
  if (has_reported)
    self->n_reported--;
  self->n_missing++;
}

gboolean
dvmd_membership_is_settled (const DvmdMembership *self)
{
  return self->n_reported + self->n_missing >= self->n_expected;
}

void
dvmd_membership_add (DvmdMembership *self)
{
  self->n_agents++;
}

void
dvmd_membership_remove (DvmdMembership *self)
{
  self->n_agents--;
}

guint64
dvmd_membership_renew (DvmdMembership *self)
{
  return ++self->epoch;
}

/* ---- what the core says of it ---- */

void
dvmd_core_set_tree (DvmdCore *self, guint depth, guint64 repairs)
{
  if (self->membership.tree_depth == depth && self->membership.tree_repairs == repairs)
    return;
  self->membership.tree_depth = depth;
  self->membership.tree_repairs = repairs;
  dvmd_core_changed (self);
}

guint64
dvmd_core_get_membership_epoch (DvmdCore *self)
{
  return self->membership.epoch;
}

guint
dvmd_core_get_tree_depth (DvmdCore *self)
{
  if (self->membership.tree_depth > 0)
    return self->membership.tree_depth;
  return dvmd_node_pool_count_up (self->nodes) > 0 ? 1 : 0;
}

guint64
dvmd_core_get_tree_repairs (DvmdCore *self)
{
  return self->membership.tree_repairs;
}

guint
dvmd_core_get_nodes_expected (DvmdCore *self)
{
  return self->membership.n_expected;
}

guint
dvmd_core_get_nodes_reported (DvmdCore *self)
{
  return self->membership.n_reported;
}

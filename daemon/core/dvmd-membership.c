/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many agents there are, and the number of the membership.
 */

#include "config.h"

#include "dvmd-membership.h"

#include "dvmd-core-news.h"
#include "dvmd-core-parts.h"

struct _DvmdMembership
{
  guint64 epoch;    /* of the membership */
  guint n_expected; /* at the start */
  guint n_reported; /* of these */
  guint n_missing;  /* that failed before the DVM was ready */
  guint n_agents;   /* that have not gone */
  guint tree_depth; /* 0: nobody has said */
  guint64 tree_repairs;
};

DvmdMembership *
dvmd_membership_new (void)
{
  return g_new0 (DvmdMembership, 1);
}

void
dvmd_membership_free (DvmdMembership *self)
{
  g_free (self);
}

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

guint
dvmd_membership_count_missing (const DvmdMembership *self)
{
  return self->n_missing;
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

guint
dvmd_membership_count_agents (const DvmdMembership *self)
{
  return self->n_agents;
}

void
dvmd_membership_renew (DvmdMembership *self)
{
  self->epoch++;
}

/* ---- what the core says of it ---- */

/* Slots that nobody gave default to hardware threads (L6). */
void
dvmd_core_wire (DvmdCore *self, DvmdCampaign *campaign, GPtrArray *nodes)
{
  for (guint i = 0; i < nodes->len; i++)
    {
      DvmdNode *node = g_ptr_array_index (nodes, i);

      if (!node->slots_given)
        dvmd_node_pool_set_slots (dvmd_core_get_nodes (self), node, MAX (node->hwthreads, 1) + node->slots_added,
                                  node->slots_max);
    }
  dvmd_membership_renew (dvmd_core_get_membership (self));
  dvmd_core_get_effects (self)->wire_agents (dvmd_core_get_user_data (self), campaign, (DvmdNode *const *)nodes->pdata,
                                             nodes->len);
}

void
dvmd_core_set_tree (DvmdCore *self, guint depth, guint64 repairs)
{
  if (dvmd_core_get_membership (self)->tree_depth == depth && dvmd_core_get_membership (self)->tree_repairs == repairs)
    return;
  dvmd_core_get_membership (self)->tree_depth = depth;
  dvmd_core_get_membership (self)->tree_repairs = repairs;
  dvmd_core_changed (self);
}

guint64
dvmd_core_get_membership_epoch (DvmdCore *self)
{
  return dvmd_core_get_membership (self)->epoch;
}

guint
dvmd_core_get_tree_depth (DvmdCore *self)
{
  if (dvmd_core_get_membership (self)->tree_depth > 0)
    return dvmd_core_get_membership (self)->tree_depth;
  return dvmd_node_pool_count_up (dvmd_core_get_nodes (self)) > 0 ? 1 : 0;
}

guint64
dvmd_core_get_tree_repairs (DvmdCore *self)
{
  return dvmd_core_get_membership (self)->tree_repairs;
}

guint
dvmd_core_get_nodes_expected (DvmdCore *self)
{
  return dvmd_core_get_membership (self)->n_expected;
}

guint
dvmd_core_get_nodes_reported (DvmdCore *self)
{
  return dvmd_core_get_membership (self)->n_reported;
}

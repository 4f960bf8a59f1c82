/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An allocation is the list of nodes that an allocator has found.
 */

#include "config.h"

#include "dvmd-allocator.h"

struct _DvmdAllocation
{
  gatomicrefcount ref_count;
  char *id;
  gboolean logical;
  GArray *nodes; /* DvmdPluginNode with names of its own */
};

G_DEFINE_BOXED_TYPE (DvmdAllocation, dvmd_allocation, dvmd_allocation_ref, dvmd_allocation_unref)

static void
clear_node (gpointer data)
{
  g_free ((char *)((DvmdPluginNode *)data)->name);
  g_free ((char *)((DvmdPluginNode *)data)->cpus);
}

DvmdAllocation *
dvmd_allocation_new (const char *alloc_id)
{
  DvmdAllocation *self = g_new0 (DvmdAllocation, 1);

  g_atomic_ref_count_init (&self->ref_count);
  self->id = g_strdup (alloc_id);
  self->nodes = g_array_new (FALSE, FALSE, sizeof (DvmdPluginNode));
  g_array_set_clear_func (self->nodes, clear_node);
  return self;
}

DvmdAllocation *
dvmd_allocation_ref (DvmdAllocation *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
dvmd_allocation_unref (DvmdAllocation *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_array_unref (self->nodes);
  g_free (self->id);
  g_free (self);
}

void
dvmd_allocation_add_node (DvmdAllocation *self, const char *name, guint32 slots, guint32 slots_max)
{
  DvmdPluginNode node = { .name = g_strdup (name), .slots = slots, .slots_max = slots_max };

  g_array_append_val (self->nodes, node);
}

void
dvmd_allocation_set_cpus (DvmdAllocation *self, guint node, const char *cpus)
{
  DvmdPluginNode *row = &g_array_index (self->nodes, DvmdPluginNode, node);

  g_return_if_fail (node < self->nodes->len);
  g_free ((char *)row->cpus);
  row->cpus = g_strdup (cpus);
}

void
dvmd_allocation_set_memory (DvmdAllocation *self, guint node, guint64 bytes)
{
  g_return_if_fail (node < self->nodes->len);
  g_array_index (self->nodes, DvmdPluginNode, node).memory = bytes;
}

void
dvmd_allocation_set_logical (DvmdAllocation *self, gboolean logical)
{
  self->logical = logical;
}

gboolean
dvmd_allocation_get_logical (DvmdAllocation *self)
{
  return self->logical;
}

const char *
dvmd_allocation_get_id (DvmdAllocation *self)
{
  return self->id;
}

const DvmdPluginNode *
dvmd_allocation_get_nodes (DvmdAllocation *self, guint *n_nodes)
{
  *n_nodes = self->nodes->len;
  return (const DvmdPluginNode *)self->nodes->data;
}

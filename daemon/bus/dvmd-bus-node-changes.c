/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The changes of nodes are collected, each node once, until they are told together.
 */

#include "config.h"

#include "dvm-dbus-interfaces.h"
#include "dvmd-bus-node-changes.h"

struct _DvmdBusNodeChanges
{
  GArray *rows;      /* DvmdBusNodeChange */
  GHashTable *index; /* rank -> position in rows, of those that are not taken yet */
  guint position;    /* the first that is not taken */
};

DvmdBusNodeChanges *
dvmd_bus_node_changes_new (void)
{
  DvmdBusNodeChanges *self = g_new0 (DvmdBusNodeChanges, 1);

  self->rows = g_array_new (FALSE, FALSE, sizeof (DvmdBusNodeChange));
  self->index = g_hash_table_new (NULL, NULL);
  return self;
}

void
dvmd_bus_node_changes_free (DvmdBusNodeChanges *self)
{
  g_array_unref (self->rows);
  g_hash_table_unref (self->index);
  g_free (self);
}

void
dvmd_bus_node_changes_add (DvmdBusNodeChanges *self, guint rank, guint what)
{
  DvmdBusNodeChange row = { rank, what, 0 };
  gpointer position;

  if (g_hash_table_lookup_extended (self->index, GUINT_TO_POINTER (rank), NULL, &position))
    {
      g_array_index (self->rows, DvmdBusNodeChange, GPOINTER_TO_UINT (position)).what |= what;
      return;
    }
  g_hash_table_insert (self->index, GUINT_TO_POINTER (rank), GUINT_TO_POINTER (self->rows->len));
  g_array_append_val (self->rows, row);
}

gboolean
dvmd_bus_node_changes_is_empty (DvmdBusNodeChanges *self)
{
  return self->position == self->rows->len;
}

GVariant *
dvmd_bus_node_changes_take (DvmdBusNodeChanges *self, DvmdBusServer *server, const DvmdBusNodeChange **change)
{
  DvmdBusNodeChange *row = &g_array_index (self->rows, DvmdBusNodeChange, self->position);
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (server->core), row->rank);

  self->position++;
  g_hash_table_remove (self->index, GUINT_TO_POINTER (row->rank));
  *change = row;
  if (node == NULL)
    {
      /* It has left; its end is in NodesChanged alone. */
      row->state = DVM_NODE_STATE_NOT_INCLUDED;
      return NULL;
    }
  row->state = dvm_node_get_state (node->record);
  return g_variant_new ("(s@a{sv}@as)", dvm_dbus_node_interface.name,
                        dvmd_bus_node_get_changed (server, node, (row->what & DVMD_BUS_NODE_VALUES) != 0,
                                                   (row->what & DVMD_BUS_NODE_JOBS) != 0),
                        g_variant_new_strv (NULL, 0));
}

GVariant *
dvmd_bus_node_changes_get_states (DvmdBusNodeChanges *self)
{
  GVariantBuilder builder;
  guint n = 0;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(uu)"));
  for (guint i = 0; i < self->position; i++)
    {
      const DvmdBusNodeChange *row = &g_array_index (self->rows, DvmdBusNodeChange, i);

      if ((row->what & DVMD_BUS_NODE_STATE) == 0)
        continue;
      g_variant_builder_add (&builder, "(uu)", row->rank, row->state);
      n++;
    }
  if (n > 0)
    return g_variant_new ("(a(uu))", &builder);
  g_variant_builder_clear (&builder);
  return NULL;
}

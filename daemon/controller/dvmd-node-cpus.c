/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The cpus of nodes that a scheduler has named: an agent that has none of the scheduler's limits itself is told to keep
 * to them, before it takes part.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-node-cpus.h"

#include <string.h>

#include "dvm-hosts-private.h"
#include "dvmd-services.h"

typedef struct
{
  GHashTable *cpus; /* name of a node -> text of DvmdPluginNode */
} NodeCpus;

void
dvmd_controller_note_cpus (DvmdController *self, const DvmdPluginNode *nodes, guint n_nodes)
{
  NodeCpus *own = dvmd_services_get (self, &dvmd_node_cpus_service);

  for (guint i = 0; own != NULL && i < n_nodes; i++)
    if (nodes[i].cpus != NULL)
      g_hash_table_insert (own->cpus, g_strdup (nodes[i].name), g_strdup (nodes[i].cpus));
    else
      g_hash_table_remove (own->cpus, nodes[i].name);
}

gboolean
dvmd_controller_keeps_to_cpus (DvmdController *self, guint rank, const char *cpus)
{
  NodeCpus *own = dvmd_services_get (self, &dvmd_node_cpus_service);
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (dvmd_controller_get_core (self)), rank);
  const char *wanted = own != NULL && node != NULL ? g_hash_table_lookup (own->cpus, dvm_node_get_name (node->record))
                                                   : NULL;

  if (wanted == NULL || strcmp (wanted, cpus) == 0)
    return TRUE;
  dvmd_controller_send (self, rank, DVMD_MSG_CPUS, g_variant_new ("(s)", wanted));
  return FALSE;
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  NodeCpus *self = g_new0 (NodeCpus, 1);

  self->cpus = g_hash_table_new_full (_dvm_host_name_hash, _dvm_host_name_equal, g_free, g_free);
  return self;
}

static void
node_cpus_free (gpointer service)
{
  NodeCpus *self = service;

  g_hash_table_unref (self->cpus);
  g_free (self);
}

const DvmdService dvmd_node_cpus_service = {
  .name = "node-cpus",
  .create = create,
  .free = node_cpus_free,
};

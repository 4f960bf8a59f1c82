/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The cpus and the memory that a scheduler gives of each node: agents that have none of its limits themselves are told
 * before they take part, and when they change.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-node-allotment.h"

#include <string.h>

#include "dvm-hosts-private.h"
#include "dvmd-services.h"

typedef struct
{
  char *cpus;     /* text of DvmdPluginNode; "": all that the agent may use */
  guint64 memory; /* bytes; 0: nobody has said it */
} Allotment;

typedef struct
{
  GHashTable *nodes; /* name -> Allotment; one that is not there has all */
} NodeAllotments;

static void
allotment_free (gpointer data)
{
  g_free (((Allotment *)data)->cpus);
  g_free (data);
}

static Allotment *
allotment_new (const char *cpus, guint64 memory)
{
  Allotment *self = g_new0 (Allotment, 1);

  self->cpus = g_strdup (cpus);
  self->memory = memory;
  return self;
}

void
dvmd_controller_note_allotments (DvmdController *self, const DvmdPluginNode *nodes, guint n_nodes)
{
  NodeAllotments *own = dvmd_services_get (self, &dvmd_node_allotment_service);

  for (guint i = 0; own != NULL && i < n_nodes; i++)
    if (nodes[i].cpus != NULL || nodes[i].memory > 0)
      g_hash_table_insert (own->nodes, g_strdup (nodes[i].name),
                           allotment_new (nodes[i].cpus != NULL ? nodes[i].cpus : "", nodes[i].memory));
    else
      g_hash_table_remove (own->nodes, nodes[i].name);
}

/* (nullable) */
static const Allotment *
find_allotment (NodeAllotments *self, DvmdNode *node)
{
  return self != NULL && node != NULL ? g_hash_table_lookup (self->nodes, dvm_node_get_name (node->record)) : NULL;
}

static void
tell_agent (DvmdController *self, guint rank, const Allotment *allotment)
{
  dvmd_controller_send (
      self, rank, DVMD_MSG_ALLOTMENT,
      g_variant_new ("(st)", allotment != NULL ? allotment->cpus : "", allotment != NULL ? allotment->memory : 0));
}

gboolean
dvmd_controller_keeps_to_allotment (DvmdController *self, guint rank, const char *cpus, guint64 memory)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (dvmd_controller_get_core (self)), rank);
  const Allotment *wanted = find_allotment (dvmd_services_get (self, &dvmd_node_allotment_service), node);

  if (wanted != NULL ? strcmp (wanted->cpus, cpus) == 0 && wanted->memory == memory : cpus[0] == '\0' && memory == 0)
    return TRUE;
  tell_agent (self, rank, wanted);
  return FALSE;
}

/* ---- changes ---- */

static gboolean
check_change (const char *name, GVariant *change, GError **error)
{
  GVariantIter iter;
  const char *key;
  GVariant *value;
  gboolean right = TRUE;

  g_variant_iter_init (&iter, change);
  while (right && g_variant_iter_next (&iter, "{&sv}", &key, &value))
    {
      right = strcmp (key, "memory") == 0 && g_variant_is_of_type (value, G_VARIANT_TYPE_UINT64);
      if (!right)
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                     "%s: “%s” of type %s is not known: of a node there is memory (t)", name, key,
                     g_variant_get_type_string (value));
      g_variant_unref (value);
    }
  return right;
}

static void
change_node (DvmdController *self, NodeAllotments *own, const char *name, GVariant *change)
{
  DvmdNode *node = dvmd_node_pool_find (dvmd_core_get_nodes (dvmd_controller_get_core (self)), name);
  const char *known = node != NULL ? dvm_node_get_name (node->record) : name;
  const Allotment *old = g_hash_table_lookup (own->nodes, known);
  const char *cpus = old != NULL ? old->cpus : "";
  guint64 memory = old != NULL ? old->memory : 0;
  Allotment *now;

  g_variant_lookup (change, "memory", "t", &memory);
  if (memory == (old != NULL ? old->memory : 0))
    return;
  now = allotment_new (cpus, memory);
  g_hash_table_insert (own->nodes, g_strdup (known), now);
  /* An agent that has not reported yet is told when it does. */
  if (node != NULL && node->rank > 0 && node->hwthreads > 0 && !dvmd_controller_is_lost (self, node->rank))
    tell_agent (self, node->rank, now);
}

gboolean
dvmd_controller_change_allotments (DvmdController *self, GVariant *nodes, GError **error)
{
  NodeAllotments *own = dvmd_services_get (self, &dvmd_node_allotment_service);
  GVariantIter iter;
  const char *name;
  GVariant *change;
  gboolean right = TRUE;

  g_variant_iter_init (&iter, nodes);
  while (right && g_variant_iter_next (&iter, "{&s@a{sv}}", &name, &change))
    {
      right = check_change (name, change, error);
      g_variant_unref (change);
    }
  g_variant_iter_init (&iter, nodes);
  while (right && g_variant_iter_next (&iter, "{&s@a{sv}}", &name, &change))
    {
      change_node (self, own, name, change);
      g_variant_unref (change);
    }
  return right;
}

/* ---- the service ---- */

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  NodeAllotments *self = g_new0 (NodeAllotments, 1);

  self->nodes = g_hash_table_new_full (_dvm_host_name_hash, _dvm_host_name_equal, g_free, allotment_free);
  return self;
}

static void
node_allotments_free (gpointer service)
{
  NodeAllotments *self = service;

  g_hash_table_unref (self->nodes);
  g_free (self);
}

const DvmdService dvmd_node_allotment_service = {
  .name = "node-allotment",
  .create = create,
  .free = node_allotments_free,
};

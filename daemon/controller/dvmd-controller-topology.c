/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The topology of a node as XML: its agent knows it. Nodes that are alike have the same signature, and one of them says
 * for all what it stands for.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <string.h>

#include "dvmd-controller-map.h"
#include "dvmd-cpu-claims.h"
#include "dvmd-device-claims.h"
#include "dvmd-map-objects.h"
#include "dvmd-services.h"
#include "dvmd-topology.h"

typedef struct
{
  DvmdController *controller; /* unowned */
  GPtrArray *asks;            /* GTask: somebody waits for the topology of a node */
  guint64 last_ask;
  GHashTable *known; /* signature -> XML */
  GHashTable *asked; /* signature -> rank of the agent that is to say what it stands for */
  GHashTable *read;  /* signature -> DvmdTopology: those that somebody has asked for; NULL: the XML is of no use */
  GHashTable *maps;  /* signature -> DvmdMapTopology: what mappers see of it */
} Topologies;

typedef struct
{
  guint rank;
  guint64 token;
} Ask;

/* The controller's own machine: it has no agent to ask. */
static void
return_own (GTask *task)
{
  g_autoptr (DvmdTopology) topology = NULL;
  GError *error = NULL;
  char *xml = NULL;

  topology = dvmd_topology_new_local (&error);
  if (topology != NULL)
    xml = dvmd_topology_dup_xml (topology, &error);
  if (xml != NULL)
    g_task_return_pointer (task, xml, g_free);
  else
    g_task_return_error (task, error);
}

static const char *
get_signature (DvmdController *self, guint rank)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (dvmd_controller_get_core (self)), rank);
  const char *signature = node != NULL ? dvm_node_get_topology (node->record) : NULL;

  return signature != NULL && signature[0] != '\0' ? signature : NULL;
}

static void
ask_agent (Topologies *self, const char *signature, guint rank)
{
  g_hash_table_insert (self->asked, g_strdup (signature), GUINT_TO_POINTER (rank));
  dvmd_controller_send (self->controller, rank, DVMD_MSG_TOPOLOGY_ASK, g_variant_new ("(t)", (guint64)0));
}

/* The agent is asked what a new signature stands for. */
static void
agent_reported (gpointer service, guint rank)
{
  Topologies *self = service;
  const char *signature = get_signature (self->controller, rank);

  if (signature != NULL && !g_hash_table_contains (self->known, signature)
      && !g_hash_table_contains (self->asked, signature))
    ask_agent (self, signature, rank);
}

/* The agent that was asked has gone or does not know: the next one of like nodes is, or the next one that reports. */
static void
ask_next (Topologies *self, guint rank, gboolean gone)
{
  DvmdNodePool *pool = dvmd_core_get_nodes (dvmd_controller_get_core (self->controller));
  DvmdNode *node = NULL;
  g_autofree char *signature = NULL;
  GHashTableIter iter;
  gpointer key;
  gpointer asked;

  g_hash_table_iter_init (&iter, self->asked);
  while (signature == NULL && g_hash_table_iter_next (&iter, &key, &asked))
    if (GPOINTER_TO_UINT (asked) == rank)
      {
        signature = g_strdup (key);
        g_hash_table_iter_remove (&iter);
      }
  while (signature != NULL && (node = dvmd_node_pool_next (pool, node)) != NULL)
    if (node->rank != rank && (gone || node->rank > rank) && dvmd_controller_has_link (self->controller, node->rank)
        && g_strcmp0 (get_signature (self->controller, node->rank), signature) == 0)
      {
        ask_agent (self, signature, node->rank);
        return;
      }
}

static void
keep_topology (Topologies *self, guint rank, const char *xml)
{
  const char *signature = get_signature (self->controller, rank);

  if (signature == NULL)
    return;
  g_hash_table_remove (self->asked, signature);
  g_hash_table_insert (self->known, g_strdup (signature), g_strdup (xml));
}

/* ---- as objects ---- */

static void
unref_topology (gpointer topology)
{
  if (topology != NULL)
    dvmd_topology_unref (topology);
}

/* (transfer none) (nullable): an XML that cannot be read is read once, too */
static DvmdTopology *
find_topology (Topologies *self, const char *signature)
{
  g_autoptr (GError) error = NULL;
  gpointer topology;
  const char *xml;

  if (g_hash_table_lookup_extended (self->read, signature, NULL, &topology))
    return topology;
  xml = g_hash_table_lookup (self->known, signature);
  if (xml == NULL)
    return NULL;
  topology = dvmd_topology_new_from_xml (xml, strlen (xml), &error);
  if (topology == NULL)
    g_message ("Nodes of topology %s are taken for nodes of which the hardware is not known: %s", signature,
               error->message);
  g_hash_table_insert (self->read, g_strdup (signature), topology);
  return topology;
}

void
dvmd_controller_keep_topology (DvmdController *self, DvmdTopology *topology)
{
  Topologies *topologies = dvmd_services_get (self, &dvmd_topology_service);

  g_hash_table_insert (topologies->read, g_strdup (dvmd_topology_get_signature (topology)),
                       dvmd_topology_ref (topology));
}

DvmdTopology *
dvmd_controller_find_topology (DvmdController *self, guint rank)
{
  const char *signature = get_signature (self, rank);

  return signature != NULL ? find_topology (dvmd_services_get (self, &dvmd_topology_service), signature) : NULL;
}

/* ---- for mappers ---- */

typedef struct
{
  Topologies *topologies;
  char *signature;
} Loading;

static void
loading_free (gpointer data)
{
  Loading *self = data;

  g_free (self->signature);
  g_free (self);
}

static void
load_objects (DvmdMapTopology *into, gpointer user_data)
{
  Loading *self = user_data;
  DvmdTopology *topology = find_topology (self->topologies, self->signature);

  if (topology != NULL)
    dvmd_map_objects_add (into, topology);
}

static DvmdMapTopology *
find_for_mappers (const char *signature, gpointer user_data)
{
  Topologies *self = user_data;
  DvmdMapTopology *topology = g_hash_table_lookup (self->maps, signature);
  Loading *loading;

  if (topology != NULL || signature[0] == '\0')
    return topology;
  loading = g_new (Loading, 1);
  *loading = (Loading){ .topologies = self, .signature = g_strdup (signature) };
  topology = dvmd_map_topology_new (load_objects, loading, loading_free);
  g_hash_table_insert (self->maps, g_strdup (signature), topology);
  return topology;
}

static const DvmdCpuset *
get_in_use (guint rank, gpointer user_data)
{
  return dvmd_controller_get_cpus_in_use (((Topologies *)user_data)->controller, rank);
}

static const DvmdCpuset *
get_devices_in_use (guint rank, gpointer user_data)
{
  return dvmd_controller_get_devices_in_use (((Topologies *)user_data)->controller, rank);
}

static DvmdTopology *
get_topology (guint rank, gpointer user_data)
{
  return dvmd_controller_find_topology (((Topologies *)user_data)->controller, rank);
}

/* Nodes that are parts of one machine have the same cpus: what is bound on one of them is in the way of the others. */
static gboolean
have_cpus_of_their_own (DvmdController *controller)
{
  const DvmdShape *shape = dvmd_controller_get_parts (controller)->shape;

  return (!shape->logical && shape->embedded == NULL)
         || dvmd_node_pool_get_max_rank (dvmd_core_get_nodes (dvmd_controller_get_core (controller))) <= 1;
}

DvmdMapTopologies
dvmd_controller_get_map_topologies (DvmdController *self)
{
  DvmdNode *own = dvmd_node_pool_get (dvmd_core_get_nodes (dvmd_controller_get_core (self)), 0);

  return (DvmdMapTopologies){
    .local = own != NULL ? dvm_node_get_name (own->record) : NULL,
    .find = find_for_mappers,
    .get_in_use = get_in_use,
    .get_devices_in_use = get_devices_in_use,
    .get_topology = get_topology,
    .binds = have_cpus_of_their_own (self),
    .user_data = dvmd_services_get (self, &dvmd_topology_service),
  };
}

/* ---- for those who ask ---- */

void
dvmd_controller_get_topology_async (DvmdController *self, guint rank, GAsyncReadyCallback callback, gpointer user_data)
{
  Topologies *topologies = dvmd_services_get (self, &dvmd_topology_service);
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);
  const char *signature = get_signature (self, rank);
  const char *known = signature != NULL ? g_hash_table_lookup (topologies->known, signature) : NULL;
  Ask *ask;

  g_task_set_source_tag (task, dvmd_controller_get_topology_async);
  if (rank == 0)
    {
      return_own (task);
      return;
    }
  if (known != NULL)
    {
      g_task_return_pointer (task, g_strdup (known), g_free);
      return;
    }
  if (!dvmd_controller_has_link (self, rank))
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_READY, "Node %u has no agent that could be asked", rank);
      return;
    }
  ask = g_new0 (Ask, 1);
  ask->rank = rank;
  ask->token = ++topologies->last_ask;
  g_task_set_task_data (task, ask, g_free);
  g_ptr_array_add (topologies->asks, g_object_ref (task));
  dvmd_controller_send (self, rank, DVMD_MSG_TOPOLOGY_ASK, g_variant_new ("(t)", ask->token));
}

char *
dvmd_controller_get_topology_finish (DvmdController *self, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* (transfer full) (nullable) */
static GTask *
take_ask (Topologies *self, guint rank, guint64 token)
{
  for (guint i = 0; i < self->asks->len; i++)
    {
      Ask *ask = g_task_get_task_data (self->asks->pdata[i]);

      if (ask->rank == rank && (token == 0 || ask->token == token))
        return g_ptr_array_steal_index (self->asks, i);
    }
  return NULL;
}

static void
handle_topology (gpointer service, guint rank, GVariant *body)
{
  Topologies *self = service;
  g_autoptr (GTask) task = NULL;
  const char *xml;
  const char *reason;
  guint64 token;

  g_variant_get (body, "(t&s&s)", &token, &xml, &reason);
  if (xml[0] != '\0')
    keep_topology (self, rank, xml);
  else
    ask_next (self, rank, FALSE);
  task = token != 0 ? take_ask (self, rank, token) : NULL;
  if (task == NULL)
    return;
  if (xml[0] != '\0')
    g_task_return_pointer (task, g_strdup (xml), g_free);
  else
    g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_FAILED, "Node %u: %s", rank, reason);
}

static void
agent_gone (gpointer service, guint rank)
{
  Topologies *self = service;
  GTask *task;

  ask_next (self, rank, TRUE);
  while ((task = take_ask (self, rank, 0)) != NULL)
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The agent of node %u has gone", rank);
      g_object_unref (task);
    }
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Topologies *self = g_new0 (Topologies, 1);

  self->controller = controller;
  self->asks = g_ptr_array_new_with_free_func (g_object_unref);
  self->known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->asked = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->read = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, unref_topology);
  self->maps = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)dvmd_map_topology_free);
  return self;
}

static void
topologies_free (gpointer service)
{
  Topologies *self = service;

  g_ptr_array_unref (self->asks);
  g_hash_table_unref (self->known);
  g_hash_table_unref (self->asked);
  g_hash_table_unref (self->maps);
  g_hash_table_unref (self->read);
  g_free (self);
}

static const DvmdHandler handlers[] = { { DVMD_MSG_TOPOLOGY, handle_topology }, { 0 } };

const DvmdService dvmd_topology_service = {
  .name = "topology",
  .create = create,
  .free = topologies_free,
  .handlers = handlers,
  .agent_reported = agent_reported,
  .agent_gone = agent_gone,
};

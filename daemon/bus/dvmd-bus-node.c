/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The objects of nodes. There may be tens of thousands: they answer without being listed.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-dbus-interfaces.h"
#include "dvm-records-private.h"
#include "dvmd-bus-call.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-options.h"
#include "dvmd-bus-parts.h"
#include "dvmd-device-claims.h"

#include <string.h>

static gpointer
find (DvmdCore *core, guint rank, GError **error)
{
  DvmdNode *node = dvmd_node_pool_get (dvmd_core_get_nodes (core), rank);

  if (node == NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "There is no node " DVMD_BUS_NODES_PATH "/%u", rank);
  return node;
}

void
dvmd_bus_publish_devices (DvmdController *controller, DvmdNode *node)
{
  g_auto (GStrv) devices = dvmd_controller_list_devices (controller, node->rank);

  dvmd_node_pool_publish_devices (node, (const char *const *)devices);
}

static GVariant *
get_property (DvmdBusServer *server, gpointer object, const char *name)
{
  DvmdNode *node = object;

  dvmd_node_pool_publish_jobs (node);
  if (strcmp (name, "Devices") == 0)
    dvmd_bus_publish_devices (server->controller, node);
  return _dvm_record_get_bus_property (G_OBJECT (node->record), name);
}

void
dvmd_bus_find_node (DvmdBusCall *call)
{
  g_autofree char *path = NULL;
  const char *name;
  DvmdNode *node;

  g_variant_get (call->parameters, "(&s)", &name);
  node = dvmd_node_pool_find (dvmd_core_get_nodes (call->core), name);
  if (node == NULL)
    {
      dvmd_bus_return_error (call->invocation,
                             g_error_new (DVM_ERROR, DVM_ERROR_NOT_FOUND, "No node is called “%s”", name));
      return;
    }
  path = dvmd_bus_path (DVMD_BUS_NODE, node->rank);
  dvmd_bus_return_value (call->invocation, g_variant_new ("(o)", path));
}

static void
drain (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = NULL;
  const char *reason;
  GError *error = NULL;

  g_variant_get (call->parameters, "(&s@a{sv})", &reason, &dict);
  if (dvmd_bus_options_parse (dict, NULL, 0, &error))
    dvmd_core_drain_node (call->core, call->object, reason, &error);
  dvmd_bus_return_result (call, error);
}

static void
resume (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  GError *error = NULL;

  if (dvmd_bus_options_parse (dict, NULL, 0, &error))
    dvmd_core_resume_node (call->core, call->object, &error);
  dvmd_bus_return_result (call, error);
}

static void
restart (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  gboolean force = FALSE;
  const DvmdBusOption options[] = {
    { "force", "b", &force },
  };
  GError *error = NULL;

  if (dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), &error))
    dvmd_controller_restart_node (call->controller, call->object, force, &error);
  dvmd_bus_return_result (call, error);
}

static void
on_topology (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GDBusMethodInvocation *invocation = user_data;
  GError *error = NULL;
  g_autofree char *xml = dvmd_controller_get_topology_finish (DVMD_CONTROLLER (source), result, &error);

  if (xml != NULL)
    dvmd_bus_return_value (invocation, g_variant_new ("(s)", xml));
  else
    dvmd_bus_return_error (invocation, error);
}

static void
get_topology (DvmdBusCall *call)
{
  dvmd_controller_get_topology_async (call->controller, call->id, on_topology, call->invocation);
}

static const DvmdBusMethod node_methods[] = {
  { "Drain", DVMD_BUS_CHANGES_NODE, drain },
  { "GetTopology", DVMD_BUS_READS, get_topology },
  { "Restart", DVMD_BUS_CHANGES_NODE, restart },
  { "Resume", DVMD_BUS_CHANGES_NODE, resume },
};

static char **
enumerate (DvmdCore *core)
{
  DvmdNodePool *pool = dvmd_core_get_nodes (core);
  guint max = dvmd_node_pool_get_max_rank (pool);
  g_autoptr (GPtrArray) nodes = g_ptr_array_new ();

  for (guint rank = 0; rank <= max && nodes->len < DVMD_BUS_MAX_CHILDREN; rank++)
    if (dvmd_node_pool_get (pool, rank) != NULL)
      g_ptr_array_add (nodes, g_strdup_printf ("%u", rank));
  g_ptr_array_add (nodes, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&nodes), FALSE);
}

const DvmdBusSubtree dvmd_bus_nodes = {
  .path = DVMD_BUS_NODES_PATH,
  .enumerate = enumerate,
  .klass = { &dvm_dbus_node_interface, get_property, find, node_methods, G_N_ELEMENTS (node_methods) },
};

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-dbus-interfaces.h"
#include "dvmd-bus-private.h"

#include <string.h>

static GVariant *
get_nodes (DvmdBusServer *server)
{
  DvmdNodePool *pool = dvmd_core_get_nodes (server->core);
  guint max = dvmd_node_pool_get_max_rank (pool);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_STRING_ARRAY);
  for (guint rank = 1; rank <= max; rank++)
    {
      DvmdNode *node = dvmd_node_pool_get (pool, rank);

      if (node != NULL && dvm_node_get_state (node->record) != DVM_NODE_STATE_NOT_INCLUDED)
        g_variant_builder_add (&builder, "s", dvm_node_get_name (node->record));
    }
  return g_variant_builder_end (&builder);
}

static GVariant *
get_jobs (DvmdBusServer *server)
{
  DvmdCore *core = server->core;
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_OBJECT_PATH_ARRAY);
  for (DvmdJob *job = dvmd_core_next_job (core, NULL, FALSE); job != NULL; job = dvmd_core_next_job (core, job, FALSE))
    {
      g_autofree char *path = dvmd_bus_job_path (dvmd_job_get_id (job));

      g_variant_builder_add (&builder, "o", path);
    }
  return g_variant_builder_end (&builder);
}

GVariant *
dvmd_bus_session_get_property (DvmdBusServer *server, gpointer object, const char *name)
{
  if (strcmp (name, "Id") == 0)
    return g_variant_new_uint32 (0);
  if (strcmp (name, "State") == 0)
    return g_variant_new_string ("active");
  if (strcmp (name, "Nodes") == 0)
    return get_nodes (server);
  if (strcmp (name, "Jobs") == 0)
    return get_jobs (server);
  return NULL;
}

static void
on_method_call (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                const char *method, GVariant *parameters, GDBusMethodInvocation *invocation, gpointer user_data)
{
  DvmdBusPeer *peer = user_data;

  /* The interface has no methods yet. */
  if (strcmp (path, DVMD_BUS_DEFAULT_SESSION_PATH) != 0)
    dvmd_bus_return_error (invocation, g_error_new (DVM_ERROR, DVM_ERROR_NOT_FOUND, "There is no session %s", path));
  else
    dvmd_bus_handle_properties (peer->server, &dvm_dbus_session_interface, dvmd_bus_session_get_property, NULL,
                                invocation);
}

static char **
enumerate (DvmdBusServer *server)
{
  const char *const nodes[] = { "0", NULL };

  return g_strdupv ((char **)nodes);
}

const DvmdBusSubtree dvmd_bus_sessions = {
  .path = DVMD_BUS_SESSIONS_PATH,
  .interface = &dvm_dbus_session_interface,
  .enumerate = enumerate,
  .methods = { .method_call = on_method_call },
};

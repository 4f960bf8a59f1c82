/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-dbus-interfaces.h"
#include "dvm-records-private.h"
#include "dvmd-bus-private.h"

#include <string.h>

char *
dvmd_bus_session_path (guint id)
{
  return g_strdup_printf (DVMD_BUS_SESSIONS_PATH "/%u", id);
}

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

/* Of the default session, as long as the core has no object of it. */
static GVariant *
get_default_property (DvmdBusServer *server, const char *name)
{
  if (strcmp (name, "Id") == 0)
    return g_variant_new_uint32 (0);
  if (strcmp (name, "State") == 0)
    return g_variant_new_string ("active");
  if (strcmp (name, "Shared") == 0)
    return g_variant_new_boolean (TRUE);
  if (strcmp (name, "Nodes") == 0)
    return get_nodes (server);
  if (strcmp (name, "Jobs") == 0)
    return get_jobs (server);
  return g_variant_new_string ("");
}

GArray *
dvmd_bus_get_session_ids (DvmdBusServer *server)
{
  GArray *ids = g_array_new (FALSE, FALSE, sizeof (guint));
  guint id = 0;

  if (dvmd_core_get_session (server->core, 0) == NULL)
    g_array_append_val (ids, id);
  for (DvmdSession *session = dvmd_core_next_session (server->core, NULL); session != NULL;
       session = dvmd_core_next_session (server->core, session))
    {
      id = dvmd_session_get_id (session);
      g_array_append_val (ids, id);
    }
  return ids;
}

static gpointer
find (DvmdBusServer *server, guint id, GError **error)
{
  DvmdSession *session = dvmd_core_get_session (server->core, id);

  if (session == NULL && id != 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
                 "There is no session " DVMD_BUS_SESSIONS_PATH "/%u, or it has ended", id);
  return session;
}

static GVariant *
get_property (DvmdBusServer *server, gpointer object, const char *name)
{
  DvmdSession *session = object;

  if (session == NULL)
    return get_default_property (server, name);
  if (strcmp (name, "Nodes") == 0 || strcmp (name, "Jobs") == 0)
    dvmd_session_publish (session);
  return _dvm_record_get_bus_property (G_OBJECT (dvmd_session_get_record (session)), name);
}

void
dvmd_bus_find_session (DvmdBusCall *call)
{
  g_autofree char *path = NULL;
  DvmdSession *session;
  const char *alloc_id;

  g_variant_get (call->parameters, "(&s)", &alloc_id);
  session = dvmd_core_find_session (call->server->core, alloc_id);
  if (session == NULL && alloc_id[0] != '\0')
    {
      dvmd_bus_return_error (call->invocation,
                             g_error_new (DVM_ERROR, DVM_ERROR_NOT_FOUND,
                                          "There is no session of the allocation “%s”; the default session has the "
                                          "empty one",
                                          alloc_id));
      return;
    }
  path = dvmd_bus_session_path (session != NULL ? dvmd_session_get_id (session) : 0);
  dvmd_bus_return_value (call->invocation, g_variant_new ("(o)", path));
}

static const DvmdBusMethod session_methods[] = {
  { "Release", DVMD_BUS_CHANGES, dvmd_bus_release },
};

static char **
enumerate (DvmdBusServer *server)
{
  g_autoptr (GArray) ids = dvmd_bus_get_session_ids (server);
  guint n = MIN (ids->len, DVMD_BUS_MAX_CHILDREN);
  char **nodes = g_new0 (char *, n + 1);

  for (guint i = 0; i < n; i++)
    nodes[i] = g_strdup_printf ("%u", g_array_index (ids, guint, i));
  return nodes;
}

const DvmdBusSubtree dvmd_bus_sessions = {
  .path = DVMD_BUS_SESSIONS_PATH,
  .enumerate = enumerate,
  .klass = { &dvm_dbus_session_interface, get_property, find, session_methods, G_N_ELEMENTS (session_methods) },
};

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * All objects are exported on one connection: those of one class as a subtree, registered once, however many there are.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-call.h"
#include "dvmd-bus-dispatch.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"

#include <string.h>

/* An export holds the data of one registration. */
typedef struct
{
  const DvmdBusSubtree *subtree;
  DvmdBusPeer *peer;
} Export;

static void
export_free (gpointer data)
{
  Export *self = data;

  dvmd_bus_peer_unref (self->peer);
  g_free (self);
}

static char **
enumerate (GDBusConnection *connection, const char *sender, const char *path, gpointer user_data)
{
  Export *self = user_data;

  return self->subtree->enumerate (self->peer->server->core);
}

/* Every number has the interface: the method itself says that there is no such object. */
static GDBusInterfaceInfo **
introspect (GDBusConnection *connection, const char *sender, const char *path, const char *node, gpointer user_data)
{
  Export *self = user_data;
  GDBusInterfaceInfo **infos = g_new0 (GDBusInterfaceInfo *, 2);
  guint id;

  if (node != NULL && dvmd_bus_parse_node (node, &id))
    infos[0] = (GDBusInterfaceInfo *)self->subtree->klass.interface;
  return infos;
}

static void
on_method_call (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                const char *method, GVariant *parameters, GDBusMethodInvocation *invocation, gpointer user_data)
{
  Export *self = user_data;
  const char *node = path + strlen (self->subtree->path);
  guint id;

  if (node[0] == '/' && dvmd_bus_parse_node (node + 1, &id))
    dvmd_bus_dispatch (self->peer, &self->subtree->klass, id, invocation);
  else
    dvmd_bus_return_error (invocation, g_error_new (DVM_ERROR, DVM_ERROR_NOT_FOUND, "There is no object at %s", path));
}

static const GDBusInterfaceVTable *
dispatch (GDBusConnection *connection, const char *sender, const char *path, const char *interface, const char *node,
          gpointer *out_user_data, gpointer user_data)
{
  static const GDBusInterfaceVTable vtable = { .method_call = on_method_call };

  *out_user_data = user_data;
  return &vtable;
}

static gboolean
export_subtree (DvmdBusPeer *peer, const DvmdBusSubtree *subtree, GError **error)
{
  static const GDBusSubtreeVTable vtable = { enumerate, introspect, dispatch };
  Export *self = g_new0 (Export, 1);
  guint id;

  self->subtree = subtree;
  self->peer = dvmd_bus_peer_ref (peer);
  id = g_dbus_connection_register_subtree (peer->connection, subtree->path, &vtable,
                                           G_DBUS_SUBTREE_FLAGS_DISPATCH_TO_UNENUMERATED_NODES, self, export_free,
                                           error);
  if (id == 0)
    {
      export_free (self);
      return FALSE;
    }
  g_array_append_val (peer->subtrees, id);
  return TRUE;
}

gboolean
dvmd_bus_export (DvmdBusPeer *peer, GError **error)
{
  return dvmd_bus_object_manager_export (peer, error) && dvmd_bus_manager_export (peer, error)
         && export_subtree (peer, &dvmd_bus_jobs, error) && export_subtree (peer, &dvmd_bus_sessions, error)
         && export_subtree (peer, &dvmd_bus_campaigns, error) && export_subtree (peer, &dvmd_bus_nodes, error)
         && (peer->is_bus || dvmd_bus_daemon_export (peer, error));
}

static void
drop_callers (DvmdBusPeer *self)
{
  if (self->self != NULL)
    dvmd_bus_caller_leave (self->self);
  if (self->callers != NULL)
    {
      g_autoptr (GList) callers = g_hash_table_get_values (self->callers);

      for (GList *l = callers; l != NULL; l = l->next)
        dvmd_bus_caller_leave (l->data);
    }
}

void
dvmd_bus_unexport (DvmdBusPeer *self)
{
  g_autoptr (DvmdBusPeer) keep = dvmd_bus_peer_ref (self);

  if (self->server == NULL)
    return;
  drop_callers (self);
  self->server = NULL;
  g_clear_signal_handler (&self->closed_handler, self->connection);
  for (guint i = 0; i < self->objects->len; i++)
    g_dbus_connection_unregister_object (self->connection, g_array_index (self->objects, guint, i));
  for (guint i = 0; i < self->subtrees->len; i++)
    g_dbus_connection_unregister_subtree (self->connection, g_array_index (self->subtrees, guint, i));
  g_array_set_size (self->objects, 0);
  g_array_set_size (self->subtrees, 0);
}

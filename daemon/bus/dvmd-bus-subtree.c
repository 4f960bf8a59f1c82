/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The objects of one class, as a subtree on one connection: registered once, however many there are.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-private.h"

#include <string.h>

/* What a registration holds. */
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

  return self->subtree->enumerate (self->peer->server);
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

gboolean
dvmd_bus_subtree_export (const DvmdBusSubtree *subtree, DvmdBusPeer *peer, GError **error)
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

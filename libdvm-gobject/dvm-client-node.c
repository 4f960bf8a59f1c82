/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One node: found, drained, resumed and started again, and its topology.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include "dvm-client-private.h"

static void
on_text (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);
  char *text;

  if (reply == NULL)
    return;
  g_variant_get (reply, "(s)", &text);
  g_task_return_pointer (task, text, g_free);
}

/**
 * dvm_client_find_node_async:
 * @self: a client that is connected
 * @reference: the name of a node, its rank or its object path
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Finds a node.
 *
 * Since: 0.1
 */
void
dvm_client_find_node_async (DvmClient *self, const char *reference, GCancellable *cancellable,
                            GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (reference != NULL);

  _dvm_client_find_async (self, DVM_KIND_NODE, reference, dvm_client_find_node_async, cancellable, callback, user_data);
}

/**
 * dvm_client_find_node_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_find_node_async().
 *
 * Returns: (transfer full): the node as it is now; %NULL on error, %DVM_ERROR_NOT_FOUND if there is no such node
 * Since: 0.1
 */
DvmNode *
dvm_client_find_node_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return _dvm_client_find_finish (result, error);
}

/**
 * dvm_client_find_node:
 * @self: a client that is connected
 * @reference: the name of a node, its rank or its object path
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Finds a node.
 *
 * Returns: (transfer full): the node as it is now; %NULL on error, %DVM_ERROR_NOT_FOUND if there is no such node
 * Since: 0.1
 */
DvmNode *
dvm_client_find_node (DvmClient *self, const char *reference, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (reference != NULL, NULL);

  return _dvm_client_find (self, DVM_KIND_NODE, reference, cancellable, error);
}

/**
 * dvm_client_drain_node_async:
 * @self: a client that is connected
 * @node: a node of its DVM
 * @reason: (nullable): why, for people
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Lets a node take no new jobs.
 *
 * Since: 0.1
 */
void
dvm_client_drain_node_async (DvmClient *self, DvmNode *node, const char *reason, GCancellable *cancellable,
                             GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_NODE (node));

  _dvm_client_call_object (self, node, "Drain", g_variant_new ("(sa{sv})", reason != NULL ? reason : "", NULL),
                           _dvm_client_new_task (self, dvm_client_drain_node_async, cancellable, callback, user_data));
}

/**
 * dvm_client_drain_node_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_drain_node_async().
 *
 * Returns: %TRUE if the node is drained
 * Since: 0.1
 */
gboolean
dvm_client_drain_node_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_drain_node:
 * @self: a client that is connected
 * @node: a node of its DVM
 * @reason: (nullable): why, for people
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Lets a node take no new jobs.
 *
 * Those that run there go on. Jobs that need the node wait until it is resumed.
 *
 * Returns: %TRUE if the node is drained
 * Since: 0.1
 */
gboolean
dvm_client_drain_node (DvmClient *self, DvmNode *node, const char *reason, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_NODE (node), FALSE);

  dvm_client_drain_node_async (self, node, reason, cancellable, _dvm_sync_done, &sync);
  return dvm_client_drain_node_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_resume_node_async:
 * @self: a client that is connected
 * @node: a node of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Lets a node that was drained take jobs again.
 *
 * Since: 0.1
 */
void
dvm_client_resume_node_async (DvmClient *self, DvmNode *node, GCancellable *cancellable, GAsyncReadyCallback callback,
                              gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_NODE (node));

  _dvm_client_call_object (self, node, "Resume", g_variant_new ("(a{sv})", NULL),
                           _dvm_client_new_task (self, dvm_client_resume_node_async, cancellable, callback, user_data));
}

/**
 * dvm_client_resume_node_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_resume_node_async().
 *
 * Returns: %TRUE if the node takes jobs
 * Since: 0.1
 */
gboolean
dvm_client_resume_node_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_resume_node:
 * @self: a client that is connected
 * @node: a node of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Lets a node that was drained take jobs again.
 *
 * Returns: %TRUE if the node takes jobs
 * Since: 0.1
 */
gboolean
dvm_client_resume_node (DvmClient *self, DvmNode *node, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_NODE (node), FALSE);

  dvm_client_resume_node_async (self, node, cancellable, _dvm_sync_done, &sync);
  return dvm_client_resume_node_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_restart_node_async:
 * @self: a client that is connected
 * @node: a node of its DVM
 * @force: also if jobs have processes there, which end with it
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Starts the agent of a node again, as a new rank: at once if the node is down, else when it has been ended.
 *
 * The object of @node leaves, and one of the same name comes.
 *
 * Since: 0.1
 */
void
dvm_client_restart_node_async (DvmClient *self, DvmNode *node, gboolean force, GCancellable *cancellable,
                               GAsyncReadyCallback callback, gpointer user_data)
{
  GVariantBuilder options;

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_NODE (node));

  g_variant_builder_init (&options, G_VARIANT_TYPE_VARDICT);
  if (force)
    g_variant_builder_add (&options, "{sv}", "force", g_variant_new_boolean (TRUE));
  _dvm_client_call_object (
      self, node, "Restart", g_variant_new ("(a{sv})", &options),
      _dvm_client_new_task (self, dvm_client_restart_node_async, cancellable, callback, user_data));
}

/**
 * dvm_client_restart_node_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_restart_node_async().
 *
 * Returns: %TRUE if that has begun
 * Since: 0.1
 */
gboolean
dvm_client_restart_node_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_restart_node:
 * @self: a client that is connected
 * @node: a node of its DVM
 * @force: also if jobs have processes there, which end with it
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Starts the agent of a node again, as a new rank: at once if the node is down, else when it has been ended.
 *
 * The object of @node leaves, and one of the same name comes.
 *
 * Returns: %TRUE if that has begun
 * Since: 0.1
 */
gboolean
dvm_client_restart_node (DvmClient *self, DvmNode *node, gboolean force, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_NODE (node), FALSE);

  dvm_client_restart_node_async (self, node, force, cancellable, _dvm_sync_done, &sync);
  return dvm_client_restart_node_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_get_topology_async:
 * @self: a client that is connected
 * @node: a node of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Asks for the hardware of a node.
 *
 * Since: 0.1
 */
void
dvm_client_get_topology_async (DvmClient *self, DvmNode *node, GCancellable *cancellable, GAsyncReadyCallback callback,
                               gpointer user_data)
{
  DvmCall call = { NULL, DVM_NODE_INTERFACE, "GetTopology", NULL, "(s)", -1, NULL };

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_NODE (node));

  call.path = dvm_node_get_object_path (node);
  _dvm_client_call (self, &call,
                    _dvm_client_new_task (self, dvm_client_get_topology_async, cancellable, callback, user_data),
                    on_text);
}

/**
 * dvm_client_get_topology_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_get_topology_async().
 *
 * Returns: (transfer full): XML of hwloc; %NULL on error
 * Since: 0.1
 */
char *
dvm_client_get_topology_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_get_topology:
 * @self: a client that is connected
 * @node: a node of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Asks for the hardware of a node.
 *
 * Returns: (transfer full): XML of hwloc; %NULL on error
 * Since: 0.1
 */
char *
dvm_client_get_topology (DvmClient *self, DvmNode *node, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (DVM_IS_NODE (node), NULL);

  dvm_client_get_topology_async (self, node, cancellable, _dvm_sync_done, &sync);
  return dvm_client_get_topology_finish (self, _dvm_sync_wait (&sync), error);
}

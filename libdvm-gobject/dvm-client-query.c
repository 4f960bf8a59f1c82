/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A client asks for facts about the DVM, by keys.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include "dvm-client-private.h"

static void
on_answer (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);

  if (reply != NULL)
    g_task_return_pointer (task, g_variant_get_child_value (reply, 0), (GDestroyNotify)g_variant_unref);
}

/**
 * dvm_client_query_async:
 * @self: a client that is connected
 * @keys: (array zero-terminated=1): what is asked for, as "nodes"; "query-keys" answers the keys that there are
 * @qualifiers: (nullable): a value of type a{sv}: "nspace" (s), "node" (s), "rank" (u), and those of one key alone; if
 * it is floating, it is consumed
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Asks the DVM what it knows. The description of Query in the interface org.dvm.Manager lists the keys.
 *
 * Since: 0.1
 */
void
dvm_client_query_async (DvmClient *self, const char *const *keys, GVariant *qualifiers, GCancellable *cancellable,
                        GAsyncReadyCallback callback, gpointer user_data)
{
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "Query", NULL, "(a{sv})", -1, NULL };

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (keys != NULL);
  g_return_if_fail (qualifiers == NULL || g_variant_is_of_type (qualifiers, G_VARIANT_TYPE_VARDICT));

  call.parameters = g_variant_new (
      "(^as@a{sv})", keys, qualifiers != NULL ? qualifiers : g_variant_new_array (G_VARIANT_TYPE ("{sv}"), NULL, 0));
  _dvm_client_call (self, &call, _dvm_client_new_task (self, dvm_client_query_async, cancellable, callback, user_data),
                    on_answer);
}

/**
 * dvm_client_query_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_query_async().
 *
 * Returns: (transfer full): a value of type a{sv}, with each key under the name by which it was asked; %NULL on error,
 *   %DVM_ERROR_BAD_PARAM names a key or a qualifier that there is not
 * Since: 0.1
 */
GVariant *
dvm_client_query_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_query:
 * @self: a client that is connected
 * @keys: (array zero-terminated=1): what is asked for, as "nodes"; "query-keys" answers the keys that there are
 * @qualifiers: (nullable): a value of type a{sv}: "nspace" (s), "node" (s), "rank" (u), and those of one key alone; if
 * it is floating, it is consumed
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Asks the DVM what it knows.
 *
 * Returns: (transfer full): a value of type a{sv}, as of dvm_client_query_finish()
 * Since: 0.1
 */
GVariant *
dvm_client_query (DvmClient *self, const char *const *keys, GVariant *qualifiers, GCancellable *cancellable,
                  GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (keys != NULL, NULL);

  dvm_client_query_async (self, keys, qualifiers, cancellable, _dvm_sync_done, &sync);
  return dvm_client_query_finish (self, _dvm_sync_wait (&sync), error);
}

static void
on_cancelled (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);
  guint count;

  if (reply == NULL)
    return;
  g_variant_get (reply, "(u)", &count);
  g_task_return_int (task, count);
}

/**
 * dvm_client_cancel_jobs_async:
 * @self: a client that is connected
 * @filter: a value of type a{sv}: "ids" (s), "label" (s), "session" (u), "state" (u), "all" (b); all that are given
 * must fit; if it is floating, it is consumed
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Ends the live jobs that the filter selects. A filter that selects nothing in particular is refused.
 *
 * Since: 0.1
 */
void
dvm_client_cancel_jobs_async (DvmClient *self, GVariant *filter, GCancellable *cancellable,
                              GAsyncReadyCallback callback, gpointer user_data)
{
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "CancelJobs", NULL, "(u)", -1, NULL };

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (filter != NULL && g_variant_is_of_type (filter, G_VARIANT_TYPE_VARDICT));

  call.parameters = g_variant_new ("(@a{sv})", filter);
  _dvm_client_call (self, &call,
                    _dvm_client_new_task (self, dvm_client_cancel_jobs_async, cancellable, callback, user_data),
                    on_cancelled);
}

/**
 * dvm_client_cancel_jobs_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_cancel_jobs_async().
 *
 * Returns: how many jobs were told to end; -1 on error
 * Since: 0.1
 */
gssize
dvm_client_cancel_jobs_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), -1);

  return g_task_propagate_int (G_TASK (result), error);
}

/**
 * dvm_client_cancel_jobs:
 * @self: a client that is connected
 * @filter: a value of type a{sv}, as for dvm_client_cancel_jobs_async()
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Ends the live jobs that the filter selects.
 *
 * Returns: how many jobs were told to end; -1 on error
 * Since: 0.1
 */
gssize
dvm_client_cancel_jobs (DvmClient *self, GVariant *filter, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), -1);
  g_return_val_if_fail (filter != NULL, -1);

  dvm_client_cancel_jobs_async (self, filter, cancellable, _dvm_sync_done, &sync);
  return dvm_client_cancel_jobs_finish (self, _dvm_sync_wait (&sync), error);
}

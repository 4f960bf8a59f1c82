/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One session: found.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include "dvm-client-private.h"

/**
 * dvm_client_find_session_async:
 * @self: a client that is connected
 * @reference: the id of an allocation, "" for that of the default session, the id of the request that made it, the
 *   number of a session, or its object path; what is the id of an allocation is taken for that first, and what else
 *   is more than one session is %DVM_ERROR_BAD_PARAM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Finds a session.
 *
 * Since: 0.1
 */
void
dvm_client_find_session_async (DvmClient *self, const char *reference, GCancellable *cancellable,
                               GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (reference != NULL);

  _dvm_client_find_async (self, DVM_KIND_SESSION, reference, dvm_client_find_session_async, cancellable, callback,
                          user_data);
}

/**
 * dvm_client_find_session_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_find_session_async().
 *
 * Returns: (transfer full): the session as it is now; %NULL on error, %DVM_ERROR_NOT_FOUND if there is no such session
 * Since: 0.1
 */
DvmSession *
dvm_client_find_session_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return _dvm_client_find_finish (result, error);
}

/**
 * dvm_client_find_session:
 * @self: a client that is connected
 * @reference: the id of an allocation, "" for that of the default session, the id of the request that made it, the
 *   number of a session, or its object path; what is the id of an allocation is taken for that first, and what else
 *   is more than one session is %DVM_ERROR_BAD_PARAM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Finds a session.
 *
 * Returns: (transfer full): the session as it is now; %NULL on error, %DVM_ERROR_NOT_FOUND if there is no such session
 * Since: 0.1
 */
DvmSession *
dvm_client_find_session (DvmClient *self, const char *reference, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (reference != NULL, NULL);

  return _dvm_client_find (self, DVM_KIND_SESSION, reference, cancellable, error);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One session: found.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <glib/gi18n-lib.h>

#include "dvm-client-private.h"

static void
on_properties (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);
  g_autoptr (DvmSession) session = NULL;
  g_autoptr (GVariant) dict = NULL;
  GError *error = NULL;

  if (reply == NULL)
    return;
  g_variant_get (reply, "(@a{sv})", &dict);
  session = _dvm_session_new (0);
  if (_dvm_record_update (G_OBJECT (session), dict, &error))
    g_task_return_pointer (task, g_steal_pointer (&session), g_object_unref);
  else
    g_task_return_error (task, error);
}

/* Takes task over. */
static void
get_properties (DvmClient *self, GTask *task, const char *path)
{
  DvmCall call = { path, DVM_PROPERTIES, "GetAll", NULL, "(a{sv})", -1, NULL };

  call.parameters = g_variant_new ("(s)", DVM_SESSION_INTERFACE);
  _dvm_client_call (self, &call, task, on_properties);
}

static void
on_found (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);
  const char *path;

  if (reply == NULL)
    {
      g_object_unref (task);
      return;
    }
  g_variant_get (reply, "(&o)", &path);
  get_properties (g_task_get_source_object (task), task, path);
}

/**
 * dvm_client_find_session_async:
 * @self: a client that is connected
 * @reference: the id of an allocation, "" for that of the default session, or the object path of a session
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
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "FindSession", NULL, "(o)", -1, NULL };
  GTask *task;

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (reference != NULL);

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, dvm_client_find_session_async);
  if (g_str_has_prefix (reference, DVM_SESSIONS_PATH "/") && g_variant_is_object_path (reference))
    get_properties (self, task, reference);
  else if (reference[0] == '/' || !g_utf8_validate (reference, -1, NULL))
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                               _ ("A session is named by the id of its allocation or its object path"));
      g_object_unref (task);
    }
  else
    {
      call.parameters = g_variant_new ("(s)", reference);
      _dvm_client_call (self, &call, task, on_found);
    }
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

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_find_session:
 * @self: a client that is connected
 * @reference: the id of an allocation, "" for that of the default session, or the object path of a session
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
  DvmSync sync;
  DvmSession *answer;

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (reference != NULL, NULL);

  _dvm_sync_begin (&sync);
  dvm_client_find_session_async (self, reference, cancellable, _dvm_sync_done, &sync);
  answer = dvm_client_find_session_finish (self, _dvm_sync_wait (&sync), error);
  _dvm_sync_end (&sync);
  return answer;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A client controls a session and the jobs in it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include "dvm-client-private.h"

/* ---- all operations ---- */

/**
 * dvm_client_control_session_async:
 * @self: a client that is connected
 * @id: the number of a session; %G_MAXUINT for all that the caller controls, but for the default one; 0 for a new one
 *   that may have any number
 * @directives: a value of type a{sv} with one operation: "instantiate" (b), "extend" (u, seconds, 0 for no limit),
 *   "pause", "resume", "preempt", "restore", "terminate" (b each), "signal" (i) or "separate" (b); beside it what that
 *   takes, as the description of ControlSession in the interface org.dvm.Manager tells; if it is floating, it is
 *   consumed
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Makes a session of the nodes that are named, or does something to one or to all that the caller controls.
 *
 * Since: 0.1
 */
void
dvm_client_control_session_async (DvmClient *self, guint id, GVariant *directives, GCancellable *cancellable,
                                  GAsyncReadyCallback callback, gpointer user_data)
{
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "ControlSession", NULL, "(a{sv})", G_MAXINT, NULL };

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (directives != NULL && g_variant_is_of_type (directives, G_VARIANT_TYPE_VARDICT));

  call.parameters = g_variant_new ("(u@a{sv})", id, directives);
  _dvm_client_call (self, &call,
                    _dvm_client_new_task (self, dvm_client_control_session_async, cancellable, callback, user_data),
                    _dvm_client_on_value);
}

/**
 * dvm_client_control_session_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_control_session_async().
 *
 * Returns: (transfer full): a value of type a{sv}, with those of these that there are: "session" (o), "alloc-id" (s),
 *   "req-id" (s), "campaign" (o, "/" if no node comes or goes), "nspace" (s, of the job that "apps" asked for),
 *   "sessions" (ao, of a request for all of them); %NULL on error, %DVM_ERROR_BAD_PARAM if there is no operation or
 *   more than one
 * Since: 0.1
 */
GVariant *
dvm_client_control_session_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_control_session:
 * @self: a client that is connected
 * @id: the number of a session; %G_MAXUINT for all that the caller controls, but for the default one; 0 for a new one
 *   that may have any number
 * @directives: a value of type a{sv} with one operation: "instantiate" (b), "extend" (u, seconds, 0 for no limit),
 *   "pause", "resume", "preempt", "restore", "terminate" (b each), "signal" (i) or "separate" (b); beside it what that
 *   takes, as the description of ControlSession in the interface org.dvm.Manager tells; if it is floating, it is
 *   consumed
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Makes a session of the nodes that are named, or does something to one or to all that the caller controls.
 *
 * Returns: (transfer full): a value of type a{sv}, with those of these that there are: "session" (o), "alloc-id" (s),
 *   "req-id" (s), "campaign" (o, "/" if no node comes or goes), "nspace" (s, of the job that "apps" asked for),
 *   "sessions" (ao, of a request for all of them); %NULL on error, %DVM_ERROR_BAD_PARAM if there is no operation or
 *   more than one
 * Since: 0.1
 */
GVariant *
dvm_client_control_session (DvmClient *self, guint id, GVariant *directives, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (directives != NULL && g_variant_is_of_type (directives, G_VARIANT_TYPE_VARDICT), NULL);

  dvm_client_control_session_async (self, id, directives, cancellable, _dvm_sync_done, &sync);
  return dvm_client_control_session_finish (self, _dvm_sync_wait (&sync), error);
}

/* ---- one session ---- */

/**
 * dvm_client_extend_session_async:
 * @self: a client that is connected
 * @session: a session of its DVM
 * @request: (nullable): a value of type a{sv}: "hosts" (as, such as "n9:2"), "hostfile" (s) or "count" (u) for more
 *   nodes, "time" (u, seconds from now on, 0 for no limit), "warn-timeout" (u), "inheritance" (s), "req-id" (s), and
 *   the others that the description of Extend in the interface org.dvm.Session lists; if it is floating, it is consumed
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Gives a session more nodes, or more time, or both. Whoever does this is the one who is warned from now on when its
 * time is soon over.
 *
 * Since: 0.1
 */
void
dvm_client_extend_session_async (DvmClient *self, DvmSession *session, GVariant *request, GCancellable *cancellable,
                                 GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_SESSION (session));
  g_return_if_fail (request == NULL || g_variant_is_of_type (request, G_VARIANT_TYPE_VARDICT));

  _dvm_client_change_session (
      self, session, "Extend", request,
      _dvm_client_new_task (self, dvm_client_extend_session_async, cancellable, callback, user_data));
}

/**
 * dvm_client_extend_session_finish:
 * @self: a client
 * @result: what the callback got
 * @campaign: (out) (transfer full) (optional) (nullable): return location for the campaign that does it; %NULL if no
 *   node comes or goes
 * @error: return location for an error
 *
 * Ends dvm_client_extend_session_async().
 *
 * Returns: %TRUE if it has begun; on error %DVM_ERROR_BAD_PARAM if nothing is asked for, %DVM_ERROR_NO_PERMISSIONS,
 *   %DVM_ERROR_NOT_FOUND if the session has ended
 * Since: 0.1
 */
gboolean
dvm_client_extend_session_finish (DvmClient *self, GAsyncResult *result, DvmCampaign **campaign, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return _dvm_client_change_size_finish (result, NULL, campaign, error);
}

/**
 * dvm_client_extend_session:
 * @self: a client that is connected
 * @session: a session of its DVM
 * @request: (nullable): a value of type a{sv}: "hosts" (as, such as "n9:2"), "hostfile" (s) or "count" (u) for more
 *   nodes, "time" (u, seconds from now on, 0 for no limit), "warn-timeout" (u), "inheritance" (s), "req-id" (s), and
 *   the others that the description of Extend in the interface org.dvm.Session lists; if it is floating, it is consumed
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @campaign: (out) (transfer full) (optional) (nullable): return location for the campaign that does it; %NULL if no
 *   node comes or goes
 * @error: return location for an error
 *
 * Gives a session more nodes, or more time, or both. Whoever does this is the one who is warned from now on when its
 * time is soon over.
 *
 * Returns: %TRUE if it has begun; on error %DVM_ERROR_BAD_PARAM if nothing is asked for, %DVM_ERROR_NO_PERMISSIONS,
 *   %DVM_ERROR_NOT_FOUND if the session has ended
 * Since: 0.1
 */
gboolean
dvm_client_extend_session (DvmClient *self, DvmSession *session, GVariant *request, GCancellable *cancellable,
                           DvmCampaign **campaign, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_SESSION (session), FALSE);
  g_return_val_if_fail (request == NULL || g_variant_is_of_type (request, G_VARIANT_TYPE_VARDICT), FALSE);

  dvm_client_extend_session_async (self, session, request, cancellable, _dvm_sync_done, &sync);
  return dvm_client_extend_session_finish (self, _dvm_sync_wait (&sync), campaign, error);
}

/**
 * dvm_client_release_session_async:
 * @self: a client that is connected
 * @session: a session of its DVM
 * @request: (nullable): a value of type a{sv}: "drain-timeout" (u, seconds for which running jobs are waited for),
 *   "req-id" (s); if it is floating, it is consumed
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Gives the allocation of a session back: the nodes that it brought leave the DVM, others are free for everybody again,
 * and the session ends.
 *
 * Since: 0.1
 */
void
dvm_client_release_session_async (DvmClient *self, DvmSession *session, GVariant *request, GCancellable *cancellable,
                                  GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_SESSION (session));
  g_return_if_fail (request == NULL || g_variant_is_of_type (request, G_VARIANT_TYPE_VARDICT));

  _dvm_client_change_session (
      self, session, "Release", request,
      _dvm_client_new_task (self, dvm_client_release_session_async, cancellable, callback, user_data));
}

/**
 * dvm_client_release_session_finish:
 * @self: a client
 * @result: what the callback got
 * @campaign: (out) (transfer full) (optional) (nullable): return location for the campaign that does it; %NULL if no
 *   node comes or goes
 * @error: return location for an error
 *
 * Ends dvm_client_release_session_async().
 *
 * Returns: %TRUE if it has begun; on error %DVM_ERROR_NO_PERMISSIONS, %DVM_ERROR_NOT_FOUND if the session has ended,
 *   %DVM_ERROR_NOT_SUPPORTED for the default session
 * Since: 0.1
 */
gboolean
dvm_client_release_session_finish (DvmClient *self, GAsyncResult *result, DvmCampaign **campaign, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return _dvm_client_change_size_finish (result, NULL, campaign, error);
}

/**
 * dvm_client_release_session:
 * @self: a client that is connected
 * @session: a session of its DVM
 * @request: (nullable): a value of type a{sv}: "drain-timeout" (u, seconds for which running jobs are waited for),
 *   "req-id" (s); if it is floating, it is consumed
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @campaign: (out) (transfer full) (optional) (nullable): return location for the campaign that does it; %NULL if no
 *   node comes or goes
 * @error: return location for an error
 *
 * Gives the allocation of a session back: the nodes that it brought leave the DVM, others are free for everybody again,
 * and the session ends.
 *
 * Returns: %TRUE if it has begun; on error %DVM_ERROR_NO_PERMISSIONS, %DVM_ERROR_NOT_FOUND if the session has ended,
 *   %DVM_ERROR_NOT_SUPPORTED for the default session
 * Since: 0.1
 */
gboolean
dvm_client_release_session (DvmClient *self, DvmSession *session, GVariant *request, GCancellable *cancellable,
                            DvmCampaign **campaign, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_SESSION (session), FALSE);
  g_return_val_if_fail (request == NULL || g_variant_is_of_type (request, G_VARIANT_TYPE_VARDICT), FALSE);

  dvm_client_release_session_async (self, session, request, cancellable, _dvm_sync_done, &sync);
  return dvm_client_release_session_finish (self, _dvm_sync_wait (&sync), campaign, error);
}

/**
 * dvm_client_pause_session_async:
 * @self: a client that is connected
 * @session: a session of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Stops the processes of the jobs of a session, and holds those jobs that have not been launched, until it is resumed.
 *
 * Since: 0.1
 */
void
dvm_client_pause_session_async (DvmClient *self, DvmSession *session, GCancellable *cancellable,
                                GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_SESSION (session));

  _dvm_client_call_object (
      self, session, "Pause", g_variant_new ("(a{sv})", NULL),
      _dvm_client_new_task (self, dvm_client_pause_session_async, cancellable, callback, user_data));
}

/**
 * dvm_client_pause_session_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_pause_session_async().
 *
 * Returns: %TRUE if they have been told; on error %DVM_ERROR_NO_PERMISSIONS, %DVM_ERROR_NOT_FOUND if the session has
 *   ended
 * Since: 0.1
 */
gboolean
dvm_client_pause_session_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_pause_session:
 * @self: a client that is connected
 * @session: a session of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Stops the processes of the jobs of a session, and holds those jobs that have not been launched, until it is resumed.
 *
 * Returns: %TRUE if they have been told; on error %DVM_ERROR_NO_PERMISSIONS, %DVM_ERROR_NOT_FOUND if the session has
 *   ended
 * Since: 0.1
 */
gboolean
dvm_client_pause_session (DvmClient *self, DvmSession *session, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_SESSION (session), FALSE);

  dvm_client_pause_session_async (self, session, cancellable, _dvm_sync_done, &sync);
  return dvm_client_pause_session_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_resume_session_async:
 * @self: a client that is connected
 * @session: a session of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Lets the jobs of a session go on that was paused.
 *
 * Since: 0.1
 */
void
dvm_client_resume_session_async (DvmClient *self, DvmSession *session, GCancellable *cancellable,
                                 GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_SESSION (session));

  _dvm_client_call_object (
      self, session, "Resume", g_variant_new ("(a{sv})", NULL),
      _dvm_client_new_task (self, dvm_client_resume_session_async, cancellable, callback, user_data));
}

/**
 * dvm_client_resume_session_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_resume_session_async().
 *
 * Returns: %TRUE if they have been told; on error %DVM_ERROR_NO_PERMISSIONS, %DVM_ERROR_NOT_FOUND if the session has
 *   ended
 * Since: 0.1
 */
gboolean
dvm_client_resume_session_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_resume_session:
 * @self: a client that is connected
 * @session: a session of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Lets the jobs of a session go on that was paused.
 *
 * Returns: %TRUE if they have been told; on error %DVM_ERROR_NO_PERMISSIONS, %DVM_ERROR_NOT_FOUND if the session has
 *   ended
 * Since: 0.1
 */
gboolean
dvm_client_resume_session (DvmClient *self, DvmSession *session, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_SESSION (session), FALSE);

  dvm_client_resume_session_async (self, session, cancellable, _dvm_sync_done, &sync);
  return dvm_client_resume_session_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_signal_session_async:
 * @self: a client that is connected
 * @session: a session of its DVM
 * @signum: the number of the signal
 * @nspace: (nullable): the namespace of the one job that is meant; %NULL for all jobs of the session
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Sends a signal to the processes of the jobs of a session.
 *
 * Since: 0.1
 */
void
dvm_client_signal_session_async (DvmClient *self, DvmSession *session, int signum, const char *nspace,
                                 GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  GVariantBuilder options;

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_SESSION (session));
  g_return_if_fail (nspace == NULL || g_utf8_validate (nspace, -1, NULL));

  g_variant_builder_init (&options, G_VARIANT_TYPE_VARDICT);
  if (nspace != NULL)
    g_variant_builder_add (&options, "{sv}", "nspace", g_variant_new_string (nspace));
  _dvm_client_call_object (
      self, session, "Signal", g_variant_new ("(ia{sv})", signum, &options),
      _dvm_client_new_task (self, dvm_client_signal_session_async, cancellable, callback, user_data));
}

/**
 * dvm_client_signal_session_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_signal_session_async().
 *
 * Returns: %TRUE if it is on its way; on error %DVM_ERROR_BAD_PARAM if it is not the number of a signal,
 *   %DVM_ERROR_NO_PERMISSIONS, %DVM_ERROR_NOT_FOUND
 * Since: 0.1
 */
gboolean
dvm_client_signal_session_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_signal_session:
 * @self: a client that is connected
 * @session: a session of its DVM
 * @signum: the number of the signal
 * @nspace: (nullable): the namespace of the one job that is meant; %NULL for all jobs of the session
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Sends a signal to the processes of the jobs of a session.
 *
 * Returns: %TRUE if it is on its way; on error %DVM_ERROR_BAD_PARAM if it is not the number of a signal,
 *   %DVM_ERROR_NO_PERMISSIONS, %DVM_ERROR_NOT_FOUND
 * Since: 0.1
 */
gboolean
dvm_client_signal_session (DvmClient *self, DvmSession *session, int signum, const char *nspace,
                           GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_SESSION (session), FALSE);
  g_return_val_if_fail (nspace == NULL || g_utf8_validate (nspace, -1, NULL), FALSE);

  dvm_client_signal_session_async (self, session, signum, nspace, cancellable, _dvm_sync_done, &sync);
  return dvm_client_signal_session_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_terminate_session_async:
 * @self: a client that is connected
 * @session: a session of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Ends the jobs of a session, and the session when the last process of them has gone: its nodes are given back, as its
 * #DvmSession:inheritance says.
 *
 * Since: 0.1
 */
void
dvm_client_terminate_session_async (DvmClient *self, DvmSession *session, GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_SESSION (session));

  _dvm_client_call_object (
      self, session, "Terminate", g_variant_new ("(a{sv})", NULL),
      _dvm_client_new_task (self, dvm_client_terminate_session_async, cancellable, callback, user_data));
}

/**
 * dvm_client_terminate_session_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_terminate_session_async().
 *
 * Returns: %TRUE if it has begun; on error %DVM_ERROR_NO_PERMISSIONS, %DVM_ERROR_NOT_FOUND if the session has ended,
 *   %DVM_ERROR_NOT_SUPPORTED for the default session
 * Since: 0.1
 */
gboolean
dvm_client_terminate_session_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_terminate_session:
 * @self: a client that is connected
 * @session: a session of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Ends the jobs of a session, and the session when the last process of them has gone: its nodes are given back, as its
 * #DvmSession:inheritance says.
 *
 * Returns: %TRUE if it has begun; on error %DVM_ERROR_NO_PERMISSIONS, %DVM_ERROR_NOT_FOUND if the session has ended,
 *   %DVM_ERROR_NOT_SUPPORTED for the default session
 * Since: 0.1
 */
gboolean
dvm_client_terminate_session (DvmClient *self, DvmSession *session, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_SESSION (session), FALSE);

  dvm_client_terminate_session_async (self, session, cancellable, _dvm_sync_done, &sync);
  return dvm_client_terminate_session_finish (self, _dvm_sync_wait (&sync), error);
}

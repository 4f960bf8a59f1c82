/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The DVM itself, and the trace and the stacks of a job: answers that are passed on as they are.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <glib/gi18n-lib.h>

#include "dvm-client-private.h"

/**
 * dvm_client_get_trace_async:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Asks for the trace of a job: each change of its state and when it happened.
 *
 * Since: 0.1
 */
void
dvm_client_get_trace_async (DvmClient *self, DvmJob *job, GCancellable *cancellable, GAsyncReadyCallback callback,
                            gpointer user_data)
{
  DvmCall call = { NULL, DVM_JOB_INTERFACE, "GetTrace", NULL, "(a(tsuus))", -1, NULL };

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  call.path = dvm_job_get_object_path (job);
  call.parameters = g_variant_new ("(a{sv})", NULL);
  _dvm_client_call (self, &call,
                    _dvm_client_new_task (self, dvm_client_get_trace_async, cancellable, callback, user_data),
                    _dvm_client_on_value);
}

/**
 * dvm_client_get_trace_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_get_trace_async().
 *
 * Returns: (transfer full): a value of type a(tsuus): time in microseconds since the epoch, what, old and new state,
 *   a note
 * Since: 0.1
 */
GVariant *
dvm_client_get_trace_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_get_trace:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * The trace of a job: each change of its state and when it happened.
 *
 * Returns: (transfer full): a value of type a(tsuus): time in microseconds since the epoch, what, old and new state,
 *   a note
 * Since: 0.1
 */
GVariant *
dvm_client_get_trace (DvmClient *self, DvmJob *job, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (DVM_IS_JOB (job), NULL);

  dvm_client_get_trace_async (self, job, cancellable, _dvm_sync_done, &sync);
  return dvm_client_get_trace_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_collect_stacks_async:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @ranks: (nullable): which processes, such as "0-3,7"; %NULL for all
 * @timeout: how many seconds it may take, 0 for the 30 that are usual
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Asks where the processes of a job are in their programs: their stacks are read, which has each of them stand still
 * for some milliseconds.
 *
 * Since: 0.1
 */
void
dvm_client_collect_stacks_async (DvmClient *self, DvmJob *job, const char *ranks, guint timeout,
                                 GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmCall call = { NULL, DVM_JOB_INTERFACE, "CollectStacks", NULL, "(a(usss))", G_MAXINT, NULL };
  GVariantBuilder options;

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  g_variant_builder_init (&options, G_VARIANT_TYPE_VARDICT);
  if (timeout > 0)
    g_variant_builder_add (&options, "{sv}", "timeout", g_variant_new_uint32 (timeout));
  call.path = dvm_job_get_object_path (job);
  call.parameters = g_variant_new ("(sa{sv})", ranks != NULL ? ranks : "", &options);
  _dvm_client_call (self, &call,
                    _dvm_client_new_task (self, dvm_client_collect_stacks_async, cancellable, callback, user_data),
                    _dvm_client_on_value);
}

/**
 * dvm_client_collect_stacks_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_collect_stacks_async().
 *
 * Returns: (transfer full): a value of type a(usss): rank, node, the stacks of its threads or "", and why there is none
 *   or not all of it or ""; %NULL on error, %DVM_ERROR_NOT_READY before the job is launched, %DVM_ERROR_NOT_FOUND when
 *   it has ended and none are kept of its time limit
 * Since: 0.1
 */
GVariant *
dvm_client_collect_stacks_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_collect_stacks:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @ranks: (nullable): which processes, such as "0-3,7"; %NULL for all
 * @timeout: how many seconds it may take, 0 for the 30 that are usual
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Reads where the processes of a job are in their programs; each of them stands still for some milliseconds.
 *
 * Returns: (transfer full): a value of type a(usss): rank, node, the stacks of its threads or "", and why there is none
 *   or not all of it or ""; %NULL on error, %DVM_ERROR_NOT_READY before the job is launched, %DVM_ERROR_NOT_FOUND when
 *   it has ended and none are kept of its time limit
 * Since: 0.1
 */
GVariant *
dvm_client_collect_stacks (DvmClient *self, DvmJob *job, const char *ranks, guint timeout, GCancellable *cancellable,
                           GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (DVM_IS_JOB (job), NULL);

  dvm_client_collect_stacks_async (self, job, ranks, timeout, cancellable, _dvm_sync_done, &sync);
  return dvm_client_collect_stacks_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_get_info_async:
 * @self: a client that is connected
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Asks for the properties of the DVM.
 *
 * Since: 0.1
 */
void
dvm_client_get_info_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmCall call = { DVM_MANAGER_PATH, DVM_PROPERTIES, "GetAll", NULL, "(a{sv})", -1, NULL };

  g_return_if_fail (DVM_IS_CLIENT (self));

  call.parameters = g_variant_new ("(s)", DVM_MANAGER_INTERFACE);
  _dvm_client_call (self, &call,
                    _dvm_client_new_task (self, dvm_client_get_info_async, cancellable, callback, user_data),
                    _dvm_client_on_value);
}

/**
 * dvm_client_get_info_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_get_info_async().
 *
 * Returns: (transfer full): the properties of org.dvm.Manager, a dictionary of type a{sv}
 * Since: 0.1
 */
GVariant *
dvm_client_get_info_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_get_info:
 * @self: a client that is connected
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * The properties of the DVM: its version, state, slots, jobs and so on.
 *
 * Returns: (transfer full): the properties of org.dvm.Manager, a dictionary of type a{sv}
 * Since: 0.1
 */
GVariant *
dvm_client_get_info (DvmClient *self, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  dvm_client_get_info_async (self, cancellable, _dvm_sync_done, &sync);
  return dvm_client_get_info_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_get_defaults_async:
 * @self: a client that is connected
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Asks for the DVM's defaults of jobs alone, which costs less than all properties of the DVM.
 *
 * Since: 0.1
 */
void
dvm_client_get_defaults_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                               gpointer user_data)
{
  DvmCall call = { DVM_MANAGER_PATH, DVM_PROPERTIES, "Get", NULL, "(v)", -1, NULL };

  g_return_if_fail (DVM_IS_CLIENT (self));

  call.parameters = g_variant_new ("(ss)", DVM_MANAGER_INTERFACE, "Defaults");
  _dvm_client_call (self, &call,
                    _dvm_client_new_task (self, dvm_client_get_defaults_async, cancellable, callback, user_data),
                    _dvm_client_on_value);
}

/**
 * dvm_client_get_defaults_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_get_defaults_async().
 *
 * Returns: (transfer full): the defaults by the names of their settings, a dictionary of type a{sv} without those that
 *   are not set
 * Since: 0.1
 */
GVariant *
dvm_client_get_defaults_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_autoptr (GVariant) boxed = NULL;
  g_autoptr (GVariant) defaults = NULL;

  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  boxed = g_task_propagate_pointer (G_TASK (result), error);
  if (boxed == NULL)
    return NULL;
  defaults = g_variant_get_variant (boxed);
  if (!g_variant_is_of_type (defaults, G_VARIANT_TYPE_VARDICT))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED,
                   _ ("The DVM answered with defaults of type %s; a DVM of this version answers with a{sv}"),
                   g_variant_get_type_string (defaults));
      return NULL;
    }
  return g_steal_pointer (&defaults);
}

/**
 * dvm_client_get_defaults:
 * @self: a client that is connected
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Asks for the values of map-by, rank-by, bind-to, output and display that the DVM takes where a job says none.
 *
 * Returns: (transfer full): the defaults by the names of their settings, a dictionary of type a{sv} without those that
 *   are not set
 * Since: 0.1
 */
GVariant *
dvm_client_get_defaults (DvmClient *self, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  dvm_client_get_defaults_async (self, cancellable, _dvm_sync_done, &sync);
  return dvm_client_get_defaults_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_list_plugins_async:
 * @self: a client that is connected
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Lists the plugins that the DVM has loaded.
 *
 * Since: 0.1
 */
void
dvm_client_list_plugins_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                               gpointer user_data)
{
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "ListPlugins", NULL, "(aa{sv})", -1, NULL };

  g_return_if_fail (DVM_IS_CLIENT (self));

  call.parameters = g_variant_new ("(a{sv})", NULL);
  _dvm_client_call (self, &call,
                    _dvm_client_new_task (self, dvm_client_list_plugins_async, cancellable, callback, user_data),
                    _dvm_client_on_value);
}

/**
 * dvm_client_list_plugins_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_list_plugins_async().
 *
 * Returns: (transfer full): a list of type aa{sv}: kind (s), name (s), description (s), active (b), path (s) of each
 *   plugin, in the order in which they are asked; path is empty for those that are part of the program
 * Since: 0.1
 */
GVariant *
dvm_client_list_plugins_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_list_plugins:
 * @self: a client that is connected
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Lists the plugins that the DVM has loaded.
 *
 * Returns: (transfer full): a list of type aa{sv}, as of dvm_client_list_plugins_finish()
 * Since: 0.1
 */
GVariant *
dvm_client_list_plugins (DvmClient *self, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  dvm_client_list_plugins_async (self, cancellable, _dvm_sync_done, &sync);
  return dvm_client_list_plugins_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_reload_async:
 * @self: a client that is connected
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Has the DVM read its settings again.
 *
 * Since: 0.1
 */
void
dvm_client_reload_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "Reload", NULL, "()", -1, NULL };

  g_return_if_fail (DVM_IS_CLIENT (self));

  call.parameters = g_variant_new ("(a{sv})", NULL);
  _dvm_client_call (self, &call, _dvm_client_new_task (self, dvm_client_reload_async, cancellable, callback, user_data),
                    _dvm_client_on_done);
}

/**
 * dvm_client_reload_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_reload_async().
 *
 * Returns: %TRUE if the settings have been read; %FALSE with %DVM_ERROR_PARSE_FAILED, which names file and line, if one
 *   of the files is wrong: the settings are as they were then
 * Since: 0.1
 */
gboolean
dvm_client_reload_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_reload:
 * @self: a client that is connected
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Has the DVM read its settings again.
 *
 * Returns: %TRUE if the settings have been read, as dvm_client_reload_finish()
 * Since: 0.1
 */
gboolean
dvm_client_reload (DvmClient *self, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);

  dvm_client_reload_async (self, cancellable, _dvm_sync_done, &sync);
  return dvm_client_reload_finish (self, _dvm_sync_wait (&sync), error);
}

/* A DVM that left before its answer did has done what it was told. */
static void
on_shut_down (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) reply = NULL;
  GError *error = NULL;

  reply = g_dbus_connection_call_with_unix_fd_list_finish (G_DBUS_CONNECTION (source), NULL, result, &error);
  if (reply == NULL)
    error = _dvm_client_clean_error (error);
  if (reply != NULL || g_error_matches (error, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN))
    {
      g_clear_error (&error);
      g_task_return_boolean (task, TRUE);
    }
  else
    g_task_return_error (task, error);
}

/**
 * dvm_client_shutdown_async:
 * @self: a client that is connected
 * @force: whether jobs are killed without grace
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Ends the DVM and its jobs.
 *
 * Since: 0.1
 */
void
dvm_client_shutdown_async (DvmClient *self, gboolean force, GCancellable *cancellable, GAsyncReadyCallback callback,
                           gpointer user_data)
{
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "Shutdown", NULL, "()", -1, NULL };
  GVariantBuilder options;

  g_return_if_fail (DVM_IS_CLIENT (self));

  g_variant_builder_init (&options, G_VARIANT_TYPE_VARDICT);
  if (force)
    g_variant_builder_add (&options, "{sv}", "force", g_variant_new_boolean (TRUE));
  call.parameters = g_variant_new ("(a{sv})", &options);
  _dvm_client_call (self, &call,
                    _dvm_client_new_task (self, dvm_client_shutdown_async, cancellable, callback, user_data),
                    on_shut_down);
}

/**
 * dvm_client_shutdown_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_shutdown_async().
 *
 * Returns: %TRUE if the DVM is ending; the connection is closed when it has
 * Since: 0.1
 */
gboolean
dvm_client_shutdown_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_shutdown:
 * @self: a client that is connected
 * @force: whether jobs are killed without grace
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Ends the DVM and its jobs.
 *
 * Returns: %TRUE if the DVM is ending; the connection is closed when it has
 * Since: 0.1
 */
gboolean
dvm_client_shutdown (DvmClient *self, gboolean force, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);

  dvm_client_shutdown_async (self, force, cancellable, _dvm_sync_done, &sync);
  return dvm_client_shutdown_finish (self, _dvm_sync_wait (&sync), error);
}

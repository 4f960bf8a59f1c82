/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A client waits for one job, signals it, cancels it, reads it again.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <string.h>

#include "dvm-client-private.h"

static GTask *
new_job_task (DvmClient *self, DvmJob *job, gpointer tag, GCancellable *cancellable, GAsyncReadyCallback callback,
              gpointer user_data)
{
  GTask *task = _dvm_client_new_task (self, tag, cancellable, callback, user_data);

  g_task_set_task_data (task, g_object_ref (job), g_object_unref);
  return task;
}

/* The result of Wait as the properties of a job. */
static GVariant *
result_to_properties (GVariant *result)
{
  static const char *const names[][2] = {
    { "state", "State" },
    { "exit-code", "ExitCode" },
    { "exit-signal", "ExitSignal" },
    { "failed-rank", "FailedRank" },
    { "reason", "Reason" },
    { "reason-code", "ReasonCode" },
    { "reason-arguments", "ReasonArguments" },
    { "output-error", "OutputError" },
    { "namespace", "Namespace" },
  };
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (GVariant) value = g_variant_lookup_value (result, names[i][0], NULL);

      if (value != NULL)
        g_variant_builder_add (&builder, "{sv}", names[i][1], value);
    }
  g_variant_builder_add (&builder, "{sv}", "Ended", g_variant_new_boolean (TRUE));
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

/* (transfer full) (nullable): the job that has failed first, if the result of Wait names one */
static gboolean
read_first_failure (GVariant *result, DvmJob **failed, GError **error)
{
  g_autoptr (GVariant) dict = g_variant_lookup_value (result, "first-failure", G_VARIANT_TYPE_VARDICT);
  g_autoptr (GVariant) changes = NULL;
  g_autoptr (DvmJob) job = NULL;
  const char *path = "";

  *failed = NULL;
  if (dict == NULL)
    return TRUE;
  g_variant_lookup (dict, "path", "&o", &path);
  job = _dvm_client_new_job (path, error);
  changes = result_to_properties (dict);
  if (job == NULL || !_dvm_record_update (G_OBJECT (job), changes, error))
    return FALSE;
  *failed = g_steal_pointer (&job);
  return TRUE;
}

static void
on_ended (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);
  DvmClient *self = g_task_get_source_object (task);
  DvmJob *job = g_task_get_task_data (task);
  g_autoptr (GVariant) dict = NULL;
  g_autoptr (GVariant) changes = NULL;
  g_autoptr (DvmJob) failed = NULL;
  GError *error = NULL;

  if (reply == NULL)
    return;
  g_variant_get (reply, "(@a{sv})", &dict);
  changes = result_to_properties (dict);
  if (_dvm_record_update (G_OBJECT (job), changes, &error) && read_first_failure (dict, &failed, &error))
    {
      _dvm_job_set_first_failure (job, failed);
      _dvm_client_watches_settle (self->watches, job);
      g_task_return_boolean (task, TRUE);
    }
  else
    g_task_return_error (task, error);
}

/**
 * dvm_client_wait_async:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @timeout_ms: after how many milliseconds to give up, 0 for never
 * @cancellable: (nullable): a way to stop waiting; the job goes on
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Waits until the job has ended and its output is delivered.
 *
 * Since: 0.1
 */
void
dvm_client_wait_async (DvmClient *self, DvmJob *job, guint timeout_ms, GCancellable *cancellable,
                       GAsyncReadyCallback callback, gpointer user_data)
{
  GVariantBuilder options;
  DvmCall call = { NULL, DVM_JOB_INTERFACE, "Wait", NULL, "(a{sv})", G_MAXINT, NULL };

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  g_variant_builder_init (&options, G_VARIANT_TYPE_VARDICT);
  if (timeout_ms > 0)
    g_variant_builder_add (&options, "{sv}", "timeout", g_variant_new_uint32 (timeout_ms));
  call.path = dvm_job_get_object_path (job);
  call.parameters = g_variant_new ("(a{sv})", &options);
  _dvm_client_call (self, &call, new_job_task (self, job, dvm_client_wait_async, cancellable, callback, user_data),
                    on_ended);
}

/**
 * dvm_client_wait_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_wait_async(). The job's record says how it ended: state, exit code, signal, reason.
 *
 * Returns: %TRUE if the job has ended, however it did; on error %DVM_ERROR_TIMEOUT, %DVM_ERROR_NOT_FOUND,
 *   %DVM_ERROR_SHUTTING_DOWN if the DVM went away
 * Since: 0.1
 */
gboolean
dvm_client_wait_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_wait:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @timeout_ms: after how many milliseconds to give up, 0 for never
 * @cancellable: (nullable): a way to stop waiting; the job goes on
 * @error: return location for an error
 *
 * Waits until the job has ended and its output is delivered. The job's record says how it ended: state, exit code,
 * signal, reason.
 *
 * Returns: %TRUE if the job has ended, however it did; on error %DVM_ERROR_TIMEOUT, %DVM_ERROR_NOT_FOUND,
 *   %DVM_ERROR_SHUTTING_DOWN if the DVM went away
 * Since: 0.1
 */
gboolean
dvm_client_wait (DvmClient *self, DvmJob *job, guint timeout_ms, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_JOB (job), FALSE);

  dvm_client_wait_async (self, job, timeout_ms, cancellable, _dvm_sync_done, &sync);
  return dvm_client_wait_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_send_signal_async:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @signum: the number of the signal
 * @ranks: (nullable): which processes, such as "0-3,7"; %NULL for all
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Sends a signal to processes of a job.
 *
 * Since: 0.1
 */
void
dvm_client_send_signal_async (DvmClient *self, DvmJob *job, int signum, const char *ranks, GCancellable *cancellable,
                              GAsyncReadyCallback callback, gpointer user_data)
{
  GVariantBuilder options;

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  g_variant_builder_init (&options, G_VARIANT_TYPE_VARDICT);
  if (ranks != NULL)
    g_variant_builder_add (&options, "{sv}", "ranks", g_variant_new_string (ranks));
  _dvm_client_call_object (self, job, "Signal", g_variant_new ("(ia{sv})", signum, &options),
                           _dvm_client_new_task (self, dvm_client_send_signal_async, cancellable, callback, user_data));
}

/**
 * dvm_client_send_signal_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_send_signal_async().
 *
 * Returns: %TRUE if the signal is on its way; on error %DVM_ERROR_BAD_PARAM, %DVM_ERROR_NOT_FOUND
 * Since: 0.1
 */
gboolean
dvm_client_send_signal_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_send_signal:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @signum: the number of the signal
 * @ranks: (nullable): which processes, such as "0-3,7"; %NULL for all
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Sends a signal to processes of a job.
 *
 * Returns: %TRUE if the signal is on its way; on error %DVM_ERROR_BAD_PARAM, %DVM_ERROR_NOT_FOUND
 * Since: 0.1
 */
gboolean
dvm_client_send_signal (DvmClient *self, DvmJob *job, int signum, const char *ranks, GCancellable *cancellable,
                        GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_JOB (job), FALSE);

  dvm_client_send_signal_async (self, job, signum, ranks, cancellable, _dvm_sync_done, &sync);
  return dvm_client_send_signal_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_continue_job_async:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Lets the processes of a job go on that wait for a debugger, because its runtime options say so (stop-on-exec,
 * stop-in-init, stop-in-app), or that a signal has stopped. A job that does not wait yet will not wait any more.
 *
 * Since: 0.1
 */
void
dvm_client_continue_job_async (DvmClient *self, DvmJob *job, GCancellable *cancellable, GAsyncReadyCallback callback,
                               gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  _dvm_client_call_object (
      self, job, "Continue", g_variant_new ("(a{sv})", NULL),
      _dvm_client_new_task (self, dvm_client_continue_job_async, cancellable, callback, user_data));
}

/**
 * dvm_client_continue_job_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_continue_job_async().
 *
 * Returns: %TRUE if the processes have been told
 * Since: 0.1
 */
gboolean
dvm_client_continue_job_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_continue_job:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Lets the processes of a job go on that wait for a debugger, because its runtime options say so (stop-on-exec,
 * stop-in-init, stop-in-app), or that a signal has stopped. A job that does not wait yet will not wait any more.
 *
 * Returns: %TRUE if the processes have been told; on error %DVM_ERROR_NOT_READY for a job that has no processes yet,
 *   %DVM_ERROR_NOT_FOUND for one that has ended
 * Since: 0.1
 */
gboolean
dvm_client_continue_job (DvmClient *self, DvmJob *job, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_JOB (job), FALSE);

  dvm_client_continue_job_async (self, job, cancellable, _dvm_sync_done, &sync);
  return dvm_client_continue_job_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_hold_job_async:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Lets a job that has no nodes yet wait until it is released, with dvm_client_release_job().
 *
 * Since: 0.1
 */
void
dvm_client_hold_job_async (DvmClient *self, DvmJob *job, GCancellable *cancellable, GAsyncReadyCallback callback,
                           gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  _dvm_client_call_object (self, job, "Hold", g_variant_new ("(a{sv})", NULL),
                           _dvm_client_new_task (self, dvm_client_hold_job_async, cancellable, callback, user_data));
}

/**
 * dvm_client_hold_job_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_hold_job_async().
 *
 * Returns: %TRUE if the job waits
 * Since: 0.1
 */
gboolean
dvm_client_hold_job_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_hold_job:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Lets a job that has no nodes yet wait until it is released, with dvm_client_release_job().
 *
 * Returns: %TRUE if the job waits; on error %DVM_ERROR_NOT_SUPPORTED for a job that has its nodes, or runs,
 *   %DVM_ERROR_NOT_FOUND for one that has ended
 * Since: 0.1
 */
gboolean
dvm_client_hold_job (DvmClient *self, DvmJob *job, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_JOB (job), FALSE);

  dvm_client_hold_job_async (self, job, cancellable, _dvm_sync_done, &sync);
  return dvm_client_hold_job_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_release_job_async:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Lets a job go on that is held, with dvm_client_hold_job() or by its own description. One that is not is left as
 * it is.
 *
 * Since: 0.1
 */
void
dvm_client_release_job_async (DvmClient *self, DvmJob *job, GCancellable *cancellable, GAsyncReadyCallback callback,
                              gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  _dvm_client_call_object (self, job, "Release", g_variant_new ("(a{sv})", NULL),
                           _dvm_client_new_task (self, dvm_client_release_job_async, cancellable, callback, user_data));
}

/**
 * dvm_client_release_job_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_release_job_async().
 *
 * Returns: %TRUE if the job is not held any more
 * Since: 0.1
 */
gboolean
dvm_client_release_job_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_release_job:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Lets a job go on that is held, with dvm_client_hold_job() or by its own description. One that is not is left as
 * it is.
 *
 * Returns: %TRUE if the job is not held any more; on error %DVM_ERROR_NOT_FOUND for a job that has ended
 * Since: 0.1
 */
gboolean
dvm_client_release_job (DvmClient *self, DvmJob *job, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_JOB (job), FALSE);

  dvm_client_release_job_async (self, job, cancellable, _dvm_sync_done, &sync);
  return dvm_client_release_job_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_set_job_priority_async:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @priority: how urgent it is, from -1000 to 1000
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Changes the priority of a job that has no nodes yet.
 *
 * Since: 0.1
 */
void
dvm_client_set_job_priority_async (DvmClient *self, DvmJob *job, int priority, GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  _dvm_client_call_object (
      self, job, "SetPriority", g_variant_new ("(ia{sv})", priority, NULL),
      _dvm_client_new_task (self, dvm_client_set_job_priority_async, cancellable, callback, user_data));
}

/**
 * dvm_client_set_job_priority_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_set_job_priority_async().
 *
 * Returns: %TRUE if the job has that priority
 * Since: 0.1
 */
gboolean
dvm_client_set_job_priority_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_set_job_priority:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @priority: how urgent it is, from -1000 to 1000
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Changes the priority of a job that has no nodes yet. Among those that wait for nodes it stands elsewhere at once.
 *
 * Returns: %TRUE if the job has that priority; on error %DVM_ERROR_NOT_SUPPORTED for a job that has its nodes, or runs,
 *   %DVM_ERROR_BAD_PARAM for another number, %DVM_ERROR_NOT_FOUND for a job that has ended
 * Since: 0.1
 */
gboolean
dvm_client_set_job_priority (DvmClient *self, DvmJob *job, int priority, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_JOB (job), FALSE);

  dvm_client_set_job_priority_async (self, job, priority, cancellable, _dvm_sync_done, &sync);
  return dvm_client_set_job_priority_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_resize_job_async:
 * @self: a client that is connected
 * @job: a job of its DVM that has a pseudo terminal
 * @rows: the lines of the terminal, 1 to 65535
 * @columns: the columns of the terminal, 1 to 65535
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Sets the size of a job's pseudo terminal (#DvmJobSpec:pty). Its processes in the foreground get SIGWINCH; a job that
 * is not launched yet begins with that size.
 *
 * Since: 0.1
 */
void
dvm_client_resize_job_async (DvmClient *self, DvmJob *job, guint rows, guint columns, GCancellable *cancellable,
                             GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  _dvm_client_call_object (self, job, "Resize", g_variant_new ("(uua{sv})", rows, columns, NULL),
                           _dvm_client_new_task (self, dvm_client_resize_job_async, cancellable, callback, user_data));
}

/**
 * dvm_client_resize_job_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_resize_job_async().
 *
 * Returns: %TRUE if the new size is on its way; on error %DVM_ERROR_BAD_PARAM for a job without a terminal and for a
 *   size that no terminal has, %DVM_ERROR_NOT_FOUND for a job that has ended
 * Since: 0.1
 */
gboolean
dvm_client_resize_job_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_resize_job:
 * @self: a client that is connected
 * @job: a job of its DVM that has a pseudo terminal
 * @rows: the lines of the terminal, 1 to 65535
 * @columns: the columns of the terminal, 1 to 65535
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Sets the size of a job's pseudo terminal (#DvmJobSpec:pty). Its processes in the foreground get SIGWINCH; a job that
 * is not launched yet begins with that size.
 *
 * Returns: %TRUE if the new size is on its way; on error %DVM_ERROR_BAD_PARAM for a job without a terminal and for a
 *   size that no terminal has, %DVM_ERROR_NOT_FOUND for a job that has ended
 * Since: 0.1
 */
gboolean
dvm_client_resize_job (DvmClient *self, DvmJob *job, guint rows, guint columns, GCancellable *cancellable,
                       GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_JOB (job), FALSE);

  dvm_client_resize_job_async (self, job, rows, columns, cancellable, _dvm_sync_done, &sync);
  return dvm_client_resize_job_finish (self, _dvm_sync_wait (&sync), error);
}

/**
 * dvm_client_cancel_job_async:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Ends a job: its processes are asked to leave, then killed.
 *
 * Since: 0.1
 */
void
dvm_client_cancel_job_async (DvmClient *self, DvmJob *job, GCancellable *cancellable, GAsyncReadyCallback callback,
                             gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  _dvm_client_call_object (self, job, "Cancel", g_variant_new ("(a{sv})", NULL),
                           _dvm_client_new_task (self, dvm_client_cancel_job_async, cancellable, callback, user_data));
}

/**
 * dvm_client_cancel_job_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_cancel_job_async().
 *
 * Returns: %TRUE if the job is being ended; dvm_client_wait() tells when it has
 * Since: 0.1
 */
gboolean
dvm_client_cancel_job_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * dvm_client_cancel_job:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Ends a job: its processes are asked to leave, then killed.
 *
 * Returns: %TRUE if the job is being ended; dvm_client_wait() tells when it has
 * Since: 0.1
 */
gboolean
dvm_client_cancel_job (DvmClient *self, DvmJob *job, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_JOB (job), FALSE);

  dvm_client_cancel_job_async (self, job, cancellable, _dvm_sync_done, &sync);
  return dvm_client_cancel_job_finish (self, _dvm_sync_wait (&sync), error);
}

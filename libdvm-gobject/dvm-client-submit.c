/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A client submits jobs, with or without descriptors.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include "dvm-client-private.h"

static void
on_submitted (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);
  const char *path;
  GError *error = NULL;
  DvmJob *job;

  if (reply == NULL)
    return;
  g_variant_get (reply, "(&o)", &path);
  job = _dvm_client_new_job (path, &error);
  if (job == NULL)
    g_task_return_error (task, error);
  else
    g_task_return_pointer (task, job, g_object_unref);
}

static gboolean
add_fd (GUnixFDList *list, GVariantDict *options, const char *key, int fd, GError **error)
{
  int handle;

  if (fd < 0)
    return TRUE;
  handle = g_unix_fd_list_append (list, fd, error);
  if (handle < 0)
    {
      g_prefix_error (error, "%s: ", key);
      return FALSE;
    }
  g_variant_dict_insert (options, key, "h", handle);
  return TRUE;
}

/* (transfer floating): the arguments of SubmitApps */
static GVariant *
make_arguments (DvmClient *self, DvmJobSpec *spec, const int fds[3], GUnixFDList *list, GError **error)
{
  g_autoptr (GVariant) value = dvm_job_spec_to_variant (spec);
  g_autoptr (GVariant) apps = g_variant_get_child_value (value, 0);
  g_autoptr (GVariant) options = g_variant_get_child_value (value, 1);
  g_auto (GVariantDict) dict = G_VARIANT_DICT_INIT (options);

  if (!add_fd (list, &dict, "stdin-fd", fds[0], error) || !add_fd (list, &dict, "stdout-fd", fds[1], error)
      || !add_fd (list, &dict, "stderr-fd", fds[2], error))
    return NULL;
  /* A caller that wants to follow the job subscribes: see dvm_client_watch_job(). */
  g_variant_dict_insert (&dict, "signals", "b", FALSE);
  if (self->jobs_end_with_client)
    g_variant_dict_insert (&dict, "end-with-caller", "b", TRUE);
  return g_variant_new ("(@aa{sv}@a{sv})", apps, g_variant_dict_end (&dict));
}

static void
submit (DvmClient *self, DvmJobSpec *spec, const int fds[3], GTask *task)
{
  g_autoptr (GUnixFDList) list = g_unix_fd_list_new ();
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "SubmitApps", NULL, "(o)", -1, list };
  GError *error = NULL;

  if (dvm_job_spec_validate (spec, &error))
    call.parameters = make_arguments (self, spec, fds, list, &error);
  if (call.parameters == NULL)
    {
      g_task_return_error (task, _dvm_client_clean_error (error));
      g_object_unref (task);
      return;
    }
  _dvm_client_call (self, &call, task, on_submitted);
}

/**
 * dvm_client_submit_async:
 * @self: a client that is connected
 * @spec: what is to run
 * @cancellable: (nullable): a way to stop waiting for the answer; the job may have been accepted all the same
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Submits a job. It gets no standard input, and its output is kept for the first who attaches.
 *
 * Since: 0.1
 */
void
dvm_client_submit_async (DvmClient *self, DvmJobSpec *spec, GCancellable *cancellable, GAsyncReadyCallback callback,
                         gpointer user_data)
{
  dvm_client_submit_with_fds_async (self, spec, -1, -1, -1, cancellable, callback, user_data);
}

/**
 * dvm_client_submit_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_submit_async(). The record has the number of the job and its
 * object path; waiting for the job fills in how it ended, dvm_client_refresh_job() all the rest.
 *
 * Returns: (transfer full): the job; %NULL on error, %DVM_ERROR_BAD_PARAM if the description is wrong
 * Since: 0.1
 */
DvmJob *
dvm_client_submit_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_submit:
 * @self: a client that is connected
 * @spec: what is to run
 * @cancellable: (nullable): a way to stop waiting for the answer; the job may have been accepted all the same
 * @error: return location for an error
 *
 * Submits a job, and waits until it has been accepted. The record has the number of the job and its object path;
 * waiting for the job fills in how it ended, dvm_client_refresh_job() all the rest.
 *
 * Returns: (transfer full): the job; %NULL on error, %DVM_ERROR_BAD_PARAM if the description is wrong
 * Since: 0.1
 */
DvmJob *
dvm_client_submit (DvmClient *self, DvmJobSpec *spec, GCancellable *cancellable, GError **error)
{
  return dvm_client_submit_with_fds (self, spec, -1, -1, -1, cancellable, error);
}

/**
 * dvm_client_submit_with_fds_async:
 * @self: a client that is connected
 * @spec: what is to run
 * @stdin_fd: a descriptor that the job reads, -1 for none
 * @stdout_fd: a descriptor that gets the job's output, -1 for none
 * @stderr_fd: a descriptor that gets the job's error output, -1 for none
 * @cancellable: (nullable): a way to stop waiting for the answer; the job may have been accepted all the same
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Submits a job whose streams are these descriptors. They stay the caller's, who may close them at once.
 *
 * Since: 0.1
 */
void
dvm_client_submit_with_fds_async (DvmClient *self, DvmJobSpec *spec, int stdin_fd, int stdout_fd, int stderr_fd,
                                  GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  const int fds[3] = { stdin_fd, stdout_fd, stderr_fd };

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB_SPEC (spec));

  submit (self, spec, fds,
          _dvm_client_new_task (self, dvm_client_submit_with_fds_async, cancellable, callback, user_data));
}

/**
 * dvm_client_submit_with_fds_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_submit_with_fds_async(), as dvm_client_submit_finish() does.
 *
 * Returns: (transfer full): the job; %NULL on error, %DVM_ERROR_BAD_PARAM if the description is wrong
 * Since: 0.1
 */
DvmJob *
dvm_client_submit_with_fds_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  return dvm_client_submit_finish (self, result, error);
}

/**
 * dvm_client_submit_with_fds:
 * @self: a client that is connected
 * @spec: what is to run
 * @stdin_fd: a descriptor that the job reads, -1 for none
 * @stdout_fd: a descriptor that gets the job's output, -1 for none
 * @stderr_fd: a descriptor that gets the job's error output, -1 for none
 * @cancellable: (nullable): a way to stop waiting for the answer; the job may have been accepted all the same
 * @error: return location for an error
 *
 * Submits a job whose streams are these descriptors. They stay the caller's, who may close them at once.
 *
 * Returns: (transfer full): the job; %NULL on error, %DVM_ERROR_BAD_PARAM if the description is wrong
 * Since: 0.1
 */
DvmJob *
dvm_client_submit_with_fds (DvmClient *self, DvmJobSpec *spec, int stdin_fd, int stdout_fd, int stderr_fd,
                            GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (DVM_IS_JOB_SPEC (spec), NULL);

  dvm_client_submit_with_fds_async (self, spec, stdin_fd, stdout_fd, stderr_fd, cancellable, _dvm_sync_done, &sync);
  return dvm_client_submit_finish (self, _dvm_sync_wait (&sync), error);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Records of jobs: find one, read one again.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-client-private.h"

static void
on_properties (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);
  DvmJob *job = g_task_get_task_data (task);
  g_autoptr (GVariant) dict = NULL;
  GError *error = NULL;

  if (reply == NULL)
    return;
  g_variant_get (reply, "(@a{sv})", &dict);
  if (_dvm_record_update (G_OBJECT (job), dict, &error))
    g_task_return_pointer (task, g_object_ref (job), g_object_unref);
  else
    g_task_return_error (task, error);
}

/* Takes task, which has the job as its data, over. */
static void
get_properties (DvmClient *self, GTask *task)
{
  DvmCall call = { NULL, DVM_PROPERTIES, "GetAll", NULL, "(a{sv})", -1, NULL };

  call.path = dvm_job_get_object_path (g_task_get_task_data (task));
  call.parameters = g_variant_new ("(s)", DVM_JOB_INTERFACE);
  _dvm_client_call (self, &call, task, on_properties);
}

/**
 * dvm_client_refresh_job_async:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Reads all properties of a job again.
 *
 * Since: 0.1
 */
void
dvm_client_refresh_job_async (DvmClient *self, DvmJob *job, GCancellable *cancellable, GAsyncReadyCallback callback,
                              gpointer user_data)
{
  GTask *task;

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, dvm_client_refresh_job_async);
  g_task_set_task_data (task, g_object_ref (job), g_object_unref);
  get_properties (self, task);
}

/**
 * dvm_client_refresh_job_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_refresh_job_async().
 *
 * Returns: %TRUE if the record is up to date; on error %DVM_ERROR_NOT_FOUND if the DVM does not know the job any more
 * Since: 0.1
 */
gboolean
dvm_client_refresh_job_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_autoptr (DvmJob) job = NULL;

  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  job = g_task_propagate_pointer (G_TASK (result), error);
  return job != NULL;
}

/**
 * dvm_client_refresh_job:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Reads all properties of a job again.
 *
 * Returns: %TRUE if the record is up to date; on error %DVM_ERROR_NOT_FOUND if the DVM does not know the job any more
 * Since: 0.1
 */
gboolean
dvm_client_refresh_job (DvmClient *self, DvmJob *job, GCancellable *cancellable, GError **error)
{
  DvmSync sync;
  gboolean ok;

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_JOB (job), FALSE);

  _dvm_sync_begin (&sync);
  dvm_client_refresh_job_async (self, job, cancellable, _dvm_sync_done, &sync);
  ok = dvm_client_refresh_job_finish (self, _dvm_sync_wait (&sync), error);
  _dvm_sync_end (&sync);
  return ok;
}

static void
find_path (DvmClient *self, GTask *task, const char *path)
{
  GError *error = NULL;
  DvmJob *job = _dvm_client_new_job (path, &error);

  if (job == NULL)
    {
      g_task_return_error (task, error);
      g_object_unref (task);
      return;
    }
  g_task_set_task_data (task, job, g_object_unref);
  get_properties (self, task);
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
  find_path (g_task_get_source_object (task), task, path);
}

/**
 * dvm_client_find_job_async:
 * @self: a client that is connected
 * @reference: the namespace of a job, its number or its object path
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Finds a job.
 *
 * Since: 0.1
 */
void
dvm_client_find_job_async (DvmClient *self, const char *reference, GCancellable *cancellable,
                           GAsyncReadyCallback callback, gpointer user_data)
{
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "FindJob", NULL, "(o)", -1, NULL };
  GTask *task;

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (reference != NULL);

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, dvm_client_find_job_async);
  if (reference[0] != '\0' && strspn (reference, "0123456789") == strlen (reference))
    {
      g_autofree char *path = g_strconcat (DVM_JOBS_PATH "/", reference, NULL);

      find_path (self, task, path);
    }
  else if (reference[0] == '/')
    find_path (self, task, reference);
  else if (reference[0] == '\0' || !g_utf8_validate (reference, -1, NULL))
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                               _ ("A job is named by its namespace, its number or its object path"));
      g_object_unref (task);
    }
  else
    {
      call.parameters = g_variant_new ("(s)", reference);
      _dvm_client_call (self, &call, task, on_found);
    }
}

/**
 * dvm_client_find_job_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_find_job_async().
 *
 * Returns: (transfer full): the job; %NULL on error, %DVM_ERROR_NOT_FOUND if there is no such job
 * Since: 0.1
 */
DvmJob *
dvm_client_find_job_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_find_job:
 * @self: a client that is connected
 * @reference: the namespace of a job, its number or its object path
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Finds a job.
 *
 * Returns: (transfer full): the job; %NULL on error, %DVM_ERROR_NOT_FOUND if there is no such job
 * Since: 0.1
 */
DvmJob *
dvm_client_find_job (DvmClient *self, const char *reference, GCancellable *cancellable, GError **error)
{
  DvmSync sync;
  DvmJob *job;

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (reference != NULL, NULL);

  _dvm_sync_begin (&sync);
  dvm_client_find_job_async (self, reference, cancellable, _dvm_sync_done, &sync);
  job = dvm_client_find_job_finish (self, _dvm_sync_wait (&sync), error);
  _dvm_sync_end (&sync);
  return job;
}

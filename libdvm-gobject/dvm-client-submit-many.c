/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Many jobs in one call.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-client-private.h"

/* A message holds 128 MiB, an array in it 64. */
#define MAX_BYTES (60 * 1024 * 1024)

static void
on_submitted (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);
  g_autoptr (GVariantIter) paths = NULL;
  g_autoptr (GPtrArray) jobs = NULL;
  const char *path;
  GError *error = NULL;

  if (reply == NULL)
    return;
  jobs = g_ptr_array_new_with_free_func (g_object_unref);
  g_variant_get (reply, "(ao)", &paths);
  while (g_variant_iter_next (paths, "&o", &path))
    {
      DvmJob *job = _dvm_client_new_job (path, &error);

      if (job == NULL)
        {
          g_task_return_error (task, error);
          return;
        }
      g_ptr_array_add (jobs, job);
    }
  g_task_return_pointer (task, g_steal_pointer (&jobs), (GDestroyNotify)g_ptr_array_unref);
}

/* The options of the one application and of the job stand in one dictionary; the program comes first. */
static gboolean
add_job (GVariantBuilder *builder, DvmJobSpec *spec, guint index, GError **error)
{
  g_autoptr (GVariant) value = NULL;
  g_autoptr (GVariant) app = NULL;
  g_autoptr (GVariant) options = NULL;
  g_autoptr (GVariant) argv = NULL;

  if (!dvm_job_spec_validate (spec, error))
    {
      g_prefix_error (error, "jobs[%u]: ", index);
      return FALSE;
    }
  if (dvm_job_spec_get_n_apps (spec) != 1)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                   _ ("jobs[%u]: it has %u applications, and of many jobs each has one: submit it alone"), index,
                   dvm_job_spec_get_n_apps (spec));
      return FALSE;
    }
  value = g_variant_ref_sink (dvm_job_spec_to_variant (spec));
  g_variant_get (value, "(@aa{sv}@a{sv})", &app, &options);
  {
    g_autoptr (GVariant) first = g_variant_get_child_value (app, 0);
    g_auto (GVariantDict) dict = G_VARIANT_DICT_INIT (first);
    GVariantIter iter;
    const char *key;
    GVariant *option;

    g_variant_iter_init (&iter, options);
    while (g_variant_iter_loop (&iter, "{&sv}", &key, &option))
      g_variant_dict_insert_value (&dict, key, option);
    argv = g_variant_dict_lookup_value (&dict, "argv", G_VARIANT_TYPE_STRING_ARRAY);
    g_variant_dict_remove (&dict, "argv");
    if (argv == NULL)
      argv = g_variant_ref_sink (g_variant_new_strv (NULL, 0));
    g_variant_builder_add (builder, "(@as@a{sv})", argv, g_variant_dict_end (&dict));
  }
  return TRUE;
}

/* (transfer floating) (nullable) */
static GVariant *
make_arguments (DvmClient *self, GPtrArray *specs, GError **error)
{
  GVariantBuilder jobs;
  GVariantBuilder options;
  GVariant *arguments;

  g_variant_builder_init (&jobs, G_VARIANT_TYPE ("a(asa{sv})"));
  for (guint i = 0; i < specs->len; i++)
    if (!add_job (&jobs, g_ptr_array_index (specs, i), i, error))
      {
        g_variant_builder_clear (&jobs);
        return NULL;
      }
  g_variant_builder_init (&options, G_VARIANT_TYPE_VARDICT);
  /* Who wants to follow the jobs subscribes. */
  g_variant_builder_add (&options, "{sv}", "signals", g_variant_new_boolean (FALSE));
  if (self->jobs_end_with_client)
    g_variant_builder_add (&options, "{sv}", "end-with-caller", g_variant_new_boolean (TRUE));
  arguments = g_variant_new ("(a(asa{sv})a{sv})", &jobs, &options);
  if (g_variant_get_size (arguments) <= MAX_BYTES)
    return arguments;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               _ ("The jobs have %zu bytes, and one message takes %d: use several calls"),
               g_variant_get_size (arguments), MAX_BYTES);
  g_variant_unref (g_variant_ref_sink (arguments));
  return NULL;
}

/**
 * dvm_client_submit_many_async:
 * @self: a client that is connected
 * @specs: (element-type DvmJobSpec) (transfer none): what is to run; each has one application
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Submits many jobs at once: all of them are accepted, or none is.
 *
 * Since: 0.1
 */
void
dvm_client_submit_many_async (DvmClient *self, GPtrArray *specs, GCancellable *cancellable,
                              GAsyncReadyCallback callback, gpointer user_data)
{
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "SubmitMany", NULL, "(ao)", G_MAXINT, NULL };
  GError *error = NULL;
  GTask *task;

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (specs != NULL);

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, dvm_client_submit_many_async);
  call.parameters = make_arguments (self, specs, &error);
  if (call.parameters == NULL)
    {
      g_task_return_error (task, _dvm_client_clean_error (error));
      g_object_unref (task);
      return;
    }
  _dvm_client_call (self, &call, task, on_submitted);
}

/**
 * dvm_client_submit_many_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_submit_many_async().
 *
 * Returns: (transfer container) (element-type DvmJob): the jobs, in their order; %NULL on error, which names the job
 *   that is wrong, as jobs[17]
 * Since: 0.1
 */
GPtrArray *
dvm_client_submit_many_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_submit_many:
 * @self: a client that is connected
 * @specs: (element-type DvmJobSpec) (transfer none): what is to run; each has one application
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Submits many jobs at once: all of them are accepted, or none is.
 *
 * They get no standard input, and their output is kept for the first who attaches. Much faster than
 * dvm_client_submit() for each; the answer comes when all of them are accepted. Up to 50000 jobs and 60 MiB go into one
 * call.
 *
 * Returns: (transfer container) (element-type DvmJob): the jobs, in their order; %NULL on error, which names the job
 *   that is wrong, as jobs[17]
 * Since: 0.1
 */
GPtrArray *
dvm_client_submit_many (DvmClient *self, GPtrArray *specs, GCancellable *cancellable, GError **error)
{
  DvmSync sync;
  GPtrArray *answer;

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (specs != NULL, NULL);

  _dvm_sync_begin (&sync);
  dvm_client_submit_many_async (self, specs, cancellable, _dvm_sync_done, &sync);
  answer = dvm_client_submit_many_finish (self, _dvm_sync_wait (&sync), error);
  _dvm_sync_end (&sync);
  return answer;
}

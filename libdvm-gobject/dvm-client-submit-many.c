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

/* While the DVM reads a message it hears nobody else. */
#define PART_BYTES (256 * 1024)

typedef struct
{
  GPtrArray *parts; /* GVariant, a(asa{sv}) */
  guint n_sent;
  char *batch; /* (nullable): the name of it, if it has several parts */
} Submission;

static void
submission_free (gpointer data)
{
  Submission *self = data;

  g_ptr_array_unref (self->parts);
  g_free (self->batch);
  g_free (self);
}

static void
return_jobs (GTask *task, GVariant *reply)
{
  g_autoptr (GVariantIter) paths = NULL;
  g_autoptr (GPtrArray) jobs = g_ptr_array_new_with_free_func (g_object_unref);
  const char *path;
  GError *error = NULL;

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

static gboolean
check_job (DvmJobSpec *spec, guint index, GError **error)
{
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
  return TRUE;
}

/* (transfer full): the options of the one application and of the job stand in one dictionary; the program comes first.
 */
static GVariant *
describe_job (DvmJobSpec *spec)
{
  g_autoptr (GVariant) value = dvm_job_spec_to_variant (spec);
  g_autoptr (GVariant) app = NULL;
  g_autoptr (GVariant) options = NULL;
  g_autoptr (GVariant) argv = NULL;
  g_autoptr (GVariant) first = NULL;
  GVariantDict dict;
  GVariantIter iter;
  const char *key;
  GVariant *option;

  g_variant_get (value, "(@aa{sv}@a{sv})", &app, &options);
  first = g_variant_get_child_value (app, 0);
  g_variant_dict_init (&dict, first);
  g_variant_iter_init (&iter, options);
  while (g_variant_iter_loop (&iter, "{&sv}", &key, &option))
    g_variant_dict_insert_value (&dict, key, option);
  argv = g_variant_dict_lookup_value (&dict, "argv", G_VARIANT_TYPE_STRING_ARRAY);
  g_variant_dict_remove (&dict, "argv");
  if (argv == NULL)
    argv = g_variant_ref_sink (g_variant_new_strv (NULL, 0));
  return g_variant_ref_sink (g_variant_new ("(@as@a{sv})", argv, g_variant_dict_end (&dict)));
}

static GVariant *
make_options (DvmClient *self, Submission *submission, gboolean more)
{
  GVariantBuilder options;

  g_variant_builder_init (&options, G_VARIANT_TYPE_VARDICT);
  /* A caller that wants to follow the jobs subscribes. */
  g_variant_builder_add (&options, "{sv}", "signals", g_variant_new_boolean (FALSE));
  if (self->jobs_end_with_client)
    g_variant_builder_add (&options, "{sv}", "end-with-caller", g_variant_new_boolean (TRUE));
  if (submission->batch != NULL)
    {
      g_variant_builder_add (&options, "{sv}", "batch", g_variant_new_string (submission->batch));
      g_variant_builder_add (&options, "{sv}", "more", g_variant_new_boolean (more));
    }
  return g_variant_builder_end (&options);
}

/* The next jobs from first on, which is moved behind them. */
static gboolean
add_part (GPtrArray *parts, GPtrArray *specs, guint *first, GError **error)
{
  GVariantBuilder jobs;
  gsize size = 0;

  g_variant_builder_init (&jobs, G_VARIANT_TYPE ("a(asa{sv})"));
  for (; *first < specs->len && size < PART_BYTES; ++*first)
    {
      g_autoptr (GVariant) job = check_job (specs->pdata[*first], *first, error) ? describe_job (specs->pdata[*first])
                                                                                 : NULL;

      size += job != NULL ? g_variant_get_size (job) : 0;
      if (size > DVM_CLIENT_MAX_BYTES)
        g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("jobs[%u]: it has %zu bytes, and one message takes %d"),
                     *first, g_variant_get_size (job), DVM_CLIENT_MAX_BYTES);
      if (job == NULL || size > DVM_CLIENT_MAX_BYTES)
        {
          g_variant_builder_clear (&jobs);
          return FALSE;
        }
      g_variant_builder_add_value (&jobs, job);
    }
  g_ptr_array_add (parts, g_variant_ref_sink (g_variant_builder_end (&jobs)));
  return TRUE;
}

/* (nullable) */
static Submission *
submission_new (GPtrArray *specs, GError **error)
{
  Submission *self = g_new0 (Submission, 1);
  guint first = 0;

  self->parts = g_ptr_array_new_with_free_func ((GDestroyNotify)g_variant_unref);
  do
    if (!add_part (self->parts, specs, &first, error))
      {
        submission_free (self);
        return NULL;
      }
  while (first < specs->len);
  if (self->parts->len > 1)
    self->batch = g_strdup_printf ("%p", (gpointer)self);
  return self;
}

/* The jobs that the DVM has got already are of no use; if the DVM has gone there is nothing to forget. */
static void
forget_batch (DvmClient *self, Submission *submission)
{
  g_autoptr (GVariant) jobs = g_variant_ref_sink (g_variant_new ("a(asa{sv})", NULL));
  g_autoptr (GVariant)
      options = g_variant_ref_sink (g_variant_new_parsed ("{'batch': <%s>, 'forget': <true>}", submission->batch));

  if (self->connection != NULL)
    g_dbus_connection_call (self->connection, self->owner, DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "SubmitMany",
                            g_variant_new ("(@a(asa{sv})@a{sv})", jobs, options), NULL, G_DBUS_CALL_FLAGS_NO_AUTO_START,
                            -1, NULL, NULL, NULL);
}

static void send_part (GTask *task);

static void
on_submitted (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  Submission *submission = g_task_get_task_data (task);
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);

  if (reply == NULL && submission->batch != NULL)
    forget_batch (g_task_get_source_object (task), submission);
  else if (reply != NULL && submission->n_sent < submission->parts->len)
    send_part (g_steal_pointer (&task));
  else if (reply != NULL)
    return_jobs (task, reply);
}

/* Takes task over. */
static void
send_part (GTask *task)
{
  DvmClient *self = g_task_get_source_object (task);
  Submission *submission = g_task_get_task_data (task);
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "SubmitMany", NULL, "(ao)", G_MAXINT, NULL };
  GVariant *jobs = submission->parts->pdata[submission->n_sent++];

  call.parameters = g_variant_new ("(@a(asa{sv})@a{sv})", jobs,
                                   make_options (self, submission, submission->n_sent < submission->parts->len));
  _dvm_client_call (self, &call, task, on_submitted);
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
  Submission *submission;
  GError *error = NULL;
  GTask *task;

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (specs != NULL);

  task = _dvm_client_new_task (self, dvm_client_submit_many_async, cancellable, callback, user_data);
  submission = submission_new (specs, &error);
  if (submission == NULL)
    {
      g_task_return_error (task, _dvm_client_clean_error (error));
      g_object_unref (task);
      return;
    }
  g_task_set_task_data (task, submission, submission_free);
  send_part (task);
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
 * dvm_client_submit() for each; the answer comes when all of them are accepted. Up to 50000 jobs go into one call. They
 * are sent in parts, so that the DVM serves others meanwhile; those that are cancelled before all are sent do not come.
 *
 * Returns: (transfer container) (element-type DvmJob): the jobs, in their order; %NULL on error, which names the job
 *   that is wrong, as jobs[17]
 * Since: 0.1
 */
GPtrArray *
dvm_client_submit_many (DvmClient *self, GPtrArray *specs, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (specs != NULL, NULL);

  dvm_client_submit_many_async (self, specs, cancellable, _dvm_sync_done, &sync);
  return dvm_client_submit_many_finish (self, _dvm_sync_wait (&sync), error);
}

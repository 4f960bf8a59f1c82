/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Lists, page by page: an answer says which ids it did not get to.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-client-private.h"

typedef enum
{
  LIST_JOBS,
  LIST_NODES,
  LIST_PROCS,
} ListKind;

typedef struct
{
  ListKind kind;
  gboolean all;
  DvmJob *job; /* (nullable): whose processes */
  char *ids;   /* what is to be asked next */
  GPtrArray *rows;
} List;

static void
list_free (gpointer data)
{
  List *list = data;

  g_clear_object (&list->job);
  g_free (list->ids);
  g_ptr_array_unref (list->rows);
  g_free (list);
}

static gboolean
add_record (List *list, GVariant *row, GError **error)
{
  g_autoptr (GObject) record = NULL;

  if (list->kind == LIST_JOBS)
    record = G_OBJECT (_dvm_job_new (0, NULL));
  else
    record = G_OBJECT (_dvm_node_new (0, NULL));
  if (!_dvm_record_update (record, row, error))
    return FALSE;
  g_ptr_array_add (list->rows, g_steal_pointer (&record));
  return TRUE;
}

static gboolean
add_rows (List *list, GVariant *rows, GError **error)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (rows, i);

      if (list->kind == LIST_PROCS)
        g_ptr_array_add (list->rows, _dvm_proc_new_from_variant (row));
      else if (!add_record (list, row, error))
        return FALSE;
    }
  return TRUE;
}

static void ask_page (GTask *task);

static void
on_page (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  List *list = g_task_get_task_data (task);
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);
  g_autoptr (GVariant) rows = NULL;
  const char *rest;
  GError *error = NULL;

  if (reply == NULL)
    {
      g_object_unref (task);
      return;
    }
  rows = g_variant_get_child_value (reply, 0);
  g_variant_get_child (reply, 1, "&s", &rest);
  if (!add_rows (list, rows, &error))
    g_task_return_error (task, error);
  else if (rest[0] == '\0')
    g_task_return_pointer (task, g_ptr_array_ref (list->rows), (GDestroyNotify)g_ptr_array_unref);
  else if (strcmp (rest, list->ids) == 0)
    g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_FAILED, _ ("The DVM does not get on with the list at %s"),
                             rest);
  else
    {
      g_free (list->ids);
      list->ids = g_strdup (rest);
      ask_page (task);
      return;
    }
  g_object_unref (task);
}

static GVariant *
job_filter (List *list)
{
  GVariantBuilder filter;

  g_variant_builder_init (&filter, G_VARIANT_TYPE_VARDICT);
  if (list->all)
    g_variant_builder_add (&filter, "{sv}", "all", g_variant_new_boolean (TRUE));
  if (list->ids[0] != '\0')
    g_variant_builder_add (&filter, "{sv}", "ids", g_variant_new_string (list->ids));
  return g_variant_new ("(a{sv})", &filter);
}

/* Takes task over. */
static void
ask_page (GTask *task)
{
  List *list = g_task_get_task_data (task);
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, "ListJobs", NULL, "(aa{sv}s)", -1, NULL };

  switch (list->kind)
    {
    case LIST_JOBS:
      call.parameters = job_filter (list);
      break;
    case LIST_NODES:
      call.method = "ListNodes";
      call.parameters = g_variant_new ("(sa{sv})", list->ids, NULL);
      break;
    case LIST_PROCS:
      call.path = dvm_job_get_object_path (list->job);
      call.interface = DVM_JOB_INTERFACE;
      call.method = "ListProcs";
      call.reply = "(a(uusuuiuiis)s)";
      call.parameters = g_variant_new ("(sa{sv})", list->ids, NULL);
      break;
    default:
      g_assert_not_reached ();
    }
  _dvm_client_call (g_task_get_source_object (task), &call, task, on_page);
}

static void
start_list (GTask *task, ListKind kind, gboolean all, DvmJob *job, const char *ids)
{
  List *list = g_new0 (List, 1);

  list->kind = kind;
  list->all = all;
  list->job = job != NULL ? g_object_ref (job) : NULL;
  list->ids = g_strdup (ids != NULL ? ids : "");
  list->rows = g_ptr_array_new_with_free_func (kind == LIST_PROCS ? (GDestroyNotify)dvm_proc_free : g_object_unref);
  g_task_set_task_data (task, list, list_free);
  ask_page (task);
}

/**
 * dvm_client_list_jobs_async:
 * @self: a client that is connected
 * @all: whether jobs that have ended are listed too
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Lists the jobs of the DVM.
 *
 * Since: 0.1
 */
void
dvm_client_list_jobs_async (DvmClient *self, gboolean all, GCancellable *cancellable, GAsyncReadyCallback callback,
                            gpointer user_data)
{
  GTask *task;

  g_return_if_fail (DVM_IS_CLIENT (self));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, dvm_client_list_jobs_async);
  start_list (task, LIST_JOBS, all, NULL, NULL);
}

/**
 * dvm_client_list_jobs_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_list_jobs_async().
 *
 * Returns: (transfer container) (element-type DvmJob): the jobs, each as it was when it was asked for
 * Since: 0.1
 */
GPtrArray *
dvm_client_list_jobs_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_list_jobs:
 * @self: a client that is connected
 * @all: whether jobs that have ended are listed too
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Lists the jobs of the DVM.
 *
 * Returns: (transfer container) (element-type DvmJob): the jobs, each as it was when it was asked for
 * Since: 0.1
 */
GPtrArray *
dvm_client_list_jobs (DvmClient *self, gboolean all, GCancellable *cancellable, GError **error)
{
  DvmSync sync;
  GPtrArray *jobs;

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  _dvm_sync_begin (&sync);
  dvm_client_list_jobs_async (self, all, cancellable, _dvm_sync_done, &sync);
  jobs = dvm_client_list_jobs_finish (self, _dvm_sync_wait (&sync), error);
  _dvm_sync_end (&sync);
  return jobs;
}

/**
 * dvm_client_list_nodes_async:
 * @self: a client that is connected
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Lists the nodes of the DVM, the controller (rank 0) among them.
 *
 * Since: 0.1
 */
void
dvm_client_list_nodes_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                             gpointer user_data)
{
  GTask *task;

  g_return_if_fail (DVM_IS_CLIENT (self));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, dvm_client_list_nodes_async);
  start_list (task, LIST_NODES, FALSE, NULL, NULL);
}

/**
 * dvm_client_list_nodes_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_list_nodes_async().
 *
 * Returns: (transfer container) (element-type DvmNode): the nodes, each as it was when it was asked for
 * Since: 0.1
 */
GPtrArray *
dvm_client_list_nodes_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_list_nodes:
 * @self: a client that is connected
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Lists the nodes of the DVM, the controller (rank 0) among them.
 *
 * Returns: (transfer container) (element-type DvmNode): the nodes, each as it was when it was asked for
 * Since: 0.1
 */
GPtrArray *
dvm_client_list_nodes (DvmClient *self, GCancellable *cancellable, GError **error)
{
  DvmSync sync;
  GPtrArray *nodes;

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  _dvm_sync_begin (&sync);
  dvm_client_list_nodes_async (self, cancellable, _dvm_sync_done, &sync);
  nodes = dvm_client_list_nodes_finish (self, _dvm_sync_wait (&sync), error);
  _dvm_sync_end (&sync);
  return nodes;
}

/**
 * dvm_client_list_procs_async:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @ranks: (nullable): which processes, such as "0-3,7"; %NULL for all
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Lists the processes of a job.
 *
 * Since: 0.1
 */
void
dvm_client_list_procs_async (DvmClient *self, DvmJob *job, const char *ranks, GCancellable *cancellable,
                             GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *task;

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, dvm_client_list_procs_async);
  start_list (task, LIST_PROCS, FALSE, job, ranks);
}

/**
 * dvm_client_list_procs_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_list_procs_async().
 *
 * Returns: (transfer container) (element-type DvmProc): the processes, in the order of their ranks
 * Since: 0.1
 */
GPtrArray *
dvm_client_list_procs_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * dvm_client_list_procs:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @ranks: (nullable): which processes, such as "0-3,7"; %NULL for all
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Lists the processes of a job.
 *
 * Returns: (transfer container) (element-type DvmProc): the processes, in the order of their ranks
 * Since: 0.1
 */
GPtrArray *
dvm_client_list_procs (DvmClient *self, DvmJob *job, const char *ranks, GCancellable *cancellable, GError **error)
{
  DvmSync sync;
  GPtrArray *procs;

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (DVM_IS_JOB (job), NULL);

  _dvm_sync_begin (&sync);
  dvm_client_list_procs_async (self, job, ranks, cancellable, _dvm_sync_done, &sync);
  procs = dvm_client_list_procs_finish (self, _dvm_sync_wait (&sync), error);
  _dvm_sync_end (&sync);
  return procs;
}

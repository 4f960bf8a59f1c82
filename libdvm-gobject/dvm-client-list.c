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

typedef struct
{
  DvmKind kind;
  gboolean all;
  gboolean plain;   /* as DVMs of all versions tell it */
  DvmJob *job;      /* (nullable): its processes, and no records */
  char *ranks;      /* of that job, as they were asked for */
  gboolean devices; /* the processes are there, and their devices are asked for */
  guint next;       /* of the processes: the first one whose devices have not come */
  char *ids;        /* what is to be asked next */
  GPtrArray *rows;
  GError *problem; /* (nullable): of a row, while the next page is on its way */
} List;

static void
list_free (gpointer data)
{
  List *list = data;

  g_clear_object (&list->job);
  g_free (list->ranks);
  g_free (list->ids);
  g_ptr_array_unref (list->rows);
  g_clear_error (&list->problem);
  g_free (list);
}

static gboolean
add_record (List *list, GVariant *row, GError **error)
{
  g_autoptr (GObject) record = _dvm_kind_new_record (list->kind);

  if (!_dvm_record_update (record, row, error))
    return FALSE;
  g_ptr_array_add (list->rows, g_steal_pointer (&record));
  return TRUE;
}

/* Both the processes and the rows are in the order of ranks. */
static void
take_devices (List *list, GVariant *row)
{
  const char *devices;
  guint rank;

  g_variant_get (row, "(u&s)", &rank, &devices);
  while (list->next < list->rows->len && dvm_proc_get_rank (list->rows->pdata[list->next]) < rank)
    list->next++;
  if (list->next < list->rows->len && dvm_proc_get_rank (list->rows->pdata[list->next]) == rank)
    _dvm_proc_set_devices (list->rows->pdata[list->next], devices);
}

/* There may be many of them, and others are few. */
static gboolean
comes_by_column (List *list)
{
  return list->job == NULL && !list->plain && (list->kind == DVM_KIND_JOB || list->kind == DVM_KIND_NODE);
}

static gboolean
add_rows (List *list, GVariant *rows, GError **error)
{
  for (gsize i = 0; i < g_variant_n_children (rows); i++)
    {
      g_autoptr (GVariant) row = g_variant_get_child_value (rows, i);

      if (list->devices)
        take_devices (list, row);
      else if (comes_by_column (list))
        {
          if (!_dvm_records_add_columns (list->rows, _dvm_kind_get_type (list->kind), row, error))
            return FALSE;
        }
      else if (list->job != NULL)
        g_ptr_array_add (list->rows, _dvm_proc_new_from_variant (row));
      else if (!add_record (list, row, error))
        return FALSE;
    }
  return TRUE;
}

static void ask_page (GTask *task);

/* Behind the processes come their devices. FALSE: that was all */
static gboolean
begin_devices (List *list)
{
  if (list->job == NULL || list->devices || list->rows->len == 0)
    return FALSE;
  list->devices = TRUE;
  g_free (list->ids);
  list->ids = g_strdup (list->ranks);
  return TRUE;
}

/* A job may be forgotten behind its processes: these are known, and their devices are not any more. */
static void
end_without_devices (GTask *task, GError *error)
{
  List *list = g_task_get_task_data (task);

  if (!list->devices || !g_error_matches (error, DVM_ERROR, DVM_ERROR_NOT_FOUND))
    {
      g_task_return_error (task, error);
      return;
    }
  g_error_free (error);
  for (guint i = 0; i < list->rows->len; i++)
    _dvm_proc_set_devices (list->rows->pdata[i], "");
  g_task_return_pointer (task, g_ptr_array_ref (list->rows), (GDestroyNotify)g_ptr_array_unref);
}

/* FALSE: that was the last page, or the task has ended. The DVM makes the next page while the rows of this one are
 * read. */
static gboolean
take_page (GTask *task, GVariant *reply)
{
  List *list = g_task_get_task_data (task);
  g_autoptr (GTask) held = g_object_ref (task);
  /* By "&s" the whole answer would be written out as bytes. */
  g_autoptr (GVariant) rows = g_variant_get_child_value (reply, 0);
  g_autoptr (GVariant) ids = g_variant_get_child_value (reply, 1);
  const char *rest = g_variant_get_string (ids, NULL);
  gboolean goes_on = rest[0] != '\0' && strcmp (rest, list->ids) != 0;

  if (goes_on)
    {
      g_free (list->ids);
      list->ids = g_strdup (rest);
      ask_page (task);
    }
  else if (rest[0] != '\0')
    g_set_error (&list->problem, DVM_ERROR, DVM_ERROR_FAILED, _ ("The DVM does not get on with the list at %s"), rest);
  if (list->problem == NULL)
    add_rows (list, rows, &list->problem);
  return goes_on;
}

/* A DVM that is older refuses a filter that has words which it does not know. */
static gboolean
is_of_older (List *list, const GError *error)
{
  return comes_by_column (list) && g_error_matches (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
}

static void
on_page (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  List *list = g_task_get_task_data (task);
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) reply = _dvm_client_call_take (source, result, NULL, &error);

  if (list->problem == NULL && is_of_older (list, error))
    {
      list->plain = TRUE;
      ask_page (task);
      return;
    }
  if (list->problem == NULL && reply == NULL)
    {
      end_without_devices (task, g_steal_pointer (&error));
      g_object_unref (task);
      return;
    }
  if (list->problem == NULL && take_page (task, reply))
    return;
  if (list->problem != NULL)
    g_task_return_error (task, g_steal_pointer (&list->problem));
  else if (begin_devices (list))
    {
      ask_page (task);
      return;
    }
  else
    g_task_return_pointer (task, g_ptr_array_ref (list->rows), (GDestroyNotify)g_ptr_array_unref);
  g_object_unref (task);
}

static GVariant *
make_filter (List *list)
{
  GVariantBuilder filter;

  g_variant_builder_init (&filter, G_VARIANT_TYPE_VARDICT);
  if (list->all)
    g_variant_builder_add (&filter, "{sv}", "all", g_variant_new_boolean (TRUE));
  /* A new record is empty by itself, and most of what is said of many jobs would say so. */
  if (comes_by_column (list))
    {
      g_variant_builder_add (&filter, "{sv}", "sparse", g_variant_new_boolean (TRUE));
      g_variant_builder_add (&filter, "{sv}", "by-column", g_variant_new_boolean (TRUE));
      g_variant_builder_add (&filter, "{sv}", "once", g_variant_new_boolean (TRUE));
      g_variant_builder_add (&filter, "{sv}", "packed", g_variant_new_boolean (TRUE));
    }
  if (list->kind == DVM_KIND_NODE)
    return g_variant_new ("(sa{sv})", list->ids, &filter);
  if (list->ids[0] != '\0')
    g_variant_builder_add (&filter, "{sv}", "ids", g_variant_new_string (list->ids));
  return g_variant_new ("(a{sv})", &filter);
}

/* Takes task over. */
static void
ask_page (GTask *task)
{
  static const char *const methods[DVM_N_KINDS] = {
    [DVM_KIND_JOB] = "ListJobs",
    [DVM_KIND_NODE] = "ListNodes",
    [DVM_KIND_SESSION] = "ListSessions",
    [DVM_KIND_CAMPAIGN] = "ListCampaigns",
  };
  List *list = g_task_get_task_data (task);
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, methods[list->kind], NULL, "(aa{sv}s)", -1, NULL };

  if (list->job != NULL)
    {
      call.path = dvm_job_get_object_path (list->job);
      call.interface = DVM_JOB_INTERFACE;
      call.method = list->devices ? "ListDevices" : "ListProcs";
      call.reply = list->devices ? "(a(us)s)" : "(a(uusuuiuiis)s)";
    }
  if (list->job != NULL)
    call.parameters = g_variant_new ("(sa{sv})", list->ids, NULL);
  else
    call.parameters = make_filter (list);
  _dvm_client_call (g_task_get_source_object (task), &call, task, on_page);
}

static void
start_list (GTask *task, DvmKind kind, gboolean all, DvmJob *job, const char *ids)
{
  List *list = g_new0 (List, 1);

  list->kind = kind;
  list->all = all;
  list->job = job != NULL ? g_object_ref (job) : NULL;
  list->ranks = g_strdup (ids != NULL ? ids : "");
  list->ids = g_strdup (list->ranks);
  list->rows = g_ptr_array_new_with_free_func (job != NULL ? (GDestroyNotify)dvm_proc_free : g_object_unref);
  g_task_set_task_data (task, list, list_free);
  ask_page (task);
}

void
_dvm_client_list_async (DvmClient *self, DvmKind kind, gboolean all, const char *ids, gpointer tag,
                        GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, tag);
  start_list (task, kind, all, NULL, ids);
}

GPtrArray *
_dvm_client_list_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

static GPtrArray *
list_sync (DvmClient *self, DvmKind kind, gboolean all, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  _dvm_client_list_async (self, kind, all, NULL, NULL, cancellable, _dvm_sync_done, &sync);
  return _dvm_client_list_finish (_dvm_sync_wait (&sync), error);
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
  g_return_if_fail (DVM_IS_CLIENT (self));

  _dvm_client_list_async (self, DVM_KIND_JOB, all, NULL, dvm_client_list_jobs_async, cancellable, callback, user_data);
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
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  return list_sync (self, DVM_KIND_JOB, all, cancellable, error);
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
  g_return_if_fail (DVM_IS_CLIENT (self));

  _dvm_client_list_async (self, DVM_KIND_NODE, FALSE, NULL, dvm_client_list_nodes_async, cancellable, callback,
                          user_data);
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
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  return list_sync (self, DVM_KIND_NODE, FALSE, cancellable, error);
}

/**
 * dvm_client_list_sessions_async:
 * @self: a client that is connected
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Lists the sessions of the DVM, the default one among them.
 *
 * Since: 0.1
 */
void
dvm_client_list_sessions_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback,
                                gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));

  _dvm_client_list_async (self, DVM_KIND_SESSION, FALSE, NULL, dvm_client_list_sessions_async, cancellable, callback,
                          user_data);
}

/**
 * dvm_client_list_sessions_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_list_sessions_async().
 *
 * Returns: (transfer container) (element-type DvmSession): the sessions, each as it was when it was asked for
 * Since: 0.1
 */
GPtrArray *
dvm_client_list_sessions_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return _dvm_client_list_finish (result, error);
}

/**
 * dvm_client_list_sessions:
 * @self: a client that is connected
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Lists the sessions of the DVM, the default one among them.
 *
 * Returns: (transfer container) (element-type DvmSession): the sessions, each as it was when it was asked for
 * Since: 0.1
 */
GPtrArray *
dvm_client_list_sessions (DvmClient *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  return list_sync (self, DVM_KIND_SESSION, FALSE, cancellable, error);
}

/**
 * dvm_client_list_campaigns_async:
 * @self: a client that is connected
 * @all: whether campaigns that have ended are listed too
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Lists the campaigns of the DVM: the changes of its size.
 *
 * Since: 0.1
 */
void
dvm_client_list_campaigns_async (DvmClient *self, gboolean all, GCancellable *cancellable, GAsyncReadyCallback callback,
                                 gpointer user_data)
{
  g_return_if_fail (DVM_IS_CLIENT (self));

  _dvm_client_list_async (self, DVM_KIND_CAMPAIGN, all, NULL, dvm_client_list_campaigns_async, cancellable, callback,
                          user_data);
}

/**
 * dvm_client_list_campaigns_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_list_campaigns_async().
 *
 * Returns: (transfer container) (element-type DvmCampaign): the campaigns, each as it was when it was asked for
 * Since: 0.1
 */
GPtrArray *
dvm_client_list_campaigns_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return _dvm_client_list_finish (result, error);
}

/**
 * dvm_client_list_campaigns:
 * @self: a client that is connected
 * @all: whether campaigns that have ended are listed too
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Lists the campaigns of the DVM: the changes of its size.
 *
 * Returns: (transfer container) (element-type DvmCampaign): the campaigns, each as it was when it was asked for
 * Since: 0.1
 */
GPtrArray *
dvm_client_list_campaigns (DvmClient *self, gboolean all, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  return list_sync (self, DVM_KIND_CAMPAIGN, all, cancellable, error);
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
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  start_list (_dvm_client_new_task (self, dvm_client_list_procs_async, cancellable, callback, user_data), DVM_KIND_JOB,
              FALSE, job, ranks);
}

/**
 * dvm_client_list_procs_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_list_procs_async().
 *
 * Returns: (transfer container) (element-type DvmProc): the processes, in the order of their ranks; without devices
 *   when the job was forgotten before these were asked for; %DVM_ERROR_NOT_FOUND if it is not known
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
 * Returns: (transfer container) (element-type DvmProc): the processes, in the order of their ranks; without devices
 *   when the job was forgotten before these were asked for; %DVM_ERROR_NOT_FOUND if it is not known
 * Since: 0.1
 */
GPtrArray *
dvm_client_list_procs (DvmClient *self, DvmJob *job, const char *ranks, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (DVM_IS_JOB (job), NULL);

  dvm_client_list_procs_async (self, job, ranks, cancellable, _dvm_sync_done, &sync);
  return dvm_client_list_procs_finish (self, _dvm_sync_wait (&sync), error);
}

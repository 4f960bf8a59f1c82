/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Records of objects on the bus: found, and read again. Jobs, nodes, sessions and campaigns go the same way.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "dvm-client-private.h"

static const DvmKindInfo kinds[DVM_N_KINDS] = {
  [DVM_KIND_JOB] = { dvm_job_get_type, DVM_JOB_INTERFACE, DVM_JOBS_PATH, "FindJob", TRUE, FALSE,
                     N_ ("A job is named by its namespace, its number or its object path") },
  [DVM_KIND_NODE] = { dvm_node_get_type, DVM_NODE_INTERFACE, DVM_NODES_PATH, "FindNode", TRUE, FALSE,
                      N_ ("A node is named by its name, its rank or its object path") },
  /* A scheduler may have numbers for ids of allocations: the DVM knows. */
  [DVM_KIND_SESSION] = { dvm_session_get_type, DVM_SESSION_INTERFACE, DVM_SESSIONS_PATH, "FindSession", FALSE, TRUE,
                         N_ ("A session is named by the id of its allocation or of its request, its number or its "
                             "object path") },
  [DVM_KIND_CAMPAIGN] = { dvm_campaign_get_type, DVM_CAMPAIGN_INTERFACE, DVM_CAMPAIGNS_PATH, NULL, TRUE, FALSE,
                          N_ ("A campaign is named by its number or its object path") },
};

const DvmKindInfo *
_dvm_kind_get_info (DvmKind kind)
{
  return &kinds[kind];
}

GType
_dvm_kind_get_type (DvmKind kind)
{
  return kinds[kind].get_type ();
}

GObject *
_dvm_kind_new_record (DvmKind kind)
{
  return g_object_new (kinds[kind].get_type (), NULL);
}

static DvmKind
get_kind (GObject *record)
{
  DvmKind kind = 0;

  while (kinds[kind].get_type () != G_OBJECT_TYPE (record))
    kind++;
  return kind;
}

const char *
_dvm_record_get_path (GObject *record)
{
  switch (get_kind (record))
    {
    case DVM_KIND_JOB:
      return dvm_job_get_object_path (DVM_JOB (record));
    case DVM_KIND_NODE:
      return dvm_node_get_object_path (DVM_NODE (record));
    case DVM_KIND_SESSION:
      return dvm_session_get_object_path (DVM_SESSION (record));
    case DVM_KIND_CAMPAIGN:
      return dvm_campaign_get_object_path (DVM_CAMPAIGN (record));
    default:
      g_assert_not_reached ();
    }
}

void
_dvm_client_call_object (DvmClient *self, gpointer record, const char *method, GVariant *parameters, GTask *task)
{
  DvmKind kind = get_kind (record);
  /* A session may wait for its processes and for nodes. */
  int timeout_ms = kind == DVM_KIND_SESSION ? G_MAXINT : -1;
  DvmCall call = { _dvm_record_get_path (record), kinds[kind].interface, method, parameters, "()", timeout_ms, NULL };

  _dvm_client_call (self, &call, task, _dvm_client_on_done);
}

static void
on_properties (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, NULL);
  GObject *record = g_task_get_task_data (task);
  g_autoptr (GVariant) dict = NULL;
  GError *error = NULL;

  if (reply == NULL)
    return;
  g_variant_get (reply, "(@a{sv})", &dict);
  if (_dvm_record_update (record, dict, &error))
    g_task_return_pointer (task, g_object_ref (record), g_object_unref);
  else
    g_task_return_error (task, error);
}

/* Takes task, which has the record as its data, over. */
static void
get_properties (DvmClient *self, GTask *task, const char *path)
{
  DvmCall call = { path, DVM_PROPERTIES, "GetAll", NULL, "(a{sv})", -1, NULL };

  call.parameters = g_variant_new ("(s)", kinds[get_kind (g_task_get_task_data (task))].interface);
  _dvm_client_call (self, &call, task, on_properties);
}

void
_dvm_client_refresh_async (DvmClient *self, gpointer record, gpointer tag, GCancellable *cancellable,
                           GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *task = _dvm_client_new_task (self, tag, cancellable, callback, user_data);

  g_task_set_task_data (task, g_object_ref (record), g_object_unref);
  get_properties (self, task, _dvm_record_get_path (record));
}

gboolean
_dvm_client_refresh_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_autoptr (GObject) record = g_task_propagate_pointer (G_TASK (result), error);

  return record != NULL;
}

/* ---- find ---- */

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

gboolean
_dvm_kind_parse_path (DvmKind kind, const char *path, guint *number)
{
  gsize length = strlen (kinds[kind].folder);
  guint64 value;

  if (!g_str_has_prefix (path, kinds[kind].folder) || path[length] != '/'
      || !g_ascii_string_to_unsigned (path + length + 1, 10, 0, G_MAXUINT, &value, NULL))
    return FALSE;
  *number = value;
  return TRUE;
}

/* People may give a number in the place of a name. */
static gboolean
is_number (const char *reference)
{
  return reference[0] != '\0' && strspn (reference, "0123456789") == strlen (reference);
}

/* It cannot be the name of anything. */
static gboolean
is_no_name (const DvmKindInfo *info, const char *reference)
{
  return info->find_method == NULL || reference[0] == '/' || (reference[0] == '\0' && !info->has_unnamed)
         || (info->has_numbers && is_number (reference)) || !g_utf8_validate (reference, -1, NULL);
}

void
_dvm_client_find_async (DvmClient *self, DvmKind kind, const char *reference, gpointer tag, GCancellable *cancellable,
                        GAsyncReadyCallback callback, gpointer user_data)
{
  const DvmKindInfo *info = &kinds[kind];
  DvmCall call = { DVM_MANAGER_PATH, DVM_MANAGER_INTERFACE, info->find_method, NULL, "(o)", -1, NULL };
  GTask *task = g_task_new (self, cancellable, callback, user_data);
  guint64 number;
  guint id;

  g_task_set_source_tag (task, tag);
  g_task_set_task_data (task, _dvm_kind_new_record (kind), g_object_unref);
  if (info->has_numbers && g_ascii_string_to_unsigned (reference, 10, 0, G_MAXUINT, &number, NULL))
    {
      g_autofree char *path = g_strdup_printf ("%s/%u", info->folder, (guint)number);

      get_properties (self, task, path);
    }
  else if (_dvm_kind_parse_path (kind, reference, &id))
    get_properties (self, task, reference);
  else if (is_no_name (info, reference))
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%s", _ (info->how_named));
      g_object_unref (task);
    }
  else
    {
      call.parameters = g_variant_new ("(s)", reference);
      _dvm_client_call (self, &call, task, on_found);
    }
}

gpointer
_dvm_client_find_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

gpointer
_dvm_client_find (DvmClient *self, DvmKind kind, const char *reference, GCancellable *cancellable, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  _dvm_client_find_async (self, kind, reference, NULL, cancellable, _dvm_sync_done, &sync);
  return _dvm_client_find_finish (_dvm_sync_wait (&sync), error);
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
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  _dvm_client_refresh_async (self, job, dvm_client_refresh_job_async, cancellable, callback, user_data);
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
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return _dvm_client_refresh_finish (self, result, error);
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
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_JOB (job), FALSE);

  dvm_client_refresh_job_async (self, job, cancellable, _dvm_sync_done, &sync);
  return dvm_client_refresh_job_finish (self, _dvm_sync_wait (&sync), error);
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
  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (reference != NULL);

  _dvm_client_find_async (self, DVM_KIND_JOB, reference, dvm_client_find_job_async, cancellable, callback, user_data);
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

  return _dvm_client_find_finish (result, error);
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
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);
  g_return_val_if_fail (reference != NULL, NULL);

  return _dvm_client_find (self, DVM_KIND_JOB, reference, cancellable, error);
}

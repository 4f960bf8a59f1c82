/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One call to the DVM, and what every call shares.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <glib/gi18n-lib.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "dvm-client-private.h"

/* of data/system/dvm.sysusers */
#define SERVICE_USER "dvm"

DvmSync
_dvm_sync_begin (void)
{
  DvmSync sync = { g_main_context_new (), NULL };

  g_main_context_push_thread_default (sync.context);
  return sync;
}

void
_dvm_sync_done (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmSync *sync = user_data;

  sync->result = g_object_ref (result);
}

GAsyncResult *
_dvm_sync_wait (DvmSync *sync)
{
  while (sync->result == NULL)
    g_main_context_iteration (sync->context, TRUE);
  return sync->result;
}

void
_dvm_sync_end (DvmSync *sync)
{
  g_main_context_pop_thread_default (sync->context);
  g_clear_object (&sync->result);
  g_main_context_unref (sync->context);
}

static int
map_dbus_error (int code)
{
  switch (code)
    {
    case G_DBUS_ERROR_UNKNOWN_OBJECT:
    case G_DBUS_ERROR_SERVICE_UNKNOWN:
    case G_DBUS_ERROR_NAME_HAS_NO_OWNER:
      return DVM_ERROR_NOT_FOUND;
    case G_DBUS_ERROR_NOT_SUPPORTED:
      return DVM_ERROR_NOT_SUPPORTED;
    case G_DBUS_ERROR_ACCESS_DENIED:
    case G_DBUS_ERROR_AUTH_FAILED:
      return DVM_ERROR_NO_PERMISSIONS;
    case G_DBUS_ERROR_INVALID_ARGS:
    case G_DBUS_ERROR_INVALID_SIGNATURE:
      return DVM_ERROR_BAD_PARAM;
    case G_DBUS_ERROR_TIMEOUT:
    case G_DBUS_ERROR_TIMED_OUT:
      return DVM_ERROR_TIMEOUT;
    case G_DBUS_ERROR_LIMITS_EXCEEDED:
    case G_DBUS_ERROR_NO_MEMORY:
      return DVM_ERROR_OUT_OF_RESOURCE;
    default:
      return DVM_ERROR_FAILED;
    }
}

static gboolean
is_lost (GError *error)
{
  return g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CLOSED)
         || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_BROKEN_PIPE)
         || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CONNECTION_CLOSED)
         || g_error_matches (error, G_DBUS_ERROR, G_DBUS_ERROR_DISCONNECTED)
         || g_error_matches (error, G_DBUS_ERROR, G_DBUS_ERROR_NO_REPLY);
}

GError *
_dvm_client_clean_error (GError *error)
{
  GError *clean;

  if (g_dbus_error_is_remote_error (error))
    g_dbus_error_strip_remote_error (error);
  if (error->domain == DVM_ERROR || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return error;
  if (is_lost (error))
    clean = g_error_new (DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, _ ("The connection to the DVM is lost: it has ended"));
  else if (g_error_matches (error, G_DBUS_ERROR, G_DBUS_ERROR_UNKNOWN_METHOD)
           || g_error_matches (error, G_DBUS_ERROR, G_DBUS_ERROR_UNKNOWN_INTERFACE))
    clean = g_error_new (DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                         _ ("The DVM does not know this request, it is of another version than this program: %s"),
                         error->message);
  else if (error->domain == G_DBUS_ERROR)
    clean = g_error_new_literal (DVM_ERROR, map_dbus_error (error->code), error->message);
  else if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT))
    clean = g_error_new_literal (DVM_ERROR, DVM_ERROR_TIMEOUT, _ ("The DVM has not answered in time"));
  else
    clean = g_error_new_literal (DVM_ERROR, DVM_ERROR_FAILED, error->message);
  g_error_free (error);
  return clean;
}

/* The plain name is that of the machine's service, for which root takes root and the user dvm alone. */
static gboolean
is_service_user (guint uid)
{
  struct passwd *entry = getpwuid (uid);

  return uid == 0 || (entry != NULL && strcmp (entry->pw_name, SERVICE_USER) == 0);
}

/* The description of a job, with its environment, and what is typed into the job go to our own DVM alone. */
static gboolean
check_owner (DvmClient *self, const char *method, GError **error)
{
  static const char *const carrying[] = {
    "Submit", "SubmitApps", "SubmitMany", "Map", "ControlSession", "Attach", NULL
  };
  g_autofree char *name = NULL;

  if (self->owner == NULL || !g_strv_contains (carrying, method) || self->owner_uid == geteuid ()
      || self->owner_uid == 0)
    return TRUE;
  name = _dvm_client_get_bus_name (self);
  if (geteuid () == 0 && (strcmp (name, DVM_MANAGER_INTERFACE) != 0 || is_service_user (self->owner_uid)))
    return TRUE;
  if (self->owner_uid == G_MAXUINT)
    g_set_error (error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS,
                 _ ("The bus does not say whose %s is, so that nothing is sent to it"), name);
  else
    g_set_error (
        error, DVM_ERROR, DVM_ERROR_NO_PERMISSIONS,
        _ ("The DVM that has the name %s on the bus belongs to the user with the id %u, not to us (%u): it takes "
           "no jobs of ours, and does not get our environment"),
        name, self->owner_uid, (guint)geteuid ());
  return FALSE;
}

void
_dvm_client_call (DvmClient *self, const DvmCall *call, GTask *task, GAsyncReadyCallback done)
{
  gsize size = call->parameters != NULL ? g_variant_get_size (call->parameters) : 0;
  GError *error = NULL;

  if (self->connection == NULL)
    error = g_error_new_literal (DVM_ERROR, DVM_ERROR_NOT_READY, _ ("The client is not connected to a DVM"));
  else if (size > DVM_CLIENT_MAX_BYTES)
    error = g_error_new (DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE,
                         _ ("The request has %zu bytes, and one message takes %d"), size, DVM_CLIENT_MAX_BYTES);
  if (error != NULL || !check_owner (self, call->method, &error))
    {
      if (call->parameters != NULL)
        g_variant_unref (g_variant_ref_sink (call->parameters));
      g_task_return_error (task, error);
      g_object_unref (task);
      return;
    }
  g_dbus_connection_call_with_unix_fd_list (self->connection, self->owner, call->path, call->interface, call->method,
                                            call->parameters, G_VARIANT_TYPE (call->reply),
                                            G_DBUS_CALL_FLAGS_NO_AUTO_START, call->timeout_ms, call->fds,
                                            g_task_get_cancellable (task), done, task);
}

GVariant *
_dvm_client_call_take (GObject *connection, GAsyncResult *result, GUnixFDList **fds, GError **error)
{
  GError *local = NULL;
  GVariant *reply = g_dbus_connection_call_with_unix_fd_list_finish (G_DBUS_CONNECTION (connection), fds, result,
                                                                     &local);

  if (reply == NULL)
    g_propagate_error (error, _dvm_client_clean_error (local));
  return reply;
}

GVariant *
_dvm_client_call_finish (GObject *connection, GAsyncResult *result, GTask *task, GUnixFDList **fds)
{
  GError *error = NULL;
  GVariant *reply = _dvm_client_call_take (connection, result, fds, &error);

  if (reply == NULL)
    g_task_return_error (task, error);
  return reply;
}

DvmJob *
_dvm_client_new_job (const char *path, GError **error)
{
  guint64 id;

  if (g_str_has_prefix (path, DVM_JOBS_PATH "/")
      && g_ascii_string_to_unsigned (path + strlen (DVM_JOBS_PATH "/"), 10, 0, G_MAXUINT, &id, NULL))
    return _dvm_job_new (id, NULL);
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("“%s” is not the path of a job; it is like /org/dvm/jobs/7"),
               path);
  return NULL;
}

void
_dvm_client_on_done (GObject *connection, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (connection, result, task, NULL);

  if (reply != NULL)
    g_task_return_boolean (task, TRUE);
}

void
_dvm_client_on_value (GObject *connection, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (connection, result, task, NULL);

  if (reply != NULL)
    g_task_return_pointer (task, g_variant_get_child_value (reply, 0), (GDestroyNotify)g_variant_unref);
}

GTask *
_dvm_client_new_task (DvmClient *self, gpointer tag, GCancellable *cancellable, GAsyncReadyCallback callback,
                      gpointer user_data)
{
  GTask *task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, tag);
  return task;
}

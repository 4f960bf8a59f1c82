/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A client attaches to the standard streams of a job.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <fcntl.h>
#include <glib/gi18n-lib.h>
#include <unistd.h>

#include "dvm-client-private.h"

/* The streams hold the descriptors of the answer of Attach until somebody takes them. */
typedef struct
{
  int fds[3];
} Streams;

static void
streams_free (gpointer data)
{
  Streams *streams = data;

  for (gsize i = 0; i < G_N_ELEMENTS (streams->fds); i++)
    if (streams->fds[i] >= 0)
      close (streams->fds[i]);
  g_free (streams);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Streams, streams_free)

static Streams *
streams_new (void)
{
  Streams *streams = g_new (Streams, 1);

  for (gsize i = 0; i < G_N_ELEMENTS (streams->fds); i++)
    streams->fds[i] = -1;
  return streams;
}

static gboolean
take_fd (GVariant *dict, const char *key, GUnixFDList *list, int *fd, GError **error)
{
  int handle;

  if (!g_variant_lookup (dict, key, "h", &handle))
    return TRUE;
  if (list == NULL || handle < 0 || handle >= g_unix_fd_list_get_length (list))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, _ ("The DVM's answer lacks the descriptor for %s"), key);
      return FALSE;
    }
  *fd = g_unix_fd_list_get (list, handle, error);
  return *fd >= 0;
}

/* A pseudo terminal is input and output at once. */
static gboolean
take_pty (GVariant *dict, GUnixFDList *list, Streams *streams, GError **error)
{
  if (!take_fd (dict, "pty", list, &streams->fds[0], error))
    return FALSE;
  if (streams->fds[0] < 0 || streams->fds[1] >= 0)
    return TRUE;
  streams->fds[1] = fcntl (streams->fds[0], F_DUPFD_CLOEXEC, 3);
  if (streams->fds[1] < 0)
    g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, _ ("There is no descriptor left for the terminal"));
  return streams->fds[1] >= 0;
}

static void
on_attached (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  g_autoptr (GUnixFDList) list = NULL;
  g_autoptr (GVariant) reply = _dvm_client_call_finish (source, result, task, &list);
  g_autoptr (Streams) streams = NULL;
  g_autoptr (GVariant) dict = NULL;
  GError *error = NULL;

  if (reply == NULL)
    return;
  streams = streams_new ();
  g_variant_get (reply, "(@a{sh})", &dict);
  if (take_fd (dict, "stdin", list, &streams->fds[0], &error)
      && take_fd (dict, "stdout", list, &streams->fds[1], &error)
      && take_fd (dict, "stderr", list, &streams->fds[2], &error) && take_pty (dict, list, streams, &error))
    g_task_return_pointer (task, g_steal_pointer (&streams), streams_free);
  else
    g_task_return_error (task, _dvm_client_clean_error (error));
}

static GVariant *
attach_options (DvmStreams streams)
{
  static const struct
  {
    DvmStreams stream;
    const char *key;
  } keys[] = {
    { DVM_STREAMS_STDIN, "stdin" },
    { DVM_STREAMS_STDOUT, "stdout" },
    { DVM_STREAMS_STDERR, "stderr" },
    { DVM_STREAMS_PTY, "pty" },
  };
  GVariantBuilder options;

  g_variant_builder_init (&options, G_VARIANT_TYPE_VARDICT);
  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    if ((streams & keys[i].stream) != 0)
      g_variant_builder_add (&options, "{sv}", keys[i].key, g_variant_new_boolean (TRUE));
  return g_variant_new ("(a{sv})", &options);
}

/**
 * dvm_client_attach_async:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @streams: which streams, at least one
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Attaches to streams of a job.
 *
 * Since: 0.1
 */
void
dvm_client_attach_async (DvmClient *self, DvmJob *job, DvmStreams streams, GCancellable *cancellable,
                         GAsyncReadyCallback callback, gpointer user_data)
{
  DvmCall call = { NULL, DVM_JOB_INTERFACE, "Attach", NULL, "(a{sh})", -1, NULL };
  GTask *task;

  g_return_if_fail (DVM_IS_CLIENT (self));
  g_return_if_fail (DVM_IS_JOB (job));

  task = _dvm_client_new_task (self, dvm_client_attach_async, cancellable, callback, user_data);
  if (streams == DVM_STREAMS_NONE)
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_BAD_PARAM, _ ("No stream was asked for"));
      g_object_unref (task);
      return;
    }
  call.path = dvm_job_get_object_path (job);
  call.parameters = attach_options (streams);
  _dvm_client_call (self, &call, task, on_attached);
}

static void
steal_fd (Streams *streams, guint index, int *fd)
{
  if (fd == NULL)
    return;
  *fd = streams->fds[index];
  streams->fds[index] = -1;
}

/**
 * dvm_client_attach_finish:
 * @self: a client
 * @result: what the callback got
 * @stdin_fd: (out) (optional): a descriptor to write to, or the terminal; -1 if not asked for
 * @stdout_fd: (out) (optional): a descriptor to read from, or the terminal once more; -1 if not asked for
 * @stderr_fd: (out) (optional): a descriptor to read from; -1 if not asked for
 * @error: return location for an error
 *
 * Ends dvm_client_attach_async(). The descriptors are the caller's, who closes them.
 *
 * Returns: %TRUE if attached; on error %DVM_ERROR_EXISTS if somebody else has the standard input
 * Since: 0.1
 */
gboolean
dvm_client_attach_finish (DvmClient *self, GAsyncResult *result, int *stdin_fd, int *stdout_fd, int *stderr_fd,
                          GError **error)
{
  g_autoptr (Streams) streams = NULL;

  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  streams = g_task_propagate_pointer (G_TASK (result), error);
  if (streams == NULL)
    return FALSE;
  steal_fd (streams, 0, stdin_fd);
  steal_fd (streams, 1, stdout_fd);
  steal_fd (streams, 2, stderr_fd);
  return TRUE;
}

/**
 * dvm_client_attach:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @streams: which streams, at least one
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @stdin_fd: (out) (optional): a descriptor to write to, or the terminal; -1 if not asked for
 * @stdout_fd: (out) (optional): a descriptor to read from, or the terminal once more; -1 if not asked for
 * @stderr_fd: (out) (optional): a descriptor to read from; -1 if not asked for
 * @error: return location for an error
 *
 * Attaches to streams of a job. The descriptors are the caller's, who closes them. What was kept of the output comes
 * first.
 *
 * Returns: %TRUE if attached; on error %DVM_ERROR_EXISTS if somebody else has the standard input
 * Since: 0.1
 */
gboolean
dvm_client_attach (DvmClient *self, DvmJob *job, DvmStreams streams, GCancellable *cancellable, int *stdin_fd,
                   int *stdout_fd, int *stderr_fd, GError **error)
{
  g_auto (DvmSync) sync = _dvm_sync_begin ();

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (DVM_IS_JOB (job), FALSE);

  dvm_client_attach_async (self, job, streams, cancellable, _dvm_sync_done, &sync);
  return dvm_client_attach_finish (self, _dvm_sync_wait (&sync), stdin_fd, stdout_fd, stderr_fd, error);
}

/**
 * dvm_client_open_streams_async:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @streams: which streams, at least one
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Attaches to streams of a job, as dvm_client_open_streams() does.
 *
 * Since: 0.1
 */
void
dvm_client_open_streams_async (DvmClient *self, DvmJob *job, DvmStreams streams, GCancellable *cancellable,
                               GAsyncReadyCallback callback, gpointer user_data)
{
  dvm_client_attach_async (self, job, streams, cancellable, callback, user_data);
}

/**
 * dvm_client_open_streams_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_open_streams_async().
 *
 * Returns: (transfer full): the streams; %NULL on error, %DVM_ERROR_EXISTS if somebody else has the standard input
 * Since: 0.1
 */
DvmJobStreams *
dvm_client_open_streams_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  int in, out, err;

  if (!dvm_client_attach_finish (self, result, &in, &out, &err, error))
    return NULL;
  return _dvm_job_streams_new (in, out, err);
}

/**
 * dvm_client_open_streams:
 * @self: a client that is connected
 * @job: a job of its DVM
 * @streams: which streams, at least one
 * @cancellable: (nullable): a way to stop waiting for the answer
 * @error: return location for an error
 *
 * Attaches to streams of a job, as dvm_client_attach() does, for programs that read and write streams of GIO.
 *
 * Returns: (transfer full): the streams; %NULL on error, %DVM_ERROR_EXISTS if somebody else has the standard input
 * Since: 0.1
 */
DvmJobStreams *
dvm_client_open_streams (DvmClient *self, DvmJob *job, DvmStreams streams, GCancellable *cancellable, GError **error)
{
  int in, out, err;

  if (!dvm_client_attach (self, job, streams, cancellable, &in, &out, &err, error))
    return NULL;
  return _dvm_job_streams_new (in, out, err);
}

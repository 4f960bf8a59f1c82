/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-plugin"

#include "dvmd-engine-host.h"

#include <dvm.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <glib-unix.h>

/* What is kept of each stream of a command. */
#define KEPT_MAX (1024 * 1024)
#define CHUNK    (64 * 1024)

struct _DvmdEngineHost
{
  GObject parent_instance;

  char *id;
  GHashTable *settings;
  DvmdSpawner *spawner; /* unowned */
  DvmdReaper *reaper;   /* unowned */
  GPtrArray *commands;  /* Command that run, unowned */
};

/* One command under way. It is over when it has been reaped and both of its streams have ended. */
typedef struct
{
  DvmdEngineHost *host; /* unowned: the task holds it */
  GTask *task;
  pid_t pid; /* 0: reaped */
  gboolean given_up;
  int status;
  guint n_pending;
  gulong cancel_id;
  GByteArray *kept[2];
} Command;

typedef struct
{
  Command *command;
  GByteArray *kept;
} Reading;

static void dvmd_engine_host_iface_init (DvmdPluginHostInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (DvmdEngineHost, dvmd_engine_host, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (DVMD_TYPE_PLUGIN_HOST, dvmd_engine_host_iface_init))

static void
outcome_free (gpointer data)
{
  dvmd_plugin_outcome_clear (data);
  g_free (data);
}

static void
command_end (Command *command)
{
  DvmdPluginOutcome *outcome = g_new0 (DvmdPluginOutcome, 1);
  GCancellable *cancellable = g_task_get_cancellable (command->task);

  if (command->cancel_id != 0)
    g_cancellable_disconnect (cancellable, command->cancel_id);
  g_ptr_array_remove_fast (command->host->commands, command);
  outcome->exit_code = WIFEXITED (command->status) ? WEXITSTATUS (command->status) : -1;
  outcome->exit_signal = WIFSIGNALED (command->status) ? WTERMSIG (command->status) : 0;
  outcome->output = g_byte_array_free_to_bytes (command->kept[0]);
  outcome->messages = g_byte_array_free_to_bytes (command->kept[1]);
  if (command->given_up)
    g_task_return_new_error (command->task, DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The DVM has ended");
  else if (!g_task_return_error_if_cancelled (command->task))
    g_task_return_pointer (command->task, g_steal_pointer (&outcome), outcome_free);
  g_clear_pointer (&outcome, outcome_free);
  g_object_unref (command->task);
  g_free (command);
}

static void
command_release (Command *command)
{
  if (--command->n_pending == 0)
    command_end (command);
}

static void
on_exited (pid_t pid, int status, gpointer user_data)
{
  Command *command = user_data;

  command->pid = 0;
  command->status = status;
  command_release (command);
}

static void
on_cancelled (GCancellable *cancellable, gpointer user_data)
{
  Command *command = user_data;

  if (command->pid != 0)
    kill (-command->pid, SIGKILL);
}

static void
on_read (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Reading *reading = user_data;
  g_autoptr (GBytes) bytes = g_input_stream_read_bytes_finish (G_INPUT_STREAM (source), result, NULL);
  gsize length = bytes != NULL ? g_bytes_get_size (bytes) : 0;

  if (length == 0)
    {
      command_release (reading->command);
      g_free (reading);
      return;
    }
  /* What is too much is still read, so that the command does not wait. */
  g_byte_array_append (reading->kept, g_bytes_get_data (bytes, NULL), MIN (length, KEPT_MAX - reading->kept->len));
  g_input_stream_read_bytes_async (G_INPUT_STREAM (source), CHUNK, G_PRIORITY_DEFAULT, NULL, on_read, reading);
}

static void
start_reading (Command *command, guint i, int fd)
{
  g_autoptr (GInputStream) stream = g_unix_input_stream_new (fd, TRUE);
  Reading *reading = g_new0 (Reading, 1);

  reading->command = command;
  reading->kept = command->kept[i] = g_byte_array_new ();
  command->n_pending++;
  g_input_stream_read_bytes_async (stream, CHUNK, G_PRIORITY_DEFAULT, NULL, on_read, reading);
}

static void
on_written (GObject *source, GAsyncResult *result, gpointer user_data)
{
  /* A command need not read what it is given. */
  g_output_stream_write_all_finish (G_OUTPUT_STREAM (source), result, NULL, NULL);
  g_bytes_unref (user_data);
}

static void
start_writing (GBytes *input, int fd)
{
  g_autoptr (GOutputStream) stream = g_unix_output_stream_new (fd, TRUE);

  g_output_stream_write_all_async (stream, g_bytes_get_data (input, NULL), g_bytes_get_size (input), G_PRIORITY_DEFAULT,
                                   NULL, on_written, g_bytes_ref (input));
}

/* The ends of the pipes: [0] of the command, [1] ours; input, output, messages */
static gboolean
open_pipes (const DvmdPluginCommand *request, int ends[3][2], GError **error)
{
  for (guint i = 0; i < 3; i++)
    {
      int pair[2];

      if (i == 0 && request->input == NULL)
        continue;
      if (!g_unix_open_pipe (pair, FD_CLOEXEC, error))
        return FALSE;
      ends[i][0] = pair[i == 0 ? 0 : 1];
      ends[i][1] = pair[i == 0 ? 1 : 0];
      g_unix_set_fd_nonblocking (ends[i][1], TRUE, NULL);
    }
  return TRUE;
}

static void
close_ends (int ends[3][2], guint side)
{
  for (guint i = 0; i < 3; i++)
    if (ends[i][side] >= 0)
      close (ends[i][side]);
}

static pid_t
start (DvmdEngineHost *self, const DvmdPluginCommand *request, int ends[3][2], int *pidfd, GError **error)
{
  DvmdSpawnRequest spawn = DVMD_SPAWN_REQUEST_INIT;
  g_auto (GStrv) environ = g_get_environ ();

  spawn.argv = request->argv;
  spawn.envp = request->environ != NULL ? request->environ : (const char *const *)environ;
  spawn.cwd = request->cwd;
  spawn.stdin_fd = ends[0][0];
  spawn.stdout_fd = ends[1][0];
  spawn.stderr_fd = ends[2][0];
  return dvmd_spawner_spawn (self->spawner, &spawn, pidfd, NULL, error);
}

static void
watch (DvmdEngineHost *self, GTask *task, pid_t pid, int pidfd, int ends[3][2], GBytes *input)
{
  Command *command = g_new0 (Command, 1);
  GCancellable *cancellable = g_task_get_cancellable (task);

  command->host = self;
  command->task = g_object_ref (task);
  command->pid = pid;
  command->n_pending = 1;
  g_ptr_array_add (self->commands, command);
  dvmd_reaper_watch (self->reaper, pid, pidfd, on_exited, command);
  start_reading (command, 0, ends[1][1]);
  start_reading (command, 1, ends[2][1]);
  if (input != NULL)
    start_writing (input, ends[0][1]);
  if (cancellable != NULL)
    command->cancel_id = g_cancellable_connect (cancellable, G_CALLBACK (on_cancelled), command, NULL);
}

static void
host_spawn_async (DvmdPluginHost *host, const DvmdPluginCommand *request, GCancellable *cancellable,
                  GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdEngineHost *self = DVMD_ENGINE_HOST (host);
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  int ends[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
  GError *error = NULL;
  int pidfd = -1;
  pid_t pid = -1;

  if (g_task_return_error_if_cancelled (task))
    return;
  if (self->spawner == NULL)
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_READY,
                               "Plugin %s cannot start a command before the DVM starts or after it has ended",
                               self->id);
      return;
    }
  if (open_pipes (request, ends, &error))
    pid = start (self, request, ends, &pidfd, &error);
  close_ends (ends, 0);
  if (pid < 0)
    {
      close_ends (ends, 1);
      g_task_return_error (task, error);
      return;
    }
  watch (self, task, pid, pidfd, ends, request->input);
}

static gboolean
host_spawn_finish (DvmdPluginHost *host, GAsyncResult *result, DvmdPluginOutcome *outcome, GError **error)
{
  g_autofree DvmdPluginOutcome *answer = g_task_propagate_pointer (G_TASK (result), error);

  if (answer != NULL)
    *outcome = *answer;
  return answer != NULL;
}

static void
host_log (DvmdPluginHost *host, GLogLevelFlags level, const char *message)
{
  /* Nothing that a plugin says ends the process. */
  level = level & (G_LOG_LEVEL_INFO | G_LOG_LEVEL_DEBUG) ? level & G_LOG_LEVEL_MASK : G_LOG_LEVEL_MESSAGE;
  g_log (G_LOG_DOMAIN, level, "%s: %s", DVMD_ENGINE_HOST (host)->id, message);
}

static const char *
host_get_setting (DvmdPluginHost *host, const char *key)
{
  DvmdEngineHost *self = DVMD_ENGINE_HOST (host);
  g_autofree char *full = g_strdup_printf ("%s.%s", self->id, key);

  return g_hash_table_lookup (self->settings, full);
}

static void
dvmd_engine_host_iface_init (DvmdPluginHostInterface *iface)
{
  iface->log = host_log;
  iface->get_setting = host_get_setting;
  iface->spawn_async = host_spawn_async;
  iface->spawn_finish = host_spawn_finish;
}

static void
dvmd_engine_host_finalize (GObject *object)
{
  DvmdEngineHost *self = DVMD_ENGINE_HOST (object);

  g_free (self->id);
  g_hash_table_unref (self->settings);
  g_ptr_array_unref (self->commands);
  G_OBJECT_CLASS (dvmd_engine_host_parent_class)->finalize (object);
}

static void
dvmd_engine_host_class_init (DvmdEngineHostClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_engine_host_finalize;
}

static void
dvmd_engine_host_init (DvmdEngineHost *self)
{
  self->commands = g_ptr_array_new ();
}

DvmdEngineHost *
dvmd_engine_host_new (const char *id, GHashTable *settings)
{
  DvmdEngineHost *self = g_object_new (DVMD_TYPE_ENGINE_HOST, NULL);

  self->id = g_strdup (id);
  self->settings = g_hash_table_ref (settings);
  return self;
}

/* Their output ends with them, and then the tasks. */
static void
end_commands (DvmdEngineHost *self)
{
  for (guint i = self->commands->len; i > 0; i--)
    {
      Command *command = g_ptr_array_index (self->commands, i - 1);

      if (command->pid == 0)
        continue;
      kill (-command->pid, SIGKILL);
      dvmd_reaper_unwatch (self->reaper, command->pid);
      command->pid = 0;
      command->given_up = TRUE;
      command_release (command);
    }
}

void
dvmd_engine_host_set_processes (DvmdEngineHost *self, DvmdSpawner *spawner, DvmdReaper *reaper)
{
  if (reaper == NULL && self->reaper != NULL)
    end_commands (self);
  self->spawner = spawner;
  self->reaper = reaper;
}

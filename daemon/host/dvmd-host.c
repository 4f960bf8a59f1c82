/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A host is the only way by which one plugin acts on the system: settings, log, commands.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-plugin"

#include "dvmd-host.h"

#include "dvmd-host-process.h"

#include <dvm.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <glib-unix.h>

/* The first bytes of each stream of a command are kept, so many at most. */
#define RETAINED_MAX (1024 * 1024)
#define CHUNK        (64 * 1024)
/* µs from one look at processes that were killed to the next, two seconds in all: some users may not kill */
#define END_PAUSE 1000
#define END_LOOKS 2000

struct _DvmdHost
{
  GObject parent_instance;

  char *id;
  GHashTable *settings;
  DvmdSpawner *spawner;               /* unowned */
  DvmdReaper *reaper;                 /* unowned */
  GPtrArray *commands;                /* Command that run, unowned */
  GHashTable *processes;              /* number -> DvmdHostProcess that runs */
  guint n_processes;                  /* that were ever started */
  GHashTable *far;                    /* number -> Far, of other nodes */
  const DvmdHostElsewhere *elsewhere; /* (nullable): unowned */
  gpointer elsewhere_data;
};

typedef struct
{
  guint64 token;
  const DvmdPluginWatch *watch;
  gpointer user_data;
} Far;

/* One command under way. It is over when it has been reaped and both of its streams have ended. */
typedef struct
{
  DvmdHost *host; /* unowned: the task holds it */
  GTask *task;
  pid_t pid; /* 0: reaped */
  gboolean given_up;
  int status;
  guint n_pending;
  gulong cancel_id;
  GByteArray *retained[2];
} Command;

typedef struct
{
  Command *command;
  GByteArray *retained;
} Reading;

static void dvmd_host_iface_init (DvmdPluginHostInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (DvmdHost, dvmd_host, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (DVMD_TYPE_PLUGIN_HOST, dvmd_host_iface_init))

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
  outcome->output = g_byte_array_free_to_bytes (command->retained[0]);
  outcome->messages = g_byte_array_free_to_bytes (command->retained[1]);
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
  /* Bytes over the limit are read and dropped, so that the command does not block. */
  g_byte_array_append (reading->retained, g_bytes_get_data (bytes, NULL),
                       MIN (length, RETAINED_MAX - reading->retained->len));
  g_input_stream_read_bytes_async (G_INPUT_STREAM (source), CHUNK, G_PRIORITY_DEFAULT, NULL, on_read, reading);
}

static void
start_reading (Command *command, guint i, int fd)
{
  g_autoptr (GInputStream) stream = g_unix_input_stream_new (fd, TRUE);
  Reading *reading = g_new0 (Reading, 1);

  reading->command = command;
  reading->retained = command->retained[i] = g_byte_array_new ();
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

static void
watch_command (DvmdHost *self, GTask *task, pid_t pid, int pidfd, const int ends[3], GBytes *input)
{
  Command *command = g_new0 (Command, 1);
  GCancellable *cancellable = g_task_get_cancellable (task);

  command->host = self;
  command->task = g_object_ref (task);
  command->pid = pid;
  command->n_pending = 1;
  g_ptr_array_add (self->commands, command);
  dvmd_reaper_watch (self->reaper, pid, pidfd, on_exited, command);
  start_reading (command, 0, ends[1]);
  start_reading (command, 1, ends[2]);
  if (input != NULL)
    start_writing (input, ends[0]);
  if (cancellable != NULL)
    command->cancel_id = g_cancellable_connect (cancellable, G_CALLBACK (on_cancelled), command, NULL);
}

static void
host_spawn_async (DvmdPluginHost *host, const DvmdPluginCommand *request, GCancellable *cancellable,
                  GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdHost *self = DVMD_HOST (host);
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  GError *error = NULL;
  int ends[3];
  int pidfd;
  pid_t pid;

  if (g_task_return_error_if_cancelled (task))
    return;
  if (self->spawner == NULL)
    {
      g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_READY,
                               "Plugin %s cannot start a command before the DVM starts or after it has ended",
                               self->id);
      return;
    }
  pid = dvmd_host_command_start (self->spawner, request, request->input != NULL, ends, &pidfd, &error);
  if (pid < 0)
    {
      g_task_return_error (task, error);
      return;
    }
  watch_command (self, task, pid, pidfd, ends, request->input);
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
on_process_gone (guint number, gpointer user_data)
{
  g_hash_table_remove (DVMD_HOST (user_data)->processes, GUINT_TO_POINTER (number));
}

static guint
host_start (DvmdPluginHost *host, const DvmdPluginCommand *command, const DvmdPluginWatch *watch, gpointer user_data,
            GError **error)
{
  DvmdHost *self = DVMD_HOST (host);
  DvmdHostProcess *process;

  if (self->spawner == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY,
                   "Plugin %s cannot start a process before the DVM starts or after it has ended", self->id);
      return 0;
    }
  process = dvmd_host_process_new (self->spawner, self->reaper, command, ++self->n_processes, error);
  if (process == NULL)
    return 0;
  g_hash_table_insert (self->processes, GUINT_TO_POINTER (self->n_processes), process);
  dvmd_host_process_watch (process, watch, user_data, on_process_gone, self);
  return self->n_processes;
}

static guint
host_start_at (DvmdPluginHost *host, guint32 rank, const DvmdPluginCommand *command, const DvmdPluginWatch *watch,
               gpointer user_data, GError **error)
{
  DvmdHost *self = DVMD_HOST (host);
  guint64 token;
  Far *far;

  if (self->elsewhere == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "Plugin %s cannot start a process on another node now",
                   self->id);
      return 0;
    }
  token = self->elsewhere->start (self->elsewhere_data, rank, command->argv, self, self->n_processes + 1, error);
  if (token == 0)
    return 0;
  far = g_new0 (Far, 1);
  far->token = token;
  far->watch = watch;
  far->user_data = user_data;
  g_hash_table_insert (self->far, GUINT_TO_POINTER (++self->n_processes), far);
  return self->n_processes;
}

static void
host_give_input (DvmdPluginHost *host, guint number, GBytes *input, gboolean last)
{
  DvmdHost *self = DVMD_HOST (host);
  gpointer process = g_hash_table_lookup (self->processes, GUINT_TO_POINTER (number));
  Far *far = g_hash_table_lookup (self->far, GUINT_TO_POINTER (number));

  if (process != NULL)
    dvmd_host_process_give_input (process, input, last);
  else if (far != NULL && self->elsewhere != NULL)
    self->elsewhere->give_input (self->elsewhere_data, far->token, input, last);
}

static void
host_send_signal (DvmdPluginHost *host, guint number, int signum)
{
  DvmdHost *self = DVMD_HOST (host);
  gpointer process = g_hash_table_lookup (self->processes, GUINT_TO_POINTER (number));
  Far *far = g_hash_table_lookup (self->far, GUINT_TO_POINTER (number));

  if (process != NULL)
    dvmd_host_process_send_signal (process, signum);
  else if (far != NULL && self->elsewhere != NULL)
    self->elsewhere->send_signal (self->elsewhere_data, far->token, signum);
}

/* ---- processes of other nodes ---- */

void
dvmd_host_tell_line (DvmdHost *self, guint number, gboolean is_message, const char *line)
{
  Far *far = g_hash_table_lookup (self->far, GUINT_TO_POINTER (number));

  if (far != NULL && far->watch->line != NULL)
    far->watch->line (number, is_message, line, far->user_data);
}

/* (nullable) (transfer full): no more of it is told */
static Far *
steal_far (DvmdHost *self, guint number)
{
  gpointer far = NULL;

  g_hash_table_steal_extended (self->far, GUINT_TO_POINTER (number), NULL, &far);
  return far;
}

void
dvmd_host_tell_end (DvmdHost *self, guint number, const DvmdPluginOutcome *outcome)
{
  g_autofree Far *far = steal_far (self, number);

  if (far != NULL)
    far->watch->ended (number, outcome, far->user_data);
}

void
dvmd_host_tell_lost (DvmdHost *self, guint number, const char *reason)
{
  g_autofree Far *far = steal_far (self, number);

  if (far != NULL)
    far->watch->lost (number, reason, far->user_data);
}

void
dvmd_host_set_elsewhere (DvmdHost *self, const DvmdHostElsewhere *elsewhere, gpointer user_data)
{
  self->elsewhere = elsewhere;
  self->elsewhere_data = user_data;
}

static void
host_log (DvmdPluginHost *host, GLogLevelFlags level, const char *message)
{
  /* Nothing that a plugin says ends the process. */
  level = level & (G_LOG_LEVEL_INFO | G_LOG_LEVEL_DEBUG) ? level & G_LOG_LEVEL_MASK : G_LOG_LEVEL_MESSAGE;
  g_log (G_LOG_DOMAIN, level, "%s: %s", DVMD_HOST (host)->id, message);
}

static const char *
host_get_setting (DvmdPluginHost *host, const char *key)
{
  DvmdHost *self = DVMD_HOST (host);
  g_autofree char *full = g_strdup_printf ("%s.%s", self->id, key);

  return g_hash_table_lookup (self->settings, full);
}

static void
dvmd_host_iface_init (DvmdPluginHostInterface *iface)
{
  iface->log = host_log;
  iface->get_setting = host_get_setting;
  iface->spawn_async = host_spawn_async;
  iface->spawn_finish = host_spawn_finish;
  iface->start = host_start;
  iface->give_input = host_give_input;
  iface->send_signal = host_send_signal;
  iface->start_at = host_start_at;
}

static void
dvmd_host_finalize (GObject *object)
{
  DvmdHost *self = DVMD_HOST (object);

  g_free (self->id);
  g_hash_table_unref (self->settings);
  g_ptr_array_unref (self->commands);
  g_hash_table_unref (self->processes);
  g_hash_table_unref (self->far);
  G_OBJECT_CLASS (dvmd_host_parent_class)->finalize (object);
}

static void
dvmd_host_class_init (DvmdHostClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_host_finalize;
}

static void
dvmd_host_init (DvmdHost *self)
{
  self->commands = g_ptr_array_new ();
  self->processes = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)dvmd_host_process_free);
  self->far = g_hash_table_new_full (NULL, NULL, NULL, g_free);
}

DvmdHost *
dvmd_host_new (const char *id, GHashTable *settings)
{
  DvmdHost *self = g_object_new (DVMD_TYPE_HOST, NULL);

  self->id = g_strdup (id);
  self->settings = g_hash_table_ref (settings);
  return self;
}

static void
end_processes (DvmdHost *self)
{
  g_autoptr (GList) all = g_hash_table_get_values (self->processes);

  for (GList *each = all; each != NULL; each = each->next)
    dvmd_host_process_give_up (each->data);
}

/* Processes on other nodes end with the agents there. */
static void
end_far (DvmdHost *self)
{
  g_autoptr (GList) numbers = g_hash_table_get_keys (self->far);

  for (GList *each = numbers; each != NULL; each = each->next)
    dvmd_host_tell_lost (self, GPOINTER_TO_UINT (each->data), "the DVM has ended");
}

/* Processes below the command come to this one, if it is the next subreaper above them: the DVM has not ended before
 * they have. */
static void
await_group (DvmdHost *self, pid_t group)
{
  for (guint i = 0; i < END_LOOKS && dvmd_reaper_reap_group (self->reaper, group); i++)
    g_usleep (END_PAUSE);
}

/* The output of the commands ends with them, and then their tasks. */
static void
end_commands (DvmdHost *self)
{
  for (guint i = self->commands->len; i > 0; i--)
    {
      Command *command = g_ptr_array_index (self->commands, i - 1);

      if (command->pid == 0)
        continue;
      kill (-command->pid, SIGKILL);
      dvmd_reaper_unwatch (self->reaper, command->pid);
      await_group (self, command->pid);
      command->pid = 0;
      command->given_up = TRUE;
      command_release (command);
    }
}

void
dvmd_host_set_processes (DvmdHost *self, DvmdSpawner *spawner, DvmdReaper *reaper)
{
  /* The spawner is set first: a plugin that is notified of an end may try to start a process. */
  self->spawner = spawner;
  if (reaper == NULL && self->reaper != NULL)
    {
      self->elsewhere = NULL;
      end_far (self);
      end_processes (self);
      end_commands (self);
    }
  self->reaper = reaper;
}

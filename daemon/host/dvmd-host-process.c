/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Commands of plugins are run: input, output, signals and end.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-plugin"

#include "dvmd-host-process.h"

#include <dvm.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib-unix.h>

/* The longest line that is told in one piece, and what is kept of the messages for the end. */
#define LINE_MAX_BYTES 4096
#define RETAINED_BYTES 4096
/* After its end: what a pipe holds, and not more if somebody else goes on writing. */
#define LAST_READS 64

typedef struct
{
  DvmdHostProcess *process;
  int fd;
  GSource *source;
  GString *line;
  gboolean is_message;
} Stream;

struct _DvmdHostProcess
{
  DvmdReaper *reaper; /* unowned */
  guint number;
  pid_t pid; /* 0: reaped */
  int pidfd; /* until it is watched */
  const DvmdPluginWatch *watch;
  gpointer user_data;
  DvmdHostProcessFunc gone;
  gpointer gone_data;
  Stream streams[2];
  GString *retained;
  int input_fd;
  GSource *input_source;
  GByteArray *input;
  gboolean input_is_whole;
};

/* The ends of the pipes: [0] of the command, [1] ours */
static gboolean
open_pipes (gboolean with_input, int pipes[3][2], GError **error)
{
  for (guint i = 0; i < 3; i++)
    {
      int pair[2];

      if (i == 0 && !with_input)
        continue;
      if (!g_unix_open_pipe (pair, FD_CLOEXEC, error))
        return FALSE;
      pipes[i][0] = pair[i == 0 ? 0 : 1];
      pipes[i][1] = pair[i == 0 ? 1 : 0];
      g_unix_set_fd_nonblocking (pipes[i][1], TRUE, NULL);
    }
  return TRUE;
}

static void
close_pipes (int pipes[3][2], guint side)
{
  for (guint i = 0; i < 3; i++)
    if (pipes[i][side] >= 0)
      close (pipes[i][side]);
}

pid_t
dvmd_host_command_start (DvmdSpawner *spawner, const DvmdPluginCommand *command, gboolean with_input, int ends[3],
                         int *pidfd, GError **error)
{
  DvmdSpawnRequest spawn = DVMD_SPAWN_REQUEST_INIT;
  g_auto (GStrv) environ = g_get_environ ();
  int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
  pid_t pid = -1;

  *pidfd = -1;
  spawn.argv = command->argv;
  spawn.envp = command->environ != NULL ? command->environ : (const char *const *)environ;
  spawn.cwd = command->cwd;
  /* Where the DVM is in the foreground, its terminal is not for the questions of others: they would wait for ever. */
  spawn.session = TRUE;
  if (open_pipes (with_input, pipes, error))
    {
      spawn.stdin_fd = pipes[0][0];
      spawn.stdout_fd = pipes[1][0];
      spawn.stderr_fd = pipes[2][0];
      pid = dvmd_spawner_spawn (spawner, &spawn, pidfd, NULL, error);
    }
  close_pipes (pipes, 0);
  if (pid < 0)
    close_pipes (pipes, 1);
  for (guint i = 0; i < 3; i++)
    ends[i] = pid < 0 ? -1 : pipes[i][1];
  return pid;
}

/* ---- what it says ---- */

static void
tell_line (Stream *stream)
{
  DvmdHostProcess *self = stream->process;
  g_autofree char *line = g_utf8_make_valid (stream->line->str, -1);

  if (stream->is_message)
    {
      g_string_append (self->retained, line);
      g_string_append_c (self->retained, '\n');
      if (self->retained->len > RETAINED_BYTES)
        g_string_erase (self->retained, 0, self->retained->len - RETAINED_BYTES);
    }
  g_string_truncate (stream->line, 0);
  if (self->watch->line != NULL)
    self->watch->line (self->number, stream->is_message, line, self->user_data);
}

static void
take_bytes (Stream *stream, const char *bytes, gsize length)
{
  for (gsize i = 0; i < length; i++)
    {
      if (bytes[i] != '\n' && bytes[i] != '\0' && bytes[i] != '\r')
        g_string_append_c (stream->line, bytes[i]);
      if (bytes[i] == '\n' || stream->line->len >= LINE_MAX_BYTES)
        tell_line (stream);
    }
}

static void
close_stream (Stream *stream)
{
  if (stream->source != NULL)
    g_source_destroy (stream->source);
  g_clear_pointer (&stream->source, g_source_unref);
  if (stream->fd >= 0)
    close (stream->fd);
  stream->fd = -1;
}

/* FALSE: nothing more is there now. */
static gboolean
read_some (Stream *stream)
{
  char buffer[4096];
  ssize_t n = stream->fd >= 0 ? read (stream->fd, buffer, sizeof buffer) : -1;

  if (n > 0)
    take_bytes (stream, buffer, (gsize)n);
  else if (n == 0)
    close_stream (stream);
  return n > 0;
}

static gboolean
on_readable (int fd, GIOCondition condition, gpointer user_data)
{
  read_some (user_data);
  return G_SOURCE_CONTINUE;
}

static GSource *
attach (int fd, GIOCondition condition, GUnixFDSourceFunc func, gpointer data)
{
  GSource *source = g_unix_fd_source_new (fd, condition);
  g_autoptr (GMainContext) context = g_main_context_ref_thread_default ();

  g_source_set_callback (source, G_SOURCE_FUNC (func), data, NULL);
  g_source_attach (source, context);
  return source;
}

/* ---- what it is told ---- */

static void
close_input (DvmdHostProcess *self)
{
  if (self->input_source != NULL)
    g_source_destroy (self->input_source);
  g_clear_pointer (&self->input_source, g_source_unref);
  if (self->input_fd >= 0)
    close (self->input_fd);
  self->input_fd = -1;
}

static gboolean
on_writable (int fd, GIOCondition condition, gpointer user_data)
{
  DvmdHostProcess *self = user_data;
  ssize_t n = self->input->len > 0 ? write (fd, self->input->data, self->input->len) : 0;

  if (n > 0)
    g_byte_array_remove_range (self->input, 0, (guint)n);
  /* A process need not read what it is given. */
  if ((n < 0 && errno != EAGAIN && errno != EINTR) || (self->input->len == 0 && self->input_is_whole))
    {
      close_input (self);
      return G_SOURCE_REMOVE;
    }
  if (self->input->len > 0)
    return G_SOURCE_CONTINUE;
  g_clear_pointer (&self->input_source, g_source_unref);
  return G_SOURCE_REMOVE;
}

void
dvmd_host_process_give_input (DvmdHostProcess *self, GBytes *input, gboolean last)
{
  if (self->input_fd < 0)
    return;
  if (input != NULL)
    g_byte_array_append (self->input, g_bytes_get_data (input, NULL), (guint)g_bytes_get_size (input));
  self->input_is_whole = self->input_is_whole || last;
  if (self->input_source == NULL)
    self->input_source = attach (self->input_fd, G_IO_OUT | G_IO_ERR, on_writable, self);
}

void
dvmd_host_process_send_signal (DvmdHostProcess *self, int signum)
{
  if (self->pid != 0)
    kill (-self->pid, signum);
}

/* ---- its end ---- */

static void
tell_end (DvmdHostProcess *self, int status)
{
  DvmdPluginOutcome outcome = { .exit_code = -1 };

  self->pid = 0;
  /* Others may still hold the pipes: what it has written itself is there by now. */
  for (guint i = 0; i < 2; i++)
    {
      Stream *stream = &self->streams[i];

      for (guint n = 0; n < LAST_READS && read_some (stream); n++)
        ;
      if (stream->line->len > 0)
        tell_line (stream);
      close_stream (stream);
    }
  close_input (self);
  if (WIFEXITED (status))
    outcome.exit_code = WEXITSTATUS (status);
  if (WIFSIGNALED (status))
    outcome.exit_signal = WTERMSIG (status);
  outcome.output = g_bytes_new (NULL, 0);
  outcome.messages = g_bytes_new (self->retained->str, self->retained->len);
  self->watch->ended (self->number, &outcome, self->user_data);
  dvmd_plugin_outcome_clear (&outcome);
  self->gone (self->number, self->gone_data);
}

static void
on_exited (pid_t pid, int status, gpointer user_data)
{
  tell_end (user_data, status);
}

void
dvmd_host_process_give_up (DvmdHostProcess *self)
{
  kill (-self->pid, SIGKILL);
  dvmd_reaper_unwatch (self->reaper, self->pid);
  tell_end (self, SIGKILL);
}

DvmdHostProcess *
dvmd_host_process_new (DvmdSpawner *spawner, DvmdReaper *reaper, const DvmdPluginCommand *command, guint number,
                       GError **error)
{
  DvmdHostProcess *self;
  int ends[3];
  int pidfd;
  pid_t pid = dvmd_host_command_start (spawner, command, TRUE, ends, &pidfd, error);

  if (pid < 0)
    return NULL;
  self = g_new0 (DvmdHostProcess, 1);
  self->reaper = reaper;
  self->number = number;
  self->pid = pid;
  self->pidfd = pidfd;
  self->retained = g_string_new (NULL);
  self->input = g_byte_array_new ();
  self->input_fd = ends[0];
  for (guint i = 0; i < 2; i++)
    self->streams[i] = (Stream){ self, ends[1 + i], NULL, g_string_new (NULL), i == 1 };
  if (command->input != NULL)
    dvmd_host_process_give_input (self, command->input, FALSE);
  return self;
}

void
dvmd_host_process_watch (DvmdHostProcess *self, const DvmdPluginWatch *watch, gpointer user_data,
                         DvmdHostProcessFunc gone, gpointer gone_data)
{
  self->watch = watch;
  self->user_data = user_data;
  self->gone = gone;
  self->gone_data = gone_data;
  for (guint i = 0; i < 2; i++)
    self->streams[i].source = attach (self->streams[i].fd, G_IO_IN | G_IO_HUP, on_readable, &self->streams[i]);
  dvmd_reaper_watch (self->reaper, self->pid, g_steal_fd (&self->pidfd), on_exited, self);
}

void
dvmd_host_process_free (DvmdHostProcess *self)
{
  close_input (self);
  for (guint i = 0; i < 2; i++)
    {
      close_stream (&self->streams[i]);
      g_string_free (self->streams[i].line, TRUE);
    }
  g_string_free (self->retained, TRUE);
  g_byte_array_unref (self->input);
  g_free (self);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The stacks of a process are read by a tool, whose output is kept up to a bound.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-stack"

#include "dvmd-stack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib-unix.h>
#include <glib/gstdio.h>

#include "dvmd-proc-scan.h"

#define TOOL "eu-stack"
/* Threads have this many frames at most. */
#define FRAMES "128"
/* Its exit status when it could show nothing; 1 is a stack that may lack frames. */
#define STATUS_NOTHING 2

/* Bytes of a sentence of the tool that are told. */
#define MOST_OF_LINE 300

#define YAMA "/proc/sys/kernel/yama/ptrace_scope"

struct _DvmdStack
{
  DvmdReaper *reaper;
  pid_t pid;
  pid_t tool;
  int fd;
  GSource *source;
  GString *text;
  gboolean cut;
  char *reason;         /* (nullable): it was ended for that */
  gboolean was_stopped; /* the process, before anything was done */
  gboolean killed;      /* the tool, by a signal */
  DvmdStackRead read;
  gpointer user_data;
};

static gboolean
is_stopped (pid_t pid)
{
  g_auto (GStrv) fields = dvmd_proc_read_stat (DVMD_PROC, pid, NULL);

  return fields[0] != NULL && g_ascii_toupper (fields[0][0]) == 'T';
}

/* Takes what is there; FALSE: there will be no more. */
static gboolean
take_output (DvmdStack *self)
{
  char bytes[4096];
  gssize n;

  while ((n = read (self->fd, bytes, sizeof bytes)) > 0)
    {
      gsize room = DVMD_STACK_MAX - self->text->len;

      /* More is read and dropped: the tool is not to stand still with the process in its hands. */
      self->cut |= (gsize)n > room;
      g_string_append_len (self->text, bytes, (gssize)MIN ((gsize)n, room));
    }
  return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static gboolean
on_output (int fd, GIOCondition condition, gpointer user_data)
{
  return take_output (user_data);
}

/* (nullable): the last line of what the tool has said */
static char *
dup_last_line (DvmdStack *self)
{
  const char *mark = strrchr (g_strchomp (self->text->str), '\n');
  const char *line = mark != NULL ? mark + 1 : self->text->str;

  return line[0] != '\0' ? g_utf8_make_valid (line, (gssize)MIN (strlen (line), MOST_OF_LINE)) : NULL;
}

static char *
describe_refusal (DvmdStack *self)
{
  g_autofree char *scope = NULL;
  g_autofree char *line = dup_last_line (self);

  if (line == NULL)
    return g_strdup_printf (TOOL " has not said why it could not read the process %d", (int)self->pid);
  /* With 1 only ancestors of a process may look into it, and the tool is none. */
  if (g_file_get_contents (YAMA, &scope, NULL, NULL) && atoi (scope) > 0)
    return g_strdup_printf (TOOL " could not read the process %d: %s (kernel.yama.ptrace_scope is %d there, and only 0 "
                                 "lets it)",
                            (int)self->pid, line, atoi (scope));
  return g_strdup_printf (TOOL " could not read the process %d: %s", (int)self->pid, line);
}

/* (nullable) */
static char *
describe_problem (DvmdStack *self, int status)
{
  if (self->reason != NULL)
    return g_strdup (self->reason);
  if (WIFSIGNALED (status))
    return g_strdup_printf (TOOL " was ended by signal %d (%s)", WTERMSIG (status), strsignal (WTERMSIG (status)));
  if (WEXITSTATUS (status) >= STATUS_NOTHING)
    return describe_refusal (self);
  if (self->cut)
    return g_strdup_printf ("there is more of it than %d KiB, which are kept", DVMD_STACK_MAX / 1024);
  return self->text->len == 0 ? g_strdup (TOOL " has not printed any stack") : NULL;
}

static void
on_reaped (pid_t pid, int status, gpointer user_data)
{
  DvmdStack *self = user_data;
  g_autofree char *problem = NULL;
  g_autofree char *text = NULL;

  self->tool = 0;
  self->killed = WIFSIGNALED (status);
  take_output (self);
  problem = describe_problem (self, status);
  text = WIFEXITED (status) && WEXITSTATUS (status) >= STATUS_NOTHING
             ? g_strdup ("")
             : g_utf8_make_valid (self->text->str, (gssize)strlen (self->text->str));
  self->read (self, text, problem, self->user_data);
  dvmd_stack_free (self);
}

static pid_t
start_tool (DvmdSpawner *spawner, pid_t pid, int fd, int *pidfd, GError **error)
{
  g_autofree char *number = g_strdup_printf ("%d", (int)pid);
  const char *search = g_getenv ("PATH");
  g_autofree char *path = search != NULL && search[0] != '\0' ? g_strconcat ("PATH=", search, NULL) : NULL;
  const char *const argv[] = { TOOL, "-n", FRAMES, "-p", number, NULL };
  /* Without the user's: it would ask servers of debug information, which may take any time. */
  const char *const envp[] = { "LC_ALL=C", path, NULL };
  DvmdSpawnRequest request = DVMD_SPAWN_REQUEST_INIT;

  request.argv = argv;
  request.envp = envp;
  request.stdout_fd = fd;
  request.stderr_fd = fd;
  return dvmd_spawner_spawn (spawner, &request, pidfd, NULL, error);
}

static void
watch_tool (DvmdStack *self, GMainContext *context, int pidfd)
{
  self->source = g_unix_fd_source_new (self->fd, G_IO_IN | G_IO_HUP);
  g_source_set_callback (self->source, G_SOURCE_FUNC (on_output), self, NULL);
  g_source_attach (self->source, context);
  dvmd_reaper_watch (self->reaper, self->tool, pidfd, on_reaped, self);
}

DvmdStack *
dvmd_stack_read (GMainContext *context, DvmdSpawner *spawner, DvmdReaper *reaper, pid_t pid, DvmdStackRead read,
                 gpointer user_data, GError **error)
{
  g_autofree DvmdStack *self = g_new0 (DvmdStack, 1);
  int pidfd = -1;
  int ends[2];

  if (!g_unix_open_pipe (ends, FD_CLOEXEC, error))
    return NULL;
  self->was_stopped = is_stopped (pid);
  self->tool = start_tool (spawner, pid, ends[1], dvmd_reaper_adopts_orphans (reaper) ? NULL : &pidfd, error);
  g_close (ends[1], NULL);
  if (self->tool < 0)
    {
      g_close (ends[0], NULL);
      g_prefix_error (error, "stacks are read by " TOOL " of the package elfutils: ");
      return NULL;
    }
  g_unix_set_fd_nonblocking (ends[0], TRUE, NULL);
  self->fd = ends[0];
  self->pid = pid;
  self->reaper = reaper;
  self->text = g_string_new (NULL);
  self->read = read;
  self->user_data = user_data;
  watch_tool (self, context, pidfd);
  return g_steal_pointer (&self);
}

void
dvmd_stack_stop (DvmdStack *self, const char *reason)
{
  if (self->reason != NULL)
    return;
  self->reason = g_strdup (reason);
  kill (-self->tool, SIGKILL);
}

gboolean
dvmd_stack_may_have_stopped (DvmdStack *self)
{
  return (self->reason != NULL || self->killed) && !self->was_stopped;
}

void
dvmd_stack_free (DvmdStack *self)
{
  if (self->tool > 0)
    {
      dvmd_stack_stop (self, "");
      dvmd_reaper_unwatch (self->reaper, self->tool);
    }
  g_source_destroy (self->source);
  g_source_unref (self->source);
  g_close (self->fd, NULL);
  g_string_free (self->text, TRUE);
  g_free (self->reason);
  g_free (self);
}

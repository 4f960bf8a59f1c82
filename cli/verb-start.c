/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli start: starts dvmd in the background and returns when it takes work.
 *
 * dvmd tells over a pipe (--ready-fd): "READY\n", or "ERROR: " and a sentence.
 */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-daemon.h"
#include "dvm-cli-json.h"
#include "dvm-cli-output.h"

#define READY_FD        3
#define DEFAULT_TIMEOUT 60
#define ERROR_MARK      "ERROR: "

static const DvmCliOption options[] = {
  { "slots", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("N"), NULL, N_ ("processes at a time (default: hardware threads)") },
  { "foreground", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("stay, and become the DVM's controller") },
  { "timeout", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("SECONDS"), NULL,
    N_ ("give up when it is not ready by then (default: 60)") },
  { "log", 0, NULL, DVM_CLI_ARG_STRING, N_ ("FILE"), NULL, N_ ("append the messages of the DVM to a file") },
  { NULL },
};

typedef struct
{
  DvmCli *cli;
  char **argv; /* of dvmd */
  char *log;   /* (nullable) */
  int ready;   /* our end of the pipe */
} Start;

static void
take_option (GPtrArray *argv, const char *name, const char *value)
{
  if (value != NULL)
    g_ptr_array_add (argv, g_strdup_printf ("--%s=%s", name, value));
}

static char **
make_command (DvmCli *cli, GError **error)
{
  char *path = dvm_cli_find_dvmd (error);
  g_autofree char *socket = cli->socket != NULL ? dvm_cli_socket_path (cli) : NULL;
  GPtrArray *argv;

  if (path == NULL)
    return NULL;
  argv = g_ptr_array_new ();
  g_ptr_array_add (argv, path);
  g_ptr_array_add (argv, g_strdup_printf ("--ready-fd=%d", READY_FD));
  take_option (argv, "name", cli->name);
  take_option (argv, "socket", socket);
  take_option (argv, "bus", cli->bus);
  take_option (argv, "slots", dvm_cli_args_get (cli->args, "slots"));
  g_ptr_array_add (argv, NULL);
  return (char **)g_ptr_array_free (argv, FALSE);
}

static void
reset_signals (void)
{
  sigset_t none;

  for (int signum = 1; signum < NSIG; signum++)
    signal (signum, SIG_DFL);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
}

/* Never returns. What goes wrong is told as dvmd would tell it. */
static void
exec_dvmd (Start *start)
{
  g_autofree char *message = NULL;

  execv (start->argv[0], start->argv);
  message = g_strdup_printf (ERROR_MARK "cannot start %s: %s\n", start->argv[0], g_strerror (errno));
  if (write (READY_FD, message, strlen (message)) < 0)
    _exit (DVM_CLI_EXIT_NOT_EXECUTABLE);
  _exit (DVM_CLI_EXIT_FAILED);
}

/* ready_end becomes READY_FD; nothing else of the caller's above stderr stays open. */
static void
keep_only (int ready_end)
{
  if (ready_end == READY_FD)
    fcntl (READY_FD, F_SETFD, 0);
  else
    dup2 (ready_end, READY_FD);
  close_range (READY_FD + 1, ~0U, 0);
}

static void
leave_caller (Start *start)
{
  int null = open ("/dev/null", O_RDWR);
  int log = start->log != NULL ? open (start->log, O_WRONLY | O_CREAT | O_APPEND, 0600) : null;

  setsid ();
  dup2 (null, STDIN_FILENO);
  dup2 (null, STDOUT_FILENO);
  dup2 (log >= 0 ? log : null, STDERR_FILENO);
  if (chdir ("/") != 0)
    return;
}

/* "READY" or the sentence; (transfer full); NULL when nothing came in time */
static char *
read_answer (int fd, guint seconds)
{
  gint64 deadline = g_get_monotonic_time () + (gint64)seconds * G_USEC_PER_SEC;
  g_autoptr (GString) answer = g_string_new (NULL);
  char buffer[4096];

  for (;;)
    {
      gint64 left = deadline - g_get_monotonic_time ();
      struct pollfd poll_fd = { fd, POLLIN, 0 };
      int n_ready = left > 0 ? poll (&poll_fd, 1, (int)(left / 1000) + 1) : 0;
      gssize n;

      if (n_ready < 0 && errno == EINTR)
        continue;
      if (n_ready <= 0)
        return NULL;
      n = read (fd, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0 || memchr (buffer, '\n', (gsize)n) != NULL)
        {
          g_string_append_len (answer, buffer, MAX (n, 0));
          return g_strdup (g_strchomp (answer->str));
        }
      g_string_append_len (answer, buffer, n);
    }
}

/* FALSE with a sentence unless the answer is READY. */
static gboolean
judge_answer (const char *answer, guint seconds, GError **error)
{
  if (g_strcmp0 (answer, "READY") == 0)
    return TRUE;
  if (answer == NULL)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT,
                 _ ("the DVM was not ready within %u seconds and has been ended; --timeout gives it longer"), seconds);
  else if (g_str_has_prefix (answer, ERROR_MARK))
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s", answer + strlen (ERROR_MARK));
  else
    g_set_error (
        error, G_IO_ERROR, G_IO_ERROR_FAILED,
        _ ("dvmd ended before it was ready and did not say why; 'dvm-cli start --foreground' shows its messages"));
  return FALSE;
}

static gboolean
print_ready (DvmCli *cli, pid_t pid, GError **error)
{
  g_autoptr (GString) json = NULL;
  g_autofree char *socket = NULL;

  if (!cli->json)
    return cli->quiet || dvm_cli_print (_ ("DVM ready\n"), error);
  socket = dvm_cli_socket_path (cli);
  json = g_string_new ("{\"name\":");
  dvm_cli_json_append_string (json, cli->name != NULL ? cli->name : "default");
  g_string_append_printf (json, ",\"ready\":true,\"pid\":%d,\"socket\":", (int)pid);
  dvm_cli_json_append_string (json, socket);
  g_string_append (json, "}\n");
  return dvm_cli_print (json->str, error);
}

static gboolean
await_ready (Start *start, pid_t pid, GError **error)
{
  guint seconds = dvm_cli_args_get_uint (start->cli->args, "timeout", DEFAULT_TIMEOUT);
  g_autofree char *answer = read_answer (start->ready, seconds);

  if (judge_answer (answer, seconds, error))
    return print_ready (start->cli, pid, error);
  if (answer == NULL)
    kill (pid, SIGKILL);
  return FALSE;
}

/* Our process becomes dvmd, so that signals and exit status are its own; a grandchild of ours tells when it is ready.
 */
static int
run_in_foreground (Start *start, int ready_end, GError **error)
{
  pid_t pid = getpid ();
  pid_t child = fork ();

  if (child == 0)
    {
      g_autoptr (GError) local_error = NULL;

      close (ready_end);
      if (fork () != 0)
        _exit (0);
      if (!await_ready (start, pid, &local_error))
        dvm_cli_complain ("%s", local_error->message);
      _exit (0);
    }
  if (child > 0)
    waitpid (child, NULL, 0);
  reset_signals ();
  keep_only (ready_end);
  exec_dvmd (start);
  return DVM_CLI_EXIT_FAILED;
}

static int
run_in_background (Start *start, int ready_end, GError **error)
{
  pid_t pid = fork ();
  int status = 0;

  if (pid < 0)
    {
      int saved_errno = errno;

      g_set_error (error, G_IO_ERROR, g_io_error_from_errno (saved_errno), _ ("cannot start dvmd: %s"),
                   g_strerror (saved_errno));
      return DVM_CLI_EXIT_FAILED;
    }
  if (pid == 0)
    {
      leave_caller (start);
      reset_signals ();
      keep_only (ready_end);
      exec_dvmd (start);
    }
  close (ready_end);
  dvm_cli_tell (start->cli, _ ("%s is started with pid %d"), start->argv[0], (int)pid);
  if (await_ready (start, pid, error))
    return DVM_CLI_EXIT_OK;
  waitpid (pid, &status, 0);
  return DVM_CLI_EXIT_FAILED;
}

/* A log that cannot be written is found out before anything is started. */
static gboolean
check_log (Start *start, GError **error)
{
  const char *log = dvm_cli_args_get (start->cli->args, "log");
  int fd;

  if (log == NULL)
    return TRUE;
  start->log = g_canonicalize_filename (log, NULL);
  fd = open (start->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd >= 0)
    return close (fd) == 0;
  g_set_error (error, G_IO_ERROR, g_io_error_from_errno (errno), _ ("cannot write the log %s: %s"), start->log,
               g_strerror (errno));
  return FALSE;
}

static int
start_with_pipe (Start *start, GError **error)
{
  int ends[2];
  int status;

  if (pipe2 (ends, O_CLOEXEC) != 0)
    {
      int saved_errno = errno;

      g_set_error (error, G_IO_ERROR, g_io_error_from_errno (saved_errno), _ ("cannot make a pipe: %s"),
                   g_strerror (saved_errno));
      return DVM_CLI_EXIT_FAILED;
    }
  start->ready = ends[0];
  if (dvm_cli_args_has (start->cli->args, "foreground"))
    status = run_in_foreground (start, ends[1], error);
  else
    status = run_in_background (start, ends[1], error);
  close (ends[0]);
  return status;
}

static int
start_verb (DvmCli *cli, GError **error)
{
  Start start = { .cli = cli };
  int status = DVM_CLI_EXIT_FAILED;

  start.argv = make_command (cli, error);
  if (start.argv != NULL && check_log (&start, error))
    status = start_with_pipe (&start, error);
  g_strfreev (start.argv);
  g_free (start.log);
  return status;
}

const DvmCliVerb dvm_cli_verb_start = {
  .name = "start",
  .synopsis = "[OPTION...]",
  .summary = N_ ("start a DVM; returns when it is ready"),
  .options = { options },
  .failure = DVM_CLI_EXIT_FAILED,
  .run = start_verb,
};

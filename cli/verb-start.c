/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * dvm-cli start: starts dvmd in the background and returns when it takes work.
 *
 * dvmd tells over a pipe (--ready-fd) how far it is; see dvm-cli-ready.h.
 */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "dvm-cli-connect.h"
#include "dvm-cli-daemon.h"
#include "dvm-cli-display.h"
#include "dvm-cli-scheduler.h"
#include "dvm-cli-json.h"
#include "dvm-cli-keeper.h"
#include "dvm-cli-output.h"
#include "dvm-cli-progress.h"
#include "dvm-cli-ready.h"
#include "dvm-cli-state.h"
#include "dvm-cli-which.h"

#define READY_FD        3
#define DEFAULT_TIMEOUT 60
/* How much longer we wait than dvmd does, which then says who is missing; and how long it may take to end. */
#define SPARE_SECONDS  10
#define END_TIMEOUT_MS 30000
/* Bytes: with less a log and an archive do not get far. */
#define ROOM_FOR_RECORDS ((guint64)64 << 10)

static const DvmCliOption options[] = {
  { "nodes", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("K"), NULL, N_ ("logical nodes on this machine: node1, node2 and so on") },
  { "slots", 0, NULL, DVM_CLI_ARG_STRING, N_ ("N"), NULL,
    N_ ("processes at a time on each node, or hwthreads (default), cores, numas, packages: one for each") },
  { "hostfile", 0, "--machinefile", DVM_CLI_ARG_STRING, N_ ("FILE"), NULL, N_ ("the nodes that a file names") },
  { "host", 'H', NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, N_ ("these nodes, such as node3:4,node5") },
  { "max-vm-size", 0, "-max-vm-size", DVM_CLI_ARG_COUNT, N_ ("N"), "1000000", N_ ("at most N of these nodes") },
  { "launcher", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NAME"), NULL,
    N_ ("what starts their agents, such as local and ssh") },
  { "allow-missing", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("go on without nodes that do not come") },
  { "elastic", 'e', NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("let it grow and shrink while jobs run") },
  { "foreground", 0, NULL, DVM_CLI_ARG_NONE, NULL, NULL, N_ ("stay, and become the DVM's controller") },
  { "timeout", 0, NULL, DVM_CLI_ARG_COUNT, N_ ("SECONDS"), NULL,
    N_ ("give up when it is not ready by then (default: 60)") },
  { "set", 0, NULL, DVM_CLI_ARG_STRING, N_ ("NAME=VALUE"), NULL, N_ ("a setting of this DVM") },
  { "map-by", 0, "--mapby", DVM_CLI_ARG_STRING, N_ ("POLICY"), NULL,
    N_ ("how processes of jobs are placed that do not say it"), NULL, TRUE },
  { "rank-by", 0, "--rankby", DVM_CLI_ARG_STRING, N_ ("POLICY"), NULL, N_ ("how ranks of such jobs are given"), NULL,
    TRUE },
  { "bind-to", 0, "--bindto", DVM_CLI_ARG_STRING, N_ ("OBJECT"), NULL, N_ ("what processes of such jobs are bound to"),
    NULL, TRUE },
  { "output", 0, NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, N_ ("what is done with the output of such jobs"), NULL,
    TRUE },
  { "display", 0, NULL, DVM_CLI_ARG_STRING, N_ ("LIST"), NULL, N_ ("what run shows of such jobs"), NULL, TRUE },
  { "report-uri", 0, "-report-uri", DVM_CLI_ARG_STRING, N_ ("FILE"), NULL,
    N_ ("tell the address of the DVM, for --dvm-uri: here (-), on standard error (+) or in FILE") },
  { "report-pid", 0, "-report-pid", DVM_CLI_ARG_STRING, N_ ("FILE"), NULL,
    N_ ("tell the pid of the DVM's controller: here (-), on standard error (+) or in FILE") },
  { "log", 0, NULL, DVM_CLI_ARG_STRING, N_ ("FILE"), NULL, N_ ("append the messages of the DVM to a file") },
  { NULL },
};

typedef struct
{
  DvmCli *cli;
  char **argv; /* of dvmd */
  char *log;   /* (nullable): where --log wants it */
  int state;   /* of the state directory, or -1 */
  int output;  /* of the log, or -1 */
  int ready;   /* our end of the pipe */
  int ready_end;
  int signals; /* signalfd(); -1: they do what they always do */
  gboolean foreground;
} Start;

static void
take_option (GPtrArray *argv, const char *name, const char *value)
{
  if (value != NULL)
    g_ptr_array_add (argv, g_strdup_printf ("--%s=%s", name, value));
}

/* Options that are settings of the same name: what jobs get that do not say it. */
static const char *const defaults[] = { "map-by", "rank-by", "bind-to", "output", "display", NULL };

static void
take_settings (GPtrArray *argv, DvmCli *cli)
{
  g_autofree const char **settings = dvm_cli_args_get_all (cli->args, "set");

  g_ptr_array_add (
      argv, g_strdup_printf ("--set=start-timeout=%u", dvm_cli_args_get_uint (cli->args, "timeout", DEFAULT_TIMEOUT)));
  if (dvm_cli_args_has (cli->args, "max-vm-size"))
    g_ptr_array_add (argv, g_strdup_printf ("--set=max-nodes=%s", dvm_cli_args_get (cli->args, "max-vm-size")));
  if (dvm_cli_args_has (cli->args, "elastic"))
    g_ptr_array_add (argv, g_strdup ("--elastic"));
  for (gsize i = 0; settings[i] != NULL; i++)
    take_option (argv, "set", settings[i]);
  for (gsize i = 0; defaults[i] != NULL; i++)
    if (dvm_cli_args_has (cli->args, defaults[i]))
      g_ptr_array_add (argv, g_strdup_printf ("--set=%s=%s", defaults[i], dvm_cli_args_get (cli->args, defaults[i])));
}

/* The nodes that are asked for. The directory of dvmd is another one. */
static void
take_nodes (GPtrArray *argv, DvmCli *cli)
{
  g_autofree const char **lists = dvm_cli_args_get_all (cli->args, "host");
  g_autofree char *hosts = lists[0] != NULL ? g_strjoinv (",", (char **)lists) : NULL;
  const char *file = dvm_cli_args_get (cli->args, "hostfile");
  g_autofree char *path = file != NULL ? g_canonicalize_filename (file, NULL) : NULL;

  take_option (argv, "nodes", dvm_cli_args_get (cli->args, "nodes"));
  take_option (argv, "slots", dvm_cli_args_get (cli->args, "slots"));
  take_option (argv, "host", hosts);
  take_option (argv, "hostfile", path);
  take_option (argv, "launcher", dvm_cli_args_get (cli->args, "launcher"));
  if (dvm_cli_args_has (cli->args, "allow-missing"))
    g_ptr_array_add (argv, g_strdup ("--allow-missing"));
}

static gboolean
check_slots (const char *text, GError **error)
{
  static const char *const words[] = { "hwthreads", "cores", "numas", "packages", NULL };
  guint64 n;

  if (text == NULL || g_strv_contains (words, text) || g_ascii_string_to_unsigned (text, 10, 1, G_MAXINT, &n, NULL))
    return TRUE;
  g_set_error (
      error, DVM_CLI_USAGE_ERROR, 0,
      _ ("--slots %s: it is a number of at least 1, or what a node has one for each of: hwthreads, cores, numas "
         "or packages"),
      text);
  return FALSE;
}

static gboolean
check_options (DvmCli *cli, GError **error)
{
  g_auto (DvmCliDisplay) display = { 0 };
  const char *launcher = dvm_cli_args_get (cli->args, "launcher");
  gboolean logical = dvm_cli_args_has (cli->args, "nodes");
  g_autofree const char **files = dvm_cli_args_get_all (cli->args, "hostfile");

  if (logical && (files[0] != NULL || dvm_cli_args_has (cli->args, "host")))
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0,
                 _ ("options --nodes and --%s cannot go together: a DVM has logical nodes or named ones"),
                 files[0] != NULL ? "hostfile" : "host");
  else if (logical && launcher != NULL && strcmp (launcher, "local") != 0)
    g_set_error (
        error, DVM_CLI_USAGE_ERROR, 0,
        _ ("--launcher %s cannot start logical nodes, which are parts of this machine: that is what 'local' is for"),
        launcher);
  else if (files[0] != NULL && files[1] != NULL)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, _ ("option --hostfile can be given once"));
  else
    return check_slots (dvm_cli_args_get (cli->args, "slots"), error)
           && dvm_cli_display_read (dvm_cli_args_get (cli->args, "display"), &display, error);
  return FALSE;
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
  g_ptr_array_add (argv, g_strdup ("--progress"));
  take_option (argv, "name", cli->name);
  take_option (argv, "socket", socket);
  take_option (argv, "bus", cli->bus);
  take_nodes (argv, cli);
  take_settings (argv, cli);
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
  g_autofree char *reason = NULL;
  g_autofree char *message = NULL;

  execv (start->argv[0], start->argv);
  reason = g_strdup_printf (_ ("cannot start %s: %s"), start->argv[0], g_strerror (errno));
  message = g_strconcat (DVM_CLI_READY_ERROR, reason, "\n", NULL);
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

  dup2 (null, STDIN_FILENO);
  dup2 (null, STDOUT_FILENO);
  dup2 (start->output >= 0 ? start->output : null, STDERR_FILENO);
  if (chdir ("/") != 0)
    return;
}

/* FALSE with a sentence unless the answer is READY. */
static gboolean
judge_answer (DvmCliReadyResult result, const char *answer, guint seconds, GError **error)
{
  if (result == DVM_CLI_READY_ANSWERED && strcmp (answer, "READY") == 0)
    return TRUE;
  if (result == DVM_CLI_READY_LATE)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT,
                 g_dngettext (GETTEXT_PACKAGE,
                              "the DVM was not ready within %u second and has been ended; --timeout gives it longer",
                              "the DVM was not ready within %u seconds and has been ended; --timeout gives it longer",
                              seconds),
                 seconds);
  else if (result == DVM_CLI_READY_ANSWERED && g_str_has_prefix (answer, DVM_CLI_READY_ERROR))
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s", answer + strlen (DVM_CLI_READY_ERROR));
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

  if (cli->name != NULL && g_strcmp0 (cli->name, cli->job) == 0)
    dvm_cli_note (
        cli, _ ("the DVM without a name is of another job: this one is called %s, and dvm-cli finds it in this job"),
        cli->name);
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
report (DvmCli *cli, const char *option, const char *what, GError **error)
{
  const char *where = dvm_cli_args_get (cli->args, option);
  g_autofree char *line = g_strconcat (what, "\n", NULL);

  if (where == NULL || dvm_cli_write_to (where, line, error))
    return TRUE;
  g_prefix_error (error, "--%s: ", option);
  return FALSE;
}

/* For programs that find the DVM by a file, as those of prte */
static gboolean
report_all (DvmCli *cli, pid_t pid, GError **error)
{
  g_autofree char *socket = dvm_cli_socket_path (cli);
  g_autofree char *uri = dvm_cli_which_uri (socket);
  g_autofree char *number = g_strdup_printf ("%d", (int)pid);

  return report (cli, "report-uri", uri, error) && report (cli, "report-pid", number, error);
}

/* A place that cannot be written is known before anything is started. */
static gboolean
check_reports (DvmCli *cli, GError **error)
{
  static const char *const places[] = { "report-uri", "report-pid", NULL };

  for (gsize i = 0; places[i] != NULL; i++)
    {
      const char *where = dvm_cli_args_get (cli->args, places[i]);
      int why = where != NULL ? dvm_cli_find_place_fault (where) : 0;

      if (why == 0)
        continue;
      g_set_error (error, G_IO_ERROR, g_io_error_from_errno (why),
                   _ ("--%s: '%s' cannot be written: %s; no DVM was started"), places[i], where, g_strerror (why));
      return FALSE;
    }
  return TRUE;
}

/* The DVM is there, and stays. */
static int
tell_ready (DvmCli *cli, pid_t pid, GError **error)
{
  if (report_all (cli, pid, error) && print_ready (cli, pid, error))
    return DVM_CLI_EXIT_OK;
  g_prefix_error (error, _ ("the DVM is ready, which could not be told: "));
  return DVM_CLI_EXIT_FAILED;
}

/* Returns the exit status. */
static int
await_ready (Start *start, DvmCliReadyResult *result, GError **error)
{
  guint seconds = dvm_cli_args_get_uint (start->cli->args, "timeout", DEFAULT_TIMEOUT);
  g_autoptr (DvmCliProgress) progress = dvm_cli_progress_new (start->cli);
  const DvmCliReady ready = {
    .fd = start->ready,
    .signal_fd = start->signals,
    .seconds = seconds + MIN (seconds, SPARE_SECONDS),
    .progress = dvm_cli_progress_show,
    .missing = dvm_cli_progress_miss,
    .user_data = progress,
  };
  g_autofree char *answer = NULL;
  int signum = 0;

  *result = dvm_cli_ready_wait (&ready, &answer, &signum);
  g_clear_pointer (&progress, dvm_cli_progress_free);
  if (*result == DVM_CLI_READY_SIGNALLED)
    {
      dvm_cli_complain (_ ("interrupted: the DVM was not ready and is ended"));
      return 128 + signum;
    }
  return judge_answer (*result, answer, seconds, error) ? DVM_CLI_EXIT_OK : DVM_CLI_EXIT_FAILED;
}

/* Agents that have come are ended in good order. Returns what waitpid() says of it. */
static int
end_daemon (DvmCliKeeper *keeper, gboolean tell)
{
  if (tell && keeper->pidfd >= 0)
    pidfd_send_signal (keeper->pidfd, SIGTERM, NULL, 0);
  if (keeper->pidfd >= 0 && !dvm_cli_wait_gone (keeper->pidfd, END_TIMEOUT_MS))
    pidfd_send_signal (keeper->pidfd, SIGKILL, NULL, 0);
  return dvm_cli_keeper_wait (keeper);
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
      DvmCliReadyResult result;
      gboolean is_ready;

      close (ready_end);
      if (fork () != 0)
        _exit (0);
      is_ready = await_ready (start, &result, &local_error) == DVM_CLI_EXIT_OK;
      if (is_ready && start->state >= 0)
        dvm_cli_state_forget_end (start->state);
      if (!is_ready || tell_ready (start->cli, pid, &local_error) != DVM_CLI_EXIT_OK)
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

/*
 * A start that is told to stop ends the dvmd that it has begun. Signals that our parent has set to be ignored stay so.
 */
static void
take_signals (Start *start, sigset_t *saved)
{
  static const int wanted[] = { SIGINT, SIGTERM, SIGHUP };
  struct sigaction action;
  sigset_t set;

  sigemptyset (&set);
  for (gsize i = 0; i < G_N_ELEMENTS (wanted); i++)
    if (sigaction (wanted[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
      sigaddset (&set, wanted[i]);
  sigprocmask (SIG_BLOCK, &set, saved);
  start->signals = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void
become_daemon (gpointer user_data)
{
  Start *start = user_data;

  leave_caller (start);
  reset_signals ();
  keep_only (start->ready_end);
  exec_dvmd (start);
}

/* One that could not say why it ended has been ended. */
static void
explain_end (Start *start, int status, GError **error)
{
  g_autofree char *log = NULL;
  g_autofree char *how = NULL;

  if (!WIFSIGNALED (status) || error == NULL || *error == NULL)
    return;
  log = start->log != NULL ? g_strdup (start->log) : dvm_cli_state_log_path (start->cli);
  how = dvm_cli_describe_status (status);
  g_clear_error (error);
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED,
               _ ("dvmd was ended by %s before it was ready; what it said before is in %s"), how, log);
}

/* The caller has said something that is wrong, and not the machine. */
static void
blame_usage (GError **error)
{
  g_autoptr (GError) local = g_steal_pointer (error);

  g_set_error_literal (error, DVM_CLI_USAGE_ERROR, 0, local->message);
}

/* Its DVM works there all the same. */
static void
tell_full (Start *start)
{
  struct statvfs room;
  g_autofree char *archive = dvm_cli_state_archive_path (start->cli);
  g_autofree char *directory = g_path_get_dirname (archive);

  if (start->state >= 0 && fstatvfs (start->state, &room) == 0
      && (guint64)room.f_bavail * room.f_frsize < ROOM_FOR_RECORDS)
    dvm_cli_note (start->cli, _ ("%s has hardly any room: the DVM cannot write its log and its history there"),
                  directory);
}

static int
run_in_background (Start *start, int ready_end, GError **error)
{
  DvmCliReadyResult result;
  DvmCliKeeper keeper;
  sigset_t saved;
  int status;
  int end;

  take_signals (start, &saved);
  start->ready_end = ready_end;
  if (!dvm_cli_keep (&keeper, start->state, become_daemon, start, error))
    return DVM_CLI_EXIT_FAILED;
  close (ready_end);
  dvm_cli_tell (start->cli, _ ("%s is started with pid %d"), start->argv[0], (int)keeper.pid);
  status = await_ready (start, &result, error);
  if (status == DVM_CLI_EXIT_OK)
    {
      dvm_cli_keeper_is_ready (&keeper);
      if (start->log != NULL && start->state >= 0)
        dvm_cli_state_link_log (start->state, start->log);
      tell_full (start);
      status = tell_ready (start->cli, keeper.pid, error);
    }
  else
    {
      end = end_daemon (&keeper, result != DVM_CLI_READY_ANSWERED);
      /* That is what dvmd says of a setting that is wrong. */
      if (WIFEXITED (end) && WEXITSTATUS (end) == DVM_CLI_EXIT_USAGE)
        blame_usage (error);
      if (result == DVM_CLI_READY_SILENT)
        explain_end (start, end, error);
    }
  dvm_cli_keeper_clear (&keeper);
  close (start->signals);
  sigprocmask (SIG_SETMASK, &saved, NULL);
  return status;
}

/* A log of the caller's choice is opened first: nothing is started if that fails. */
static gboolean
open_given_log (Start *start, const char *log, GError **error)
{
  start->log = g_canonicalize_filename (log, NULL);
  start->output = open (start->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (start->output < 0)
    {
      g_set_error (error, G_IO_ERROR, g_io_error_from_errno (errno), _ ("cannot write the log %s: %s"), start->log,
                   g_strerror (errno));
      return FALSE;
    }
  return TRUE;
}

/* A home that cannot be written to, as on some nodes of clusters, keeps no DVM from coming up. */
static void
open_own_log (Start *start, GError *state_error)
{
  g_autoptr (GError) error = state_error != NULL ? g_error_copy (state_error) : NULL;
  g_autofree char *path = dvm_cli_state_log_path (start->cli);
  int last = (int)g_strv_length (start->argv);

  if (start->state >= 0)
    start->output = dvm_cli_state_open_log (start->state, &error);
  if (start->output < 0)
    {
      dvm_cli_note (start->cli, _ ("the messages of the DVM are dropped: cannot write the log %s: %s"), path,
                    error->message);
      return;
    }
  start->argv = g_renew (char *, start->argv, last + 2);
  start->argv[last] = g_strdup_printf ("--log-file=%s", path);
  start->argv[last + 1] = NULL;
}

/* dvmd says so itself if it cannot be written. */
static void
name_archive (Start *start)
{
  g_autofree char *path = dvm_cli_state_archive_path (start->cli);
  int last = (int)g_strv_length (start->argv);

  if (start->state < 0)
    return;
  start->argv = g_renew (char *, start->argv, last + 2);
  start->argv[last] = g_strdup_printf ("--archive-file=%s", path);
  start->argv[last + 1] = NULL;
}

static gboolean
open_log (Start *start, GError **error)
{
  const char *log = dvm_cli_args_get (start->cli->args, "log");
  g_autoptr (GError) state_error = NULL;

  start->state = dvm_cli_state_open (start->cli, &state_error);
  name_archive (start);
  if (log != NULL)
    return open_given_log (start, log, error);
  /* In the foreground messages are for the eyes of the caller. */
  if (!start->foreground)
    open_own_log (start, state_error);
  return TRUE;
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
  if (start->foreground)
    status = run_in_foreground (start, ends[1], error);
  else
    status = run_in_background (start, ends[1], error);
  close (ends[0]);
  return status;
}

static int
start_once (DvmCli *cli, GError **error)
{
  Start start = { .cli = cli, .signals = -1, .state = -1, .output = -1 };
  int status = DVM_CLI_EXIT_FAILED;

  if (!check_reports (cli, error))
    return status;
  start.foreground = dvm_cli_args_has (cli->args, "foreground") || dvm_cli_scheduler_ends_with_us ();
  if (start.foreground && !dvm_cli_args_has (cli->args, "foreground"))
    dvm_cli_note (cli, _ ("salloc ends its job when this command ends: the DVM stays in the foreground"));
  start.argv = make_command (cli, error);
  if (start.argv != NULL && open_log (&start, error))
    status = start_with_pipe (&start, error);
  if (start.output >= 0)
    close (start.output);
  if (start.state >= 0)
    close (start.state);
  g_strfreev (start.argv);
  g_free (start.log);
  return status;
}

static int
start_verb (DvmCli *cli, GError **error)
{
  g_autoptr (GError) local_error = NULL;
  gboolean has_name;
  int status;

  if (!check_options (cli, error))
    return DVM_CLI_EXIT_USAGE;
  has_name = dvm_cli_scheduler_name (cli);
  status = start_once (cli, &local_error);
  /* Another job on this machine may have been a moment faster. */
  if (status == DVM_CLI_EXIT_FAILED && local_error != NULL && !has_name && dvm_cli_scheduler_name (cli))
    {
      g_clear_error (&local_error);
      status = start_once (cli, &local_error);
    }
  if (local_error != NULL)
    g_propagate_error (error, g_steal_pointer (&local_error));
  return status;
}

const DvmCliVerb dvm_cli_verb_start = {
  .name = "start",
  .synopsis = "[OPTION...]",
  .summary = N_ ("start a DVM; returns when it is ready"),
  .options = { options },
  .foreign = &dvm_cli_prte,
  .failure = DVM_CLI_EXIT_FAILED,
  .run = start_verb,
};

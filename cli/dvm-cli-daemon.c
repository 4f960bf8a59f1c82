/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The programs of the DVM that dvm-cli starts itself are found, started and waited for.
 */

#include "config.h"

#include "dvm-cli-daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dvm-cli-ready.h"
#include "dvm-cli-state.h"

/* How long a private dvmd may take to leave when its connection is closed: it kills and reaps what is left of the job.
 */
#define LEAVE_TIMEOUT_MS 15000

/* Between the end of its connection and that of the process */
#define LOSS_TIMEOUT_MS 1000

/* The descriptor that --fd names */
#define DVMD_FD 3

/* The one that --ready-fd names */
#define READY_FD 4

#define NAME_OPTION "--name="

struct _DvmCliEmbedded
{
  pid_t pid;
  char *name;     /* (nullable): by which others find it */
  int connection; /* a duplicate, to shut the connection down whoever still holds it */
  int ready;      /* by which it tells why it does not start */
};

char *
dvm_cli_find_dvmd (GError **error)
{
  const char *given = g_getenv ("DVM_DVMD");
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *directory = self != NULL ? g_path_get_dirname (self) : g_strdup (DVM_BIN_DIR);
  g_autofree char *beside = g_build_filename (directory, "dvmd", NULL);
  g_autofree char *in_build_tree = g_build_filename (directory, "..", "daemon", "dvmd", NULL);
  const char *const candidates[] = { beside, in_build_tree, DVM_BIN_DIR "/dvmd" };

  if (given != NULL && given[0] != '\0')
    return g_strdup (given);
  for (gsize i = 0; i < G_N_ELEMENTS (candidates); i++)
    if (access (candidates[i], X_OK) == 0)
      return g_strdup (candidates[i]);
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND,
               _ ("dvmd is neither in %s nor in %s; DVM_DVMD may name its path"), directory, DVM_BIN_DIR);
  return NULL;
}

/* "dvmd[123]: message: dvmd: ..." on standard error */
static void
set_dvmd_error (const char *message, GError **error)
{
  g_autofree char *text = g_strstrip (g_strdup (message != NULL ? message : ""));
  const char *colon = strstr (text, "]: message: ");
  const char *sentence = colon != NULL ? colon + strlen ("]: message: ") : text;

  if (g_str_has_prefix (sentence, "dvmd: "))
    sentence += strlen ("dvmd: ");
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s",
               sentence[0] != '\0' ? sentence : _ ("dvmd cannot tell its settings"));
}

GBytes *
dvm_cli_ask_dvmd_bytes (const char *const *options, GError **error)
{
  g_autofree char *path = dvm_cli_find_dvmd (error);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autoptr (GSubprocess) process = NULL;
  g_autoptr (GBytes) output = NULL;
  g_autoptr (GBytes) messages = NULL;
  g_autofree char *message = NULL;

  if (path == NULL)
    return NULL;
  g_ptr_array_add (argv, path);
  for (gsize i = 0; options[i] != NULL; i++)
    g_ptr_array_add (argv, (gpointer)options[i]);
  g_ptr_array_add (argv, NULL);
  process = g_subprocess_newv ((const char *const *)argv->pdata,
                               G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE, error);
  if (process == NULL || !g_subprocess_communicate (process, NULL, NULL, &output, &messages, error))
    return NULL;
  if (g_subprocess_get_if_exited (process) && g_subprocess_get_exit_status (process) == 0)
    return g_steal_pointer (&output);
  message = g_strndup (g_bytes_get_data (messages, NULL), g_bytes_get_size (messages));
  set_dvmd_error (message, error);
  return NULL;
}

char *
dvm_cli_ask_dvmd (const char *const *options, GError **error)
{
  g_autoptr (GBytes) output = dvm_cli_ask_dvmd_bytes (options, error);
  const char *text = output != NULL ? g_bytes_get_data (output, NULL) : NULL;

  return output != NULL ? g_utf8_make_valid (text != NULL ? text : "", (gssize)g_bytes_get_size (output)) : NULL;
}

gboolean
dvm_cli_wait_gone (int pidfd, int timeout_ms)
{
  struct pollfd poll_fd = { pidfd, POLLIN, 0 };
  int n;

  do
    n = poll (&poll_fd, 1, timeout_ms);
  while (n < 0 && errno == EINTR);
  return n > 0;
}

/* fds: those that become DVMD_FD and READY_FD. stderr stays ours unless the caller tells itself what goes wrong. */
static int
spawn_on (GPtrArray *argv, const int fds[2], gboolean quiet, pid_t *pid)
{
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  sigset_t all;
  int result;

  sigemptyset (&none);
  sigfillset (&all);
  posix_spawnattr_init (&attributes);
  posix_spawnattr_setsigmask (&attributes, &none);
  posix_spawnattr_setsigdefault (&attributes, &all);
  /* A session of its own: keys pressed on the terminal are for us, who then tell it. */
  posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_adddup2 (&actions, fds[0], DVMD_FD);
  posix_spawn_file_actions_adddup2 (&actions, fds[1], READY_FD);
  posix_spawn_file_actions_addclosefrom_np (&actions, READY_FD + 1);
  posix_spawn_file_actions_addopen (&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen (&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (quiet)
    posix_spawn_file_actions_addopen (&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  result = posix_spawn (pid, argv->pdata[0], &actions, &attributes, (char *const *)argv->pdata, environ);
  posix_spawn_file_actions_destroy (&actions);
  posix_spawnattr_destroy (&attributes);
  return result;
}

/* (element-type utf8): the words of a private dvmd; name: (nullable) */
static GPtrArray *
list_words (const char *path, const char *const *options, const char *name)
{
  GPtrArray *argv = g_ptr_array_new ();

  g_ptr_array_add (argv, (gpointer)path);
  g_ptr_array_add (argv, (gpointer) "--one-shot");
  g_ptr_array_add (argv, (gpointer) "--fd=3");
  g_ptr_array_add (argv, (gpointer) "--ready-fd=4");
  if (name != NULL)
    g_ptr_array_add (argv, (gpointer)name);
  for (gsize i = 0; options[i] != NULL; i++)
    g_ptr_array_add (argv, (gpointer)options[i]);
  g_ptr_array_add (argv, NULL);
  return argv;
}

static gboolean
open_ends (int connection[2], int ready[2], GError **error)
{
  int saved_errno;

  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, connection) != 0)
    {
      saved_errno = errno;
      g_set_error (error, G_IO_ERROR, g_io_error_from_errno (saved_errno), _ ("cannot make a socket pair: %s"),
                   g_strerror (saved_errno));
      return FALSE;
    }
  if (pipe2 (ready, O_CLOEXEC) == 0)
    return TRUE;
  saved_errno = errno;
  close (connection[0]);
  close (connection[1]);
  g_set_error (error, G_IO_ERROR, g_io_error_from_errno (saved_errno), _ ("cannot make a pipe: %s"),
               g_strerror (saved_errno));
  return FALSE;
}

DvmCliEmbedded *
dvm_cli_embedded_new (const char *const *options, DvmCliEmbeddedFlags flags, int *fd, GError **error)
{
  g_autofree char *path = dvm_cli_find_dvmd (error);
  g_autofree char *name = flags & DVM_CLI_EMBEDDED_LISTENS ? g_strdup_printf (NAME_OPTION "run-of-%d", getpid ())
                                                           : NULL;
  g_autoptr (GPtrArray) argv = path != NULL ? list_words (path, options, name) : NULL;
  int ends[2];
  int ready[2];
  pid_t pid;
  int saved_errno;
  DvmCliEmbedded *self;

  if (argv == NULL || !open_ends (ends, ready, error))
    return NULL;
  saved_errno = spawn_on (argv, (const int[2]){ ends[1], ready[1] }, flags & DVM_CLI_EMBEDDED_QUIET, &pid);
  close (ends[1]);
  close (ready[1]);
  if (saved_errno != 0)
    {
      close (ends[0]);
      close (ready[0]);
      g_set_error (error, G_IO_ERROR, g_io_error_from_errno (saved_errno), _ ("cannot start %s: %s"), path,
                   g_strerror (saved_errno));
      return NULL;
    }
  self = g_new0 (DvmCliEmbedded, 1);
  self->pid = pid;
  self->name = g_strdup (name != NULL ? name + strlen (NAME_OPTION) : NULL);
  self->connection = fcntl (ends[0], F_DUPFD_CLOEXEC, 0);
  self->ready = ready[0];
  *fd = ends[0];
  return self;
}

gboolean
dvm_cli_embedded_explain (DvmCliEmbedded *self, GError **error)
{
  const DvmCliReady ready = { .fd = self->ready, .signal_fd = -1, .seconds = LOSS_TIMEOUT_MS / 1000 };
  g_autofree char *answer = NULL;
  int pidfd;
  int signum;
  siginfo_t info = { 0 };

  if (dvm_cli_ready_wait (&ready, &answer, &signum) != DVM_CLI_READY_ANSWERED
      || !g_str_has_prefix (answer, DVM_CLI_READY_ERROR))
    return FALSE;
  pidfd = pidfd_open (self->pid, 0);
  /* A setting that is wrong ends dvmd so. */
  if (pidfd < 0 || !dvm_cli_wait_gone (pidfd, LOSS_TIMEOUT_MS)
      || waitid (P_PID, (id_t)self->pid, &info, WEXITED | WNOWAIT) != 0 || info.si_code != CLD_EXITED)
    info.si_status = 0;
  if (pidfd >= 0)
    close (pidfd);
  g_clear_error (error);
  if (info.si_status == DVM_CLI_EXIT_USAGE)
    g_set_error (error, DVM_CLI_USAGE_ERROR, 0, "%s", answer + strlen (DVM_CLI_READY_ERROR));
  else
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s", answer + strlen (DVM_CLI_READY_ERROR));
  return TRUE;
}

const char *
dvm_cli_embedded_get_name (DvmCliEmbedded *self)
{
  return self->name;
}

char *
dvm_cli_embedded_describe_end (DvmCliEmbedded *self)
{
  int pidfd = pidfd_open (self->pid, 0);
  siginfo_t info = { 0 };
  char *text = NULL;

  if (pidfd >= 0 && dvm_cli_wait_gone (pidfd, LOSS_TIMEOUT_MS)
      && waitid (P_PID, (id_t)self->pid, &info, WEXITED | WNOWAIT) == 0)
    text = info.si_code == CLD_EXITED ? dvm_cli_describe_status (W_EXITCODE (info.si_status, 0))
                                      : dvm_cli_describe_status (W_EXITCODE (0, info.si_status));
  if (pidfd >= 0)
    close (pidfd);
  return text;
}

void
dvm_cli_embedded_free (DvmCliEmbedded *self)
{
  int pidfd = pidfd_open (self->pid, 0);

  shutdown (self->connection, SHUT_RDWR);
  close (self->connection);
  close (self->ready);
  /* It would wait for others that are connected, too. */
  if (pidfd >= 0 && self->name != NULL)
    pidfd_send_signal (pidfd, SIGTERM, NULL, 0);
  /* The daemon is our child, not yet reaped: its pid cannot be reused. */
  if (pidfd >= 0 && !dvm_cli_wait_gone (pidfd, LEAVE_TIMEOUT_MS))
    kill (self->pid, SIGKILL);
  if (pidfd >= 0)
    close (pidfd);
  waitpid (self->pid, NULL, 0);
  g_free (self->name);
  g_free (self);
}

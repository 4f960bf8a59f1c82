/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The parent of a dvmd in the background.
 */

#include "config.h"

#include "dvm-cli-keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dvm-cli-state.h"

/* The descriptors of a keeper. */
#define LINE_FD  3
#define STATE_FD 4
/* ms, between looks whether another keeper has left */
#define FIRST_PAUSE 10
#define LAST_PAUSE  1000

static gssize
read_whole (int fd, gpointer buffer, gsize size)
{
  gssize n;

  do
    n = read (fd, buffer, size);
  while (n < 0 && errno == EINTR);
  return n;
}

/* Nothing of the caller's stays open, and who ends all of a session ends dvmd, not its keeper before it. */
static gboolean
settle (int line, int state_fd)
{
  int null = open ("/dev/null", O_RDWR);
  sigset_t all;

  sigfillset (&all);
  sigprocmask (SIG_BLOCK, &all, NULL);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    dup2 (null, fd);
  /* Above both places first: one may be where the other is to be. */
  line = fcntl (line, F_DUPFD, STATE_FD + 1);
  state_fd = state_fd >= 0 ? fcntl (state_fd, F_DUPFD, STATE_FD + 1) : null;
  dup2 (line, LINE_FD);
  dup2 (state_fd, STATE_FD);
  close_range (STATE_FD + 1, ~0U, 0);
  prctl (PR_SET_NAME, "dvm-keeper");
  return state_fd != null && chdir ("/") == 0;
}

/*
 * The keeper of the DVM before may still be at work, for a moment. That of a DVM of the same name in another runtime
 * directory or on another machine is there for as long as that DVM: ours is not to stay behind for it when it has
 * ended.
 */
static gboolean
await_turn (pid_t pid)
{
  struct pollfd end = { .fd = pidfd_open (pid, 0), .events = POLLIN };
  gboolean watches;

  for (int pause = FIRST_PAUSE; !(watches = dvm_cli_state_watch (STATE_FD, pid)); pause = MIN (2 * pause, LAST_PAUSE))
    if (end.fd < 0 || poll (&end, 1, pause) != 0)
      break;
  if (end.fd >= 0)
    close (end.fd);
  return watches;
}

/* Whether how this dvmd ends is ours to write down. */
static gboolean
watch_end (gboolean has_state, gboolean ready, pid_t pid)
{
  gboolean watches = has_state && dvm_cli_state_watch (STATE_FD, pid);

  /* Another DVM of this name may run, and be why this one could not start. */
  if (!ready)
    return watches;
  if (watches)
    dvm_cli_state_forget_end (STATE_FD);
  /* The caller returns when an end would be noticed; the keeper of the DVM before may still be at work. */
  send (LINE_FD, "W", 1, MSG_NOSIGNAL);
  if (!has_state || watches || !await_turn (pid))
    return watches;
  dvm_cli_state_forget_end (STATE_FD);
  return TRUE;
}

/* Never returns. The process of dvmd is reaped last, so that its pid stays its own while the caller looks for it. */
static void
keep (int line, int state_fd, pid_t pid)
{
  gboolean has_state;
  gboolean ready;
  siginfo_t info;
  char word;
  int status = 0;

  setsid ();
  has_state = settle (line, state_fd);
  if (write (LINE_FD, &pid, sizeof pid) != sizeof pid)
    kill (pid, SIGKILL);
  ready = read_whole (LINE_FD, &word, 1) == 1;
  has_state = watch_end (has_state, ready, pid);
  while (waitid (P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
    ;
  waitpid (pid, &status, 0);
  if (has_state && (WIFSIGNALED (status) || (ready && status != 0)))
    dvm_cli_state_record_end (STATE_FD, pid, status);
  /* The reader of the line may have gone. */
  signal (SIGPIPE, SIG_IGN);
  if (write (LINE_FD, &status, sizeof status) < 0)
    _exit (1);
  _exit (0);
}

static void
run_keeper (int line, int state_fd, void (*become) (gpointer), gpointer user_data)
{
  pid_t pid = fork ();

  if (pid == 0)
    {
      setsid ();
      become (user_data);
      _exit (DVM_CLI_EXIT_FAILED);
    }
  if (pid < 0)
    _exit (DVM_CLI_EXIT_FAILED);
  keep (line, state_fd, pid);
}

gboolean
dvm_cli_keep (DvmCliKeeper *self, int state_fd, void (*become) (gpointer), gpointer user_data, GError **error)
{
  int ends[2];
  int saved_errno;

  *self = (DvmCliKeeper){ .pidfd = -1, .line = -1 };
  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0)
    {
      self->keeper = fork ();
      if (self->keeper == 0)
        {
          close (ends[0]);
          run_keeper (ends[1], state_fd, become, user_data);
        }
      saved_errno = errno;
      close (ends[1]);
      self->line = ends[0];
      if (self->keeper > 0 && read_whole (self->line, &self->pid, sizeof self->pid) == sizeof self->pid)
        {
          self->pidfd = pidfd_open (self->pid, 0);
          return TRUE;
        }
      errno = saved_errno;
    }
  saved_errno = errno;
  g_set_error (error, G_IO_ERROR, g_io_error_from_errno (saved_errno), _ ("cannot start dvmd: %s"),
               g_strerror (saved_errno));
  dvm_cli_keeper_clear (self);
  return FALSE;
}

void
dvm_cli_keeper_is_ready (DvmCliKeeper *self)
{
  char word;

  if (send (self->line, "R", 1, MSG_NOSIGNAL) == 1)
    read_whole (self->line, &word, 1);
}

int
dvm_cli_keeper_wait (DvmCliKeeper *self)
{
  int status = 0;

  shutdown (self->line, SHUT_WR);
  if (read_whole (self->line, &status, sizeof status) != sizeof status)
    status = 0;
  waitpid (self->keeper, NULL, 0);
  self->keeper = 0;
  return status;
}

void
dvm_cli_keeper_clear (DvmCliKeeper *self)
{
  if (self->pidfd >= 0)
    close (self->pidfd);
  if (self->line >= 0)
    close (self->line);
}

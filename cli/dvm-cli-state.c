/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The state directory of a DVM.
 */

#include "config.h"

#include "dvm-cli-state.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gi18n-lib.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dvm-cli-signals.h"

#define LOG   "log"
#define WATCH "watch"
#define END   "end"
#define GROUP "dvmd"

/* Of linux/sched.h, which programs do not see: the process is on its way out. */
#define PF_EXITING 0x4

/* A connection ends a moment before it is known why: how often is looked, with this pause (µs). */
#define LOOKS      200
#define LOOK_PAUSE 5000

/* (transfer full): of a user whom the system does not know it is no place that there is. */
static char *
get_home (void)
{
  const char *home = g_getenv ("HOME");
  struct passwd *entry = home == NULL || home[0] != '/' ? getpwuid (geteuid ()) : NULL;

  if (home != NULL && home[0] == '/')
    return g_strdup (home);
  return g_strdup (entry != NULL && entry->pw_dir[0] == '/' ? entry->pw_dir : "/nonexistent");
}

/* The runtime directory dvm/NAME is emptied by each new DVM. */
static gboolean
is_runtime_dir (const char *path)
{
  const char *runtime = g_getenv ("XDG_RUNTIME_DIR");
  struct stat one;
  struct stat other;

  return runtime != NULL && stat (path, &one) == 0 && stat (runtime, &other) == 0 && one.st_dev == other.st_dev
         && one.st_ino == other.st_ino;
}

static char *
state_dir (DvmCli *cli)
{
  const char *name = cli->name != NULL ? cli->name : "default";
  const char *base = g_getenv ("XDG_STATE_HOME");
  g_autofree char *home = NULL;

  if (base != NULL && base[0] == '/')
    return g_build_filename (base, is_runtime_dir (base) ? "dvm-state" : "dvm", name, NULL);
  home = get_home ();
  return g_build_filename (home, ".local", "state", "dvm", name, NULL);
}

char *
dvm_cli_state_log_path (DvmCli *cli)
{
  g_autofree char *directory = state_dir (cli);

  return g_build_filename (directory, LOG, NULL);
}

char *
dvm_cli_state_archive_path (DvmCli *cli)
{
  g_autofree char *directory = state_dir (cli);

  return g_build_filename (directory, "archive", NULL);
}

/* One of somebody else is not written to. */
static int
open_own (const char *path)
{
  int fd = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat info;

  if (fd >= 0 && fstat (fd, &info) == 0 && info.st_uid == geteuid () && (info.st_mode & 022) == 0)
    return fd;
  if (fd >= 0)
    {
      close (fd);
      errno = EPERM;
    }
  return -1;
}

int
dvm_cli_state_open (DvmCli *cli, GError **error)
{
  g_autofree char *path = state_dir (cli);
  int fd = g_mkdir_with_parents (path, 0700) == 0 ? open_own (path) : -1;
  int saved_errno = errno;

  if (fd < 0)
    g_set_error (error, G_IO_ERROR, g_io_error_from_errno (saved_errno), _ ("cannot use the directory %s: %s"), path,
                 saved_errno == EPERM ? _ ("others may write there") : g_strerror (saved_errno));
  return fd;
}

/* The next log begins in a file of its own. */
static void
put_away_log (int dir_fd)
{
  struct stat info;

  if (fstatat (dir_fd, LOG, &info, AT_SYMLINK_NOFOLLOW) != 0)
    return;
  if (S_ISREG (info.st_mode))
    renameat (dir_fd, LOG, dir_fd, LOG ".1");
  else
    unlinkat (dir_fd, LOG, 0);
}

int
dvm_cli_state_open_log (int dir_fd, GError **error)
{
  struct stat info;
  int saved_errno;
  int fd;

  if (fstatat (dir_fd, LOG, &info, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG (info.st_mode))
    put_away_log (dir_fd);
  fd = openat (dir_fd, LOG, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  saved_errno = errno;
  if (fd < 0)
    g_set_error (error, G_IO_ERROR, g_io_error_from_errno (saved_errno), "%s", g_strerror (saved_errno));
  return fd;
}

void
dvm_cli_state_link_log (int dir_fd, const char *path)
{
  put_away_log (dir_fd);
  if (symlinkat (path, dir_fd, LOG) != 0)
    return;
}

/* ---- how it ended ---- */

gboolean
dvm_cli_state_watch (int dir_fd, pid_t pid)
{
  int fd = openat (dir_fd, WATCH, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

  if (fd < 0)
    return FALSE;
  if (flock (fd, LOCK_EX | LOCK_NB) == 0 && ftruncate (fd, 0) == 0
      && dprintf (fd, "%d %s\n", (int)pid, g_get_host_name ()) > 0)
    return TRUE;
  close (fd);
  return FALSE;
}

void
dvm_cli_state_forget_end (int dir_fd)
{
  unlinkat (dir_fd, END, 0);
}

void
dvm_cli_state_record_end (int dir_fd, pid_t pid, int status)
{
  g_autofree char *text = g_strdup_printf ("[" GROUP "]\npid=%d\nstatus=%d\ntime=%" G_GINT64_FORMAT "\n", (int)pid,
                                           status, g_get_real_time () / G_USEC_PER_SEC);
  int fd = openat (dir_fd, END ".new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

  if (fd < 0)
    return;
  if (write (fd, text, strlen (text)) == (gssize)strlen (text))
    renameat (dir_fd, END ".new", dir_fd, END);
  close (fd);
}

char *
dvm_cli_describe_status (int status)
{
  g_autofree char *name = WIFSIGNALED (status) ? dvm_cli_signal_name (WTERMSIG (status)) : NULL;

  if (name != NULL)
    return g_strdup_printf (_ ("signal %s"), name);
  return g_strdup_printf (_ ("exit status %d"), WEXITSTATUS (status));
}

/*
 * A dvmd closes its socket before it is gone, and its watcher writes after that. One that lives is somewhere else: in
 * another runtime directory, or on another machine with the same home.
 */
static gboolean
is_ending (int fd)
{
  char text[512] = "";
  g_autofree char *host = NULL;
  g_autofree char *path = NULL;
  g_autofree char *stat = NULL;
  const char *rest;
  unsigned flags;
  char state;
  int pid;

  if (pread (fd, text, sizeof text - 1, 0) <= 0 || sscanf (text, "%d %ms", &pid, &host) != 2
      || strcmp (host, g_get_host_name ()) != 0)
    return FALSE;
  path = g_strdup_printf ("/proc/%d/stat", pid);
  if (!g_file_get_contents (path, &stat, NULL, NULL) || (rest = strrchr (stat, ')')) == NULL)
    return TRUE;
  return sscanf (rest + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) == 2
         && (state == 'Z' || (flags & PF_EXITING) != 0);
}

static void
await_watcher (const char *directory)
{
  g_autofree char *path = g_build_filename (directory, WATCH, NULL);
  int fd = open (path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

  for (guint i = 0; fd >= 0 && i < LOOKS && flock (fd, LOCK_SH | LOCK_NB) != 0 && is_ending (fd); i++)
    g_usleep (LOOK_PAUSE);
  if (fd >= 0)
    close (fd);
}

char *
dvm_cli_state_describe_end (DvmCli *cli)
{
  g_autofree char *directory = state_dir (cli);
  g_autofree char *path = g_build_filename (directory, END, NULL);
  g_autofree char *log = g_build_filename (directory, LOG, NULL);
  g_autoptr (GKeyFile) file = g_key_file_new ();
  g_autoptr (GDateTime) time = NULL;
  g_autofree char *status = NULL;
  g_autofree char *when = NULL;

  /* A private socket elsewhere does not say which DVM it is. */
  if (cli->socket != NULL && cli->name == NULL)
    return NULL;
  await_watcher (directory);
  if (!g_key_file_load_from_file (file, path, G_KEY_FILE_NONE, NULL))
    return NULL;
  status = dvm_cli_describe_status (g_key_file_get_integer (file, GROUP, "status", NULL));
  time = g_date_time_new_from_unix_local (g_key_file_get_int64 (file, GROUP, "time", NULL));
  when = time != NULL ? g_date_time_format (time, "%F %T") : g_strdup ("?");
  return g_strdup_printf (
      _ ("the last dvmd (pid %d) was ended by %s at %s; what it said before is in %s ('dvm-cli logs')"),
      g_key_file_get_integer (file, GROUP, "pid", NULL), status, when, log);
}

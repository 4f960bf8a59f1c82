/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The owner of a runtime directory is killed, or others disturb it, before and after each of its system calls.
 */

#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "dvmd-remove-tree.h"
#include "dvmd-runtime-dir.h"

typedef struct
{
  char *base;
  char *place; /* BASE/dvm */
  char *path;  /* BASE/dvm/agent-a-1 */
} Fixture;

/* A process does that; TRUE: it went well. */
typedef gboolean (*Work) (Fixture *fixture);

static void
set_up (Fixture *fixture, gconstpointer data)
{
  fixture->base = g_dir_make_tmp ("dvm-run-XXXXXX", NULL);
  fixture->place = g_build_filename (fixture->base, "dvm", NULL);
  fixture->path = g_build_filename (fixture->place, "agent-a-1", NULL);
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  g_assert_true (dvmd_remove_tree (fixture->base, NULL));
  g_free (fixture->base);
  g_free (fixture->place);
  g_free (fixture->path);
}

static DvmdRuntimeDir *
acquire (Fixture *fixture)
{
  return dvmd_runtime_dir_acquire ("agent-a-1", fixture->path, NULL);
}

static void
sweep (Fixture *fixture)
{
  dvmd_runtime_dir_sweep_place (fixture->place, "agent-");
}

static gboolean
work_alone (Fixture *fixture)
{
  DvmdRuntimeDir *dir = acquire (fixture);
  g_autofree char *lock = g_build_filename (fixture->path, "lock", NULL);
  gboolean there = dir != NULL && g_access (lock, F_OK) == 0
                   && g_access (dvmd_runtime_dir_get_sessions_path (dir), W_OK) == 0;

  g_clear_pointer (&dir, dvmd_runtime_dir_release);
  return there;
}

/* The directory has in it what jobs leave. */
static gboolean
work_with_jobs (Fixture *fixture)
{
  DvmdRuntimeDir *dir = acquire (fixture);
  g_autofree char *job = g_build_filename (dvmd_runtime_dir_get_sessions_path (dir), "job-1", NULL);
  gboolean made = g_mkdir (job, 0700) == 0;

  dvmd_runtime_dir_release (dir);
  return made;
}

static gboolean
work_sweeping (Fixture *fixture)
{
  sweep (fixture);
  return TRUE;
}

/* The owner is killed while something is in its directory. */
static gboolean
work_crashing (Fixture *fixture)
{
  DvmdRuntimeDir *dir = acquire (fixture);
  g_autofree char *leftover = g_build_filename (dvmd_runtime_dir_get_sessions_path (dir), "job-1", NULL);

  return g_mkdir (leftover, 0700) == 0;
}

/* A process that stops at each of its system calls, and goes on when its parent lets it. */
static pid_t
start (Fixture *fixture, Work work)
{
  pid_t pid = fork ();
  int status;

  if (pid == 0)
    {
      if (ptrace (PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit (77);
      raise (SIGSTOP);
      _exit (work (fixture) ? 0 : 1);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  if (WIFSTOPPED (status))
    return pid;
  g_assert_cmpint (WEXITSTATUS (status), ==, 77);
  g_test_skip ("no process may trace another one here");
  return -1;
}

/* TRUE: it has come to the stop of that number; each call has two. FALSE: it has ended well before. */
static gboolean
go_to_stop (pid_t pid, guint number)
{
  int status = 0;

  for (guint i = 0; i < number; i++)
    {
      g_assert_no_errno ((int)ptrace (PTRACE_SYSCALL, pid, NULL, NULL));
      g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
      if (WIFSTOPPED (status))
        continue;
      g_assert_true (WIFEXITED (status));
      g_assert_cmpint (WEXITSTATUS (status), ==, 0);
      return FALSE;
    }
  return TRUE;
}

static void
end (pid_t pid, int signum)
{
  int status;

  if (signum == SIGKILL)
    kill (pid, SIGKILL);
  else
    g_assert_no_errno ((int)ptrace (PTRACE_DETACH, pid, NULL, NULL));
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  if (signum == 0)
    g_assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 0);
}

static void
leave_crashed (Fixture *fixture)
{
  pid_t pid = fork ();
  int status;

  if (pid == 0)
    _exit (work_crashing (fixture) ? 0 : 1);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 0);
}

/* TRUE: the work has as many stops as that, and nothing was left. */
static gboolean
kill_at (Fixture *fixture, Work work, gboolean crashed, guint number)
{
  pid_t pid;
  gboolean stopped;

  if (crashed)
    leave_crashed (fixture);
  pid = start (fixture, work);
  if (pid < 0)
    return FALSE;
  stopped = go_to_stop (pid, number);
  if (stopped)
    end (pid, SIGKILL);
  sweep (fixture);
  if (g_file_test (fixture->place, G_FILE_TEST_EXISTS))
    {
      g_test_message ("killed at stop %u", number);
      g_test_fail ();
      g_assert_true (dvmd_remove_tree (fixture->place, NULL));
    }
  return stopped;
}

static void
kill_at_each (Fixture *fixture, Work work, gboolean crashed)
{
  guint number = 0;

  while (kill_at (fixture, work, crashed, number))
    number++;
  g_test_message ("%u stops", number);
}

static void
test_made (Fixture *fixture, gconstpointer data)
{
  kill_at_each (fixture, work_alone, FALSE);
}

static void
test_taken_over (Fixture *fixture, gconstpointer data)
{
  kill_at_each (fixture, work_alone, TRUE);
}

static void
test_sweeping (Fixture *fixture, gconstpointer data)
{
  kill_at_each (fixture, work_sweeping, TRUE);
}

/* Somebody else does that at such a moment; a descriptor to close at the end, or -1. */
typedef int (*Disturb) (Fixture *fixture);

static int
disturb_sweeping (Fixture *fixture)
{
  sweep (fixture);
  return -1;
}

/* A sweeper that stands still: it has locked the file that is to be the lock. */
static int
disturb_looking (Fixture *fixture)
{
  g_autoptr (GDir) dir = g_dir_open (fixture->path, 0, NULL);
  const char *name;
  int fd = -1;

  while (fd < 0 && dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (fixture->path, name, NULL);

      fd = g_str_has_prefix (name, "lock.") ? open (file, O_RDONLY | O_CLOEXEC) : -1;
    }
  if (fd >= 0)
    flock (fd, LOCK_EX | LOCK_NB);
  return fd;
}

/* A process of a job that still writes. */
static int
disturb_writing (Fixture *fixture)
{
  g_autofree char *late = g_build_filename (fixture->path, "sessions", "late", NULL);

  g_mkdir (late, 0700);
  return -1;
}

static gboolean
disturb_at (Fixture *fixture, Work work, Disturb disturb, gboolean crashed, guint number)
{
  pid_t pid;
  int fd;

  if (crashed)
    leave_crashed (fixture);
  pid = start (fixture, work);
  if (pid < 0 || !go_to_stop (pid, number))
    return FALSE;
  fd = disturb (fixture);
  end (pid, 0);
  if (fd >= 0)
    close (fd);
  sweep (fixture);
  g_assert_false (g_file_test (fixture->place, G_FILE_TEST_EXISTS));
  return TRUE;
}

static void
disturb_at_each (Fixture *fixture, Work work, Disturb disturb, gboolean crashed)
{
  guint number = 0;

  while (disturb_at (fixture, work, disturb, crashed, number))
    number++;
}

static void
test_swept (Fixture *fixture, gconstpointer data)
{
  disturb_at_each (fixture, work_alone, disturb_sweeping, FALSE);
  disturb_at_each (fixture, work_alone, disturb_sweeping, TRUE);
}

static void
test_looked_at (Fixture *fixture, gconstpointer data)
{
  disturb_at_each (fixture, work_alone, disturb_looking, FALSE);
}

static void
test_written_to (Fixture *fixture, gconstpointer data)
{
  disturb_at_each (fixture, work_with_jobs, disturb_writing, FALSE);
}

static void
ignore_message (const char *domain, GLogLevelFlags level, const char *message, gpointer data)
{
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  /* That a directory is taken over is said hundreds of times. */
  g_log_set_handler ("dvmd-runtime-dir", G_LOG_LEVEL_MESSAGE, ignore_message, NULL);
  ADD ("/runtime-dir-kills/made", test_made);
  ADD ("/runtime-dir-kills/taken-over", test_taken_over);
  ADD ("/runtime-dir-kills/sweeping", test_sweeping);
  ADD ("/runtime-dir-kills/swept", test_swept);
  ADD ("/runtime-dir-kills/looked-at", test_looked_at);
  ADD ("/runtime-dir-kills/written-to", test_written_to);
  return g_test_run ();
}

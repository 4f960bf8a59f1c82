/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dvm.h>
#include <glib/gstdio.h>

#include "dvmd-remove-tree.h"
#include "dvmd-runtime-dir.h"

typedef struct
{
  char *base;
  char *path; /* BASE/dvm/default */
} Fixture;

static void
set_up (Fixture *fixture, gconstpointer data)
{
  fixture->base = g_dir_make_tmp ("dvm-run-XXXXXX", NULL);
  fixture->path = g_build_filename (fixture->base, "dvm", "default", NULL);
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  dvmd_remove_tree (fixture->base, &error);
  g_assert_no_error (error);
  g_free (fixture->base);
  g_free (fixture->path);
}

static DvmdRuntimeDir *
acquire (Fixture *fixture)
{
  g_autoptr (GError) error = NULL;
  DvmdRuntimeDir *dir = dvmd_runtime_dir_acquire (NULL, fixture->path, &error);

  g_assert_no_error (error);
  return dir;
}

static void
assert_refused (Fixture *fixture, int code, const char *says)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (dvmd_runtime_dir_acquire (NULL, fixture->path, &error));
  g_assert_error (error, DVM_ERROR, code);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, says));
}

static int
listen_at (const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  g_strlcpy (address.sun_path, path, sizeof address.sun_path);
  g_assert_no_errno (bind (fd, (struct sockaddr *)&address, sizeof address));
  g_assert_no_errno (listen (fd, 1));
  return fd;
}

static void
test_life (Fixture *fixture, gconstpointer data)
{
  DvmdRuntimeDir *dir = acquire (fixture);
  g_autofree char *parent = g_path_get_dirname (fixture->path);
  g_autofree char *bus = g_build_filename (fixture->path, "bus", NULL);
  GStatBuf st;

  g_assert_cmpstr (dvmd_runtime_dir_get_path (dir), ==, fixture->path);
  g_assert_cmpstr (dvmd_runtime_dir_get_socket_path (dir), ==, bus);
  g_assert_no_errno (g_stat (fixture->path, &st));
  g_assert_cmphex (st.st_mode & 07777, ==, 0700);
  g_assert_no_errno (g_stat (dvmd_runtime_dir_get_sessions_path (dir), &st));
  g_assert_cmphex (st.st_mode & 07777, ==, 0700);
  close (listen_at (bus));
  dvmd_runtime_dir_release (dir);
  g_assert_false (g_file_test (parent, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (fixture->base, G_FILE_TEST_EXISTS));
}

static void
test_second (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmdRuntimeDir) dir = acquire (fixture);
  g_autofree char *pid = g_strdup_printf ("a DVM named \"default\" runs already with pid %d: ", getpid ());
  g_autofree char *other_path = g_build_filename (fixture->base, "dvm", "other", NULL);
  g_autoptr (DvmdRuntimeDir) other = NULL;
  g_autoptr (GError) error = NULL;

  assert_refused (fixture, DVM_ERROR_EXISTS, pid);
  other = dvmd_runtime_dir_acquire ("other", other_path, &error);
  g_assert_no_error (error);
  /* The refused one has not cleared away what the holder has. */
  g_assert_true (g_file_test (dvmd_runtime_dir_get_sessions_path (dir), G_FILE_TEST_IS_DIR));
}

static void
crash_in (const char *path)
{
  int status;
  pid_t pid = fork ();

  if (pid == 0)
    {
      DvmdRuntimeDir *dir = dvmd_runtime_dir_acquire (NULL, path, NULL);
      g_autofree char *leftover = g_build_filename (dvmd_runtime_dir_get_sessions_path (dir), "job-1", "deep", NULL);

      g_assert_no_errno (g_mkdir_with_parents (leftover, 0700));
      listen_at (dvmd_runtime_dir_get_socket_path (dir));
      kill (getpid (), SIGKILL);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL);
}

static void
test_crashed (Fixture *fixture, gconstpointer data)
{
  g_autofree char *leftover = g_build_filename (fixture->path, "sessions", "job-1", NULL);
  g_autoptr (DvmdRuntimeDir) dir = NULL;

  crash_in (fixture->path);
  g_assert_true (g_file_test (leftover, G_FILE_TEST_IS_DIR));
  dir = acquire (fixture);
  g_assert_false (g_file_test (leftover, G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test (dvmd_runtime_dir_get_socket_path (dir), G_FILE_TEST_EXISTS));
}

/* Holds what it has inherited until somebody has looked at the lock of that directory for the second time. */
static void
hold_until_second_look (const char *path, int told)
{
  char events[4096];
  int fd = inotify_init1 (IN_CLOEXEC);
  guint n = 0;

  /* Where this is wrong there is no second look. */
  alarm (60);
  g_assert_cmpint (inotify_add_watch (fd, path, IN_CREATE), >=, 0);
  g_assert_cmpint (write (told, "", 1), ==, 1);
  while (n < 2)
    {
      ssize_t size = read (fd, events, sizeof events);

      g_assert_cmpint (size, >, 0);
      for (char *next = events; next < events + size;
           next += sizeof (struct inotify_event) + ((struct inotify_event *)next)->len)
        n++;
    }
  _exit (0);
}

/* One that is killed as it starts a process has left the lock to that for a moment: the name is free all the same. */
static void
test_killed_at_fork (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmdRuntimeDir) dir = NULL;
  int told[2];
  pid_t pid;
  char byte;

  g_assert_no_errno (pipe (told));
  pid = fork ();
  if (pid == 0)
    {
      DvmdRuntimeDir *own = dvmd_runtime_dir_acquire (NULL, fixture->path, NULL);

      if (fork () == 0)
        hold_until_second_look (dvmd_runtime_dir_get_path (own), told[1]);
      pause ();
    }
  g_assert_cmpint (read (told[0], &byte, 1), ==, 1);
  g_assert_no_errno (kill (pid, SIGKILL));
  g_assert_cmpint (waitpid (pid, NULL, 0), ==, pid);
  dir = acquire (fixture);
  close (told[0]);
  close (told[1]);
}

/* Of many that start at once after a crash, exactly one gets the name, and each loser learns the winner's pid. */
static char *
build_agent_path (Fixture *fixture, const char *name)
{
  return g_build_filename (fixture->base, "dvm", name, NULL);
}

/* A place that is for all is not looked into, and what is there holds up nobody. */
static void
test_sweep_of_others (Fixture *fixture, gconstpointer data)
{
  g_autofree char *place = g_build_filename (fixture->base, "tools", NULL);
  g_autofree char *crashed = g_build_filename (place, "agent-a-1", NULL);
  g_autofree char *strange = g_build_filename (place, "agent-a-2", NULL);
  g_autofree char *lock = g_build_filename (strange, "lock", NULL);

  g_assert_no_errno (mkdir (place, 0700));
  crash_in (crashed);
  g_assert_no_errno (mkdir (strange, 0700));
  g_assert_no_errno (mkfifo (lock, 0600));
  g_assert_no_errno (chmod (place, 0755));
  dvmd_runtime_dir_sweep_place (place, "agent-");
  g_assert_true (g_file_test (crashed, G_FILE_TEST_IS_DIR));
  g_assert_no_errno (chmod (place, 0700));
  dvmd_runtime_dir_sweep_place (place, "agent-");
  g_assert_false (g_file_test (crashed, G_FILE_TEST_EXISTS));
}

/* Directories of crashed agents go with the next one, and those that have nothing in them; those in use, or of another
 * name, stay. */
static void
test_sweep (Fixture *fixture, gconstpointer data)
{
  g_autofree char *crashed = build_agent_path (fixture, "agent-a-1");
  g_autofree char *unlocked = build_agent_path (fixture, "agent-a-2");
  g_autofree char *held = build_agent_path (fixture, "agent-a-3");
  g_autofree char *own = build_agent_path (fixture, "agent-b-1");
  g_autofree char *usual = g_strdup (fixture->path);
  DvmdRuntimeDir *other, *dir;

  crash_in (fixture->path);
  crash_in (crashed);
  other = dvmd_runtime_dir_acquire (NULL, held, NULL);
  g_assert_no_errno (mkdir (unlocked, 0700));
  dir = dvmd_runtime_dir_acquire (NULL, own, NULL);
  dvmd_runtime_dir_sweep (dir, "agent-");
  g_assert_false (g_file_test (crashed, G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test (unlocked, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (dvmd_runtime_dir_get_sessions_path (other), G_FILE_TEST_IS_DIR));
  g_assert_true (g_file_test (dvmd_runtime_dir_get_sessions_path (dir), G_FILE_TEST_IS_DIR));
  g_assert_true (g_file_test (usual, G_FILE_TEST_IS_DIR));
  dvmd_runtime_dir_release (other);
  dvmd_runtime_dir_release (dir);
}

static void
test_race (Fixture *fixture, gconstpointer data)
{
  enum
  {
    RACERS = 12
  };
  pid_t pids[RACERS];
  int go[2];
  int hold[2];
  guint winners = 0;

  crash_in (fixture->path);
  g_assert_no_errno (pipe (go));
  g_assert_no_errno (pipe (hold));
  for (guint i = 0; i < RACERS; i++)
    {
      pids[i] = fork ();
      if (pids[i] == 0)
        {
          g_autoptr (GError) error = NULL;
          DvmdRuntimeDir *dir;
          char c;

          close (go[1]);
          close (hold[1]);
          if (read (go[0], &c, 1) != 0)
            _exit (3);
          dir = dvmd_runtime_dir_acquire (NULL, fixture->path, &error);
          if (dir == NULL)
            _exit (g_error_matches (error, DVM_ERROR, DVM_ERROR_EXISTS) && strstr (error->message, "pid 0:") == NULL
                       ? 1
                       : 2);
          close (go[0]);
          /* Holds until all others have had their turn. */
          if (read (hold[0], &c, 1) == 0)
            dvmd_runtime_dir_release (dir);
          _exit (0);
        }
    }
  close (go[1]);
  for (guint i = 0; i < RACERS - 1; i++)
    {
      int status;

      g_assert_cmpint (waitpid (-1, &status, 0), >, 0);
      g_assert_true (WIFEXITED (status));
      g_assert_cmpint (WEXITSTATUS (status), ==, 1);
    }
  close (hold[1]);
  for (guint i = 0; i < RACERS; i++)
    {
      int status;

      if (waitpid (pids[i], &status, 0) > 0)
        winners += WIFEXITED (status) && WEXITSTATUS (status) == 0;
    }
  g_assert_cmpuint (winners, ==, 1);
  close (go[0]);
  close (hold[0]);
  g_assert_false (g_file_test (fixture->path, G_FILE_TEST_EXISTS));
}

static void
test_unsafe (Fixture *fixture, gconstpointer data)
{
  g_autofree char *parent = g_path_get_dirname (fixture->path);
  g_autofree char *elsewhere = g_build_filename (fixture->base, "elsewhere", NULL);

  g_assert_no_errno (g_mkdir (elsewhere, 0700));
  g_assert_no_errno (symlink (elsewhere, parent));
  assert_refused (fixture, DVM_ERROR_FAILED, "it is a symbolic link or no directory");
  g_assert_no_errno (g_unlink (parent));
  g_assert_no_errno (g_mkdir (parent, 0700));
  g_assert_no_errno (g_chmod (parent, 0770));
  assert_refused (fixture, DVM_ERROR_NO_PERMISSIONS, "has mode 0770");
  g_assert_no_errno (g_chmod (parent, 0700));
  g_assert_no_errno (symlink (elsewhere, fixture->path));
  assert_refused (fixture, DVM_ERROR_FAILED, "it is a symbolic link or no directory");
  g_assert_no_errno (g_unlink (fixture->path));
  if (geteuid () == 0)
    {
      g_assert_no_errno (chown (parent, 65534, 65534));
      assert_refused (fixture, DVM_ERROR_NO_PERMISSIONS, "belongs to uid 65534, and must belong to uid 0");
    }
}

/* A disk that takes names but no bytes. */
static void
test_no_room (Fixture *fixture, gconstpointer data)
{
  g_autofree char *parent = g_path_get_dirname (fixture->path);
  void (*handler) (int) = signal (SIGXFSZ, SIG_IGN);
  struct rlimit limit;
  struct rlimit none;
  g_autoptr (GError) error = NULL;

  g_assert_no_errno (getrlimit (RLIMIT_FSIZE, &limit));
  none = limit;
  none.rlim_cur = 0;
  /* Nothing may be printed meanwhile. */
  g_assert_no_errno (setrlimit (RLIMIT_FSIZE, &none));
  dvmd_runtime_dir_acquire (NULL, fixture->path, &error);
  setrlimit (RLIMIT_FSIZE, &limit);
  signal (SIGXFSZ, handler);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "cannot make a lock file"));
  g_assert_false (g_file_test (parent, G_FILE_TEST_EXISTS));
}

static void
test_names (void)
{
  static const char *const good[] = { "default", "a", "_x", "A-1_b" };
  static const char *const bad[] = {
    "", "1a", "-a", "a/b", "..", "a b", "\xff", "ä", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  };

  for (gsize i = 0; i < G_N_ELEMENTS (good); i++)
    g_assert_true (dvmd_runtime_dir_check_name (good[i], NULL));
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_false (dvmd_runtime_dir_check_name (bad[i], &error));
      g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
    }
}

static void
test_long_path (Fixture *fixture, gconstpointer data)
{
  g_autofree char *name = g_strnfill (120, 'x');
  g_autofree char *path = g_build_filename (fixture->base, name, "default", NULL);
  g_autoptr (GError) error = NULL;

  g_assert_null (dvmd_runtime_dir_acquire (NULL, path, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM);
  g_assert_nonnull (strstr (error->message, "a unix socket's can have 107"));
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("/runtime-dir/life", test_life);
  ADD ("/runtime-dir/second", test_second);
  ADD ("/runtime-dir/crashed", test_crashed);
  ADD ("/runtime-dir/killed-at-fork", test_killed_at_fork);
  ADD ("/runtime-dir/sweep", test_sweep);
  ADD ("/runtime-dir/sweep-of-others", test_sweep_of_others);
  ADD ("/runtime-dir/race", test_race);
  ADD ("/runtime-dir/unsafe", test_unsafe);
  ADD ("/runtime-dir/no-room", test_no_room);
  g_test_add_func ("/runtime-dir/names", test_names);
  ADD ("/runtime-dir/long-path", test_long_path);
  return g_test_run ();
}

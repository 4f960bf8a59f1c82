/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib-unix.h>

#include <dvm.h>

#include "dvmd-reaper.h"
#include "dvmd-spawn.h"

#define LIMIT (60 * G_USEC_PER_SEC)
/* The argument with which this program is what the test watches. */
#define CHAIN_WORD "--chain"
/* The name of its last process. */
#define CHAIN_END "end-of-chain"

static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };

typedef struct
{
  DvmdSpawner *spawner;
  DvmdReaper *reaper;
  guint n_ended;
  int last_status;
  pid_t last_pid;
} Fixture;

static void
setup (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  memset (fixture, 0, sizeof *fixture);
  fixture->spawner = dvmd_spawner_new (&error);
  g_assert_no_error (error);
  fixture->reaper = dvmd_reaper_new (NULL, data != NULL, &error);
  g_assert_no_error (error);
}

static void
teardown (Fixture *fixture, gconstpointer data)
{
  dvmd_reaper_free (fixture->reaper);
  dvmd_spawner_free (fixture->spawner);
  g_assert_cmpint (waitpid (-1, NULL, WNOHANG), ==, -1);
}

static void
on_ended (pid_t pid, int status, gpointer user_data)
{
  Fixture *fixture = user_data;

  g_assert_false (dvmd_reaper_is_watched (fixture->reaper, pid));
  fixture->n_ended++;
  fixture->last_pid = pid;
  fixture->last_status = status;
}

static void
wait_for_ends (Fixture *fixture, guint n)
{
  gint64 end = g_get_monotonic_time () + LIMIT;

  while (fixture->n_ended < n)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_main_context_iteration (NULL, FALSE);
    }
}

/* out (nullable): what the shell writes, read to the end */
static pid_t
start (Fixture *fixture, const char *command, char **out)
{
  const char *argv[] = { "sh", "-c", command, NULL };
  DvmdSpawnRequest request = DVMD_SPAWN_REQUEST_INIT;
  g_autoptr (GError) error = NULL;
  int fds[2];
  int pidfd;
  pid_t pid;

  g_assert_true (g_unix_open_pipe (fds, FD_CLOEXEC, NULL));
  request.argv = argv;
  request.envp = env;
  request.stdout_fd = fds[1];
  pid = dvmd_spawner_spawn (fixture->spawner, &request, &pidfd, NULL, &error);
  g_assert_no_error (error);
  close (fds[1]);
  dvmd_reaper_watch (fixture->reaper, pid, pidfd, on_ended, fixture);
  g_assert_true (dvmd_reaper_is_watched (fixture->reaper, pid));
  if (out != NULL)
    {
      GString *text = g_string_new (NULL);
      char c;

      while (read (fds[0], &c, 1) == 1)
        g_string_append_c (text, c);
      *out = g_string_free (text, FALSE);
    }
  close (fds[0]);
  return pid;
}

static void
test_status (Fixture *fixture, gconstpointer data)
{
  pid_t pid = start (fixture, "exit 5", NULL);

  wait_for_ends (fixture, 1);
  g_assert_cmpint (fixture->last_pid, ==, pid);
  g_assert_cmpint (WEXITSTATUS (fixture->last_status), ==, 5);
  pid = start (fixture, "kill -TERM $$", NULL);
  wait_for_ends (fixture, 2);
  g_assert_cmpint (fixture->last_pid, ==, pid);
  g_assert_cmpint (WTERMSIG (fixture->last_status), ==, SIGTERM);
}

static void
test_many (Fixture *fixture, gconstpointer data)
{
  for (guint i = 0; i < 200; i++)
    start (fixture, "exit 0", NULL);
  wait_for_ends (fixture, 200);
  g_assert_cmpuint (dvmd_reaper_get_n_watched (fixture->reaper), ==, 0);
}

static void
test_unwatch (Fixture *fixture, gconstpointer data)
{
  gint64 end = g_get_monotonic_time () + LIMIT;
  pid_t pid = start (fixture, "exit 0", NULL);

  dvmd_reaper_unwatch (fixture->reaper, pid);
  while (kill (pid, 0) == 0)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_main_context_iteration (NULL, FALSE);
    }
  g_assert_cmpuint (fixture->n_ended, ==, 0);
}

static void
test_orphans (Fixture *fixture, gconstpointer data)
{
  g_autofree char *out = NULL;
  g_autoptr (GArray) orphans = NULL;
  gint64 end = g_get_monotonic_time () + LIMIT;
  pid_t orphan;

  start (fixture, "sleep 1000 >/dev/null & echo $!", &out);
  wait_for_ends (fixture, 1);
  orphan = (pid_t)g_ascii_strtoll (out, NULL, 10);
  orphans = dvmd_reaper_list_orphans (fixture->reaper);
  if (data == NULL)
    {
      g_assert_cmpuint (orphans->len, ==, 0);
      kill (orphan, SIGKILL);
      return;
    }
  g_assert_cmpuint (orphans->len, ==, 1);
  g_assert_cmpint (g_array_index (orphans, pid_t, 0), ==, orphan);
  kill (orphan, SIGKILL);
  while (kill (orphan, 0) == 0)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_main_context_iteration (NULL, FALSE);
    }
  g_array_unref (orphans);
  orphans = dvmd_reaper_list_orphans (fixture->reaper);
  g_assert_cmpuint (orphans->len, ==, 0);
}

/* Each of them ends as soon as the next one is there; the last one stays. */
static int
run_chain (void)
{
  for (guint i = 0; i < 3000; i++)
    {
      pid_t pid = fork ();

      if (pid != 0)
        _exit (pid > 0 ? 0 : 1);
    }
  prctl (PR_SET_NAME, CHAIN_END);
  for (;;)
    pause ();
}

static gboolean
is_end_of_chain (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/comm", pid);
  g_autofree char *name = NULL;

  return g_file_get_contents (path, &name, NULL, NULL) && g_str_equal (name, CHAIN_END "\n");
}

/* Orphans that have ended when they are looked at, and left another one behind, are not "no orphans". */
static void
test_chain (Fixture *fixture, gconstpointer data)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *command = g_strdup_printf ("exec '%s' " CHAIN_WORD " >/dev/null", self);
  gint64 end = g_get_monotonic_time () + LIMIT;
  pid_t last = 0;

  if (data == NULL)
    {
      g_test_skip ("orphans are not ours");
      return;
    }
  start (fixture, command, NULL);
  wait_for_ends (fixture, 1);
  while (last == 0 || !is_end_of_chain (last))
    {
      g_autoptr (GArray) orphans = dvmd_reaper_list_orphans (fixture->reaper);

      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_assert_cmpuint (orphans->len, >, 0);
      /* It takes as long as it takes, while it goes on. */
      if (last != g_array_index (orphans, pid_t, 0))
        end = g_get_monotonic_time () + LIMIT;
      last = g_array_index (orphans, pid_t, 0);
    }
  kill (last, SIGKILL);
  while (kill (last, 0) == 0)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_main_context_iteration (NULL, FALSE);
    }
}

static void
add (const char *name, void (*func) (Fixture *, gconstpointer))
{
  g_autofree char *plain = g_strdup_printf ("/exec/reaper/pidfd/%s", name);
  g_autofree char *adopting = g_strdup_printf ("/exec/reaper/adopting/%s", name);

  g_test_add (plain, Fixture, NULL, setup, func, teardown);
  g_test_add (adopting, Fixture, "adopt", setup, func, teardown);
}

static void
test_not_blocked (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (dvmd_reaper_new (NULL, TRUE, &error));
  g_assert_error (error, DVM_ERROR, DVM_ERROR_FAILED);
  dvmd_reaper_block_sigchld ();
}

int
main (int argc, char **argv)
{
  if (argc == 2 && strcmp (argv[1], CHAIN_WORD) == 0)
    return run_chain ();
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/exec/reaper/not-blocked", test_not_blocked);
  add ("status", test_status);
  add ("many", test_many);
  add ("unwatch", test_unwatch);
  add ("orphans", test_orphans);
  add ("chain", test_chain);
  return g_test_run ();
}

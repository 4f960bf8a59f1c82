/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib-unix.h>

#include <dvm.h>

#include "dvmd-container.h"

#define LIMIT (60 * G_USEC_PER_SEC)

static const char *const job_env[] = { "PATH=/usr/bin:/bin", "DVM_JOBID=dvm-test@1", NULL };
static const char *const other_env[] = { "PATH=/usr/bin:/bin", "DVM_JOBID=dvm-test@2", NULL };

typedef struct
{
  DvmdClock *clock;
  DvmdSpawner *spawner;
  DvmdReaper *reaper;
  DvmdContainers *set;
  guint n_ended;
  int last_status;
  guint n_finished;
  guint n_emptied;
} Fixture;

static void
setup (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  DvmdContainersKind kind = (DvmdContainersKind)GPOINTER_TO_INT (data);

  memset (fixture, 0, sizeof *fixture);
  fixture->clock = dvmd_clock_new_real (NULL);
  fixture->spawner = dvmd_spawner_new (&error);
  g_assert_no_error (error);
  fixture->reaper = dvmd_reaper_new (NULL, TRUE, &error);
  g_assert_no_error (error);
  fixture->set = dvmd_containers_new (NULL, fixture->clock, fixture->spawner, fixture->reaper, kind, &error);
  if (kind == DVMD_CONTAINERS_CGROUP && fixture->set == NULL)
    {
      g_assert_error (error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED);
      g_test_skip (error->message);
      return;
    }
  g_assert_no_error (error);
}

static void
teardown (Fixture *fixture, gconstpointer data)
{
  g_clear_pointer (&fixture->set, dvmd_containers_free);
  g_assert_cmpint (waitpid (-1, NULL, WNOHANG), ==, -1);
  dvmd_reaper_free (fixture->reaper);
  dvmd_spawner_free (fixture->spawner);
  dvmd_clock_unref (fixture->clock);
}

static void
iterate_until (gboolean (*done) (Fixture *), Fixture *fixture)
{
  gint64 end = g_get_monotonic_time () + LIMIT;

  while (!done (fixture))
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_main_context_iteration (NULL, FALSE);
      g_usleep (200);
    }
}

static void
on_ended (pid_t pid, int status, gpointer user_data)
{
  Fixture *fixture = user_data;

  fixture->n_ended++;
  fixture->last_status = status;
}

static void
on_finished (DvmdContainer *container, gpointer user_data)
{
  ((Fixture *)user_data)->n_finished++;
}

static void
on_emptied (DvmdContainer *container, pid_t pid, gpointer user_data)
{
  ((Fixture *)user_data)->n_emptied++;
}

static gboolean
one_ended (Fixture *fixture)
{
  return fixture->n_ended == 1;
}

static gboolean
one_finished (Fixture *fixture)
{
  return fixture->n_finished == 1;
}

static gboolean
one_emptied (Fixture *fixture)
{
  return fixture->n_emptied == 1;
}

static gboolean
is_alive (pid_t pid)
{
  return kill (pid, 0) == 0;
}

/* Older kernels take a process out of its cgroup a moment before it can be reaped. */
static void
assert_gone (pid_t pid)
{
  gint64 end = g_get_monotonic_time () + LIMIT;

  while (is_alive (pid))
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_main_context_iteration (NULL, FALSE);
    }
}

/* Runs a shell that writes pids of what it leaves behind on stdout, one per line, then "ready". */
static pid_t
start (Fixture *fixture, DvmdContainer *container, const char *const *env, const char *command, pid_t *left,
       guint n_left)
{
  const char *argv[] = { "sh", "-c", command, NULL };
  DvmdSpawnRequest request = DVMD_SPAWN_REQUEST_INIT;
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) text = g_string_new (NULL);
  g_auto (GStrv) lines = NULL;
  int fds[2];
  char c;
  pid_t pid;

  g_assert_true (g_unix_open_pipe (fds, FD_CLOEXEC, NULL));
  request.argv = argv;
  request.envp = env;
  request.stdout_fd = fds[1];
  request.stderr_fd = 2;
  pid = dvmd_container_spawn (container, &request, on_ended, fixture, NULL, &error);
  g_assert_no_error (error);
  close (fds[1]);
  while (strstr (text->str, "ready\n") == NULL && read (fds[0], &c, 1) == 1)
    g_string_append_c (text, c);
  close (fds[0]);
  lines = g_strsplit (text->str, "\n", -1);
  for (guint i = 0; i < n_left; i++)
    left[i] = (pid_t)g_ascii_strtoll (lines[i], NULL, 10);
  return pid;
}

static void
test_nothing_left (Fixture *fixture, gconstpointer data)
{
  DvmdContainer *container;
  pid_t pid;

  if (fixture->set == NULL)
    return;
  container = dvmd_container_new (fixture->set, job_env[1]);
  pid = start (fixture, container, job_env, "echo ready", NULL, 0);
  iterate_until (one_ended, fixture);
  g_assert_cmpint (fixture->last_status, ==, 0);
  g_assert_true (dvmd_container_rank_ended (container, pid, 0, 0, on_emptied, fixture));
  g_assert_cmpuint (fixture->n_emptied, ==, 0);
  if (!dvmd_container_finish (container, 30 * G_USEC_PER_SEC, on_finished, fixture))
    iterate_until (one_finished, fixture);
  g_assert_true (dvmd_container_finish (container, 0, NULL, NULL));
  dvmd_container_free (container);
}

static void
test_finish_at_once (Fixture *fixture, gconstpointer data)
{
  if (fixture->set == NULL)
    return;
  for (guint i = 0; i < 50; i++)
    {
      DvmdContainer *container = dvmd_container_new (fixture->set, job_env[1]);
      pid_t pid;

      fixture->n_ended = 0;
      pid = start (fixture, container, job_env, "echo ready", NULL, 0);
      iterate_until (one_ended, fixture);
      g_assert_true (dvmd_container_rank_ended (container, pid, 0, 0, NULL, NULL));
      fixture->n_finished = 0;
      if (!dvmd_container_finish (container, G_USEC_PER_SEC, on_finished, fixture))
        iterate_until (one_finished, fixture);
      g_assert_cmpuint (dvmd_container_count (container), ==, 0);
      dvmd_container_free (container);
    }
}

static void
test_never_started (Fixture *fixture, gconstpointer data)
{
  const char *argv[] = { "no-such-program", NULL };
  DvmdSpawnRequest request = DVMD_SPAWN_REQUEST_INIT;
  g_autoptr (GError) error = NULL;
  DvmdContainer *container;
  int exit_code = 0;

  if (fixture->set == NULL)
    return;
  container = dvmd_container_new (fixture->set, job_env[1]);
  request.argv = argv;
  request.envp = job_env;
  g_assert_cmpint (dvmd_container_spawn (container, &request, on_ended, fixture, &exit_code, &error), ==, -1);
  g_assert_error (error, DVM_ERROR, DVM_ERROR_LAUNCH_FAILED);
  g_assert_cmpint (exit_code, ==, 127);
  g_assert_false (dvmd_container_signal (container, SIGTERM));
  g_assert_true (dvmd_container_finish (container, 0, NULL, NULL));
  dvmd_container_free (container);
}

/* Leftovers of every kind: all are gone when finish has called back. */
static void
run_leftovers (Fixture *fixture, const char *command, guint n_left, gint64 grace)
{
  DvmdContainer *container = dvmd_container_new (fixture->set, job_env[1]);
  pid_t left[8] = { 0 };
  pid_t pid = start (fixture, container, job_env, command, left, n_left);

  iterate_until (one_ended, fixture);
  dvmd_container_rank_ended (container, pid, 10 * G_USEC_PER_SEC, 10 * G_USEC_PER_SEC, on_emptied, fixture);
  for (guint i = 0; i < n_left; i++)
    {
      g_assert_cmpint (left[i], >, 1);
      g_assert_true (is_alive (left[i]));
    }
  g_assert_cmpuint (dvmd_container_count (container), >=, n_left);
  g_assert_false (dvmd_container_finish (container, grace, on_finished, fixture));
  iterate_until (one_finished, fixture);
  for (guint i = 0; i < n_left; i++)
    assert_gone (left[i]);
  g_assert_cmpuint (dvmd_container_count (container), ==, 0);
  dvmd_container_free (container);
}

static void
test_background (Fixture *fixture, gconstpointer data)
{
  if (fixture->set != NULL)
    run_leftovers (fixture, "sleep 1000 & echo $!; echo ready", 1, 30 * G_USEC_PER_SEC);
  g_assert_cmpuint (fixture->set != NULL ? fixture->n_emptied : 1, ==, 1);
}

static void
test_daemonized (Fixture *fixture, gconstpointer data)
{
  if (fixture->set != NULL)
    run_leftovers (fixture, "setsid sh -c '(sleep 1000 & echo $!)'; echo ready", 1, 30 * G_USEC_PER_SEC);
}

static void
test_ignores_term (Fixture *fixture, gconstpointer data)
{
  if (fixture->set != NULL)
    run_leftovers (
        fixture,
        "setsid sh -c 'trap \"\" TERM; (sleep 1000 & echo $!)'; trap '' TERM; sleep 1000 & echo $!; echo ready", 2,
        20000);
}

static void
test_no_environment (Fixture *fixture, gconstpointer data)
{
  if (fixture->set != NULL)
    run_leftovers (fixture, "env -i setsid sh -c '(sleep 1000 & echo $!)'; echo ready", 1, 30 * G_USEC_PER_SEC);
}

static void
test_stopped (Fixture *fixture, gconstpointer data)
{
  if (fixture->set != NULL)
    run_leftovers (fixture, "sleep 1000 & kill -STOP $!; echo $!; echo ready", 1, 30 * G_USEC_PER_SEC);
}

static void
test_tree (Fixture *fixture, gconstpointer data)
{
  if (fixture->set != NULL)
    run_leftovers (
        fixture, "setsid sh -c '(setsid sh -c \"sleep 1000 & echo \\$\\$; echo \\$!; wait\" & sleep 0.2)'; echo ready",
        2, 0);
}

static void
test_other_job_stays (Fixture *fixture, gconstpointer data)
{
  DvmdContainer *container;
  DvmdContainer *other;
  pid_t left;
  pid_t other_left;
  pid_t pid;
  pid_t other_pid;

  if (fixture->set == NULL)
    return;
  container = dvmd_container_new (fixture->set, job_env[1]);
  other = dvmd_container_new (fixture->set, other_env[1]);
  other_pid = start (fixture, other, other_env, "setsid sh -c '(sleep 1000 & echo $!)'; echo ready; exec sleep 1000",
                     &other_left, 1);
  pid = start (fixture, container, job_env, "setsid sh -c '(sleep 1000 & echo $!)'; echo ready", &left, 1);
  iterate_until (one_ended, fixture);
  dvmd_container_rank_ended (container, pid, 0, 0, NULL, NULL);
  g_assert_false (dvmd_container_finish (container, 30 * G_USEC_PER_SEC, on_finished, fixture));
  iterate_until (one_finished, fixture);
  assert_gone (left);
  g_assert_true (is_alive (other_left));
  g_assert_true (is_alive (other_pid));
  g_assert_cmpuint (dvmd_container_count (other), ==, 2);
  dvmd_container_free (container);

  fixture->n_ended = fixture->n_finished = 0;
  dvmd_container_terminate (other, 30 * G_USEC_PER_SEC);
  iterate_until (one_ended, fixture);
  g_assert_true (WIFSIGNALED (fixture->last_status));
  g_assert_cmpint (WTERMSIG (fixture->last_status), ==, SIGTERM);
  dvmd_container_rank_ended (other, other_pid, 0, 0, NULL, NULL);
  if (!dvmd_container_finish (other, 30 * G_USEC_PER_SEC, on_finished, fixture))
    iterate_until (one_finished, fixture);
  assert_gone (other_left);
  dvmd_container_free (other);
}

/* Between two programs a process has no environment to be known by: it belongs to its job all the same. */
static void
test_changes_programs (Fixture *fixture, gconstpointer data)
{
  DvmdContainer *other;

  if (fixture->set == NULL)
    return;
  /* With another job at hand, who is not known by anything is not taken for this one's. */
  other = dvmd_container_new (fixture->set, other_env[1]);
  for (guint i = 0; i < 50; i++)
    {
      fixture->n_ended = fixture->n_finished = 0;
      /* SIGTERM ends it, however unclear it was when that was sent first: nobody waits for SIGKILL. */
      run_leftovers (fixture, "export X='exec sh -c \"$X\"'; setsid sh -c \"$X\" & echo $!; echo ready", 1, 10 * LIMIT);
    }
  if (!dvmd_container_finish (other, 0, on_finished, fixture))
    iterate_until (one_finished, fixture);
  dvmd_container_free (other);
}

static void
test_escalation (Fixture *fixture, gconstpointer data)
{
  DvmdContainer *container;
  pid_t pid;

  if (fixture->set == NULL)
    return;
  container = dvmd_container_new (fixture->set, job_env[1]);
  pid = start (fixture, container, job_env, "trap '' TERM; echo ready; while :; do sleep 1; done", NULL, 0);
  dvmd_container_terminate (container, 20000);
  iterate_until (one_ended, fixture);
  g_assert_cmpint (WTERMSIG (fixture->last_status), ==, SIGKILL);
  dvmd_container_rank_ended (container, pid, 0, 0, NULL, NULL);
  if (!dvmd_container_finish (container, 0, on_finished, fixture))
    iterate_until (one_finished, fixture);
  dvmd_container_free (container);
}

static void
test_signals (Fixture *fixture, gconstpointer data)
{
  DvmdContainer *container;
  pid_t first;
  pid_t second;

  if (fixture->set == NULL)
    return;
  container = dvmd_container_new (fixture->set, job_env[1]);
  first = start (fixture, container, job_env, "trap 'exit 3' USR1; echo ready; while :; do sleep 0.01; done", NULL, 0);
  second = start (fixture, container, job_env, "trap 'exit 4' USR1; echo ready; while :; do sleep 0.01; done", NULL, 0);
  g_assert_cmpuint (dvmd_container_count (container), >=, 2);
  g_assert_true (dvmd_container_signal_rank (container, second, SIGUSR1));
  iterate_until (one_ended, fixture);
  g_assert_cmpint (WEXITSTATUS (fixture->last_status), ==, 4);
  dvmd_container_rank_ended (container, second, 0, 0, NULL, NULL);
  g_assert_false (dvmd_container_signal_rank (container, second, SIGUSR1));
  fixture->n_ended = 0;
  g_assert_true (dvmd_container_signal (container, SIGUSR1));
  iterate_until (one_ended, fixture);
  g_assert_cmpint (WEXITSTATUS (fixture->last_status), ==, 3);
  dvmd_container_rank_ended (container, first, 0, 0, NULL, NULL);
  g_assert_false (dvmd_container_signal (container, SIGUSR1));
  if (!dvmd_container_finish (container, 0, on_finished, fixture))
    iterate_until (one_finished, fixture);
  dvmd_container_free (container);
}

/* Processes that a rank leaves in its process group get a while to end by themselves. */
static void
test_linger (Fixture *fixture, gconstpointer data)
{
  DvmdContainer *container;
  pid_t left;
  pid_t pid;

  if (fixture->set == NULL)
    return;
  container = dvmd_container_new (fixture->set, job_env[1]);
  pid = start (fixture, container, job_env, "sleep 0.1 & echo $!; echo ready", &left, 1);
  iterate_until (one_ended, fixture);
  if (!dvmd_container_rank_ended (container, pid, LIMIT, LIMIT, on_emptied, fixture))
    iterate_until (one_emptied, fixture);
  assert_gone (left);

  fixture->n_ended = fixture->n_emptied = 0;
  pid = start (fixture, container, job_env, "(trap '' TERM; exec sleep 1000) & echo $!; echo ready", &left, 1);
  iterate_until (one_ended, fixture);
  g_assert_false (dvmd_container_rank_ended (container, pid, 5000, 5000, on_emptied, fixture));
  iterate_until (one_emptied, fixture);
  assert_gone (left);
  if (!dvmd_container_finish (container, 0, on_finished, fixture))
    iterate_until (one_finished, fixture);
  dvmd_container_free (container);
}

static void
test_finish_with_ranks (Fixture *fixture, gconstpointer data)
{
  DvmdContainer *container;
  pid_t pid;

  if (fixture->set == NULL)
    return;
  container = dvmd_container_new (fixture->set, job_env[1]);
  pid = start (fixture, container, job_env, "echo ready; exec sleep 1000", NULL, 0);
  g_assert_false (dvmd_container_finish (container, 30 * G_USEC_PER_SEC, on_finished, fixture));
  iterate_until (one_ended, fixture);
  g_assert_cmpuint (fixture->n_finished, ==, 0);
  dvmd_container_rank_ended (container, pid, 0, 0, NULL, NULL);
  iterate_until (one_finished, fixture);
  dvmd_container_free (container);
}

/* An orphan that was there before any job, such as a bus daemon that a library started, is none of a job's. */
static void
test_older_orphan_stays (Fixture *fixture, gconstpointer data)
{
  const char *argv[] = { "sh", "-c", "sleep 1000 >/dev/null & echo $!", NULL };
  DvmdSpawnRequest request = DVMD_SPAWN_REQUEST_INIT;
  char buffer[32] = { 0 };
  DvmdContainer *container;
  pid_t older;
  pid_t pid;
  int fds[2];

  if (fixture->set == NULL)
    return;
  g_assert_true (g_unix_open_pipe (fds, FD_CLOEXEC, NULL));
  request.argv = argv;
  request.envp = other_env;
  request.stdout_fd = fds[1];
  pid = dvmd_spawner_spawn (fixture->spawner, &request, NULL, NULL, NULL);
  dvmd_reaper_watch (fixture->reaper, pid, -1, on_ended, fixture);
  iterate_until (one_ended, fixture);
  g_assert_cmpint (read (fds[0], buffer, sizeof buffer - 1), >, 0);
  older = atoi (buffer);
  close (fds[0]);
  close (fds[1]);
  /* More than the unit of time of /proc. */
  g_usleep (50000);

  fixture->n_ended = 0;
  container = dvmd_container_new (fixture->set, job_env[1]);
  pid = start (fixture, container, job_env, "echo ready", NULL, 0);
  iterate_until (one_ended, fixture);
  dvmd_container_rank_ended (container, pid, 0, 0, NULL, NULL);
  if (!dvmd_container_finish (container, 0, on_finished, fixture))
    iterate_until (one_finished, fixture);
  dvmd_container_free (container);
  g_assert_true (is_alive (older));
  kill (older, SIGKILL);
  assert_gone (older);
}

static void
test_abandoned (Fixture *fixture, gconstpointer data)
{
  DvmdContainer *container;
  pid_t pid;

  if (fixture->set == NULL)
    return;
  /* Freed in the middle of its clean-up: no callback, no timer stays. */
  container = dvmd_container_new (fixture->set, job_env[1]);
  pid = start (fixture, container, job_env, "echo ready; exec sleep 1000", NULL, 0);
  g_assert_false (dvmd_container_finish (container, 0, on_finished, fixture));
  iterate_until (one_ended, fixture);
  dvmd_container_rank_ended (container, pid, 0, 0, on_emptied, fixture);
  dvmd_container_free (container);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_assert_cmpuint (fixture->n_finished, ==, 0);
}

static void
add (const char *name, void (*func) (Fixture *, gconstpointer))
{
  g_autofree char *groups = g_strdup_printf ("/exec/container/groups/%s", name);
  g_autofree char *cgroup = g_strdup_printf ("/exec/container/cgroup/%s", name);

  g_test_add (groups, Fixture, GINT_TO_POINTER (DVMD_CONTAINERS_GROUPS), setup, func, teardown);
  g_test_add (cgroup, Fixture, GINT_TO_POINTER (DVMD_CONTAINERS_CGROUP), setup, func, teardown);
}

int
main (int argc, char **argv)
{
  dvmd_reaper_block_sigchld ();
  g_test_init (&argc, &argv, NULL);
  add ("nothing-left", test_nothing_left);
  add ("finish-at-once", test_finish_at_once);
  add ("never-started", test_never_started);
  add ("background", test_background);
  add ("daemonized", test_daemonized);
  add ("ignores-term", test_ignores_term);
  add ("no-environment", test_no_environment);
  add ("stopped", test_stopped);
  add ("tree", test_tree);
  add ("other-job-stays", test_other_job_stays);
  add ("changes-programs", test_changes_programs);
  add ("escalation", test_escalation);
  add ("signals", test_signals);
  add ("linger", test_linger);
  add ("finish-with-ranks", test_finish_with_ranks);
  add ("older-orphan-stays", test_older_orphan_stays);
  add ("abandoned", test_abandoned);
  return g_test_run ();
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "test-exec-cgroup"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dvmd-cgroup.h"

#define SAFETY_LIMIT_S 60

typedef struct
{
  DvmdClock *clock;
  DvmdCgroups *cgroups;
  DvmdCgroup *cgroup;
  char *path;
  pid_t pid; /* lives in the cgroup */
} Fixture;

static char *
find_path (int dir_fd)
{
  g_autofree char *link = g_strdup_printf ("/proc/self/fd/%d", dir_fd);

  return g_file_read_link (link, NULL);
}

static void
start_process (Fixture *fixture)
{
  char number[16];
  int fd;

  fixture->pid = fork ();
  if (fixture->pid == 0)
    for (;;)
      pause ();
  g_assert_cmpint (fixture->pid, >, 0);
  fd = openat (dvmd_cgroup_get_fd (fixture->cgroup), "cgroup.procs", O_WRONLY);
  g_snprintf (number, sizeof number, "%d", fixture->pid);
  g_assert_cmpint (write (fd, number, strlen (number)), ==, (gssize)strlen (number));
  close (fd);
}

static void
end_process (Fixture *fixture)
{
  kill (fixture->pid, SIGKILL);
  g_assert_cmpint (waitpid (fixture->pid, NULL, 0), ==, fixture->pid);
}

/* FALSE: the test is skipped. A cgroup that was killed once, and so will not be kept, with a process in it. */
static gboolean
set_up (Fixture *fixture)
{
  g_autoptr (GError) error = NULL;

  fixture->clock = dvmd_clock_new_manual (0);
  fixture->cgroups = dvmd_cgroups_new (fixture->clock, &error);
  if (fixture->cgroups == NULL)
    {
      g_test_skip (error->message);
      return FALSE;
    }
  fixture->cgroup = dvmd_cgroups_take (fixture->cgroups, &error);
  g_assert_no_error (error);
  dvmd_cgroup_kill (fixture->cgroup);
  fixture->path = find_path (dvmd_cgroup_get_fd (fixture->cgroup));
  start_process (fixture);
  return TRUE;
}

static void
clear (Fixture *fixture)
{
  g_clear_pointer (&fixture->cgroups, dvmd_cgroups_free);
  g_clear_pointer (&fixture->clock, dvmd_clock_unref);
  g_free (fixture->path);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Fixture, clear)

static void
await_removal (Fixture *fixture)
{
  gint64 limit = g_get_monotonic_time () + SAFETY_LIMIT_S * G_USEC_PER_SEC;

  while (access (fixture->path, F_OK) == 0)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, limit);
      g_thread_yield ();
      dvmd_clock_advance (fixture->clock, G_USEC_PER_SEC);
    }
}

/* A caller that gives back a busy group goes on at once, and the main loop removes it. */
static void
test_busy (void)
{
  g_auto (Fixture) fixture = { 0 };

  if (!set_up (&fixture))
    return;
  dvmd_cgroups_give_back (fixture.cgroups, fixture.cgroup);
  g_assert_cmpint (access (fixture.path, F_OK), ==, 0);
  g_assert_cmpint (kill (fixture.pid, 0), ==, 0);
  end_process (&fixture);
  await_removal (&fixture);
}

/* That takes long: one message. */
static void
test_very_busy (void)
{
  g_auto (Fixture) fixture = { 0 };

  if (!set_up (&fixture))
    return;
  dvmd_cgroups_give_back (fixture.cgroups, fixture.cgroup);
  g_test_expect_message ("dvmd-cgroup", G_LOG_LEVEL_MESSAGE, "*cannot be removed yet*");
  dvmd_clock_advance (fixture.clock, 60 * G_USEC_PER_SEC);
  g_test_assert_expected_messages ();
  end_process (&fixture);
  await_removal (&fixture);
}

/* Nothing is left at the end, although no timer has run. */
static void
test_end (void)
{
  g_auto (Fixture) fixture = { 0 };

  if (!set_up (&fixture))
    return;
  dvmd_cgroups_give_back (fixture.cgroups, fixture.cgroup);
  end_process (&fixture);
  g_clear_pointer (&fixture.cgroups, dvmd_cgroups_free);
  g_assert_cmpint (access (fixture.path, F_OK), !=, 0);
  dvmd_clock_advance (fixture.clock, 60 * G_USEC_PER_SEC);
}

/* A group that will not go is told of, and no timer looks at it any more. */
static void
test_end_busy (void)
{
  g_auto (Fixture) fixture = { 0 };

  if (!set_up (&fixture))
    return;
  dvmd_cgroups_give_back (fixture.cgroups, fixture.cgroup);
  g_test_expect_message ("dvmd-cgroup", G_LOG_LEVEL_MESSAGE, "*is left behind*");
  g_clear_pointer (&fixture.cgroups, dvmd_cgroups_free);
  g_test_assert_expected_messages ();
  end_process (&fixture);
  dvmd_clock_advance (fixture.clock, 60 * G_USEC_PER_SEC);
  while (rmdir (fixture.path) != 0 && errno == EBUSY)
    g_usleep (1000);
}

/* In a pid namespace of its own, with a pid that no process outside has: a cgroup with a process, whose path it writes
 * to fd. */
static void
live_apart (int fd)
{
  g_autoptr (DvmdClock) clock = dvmd_clock_new_manual (0);
  DvmdCgroups *cgroups;
  Fixture fixture = { 0 };
  g_autofree char *path = NULL;
  g_autofree char *proc = NULL;
  pid_t next;

  /* /proc is that of outside. */
  while (proc == NULL || access (proc, F_OK) == 0)
    {
      next = fork ();
      g_assert_cmpint (next, >=, 0);
      if (next > 0)
        {
          waitpid (next, NULL, 0);
          _exit (0);
        }
      g_free (proc);
      proc = g_strdup_printf ("/proc/%d", getpid ());
    }
  cgroups = dvmd_cgroups_new (clock, NULL);
  fixture.cgroup = dvmd_cgroups_take (cgroups, NULL);
  start_process (&fixture);
  path = find_path (dvmd_cgroup_get_fd (fixture.cgroup));
  g_assert_cmpint (write (fd, path, strlen (path)), ==, (gssize)strlen (path));
  close (fd);
  for (;;)
    pause ();
}

/* The first process of a pid namespace, with which all others there end, until nobody has the other end of told any
 * more. */
static pid_t
start_apart (int tells, int told[2])
{
  pid_t keeper = fork ();
  pid_t first;
  char byte;

  if (keeper != 0)
    return keeper;
  close (told[1]);
  if (unshare (CLONE_NEWPID) != 0)
    _exit (1);
  first = fork ();
  if (first == 0)
    live_apart (tells);
  close (tells);
  while (read (told[0], &byte, 1) > 0)
    ;
  kill (first, SIGKILL);
  waitpid (first, NULL, 0);
  _exit (0);
}

/* A daemon of another pid namespace in the same cgroup has not died because its pid is nobody's here. */
static void
test_namespaces (void)
{
  g_autoptr (DvmdClock) clock = dvmd_clock_new_manual (0);
  g_autoptr (DvmdCgroups) cgroups = NULL;
  g_autofree char *procs = NULL;
  g_autofree char *text = NULL;
  char path[512] = "";
  int tells[2];
  int told[2];
  pid_t keeper;

  if (!dvmd_cgroups_check (NULL) || geteuid () != 0)
    {
      g_test_skip ("only root makes pid namespaces, and cgroups everywhere");
      return;
    }
  g_assert_cmpint (pipe (tells), ==, 0);
  g_assert_cmpint (pipe (told), ==, 0);
  keeper = start_apart (tells[1], told);
  close (tells[1]);
  close (told[0]);
  g_assert_cmpint (read (tells[0], path, sizeof path - 1), >, 0);
  close (tells[0]);
  cgroups = dvmd_cgroups_new (clock, NULL);
  procs = g_build_filename (path, "cgroup.procs", NULL);
  g_assert_true (g_file_get_contents (procs, &text, NULL, NULL));
  g_assert_cmpstr (text, !=, "");
  close (told[1]);
  g_assert_cmpint (waitpid (keeper, NULL, 0), ==, keeper);
  while (rmdir (path) != 0)
    {
      g_assert_cmpint (errno, ==, EBUSY);
      g_usleep (1000);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/exec/cgroup/busy", test_busy);
  g_test_add_func ("/exec/cgroup/very-busy", test_very_busy);
  g_test_add_func ("/exec/cgroup/end", test_end);
  g_test_add_func ("/exec/cgroup/end-busy", test_end_busy);
  g_test_add_func ("/exec/cgroup/namespaces", test_namespaces);
  return g_test_run ();
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The guard outlives what it guards, and ends all that is left of it.
 */

#include "config.h"

#include "dvmd-guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dvmd-cgroup-name.h"

/* The limit of paths of cgroups that are looked at. */
#define PATH_SIZE 1024
/* ns from one try to the next to remove a busy cgroup, five seconds in all */
#define REMOVE_PAUSE 5000000
#define REMOVE_TRIES 1000

typedef struct
{
  pid_t child; /* the inner guard for the outer one, the agent for the inner one */
  pid_t agent;
  pid_t parent; /* of the inner guard: the outer one; of that: the controller of this machine, else 0 */
  sigset_t signals;
} Guard;

static const int passed_on[] = { SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT };

/* End it now, and all that is below it. */
static bool
is_order (int signum)
{
  return signum == SIGQUIT || signum == SIGALRM;
}

/* ---- ending what is left ---- */

/* Field 4 of /proc/PID/stat. */
static pid_t
get_parent (const char *pid)
{
  char path[64];
  char text[512];
  const char *rest;
  ssize_t n;
  int fd;
  int parent = 0;

  snprintf (path, sizeof path, "/proc/%.20s/stat", pid);
  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  n = read (fd, text, sizeof text - 1);
  close (fd);
  text[n > 0 ? n : 0] = '\0';
  rest = strrchr (text, ')');
  return rest != NULL && sscanf (rest + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* For kernels without the file of children. */
static int
kill_children_by_scan (void)
{
  DIR *dir = opendir ("/proc");
  struct dirent *entry;
  int n_killed = 0;

  while (dir != NULL && (entry = readdir (dir)) != NULL)
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && get_parent (entry->d_name) == getpid ())
      n_killed += kill (atoi (entry->d_name), SIGKILL) == 0;
  if (dir != NULL)
    closedir (dir);
  return n_killed;
}

/* The guard alone reaps its children, so that their pids are not reused before it has waited for them. */
static int
kill_children (void)
{
  char path[64];
  char text[4096];
  int n_killed = 0;
  ssize_t n;
  int fd;
  char *next = text;

  snprintf (path, sizeof path, "/proc/self/task/%d/children", getpid ());
  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return kill_children_by_scan ();
  n = read (fd, text, sizeof text - 1);
  close (fd);
  text[n > 0 ? n : 0] = '\0';
  /* Children that do not fit into the buffer come in the next round; a number that was cut is none. */
  while (strchr (next, ' ') != NULL)
    {
      n_killed += kill ((pid_t)strtol (next, &next, 10), SIGKILL) == 0;
      next += strspn (next, " ");
    }
  return n_killed;
}

/*
 * Each who dies leaves us its children: so it goes on until there are none. A program that is not ours to kill (it has
 * taken another uid) is left alone.
 */
static void
end_descendants (void)
{
  while (kill_children () > 0)
    {
      waitpid (-1, NULL, __WALL);
      while (waitpid (-1, NULL, __WALL | WNOHANG) > 0)
        ;
    }
}

/* Copies what stands behind the last of the marks in the first line that has it. */
static bool
find_in_file (const char *file, const char *mark, char *line, size_t size)
{
  FILE *stream = fopen (file, "re");
  bool found = false;

  while (stream != NULL && !found && fgets (line, (int)size, stream) != NULL)
    found = strstr (line, mark) != NULL;
  if (stream != NULL)
    fclose (stream);
  return found;
}

/* The directory of our own cgroup of version 2. */
static bool
find_cgroup (char path[PATH_SIZE])
{
  char mount[PATH_SIZE];
  char own[PATH_SIZE];
  char root[PATH_SIZE];
  char *place;
  size_t length;

  if (!find_in_file ("/proc/self/mountinfo", " - cgroup2 ", own, sizeof own)
      || sscanf (own, "%*s %*s %*s %1023s %1023s", root, mount) != 2
      || !find_in_file ("/proc/self/cgroup", "0::/", own, sizeof own) || strncmp (own, "0::", 3) != 0)
    return false;
  place = own + 3;
  place[strcspn (place, "\n")] = '\0';
  length = strcmp (root, "/") == 0 ? 0 : strlen (root);
  if (strncmp (place, root, length) == 0)
    place += length;
  return snprintf (path, PATH_SIZE, "%s%s", mount, place) < PATH_SIZE;
}

/* False: not done. */
typedef bool (*CgroupFunc) (int dir_fd, const char *name);

static bool
kill_cgroup (int dir_fd, const char *name)
{
  char path[PATH_SIZE];
  bool done;
  int fd;

  snprintf (path, sizeof path, "%.255s/cgroup.kill", name);
  fd = openat (dir_fd, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  done = write (fd, "1", 1) == 1;
  close (fd);
  return done;
}

static bool
remove_cgroup (int dir_fd, const char *name)
{
  return unlinkat (dir_fd, name, AT_REMOVEDIR) == 0 || errno != EBUSY;
}

/* The cgroups that the agent has made for its jobs, below our own. False: not done for all of them. */
static bool
for_each_cgroup (pid_t agent, CgroupFunc func)
{
  bool done = true;
  char path[PATH_SIZE];
  char prefix[DVMD_CGROUP_PREFIX_SIZE];
  struct dirent *entry;
  DIR *dir;

  if (!find_cgroup (path))
    return true;
  dvmd_cgroup_get_prefix (agent, prefix);
  dir = opendir (path);
  while (dir != NULL && (entry = readdir (dir)) != NULL)
    if (strncmp (entry->d_name, prefix, strlen (prefix)) == 0)
      done = func (dirfd (dir), entry->d_name) && done;
  if (dir != NULL)
    closedir (dir);
  return done;
}

/* A process that was reaped just now may keep its cgroup busy for a moment. */
static void
remove_cgroups (pid_t agent)
{
  const struct timespec pause = { .tv_nsec = REMOVE_PAUSE };

  for (int i = 0; !for_each_cgroup (agent, remove_cgroup) && i < REMOVE_TRIES; i++)
    nanosleep (&pause, NULL);
}

/* ---- watching ---- */

static int
get_seconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (int)now.tv_sec;
}

/* The agent has ended: it was never our child any more, or it is a child that can be reaped. */
static bool
agent_has_ended (Guard *self)
{
  siginfo_t info = { 0 };

  return waitid (P_PID, (id_t)self->agent, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 || info.si_pid != 0;
}

/* Reaps whoever has ended. True: our child was among them, and this is its status. */
static bool
reap (Guard *self, int *status)
{
  bool found = false;
  int one;
  pid_t pid;

  while ((pid = waitpid (-1, &one, __WALL | WNOHANG)) > 0)
    if (pid == self->child)
      {
        found = true;
        *status = one;
      }
  return found;
}

/* A scheduler signals all that it has started, the inner guard too, which gets the same order from the outer one. */
static bool
is_from_above (Guard *self, const siginfo_t *info)
{
  return self->child != self->agent || info->si_pid == self->parent;
}

/*
 * Until our child has ended, or the time that it gets when our parent was killed is over, or we are told to end it for
 * the second time: it may stand still. Then we are the one who answers for the agent.
 */
static bool
watch_agent (Guard *self, int *status)
{
  const struct timespec second = { .tv_sec = 1 };
  int deadline = 0;
  int n_terms = 0;

  while (!reap (self, status))
    {
      siginfo_t info = { 0 };
      int signum = sigtimedwait (&self->signals, &info, deadline != 0 ? &second : NULL);

      if (self->parent != 0 && deadline == 0 && getppid () != self->parent)
        {
          deadline = get_seconds () + DVMD_GUARD_GRACE;
          signum = SIGTERM;
        }
      if ((deadline != 0 && get_seconds () >= deadline) || is_order (signum))
        return false;
      if (signum == SIGTERM && deadline == 0 && is_from_above (self, &info) && ++n_terms > 1)
        return false;
      if (signum > 0 && signum != SIGCHLD)
        kill (self->child, signum);
    }
  return true;
}

/* The inner guard was killed: the agent has got SIGTERM, and is our child now. */
static void
wait_for_agent (Guard *self)
{
  const struct timespec second = { .tv_sec = 1 };
  int deadline = get_seconds () + DVMD_GUARD_GRACE;

  while (!agent_has_ended (self) && get_seconds () < deadline)
    if (is_order (sigtimedwait (&self->signals, NULL, &second)))
      return;
}

static int
guard (Guard *self)
{
  int status = 0;
  int null_fd = open ("/dev/null", O_RDWR | O_CLOEXEC);

  /* The standard streams are the agent's: a reader that waits for their end must not wait for the guard. */
  for (int fd = 0; fd < 3 && null_fd >= 0; fd++)
    dup2 (null_fd, fd);
  if (null_fd > 2)
    close (null_fd);
  if (!watch_agent (self, &status))
    status = SIGKILL;
  else if (self->child != self->agent && WIFSIGNALED (status))
    wait_for_agent (self);
  /*
   * Also when the agent has ended well and nobody seems to be left: guards that looked for nobody then have been
   * outlived, under load, by a chain of processes that fork, and it is not known why.
   */
  /* Where a cgroup cannot be killed its processes are ended one by one. */
  for_each_cgroup (self->agent, kill_cgroup);
  end_descendants ();
  remove_cgroups (self->agent);
  return status;
}

/* ---- starting ---- */

static void
block_signals (Guard *self, sigset_t *before)
{
  sigemptyset (&self->signals);
  sigaddset (&self->signals, SIGCHLD);
  sigaddset (&self->signals, SIGQUIT);
  sigaddset (&self->signals, SIGALRM);
  for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++)
    sigaddset (&self->signals, passed_on[i]);
  sigprocmask (SIG_BLOCK, &self->signals, before);
  signal (SIGCHLD, SIG_DFL);
}

static _Noreturn void
execute (char *const argv[], const sigset_t *mask, pid_t parent)
{
  setpgid (0, 0);
  prctl (PR_SET_PDEATHSIG, SIGTERM);
  if (getppid () != parent)
    raise (SIGTERM);
  sigprocmask (SIG_SETMASK, mask, NULL);
  execvp (argv[0], argv);
  fprintf (stderr, "dvm-guard: %s cannot be started: %s\n", argv[0], strerror (errno));
  _exit (errno == ENOENT ? 127 : 126);
}

static _Noreturn void
fail_start (const char *what)
{
  fprintf (stderr, "dvm-guard: %s: %s\n", what, strerror (errno));
  _exit (125);
}

static _Noreturn void
end_like (int status)
{
  sigset_t mask;

  if (WIFEXITED (status))
    _exit (WEXITSTATUS (status));
  /* One dump is enough. */
  prctl (PR_SET_DUMPABLE, 0);
  sigemptyset (&mask);
  sigaddset (&mask, WTERMSIG (status));
  signal (WTERMSIG (status), SIG_DFL);
  raise (WTERMSIG (status));
  sigprocmask (SIG_UNBLOCK, &mask, NULL);
  _exit (128 + WTERMSIG (status));
}

static _Noreturn void
run_inner (Guard *self, char *const argv[], const sigset_t *mask, int report_fd)
{
  pid_t own = getpid ();

  setsid ();
  prctl (PR_SET_CHILD_SUBREAPER, 1);
  prctl (PR_SET_PDEATHSIG, SIGTERM);
  if (getppid () != self->parent)
    _exit (128 + SIGTERM);
  self->agent = self->child = fork ();
  if (self->agent == 0)
    execute (argv, mask, own);
  if (self->agent < 0)
    fail_start ("cannot fork");
  if (write (report_fd, &self->agent, sizeof self->agent) != sizeof self->agent)
    kill (self->agent, SIGKILL);
  close (report_fd);
  end_like (guard (self));
}

/*
 * The controller of this machine has us killed when it ends. Then there would be nobody, if the inner guard and the
 * agent were killed with it: so we are told instead, and end what is below us. By a signal that is not passed on: it
 * comes once for each thread of the controller that ends.
 */
static void
outlive_parent (Guard *self)
{
  pid_t parent = getppid ();
  int signum = 0;

  if (prctl (PR_GET_PDEATHSIG, &signum) != 0 || signum != SIGKILL || prctl (PR_SET_PDEATHSIG, SIGCHLD) != 0)
    return;
  self->parent = parent;
  if (getppid () != parent)
    kill (getpid (), SIGCHLD);
}

void
dvmd_guard_run (char *const argv[])
{
  Guard self = { 0 };
  Guard inner;
  sigset_t before;
  int ends[2];

  if (prctl (PR_SET_CHILD_SUBREAPER, 1) != 0 || pipe2 (ends, O_CLOEXEC) != 0)
    fail_start ("cannot guard");
  block_signals (&self, &before);
  outlive_parent (&self);
  inner = self;
  inner.parent = getpid ();
  self.child = fork ();
  if (self.child == 0)
    {
      close (ends[0]);
      run_inner (&inner, argv, &before, ends[1]);
    }
  close (ends[1]);
  if (self.child < 0)
    fail_start ("cannot fork");
  /* Nothing comes when the inner one has failed; it has said why. */
  if (read (ends[0], &self.agent, sizeof self.agent) != sizeof self.agent)
    self.agent = 0;
  close (ends[0]);
  end_like (guard (&self));
}

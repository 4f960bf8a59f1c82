/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The guard with real processes: what it is given as an agent is this program with another first argument, or a shell.
 */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gio/gio.h>
#include <glib/gstdio.h>

#include "dvmd-cgroup-name.h"
#include "dvmd-cgroup.h"
#include "dvmd-guard.h"
#include "dvmd-proc-scan.h"
#include "process-state.h"

#define LIMIT (60 * G_USEC_PER_SEC)
/* s; longer than any test waits, and no longer: a test that fails may leave it behind. */
#define LONG "150"
/* The test program's process, for what is below its guards. */
#define DRIVER "DVM_TEST_GUARD_DRIVER"

/* Everything below one guard has this in its environment. */
typedef struct
{
  GSubprocess *process;
  pid_t outer;
  char *mark;
} Run;

static void
run_start (Run *run, const char *const *command, GSubprocessFlags flags)
{
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (flags);
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv) argv = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *word = g_uuid_string_random ();
  g_autofree char *driver = g_strdup_printf ("%d", getpid ());
  const char *identifier;

  run->mark = g_strdup_printf ("DVM_TEST_GUARD=%s", word);
  g_strv_builder_add (builder, g_getenv ("DVM_GUARD"));
  g_strv_builder_addv (builder, (const char **)command);
  argv = g_strv_builder_end (builder);
  g_subprocess_launcher_setenv (launcher, "DVM_TEST_GUARD", word, TRUE);
  g_subprocess_launcher_setenv (launcher, DRIVER, driver, TRUE);
  run->process = g_subprocess_launcher_spawnv (launcher, (const char *const *)argv, &error);
  g_assert_no_error (error);
  /* One that has ended already has none, and is not asked for. */
  identifier = g_subprocess_get_identifier (run->process);
  run->outer = identifier != NULL ? atoi (identifier) : 0;
}

static void
run_clear (Run *run)
{
  g_clear_object (&run->process);
  g_free (run->mark);
}

static void
run_shell (Run *run, const char *script, GSubprocessFlags flags)
{
  const char *const command[] = { "sh", "-c", script, NULL };

  run_start (run, command, flags);
}

static void
run_self (Run *run, const char *what, GSubprocessFlags flags)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  const char *const command[] = { self, what, NULL };

  run_start (run, command, flags);
}

/* Until the agent says that what it is to do has begun. */
static void
wait_for_word (Run *run)
{
  char word[2];
  gsize n_read = 0;
  g_autoptr (GError) error = NULL;

  g_input_stream_read_all (g_subprocess_get_stdout_pipe (run->process), word, sizeof word, &n_read, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (n_read, ==, sizeof word);
}

static guint
count_marked (Run *run)
{
  g_autoptr (GArray) all = dvmd_proc_list_all ();
  guint n = 0;

  for (guint i = 0; i < all->len; i++)
    {
      DvmdProcInfo *info = &g_array_index (all, DvmdProcInfo, i);

      n += !info->zombie && info->pid != getpid ()
           && dvmd_proc_search_environ (info->pid, run->mark) == DVMD_PROC_ENVIRON_HAS;
    }
  return n;
}

static void
wait_for_count (Run *run, guint n)
{
  gint64 limit = g_get_monotonic_time () + LIMIT;

  while (count_marked (run) != n)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, limit);
      g_usleep (2000);
    }
}

/* The first child: 0 as long as there is none. */
static pid_t
get_child (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/task/%d/children", pid, pid);
  g_autofree char *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) ? atoi (text) : 0;
}

static pid_t
wait_for_child (pid_t pid)
{
  gint64 limit = g_get_monotonic_time () + LIMIT;
  pid_t child;

  while ((child = get_child (pid)) == 0)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, limit);
      g_usleep (2000);
    }
  return child;
}

/* Of two signals that wait, SIGTERM is the first, whichever was sent first. */
static void
freeze (pid_t pid)
{
  kill (pid, SIGSTOP);
  await_process_state (pid, 'T');
}

/* No process may be left when the guard has ended. */
static void
wait_for_end (Run *run)
{
  g_autoptr (GError) error = NULL;

  g_subprocess_wait (run->process, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (count_marked (run), ==, 0);
}

static void
assert_exit (Run *run, int status)
{
  wait_for_end (run);
  g_assert_true (g_subprocess_get_if_exited (run->process));
  g_assert_cmpint (g_subprocess_get_exit_status (run->process), ==, status);
}

static void
assert_signal (Run *run, int signum)
{
  wait_for_end (run);
  g_assert_true (g_subprocess_get_if_signaled (run->process));
  g_assert_cmpint (g_subprocess_get_term_sig (run->process), ==, signum);
}

/* ---- what the guard is given ---- */

/* Goes away from where it comes from as far as a process can. */
static void
become_daemon (void)
{
  if (fork () != 0)
    _exit (0);
  setsid ();
  if (fork () != 0)
    _exit (0);
}

/* Nothing here outlives a test program that was ended in the middle: least of all what forks without end. */
static gboolean
has_driver (void)
{
  static pid_t driver;

  if (driver == 0)
    driver = atoi (g_getenv (DRIVER));
  return kill (driver, 0) == 0;
}

static void
say_begun (void)
{
  if (write (STDOUT_FILENO, "up", 2) != 2)
    _exit (1);
}

static void
stay (void)
{
  while (has_driver ())
    usleep (100000);
}

static void
leave_daemons (guint n)
{
  for (guint i = 0; i < n; i++)
    if (fork () == 0)
      {
        become_daemon ();
        signal (SIGTERM, SIG_IGN);
        stay ();
        _exit (0);
      }
  for (guint i = 0; i < n; i++)
    wait (NULL);
}

/* Never the same process for longer than a moment, and never a child of somebody who lives. */
static void
run_chain (void)
{
  while (has_driver ())
    {
      if (fork () > 0)
        _exit (0);
      setsid ();
      usleep (500);
    }
  _exit (0);
}

/* All threads of the machine */
static guint
count_tasks (void)
{
  g_autofree char *text = NULL;
  guint n = 0;

  if (g_file_get_contents ("/proc/loadavg", &text, NULL, NULL))
    sscanf (text, "%*s %*s %*s %*u/%u", &n);
  return n;
}

/*
 * Each makes others as long as it lives, and as long as there is room: on a busy machine those who are to end them get
 * no turn for seconds, and without a limit there are ten thousand by then, and nobody gets one.
 */
static void
run_tree (void)
{
  guint limit = count_tasks () + 500;
  guint depth = 0;
  guint n_turns = 0;

  while (has_driver ())
    {
      /* Its first children have had a turn. */
      if (++n_turns == 3 && depth == 0)
        say_begun ();
      if (depth < 3 && count_tasks () < limit && fork () == 0)
        {
          setsid ();
          depth++;
        }
      while (waitpid (-1, NULL, WNOHANG) > 0)
        ;
      usleep (10000);
      if (depth == 3)
        break;
    }
  _exit (0);
}

static int
be_agent (const char *what)
{
  if (strcmp (what, "daemons") == 0)
    leave_daemons (5);
  else if (strcmp (what, "daemons-stay") == 0)
    {
      leave_daemons (5);
      stay ();
    }
  else if (strcmp (what, "chains") == 0)
    {
      for (guint i = 0; i < 4; i++)
        if (fork () == 0)
          run_chain ();
      /* The first of each chain ends when it has forked the second. */
      for (guint i = 0; i < 4; i++)
        wait (NULL);
      say_begun ();
      stay ();
    }
  else if (strcmp (what, "tree") == 0)
    run_tree ();
  return 3;
}

/* ---- ordinary lives ---- */

static void
test_status (void)
{
  const char *const missing[] = { "/nonexistent/agent", NULL };
  const char *const directory[] = { "/tmp", NULL };
  Run run[5] = { 0 };

  run_shell (&run[0], "exit 7", G_SUBPROCESS_FLAGS_NONE);
  assert_exit (&run[0], 7);
  run_shell (&run[1], "kill -SEGV $$", G_SUBPROCESS_FLAGS_NONE);
  assert_signal (&run[1], SIGSEGV);
  run_start (&run[2], missing, G_SUBPROCESS_FLAGS_STDERR_SILENCE);
  assert_exit (&run[2], 127);
  run_start (&run[3], directory, G_SUBPROCESS_FLAGS_STDERR_SILENCE);
  assert_exit (&run[3], 126);
  run_self (&run[4], "nothing", G_SUBPROCESS_FLAGS_NONE);
  assert_exit (&run[4], 3);
  for (guint i = 0; i < G_N_ELEMENTS (run); i++)
    run_clear (&run[i]);
}

static void
test_streams (void)
{
  Run run = { 0 };
  g_autofree char *output = NULL;
  g_autoptr (GError) error = NULL;

  /* Ends of streams are the agent's doing: it closes its output, and lives on. */
  run_shell (&run, "cat; exec >&- 2>&-; sleep " LONG, G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  g_assert_true (g_output_stream_write_all (g_subprocess_get_stdin_pipe (run.process), "token", 5, NULL, NULL, NULL));
  g_assert_true (g_output_stream_close (g_subprocess_get_stdin_pipe (run.process), NULL, NULL));
  output = g_malloc0 (64);
  g_input_stream_read_all (g_subprocess_get_stdout_pipe (run.process), output, 63, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (output, ==, "token");
  kill (run.outer, SIGTERM);
  assert_signal (&run, SIGTERM);
  run_clear (&run);
}

static void
test_signals (void)
{
  const int signals[] = { SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGTERM };

  for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
    {
      g_autofree char *script = g_strdup_printf ("trap 'exit %d' %d; echo up; while :; do sleep 0.01; done",
                                                 40 + signals[i], signals[i]);
      char word[3];
      Run run = { 0 };

      run_shell (&run, script, G_SUBPROCESS_FLAGS_STDOUT_PIPE);
      g_input_stream_read_all (g_subprocess_get_stdout_pipe (run.process), word, sizeof word, NULL, NULL, NULL);
      kill (run.outer, signals[i]);
      assert_exit (&run, 40 + signals[i]);
      run_clear (&run);
    }
}

/* They are not passed on, and an agent that cannot do anything is ended with all that is below it. */
static void
test_quit (void)
{
  const int signals[] = { SIGQUIT, SIGQUIT, SIGALRM };

  for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
    {
      gboolean stopped = i == 1;
      Run run = { 0 };
      pid_t agent;

      run_self (&run, "daemons-stay", G_SUBPROCESS_FLAGS_NONE);
      agent = wait_for_child (wait_for_child (run.outer));
      wait_for_count (&run, 8);
      if (stopped)
        freeze (agent);
      kill (run.outer, signals[i]);
      assert_signal (&run, SIGKILL);
      g_assert_cmpuint (count_marked (&run), ==, 0);
      run_clear (&run);
    }
}

/* ---- ends of all kinds ---- */

static void
test_daemons (void)
{
  Run run = { 0 };

  run_self (&run, "daemons", G_SUBPROCESS_FLAGS_NONE);
  assert_exit (&run, 3);
  run_clear (&run);
}

/* An agent that stands still: whoever tells its guard for the second time gets its end, and that of all below it. */
static void
test_second_term (void)
{
  Run run = { 0 };
  pid_t inner;

  run_self (&run, "daemons-stay", G_SUBPROCESS_FLAGS_NONE);
  inner = wait_for_child (run.outer);
  wait_for_count (&run, 8);
  freeze (wait_for_child (inner));
  kill (run.outer, SIGTERM);
  g_usleep (50 * 1000);
  g_assert_cmpuint (count_marked (&run), >=, 3);
  kill (run.outer, SIGTERM);
  g_subprocess_wait (run.process, NULL, NULL);
  g_assert_cmpuint (count_marked (&run), ==, 0);
  run_clear (&run);
}

/* A scheduler signals every process of its step: the inner guard has the order twice then, and it is one all the same.
 */
static void
test_term_of_all (void)
{
  char word[3];
  Run run = { 0 };

  run_shell (&run,
             "n=0; trap 'n=$((n + 1)); echo up; [ $n -lt 2 ] || exit 55' TERM; echo up; while :; do sleep 0.01; done",
             G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  g_input_stream_read_all (g_subprocess_get_stdout_pipe (run.process), word, sizeof word, NULL, NULL, NULL);
  kill (wait_for_child (run.outer), SIGTERM);
  g_input_stream_read_all (g_subprocess_get_stdout_pipe (run.process), word, sizeof word, NULL, NULL, NULL);
  kill (run.outer, SIGTERM);
  assert_exit (&run, 55);
  run_clear (&run);
}

typedef struct
{
  const char *name;
  const char *agent;
  guint n_processes; /* guards included; 0: they come and go, and the agent says when they have begun */
  gboolean kill_outer;
  gboolean kill_inner;
  gboolean kill_agent;
  gboolean stop_agent;
} Killing;

static const Killing killings[] = {
  { .name = "agent", .agent = "daemons-stay", .n_processes = 8, .kill_agent = TRUE },
  { .name = "outer", .agent = "daemons-stay", .n_processes = 8, .kill_outer = TRUE },
  { .name = "inner", .agent = "daemons-stay", .n_processes = 8, .kill_inner = TRUE },
  { .name = "agent-and-outer", .agent = "daemons-stay", .n_processes = 8, .kill_outer = TRUE, .kill_agent = TRUE },
  { .name = "agent-and-inner", .agent = "daemons-stay", .n_processes = 8, .kill_inner = TRUE, .kill_agent = TRUE },
  { .name = "stopped-agent",
    .agent = "daemons-stay",
    .n_processes = 8,
    .kill_agent = TRUE,
    .kill_outer = TRUE,
    .stop_agent = TRUE },
  { .name = "stopped-agent-and-outer",
    .agent = "daemons-stay",
    .n_processes = 8,
    .kill_outer = TRUE,
    .stop_agent = TRUE },
  { .name = "stopped-agent-and-inner",
    .agent = "daemons-stay",
    .n_processes = 8,
    .kill_inner = TRUE,
    .stop_agent = TRUE },
  { .name = "forking-chains", .agent = "chains", .kill_agent = TRUE },
  { .name = "forking-chains-outer", .agent = "chains", .kill_outer = TRUE },
  { .name = "forking-tree", .agent = "tree", .kill_agent = TRUE },
  { .name = "forking-tree-inner", .agent = "tree", .kill_agent = TRUE, .kill_inner = TRUE },
};

static void
test_kill (gconstpointer data)
{
  const Killing *killing = data;
  Run run = { 0 };
  pid_t inner;
  pid_t agent;

  run_self (&run, killing->agent, killing->n_processes > 0 ? G_SUBPROCESS_FLAGS_NONE : G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  inner = wait_for_child (run.outer);
  agent = wait_for_child (inner);
  if (killing->n_processes > 0)
    wait_for_count (&run, killing->n_processes);
  else
    wait_for_word (&run);
  if (killing->stop_agent)
    freeze (agent);
  if (killing->kill_agent)
    kill (agent, SIGKILL);
  if (killing->kill_outer)
    kill (run.outer, SIGKILL);
  if (killing->kill_inner)
    kill (inner, SIGKILL);
  /* The inner guard is nobody's child whom we could wait for when the outer one is gone. */
  g_subprocess_wait (run.process, NULL, NULL);
  if (killing->kill_outer)
    wait_for_count (&run, 0);
  g_assert_cmpuint (count_marked (&run), ==, 0);
  g_assert_true (g_subprocess_get_if_signaled (run.process));
  g_assert_cmpint (g_subprocess_get_term_sig (run.process), ==, SIGKILL);
  run_clear (&run);
}

/* When both guards are killed the agent is told, by SIGTERM, and ends in order. */
/* A cgroup stays busy for a moment after its processes have ended: here it does because another one is below it. */
static void
test_cgroup (void)
{
  g_autoptr (DvmdClock) clock = dvmd_clock_new_manual (0);
  g_autoptr (GError) error = NULL;
  DvmdCgroups *cgroups = dvmd_cgroups_new (clock, &error);
  DvmdCgroup *cgroup;
  g_autofree char *link = NULL;
  g_autofree char *own = NULL;
  g_autofree char *own_folder = NULL;
  g_autofree char *path = NULL;
  g_autofree char *below = NULL;
  g_autofree char *script = NULL;
  char prefix[DVMD_CGROUP_PREFIX_SIZE];
  Run run = { 0 };
  int agent;

  if (cgroups == NULL)
    {
      g_test_skip (error->message);
      return;
    }
  cgroup = dvmd_cgroups_take (cgroups, &error);
  g_assert_no_error (error);
  link = g_strdup_printf ("/proc/self/fd/%d", dvmd_cgroup_get_fd (cgroup));
  own = g_file_read_link (link, NULL);
  own_folder = g_path_get_dirname (own);
  script = g_strdup_printf (
      "mkdir -p %s/dvm-$$.$(stat -L -c %%i /proc/self/ns/pid).1/below; printf up; exec sleep " LONG, own_folder);
  run_shell (&run, script, G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  wait_for_word (&run);
  agent = get_child (get_child (run.outer));
  dvmd_cgroup_get_prefix (agent, prefix);
  path = g_strdup_printf ("%s/%s1", own_folder, prefix);
  below = g_strdup_printf ("%s/below", path);
  g_assert_true (g_file_test (below, G_FILE_TEST_IS_DIR));
  kill (agent, SIGKILL);
  while (kill (agent, 0) == 0)
    g_usleep (1000);
  /* A guard that tries once has tried by now. */
  g_usleep (20000);
  g_assert_cmpint (g_rmdir (below), ==, 0);
  assert_signal (&run, SIGKILL);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  run_clear (&run);
  dvmd_cgroups_give_back (cgroups, cgroup);
  dvmd_cgroups_free (cgroups);
}

static void
test_both_guards (void)
{
  Run run = { 0 };
  char word[3];
  pid_t inner;

  /* A process that a shell has forked has its traps until it goes on, and would lose a signal that comes before. */
  run_shell (&run,
             "trap 'kill $child; exit' TERM; sleep " LONG " & child=$!; "
             "until read -r name </proc/$child/comm && [ \"$name\" = sleep ]; do :; done; echo up; wait",
             G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  g_input_stream_read_all (g_subprocess_get_stdout_pipe (run.process), word, sizeof word, NULL, NULL, NULL);
  inner = get_child (run.outer);
  kill (run.outer, SIGSTOP);
  kill (inner, SIGKILL);
  kill (run.outer, SIGKILL);
  g_subprocess_wait (run.process, NULL, NULL);
  wait_for_count (&run, 0);
  run_clear (&run);
}

/* Of a process, and of what it has started. */
static void
test_mapped (void)
{
  const char *argv[] = { "sh", "-c", "cat; :", NULL };
  GPid pid;
  int input;
  GError *error = NULL;

  g_assert_true (dvmd_proc_has_mapped (getpid (), "libglib"));
  g_assert_false (dvmd_proc_has_mapped (getpid (), "no-such-library"));
  g_spawn_async_with_pipes (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                            &pid, &input, NULL, NULL, &error);
  g_assert_no_error (error);
  while (!dvmd_proc_has_mapped (pid, "/cat"))
    g_usleep (1000);
  g_assert_false (dvmd_proc_has_mapped (pid, "libglib"));
  close (input);
  waitpid (pid, NULL, 0);
}

/* One that was killed and is not gone yet is not taken for one of somebody else: whoever cleans up waits for it. */
static void
test_environ_of_the_ending (void)
{
  const char *argv[] = { "sleep", LONG, NULL };
  g_auto (GStrv) environment = g_environ_setenv (g_get_environ (), "DVM_TEST_ENDING", "yes", TRUE);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 200; i++)
    {
      DvmdProcEnviron seen;
      DvmdProcInfo info;
      GPid pid;

      g_spawn_async (NULL, (char **)argv, environment, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                     &pid, &error);
      g_assert_no_error (error);
      while (dvmd_proc_search_environ (pid, "DVM_TEST_ENDING=yes") != DVMD_PROC_ENVIRON_HAS)
        g_usleep (100);
      kill (pid, SIGKILL);
      do
        {
          seen = dvmd_proc_search_environ (pid, "DVM_TEST_ENDING=yes");
          g_assert_true (dvmd_proc_get_info (pid, &info));
          g_assert_true (info.zombie || seen != DVMD_PROC_ENVIRON_LACKS);
        }
      while (!info.zombie);
      waitpid (pid, NULL, 0);
    }
}

int
main (int argc, char *argv[])
{
  if (argc == 2 && argv[1][0] != '-')
    return be_agent (argv[1]);
  /* Behind the "&" of a script it comes ignored, and a shell does not trap what came ignored. */
  signal (SIGQUIT, SIG_DFL);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/exec/guard/status", test_status);
  g_test_add_func ("/exec/guard/streams", test_streams);
  g_test_add_func ("/exec/guard/signals", test_signals);
  g_test_add_func ("/exec/guard/quit", test_quit);
  g_test_add_func ("/exec/guard/daemons", test_daemons);
  g_test_add_func ("/exec/guard/second-term", test_second_term);
  g_test_add_func ("/exec/guard/term-of-all", test_term_of_all);
  for (guint i = 0; i < G_N_ELEMENTS (killings); i++)
    {
      g_autofree char *path = g_strdup_printf ("/exec/guard/kill/%s", killings[i].name);

      g_test_add_data_func (path, &killings[i], test_kill);
    }
  g_test_add_func ("/exec/guard/cgroup", test_cgroup);
  g_test_add_func ("/exec/guard/both-guards", test_both_guards);
  g_test_add_func ("/exec/mapped", test_mapped);
  g_test_add_func ("/exec/environ-of-the-ending", test_environ_of_the_ending);
  return g_test_run ();
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib-unix.h>
#include <glib/gstdio.h>

#include <dvm.h>

#include "dvmd-spawn-private.h"
#include "process-state.h"

static const char *const plain_env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };

typedef struct
{
  DvmdSpawner *spawner;
  DvmdSpawnRequest request;
} Fixture;

static void
setup (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  fixture->spawner = dvmd_spawner_new (&error);
  g_assert_no_error (error);
  dvmd_spawner_set_without_clone3 (fixture->spawner, data != NULL);
  fixture->request = (DvmdSpawnRequest)DVMD_SPAWN_REQUEST_INIT;
  fixture->request.envp = plain_env;
}

static void
teardown (Fixture *fixture, gconstpointer data)
{
  dvmd_spawner_free (fixture->spawner);
}

static char *
read_all (int fd)
{
  GString *text = g_string_new (NULL);
  char buffer[4096];
  ssize_t n;

  do
    {
      struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

      if (poll (&poll_fd, 1, 30000) == 0)
        g_error ("the output of the process has no end: %s", text->str);
      n = read (fd, buffer, sizeof buffer);
      if (n > 0)
        g_string_append_len (text, buffer, n);
    }
  while (n > 0);
  close (fd);
  return g_string_free (text, FALSE);
}

/* Runs the request with stdout and stderr on a pipe; returns what it wrote. */
static char *
run (Fixture *fixture, const char *const *argv, int *status)
{
  g_autoptr (GError) error = NULL;
  int fds[2];
  int pidfd = -1;
  pid_t pid;
  char *text;

  g_assert_true (g_unix_open_pipe (fds, FD_CLOEXEC, NULL));
  fixture->request.argv = argv;
  fixture->request.stdout_fd = fds[1];
  fixture->request.stderr_fd = fds[1];
  pid = dvmd_spawner_spawn (fixture->spawner, &fixture->request, &pidfd, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (pid, >, 0);
  g_assert_cmpint (pidfd, >=, 0);
  g_assert_true (fcntl (pidfd, F_GETFD) & FD_CLOEXEC);
  close (pidfd);
  close (fds[1]);
  fixture->request.argv = NULL;
  fixture->request.stdout_fd = fixture->request.stderr_fd = -1;
  text = read_all (fds[0]);
  g_assert_cmpint (waitpid (pid, status, 0), ==, pid);
  return text;
}

static char *
run_shell (Fixture *fixture, const char *command)
{
  const char *argv[] = { "sh", "-c", command, NULL };
  int status = -1;
  char *text = run (fixture, argv, &status);

  g_assert_cmpint (status, ==, 0);
  return text;
}

static void
assert_refused (Fixture *fixture, const char *const *argv, int expected_exit, int expected_code, const char *part)
{
  g_autoptr (GError) error = NULL;
  int exit_code = -1;
  int pidfd = -1;

  fixture->request.argv = argv;
  g_assert_cmpint (dvmd_spawner_spawn (fixture->spawner, &fixture->request, &pidfd, &exit_code, &error), ==, -1);
  fixture->request.argv = NULL;
  g_assert_error (error, DVM_ERROR, expected_code);
  g_assert_cmpint (exit_code, ==, expected_exit);
  g_assert_cmpint (pidfd, ==, -1);
  if (strstr (error->message, part) == NULL)
    g_error ("'%s' does not say '%s'", error->message, part);
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
  /* No zombie stays. */
  g_assert_cmpint (waitpid (-1, NULL, WNOHANG), ==, -1);
  g_assert_cmpint (errno, ==, ECHILD);
}

static void
test_output (Fixture *fixture, gconstpointer data)
{
  g_autofree char *text = run_shell (fixture, "echo out; echo err >&2");

  g_assert_cmpstr (text, ==, "out\nerr\n");
}

static void
test_status (Fixture *fixture, gconstpointer data)
{
  const char *codes[] = { "sh", "-c", "exit 7", NULL };
  const char *killed[] = { "sh", "-c", "kill -9 $$", NULL };
  g_autofree char *first = NULL;
  g_autofree char *second = NULL;
  int status;

  first = run (fixture, codes, &status);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 7);
  second = run (fixture, killed, &status);
  g_assert_true (WIFSIGNALED (status));
  g_assert_cmpint (WTERMSIG (status), ==, SIGKILL);
}

static void
test_not_found (Fixture *fixture, gconstpointer data)
{
  const char *name[] = { "no-such-program", NULL };
  const char *path[] = { "/no/such/program", NULL };
  const char *relative[] = { "./no-such-program", NULL };
  const char *empty[] = { "", NULL };
  const char *bytes[] = { "no-\xff\xfe", NULL };
  const char *through_file[] = { "/etc/passwd/x", NULL };

  assert_refused (fixture, name, 127, DVM_ERROR_LAUNCH_FAILED,
                  "program 'no-such-program' was not found in PATH (/usr/bin:/bin)");
  assert_refused (fixture, path, 127, DVM_ERROR_LAUNCH_FAILED, "program '/no/such/program' does not exist");
  assert_refused (fixture, relative, 127, DVM_ERROR_LAUNCH_FAILED, "'./no-such-program' does not exist");
  assert_refused (fixture, empty, 127, DVM_ERROR_LAUNCH_FAILED, "program ''");
  assert_refused (fixture, bytes, 127, DVM_ERROR_LAUNCH_FAILED, "was not found in PATH");
  assert_refused (fixture, through_file, 127, DVM_ERROR_LAUNCH_FAILED, "does not exist");
}

static char *
make_file (const char *dir, const char *name, const char *text, int mode)
{
  char *path = g_build_filename (dir, name, NULL);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  g_assert_cmpint (g_chmod (path, mode), ==, 0);
  return path;
}

static void
test_not_executable (Fixture *fixture, gconstpointer data)
{
  g_autofree char *dir = g_dir_make_tmp ("dvm-spawn-XXXXXX", NULL);
  g_autofree char *text = make_file (dir, "text", "hello\n", 0644);
  g_autofree char *bad_format = make_file (dir, "bad-format", "hello\n", 0755);
  g_autofree char *no_interpreter = make_file (dir, "no-interpreter", "#!/no/such/interpreter\n", 0755);
  g_autofree char *path = g_strdup_printf ("PATH=%s:/usr/bin:/bin", dir);
  const char *text_argv[] = { text, NULL };
  const char *name_argv[] = { "text", NULL };
  const char *dir_argv[] = { dir, NULL };
  const char *bad_argv[] = { bad_format, NULL };
  const char *no_argv[] = { no_interpreter, NULL };
  const char *env[] = { path, NULL };
  g_autofree char *loop = g_build_filename (dir, "loop", NULL);
  const char *loop_argv[] = { loop, NULL };
  const char *loop_name[] = { "loop", NULL };

  g_assert_cmpint (symlink ("loop", loop), ==, 0);
  assert_refused (fixture, loop_argv, 126, DVM_ERROR_LAUNCH_FAILED, "Too many levels of symbolic links");
  assert_refused (fixture, text_argv, 126, DVM_ERROR_LAUNCH_FAILED, "Permission denied");
  assert_refused (fixture, dir_argv, 126, DVM_ERROR_LAUNCH_FAILED, "Is a directory");
  assert_refused (fixture, bad_argv, 126, DVM_ERROR_LAUNCH_FAILED, "Exec format error (a script needs");
  assert_refused (fixture, no_argv, 127, DVM_ERROR_LAUNCH_FAILED, "interpreter");
  /* Found in the job's own PATH, and the one that is not executable is told of if there is no other. */
  fixture->request.envp = env;
  assert_refused (fixture, name_argv, 126, DVM_ERROR_LAUNCH_FAILED, text);
  assert_refused (fixture, loop_name, 127, DVM_ERROR_LAUNCH_FAILED, "was not found in PATH");
  g_unlink (loop);
  g_unlink (text);
  g_unlink (bad_format);
  g_unlink (no_interpreter);
  g_rmdir (dir);
}

static void
test_path_goes_on (Fixture *fixture, gconstpointer data)
{
  g_autofree char *dir = g_dir_make_tmp ("dvm-spawn-XXXXXX", NULL);
  g_autofree char *file = make_file (dir, "echo", "not a program\n", 0644);
  g_autofree char *path = g_strdup_printf ("PATH=%s:/nowhere:/usr/bin:/bin", dir);
  const char *argv[] = { "echo", "yes", NULL };
  const char *env[] = { path, NULL };
  g_autofree char *text = NULL;
  int status;

  fixture->request.envp = env;
  text = run (fixture, argv, &status);
  g_assert_cmpstr (text, ==, "yes\n");
  g_unlink (file);
  g_rmdir (dir);
}

static void
test_directory (Fixture *fixture, gconstpointer data)
{
  const char *argv[] = { "true", NULL };
  g_autofree char *text = NULL;

  fixture->request.cwd = "/usr";
  text = run_shell (fixture, "pwd");
  g_assert_cmpstr (text, ==, "/usr\n");
  fixture->request.cwd = "/no/such/dir";
  assert_refused (fixture, argv, 125, DVM_ERROR_LAUNCH_FAILED,
                  "cannot change to directory '/no/such/dir': No such file or directory");
}

static void
test_environment (Fixture *fixture, gconstpointer data)
{
  const char *argv[] = { "env", NULL };
  const char *env[] = { "PATH=/usr/bin", "A=1", "BYTES=\xff\xfe", "EMPTY=", NULL };
  g_autofree char *text = NULL;
  int status;

  fixture->request.envp = env;
  text = run (fixture, argv, &status);
  g_assert_cmpstr (text, ==, "PATH=/usr/bin\nA=1\nBYTES=\xff\xfe\nEMPTY=\n");
}

static void
test_large_environment (Fixture *fixture, gconstpointer data)
{
  g_autofree char *longest = g_strnfill (DVMD_SPAWN_STRING_MAX, 'x');
  g_autofree char *too_long = g_strnfill (1024 * 1024, 'x');
  const char *env[] = { "PATH=/usr/bin:/bin", longest, NULL, NULL };
  const char *argv[] = { "true", NULL, NULL };
  g_autofree char *nothing = NULL;
  int status;

  memcpy (longest, "BIG=", 4);
  memcpy (too_long, "HUGE=", 5);
  fixture->request.envp = env;
  g_assert_null (dvmd_spawn_find_too_long (env));
  nothing = run (fixture, argv, &status);
  g_assert_cmpint (status, ==, 0);

  env[2] = too_long;
  g_assert_true (dvmd_spawn_find_too_long (env) == too_long);
  assert_refused (fixture, argv, 126, DVM_ERROR_BAD_PARAM, "environment variable 'HUGE' has 1048576 bytes");
  env[2] = NULL;
  argv[1] = too_long;
  assert_refused (fixture, argv, 126, DVM_ERROR_BAD_PARAM, "an argument of the program has 1048576 bytes");
}

static void
test_many_arguments (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autofree char *chunk = g_strnfill (100000, 'a');

  g_ptr_array_add (argv, (gpointer) "true");
  for (guint i = 0; i < 200; i++)
    g_ptr_array_add (argv, chunk);
  g_ptr_array_add (argv, NULL);
  assert_refused (fixture, (const char *const *)argv->pdata, 126, DVM_ERROR_BAD_PARAM, "more than the system takes");
}

static void
test_descriptors (Fixture *fixture, gconstpointer data)
{
  g_autofree char *text = NULL;
  int inherited[3];

  /* Without close-on-exec, as careless libraries open them: before the spawner has its own, and after. */
  teardown (fixture, data);
  inherited[0] = open ("/dev/null", O_RDONLY);
  setup (fixture, data);
  for (guint i = 1; i < G_N_ELEMENTS (inherited); i++)
    inherited[i] = open ("/dev/null", O_RDONLY);
  inherited[2] = fcntl (inherited[2], F_DUPFD, 500);
  text = run_shell (fixture, "ls /proc/$$/fd; true");
  g_assert_cmpstr (text, ==, "0\n1\n2\n");
  for (guint i = 0; i < G_N_ELEMENTS (inherited); i++)
    close (inherited[i]);
}

/* Wherever the daemon has it. */
static void
test_extra_descriptor (Fixture *fixture, gconstpointer data)
{
  static const int places[] = { 3, DVMD_SPAWN_EXTRA_FD, 500 };

  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      int fd = open ("/dev/null", O_RDONLY | O_CLOEXEC);
      g_autofree char *text = NULL;

      fixture->request.extra_fd = fcntl (fd, F_DUPFD_CLOEXEC, places[i]);
      text = run_shell (fixture, "ls /proc/$$/fd; readlink /proc/$$/fd/20");
      g_assert_cmpstr (text, ==, "0\n1\n2\n20\n/dev/null\n");
      close (fixture->request.extra_fd);
      close (fd);
    }
  fixture->request.extra_fd = -1;
}

/* Wherever the spawner has its own, also where the child is to have one. */
static void
test_places_of_descriptors (Fixture *fixture, gconstpointer data)
{
  int fds[DVMD_SPAWN_EXTRA_FD + 2];
  guint n = 0;

  do
    {
      g_autofree char *text = NULL;

      fds[n] = open ("/dev/null", O_RDONLY | O_CLOEXEC);
      teardown (fixture, data);
      setup (fixture, data);
      fixture->request.extra_fd = fds[n];
      text = run_shell (fixture, "ls /proc/$$/fd; readlink /proc/$$/fd/20");
      g_assert_cmpstr (text, ==, "0\n1\n2\n20\n/dev/null\n");
    }
  while (fds[n++] < DVMD_SPAWN_EXTRA_FD);
  while (n > 0)
    close (fds[--n]);
  fixture->request.extra_fd = -1;
}

static guint
count_descriptors (void)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/fd", 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

/* A process that enters its cgroup by itself does so by a file that is not the parent's. */
static void
test_cgroup_file (Fixture *fixture, gconstpointer data)
{
  g_autofree char *place = g_dir_make_tmp ("dvm-spawn-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (place, "cgroup.procs", NULL);
  g_autofree char *text = NULL;
  guint before;

  g_assert_true (g_file_set_contents (path, "", -1, NULL));
  fixture->request.cgroup_fd = open (place, O_PATH | O_DIRECTORY | O_CLOEXEC);
  before = count_descriptors ();
  for (guint i = 0; i < 3; i++)
    g_free (run_shell (fixture, "true"));
  g_assert_cmpuint (count_descriptors (), ==, before);
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "0");
  close (fixture->request.cgroup_fd);
  g_unlink (path);
  g_rmdir (place);
}

/* As filters of containers do that are older than close_range(). */
static void
refuse_to_part (void)
{
  struct sock_filter filter[] = {
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr)),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 1, 0),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = { .len = G_N_ELEMENTS (filter), .filter = filter };

  g_assert_cmpint (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), ==, 0);
  g_assert_cmpint (prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), ==, 0);
}

/* The child has a copy of the descriptors then, and closes them one by one. */
static void
test_filtered (Fixture *fixture, gconstpointer data)
{
  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
      g_test_trap_assert_passed ();
      return;
    }
  refuse_to_part ();
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *text = run_shell (fixture, "ls /proc/$$/fd; true");

      g_assert_cmpstr (text, ==, "0\n1\n2\n");
      g_assert_true (dvmd_spawner_is_without_shared_table (fixture->spawner));
    }
}

static void
test_crossed_descriptors (Fixture *fixture, gconstpointer data)
{
  const char *argv[] = { "sh", "-c", "read line; echo out $line; echo err >&2", NULL };
  g_autoptr (GError) error = NULL;
  int in[2];
  int out[2];
  int saved[3];
  g_autofree char *text = NULL;
  pid_t pid;
  int status;

  g_assert_true (g_unix_open_pipe (in, FD_CLOEXEC, NULL));
  g_assert_true (g_unix_open_pipe (out, FD_CLOEXEC, NULL));
  g_assert_cmpint (write (in[1], "in\n", 3), ==, 3);
  for (int i = 0; i < 3; i++)
    saved[i] = fcntl (i, F_DUPFD_CLOEXEC, 10);
  /* stdin stands at 2, stdout and stderr at 0. */
  dup2 (in[0], 2);
  dup2 (out[1], 0);
  fixture->request.argv = argv;
  fixture->request.stdin_fd = 2;
  fixture->request.stdout_fd = 0;
  fixture->request.stderr_fd = 0;
  pid = dvmd_spawner_spawn (fixture->spawner, &fixture->request, NULL, NULL, &error);
  for (int i = 0; i < 3; i++)
    {
      dup2 (saved[i], i);
      close (saved[i]);
    }
  g_assert_no_error (error);
  close (out[1]);
  close (in[0]);
  close (in[1]);
  text = read_all (out[0]);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);
  g_assert_cmpstr (text, ==, "out in\nerr\n");
}

static void
on_signal (int signum)
{
}

static void
test_signals (Fixture *fixture, gconstpointer data)
{
  const char *argv[] = { "sed", "-n", "/^Sig[BIC]/p", "/proc/self/status", NULL };
  g_autofree char *text = NULL;
  sigset_t set;
  sigset_t old;
  int status;

  signal (SIGPIPE, SIG_IGN);
  signal (SIGUSR1, SIG_IGN);
  signal (SIGUSR2, on_signal);
  sigemptyset (&set);
  sigaddset (&set, SIGCHLD);
  sigaddset (&set, SIGTERM);
  pthread_sigmask (SIG_BLOCK, &set, &old);
  text = run (fixture, argv, &status);
  g_assert_cmpstr (text, ==,
                   "SigBlk:\t0000000000000000\n"
                   "SigIgn:\t0000000000000000\n"
                   "SigCgt:\t0000000000000000\n");
  /* Ours are as before. */
  pthread_sigmask (SIG_SETMASK, &old, &set);
  g_assert_true (sigismember (&set, SIGTERM));
  g_assert_false (sigismember (&set, SIGUSR1));
  g_assert_true (signal (SIGUSR2, SIG_DFL) == on_signal);
  signal (SIGUSR1, SIG_DFL);
  signal (SIGPIPE, SIG_DFL);
}

static void
test_group (Fixture *fixture, gconstpointer data)
{
  g_autofree char *text = run_shell (fixture,
                                     "ps -o pid=,pgid= -p $$ | (read pid group; test $pid = $group && echo ok)");

  g_assert_cmpstr (text, ==, "ok\n");
}

static void
test_session (Fixture *fixture, gconstpointer data)
{
  g_autofree char *text = NULL;

  fixture->request.session = TRUE;
  text = run_shell (fixture,
                    "ps -o pid=,pgid=,sid=,tty= -p $$ | "
                    "(read pid group session tty; test $pid = $group && test $pid = $session && echo \"$tty\")");
  g_assert_cmpstr (text, ==, "?\n");
}

static void
test_pty (Fixture *fixture, gconstpointer data)
{
  const char *argv[] = { "sh", "-c",
                         "test -t 0 && test -t 1 && test -t 2 && echo all; echo through the terminal > /dev/tty",
                         NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) text = g_string_new (NULL);
  char buffer[256];
  ssize_t n;
  int master;
  int slave;
  pid_t pid;

  g_assert_cmpint (openpty (&master, &slave, NULL, NULL, NULL), ==, 0);
  fcntl (master, F_SETFD, FD_CLOEXEC);
  fixture->request.argv = argv;
  fixture->request.stdin_fd = slave;
  fixture->request.stdout_fd = slave;
  fixture->request.stderr_fd = slave;
  fixture->request.pty = TRUE;
  pid = dvmd_spawner_spawn (fixture->spawner, &fixture->request, NULL, NULL, &error);
  g_assert_no_error (error);
  close (slave);
  while ((n = read (master, buffer, sizeof buffer)) > 0)
    g_string_append_len (text, buffer, n);
  close (master);
  g_assert_cmpint (waitpid (pid, NULL, 0), ==, pid);
  g_assert_cmpstr (text->str, ==, "all\r\nthrough the terminal\r\n");
}

static void
test_cpus (Fixture *fixture, gconstpointer data)
{
  const char *argv[] = { "true", NULL };
  g_autofree char *text = NULL;
  cpu_set_t cpus;

  CPU_ZERO (&cpus);
  CPU_SET (0, &cpus);
  fixture->request.cpus = &cpus;
  fixture->request.cpus_size = sizeof cpus;
  text = run_shell (fixture, "grep Cpus_allowed_list /proc/self/status");
  g_assert_cmpstr (text, ==, "Cpus_allowed_list:\t0\n");
  CPU_ZERO (&cpus);
  assert_refused (fixture, argv, 125, DVM_ERROR_LAUNCH_FAILED, "cannot bind the process to its cpus");
}

/* A daemon that was started with a policy for memory, as by numactl. */
static void
test_memory (Fixture *fixture, gconstpointer data)
{
  const unsigned long first_node = 1;
  g_autofree char *inherited = NULL;
  g_autofree char *bound = NULL;
  cpu_set_t cpus;

  if (syscall (SYS_set_mempolicy, MPOL_INTERLEAVE, &first_node, 8 * sizeof first_node) != 0)
    {
      /* No other error of the kernel is a reason to leave it out. */
      g_assert_true (errno == ENOSYS || errno == EPERM);
      g_test_skip ("this kernel takes no policies for memory");
      return;
    }
  inherited = run_shell (fixture, "grep -c interleave /proc/self/numa_maps || true");
  CPU_ZERO (&cpus);
  CPU_SET (0, &cpus);
  fixture->request.cpus = &cpus;
  fixture->request.cpus_size = sizeof cpus;
  bound = run_shell (fixture, "grep -c interleave /proc/self/numa_maps || true");
  syscall (SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
  g_assert_cmpstr (inherited, !=, "0\n");
  g_assert_cmpstr (bound, ==, "0\n");
}

static void
test_nofile (Fixture *fixture, gconstpointer data)
{
  struct rlimit old;
  struct rlimit low;
  struct rlimit now;
  g_autofree char *text = NULL;

  getrlimit (RLIMIT_NOFILE, &old);
  low = old;
  low.rlim_cur = 200;
  setrlimit (RLIMIT_NOFILE, &low);
  dvmd_spawner_raise_nofile (fixture->spawner);
  getrlimit (RLIMIT_NOFILE, &now);
  g_assert_cmpuint (now.rlim_cur, ==, old.rlim_max);
  text = run_shell (fixture, "ulimit -n");
  g_assert_cmpstr (text, ==, "200\n");
  setrlimit (RLIMIT_NOFILE, &old);
}

static void
test_many (Fixture *fixture, gconstpointer data)
{
  const char *argv[] = { "/bin/true", NULL };
  pid_t pids[64];

  fixture->request.argv = argv;
  for (guint round = 0; round < 5; round++)
    {
      for (guint i = 0; i < G_N_ELEMENTS (pids); i++)
        {
          g_autoptr (GError) error = NULL;

          pids[i] = dvmd_spawner_spawn (fixture->spawner, &fixture->request, NULL, NULL, &error);
          g_assert_no_error (error);
        }
      for (guint i = 0; i < G_N_ELEMENTS (pids); i++)
        {
          int status = -1;

          g_assert_cmpint (waitpid (pids[i], &status, 0), ==, pids[i]);
          g_assert_cmpint (status, ==, 0);
        }
    }
  fixture->request.argv = NULL;
}

/* It stands at its start, with not even its libraries loaded, and nobody traces it. */
static void
test_stopped (Fixture *fixture, gconstpointer data)
{
  const char *argv[] = { "sh", "-c", "echo gone on", NULL };
  g_autoptr (GError) error = NULL;
  g_autofree char *maps = NULL;
  g_autofree char *status_path = NULL;
  g_autofree char *status_text = NULL;
  g_autofree char *path = NULL;
  g_autofree char *text = NULL;
  int fds[2];
  int status;
  pid_t pid;

  g_assert_true (g_unix_open_pipe (fds, FD_CLOEXEC, NULL));
  fixture->request.argv = argv;
  fixture->request.stdout_fd = fds[1];
  fixture->request.stopped = TRUE;
  pid = dvmd_spawner_spawn (fixture->spawner, &fixture->request, NULL, NULL, &error);
  g_assert_no_error (error);
  close (fds[1]);
  await_process_state (pid, 'T');
  path = g_strdup_printf ("/proc/%d/maps", pid);
  g_assert_true (g_file_get_contents (path, &maps, NULL, NULL));
  g_assert_null (strstr (maps, "libc.so"));
  status_path = g_strdup_printf ("/proc/%d/status", pid);
  g_assert_true (g_file_get_contents (status_path, &status_text, NULL, NULL));
  g_assert_nonnull (strstr (status_text, "TracerPid:\t0\n"));
  kill (pid, SIGCONT);
  text = read_all (fds[0]);
  g_assert_cmpstr (text, ==, "gone on\n");
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);
}

/* A program that cannot be started is refused as ever, and one that is killed while it stands is reaped as ever. */
static void
test_stopped_ends (Fixture *fixture, gconstpointer data)
{
  const char *missing[] = { "/no/such/program", NULL };
  const char *argv[] = { "sleep", "600", NULL };
  g_autoptr (GError) error = NULL;
  int status;
  pid_t pid;

  fixture->request.stopped = TRUE;
  assert_refused (fixture, missing, 127, DVM_ERROR_LAUNCH_FAILED, "does not exist");
  fixture->request.argv = argv;
  pid = dvmd_spawner_spawn (fixture->spawner, &fixture->request, NULL, NULL, &error);
  g_assert_no_error (error);
  fixture->request.argv = NULL;
  kill (pid, SIGKILL);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (WTERMSIG (status), ==, SIGKILL);
}

/* The kernel takes what it can of a set of cpus without a word: an agent may have lost some, here they never were. */
static void
test_cpus_gone (Fixture *fixture, gconstpointer data)
{
  const char *argv[] = { "true", NULL };
  gsize size = CPU_ALLOC_SIZE (G_MAXUINT16 + 1);
  g_autofree cpu_set_t *cpus = g_malloc0 (size);

  CPU_SET_S ((gsize)sched_getcpu (), size, cpus);
  fixture->request.cpus = cpus;
  fixture->request.cpus_size = size;
  g_free (run_shell (fixture, "true"));
  CPU_SET_S (G_MAXUINT16, size, cpus);
  assert_refused (fixture, argv, 125, DVM_ERROR_LAUNCH_FAILED, "some of its cpus are not the agent's any more");
  CPU_ZERO_S (size, cpus);
  CPU_SET_S (G_MAXUINT16, size, cpus);
  assert_refused (fixture, argv, 125, DVM_ERROR_LAUNCH_FAILED, "its cpus: Invalid argument");
}

static void
add (const char *name, void (*func) (Fixture *, gconstpointer))
{
  g_autofree char *path = g_strdup_printf ("/exec/spawn/%s", name);
  g_autofree char *old = g_strdup_printf ("/exec/spawn-without-clone3/%s", name);

  g_test_add (path, Fixture, NULL, setup, func, teardown);
  g_test_add (old, Fixture, "without", setup, func, teardown);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add ("output", test_output);
  add ("status", test_status);
  add ("not-found", test_not_found);
  add ("not-executable", test_not_executable);
  add ("path-goes-on", test_path_goes_on);
  add ("directory", test_directory);
  add ("environment", test_environment);
  add ("large-environment", test_large_environment);
  add ("many-arguments", test_many_arguments);
  add ("descriptors", test_descriptors);
  add ("extra-descriptor", test_extra_descriptor);
  add ("places-of-descriptors", test_places_of_descriptors);
  /* With clone3() it is born there. */
  g_test_add ("/exec/spawn-without-clone3/cgroup-file", Fixture, "without", setup, test_cgroup_file, teardown);
  add ("filtered", test_filtered);
  add ("crossed-descriptors", test_crossed_descriptors);
  add ("signals", test_signals);
  add ("group", test_group);
  add ("session", test_session);
  add ("pty", test_pty);
  add ("cpus", test_cpus);
  add ("cpus-gone", test_cpus_gone);
  add ("memory", test_memory);
  add ("nofile", test_nofile);
  add ("many", test_many);
  add ("stopped", test_stopped);
  add ("stopped-ends", test_stopped_ends);
  return g_test_run ();
}

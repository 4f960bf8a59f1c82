/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A process is started at the cost of vfork, with everything set that it is to have.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-spawn"

#include "dvmd-spawn-private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dvm.h>

#define STACK_SIZE   (128 * 1024)
#define CPUS_SIZE    8192 /* of the largest set of cpus of a kernel */
#define N_SIGNALS    64
#define SIGSET_BYTES 8

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* A child gets stdin, stdout and stderr, and one more. */
#define N_GIVEN 4

struct _DvmdSpawner
{
  void *stack; /* of the child until it executes its program; the lowest page is a guard */
  int null_fd;
  int given[N_GIVEN]; /* low numbers, at which a child finds them: it need not copy the descriptors above */
  gboolean without_shared_table;
  gboolean raised;
  struct rlimit nofile; /* of the children, when raised */
  gboolean without_clone3;
};

typedef enum
{
  STAGE_NONE,
  STAGE_CLONE,
  STAGE_CGROUP,
  STAGE_SESSION,
  STAGE_TERMINAL,
  STAGE_TABLE,
  STAGE_DESCRIPTORS,
  STAGE_CHDIR,
  STAGE_CPUS,
  STAGE_CPUS_GONE,
  STAGE_LIMIT,
  STAGE_TRACE,
  STAGE_EXEC,
} Stage;

/* This struct is shared by parent and child. The child writes stage, error and tried alone. */
typedef struct
{
  const DvmdSpawnRequest *request;
  char *const *candidates;
  gboolean searched; /* in PATH */
  const int *given;  /* descriptors */
  gboolean shares_table;
  pid_t parent;
  int enter_cgroup; /* -1: born there already, or none */
  const struct rlimit *nofile;
  volatile Stage stage;
  volatile int error;
  volatile guint tried; /* index of the candidate that error is about */
} Child;

/*
 * The child shares the parent's memory, so it only makes system calls. The address sanitizer would leave its marks on
 * the stack that the next child uses.
 */
#define IN_CHILD __attribute__ ((no_sanitize_address, no_sanitize_undefined))

IN_CHILD static void G_GNUC_NORETURN
child_fail (Child *child, Stage stage, int error)
{
  child->stage = stage;
  child->error = error;
  for (;;)
    syscall (SYS_exit_group, DVMD_EXIT_NOT_FOUND);
}

IN_CHILD static void
child_enter_cgroup (Child *child)
{
  gboolean entered;
  int error;
  int fd;

  if (child->enter_cgroup < 0)
    return;
  fd = (int)syscall (SYS_openat, child->enter_cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC, 0);
  entered = fd >= 0 && syscall (SYS_write, fd, "0", 1) == 1;
  error = errno;
  /* The parent may have it as well. */
  if (fd >= 0)
    syscall (SYS_close, fd);
  if (!entered)
    child_fail (child, STAGE_CGROUP, error);
}

/*
 * The parent's table has been shared until now, and is not copied beyond what the child gets: as it has descriptors for
 * each process that it watches, that would cost more the more there are.
 */
IN_CHILD static void
child_part_from_table (Child *child)
{
  int last = child->given[0];

  for (int i = 1; i < N_GIVEN; i++)
    last = MAX (last, child->given[i]);
  if (syscall (SYS_close_range, last + 1, ~0U, CLOSE_RANGE_UNSHARE) != 0 && child->shares_table
      && syscall (SYS_unshare, CLONE_FILES) != 0)
    child_fail (child, STAGE_TABLE, errno);
}

IN_CHILD static void
child_close_others (Child *child)
{
  struct rlimit limit = { 1024, 1024 };

  if (syscall (SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
    return;
  /* A kernel before 5.11. */
  syscall (SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
  for (rlim_t fd = 3; fd < limit.rlim_cur; fd++)
    if ((int)fd != child->given[N_GIVEN - 1])
      syscall (SYS_close, (int)fd);
}

/* After all others have been set to be closed. */
IN_CHILD static void
child_set_extra_descriptor (Child *child)
{
  int fd = child->given[N_GIVEN - 1];
  long result = 0;

  if (child->request->extra_fd < 0)
    return;
  if (fd == DVMD_SPAWN_EXTRA_FD)
    result = syscall (SYS_fcntl, fd, F_SETFD, 0);
  else
    result = syscall (SYS_dup3, fd, DVMD_SPAWN_EXTRA_FD, 0);
  if (result < 0)
    child_fail (child, STAGE_DESCRIPTORS, errno);
}

IN_CHILD static void
child_set_descriptors (Child *child)
{
  for (int i = 0; i < 3; i++)
    if (syscall (SYS_dup3, child->given[i], i, 0) < 0)
      child_fail (child, STAGE_DESCRIPTORS, errno);
  child_close_others (child);
  child_set_extra_descriptor (child);
}

IN_CHILD static void
child_set_session (Child *child)
{
  if (child->request->pty || child->request->session)
    {
      if (syscall (SYS_setsid) < 0)
        child_fail (child, STAGE_SESSION, errno);
      if (child->request->pty && syscall (SYS_ioctl, child->given[0], TIOCSCTTY, 0) != 0)
        child_fail (child, STAGE_TERMINAL, errno);
    }
  else if (syscall (SYS_setpgid, 0, 0) != 0)
    child_fail (child, STAGE_SESSION, errno);
}

/* A process ends with its agent, because no other one watches it. (Its children are left to the next agent.) */
IN_CHILD static void
child_tie_to_parent (Child *child)
{
  syscall (SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (syscall (SYS_getppid) != child->parent)
    child_fail (child, STAGE_SESSION, ESRCH);
}

/* Handlers first, the mask last: no handler of the parent may ever run here. */
IN_CHILD static void
child_reset_signals (void)
{
  guint64 default_action[8];
  guint64 empty_mask = 0;

  for (guint i = 0; i < G_N_ELEMENTS (default_action); i++)
    default_action[i] = 0;
  for (int signum = 1; signum <= N_SIGNALS; signum++)
    syscall (SYS_rt_sigaction, signum, default_action, NULL, SIGSET_BYTES);
  syscall (SYS_rt_sigprocmask, SIG_SETMASK, &empty_mask, NULL, SIGSET_BYTES);
}

IN_CHILD static void G_GNUC_NORETURN
child_exec (Child *child)
{
  int error = ENOENT;
  guint tried = 0;

  for (guint i = 0; child->candidates[i] != NULL; i++)
    {
      syscall (SYS_execve, child->candidates[i], child->request->argv, child->request->envp);
      switch (errno)
        {
        case ENOENT:
        case ENOTDIR:
        case ESTALE:
        case ENODEV:
        case ETIMEDOUT:
          break;
        case ENAMETOOLONG:
        case ELOOP:
          /* Looked for, it was not found; named, it is told what is wrong with it. */
          if (!child->searched)
            error = errno;
          break;
        case EACCES:
          /* As shells do: go on looking, and tell of this one if there is no other. Of a directory of the search path
             that may not be entered nobody knows that it is there. */
          if (error == ENOENT
              && (!child->searched || syscall (SYS_faccessat, AT_FDCWD, child->candidates[i], F_OK) == 0))
            {
              error = EACCES;
              tried = i;
            }
          break;
        default:
          child->tried = i;
          child_fail (child, STAGE_EXEC, errno);
        }
    }
  child->tried = tried;
  child_fail (child, STAGE_EXEC, error);
}

/* The kernel binds to as many of the cpus as the cgroup still has, and is content. */
IN_CHILD static void
child_check_cpus (Child *child)
{
  const DvmdSpawnRequest *request = child->request;
  const guint8 *wanted = (const guint8 *)request->cpus;
  guint8 got[CPUS_SIZE];
  long n = syscall (SYS_sched_getaffinity, 0, sizeof got, got);

  if (n < 0)
    child_fail (child, STAGE_CPUS, errno);
  for (gsize i = 0; i < request->cpus_size; i++)
    if ((wanted[i] & ~(i < (gsize)n ? got[i] : 0)) != 0)
      child_fail (child, STAGE_CPUS_GONE, EINVAL);
}

/* Its memory is that of its cpus, whatever policy the daemon was started with; kernels without NUMA have no other. */
IN_CHILD static void
child_bind (Child *child)
{
  const DvmdSpawnRequest *request = child->request;

  if (request->cpus == NULL)
    return;
  if (syscall (SYS_sched_setaffinity, 0, request->cpus_size, request->cpus) != 0)
    child_fail (child, STAGE_CPUS, errno);
  child_check_cpus (child);
  syscall (SYS_set_mempolicy, MPOL_LOCAL, NULL, 0);
}

IN_CHILD static int
child_main (void *data)
{
  Child *child = data;
  const DvmdSpawnRequest *request = child->request;

  child_tie_to_parent (child);
  child_enter_cgroup (child);
  child_set_session (child);
  child_part_from_table (child);
  child_set_descriptors (child);
  if (request->cwd != NULL && syscall (SYS_chdir, request->cwd) != 0)
    child_fail (child, STAGE_CHDIR, errno);
  child_bind (child);
  if (child->nofile != NULL && syscall (SYS_prlimit64, 0, RLIMIT_NOFILE, child->nofile, NULL) != 0)
    child_fail (child, STAGE_LIMIT, errno);
  child_reset_signals ();
  if (request->stopped && syscall (SYS_ptrace, PTRACE_TRACEME, 0, 0, 0) != 0)
    child_fail (child, STAGE_TRACE, errno);
  child_exec (child);
}

/* clone3() with a stack for the child. Returns the pid, or the negative errno. */
static long
clone3_on_stack (struct clone_args *args, int (*func) (void *), void *data)
{
#if defined(__x86_64__)
  register int (*r8) (void *) __asm__("r8") = func;
  register void *r9 __asm__("r9") = data;
  long result;

  __asm__ volatile("syscall\n\t"
                   "test %%rax, %%rax\n\t"
                   "jnz 1f\n\t"
                   "xor %%ebp, %%ebp\n\t"
                   "mov %%r9, %%rdi\n\t"
                   "call *%%r8\n\t"
                   "ud2\n"
                   "1:"
                   : "=a"(result)
                   : "0"((long)SYS_clone3), "D"(args), "S"(sizeof *args), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory", "cc");
  return result;
#else
  return -ENOSYS;
#endif
}

static long
start_child (DvmdSpawner *self, Child *child, int *pidfd)
{
  guint64 flags = CLONE_VM | CLONE_VFORK | (child->shares_table ? CLONE_FILES : 0) | (pidfd != NULL ? CLONE_PIDFD : 0);
  char *top = (char *)self->stack + STACK_SIZE;
  int pid;

  if (!self->without_clone3)
    {
      struct clone_args args = { 0 };
      long result;

      args.flags = flags | CLONE_CLEAR_SIGHAND;
      args.pidfd = (guint64)(guintptr)pidfd;
      args.exit_signal = SIGCHLD;
      args.stack = (guint64)(guintptr)self->stack;
      args.stack_size = STACK_SIZE;
      if (child->request->cgroup_fd >= 0)
        {
          /* Being born there is much cheaper than moving there. */
          args.flags |= CLONE_INTO_CGROUP;
          args.cgroup = (guint64)child->request->cgroup_fd;
        }
      child->enter_cgroup = -1;
      result = clone3_on_stack (&args, child_main, child);
      if (result != -ENOSYS && result != -EINVAL && result != -EPERM)
        return result;
      /* An old kernel, or a container's filter that does not know clone3(). */
      self->without_clone3 = TRUE;
    }
  child->enter_cgroup = child->request->cgroup_fd;
  pid = clone (child_main, top, (int)flags | SIGCHLD, child, pidfd);
  return pid < 0 ? -errno : pid;
}

static const char *
find_path (const char *const *envp)
{
  for (guint i = 0; envp != NULL && envp[i] != NULL; i++)
    if (g_str_has_prefix (envp[i], "PATH="))
      return envp[i] + strlen ("PATH=");
  return DEFAULT_PATH;
}

static const char *
get_program (const DvmdSpawnRequest *request)
{
  return request->program != NULL ? request->program : request->argv[0];
}

static char **
list_candidates (const DvmdSpawnRequest *request)
{
  const char *program = get_program (request);
  g_auto (GStrv) dirs = NULL;
  GStrvBuilder *builder;
  char **candidates;

  if (strchr (program, '/') != NULL || program[0] == '\0')
    return g_strdupv ((char **)(const char *[]){ program, NULL });
  builder = g_strv_builder_new ();
  dirs = g_strsplit (find_path (request->envp), ":", -1);
  for (guint i = 0; dirs[i] != NULL; i++)
    {
      g_autofree char *path = g_strconcat (dirs[i][0] != '\0' ? dirs[i] : ".", "/", program, NULL);

      g_strv_builder_add (builder, path);
    }
  if (request->search_cwd)
    {
      g_autofree char *path = g_strconcat ("./", program, NULL);

      g_strv_builder_add (builder, path);
    }
  candidates = g_strv_builder_end (builder);
  g_strv_builder_unref (builder);
  return candidates;
}

const char *
dvmd_spawn_find_too_long (const char *const *vector)
{
  for (guint i = 0; vector != NULL && vector[i] != NULL; i++)
    if (strlen (vector[i]) > DVMD_SPAWN_STRING_MAX)
      return vector[i];
  return NULL;
}

static gsize
vector_bytes (const char *const *vector)
{
  gsize n = 0;

  for (guint i = 0; vector != NULL && vector[i] != NULL; i++)
    n += strlen (vector[i]) + 1 + sizeof (char *);
  return n;
}

static void
set_too_large (const DvmdSpawnRequest *request, GError **error)
{
  const char *text = dvmd_spawn_find_too_long (request->envp);

  if (text != NULL)
    {
      g_autofree char *name = g_strndup (text, MIN (strcspn (text, "="), 64));
      g_autofree char *shown = g_utf8_make_valid (name, -1);

      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "environment variable '%s' has %zu bytes; the system takes at most %d in one string", shown,
                   strlen (text), DVMD_SPAWN_STRING_MAX);
      return;
    }
  text = dvmd_spawn_find_too_long (request->argv);
  if (text != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "an argument of the program has %zu bytes; the system takes at most %d in one string", strlen (text),
                 DVMD_SPAWN_STRING_MAX);
  else
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "arguments and environment have %zu bytes together, more than the system takes",
                 vector_bytes (request->argv) + vector_bytes (request->envp));
}

/* A file is there and yet ENOENT: what is missing is what would interpret it. */
static gboolean
exists_in (const char *cwd, const char *path)
{
  g_autofree char *full = g_canonicalize_filename (path, cwd);

  return access (full, F_OK) == 0;
}

static int
set_not_found (const DvmdSpawnRequest *request, const Child *child, GError **error)
{
  g_autofree char *program = g_utf8_make_valid (get_program (request), -1);
  g_autofree char *cwd = request->cwd != NULL ? g_utf8_make_valid (request->cwd, -1) : NULL;

  for (guint i = 0; child->candidates[i] != NULL && program[0] != '\0'; i++)
    if (exists_in (request->cwd, child->candidates[i]))
      {
        g_autofree char *path = g_utf8_make_valid (child->candidates[i], -1);

        g_set_error (error, DVM_ERROR, DVM_ERROR_LAUNCH_FAILED,
                     "program '%s' cannot be executed: the interpreter that it names does not exist", path);
        return DVMD_EXIT_NOT_FOUND;
      }
  if (strchr (program, '/') != NULL)
    g_set_error (error, DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "program '%s' does not exist", program);
  else
    {
      g_autofree char *path = g_utf8_make_valid (find_path (request->envp), -1);

      g_set_error (error, DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "program '%s' was not found in PATH (%s)%s%s", program,
                   path, request->search_cwd ? ", nor in " : "", request->search_cwd ? cwd : "");
    }
  return DVMD_EXIT_NOT_FOUND;
}

static int
set_exec_error (const DvmdSpawnRequest *request, const Child *child, GError **error)
{
  g_autofree char *path = g_utf8_make_valid (child->candidates[child->tried], -1);
  g_autofree char *full = g_canonicalize_filename (child->candidates[child->tried], request->cwd);

  switch (child->error)
    {
    case ENOENT:
      return set_not_found (request, child, error);
    case E2BIG:
      set_too_large (request, error);
      return DVMD_EXIT_NOT_EXECUTABLE;
    case ENOMEM:
    case EAGAIN:
    case EMFILE:
    case ENFILE:
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "program '%s' cannot be executed: %s", path,
                   g_strerror (child->error));
      return DVMD_EXIT_FAILED;
    default:
      g_set_error (error, DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "program '%s' cannot be executed: %s%s", path,
                   g_strerror (g_file_test (full, G_FILE_TEST_IS_DIR) ? EISDIR : child->error),
                   child->error == ENOEXEC ? " (a script needs a first line such as #!/bin/sh)" : "");
      return DVMD_EXIT_NOT_EXECUTABLE;
    }
}

char *
dvmd_spawn_find_program (const DvmdSpawnRequest *request, int *exit_code, GError **error)
{
  const char *program = get_program (request);
  g_auto (GStrv) candidates = list_candidates (request);
  Child child = { .candidates = candidates, .error = EACCES };
  gboolean is_there = FALSE;

  for (guint i = 0; candidates[i] != NULL && program[0] != '\0'; i++)
    {
      g_autofree char *full = g_canonicalize_filename (candidates[i], request->cwd);

      if (access (full, F_OK) != 0)
        continue;
      if (g_file_test (full, G_FILE_TEST_IS_REGULAR) && access (full, X_OK) == 0)
        return g_strdup (request->search_cwd && candidates[i + 1] == NULL ? candidates[i] : program);
      child.tried = is_there ? child.tried : i;
      is_there = TRUE;
    }
  *exit_code = is_there ? set_exec_error (request, &child, error) : set_not_found (request, &child, error);
  return NULL;
}

static int
set_stage_error (const DvmdSpawnRequest *request, const Child *child, GError **error)
{
  const char *reason = g_strerror (child->error);
  g_autofree char *cwd = request->cwd != NULL ? g_utf8_make_valid (request->cwd, -1) : NULL;
  const char *what = "cannot start a process";
  int code = DVM_ERROR_LAUNCH_FAILED;

  switch (child->stage)
    {
    case STAGE_EXEC:
      return set_exec_error (request, child, error);
    case STAGE_CHDIR:
      g_set_error (error, DVM_ERROR, code, "cannot change to directory '%s': %s", cwd, reason);
      return DVMD_EXIT_FAILED;
    case STAGE_CLONE:
      code = DVM_ERROR_OUT_OF_RESOURCE;
      break;
    case STAGE_CGROUP:
      /* Tells DvmdContainer to go on without. */
      code = DVM_ERROR_NOT_SUPPORTED;
      what = "cannot start a process in its cgroup";
      break;
    case STAGE_SESSION:
      what = "cannot make a process group";
      break;
    case STAGE_TERMINAL:
      what = "cannot make the pty the controlling terminal";
      break;
    case STAGE_TABLE:
    case STAGE_DESCRIPTORS:
      what = "cannot set stdin, stdout and stderr";
      break;
    case STAGE_CPUS:
      what = "cannot bind the process to its cpus";
      break;
    case STAGE_CPUS_GONE:
      g_set_error_literal (
          error, DVM_ERROR, code,
          "cannot bind the process: some of its cpus are not the agent's any more, since they have gone offline "
          "or the agent's cgroup has lost them; shrink and grow the node, or stop and start the DVM, and it has those "
          "that are left");
      return DVMD_EXIT_FAILED;
    case STAGE_LIMIT:
      what = "cannot restore the limit of open files";
      break;
    case STAGE_TRACE:
      what = "cannot stop the program at its start, since ptrace() is not allowed here "
             "(/proc/sys/kernel/yama/ptrace_scope, a filter of system calls)";
      break;
    case STAGE_NONE:
      break;
    }
  g_set_error (error, DVM_ERROR, code, "%s: %s", what, reason);
  return DVMD_EXIT_FAILED;
}

static gboolean
reserve_given (DvmdSpawner *self)
{
  self->null_fd = open ("/dev/null", O_RDWR | O_CLOEXEC);
  for (guint i = 0; i < N_GIVEN && self->null_fd >= 0; i++)
    if ((self->given[i] = fcntl (self->null_fd, F_DUPFD_CLOEXEC, 3)) < 0)
      return FALSE;
  return self->null_fd >= 0;
}

DvmdSpawner *
dvmd_spawner_new (GError **error)
{
  g_autoptr (DvmdSpawner) self = g_new0 (DvmdSpawner, 1);

  self->stack = MAP_FAILED;
  for (guint i = 0; i < N_GIVEN; i++)
    self->given[i] = -1;
  if (!reserve_given (self))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "cannot open /dev/null: %s", g_strerror (errno));
      return NULL;
    }
  self->stack = mmap (NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (self->stack == MAP_FAILED || mprotect (self->stack, (gsize)sysconf (_SC_PAGESIZE), PROT_NONE) != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "cannot get memory to start processes: %s",
                   g_strerror (errno));
      return NULL;
    }
  return g_steal_pointer (&self);
}

void
dvmd_spawner_free (DvmdSpawner *self)
{
  if (self->stack != MAP_FAILED)
    munmap (self->stack, STACK_SIZE);
  for (guint i = 0; i < N_GIVEN; i++)
    if (self->given[i] >= 0)
      close (self->given[i]);
  if (self->null_fd >= 0)
    close (self->null_fd);
  g_free (self);
}

void
dvmd_spawner_raise_nofile (DvmdSpawner *self)
{
  struct rlimit limit;

  if (self->raised || getrlimit (RLIMIT_NOFILE, &self->nofile) != 0 || self->nofile.rlim_cur == self->nofile.rlim_max)
    return;
  limit = self->nofile;
  limit.rlim_cur = limit.rlim_max;
  self->raised = setrlimit (RLIMIT_NOFILE, &limit) == 0;
}

void
dvmd_spawner_set_without_clone3 (DvmdSpawner *self, gboolean without)
{
  self->without_clone3 = without;
}

gboolean
dvmd_spawner_is_without_shared_table (DvmdSpawner *self)
{
  return self->without_shared_table;
}

/*
 * A traced child stops at exec, with its program loaded and nothing of it run. It is let go of with SIGSTOP, which
 * stops it in the ordinary way: any debugger may attach now. One that was killed meanwhile is left for the reaper.
 */
static void
leave_stopped (pid_t pid)
{
  siginfo_t info = { 0 };
  int result;

  do
    result = waitid (P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT);
  while (result != 0 && errno == EINTR);
  if (result != 0 || info.si_code != CLD_TRAPPED)
    return;
  if (ptrace (PTRACE_DETACH, pid, NULL, (void *)SIGSTOP) != 0 && errno != ESRCH)
    g_message ("process %d cannot be left stopped: %s", pid, g_strerror (errno));
}

/* FALSE: one is no descriptor. */
static gboolean
place_given (DvmdSpawner *self, const DvmdSpawnRequest *request)
{
  const int fds[N_GIVEN] = { request->stdin_fd, request->stdout_fd, request->stderr_fd, request->extra_fd };

  for (guint i = 0; i < N_GIVEN; i++)
    if (fds[i] >= 0 && dup3 (fds[i], self->given[i], O_CLOEXEC) < 0)
      return FALSE;
  return TRUE;
}

static void
reap_failed (long pid, int *pidfd)
{
  while (waitpid ((pid_t)pid, NULL, 0) < 0 && errno == EINTR)
    ;
  if (*pidfd >= 0)
    close (*pidfd);
  *pidfd = -1;
}

/* A container's filter may know neither of the two calls by which a child parts with the table: it has a copy then. */
static long
start_with_table (DvmdSpawner *self, Child *child, int *fd, gboolean wants_pidfd)
{
  long pid;

  child->shares_table = !self->without_shared_table;
  pid = start_child (self, child, wants_pidfd ? fd : NULL);
  if (pid <= 0 || child->stage != STAGE_TABLE)
    return pid;
  reap_failed (pid, fd);
  self->without_shared_table = TRUE;
  child->shares_table = FALSE;
  child->stage = STAGE_NONE;
  return start_child (self, child, wants_pidfd ? fd : NULL);
}

/* Readers of a pipe see its end when the process has closed it. */
static void
withdraw_given (DvmdSpawner *self)
{
  for (guint i = 0; i < N_GIVEN; i++)
    dup3 (self->null_fd, self->given[i], O_CLOEXEC);
}

pid_t
dvmd_spawner_spawn (DvmdSpawner *self, const DvmdSpawnRequest *request, int *pidfd, int *exit_code, GError **error)
{
  g_auto (GStrv) candidates = NULL;
  Child child = { 0 };
  guint64 all_blocked = G_MAXUINT64;
  guint64 old_mask;
  gboolean placed;
  int fd = -1;
  int code;
  long pid;

  g_return_val_if_fail (request->argv != NULL && request->argv[0] != NULL, -1);
  g_return_val_if_fail (request->envp != NULL, -1);

  candidates = list_candidates (request);
  child.request = request;
  child.candidates = candidates;
  child.given = self->given;
  child.parent = getpid ();
  child.searched = strchr (get_program (request), '/') == NULL;
  child.nofile = self->raised ? &self->nofile : NULL;

  syscall (SYS_rt_sigprocmask, SIG_SETMASK, &all_blocked, &old_mask, SIGSET_BYTES);
  placed = place_given (self, request);
  pid = placed ? start_with_table (self, &child, &fd, pidfd != NULL) : -errno;
  withdraw_given (self);
  syscall (SYS_rt_sigprocmask, SIG_SETMASK, &old_mask, NULL, SIGSET_BYTES);

  if (pid > 0 && child.stage == STAGE_NONE)
    {
      if (request->stopped)
        leave_stopped ((pid_t)pid);
      if (pidfd != NULL)
        *pidfd = fd;
      return (pid_t)pid;
    }
  if (pid > 0)
    reap_failed (pid, &fd);
  else
    {
      child.error = (int)-pid;
      /* The kernel itself puts the child into its cgroup. */
      child.stage = !placed                                                                         ? STAGE_DESCRIPTORS
                    : request->cgroup_fd >= 0 && pid != -EAGAIN && pid != -ENOMEM && pid != -EMFILE ? STAGE_CGROUP
                                                                                                    : STAGE_CLONE;
    }
  code = set_stage_error (request, &child, error);
  if (exit_code != NULL)
    *exit_code = code;
  return -1;
}

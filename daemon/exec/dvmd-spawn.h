/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <sched.h>
#include <sys/types.h>

#include <glib.h>

G_BEGIN_DECLS

/*
 * Starts one process at the cost of vfork: the child borrows the parent's memory on a stack of its own until it has
 * executed its program, so the size of the daemon does not matter.
 */

typedef struct _DvmdSpawner DvmdSpawner;

/* Shell scripts use the descriptors 3 to 9 as they like, and shells those from 10 on that are free. */
#define DVMD_SPAWN_EXTRA_FD 20

/* Exit codes that a user sees for a process that could not be started (as shells have them). */
#define DVMD_EXIT_NOT_FOUND      127
#define DVMD_EXIT_NOT_EXECUTABLE 126
#define DVMD_EXIT_FAILED         125 /* directory, cpu set, resources */

typedef struct
{
  const char *const *argv;
  /* (nullable): argv[0]. A name with '/' is taken as it is, others are looked for in PATH of envp. */
  const char *program;
  /* They are looked for in cwd, too, after that. */
  gboolean search_cwd;
  /* The complete environment as bytes; the parent's is never used. */
  const char *const *envp;
  /* (nullable): the daemon's own directory */
  const char *cwd;
  /* Descriptors for 0, 1, 2 (borrowed); -1 is /dev/null. Nothing else but extra_fd stays open in the child. */
  int stdin_fd;
  int stdout_fd;
  int stderr_fd;
  /* (borrowed): a descriptor besides these, which the child has as DVMD_SPAWN_EXTRA_FD; -1 for none */
  int extra_fd;
  /* stdin_fd is a terminal: new session, and it becomes the controlling terminal. Else: new process group. */
  gboolean pty;
  /* New session without a terminal: it can ask nobody. */
  gboolean session;
  /* The process waits at its first instruction, stopped as by SIGSTOP, until it gets SIGCONT. */
  gboolean stopped;
  /* (nullable): cpus that the process may use; it gets memory near them */
  const cpu_set_t *cpus;
  gsize cpus_size;
  /* A directory of cgroup v2 that the process is born in, -1 for none; see DvmdContainer. */
  int cgroup_fd;
} DvmdSpawnRequest;

/* A request with no descriptors, directory, cpus, cgroup. */
#define DVMD_SPAWN_REQUEST_INIT                                                                                        \
  {                                                                                                                    \
    .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .extra_fd = -1, .cgroup_fd = -1                                  \
  }

DvmdSpawner *dvmd_spawner_new (GError **error);
void dvmd_spawner_free (DvmdSpawner *self);

/* Raises the soft limit of open files of this process to the hard one; children get the old one back. */
void dvmd_spawner_raise_nofile (DvmdSpawner *self);

/*
 * Returns the pid (also its process group) or -1. pidfd (nullable) is close-on-exec. On error exit_code (nullable) is
 * what the user is to see: 127, 126 or 125. Errors are DVM_ERROR_LAUNCH_FAILED, or DVM_ERROR_OUT_OF_RESOURCE,
 * or DVM_ERROR_BAD_PARAM for a request that no machine could carry out.
 */
pid_t dvmd_spawner_spawn (DvmdSpawner *self, const DvmdSpawnRequest *request, int *pidfd, int *exit_code,
                          GError **error);

/*
 * (transfer full) (nullable): the program of the request as another program can execute it that is started in its
 * place: as it was typed, or "./" before it. NULL: as above.
 */
char *dvmd_spawn_find_program (const DvmdSpawnRequest *request, int *exit_code, GError **error);

/* The longest single string that exec accepts in argv or environment, without its final zero. */
#define DVMD_SPAWN_STRING_MAX 131071

/* NULL, or the first string of the vector that exec would refuse for its length. */
const char *dvmd_spawn_find_too_long (const char *const *vector);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdSpawner, dvmd_spawner_free)

G_END_DECLS

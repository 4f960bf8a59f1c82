/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Keeps what a controller and its agents do on the word of made-up messages to one directory, and them from starting
 * programs: the kernel refuses the rest (Landlock).
 */

#include "config.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fuzz.h"

#define WRITES                                                                                                         \
  (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE                      \
   | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG                          \
   | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK                       \
   | LANDLOCK_ACCESS_FS_MAKE_SYM)

static gboolean
allow (int ruleset, const char *path, guint64 access)
{
  struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = open (path, O_PATH | O_CLOEXEC) };
  gboolean ok;

  /* A machine that has no such file has no use for it. */
  if (rule.parent_fd < 0)
    return TRUE;
  ok = syscall (SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
  close (rule.parent_fd);
  return ok;
}

gboolean
fuzz_confine (const char *directory)
{
  struct landlock_ruleset_attr attr = { .handled_access_fs = WRITES | LANDLOCK_ACCESS_FS_EXECUTE };
  int ruleset = (int)syscall (SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
  gboolean ok;

  if (ruleset < 0)
    return FALSE;
  ok = allow (ruleset, directory, WRITES) && allow (ruleset, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE)
       && allow (ruleset, "/dev/ptmx", LANDLOCK_ACCESS_FS_WRITE_FILE)
       && allow (ruleset, "/dev/pts", LANDLOCK_ACCESS_FS_WRITE_FILE)
       && allow (ruleset, "/bin/true", LANDLOCK_ACCESS_FS_EXECUTE)
       && allow (ruleset, "/bin/sleep", LANDLOCK_ACCESS_FS_EXECUTE)
       && allow (ruleset, "/lib64/ld-linux-x86-64.so.2", LANDLOCK_ACCESS_FS_EXECUTE)
       && allow (ruleset, "/lib/ld-linux-aarch64.so.1", LANDLOCK_ACCESS_FS_EXECUTE)
       && prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall (SYS_landlock_restrict_self, ruleset, 0) == 0;
  close (ruleset);
  return ok;
}

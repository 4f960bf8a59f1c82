/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#define DVMD_CGROUP_PREFIX_SIZE 64

/*
 * How the names of all cgroups begin that a process makes, for itself and for its guard, which has no GLib. A pid is
 * that of one process in its own namespace alone, and a cgroup may be that of processes in several.
 */
static inline void
dvmd_cgroup_get_prefix (pid_t pid, char prefix[DVMD_CGROUP_PREFIX_SIZE])
{
  struct stat space = { 0 };

  stat ("/proc/self/ns/pid", &space);
  snprintf (prefix, DVMD_CGROUP_PREFIX_SIZE, "dvm-%d.%llu.", pid, (unsigned long long)space.st_ino);
}

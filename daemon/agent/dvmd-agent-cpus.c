/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The cpus that a scheduler has given, where nothing else keeps the agent to them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-cpus.h"

#include <dvm.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dvmd-binding.h"

/* All threads: each may start processes, which inherit it. */
static gboolean
set_affinity (const char *list, GError **error)
{
  gsize size = 0;
  g_autofree cpu_set_t *mask = dvmd_binding_dup_cpu_set (list, &size);
  g_autoptr (GDir) threads = g_dir_open ("/proc/self/task", 0, error);
  const char *name;

  while (threads != NULL && (name = g_dir_read_name (threads)) != NULL)
    if (syscall (SYS_sched_setaffinity, (pid_t)atoi (name), size, mask) != 0 && errno != ESRCH)
      {
        g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "the kernel does not let it keep to %s: %s", list,
                     g_strerror (errno));
        return FALSE;
      }
  return threads != NULL;
}

/* Processes of the agent may have the cpus of this list. (transfer full) (nullable) */
static DvmdTopology *
keep_to_list (DvmdTopology *machine, const char *list, GError **error)
{
  /* A thread that another one started in the meantime is seen at the second time. */
  if (!set_affinity (list, error) || !set_affinity (list, error))
    return NULL;
  if (g_strcmp0 (list, dvmd_topology_get_cpuset (machine)) == 0)
    return dvmd_topology_ref (machine);
  return dvmd_topology_new_local (error);
}

DvmdTopology *
dvmd_agent_keep_to_cpus (DvmdTopology *machine, DvmdTopology *topology, const char *cpus, GError **error)
{
  g_autofree char *list = cpus[0] != '\0' ? dvmd_topology_choose_cpus (machine, cpus, error)
                                          : g_strdup (dvmd_topology_get_cpuset (machine));
  DvmdTopology *now;

  if (list == NULL || g_strcmp0 (list, dvmd_topology_get_cpuset (topology)) == 0)
    return list != NULL ? dvmd_topology_ref (topology) : NULL;
  now = keep_to_list (machine, list, error);
  if (now == NULL)
    set_affinity (dvmd_topology_get_cpuset (topology), NULL);
  return now;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The PMIx servers of an agent as processes: what starts and ends them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "dvmd-agent-pmix.h"
#include "dvmd-pmix-servers.h"
#include "dvmd-programs.h"

typedef struct
{
  DvmdPmixProcessEnded ended;
  gpointer user_data;
} Process;

struct _DvmdAgentPmixProcesses
{
  DvmdSpawner *spawner;
  DvmdReaper *reaper;
  GHashTable *processes; /* pid -> Process */
};

static void
on_reaped (pid_t pid, int status, gpointer user_data)
{
  DvmdAgentPmixProcesses *self = user_data;
  Process *process = g_hash_table_lookup (self->processes, GINT_TO_POINTER (pid));
  const Process told = *process;
  g_autofree char *how = NULL;

  g_hash_table_remove (self->processes, GINT_TO_POINTER (pid));
  if (WIFSIGNALED (status))
    how = g_strdup_printf ("was ended by signal %d (%s)", WTERMSIG (status), strsignal (WTERMSIG (status)));
  else if (WEXITSTATUS (status) == DVMD_PMIX_EXIT_OTHER)
    how = g_strdup ("is of another version of dvm than its agent, which was installed while this DVM ran: stop the DVM "
                    "when its jobs have ended, and start it again");
  else
    how = g_strdup_printf ("ended with status %d", WEXITSTATUS (status));
  told.ended (how, told.user_data);
}

static int
spawn (DvmdAgentPmixProcesses *self, int fd, int *pidfd, GError **error)
{
  g_autofree char *program = dvmd_programs_find ("dvm-pmix", error);
  g_autofree char *digest = dvmd_pmix_messages_dup_digest ();
  const char *argv[] = { program, digest, NULL };
  g_auto (GStrv) environment = g_get_environ ();
  DvmdSpawnRequest request = DVMD_SPAWN_REQUEST_INIT;

  if (program == NULL)
    return -1;
  request.argv = argv;
  request.envp = (const char *const *)environment;
  request.stdin_fd = fd;
  request.stdout_fd = STDERR_FILENO;
  request.stderr_fd = STDERR_FILENO;
  return dvmd_spawner_spawn (self->spawner, &request, dvmd_reaper_adopts_orphans (self->reaper) ? NULL : pidfd, NULL,
                             error);
}

static int
start_process (gpointer starter_data, int fd, DvmdPmixProcessEnded ended, gpointer user_data, GError **error)
{
  DvmdAgentPmixProcesses *self = starter_data;
  int pidfd = -1;
  int pid = spawn (self, fd, &pidfd, error);
  Process *process;

  g_close (fd, NULL);
  if (pid < 0)
    return -1;
  process = g_new0 (Process, 1);
  process->ended = ended;
  process->user_data = user_data;
  g_hash_table_insert (self->processes, GINT_TO_POINTER (pid), process);
  dvmd_reaper_watch (self->reaper, pid, pidfd, on_reaped, self);
  return pid;
}

static void
kill_process (gpointer starter_data, int pid)
{
  kill (pid, SIGKILL);
}

static void
forget_process (gpointer starter_data, int pid)
{
  DvmdAgentPmixProcesses *self = starter_data;

  if (!g_hash_table_remove (self->processes, GINT_TO_POINTER (pid)))
    return;
  kill (pid, SIGKILL);
  dvmd_reaper_unwatch (self->reaper, pid);
}

static const DvmdPmixStarter starter = {
  .start = start_process,
  .kill = kill_process,
  .forget = forget_process,
};

DvmdAgentPmixProcesses *
dvmd_agent_pmix_processes_new (DvmdAgent *agent)
{
  DvmdAgentPmixProcesses *self = g_new0 (DvmdAgentPmixProcesses, 1);

  self->spawner = dvmd_agent_get_parts (agent)->spawner;
  self->reaper = dvmd_agent_get_parts (agent)->reaper;
  self->processes = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  return self;
}

DvmdPmix *
dvmd_agent_pmix_processes_open (DvmdAgentPmixProcesses *self, DvmdClock *clock, guint n)
{
  return dvmd_pmix_servers_new (&starter, self, clock, n);
}

void
dvmd_agent_pmix_processes_free (DvmdAgentPmixProcesses *self)
{
  g_hash_table_unref (self->processes);
  g_free (self);
}

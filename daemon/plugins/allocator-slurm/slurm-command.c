/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Commands of Slurm, in an environment that has no options for them.
 */

#include "config.h"

#include "slurm-command.h"

#include "slurm-environment.h"

/* Seconds that a command may take: those of Slurm give up a slurmctld that does not answer earlier than that. */
#define TIMEOUT 60

void
slurm_run (DvmdPluginHost *host, const char *const *argv, DvmdTimedCommandEnded ran, gpointer user_data)
{
  g_auto (GStrv) all = g_get_environ ();
  g_auto (GStrv) environ = slurm_make_environ ((const char *const *)all);
  const DvmdPluginCommand command = { .argv = argv, .environ = (const char *const *)environ };
  guint seconds = dvmd_timed_command_read_seconds (host, "allocator-slurm", "timeout", 1, TIMEOUT);

  dvmd_timed_command_run (host, &command, seconds, "allocator-slurm.timeout", NULL, ran, user_data);
}

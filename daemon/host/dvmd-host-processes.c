/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A controller starts the commands of its plugins, and ends what is left of agents of this machine that were killed
 * together with their guards: such processes come to it, the next subreaper above them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-host-processes.h"

#include <signal.h>

#include "dvmd-proc-scan.h"

/* µs after which one is looked at again that was just becoming another program */
#define UNCLEAR_PAUSE (G_TIME_SPAN_SECOND / 20)

struct _DvmdHostProcesses
{
  DvmdClock *clock;
  DvmdSpawner *spawner;
  DvmdReaper *reaper;
  char *mark; /* (nullable): in the environment of each process of our jobs */
  guint timer;
};

static void end_orphans (gpointer user_data);

static void
on_time (gpointer user_data)
{
  DvmdHostProcesses *self = user_data;

  self->timer = 0;
  end_orphans (self);
}

/* Each that is ended leaves its children to us: its end brings us here again. Commands of plugins have no mark of a
 * job. */
static void
end_orphans (gpointer user_data)
{
  DvmdHostProcesses *self = user_data;
  g_autoptr (GArray) orphans = dvmd_reaper_list_orphans (self->reaper);
  gboolean unclear = FALSE;

  for (guint i = 0; i < orphans->len; i++)
    {
      pid_t pid = g_array_index (orphans, pid_t, i);
      DvmdProcEnviron environ_state = dvmd_proc_search_environ_prefix (pid, self->mark);

      unclear |= environ_state == DVMD_PROC_ENVIRON_UNCLEAR;
      if (environ_state == DVMD_PROC_ENVIRON_HAS && kill (pid, SIGKILL) == 0)
        g_message ("Process %d of a job, whose agent and guards were killed, is ended", pid);
    }
  if (unclear && self->timer == 0)
    self->timer = dvmd_clock_add_timer (self->clock, UNCLEAR_PAUSE, on_time, self);
}

DvmdHostProcesses *
dvmd_host_processes_new (GMainContext *context, DvmdClock *clock, gboolean subreaper, const char *nspace,
                         GError **error)
{
  g_autoptr (DvmdHostProcesses) self = g_new0 (DvmdHostProcesses, 1);

  self->clock = dvmd_clock_ref (clock);
  self->mark = nspace != NULL ? g_strdup_printf ("DVM_JOBID=%s@", nspace) : NULL;
  self->spawner = dvmd_spawner_new (error);
  if (self->spawner != NULL)
    self->reaper = dvmd_reaper_new (context, subreaper, error);
  if (self->reaper == NULL)
    return NULL;
  if (self->mark != NULL)
    dvmd_reaper_set_adopted (self->reaper, end_orphans, self);
  return g_steal_pointer (&self);
}

void
dvmd_host_processes_free (DvmdHostProcesses *self)
{
  g_clear_pointer (&self->reaper, dvmd_reaper_free);
  g_clear_pointer (&self->spawner, dvmd_spawner_free);
  dvmd_clock_remove_timer (self->clock, self->timer);
  dvmd_clock_unref (self->clock);
  g_free (self->mark);
  g_free (self);
}

DvmdSpawner *
dvmd_host_processes_get_spawner (DvmdHostProcesses *self)
{
  return self->spawner;
}

DvmdReaper *
dvmd_host_processes_get_reaper (DvmdHostProcesses *self)
{
  return self->reaper;
}

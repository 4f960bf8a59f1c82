/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents of the nodes of a job of PBS, by the mpiexec of HPE PALS: an application of one process for each. Its
 * processes are bound to a core each unless it is told otherwise. Other implementations of MPI have a command of that
 * name, too, and so it is called only if somebody asks for this launcher.
 */

#include "config.h"

#include "job-launcher.h"
#include "pbs-job.h"

/* Variables that it sets for a rank would be wrong in a job of the DVM. */
#define WITHOUT(name) "--unset", name

#define DVMD_TYPE_PALS_LAUNCHER (dvmd_pals_launcher_get_type ())
G_DECLARE_FINAL_TYPE (DvmdPalsLauncher, dvmd_pals_launcher, DVMD, PALS_LAUNCHER, DvmdJobLauncher)

struct _DvmdPalsLauncher
{
  DvmdJobLauncher parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdPalsLauncher, dvmd_pals_launcher, DVMD_TYPE_JOB_LAUNCHER)

static GHashTable *
dvmd_pals_launcher_read_targets (DvmdJobLauncher *self, const char *const *environ, GError **error)
{
  g_autoptr (DvmdAllocation) allocation = pbs_job_read (environ, NULL, error);

  return allocation != NULL ? dvmd_job_launcher_list_targets (allocation) : NULL;
}

static const JobCommand *
dvmd_pals_launcher_find_command (DvmdJobLauncher *self)
{
  static const char *const words[] = { "mpiexec",
                                       "-n",
                                       "1",
                                       "--ppn",
                                       "1",
                                       "--cpu-bind",
                                       "none",
                                       "--hosts",
                                       JOB_NODE,
                                       "--",
                                       "/usr/bin/env",
                                       WITHOUT ("PALS_APID"),
                                       WITHOUT ("PALS_APINFO"),
                                       WITHOUT ("PALS_RANKID"),
                                       WITHOUT ("PALS_NODEID"),
                                       WITHOUT ("PALS_DEPTH"),
                                       WITHOUT ("PALS_LOCAL_RANKID"),
                                       WITHOUT ("PALS_LOCAL_SIZE"),
                                       WITHOUT ("PALS_SPOOL_DIR"),
                                       WITHOUT ("PALS_STARTUP_BARRIER"),
                                       WITHOUT ("PALS_FD"),
                                       WITHOUT ("PALS_TIMEOUT"),
                                       WITHOUT ("PMI_RANK"),
                                       WITHOUT ("PMI_SIZE"),
                                       WITHOUT ("PMI_LOCAL_RANK"),
                                       WITHOUT ("PMI_LOCAL_SIZE"),
                                       WITHOUT ("PMI_JOBID"),
                                       WITHOUT ("PMI_SHARED_SECRET"),
                                       WITHOUT ("PMI_UNIVERSE_SIZE"),
                                       WITHOUT ("PMI_CONTROL_PORT"),
                                       NULL };
  static const JobCommand command = { .words = words };

  return &command;
}

static void
dvmd_pals_launcher_class_init (DvmdPalsLauncherClass *klass)
{
  DvmdJobLauncherClass *job_class = DVMD_JOB_LAUNCHER_CLASS (klass);

  job_class->by_file = TRUE;
  job_class->read_targets = dvmd_pals_launcher_read_targets;
  job_class->find_command = dvmd_pals_launcher_find_command;
}

static void
dvmd_pals_launcher_init (DvmdPalsLauncher *self)
{
}

static const char *const variables[] = { "PBS_JOBID", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_LAUNCHER,
  .name = "pals",
  .description = "starts the agents of a job of PBS by the mpiexec of HPE PALS, if it is asked for by its name",
  .get_type = dvmd_pals_launcher_get_type,
  .variables = variables,
  .settings = dvmd_job_launcher_settings,
};

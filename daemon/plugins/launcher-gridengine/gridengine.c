/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents of the nodes of a job of Grid Engine. submit(1) of 8.1.9: -inherit takes the job from JOB_ID, -V hands the
 * environment on, and no other option counts; the standard input goes there unless -nostdin is given; the login shell
 * reads the command unless -noshell is given. sge_pe(5): the parallel environment must have control_slaves. sge_qmaster
 * ends the whole job where a task has a status above 128 ("tightly integrated parallel task ... failed - killing job").
 */

#include "config.h"

#include "gridengine-job.h"
#include "job-launcher.h"

#define DVMD_TYPE_GRIDENGINE_LAUNCHER (dvmd_gridengine_launcher_get_type ())
G_DECLARE_FINAL_TYPE (DvmdGridengineLauncher, dvmd_gridengine_launcher, DVMD, GRIDENGINE_LAUNCHER, DvmdJobLauncher)

struct _DvmdGridengineLauncher
{
  DvmdJobLauncher parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdGridengineLauncher, dvmd_gridengine_launcher, DVMD_TYPE_JOB_LAUNCHER)

static GHashTable *
dvmd_gridengine_launcher_read_targets (DvmdJobLauncher *self, const char *const *environ, GError **error)
{
  g_autoptr (DvmdAllocation) allocation = gridengine_job_read (environ, error);

  return allocation != NULL ? dvmd_job_launcher_list_targets (allocation) : NULL;
}

static const JobCommand *
dvmd_gridengine_launcher_find_command (DvmdJobLauncher *self)
{
  static const char *const words[] = { "qrsh", "-inherit", "-V", JOB_NODE, NULL };
  static const JobCommand command = { .words = words, .is_line = TRUE, .hides_signals = TRUE };

  return &command;
}

static void
dvmd_gridengine_launcher_class_init (DvmdGridengineLauncherClass *klass)
{
  DvmdJobLauncherClass *job_class = DVMD_JOB_LAUNCHER_CLASS (klass);

  job_class->read_targets = dvmd_gridengine_launcher_read_targets;
  job_class->find_command = dvmd_gridengine_launcher_find_command;
}

static void
dvmd_gridengine_launcher_init (DvmdGridengineLauncher *self)
{
}

static const char *const variables[] = { "PE_HOSTFILE", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_LAUNCHER,
  .name = "gridengine",
  .description = "starts the agents of a parallel job of Grid Engine by qrsh",
  .get_type = dvmd_gridengine_launcher_get_type,
  .variables = variables,
  .settings = dvmd_job_launcher_settings,
};

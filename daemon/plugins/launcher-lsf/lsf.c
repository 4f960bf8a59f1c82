/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents of the nodes of a job of LSF. blaunch(8) of LSF 9.1.2 and 10.1: only -n takes the standard input from
 * /dev/null, -no-shell starts the words themselves, and nodes are those of the job. What it hands on of the environment
 * the page does not say.
 */

#include "config.h"

#include "environment.h"
#include "job-launcher.h"
#include "lsf-job.h"

#define DVMD_TYPE_LSF_LAUNCHER (dvmd_lsf_launcher_get_type ())
G_DECLARE_FINAL_TYPE (DvmdLsfLauncher, dvmd_lsf_launcher, DVMD, LSF_LAUNCHER, DvmdJobLauncher)

struct _DvmdLsfLauncher
{
  DvmdJobLauncher parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdLsfLauncher, dvmd_lsf_launcher, DVMD_TYPE_JOB_LAUNCHER)

/* In an allocation of CSM the script is run on a launch node, and jsrun starts what there is on others. */
static GHashTable *
dvmd_lsf_launcher_read_targets (DvmdJobLauncher *self, const char *const *environ, GError **error)
{
  g_autoptr (DvmdAllocation) allocation = NULL;
  g_autofree char *launch_node = NULL;

  if (dvmd_environment_get (environ, "CSM_ALLOCATION_ID") == NULL)
    allocation = lsf_job_read (environ, &launch_node, error);
  return allocation != NULL ? dvmd_job_launcher_list_targets (allocation) : NULL;
}

static const JobCommand *
dvmd_lsf_launcher_find_command (DvmdJobLauncher *self)
{
  static const char *const words[] = { "blaunch", "-no-shell", "-z", JOB_NODE, NULL };
  static const JobCommand command = { .words = words };

  return &command;
}

static void
dvmd_lsf_launcher_class_init (DvmdLsfLauncherClass *klass)
{
  DvmdJobLauncherClass *job_class = DVMD_JOB_LAUNCHER_CLASS (klass);

  job_class->read_targets = dvmd_lsf_launcher_read_targets;
  job_class->find_command = dvmd_lsf_launcher_find_command;
}

static void
dvmd_lsf_launcher_init (DvmdLsfLauncher *self)
{
}

static const char *const variables[] = { "LSB_JOBID", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_LAUNCHER,
  .name = "lsf",
  .description = "starts the agents of a job of LSF by blaunch",
  .get_type = dvmd_lsf_launcher_get_type,
  .variables = variables,
  .settings = dvmd_job_launcher_settings,
};

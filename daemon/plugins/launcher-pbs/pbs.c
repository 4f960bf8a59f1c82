/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents of the nodes of a job of PBS, by its task manager. pbs_tmrsh(8B) of OpenPBS 23: what the task writes goes to
 * the files of the job, and the exit status is that of the task, or 255; the standard input of a task is /dev/null, and
 * its environment that of the job (src/resmom/start_exec.c, start_process()). pbsdsh(1B) of Torque 6 has -h for one
 * node, and exits with 0.
 */

#include "config.h"

#include "job-launcher.h"
#include "pbs-job.h"

#define DVMD_TYPE_PBS_LAUNCHER (dvmd_pbs_launcher_get_type ())
G_DECLARE_FINAL_TYPE (DvmdPbsLauncher, dvmd_pbs_launcher, DVMD, PBS_LAUNCHER, DvmdJobLauncher)

struct _DvmdPbsLauncher
{
  DvmdJobLauncher parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdPbsLauncher, dvmd_pbs_launcher, DVMD_TYPE_JOB_LAUNCHER)

static GHashTable *
dvmd_pbs_launcher_read_targets (DvmdJobLauncher *self, const char *const *environ, GError **error)
{
  g_autoptr (DvmdAllocation) allocation = pbs_job_read (environ, NULL, error);

  return allocation != NULL ? dvmd_job_launcher_list_targets (allocation) : NULL;
}

/* PBS Professional and OpenPBS have the first one, Torque the second one. */
static const JobCommand *
dvmd_pbs_launcher_find_command (DvmdJobLauncher *self)
{
  static const char *const tmrsh_words[] = { "pbs_tmrsh", JOB_NODE, NULL };
  static const char *const dsh_words[] = { "pbsdsh", "-h", JOB_NODE, "--", NULL };
  static const JobCommand tmrsh = { .words = tmrsh_words };
  static const JobCommand dsh = { .words = dsh_words };
  g_autofree char *found = g_find_program_in_path (tmrsh_words[0]);
  g_autofree char *second = g_find_program_in_path (dsh_words[0]);

  return found == NULL && second != NULL ? &dsh : &tmrsh;
}

static void
dvmd_pbs_launcher_class_init (DvmdPbsLauncherClass *klass)
{
  DvmdJobLauncherClass *job_class = DVMD_JOB_LAUNCHER_CLASS (klass);

  job_class->by_file = TRUE;
  job_class->read_targets = dvmd_pbs_launcher_read_targets;
  job_class->find_command = dvmd_pbs_launcher_find_command;
}

static void
dvmd_pbs_launcher_init (DvmdPbsLauncher *self)
{
}

static const char *const variables[] = { "PBS_JOBID", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_LAUNCHER,
  .name = "pbs",
  .description = "starts the agents of a job of PBS by pbs_tmrsh or pbsdsh",
  .get_type = dvmd_pbs_launcher_get_type,
  .variables = variables,
  .settings = dvmd_job_launcher_settings,
};

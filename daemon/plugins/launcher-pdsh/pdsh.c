/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents by pdsh. pdsh(1) of 2.35: -S exits with the status of the command, -N leaves the name of the node away before
 * each line. No way that it gets there hands the standard input on (src/pdsh/dsh.c, "not yet supported").
 */

#include "config.h"

#include "job-launcher.h"

#define DVMD_TYPE_PDSH_LAUNCHER (dvmd_pdsh_launcher_get_type ())
G_DECLARE_FINAL_TYPE (DvmdPdshLauncher, dvmd_pdsh_launcher, DVMD, PDSH_LAUNCHER, DvmdJobLauncher)

struct _DvmdPdshLauncher
{
  DvmdJobLauncher parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdPdshLauncher, dvmd_pdsh_launcher, DVMD_TYPE_JOB_LAUNCHER)

static const JobCommand *
dvmd_pdsh_launcher_find_command (DvmdJobLauncher *self)
{
  static const char *const words[] = { "pdsh", "-S", "-N", "-w", JOB_NODE, NULL };
  static const JobCommand command = { .words = words, .is_line = TRUE };

  return &command;
}

static void
dvmd_pdsh_launcher_class_init (DvmdPdshLauncherClass *klass)
{
  DvmdJobLauncherClass *job_class = DVMD_JOB_LAUNCHER_CLASS (klass);

  job_class->by_file = TRUE;
  job_class->find_command = dvmd_pdsh_launcher_find_command;
}

static void
dvmd_pdsh_launcher_init (DvmdPdshLauncher *self)
{
}

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_LAUNCHER,
  .name = "pdsh",
  .description = "starts each agent by pdsh, if it is asked for by its name",
  .get_type = dvmd_pdsh_launcher_get_type,
  .settings = dvmd_job_launcher_settings,
};

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "command-launcher.h"
#include "job-words.h"

G_BEGIN_DECLS

/*
 * The base of launchers that start the agents of a job's nodes by the command of its scheduler, one for each. All nodes
 * of a start are in the job, or it is declined, and so is one of nodes with an address of their own.
 *
 * Its settings, besides those of all command launchers: "command" (as for a shell), "prefix" (where dvm is installed on
 * the nodes) and "directory" (where tokens are handed over, if the command hands on no standard input).
 */

#define DVMD_TYPE_JOB_LAUNCHER (dvmd_job_launcher_get_type ())
G_DECLARE_DERIVABLE_TYPE (DvmdJobLauncher, dvmd_job_launcher, DVMD, JOB_LAUNCHER, DvmdCommandLauncher)

/*
 * @by_file: the command hands on no standard input
 * @read_targets: (nullable): (transfer full) (nullable): the nodes of the job that the DVM is in: name in lower case ->
 * what the command calls it; NULL without error: there is no job of this scheduler. A class without it, and without
 *   ask_targets_async(), is for all hosts
 * @ask_targets_async: (nullable): instead, for those that have to ask
 * @ask_targets_finish: its answer
 * @find_command: how it is called
 */
struct _DvmdJobLauncherClass
{
  DvmdCommandLauncherClass parent_class;

  gboolean by_file;
  GHashTable *(*read_targets) (DvmdJobLauncher *self, const char *const *environ, GError **error);
  void (*ask_targets_async) (DvmdJobLauncher *self, const char *const *environ, GCancellable *cancellable,
                             GAsyncReadyCallback callback, gpointer user_data);
  GHashTable *(*ask_targets_finish) (DvmdJobLauncher *self, GAsyncResult *result, GError **error);
  const JobCommand *(*find_command) (DvmdJobLauncher *self);
};

/* The settings that each launcher of this class heeds, for its description. */
extern const DvmdPluginSetting dvmd_job_launcher_settings[];

/* (transfer full): for read_targets(): all nodes, under their names */
GHashTable *dvmd_job_launcher_list_targets (DvmdAllocation *allocation);

G_END_DECLS

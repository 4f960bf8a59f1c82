/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of the job of LSF that the DVM is in.
 */

#include "config.h"

#include "environment-allocator.h"
#include "job-time.h"
#include "lsf-job.h"

#define DVMD_TYPE_LSF (dvmd_lsf_get_type ())
G_DECLARE_FINAL_TYPE (DvmdLsf, dvmd_lsf, DVMD, LSF, DvmdEnvironmentAllocator)

struct _DvmdLsf
{
  DvmdEnvironmentAllocator parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdLsf, dvmd_lsf, DVMD_TYPE_ENVIRONMENT_ALLOCATOR)

static DvmdAllocation *
dvmd_lsf_read (DvmdEnvironmentAllocator *self, const char *const *environ, GError **error)
{
  g_autofree char *launch_node = NULL;
  DvmdAllocation *allocation = lsf_job_read (environ, &launch_node, error);

  if (launch_node != NULL)
    dvmd_plugin_host_log (dvmd_plugin_get_host (self), G_LOG_LEVEL_MESSAGE, "leaves out %s, the launch node of the job",
                          launch_node);
  return allocation;
}

static void
dvmd_lsf_class_init (DvmdLsfClass *klass)
{
  DVMD_ENVIRONMENT_ALLOCATOR_CLASS (klass)->read = dvmd_lsf_read;
  DVMD_ENVIRONMENT_ALLOCATOR_CLASS (klass)->time_question = &lsf_time_question;
}

static void
dvmd_lsf_init (DvmdLsf *self)
{
}

static const char *const variables[] = { "LSB_JOBID", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_ALLOCATOR,
  .name = "lsf",
  .description = "takes the nodes of the job of LSF that the DVM is in",
  .get_type = dvmd_lsf_get_type,
  .variables = variables,
  .settings = dvmd_time_settings,
};

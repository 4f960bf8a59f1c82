/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of the job of Grid Engine that the DVM is in.
 */

#include "config.h"

#include "environment-allocator.h"
#include "gridengine-job.h"
#include "job-time.h"

#define DVMD_TYPE_GRIDENGINE (dvmd_gridengine_get_type ())
G_DECLARE_FINAL_TYPE (DvmdGridengine, dvmd_gridengine, DVMD, GRIDENGINE, DvmdEnvironmentAllocator)

struct _DvmdGridengine
{
  DvmdEnvironmentAllocator parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdGridengine, dvmd_gridengine, DVMD_TYPE_ENVIRONMENT_ALLOCATOR)

static DvmdAllocation *
dvmd_gridengine_read (DvmdEnvironmentAllocator *self, const char *const *environ, GError **error)
{
  return gridengine_job_read (environ, error);
}

static void
dvmd_gridengine_class_init (DvmdGridengineClass *klass)
{
  DVMD_ENVIRONMENT_ALLOCATOR_CLASS (klass)->read = dvmd_gridengine_read;
  DVMD_ENVIRONMENT_ALLOCATOR_CLASS (klass)->time_question = &gridengine_time_question;
}

static void
dvmd_gridengine_init (DvmdGridengine *self)
{
}

/* One without this file is on this machine. */
static const char *const variables[] = { "PE_HOSTFILE", NULL };

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_ALLOCATOR,
  .name = "gridengine",
  .description = "takes the nodes of the job of Grid Engine that the DVM is in",
  .get_type = dvmd_gridengine_get_type,
  .variables = variables,
  .settings = dvmd_time_settings,
};

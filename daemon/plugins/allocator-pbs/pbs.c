/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of the job of PBS that the DVM is in.
 */

#include "config.h"

#include "environment-allocator.h"
#include "job-time.h"
#include "pbs-job.h"

#define DVMD_TYPE_PBS (dvmd_pbs_get_type ())
G_DECLARE_FINAL_TYPE (DvmdPbs, dvmd_pbs, DVMD, PBS, DvmdEnvironmentAllocator)

struct _DvmdPbs
{
  DvmdEnvironmentAllocator parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdPbs, dvmd_pbs, DVMD_TYPE_ENVIRONMENT_ALLOCATOR)

static DvmdAllocation *
dvmd_pbs_read (DvmdEnvironmentAllocator *self, const char *const *environ, GError **error)
{
  return pbs_job_read (environ, dvmd_plugin_host_get_setting (dvmd_plugin_get_host (self), "smp"), error);
}

static void
dvmd_pbs_class_init (DvmdPbsClass *klass)
{
  DVMD_ENVIRONMENT_ALLOCATOR_CLASS (klass)->read = dvmd_pbs_read;
  DVMD_ENVIRONMENT_ALLOCATOR_CLASS (klass)->time_question = &pbs_time_question;
}

static void
dvmd_pbs_init (DvmdPbs *self)
{
}

static const char *const variables[] = { "PBS_JOBID", NULL };

static const char *const answers[] = { "yes", "no", NULL };

static const DvmdPluginSetting settings[] = {
  { .key = "smp", .values = answers },
  { .key = "interval", .least = 0, .most = G_MAXINT32 },
  { .key = "timeout", .least = 1, .most = G_MAXINT32 },
  { .key = NULL },
};

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_ALLOCATOR,
  .name = "pbs",
  .description = "takes the nodes of the job of PBS that the DVM is in",
  .get_type = dvmd_pbs_get_type,
  .variables = variables,
  .settings = settings,
};

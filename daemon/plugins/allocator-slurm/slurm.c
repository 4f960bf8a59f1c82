/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of the Slurm job that the DVM is in. The job gets more of them for a DVM that grows, and gives back those
 * that leave the DVM: its setting "release" (false: they are kept until the job ends).
 */

#include "config.h"

#include <string.h>

#include "environment.h"
#include "environment-allocator.h"
#include "slurm-job.h"
#include "slurm-loss.h"
#include "slurm-size.h"
#include "slurm-watch.h"

#define DVMD_TYPE_SLURM_ALLOCATOR (dvmd_slurm_allocator_get_type ())
G_DECLARE_FINAL_TYPE (DvmdSlurmAllocator, dvmd_slurm_allocator, DVMD, SLURM_ALLOCATOR, DvmdEnvironmentAllocator)

struct _DvmdSlurmAllocator
{
  DvmdEnvironmentAllocator parent_instance;

  SlurmJob *job;     /* (nullable): the DVM was started in it */
  SlurmSize *size;   /* (nullable): likewise */
  SlurmWatch *watch; /* (nullable): likewise */
};

G_DEFINE_FINAL_TYPE (DvmdSlurmAllocator, dvmd_slurm_allocator, DVMD_TYPE_ENVIRONMENT_ALLOCATOR)

static const char *
get_id (DvmdSlurmAllocator *self)
{
  return dvmd_allocation_get_id (self->job->allocation);
}

static void
forget_job (DvmdSlurmAllocator *self)
{
  g_clear_pointer (&self->watch, slurm_watch_release);
  g_clear_pointer (&self->size, slurm_size_unref);
  g_clear_pointer (&self->job, slurm_job_free);
}

/* ---- the start ---- */

/* A shell that has kept the number of its job and lost the rest looks as one that is in no job. */
static void
tell_number_alone (DvmdSlurmAllocator *self, const char *const *environ)
{
  static const char *const names[] = { "SLURM_JOB_ID", "SLURM_JOBID", NULL };
  const char *name;
  const char *id = dvmd_environment_find (environ, names, &name);
  g_autofree char *shown = id != NULL ? g_utf8_make_valid (id, (gssize)strnlen (id, 60)) : NULL;

  if (id != NULL)
    dvmd_plugin_host_log (
        dvmd_plugin_get_host (self), G_LOG_LEVEL_MESSAGE,
        "%s is “%s”, and neither SLURM_JOB_NODELIST nor SLURM_NODELIST names nodes: the DVM is started "
        "as if it were in no job of Slurm",
        name, shown);
}

static DvmdAllocation *
dvmd_slurm_allocator_read (DvmdEnvironmentAllocator *allocator, const char *const *environ, GError **error)
{
  DvmdSlurmAllocator *self = DVMD_SLURM_ALLOCATOR (allocator);
  GError *wrong = NULL;
  SlurmJob *job = slurm_job_read (environ, &wrong);
  guint n_nodes;

  if (wrong != NULL)
    g_propagate_error (error, wrong);
  else if (job == NULL)
    tell_number_alone (self, environ);
  if (job == NULL)
    return NULL;
  forget_job (self);
  self->job = job;
  self->size = slurm_size_new (dvmd_plugin_get_host (self), job);
  self->watch = slurm_watch_new (DVMD_ALLOCATOR (self), get_id (self), self->size);
  dvmd_allocation_get_nodes (job->allocation, &n_nodes);
  dvmd_plugin_host_log (dvmd_plugin_get_host (self), G_LOG_LEVEL_INFO, "job %s of Slurm has %u node%s", get_id (self),
                        n_nodes, n_nodes == 1 ? "" : "s");
  return dvmd_allocation_ref (job->allocation);
}

/* (nullable): why the job keeps its size */
static GError *
find_obstacle (DvmdSlurmAllocator *self)
{
  if (!self->job->heterogeneous)
    return NULL;
  return g_error_new (DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                      "job %s of Slurm is heterogeneous, and dvm does not make such a job smaller or larger",
                      get_id (self));
}

/* ---- more nodes ---- */

/* Nodes that are named are asked for here if all of them are the job's and have left the DVM. */
static gboolean
is_for_job (DvmdSlurmAllocator *self, const DvmdAllocationRequest *request)
{
  if (self->job == NULL || request->n_logical > 0)
    return FALSE;
  if (request->hosts != NULL)
    return slurm_size_are_spare (self->size, request->hosts);
  return request->count > 0;
}

static void
dvmd_slurm_allocator_allocate_async (DvmdAllocator *allocator, const DvmdAllocationRequest *request,
                                     GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdSlurmAllocator *self = DVMD_SLURM_ALLOCATOR (allocator);
  GTask *task;
  GError *error;

  if (!is_for_job (self, request))
    {
      DVMD_ALLOCATOR_CLASS (dvmd_slurm_allocator_parent_class)
          ->allocate_async (allocator, request, cancellable, callback, user_data);
      return;
    }
  task = g_task_new (self, cancellable, callback, user_data);
  error = request->hosts == NULL ? find_obstacle (self) : NULL;
  if (error == NULL)
    {
      slurm_size_grow (self->size, request, task);
      return;
    }
  g_task_return_error (task, error);
  g_object_unref (task);
}

/* ---- nodes are given back ---- */

/* (nullable): why Slurm is not asked */
static GError *
find_reason_to_keep (DvmdSlurmAllocator *self)
{
  const char *setting = dvmd_plugin_host_get_setting (dvmd_plugin_get_host (self), "release");

  if (setting != NULL && g_ascii_strcasecmp (setting, "false") == 0)
    return g_error_new (DVM_ERROR, DVM_ERROR_NOT_SUPPORTED,
                        "job %s of Slurm keeps them: the setting allocator-slurm.release is false", get_id (self));
  if (setting != NULL && g_ascii_strcasecmp (setting, "true") != 0)
    return g_error_new (DVM_ERROR, DVM_ERROR_BAD_PARAM, "allocator-slurm.release is “%s”: it is true or false",
                        setting);
  return find_obstacle (self);
}

static void
dvmd_slurm_allocator_give_back_async (DvmdAllocator *allocator, const char *alloc_id, const char *const *names,
                                      GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdSlurmAllocator *self = DVMD_SLURM_ALLOCATOR (allocator);
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  GError *error;

  if (self->job == NULL || !slurm_size_leave (self->size, names))
    {
      g_task_return_boolean (task, FALSE);
      return;
    }
  error = find_reason_to_keep (self);
  if (error != NULL)
    g_task_return_error (task, error);
  else
    slurm_size_release (self->size, names, g_steal_pointer (&task));
}

/* ---- nodes that are lost ---- */

static void
dvmd_slurm_allocator_explain_loss_async (DvmdAllocator *allocator, const char *const *names, GCancellable *cancellable,
                                         GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdSlurmAllocator *self = DVMD_SLURM_ALLOCATOR (allocator);
  GTask *task = g_task_new (self, cancellable, callback, user_data);

  if (self->watch != NULL)
    {
      slurm_explain_loss (self->watch, get_id (self), names, task);
      return;
    }
  g_task_return_pointer (task, NULL, NULL);
  g_object_unref (task);
}

/* ---- the class ---- */

static void
dvmd_slurm_allocator_finalize (GObject *object)
{
  forget_job (DVMD_SLURM_ALLOCATOR (object));
  G_OBJECT_CLASS (dvmd_slurm_allocator_parent_class)->finalize (object);
}

static void
dvmd_slurm_allocator_class_init (DvmdSlurmAllocatorClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_slurm_allocator_finalize;
  DVMD_ENVIRONMENT_ALLOCATOR_CLASS (klass)->read = dvmd_slurm_allocator_read;
  DVMD_ALLOCATOR_CLASS (klass)->allocate_async = dvmd_slurm_allocator_allocate_async;
  DVMD_ALLOCATOR_CLASS (klass)->explain_loss_async = dvmd_slurm_allocator_explain_loss_async;
  DVMD_ALLOCATOR_CLASS (klass)->give_back_async = dvmd_slurm_allocator_give_back_async;
}

static void
dvmd_slurm_allocator_init (DvmdSlurmAllocator *self)
{
}

static const char *const variables[] = { "SLURM_JOB_ID", "SLURM_JOBID", NULL };

static const char *const booleans[] = { "true", "false", NULL };

static const DvmdPluginSetting settings[] = {
  { .key = "release", .values = booleans },
  { .key = "interval", .least = 0, .most = G_MAXINT32 },
  { .key = "timeout", .least = 1, .most = G_MAXINT32 },
  { .key = NULL },
};

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_ALLOCATOR,
  .name = "slurm",
  .description = "takes the nodes of the Slurm job that the DVM is in, and more of Slurm",
  .get_type = dvmd_slurm_allocator_get_type,
  .variables = variables,
  .settings = settings,
};

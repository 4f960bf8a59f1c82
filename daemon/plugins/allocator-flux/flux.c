/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes of the instance of Flux, or of the job in it, that the DVM is in.
 */

#include "config.h"

#include "environment-allocator.h"
#include "flux-job.h"
#include "job-time.h"

#define DVMD_TYPE_FLUX (dvmd_flux_get_type ())
G_DECLARE_FINAL_TYPE (DvmdFlux, dvmd_flux, DVMD, FLUX, DvmdAllocator)

struct _DvmdFlux
{
  DvmdAllocator parent_instance;

  DvmdTimeAsker *asker; /* (nullable): of the job or instance that the DVM is in */
};

G_DEFINE_FINAL_TYPE (DvmdFlux, dvmd_flux, DVMD_TYPE_ALLOCATOR)

static void
ask_time (DvmdFlux *self, FluxJob *job)
{
  const char *id = dvmd_allocation_get_id (job->allocation);
  gint64 left = job->expiration > 0 ? MAX (job->expiration - g_get_real_time () / G_USEC_PER_SEC, 0) : -1;

  g_clear_pointer (&self->asker, dvmd_time_asker_release);
  self->asker = dvmd_time_asker_new (DVMD_ALLOCATOR (self), &flux_time_question, job->allocation,
                                     id != NULL ? id : "of this instance");
  /* The time of the instance or job is that of the nodes that the DVM starts with. */
  dvmd_time_asker_know (self->asker, left);
}

static void
on_answered (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GTask) task = user_data;
  GError *error = NULL;
  g_autoptr (FluxJob) job = flux_job_ask_finish (result, &error);

  if (job != NULL)
    ask_time (g_task_get_source_object (task), job);
  if (job != NULL)
    g_task_return_pointer (task, g_steal_pointer (&job->allocation), (GDestroyNotify)dvmd_allocation_unref);
  else
    g_task_return_error (task, error);
}

static void
dvmd_flux_allocate_async (DvmdAllocator *allocator, const DvmdAllocationRequest *request, GCancellable *cancellable,
                          GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (allocator, cancellable, callback, user_data);
  g_auto (GStrv) environ = g_get_environ ();

  if (!dvmd_environment_is_bare_start (request) || !flux_job_is_there ((const char *const *)environ))
    g_task_return_pointer (task, NULL, NULL);
  else
    flux_job_ask_async (dvmd_plugin_get_host (allocator), "allocator-flux", cancellable, on_answered,
                        g_steal_pointer (&task));
}

static void
dvmd_flux_finalize (GObject *object)
{
  g_clear_pointer (&DVMD_FLUX (object)->asker, dvmd_time_asker_release);
  G_OBJECT_CLASS (dvmd_flux_parent_class)->finalize (object);
}

static void
dvmd_flux_class_init (DvmdFluxClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_flux_finalize;
  DVMD_ALLOCATOR_CLASS (klass)->allocate_async = dvmd_flux_allocate_async;
}

static void
dvmd_flux_init (DvmdFlux *self)
{
}

static const char *const variables[] = { "FLUX_URI", NULL };

static const DvmdPluginSetting settings[] = {
  { .key = "interval", .least = 0, .most = G_MAXINT32 },
  { .key = "timeout", .least = 1, .most = FLUX_JOB_MOST_TIMEOUT },
  { .key = NULL },
};

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_ALLOCATOR,
  .name = "flux",
  .description = "takes the nodes of the instance or the job of Flux that the DVM is in",
  .get_type = dvmd_flux_get_type,
  .variables = variables,
  .settings = settings,
};

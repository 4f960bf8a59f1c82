/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Allocators that answer the start of a DVM with the job of a scheduler that it is in.
 */

#include "config.h"

#include "environment-allocator.h"

typedef struct
{
  DvmdTimeAsker *asker; /* (nullable): of the job that the DVM is in */
} DvmdEnvironmentAllocatorPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (DvmdEnvironmentAllocator, dvmd_environment_allocator, DVMD_TYPE_ALLOCATOR)

/* Nodes that are named, counted or logical are a wish that comes before the job of a scheduler. */
gboolean
dvmd_environment_is_bare_start (const DvmdAllocationRequest *request)
{
  return request->hosts == NULL && request->count == 0 && request->n_logical == 0 && request->alloc_id == NULL;
}

static void
ask_time (DvmdEnvironmentAllocator *self, DvmdAllocation *allocation)
{
  DvmdEnvironmentAllocatorPrivate *private = dvmd_environment_allocator_get_instance_private (self);
  const DvmdTimeQuestion *question = DVMD_ENVIRONMENT_ALLOCATOR_GET_CLASS (self)->time_question;

  g_clear_pointer (&private->asker, dvmd_time_asker_release);
  if (question != NULL)
  private->asker = dvmd_time_asker_new (DVMD_ALLOCATOR (self), question, allocation,
                                        dvmd_allocation_get_id (allocation));
}

static void
dvmd_environment_allocator_allocate_async (DvmdAllocator *self, const DvmdAllocationRequest *request,
                                           GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  g_auto (GStrv) environ = NULL;
  DvmdAllocation *allocation;
  GError *error = NULL;

  if (!dvmd_environment_is_bare_start (request))
    {
      g_task_return_pointer (task, NULL, NULL);
      return;
    }
  environ = g_get_environ ();
  allocation = DVMD_ENVIRONMENT_ALLOCATOR_GET_CLASS (self)->read (DVMD_ENVIRONMENT_ALLOCATOR (self),
                                                                  (const char *const *)environ, &error);
  if (allocation != NULL)
    ask_time (DVMD_ENVIRONMENT_ALLOCATOR (self), allocation);
  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_pointer (task, allocation, (GDestroyNotify)dvmd_allocation_unref);
}

/* A job that has ended takes the whole DVM with it. */
static void
dvmd_environment_allocator_explain_loss_async (DvmdAllocator *self, const char *const *names, GCancellable *cancellable,
                                               GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdEnvironmentAllocatorPrivate *private = dvmd_environment_allocator_get_instance_private (
      DVMD_ENVIRONMENT_ALLOCATOR (self));
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);

  if (private->asker != NULL)
    dvmd_time_asker_ask (private->asker, g_steal_pointer (&task));
  else
    g_task_return_pointer (task, NULL, NULL);
}

static void
dvmd_environment_allocator_finalize (GObject *object)
{
  DvmdEnvironmentAllocatorPrivate *private = dvmd_environment_allocator_get_instance_private (
      DVMD_ENVIRONMENT_ALLOCATOR (object));

  g_clear_pointer (&private->asker, dvmd_time_asker_release);
  G_OBJECT_CLASS (dvmd_environment_allocator_parent_class)->finalize (object);
}

static void
dvmd_environment_allocator_class_init (DvmdEnvironmentAllocatorClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = dvmd_environment_allocator_finalize;
  DVMD_ALLOCATOR_CLASS (klass)->allocate_async = dvmd_environment_allocator_allocate_async;
  DVMD_ALLOCATOR_CLASS (klass)->explain_loss_async = dvmd_environment_allocator_explain_loss_async;
}

static void
dvmd_environment_allocator_init (DvmdEnvironmentAllocator *self)
{
}

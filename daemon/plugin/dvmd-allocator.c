/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The base class of plugins that find nodes, and take them back.
 */

#include "config.h"

#include "dvmd-allocator.h"

#include "dvmd-verdict-private.h"

G_DEFINE_ABSTRACT_TYPE (DvmdAllocator, dvmd_allocator, DVMD_TYPE_PLUGIN)

static void
decline_allocate (DvmdAllocator *self, const DvmdAllocationRequest *request, GCancellable *cancellable,
                  GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);

  g_task_return_pointer (task, NULL, NULL);
}

static DvmdPluginVerdict
real_allocate_finish (DvmdAllocator *self, GAsyncResult *result, DvmdAllocation **allocation, GError **error)
{
  GError *local = NULL;

  *allocation = g_task_propagate_pointer (G_TASK (result), &local);
  return dvmd_verdict_take (*allocation != NULL, local, error);
}

static void
decline_give_back (DvmdAllocator *self, const char *alloc_id, const char *const *names, GCancellable *cancellable,
                   GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);

  g_task_return_boolean (task, FALSE);
}

static void
offer_share (DvmdAllocator *self, const DvmdReleaseOffer *offer, GCancellable *cancellable,
             GAsyncReadyCallback callback, gpointer user_data)
{
  if (offer->names[0] != NULL)
    dvmd_allocator_give_back_async (self, offer->alloc_id, offer->names, cancellable, callback, user_data);
  else
    decline_give_back (self, offer->alloc_id, offer->names, cancellable, callback, user_data);
}

static DvmdPluginVerdict
real_give_back_finish (DvmdAllocator *self, GAsyncResult *result, GError **error)
{
  GError *local = NULL;
  gboolean done = g_task_propagate_boolean (G_TASK (result), &local);

  return dvmd_verdict_take (done, local, error);
}

static void
decline_decide (DvmdAllocator *self, const DvmdDecisionRequest *request, GCancellable *cancellable,
                GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);

  g_task_return_pointer (task, NULL, NULL);
}

static DvmdPluginVerdict
real_decide_finish (DvmdAllocator *self, GAsyncResult *result, GVariant **answer, GError **error)
{
  GError *local = NULL;

  *answer = g_task_propagate_pointer (G_TASK (result), &local);
  if (*answer != NULL)
    g_variant_take_ref (*answer);
  return dvmd_verdict_take (*answer != NULL, local, error);
}

static void
decline_explain_loss (DvmdAllocator *self, const char *const *names, GCancellable *cancellable,
                      GAsyncReadyCallback callback, gpointer user_data)
{
  decline_allocate (self, NULL, cancellable, callback, user_data);
}

static void
dvmd_allocator_class_init (DvmdAllocatorClass *klass)
{
  klass->allocate_async = decline_allocate;
  klass->allocate_finish = real_allocate_finish;
  klass->give_back_async = decline_give_back;
  klass->give_back_finish = real_give_back_finish;
  klass->offer_release_async = offer_share;
  klass->decide_async = decline_decide;
  klass->decide_finish = real_decide_finish;
  klass->explain_loss_async = decline_explain_loss;
  klass->explain_loss_finish = real_decide_finish;
  g_signal_new ("push", DVMD_TYPE_ALLOCATOR, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2, G_TYPE_STRING,
                G_TYPE_VARIANT);
}

static void
dvmd_allocator_init (DvmdAllocator *self)
{
}

void
dvmd_allocator_allocate_async (DvmdAllocator *self, const DvmdAllocationRequest *request, GCancellable *cancellable,
                               GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVMD_IS_ALLOCATOR (self));

  DVMD_ALLOCATOR_GET_CLASS (self)->allocate_async (self, request, cancellable, callback, user_data);
}

DvmdPluginVerdict
dvmd_allocator_allocate_finish (DvmdAllocator *self, GAsyncResult *result, DvmdAllocation **allocation, GError **error)
{
  g_return_val_if_fail (DVMD_IS_ALLOCATOR (self), DVMD_PLUGIN_DECLINED);

  *allocation = NULL;
  return DVMD_ALLOCATOR_GET_CLASS (self)->allocate_finish (self, result, allocation, error);
}

void
dvmd_allocator_give_back_async (DvmdAllocator *self, const char *alloc_id, const char *const *names,
                                GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVMD_IS_ALLOCATOR (self));

  DVMD_ALLOCATOR_GET_CLASS (self)->give_back_async (self, alloc_id, names, cancellable, callback, user_data);
}

DvmdPluginVerdict
dvmd_allocator_give_back_finish (DvmdAllocator *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (DVMD_IS_ALLOCATOR (self), DVMD_PLUGIN_DECLINED);

  return DVMD_ALLOCATOR_GET_CLASS (self)->give_back_finish (self, result, error);
}

void
dvmd_allocator_offer_release_async (DvmdAllocator *self, const DvmdReleaseOffer *offer, GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVMD_IS_ALLOCATOR (self));

  DVMD_ALLOCATOR_GET_CLASS (self)->offer_release_async (self, offer, cancellable, callback, user_data);
}

gboolean
dvmd_allocator_takes_back (DvmdAllocator *self)
{
  g_return_val_if_fail (DVMD_IS_ALLOCATOR (self), FALSE);

  return DVMD_ALLOCATOR_GET_CLASS (self)->give_back_async != decline_give_back;
}

gboolean
dvmd_allocator_decides (DvmdAllocator *self)
{
  g_return_val_if_fail (DVMD_IS_ALLOCATOR (self), FALSE);

  return DVMD_ALLOCATOR_GET_CLASS (self)->decide_async != decline_decide;
}

void
dvmd_allocator_decide_async (DvmdAllocator *self, const DvmdDecisionRequest *request, GCancellable *cancellable,
                             GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVMD_IS_ALLOCATOR (self));

  DVMD_ALLOCATOR_GET_CLASS (self)->decide_async (self, request, cancellable, callback, user_data);
}

DvmdPluginVerdict
dvmd_allocator_decide_finish (DvmdAllocator *self, GAsyncResult *result, GVariant **answer, GError **error)
{
  g_return_val_if_fail (DVMD_IS_ALLOCATOR (self), DVMD_PLUGIN_DECLINED);

  *answer = NULL;
  return DVMD_ALLOCATOR_GET_CLASS (self)->decide_finish (self, result, answer, error);
}

gboolean
dvmd_allocator_explains_loss (DvmdAllocator *self)
{
  g_return_val_if_fail (DVMD_IS_ALLOCATOR (self), FALSE);

  return DVMD_ALLOCATOR_GET_CLASS (self)->explain_loss_async != decline_explain_loss;
}

void
dvmd_allocator_explain_loss_async (DvmdAllocator *self, const char *const *names, GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVMD_IS_ALLOCATOR (self));

  DVMD_ALLOCATOR_GET_CLASS (self)->explain_loss_async (self, names, cancellable, callback, user_data);
}

DvmdPluginVerdict
dvmd_allocator_explain_loss_finish (DvmdAllocator *self, GAsyncResult *result, GVariant **answer, GError **error)
{
  g_return_val_if_fail (DVMD_IS_ALLOCATOR (self), DVMD_PLUGIN_DECLINED);

  *answer = NULL;
  return DVMD_ALLOCATOR_GET_CLASS (self)->explain_loss_finish (self, result, answer, error);
}

void
dvmd_allocator_session_ended (DvmdAllocator *self, guint32 session, const char *alloc_id, GVariant *jobs)
{
  g_return_if_fail (DVMD_IS_ALLOCATOR (self));

  if (DVMD_ALLOCATOR_GET_CLASS (self)->session_ended != NULL)
    DVMD_ALLOCATOR_GET_CLASS (self)->session_ended (self, session, alloc_id, jobs);
}

void
dvmd_allocator_push (DvmdAllocator *self, const char *directive, GVariant *request)
{
  g_autoptr (GVariant) sunk = g_variant_ref_sink (request);

  g_return_if_fail (DVMD_IS_ALLOCATOR (self));
  g_return_if_fail (directive != NULL);
  g_return_if_fail (g_variant_is_of_type (sunk, G_VARIANT_TYPE_VARDICT));

  g_signal_emit_by_name (self, "push", directive, sunk);
}

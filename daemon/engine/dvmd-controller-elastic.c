/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Requests to change the size of the DVM: all are refused so far.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-controller-elastic.h"

#include "dvmd-core-elastic.h"

void
dvmd_controller_change_size_async (DvmdController *self, const char *directive, GVariant *request,
                                   const DvmdRequester *requester, gboolean scheduler, GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, dvmd_controller_change_size_async);
  if (dvmd_core_get_elastic (dvmd_controller_get_core (self)))
    g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "The size of the DVM cannot be changed yet");
  else
    g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_NOT_ELASTIC,
                             "This DVM does not change its size: it was not started with “elastic”");
}

GVariant *
dvmd_controller_change_size_finish (DvmdController *self, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

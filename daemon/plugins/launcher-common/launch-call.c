/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Calls of launchers that are over when all of their nodes are.
 */

#include "config.h"

#include "launch-call.h"

DvmdLaunchCall *
dvmd_launch_call_new (DvmdLauncher *launcher, GCancellable *cancellable, GAsyncReadyCallback callback,
                      gpointer user_data)
{
  DvmdLaunchCall *call = g_new0 (DvmdLaunchCall, 1);

  call->task = g_task_new (launcher, cancellable, callback, user_data);
  call->n_left = 1;
  return call;
}

static void
call_free (DvmdLaunchCall *call)
{
  g_object_unref (call->task);
  g_free (call);
}

void
dvmd_launch_call_unref (DvmdLaunchCall *call)
{
  if (--call->n_left > 0)
    return;
  if (call->cancel_id != 0)
    g_cancellable_disconnect (g_task_get_cancellable (call->task), call->cancel_id);
  if (!g_task_return_error_if_cancelled (call->task))
    g_task_return_boolean (call->task, TRUE);
  call_free (call);
}

void
dvmd_launch_call_decline (DvmdLaunchCall *call)
{
  g_task_return_boolean (call->task, FALSE);
  call_free (call);
}

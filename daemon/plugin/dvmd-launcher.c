/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The base class of plugins that start and end agents.
 */

#include "config.h"

#include "dvmd-launcher.h"

#include "dvmd-verdict-private.h"

G_DEFINE_ABSTRACT_TYPE (DvmdLauncher, dvmd_launcher, DVMD_TYPE_PLUGIN)

static void
decline_launch (DvmdLauncher *self, const DvmdLaunchRequest *request, GCancellable *cancellable,
                GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);

  g_task_return_boolean (task, FALSE);
}

static void
decline_terminate (DvmdLauncher *self, const DvmdPluginNode *nodes, guint32 n_nodes, GCancellable *cancellable,
                   GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);

  g_task_return_boolean (task, FALSE);
}

static DvmdPluginVerdict
real_finish (DvmdLauncher *self, GAsyncResult *result, GError **error)
{
  GError *local = NULL;
  gboolean done = g_task_propagate_boolean (G_TASK (result), &local);

  return dvmd_verdict_take (done, local, error);
}

static void
dvmd_launcher_class_init (DvmdLauncherClass *klass)
{
  klass->launch_async = decline_launch;
  klass->launch_finish = real_finish;
  klass->terminate_async = decline_terminate;
  klass->terminate_finish = real_finish;
  g_signal_new ("ends", DVMD_TYPE_LAUNCHER, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  g_signal_new ("node-failed", DVMD_TYPE_LAUNCHER, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2, G_TYPE_UINT,
                G_TYPE_ERROR);
}

static void
dvmd_launcher_init (DvmdLauncher *self)
{
}

void
dvmd_launcher_launch_async (DvmdLauncher *self, const DvmdLaunchRequest *request, GCancellable *cancellable,
                            GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVMD_IS_LAUNCHER (self));

  DVMD_LAUNCHER_GET_CLASS (self)->launch_async (self, request, cancellable, callback, user_data);
}

DvmdPluginVerdict
dvmd_launcher_launch_finish (DvmdLauncher *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (DVMD_IS_LAUNCHER (self), DVMD_PLUGIN_DECLINED);

  return DVMD_LAUNCHER_GET_CLASS (self)->launch_finish (self, result, error);
}

void
dvmd_launcher_terminate_async (DvmdLauncher *self, const DvmdPluginNode *nodes, guint32 n_nodes,
                               GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (DVMD_IS_LAUNCHER (self));

  DVMD_LAUNCHER_GET_CLASS (self)->terminate_async (self, nodes, n_nodes, cancellable, callback, user_data);
}

DvmdPluginVerdict
dvmd_launcher_terminate_finish (DvmdLauncher *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (DVMD_IS_LAUNCHER (self), DVMD_PLUGIN_DECLINED);

  return DVMD_LAUNCHER_GET_CLASS (self)->terminate_finish (self, result, error);
}

void
dvmd_launcher_kill (DvmdLauncher *self, const DvmdPluginNode *nodes, guint32 n_nodes)
{
  g_return_if_fail (DVMD_IS_LAUNCHER (self));

  if (DVMD_LAUNCHER_GET_CLASS (self)->kill != NULL)
    DVMD_LAUNCHER_GET_CLASS (self)->kill (self, nodes, n_nodes);
}

void
dvmd_launcher_came (DvmdLauncher *self, guint32 rank)
{
  g_return_if_fail (DVMD_IS_LAUNCHER (self));

  if (DVMD_LAUNCHER_GET_CLASS (self)->came != NULL)
    DVMD_LAUNCHER_GET_CLASS (self)->came (self, rank);
}

void
dvmd_launcher_node_failed (DvmdLauncher *self, guint32 rank, const GError *reason)
{
  g_return_if_fail (DVMD_IS_LAUNCHER (self));
  g_return_if_fail (reason != NULL);

  g_signal_emit_by_name (self, "node-failed", rank, reason);
}

void
dvmd_launcher_ends (DvmdLauncher *self, const char *reason)
{
  g_return_if_fail (DVMD_IS_LAUNCHER (self));
  g_return_if_fail (reason != NULL);

  g_signal_emit_by_name (self, "ends", reason);
}

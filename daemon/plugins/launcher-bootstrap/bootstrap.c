/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that start by themselves: there is nothing to do for them but to wait, which the controller does.
 */

#include "config.h"

#include "dvmd-plugin.h"

#define DVMD_TYPE_BOOTSTRAP_LAUNCHER (dvmd_bootstrap_launcher_get_type ())
G_DECLARE_FINAL_TYPE (DvmdBootstrapLauncher, dvmd_bootstrap_launcher, DVMD, BOOTSTRAP_LAUNCHER, DvmdLauncher)

struct _DvmdBootstrapLauncher
{
  DvmdLauncher parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdBootstrapLauncher, dvmd_bootstrap_launcher, DVMD_TYPE_LAUNCHER)

static void
dvmd_bootstrap_launcher_launch_async (DvmdLauncher *launcher, const DvmdLaunchRequest *request,
                                      GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (launcher, cancellable, callback, user_data);

  g_task_return_boolean (task, !request->logical);
}

/* An agent whose links have ended goes by itself, within controller-grace, and nothing here can hurry it. */
static void
dvmd_bootstrap_launcher_terminate_async (DvmdLauncher *launcher, const DvmdPluginNode *nodes, guint32 n_nodes,
                                         GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (launcher, cancellable, callback, user_data);

  g_task_return_boolean (task, TRUE);
}

static void
dvmd_bootstrap_launcher_class_init (DvmdBootstrapLauncherClass *klass)
{
  DVMD_LAUNCHER_CLASS (klass)->launch_async = dvmd_bootstrap_launcher_launch_async;
  DVMD_LAUNCHER_CLASS (klass)->terminate_async = dvmd_bootstrap_launcher_terminate_async;
  DVMD_LAUNCHER_CLASS (klass)->awaits = TRUE;
}

static void
dvmd_bootstrap_launcher_init (DvmdBootstrapLauncher *self)
{
}

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_LAUNCHER,
  .name = "bootstrap",
  .description = "waits for agents that start by themselves",
  .get_type = dvmd_bootstrap_launcher_get_type,
  .settings = DVMD_PLUGIN_NO_SETTINGS,
};

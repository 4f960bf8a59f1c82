/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The agents of logical nodes, on this machine.
 */

#include "config.h"

#include "command-launcher.h"

#define DVMD_TYPE_LOCAL_LAUNCHER (dvmd_local_launcher_get_type ())
G_DECLARE_FINAL_TYPE (DvmdLocalLauncher, dvmd_local_launcher, DVMD, LOCAL_LAUNCHER, DvmdCommandLauncher)

struct _DvmdLocalLauncher
{
  DvmdCommandLauncher parent_instance;
};

G_DEFINE_FINAL_TYPE (DvmdLocalLauncher, dvmd_local_launcher, DVMD_TYPE_COMMAND_LAUNCHER)

static char **
dvmd_local_launcher_make_argv (DvmdCommandLauncher *self, const char *name, const char *const *agent_argv,
                               const char *input_file, GError **error)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  g_strv_builder_addv (builder, (const char **)agent_argv);
  g_strv_builder_add_many (builder, "--node", name, NULL);
  return g_strv_builder_end (builder);
}

static GError *
dvmd_local_launcher_explain (DvmdCommandLauncher *self, const char *name, gboolean arrived,
                             const DvmdPluginOutcome *outcome)
{
  return dvmd_command_explain_exit (name, outcome);
}

static void
dvmd_local_launcher_class_init (DvmdLocalLauncherClass *klass)
{
  DvmdCommandLauncherClass *command_class = DVMD_COMMAND_LAUNCHER_CLASS (klass);

  command_class->logical = TRUE;
  command_class->make_argv = dvmd_local_launcher_make_argv;
  command_class->explain = dvmd_local_launcher_explain;
}

static void
dvmd_local_launcher_init (DvmdLocalLauncher *self)
{
}

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_LAUNCHER,
  .name = "local",
  .description = "starts the agents of logical nodes on this machine",
  .get_type = dvmd_local_launcher_get_type,
  .settings = dvmd_command_launcher_settings,
};

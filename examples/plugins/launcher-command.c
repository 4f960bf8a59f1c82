/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An example of a launcher: each agent by a command of its own, the setting "command" (ssh if there is none), followed
 * by the name of the node and the command line of the agent.
 */

#include <dvmd-plugin.h>

#define EXAMPLE_TYPE_COMMAND_LAUNCHER (example_command_launcher_get_type ())
G_DECLARE_FINAL_TYPE (ExampleCommandLauncher, example_command_launcher, EXAMPLE, COMMAND_LAUNCHER, DvmdLauncher)

struct _ExampleCommandLauncher
{
  DvmdLauncher parent_instance;
};

G_DEFINE_FINAL_TYPE (ExampleCommandLauncher, example_command_launcher, DVMD_TYPE_LAUNCHER)

typedef struct
{
  ExampleCommandLauncher *launcher;
  char *name;
  guint rank;
} Start;

/* A command that ends has left no agent behind. */
static void
on_ended (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Start *start = user_data;
  DvmdPluginOutcome outcome = { 0 };
  GError *error = NULL;

  if (dvmd_plugin_host_spawn_finish (DVMD_PLUGIN_HOST (source), result, &outcome, &error) && outcome.exit_code != 0)
    error = g_error_new (DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "%s: the command for its agent has ended with %d",
                         start->name, outcome.exit_code);
  if (error != NULL)
    dvmd_launcher_node_failed (DVMD_LAUNCHER (start->launcher), start->rank, error);
  g_clear_error (&error);
  dvmd_plugin_outcome_clear (&outcome);
  g_object_unref (start->launcher);
  g_free (start->name);
  g_free (start);
}

static void
start_one (DvmdLauncher *self, const DvmdLaunchRequest *request, const DvmdPluginNode *node, GCancellable *cancellable)
{
  DvmdPluginHost *host = dvmd_plugin_get_host (self);
  const char *with = dvmd_plugin_host_get_setting (host, "command");
  GPtrArray *argv = g_ptr_array_new ();
  DvmdPluginCommand command = { 0 };
  Start *start = g_new0 (Start, 1);

  start->launcher = EXAMPLE_COMMAND_LAUNCHER (g_object_ref (self));
  start->name = g_strdup (node->name);
  start->rank = node->rank;
  g_ptr_array_add (argv, (gpointer)(with != NULL ? with : "ssh"));
  g_ptr_array_add (argv, (gpointer)node->name);
  for (guint i = 0; request->agent_argv[i] != NULL; i++)
    g_ptr_array_add (argv, (gpointer)request->agent_argv[i]);
  g_ptr_array_add (argv, (gpointer) "--node");
  g_ptr_array_add (argv, (gpointer)node->name);
  g_ptr_array_add (argv, NULL);
  command.argv = (const char *const *)argv->pdata;
  command.input = request->agent_input;
  dvmd_plugin_host_spawn_async (host, &command, cancellable, on_ended, start);
  g_ptr_array_unref (argv);
}

static void
example_command_launcher_launch_async (DvmdLauncher *self, const DvmdLaunchRequest *request, GCancellable *cancellable,
                                       GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *task = g_task_new (self, cancellable, callback, user_data);

  for (guint i = 0; i < request->n_nodes; i++)
    start_one (self, request, &request->nodes[i], cancellable);
  g_task_return_boolean (task, TRUE);
  g_object_unref (task);
}

static void
example_command_launcher_class_init (ExampleCommandLauncherClass *klass)
{
  DVMD_LAUNCHER_CLASS (klass)->launch_async = example_command_launcher_launch_async;
}

static void
example_command_launcher_init (ExampleCommandLauncher *self)
{
}

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_LAUNCHER,
  .name = "command",
  .description = "an example: each agent by a command like ssh",
  .get_type = example_command_launcher_get_type,
};

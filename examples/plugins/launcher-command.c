/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An example of a launcher: each agent by a command of its own, the setting "command" (ssh if there is none), followed
 * by the name of the node and the command line of the agent. It has to pass its standard input on, as ssh does.
 */

#include <dvmd-plugin.h>

#define EXAMPLE_TYPE_COMMAND_LAUNCHER (example_command_launcher_get_type ())
G_DECLARE_FINAL_TYPE (ExampleCommandLauncher, example_command_launcher, EXAMPLE, COMMAND_LAUNCHER, DvmdLauncher)

struct _ExampleCommandLauncher
{
  DvmdLauncher parent_instance;

  GHashTable *agents; /* rank -> Agent */
};

G_DEFINE_FINAL_TYPE (ExampleCommandLauncher, example_command_launcher, DVMD_TYPE_LAUNCHER)

typedef struct
{
  ExampleCommandLauncher *launcher; /* unowned */
  char *name;
  guint rank;
  guint process;
  GTask *ending; /* (nullable): who waits for its end */
} Agent;

static void
agent_free (gpointer data)
{
  Agent *agent = data;

  g_clear_object (&agent->ending);
  g_free (agent->name);
  g_free (agent);
}

/* ---- starting ---- */

static void
fail (ExampleCommandLauncher *self, guint rank, GError *error)
{
  dvmd_launcher_node_failed (DVMD_LAUNCHER (self), rank, error);
  g_error_free (error);
}

static void finish_ending (GTask *task);

static void
on_ended (guint process, const DvmdPluginOutcome *outcome, gpointer user_data)
{
  Agent *agent = user_data;
  GTask *ending = g_steal_pointer (&agent->ending);

  if (ending == NULL)
    fail (agent->launcher, agent->rank,
          g_error_new (DVM_ERROR, DVM_ERROR_LAUNCH_FAILED, "%s: the command for its agent has ended with %d",
                       agent->name, outcome->exit_code));
  g_hash_table_remove (agent->launcher->agents, GUINT_TO_POINTER (agent->rank));
  if (ending != NULL)
    finish_ending (ending);
}

static const DvmdPluginWatch watch = { .ended = on_ended };

/* The token goes to standard input, which stays open: the agent lives as long as that. */
static void
start_one (ExampleCommandLauncher *self, const DvmdLaunchRequest *request, guint index)
{
  const DvmdPluginNode *node = &request->nodes[index];
  DvmdPluginHost *host = dvmd_plugin_get_host (self);
  const char *with = dvmd_plugin_host_get_setting (host, "command");
  GPtrArray *argv = g_ptr_array_new ();
  DvmdPluginCommand command = { 0 };
  Agent *agent = g_new0 (Agent, 1);
  GError *error = NULL;

  agent->launcher = self;
  agent->name = g_strdup (node->name);
  agent->rank = node->rank;
  g_ptr_array_add (argv, (gpointer)(with != NULL ? with : "ssh"));
  g_ptr_array_add (argv, (gpointer)node->name);
  for (guint i = 0; request->agent_argv[i] != NULL; i++)
    g_ptr_array_add (argv, (gpointer)request->agent_argv[i]);
  g_ptr_array_add (argv, (gpointer) "--node");
  g_ptr_array_add (argv, (gpointer)node->name);
  g_ptr_array_add (argv, NULL);
  command.argv = (const char *const *)argv->pdata;
  command.input = request->node_inputs != NULL ? request->node_inputs[index] : request->agent_input;
  agent->process = dvmd_plugin_host_start (host, &command, &watch, agent, &error);
  g_ptr_array_unref (argv);
  if (agent->process != 0)
    {
      g_hash_table_insert (self->agents, GUINT_TO_POINTER (agent->rank), agent);
      return;
    }
  agent_free (agent);
  fail (self, node->rank, error);
}

/* Those of this machine are no business of a command like ssh. */
static void
example_command_launcher_launch_async (DvmdLauncher *launcher, const DvmdLaunchRequest *request,
                                       GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *task = g_task_new (launcher, cancellable, callback, user_data);

  for (guint i = 0; !request->logical && i < request->n_nodes; i++)
    start_one (EXAMPLE_COMMAND_LAUNCHER (launcher), request, i);
  g_task_return_boolean (task, !request->logical);
  g_object_unref (task);
}

/* ---- ending ---- */

/* One of those that it waits for has ended; the task's data counts them. */
static void
finish_ending (GTask *task)
{
  guint n_left = GPOINTER_TO_UINT (g_task_get_task_data (task)) - 1;

  g_task_set_task_data (task, GUINT_TO_POINTER (n_left), NULL);
  if (n_left == 0)
    g_task_return_boolean (task, TRUE);
  g_object_unref (task);
}

static void
example_command_launcher_terminate_async (DvmdLauncher *launcher, const DvmdPluginNode *nodes, guint32 n_nodes,
                                          GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  ExampleCommandLauncher *self = EXAMPLE_COMMAND_LAUNCHER (launcher);
  GTask *task = g_task_new (launcher, cancellable, callback, user_data);

  /* Itself counts until all have been asked. */
  g_task_set_task_data (task, GUINT_TO_POINTER (1), NULL);
  for (guint i = 0; i < n_nodes; i++)
    {
      Agent *agent = g_hash_table_lookup (self->agents, GUINT_TO_POINTER (nodes[i].rank));
      guint n_left = GPOINTER_TO_UINT (g_task_get_task_data (task));

      if (agent == NULL || agent->ending != NULL)
        continue;
      agent->ending = g_object_ref (task);
      g_task_set_task_data (task, GUINT_TO_POINTER (n_left + 1), NULL);
      dvmd_plugin_host_give_input (dvmd_plugin_get_host (self), agent->process, NULL, TRUE);
    }
  finish_ending (task);
}

/* ---- the object ---- */

static void
example_command_launcher_finalize (GObject *object)
{
  g_hash_table_unref (EXAMPLE_COMMAND_LAUNCHER (object)->agents);
  G_OBJECT_CLASS (example_command_launcher_parent_class)->finalize (object);
}

static void
example_command_launcher_class_init (ExampleCommandLauncherClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = example_command_launcher_finalize;
  DVMD_LAUNCHER_CLASS (klass)->launch_async = example_command_launcher_launch_async;
  DVMD_LAUNCHER_CLASS (klass)->terminate_async = example_command_launcher_terminate_async;
}

static void
example_command_launcher_init (ExampleCommandLauncher *self)
{
  self->agents = g_hash_table_new_full (NULL, NULL, NULL, agent_free);
}

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_LAUNCHER,
  .name = "command",
  .description = "an example: each agent by a command like ssh",
  .get_type = example_command_launcher_get_type,
};

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An example of an allocator: the nodes are those that a command prints, one name a line. The command is its setting
 * "command"; without it the allocator declines.
 */

#include <dvmd-plugin.h>

#define EXAMPLE_TYPE_COMMAND_ALLOCATOR (example_command_allocator_get_type ())
G_DECLARE_FINAL_TYPE (ExampleCommandAllocator, example_command_allocator, EXAMPLE, COMMAND_ALLOCATOR, DvmdAllocator)

struct _ExampleCommandAllocator
{
  DvmdAllocator parent_instance;
};

G_DEFINE_FINAL_TYPE (ExampleCommandAllocator, example_command_allocator, DVMD_TYPE_ALLOCATOR)

static DvmdAllocation *
read_nodes (GBytes *output, guint slots)
{
  gsize size;
  const char *data = g_bytes_get_data (output, &size);
  char *text = g_strndup (data, size);
  char **lines = g_strsplit (text, "\n", -1);
  DvmdAllocation *allocation = dvmd_allocation_new (NULL);

  for (guint i = 0; lines[i] != NULL; i++)
    if (g_strstrip (lines[i])[0] != '\0')
      dvmd_allocation_add_node (allocation, lines[i], slots, 0);
  g_strfreev (lines);
  g_free (text);
  return allocation;
}

static void
on_spawned (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  DvmdPluginOutcome outcome = { 0 };
  GError *error = NULL;

  if (!dvmd_plugin_host_spawn_finish (DVMD_PLUGIN_HOST (source), result, &outcome, &error))
    g_task_return_error (task, error);
  else if (outcome.exit_code != 0)
    g_task_return_new_error (task, DVM_ERROR, DVM_ERROR_ALLOC_FAILED,
                             "allocator-command.command has ended with %d and not with 0", outcome.exit_code);
  else
    g_task_return_pointer (task, read_nodes (outcome.output, GPOINTER_TO_UINT (g_task_get_task_data (task))),
                           (GDestroyNotify)dvmd_allocation_unref);
  dvmd_plugin_outcome_clear (&outcome);
  g_object_unref (task);
}

static void
example_command_allocator_allocate_async (DvmdAllocator *self, const DvmdAllocationRequest *request,
                                          GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  DvmdPluginHost *host = dvmd_plugin_get_host (self);
  const char *text = dvmd_plugin_host_get_setting (host, "command");
  const char *argv[] = { "/bin/sh", "-c", text, NULL };
  const DvmdPluginCommand command = { .argv = argv };
  GTask *task = g_task_new (self, cancellable, callback, user_data);

  if (text == NULL)
    {
      g_task_return_pointer (task, NULL, NULL);
      g_object_unref (task);
      return;
    }
  g_task_set_task_data (task, GUINT_TO_POINTER (request->slots), NULL);
  dvmd_plugin_host_log (host, G_LOG_LEVEL_MESSAGE, "asks \"%s\" for the nodes", text);
  dvmd_plugin_host_spawn_async (host, &command, cancellable, on_spawned, task);
}

static void
example_command_allocator_class_init (ExampleCommandAllocatorClass *klass)
{
  DVMD_ALLOCATOR_CLASS (klass)->allocate_async = example_command_allocator_allocate_async;
}

static void
example_command_allocator_init (ExampleCommandAllocator *self)
{
}

const DvmdPluginInfo dvmd_plugin_info = {
  .abi = DVMD_PLUGIN_ABI,
  .size = sizeof (DvmdPluginInfo),
  .kind = DVMD_PLUGIN_ALLOCATOR,
  .name = "command",
  .description = "an example: the nodes that a command prints",
  .get_type = example_command_allocator_get_type,
};

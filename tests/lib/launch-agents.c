/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A launcher without a DVM. Usage: launch-agents LAUNCHER SETTINGS INPUT NODE... -- AGENT [ARGUMENT...]
 * Says "launched VERDICT", "failed RANK CODE REASON", "terminated VERDICT", "error MESSAGE", one a line; verdicts are
 * done, declined, failed. Standard input: "terminate" ends all agents, "terminate RANK" one, "cancel" the launch; its
 * end ends the program.
 */

#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib-unix.h>

#include "dvmd-plugins.h"

typedef struct
{
  DvmdLauncher *launcher;
  GCancellable *cancellable;
  DvmdPluginNode *nodes;
  guint n_nodes;
  GMainLoop *loop;
} World;

static void
say (const char *what, DvmdPluginVerdict verdict, GError *error)
{
  const char *const names[] = { "done", "declined", "failed" };

  if (error != NULL)
    printf ("error %s\n", error->message);
  printf ("%s %s\n", what, names[verdict]);
  fflush (stdout);
  g_clear_error (&error);
}

static void
on_launched (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GError *error = NULL;
  DvmdPluginVerdict verdict = dvmd_launcher_launch_finish (DVMD_LAUNCHER (source), result, &error);

  say ("launched", verdict, error);
}

static void
on_terminated (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GError *error = NULL;
  DvmdPluginVerdict verdict = dvmd_launcher_terminate_finish (DVMD_LAUNCHER (source), result, &error);

  say ("terminated", verdict, error);
}

static void
on_node_failed (DvmdLauncher *launcher, guint rank, const GError *error, gpointer user_data)
{
  g_autofree char *name = g_dbus_error_encode_gerror (error);

  printf ("failed %u %s %s\n", rank, strrchr (name, '.') + 1, error->message);
  fflush (stdout);
}

static void
on_ends (DvmdLauncher *launcher, const char *reason, gpointer user_data)
{
  printf ("ends %s\n", reason);
  fflush (stdout);
}

static gboolean
on_order (int fd, GIOCondition condition, gpointer user_data)
{
  World *world = user_data;
  char line[64];

  if (fgets (line, sizeof line, stdin) == NULL)
    {
      g_main_loop_quit (world->loop);
      return G_SOURCE_REMOVE;
    }
  if (strcmp (line, "cancel\n") == 0)
    g_cancellable_cancel (world->cancellable);
  else if (strcmp (line, "terminate\n") == 0)
    dvmd_launcher_terminate_async (world->launcher, world->nodes, world->n_nodes, NULL, on_terminated, world);
  else
    dvmd_launcher_terminate_async (world->launcher, &world->nodes[atoi (line + strlen ("terminate "))], 1, NULL,
                                   on_terminated, world);
  return G_SOURCE_CONTINUE;
}

static DvmdLauncher *
find_launcher (DvmdPlugins *plugins, const char *name)
{
  GPtrArray *all = dvmd_plugins_list (plugins);

  for (guint i = 0; i < all->len; i++)
    {
      DvmdPluginEntry *entry = g_ptr_array_index (all, i);

      if (entry->info->kind == DVMD_PLUGIN_LAUNCHER && strcmp (entry->info->name, name) == 0)
        return entry->plugin;
    }
  g_error ("there is no launcher %s", name);
}

static void
read_nodes (World *world, char **words)
{
  while (words[world->n_nodes] != NULL && strcmp (words[world->n_nodes], "--") != 0)
    world->n_nodes++;
  world->nodes = g_new0 (DvmdPluginNode, world->n_nodes + 1);
  for (guint i = 0; i < world->n_nodes; i++)
    world->nodes[i] = (DvmdPluginNode){ .name = words[i], .rank = i };
}

int
main (int argc, char **argv)
{
  const DvmdPluginsSettings settings = { .settings = argv[2] };
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdPlugins) plugins = dvmd_plugins_new (&settings, &error);
  g_autoptr (DvmdSpawner) spawner = dvmd_spawner_new (NULL);
  g_autoptr (DvmdReaper) reaper = dvmd_reaper_new (NULL, FALSE, NULL);
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GBytes) input = g_bytes_new (argv[3], strlen (argv[3]));
  World world = { .loop = loop, .cancellable = cancellable };
  DvmdLaunchRequest request = { .agent_input = input, .logical = strcmp (argv[1], "local") == 0 };

  g_assert_no_error (error);
  signal (SIGPIPE, SIG_IGN);
  setvbuf (stdin, NULL, _IONBF, 0);
  dvmd_plugins_set_processes (plugins, spawner, reaper);
  world.launcher = find_launcher (plugins, argv[1]);
  read_nodes (&world, argv + 4);
  request.nodes = world.nodes;
  request.n_nodes = world.n_nodes;
  request.agent_argv = (const char *const *)argv + 4 + world.n_nodes + 1;
  g_signal_connect (world.launcher, "node-failed", G_CALLBACK (on_node_failed), NULL);
  g_signal_connect (world.launcher, "ends", G_CALLBACK (on_ends), NULL);
  dvmd_launcher_launch_async (world.launcher, &request, cancellable, on_launched, &world);
  g_unix_fd_add (0, G_IO_IN | G_IO_HUP, on_order, &world);
  g_main_loop_run (loop);
  dvmd_plugins_set_processes (plugins, NULL, NULL);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_free (world.nodes);
  return 0;
}

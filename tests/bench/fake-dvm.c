/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A DVM without processes on a private socket: fake-dvm PATH [NODES JOBS], with so many nodes, and memory for so many
 * ended jobs. What bench-bus measures against it is the bus alone.
 */

#include "config.h"

#include "dvmd-bus-server.h"
#include "fake-controller.h"

#include <glib-unix.h>

static gboolean
on_signal (gpointer user_data)
{
  g_main_loop_quit (user_data);
  return G_SOURCE_REMOVE;
}

static void
on_stopped (GObject *source, GAsyncResult *result, gpointer user_data)
{
  dvmd_bus_server_stop_finish (DVMD_BUS_SERVER (source), result);
  g_main_loop_quit (user_data);
}

static guint
read_number (const char *text, guint fallback)
{
  return text != NULL ? (guint)g_ascii_strtoull (text, NULL, 10) : fallback;
}

/* The first one is there. */
static void
add_nodes (DvmdController *controller, guint n_nodes)
{
  for (guint i = 1; i < n_nodes; i++)
    {
      g_autofree char *name = g_strdup_printf ("node%u", i);

      dvmd_core_add_node (dvmd_controller_get_core (controller), name, 64, 0);
    }
}

int
main (int argc, char **argv)
{
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  g_autoptr (DvmdController) controller = fake_controller_new (64, read_number (argc == 4 ? argv[3] : NULL, 1000));
  g_autoptr (DvmdBusServer) server = dvmd_bus_server_new (controller, NULL);
  g_autoptr (GError) error = NULL;

  if ((argc != 2 && argc != 4) || !dvmd_bus_server_listen (server, argv[1], &error))
    {
      g_printerr ("%s\n", error != NULL ? error->message : "Usage: fake-dvm PATH [NODES JOBS]");
      return 1;
    }
  add_nodes (controller, read_number (argc == 4 ? argv[2] : NULL, 1));
  dvmd_controller_start (controller);
  g_unix_signal_add (SIGTERM, on_signal, loop);
  g_unix_signal_add (SIGINT, on_signal, loop);
  g_main_loop_run (loop);
  dvmd_bus_server_stop_async (server, on_stopped, loop);
  g_main_loop_run (loop);
  return 0;
}

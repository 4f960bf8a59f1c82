/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What those who listen cost, and how often they are woken: monitor SOCKET [JOBS [PROGRAM]]. Jobs run with 0, 1 and 4
 * subscribers; a wake-up is a voluntary switch of the thread that reads the connection.
 */

#include "config.h"

#include "bench-common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static GDBusMessage *
on_message (GDBusConnection *connection, GDBusMessage *message, gboolean incoming, gpointer user_data)
{
  if (incoming && g_dbus_message_get_message_type (message) == G_DBUS_MESSAGE_TYPE_SIGNAL)
    g_atomic_int_inc ((gint *)user_data);
  return message;
}

/* Of the thread of GDBus. */
static guint
count_wake_ups (void)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/task", 0, NULL);
  const char *task;

  while ((task = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_strdup_printf ("/proc/self/task/%s/status", task);
      g_autofree char *text = NULL;
      const char *line;

      if (g_file_get_contents (path, &text, NULL, NULL) && g_str_has_prefix (text, "Name:\tgdbus\n")
          && (line = strstr (text, "\nvoluntary_ctxt_switches:")) != NULL)
        return strtoul (line + strlen ("\nvoluntary_ctxt_switches:"), NULL, 10);
    }
  return 0;
}

/* Listens until its input ends, and tells how many signals and wake-ups there were. */
static int
watch (const char *socket)
{
  g_autoptr (GDBusConnection) connection = bench_connect (socket);
  gint n_signals = 0;
  guint before;
  char line[16];

  g_dbus_connection_add_filter (connection, on_message, &n_signals, NULL);
  g_variant_unref (bench_call (connection, MANAGER_PATH, MANAGER, "Subscribe", NULL));
  before = count_wake_ups ();
  printf ("ready\n");
  fflush (stdout);
  if (fgets (line, sizeof line, stdin) == NULL)
    return EXIT_FAILURE;
  g_usleep (G_USEC_PER_SEC / 2);
  printf ("%u %u\n", (guint)g_atomic_int_get (&n_signals), count_wake_ups () - before);
  return EXIT_SUCCESS;
}

typedef struct
{
  GSubprocess *process;
  GDataInputStream *out;
} Watcher;

static Watcher
start_watcher (const char *self, const char *socket)
{
  g_autoptr (GError) error = NULL;
  Watcher watcher = { NULL };
  g_autofree char *ready = NULL;

  watcher.process = g_subprocess_new (G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error, self,
                                      "--watch", socket, NULL);
  bench_check (error);
  watcher.out = g_data_input_stream_new (g_subprocess_get_stdout_pipe (watcher.process));
  ready = g_data_input_stream_read_line (watcher.out, NULL, NULL, NULL);
  return watcher;
}

static void
end_watcher (Watcher *watcher, guint n_jobs)
{
  g_autofree char *line = NULL;
  guint n_signals = 0;
  guint n_wake_ups = 0;

  g_output_stream_write_all (g_subprocess_get_stdin_pipe (watcher->process), "\n", 1, NULL, NULL, NULL);
  line = g_data_input_stream_read_line (watcher->out, NULL, NULL, NULL);
  if (line != NULL && sscanf (line, "%u %u", &n_signals, &n_wake_ups) == 2)
    printf ("    a subscriber: %5.2f signals and %5.2f wake-ups a job\n", (double)n_signals / n_jobs,
            (double)n_wake_ups / n_jobs);
  g_subprocess_wait (watcher->process, NULL, NULL);
  g_object_unref (watcher->out);
  g_object_unref (watcher->process);
}

int
main (int argc, char **argv)
{
  static const guint crowds[] = { 0, 1, 4 };
  guint n_jobs = argc > 2 ? strtoul (argv[2], NULL, 10) : 5000;
  const char *program = argc > 3 ? argv[3] : "/bin/true";
  g_autoptr (GDBusConnection) connection = NULL;

  if (argc < 2)
    {
      g_printerr ("Usage: monitor SOCKET [JOBS [PROGRAM]]\n");
      return EXIT_FAILURE;
    }
  if (strcmp (argv[1], "--watch") == 0)
    return watch (argv[2]);
  connection = bench_connect (argv[1]);
  bench_run_jobs (connection, program, n_jobs / 10, 16);
  for (guint i = 0; i < G_N_ELEMENTS (crowds); i++)
    {
      Watcher watchers[4];

      for (guint k = 0; k < crowds[i]; k++)
        watchers[k] = start_watcher (argv[0], argv[1]);
      printf ("%u subscribers: %6.0f jobs/s\n", crowds[i], n_jobs / bench_run_jobs (connection, program, n_jobs, 16));
      for (guint k = 0; k < crowds[i]; k++)
        end_watcher (&watchers[k], n_jobs);
      fflush (stdout);
    }
  return EXIT_SUCCESS;
}

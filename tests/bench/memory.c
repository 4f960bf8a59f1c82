/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory and latency of a DVM at rest and after many jobs: memory SOCKET [PROGRAM [JOBS...]], by default after 10,000
 * and after 100,000 of /bin/true. Flat is right, once the history (history-limit jobs) is full.
 */

#include "config.h"

#include "bench-common.h"

#include <gio/gunixsocketaddress.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_PINGS 1000

static pid_t
find_pid (const char *path)
{
  g_autoptr (GSocketClient) client = g_socket_client_new ();
  g_autoptr (GSocketAddress) address = g_unix_socket_address_new (path);
  g_autoptr (GError) error = NULL;
  g_autoptr (GSocketConnection) stream = g_socket_client_connect (client, G_SOCKET_CONNECTABLE (address), NULL, &error);
  g_autoptr (GCredentials) credentials = NULL;

  bench_check (error);
  credentials = g_socket_get_credentials (g_socket_connection_get_socket (stream), NULL);
  return g_credentials_get_unix_pid (credentials, NULL);
}

/* In kB; 0 if it is not there. */
static guint
read_status (pid_t pid, const char *key)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/status", (int)pid);
  g_autofree char *text = NULL;
  const char *line;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return 0;
  line = strstr (text, key);
  return line != NULL ? strtoul (line + strlen (key), NULL, 10) : 0;
}

static int
compare_times (gconstpointer a, gconstpointer b)
{
  const gint64 *x = a;
  const gint64 *y = b;

  return *x < *y ? -1 : *x > *y;
}

static void
print_figures (GDBusConnection *connection, pid_t pid, guint n_jobs, double rate)
{
  gint64 times[N_PINGS];

  for (guint i = 0; i < N_PINGS; i++)
    {
      gint64 start = g_get_monotonic_time ();
      g_autoptr (GVariant)
          reply = bench_call (connection, MANAGER_PATH, PROPERTIES, "Get", g_variant_new ("(ss)", MANAGER, "State"));

      times[i] = g_get_monotonic_time () - start;
    }
  qsort (times, N_PINGS, sizeof times[0], compare_times);
  printf ("%7u jobs  %7.0f/s  VmRSS %7u kB  threads %3u  Get: median %6.3f ms, longest %7.3f ms\n", n_jobs, rate,
          read_status (pid, "VmRSS:"), read_status (pid, "Threads:"), times[N_PINGS / 2] / 1e3,
          times[N_PINGS - 1] / 1e3);
  fflush (stdout);
}

int
main (int argc, char **argv)
{
  const char *program = argc > 2 ? argv[2] : "/bin/true";
  const char *const usual[] = { "1000", "10000", "100000" };
  const char *const *steps = argc > 3 ? (const char *const *)argv + 3 : usual;
  gsize n_steps = argc > 3 ? (gsize)argc - 3 : G_N_ELEMENTS (usual);
  g_autoptr (GDBusConnection) connection = NULL;
  guint done = 0;
  pid_t pid;

  if (argc < 2)
    {
      g_printerr ("Usage: memory SOCKET [PROGRAM [JOBS...]]\n");
      return EXIT_FAILURE;
    }
  pid = find_pid (argv[1]);
  connection = bench_connect (argv[1]);
  print_figures (connection, pid, 0, 0);
  for (gsize i = 0; i < n_steps; i++)
    {
      guint goal = strtoul (steps[i], NULL, 10);
      guint n = goal > done ? goal - done : 0;
      double seconds = bench_run_jobs (connection, program, n, 16);

      done += n;
      print_figures (connection, pid, done, n / seconds);
    }
  return EXIT_SUCCESS;
}

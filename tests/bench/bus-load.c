/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A DVM with many queued jobs and those who look at it: bus-load SOCKET [JOBS [PROGRAM]]. While they work, a second
 * process asks for a property again and again; its slowest answer tells how long the main loop was away, and the most
 * processor time that dvmd's main thread took during one of them, how much of that it worked itself.
 */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dvm.h>

#define MANAGER      "org.dvm.Manager"
#define MANAGER_PATH "/org/dvm/Manager"

typedef struct
{
  GDBusConnection *connection;
  const char *address;
  guint n_jobs;
  const char *program;
  guint started;
  guint done;
  GDataInputStream *ping_out;
  GOutputStream *ping_in;
} Bench;

static void
check (GError *error)
{
  if (error == NULL)
    return;
  g_printerr ("%s\n", error->message);
  exit (EXIT_FAILURE);
}

static GDBusConnection *
connect_to (const char *address)
{
  g_autoptr (GError) error = NULL;
  GDBusConnection *connection = g_dbus_connection_new_for_address_sync (
      address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, NULL, NULL, &error);

  check (error);
  return connection;
}

static GVariant *
call (GDBusConnection *connection, const char *path, const char *interface, const char *method, GVariant *parameters)
{
  g_autoptr (GError) error = NULL;
  GVariant *reply = g_dbus_connection_call_sync (connection, NULL, path, interface, method, parameters, NULL,
                                                 G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL, &error);

  check (error);
  return reply;
}

/* ---- the process that asks ---- */

static int
compare_times (gconstpointer a, gconstpointer b)
{
  const gint64 *x = a;
  const gint64 *y = b;

  return *x < *y ? -1 : *x > *y;
}

static gpointer
read_lines (gpointer data)
{
  char line[16];

  while (fgets (line, sizeof line, stdin) != NULL)
    g_atomic_int_inc ((int *)data);
  exit (EXIT_SUCCESS);
}

static pid_t
get_peer_pid (GDBusConnection *connection)
{
  GSocket *socket = g_socket_connection_get_socket (G_SOCKET_CONNECTION (g_dbus_connection_get_stream (connection)));
  g_autoptr (GCredentials) credentials = g_socket_get_credentials (socket, NULL);

  return credentials != NULL ? g_credentials_get_unix_pid (credentials, NULL) : 0;
}

/* Processor time of the main thread, in microseconds */
static gint64
get_main_time (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/task/%d/schedstat", pid, pid);
  g_autofree char *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) ? g_ascii_strtoll (text, NULL, 10) / 1000 : 0;
}

typedef struct
{
  GArray *times;
  gint64 most_worked;
} Pings;

static void
tell_pings (Pings *pings)
{
  GArray *times = pings->times;

  g_array_sort (times, compare_times);
  printf ("%6u pings, median %7.3f ms, longest %8.3f ms; of the main thread %8.3f ms at most\n", times->len,
          g_array_index (times, gint64, times->len / 2) / 1e3, g_array_index (times, gint64, times->len - 1) / 1e3,
          pings->most_worked / 1e3);
  fflush (stdout);
  g_array_set_size (times, 0);
  pings->most_worked = 0;
}

/* For each line of the input, one line: how many, the median and the longest in ms since the line before. */
static void
ping (const char *address)
{
  g_autoptr (GDBusConnection) connection = connect_to (address);
  pid_t pid = get_peer_pid (connection);
  Pings pings = { g_array_new (FALSE, FALSE, sizeof (gint64)) };
  int asked = 0;
  int told = 0;

  g_thread_unref (g_thread_new ("lines", read_lines, &asked));
  for (;;)
    {
      gint64 worked = get_main_time (pid);
      gint64 start = g_get_monotonic_time ();
      g_autoptr (GVariant) reply = call (connection, MANAGER_PATH, "org.freedesktop.DBus.Properties", "Get",
                                         g_variant_new ("(ss)", MANAGER, "State"));
      gint64 took = g_get_monotonic_time () - start;

      pings.most_worked = MAX (pings.most_worked, get_main_time (pid) - worked);
      g_array_append_val (pings.times, took);
      g_usleep (500);
      if (g_atomic_int_get (&asked) == told)
        continue;
      told++;
      tell_pings (&pings);
    }
}

static void
tell (Bench *bench, const char *step, gint64 start)
{
  double seconds = (g_get_monotonic_time () - start) / 1e6;
  g_autofree char *line = NULL;

  g_output_stream_write_all (bench->ping_in, "\n", 1, NULL, NULL, NULL);
  line = g_data_input_stream_read_line (bench->ping_out, NULL, NULL, NULL);
  printf ("%-26s %7.3f s  %s\n", step, seconds, line);
  fflush (stdout);
}

static void
start_ping (Bench *bench, const char *self)
{
  g_autoptr (GError) error = NULL;
  GSubprocess *process = g_subprocess_new (G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error, self,
                                           "--ping", bench->address, NULL);

  check (error);
  bench->ping_in = g_subprocess_get_stdin_pipe (process);
  bench->ping_out = g_data_input_stream_new (g_subprocess_get_stdout_pipe (process));
}

/* ---- one that keeps a list ---- */

static int
keep_list (const char *address, guint n_jobs)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmClient) client = dvm_client_new_for_address (address);
  GListModel *jobs;

  dvm_client_connect_sync (client, NULL, &error);
  check (error);
  jobs = dvm_client_get_jobs (client);
  while (g_list_model_get_n_items (jobs) < n_jobs)
    g_main_context_iteration (NULL, TRUE);
  return EXIT_SUCCESS;
}

/* ---- the steps ---- */

static void submit_next (Bench *bench);

static void
on_submitted (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Bench *bench = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);

  check (error);
  bench->done++;
  submit_next (bench);
}

static void
submit (Bench *bench, guint np)
{
  const char *argv[] = { bench->program, "1000000", NULL };

  bench->started++;
  g_dbus_connection_call (
      bench->connection, NULL, MANAGER_PATH, MANAGER, "Submit",
      g_variant_new ("(^as@a{sv})", argv, g_variant_new_parsed ("{'np': <%u>, 'personality': <'plain'>}", np)), NULL,
      G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL, on_submitted, bench);
}

static void
submit_next (Bench *bench)
{
  if (bench->started < bench->n_jobs)
    submit (bench, 1);
}

static void
submit_all (Bench *bench)
{
  g_autoptr (GVariant) reply = call (bench->connection, MANAGER_PATH, "org.freedesktop.DBus.Properties", "Get",
                                     g_variant_new ("(ss)", MANAGER, "SlotCount"));
  g_autoptr (GVariant) slots = NULL;

  g_variant_get (reply, "(v)", &slots);
  /* The first one takes them all. */
  submit (bench, g_variant_get_uint32 (slots));
  for (guint i = 0; i < 64; i++)
    submit_next (bench);
  while (bench->done < bench->n_jobs)
    g_main_context_iteration (NULL, TRUE);
}

/* Each with as many variables as a shell has. */
static void
submit_many (Bench *bench)
{
  const char *argv[] = { bench->program, "1000000", NULL };
  g_autoptr (DvmClient) client = dvm_client_new_for_address (bench->address);
  g_autoptr (GPtrArray) specs = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GPtrArray) jobs = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) env = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < 30; i++)
    g_ptr_array_add (env, g_strdup_printf ("VARIABLE_%u=/some/value/of/that/variable/%u", i, i));
  g_ptr_array_add (env, NULL);
  for (guint i = 0; i < bench->n_jobs; i++)
    {
      DvmJobSpec *spec = dvm_job_spec_new_for_argv (argv);

      dvm_app_spec_set_np (dvm_job_spec_get_app (spec, 0), 1);
      dvm_app_spec_set_env (dvm_job_spec_get_app (spec, 0), (const char *const *)env->pdata);
      dvm_job_spec_set_personality (spec, "plain");
      g_ptr_array_add (specs, spec);
    }
  dvm_client_connect_sync (client, NULL, &error);
  check (error);
  jobs = dvm_client_submit_many (client, specs, NULL, &error);
  check (error);
}

static void
cancel_all (Bench *bench)
{
  g_variant_unref (
      call (bench->connection, MANAGER_PATH, MANAGER, "CancelJobs", g_variant_new_parsed ("({'all': <true>},)")));
}

static void
list_pages (Bench *bench)
{
  g_autofree char *ids = g_strdup ("");

  do
    {
      g_autoptr (GVariant) reply = call (bench->connection, MANAGER_PATH, MANAGER, "ListJobs",
                                         g_variant_new_parsed ("({'ids': <%s>},)", ids));

      g_clear_pointer (&ids, g_free);
      g_variant_get_child (reply, 1, "s", &ids);
    }
  while (ids[0] != '\0');
}

static void
run (const char *const *argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GSubprocess) process = g_subprocess_newv (argv, G_SUBPROCESS_FLAGS_STDOUT_SILENCE, &error);

  if (process == NULL || !g_subprocess_wait_check (process, NULL, &error))
    printf ("%s: %s\n", argv[0], error->message);
}

static void
look (Bench *bench, const char *self)
{
  g_autofree char *number = g_strdup_printf ("%u", bench->n_jobs);
  g_autofree char *option = g_strdup_printf ("--address=%s", bench->address);
  const char *const list[] = { self, "--list", bench->address, number, NULL };
  const char *const tree[] = { "busctl", option, "tree", MANAGER, NULL };
  const char *const cli[] = { "dvm-cli", "jobs", "--socket", strchr (bench->address, '=') + 1, NULL };
  gint64 start = g_get_monotonic_time ();

  list_pages (bench);
  tell (bench, "ListJobs in pages", start);
  start = g_get_monotonic_time ();
  g_variant_unref (
      call (bench->connection, "/org/dvm", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL));
  tell (bench, "GetManagedObjects", start);
  start = g_get_monotonic_time ();
  run (list);
  tell (bench, "a list of DvmClient", start);
  start = g_get_monotonic_time ();
  run (tree);
  tell (bench, "busctl tree", start);
  start = g_get_monotonic_time ();
  run (cli);
  tell (bench, "dvm-cli jobs", start);
}

int
main (int argc, char **argv)
{
  Bench bench = { NULL };
  g_autofree char *address = NULL;
  gint64 start;

  if (argc < 2)
    {
      g_printerr ("Usage: bus-load SOCKET [JOBS [PROGRAM]]\n");
      return EXIT_FAILURE;
    }
  if (strcmp (argv[1], "--ping") == 0)
    ping (argv[2]);
  if (strcmp (argv[1], "--list") == 0)
    return keep_list (argv[2], strtoul (argv[3], NULL, 10));
  address = g_strconcat ("unix:path=", argv[1], NULL);
  bench.address = address;
  bench.n_jobs = argc > 2 ? strtoul (argv[2], NULL, 10) : 10000;
  bench.program = argc > 3 ? argv[3] : "sleep";
  bench.connection = connect_to (bench.address);
  start_ping (&bench, argv[0]);
  start = g_get_monotonic_time ();
  g_usleep (G_USEC_PER_SEC);
  tell (&bench, "at rest", start);
  start = g_get_monotonic_time ();
  submit_all (&bench);
  tell (&bench, "submitted in a row", start);
  look (&bench, argv[0]);
  start = g_get_monotonic_time ();
  cancel_all (&bench);
  tell (&bench, "CancelJobs", start);
  start = g_get_monotonic_time ();
  submit_many (&bench);
  tell (&bench, "SubmitMany", start);
  cancel_all (&bench);
  return EXIT_SUCCESS;
}

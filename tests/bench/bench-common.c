/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "bench-common.h"

#include <stdlib.h>

typedef struct
{
  GDBusConnection *connection;
  const char *program;
  guint n_jobs;
  guint started;
  guint done;
} Run;

void
bench_check (GError *error)
{
  if (error == NULL)
    return;
  g_printerr ("%s\n", error->message);
  exit (EXIT_FAILURE);
}

GDBusConnection *
bench_connect (const char *socket)
{
  g_autofree char *address = g_strconcat ("unix:path=", socket, NULL);
  g_autoptr (GError) error = NULL;
  GDBusConnection *connection = g_dbus_connection_new_for_address_sync (
      address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, NULL, NULL, &error);

  bench_check (error);
  return connection;
}

GVariant *
bench_call (GDBusConnection *connection, const char *path, const char *interface, const char *method,
            GVariant *parameters)
{
  g_autoptr (GError) error = NULL;
  GVariant *reply = g_dbus_connection_call_sync (connection, NULL, path, interface, method, parameters, NULL,
                                                 G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL, &error);

  bench_check (error);
  return reply;
}

static void start_one (Run *run);

static GVariant *
finish (GObject *source, GAsyncResult *result)
{
  g_autoptr (GError) error = NULL;
  GVariant *reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);

  bench_check (error);
  return reply;
}

static void
on_ended (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Run *run = user_data;
  g_autoptr (GVariant) reply = finish (source, result);

  run->done++;
  start_one (run);
}

static void
on_submitted (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Run *run = user_data;
  g_autoptr (GVariant) reply = finish (source, result);
  const char *path;

  g_variant_get (reply, "(&o)", &path);
  g_dbus_connection_call (run->connection, NULL, path, JOB, "Wait", g_variant_new_parsed ("(@a{sv} {},)"), NULL,
                          G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL, on_ended, run);
}

static void
start_one (Run *run)
{
  const char *argv[] = { run->program, NULL };

  if (run->started == run->n_jobs)
    return;
  run->started++;
  g_dbus_connection_call (
      run->connection, NULL, MANAGER_PATH, MANAGER, "Submit",
      g_variant_new ("(^as@a{sv})", argv,
                     g_variant_new_parsed ("{'np': <uint32 1>, 'personality': <'plain'>, 'signals': <false>}")),
      NULL, G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL, on_submitted, run);
}

double
bench_run_jobs (GDBusConnection *connection, const char *program, guint n_jobs, guint in_flight)
{
  Run run = { connection, program, n_jobs };
  gint64 start = g_get_monotonic_time ();

  for (guint i = 0; i < in_flight; i++)
    start_one (&run);
  while (run.done < n_jobs)
    g_main_context_iteration (NULL, TRUE);
  return (g_get_monotonic_time () - start) / 1e6;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Calls a second over the private socket: bench-bus ADDRESS [CALLS [PROGRAM]]. Any DVM will do; PROGRAM is run with
 * the personality plain.
 */

#include "config.h"

#include <gio/gio.h>
#include <stdlib.h>

#define MANAGER      "org.dvm.Manager"
#define MANAGER_PATH "/org/dvm/Manager"

typedef struct
{
  GDBusConnection *connection;
  GVariant *submit;
  guint in_flight;
  guint started;
  guint done;
  guint total;
  guint n_signals;
  gboolean waits;
} Bench;

static void start_one (Bench *bench);

static void
check (GError *error)
{
  if (error == NULL)
    return;
  g_printerr ("%s\n", error->message);
  exit (EXIT_FAILURE);
}

static GVariant *
finish (GObject *source, GAsyncResult *result)
{
  g_autoptr (GError) error = NULL;
  GVariant *reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);

  check (error);
  return reply;
}

static void
next (Bench *bench)
{
  bench->done++;
  if (bench->started < bench->total)
    start_one (bench);
}

static void
on_done (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GVariant) reply = finish (source, result);

  next (user_data);
}

static void
on_submitted (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Bench *bench = user_data;
  g_autoptr (GVariant) reply = finish (source, result);
  const char *path;

  g_variant_get (reply, "(&o)", &path);
  if (bench->waits)
    g_dbus_connection_call (bench->connection, NULL, path, "org.dvm.Job", "Wait", g_variant_new_parsed ("(@a{sv} {},)"),
                            NULL, G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL, on_done, bench);
  else
    next (bench);
}

static void
start_one (Bench *bench)
{
  bench->started++;
  if (bench->submit != NULL)
    g_dbus_connection_call (bench->connection, NULL, MANAGER_PATH, MANAGER, "Submit", bench->submit, NULL,
                            G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL, on_submitted, bench);
  else
    g_dbus_connection_call (bench->connection, NULL, MANAGER_PATH, "org.freedesktop.DBus.Properties", "Get",
                            g_variant_new ("(ss)", MANAGER, "State"), NULL, G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL,
                            on_done, bench);
}

static void
measure (Bench *bench, const char *what, guint total, guint in_flight)
{
  gint64 start = g_get_monotonic_time ();
  double seconds;

  bench->started = bench->done = bench->n_signals = 0;
  bench->total = total;
  for (guint i = 0; i < in_flight && bench->started < total; i++)
    start_one (bench);
  while (bench->done < total)
    g_main_context_iteration (NULL, TRUE);
  seconds = (g_get_monotonic_time () - start) / 1e6;
  g_print ("%-28s %3u at once %8.0f/s  %.1f signals each\n", what, in_flight, total / seconds,
           (double)bench->n_signals / total);
}

static GDBusMessage *
count_signals (GDBusConnection *connection, GDBusMessage *message, gboolean incoming, gpointer user_data)
{
  Bench *bench = user_data;

  if (incoming && g_dbus_message_get_message_type (message) == G_DBUS_MESSAGE_TYPE_SIGNAL)
    bench->n_signals++;
  return message;
}

int
main (int argc, char **argv)
{
  const char *program[] = { argc > 3 ? argv[3] : "/bin/true", NULL };
  guint n = argc > 2 ? strtoul (argv[2], NULL, 10) : 5000;
  g_autoptr (GError) error = NULL;
  Bench bench = { NULL };

  if (argc < 2)
    {
      g_printerr ("Usage: bench-bus ADDRESS [CALLS [PROGRAM]]\n");
      return EXIT_FAILURE;
    }
  bench.connection = g_dbus_connection_new_for_address_sync (argv[1], G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT,
                                                             NULL, NULL, &error);
  check (error);
  g_dbus_connection_add_filter (bench.connection, count_signals, &bench, NULL);
  measure (&bench, "property", n, 1);
  measure (&bench, "property", 4 * n, 64);
  bench.submit = g_variant_ref_sink (
      g_variant_new ("(^as@a{sv})", program, g_variant_new_parsed ("{'np': <uint32 1>, 'personality': <'plain'>}")));
  bench.waits = TRUE;
  measure (&bench, "job, submit to end", n, 1);
  measure (&bench, "job, submit to end", n, 8);
  measure (&bench, "job, submit to end", n, 64);
  g_variant_unref (bench.submit);
  bench.submit = g_variant_ref_sink (
      g_variant_new ("(^as@a{sv})", program,
                     g_variant_new_parsed ("{'np': <uint32 1>, 'personality': <'plain'>, 'signals': <false>}")));
  measure (&bench, "job without its signals", n, 1);
  measure (&bench, "job without its signals", n, 8);
  measure (&bench, "job without its signals", n, 64);
  g_variant_unref (bench.submit);
  return EXIT_SUCCESS;
}

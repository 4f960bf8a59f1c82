/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Links by themselves, both ends in one process: packets a second, bytes a second, the time of a round trip, and of a
 * join. Usage: bench-wire [SECONDS]
 */

#include "config.h"

#include <stdlib.h>

#include <glib/gstdio.h>

#include "transport-fixture.h"

typedef struct
{
  guint n;
  gboolean echoes;
} Counter;

static void
on_packet (DvmdWire *wire, DvmdPacket *packet, gpointer user_data)
{
  Counter *counter = user_data;

  counter->n++;
  if (counter->echoes)
    dvmd_wire_send (wire, packet, DVMD_WIRE_CONTROL, NULL);
}

static double
measure_one_way (DvmdWire *from, Counter *counter, DvmdPacket *packet, double seconds)
{
  gint64 begin = g_get_monotonic_time ();
  gint64 end = begin + (gint64)(seconds * G_USEC_PER_SEC);
  guint before = counter->n;

  while (g_get_monotonic_time () < end)
    {
      while (dvmd_wire_send (from, packet, DVMD_WIRE_BULK, NULL))
        ;
      g_main_context_iteration (NULL, TRUE);
    }
  return (counter->n - before) / ((double)(g_get_monotonic_time () - begin) / G_USEC_PER_SEC);
}

static double
measure_round_trip (DvmdWire *from, Counter *own, DvmdPacket *packet, double seconds)
{
  gint64 begin = g_get_monotonic_time ();
  gint64 end = begin + (gint64)(seconds * G_USEC_PER_SEC);
  guint before = own->n;

  while (g_get_monotonic_time () < end)
    {
      guint n = own->n;

      dvmd_wire_send (from, packet, DVMD_WIRE_CONTROL, NULL);
      while (own->n == n)
        g_main_context_iteration (NULL, TRUE);
    }
  return (double)(g_get_monotonic_time () - begin) / (own->n - before);
}

static DvmdWire *
join (TestHost *host, DvmdIdentity *identity, guint32 rank)
{
  g_autoptr (GError) error = NULL;
  DvmdToken secret;
  DvmdToken token;
  DvmdWire *wire;

  dvmd_tokens_add (host->tokens, &rank, 1, G_TIME_SPAN_HOUR, &secret);
  dvmd_token_derive (&secret, rank, &token);
  wire = test_connect (host, identity, &token, &error);
  if (wire == NULL)
    g_error ("%s", error->message);
  return wire;
}

static double
measure_joins (TestHost *host)
{
  gint64 begin = g_get_monotonic_time ();

  for (guint i = 0; i < 50; i++)
    {
      g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);
      g_autoptr (DvmdWire) wire = join (host, identity, 100 + i);
    }
  return (double)(g_get_monotonic_time () - begin) / 50;
}

static void
bench (const char *name, const char *where, gboolean without_tls, double seconds)
{
  TestHost host;
  g_autoptr (DvmdIdentity) identity = dvmd_identity_new (NULL);
  g_autoptr (DvmdPacket) small = test_packet_bytes (100);
  g_autoptr (DvmdPacket) large = test_packet_bytes (64 * 1024);
  g_autoptr (DvmdWire) wire = NULL;
  Counter own = { 0, FALSE };
  Counter other = { 0, FALSE };
  double frames;
  double bytes;
  double round_trip;

  test_host_init (&host);
  host.options.without_tls = without_tls;
  test_host_listen (&host, where);
  wire = join (&host, identity, 1);
  wait_until (host.wire != NULL);
  g_signal_connect (wire, "packet", G_CALLBACK (on_packet), &own);
  g_signal_connect (host.wire, "packet", G_CALLBACK (on_packet), &other);
  dvmd_wire_start (wire);
  dvmd_wire_start (host.wire);
  frames = measure_one_way (wire, &other, small, seconds);
  bytes = measure_one_way (wire, &other, large, seconds) * 64 / 1024;
  wait_until (dvmd_wire_get_queued (wire, DVMD_WIRE_BULK) == 0);
  g_usleep (10000);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  other.echoes = TRUE;
  round_trip = measure_round_trip (wire, &own, small, seconds);
  g_print ("%-10s %9.0f packets/s %8.0f MiB/s %8.1f us round trip %8.0f us to join\n", name, frames, bytes, round_trip,
           measure_joins (&host));
  g_clear_object (&wire);
  test_host_clear (&host);
}

int
main (int argc, char *argv[])
{
  double seconds = argc > 1 ? atof (argv[1]) : 2;
  g_autofree char *directory = g_dir_make_tmp ("bench-wire-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (directory, "socket", NULL);

  bench ("unix", path, FALSE, seconds);
  bench ("tcp", "tcp", TRUE, seconds);
  bench ("tls", "tcp", FALSE, seconds);
  g_rmdir (directory);
  return 0;
}

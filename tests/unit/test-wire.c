/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dvmd-transport-error.h"
#include "transport-fixture.h"
#include "whole-frames.h"

typedef struct
{
  DvmdWireOptions options;
  DvmdWire *one;
  DvmdWire *other;
  TestEar one_ear;
  TestEar other_ear;
} Fixture;

static void
set_up (Fixture *fixture, gconstpointer data)
{
  fixture->options.clock = dvmd_clock_new_real (NULL);
  fixture->options.body_type = test_body_type;
  fixture->options.bulk_limit = 100 * 1024;
}

static void
start (Fixture *fixture)
{
  test_wire_pair (&fixture->options, &fixture->one, &fixture->other);
  test_ear_init (&fixture->one_ear, fixture->one);
  test_ear_init (&fixture->other_ear, fixture->other);
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  if (fixture->one_ear.wire != NULL)
    test_ear_clear (&fixture->one_ear);
  if (fixture->other_ear.wire != NULL)
    test_ear_clear (&fixture->other_ear);
  if (fixture->one != NULL)
    g_assert_finalize_object (fixture->one);
  if (fixture->other != NULL)
    g_assert_finalize_object (fixture->other);
  dvmd_clock_unref (fixture->options.clock);
}

static void
send_text (DvmdWire *wire, const char *text, DvmdWirePriority priority)
{
  g_autoptr (DvmdPacket) packet = test_packet_text (text);
  GError *error = NULL;

  dvmd_wire_send (wire, packet, priority, &error);
  g_assert_no_error (error);
}

static const char *
text_of (GPtrArray *packets, guint i)
{
  DvmdPacket *packet = g_ptr_array_index (packets, i);
  const char *text;

  if (packet->kind != TEST_KIND_TEXT)
    return "";
  g_variant_get (packet->body, "(&s)", &text);
  return text;
}

static void
test_order (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmdPacket) large = test_packet_bytes (10 * 1024 * 1024);
  DvmdPacket *back;
  DvmdWireStatistics statistics;

  start (fixture);
  for (guint i = 0; i < 1000; i++)
    {
      g_autofree char *text = g_strdup_printf ("%u", i);

      send_text (fixture->one, text, DVMD_WIRE_CONTROL);
    }
  g_assert_true (dvmd_wire_send (fixture->one, large, DVMD_WIRE_CONTROL, NULL));
  send_text (fixture->other, "back", DVMD_WIRE_CONTROL);
  /* Nothing comes from within a call. */
  g_assert_cmpuint (fixture->other_ear.packets->len, ==, 0);
  /* One link leaves others their turn. */
  while (fixture->other_ear.packets->len == 0)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpuint (fixture->other_ear.packets->len, <=, 64);
  wait_until (fixture->other_ear.packets->len == 1001 && fixture->one_ear.packets->len == 1);
  for (guint i = 0; i < 1000; i++)
    g_assert_cmpuint (g_ascii_strtoull (text_of (fixture->other_ear.packets, i), NULL, 10), ==, i);
  back = g_ptr_array_index (fixture->other_ear.packets, 1000);
  g_assert_true (g_variant_equal (back->body, large->body));
  dvmd_wire_get_statistics (fixture->one, &statistics);
  g_assert_cmpuint (statistics.frames_sent, ==, 1001);
  g_assert_cmpuint (statistics.frames_received, ==, 1);
  g_assert_cmpuint (statistics.bytes_sent, >, 10 * 1024 * 1024);
  g_assert_cmpuint (dvmd_wire_get_queued (fixture->one, DVMD_WIRE_CONTROL), ==, 0);
}

/* A reader that does not read: bulk is bounded, control is taken, and passes when it reads again. */
static void
test_back_pressure (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmdPacket) bulk = test_packet_bytes (10000);
  g_autoptr (GError) error = NULL;
  guint n_bulk = 0;
  guint place = 0;

  test_wire_pair (&fixture->options, &fixture->one, &fixture->other);
  test_ear_init (&fixture->one_ear, fixture->one);
  for (guint i = 0; i < 1000 && error == NULL; i++)
    {
      if (dvmd_wire_send (fixture->one, bulk, DVMD_WIRE_BULK, &error))
        n_bulk++;
      else if (dvmd_wire_get_queued (fixture->one, DVMD_WIRE_BULK) + 10100 <= fixture->options.bulk_limit)
        g_assert_not_reached ();
      /* Let the socket take what it takes. */
      for (guint j = 0; j < 10; j++)
        g_main_context_iteration (NULL, FALSE);
    }
  g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_RESOURCE);
  g_assert_false (dvmd_wire_is_writable (fixture->one)
                  && dvmd_wire_get_queued (fixture->one, DVMD_WIRE_BULK) > fixture->options.bulk_limit);
  g_assert_cmpuint (dvmd_wire_get_queued (fixture->one, DVMD_WIRE_BULK), <=, fixture->options.bulk_limit);
  send_text (fixture->one, "urgent", DVMD_WIRE_CONTROL);
  g_assert_cmpuint (fixture->one_ear.n_drained, ==, 0);
  test_ear_init (&fixture->other_ear, fixture->other);
  wait_until (fixture->other_ear.packets->len == n_bulk + 1);
  wait_until (fixture->one_ear.n_drained == 1);
  g_assert_true (dvmd_wire_is_writable (fixture->one));
  while (g_strcmp0 (text_of (fixture->other_ear.packets, place), "urgent") != 0)
    place++;
  /* All that waited in the queue comes after it. */
  g_assert_cmpuint (place, <=, n_bulk - 5);
}

static void
test_limits (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmdPacket) large = test_packet_bytes (5000);
  g_autoptr (DvmdPacket) small = test_packet_bytes (900);
  g_autoptr (GError) error = NULL;

  fixture->options.max_body = 1000;
  fixture->options.control_limit = 10000;
  start (fixture);
  g_assert_false (dvmd_wire_send (fixture->one, large, DVMD_WIRE_CONTROL, &error));
  g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_PROTOCOL);
  for (guint i = 0; i < 10; i++)
    g_assert_true (dvmd_wire_send (fixture->one, small, DVMD_WIRE_CONTROL, NULL));
  g_assert_false (dvmd_wire_send (fixture->one, small, DVMD_WIRE_CONTROL, NULL));
  g_assert_false (fixture->one_ear.is_closed);
  wait_until (fixture->one_ear.is_closed);
  g_assert_error (fixture->one_ear.error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_RESOURCE);
}

/* ---- ends ---- */

static void
test_close (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DvmdPacket) packet = test_packet_text ("late");

  start (fixture);
  for (guint i = 0; i < 5000; i++)
    send_text (fixture->one, "before the end", DVMD_WIRE_CONTROL);
  send_text (fixture->other, "on its way", DVMD_WIRE_CONTROL);
  dvmd_wire_close (fixture->one);
  dvmd_wire_close (fixture->one);
  g_assert_false (dvmd_wire_send (fixture->one, packet, DVMD_WIRE_CONTROL, &error));
  g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_CLOSED);
  g_assert_false (fixture->one_ear.is_closed);
  wait_until (fixture->one_ear.is_closed && fixture->other_ear.is_closed);
  g_assert_cmpuint (fixture->other_ear.packets->len, ==, 5000);
  g_assert_no_error (fixture->one_ear.error);
  g_assert_error (fixture->other_ear.error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_CLOSED);
  g_assert_cmpstr (fixture->other_ear.error->message, ==, "Link to rank 2 at other: the other end has closed it");
}

static void
test_close_and_forget (Fixture *fixture, gconstpointer data)
{
  fixture->options.bulk_limit = 1024 * 1024;
  start (fixture);
  for (guint i = 0; i < 5000; i++)
    send_text (fixture->one, "before the end", DVMD_WIRE_BULK);
  dvmd_wire_close (fixture->one);
  test_ear_clear (&fixture->one_ear);
  g_clear_object (&fixture->one);
  wait_until (fixture->other_ear.is_closed);
  g_assert_cmpuint (fixture->other_ear.packets->len, ==, 5000);
}

static void
test_close_both (Fixture *fixture, gconstpointer data)
{
  start (fixture);
  dvmd_wire_close (fixture->one);
  dvmd_wire_close (fixture->other);
  wait_until (fixture->one_ear.is_closed && fixture->other_ear.is_closed);
  g_assert_no_error (fixture->one_ear.error);
  g_assert_no_error (fixture->other_ear.error);
}

static void
on_packet_close (DvmdWire *wire, DvmdPacket *packet, gpointer user_data)
{
  dvmd_wire_close (wire);
}

static void
test_close_from_handler (Fixture *fixture, gconstpointer data)
{
  start (fixture);
  g_signal_connect (fixture->other, "packet", G_CALLBACK (on_packet_close), NULL);
  for (guint i = 0; i < 10; i++)
    send_text (fixture->one, "one is enough", DVMD_WIRE_CONTROL);
  wait_until (fixture->one_ear.is_closed && fixture->other_ear.is_closed);
  g_assert_cmpuint (fixture->other_ear.packets->len, ==, 1);
  g_assert_no_error (fixture->other_ear.error);
}

static void
test_gone (Fixture *fixture, gconstpointer data)
{
  start (fixture);
  send_text (fixture->one, "last words", DVMD_WIRE_CONTROL);
  wait_until (fixture->other_ear.packets->len == 1);
  test_ear_clear (&fixture->one_ear);
  g_clear_object (&fixture->one);
  wait_until (fixture->other_ear.is_closed);
  g_assert_error (fixture->other_ear.error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_LOST);
}

/* ---- what the system is asked for ---- */

static int
get_option (int fd, int level, int option)
{
  int value = -1;
  socklen_t size = sizeof value;

  g_assert_cmpint (getsockopt (fd, level, option, &value, &size), ==, 0);
  return value;
}

/* A connection over TCP to itself. */
static void
connect_tcp (int fds[2])
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  socklen_t size = sizeof address;
  int listener = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  fds[0] = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  g_assert_cmpint (bind (listener, (struct sockaddr *)&address, size), ==, 0);
  g_assert_cmpint (listen (listener, 1), ==, 0);
  g_assert_cmpint (getsockname (listener, (struct sockaddr *)&address, &size), ==, 0);
  g_assert_cmpint (connect (fds[0], (struct sockaddr *)&address, size), ==, 0);
  fds[1] = accept4 (listener, NULL, NULL, SOCK_CLOEXEC);
  g_assert_cmpint (fds[1], >=, 0);
  close (listener);
}

/* A host that has gone is found by the kernel too, within the time that heartbeats have. */
static void
test_tuned (Fixture *fixture, gconstpointer data)
{
  DvmdWireOptions options = fixture->options;
  g_autoptr (DvmdWire) wire = NULL;
  int fds[2];

  connect_tcp (fds);
  options.heartbeat_timeout = 8 * G_TIME_SPAN_SECOND;
  wire = dvmd_wire_new (dvmd_socket_new (fds[0], "somebody"), 9, &options);
  g_assert_cmpint (get_option (fds[0], IPPROTO_TCP, TCP_NODELAY), ==, 1);
  g_assert_cmpint (get_option (fds[0], SOL_SOCKET, SO_KEEPALIVE), ==, 1);
  g_assert_cmpint (get_option (fds[0], IPPROTO_TCP, TCP_KEEPIDLE), ==, 2);
  g_assert_cmpint (get_option (fds[0], IPPROTO_TCP, TCP_KEEPINTVL), ==, 2);
  g_assert_cmpint (get_option (fds[0], IPPROTO_TCP, TCP_KEEPCNT), ==, 4);
  g_assert_cmpint (get_option (fds[0], IPPROTO_TCP, TCP_USER_TIMEOUT), ==, 8000);
  close (fds[1]);
}

/* ---- bytes that no wire would send ---- */

static void
check_bytes (Fixture *fixture, gconstpointer bytes, gsize size, int code, const char *sentence)
{
  int fds[2];
  TestEar ear;
  DvmdWire *wire;

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
  wire = dvmd_wire_new (dvmd_socket_new (fds[0], "somebody"), 9, &fixture->options);
  test_ear_init (&ear, wire);
  g_assert_cmpint (write (fds[1], bytes, size), ==, size);
  if (code == DVMD_TRANSPORT_ERROR_LOST)
    close (fds[1]);
  wait_until (ear.is_closed);
  g_assert_error (ear.error, DVMD_TRANSPORT_ERROR, code);
  g_assert_true (g_str_has_prefix (ear.error->message, "Link to rank 9 at somebody: "));
  g_assert_nonnull (strstr (ear.error->message, sentence));
  g_assert_cmpuint (ear.packets->len, ==, 0);
  if (code != DVMD_TRANSPORT_ERROR_LOST)
    close (fds[1]);
  test_ear_clear (&ear);
  g_assert_finalize_object (wire);
}

static void
test_hostile (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmdPacket) packet = test_packet_text ("text");
  g_autoptr (GBytes) frame = frame_encode (packet);
  gsize size = g_bytes_get_size (frame);
  g_autofree guint8 *bytes = g_memdup2 (g_bytes_get_data (frame, NULL), size);
  char garbage[] = "GET / HTTP/1.1\r\nHost: dvm\r\nAccept: everything that there is\r\n\r\n";

  check_bytes (fixture, garbage, sizeof garbage, DVMD_TRANSPORT_ERROR_PROTOCOL, "");
  check_bytes (fixture, bytes, size - 1, DVMD_TRANSPORT_ERROR_LOST, "without a word");
  check_bytes (fixture, bytes, 5, DVMD_TRANSPORT_ERROR_LOST, "without a word");
  bytes[4] = 200;
  check_bytes (fixture, bytes, size, DVMD_TRANSPORT_ERROR_PROTOCOL, "no packet of type 200");
  bytes[4] = DVMD_FRAME_BEAT;
  check_bytes (fixture, bytes, size, DVMD_TRANSPORT_ERROR_PROTOCOL, "should have none");
  bytes[4] = DVMD_PACKET_MESSAGE;
  bytes[3] = 0x80;
  check_bytes (fixture, bytes, size, DVMD_TRANSPORT_ERROR_PROTOCOL, "this link takes up to");
}

static void
test_fuzz (Fixture *fixture, gconstpointer data)
{
  guint32 seed = g_test_rand_int ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (DvmdPacket) packet = test_packet_bytes (200);
  g_autoptr (GBytes) frame = frame_encode (packet);
  gsize size;
  const guint8 *bytes = g_bytes_get_data (frame, &size);

  g_test_message ("seed %u", seed);
  for (guint i = 0; i < 300; i++)
    {
      g_autofree guint8 *copy = g_memdup2 (bytes, size);
      int fds[2];
      TestEar ear;
      DvmdWire *wire;

      g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
      wire = dvmd_wire_new (dvmd_socket_new (fds[0], "somebody"), 9, &fixture->options);
      test_ear_init (&ear, wire);
      copy[g_rand_int_range (rand, 0, (gint32)size)] ^= (guint8)(1 << g_rand_int_range (rand, 0, 8));
      g_assert_cmpint (write (fds[1], bytes, size), ==, size);
      g_assert_cmpint (write (fds[1], copy, size), ==, size);
      g_assert_cmpint (write (fds[1], copy, (gsize)g_rand_int_range (rand, 1, (gint32)size)), >, 0);
      close (fds[1]);
      wait_until (ear.is_closed);
      g_assert_nonnull (ear.error);
      g_assert_cmpuint (ear.packets->len, >=, 1);
      test_ear_clear (&ear);
      g_assert_finalize_object (wire);
    }
}

/* ---- heartbeat ---- */

static void
settle (void)
{
  for (guint i = 0; i < 50; i++)
    g_main_context_iteration (NULL, FALSE);
}

static void
set_manual (Fixture *fixture)
{
  dvmd_clock_unref (fixture->options.clock);
  fixture->options.clock = dvmd_clock_new_manual (0);
}

static void
test_idle (Fixture *fixture, gconstpointer data)
{
  DvmdWireStatistics statistics;

  set_manual (fixture);
  start (fixture);
  for (guint i = 0; i < 200; i++)
    {
      dvmd_clock_advance (fixture->options.clock, G_TIME_SPAN_SECOND);
      settle ();
    }
  g_assert_false (fixture->one_ear.is_closed);
  g_assert_false (fixture->other_ear.is_closed);
  dvmd_wire_get_statistics (fixture->one, &statistics);
  g_assert_cmpuint (statistics.frames_sent, ==, 0);
  g_assert_cmpuint (statistics.bytes_sent, >=, 20 * DVMD_FRAME_HEADER_SIZE);
  g_assert_cmpuint (statistics.bytes_sent, <=, 41 * DVMD_FRAME_HEADER_SIZE);
  g_assert_cmpuint (fixture->one_ear.packets->len, ==, 0);
}

/* Its connection stands, and nothing comes. */
static void
test_frozen (Fixture *fixture, gconstpointer data)
{
  int fds[2];
  TestEar ear;
  DvmdWire *wire;
  guint seconds = 0;

  set_manual (fixture);
  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
  wire = dvmd_wire_new (dvmd_socket_new (fds[0], "somebody"), 9, &fixture->options);
  test_ear_init (&ear, wire);
  while (!ear.is_closed && seconds < 100)
    {
      dvmd_clock_advance (fixture->options.clock, G_TIME_SPAN_SECOND);
      settle ();
      seconds++;
    }
  g_assert_cmpuint (seconds, >=, 20);
  g_assert_cmpuint (seconds, <=, 25);
  g_assert_error (ear.error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_TIMEOUT);
  g_assert_nonnull (strstr (ear.error->message, "nothing was heard for 20 seconds"));
  close (fds[1]);
  test_ear_clear (&ear);
  g_assert_finalize_object (wire);
}

/* It was this end that stood still: what has come meanwhile counts. */
static void
test_own_freeze (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmdPacket) packet = test_packet_text ("was there all the time");
  g_autoptr (GBytes) frame = frame_encode (packet);
  gsize size;
  const guint8 *bytes = g_bytes_get_data (frame, &size);
  int fds[2];
  TestEar ear;
  DvmdWire *wire;

  set_manual (fixture);
  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
  wire = dvmd_wire_new (dvmd_socket_new (fds[0], "somebody"), 9, &fixture->options);
  test_ear_init (&ear, wire);
  settle ();
  g_assert_cmpint (write (fds[1], bytes, size), ==, size);
  dvmd_clock_advance (fixture->options.clock, G_TIME_SPAN_MINUTE);
  g_assert_false (ear.is_closed);
  settle ();
  g_assert_cmpuint (ear.packets->len, ==, 1);
  g_assert_false (ear.is_closed);
  close (fds[1]);
  test_ear_clear (&ear);
  g_assert_finalize_object (wire);
}

/* Closed, and the other end takes nothing. */
static void
test_close_deadline (Fixture *fixture, gconstpointer data)
{
  g_autoptr (DvmdPacket) bulk = test_packet_bytes (1024 * 1024);

  set_manual (fixture);
  test_wire_pair (&fixture->options, &fixture->one, &fixture->other);
  test_ear_init (&fixture->one_ear, fixture->one);
  g_assert_true (dvmd_wire_send (fixture->one, bulk, DVMD_WIRE_CONTROL, NULL));
  dvmd_wire_close (fixture->one);
  settle ();
  g_assert_false (fixture->one_ear.is_closed);
  dvmd_clock_advance (fixture->options.clock, 6 * G_TIME_SPAN_SECOND);
  g_assert_true (fixture->one_ear.is_closed);
  g_assert_error (fixture->one_ear.error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_TIMEOUT);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

#define ADD(path, func) g_test_add ("/wire/" path, Fixture, NULL, set_up, func, tear_down)
  ADD ("order", test_order);
  ADD ("back-pressure", test_back_pressure);
  ADD ("limits", test_limits);
  ADD ("close", test_close);
  ADD ("close-and-forget", test_close_and_forget);
  ADD ("close-both", test_close_both);
  ADD ("close-from-handler", test_close_from_handler);
  ADD ("gone", test_gone);
  ADD ("tuned", test_tuned);
  ADD ("hostile", test_hostile);
  ADD ("fuzz", test_fuzz);
  ADD ("idle", test_idle);
  ADD ("frozen", test_frozen);
  ADD ("own-freeze", test_own_freeze);
  ADD ("close-deadline", test_close_deadline);
  return g_test_run ();
}

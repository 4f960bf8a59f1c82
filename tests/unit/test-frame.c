/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <string.h>

#include "dvmd-frame.h"
#include "dvmd-transport-error.h"
#include "transport-fixture.h"
#include "whole-frames.h"

static DvmdPacket *
make_packet (void)
{
  DvmdPacket *packet = test_packet_text ("what it is all about");

  packet->flags = 3;
  packet->hops = 7;
  packet->source = 0x01020304;
  packet->destination = G_MAXUINT32;
  packet->sequence = G_GUINT64_CONSTANT (0x1122334455667788);
  packet->ack = G_MAXUINT64;
  packet->epoch = 42;
  return packet;
}

static void
test_round_trip (void)
{
  g_autoptr (DvmdPacket) packet = make_packet ();
  g_autoptr (GBytes) bytes = frame_encode (packet);
  g_autoptr (DvmdPacket) back = NULL;
  GError *error = NULL;
  gsize size;
  gsize used = 0;
  const guint8 *data = g_bytes_get_data (bytes, &size);

  /* The layout is a promise between builds that say they are the same. */
  g_assert_cmpuint (data[0], ==, size - DVMD_FRAME_HEADER_SIZE);
  g_assert_cmpuint (data[4], ==, DVMD_PACKET_MESSAGE);
  g_assert_cmpuint (data[12], ==, 4);
  g_assert_cmpuint (data[24], ==, 0x88);
  back = frame_decode (data, size, DVMD_FRAME_DEFAULT_LIMIT, test_body_type, &used, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (used, ==, size);
  g_assert_cmpuint (back->type, ==, packet->type);
  g_assert_cmpuint (back->flags, ==, 3);
  g_assert_cmpuint (back->hops, ==, 7);
  g_assert_cmpuint (back->kind, ==, TEST_KIND_TEXT);
  g_assert_cmpuint (back->source, ==, packet->source);
  g_assert_cmpuint (back->destination, ==, G_MAXUINT32);
  g_assert_cmpuint (back->sequence, ==, packet->sequence);
  g_assert_cmpuint (back->ack, ==, G_MAXUINT64);
  g_assert_cmpuint (back->epoch, ==, 42);
  g_assert_true (g_variant_equal (back->body, packet->body));
}

static void
test_without_body (void)
{
  g_autoptr (DvmdPacket) packet = dvmd_packet_new (DVMD_PACKET_ACK, 1, 2, 0, NULL);
  g_autoptr (DvmdPacket) unit = dvmd_packet_new (DVMD_PACKET_MESSAGE, 1, 2, TEST_KIND_EMPTY, g_variant_new ("()"));
  DvmdPacket *packets[] = { packet, unit };

  for (guint i = 0; i < G_N_ELEMENTS (packets); i++)
    {
      g_autoptr (GBytes) bytes = frame_encode (packets[i]);
      g_autoptr (DvmdPacket) back = NULL;
      gsize used = 0;

      g_assert_cmpuint (g_bytes_get_size (bytes), ==, DVMD_FRAME_HEADER_SIZE);
      back = frame_decode (g_bytes_get_data (bytes, NULL), DVMD_FRAME_HEADER_SIZE, 0, test_body_type, &used, NULL);
      g_assert_nonnull (back);
      g_assert_null (back->body);
    }
}

static void
check_refused (GBytes *bytes, guint offset, guint8 value, gsize limit, const char *sentence)
{
  gsize size = g_bytes_get_size (bytes);
  g_autofree guint8 *data = g_memdup2 (g_bytes_get_data (bytes, NULL), size);
  g_autoptr (GError) error = NULL;
  gsize used = 0;

  data[offset] = value;
  g_assert_null (frame_decode (data, size, limit, test_body_type, &used, &error));
  g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_PROTOCOL);
  g_assert_nonnull (strstr (error->message, sentence));
}

static void
test_refused (void)
{
  g_autoptr (DvmdPacket) packet = make_packet ();
  g_autoptr (DvmdPacket) ack = dvmd_packet_new (DVMD_PACKET_ACK, 1, 2, 0, NULL);
  g_autoptr (GBytes) bytes = frame_encode (packet);
  g_autoptr (GBytes) ack_bytes = frame_encode (ack);
  gsize size = g_bytes_get_size (bytes);
  gsize limit = DVMD_FRAME_DEFAULT_LIMIT;

  /* 4 GiB that never come: nothing is taken for them. */
  check_refused (bytes, 3, 0xff, limit, "this link takes up to 67108864");
  check_refused (bytes, 0, (guint8)(size - DVMD_FRAME_HEADER_SIZE), 8, "this link takes up to 8");
  check_refused (bytes, 4, 99, limit, "There is no packet of type 99, kind 20");
  check_refused (bytes, 4, 0, limit, "There is no packet of type 0");
  check_refused (bytes, 8, 99, limit, "There is no packet of type 1, kind 99");
  check_refused (bytes, 7, 1, limit, "bits in its header that mean nothing");
  check_refused (bytes, 10, 1, limit, "bits in its header that mean nothing");
  check_refused (bytes, 23, 1, limit, "bits in its header that mean nothing");
  check_refused (ack_bytes, 0, 1, limit, "has 1 bytes, and should have none");
  /* The string's end */
  check_refused (bytes, (guint)size - 1, 'x', limit, "is no (s) in normal form");
}

/* Numbers, and then bytes that nobody has to look at. */
static void
test_bytes_at_the_end (void)
{
  const GVariantType *type = G_VARIANT_TYPE ("(byuay)");
  static const guint8 good[] = { 1, 7, 0, 0, 4, 3, 2, 1, 'a', 0xff, 0 };
  const struct
  {
    guint offset;
    guint8 value;
    gsize size;
    gboolean normal;
  } rows[] = {
    { 0, 1, sizeof good, TRUE },  { 0, 1, 8, TRUE },  { 0, 2, sizeof good, FALSE }, /* no boolean */
    { 2, 9, sizeof good, FALSE },                                                   /* padding */
    { 0, 1, 7, FALSE },           { 0, 1, 0, FALSE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (DvmdPacket) packet = make_packet ();
      guint8 *data = g_memdup2 (good, sizeof good);
      g_autoptr (GError) error = NULL;

      g_clear_pointer (&packet->body, g_variant_unref);
      data[rows[i].offset] = rows[i].value;
      g_assert_cmpint (dvmd_frame_take_body (packet, type, data, rows[i].size, &error), ==, rows[i].normal);
      if (rows[i].normal)
        {
          g_autoptr (GVariant) bytes = g_variant_get_child_value (packet->body, 3);

          g_assert_cmpmem (g_variant_get_data (bytes), g_variant_get_size (bytes), good + 8, rows[i].size - 8);
        }
      else
        g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_PROTOCOL);
    }
}

static void
test_too_long (void)
{
  g_autoptr (DvmdPacket) packet = test_packet_bytes (1000);
  g_autoptr (GError) error = NULL;
  guint8 header[DVMD_FRAME_HEADER_SIZE];
  gsize size;

  g_assert_true (dvmd_frame_write_header (packet, 2000, header, &size, NULL));
  g_assert_false (dvmd_frame_write_header (packet, 999, header, &size, &error));
  g_assert_error (error, DVMD_TRANSPORT_ERROR, DVMD_TRANSPORT_ERROR_PROTOCOL);
}

static void
test_truncated (void)
{
  g_autoptr (DvmdPacket) packet = make_packet ();
  g_autoptr (GBytes) bytes = frame_encode (packet);
  gsize size;
  const guint8 *data = g_bytes_get_data (bytes, &size);

  for (gsize n = 0; n < size; n++)
    {
      g_autofree guint8 *part = g_memdup2 (data, n);
      GError *error = NULL;
      gsize used = 0;

      g_assert_null (frame_decode (part, n, DVMD_FRAME_DEFAULT_LIMIT, test_body_type, &used, &error));
      g_assert_no_error (error);
    }
}

/* Whatever comes: a packet with a body of its type, an error, or a wish for more. */
static void
check_anything (GRand *rand, const guint8 *data, gsize size)
{
  g_autoptr (GError) error = NULL;
  gsize used = 0;
  g_autoptr (DvmdPacket)
      packet = frame_decode (data, size, g_rand_int_range (rand, 0, 4096), test_body_type, &used, &error);

  g_assert_true (packet == NULL || error == NULL);
  g_assert_cmpuint (used, <=, size);
  if (packet != NULL && packet->body != NULL)
    g_assert_true (g_variant_is_of_type (packet->body, test_body_type (packet->type, packet->kind)));
}

static void
test_fuzz (void)
{
  guint32 seed = g_test_rand_int ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (DvmdPacket) text = make_packet ();
  g_autoptr (DvmdPacket) bytes = test_packet_bytes (300);
  g_autoptr (GBytes) text_frame = frame_encode (text);
  g_autoptr (GBytes) bytes_frame = frame_encode (bytes);

  g_test_message ("seed %u", seed);
  for (guint i = 0; i < 20000; i++)
    {
      gsize size;
      const guint8 *data = g_bytes_get_data (i % 2 == 0 ? text_frame : bytes_frame, &size);
      g_autofree guint8 *copy = g_memdup2 (data, size);
      guint n_flips = (guint)g_rand_int_range (rand, 1, 8);

      for (guint j = 0; j < n_flips; j++)
        copy[g_rand_int_range (rand, 0, (gint32)size)] ^= (guint8)(1 << g_rand_int_range (rand, 0, 8));
      check_anything (rand, copy, (gsize)g_rand_int_range (rand, 0, (gint32)size + 1));
    }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/frame/round-trip", test_round_trip);
  g_test_add_func ("/frame/without-body", test_without_body);
  g_test_add_func ("/frame/refused", test_refused);
  g_test_add_func ("/frame/bytes-at-the-end", test_bytes_at_the_end);
  g_test_add_func ("/frame/too-long", test_too_long);
  g_test_add_func ("/frame/truncated", test_truncated);
  g_test_add_func ("/frame/fuzz", test_fuzz);
  return g_test_run ();
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include <string.h>

#include "dvmd-message.h"
#include "dvmd-outbox.h"

static void
add (DvmdOutbox *outbox, DvmdWirePriority priority, const char *text)
{
  g_autoptr (GVariant) body = text != NULL ? g_variant_ref_sink (dvmd_variant_new_bytes (text)) : NULL;
  g_autoptr (DvmdPacket) packet = dvmd_packet_new (DVMD_PACKET_MESSAGE, 1, 2, 3, body);
  guint8 header[DVMD_FRAME_HEADER_SIZE];
  gsize size;

  g_assert_true (dvmd_frame_write_header (packet, 1000, header, &size, NULL));
  dvmd_outbox_add (outbox, priority, header, body);
}

/* All that goes, `step' bytes at a time; headers are left out. */
static char *
drain (DvmdOutbox *outbox, gsize step, guint *n_packets)
{
  GString *all = g_string_new (NULL);
  GString *text = g_string_new (NULL);
  struct iovec parts[3];
  guint n;

  *n_packets = 0;
  while ((n = dvmd_outbox_peek (outbox, parts, G_N_ELEMENTS (parts))) > 0)
    {
      gsize left = step;

      g_assert_cmpuint (n, <=, G_N_ELEMENTS (parts));
      for (guint i = 0; i < n && left > 0; i++)
        {
          gsize some = MIN (left, parts[i].iov_len);

          g_assert_cmpuint (some, >, 0);
          g_string_append_len (all, parts[i].iov_base, (gssize)some);
          left -= some;
        }
      *n_packets += dvmd_outbox_take (outbox, step - left);
    }
  for (gsize at = 0; at < all->len;)
    {
      guint8 size = (guint8)all->str[at];

      g_string_append_len (text, all->str + at + DVMD_FRAME_HEADER_SIZE, size);
      at += DVMD_FRAME_HEADER_SIZE + size;
    }
  g_string_free (all, TRUE);
  return g_string_free (text, FALSE);
}

static void
test_order (void)
{
  const gsize steps[] = { 1, 7, 47, 48, 49, 50, 1000 };

  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    {
      g_autoptr (DvmdOutbox) outbox = dvmd_outbox_new ();
      g_autofree char *text = NULL;
      guint n;

      g_assert_true (dvmd_outbox_is_empty (outbox));
      add (outbox, DVMD_WIRE_BULK, "bulk ");
      add (outbox, DVMD_WIRE_BULK, NULL);
      add (outbox, DVMD_WIRE_BULK, "more");
      add (outbox, DVMD_WIRE_CONTROL, "control ");
      add (outbox, DVMD_WIRE_CONTROL, "second ");
      g_assert_cmpuint (dvmd_outbox_get_size (outbox, DVMD_WIRE_BULK), ==, 3 * DVMD_FRAME_HEADER_SIZE + 9);
      g_assert_cmpuint (dvmd_outbox_get_size (outbox, DVMD_WIRE_CONTROL), ==, 2 * DVMD_FRAME_HEADER_SIZE + 15);
      text = drain (outbox, steps[i], &n);
      g_assert_cmpstr (text, ==, "control second bulk more");
      g_assert_cmpuint (n, ==, 5);
      g_assert_true (dvmd_outbox_is_empty (outbox));
      g_assert_cmpuint (dvmd_outbox_get_size (outbox, DVMD_WIRE_BULK), ==, 0);
      g_assert_cmpuint (dvmd_outbox_get_size (outbox, DVMD_WIRE_CONTROL), ==, 0);
    }
}

/* Control goes before bulk, but not into the middle of it. */
static void
test_begun (void)
{
  g_autoptr (DvmdOutbox) outbox = dvmd_outbox_new ();
  g_autofree char *text = NULL;
  struct iovec parts[2];
  guint n;

  add (outbox, DVMD_WIRE_BULK, "bulk ");
  add (outbox, DVMD_WIRE_BULK, "last");
  g_assert_cmpuint (dvmd_outbox_take (outbox, DVMD_FRAME_HEADER_SIZE + 2), ==, 0);
  /* It has not gone yet. */
  g_assert_cmpuint (dvmd_outbox_get_size (outbox, DVMD_WIRE_BULK), ==, 2 * DVMD_FRAME_HEADER_SIZE + 9);
  add (outbox, DVMD_WIRE_CONTROL, "control ");
  g_assert_cmpuint (dvmd_outbox_peek (outbox, parts, 2), ==, 2);
  g_assert_cmpmem (parts[0].iov_base, parts[0].iov_len, "lk ", 3);
  g_assert_cmpuint (parts[1].iov_len, ==, DVMD_FRAME_HEADER_SIZE);
  g_assert_cmpuint (dvmd_outbox_take (outbox, 3), ==, 1);
  text = drain (outbox, 1000, &n);
  g_assert_cmpstr (text, ==, "control last");
  g_assert_cmpuint (n, ==, 2);
}

static void
test_own (void)
{
  g_autoptr (DvmdOutbox) outbox = dvmd_outbox_new ();
  g_autoptr (DvmdPacket) beat = dvmd_packet_new ((DvmdPacketType)DVMD_FRAME_BEAT, 0, 0, 0, NULL);
  guint8 header[DVMD_FRAME_HEADER_SIZE];
  gsize size;

  g_assert_true (dvmd_frame_write_header (beat, 0, header, &size, NULL));
  dvmd_outbox_add (outbox, DVMD_WIRE_CONTROL, header, NULL);
  add (outbox, DVMD_WIRE_CONTROL, "text");
  g_assert_cmpuint (dvmd_outbox_take (outbox, 2 * DVMD_FRAME_HEADER_SIZE + 4), ==, 1);
  g_assert_true (dvmd_outbox_is_empty (outbox));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/outbox/order", test_order);
  g_test_add_func ("/outbox/begun", test_begun);
  g_test_add_func ("/outbox/own", test_own);
  return g_test_run ();
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two ends of a channel, and a link between them that sends control before bulk.
 */

#include "config.h"

#include "dvmd-channel.h"
#include "dvmd-tree.h"

#define KIND 20

typedef struct _Pair Pair;

typedef struct
{
  Pair *pair;
  DvmdChannel *channel;
  GQueue lanes[2]; /* DvmdPacket on their way to the other end: control, bulk */
  guint next;      /* message that is expected here */
  guint n_sent;    /* packets */
  guint n_bulk;
  guint n_gaps;
  guint n_probes;
} End;

struct _Pair
{
  DvmdClock *clock;
  End ends[2];
};

static void
end_send (gpointer world, DvmdPacket *packet)
{
  End *self = world;
  gboolean bulk = (packet->flags & DVMD_PACKET_BULK) != 0;

  self->n_sent++;
  self->n_bulk += bulk;
  self->n_gaps += (packet->flags & DVMD_PACKET_GAP) != 0;
  self->n_probes += packet->type == DVMD_PACKET_PROBE;
  g_queue_push_tail (&self->lanes[bulk], dvmd_packet_ref (packet));
}

static void
end_deliver (gpointer world, guint32 source, guint16 kind, GVariant *body)
{
  End *self = world;
  guint n;

  g_assert_cmpuint (source, ==, self == &self->pair->ends[0]);
  g_assert_cmpuint (kind, ==, KIND);
  g_variant_get (body, "(uay)", &n, NULL);
  g_assert_cmpuint (n, ==, self->next);
  self->next++;
}

static const DvmdChannelFuncs funcs = { .send = end_send, .deliver = end_deliver };

static void
pair_init (Pair *self, gsize window)
{
  *self = (Pair){ .clock = dvmd_clock_new_manual (0) };
  for (guint i = 0; i < 2; i++)
    {
      self->ends[i].pair = self;
      self->ends[i].channel = dvmd_channel_new (self->clock, i, !i, &funcs, &self->ends[i]);
      if (window > 0)
        dvmd_channel_set_window (self->ends[i].channel, window);
    }
}

static void
lose (End *self)
{
  g_queue_clear_full (&self->lanes[0], (GDestroyNotify)dvmd_packet_unref);
  g_queue_clear_full (&self->lanes[1], (GDestroyNotify)dvmd_packet_unref);
}

static void
pair_clear (Pair *self)
{
  for (guint i = 0; i < 2; i++)
    {
      lose (&self->ends[i]);
      dvmd_channel_free (self->ends[i].channel);
    }
  dvmd_clock_unref (self->clock);
}

/* One packet of this end arrives. FALSE: there was none. */
static gboolean
carry (End *self)
{
  End *other = self == &self->pair->ends[0] ? &self->pair->ends[1] : &self->pair->ends[0];
  g_autoptr (DvmdPacket) packet = g_queue_pop_head (&self->lanes[0]);

  if (packet == NULL)
    packet = g_queue_pop_head (&self->lanes[1]);
  if (packet == NULL)
    return FALSE;
  dvmd_channel_receive (other->channel, packet);
  return TRUE;
}

static void
carry_all (Pair *self)
{
  gboolean any;

  do
    {
      any = carry (&self->ends[0]);
      any |= carry (&self->ends[1]);
    }
  while (any);
}

static void
post (End *self, guint n, gsize size, gboolean bulk)
{
  g_autofree guint8 *bytes = g_malloc0 (size);

  dvmd_channel_post (self->channel, KIND,
                     g_variant_new ("(u@ay)", n, g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, bytes, size, 1)),
                     bulk);
}

/* Messages that follow bulk go as bulk until that is acknowledged, a probe as well. */
static void
test_lane (void)
{
  Pair pair;
  End *one = &pair.ends[0];

  pair_init (&pair, 0);
  post (one, 0, 1, FALSE);
  g_assert_cmpuint (one->n_bulk, ==, 0);
  post (one, 1, 1, TRUE);
  post (one, 2, 1, FALSE);
  g_assert_cmpuint (one->n_bulk, ==, 2);
  dvmd_clock_advance (pair.clock, G_TIME_SPAN_SECOND);
  g_assert_cmpuint (one->n_probes, ==, 1);
  g_assert_cmpuint (one->n_bulk, ==, 3);

  carry (one); /* the first, and only that is acknowledged */
  dvmd_clock_advance (pair.clock, 100 * G_TIME_SPAN_MILLISECOND);
  while (carry (&pair.ends[1]))
    ;
  post (one, 3, 1, FALSE);
  g_assert_cmpuint (one->n_bulk, ==, 4);

  carry_all (&pair);
  dvmd_clock_advance (pair.clock, 100 * G_TIME_SPAN_MILLISECOND);
  carry_all (&pair);
  g_assert_cmpuint (dvmd_channel_get_n_unacknowledged (one->channel), ==, 0);
  post (one, 4, 1, FALSE);
  g_assert_cmpuint (one->n_bulk, ==, 4);
  carry_all (&pair);
  g_assert_cmpuint (pair.ends[1].next, ==, 5);
  g_assert_cmpuint (pair.ends[1].n_gaps, ==, 0);
  pair_clear (&pair);
}

/* Whatever is drawn: nothing overtakes, so nothing is sent twice while nothing is lost. */
static void
test_no_gaps (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);

  for (guint round = 0; round < 300; round++)
    {
      guint posted[2] = { 0, 0 };
      Pair pair;

      pair_init (&pair, g_rand_boolean (rand) ? (gsize)g_rand_int_range (rand, 1, 2000) : 0);
      for (guint i = 0; i < 500; i++)
        {
          guint end = g_rand_int_range (rand, 0, 2);

          if (g_rand_boolean (rand))
            post (&pair.ends[end], posted[end]++, g_rand_int_range (rand, 0, 500), g_rand_int_range (rand, 0, 4) == 0);
          else
            carry (&pair.ends[end]);
          if (g_rand_int_range (rand, 0, 50) == 0)
            dvmd_clock_advance (pair.clock, 100 * G_TIME_SPAN_MILLISECOND);
        }
      carry_all (&pair);
      for (guint i = 0; i < 2; i++)
        {
          g_assert_cmpuint (pair.ends[!i].next, ==, posted[i]);
          g_assert_cmpuint (pair.ends[i].n_gaps, ==, 0);
        }
      pair_clear (&pair);
    }
}

/* No more than the window is on its way; the rest goes as acknowledgements come, without any time that passes. */
static void
test_window (void)
{
  const gsize sizes[] = { 1, 100, 6000, 40000, 120000, 300000, 1000000 };
  Pair pair;

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      gsize limit = MAX (DVMD_CHANNEL_WINDOW, sizes[i] + 1000);

      pair_init (&pair, 0);
      for (guint n = 0; n < 100; n++)
        {
          post (&pair.ends[0], n, n % 3 == 0 ? 10 : sizes[i], n % 2 == 0);
          g_assert_cmpuint (dvmd_channel_get_in_flight (pair.ends[0].channel), <=, limit);
        }
      g_assert_cmpuint (dvmd_channel_get_n_unacknowledged (pair.ends[0].channel), ==, 100);
      while (carry (&pair.ends[0]) || carry (&pair.ends[1]))
        g_assert_cmpuint (dvmd_channel_get_in_flight (pair.ends[0].channel), <=, limit);
      g_assert_cmpuint (pair.ends[1].next, ==, 100);
      pair_clear (&pair);
    }
}

/* A little one in flight, and a large one that does not fit beside it: the little one is not acknowledged by itself. */
static void
test_no_stall (void)
{
  Pair pair;

  pair_init (&pair, 0);
  post (&pair.ends[0], 0, DVMD_CHANNEL_WINDOW / 3, FALSE);
  post (&pair.ends[0], 1, DVMD_CHANNEL_WINDOW - 1000, FALSE);
  carry_all (&pair);
  g_assert_cmpuint (pair.ends[1].next, ==, 2);
  g_assert_cmpuint (pair.ends[0].n_probes, ==, 1);
  pair_clear (&pair);
}

/* The way breaks: what was on it goes again, and nothing that waited. */
static void
test_resync (void)
{
  Pair pair;
  guint n_sent;

  pair_init (&pair, 1000);
  for (guint n = 0; n < 50; n++)
    post (&pair.ends[0], n, 200, n % 5 == 4);
  n_sent = pair.ends[0].n_sent;
  g_assert_cmpuint (n_sent, >, 1);
  g_assert_cmpuint (n_sent, <, 5);
  lose (&pair.ends[0]);
  dvmd_channel_resync (pair.ends[0].channel);
  g_assert_cmpuint (pair.ends[0].n_sent, ==, 2 * n_sent);
  lose (&pair.ends[0]);
  /* No call tells of this loss: a probe finds it. */
  dvmd_clock_advance (pair.clock, G_TIME_SPAN_SECOND);
  carry_all (&pair);
  g_assert_cmpuint (pair.ends[1].next, ==, 50);
  pair_clear (&pair);
}

static void
test_body_types (void)
{
  for (guint type = DVMD_PACKET_MESSAGE; type <= DVMD_PACKET_WAY; type++)
    {
      gboolean has_kinds = type == DVMD_PACKET_MESSAGE || type == DVMD_PACKET_BROADCAST;
      guint n = 0;

      for (guint16 kind = 0; kind <= DVMD_TREE_KIND_LAST; kind++)
        n += dvmd_tree_body_type (type, kind) != NULL;
      g_assert_cmpuint (n, ==, type == DVMD_PACKET_BROADCAST ? 2 : 1);
      g_assert_true (has_kinds == (dvmd_tree_body_type (type, 0) == NULL));
      g_assert_null (dvmd_tree_body_type (type, DVMD_TREE_KIND_LAST + 1));
    }
  g_assert_null (dvmd_tree_body_type (0, 0));
  g_assert_null (dvmd_tree_body_type (DVMD_PACKET_WAY + 1, 0));
  g_assert_true (g_variant_type_equal (dvmd_tree_body_type (DVMD_PACKET_PROBE, 0), G_VARIANT_TYPE_UNIT));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/channel/lane", test_lane);
  g_test_add_func ("/channel/no-gaps", test_no_gaps);
  g_test_add_func ("/channel/window", test_window);
  g_test_add_func ("/channel/no-stall", test_no_stall);
  g_test_add_func ("/channel/resync", test_resync);
  g_test_add_func ("/channel/body-types", test_body_types);
  return g_test_run ();
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A daemon of the tree whose neighbours send it any packet in any order, and come and go as they like.
 */

#include "config.h"

#include "dvmd-tree.h"
#include "fuzz.h"

#define N_RANKS 6

static void
send (gpointer world, guint32 neighbour, DvmdPacket *packet)
{
}

static void
with_rank (gpointer world, guint32 rank)
{
}

static void
deliver (gpointer world, guint32 source, guint16 kind, GVariant *body)
{
}

static void
deliver_broadcast (gpointer world, guint64 number, guint16 kind, GVariant *body)
{
}

static void
routes_changed (gpointer world, DvmdRoutes *old_routes, DvmdRoutes *routes)
{
}

static void
lost (gpointer world, guint32 rank, guint32 reporter)
{
}

static void
cut_off (gpointer world, gint64 since)
{
}

static void
nothing (gpointer world)
{
}

static GVariant *
merge (gpointer world, const char *key, GPtrArray *parts)
{
  return g_variant_new_uint32 (parts->len);
}

static void
completed (gpointer world, guint64 number)
{
}

static void
gathered (gpointer world, const char *key, GVariant *result)
{
}

static const DvmdTreeFuncs funcs = {
  .send = send,
  .connect = with_rank,
  .disconnect = with_rank,
  .deliver = deliver,
  .deliver_broadcast = deliver_broadcast,
  .routes_changed = routes_changed,
  .lost = lost,
  .cut_off = cut_off,
  .way_found = nothing,
  .leave = nothing,
  .expelled = nothing,
  .merge = merge,
  .completed = completed,
  .gathered = gathered,
};

/* Packets of a link have the bodies that their types have: fuzz-frames.c sees to the others. */
static void
receive (DvmdTree *tree, FuzzReader *reader, guint32 neighbour)
{
  DvmdPacketType type = 1 + fuzz_read_byte (reader) % DVMD_PACKET_WAY;
  guint16 kind = fuzz_read_byte (reader) % (DVMD_TREE_KIND_LAST + 3);
  const GVariantType *body_type = dvmd_tree_body_type (type, kind);
  g_autoptr (DvmdPacket) packet = NULL;
  GVariant *body = NULL;

  if (body_type != NULL && !g_variant_type_equal (body_type, G_VARIANT_TYPE_UNIT))
    body = fuzz_read_variant (reader, body_type);
  else if (body_type == NULL)
    body = g_variant_new_uint32 (1);
  packet = dvmd_packet_new (type, (guint32)fuzz_read_number (reader), (guint32)fuzz_read_number (reader), kind, body);
  packet->flags = fuzz_read_byte (reader) & 3;
  packet->hops = fuzz_read_byte (reader);
  packet->sequence = fuzz_read_number (reader);
  packet->ack = fuzz_read_number (reader);
  packet->epoch = fuzz_read_number (reader);
  dvmd_tree_receive (tree, neighbour, packet);
}

void
fuzz_tree (const guint8 *data, gsize size)
{
  FuzzReader reader = { data, size };
  guint32 rank = fuzz_read_byte (&reader) % N_RANKS;
  DvmdClock *clock = dvmd_clock_new_manual (0);
  DvmdTree *tree = dvmd_tree_new (rank, 2, clock, &funcs, NULL);

  for (guint32 i = 0; i < N_RANKS; i++)
    if (i != rank)
      dvmd_tree_link_up (tree, i);
  for (guint i = 0; reader.size > 0 && i < 100; i++)
    {
      guint8 what = fuzz_read_byte (&reader);
      guint32 neighbour = (what >> 4) % N_RANKS;

      if (neighbour == rank)
        neighbour = (neighbour + 1) % N_RANKS;
      switch (what % 16)
        {
        case 0:
          dvmd_tree_link_down (tree, neighbour);
          break;
        case 1:
          dvmd_tree_link_up (tree, neighbour);
          break;
        case 2:
          dvmd_tree_connect_failed (tree, neighbour);
          break;
        case 3:
          dvmd_tree_post (tree, neighbour, DVMD_TREE_KIND_LAST + 1, g_variant_new_uint32 (1), FALSE);
          break;
        case 4:
          dvmd_clock_advance (clock, G_USEC_PER_SEC);
          break;
        default:
          receive (tree, &reader, neighbour);
        }
    }
  dvmd_tree_free (tree);
  dvmd_clock_unref (clock);
}

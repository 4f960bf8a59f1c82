/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where packets go, and messages between two daemons.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-tree"

#include "dvmd-tree-private.h"

/* ---- where packets go ---- */

gboolean
dvmd_tree_has_link (DvmdTree *self, guint32 rank)
{
  return g_hash_table_contains (self->links, GUINT_TO_POINTER (rank));
}

void
dvmd_tree_send_to (DvmdTree *self, guint32 neighbour, DvmdPacket *packet)
{
  if (dvmd_tree_has_link (self, neighbour))
    self->funcs->send (self->user_data, neighbour, packet);
}

void
dvmd_tree_send_new (DvmdTree *self, guint32 neighbour, DvmdPacketType type, guint64 ack, GVariant *body)
{
  g_autoptr (DvmdPacket) packet = dvmd_packet_new (type, self->rank, neighbour, 0, body);

  packet->ack = ack;
  packet->epoch = dvmd_routes_get_epoch (self->routes);
  dvmd_tree_send_to (self, neighbour, packet);
}

static guint32
find_learned (DvmdTree *self, guint32 rank)
{
  gpointer neighbour;

  if (!g_hash_table_lookup_extended (self->learned, GUINT_TO_POINTER (rank), NULL, &neighbour))
    neighbour = GUINT_TO_POINTER (dvmd_leavers_get_hop (self->leavers, rank));
  return dvmd_tree_has_link (self, GPOINTER_TO_UINT (neighbour)) ? GPOINTER_TO_UINT (neighbour) : DVMD_NO_RANK;
}

static guint32
find_hop (DvmdTree *self, guint32 destination)
{
  guint32 hop;

  if (dvmd_tree_has_link (self, destination))
    return destination;
  hop = dvmd_routes_next_hop (self->routes, self->rank, destination);
  if (hop != DVMD_NO_RANK && dvmd_tree_has_link (self, hop))
    return hop;
  hop = find_learned (self, destination);
  return hop != DVMD_NO_RANK ? hop : self->uplink;
}

/* The packets of those who are not where the table says come by the way that leads to them. */
void
dvmd_tree_learn (DvmdTree *self, guint32 neighbour, guint32 source)
{
  if (source == neighbour || source == self->rank)
    return;
  if (dvmd_routes_next_hop (self->routes, self->rank, source) == neighbour)
    g_hash_table_remove (self->learned, GUINT_TO_POINTER (source));
  else
    g_hash_table_insert (self->learned, GUINT_TO_POINTER (source), GUINT_TO_POINTER (neighbour));
}

void
dvmd_tree_forget_way_by (DvmdTree *self, guint32 neighbour)
{
  GHashTableIter iter;
  gpointer rank;
  gpointer hop;

  dvmd_leavers_forget_hop (self->leavers, neighbour);
  g_hash_table_iter_init (&iter, self->learned);
  while (g_hash_table_iter_next (&iter, &rank, &hop))
    if (GPOINTER_TO_UINT (hop) != neighbour)
      continue;
    /* A leaver that was elsewhere than at its old place has not gone back there. */
    else if (dvmd_leavers_get_hop (self->leavers, GPOINTER_TO_UINT (rank)) != DVMD_NO_RANK)
      g_hash_table_iter_replace (&iter, GUINT_TO_POINTER (DVMD_NO_RANK));
    else
      g_hash_table_iter_remove (&iter);
}

void
dvmd_tree_forward (DvmdTree *self, guint32 from, DvmdPacket *packet)
{
  g_autoptr (DvmdPacket) copy = NULL;
  guint32 hop = find_hop (self, packet->destination);

  /* A leaver's table may be older than the way that the destination's own packets come. */
  if (hop == from)
    hop = find_learned (self, packet->destination);
  if (hop == DVMD_NO_RANK || hop == from || packet->hops >= DVMD_PACKET_MAX_HOPS)
    {
      g_debug ("A packet from %u to %u finds no way from here; its sender sends it again", packet->source,
               packet->destination);
      return;
    }
  copy = dvmd_packet_copy (packet);
  copy->hops++;
  dvmd_tree_send_to (self, hop, copy);
}

/* ---- messages ---- */

static void
channel_send (gpointer user_data, DvmdPacket *packet)
{
  DvmdTree *self = user_data;
  guint32 hop = find_hop (self, packet->destination);

  if (hop != DVMD_NO_RANK)
    dvmd_tree_send_to (self, hop, packet);
}

static void
deliver (gpointer user_data, guint32 source, guint16 kind, GVariant *body)
{
  DvmdTree *self = user_data;
  guint32 rank;

  if (kind > DVMD_TREE_KIND_LAST)
    {
      self->funcs->deliver (self->user_data, source, kind, body);
      return;
    }
  if (kind != KIND_LOST || self->rank != 0 || body == NULL || !g_variant_is_of_type (body, G_VARIANT_TYPE (LOST_TYPE)))
    {
      g_message ("Daemon %u sent a message of kind %u that it may not send", source, kind);
      return;
    }
  g_variant_get (body, LOST_TYPE, &rank);
  /* A leaver may not have heard that the member has another parent, which would miss it. */
  if (!dvmd_routes_contains (self->routes, source) && dvmd_routes_contains (self->routes, rank))
    {
      g_debug ("That %u is lost comes from %u, which leaves", rank, source);
      return;
    }
  self->funcs->lost (self->user_data, rank, source);
}

static const DvmdChannelFuncs channel_funcs = { .send = channel_send, .deliver = deliver };

DvmdChannel *
dvmd_tree_find_channel (DvmdTree *self, guint32 peer)
{
  DvmdChannel *channel = g_hash_table_lookup (self->channels, GUINT_TO_POINTER (peer));

  if (channel == NULL)
    {
      channel = dvmd_channel_new (self->clock, self->rank, peer, &channel_funcs, self);
      if (self->window > 0)
        dvmd_channel_set_window (channel, self->window);
      g_hash_table_insert (self->channels, GUINT_TO_POINTER (peer), channel);
    }
  return channel;
}

void
dvmd_tree_resync_channels (DvmdTree *self)
{
  GHashTableIter iter;
  gpointer channel;

  g_hash_table_iter_init (&iter, self->channels);
  while (g_hash_table_iter_next (&iter, NULL, &channel))
    dvmd_channel_resync (channel);
}

void
dvmd_tree_post (DvmdTree *self, guint32 destination, guint16 kind, GVariant *body, gboolean bulk)
{
  g_return_if_fail (destination != self->rank);

  if (dvmd_tree_has_departed (self, destination))
    {
      g_variant_unref (g_variant_ref_sink (body != NULL ? body : g_variant_new ("()")));
      return;
    }
  dvmd_channel_post (dvmd_tree_find_channel (self, destination), kind, body, bulk);
}

void
dvmd_tree_acknowledge (DvmdTree *self, guint32 source)
{
  DvmdChannel *channel = g_hash_table_lookup (self->channels, GUINT_TO_POINTER (source));

  if (channel != NULL)
    dvmd_channel_acknowledge (channel);
}

void
dvmd_tree_report_lost (DvmdTree *self, guint32 rank)
{
  if (self->rank == 0)
    self->funcs->lost (self->user_data, rank, 0);
  else
    dvmd_tree_post (self, 0, KIND_LOST, g_variant_new (LOST_TYPE, rank), FALSE);
}

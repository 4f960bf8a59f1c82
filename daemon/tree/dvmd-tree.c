/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One daemon of the tree: what comes in, and what belongs together.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-tree"

#include "dvmd-tree-private.h"

/* How long (µs) a child may take to come to a new parent, unless more is asked for. */
#define ATTACH_LIMIT (10 * G_TIME_SPAN_SECOND)
#define TIMEOUT      (500 * G_TIME_SPAN_MILLISECOND)

/* ---- broadcasts and gathers ---- */

static void
on_broadcast (gpointer user_data, guint64 number, guint16 kind, GVariant *body)
{
  DvmdTree *self = user_data;

  if (kind > DVMD_TREE_KIND_LAST)
    self->funcs->deliver_broadcast (self->user_data, number, kind, body);
  else if (kind == KIND_ROUTES && body != NULL && g_variant_is_of_type (body, G_VARIANT_TYPE (ROUTES_CHANGE_TYPE)))
    dvmd_tree_change_routes (self, number, body);
  else if (kind == KIND_GONE && body != NULL && g_variant_is_of_type (body, G_VARIANT_TYPE (GONE_TYPE)))
    dvmd_tree_bury_gone (self, body);
  else
    g_message ("A broadcast of kind %u is not known here", kind);
}

static void
on_completed (gpointer user_data, guint64 number)
{
  DvmdTree *self = user_data;

  dvmd_tree_drop_welcomes (self, number);
  if (self->funcs->completed != NULL)
    self->funcs->completed (self->user_data, number);
}

static void
on_send (gpointer user_data, guint32 neighbour, DvmdPacket *packet)
{
  dvmd_tree_send_to (user_data, neighbour, packet);
}

static GVariant *
on_merge (gpointer user_data, const char *key, GPtrArray *parts)
{
  DvmdTree *self = user_data;

  return self->funcs->merge (self->user_data, key, parts);
}

static void
on_gathered (gpointer user_data, const char *key, GVariant *result)
{
  DvmdTree *self = user_data;

  self->funcs->gathered (self->user_data, key, result);
}

static const DvmdBroadcastFuncs broadcast_funcs = {
  .send = on_send,
  .deliver = on_broadcast,
  .completed = on_completed,
};

static const DvmdGatherFuncs gather_funcs = { .send = on_send, .merge = on_merge, .gathered = on_gathered };

guint64
dvmd_tree_broadcast (DvmdTree *self, guint16 kind, GVariant *body)
{
  return dvmd_broadcast_post (self->broadcast, kind, body);
}

void
dvmd_tree_contribute (DvmdTree *self, const char *key, const guint32 *participants, guint n_participants,
                      GVariant *part)
{
  dvmd_gather_contribute (self->gather, key, participants, n_participants, part);
}

void
dvmd_tree_close_gather (DvmdTree *self, const char *key)
{
  dvmd_gather_set_stable (self->gather, dvmd_broadcast_get_stable (self->broadcast));
  dvmd_gather_close (self->gather, key, dvmd_broadcast_get_delivered (self->broadcast));
}

void
dvmd_tree_close_gathers (DvmdTree *self, const char *prefix)
{
  dvmd_gather_set_stable (self->gather, dvmd_broadcast_get_stable (self->broadcast));
  dvmd_gather_close_all (self->gather, prefix, dvmd_broadcast_get_delivered (self->broadcast));
}

static void
receive_for_us (DvmdTree *self, guint32 neighbour, DvmdPacket *packet)
{
  switch (packet->type)
    {
    case DVMD_PACKET_MESSAGE:
    case DVMD_PACKET_ACK:
    case DVMD_PACKET_PROBE:
      if (dvmd_tree_has_departed (self, packet->source))
        break;
      dvmd_tree_learn (self, neighbour, packet->source);
      dvmd_channel_receive (dvmd_tree_find_channel (self, packet->source), packet);
      break;
    case DVMD_PACKET_ATTACH:
      dvmd_tree_receive_attach (self, neighbour, packet);
      break;
    case DVMD_PACKET_DETACH:
      dvmd_tree_detach_child (self, neighbour, TRUE);
      break;
    case DVMD_PACKET_LEAVE:
      dvmd_tree_receive_leave (self, packet);
      break;
    case DVMD_PACKET_WELCOME:
      dvmd_tree_receive_welcome (self, packet);
      break;
    case DVMD_PACKET_EXPELLED:
      self->funcs->expelled (self->user_data);
      break;
    case DVMD_PACKET_CUT_OFF:
      dvmd_tree_receive_cut_off (self, neighbour, packet);
      break;
    case DVMD_PACKET_WAY:
      dvmd_tree_receive_way (self, neighbour);
      break;
    case DVMD_PACKET_GATHER:
      if (packet->body != NULL && g_variant_is_of_type (packet->body, G_VARIANT_TYPE (DVMD_GATHER_TYPE)))
        dvmd_gather_receive (self->gather, neighbour, packet);
      break;
    case DVMD_PACKET_BROADCAST:
    case DVMD_PACKET_BROADCAST_ACK:
    case DVMD_PACKET_STABLE:
      dvmd_broadcast_receive (self->broadcast, neighbour, packet);
      break;
    }
}

static const GVariantType *
get_broadcast_type (guint16 kind)
{
  if (kind == KIND_ROUTES)
    return G_VARIANT_TYPE (ROUTES_CHANGE_TYPE);
  return kind == KIND_GONE ? G_VARIANT_TYPE (GONE_TYPE) : NULL;
}

const GVariantType *
dvmd_tree_body_type (DvmdPacketType type, guint16 kind)
{
  switch (type)
    {
    case DVMD_PACKET_MESSAGE:
      return kind == KIND_LOST ? G_VARIANT_TYPE (LOST_TYPE) : NULL;
    case DVMD_PACKET_BROADCAST:
      return get_broadcast_type (kind);
    case DVMD_PACKET_WELCOME:
      return kind == 0 ? G_VARIANT_TYPE (WELCOME_TYPE) : NULL;
    case DVMD_PACKET_GATHER:
      return kind == 0 ? G_VARIANT_TYPE (DVMD_GATHER_TYPE) : NULL;
    case DVMD_PACKET_ACK:
    case DVMD_PACKET_PROBE:
    case DVMD_PACKET_BROADCAST_ACK:
    case DVMD_PACKET_STABLE:
    case DVMD_PACKET_ATTACH:
    case DVMD_PACKET_DETACH:
    case DVMD_PACKET_LEAVE:
    case DVMD_PACKET_EXPELLED:
    case DVMD_PACKET_CUT_OFF:
    case DVMD_PACKET_WAY:
      return kind == 0 ? G_VARIANT_TYPE_UNIT : NULL;
    }
  return NULL;
}

static gboolean
is_end_to_end (DvmdPacket *packet)
{
  return packet->type == DVMD_PACKET_MESSAGE || packet->type == DVMD_PACKET_ACK || packet->type == DVMD_PACKET_PROBE;
}

void
dvmd_tree_receive (DvmdTree *self, guint32 neighbour, DvmdPacket *packet)
{
  if (!dvmd_tree_has_link (self, neighbour))
    return;
  if (is_end_to_end (packet) && packet->destination != self->rank)
    {
      dvmd_tree_learn (self, neighbour, packet->source);
      dvmd_tree_forward (self, neighbour, packet);
    }
  else
    receive_for_us (self, neighbour, packet);
}

/* ---- the object ---- */

void
dvmd_tree_set_attach_limit (DvmdTree *self, gint64 limit)
{
  self->attach_limit = MAX (limit, ATTACH_LIMIT);
}

void
dvmd_tree_set_timeout (DvmdTree *self, gint64 timeout)
{
  self->timeout = timeout;
}

DvmdTree *
dvmd_tree_new (guint32 rank, guint radix, DvmdClock *clock, const DvmdTreeFuncs *funcs, gpointer user_data)
{
  DvmdTree *self = g_new0 (DvmdTree, 1);

  self->rank = rank;
  self->clock = dvmd_clock_ref (clock);
  self->funcs = funcs;
  self->user_data = user_data;
  self->attach_limit = ATTACH_LIMIT;
  self->timeout = TIMEOUT;
  self->lost_since = -1;
  self->avoided = DVMD_NO_RANK;
  self->uplink = DVMD_NO_RANK;
  self->wanted = DVMD_NO_RANK;
  self->links = g_hash_table_new (NULL, NULL);
  self->connecting = g_hash_table_new (NULL, NULL);
  self->attached_to = DVMD_NO_RANK;
  self->leavers = dvmd_leavers_new (rank);
  self->welcomes = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)dvmd_packet_unref);
  self->missing = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->learned = g_hash_table_new (NULL, NULL);
  self->moved = g_hash_table_new (NULL, NULL);
  self->channels = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)dvmd_channel_free);
  self->routes = dvmd_routes_new (radix);
  self->broadcast = dvmd_broadcast_new (rank, &broadcast_funcs, self);
  self->gather = dvmd_gather_new (rank, &gather_funcs, self);
  self->member = rank == 0;
  if (rank == 0)
    dvmd_gather_set_routes (self->gather, self->routes);
  return self;
}

void
dvmd_tree_free (DvmdTree *self)
{
  dvmd_clock_remove_timer (self->clock, self->retry_timer);
  dvmd_clock_remove_timer (self->clock, self->missing_timer);
  dvmd_clock_remove_timer (self->clock, self->way_timer);
  g_hash_table_unref (self->channels);
  g_hash_table_unref (self->missing);
  g_hash_table_unref (self->welcomes);
  dvmd_gather_free (self->gather);
  dvmd_broadcast_free (self->broadcast);
  dvmd_routes_unref (self->routes);
  g_hash_table_unref (self->links);
  g_hash_table_unref (self->connecting);
  dvmd_leavers_free (self->leavers);
  g_hash_table_unref (self->learned);
  g_hash_table_unref (self->moved);
  dvmd_clock_unref (self->clock);
  g_free (self);
}

void
dvmd_tree_set_window (DvmdTree *self, gsize bytes)
{
  self->window = bytes;
}

gboolean
dvmd_tree_is_leaving (DvmdTree *self, guint32 rank)
{
  return dvmd_leavers_contains (self->leavers, rank, NULL);
}

gboolean
dvmd_tree_has_departed (DvmdTree *self, guint32 rank)
{
  /* A daemon that leaves may be told of those whose leave it has missed. */
  return !dvmd_routes_contains (self->routes, rank) && dvmd_leavers_has_departed (self->leavers, rank);
}

DvmdRoutes *
dvmd_tree_get_routes (DvmdTree *self)
{
  return self->routes;
}

guint64
dvmd_tree_get_delivered (DvmdTree *self)
{
  return dvmd_broadcast_get_delivered (self->broadcast);
}

guint32
dvmd_tree_get_uplink (DvmdTree *self)
{
  return self->uplink;
}

gboolean
dvmd_tree_is_settled (DvmdTree *self)
{
  return self->rank == 0
         || (self->member && self->uplink != DVMD_NO_RANK && self->uplink == self->attached_to
             && self->uplink == dvmd_routes_get_parent (self->routes, self->rank));
}

guint
dvmd_tree_get_n_children (DvmdTree *self)
{
  return dvmd_broadcast_get_n_attached (self->broadcast);
}

guint
dvmd_tree_get_n_unacknowledged (DvmdTree *self, guint32 peer)
{
  GHashTableIter iter;
  gpointer channel = g_hash_table_lookup (self->channels, GUINT_TO_POINTER (peer));
  guint n = 0;

  if (peer != DVMD_NO_RANK)
    return channel != NULL ? dvmd_channel_get_n_unacknowledged (channel) : 0;

  g_hash_table_iter_init (&iter, self->channels);
  while (g_hash_table_iter_next (&iter, NULL, &channel))
    n += dvmd_channel_get_n_unacknowledged (channel);
  return n;
}

guint
dvmd_tree_get_n_gathers (DvmdTree *self)
{
  return dvmd_gather_get_n_open (self->gather);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Broadcasts of the controller arrive at every member once and in order.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-tree"

#include "dvmd-broadcast.h"
#include "dvmd-routes.h"

/* When so many completed broadcasts are kept everywhere, and no new one tells that they need not be. */
#define KEPT_BYTES (64 * 1024)

typedef struct
{
  gboolean expected; /* by the table */
  gboolean attached;
  gboolean acked; /* since it has attached */
  guint64 ack;
  guint64 ack_epoch;
} Child;

struct _DvmdBroadcast
{
  guint32 rank;
  const DvmdBroadcastFuncs *funcs;
  gpointer user_data;
  guint32 uplink;
  guint64 epoch;
  guint64 delivered;
  guint64 stable;    /* every member has got what comes up to this */
  guint64 announced; /* of stable, by the controller */
  GQueue kept;       /* DvmdPacket, those after stable */
  gsize kept_bytes;
  GHashTable *children; /* rank -> Child */
  gboolean told;        /* told_ack was sent to this uplink in this epoch */
  guint64 told_ack;
};

DvmdBroadcast *
dvmd_broadcast_new (guint32 rank, const DvmdBroadcastFuncs *funcs, gpointer user_data)
{
  DvmdBroadcast *self = g_new0 (DvmdBroadcast, 1);

  self->rank = rank;
  self->funcs = funcs;
  self->user_data = user_data;
  self->uplink = DVMD_NO_RANK;
  self->children = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_queue_init (&self->kept);
  return self;
}

void
dvmd_broadcast_free (DvmdBroadcast *self)
{
  g_queue_clear_full (&self->kept, (GDestroyNotify)dvmd_packet_unref);
  g_hash_table_unref (self->children);
  g_free (self);
}

static gboolean
is_controller (DvmdBroadcast *self)
{
  return self->rank == 0;
}

static gsize
size_of (DvmdPacket *packet)
{
  return sizeof *packet + (packet->body != NULL ? g_variant_get_size (packet->body) : 0);
}

static Child *
find_child (DvmdBroadcast *self, guint32 rank, gboolean make)
{
  Child *child = g_hash_table_lookup (self->children, GUINT_TO_POINTER (rank));

  if (child == NULL && make)
    {
      child = g_new0 (Child, 1);
      g_hash_table_insert (self->children, GUINT_TO_POINTER (rank), child);
    }
  return child;
}

void
dvmd_broadcast_pass_down (DvmdBroadcast *self, DvmdPacket *packet)
{
  g_autoptr (GPtrArray) ranks = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer rank;
  gpointer child;

  g_hash_table_iter_init (&iter, self->children);
  while (g_hash_table_iter_next (&iter, &rank, &child))
    if (((Child *)child)->attached)
      g_ptr_array_add (ranks, rank);
  for (guint i = 0; i < ranks->len; i++)
    self->funcs->send (self->user_data, GPOINTER_TO_UINT (g_ptr_array_index (ranks, i)), packet);
}

/* ---- what everybody has ---- */

static void
set_stable (DvmdBroadcast *self, guint64 stable)
{
  self->stable = MAX (self->stable, stable);
  while (!g_queue_is_empty (&self->kept))
    {
      DvmdPacket *first = g_queue_peek_head (&self->kept);

      if (first->sequence > self->stable)
        break;
      self->kept_bytes -= size_of (first);
      dvmd_packet_unref (g_queue_pop_head (&self->kept));
    }
}

void
dvmd_broadcast_start (DvmdBroadcast *self, guint64 delivered)
{
  self->delivered = delivered;
  set_stable (self, delivered);
}

static void
announce (DvmdBroadcast *self)
{
  g_autoptr (DvmdPacket) packet = dvmd_packet_new (DVMD_PACKET_STABLE, self->rank, DVMD_NO_RANK, 0, NULL);

  self->announced = self->stable;
  packet->ack = self->stable;
  dvmd_broadcast_pass_down (self, packet);
}

/* FALSE: not every child of this epoch has spoken. */
static gboolean
find_ack (DvmdBroadcast *self, guint64 *ack)
{
  GHashTableIter iter;
  gpointer value;

  *ack = self->delivered;
  g_hash_table_iter_init (&iter, self->children);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Child *child = value;

      if (!child->expected)
        continue;
      if (!child->attached || !child->acked || child->ack_epoch != self->epoch)
        return FALSE;
      *ack = MIN (*ack, child->ack);
    }
  return TRUE;
}

static void
complete (DvmdBroadcast *self, guint64 ack)
{
  gsize bytes = self->kept_bytes;

  while (self->stable < ack)
    {
      guint64 number = self->stable + 1;

      set_stable (self, number);
      self->funcs->completed (self->user_data, number);
    }
  if (bytes - self->kept_bytes > KEPT_BYTES && self->announced < self->stable)
    announce (self);
}

static void
check_ack (DvmdBroadcast *self)
{
  g_autoptr (DvmdPacket) packet = NULL;
  guint64 ack;

  if (!find_ack (self, &ack))
    return;
  if (is_controller (self))
    {
      complete (self, ack);
      return;
    }
  if (self->uplink == DVMD_NO_RANK || (self->told && self->told_ack >= ack))
    return;
  self->told = TRUE;
  self->told_ack = ack;
  packet = dvmd_packet_new (DVMD_PACKET_BROADCAST_ACK, self->rank, self->uplink, 0, NULL);
  packet->ack = ack;
  packet->epoch = self->epoch;
  self->funcs->send (self->user_data, self->uplink, packet);
}

/* ---- broadcasts ---- */

static void
pass_on (DvmdBroadcast *self, DvmdPacket *packet)
{
  self->delivered = packet->sequence;
  g_queue_push_tail (&self->kept, dvmd_packet_ref (packet));
  self->kept_bytes += size_of (packet);
  dvmd_broadcast_pass_down (self, packet);
  self->funcs->deliver (self->user_data, packet->sequence, packet->kind, packet->body);
  check_ack (self);
}

guint64
dvmd_broadcast_post (DvmdBroadcast *self, guint16 kind, GVariant *body)
{
  g_autoptr (DvmdPacket) packet = dvmd_packet_new (DVMD_PACKET_BROADCAST, self->rank, DVMD_NO_RANK, kind, body);

  g_return_val_if_fail (is_controller (self), 0);

  packet->sequence = self->delivered + 1;
  packet->ack = self->stable;
  self->announced = self->stable;
  pass_on (self, packet);
  return packet->sequence;
}

static void
receive_broadcast (DvmdBroadcast *self, DvmdPacket *packet)
{
  set_stable (self, MIN (packet->ack, self->delivered));
  if (packet->sequence == self->delivered + 1)
    pass_on (self, packet);
  else if (packet->sequence > self->delivered)
    g_message ("Broadcast %" G_GUINT64_FORMAT " came where %" G_GUINT64_FORMAT " was expected; it is dropped",
               packet->sequence, self->delivered + 1);
}

static void
receive_ack (DvmdBroadcast *self, guint32 neighbour, DvmdPacket *packet)
{
  Child *child = find_child (self, neighbour, FALSE);

  if (child == NULL || !child->attached)
    return;
  child->acked = TRUE;
  child->ack = packet->ack;
  child->ack_epoch = packet->epoch;
  check_ack (self);
}

void
dvmd_broadcast_receive (DvmdBroadcast *self, guint32 neighbour, DvmdPacket *packet)
{
  if (packet->type == DVMD_PACKET_BROADCAST)
    receive_broadcast (self, packet);
  else if (packet->type == DVMD_PACKET_BROADCAST_ACK)
    receive_ack (self, neighbour, packet);
  else if (packet->type == DVMD_PACKET_STABLE)
    {
      set_stable (self, MIN (packet->ack, self->delivered));
      dvmd_broadcast_pass_down (self, packet);
    }
}

/* ---- who is whose child ---- */

static gboolean
is_idle (gpointer rank, gpointer child, gpointer user_data)
{
  return !((Child *)child)->expected && !((Child *)child)->attached;
}

void
dvmd_broadcast_set_children (DvmdBroadcast *self, guint64 epoch, const guint32 *children, guint n_children)
{
  GHashTableIter iter;
  gpointer child;

  g_hash_table_iter_init (&iter, self->children);
  while (g_hash_table_iter_next (&iter, NULL, &child))
    ((Child *)child)->expected = FALSE;
  for (guint i = 0; i < n_children; i++)
    find_child (self, children[i], TRUE)->expected = TRUE;
  g_hash_table_foreach_remove (self->children, is_idle, NULL);
  self->epoch = epoch;
  self->told = FALSE;
  check_ack (self);
}

void
dvmd_broadcast_set_uplink (DvmdBroadcast *self, guint32 neighbour)
{
  self->uplink = neighbour;
  self->told = FALSE;
  check_ack (self);
}

void
dvmd_broadcast_attach (DvmdBroadcast *self, guint32 rank, guint64 delivered)
{
  Child *child = find_child (self, rank, TRUE);
  g_autoptr (GPtrArray) owed = g_ptr_array_new_with_free_func ((GDestroyNotify)dvmd_packet_unref);

  child->attached = TRUE;
  child->acked = FALSE;
  for (GList *l = self->kept.head; l != NULL; l = l->next)
    if (((DvmdPacket *)l->data)->sequence > delivered)
      g_ptr_array_add (owed, dvmd_packet_ref (l->data));
  for (guint i = 0; i < owed->len; i++)
    self->funcs->send (self->user_data, rank, g_ptr_array_index (owed, i));
}

void
dvmd_broadcast_detach (DvmdBroadcast *self, guint32 rank)
{
  Child *child = find_child (self, rank, FALSE);

  if (child == NULL)
    return;
  child->attached = FALSE;
  child->acked = FALSE;
  if (!child->expected)
    g_hash_table_remove (self->children, GUINT_TO_POINTER (rank));
}

gboolean
dvmd_broadcast_is_attached (DvmdBroadcast *self, guint32 rank)
{
  Child *child = find_child (self, rank, FALSE);

  return child != NULL && child->attached;
}

guint
dvmd_broadcast_get_n_attached (DvmdBroadcast *self)
{
  GHashTableIter iter;
  gpointer child;
  guint n = 0;

  g_hash_table_iter_init (&iter, self->children);
  while (g_hash_table_iter_next (&iter, NULL, &child))
    n += ((Child *)child)->attached;
  return n;
}

guint64
dvmd_broadcast_get_delivered (DvmdBroadcast *self)
{
  return self->delivered;
}

guint64
dvmd_broadcast_get_stable (DvmdBroadcast *self)
{
  return self->stable;
}

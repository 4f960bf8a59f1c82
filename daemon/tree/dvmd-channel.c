/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A channel carries messages between two daemons end to end, whatever links break on the way.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-tree"

#include "dvmd-channel.h"

/* Messages that are taken before they are acknowledged, and for how long (µs) one waits for a message to carry it. */
#define ACK_MESSAGES 32
#define ACK_DELAY    (50 * G_TIME_SPAN_MILLISECOND)
/* Without progress for so long, one asks. The way may be mended far from here: nobody tells. */
#define PROBE_FIRST (500 * G_TIME_SPAN_MILLISECOND)
#define PROBE_LAST  (2 * G_TIME_SPAN_SECOND)

struct _DvmdChannel
{
  DvmdClock *clock;
  guint32 rank;
  guint32 peer;
  const DvmdChannelFuncs *funcs;
  gpointer user_data;

  gsize window;
  guint64 posted;  /* sequence of the last message */
  guint64 sent;    /* and of the last that is on its way or has arrived */
  GQueue unacked;  /* DvmdPacket on their way, in order; those that went as bulk are the last */
  gsize in_flight; /* bytes of unacked */
  GQueue waiting;  /* DvmdPacket, after those */
  guint probe_timer;
  gint64 probe_delay;
  gboolean asked; /* since the last ack, because messages wait */

  guint64 received; /* sequence of the last message that was delivered */
  gsize untold;     /* bytes that were delivered since the last ack */
  guint64 told;     /* the last ack that was sent */
  guint64 gap_told; /* the ack for which a gap was told last; + 1 */
  guint ack_timer;
};

DvmdChannel *
dvmd_channel_new (DvmdClock *clock, guint32 rank, guint32 peer, const DvmdChannelFuncs *funcs, gpointer user_data)
{
  DvmdChannel *self = g_new0 (DvmdChannel, 1);

  self->clock = dvmd_clock_ref (clock);
  self->rank = rank;
  self->peer = peer;
  self->funcs = funcs;
  self->user_data = user_data;
  self->probe_delay = PROBE_FIRST;
  self->window = DVMD_CHANNEL_WINDOW;
  g_queue_init (&self->unacked);
  g_queue_init (&self->waiting);
  return self;
}

void
dvmd_channel_free (DvmdChannel *self)
{
  dvmd_clock_remove_timer (self->clock, self->probe_timer);
  dvmd_clock_remove_timer (self->clock, self->ack_timer);
  g_queue_clear_full (&self->unacked, (GDestroyNotify)dvmd_packet_unref);
  g_queue_clear_full (&self->waiting, (GDestroyNotify)dvmd_packet_unref);
  dvmd_clock_unref (self->clock);
  g_free (self);
}

void
dvmd_channel_set_window (DvmdChannel *self, gsize bytes)
{
  self->window = bytes;
}

/* ---- out ---- */

static gsize
size_of (DvmdPacket *packet)
{
  return sizeof *packet + (packet->body != NULL ? g_variant_get_size (packet->body) : 0);
}

/* Whatever comes after a message that went as bulk must not overtake it. */
static gboolean
has_bulk_in_flight (DvmdChannel *self)
{
  DvmdPacket *last = g_queue_peek_tail (&self->unacked);

  return last != NULL && (last->flags & DVMD_PACKET_BULK) != 0;
}

static void
send_packet (DvmdChannel *self, DvmdPacket *packet)
{
  packet->ack = self->received;
  packet->hops = 0;
  self->told = self->received;
  self->untold = 0;
  dvmd_clock_remove_timer (self->clock, self->ack_timer);
  self->ack_timer = 0;
  self->funcs->send (self->user_data, packet);
}

static void
send_control (DvmdChannel *self, DvmdPacketType type, guint8 flags)
{
  g_autoptr (DvmdPacket) packet = dvmd_packet_new (type, self->rank, self->peer, 0, NULL);

  packet->flags = flags;
  packet->sequence = self->sent;
  send_packet (self, packet);
}

static void on_probe (gpointer user_data);

static void
set_probe (DvmdChannel *self)
{
  dvmd_clock_remove_timer (self->clock, self->probe_timer);
  self->probe_timer = 0;
  if (!g_queue_is_empty (&self->unacked))
    self->probe_timer = dvmd_clock_add_timer (self->clock, self->probe_delay, on_probe, self);
}

static void
send_probe (DvmdChannel *self)
{
  send_control (self, DVMD_PACKET_PROBE, has_bulk_in_flight (self) ? DVMD_PACKET_BULK : 0);
}

static void
on_probe (gpointer user_data)
{
  DvmdChannel *self = user_data;

  self->probe_timer = 0;
  self->probe_delay = MIN (self->probe_delay * 2, PROBE_LAST);
  set_probe (self);
  send_probe (self);
}

/* Takes the packet. */
static void
send_message (DvmdChannel *self, DvmdPacket *packet)
{
  if (has_bulk_in_flight (self))
    packet->flags |= DVMD_PACKET_BULK;
  self->sent = packet->sequence;
  self->in_flight += size_of (packet);
  g_queue_push_tail (&self->unacked, packet);
  if (self->probe_timer == 0)
    set_probe (self);
  send_packet (self, packet);
}

static void
send_waiting (DvmdChannel *self)
{
  while (!g_queue_is_empty (&self->waiting))
    {
      DvmdPacket *first = g_queue_peek_head (&self->waiting);

      if (self->in_flight > 0 && self->in_flight + size_of (first) > self->window)
        {
          /* The other end does not acknowledge by itself yet what is so little. */
          if (!self->asked && self->in_flight < self->window / 2)
            send_probe (self);
          self->asked = TRUE;
          return;
        }
      send_message (self, g_queue_pop_head (&self->waiting));
    }
}

void
dvmd_channel_post (DvmdChannel *self, guint16 kind, GVariant *body, gboolean bulk)
{
  DvmdPacket *packet = dvmd_packet_new (DVMD_PACKET_MESSAGE, self->rank, self->peer, kind, body);

  packet->sequence = ++self->posted;
  packet->flags = bulk ? DVMD_PACKET_BULK : 0;
  g_queue_push_tail (&self->waiting, packet);
  send_waiting (self);
}

void
dvmd_channel_resync (DvmdChannel *self)
{
  g_autoptr (GPtrArray) packets = g_ptr_array_new_with_free_func ((GDestroyNotify)dvmd_packet_unref);

  /* A packet that was sent may still sit in a queue, and carries its own ack: each time a copy is sent. */
  for (GList *l = self->unacked.head; l != NULL; l = l->next)
    g_ptr_array_add (packets, dvmd_packet_copy (l->data));
  for (guint i = 0; i < packets->len; i++)
    send_packet (self, g_ptr_array_index (packets, i));
}

/* ---- in ---- */

static void
take_ack (DvmdChannel *self, guint64 ack)
{
  gboolean progress = FALSE;

  while (!g_queue_is_empty (&self->unacked))
    {
      DvmdPacket *first = g_queue_peek_head (&self->unacked);

      if (first->sequence > ack)
        break;
      self->in_flight -= size_of (first);
      dvmd_packet_unref (g_queue_pop_head (&self->unacked));
      progress = TRUE;
    }
  if (!progress)
    return;
  self->probe_delay = PROBE_FIRST;
  self->asked = FALSE;
  set_probe (self);
  send_waiting (self);
}

static void
on_ack_due (gpointer user_data)
{
  DvmdChannel *self = user_data;

  self->ack_timer = 0;
  send_control (self, DVMD_PACKET_ACK, 0);
}

static void
acknowledge (DvmdChannel *self)
{
  if (self->received - self->told >= ACK_MESSAGES || self->untold >= self->window / 2)
    send_control (self, DVMD_PACKET_ACK, 0);
  else if (self->received > self->told && self->ack_timer == 0)
    self->ack_timer = dvmd_clock_add_timer (self->clock, ACK_DELAY, on_ack_due, self);
}

static void
take_message (DvmdChannel *self, DvmdPacket *packet)
{
  if (packet->sequence == self->received + 1)
    {
      self->received++;
      self->untold += size_of (packet);
      self->funcs->deliver (self->user_data, self->peer, packet->kind, packet->body);
      acknowledge (self);
    }
  else if (packet->sequence > self->received && self->gap_told != self->received + 1)
    {
      self->gap_told = self->received + 1;
      send_control (self, DVMD_PACKET_ACK, DVMD_PACKET_GAP);
    }
  else if (packet->sequence <= self->received && self->ack_timer == 0)
    /* Sent again because our ack was lost. */
    self->ack_timer = dvmd_clock_add_timer (self->clock, ACK_DELAY, on_ack_due, self);
}

void
dvmd_channel_receive (DvmdChannel *self, DvmdPacket *packet)
{
  take_ack (self, packet->ack);
  if (packet->type == DVMD_PACKET_MESSAGE)
    take_message (self, packet);
  else if (packet->type == DVMD_PACKET_PROBE)
    send_control (self, DVMD_PACKET_ACK, packet->sequence > self->received ? DVMD_PACKET_GAP : 0);
  else if (packet->type == DVMD_PACKET_ACK && (packet->flags & DVMD_PACKET_GAP) != 0)
    dvmd_channel_resync (self);
}

void
dvmd_channel_acknowledge (DvmdChannel *self)
{
  if (self->received > self->told)
    send_control (self, DVMD_PACKET_ACK, 0);
}

guint
dvmd_channel_get_n_unacknowledged (DvmdChannel *self)
{
  return self->unacked.length + self->waiting.length;
}

gsize
dvmd_channel_get_in_flight (DvmdChannel *self)
{
  return self->in_flight;
}

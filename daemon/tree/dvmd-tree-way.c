/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The way to the controller. A daemon without an uplink has lost it, and so have all below it, which cannot see that.
 * So it tells them after a moment, with the time since when: all know the same end of the search, and all search at
 * once, by a link of their own to the controller. Whoever has got there moves, and those below it with it.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-tree"

#include "dvmd-tree-private.h"

/* µs between attempts to reach the controller. */
#define ATTEMPT_DELAY (200 * G_TIME_SPAN_MILLISECOND)
/* How long a parent that had no way itself is let alone. */
#define AVOID_TIME (2 * G_TIME_SPAN_SECOND)
/* Agents that are further from the break leave the nearer ones so many timeouts to find another way. */
#define MAX_DISTANCE 3

static void on_way_timer (gpointer user_data);

static void
set_way_timer (DvmdTree *self, gint64 when)
{
  dvmd_clock_remove_timer (self->clock, self->way_timer);
  self->way_timer = dvmd_clock_add_timer (self->clock, MAX (0, when - dvmd_clock_monotonic (self->clock)), on_way_timer,
                                          self);
}

static void
send_cut_off (DvmdTree *self, guint32 neighbour)
{
  g_autoptr (DvmdPacket) packet = dvmd_packet_new (DVMD_PACKET_CUT_OFF, self->rank, neighbour, 0, NULL);

  packet->sequence = (guint64)(dvmd_clock_monotonic (self->clock) - self->lost_since);
  packet->ack = self->lost_at;
  packet->epoch = dvmd_routes_get_epoch (self->routes);
  dvmd_tree_send_to (self, neighbour, packet);
}

/* A neighbour that does not have its uplink here passes over the packet. */
static void
tell_below (DvmdTree *self, DvmdPacketType type)
{
  GHashTableIter iter;
  gpointer neighbour;

  self->told_below = type == DVMD_PACKET_CUT_OFF;
  g_hash_table_iter_init (&iter, self->links);
  while (g_hash_table_iter_next (&iter, &neighbour, NULL))
    if (GPOINTER_TO_UINT (neighbour) == self->uplink)
      continue;
    else if (type == DVMD_PACKET_CUT_OFF)
      send_cut_off (self, GPOINTER_TO_UINT (neighbour));
    else
      dvmd_tree_send_new (self, GPOINTER_TO_UINT (neighbour), type, 0, NULL);
}

static void
on_way_timer (gpointer user_data)
{
  DvmdTree *self = user_data;

  self->way_timer = 0;
  if (!self->told_below)
    tell_below (self, DVMD_PACKET_CUT_OFF);
  dvmd_tree_seek_controller (self);
}

/* distance: from the daemon that has lost its uplink. */
static void
lose_way (DvmdTree *self, gint64 since, guint distance)
{
  /* While tables differ daemons may stand in a circle: what is known is not told again. */
  if (self->lost_since >= 0 && self->lost_since <= since)
    return;
  self->lost_since = since;
  self->lost_at = distance;
  self->funcs->cut_off (self->user_data, since);
  if (distance > 0)
    tell_below (self, DVMD_PACKET_CUT_OFF);
  if (self->way_timer == 0)
    set_way_timer (self, since + (1 + MIN (distance, MAX_DISTANCE)) * self->timeout);
}

void
dvmd_tree_lose_way (DvmdTree *self)
{
  lose_way (self, dvmd_clock_monotonic (self->clock), 0);
}

/* There is an uplink, which says nothing else so far. */
void
dvmd_tree_find_way (DvmdTree *self)
{
  /* An uplink that has lost the way itself will say so: then the search began when this daemon lost it. */
  self->had_way = self->lost_since >= 0 ? self->lost_since : dvmd_clock_monotonic (self->clock);
  if (self->lost_since < 0)
    return;
  dvmd_clock_remove_timer (self->clock, self->way_timer);
  self->way_timer = 0;
  self->lost_since = -1;
  if (self->told_below)
    tell_below (self, DVMD_PACKET_WAY);
  self->funcs->way_found (self->user_data);
}

void
dvmd_tree_way_attempt_failed (DvmdTree *self)
{
  if (self->lost_since >= 0)
    set_way_timer (self, dvmd_clock_monotonic (self->clock) + MIN (ATTEMPT_DELAY, self->timeout));
}

void
dvmd_tree_receive_cut_off (DvmdTree *self, guint32 neighbour, DvmdPacket *packet)
{
  gint64 now = dvmd_clock_monotonic (self->clock);
  gint64 age = (gint64)MIN (packet->sequence, (guint64)G_MAXINT32 * 1000);

  if (neighbour != self->uplink || neighbour == 0)
    return;
  self->avoided = neighbour;
  self->avoided_until = now + AVOID_TIME;
  lose_way (self, MAX (now - age, self->had_way), (guint)MIN (packet->ack, MAX_DISTANCE) + 1);
}

void
dvmd_tree_receive_way (DvmdTree *self, guint32 neighbour)
{
  if (neighbour != self->uplink)
    return;
  self->avoided = DVMD_NO_RANK;
  dvmd_tree_find_way (self);
}

gboolean
dvmd_tree_avoids (DvmdTree *self, guint32 rank)
{
  return rank == self->avoided && self->uplink != DVMD_NO_RANK
         && dvmd_clock_monotonic (self->clock) < self->avoided_until;
}

void
dvmd_tree_tell_way (DvmdTree *self, guint32 neighbour)
{
  if (self->told_below && neighbour != self->uplink)
    send_cut_off (self, neighbour);
}

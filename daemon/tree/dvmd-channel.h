/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-clock.h"
#include "dvmd-packet.h"

G_BEGIN_DECLS

/*
 * Messages between two daemons, end to end: each arrives once and in order, whatever links break and whoever becomes
 * the parent of whom on the way. What was not acknowledged is kept, and sent again when the way has changed, when the
 * other end sees a gap, or when a probe finds the end missing.
 *
 * Links send control before bulk. So what follows a message that went as bulk goes as bulk too, until all of that is
 * acknowledged: nothing overtakes within a channel. What is on its way at once is bounded; the rest waits here.
 */

/* Bytes of messages, with their headers, that are on their way at once; one message always is. */
#define DVMD_CHANNEL_WINDOW ((gsize)256 * 1024)

typedef struct _DvmdChannel DvmdChannel;

typedef struct
{
  /* On its way to packet->destination; may get lost. */
  void (*send) (gpointer user_data, DvmdPacket *packet);
  void (*deliver) (gpointer user_data, guint32 source, guint16 kind, GVariant *body);
} DvmdChannelFuncs;

/* funcs, user_data: borrowed. */
DvmdChannel *dvmd_channel_new (DvmdClock *clock, guint32 rank, guint32 peer, const DvmdChannelFuncs *funcs,
                               gpointer user_data);
void dvmd_channel_free (DvmdChannel *self);

/* Both ends have the same; for tests. */
void dvmd_channel_set_window (DvmdChannel *self, gsize bytes);

/* body: (nullable), floating is sunk. */
void dvmd_channel_post (DvmdChannel *self, guint16 kind, GVariant *body, gboolean bulk);
/* MESSAGE, ACK or PROBE of the peer. May call deliver, which must not free the channel. */
void dvmd_channel_receive (DvmdChannel *self, DvmdPacket *packet);
/* The way to the peer has changed: what was on it may be lost. */
void dvmd_channel_resync (DvmdChannel *self);
/* Messages that have come are acknowledged now: their sender waits for that. */
void dvmd_channel_acknowledge (DvmdChannel *self);
/* With those that wait. */
guint dvmd_channel_get_n_unacknowledged (DvmdChannel *self);
/* Of what is on its way. */
gsize dvmd_channel_get_in_flight (DvmdChannel *self);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * A packet is handed from neighbour to neighbour in the tree. Its sender and its receiver alone know what the body
 * means: the tree sees its kind as a number.
 */

typedef enum
{
  DVMD_PACKET_MESSAGE = 1,   /* from source to destination; sequence, ack of the channel between the two */
  DVMD_PACKET_ACK,           /* the same without a message; flag GAP: what follows ack is wanted again */
  DVMD_PACKET_PROBE,         /* has sequence arrived? Answered by an ACK */
  DVMD_PACKET_BROADCAST,     /* downwards; sequence, ack: what every member has got by now */
  DVMD_PACKET_BROADCAST_ACK, /* to the parent: everybody below has got what comes up to ack, in this epoch */
  DVMD_PACKET_STABLE,        /* downwards: ack as in BROADCAST, when nothing else is on its way */
  DVMD_PACKET_ATTACH,        /* I am your child, and have got broadcasts up to ack, in this epoch */
  DVMD_PACKET_DETACH,        /* I am your child no more */
  DVMD_PACKET_WELCOME,       /* from the controller to a joiner: the table (body), broadcasts up to ack are in it */
  DVMD_PACKET_LEAVE,         /* to a leaver that has not got its order, and need not get broadcasts up to ack */
  DVMD_PACKET_EXPELLED,      /* your rank is no member any more */
  DVMD_PACKET_GATHER,        /* to the parent: what there is below, in this epoch; body DVMD_GATHER_TYPE */
  DVMD_PACKET_CUT_OFF,       /* to children: no way to the controller for sequence µs, lost ack daemons away */
  DVMD_PACKET_WAY,           /* to children: there is one again */
} DvmdPacketType;

#define DVMD_PACKET_GAP  (1 << 0)
#define DVMD_PACKET_BULK (1 << 1) /* links let all others pass that were not sent before it */

/* Hops after which a packet that is sent in a circle, while tables differ, is given up. */
#define DVMD_PACKET_MAX_HOPS 250

typedef struct
{
  gatomicrefcount ref_count;
  DvmdPacketType type;
  guint8 flags;
  guint8 hops;
  guint16 kind;
  guint32 source;
  guint32 destination;
  guint64 sequence;
  guint64 ack;
  guint64 epoch;
  GVariant *body; /* (nullable) */
} DvmdPacket;

/* body: (nullable), floating is sunk. */
DvmdPacket *dvmd_packet_new (DvmdPacketType type, guint32 source, guint32 destination, guint16 kind, GVariant *body);
DvmdPacket *dvmd_packet_ref (DvmdPacket *self);
void dvmd_packet_unref (DvmdPacket *self);
/* A copy with the same body, of which fields can be changed. */
DvmdPacket *dvmd_packet_copy (DvmdPacket *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdPacket, dvmd_packet_unref)

G_END_DECLS

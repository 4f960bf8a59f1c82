/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-packet.h"

G_BEGIN_DECLS

/*
 * One daemon's part in the broadcasts of the controller. They have numbers and arrive at every member in their order,
 * each once. A daemon passes them on to its children before it acts on them (E64), and keeps those that not every
 * member is known to have, so that whoever comes from a dead parent gets what that one owed it. The controller learns
 * that a broadcast is complete, once for each and in their order (E69). An acknowledgement counts in the epoch in which
 * it was given alone: a repair brings new children, who may have less than their new parents have vouched for.
 */

typedef struct _DvmdBroadcast DvmdBroadcast;

typedef struct
{
  void (*send) (gpointer user_data, guint32 neighbour, DvmdPacket *packet);
  /* May call dvmd_broadcast_set_children() and dvmd_broadcast_post(). */
  void (*deliver) (gpointer user_data, guint64 number, guint16 kind, GVariant *body);
  /* Of the controller alone. */
  void (*completed) (gpointer user_data, guint64 number);
} DvmdBroadcastFuncs;

DvmdBroadcast *dvmd_broadcast_new (guint32 rank, const DvmdBroadcastFuncs *funcs, gpointer user_data);
/* A joiner: what came up to this number it knows otherwise. */
void dvmd_broadcast_start (DvmdBroadcast *self, guint64 delivered);
void dvmd_broadcast_free (DvmdBroadcast *self);

/* The controller. body: (nullable), floating is sunk. Returns its number. */
guint64 dvmd_broadcast_post (DvmdBroadcast *self, guint16 kind, GVariant *body);
/* The children of a new epoch. */
void dvmd_broadcast_set_children (DvmdBroadcast *self, guint64 epoch, const guint32 *children, guint n_children);
/* Where acknowledgements go; DVMD_NO_RANK while there is nobody. */
void dvmd_broadcast_set_uplink (DvmdBroadcast *self, guint32 neighbour);
/* A daemon says that it is our child, and is sent what it has not got. The table need not have it (yet, any more). */
void dvmd_broadcast_attach (DvmdBroadcast *self, guint32 child, guint64 delivered);
void dvmd_broadcast_detach (DvmdBroadcast *self, guint32 child);
gboolean dvmd_broadcast_is_attached (DvmdBroadcast *self, guint32 child);
/* BROADCAST, BROADCAST_ACK or STABLE of a neighbour. */
void dvmd_broadcast_receive (DvmdBroadcast *self, guint32 neighbour, DvmdPacket *packet);
/* To those that are attached. */
void dvmd_broadcast_pass_down (DvmdBroadcast *self, DvmdPacket *packet);
guint dvmd_broadcast_get_n_attached (DvmdBroadcast *self);
guint64 dvmd_broadcast_get_delivered (DvmdBroadcast *self);
/* Those after this one are kept, as far as they have come. */
guint64 dvmd_broadcast_get_stable (DvmdBroadcast *self);

G_END_DECLS

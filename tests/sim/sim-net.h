/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-clock.h"
#include "dvmd-packet.h"

G_BEGIN_DECLS

/*
 * A network in memory, with time and luck from a seed: links between ranks, delays that differ from packet to packet
 * but keep their order, except that bulk may be overtaken, connections that are refused by the dead, links that are
 * cut.
 */

typedef struct _SimNet SimNet;

#define SIM_NET_SILENCE (1 * G_TIME_SPAN_SECOND)
#define SIM_NET_CONNECT (5 * G_TIME_SPAN_SECOND)

typedef struct
{
  void (*link_up) (gpointer world, guint32 rank, guint32 neighbour);
  void (*link_down) (gpointer world, guint32 rank, guint32 neighbour);
  void (*connect_failed) (gpointer world, guint32 rank, guint32 neighbour);
  void (*receive) (gpointer world, guint32 rank, guint32 neighbour, DvmdPacket *packet);
  void (*act) (gpointer world, gpointer data);
} SimNetFuncs;

/* rand, clock (a manual one): borrowed. max_delay: µs. */
SimNet *sim_net_new (GRand *rand, DvmdClock *clock, gint64 max_delay, const SimNetFuncs *funcs, gpointer world);
void sim_net_free (SimNet *self);

void sim_net_add (SimNet *self, guint32 rank);
/* It is dead: its links break, nothing reaches it. */
void sim_net_remove (SimNet *self, guint32 rank);
gboolean sim_net_is_alive (SimNet *self, guint32 rank);
void sim_net_connect (SimNet *self, guint32 from, guint32 to);
void sim_net_disconnect (SimNet *self, guint32 from, guint32 to);
/* Both ends live on and notice; what was under way is lost. FALSE: there is no such link. */
gboolean sim_net_cut (SimNet *self, guint32 one, guint32 other);
/*
 * Nothing gets from one to the other any more, and nobody says so: each end gives their link up after SIM_NET_SILENCE
 * to 5/4 of it, and connections end after SIM_NET_CONNECT.
 */
void sim_net_part (SimNet *self, guint32 one, guint32 other);
void sim_net_mend (SimNet *self, guint32 one, guint32 other);
void sim_net_send (SimNet *self, guint32 from, guint32 to, DvmdPacket *packet);
/* Calls act after delay µs. */
void sim_net_add_action (SimNet *self, gint64 delay, gpointer data);

/* Lets pass up to time µs; FALSE: nothing was under way. */
gboolean sim_net_run (SimNet *self, gint64 time);
guint64 sim_net_get_n_packets (SimNet *self);

G_END_DECLS

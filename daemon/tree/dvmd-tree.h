/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-clock.h"
#include "dvmd-packet.h"
#include "dvmd-routes.h"

G_BEGIN_DECLS

/*
 * One daemon's place in the tree of the DVM: which neighbours it has links to, where packets go, and what comes of
 * them. The controller is rank 0 and the only one that changes the table; its changes are broadcasts, so that all
 * daemons pass the same epochs in the same order, and the broadcast of a change is complete when everybody in the new
 * table has it and is linked to its new parent: then a joiner is wired (E5).
 *
 * A daemon that loses its parent tries it once more, then the parent's parent, and so on up to the controller. When
 * that takes long it tells those below it, and all of them try the controller as well: what it is to be cut off, they
 * are together. Whoever misses a child for too long tells the controller, which decides. A link that ends has no other
 * meaning here.
 *
 * Links are told by those who have them; one link to each neighbour. While a link is up packets arrive in their order.
 */

typedef struct _DvmdTree DvmdTree;

/* Kinds of messages up to this belong to the tree itself. */
#define DVMD_TREE_KIND_LAST 15

typedef enum
{
  DVMD_LEFT_LOST,    /* gone, or as good as gone: nobody speaks to it any more */
  DVMD_LEFT_ORDERED, /* ordered to leave: has no place, and keeps its link until it has gone (D12) */
} DvmdLeftHow;

/* No function may call back into the tree, except where it says so. */
typedef struct
{
  void (*send) (gpointer user_data, guint32 neighbour, DvmdPacket *packet);
  /* A link to a member is wanted: dvmd_tree_link_up() or dvmd_tree_connect_failed() answers. */
  void (*connect) (gpointer user_data, guint32 rank);
  /* After what was sent. The tree has forgotten the link already. */
  void (*disconnect) (gpointer user_data, guint32 rank);

  /* These may call what posts. */
  void (*deliver) (gpointer user_data, guint32 source, guint16 kind, GVariant *body);
  void (*deliver_broadcast) (gpointer user_data, guint64 number, guint16 kind, GVariant *body);
  /* (nullable): the controller's, once for each broadcast and in their order; may come before post has returned */
  void (*completed) (gpointer user_data, guint64 number);
  /* The table of a new epoch is in force. */
  void (*routes_changed) (gpointer user_data, DvmdRoutes *old_routes, DvmdRoutes *routes);
  /* (nullable): the controller's: reporter has lost its link to rank, or could not make one */
  void (*lost) (gpointer user_data, guint32 rank, guint32 reporter);
  /*
   * There is no way to the controller since then (µs, monotonic), as far as is known here. It is looked for until
   * way_found; may come again with an earlier time.
   */
  void (*cut_off) (gpointer user_data, gint64 since);
  void (*way_found) (gpointer user_data);
  /* This daemon is ordered to leave: it ends its work, sees those below it go, and goes. Once. */
  void (*leave) (gpointer user_data);
  /* The DVM goes on without this rank. */
  void (*expelled) (gpointer user_data);
  GVariant *(*merge) (gpointer user_data, const char *key, GPtrArray *parts);
  /* (nullable): the controller's */
  void (*gathered) (gpointer user_data, const char *key, GVariant *result);
} DvmdTreeFuncs;

/* radix: of the controller; others learn the table from it. */
DvmdTree *dvmd_tree_new (guint32 rank, guint radix, DvmdClock *clock, const DvmdTreeFuncs *funcs, gpointer user_data);
/*
 * How long (µs) a daemon may take to come to a new parent before that reports it as lost. Longer than it takes to
 * notice a neighbour that stands still: whoever is below such a one hears of its new parent only after that.
 */
void dvmd_tree_set_attach_limit (DvmdTree *self, gint64 limit);
/*
 * How long (µs) a daemon that has lost its uplink climbs by itself, before those below it are told and the controller
 * is asked directly.
 */
void dvmd_tree_set_timeout (DvmdTree *self, gint64 timeout);
void dvmd_tree_free (DvmdTree *self);

/* Bytes of messages that are on their way to a peer at once: for tests, DVMD_CHANNEL_WINDOW without it. */
void dvmd_tree_set_window (DvmdTree *self, gsize bytes);

/*
 * The type says what the body of a packet looks like; "()": there is none. NULL: no packet of the tree's own. Messages
 * and broadcasts of kinds above DVMD_TREE_KIND_LAST are known to those who post them.
 */
const GVariantType *dvmd_tree_body_type (DvmdPacketType type, guint16 kind);

/* ---- links ---- */

/* A link that was up before is a new one: what was on the old one is lost. */
void dvmd_tree_link_up (DvmdTree *self, guint32 neighbour);
void dvmd_tree_link_down (DvmdTree *self, guint32 neighbour);
void dvmd_tree_connect_failed (DvmdTree *self, guint32 rank);
void dvmd_tree_receive (DvmdTree *self, guint32 neighbour, DvmdPacket *packet);

/* ---- what is sent; kind > DVMD_TREE_KIND_LAST ---- */

/*
 * Arrives once and in order, unless one of the two ends first. bulk: what goes to others need not wait for it; links
 * see it by DVMD_PACKET_BULK in the flags of packets.
 */
void dvmd_tree_post (DvmdTree *self, guint32 destination, guint16 kind, GVariant *body, gboolean bulk);
/* The messages of that daemon are acknowledged now; within a call of deliver, the delivered one too. */
void dvmd_tree_acknowledge (DvmdTree *self, guint32 source);
/* The controller: to every member, itself too. Returns the number. */
guint64 dvmd_tree_broadcast (DvmdTree *self, guint16 kind, GVariant *body);
void dvmd_tree_contribute (DvmdTree *self, const char *key, const guint32 *participants, guint n_participants,
                           GVariant *part);
/*
 * The broadcast that was delivered last (the controller: posted last) tells its result, or that there will be none.
 * Nobody contributes to it after that broadcast.
 */
void dvmd_tree_close_gather (DvmdTree *self, const char *key);
/* All whose keys begin so. */
void dvmd_tree_close_gathers (DvmdTree *self, const char *prefix);

/* ---- membership, the controller alone ---- */

/*
 * One new epoch. Joiners must have a link to the controller. Returns the number of its broadcast, 0: nothing changes.
 */
guint64 dvmd_tree_change (DvmdTree *self, const guint32 *joined, guint n_joined, const guint32 *left, guint n_left,
                          DvmdLeftHow how);
/* Those that were ordered to leave have gone: nobody keeps anything for them. Returns the number of its broadcast. */
guint64 dvmd_tree_forget (DvmdTree *self, const guint32 *ranks, guint n);

/* Was ordered to leave, and is not known to have gone. */
gboolean dvmd_tree_is_leaving (DvmdTree *self, guint32 rank);
/* Has gone, as far as that is remembered. */
gboolean dvmd_tree_has_departed (DvmdTree *self, guint32 rank);

DvmdRoutes *dvmd_tree_get_routes (DvmdTree *self);
guint64 dvmd_tree_get_delivered (DvmdTree *self);
/* DVMD_NO_RANK: none */
guint32 dvmd_tree_get_uplink (DvmdTree *self);
/* Linked to the parent that the table names; of the controller always. */
gboolean dvmd_tree_is_settled (DvmdTree *self);
/* Those that say that they are. */
guint dvmd_tree_get_n_children (DvmdTree *self);
/* Messages to peer, DVMD_NO_RANK: to all, that are kept because they were not acknowledged. */
guint dvmd_tree_get_n_unacknowledged (DvmdTree *self, guint32 peer);
/* Gathers that are not closed. */
guint dvmd_tree_get_n_gathers (DvmdTree *self);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of the tree, for its own files.
 */

#pragma once

#include "dvmd-broadcast.h"
#include "dvmd-channel.h"
#include "dvmd-gather.h"
#include "dvmd-leavers.h"
#include "dvmd-tree.h"

G_BEGIN_DECLS

/* Kinds of the tree itself. */
enum
{
  KIND_ROUTES = 1, /* broadcast: (epoch, joined, left, how) */
  KIND_LOST = 2,   /* to the controller: (rank) */
  KIND_GONE = 3,   /* broadcast: ([rank]) */
};

#define ROUTES_CHANGE_TYPE "(tauauu)"
#define LOST_TYPE          "(u)"
#define GONE_TYPE          "(au)"
/* (table, ranks that were ordered to leave and are not known to have gone) */
#define WELCOME_TYPE "(" DVMD_ROUTES_TYPE "au)"

struct _DvmdTree
{
  guint32 rank;
  DvmdClock *clock;
  const DvmdTreeFuncs *funcs;
  gpointer user_data;

  DvmdRoutes *routes;
  gboolean member; /* the table is known */
  DvmdBroadcast *broadcast;
  DvmdGather *gather;
  GHashTable *channels; /* rank -> DvmdChannel */
  gsize window;         /* of channels; 0: theirs */

  GHashTable *links;      /* set of neighbours */
  DvmdLeavers *leavers;   /* late packets of those that have departed do not open a channel again */
  GHashTable *learned;    /* rank -> neighbour from which its packets come, where the table says something else */
  gboolean ordered;       /* to leave */
  guint32 uplink;         /* the neighbour whose child this daemon says that it is */
  guint32 attached_to;    /* the uplink, when it has been told */
  guint32 wanted;         /* who shall become the uplink when there is a link to it */
  GHashTable *connecting; /* set of ranks to which links are being made */
  guint retry_timer;
  GHashTable *welcomes; /* the controller: rank of joiner -> DvmdPacket, until it is wired */
  GHashTable *missing;  /* rank of child -> gint64 *, when it is given up */
  guint missing_timer;
  gint64 attach_limit;
  GHashTable *moved; /* set of missing children that have said that they go to another parent */

  gint64 lost_since; /* monotonic: when the way to the controller was lost; -1: there is one */
  guint lost_at;     /* how many daemons above */
  gint64 had_way;    /* when there was one for sure */
  gint64 timeout;
  guint way_timer;
  gboolean told_below;
  guint32 avoided; /* a parent that had no way, until then */
  gint64 avoided_until;
};

/* dvmd-tree-links.c */
void dvmd_tree_expect_children (DvmdTree *self);
void dvmd_tree_set_retry (DvmdTree *self);
void dvmd_tree_attach (DvmdTree *self, guint32 neighbour);
void dvmd_tree_seek_parent (DvmdTree *self);
/* By a link of this daemon's own, whatever uplink it has. */
void dvmd_tree_seek_controller (DvmdTree *self);
/* said: it has told so itself, and is on its way to another parent. */
void dvmd_tree_detach_child (DvmdTree *self, guint32 rank, gboolean said);
void dvmd_tree_child_came (DvmdTree *self, guint32 rank);
void dvmd_tree_forget_link (DvmdTree *self, guint32 neighbour);

/* dvmd-tree-way.c */
void dvmd_tree_lose_way (DvmdTree *self);
void dvmd_tree_find_way (DvmdTree *self);
/* The controller could not be reached, this time. */
void dvmd_tree_way_attempt_failed (DvmdTree *self);
void dvmd_tree_receive_cut_off (DvmdTree *self, guint32 neighbour, DvmdPacket *packet);
void dvmd_tree_receive_way (DvmdTree *self, guint32 neighbour);
gboolean dvmd_tree_avoids (DvmdTree *self, guint32 rank);
/* A child has come: how it stands. */
void dvmd_tree_tell_way (DvmdTree *self, guint32 neighbour);

/* dvmd-tree-members.c */
void dvmd_tree_change_routes (DvmdTree *self, guint64 number, GVariant *body);
/* The broadcast of this number is complete. */
void dvmd_tree_drop_welcomes (DvmdTree *self, guint64 number);
void dvmd_tree_bury_gone (DvmdTree *self, GVariant *body);
void dvmd_tree_receive_attach (DvmdTree *self, guint32 neighbour, DvmdPacket *packet);
void dvmd_tree_receive_leave (DvmdTree *self, DvmdPacket *packet);
void dvmd_tree_receive_welcome (DvmdTree *self, DvmdPacket *packet);

/* dvmd-tree-messages.c */
gboolean dvmd_tree_has_link (DvmdTree *self, guint32 rank);
void dvmd_tree_send_to (DvmdTree *self, guint32 neighbour, DvmdPacket *packet);
void dvmd_tree_send_new (DvmdTree *self, guint32 neighbour, DvmdPacketType type, guint64 ack, GVariant *body);
void dvmd_tree_learn (DvmdTree *self, guint32 neighbour, guint32 source);
/* The link to this neighbour is gone, and leads nowhere. */
void dvmd_tree_forget_way_by (DvmdTree *self, guint32 neighbour);
void dvmd_tree_forward (DvmdTree *self, guint32 from, DvmdPacket *packet);
DvmdChannel *dvmd_tree_find_channel (DvmdTree *self, guint32 peer);
void dvmd_tree_resync_channels (DvmdTree *self);
void dvmd_tree_report_lost (DvmdTree *self, guint32 rank);

G_END_DECLS

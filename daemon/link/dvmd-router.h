/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-fence.h"
#include "dvmd-link.h"
#include "dvmd-listener.h"
#include "dvmd-tree.h"

G_BEGIN_DECLS

/*
 * One daemon's place among the others: joins the tree, which decides where a packet goes, with the wires, which bring
 * it there. The controller has one, and each agent that is a process of its own.
 *
 * Whoever speaks to another daemon takes a link to it (dvmd_router_get_link()): its messages arrive once and in order,
 * whatever becomes of the daemons between the two.
 */

#define DVMD_TYPE_ROUTER (dvmd_router_get_type ())
G_DECLARE_FINAL_TYPE (DvmdRouter, dvmd_router, DVMD, ROUTER, GObject)

/* All are nullable, and come from the main loop or from within calls that post. */
typedef struct
{
  /* The controller: a joiner has a link. */
  void (*joined) (gpointer user_data, guint32 rank, const char *name);
  /* The controller: this rank cannot be reached any more, says reporter; what has become of its link.
   * dvmd_router_remove() later. */
  void (*lost) (gpointer user_data, guint32 rank, guint32 reporter, const char *reason);
  /* The controller: every member has the broadcast. */
  void (*completed) (gpointer user_data, guint64 number);
  /* The controller: what all agents of a job contribute to a fence. */
  void (*gathered) (gpointer user_data, const char *key, GVariant *whole);
  void (*routes_changed) (gpointer user_data, DvmdRoutes *routes);
  /* There is no way to the controller since then (monotonic, µs); it is looked for until way_found. */
  void (*cut_off) (gpointer user_data, gint64 since);
  void (*way_found) (gpointer user_data);
  /* The DVM goes on without this daemon. */
  void (*expelled) (gpointer user_data);
  /* This daemon is ordered to leave. Once; from now on `moved` tells of what it waits for. */
  void (*leave) (gpointer user_data);
  /* Something may have changed of dvmd_router_get_departure(). */
  void (*moved) (gpointer user_data);
} DvmdRouterFuncs;

typedef struct
{
  guint32 rank;
  const char *name; /* of the node */
  guint radix;      /* of the controller */
  DvmdClock *clock;
  DvmdIdentity *identity;
  gint64 heartbeat_timeout; /* µs; 0: the usual */
  gint64 controller_grace;  /* µs, in which a controller that cannot be reached is left; 0: the usual */
} DvmdRouterOptions;

typedef struct
{
  guint64 links_opened;
  guint64 links_lost;
  guint64 broadcasts;
  guint64 broadcast_bytes;
} DvmdRouterStatistics;

/* DvmdBodyTypeFunc: what daemons send each other. */
const GVariantType *dvmd_router_find_body_type (DvmdPacketType type, guint16 kind);

/* context: (nullable) */
DvmdRouter *dvmd_router_new (const DvmdRouterOptions *options, const DvmdRouterFuncs *funcs, gpointer user_data,
                             GMainContext *context);
/* Closes the links, at once. None of the functions is called any more. */
void dvmd_router_stop (DvmdRouter *self);

/* How wires of this daemon are to be made. */
void dvmd_router_get_wire_options (DvmdRouter *self, DvmdWireOptions *options);
/* Members that come are taken, and joiners where the listener takes them. Reffed. */
void dvmd_router_set_listener (DvmdRouter *self, DvmdListener *listener);
/* DvmdKnowsFunc for the listener: whoever has left does not get in again. */
gboolean dvmd_router_knows (guint32 rank, gpointer router);
/* A wire that has not been started: of a joiner to the controller. */
void dvmd_router_take_wire (DvmdRouter *self, DvmdWire *wire);

/* (transfer none): the link to a daemon, other than this one */
DvmdLink *dvmd_router_get_link (DvmdRouter *self, guint32 rank);
/* The controller: to every member. body: floating is sunk. Returns its number. */
guint64 dvmd_router_broadcast (DvmdRouter *self, DvmdMessageKind kind, GVariant *body);

/* How fences travel; its user data is the router. */
const DvmdFenceTree *dvmd_router_get_fence_tree (void);

/* Where a daemon listens, as texts with blanks between them. */
void dvmd_router_set_addresses (DvmdRouter *self, guint32 rank, const char *addresses);
/* (nullable): those of a daemon, as far as they are known */
const char *const *dvmd_router_get_addresses (DvmdRouter *self, guint32 rank);
/* The controller: these have joined, and are members from now on. Returns the number of the broadcast of the change:
 * when that is complete they are connected. */
guint64 dvmd_router_add (DvmdRouter *self, const guint32 *ranks, guint n);
/* The controller: these are no members any more. One repair for all of them. Not from within `lost`. */
void dvmd_router_remove (DvmdRouter *self, const guint32 *ranks, guint n);
/* The controller: these members are ordered to leave, and have no places any more. One repair for all of them; their
 * parents, as they were, go to parents. Returns how many links the others have to change. */
guint dvmd_router_order (DvmdRouter *self, const guint32 *ranks, guint n, guint32 *parents);
/* The controller: it has gone, or is a joiner that is not wanted. Nothing is sent to it any more. */
void dvmd_router_drop (DvmdRouter *self, guint32 rank);
/* The controller: the members keep nothing for these any more, which were dropped. */
void dvmd_router_forget (DvmdRouter *self, const guint32 *ranks, guint n);
/* Acknowledges now all messages that have come from that daemon. */
void dvmd_router_acknowledge (DvmdRouter *self, guint32 rank);

/* The state by which a daemon that is to leave decides whether it may go. */
typedef struct
{
  guint n_below;
  guint32 uplink;         /* DVMD_NO_RANK: none */
  guint n_unacknowledged; /* messages to the controller */
} DvmdRouterDeparture;
void dvmd_router_get_departure (DvmdRouter *self, DvmdRouterDeparture *departure);
/* An order that came as a message, before this daemon had a place. */
void dvmd_router_begin_leaving (DvmdRouter *self);

void dvmd_router_get_statistics (DvmdRouter *self, DvmdRouterStatistics *statistics);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-packet.h"
#include "dvmd-routes.h"

G_BEGIN_DECLS

/*
 * One daemon's part in gathers: contributions of some members travel up and are merged on the way, and the controller
 * gets one whole. When the table changes all that were merged in the old epoch is dropped and every participant gives
 * its contribution again (D12), so that nothing counts twice and nothing is lost with a relay. Members that leave are
 * not waited for.
 *
 * A broadcast tells the result, or that there will be none, and everybody closes the gather on it. Contributions may
 * still be on their way then: until that broadcast is complete they are known for what they are.
 */

typedef struct _DvmdGather DvmdGather;

/* (key, participants, contribution) */
#define DVMD_GATHER_TYPE "(sauv)"

typedef struct
{
  void (*send) (gpointer user_data, guint32 neighbour, DvmdPacket *packet);
  /* parts: of GVariant, at least one. (transfer full): a floating value is sunk */
  GVariant *(*merge) (gpointer user_data, const char *key, GPtrArray *parts);
  /* Of the controller alone, once for each key. */
  void (*gathered) (gpointer user_data, const char *key, GVariant *result);
} DvmdGatherFuncs;

DvmdGather *dvmd_gather_new (guint32 rank, const DvmdGatherFuncs *funcs, gpointer user_data);
void dvmd_gather_free (DvmdGather *self);

/*
 * Key is used once. The same participants are named by all of them. part: floating is sunk; kept until the gather is
 * closed.
 */
void dvmd_gather_contribute (DvmdGather *self, const char *key, const guint32 *participants, guint n_participants,
                             GVariant *part);
/* Nothing of it is kept any more. number: of the broadcast. */
void dvmd_gather_close (DvmdGather *self, const char *key, guint64 number);
/* All whose keys begin so. */
void dvmd_gather_close_all (DvmdGather *self, const char *prefix, guint64 number);
/* Broadcasts up to this number are complete. */
void dvmd_gather_set_stable (DvmdGather *self, guint64 stable);
void dvmd_gather_receive (DvmdGather *self, guint32 neighbour, DvmdPacket *packet);
/* A new epoch. */
void dvmd_gather_set_routes (DvmdGather *self, DvmdRoutes *routes);
/* Where parts go; DVMD_NO_RANK while there is nobody. What was sent to another one in this epoch is sent again. */
void dvmd_gather_set_uplink (DvmdGather *self, guint32 neighbour);
guint dvmd_gather_get_n_open (DvmdGather *self);

G_END_DECLS

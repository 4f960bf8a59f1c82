/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-candidates.h"

G_BEGIN_DECLS

/*
 * The nodes for which jobs further ahead wait, in one look at the queue: the first of them has each node. A job behind
 * it does not get slots there, or (backfill) only if its time limit ends it before the slots come together that the
 * first one needs. That moment comes from the time limits of the jobs that run: without these nobody knows it.
 */
typedef struct _DvmdReservations DvmdReservations;

/* running: (nullable) (element-type DvmdJob): a set of those that have slots; NULL: without backfill */
DvmdReservations *dvmd_reservations_new (GHashTable *running, gint64 now);
void dvmd_reservations_free (DvmdReservations *self);

/* The job waits for need slots on nodes that no other one ahead has. */
void dvmd_reservations_add (DvmdReservations *self, DvmdCandidates *candidates, guint64 need);
/* The job must not have the slots that it could get: one ahead of it waits for a node of it. */
gboolean dvmd_reservations_stop (DvmdReservations *self, DvmdJob *job, DvmdCandidates *candidates);
/* No job gets anything behind those that were added, where there are so many nodes. */
gboolean dvmd_reservations_are_full (DvmdReservations *self, guint n_nodes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdReservations, dvmd_reservations_free)

G_END_DECLS

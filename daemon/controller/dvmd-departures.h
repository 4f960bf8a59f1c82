/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-clock.h"

G_BEGIN_DECLS

/*
 * Agents that have been ordered to leave, until they are gone: the controller's half of a departure (spec: D1). Pure.
 *
 * An agent has departed when it has said LEFT and its link has ended after that, or when the launcher says that it has
 * ended. An order that was received, LEFT alone, a link that has ended alone, and time that has passed are no
 * departure: whoever is missing one of the two when its grace is over is ended by the launcher, whose answer counts.
 * The grace of an agent runs from the moment when nobody who leaves is below it any more.
 */

typedef struct _DvmdDepartures DvmdDepartures;

typedef enum
{
  DVMD_DEPARTED_LEFT,  /* said so, and its link has ended */
  DVMD_DEPARTED_ENDED, /* the launcher says so */
} DvmdDepartedHow;

/* Both may call back; nobody may free the departures there. */
typedef struct
{
  /* The launcher is to end these, and what runs below them: dvmd_departures_ended() for each when that is so. Once. */
  void (*terminate) (gpointer user_data, const guint32 *ranks, guint n);
  /* Once for each that was ordered or ended. */
  void (*departed) (gpointer user_data, guint32 rank, DvmdDepartedHow how);
} DvmdDepartureFuncs;

/* grace: µs. funcs, user_data: borrowed. */
DvmdDepartures *dvmd_departures_new (DvmdClock *clock, gint64 grace, const DvmdDepartureFuncs *funcs,
                                     gpointer user_data);
void dvmd_departures_free (DvmdDepartures *self);

/*
 * These are told to leave now. parents: of each, as it was before the order; 0: the controller. Whoever is ordered
 * already is passed over.
 */
void dvmd_departures_order (DvmdDepartures *self, const guint32 *ranks, const guint32 *parents, guint n);
/* These cannot be told, or shall not be waited for: the launcher ends them at once. Also those that are ordered. */
void dvmd_departures_end (DvmdDepartures *self, const guint32 *ranks, guint n);

/* Reports of ranks that were not ordered, or have departed, are passed over: FALSE. */

/* It has said LEFT. uplink: over the link to whom; said again when it has had to find another one. */
gboolean dvmd_departures_left (DvmdDepartures *self, guint32 rank, guint32 uplink);
/* The link of reporter to it has ended. */
gboolean dvmd_departures_link_lost (DvmdDepartures *self, guint32 rank, guint32 reporter);
/* The launcher: it has ended, or nobody can reach it. */
gboolean dvmd_departures_ended (DvmdDepartures *self, guint32 rank);

/* Ordered, and not departed. */
gboolean dvmd_departures_contains (DvmdDepartures *self, guint32 rank);
guint dvmd_departures_get_n (DvmdDepartures *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdDepartures, dvmd_departures_free)

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * The agent's half of a departure (spec: D1): ordered to leave, it ends what runs on its node, serves those below it
 * until they have gone, says LEFT, and exits with its uplink still open when the controller has acknowledged that: so
 * what it had to tell before has arrived too. Without a way to the controller it does the same and says nothing. Pure,
 * and without a timer: the controller's launcher ends whoever takes too long.
 */

typedef struct _DvmdLeaving DvmdLeaving;

/* May call back; nobody may free the leaving there. */
typedef struct
{
  /* End the processes and flush their output: dvmd_leaving_work_ended(). Once. */
  void (*end_work) (gpointer user_data);
  /* Tell the controller. Again after the uplink has changed. */
  void (*say_left) (gpointer user_data, guint32 uplink);
  /* Once, and the last. */
  void (*exit) (gpointer user_data);
} DvmdLeavingFuncs;

/* funcs, user_data: borrowed. */
DvmdLeaving *dvmd_leaving_new (const DvmdLeavingFuncs *funcs, gpointer user_data);
void dvmd_leaving_free (DvmdLeaving *self);

/* Whatever is told before the order counts after it. */
void dvmd_leaving_order (DvmdLeaving *self);
void dvmd_leaving_work_ended (DvmdLeaving *self);
/* Daemons that are attached to this one; none before it is told otherwise. */
void dvmd_leaving_set_below (DvmdLeaving *self, guint n);
/* The neighbour that its packets go to; G_MAXUINT32: none now */
void dvmd_leaving_set_uplink (DvmdLeaving *self, guint32 uplink);
/* Messages to the controller that it has not acknowledged. */
void dvmd_leaving_set_unacknowledged (DvmdLeaving *self, guint n);
/* The controller cannot be reached. */
void dvmd_leaving_cut_off (DvmdLeaving *self);

gboolean dvmd_leaving_is_ordered (DvmdLeaving *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdLeaving, dvmd_leaving_free)

G_END_DECLS

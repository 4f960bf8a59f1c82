/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-campaign.h"

G_BEGIN_DECLS

/*
 * The launch fence: two gates that campaigns close while the DVM changes its size, and the jobs that are parked there.
 * A grow has a ticket for the map gate, a shrink one for both; a gate is open when nobody has a ticket for it. Pure
 * book-keeping: what follows from a gate that opens is the core's.
 */

typedef enum
{
  DVMD_GATE_NONE,
  DVMD_GATE_MAP,    /* before a job is placed */
  DVMD_GATE_LAUNCH, /* before its launch message is sent */
  DVMD_N_GATES
} DvmdGate;

typedef struct _DvmdLaunchFence DvmdLaunchFence;

DvmdLaunchFence *dvmd_launch_fence_new (void);
void dvmd_launch_fence_free (DvmdLaunchFence *self);

/* ---- tickets ---- */
void dvmd_launch_fence_close (DvmdLaunchFence *self, DvmdGate gate, DvmdCampaign *campaign);
/* The ticket comes back. */
void dvmd_launch_fence_open (DvmdLaunchFence *self, DvmdGate gate, DvmdCampaign *campaign);
gboolean dvmd_launch_fence_is_closed (DvmdLaunchFence *self, DvmdGate gate);
/* Since then it has the ticket, in the count of dvmd_launch_fence_park(). */
guint64 dvmd_launch_fence_next_number (DvmdLaunchFence *self);
/* (transfer none) (array zero-terminated=1): object paths of the campaigns that keep it closed, ascending */
const char *const *dvmd_launch_fence_get_paths (DvmdLaunchFence *self, DvmdGate gate);

/* ---- jobs ---- */
/* One that is parked again before it has passed keeps its time and its number. */
void dvmd_launch_fence_park (DvmdLaunchFence *self, DvmdJob *job, DvmdGate gate, gint64 now);
/* It has gone through the gate that it was parked at, or has ended. FALSE: it was at none. gate (out): where it still
 * was, DVMD_GATE_NONE: on its way */
gboolean dvmd_launch_fence_pass (DvmdLaunchFence *self, DvmdJob *job, DvmdGate *gate);
/* Of its parking, among parkings and tickets */
guint64 dvmd_launch_fence_get_number (DvmdJob *job);
/* (element-type DvmdJob): those that are parked at the gate, ascending by id; they count as on their way then. */
GPtrArray *dvmd_launch_fence_release (DvmdLaunchFence *self, DvmdGate gate);
/* (element-type DvmdJob): those that are parked at the gate */
GPtrArray *dvmd_launch_fence_list (DvmdLaunchFence *self, DvmdGate gate);
guint dvmd_launch_fence_count (DvmdLaunchFence *self);
/* Somebody has been there since before that time. */
gboolean dvmd_launch_fence_has_since (DvmdLaunchFence *self, gint64 time);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmdLaunchFence, dvmd_launch_fence_free)

G_END_DECLS

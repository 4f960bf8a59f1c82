/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "dvmd-bus-server.h"
#include "dvmd-controller.h"

G_BEGIN_DECLS

/*
 * The end of a DVM that a message bus has started: when it has been without jobs, campaigns and allocations for so
 * long, it gives its name back, serves what was called before that, and shuts down, unless that brought a job.
 */
typedef struct _DvmdIdle DvmdIdle;

/* limit: µs; 0: it stays. Both live longer. */
DvmdIdle *dvmd_idle_new (DvmdController *controller, DvmdBusServer *bus, gint64 limit);
void dvmd_idle_set_limit (DvmdIdle *self, gint64 limit);
void dvmd_idle_free (DvmdIdle *self);

/* TRUE: the DVM gives its name back at this moment, and may still stay. */
gboolean dvmd_idle_is_leaving (DvmdIdle *self);
/* If it stays, then only until its jobs have ended. */
void dvmd_idle_hurry (DvmdIdle *self);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include "slurm-size.h"
#include "slurm-view.h"

G_BEGIN_DECLS

/*
 * The life of a job: Slurm is asked now and then, more often when the end is near, and when somebody wants to know. The
 * allocator pushes how long the job lasts, and that it has ended.
 */
typedef struct _SlurmWatch SlurmWatch;

/* view: (nullable): NULL: Slurm does not say. It is borrowed. */
typedef void (*SlurmSeen) (const SlurmView *view, gpointer user_data);

/* allocator: unowned, until the release. size: is told of the nodes of the job */
SlurmWatch *slurm_watch_new (DvmdAllocator *allocator, const char *id, SlurmSize *size);
void slurm_watch_release (SlurmWatch *self);

/* seen is called later, once, with what Slurm says from now on. */
void slurm_watch_ask (SlurmWatch *self, SlurmSeen seen, gpointer user_data);

G_END_DECLS

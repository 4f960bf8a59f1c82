/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <glib.h>

G_BEGIN_DECLS

/*
 * The rules of the queue: who goes first, when a job that waits can begin, who may begin before it, and what a job that
 * others depend on means for them. Functions of their arguments alone: no job, no node and no clock.
 */

/* The place of a job among those that wait. */
typedef struct
{
  gboolean anew; /* it lost its nodes to a campaign: it goes before all others (D4) */
  int priority;
  guint id; /* in the order of submission */
} DvmdQueuePlace;

/* Below 0: a goes first. Two jobs are never equal. */
int dvmd_queue_compare (const DvmdQueuePlace *a, const DvmdQueuePlace *b);

/* Slots that come free, at the latest then. */
typedef struct
{
  gint64 end; /* G_MAXINT64: nobody knows when */
  guint64 slots;
} DvmdQueueEnd;

/* When so many slots are free at the latest; G_MAXINT64: nobody knows. The ends are sorted. */
gint64 dvmd_queue_find_start (guint64 need, guint64 n_free, gint64 now, DvmdQueueEnd *ends, guint n_ends);
/* A job that ends within limit (0: nobody knows) does not hold up one that begins at start. */
gboolean dvmd_queue_may_backfill (gint64 now, gint64 limit, gint64 start);

typedef enum
{
  DVMD_AFTER_START, /* it has started, or has ended without that */
  DVMD_AFTER_OK,    /* it has ended well */
  DVMD_AFTER_ANY,   /* it has ended */
  DVMD_AFTER_N_KINDS
} DvmdAfter;

typedef enum
{
  DVMD_DEPENDENCY_OPEN,
  DVMD_DEPENDENCY_FULFILLED,
  DVMD_DEPENDENCY_BROKEN, /* it will never be fulfilled */
} DvmdDependencyState;

DvmdDependencyState dvmd_queue_judge_dependency (DvmdAfter kind, gboolean started, gboolean ended, gboolean failed);

G_END_DECLS

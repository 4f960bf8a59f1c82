/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The rules of the queue: order, backfill and dependencies, as pure functions.
 */

#include "config.h"

#include "dvmd-queue.h"

#include <stdlib.h>

int
dvmd_queue_compare (const DvmdQueuePlace *a, const DvmdQueuePlace *b)
{
  if (a->anew != b->anew)
    return a->anew ? -1 : 1;
  if (a->priority != b->priority)
    return a->priority > b->priority ? -1 : 1;
  return a->id < b->id ? -1 : a->id > b->id;
}

static int
compare_ends (const void *a, const void *b)
{
  gint64 left = ((const DvmdQueueEnd *)a)->end;
  gint64 right = ((const DvmdQueueEnd *)b)->end;

  return left < right ? -1 : left > right;
}

gint64
dvmd_queue_find_start (guint64 need, guint64 n_free, gint64 now, DvmdQueueEnd *ends, guint n_ends)
{
  if (n_free >= need)
    return now;
  if (n_ends > 0)
    qsort (ends, n_ends, sizeof *ends, compare_ends);
  for (guint i = 0; i < n_ends && ends[i].end != G_MAXINT64; i++)
    {
      n_free += ends[i].slots;
      if (n_free >= need)
        return MAX (ends[i].end, now);
    }
  return G_MAXINT64;
}

gboolean
dvmd_queue_may_backfill (gint64 now, gint64 limit, gint64 start)
{
  return limit > 0 && start != G_MAXINT64 && limit <= start - now;
}

DvmdDependencyState
dvmd_queue_judge_dependency (DvmdAfter kind, gboolean started, gboolean ended, gboolean failed)
{
  if (kind == DVMD_AFTER_START && started)
    return DVMD_DEPENDENCY_FULFILLED;
  if (!ended)
    return DVMD_DEPENDENCY_OPEN;
  return kind == DVMD_AFTER_OK && failed ? DVMD_DEPENDENCY_BROKEN : DVMD_DEPENDENCY_FULFILLED;
}

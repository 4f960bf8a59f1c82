/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes for which jobs further ahead wait, and who may have them until then.
 */

#include "config.h"

#include "dvmd-reservations.h"

#include "dvm-job-spec-private.h"
#include "dvmd-admission.h"
#include "dvmd-job.h"
#include "dvmd-queue.h"

/* Once all nodes are reserved, a round of backfill looks at this many jobs at most: each look makes a map. */
#define MOST_LOOKS 64

/* A job that waits, and has nodes */
typedef struct
{
  gint64 start; /* when it can begin at the latest; G_MAXINT64: nobody knows */
} Head;

struct _DvmdReservations
{
  GHashTable *running; /* (nullable) (unowned) */
  gint64 now;
  GHashTable *nodes; /* DvmdNode -> index in heads */
  GArray *heads;     /* Head */
  gboolean is_open;  /* some head lets others go first */
  guint n_looks;
};

DvmdReservations *
dvmd_reservations_new (GHashTable *running, gint64 now)
{
  DvmdReservations *self = g_new0 (DvmdReservations, 1);

  self->running = running;
  self->now = now;
  self->nodes = g_hash_table_new (NULL, NULL);
  self->heads = g_array_new (FALSE, FALSE, sizeof (Head));
  return self;
}

void
dvmd_reservations_free (DvmdReservations *self)
{
  g_hash_table_unref (self->nodes);
  g_array_unref (self->heads);
  g_free (self);
}

static gint64
find_end (DvmdJob *job, gint64 now)
{
  gint64 limit = (gint64)_dvm_job_spec_get_time_limit (dvmd_job_get_spec (job)) * G_USEC_PER_SEC;
  gint64 started = dvm_job_get_started_at (dvmd_job_get_record (job));

  if (limit == 0)
    return G_MAXINT64;
  return (started != 0 ? started : now) + limit;
}

static guint64
count_slots (DvmdJob *job, GHashTable *ranks)
{
  GArray *claims = dvmd_admission_get_claims (job);
  guint64 n = 0;

  for (guint i = 0; claims != NULL && i < claims->len; i++)
    if (g_hash_table_contains (ranks, GUINT_TO_POINTER (g_array_index (claims, DvmdClaim, i).node)))
      n += g_array_index (claims, DvmdClaim, i).slots;
  return n;
}

static gint64
find_start (DvmdReservations *self, DvmdCandidates *candidates, guint64 need)
{
  g_autoptr (GHashTable) ranks = g_hash_table_new (NULL, NULL);
  g_autoptr (GArray) ends = g_array_new (FALSE, FALSE, sizeof (DvmdQueueEnd));
  GHashTableIter iter;
  gpointer job;

  for (guint i = 0; i < candidates->nodes->len; i++)
    g_hash_table_add (ranks, GUINT_TO_POINTER (DVMD_CANDIDATE (candidates, i)->node->rank));
  g_hash_table_iter_init (&iter, self->running);
  while (g_hash_table_iter_next (&iter, &job, NULL))
    {
      DvmdQueueEnd end = { .end = find_end (job, self->now), .slots = count_slots (job, ranks) };

      if (end.slots > 0)
        g_array_append_val (ends, end);
    }
  return dvmd_queue_find_start (need, candidates->n_free, self->now, (DvmdQueueEnd *)ends->data, ends->len);
}

void
dvmd_reservations_add (DvmdReservations *self, DvmdCandidates *candidates, guint64 need)
{
  Head head = { .start = G_MAXINT64 };
  guint n_before = g_hash_table_size (self->nodes);

  for (guint i = 0; i < candidates->nodes->len; i++)
    {
      DvmdNode *node = DVMD_CANDIDATE (candidates, i)->node;

      if (!g_hash_table_contains (self->nodes, node))
        g_hash_table_insert (self->nodes, node, GUINT_TO_POINTER (self->heads->len));
    }
  if (g_hash_table_size (self->nodes) == n_before)
    return;
  if (self->running != NULL && candidates->n_free > 0)
    head.start = find_start (self, candidates, need);
  self->is_open = self->is_open || head.start != G_MAXINT64;
  g_array_append_val (self->heads, head);
}

gboolean
dvmd_reservations_stop (DvmdReservations *self, DvmdJob *job, DvmdCandidates *candidates)
{
  gint64 limit = (gint64)_dvm_job_spec_get_time_limit (dvmd_job_get_spec (job)) * G_USEC_PER_SEC;

  for (guint i = 0; i < candidates->nodes->len; i++)
    {
      gpointer index;

      if (g_hash_table_lookup_extended (self->nodes, DVMD_CANDIDATE (candidates, i)->node, NULL, &index)
          && !dvmd_queue_may_backfill (self->now, limit,
                                       g_array_index (self->heads, Head, GPOINTER_TO_UINT (index)).start))
        return TRUE;
    }
  return FALSE;
}

gboolean
dvmd_reservations_are_full (DvmdReservations *self, guint n_nodes)
{
  if (g_hash_table_size (self->nodes) < n_nodes)
    return FALSE;
  return !self->is_open || self->n_looks++ >= MOST_LOOKS;
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranks of a node that was lost are started again on another one, as often as their job allows.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-job"

#include "dvmd-job-moves.h"

#include "dvm-job-spec-private.h"
#include "dvm-preload-private.h"
#include "dvm-records-private.h"
#include "dvmd-candidates.h"
#include "dvmd-colocation.h"
#include "dvmd-core-news.h"
#include "dvmd-core-nodes.h"
#include "dvmd-core-parts.h"
#include "dvmd-gates.h"
#include "dvmd-job-answers.h"
#include "dvmd-job-hold.h"
#include "dvmd-job-parts.h"
#include "dvmd-job-registry.h"
#include "dvmd-log.h"
#include "dvmd-proc-tracking.h"

typedef struct
{
  GHashTable *counts; /* (nullable): rank -> how often it was started again */
  GArray *waiting;    /* (nullable): guint32, ascending: ranks that have no node now */
  gint64 due;         /* monotonic, µs: before that their last node may still have them */
  DvmdClock *clock;   /* (nullable): of the timer */
  guint timer;
  DvmReason *reason; /* (nullable): of the last loss */
} Moves;

static void
moves_clear (gpointer part)
{
  Moves *self = part;

  if (self->clock != NULL)
    dvmd_clock_remove_timer (self->clock, self->timer);
  g_clear_pointer (&self->clock, dvmd_clock_unref);
  g_clear_pointer (&self->counts, g_hash_table_unref);
  g_clear_pointer (&self->waiting, g_array_unref);
  g_clear_pointer (&self->reason, _dvm_reason_free);
}

static Moves *
moves_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_MOVES, sizeof (Moves), moves_clear);
}

static guint
count_of (DvmdJob *job, guint32 rank)
{
  GHashTable *counts = moves_of (job)->counts;

  return counts != NULL ? GPOINTER_TO_UINT (g_hash_table_lookup (counts, GUINT_TO_POINTER (rank))) : 0;
}

void
dvmd_job_moves_count (DvmdJob *job, guint32 rank)
{
  Moves *self = moves_of (job);

  if (self->counts == NULL)
    self->counts = g_hash_table_new (NULL, NULL);
  g_hash_table_insert (self->counts, GUINT_TO_POINTER (rank), GUINT_TO_POINTER (count_of (job, rank) + 1));
}

guint
dvmd_job_moves_get_count (DvmdJob *job, guint32 rank)
{
  return count_of (job, rank);
}

gboolean
dvmd_job_moves_is_waiting (DvmdJob *job)
{
  return moves_of (job)->waiting != NULL;
}

/* ---- a node is lost ---- */

/* (nullable): Files of the job, cpus of its processes and its PMIx servers are on the nodes that it has. */
static const char *
find_obstacle (DvmdJob *job)
{
  if (!_dvm_job_spec_is_plain (dvmd_job_get_spec (job)))
    return "the PMIx servers of its other nodes could not be told; with --personality plain they would be";
  if (_dvm_job_spec_has_preloads (dvmd_job_get_spec (job)))
    return "its files came with it";
  if (dvmd_map_binds (dvmd_job_get_map (job)))
    return "they are bound";
  if (dvmd_map_has_devices (dvmd_job_get_map (job)))
    return "they have devices";
  return dvmd_colocation_get (job) != NULL ? "it is beside another job" : NULL;
}

static gboolean
is_movable (DvmdJob *job, DvmdNode *node)
{
  DvmdCore *core = dvmd_job_get_core (job);
  const char *obstacle;

  if (dvmd_job_get_max_restarts (job) == 0 || dvmd_core_get_effects (core)->move_ranks == NULL || node->leaving
      || !dvmd_node_is_down (node) || dvmd_core_get_shutting_down (core)
      || dvmd_job_get_state (job) >= DVM_JOB_STATE_UNTERMINATED)
    return FALSE;
  obstacle = find_obstacle (job);
  if (obstacle != NULL)
    dvmd_log_job (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, dvm_job_get_nspace (dvmd_job_get_record (job)),
                  "its processes on %s are not started again elsewhere: %s", dvm_node_get_name (node->record),
                  obstacle);
  return obstacle == NULL;
}

static void look (DvmdJob *job);

static void
on_due (gpointer user_data)
{
  moves_of (user_data)->timer = 0;
  look (user_data);
}

static void
stop_timer (DvmdJob *job)
{
  dvmd_clock_remove_timer (dvmd_core_get_clock (dvmd_job_get_core (job)), moves_of (job)->timer);
  moves_of (job)->timer = 0;
}

/* One that is cut off ends its processes by itself; one that stands still has to be ended. */
static void
wait_until_over (DvmdJob *job, DvmdNode *node, const DvmReason *reason)
{
  Moves *self = moves_of (job);
  gint64 pause = dvmd_core_get_settings (dvmd_job_get_core (job))->move_pause;

  stop_timer (job);
  dvmd_job_answers_add (job, DVMD_ANSWER_OVER, node->rank);
  if (self->clock == NULL)
    self->clock = dvmd_clock_ref (dvmd_core_get_clock (dvmd_job_get_core (job)));
  g_clear_pointer (&self->reason, _dvm_reason_free);
  self->reason = _dvm_reason_copy (reason);
  self->due = dvmd_clock_monotonic (dvmd_core_get_clock (dvmd_job_get_core (job))) + pause;
  self->timer = dvmd_clock_add_timer (dvmd_core_get_clock (dvmd_job_get_core (job)), pause, on_due, job);
  dvmd_admission_watch (dvmd_core_get_admission (dvmd_job_get_core (job)), job, look);
}

static int
compare_ranks (gconstpointer a, gconstpointer b)
{
  guint32 left = *(const guint32 *)a;
  guint32 right = *(const guint32 *)b;

  return left < right ? -1 : left > right;
}

static gboolean
is_live (DvmdJob *job, guint32 rank)
{
  return (dvmd_proc_table_row (dvmd_job_get_procs (job), rank)->flags & DVMD_PROC_ENDED) == 0;
}

/* An agent would not start it again, either, if it had called PMIx_Init or PMIx_Abort. */
static gboolean
may_move (DvmdJob *job, guint32 rank)
{
  DvmdProcFlags flags = dvmd_proc_table_row (dvmd_job_get_procs (job), rank)->flags;

  return is_live (job, rank) && count_of (job, rank) < dvmd_job_get_max_restarts (job)
         && (flags & (DVMD_PROC_REGISTERED | DVMD_PROC_ABORTED)) == 0;
}

static guint
count_ranks (DvmdJob *job, GArray *ranks, gboolean (*is_one) (DvmdJob *job, guint32 rank))
{
  guint n = 0;

  for (guint i = 0; i < ranks->len; i++)
    n += is_one (job, g_array_index (ranks, DvmdMapRank, i).rank);
  return n;
}

/* (transfer full) (element-type guint32): they go from ranks */
static GArray *
take_ranks (DvmdJob *job, GArray *ranks)
{
  GArray *taken = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint n_left = 0;

  for (guint i = 0; i < ranks->len; i++)
    {
      const DvmdMapRank one = g_array_index (ranks, DvmdMapRank, i);

      if (may_move (job, one.rank))
        g_array_append_val (taken, one.rank);
      else
        g_array_index (ranks, DvmdMapRank, n_left++) = one;
    }
  g_array_set_size (ranks, n_left);
  return taken;
}

GArray *
dvmd_job_moves_take (DvmdJob *job, DvmdNode *node, GArray *ranks, const DvmReason *reason)
{
  Moves *self = moves_of (job);
  guint n_live = count_ranks (job, ranks, is_live);
  GArray *taken;

  /* One that cannot move ends the job, and the others need not. */
  if (n_live == 0 || !is_movable (job, node)
      || (!dvmd_job_is_recoverable (job) && count_ranks (job, ranks, may_move) < n_live))
    return g_array_new (FALSE, FALSE, sizeof (guint32));
  taken = take_ranks (job, ranks);
  /* Also one that was about to be started there: that it was may not have been heard, and its number only rises. */
  for (guint i = 0; i < taken->len; i++)
    dvmd_job_moves_count (job, g_array_index (taken, guint32, i));
  if (taken->len == 0)
    return taken;
  if (self->waiting == NULL)
    self->waiting = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_array_append_vals (self->waiting, taken->data, taken->len);
  g_array_sort (self->waiting, compare_ranks);
  wait_until_over (job, node, reason);
  return taken;
}

/* ---- another node ---- */

/* (transfer full) (nullable) (element-type DvmdMove): all that wait, each with a node that has room for it */
static GArray *
place (DvmdJob *job, DvmdCandidates *candidates, DvmdPlacesKind kind)
{
  GArray *waiting = moves_of (job)->waiting;
  gboolean beyond = _dvm_job_spec_get_when_full_policy (dvmd_job_get_spec (job)) == DVM_WHEN_FULL_OVERSUBSCRIBE;
  g_autoptr (DvmdPlaces) places = dvmd_candidates_make_places (candidates, kind);
  g_autoptr (GArray) moves = g_array_new (FALSE, FALSE, sizeof (DvmdMove));
  g_autofree guint32 *taken = g_new0 (guint32, places->n_nodes + 1);

  for (guint i = 0; i < waiting->len; i++)
    {
      guint32 rank = g_array_index (waiting, guint32, i);
      const DvmdProcRow *row = dvmd_proc_table_row (dvmd_job_get_procs (job), rank);

      for (guint k = 0; k < places->n_nodes && moves->len == i; k++)
        {
          DvmdMove move = { rank, row->node, places->nodes[k]->rank, count_of (job, rank) };
          guint32 room = beyond ? places->most[k] : places->limits[k];

          if (places->app_limits != NULL)
            room = MIN (room, places->app_limits[row->app * places->n_nodes + k]);
          if (taken[k] >= room)
            continue;
          taken[k]++;
          g_array_append_val (moves, move);
        }
    }
  return moves->len == waiting->len ? g_steal_pointer (&moves) : NULL;
}

/* There would be room if nobody else was there, or nodes are to come back. */
static gboolean
may_come (DvmdJob *job, DvmdCandidates *candidates)
{
  g_autoptr (GArray) moves = place (job, candidates, DVMD_PLACES_ALL);

  return (moves != NULL || candidates->n_drained > 0 || candidates->n_missing > 0)
         && _dvm_job_spec_get_when_full_policy (dvmd_job_get_spec (job)) != DVM_WHEN_FULL_REFUSE;
}

/* Ranks that have ended on the node keep their places there. */
static void
leave_node (DvmdJob *job, guint node)
{
  g_autoptr (GArray) ranks = dvmd_map_expand_node (dvmd_job_get_map (job), node);

  dvmd_map_remove_node (dvmd_job_get_map (job), node);
  for (guint i = 0; i < ranks->len; i++)
    {
      const DvmdMapRank *one = &g_array_index (ranks, DvmdMapRank, i);

      if (dvmd_proc_table_row (dvmd_job_get_procs (job), one->rank)->flags & DVMD_PROC_ENDED)
        dvmd_map_add_run (
            dvmd_job_get_map (job),
            &(DvmdMapRow){
                .node = node, .app = one->app, .first_rank = one->rank, .count = 1, .stride = 1, .place = one->place });
    }
}

static void
change_map (DvmdJob *job, GArray *moves)
{
  g_autoptr (GHashTable) left = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < moves->len; i++)
    if (g_hash_table_add (left, GUINT_TO_POINTER (g_array_index (moves, DvmdMove, i).old_node)))
      leave_node (job, g_array_index (moves, DvmdMove, i).old_node);
  for (guint i = 0; i < moves->len; i++)
    {
      const DvmdMove *move = &g_array_index (moves, DvmdMove, i);
      DvmdProcRow *row = dvmd_proc_table_row (dvmd_job_get_procs (job), move->rank);

      row->local_rank = row->node_rank = dvmd_map_count_on_node (dvmd_job_get_map (job), move->node);
      row->node = move->node;
      dvmd_map_add_run (
          dvmd_job_get_map (job),
          &(DvmdMapRow){ .node = move->node, .app = row->app, .first_rank = move->rank, .count = 1, .stride = 1 });
    }
  dvmd_job_publish_nodes (job);
}

static void
claim (DvmdJob *job, GArray *moves)
{
  g_autoptr (GHashTable) done = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < moves->len; i++)
    {
      guint node = g_array_index (moves, DvmdMove, i).node;

      if (!g_hash_table_add (done, GUINT_TO_POINTER (node)))
        continue;
      dvmd_admission_add_claim (dvmd_core_get_admission (dvmd_job_get_core (job)), job,
                                dvmd_node_pool_get (dvmd_core_get_nodes (dvmd_job_get_core (job)), node),
                                dvmd_map_count_on_node (dvmd_job_get_map (job), node));
      if (dvmd_core_is_launching (job))
        dvmd_job_answers_add (job, DVMD_ANSWER_LAUNCHED, node);
      dvmd_job_answers_add (job, DVMD_ANSWER_GONE, node);
    }
}

static void
log_move (DvmdJob *job, const DvmdMove *move)
{
  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, dvm_job_get_nspace (dvmd_job_get_record (job)), move->rank,
                 "it is started again on %s: %s",
                 dvmd_node_pool_get_name (dvmd_core_get_nodes (dvmd_job_get_core (job)), move->node),
                 moves_of (job)->reason->text);
}

static void
stop_waiting (DvmdJob *job)
{
  stop_timer (job);
  g_clear_pointer (&moves_of (job)->waiting, g_array_unref);
  dvmd_admission_unwatch (dvmd_core_get_admission (dvmd_job_get_core (job)), job);
}

static void
move (DvmdJob *job, GArray *moves)
{
  change_map (job, moves);
  claim (job, moves);
  for (guint i = 0; i < moves->len; i++)
    log_move (job, &g_array_index (moves, DvmdMove, i));
  stop_waiting (job);
  dvmd_core_get_effects (dvmd_job_get_core (job))
      ->move_ranks (dvmd_core_get_user_data (dvmd_job_get_core (job)), job, moves);
  dvmd_job_hold_moved (job);
  dvmd_core_changed (dvmd_job_get_core (job));
}

static void
give_up (DvmdJob *job)
{
  g_autoptr (GArray) ranks = g_array_ref (moves_of (job)->waiting);

  stop_waiting (job);
  dvmd_core_give_up_moves (job, ranks, moves_of (job)->reason);
}

static void
look (DvmdJob *job)
{
  Moves *self = moves_of (job);
  g_auto (DvmdCandidates) candidates = { 0 };
  g_autoptr (GArray) moves = NULL;
  gboolean found;

  if (self->waiting == NULL || self->due > dvmd_clock_monotonic (dvmd_core_get_clock (dvmd_job_get_core (job)))
      || dvmd_job_answers_count (job, DVMD_ANSWER_OVER) > 0 || dvmd_job_get_state (job) >= DVM_JOB_STATE_UNTERMINATED
      || dvmd_gate_is_closed (job, DVMD_GATE_MAP))
    return;
  found = dvmd_candidates_find (&candidates, dvmd_core_get_nodes (dvmd_job_get_core (job)), job, NULL);
  moves = found ? place (job, &candidates, DVMD_PLACES_FREE) : NULL;
  if (moves != NULL)
    move (job, moves);
  else if (!found || !may_come (job, &candidates))
    give_up (job);
}

void
dvmd_core_lost_agent_gone (DvmdCore *self, guint rank)
{
  for (GList *l = dvmd_core_get_live_jobs (self), *next; l != NULL; l = next)
    {
      next = l->next;
      if (dvmd_job_answers_take (l->data, DVMD_ANSWER_OVER, rank))
        look (l->data);
    }
}

void
dvmd_job_moves_end (DvmdJob *job)
{
  if (moves_of (job)->waiting != NULL)
    give_up (job);
}

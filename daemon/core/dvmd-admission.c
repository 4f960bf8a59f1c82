/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs that fit go on to MAP, the others wait for slots in their order.
 */

#include "config.h"

#include "dvmd-admission-inner.h"

#include "dvm-records-private.h"
#include "dvmd-colocation.h"
#include "dvmd-core-parts.h"
#include "dvmd-job-parts.h"
#include "dvmd-reservations.h"

/* µs that children which have ended well may take to go: they are in their MPI_Finalize, or behind it. */
#define MOMENT (2 * G_USEC_PER_SEC)

static void
claims_clear (gpointer part)
{
  DvmdAdmissionClaims *self = part;

  g_clear_pointer (&self->app_np, g_array_unref);
  g_clear_pointer (&self->planned, dvmd_map_free);
  g_clear_pointer (&self->claims, g_array_unref);
}

DvmdAdmissionClaims *
dvmd_admission_claims_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_CLAIMS, sizeof (DvmdAdmissionClaims), claims_clear);
}

DvmdAdmission *
dvmd_admission_new (DvmdNodePool *nodes, DvmdAdmissionMap map, DvmdAdmissionCount count, DvmdAdmissionRelease release,
                    DvmdAdmissionClaimed claimed, gpointer user_data)
{
  DvmdAdmission *self = g_new0 (DvmdAdmission, 1);

  self->nodes = nodes;
  self->waiting = g_sequence_new (g_object_unref);
  self->running = g_hash_table_new_full (NULL, NULL, g_object_unref, NULL);
  self->moving = g_ptr_array_new_with_free_func (g_object_unref);
  self->map = map;
  self->count = count;
  self->release = release;
  self->claimed = claimed;
  self->user_data = user_data;
  return self;
}

/* A job that leaves the queue within its moment has another one, should it come again. */
static void
end_moment (DvmdJob *job)
{
  DvmdAdmissionClaims *claims = dvmd_admission_claims_of (job);

  if (claims->timer == 0)
    return;
  dvmd_clock_remove_timer (dvmd_core_get_clock (dvmd_job_get_core (job)), claims->timer);
  claims->timer = 0;
  claims->moment = MOMENT_AHEAD;
}

void
dvmd_admission_free (DvmdAdmission *self)
{
  for (GSequenceIter *i = g_sequence_get_begin_iter (self->waiting); !g_sequence_iter_is_end (i);
       i = g_sequence_iter_next (i))
    end_moment (g_sequence_get (i));
  g_sequence_free (self->waiting);
  g_hash_table_unref (self->running);
  g_ptr_array_unref (self->moving);
  g_free (self);
}

guint
dvmd_admission_get_n_waiting (DvmdAdmission *self)
{
  return (guint)g_sequence_get_length (self->waiting);
}

void
dvmd_admission_set_policy (DvmdAdmission *self, const DvmdQueuePolicy *policy)
{
  self->policy = *policy;
}

gboolean
dvmd_admission_change_policy (DvmdAdmission *self, gboolean queues, guint max_running)
{
  DvmdQueuePolicy policy = { .queues = queues, .grows = self->policy.grows, .max_running = max_running };

  if (policy.queues == self->policy.queues && policy.max_running == self->policy.max_running)
    return FALSE;
  dvmd_admission_set_policy (self, &policy);
  return TRUE;
}

/* The limit is not for a job that another one may wait for. */
static gboolean
is_limited (DvmdJob *job)
{
  return dvmd_job_get_parent_id (job) == 0;
}

static gboolean
is_at_limit (DvmdAdmission *self)
{
  return self->policy.max_running > 0 && self->n_limited >= self->policy.max_running;
}

static void
count_running (DvmdAdmission *self, DvmdJob *job, gboolean runs)
{
  if (runs ? g_hash_table_add (self->running, g_object_ref (job)) : g_hash_table_remove (self->running, job))
    self->n_limited += is_limited (job) ? (runs ? 1 : -1) : 0;
}

static DvmdQueuePlace
get_place (DvmdJob *job)
{
  return (DvmdQueuePlace){ .anew = dvmd_admission_claims_of (job)->turn == DVMD_TURN_FIRST,
                           .priority = dvm_job_get_priority (dvmd_job_get_record (job)),
                           .id = dvmd_job_get_id (job) };
}

static int
compare_places (gconstpointer a, gconstpointer b, gpointer user_data)
{
  DvmdQueuePlace left = get_place ((DvmdJob *)a);
  DvmdQueuePlace right = get_place ((DvmdJob *)b);

  return dvmd_queue_compare (&left, &right);
}

static gboolean
goes_before (DvmdJob *job, DvmdJob *other)
{
  return compare_places (job, other, NULL) < 0;
}

/* A job that comes now, and could go on, stands behind those that came before it, or are more urgent. */
static gboolean
stands_behind (DvmdJob *job, DvmdJob *other)
{
  gboolean is_urgent = dvm_job_get_priority (dvmd_job_get_record (job))
                       > dvm_job_get_priority (dvmd_job_get_record (other));

  return (dvmd_admission_claims_of (job)->turn == DVMD_TURN_LAST && !is_urgent) || !goes_before (job, other);
}

static DvmdReservations *
make_reservations (DvmdAdmission *self, DvmdJob *job)
{
  return dvmd_reservations_new (self->policy.queues ? self->running : NULL,
                                dvmd_clock_now (dvmd_core_get_clock (dvmd_job_get_core (job))));
}

static gboolean
overlaps_waiting (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates)
{
  g_autoptr (DvmdReservations) reservations = NULL;

  for (GSequenceIter *i = g_sequence_get_begin_iter (self->waiting); !g_sequence_iter_is_end (i);
       i = g_sequence_iter_next (i))
    {
      g_auto (DvmdCandidates) other = { 0 };
      DvmdJob *ahead = g_sequence_get (i);

      if (!stands_behind (job, ahead) || !dvmd_candidates_find (&other, self->nodes, ahead, NULL)
          || dvmd_fit_waits_for_nodes (ahead, &other) || !dvmd_candidates_overlap (candidates, &other))
        continue;
      if (reservations == NULL)
        reservations = make_reservations (self, job);
      dvmd_reservations_add (reservations, &other, dvmd_admission_claims_of (ahead)->need);
      if (dvmd_reservations_stop (reservations, job, candidates))
        return TRUE;
    }
  return FALSE;
}

void
dvmd_admission_add_claim (DvmdAdmission *self, DvmdJob *job, DvmdNode *node, guint slots)
{
  DvmdClaim claim = { .node = node->rank, .slots = slots };

  g_array_append_val (dvmd_admission_claims_of (job)->claims, claim);
  dvmd_node_pool_claim (self->nodes, node, dvmd_job_get_id (job), slots);
}

static void
claim_plan (DvmdAdmission *self, DvmdJob *job)
{
  DvmdAdmissionClaims *claims = dvmd_admission_claims_of (job);
  g_autoptr (GArray) shares = dvmd_map_get_shares (claims->planned);
  gboolean takes_slots = dvmd_colocation_get (job) == NULL;

  claims->slots = SLOTS_CLAIMED;
  claims->claims = g_array_sized_new (FALSE, FALSE, sizeof (DvmdClaim), shares->len);
  for (guint i = 0; i < shares->len; i++)
    {
      const DvmdMapShare *share = &g_array_index (shares, DvmdMapShare, i);

      dvmd_admission_add_claim (self, job, dvmd_node_pool_get (self->nodes, share->node),
                                takes_slots ? share->count : 0);
    }
  count_running (self, job, TRUE);
  self->claimed (job, claims->planned, NULL, self->user_data);
}

/* A job that is judged a second time stands where its number says, ahead of those that came after it. */
static void
enqueue (DvmdAdmission *self, DvmdJob *job)
{
  dvmd_admission_claims_of (job)->slots = SLOTS_AWAITED;
  dvmd_admission_claims_of (job)->place = g_sequence_insert_sorted (self->waiting, g_object_ref (job), compare_places,
                                                                    NULL);
  self->n_waiting_limited += is_limited (job);
}

/* The queue has let go of the job: what it had of it is the caller's. */
static void
dequeue (DvmdAdmission *self, DvmdJob *job)
{
  end_moment (job);
  dvmd_admission_claims_of (job)->slots = SLOTS_NONE;
  self->n_waiting_limited -= is_limited (job);
  g_sequence_remove (g_steal_pointer (&dvmd_admission_claims_of (job)->place));
}

static void release_waiting (DvmdAdmission *self, gboolean all);

static void
on_moment_over (gpointer user_data)
{
  DvmdJob *job = user_data;

  dvmd_admission_claims_of (job)->timer = 0;
  dvmd_admission_claims_of (job)->moment = MOMENT_OVER;
  release_waiting (dvmd_core_get_admission (dvmd_job_get_core (job)), TRUE);
}

static void
begin_moment (DvmdJob *job)
{
  DvmdAdmissionClaims *claims = dvmd_admission_claims_of (job);

  if (!dvmd_fit_may_not_wait (job) || claims->moment != MOMENT_AHEAD)
    return;
  claims->moment = MOMENT_RUNS;
  claims->timer = dvmd_clock_add_timer (dvmd_core_get_clock (dvmd_job_get_core (job)), MOMENT, on_moment_over, job);
}

/* A job that could go on, and waits all the same: for its turn, or because as many run as may. */
static DvmdAdmit
judge_turn (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  gboolean is_late = candidates->beside == NULL && is_at_limit (self) && is_limited (job);

  if (!is_late
      && (dvmd_admission_claims_of (job)->turn == DVMD_TURN_FIRST || dvmd_fit_may_oversubscribe (job)
          || dvmd_fit_need_not_fit (job, candidates) || candidates->beside != NULL
          || !overlaps_waiting (self, job, candidates)))
    return DVMD_ADMIT;
  dvmd_fit_drop_plan (job);
  dvmd_admission_claims_of (job)->awaited = is_late ? "limit" : NULL;
  if (!dvmd_fit_is_impatient (job, candidates))
    return DVMD_ADMIT_WAIT;
  dvmd_fit_refuse (job, error,
                   is_late ? _dvm_reason_new (DVM_REASON_MOST_RUN, self->policy.max_running)
                           : _dvm_reason_new (DVM_REASON_OTHERS_WAIT));
  return DVMD_ADMIT_NEVER;
}

DvmdAdmit
dvmd_admission_judge (DvmdAdmission *self, DvmdJob *job, GError **error)
{
  g_auto (DvmdCandidates) candidates = { 0 };
  DvmdAdmissionClaims *claims = dvmd_admission_claims_of (job);
  gboolean came_before = claims->slots == SLOTS_BROKEN;
  DvmdAdmit verdict;

  if (came_before)
    dvmd_admission_give_back (self, job);
  /* The job got its slots when it left the queue. */
  if (claims->slots == SLOTS_CLAIMED)
    return DVMD_ADMIT;
  if (!dvmd_candidates_find (&candidates, self->nodes, job, error))
    return DVMD_ADMIT_NEVER;
  verdict = dvmd_fit_judge (self, job, &candidates, error);
  if (verdict == DVMD_ADMIT && !came_before)
    verdict = judge_turn (self, job, &candidates, error);
  if (verdict == DVMD_ADMIT)
    claim_plan (self, job);
  else if (verdict == DVMD_ADMIT_WAIT)
    {
      enqueue (self, job);
      begin_moment (job);
    }
  return verdict;
}

void
dvmd_admission_wait (DvmdAdmission *self, DvmdJob *job)
{
  if (!dvmd_admission_is_waiting (job))
    enqueue (self, job);
}

void
dvmd_admission_remove (DvmdAdmission *self, DvmdJob *job)
{
  if (dvmd_admission_is_waiting (job))
    dequeue (self, job);
}

/* A job that waits is looked at in its turn. */
static DvmdAdmit
judge_waiting (DvmdAdmission *self, DvmdJob *job, DvmdReservations *reservations)
{
  g_auto (DvmdCandidates) candidates = { 0 };
  g_autoptr (GError) error = NULL;
  DvmdAdmit verdict = DVMD_ADMIT_NEVER;
  gboolean is_late = is_at_limit (self) && is_limited (job);

  if (dvmd_candidates_find (&candidates, self->nodes, job, &error))
    verdict = dvmd_fit_judge (self, job, &candidates, &error);
  if (verdict == DVMD_ADMIT && (is_late || dvmd_reservations_stop (reservations, job, &candidates)))
    {
      verdict = DVMD_ADMIT_WAIT;
      dvmd_fit_drop_plan (job);
      dvmd_admission_claims_of (job)->awaited = is_late ? "limit" : NULL;
    }
  if (verdict != DVMD_ADMIT_WAIT)
    return verdict;
  _dvm_job_set_held_at (dvmd_job_get_record (job), dvmd_admission_get_awaited (job));
  /* One that waits for others to end, whatever slots are free, keeps these for nobody. */
  if (!is_late && !dvmd_fit_waits_for_nodes (job, &candidates))
    dvmd_reservations_add (reservations, &candidates, dvmd_admission_claims_of (job)->need);
  return verdict;
}

/* No job behind this place can go on. */
static gboolean
is_over (DvmdAdmission *self, DvmdReservations *reservations)
{
  if (is_at_limit (self) && self->n_waiting_limited == dvmd_admission_get_n_waiting (self))
    return TRUE;
  return dvmd_node_pool_count_up (self->nodes) > 0
         && dvmd_reservations_are_full (reservations, dvmd_node_pool_count_usable (self->nodes));
}

/* all: jobs that stand behind others, so that no slot can come free for them, are judged too. */
static void
release_waiting (DvmdAdmission *self, gboolean all)
{
  g_autoptr (DvmdReservations) reservations = NULL;
  GSequenceIter *next;

  if (g_sequence_is_empty (self->waiting) || self->closed)
    return;
  next = g_sequence_get_begin_iter (self->waiting);
  reservations = make_reservations (self, g_sequence_get (next));
  while (!g_sequence_iter_is_end (next) && (all || !is_over (self, reservations)))
    {
      g_autoptr (DvmdJob) job = g_object_ref (g_sequence_get (next));
      DvmdAdmit verdict = judge_waiting (self, job, reservations);

      next = g_sequence_iter_next (next);
      if (verdict == DVMD_ADMIT_WAIT)
        continue;
      dequeue (self, job);
      if (verdict == DVMD_ADMIT)
        claim_plan (self, job);
      /* A job that can never fit any more goes on too: the gate says why, or finds that it may wait, where it stood. */
      else
        dvmd_admission_raise_turn (job, DVMD_TURN_KEPT);
      self->release (job, self->user_data);
    }
}

void
dvmd_admission_set_closed (DvmdAdmission *self, gboolean closed)
{
  self->closed = closed;
}

void
dvmd_admission_watch (DvmdAdmission *self, DvmdJob *job, void (*look) (DvmdJob *job))
{
  self->look = look;
  if (!g_ptr_array_find (self->moving, job, NULL))
    g_ptr_array_add (self->moving, g_object_ref (job));
}

void
dvmd_admission_unwatch (DvmdAdmission *self, DvmdJob *job)
{
  g_ptr_array_remove (self->moving, job);
}

/* Jobs that run go before those that wait. */
static void
look_at_moves (DvmdAdmission *self)
{
  g_autoptr (GPtrArray) jobs = NULL;

  if (self->moving->len == 0)
    return;
  jobs = g_ptr_array_copy (self->moving, (GCopyFunc)(void (*) (void))g_object_ref, NULL);
  for (guint i = 0; i < jobs->len; i++)
    self->look (jobs->pdata[i]);
}

void
dvmd_admission_release (DvmdAdmission *self)
{
  look_at_moves (self);
  release_waiting (self, FALSE);
}

void
dvmd_admission_nodes_changed (DvmdAdmission *self)
{
  look_at_moves (self);
  release_waiting (self, TRUE);
}

void
dvmd_admission_set_priority (DvmdAdmission *self, DvmdJob *job, int priority)
{
  _dvm_job_set_priority (dvmd_job_get_record (job), priority);
  if (!dvmd_admission_is_waiting (job))
    return;
  g_sequence_sort_changed (dvmd_admission_claims_of (job)->place, compare_places, NULL);
  dvmd_admission_release (self);
}

DvmdMap *
dvmd_admission_try (DvmdAdmission *self, DvmdJob *job, const char **awaited, GError **error)
{
  g_auto (DvmdCandidates) candidates = { 0 };
  DvmdAdmit verdict;

  if (!dvmd_candidates_find (&candidates, self->nodes, job, error))
    return NULL;
  verdict = dvmd_fit_judge (self, job, &candidates, error);
  *awaited = verdict == DVMD_ADMIT_WAIT ? dvmd_admission_get_awaited (job) : NULL;
  if (*awaited != NULL)
    {
      dvmd_candidates_free_all (&candidates);
      verdict = dvmd_fit_judge (self, job, &candidates, error);
    }
  return verdict == DVMD_ADMIT ? g_steal_pointer (&dvmd_admission_claims_of (job)->planned) : NULL;
}

void
dvmd_admission_give_back (DvmdAdmission *self, DvmdJob *job)
{
  DvmdAdmissionClaims *claims = dvmd_admission_claims_of (job);

  dvmd_fit_drop_plan (job);
  if (claims->claims == NULL)
    return;
  for (guint i = 0; i < claims->claims->len; i++)
    {
      const DvmdClaim *claim = &g_array_index (claims->claims, DvmdClaim, i);
      DvmdNode *node = dvmd_node_pool_get (self->nodes, claim->node);

      if (node != NULL)
        dvmd_node_pool_give_back (self->nodes, node, dvmd_job_get_id (job), claim->slots);
    }
  g_clear_pointer (&claims->claims, g_array_unref);
  claims->slots = SLOTS_NONE;
  count_running (self, job, FALSE);
  self->claimed (job, NULL, NULL, self->user_data);
}

void
dvmd_admission_give_back_node (DvmdAdmission *self, DvmdJob *job, DvmdNode *node)
{
  GArray *claims = dvmd_admission_get_claims (job);

  for (guint i = 0; claims != NULL && i < claims->len; i++)
    {
      const DvmdClaim *claim = &g_array_index (claims, DvmdClaim, i);

      if (claim->node != node->rank)
        continue;
      dvmd_node_pool_give_back (self->nodes, node, dvmd_job_get_id (job), claim->slots);
      g_array_remove_index (claims, i);
      self->claimed (job, NULL, node, self->user_data);
      if (dvmd_job_get_map (job) == NULL)
        dvmd_admission_claims_of (job)->slots = SLOTS_BROKEN;
      return;
    }
}

/* ---- a job's ---- */

gboolean
dvmd_admission_is_waiting (DvmdJob *job)
{
  return dvmd_admission_claims_of (job)->slots == SLOTS_AWAITED;
}

gboolean
dvmd_admission_is_broken (DvmdJob *job)
{
  return dvmd_admission_claims_of (job)->slots == SLOTS_BROKEN;
}

DvmdMap *
dvmd_admission_take_plan (DvmdJob *job)
{
  DvmdAdmissionClaims *claims = dvmd_admission_claims_of (job);

  claims->turn = MIN (claims->turn, DVMD_TURN_KEPT);
  return g_steal_pointer (&claims->planned);
}

GArray *
dvmd_admission_get_claims (DvmdJob *job)
{
  return dvmd_admission_claims_of (job)->claims;
}

DvmdTurn
dvmd_admission_get_turn (DvmdJob *job)
{
  return dvmd_admission_claims_of (job)->turn;
}

void
dvmd_admission_raise_turn (DvmdJob *job, DvmdTurn turn)
{
  DvmdAdmissionClaims *claims = dvmd_admission_claims_of (job);

  claims->turn = MAX (claims->turn, turn);
}

GArray *
dvmd_job_get_app_np (DvmdJob *job)
{
  return dvmd_admission_claims_of (job)->app_np;
}

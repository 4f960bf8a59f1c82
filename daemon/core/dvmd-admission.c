/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs that fit go on to MAP, the others wait for slots in their order.
 */

#include "config.h"

#include "dvmd-admission.h"

#include "dvm-job-spec-private.h"
#include "dvm-placement-private.h"
#include "dvm-records-private.h"
#include "dvmd-candidates.h"
#include "dvmd-colocation.h"
#include "dvmd-core-parts.h"
#include "dvmd-job-family.h"
#include "dvmd-job-parts.h"
#include "dvmd-job-reason.h"
#include "dvmd-job-sessions.h"
#include "dvmd-queue.h"
#include "dvmd-reservations.h"

typedef enum
{
  SLOTS_NONE,
  SLOTS_AWAITED, /* it is in the queue */
  SLOTS_CLAIMED,
  SLOTS_BROKEN, /* some were on a node that was lost before the job was mapped */
} Slots;

/* µs that children which have ended well may take to go: they are in their MPI_Finalize, or behind it. */
#define MOMENT (2 * G_USEC_PER_SEC)

/* A job that is not to wait waits a moment for slots of jobs that its parent has spawned before. */
typedef enum
{
  MOMENT_AHEAD,
  MOMENT_RUNS,
  MOMENT_OVER,
} Moment;

typedef struct
{
  GArray *app_np;   /* (nullable): guint per application, known when the job is admitted */
  guint need;       /* slots that it takes */
  DvmdMap *planned; /* (nullable): its map, from the gate to MAP */
  GArray *claims;   /* DvmdClaim, not NULL when they are claimed, or broken */
  Slots slots;
  const char *awaited; /* (nullable): what it waits for, or would; NULL: slots */
  DvmdTurn turn;
  GSequenceIter *place; /* in the queue, while it is there */
  gboolean may_fit;     /* not on the nodes that there are: it waits for others, and holds up nobody */
  Moment moment;
  guint timer; /* of its moment */
} Claims;

static void
claims_clear (gpointer part)
{
  Claims *self = part;

  g_clear_pointer (&self->app_np, g_array_unref);
  g_clear_pointer (&self->planned, dvmd_map_free);
  g_clear_pointer (&self->claims, g_array_unref);
}

static Claims *
claims_of (DvmdJob *job)
{
  return dvmd_job_get_part (job, DVMD_JOB_PART_CLAIMS, sizeof (Claims), claims_clear);
}

struct _DvmdAdmission
{
  DvmdNodePool *nodes;
  void (*look) (DvmdJob *job);
  GPtrArray *moving;   /* DvmdJob: some of their ranks look for a node */
  GSequence *waiting;  /* DvmdJob, in the order of their turns */
  GHashTable *running; /* DvmdJob: those that have slots, if the policy needs to know them */
  DvmdQueuePolicy policy;
  guint n_limited;         /* of running, those that max_running is for */
  guint n_waiting_limited; /* likewise of waiting */
  gboolean closed;         /* no waiting job goes on now */
  DvmdAdmissionMap map;
  DvmdAdmissionCount count;
  DvmdAdmissionRelease release;
  DvmdAdmissionClaimed claimed;
  gpointer user_data;
};

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
  Claims *claims = claims_of (job);

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
  if (!self->policy.queues && self->policy.max_running == 0)
    return;
  if (runs ? g_hash_table_add (self->running, g_object_ref (job)) : g_hash_table_remove (self->running, job))
    self->n_limited += is_limited (job) ? (runs ? 1 : -1) : 0;
}

/* An application without a number of processes gets the slots that are left. Two of them would share the slots of a
   node, and nobody has said how. */
static gboolean
give_slots (guint32 *np, DvmdCandidates *candidates, GError **error)
{
  guint one;
  guint other;
  g_autofree guint64 *others = dvmd_candidates_count_others (candidates, np, &one, &other);

  if (others == NULL)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                   "“np” is missing for the applications %u and %u of the job, and they have a node in common: give "
                   "one of them a number, or let each have hosts of its own",
                   one, other);
      return FALSE;
    }
  for (guint i = 0; i < candidates->n_apps; i++)
    if (np[i] == 0)
      {
        guint64 n_free = dvmd_candidates_count_free (candidates, i);

        np[i] = n_free > others[i] ? n_free - others[i] : 1;
      }
  return TRUE;
}

/* The job's mapper may know a better number of processes than the slots that are left. */
static gboolean
count_open (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  g_autoptr (DvmdPlaces) places = dvmd_candidates_make_places (candidates, DVMD_PLACES_ALL);
  guint32 *np = (guint32 *)claims_of (job)->app_np->data;

  if (self->count (job, places, np, self->user_data))
    return TRUE;
  return give_slots (np, candidates, error);
}

/* The processes that the job wants. */
static gboolean
resolve_np (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  Claims *claims = claims_of (job);
  gboolean open = FALSE;
  guint64 need = 0;

  g_clear_pointer (&claims->app_np, g_array_unref);
  claims->app_np = g_array_new (FALSE, TRUE, sizeof (guint));
  for (guint i = 0; i < candidates->n_apps; i++)
    {
      guint np = dvm_app_spec_get_np (dvm_job_spec_get_app (dvmd_job_get_spec (job), i));

      open = open || np == 0;
      g_array_append_val (claims->app_np, np);
    }
  if (open && !count_open (self, job, candidates, error))
    return FALSE;
  for (guint i = 0; i < candidates->n_apps; i++)
    need += g_array_index (claims->app_np, guint, i);
  claims->need = MIN (need, G_MAXINT);
  return TRUE;
}

static gboolean
may_oversubscribe (DvmdJob *job)
{
  return _dvm_job_spec_get_when_full_policy (dvmd_job_get_spec (job)) == DVM_WHEN_FULL_OVERSUBSCRIBE;
}

static gboolean
may_not_wait (DvmdJob *job)
{
  return _dvm_job_spec_get_when_full_policy (dvmd_job_get_spec (job)) == DVM_WHEN_FULL_REFUSE;
}

static guint64
count_slots_of_siblings (DvmdJob *job)
{
  GArray *ids = dvmd_job_family_get_siblings (job);
  guint64 n = 0;

  for (guint i = 0; ids != NULL && i < ids->len; i++)
    {
      DvmdJob *sibling = dvmd_core_get_job (dvmd_job_get_core (job), g_array_index (ids, guint, i));
      GArray *claims = sibling != NULL && sibling != job ? claims_of (sibling)->claims : NULL;

      for (guint k = 0; claims != NULL && k < claims->len; k++)
        n += g_array_index (claims, DvmdClaim, k).slots;
    }
  return n;
}

/* A process that has seen its children off may spawn the next ones before the slots of those are free. */
static gboolean
has_moment (DvmdJob *job, DvmdCandidates *candidates)
{
  guint64 ending;

  if (claims_of (job)->moment != MOMENT_AHEAD)
    return claims_of (job)->moment == MOMENT_RUNS;
  ending = count_slots_of_siblings (job);
  return ending > 0 && claims_of (job)->need <= candidates->n_free + ending;
}

static gboolean
is_impatient (DvmdJob *job, DvmdCandidates *candidates)
{
  return may_not_wait (job) && !has_moment (job, candidates);
}

/* The job that spawned this one keeps its slots while it waits for it: slots that nobody gave refuse no child. */
static gboolean
need_not_fit (DvmdJob *job, DvmdCandidates *candidates)
{
  return dvmd_job_get_parent_id (job) != 0 && !candidates->given && may_not_wait (job);
}

/* The DVM may grow by nodes on which it fits. One that does not exist (Map) waits for nothing. */
static gboolean
waits_for_growth (DvmdAdmission *self, DvmdJob *job)
{
  DvmJobSpec *spec = dvmd_job_get_spec (job);
  gboolean wants = dvm_job_spec_get_wait_for_slots (spec)
                   || (self->policy.queues && dvm_job_spec_get_when_full (spec) == NULL
                       && dvmd_job_get_parent_id (job) == 0 && !may_not_wait (job) && !may_oversubscribe (job));

  claims_of (job)->may_fit = self->policy.grows && wants && dvmd_job_get_id (job) != 0;
  return claims_of (job)->may_fit;
}

/* A job that needs a drained node does not hold up jobs that do not: the node may be drained for days. */
static gboolean
waits_for_resume (DvmdJob *job, DvmdCandidates *candidates)
{
  return claims_of (job)->may_fit || (candidates->n_drained > 0 && claims_of (job)->need > candidates->total);
}

static DvmdQueuePlace
get_place (DvmdJob *job)
{
  return (DvmdQueuePlace){ .anew = claims_of (job)->turn == DVMD_TURN_FIRST,
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

  return (claims_of (job)->turn == DVMD_TURN_LAST && !is_urgent) || !goes_before (job, other);
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
          || waits_for_resume (ahead, &other) || !dvmd_candidates_overlap (candidates, &other))
        continue;
      if (reservations == NULL)
        reservations = make_reservations (self, job);
      dvmd_reservations_add (reservations, &other, claims_of (ahead)->need);
      if (dvmd_reservations_stop (reservations, job, candidates))
        return TRUE;
    }
  return FALSE;
}

/* reason (transfer full) */
static void
set_reason (DvmdJob *job, GError **error, DvmReason *reason)
{
  dvmd_job_add_reason (job, reason);
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, reason->text);
  _dvm_reason_free (reason);
}

/* The size of a job is bounded beyond the slots too: a number that was mistyped cannot eat the daemon's memory. */
static gboolean
check_most (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  guint64 most = MIN (candidates->most_ever, DVMD_MAP_MAX_PROCS);

  if (claims_of (job)->need <= most || candidates->n_drained > 0
      || (candidates->given && claims_of (job)->need <= DVMD_MAP_MAX_PROCS && waits_for_growth (self, job)))
    return TRUE;
  set_reason (
      job, error,
      _dvm_reason_new (DVM_REASON_TOO_MANY_PROCESSES, claims_of (job)->need, candidates->nodes->len, (guint)most));
  return FALSE;
}

/* Nodes that the job may use are drained: it waits until they are resumed, unless it may not wait. */
static DvmdAdmit
judge_drained (DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  if (!may_not_wait (job))
    return DVMD_ADMIT_WAIT;
  set_reason (job, error, _dvm_reason_new (DVM_REASON_DRAINED, claims_of (job)->need, candidates->n_drained));
  return DVMD_ADMIT_NEVER;
}

static void
drop_plan (DvmdJob *job)
{
  g_clear_pointer (&claims_of (job)->planned, dvmd_map_free);
}

/* Asks the mapper: whether it all fits is a matter of each node and application, not of sums alone. */
static gboolean
make_plan (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, DvmdPlacesKind kind, GError **error)
{
  g_autoptr (DvmdPlaces) places = dvmd_candidates_make_places (candidates, kind);

  dvmd_job_family_order (job, places);
  drop_plan (job);
  claims_of (job)->planned = self->map (job, places, self->user_data, error);
  return claims_of (job)->planned != NULL;
}

/* The job may have more processes than slots, but not more than the nodes take at most. */
static DvmdAdmit
judge_oversubscribed (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  if (claims_of (job)->need <= candidates->most && make_plan (self, job, candidates, DVMD_PLACES_OVERSUBSCRIBE, NULL))
    return DVMD_ADMIT;
  if (candidates->n_drained > 0)
    return judge_drained (job, candidates, error);
  return make_plan (self, job, candidates, DVMD_PLACES_OVERSUBSCRIBE_ALL, error) ? DVMD_ADMIT_WAIT : DVMD_ADMIT_NEVER;
}

static DvmdAdmit
refuse_size (DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  set_reason (job, error,
              _dvm_reason_new (DVM_REASON_TOO_MANY_FOR_SLOTS, claims_of (job)->need,
                               (guint)(candidates->total + candidates->drained)));
  return DVMD_ADMIT_NEVER;
}

/* It says itself that slots are a limit for it. */
static gboolean
must_fit (DvmdJob *job)
{
  return may_not_wait (job) || _dvm_job_spec_get_oversubscribe (dvmd_job_get_spec (job)) == FALSE;
}

/* A job that is larger than slots that nobody gave takes all of them when they are free, and oversubscribes. */
static DvmdAdmit
judge_not_given (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  if (must_fit (job) && claims_of (job)->need > candidates->total)
    return refuse_size (job, candidates, error);
  if (candidates->n_free == candidates->total && make_plan (self, job, candidates, DVMD_PLACES_OVERSUBSCRIBE, NULL))
    return DVMD_ADMIT;
  return make_plan (self, job, candidates, DVMD_PLACES_OVERSUBSCRIBE_ALL, error) ? DVMD_ADMIT_WAIT : DVMD_ADMIT_NEVER;
}

static DvmdAdmit
judge_too_many (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  if (claims_of (job)->need <= candidates->total + (guint64)candidates->drained)
    return judge_drained (job, candidates, error);
  if (!candidates->given)
    return judge_not_given (self, job, candidates, error);
  return waits_for_growth (self, job) ? DVMD_ADMIT_WAIT : refuse_size (job, candidates, error);
}

/* Others may have no slots that the job would get, and cpus all the same. */
static gboolean
others_are_there (DvmdCandidates *candidates)
{
  for (guint i = 0; i < candidates->nodes->len; i++)
    if (g_hash_table_size (DVMD_CANDIDATE (candidates, i)->node->jobs.ids) > 0)
      return !candidates->alone;
  return FALSE;
}

/* Without the others that have cpus or devices the job would have its place. */
static const char *
find_awaited (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates)
{
  g_autoptr (DvmdPlaces) places = NULL;
  g_autoptr (DvmdMap) map = NULL;

  if (claims_of (job)->need > candidates->n_free)
    return NULL;
  places = dvmd_candidates_make_places (candidates, DVMD_PLACES_FREE);
  dvmd_job_family_order (job, places);
  places->alone = TRUE;
  map = self->map (job, places, self->user_data, NULL);
  if (map == NULL)
    return NULL;
  return dvmd_map_has_devices (map) ? "devices" : "cpus";
}

/* The slots are enough, but not free, or not where the job needs them. why: what the mapper said of the free ones */
static DvmdAdmit
judge_shape (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, const GError *why, GError **error)
{
  g_autoptr (GError) alone = NULL;

  if (candidates->n_free < candidates->total || others_are_there (candidates))
    {
      gboolean fits = make_plan (self, job, candidates, DVMD_PLACES_ALL, &alone);

      if (fits && is_impatient (job, candidates) && why != NULL)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                       "The job needs what other jobs have, and it was not to wait: %s", why->message);
          return DVMD_ADMIT_NEVER;
        }
      if (fits)
        {
          claims_of (job)->awaited = find_awaited (self, job, candidates);
          return DVMD_ADMIT_WAIT;
        }
      why = alone;
    }
  if (candidates->n_drained > 0)
    return judge_drained (job, candidates, error);
  if (!candidates->given)
    return judge_not_given (self, job, candidates, error);
  if (waits_for_growth (self, job))
    return DVMD_ADMIT_WAIT;
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, why->message);
  return DVMD_ADMIT_NEVER;
}

/* Whether the job gets its slots now; else whether it can have them later. */
static DvmdAdmit
judge_slots (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  g_autoptr (GError) why = NULL;

  /* A job that says itself that slots are no limit has the same places whether they do or not. */
  if (_dvm_job_spec_get_oversubscribe (dvmd_job_get_spec (job)) != TRUE && claims_of (job)->need <= candidates->n_free
      && make_plan (self, job, candidates, DVMD_PLACES_FREE, &why))
    return DVMD_ADMIT;
  if (may_oversubscribe (job) || need_not_fit (job, candidates))
    return judge_oversubscribed (self, job, candidates, error);
  if (claims_of (job)->need > candidates->total)
    return judge_too_many (self, job, candidates, error);
  return judge_shape (self, job, candidates, why, error);
}

/* The job may use the node of some agent, whatever the state of that node is. */
static gboolean
has_nodes (DvmdAdmission *self, DvmdJob *job)
{
  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (self->nodes, node)) != NULL;)
    if (node->rank > 0 && dvmd_job_may_use (job, node))
      return TRUE;
  return FALSE;
}

const char *
dvmd_admission_get_awaited (DvmdJob *job)
{
  const char *awaited = claims_of (job)->awaited;

  return awaited != NULL ? awaited : "slots";
}

static DvmReasonCode
find_no_nodes (DvmdAdmission *self, DvmdJob *job)
{
  if (dvmd_candidates_get_taker (job) != 0)
    return DVM_REASON_NODES_LEFT;
  if (has_nodes (self, job))
    return DVM_REASON_NO_NODE_UP;
  if (!dvmd_job_uses_session (job, 0))
    return DVM_REASON_SESSION_WITHOUT_NODES;
  return dvmd_node_pool_count_up (self->nodes) > 0 ? DVM_REASON_NODES_RESERVED : DVM_REASON_NO_NODES;
}

/* The job that it is to be beside runs now, and nobody knows for how long. */
static DvmdAdmit
judge_beside (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  gboolean fits = check_most (self, job, candidates, error)
                  && make_plan (self, job, candidates, DVMD_PLACES_FREE, error);

  return fits ? DVMD_ADMIT : DVMD_ADMIT_NEVER;
}

static DvmdAdmit
judge_nodes (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  if (candidates->n_missing > 0)
    return DVMD_ADMIT_WAIT;
  if (candidates->nodes->len == 0 && candidates->n_drained > 0)
    return resolve_np (self, job, candidates, error) ? judge_drained (job, candidates, error) : DVMD_ADMIT_NEVER;
  if (candidates->nodes->len == 0 && waits_for_growth (self, job))
    return DVMD_ADMIT_WAIT;
  if (candidates->nodes->len == 0)
    {
      set_reason (job, error, _dvm_reason_new (find_no_nodes (self, job)));
      return DVMD_ADMIT_NEVER;
    }
  if (!resolve_np (self, job, candidates, error))
    return DVMD_ADMIT_NEVER;
  if (candidates->beside != NULL)
    return judge_beside (self, job, candidates, error);
  return check_most (self, job, candidates, error) ? judge_slots (self, job, candidates, error) : DVMD_ADMIT_NEVER;
}

static void
refuse_to_wait (DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  if (candidates->n_missing > 0)
    set_reason (job, error, _dvm_reason_new (DVM_REASON_NO_FREE_NODES, candidates->n_missing));
  else
    set_reason (job, error,
                _dvm_reason_new (DVM_REASON_NO_FREE_SLOTS, claims_of (job)->need, (guint)candidates->n_free,
                                 (guint)candidates->total));
}

/* ADMIT alone leaves a plan. */
static DvmdAdmit
judge (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  DvmdAdmit verdict;

  claims_of (job)->awaited = NULL;
  claims_of (job)->may_fit = FALSE;
  verdict = judge_nodes (self, job, candidates, error);
  if (verdict == DVMD_ADMIT_WAIT && is_impatient (job, candidates))
    {
      refuse_to_wait (job, candidates, error);
      verdict = DVMD_ADMIT_NEVER;
    }
  if (verdict != DVMD_ADMIT)
    drop_plan (job);
  return verdict;
}

void
dvmd_admission_add_claim (DvmdAdmission *self, DvmdJob *job, DvmdNode *node, guint slots)
{
  DvmdClaim claim = { .node = node->rank, .slots = slots };

  g_array_append_val (claims_of (job)->claims, claim);
  dvmd_node_pool_claim (self->nodes, node, dvmd_job_get_id (job), slots);
}

static void
claim_plan (DvmdAdmission *self, DvmdJob *job)
{
  Claims *claims = claims_of (job);
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
  claims_of (job)->slots = SLOTS_AWAITED;
  claims_of (job)->place = g_sequence_insert_sorted (self->waiting, g_object_ref (job), compare_places, NULL);
  self->n_waiting_limited += is_limited (job);
}

/* The queue has let go of the job: what it had of it is the caller's. */
static void
dequeue (DvmdAdmission *self, DvmdJob *job)
{
  end_moment (job);
  claims_of (job)->slots = SLOTS_NONE;
  self->n_waiting_limited -= is_limited (job);
  g_sequence_remove (g_steal_pointer (&claims_of (job)->place));
}

static void release_waiting (DvmdAdmission *self, gboolean all);

static void
on_moment_over (gpointer user_data)
{
  DvmdJob *job = user_data;

  claims_of (job)->timer = 0;
  claims_of (job)->moment = MOMENT_OVER;
  release_waiting (dvmd_core_get_admission (dvmd_job_get_core (job)), TRUE);
}

static void
begin_moment (DvmdJob *job)
{
  Claims *claims = claims_of (job);

  if (!may_not_wait (job) || claims->moment != MOMENT_AHEAD)
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
      && (claims_of (job)->turn == DVMD_TURN_FIRST || may_oversubscribe (job) || need_not_fit (job, candidates)
          || candidates->beside != NULL || !overlaps_waiting (self, job, candidates)))
    return DVMD_ADMIT;
  drop_plan (job);
  claims_of (job)->awaited = is_late ? "limit" : NULL;
  if (!is_impatient (job, candidates))
    return DVMD_ADMIT_WAIT;
  set_reason (job, error,
              is_late ? _dvm_reason_new (DVM_REASON_MOST_RUN, self->policy.max_running)
                      : _dvm_reason_new (DVM_REASON_OTHERS_WAIT));
  return DVMD_ADMIT_NEVER;
}

DvmdAdmit
dvmd_admission_judge (DvmdAdmission *self, DvmdJob *job, GError **error)
{
  g_auto (DvmdCandidates) candidates = { 0 };
  Claims *claims = claims_of (job);
  gboolean came_before = claims->slots == SLOTS_BROKEN;
  DvmdAdmit verdict;

  if (came_before)
    dvmd_admission_give_back (self, job);
  /* The job got its slots when it left the queue. */
  if (claims->slots == SLOTS_CLAIMED)
    return DVMD_ADMIT;
  if (!dvmd_candidates_find (&candidates, self->nodes, job, error))
    return DVMD_ADMIT_NEVER;
  verdict = judge (self, job, &candidates, error);
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
    verdict = judge (self, job, &candidates, &error);
  if (verdict == DVMD_ADMIT && (is_late || dvmd_reservations_stop (reservations, job, &candidates)))
    {
      verdict = DVMD_ADMIT_WAIT;
      drop_plan (job);
      claims_of (job)->awaited = is_late ? "limit" : NULL;
    }
  if (verdict != DVMD_ADMIT_WAIT)
    return verdict;
  _dvm_job_set_held_at (dvmd_job_get_record (job), dvmd_admission_get_awaited (job));
  /* One that waits for others to end, whatever slots are free, keeps these for nobody. */
  if (!is_late && !waits_for_resume (job, &candidates))
    dvmd_reservations_add (reservations, &candidates, claims_of (job)->need);
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
  g_sequence_sort_changed (claims_of (job)->place, compare_places, NULL);
  dvmd_admission_release (self);
}

DvmdMap *
dvmd_admission_try (DvmdAdmission *self, DvmdJob *job, const char **awaited, GError **error)
{
  g_auto (DvmdCandidates) candidates = { 0 };
  DvmdAdmit verdict;

  if (!dvmd_candidates_find (&candidates, self->nodes, job, error))
    return NULL;
  verdict = judge (self, job, &candidates, error);
  *awaited = verdict == DVMD_ADMIT_WAIT ? dvmd_admission_get_awaited (job) : NULL;
  if (*awaited != NULL)
    {
      dvmd_candidates_free_all (&candidates);
      verdict = judge (self, job, &candidates, error);
    }
  return verdict == DVMD_ADMIT ? g_steal_pointer (&claims_of (job)->planned) : NULL;
}

void
dvmd_admission_give_back (DvmdAdmission *self, DvmdJob *job)
{
  Claims *claims = claims_of (job);

  drop_plan (job);
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
        claims_of (job)->slots = SLOTS_BROKEN;
      return;
    }
}

/* ---- a job's ---- */

gboolean
dvmd_admission_is_waiting (DvmdJob *job)
{
  return claims_of (job)->slots == SLOTS_AWAITED;
}

gboolean
dvmd_admission_is_broken (DvmdJob *job)
{
  return claims_of (job)->slots == SLOTS_BROKEN;
}

DvmdMap *
dvmd_admission_take_plan (DvmdJob *job)
{
  Claims *claims = claims_of (job);

  claims->turn = MIN (claims->turn, DVMD_TURN_KEPT);
  return g_steal_pointer (&claims->planned);
}

GArray *
dvmd_admission_get_claims (DvmdJob *job)
{
  return claims_of (job)->claims;
}

DvmdTurn
dvmd_admission_get_turn (DvmdJob *job)
{
  return claims_of (job)->turn;
}

void
dvmd_admission_raise_turn (DvmdJob *job, DvmdTurn turn)
{
  Claims *claims = claims_of (job);

  claims->turn = MAX (claims->turn, turn);
}

GArray *
dvmd_job_get_app_np (DvmdJob *job)
{
  return claims_of (job)->app_np;
}

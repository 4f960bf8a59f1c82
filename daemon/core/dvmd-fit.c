/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether a job fits on the nodes that it may use: at once, later, or never.
 */

#include "config.h"

#include "dvmd-admission-inner.h"

#include "dvm-placement-private.h"
#include "dvmd-core-parts.h"
#include "dvmd-job-family.h"
#include "dvmd-job-sessions.h"

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
  guint32 *np = (guint32 *)dvmd_admission_claims_of (job)->app_np->data;

  if (self->count (job, places, np, self->user_data))
    return TRUE;
  return give_slots (np, candidates, error);
}

/* The processes that the job wants. */
static gboolean
resolve_np (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  DvmdAdmissionClaims *claims = dvmd_admission_claims_of (job);
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

gboolean
dvmd_fit_may_oversubscribe (DvmdJob *job)
{
  return _dvm_job_spec_get_when_full_policy (dvmd_job_get_spec (job)) == DVM_WHEN_FULL_OVERSUBSCRIBE;
}

gboolean
dvmd_fit_may_not_wait (DvmdJob *job)
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
      GArray *claims = sibling != NULL && sibling != job ? dvmd_admission_claims_of (sibling)->claims : NULL;

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

  if (dvmd_admission_claims_of (job)->moment != MOMENT_AHEAD)
    return dvmd_admission_claims_of (job)->moment == MOMENT_RUNS;
  ending = count_slots_of_siblings (job);
  return ending > 0 && dvmd_admission_claims_of (job)->need <= candidates->n_free + ending;
}

gboolean
dvmd_fit_is_impatient (DvmdJob *job, DvmdCandidates *candidates)
{
  return dvmd_fit_may_not_wait (job) && !has_moment (job, candidates);
}

/* The job that spawned this one keeps its slots while it waits for it: slots that nobody gave refuse no child. */
gboolean
dvmd_fit_need_not_fit (DvmdJob *job, DvmdCandidates *candidates)
{
  return dvmd_job_get_parent_id (job) != 0 && !candidates->given && dvmd_fit_may_not_wait (job);
}

/* The DVM may grow by nodes on which it fits. One that does not exist (Map) waits for nothing. */
static gboolean
waits_for_growth (DvmdAdmission *self, DvmdJob *job)
{
  DvmJobSpec *spec = dvmd_job_get_spec (job);
  gboolean wants = dvm_job_spec_get_wait_for_slots (spec)
                   || (self->policy.queues && dvm_job_spec_get_when_full (spec) == NULL
                       && dvmd_job_get_parent_id (job) == 0 && !dvmd_fit_may_not_wait (job)
                       && !dvmd_fit_may_oversubscribe (job));

  dvmd_admission_claims_of (job)->may_fit = self->policy.grows && wants && dvmd_job_get_id (job) != 0;
  return dvmd_admission_claims_of (job)->may_fit;
}

/* A job that needs a drained node does not hold up jobs that do not: the node may be drained for days. */
gboolean
dvmd_fit_waits_for_nodes (DvmdJob *job, DvmdCandidates *candidates)
{
  return dvmd_admission_claims_of (job)->may_fit
         || (candidates->n_drained > 0 && dvmd_admission_claims_of (job)->need > candidates->total);
}

/* reason (transfer full) */
void
dvmd_fit_refuse (DvmdJob *job, GError **error, DvmReason *reason)
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

  if (dvmd_admission_claims_of (job)->need <= most || candidates->n_drained > 0
      || (candidates->given && dvmd_admission_claims_of (job)->need <= DVMD_MAP_MAX_PROCS
          && waits_for_growth (self, job)))
    return TRUE;
  dvmd_fit_refuse (job, error,
                   _dvm_reason_new (DVM_REASON_TOO_MANY_PROCESSES, dvmd_admission_claims_of (job)->need,
                                    candidates->nodes->len, (guint)most));
  return FALSE;
}

/* Nodes that the job may use are drained: it waits until they are resumed, unless it may not wait. */
static DvmdAdmit
judge_drained (DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  if (!dvmd_fit_may_not_wait (job))
    return DVMD_ADMIT_WAIT;
  dvmd_fit_refuse (job, error,
                   _dvm_reason_new (DVM_REASON_DRAINED, dvmd_admission_claims_of (job)->need, candidates->n_drained));
  return DVMD_ADMIT_NEVER;
}

void
dvmd_fit_drop_plan (DvmdJob *job)
{
  g_clear_pointer (&dvmd_admission_claims_of (job)->planned, dvmd_map_free);
}

/* Asks the mapper: whether it all fits is a matter of each node and application, not of sums alone. */
static gboolean
make_plan (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, DvmdPlacesKind kind, GError **error)
{
  g_autoptr (DvmdPlaces) places = dvmd_candidates_make_places (candidates, kind);

  dvmd_job_family_order (job, places);
  dvmd_fit_drop_plan (job);
  dvmd_admission_claims_of (job)->planned = self->map (job, places, self->user_data, error);
  return dvmd_admission_claims_of (job)->planned != NULL;
}

/* The job may have more processes than slots, but not more than the nodes take at most. */
static DvmdAdmit
judge_oversubscribed (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  if (dvmd_admission_claims_of (job)->need <= candidates->most
      && make_plan (self, job, candidates, DVMD_PLACES_OVERSUBSCRIBE, NULL))
    return DVMD_ADMIT;
  if (candidates->n_drained > 0)
    return judge_drained (job, candidates, error);
  return make_plan (self, job, candidates, DVMD_PLACES_OVERSUBSCRIBE_ALL, error) ? DVMD_ADMIT_WAIT : DVMD_ADMIT_NEVER;
}

static DvmdAdmit
refuse_size (DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  dvmd_fit_refuse (job, error,
                   _dvm_reason_new (DVM_REASON_TOO_MANY_FOR_SLOTS, dvmd_admission_claims_of (job)->need,
                                    (guint)(candidates->total + candidates->drained)));
  return DVMD_ADMIT_NEVER;
}

/* The job says itself that slots are a limit for it. */
static gboolean
must_fit (DvmdJob *job)
{
  return dvmd_fit_may_not_wait (job) || _dvm_job_spec_get_oversubscribe (dvmd_job_get_spec (job)) == FALSE;
}

/* A job that is larger than slots that nobody gave takes all of them when they are free, and oversubscribes. */
static DvmdAdmit
judge_not_given (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  if (must_fit (job) && dvmd_admission_claims_of (job)->need > candidates->total)
    return refuse_size (job, candidates, error);
  if (candidates->n_free == candidates->total && make_plan (self, job, candidates, DVMD_PLACES_OVERSUBSCRIBE, NULL))
    return DVMD_ADMIT;
  return make_plan (self, job, candidates, DVMD_PLACES_OVERSUBSCRIBE_ALL, error) ? DVMD_ADMIT_WAIT : DVMD_ADMIT_NEVER;
}

static DvmdAdmit
judge_too_many (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  if (dvmd_admission_claims_of (job)->need <= candidates->total + (guint64)candidates->drained)
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

  if (dvmd_admission_claims_of (job)->need > candidates->n_free)
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

      if (fits && dvmd_fit_is_impatient (job, candidates) && why != NULL)
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                       "The job needs what other jobs have, and it was not to wait: %s", why->message);
          return DVMD_ADMIT_NEVER;
        }
      if (fits)
        {
          dvmd_admission_claims_of (job)->awaited = find_awaited (self, job, candidates);
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
  if (_dvm_job_spec_get_oversubscribe (dvmd_job_get_spec (job)) != TRUE
      && dvmd_admission_claims_of (job)->need <= candidates->n_free
      && make_plan (self, job, candidates, DVMD_PLACES_FREE, &why))
    return DVMD_ADMIT;
  if (dvmd_fit_may_oversubscribe (job) || dvmd_fit_need_not_fit (job, candidates))
    return judge_oversubscribed (self, job, candidates, error);
  if (dvmd_admission_claims_of (job)->need > candidates->total)
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
  const char *awaited = dvmd_admission_claims_of (job)->awaited;

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
      dvmd_fit_refuse (job, error, _dvm_reason_new (find_no_nodes (self, job)));
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
    dvmd_fit_refuse (job, error, _dvm_reason_new (DVM_REASON_NO_FREE_NODES, candidates->n_missing));
  else
    dvmd_fit_refuse (job, error,
                     _dvm_reason_new (DVM_REASON_NO_FREE_SLOTS, dvmd_admission_claims_of (job)->need,
                                      (guint)candidates->n_free, (guint)candidates->total));
}

/* ADMIT alone leaves a plan. */
DvmdAdmit
dvmd_fit_judge (DvmdAdmission *self, DvmdJob *job, DvmdCandidates *candidates, GError **error)
{
  DvmdAdmit verdict;

  dvmd_admission_claims_of (job)->awaited = NULL;
  dvmd_admission_claims_of (job)->may_fit = FALSE;
  verdict = judge_nodes (self, job, candidates, error);
  if (verdict == DVMD_ADMIT_WAIT && dvmd_fit_is_impatient (job, candidates))
    {
      refuse_to_wait (job, candidates, error);
      verdict = DVMD_ADMIT_NEVER;
    }
  if (verdict != DVMD_ADMIT)
    dvmd_fit_drop_plan (job);
  return verdict;
}

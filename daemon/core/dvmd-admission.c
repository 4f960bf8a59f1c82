/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "dvmd-admission.h"

#include "dvm-job-spec-private.h"

/* A node whose slots are fewer is never oversubscribed beyond this: so many processes no machine has. */
#define MAX_OVERSUBSCRIBED 65536

struct _DvmdAdmission
{
  DvmdNodePool *nodes;
  GQueue waiting; /* DvmdJob, in the order of their coming */
  DvmdAdmissionRelease release;
  gpointer user_data;
};

/* What a job may use, as counted at one moment. */
typedef struct
{
  GPtrArray *nodes; /* DvmdNode */
  GArray *limits;   /* guint: slots that the job may use on each */
  GArray *free;     /* guint: those that nobody uses */
  guint total;
  guint n_free;
  guint n_drained; /* nodes that the job may use when they are resumed */
  guint drained;   /* their slots */
  gboolean given;  /* somebody gave the slots of at least one */
} Candidates;

static void
candidates_clear (Candidates *self)
{
  g_clear_pointer (&self->nodes, g_ptr_array_unref);
  g_clear_pointer (&self->limits, g_array_unref);
  g_clear_pointer (&self->free, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Candidates, candidates_clear)

static DvmdNode *
get_candidate (const Candidates *self, guint i)
{
  return g_ptr_array_index (self->nodes, i);
}

DvmdAdmission *
dvmd_admission_new (DvmdNodePool *nodes, DvmdAdmissionRelease release, gpointer user_data)
{
  DvmdAdmission *self = g_new0 (DvmdAdmission, 1);

  self->nodes = nodes;
  g_queue_init (&self->waiting);
  self->release = release;
  self->user_data = user_data;
  return self;
}

void
dvmd_admission_free (DvmdAdmission *self)
{
  g_queue_clear_full (&self->waiting, g_object_unref);
  g_free (self);
}

guint
dvmd_admission_get_n_waiting (DvmdAdmission *self)
{
  return self->waiting.length;
}

static void
add_candidate (Candidates *into, DvmdNode *node, guint limit)
{
  guint unused = node->slots > node->slots_in_use ? node->slots - node->slots_in_use : 0;

  unused = MIN (unused, limit);
  g_ptr_array_add (into->nodes, node);
  g_array_append_val (into->limits, limit);
  g_array_append_val (into->free, unused);
  into->total += limit;
  into->n_free += unused;
  /* A number behind the host is given too, where it is a limit. */
  into->given = into->given || node->slots_given || limit < node->slots;
}

static void
add_drained (Candidates *into, DvmdNode *node, guint limit)
{
  into->n_drained++;
  into->drained += limit;
  into->given = into->given || node->slots_given || limit < node->slots;
}

/* "node3:4" of --host: adds up to the limit of that node for this job alone. */
static gboolean
read_host (DvmdAdmission *self, const char *host, GHashTable *chosen, GError **error)
{
  g_autofree char *name = NULL;
  guint slots = 0;
  DvmdNode *node;

  if (!_dvm_host_parse (host, "", &name, &slots, error))
    return FALSE;
  node = dvmd_node_pool_find (self->nodes, name);
  if (node == NULL || node->rank == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "Host “%s” is not a node of this DVM", name);
      return FALSE;
    }
  if (slots == 0)
    slots = node->slots;
  slots += GPOINTER_TO_UINT (g_hash_table_lookup (chosen, node));
  g_hash_table_insert (chosen, node, GUINT_TO_POINTER (MIN (slots, node->slots)));
  return TRUE;
}

static gboolean
read_hosts (DvmdAdmission *self, DvmdJob *job, GHashTable *chosen, gboolean *everywhere, GError **error)
{
  *everywhere = FALSE;
  for (guint i = 0; i < dvm_job_spec_get_n_apps (job->spec); i++)
    {
      const char *const *hosts = dvm_app_spec_get_hosts (dvm_job_spec_get_app (job->spec, i));

      if (hosts == NULL || hosts[0] == NULL)
        {
          *everywhere = TRUE;
          continue;
        }
      for (guint k = 0; hosts[k] != NULL; k++)
        if (!read_host (self, hosts[k], chosen, error))
          return FALSE;
    }
  return TRUE;
}

static gboolean
find_candidates (DvmdAdmission *self, DvmdJob *job, Candidates *into, GError **error)
{
  g_autoptr (GHashTable) chosen = g_hash_table_new (NULL, NULL);
  gboolean everywhere;

  into->nodes = g_ptr_array_new ();
  into->limits = g_array_new (FALSE, FALSE, sizeof (guint));
  into->free = g_array_new (FALSE, FALSE, sizeof (guint));
  if (!read_hosts (self, job, chosen, &everywhere, error))
    return FALSE;
  for (guint rank = 1; rank <= dvmd_node_pool_get_max_rank (self->nodes); rank++)
    {
      DvmdNode *node = dvmd_node_pool_get (self->nodes, rank);
      guint limit;

      if (node == NULL || (!everywhere && !g_hash_table_contains (chosen, node)))
        continue;
      limit = everywhere ? node->slots : GPOINTER_TO_UINT (g_hash_table_lookup (chosen, node));
      if (dvmd_node_is_drained (node))
        add_drained (into, node, limit);
      else if (dvm_node_get_state (node->record) == DVM_NODE_STATE_UP)
        add_candidate (into, node, limit);
    }
  return TRUE;
}

/* An application without a number has what is left, or so many on each node. */
static guint
default_np (DvmdJob *job, const Candidates *candidates, guint64 given)
{
  DvmMapPolicy policy;

  _dvm_job_spec_get_map_policy (job->spec, &policy);
  if (policy.by == DVM_MAP_BY_PPR)
    return MIN (policy.per_node * (guint64)candidates->nodes->len, G_MAXINT);
  return candidates->n_free > given ? candidates->n_free - given : 1;
}

/* The processes that the job wants. */
static void
resolve_np (DvmdJob *job, const Candidates *candidates)
{
  guint n_apps = dvm_job_spec_get_n_apps (job->spec);
  guint64 given = 0;
  guint64 need = 0;

  g_clear_pointer (&job->app_np, g_array_unref);
  job->app_np = g_array_new (FALSE, TRUE, sizeof (guint));
  for (guint i = 0; i < n_apps; i++)
    given += dvm_app_spec_get_np (dvm_job_spec_get_app (job->spec, i));
  for (guint i = 0; i < n_apps; i++)
    {
      guint np = dvm_app_spec_get_np (dvm_job_spec_get_app (job->spec, i));

      if (np == 0)
        np = default_np (job, candidates, given);
      g_array_append_val (job->app_np, np);
      need += np;
    }
  job->need = MIN (need, G_MAXINT);
}

static gboolean
may_oversubscribe (DvmdJob *job)
{
  return _dvm_job_spec_get_when_full_policy (job->spec) == DVM_WHEN_FULL_OVERSUBSCRIBE;
}

static gboolean
may_not_wait (DvmdJob *job)
{
  return _dvm_job_spec_get_when_full_policy (job->spec) == DVM_WHEN_FULL_REFUSE;
}

/* One that needs a drained node does not hold up those that do not: it may be drained for days. */
static gboolean
waits_for_resume (DvmdJob *job, const Candidates *candidates)
{
  return candidates->n_drained > 0 && job->need > candidates->total;
}

static gboolean
overlaps_waiting (DvmdAdmission *self, const Candidates *candidates)
{
  for (GList *l = self->waiting.head; l != NULL; l = l->next)
    {
      g_auto (Candidates) other = { 0 };

      if (!find_candidates (self, l->data, &other, NULL))
        continue;
      if (waits_for_resume (l->data, &other))
        continue;
      for (guint i = 0; i < other.nodes->len; i++)
        if (g_ptr_array_find (candidates->nodes, g_ptr_array_index (other.nodes, i), NULL))
          return TRUE;
    }
  return FALSE;
}

/* Beyond every slot that there is: bounded, so that a number that was mistyped cannot eat the daemon's memory. */
static gboolean
check_most (DvmdJob *job, const Candidates *candidates, GError **error)
{
  guint64 most = MAX (candidates->total, (guint64)candidates->nodes->len * MAX_OVERSUBSCRIBED);

  most = MIN (most, DVMD_MAP_MAX_PROCS);
  if (job->need <= most || candidates->n_drained > 0)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "The job asks for %u processes: on its %u nodes there can be %" G_GUINT64_FORMAT " at most", job->need,
               candidates->nodes->len, most);
  return FALSE;
}

/* Nodes that it may use are drained: it fits when they are resumed, or it does not. */
static DvmdAdmit
judge_drained (DvmdJob *job, const Candidates *candidates, GError **error)
{
  if (!may_not_wait (job))
    return DVMD_ADMIT_WAIT;
  g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
               "The job asks for %u processes, %u of the nodes that it may use are drained, and it was not to wait",
               job->need, candidates->n_drained);
  return DVMD_ADMIT_NEVER;
}

static DvmdAdmit
judge_numbers (DvmdJob *job, const Candidates *candidates, GError **error)
{
  if (candidates->nodes->len == 0 && candidates->n_drained > 0)
    {
      resolve_np (job, candidates);
      return judge_drained (job, candidates, error);
    }
  if (candidates->nodes->len == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED, "None of the nodes that the job may use is up");
      return DVMD_ADMIT_NEVER;
    }
  resolve_np (job, candidates);
  if (!check_most (job, candidates, error))
    return DVMD_ADMIT_NEVER;
  job->oversubscribed = FALSE;
  if (job->need <= candidates->n_free)
    return DVMD_ADMIT;
  job->oversubscribed = TRUE;
  if (may_oversubscribe (job))
    return DVMD_ADMIT;
  if (job->need > candidates->total && job->need <= candidates->total + candidates->drained)
    return judge_drained (job, candidates, error);
  if (job->need > candidates->total && candidates->given)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                   "The job asks for %u processes, but its nodes have %u slots: ask for fewer, or allow more than one "
                   "process per slot with --when-full oversubscribe",
                   job->need, candidates->total + candidates->drained);
      return DVMD_ADMIT_NEVER;
    }
  /* Larger than all slots that nobody gave: takes all of them when they are free. */
  if (job->need > candidates->total && candidates->n_free == candidates->total)
    return DVMD_ADMIT;
  if (may_not_wait (job))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                   "The job asks for %u processes, but only %u of %u slots are free, and it was not to wait", job->need,
                   candidates->n_free, candidates->total);
      return DVMD_ADMIT_NEVER;
    }
  return DVMD_ADMIT_WAIT;
}

static void
add_claim (DvmdAdmission *self, DvmdJob *job, DvmdNode *node, guint slots)
{
  DvmdClaim claim = { .node = node->rank, .slots = slots };

  g_array_append_val (job->claims, claim);
  dvmd_node_pool_claim (self->nodes, node, dvmd_job_get_id (job), slots);
}

/* Claims what the job needs, node after node; the map makes it exact. */
static void
claim_need (DvmdAdmission *self, DvmdJob *job, const Candidates *candidates)
{
  guint left = job->need;

  job->claims = g_array_new (FALSE, FALSE, sizeof (DvmdClaim));
  for (guint i = 0; i < candidates->nodes->len && left > 0; i++)
    {
      guint take = MIN (left, g_array_index (candidates->free, guint, i));

      if (take > 0)
        add_claim (self, job, g_ptr_array_index (candidates->nodes, i), take);
      left -= take;
    }
}

/* By number: a job that is judged a second time stands ahead of those that came after it. */
static void
enqueue (DvmdAdmission *self, DvmdJob *job, gboolean came_before)
{
  GList *before = self->waiting.tail;

  while (came_before && before != NULL && dvmd_job_get_id (before->data) > dvmd_job_get_id (job))
    before = before->prev;
  job->waiting = TRUE;
  if (before == NULL)
    g_queue_push_head (&self->waiting, g_object_ref (job));
  else
    g_queue_insert_after (&self->waiting, before, g_object_ref (job));
}

DvmdAdmit
dvmd_admission_judge (DvmdAdmission *self, DvmdJob *job, GError **error)
{
  g_auto (Candidates) candidates = { 0 };
  gboolean came_before = job->claims_broken;
  DvmdAdmit verdict;

  if (came_before)
    dvmd_admission_give_back (self, job);
  /* Its slots were claimed when it left the queue. */
  if (job->claims != NULL)
    return DVMD_ADMIT;
  if (!find_candidates (self, job, &candidates, error))
    return DVMD_ADMIT_NEVER;
  verdict = judge_numbers (job, &candidates, error);
  if (verdict == DVMD_ADMIT && !came_before && !may_oversubscribe (job) && overlaps_waiting (self, &candidates))
    {
      verdict = DVMD_ADMIT_WAIT;
      if (may_not_wait (job))
        {
          g_set_error (error, DVM_ERROR, DVM_ERROR_MAP_FAILED,
                       "Other jobs wait for these nodes already, and this one was not to wait");
          return DVMD_ADMIT_NEVER;
        }
    }
  if (verdict == DVMD_ADMIT)
    claim_need (self, job, &candidates);
  else if (verdict == DVMD_ADMIT_WAIT)
    enqueue (self, job, came_before);
  return verdict;
}

void
dvmd_admission_remove (DvmdAdmission *self, DvmdJob *job)
{
  if (!job->waiting)
    return;
  job->waiting = FALSE;
  if (g_queue_remove (&self->waiting, job))
    g_object_unref (job);
}

static void
block (GHashTable *blocked, const Candidates *candidates)
{
  for (guint i = 0; i < candidates->nodes->len; i++)
    g_hash_table_add (blocked, g_ptr_array_index (candidates->nodes, i));
}

static gboolean
is_blocked (GHashTable *blocked, const Candidates *candidates)
{
  for (guint i = 0; i < candidates->nodes->len; i++)
    if (g_hash_table_contains (blocked, g_ptr_array_index (candidates->nodes, i)))
      return TRUE;
  return FALSE;
}

/* all: also those behind others, of which no slot can come free for them, are looked at. */
static void
release_waiting (DvmdAdmission *self, gboolean all)
{
  /* Nodes for which somebody further ahead waits. */
  g_autoptr (GHashTable) blocked = NULL;
  GList *next;

  if (self->waiting.length == 0)
    return;
  blocked = g_hash_table_new (NULL, NULL);
  for (GList *l = self->waiting.head; l != NULL; l = next)
    {
      DvmdJob *job = l->data;
      g_auto (Candidates) candidates = { 0 };
      g_autoptr (GError) error = NULL;
      DvmdAdmit verdict = DVMD_ADMIT_NEVER;

      next = l->next;
      if (!all && g_hash_table_size (blocked) >= dvmd_node_pool_count_usable (self->nodes)
          && dvmd_node_pool_count_up (self->nodes) > 0)
        break;
      if (find_candidates (self, job, &candidates, &error))
        verdict = judge_numbers (job, &candidates, &error);
      if (verdict == DVMD_ADMIT && is_blocked (blocked, &candidates))
        verdict = DVMD_ADMIT_WAIT;
      if (verdict == DVMD_ADMIT_WAIT)
        {
          if (!waits_for_resume (job, &candidates))
            block (blocked, &candidates);
          continue;
        }
      if (verdict == DVMD_ADMIT)
        claim_need (self, job, &candidates);
      /* One that can never fit any more goes on too: the gate tells it why. */
      g_queue_delete_link (&self->waiting, l);
      job->waiting = FALSE;
      self->release (job, self->user_data);
      g_object_unref (job);
    }
}

void
dvmd_admission_release (DvmdAdmission *self)
{
  release_waiting (self, FALSE);
}

void
dvmd_admission_nodes_changed (DvmdAdmission *self)
{
  release_waiting (self, TRUE);
}

/* What was claimed for the job is its own, also where others oversubscribe. Both are in the order of the nodes. */
static void
add_claims (Candidates *candidates, GArray *claims)
{
  guint at = 0;

  for (guint i = 0; claims != NULL && i < claims->len; i++)
    {
      const DvmdClaim *claim = &g_array_index (claims, DvmdClaim, i);

      while (at < candidates->nodes->len && get_candidate (candidates, at)->rank < claim->node)
        at++;
      if (at < candidates->nodes->len && get_candidate (candidates, at)->rank == claim->node)
        g_array_index (candidates->free, guint, at) = MAX (g_array_index (candidates->free, guint, at), claim->slots);
    }
}

GPtrArray *
dvmd_admission_get_candidates (DvmdAdmission *self, DvmdJob *job, GArray **limits, GError **error)
{
  g_autoptr (GArray) claims = job->claims != NULL ? g_array_ref (job->claims) : NULL;
  g_auto (Candidates) candidates = { 0 };

  /* The job's own claims are free for its map. */
  dvmd_admission_give_back (self, job);
  if (!find_candidates (self, job, &candidates, error))
    return NULL;
  add_claims (&candidates, claims);
  *limits = g_array_ref (job->oversubscribed ? candidates.limits : candidates.free);
  return g_steal_pointer (&candidates.nodes);
}

GPtrArray *
dvmd_admission_try (DvmdAdmission *self, DvmdJob *job, GArray **limits, gboolean *waits, GError **error)
{
  g_auto (Candidates) candidates = { 0 };
  DvmdAdmit verdict;

  if (!find_candidates (self, job, &candidates, error))
    return NULL;
  verdict = judge_numbers (job, &candidates, error);
  *waits = verdict == DVMD_ADMIT_WAIT;
  if (*waits)
    {
      g_array_set_size (candidates.free, 0);
      g_array_append_vals (candidates.free, candidates.limits->data, candidates.limits->len);
      candidates.n_free = candidates.total;
      verdict = judge_numbers (job, &candidates, error);
    }
  if (verdict != DVMD_ADMIT)
    return NULL;
  *limits = g_array_ref (job->oversubscribed ? candidates.limits : candidates.free);
  return g_steal_pointer (&candidates.nodes);
}

void
dvmd_admission_claim_map (DvmdAdmission *self, DvmdJob *job)
{
  g_autoptr (GArray) shares = dvmd_map_get_shares (job->map);

  job->claims = g_array_sized_new (FALSE, FALSE, sizeof (DvmdClaim), shares->len);
  for (guint i = 0; i < shares->len; i++)
    {
      const DvmdMapShare *share = &g_array_index (shares, DvmdMapShare, i);

      add_claim (self, job, dvmd_node_pool_get (self->nodes, share->node), share->count);
    }
}

void
dvmd_admission_give_back (DvmdAdmission *self, DvmdJob *job)
{
  job->claims_broken = FALSE;
  if (job->claims == NULL)
    return;
  for (guint i = 0; i < job->claims->len; i++)
    {
      const DvmdClaim *claim = &g_array_index (job->claims, DvmdClaim, i);
      DvmdNode *node = dvmd_node_pool_get (self->nodes, claim->node);

      if (node != NULL)
        dvmd_node_pool_give_back (self->nodes, node, dvmd_job_get_id (job), claim->slots);
    }
  g_clear_pointer (&job->claims, g_array_unref);
}

void
dvmd_admission_give_back_node (DvmdAdmission *self, DvmdJob *job, DvmdNode *node)
{
  for (guint i = 0; job->claims != NULL && i < job->claims->len; i++)
    {
      const DvmdClaim *claim = &g_array_index (job->claims, DvmdClaim, i);

      if (claim->node != node->rank)
        continue;
      dvmd_node_pool_give_back (self->nodes, node, dvmd_job_get_id (job), claim->slots);
      g_array_remove_index (job->claims, i);
      job->claims_broken = job->map == NULL;
      return;
    }
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The agent's part in fences that go by the tree.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-fences.h"
#include "dvmd-agent-pmi.h"

typedef struct
{
  DvmdAgent *agent;          /* unowned */
  const DvmdFenceTree *tree; /* (nullable) */
  gpointer user_data;
  GHashTable *jobs; /* id -> JobFences, of those whose ranks have come to one, or that have ended */
} Fences;

typedef struct
{
  gboolean ended;
  guint64 last;       /* sequence */
  GHashTable *open;   /* sequence -> Fence, those that this agent waits for */
  GHashTable *failed; /* sequence -> status: those that nobody here has come to yet */
} JobFences;

/* One that this agent has contributed to. */
typedef struct
{
  DvmdAgentJob *job; /* unowned */
  guint64 sequence;
  guint64 token;
  guint timer;
} Fence;

static Fences *
get_fences (DvmdAgent *agent)
{
  return dvmd_agent_services_get (agent, &dvmd_agent_fences_service);
}

void
dvmd_agent_set_fence_tree (DvmdAgent *agent, const DvmdFenceTree *tree, gpointer user_data)
{
  Fences *self = get_fences (agent);

  self->tree = tree;
  self->user_data = user_data;
}

static void
fence_free (gpointer data)
{
  Fence *self = data;

  dvmd_clock_remove_timer (dvmd_agent_get_parts (self->job->agent)->clock, self->timer);
  g_free (self);
}

static void
job_fences_free (gpointer data)
{
  JobFences *self = data;

  g_hash_table_unref (self->open);
  g_hash_table_unref (self->failed);
  g_free (self);
}

static JobFences *
ensure_job (DvmdAgentJob *job)
{
  Fences *fences = get_fences (job->agent);
  JobFences *self = g_hash_table_lookup (fences->jobs, GUINT_TO_POINTER (job->local->id));

  if (self != NULL)
    return self;
  self = g_new0 (JobFences, 1);
  self->open = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, fence_free);
  self->failed = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_hash_table_insert (fences->jobs, GUINT_TO_POINTER (job->local->id), self);
  return self;
}

/* The others wait as well: the controller ends it for all. */
static void
give_up (Fence *self, int status)
{
  dvmd_agent_send (self->job->agent, DVMD_MSG_FENCE_GIVEN_UP,
                   g_variant_new ("(uti)", self->job->local->id, self->sequence, status));
}

static void
on_timeout (gpointer user_data)
{
  Fence *self = user_data;

  self->timer = 0;
  give_up (self, DVMD_PMIX_ERR_TIMEOUT);
}

void
dvmd_agent_answer_fence (DvmdAgent *self, guint64 token, int status, GBytes *data)
{
  if (DVMD_CALL_SERVER (token) == DVMD_CALL_SERVER_PMI)
    dvmd_agent_answer_pmi (self, token, status, data);
  else if (dvmd_agent_has_pmix (self))
    dvmd_pmix_complete_fence (dvmd_agent_get_pmix (self), token, status, data);
}

static DvmdAgentJob *
find_tree_job (DvmdAgent *self, const DvmdPmixProc *participants, guint n_participants)
{
  DvmdAgentJob *job;

  if (get_fences (self)->tree == NULL || n_participants != 1 || participants[0].rank != DVMD_PMIX_RANK_WILDCARD)
    return NULL;
  job = dvmd_agent_find_job_named (self, participants[0].nspace);
  return job != NULL && job->options.tree_fences && !ensure_job (job)->ended ? job : NULL;
}

/* Whether the next fence of a job has failed already, of which its ranks here are only told now. */
static gboolean
take_failed (JobFences *self, int *status)
{
  gpointer value;

  if (!g_hash_table_lookup_extended (self->failed, &self->last, NULL, &value))
    return FALSE;
  g_hash_table_remove (self->failed, &self->last);
  *status = GPOINTER_TO_INT (value);
  return TRUE;
}

gboolean
dvmd_agent_contribute_fence (DvmdAgent *self, guint64 token, const DvmdPmixProc *participants, guint n_participants,
                             int status, GBytes *data, guint timeout)
{
  DvmdAgentJob *job = find_tree_job (self, participants, n_participants);
  Fences *fences = get_fences (self);
  g_autoptr (GBytes) none = g_bytes_new_static ("", 0);
  g_autoptr (GArray) agents = NULL;
  g_autofree char *key = NULL;
  JobFences *own;
  Fence *fence;
  int failure;

  if (job == NULL)
    return FALSE;
  own = ensure_job (job);
  own->last++;
  if (take_failed (own, &failure))
    {
      dvmd_agent_answer_fence (self, token, failure, none);
      return TRUE;
    }
  fence = g_new0 (Fence, 1);
  fence->job = job;
  fence->token = token;
  fence->sequence = own->last;
  if (timeout > 0)
    fence->timer = dvmd_clock_add_timer (dvmd_agent_get_parts (self)->clock, (gint64)timeout * G_USEC_PER_SEC,
                                         on_timeout, fence);
  g_hash_table_insert (own->open, &fence->sequence, fence);
  if (status != DVMD_PMIX_SUCCESS)
    {
      give_up (fence, status);
      return TRUE;
    }
  agents = dvmd_map_get_nodes (job->map);
  key = dvmd_fence_make_key (job->local->id, fence->sequence);
  fences->tree->contribute (fences->user_data, key, (const guint32 *)agents->data, agents->len,
                            dvmd_fence_part_new (agents->len, data));
  return TRUE;
}

static void
complete (DvmdAgent *self, Fence *fence, int status, GBytes *data)
{
  guint64 token = fence->token;

  g_hash_table_remove (ensure_job (fence->job)->open, &fence->sequence);
  dvmd_agent_answer_fence (self, token, status, data);
}

void
dvmd_agent_end_fences (DvmdAgentJob *job)
{
  JobFences *own = ensure_job (job);
  g_autoptr (GBytes) none = g_bytes_new_static ("", 0);
  g_autoptr (GList) fences = g_hash_table_get_values (own->open);

  own->ended = TRUE;
  for (GList *l = fences; l != NULL; l = l->next)
    complete (job->agent, l->data, DVMD_PMIX_ERR_LOST_CONNECTION, none);
}

void
dvmd_agent_forget_fences (DvmdAgentJob *job)
{
  dvmd_agent_end_fences (job);
  g_hash_table_remove (get_fences (job->agent)->jobs, GUINT_TO_POINTER (job->local->id));
}

static void
end_fence (DvmdAgentJob *job, guint64 sequence, int status, GVariant *data)
{
  g_autoptr (GBytes) bytes = g_variant_get_data_as_bytes (data);
  JobFences *own = ensure_job (job);
  Fence *fence = g_hash_table_lookup (own->open, &sequence);

  if (fence != NULL)
    complete (job->agent, fence, status, bytes);
  /* Its ranks will come to it all the same, as to any of their fences, and are to be told then. */
  else if (sequence > own->last && status != DVMD_PMIX_ERR_TIMEOUT)
    g_hash_table_insert (own->failed, g_memdup2 (&sequence, sizeof sequence), GINT_TO_POINTER (status));
  /* The library ends those whose time is over by itself: whoever comes then comes to the next one. */
  else
    own->last = MAX (own->last, sequence);
}

static void
handle_fence_result (gpointer service, guint source, GVariant *body)
{
  Fences *self = service;
  g_autoptr (GVariant) data = NULL;
  g_autofree char *key = NULL;
  DvmdAgentJob *job;
  guint64 sequence;
  guint32 id;
  gint32 status;

  g_variant_get (body, "(uti@ay)", &id, &sequence, &status, &data);
  if (self->tree == NULL)
    return;
  /* Contributions of others come by here as well. */
  key = sequence == DVMD_FENCE_ALL ? dvmd_fence_make_prefix (id) : dvmd_fence_make_key (id, sequence);
  if (sequence == DVMD_FENCE_ALL)
    self->tree->close_all (self->user_data, key);
  else
    self->tree->close (self->user_data, key);
  job = dvmd_agent_find_job (self->agent, id);
  if (job == NULL)
    return;
  if (sequence == DVMD_FENCE_ALL)
    dvmd_agent_end_fences (job);
  else
    end_fence (job, sequence, status, data);
}

/* ---- the service ---- */

static gpointer
create (DvmdAgent *agent, const DvmdAgentSettings *settings)
{
  Fences *self = g_new0 (Fences, 1);

  self->agent = agent;
  self->jobs = g_hash_table_new_full (NULL, NULL, NULL, job_fences_free);
  return self;
}

static void
fences_free (gpointer service)
{
  Fences *self = service;

  g_hash_table_unref (self->jobs);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_FENCE_RESULT, handle_fence_result },
  { 0 },
};

const DvmdAgentService dvmd_agent_fences_service = {
  .name = "fences",
  .create = create,
  .free = fences_free,
  .handlers = handlers,
};

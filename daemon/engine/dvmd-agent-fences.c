/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The agent's part in fences that go by the tree.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-private.h"

/* One that this agent has contributed to. */
typedef struct
{
  DvmdAgentJob *job; /* unowned */
  guint64 sequence;
  guint64 token;
  guint timer;
} Fence;

void
dvmd_agent_set_fence_tree (DvmdAgent *self, const DvmdFenceTree *tree, gpointer world)
{
  self->fence_tree = tree;
  self->fence_world = world;
}

static void
fence_free (gpointer data)
{
  Fence *self = data;

  dvmd_clock_remove_timer (self->job->agent->clock, self->timer);
  g_free (self);
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

static DvmdAgentJob *
find_tree_job (DvmdAgent *self, const DvmdPmixProc *participants, guint n_participants)
{
  DvmdAgentJob *job;

  if (self->fence_tree == NULL || n_participants != 1 || participants[0].rank != DVMD_PMIX_RANK_WILDCARD)
    return NULL;
  job = g_hash_table_lookup (self->by_nspace, participants[0].nspace);
  return job != NULL && job->tree_fences && !job->fences_ended ? job : NULL;
}

/* Whether the next fence of a job has failed already, of which its ranks here are only told now. */
static gboolean
take_failed (DvmdAgentJob *job, int *status)
{
  gpointer value;

  if (job->failed_fences == NULL || !g_hash_table_lookup_extended (job->failed_fences, &job->last_fence, NULL, &value))
    return FALSE;
  g_hash_table_remove (job->failed_fences, &job->last_fence);
  *status = GPOINTER_TO_INT (value);
  return TRUE;
}

/* Its ranks will come to it all the same, as to any of their fences, and are to be told then. */
static void
note_failed (DvmdAgentJob *job, guint64 sequence, int status)
{
  if (job->failed_fences == NULL)
    job->failed_fences = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_hash_table_insert (job->failed_fences, g_memdup2 (&sequence, sizeof sequence), GINT_TO_POINTER (status));
}

gboolean
dvmd_agent_contribute_fence (DvmdAgent *self, guint64 token, const DvmdPmixProc *participants, guint n_participants,
                             int status, GBytes *data, guint timeout)
{
  DvmdAgentJob *job = find_tree_job (self, participants, n_participants);
  g_autoptr (GBytes) none = g_bytes_new_static ("", 0);
  g_autoptr (GArray) agents = NULL;
  g_autofree char *key = NULL;
  Fence *fence;
  int failure;

  if (job == NULL)
    return FALSE;
  job->last_fence++;
  if (take_failed (job, &failure))
    {
      dvmd_pmix_complete_fence (self->pmix, token, failure, none);
      return TRUE;
    }
  fence = g_new0 (Fence, 1);
  fence->job = job;
  fence->token = token;
  fence->sequence = job->last_fence;
  if (timeout > 0)
    fence->timer = dvmd_clock_add_timer (self->clock, (gint64)timeout * G_USEC_PER_SEC, on_timeout, fence);
  if (job->fences == NULL)
    job->fences = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, fence_free);
  g_hash_table_insert (job->fences, &fence->sequence, fence);
  if (status != DVMD_PMIX_SUCCESS)
    {
      give_up (fence, status);
      return TRUE;
    }
  agents = dvmd_map_get_nodes (job->map);
  key = dvmd_fence_make_key (job->local->id, fence->sequence);
  self->fence_tree->contribute (self->fence_world, key, (const guint32 *)agents->data, agents->len,
                                dvmd_fence_part_new (agents->len, data));
  return TRUE;
}

static void
complete (DvmdAgent *self, Fence *fence, int status, GBytes *data)
{
  guint64 token = fence->token;

  g_hash_table_remove (fence->job->fences, &fence->sequence);
  dvmd_pmix_complete_fence (self->pmix, token, status, data);
}

void
dvmd_agent_end_fences (DvmdAgentJob *job)
{
  g_autoptr (GBytes) none = g_bytes_new_static ("", 0);
  g_autoptr (GList) fences = job->fences != NULL ? g_hash_table_get_values (job->fences) : NULL;

  job->fences_ended = TRUE;
  for (GList *l = fences; l != NULL; l = l->next)
    complete (job->agent, l->data, DVMD_PMIX_ERR_LOST_CONNECTION, none);
}

static void
end_fence (DvmdAgentJob *job, guint64 sequence, int status, GVariant *data)
{
  g_autoptr (GBytes) bytes = g_variant_get_data_as_bytes (data);
  Fence *fence = job->fences != NULL ? g_hash_table_lookup (job->fences, &sequence) : NULL;

  if (fence != NULL)
    complete (job->agent, fence, status, bytes);
  else if (sequence > job->last_fence && status != DVMD_PMIX_ERR_TIMEOUT)
    note_failed (job, sequence, status);
  /* The library ends those whose time is over by itself: whoever comes then comes to the next one. */
  else
    job->last_fence = MAX (job->last_fence, sequence);
}

void
dvmd_agent_handle_fence_result (DvmdAgent *self, GVariant *body)
{
  g_autoptr (GVariant) data = NULL;
  g_autofree char *key = NULL;
  DvmdAgentJob *job;
  guint64 sequence;
  guint32 id;
  gint32 status;

  g_variant_get (body, "(uti@ay)", &id, &sequence, &status, &data);
  if (self->fence_tree == NULL)
    return;
  /* Contributions of others come by here as well. */
  key = sequence == DVMD_FENCE_ALL ? dvmd_fence_make_prefix (id) : dvmd_fence_make_key (id, sequence);
  if (sequence == DVMD_FENCE_ALL)
    self->fence_tree->close_all (self->fence_world, key);
  else
    self->fence_tree->close (self->fence_world, key);
  job = dvmd_agent_find_job (self, id);
  if (job == NULL)
    return;
  if (sequence == DVMD_FENCE_ALL)
    dvmd_agent_end_fences (job);
  else
    end_fence (job, sequence, status, data);
}

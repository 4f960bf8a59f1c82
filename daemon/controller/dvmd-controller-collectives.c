/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fences, connects and disconnects whose participants live on several nodes.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <string.h>

#include "dvmd-services.h"
#include "dvmd-controller-collectives.h"
#include "dvmd-controller-fences.h"

typedef struct
{
  DvmdController *controller; /* unowned */
  GHashTable *fences;         /* key -> Fence */
} Collectives;

/* One fence, connect or disconnect: agents contribute, the last one completes it for all. */
typedef struct
{
  DvmdCollective kind;
  char *key;
  GVariant *participants; /* a(su) */
  GHashTable *jobs;       /* set of job ids that take part */
  GHashTable *agents;     /* set of ranks of agents that take part */
  GHashTable *missing;    /* set of those that have not contributed */
  GHashTable *tokens;     /* rank of agent -> guint64 * */
  GByteArray *data;
  int status; /* of the contributions */
  guint timer;
  Collectives *all; /* unowned */
} Fence;

static void
fence_free (gpointer data)
{
  Fence *self = data;

  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->all->controller)->clock, self->timer);
  g_hash_table_unref (self->jobs);
  g_hash_table_unref (self->agents);
  g_hash_table_unref (self->missing);
  g_hash_table_unref (self->tokens);
  g_byte_array_unref (self->data);
  g_clear_pointer (&self->participants, g_variant_unref);
  g_free (self->key);
  g_free (self);
}

static gint
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* Requests that name the same processes mean the same: the library of a node takes them in any order, too. */
static char *
make_key (DvmdCollective kind, GVariant *participants)
{
  static const char *const prefixes[] = {
    [DVMD_COLLECTIVE_FENCE] = "",
    [DVMD_COLLECTIVE_CONNECT] = "connect;",
    [DVMD_COLLECTIVE_DISCONNECT] = "disconnect;",
  };
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  GString *key = g_string_new (prefixes[kind]);
  GVariantIter iter;
  const char *nspace;
  guint32 rank;

  g_variant_iter_init (&iter, participants);
  while (g_variant_iter_next (&iter, "(&su)", &nspace, &rank))
    g_ptr_array_add (names, g_strdup_printf ("%s.%u;", nspace, rank));
  g_ptr_array_sort (names, compare_texts);
  for (guint i = 0; i < names->len; i++)
    g_string_append (key, g_ptr_array_index (names, i));
  return g_string_free (key, FALSE);
}

static gboolean
expect_agent (Fence *self, guint agent)
{
  g_hash_table_add (self->agents, GUINT_TO_POINTER (agent));
  g_hash_table_add (self->missing, GUINT_TO_POINTER (agent));
  return !dvmd_controller_is_lost (self->all->controller, agent);
}

/* FALSE: one of them is lost, or there is no such rank (any more); all of a job have none that has ended. */
static gboolean
expect_agents (Fence *self, DvmdJob *job, guint32 rank)
{
  g_autoptr (GArray) agents = NULL;

  g_hash_table_add (self->jobs, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  if (rank != DVMD_PMIX_RANK_WILDCARD)
    {
      DvmdProcTable *procs = dvmd_job_get_procs (job);

      return rank < procs->n_rows && dvmd_proc_table_row (procs, rank)->state < DVM_PROC_STATE_UNTERMINATED
             && expect_agent (self, dvmd_proc_table_row (procs, rank)->node);
    }
  if (dvm_job_get_num_terminated (dvmd_job_get_record (job)) > 0)
    return FALSE;
  agents = dvmd_map_get_nodes (dvmd_job_get_map (job));
  for (guint i = 0; i < agents->len; i++)
    if (!expect_agent (self, g_array_index (agents, guint, i)))
      return FALSE;
  return TRUE;
}

/* FALSE: a participant's job does not exist or is failing, or its node is lost. */
static gboolean
expect_participants (Fence *self, GVariant *participants)
{
  GVariantIter iter;
  const char *nspace;
  guint32 rank;

  g_variant_iter_init (&iter, participants);
  while (g_variant_iter_next (&iter, "(&su)", &nspace, &rank))
    {
      DvmdJob *job = dvmd_core_find_job (dvmd_controller_get_core (self->all->controller), nspace);

      if (job == NULL || dvmd_job_get_map (job) == NULL || dvmd_job_get_state (job) >= DVM_JOB_STATE_UNTERMINATED
          || dvmd_controller_has_failed_fences (self->all->controller, job))
        return FALSE;
      if (!expect_agents (self, job, rank))
        return FALSE;
    }
  return TRUE;
}

static Fence *
fence_new (Collectives *all, DvmdCollective kind, char *key, GVariant *participants)
{
  Fence *self = g_new0 (Fence, 1);

  self->all = all;
  self->kind = kind;
  self->key = key;
  self->participants = g_variant_ref (participants);
  self->jobs = g_hash_table_new (NULL, NULL);
  self->agents = g_hash_table_new (NULL, NULL);
  self->missing = g_hash_table_new (NULL, NULL);
  self->tokens = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->data = g_byte_array_new ();
  return self;
}

static void
send_done (DvmdController *self, DvmdCollective kind, guint agent, guint64 token, int status, GBytes *data)
{
  if (kind != DVMD_COLLECTIVE_FENCE)
    {
      dvmd_controller_send (self, agent, DVMD_MSG_CONNECTED, g_variant_new ("(ti)", token, status));
      return;
    }
  dvmd_controller_send (
      self, agent, DVMD_MSG_FENCE_DONE,
      g_variant_new ("(ti@ay)", token, status, g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING, data, TRUE)));
}

/* Every agent that takes part knows the jobs of all participants before its clients are connected. */
static void
tell_of_jobs (Fence *self)
{
  DvmdController *controller = self->all->controller;
  GHashTableIter agents;
  gpointer agent;

  g_hash_table_iter_init (&agents, self->agents);
  while (g_hash_table_iter_next (&agents, &agent, NULL))
    {
      GHashTableIter jobs;
      gpointer id;

      g_hash_table_iter_init (&jobs, self->jobs);
      while (g_hash_table_iter_next (&jobs, &id, NULL))
        dvmd_controller_tell_of_job (controller, GPOINTER_TO_UINT (agent),
                                     dvmd_core_get_job (dvmd_controller_get_core (controller), GPOINTER_TO_UINT (id)));
    }
}

static void
complete (Fence *self, int status)
{
  g_autoptr (GBytes) data = g_bytes_new (self->data->data, status == DVMD_PMIX_SUCCESS ? self->data->len : 0);
  GHashTableIter iter;
  gpointer agent;
  gpointer token;

  if (self->kind == DVMD_COLLECTIVE_CONNECT && status == DVMD_PMIX_SUCCESS)
    tell_of_jobs (self);
  g_hash_table_iter_init (&iter, self->tokens);
  while (g_hash_table_iter_next (&iter, &agent, &token))
    send_done (self->all->controller, self->kind, GPOINTER_TO_UINT (agent), *(guint64 *)token, status, data);
  g_hash_table_remove (self->all->fences, self->key);
}

static void
on_fence_timeout (gpointer user_data)
{
  Fence *self = user_data;

  self->timer = 0;
  complete (self, DVMD_PMIX_ERR_TIMEOUT);
}

/* For source to come to; NULL: it cannot be completed any more, or is none of that agent's. */
static Fence *
find_fence (Collectives *self, DvmdCollective kind, guint source, GVariant *participants, guint32 timeout)
{
  g_autofree char *key = make_key (kind, participants);
  Fence *fence = g_hash_table_lookup (self->fences, key);

  if (fence != NULL)
    return g_hash_table_contains (fence->agents, GUINT_TO_POINTER (source)) ? fence : NULL;
  fence = fence_new (self, kind, g_steal_pointer (&key), participants);
  if (!expect_participants (fence, participants) || !g_hash_table_contains (fence->agents, GUINT_TO_POINTER (source)))
    {
      fence_free (fence);
      return NULL;
    }
  if (timeout > 0)
    fence->timer = dvmd_clock_add_timer (dvmd_controller_get_parts (self->controller)->clock,
                                         (gint64)timeout * G_USEC_PER_SEC, on_fence_timeout, fence);
  g_hash_table_insert (self->fences, g_strdup (fence->key), fence);
  return fence;
}

static void
add_data (Fence *self, GVariant *data, int status)
{
  if (self->data->len + g_variant_get_size (data) > DVMD_FENCE_LIMIT)
    status = DVMD_PMIX_ERROR;
  if (self->status == DVMD_PMIX_SUCCESS && status == DVMD_PMIX_ERROR)
    g_message ("What the ranks of a fence contribute is more than %d MiB", (int)(DVMD_FENCE_LIMIT / 1024 / 1024));
  if (self->status == DVMD_PMIX_SUCCESS)
    self->status = status;
  if (self->status == DVMD_PMIX_SUCCESS)
    g_byte_array_append (self->data, g_variant_get_data (data), g_variant_get_size (data));
}

static void
contribute (Fence *fence, guint source, guint64 token, GVariant *data, int status)
{
  add_data (fence, data, status);
  g_hash_table_insert (fence->tokens, GUINT_TO_POINTER (source), g_memdup2 (&token, sizeof token));
  g_hash_table_remove (fence->missing, GUINT_TO_POINTER (source));
  if (g_hash_table_size (fence->missing) == 0)
    complete (fence, fence->status);
}

void
dvmd_controller_join_collective (DvmdController *self, DvmdCollective kind, guint source, guint64 token,
                                 GVariant *participants, GVariant *data, guint32 timeout, int status)
{
  Collectives *all = dvmd_services_get (self, &dvmd_collectives_service);
  g_autoptr (GBytes) none = g_bytes_new_static ("", 0);
  Fence *fence = find_fence (all, kind, source, participants, timeout);

  if (fence == NULL)
    send_done (self, kind, source, token, DVMD_PMIX_ERR_LOST_CONNECTION, none);
  else
    contribute (fence, source, token, data, status);
}

static void
handle_fence (gpointer service, guint source, GVariant *body)
{
  Collectives *self = service;
  g_autoptr (GVariant) participants = NULL;
  g_autoptr (GVariant) data = NULL;
  gboolean collect;
  guint64 token;
  guint32 timeout;
  gint32 status;

  g_variant_get (body, "(t@a(su)b@ayui)", &token, &participants, &collect, &data, &timeout, &status);
  dvmd_controller_join_collective (self->controller, DVMD_COLLECTIVE_FENCE, source, token, participants, data, timeout,
                                   status);
}

/* An agent that has contributed has the rank in it; of the others none would come any more. */
static gboolean
waits_for (const Fence *self, const char *nspace, guint32 rank, guint agent)
{
  GVariantIter iter;
  const char *name;
  guint32 number;

  if (!g_hash_table_contains (self->missing, GUINT_TO_POINTER (agent)))
    return FALSE;
  g_variant_iter_init (&iter, self->participants);
  while (g_variant_iter_next (&iter, "(&su)", &name, &number))
    if ((number == rank || number == DVMD_PMIX_RANK_WILDCARD) && g_str_equal (name, nspace))
      return TRUE;
  return FALSE;
}

/* A process that has ended does not take part in any open collective. */
static void
proc_ended (gpointer service, DvmdJob *job, guint32 rank)
{
  Collectives *self = service;
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (job));
  g_autoptr (GPtrArray) broken = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer fence;

  if (g_hash_table_size (self->fences) == 0 || dvmd_job_get_procs (job) == NULL)
    return;
  g_hash_table_iter_init (&iter, self->fences);
  while (g_hash_table_iter_next (&iter, NULL, &fence))
    if (waits_for (fence, nspace, rank, dvmd_proc_table_row (dvmd_job_get_procs (job), rank)->node))
      g_ptr_array_add (broken, fence);
  for (guint i = 0; i < broken->len; i++)
    complete (g_ptr_array_index (broken, i), DVMD_PMIX_ERR_LOST_CONNECTION);
}

/* The process that comes in its place begins with the next one. */
static void
proc_failed (gpointer service, DvmdJob *job, guint32 rank, int exit_code, int exit_signal)
{
  proc_ended (service, job, rank);
}

/* Those of a job, or (job 0) those of an agent. */
static void
fail_fences (Collectives *self, guint job, guint agent)
{
  g_autoptr (GPtrArray) broken = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer fence;

  g_hash_table_iter_init (&iter, self->fences);
  while (g_hash_table_iter_next (&iter, NULL, &fence))
    if (job > 0 ? g_hash_table_contains (((Fence *)fence)->jobs, GUINT_TO_POINTER (job))
                : g_hash_table_contains (((Fence *)fence)->agents, GUINT_TO_POINTER (agent)))
      g_ptr_array_add (broken, fence);
  for (guint i = 0; i < broken->len; i++)
    complete (g_ptr_array_index (broken, i), DVMD_PMIX_ERR_LOST_CONNECTION);
}

static void
fail_fences_of_job (gpointer service, DvmdJob *job)
{
  fail_fences (service, dvmd_job_get_id (job), 0);
}

static void
agent_gone (gpointer service, guint rank)
{
  fail_fences (service, 0, rank);
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  Collectives *self = service;

  dvmd_services_add_number (statistics, "collectives-open", g_hash_table_size (self->fences));
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Collectives *self = g_new0 (Collectives, 1);

  self->controller = controller;
  self->fences = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, fence_free);
  return self;
}

static void
collectives_free (gpointer service)
{
  Collectives *self = service;

  g_hash_table_unref (self->fences);
  g_free (self);
}

static const DvmdHandler handlers[] = { { DVMD_MSG_FENCE, handle_fence }, { 0 } };

const DvmdService dvmd_collectives_service = {
  .name = "collectives",
  .create = create,
  .free = collectives_free,
  .handlers = handlers,
  .job_killed = fail_fences_of_job,
  .job_ended = fail_fences_of_job,
  .proc_ended = proc_ended,
  .proc_failed = proc_failed,
  .agent_gone = agent_gone,
  .add_statistics = add_statistics,
};

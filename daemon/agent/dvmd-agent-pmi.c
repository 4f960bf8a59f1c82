/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranks that speak PMI-1 are for the agent what clients of its PMIx server are: they come in by the same interface.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-pmi.h"

#include "dvmd-agent-host.h"
#include "dvmd-pmi-mapping.h"
#include "dvmd-pmi-server.h"

/* The struct of the service: DvmdAgentJob -> DvmdPmiServer, of jobs of which a rank was started. */
static GHashTable *
get_servers (DvmdAgent *agent)
{
  return dvmd_agent_services_get (agent, &dvmd_agent_pmi_service);
}

static void
initialized (guint32 rank, gpointer user_data)
{
  DvmdAgentJob *job = user_data;

  dvmd_pmix_host_connected (DVMD_PMIX_HOST (job->agent), job->local->nspace, rank);
}

static void
finalized (guint32 rank, gpointer user_data)
{
  DvmdAgentJob *job = user_data;

  dvmd_pmix_host_finalized (DVMD_PMIX_HOST (job->agent), job->local->nspace, rank);
}

static void
lost (guint32 rank, gpointer user_data)
{
  DvmdAgentJob *job = user_data;

  dvmd_pmix_host_lost (DVMD_PMIX_HOST (job->agent), job->local->nspace, rank);
}

static void
aborted (guint32 rank, int status, gpointer user_data)
{
  DvmdAgentJob *job = user_data;

  dvmd_pmix_host_abort (DVMD_PMIX_HOST (job->agent), job->local->nspace, rank, status, NULL, NULL, 0);
}

/*
 * There is one at a time of a job: its id is the token. A fence looks by itself for those that are lost. The ranks are
 * named one by one: a fence of the whole job is that of ranks that speak PMIx.
 */
static void
exchange (GBytes *news, gboolean any_lost, gpointer user_data)
{
  DvmdAgentJob *job = user_data;
  g_autoptr (GArray) nodes = dvmd_map_get_nodes (job->map);
  const guint64 token = (guint64)DVMD_CALL_SERVER_PMI << DVMD_CALL_SERVER_SHIFT | job->local->id;
  g_autofree DvmdPmixProc *ranks = NULL;

  if (nodes->len == 1)
    {
      dvmd_pmi_server_exchanged (g_hash_table_lookup (get_servers (job->agent), job), !any_lost, NULL);
      return;
    }
  ranks = g_new (DvmdPmixProc, job->map->num_procs);
  for (guint32 rank = 0; rank < job->map->num_procs; rank++)
    ranks[rank] = (DvmdPmixProc){ job->local->nspace, rank };
  dvmd_pmix_host_fence (DVMD_PMIX_HOST (job->agent), token, ranks, job->map->num_procs, news, TRUE, 0);
}

void
dvmd_agent_answer_pmi (DvmdAgent *self, guint64 token, int status, GBytes *data)
{
  DvmdAgentJob *job = dvmd_agent_find_job (self, (guint32)token);
  DvmdPmiServer *server = job != NULL ? g_hash_table_lookup (get_servers (self), job) : NULL;

  if (server != NULL)
    dvmd_pmi_server_exchanged (server, status == DVMD_PMIX_SUCCESS, data);
}

static char *
build_mapping (gpointer user_data)
{
  DvmdAgentJob *job = user_data;
  g_autoptr (DvmdProcTable) table = dvmd_map_expand (job->map);
  g_autofree guint32 *nodes = g_new (guint32, table->n_rows);

  for (guint rank = 0; rank < table->n_rows; rank++)
    nodes[rank] = dvmd_proc_table_row (table, rank)->node;
  return dvmd_pmi_mapping_build (nodes, table->n_rows);
}

static const DvmdPmiFuncs funcs = {
  .initialized = initialized,
  .finalized = finalized,
  .lost = lost,
  .aborted = aborted,
  .exchange = exchange,
  .build_mapping = build_mapping,
};

gboolean
dvmd_agent_offers_pmi (const DvmdAgentJob *job)
{
  return job->registered;
}

int
dvmd_agent_open_pmi (DvmdAgentJob *job, const DvmdLocalProc *proc, GError **error)
{
  const DvmdPmiSettings settings = {
    .clock = dvmd_agent_get_parts (job->agent)->clock,
    .context = dvmd_agent_get_parts (job->agent)->context,
    .nspace = job->local->nspace,
    .universe_size = job->universe,
    .n_local = job->local->procs->len,
  };
  DvmdPmiServer *server = g_hash_table_lookup (get_servers (job->agent), job);

  if (server == NULL)
    {
      server = dvmd_pmi_server_new (&settings, &funcs, job);
      g_hash_table_insert (get_servers (job->agent), job, server);
    }
  return dvmd_pmi_server_open (server, proc->local_rank, proc->rank, proc->app, error);
}

void
dvmd_agent_hear_pmi (DvmdAgentJob *job, const DvmdLocalProc *proc)
{
  DvmdPmiServer *server = g_hash_table_lookup (get_servers (job->agent), job);

  if (server != NULL)
    dvmd_pmi_server_rank_reaped (server, proc->local_rank);
}

void
dvmd_agent_close_pmi (DvmdAgentJob *job, const DvmdLocalProc *proc)
{
  DvmdPmiServer *server = g_hash_table_lookup (get_servers (job->agent), job);

  if (server != NULL)
    dvmd_pmi_server_rank_ended (server, proc->local_rank);
}

void
dvmd_agent_forget_pmi (DvmdAgentJob *job)
{
  g_hash_table_remove (get_servers (job->agent), job);
}

/* ---- the service ---- */

static gpointer
create (DvmdAgent *agent, const DvmdAgentSettings *settings)
{
  return g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)dvmd_pmi_server_free);
}

static void
servers_free (gpointer service)
{
  g_hash_table_unref (service);
}

const DvmdAgentService dvmd_agent_pmi_service = {
  .name = "pmi",
  .create = create,
  .free = servers_free,
};

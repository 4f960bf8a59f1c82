/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranks that speak PMI-1 are for the agent what clients of its PMIx server are: they come in by the same interface.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-pmi.h"

#include <signal.h>
#include <sys/wait.h>

#include "dvmd-agent-host.h"
#include "dvmd-agent-pmi-calls.h"
#include "dvmd-agent-ranks.h"
#include "dvmd-fence.h"
#include "dvmd-log.h"
#include "dvmd-pmi-mapping.h"
#include "dvmd-pmi-server.h"

/* The struct of the service: DvmdAgentJob -> DvmdPmiServer, of jobs of which a rank was started. */
static GHashTable *
get_servers (DvmdAgent *agent)
{
  return dvmd_agent_services_get (agent, &dvmd_agent_pmi_service);
}

/* A rank may run programs one after the other: one that was let go on does not wait in the next one, either. */
static gboolean
initialized (guint32 rank, gpointer user_data)
{
  DvmdAgentJob *job = user_data;
  DvmdLocalProc *proc = dvmd_local_job_find_proc (job->local, rank);

  proc->flags &= ~DVMD_PROC_FINALIZED;
  proc->restart.pmi = TRUE;
  dvmd_pmix_host_connected (DVMD_PMIX_HOST (job->agent), job->local->nspace, rank);
  if (job->options.stop != DVM_STOP_IN_INIT || !dvmd_agent_is_to_wait (job, proc))
    return TRUE;
  dvmd_pmix_host_ready_for_debug (DVMD_PMIX_HOST (job->agent), job->local->nspace, rank);
  return FALSE;
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
aborted (guint32 rank, int status, const char *message, gpointer user_data)
{
  DvmdAgentJob *job = user_data;
  g_autofree char *words = message != NULL ? g_utf8_make_valid (message, -1) : NULL;

  dvmd_pmix_host_abort (DVMD_PMIX_HOST (job->agent), job->local->nspace, rank, status, words, NULL, 0);
}

/*
 * There is one at a time of a job: its id is the token. The ranks are named one by one: a fence of the whole job is
 * that of ranks that speak PMIx.
 */
static void
send_fence (DvmdAgentJob *job, GBytes *news, gboolean fails)
{
  const guint64 token = (guint64)DVMD_CALL_SERVER_PMI << DVMD_CALL_SERVER_SHIFT | job->local->id;
  g_autoptr (GBytes) none = g_bytes_new_static ("", 0);
  gint32 status = DVMD_PMIX_SUCCESS;
  GVariantBuilder rows;

  /* The controller itself never says that: it says LOST_CONNECTION where no barrier of the job can be any more. */
  if (fails)
    status = DVMD_PMIX_ERR_UNREACH;
  else if (g_bytes_get_size (news) > DVMD_FENCE_LIMIT)
    status = DVMD_PMIX_ERROR;
  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(su)"));
  for (guint32 rank = 0; rank < job->map->num_procs; rank++)
    g_variant_builder_add (&rows, "(su)", job->local->nspace, rank);
  dvmd_agent_send (job->agent, DVMD_MSG_FENCE,
                   g_variant_new ("(ta(su)b@ayui)", token, &rows, TRUE,
                                  g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING,
                                                            status == DVMD_PMIX_SUCCESS ? news : none, TRUE),
                                  0, status));
}

static void
exchange (GBytes *news, gboolean any_lost, gpointer user_data)
{
  DvmdAgentJob *job = user_data;
  g_autoptr (GArray) nodes = dvmd_map_get_nodes (job->map);

  if (nodes->len == 1)
    dvmd_pmi_server_exchanged (g_hash_table_lookup (get_servers (job->agent), job), !any_lost, NULL);
  else
    send_fence (job, news, any_lost);
}

void
dvmd_agent_answer_pmi (DvmdAgent *self, guint64 token, int status, GBytes *data)
{
  DvmdPmiServer *server = dvmd_agent_find_pmi (self, (guint32)token);

  if (server == NULL)
    return;
  dvmd_pmi_server_exchanged (server, status == DVMD_PMIX_SUCCESS, data);
  if (status != DVMD_PMIX_ERR_LOST_CONNECTION)
    dvmd_pmi_server_await_barrier (server);
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
  .ask_names = dvmd_agent_pmi_ask_names,
  .spawn = dvmd_agent_pmi_spawn,
  .build_mapping = build_mapping,
};

DvmdPmiServer *
dvmd_agent_find_pmi (DvmdAgent *self, guint job_id)
{
  DvmdAgentJob *job = dvmd_agent_find_job (self, job_id);

  return job != NULL ? g_hash_table_lookup (get_servers (self), job) : NULL;
}

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
    .size = job->map->num_procs,
    .universe_size = job->universe,
    .n_local = job->local->procs->len,
    .n_elsewhere = job->map->num_procs - job->local->procs->len,
  };
  DvmdPmiServer *server = g_hash_table_lookup (get_servers (job->agent), job);

  if (server == NULL)
    {
      server = dvmd_pmi_server_new (&settings, &funcs, job);
      dvmd_agent_seed_pmi (job, server);
      g_hash_table_insert (get_servers (job->agent), job, server);
    }
  return dvmd_pmi_server_open (server, proc->local_rank, proc->rank, proc->app, error);
}

/* As the process itself, or as a shell says it of the program that it has run. */
static gboolean
has_ended_by (int status, int signum)
{
  return WIFSIGNALED (status) ? WTERMSIG (status) == signum : WEXITSTATUS (status) == 128 + signum;
}

/* MPICH shut the socket down in MPI_Finalize until 4.1: what the next program sends on it does not come here. */
void
dvmd_agent_hear_pmi (DvmdAgentJob *job, const DvmdLocalProc *proc)
{
  DvmdPmiServer *server = g_hash_table_lookup (get_servers (job->agent), job);

  if (server != NULL && dvmd_pmi_server_rank_reaped (server, proc->local_rank) && has_ended_by (proc->status, SIGPIPE))
    dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, job->local->nspace, proc->rank,
                   "it has ended by SIGPIPE after MPI_Finalize: a second MPI program in one rank needs a library that "
                   "leaves the PMI connection to it");
}

void
dvmd_agent_await_pmi (DvmdAgentJob *job, const DvmdLocalProc *proc)
{
  DvmdPmiServer *server = g_hash_table_lookup (get_servers (job->agent), job);

  if (server != NULL)
    dvmd_pmi_server_rank_comes_back (server, proc->local_rank);
}

void
dvmd_agent_close_pmi (DvmdAgentJob *job, const DvmdLocalProc *proc)
{
  DvmdPmiServer *server = g_hash_table_lookup (get_servers (job->agent), job);

  if (server != NULL)
    dvmd_pmi_server_rank_ended (server, proc->local_rank);
}

void
dvmd_agent_let_pmi_go_on (DvmdAgentJob *job, const DvmdLocalProc *proc)
{
  DvmdPmiServer *server = g_hash_table_lookup (get_servers (job->agent), job);

  if (server != NULL)
    dvmd_pmi_server_go_on (server, proc->local_rank);
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

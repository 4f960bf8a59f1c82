/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The node's PMIx server asks the agent, and the agent tells it of jobs, fences and lost nodes.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-agent"

#include "dvmd-agent-binding.h"
#include "dvmd-agent-devices.h"
#include "dvmd-agent-fences.h"
#include "dvmd-agent-host.h"
#include "dvmd-agent-pmix.h"
#include "dvmd-agent-procs.h"
#include "dvmd-agent-ranks.h"

#include <stdio.h>
#include <string.h>

#include "dvmd-binding.h"
#include "dvmd-log.h"
#include "dvmd-memory.h"
#include "dvmd-pmix-open.h"
#include "dvmd-proc-scan.h"

typedef struct
{
  DvmdAgent *agent; /* unowned */
  char *gds;        /* (nullable) */
  gboolean tools;
  guint n_servers;                   /* processes; 0: the library is in this one */
  DvmdAgentPmixProcesses *processes; /* (nullable) */
  DvmdMemory *memory;
} Server;

static DvmdPmix *
open_pmix (Server *self, GError **error)
{
  if (self->n_servers == 0)
    return dvmd_pmix_open (error);
  self->processes = dvmd_agent_pmix_processes_new (self->agent);
  return dvmd_agent_pmix_processes_open (self->processes, dvmd_agent_get_parts (self->agent)->clock, self->n_servers);
}

gboolean
dvmd_agent_start_pmix (DvmdAgent *agent, GError **error)
{
  Server *self = dvmd_agent_services_get (agent, &dvmd_agent_pmix_service);
  const DvmdAgentParts *names = dvmd_agent_get_parts (agent);
  DvmdPmixSettings settings = {
    .runtime_dir = names->runtime_dir,
    .nspace = names->nspace,
    .rank = names->rank,
    .node_name = names->name,
    .topology = dvmd_agent_get_parts (agent)->topology,
    .tools = self->tools,
    .gds = self->gds,
  };
  DvmdPmix *pmix = dvmd_agent_get_pmix (agent);

  if (pmix == NULL)
    pmix = open_pmix (self, error);
  dvmd_agent_set_pmix (agent, pmix, FALSE);
  if (pmix == NULL || !dvmd_pmix_start (pmix, &settings, (DvmdPmixHost *)agent, error))
    return FALSE;
  dvmd_agent_set_pmix (agent, pmix, TRUE);
  return TRUE;
}

DvmdPmixJob *
dvmd_agent_describe_nodes (DvmdAgent *self, const char *nspace, DvmdMap *map)
{
  Server *server = dvmd_agent_services_get (self, &dvmd_agent_pmix_service);
  g_autoptr (GArray) ranks = dvmd_map_get_nodes (map);
  g_autofree const char **names = g_new0 (const char *, ranks->len + 1);
  g_autofree guint32 *ids = g_new (guint32, ranks->len);
  guint my_node = G_MAXUINT32;
  DvmdPmixJob *description;

  for (guint i = 0; i < ranks->len; i++)
    {
      names[i] = dvmd_agent_get_node_name (self, g_array_index (ranks, guint, i));
      /* The controller has rank 0, and PMIx counts nodes from 0. */
      ids[i] = g_array_index (ranks, guint, i) - 1;
      if (g_array_index (ranks, guint, i) == dvmd_agent_get_parts (self)->rank)
        my_node = i;
    }
  description = dvmd_pmix_job_new (nspace, names, my_node);
  dvmd_pmix_job_set_node_ids (description, ids);
  description->memory = dvmd_memory_find_limit (server->memory, dvmd_agent_get_parts (self)->memory);
  return description;
}

static gboolean
is_here (const DvmdAgentJob *job, const DvmdProcRow *row)
{
  return job != NULL && row->node == dvmd_agent_get_parts (job->agent)->rank;
}

void
dvmd_agent_describe_ranks (DvmdPmixJob *description, DvmdMap *map, const DvmdAgentJob *job)
{
  g_autoptr (GArray) ranks = dvmd_map_get_nodes (map);
  g_autoptr (GHashTable) positions = g_hash_table_new (NULL, NULL);
  /* Clients may ask for every rank; once the library knows them, the rows are not needed any more. */
  g_autoptr (DvmdProcTable) table = dvmd_map_expand (map);

  for (guint app = 0; app < description->apps->len; app++)
    dvmd_pmix_job_set_policies (description, app, dvmd_map_get_map_by (map, app), dvmd_map_get_rank_by (map, app),
                                dvmd_binding_get_name (dvmd_map_get_policy (map, app)));

  for (guint i = 0; i < ranks->len; i++)
    g_hash_table_insert (positions, GUINT_TO_POINTER (g_array_index (ranks, guint, i)), GUINT_TO_POINTER (i));
  for (guint rank = 0; rank < table->n_rows; rank++)
    {
      DvmdProcRow *row = dvmd_proc_table_row (table, rank);
      g_autofree char *devices = NULL;

      dvmd_pmix_job_add_rank (
          description, GPOINTER_TO_UINT (g_hash_table_lookup (positions, GUINT_TO_POINTER (row->node))),
          row->local_rank, row->node_rank, is_here (job, row) ? dvmd_agent_get_cpus (job, row->local_rank) : NULL);
      devices = is_here (job, row) ? dvmd_agent_dup_devices (job, row->local_rank) : NULL;
      if (devices != NULL)
        dvmd_pmix_job_set_devices (description, rank, devices);
    }
}

DvmdPmixJob *
dvmd_agent_describe_job (DvmdAgentJob *job)
{
  DvmdPmixJob *description = dvmd_agent_describe_nodes (job->agent, job->local->nspace, job->map);
  g_autofree const char **psets = job->options.psets != NULL ? g_variant_get_strv (job->options.psets, NULL) : NULL;

  description->universe_size = job->universe;
  description->parent_nspace = g_strdup (job->options.parent);
  description->parent_rank = job->options.parent_rank;
  description->offset = job->options.offset;
  description->session_id = job->options.session;
  description->alloc_id = g_strdup (job->options.alloc_id);
  description->info = job->options.pmix_info != NULL ? g_variant_ref (job->options.pmix_info) : NULL;
  description->may_restart = job->options.max_restarts > 0;
  /* Else the value that names the ranks is among those of the spawn. */
  if (job->options.stop_ranks != NULL)
    description->stop = DVMD_PMIX_STOP_NONE;
  else if (job->options.stop == DVM_STOP_IN_INIT)
    description->stop = DVMD_PMIX_STOP_IN_INIT;
  else if (job->options.stop == DVM_STOP_IN_APP)
    description->stop = DVMD_PMIX_STOP_IN_APP;
  for (guint i = 0; i < job->apps->len; i++)
    {
      DvmdAgentApp *app = g_ptr_array_index (job->apps, i);

      dvmd_pmix_job_add_app (description, (const char *const *)app->argv, app->cwd, app->size);
      if (psets != NULL)
        dvmd_pmix_job_set_pset (description, i, psets[i]);
    }
  dvmd_agent_describe_ranks (description, job->map, job);
  return description;
}

static void
connected (DvmdPmixHost *host, const char *nspace, guint32 rank)
{
  DvmdLocalProc *proc = dvmd_agent_find_proc ((DvmdAgent *)host, nspace, rank);

  if (proc != NULL)
    dvmd_local_proc_registered (proc);
}

static void
finalized (DvmdPmixHost *host, const char *nspace, guint32 rank)
{
  DvmdLocalProc *proc = dvmd_agent_find_proc ((DvmdAgent *)host, nspace, rank);

  if (proc != NULL)
    dvmd_local_proc_finalized (proc);
}

static void
ready_for_debug (DvmdPmixHost *host, const char *nspace, guint32 rank)
{
  DvmdAgent *self = (DvmdAgent *)host;
  DvmdLocalProc *proc = dvmd_agent_find_proc (self, nspace, rank);

  if (proc != NULL)
    dvmd_agent_proc_waits (dvmd_agent_find_job_named (self, nspace), proc);
}

static void
lost (DvmdPmixHost *host, const char *nspace, guint32 rank)
{
  DvmdAgent *self = (DvmdAgent *)host;
  DvmdLocalProc *proc = dvmd_agent_find_proc (self, nspace, rank);

  /* Tools go that way, also when all is well. */
  if (dvmd_agent_tool_lost (self, nspace, rank))
    return;
  /* Its end comes from the reaper, with a status; that ends the job as its policy says. */
  dvmd_log_about (G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG,
                  &(DvmdLogSubject){ nspace, &rank, dvmd_agent_get_parts (self)->name }, "its connection broke");
  if (proc != NULL)
    dvmd_agent_proc_lost (dvmd_agent_find_job_named (self, nspace), proc);
}

/* An abort that names no process means all of its job. */
static gboolean
aborts_itself (const char *nspace, guint32 rank, const DvmdPmixProc *targets, guint n_targets)
{
  for (guint i = 0; i < n_targets; i++)
    if (g_str_equal (targets[i].nspace, nspace)
        && (targets[i].rank == rank || targets[i].rank == DVMD_PMIX_RANK_WILDCARD))
      return TRUE;
  return n_targets == 0;
}

static void
abort_called (DvmdPmixHost *host, const char *nspace, guint32 rank, int status, const char *message,
              const DvmdPmixProc *targets, guint n_targets)
{
  DvmdAgent *self = (DvmdAgent *)host;
  DvmdAgentJob *job = dvmd_agent_find_job_named (self, nspace);
  DvmdLocalProc *proc = dvmd_agent_find_proc (self, nspace, rank);

  if (proc != NULL && aborts_itself (nspace, rank, targets, n_targets))
    dvmd_local_proc_called_abort (proc, status);
  if (n_targets > 0 && dvmd_agent_is_here (self, nspace, rank))
    dvmd_agent_abort_procs (self, nspace, rank, status, message, targets, n_targets);
  else if (n_targets == 0 && proc != NULL)
    dvmd_agent_send (self, DVMD_MSG_ABORT,
                     g_variant_new ("(uuis)", job->local->id, rank, status, message != NULL ? message : ""));
}

/* ---- collectives with ranks on other nodes ---- */

/* The kernel sets this before it closes a process's connections; field 9 of /proc/PID/stat, see PF_EXITING there. */
#define EXITING_FLAG 0x4

static gboolean
is_exiting (int pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/stat", pid);
  g_autofree char *text = NULL;
  const char *rest;
  guint flags = 0;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return TRUE;
  rest = strrchr (text, ')');
  return rest == NULL || sscanf (rest + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1 || (flags & EXITING_FLAG) != 0;
}

/*
 * The library lets a fence go on without the local ranks that have died, and says so of none but those that it
 * completes by itself.
 */
gboolean
dvmd_agent_has_lost_participant (DvmdAgent *self, const DvmdPmixProc *participant)
{
  DvmdAgentJob *job = dvmd_agent_find_job_named (self, participant->nspace);

  for (guint i = 0; job != NULL && i < job->local->procs->len; i++)
    {
      DvmdLocalProc *proc = g_ptr_array_index (job->local->procs, i);
      gboolean takes_part = participant->rank == DVMD_PMIX_RANK_WILDCARD || participant->rank == proc->rank;

      /* One that comes to PMIx_Init for the first time is waited for. */
      if (takes_part && (proc->flags & DVMD_PROC_FINALIZED) == 0
          && (!proc->comes_back || (proc->flags & DVMD_PROC_REGISTERED))
          && (proc->lost || proc->reaped_at != 0 || is_exiting (proc->pid)))
        return TRUE;
    }
  return FALSE;
}

static void
fence (DvmdPmixHost *host, guint64 token, const DvmdPmixProc *participants, guint n_participants, GBytes *data,
       gboolean collect, guint timeout)
{
  DvmdAgent *self = (DvmdAgent *)host;
  g_autoptr (GBytes) none = g_bytes_new_static ("", 0);
  gint32 status = DVMD_PMIX_SUCCESS;
  GVariantBuilder rows;

  for (guint i = 0; i < n_participants && status == DVMD_PMIX_SUCCESS; i++)
    if (dvmd_agent_has_lost_participant (self, &participants[i]))
      status = DVMD_PMIX_ERR_LOST_CONNECTION;
  if (dvmd_agent_contribute_fence (self, token, participants, n_participants, status, data, timeout))
    return;
  if (status != DVMD_PMIX_SUCCESS)
    data = none;
  else if (g_bytes_get_size (data) > DVMD_FENCE_LIMIT)
    {
      status = DVMD_PMIX_ERROR;
      data = none;
    }
  g_variant_builder_init (&rows, G_VARIANT_TYPE ("a(su)"));
  for (guint i = 0; i < n_participants; i++)
    g_variant_builder_add (&rows, "(su)", participants[i].nspace, participants[i].rank);
  dvmd_agent_send (self, DVMD_MSG_FENCE,
                   g_variant_new ("(ta(su)b@ayui)", token, &rows, collect,
                                  g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING, data, TRUE), timeout, status));
}

static void
handle_fence_done (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = ((Server *)service)->agent;
  g_autoptr (GVariant) data = NULL;
  g_autoptr (GBytes) bytes = NULL;
  guint64 token;
  gint32 status;

  g_variant_get (body, "(ti@ay)", &token, &status, &data);
  bytes = g_variant_get_data_as_bytes (data);
  dvmd_agent_answer_fence (self, token, status, bytes);
}

static void
direct_modex (DvmdPmixHost *host, guint64 token, const char *nspace, guint32 rank, const char *required_key,
              guint timeout)
{
  dvmd_agent_send ((DvmdAgent *)host, DVMD_MSG_MODEX, g_variant_new ("(tsuu)", token, nspace, rank, timeout));
}

typedef struct
{
  DvmdAgent *agent;
  guint32 asker;
  guint64 request;
} ModexAnswer;

static void
answer_modex (ModexAnswer *answer, gint32 status, GBytes *bytes)
{
  dvmd_agent_send (answer->agent, DVMD_MSG_MODEX_DATA,
                   g_variant_new ("(uti@ay)", answer->asker, answer->request, status,
                                  g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING, bytes, TRUE)));
  g_object_unref (answer->agent);
  g_free (answer);
}

static void
on_modex_fetched (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = dvmd_pmix_fetch_modex_finish (DVMD_PMIX (source), result, &error);
  gint32 status = bytes != NULL ? DVMD_PMIX_SUCCESS : DVMD_PMIX_ERR_NOT_FOUND;

  if (g_error_matches (error, DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE))
    {
      g_message ("Data for a rank of another node: %s", error->message);
      status = DVMD_PMIX_ERR_OUT_OF_RESOURCE;
    }
  if (bytes == NULL)
    bytes = g_bytes_new_static ("", 0);
  answer_modex (user_data, status, bytes);
}

static void
handle_modex_ask (gpointer service, guint source, GVariant *body)
{
  DvmdAgent *self = ((Server *)service)->agent;
  ModexAnswer *answer = g_new0 (ModexAnswer, 1);
  const char *nspace;
  guint32 rank;

  g_variant_get (body, "(ut&su)", &answer->asker, &answer->request, &nspace, &rank);
  answer->agent = g_object_ref (self);
  if (!dvmd_agent_has_pmix (self))
    {
      g_autoptr (GBytes) nothing = g_bytes_new_static ("", 0);

      answer_modex (answer, DVMD_PMIX_ERR_NOT_FOUND, nothing);
      return;
    }
  dvmd_pmix_fetch_modex_async (dvmd_agent_get_pmix (self), nspace, rank, on_modex_fetched, answer);
}

void
dvmd_agent_pmix_host_iface_init (DvmdPmixHostInterface *iface)
{
  iface->connected = connected;
  iface->finalized = finalized;
  iface->ready_for_debug = ready_for_debug;
  iface->lost = lost;
  iface->abort = abort_called;
  iface->fence = fence;
  iface->direct_modex = direct_modex;
  iface->tool_connected = dvmd_agent_tool_connected;
  iface->tool_named = dvmd_agent_tool_named;
  iface->tools_let_in = dvmd_agent_tools_let_in;
  iface->server_lost = dvmd_agent_server_lost;
  iface->call = dvmd_agent_call;
  iface->output_taken = dvmd_agent_output_taken;
  iface->output_unwanted = dvmd_agent_output_unwanted;
  iface->connect = dvmd_agent_connect;
}

static gpointer
create (DvmdAgent *agent, const DvmdAgentSettings *settings)
{
  Server *self = g_new0 (Server, 1);

  self->agent = agent;
  self->gds = g_strdup (settings->pmix_gds);
  self->tools = settings->pmix_tools;
  self->n_servers = settings->pmix_servers;
  self->memory = dvmd_memory_new (DVMD_PROC);
  return self;
}

gboolean
dvmd_agent_has_pmix_servers (DvmdAgent *self)
{
  return ((Server *)dvmd_agent_services_get (self, &dvmd_agent_pmix_service))->n_servers > 0;
}

static void
server_free (gpointer service)
{
  Server *self = service;

  g_clear_pointer (&self->processes, dvmd_agent_pmix_processes_free);
  dvmd_memory_free (self->memory);
  g_free (self->gds);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_FENCE_DONE, handle_fence_done },
  { DVMD_MSG_MODEX_ASK, handle_modex_ask },
  { 0 },
};

const DvmdAgentService dvmd_agent_pmix_service = {
  .name = "pmix",
  .create = create,
  .free = server_free,
  .handlers = handlers,
};

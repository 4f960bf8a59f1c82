/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Events that processes and tools tell others, by range, and those that the survivors of a job are told.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <string.h>

#include "dvmd-controller-events.h"
#include "dvmd-services.h"
#include "dvmd-controller-groups.h"
#include "dvmd-controller-jobs.h"
#include "dvmd-core-sessions.h"
#include "dvmd-job-moves.h"
#include "dvmd-log.h"
#include "dvmd-rights.h"

/* The agent of what goes to all of them; the controller has no processes. */
#define ALL_AGENTS 0
#define NO_AGENT   G_MAXUINT

typedef struct
{
  DvmdController *controller; /* unowned */
  const DvmdCall *call;
  const DvmdRequester *requester;
  DvmdJob *job; /* (nullable): its own; a tool has none */
  gint32 status;
  guint32 range;
  GVariant *procs; /* of a range of processes: a(su) */
  GVariant *details;
  int refusal;         /* of an event of a group; success: none */
  GPtrArray *released; /* (nullable): unowned DvmdJob that need not wait for a debugger any more */
  GHashTable *targets; /* agent -> GVariantBuilder of a(su): whom it is to tell */
  guint tools;         /* whose tools are told, too */
} Event;

static DvmdCore *
get_core (const Event *self)
{
  return dvmd_controller_get_core (self->controller);
}

/* ---- whom it is for ---- */

/* (nullable): the default session */
static GArray *
get_sessions (DvmdJob *job)
{
  GArray *sessions = job != NULL ? dvmd_job_get_sessions (job) : NULL;

  return sessions != NULL && sessions->len > 0 ? sessions : NULL;
}

static gboolean
has_session (const GArray *sessions, guint id)
{
  for (guint i = 0; sessions != NULL && i < sessions->len; i++)
    if (g_array_index (sessions, guint, i) == id)
      return TRUE;
  return sessions == NULL && id == 0;
}

/* A tool is in the default session, as all that no session keeps to itself. */
static gboolean
share_session (DvmdJob *one, DvmdJob *other)
{
  const GArray *sessions = get_sessions (one);

  for (guint i = 0; sessions != NULL && i < sessions->len; i++)
    if (has_session (get_sessions (other), g_array_index (sessions, guint, i)))
      return TRUE;
  return sessions == NULL && has_session (get_sessions (other), 0);
}

/* A process does not reach the jobs of others behind the walls of their sessions, and lets go on what it may control.
 */
static gboolean
reaches (const Event *self, DvmdJob *job)
{
  gboolean near = share_session (self->job, job);

  if (near && self->status != DVMD_PMIX_DEBUGGER_RELEASE)
    return TRUE;
  return (near || self->range != DVMD_PMIX_RANGE_SESSION)
         && dvmd_core_has_right (get_core (self), self->requester, DVMD_RIGHT_JOB, NULL, job);
}

static GVariantBuilder *
get_targets (Event *self, guint agent)
{
  GVariantBuilder *targets = g_hash_table_lookup (self->targets, GUINT_TO_POINTER (agent));

  if (targets == NULL)
    {
      targets = g_variant_builder_new (G_VARIANT_TYPE ("a(su)"));
      g_hash_table_insert (self->targets, GUINT_TO_POINTER (agent), targets);
    }
  return targets;
}

static void
add_target (Event *self, guint agent, const char *nspace, guint32 rank)
{
  g_variant_builder_add (get_targets (self, agent), "(su)", nspace, rank);
}

static void
add_tools (Event *self, guint agent)
{
  get_targets (self, agent);
  self->tools = agent;
}

/*
 * The way of an event is that of the job's launch, which it must not overtake: agents know nothing of a job before. A
 * job whose launch is yet to be sent is told nothing.
 */
static void
add_job (Event *self, DvmdJob *job)
{
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (job));
  g_autoptr (GArray) nodes = NULL;

  if (self->status == DVMD_PMIX_DEBUGGER_RELEASE)
    g_ptr_array_add (self->released, job);
  if (dvmd_controller_is_broadcast (self->controller, job))
    {
      add_target (self, ALL_AGENTS, nspace, DVMD_PMIX_RANK_WILDCARD);
      return;
    }
  nodes = dvmd_map_get_nodes (dvmd_job_get_map (job));
  for (guint i = 0; i < nodes->len; i++)
    add_target (self, g_array_index (nodes, guint, i), nspace, DVMD_PMIX_RANK_WILDCARD);
}

static void
add_job_on_node (Event *self, DvmdJob *job, guint node)
{
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (job));
  gboolean broadcast = dvmd_controller_is_broadcast (self->controller, job);
  g_autoptr (GArray) ranks = dvmd_map_expand_node (dvmd_job_get_map (job), node);

  for (guint i = 0; i < ranks->len; i++)
    add_target (self, broadcast ? ALL_AGENTS : node, nspace, g_array_index (ranks, DvmdMapRank, i).rank);
}

/* node: those that are there, ALL_AGENTS: everywhere */
static void
add_jobs (Event *self, guint node)
{
  for (DvmdJob *job = dvmd_core_next_job (get_core (self), NULL, FALSE); job != NULL;
       job = dvmd_core_next_job (get_core (self), job, FALSE))
    {
      if (!dvmd_job_is_launched (job) || !reaches (self, job))
        continue;
      if (node == ALL_AGENTS)
        add_job (self, job);
      else
        add_job_on_node (self, job, node);
    }
  if (self->range != DVMD_PMIX_RANGE_SESSION || share_session (self->job, NULL))
    add_tools (self, node);
}

/* ---- a range of processes ---- */

static gboolean
add_proc_of_job (Event *self, DvmdJob *job, guint32 rank, GError **error)
{
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (job));
  DvmdProcTable *procs = dvmd_job_get_procs (job);

  if (!dvmd_core_may (get_core (self), self->requester, DVMD_RIGHT_JOB, NULL, job, error))
    return FALSE;
  if (dvmd_job_get_ended (job) || (procs != NULL && rank != DVMD_PMIX_RANK_WILDCARD && rank >= procs->n_rows))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "Job %s has no such process, or has ended", nspace);
  else if (!dvmd_job_is_launched (job))
    g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "Job %s has no processes yet", nspace);
  else
    {
      if (rank == DVMD_PMIX_RANK_WILDCARD)
        add_job (self, job);
      else
        add_target (self,
                    dvmd_controller_is_broadcast (self->controller, job) ? ALL_AGENTS
                                                                         : dvmd_proc_table_row (procs, rank)->node,
                    nspace, rank);
      return TRUE;
    }
  return FALSE;
}

/* A tool is told by everybody. */
static gboolean
add_proc (Event *self, const char *nspace, guint32 rank, GError **error)
{
  DvmdJob *job = dvmd_core_find_job (get_core (self), nspace);
  guint agent;

  if (job != NULL)
    return add_proc_of_job (self, job, rank, error);
  agent = dvmd_controller_find_tool (self->controller, nspace);
  if (agent == 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "There is no job and no tool %s", nspace);
      return FALSE;
    }
  if (rank != 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "Tool %s is one process, with rank 0", nspace);
      return FALSE;
    }
  add_target (self, agent, nspace, rank);
  return TRUE;
}

/* A process that is named twice, or with all of its job, is told once. */
static gboolean
is_named (GHashTable *named, const char *nspace, guint32 rank)
{
  g_autofree char *all = g_strdup_printf ("%s.%u", nspace, DVMD_PMIX_RANK_WILDCARD);

  return g_hash_table_contains (named, all) || !g_hash_table_add (named, g_strdup_printf ("%s.%u", nspace, rank));
}

static gboolean
add_named (Event *self, GHashTable *named, gboolean whole, GError **error)
{
  GVariantIter iter;
  const char *nspace;
  guint32 rank;

  g_variant_iter_init (&iter, self->procs);
  while (g_variant_iter_next (&iter, "(&su)", &nspace, &rank))
    {
      /* All of a tool is its one process. */
      if (rank == DVMD_PMIX_RANK_WILDCARD && dvmd_controller_find_tool (self->controller, nspace) != 0)
        rank = 0;
      if ((rank == DVMD_PMIX_RANK_WILDCARD) == whole && !is_named (named, nspace, rank)
          && !add_proc (self, nspace, rank, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
add_procs (Event *self, GError **error)
{
  g_autoptr (GHashTable) named = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  return add_named (self, named, TRUE, error) && add_named (self, named, FALSE, error);
}

/* ---- what is done ---- */

static void
send_to_agents (Event *self)
{
  GHashTableIter iter;
  gpointer key;
  gpointer targets;

  for (guint i = 0; self->released != NULL && i < self->released->len; i++)
    dvmd_core_continue_job (get_core (self), self->released->pdata[i]);
  g_hash_table_iter_init (&iter, self->targets);
  while (g_hash_table_iter_next (&iter, &key, &targets))
    {
      guint agent = GPOINTER_TO_UINT (key);
      GVariant *body = g_variant_new ("(isua(su)b@a{sv})", self->status, self->call->nspace, self->call->rank, targets,
                                      self->tools == agent, self->details);

      if (agent == ALL_AGENTS)
        dvmd_controller_broadcast (self->controller, DVMD_MSG_EVENT, body);
      else
        dvmd_controller_send (self->controller, agent, DVMD_MSG_EVENT, body);
    }
}

static gboolean
check_procs (const Event *self, GError **error)
{
  gboolean wanted = self->range == DVMD_PMIX_RANGE_CUSTOM;

  if (wanted == (g_variant_n_children (self->procs) > 0))
    return TRUE;
  g_set_error_literal (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                       wanted ? "A custom range needs the processes that are meant (PMIX_EVENT_CUSTOM_RANGE)"
                              : "Processes (PMIX_EVENT_CUSTOM_RANGE) go with a custom range alone");
  return FALSE;
}

static gboolean
add_range (Event *self, GError **error)
{
  if (!check_procs (self, error))
    return FALSE;
  switch (self->range)
    {
    case DVMD_PMIX_RANGE_NAMESPACE:
      /* The only one of a tool is itself. */
      if (self->job != NULL)
        add_job (self, self->job);
      return TRUE;
    case DVMD_PMIX_RANGE_UNDEF:
    case DVMD_PMIX_RANGE_SESSION:
    case DVMD_PMIX_RANGE_GLOBAL:
      add_jobs (self, ALL_AGENTS);
      return TRUE;
    case DVMD_PMIX_RANGE_LOCAL:
      add_jobs (self, self->call->agent);
      return TRUE;
    case DVMD_PMIX_RANGE_CUSTOM:
      return add_procs (self, error);
    case DVMD_PMIX_RANGE_RM:
      dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, self->call->nspace, self->call->rank,
                     "tells the DVM of event %d, which nothing comes of", self->status);
      return TRUE;
    case DVMD_PMIX_RANGE_PROC_LOCAL:
      return TRUE;
    default:
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%u is not a range of an event: use %d to %d", self->range,
                   DVMD_PMIX_RANGE_UNDEF, DVMD_PMIX_RANGE_PROC_LOCAL);
      return FALSE;
    }
}

static gboolean
is_of_groups (int status)
{
  return status <= DVMD_PMIX_GROUP_INVITED && status >= DVMD_PMIX_GROUP_MEMBER_FAILED;
}

/*
 * A group is believed by those who are told of it. So only what is true of it is told; and the members with it, of whom
 * a range says nothing to those in it.
 */
static gboolean
check_group (Event *self, GError **error)
{
  const char *name = NULL;
  int status;

  if (!is_of_groups (self->status))
    return TRUE;
  g_variant_lookup (self->details, DVMD_PMIX_KEY_GROUP_ID, "&s", &name);
  status = dvmd_controller_check_group_event (self->controller, self->call, self->status, name, self->procs);
  if (status == DVMD_PMIX_SUCCESS && self->status == DVMD_PMIX_GROUP_CONSTRUCT_COMPLETE)
    {
      GVariantDict details;

      g_variant_dict_init (&details, self->details);
      g_variant_dict_insert_value (&details, DVMD_PMIX_KEY_GROUP_MEMBERS, self->procs);
      g_variant_unref (self->details);
      self->details = g_variant_ref_sink (g_variant_dict_end (&details));
    }
  self->refusal = status;
  if (status == DVMD_PMIX_SUCCESS)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "Group %s is not at that point (PMIx status %d)",
               name != NULL ? name : "without a name", status);
  return FALSE;
}

static void
free_targets (gpointer targets)
{
  g_variant_builder_unref (targets);
}

static void
handle_event (gpointer service, DvmdCall *call, GVariant *request)
{
  DvmdController *controller = service;
  g_autoptr (DvmdRequester) requester = dvmd_call_new_requester (call);
  g_autoptr (GHashTable) targets = g_hash_table_new_full (NULL, NULL, NULL, free_targets);
  g_autoptr (GPtrArray) released = g_ptr_array_new ();
  g_autoptr (GVariant) procs = NULL;
  g_autoptr (GError) error = NULL;
  Event event = {
    .controller = controller,
    .call = call,
    .requester = requester,
    .job = dvmd_core_find_job (dvmd_controller_get_core (controller), call->nspace),
    .released = released,
    .targets = targets,
    .tools = NO_AGENT,
  };
  int status = DVMD_PMIX_SUCCESS;

  g_variant_get (request, "(iu@a(su)@a{sv})", &event.status, &event.range, &procs, &event.details);
  event.procs = procs;
  if (add_range (&event, &error) && check_group (&event, &error))
    send_to_agents (&event);
  else
    {
      /* PMIx hands on a number alone. */
      g_message ("%s cannot tell of event %d: %s", requester->name, event.status, error->message);
      status = event.refusal != DVMD_PMIX_SUCCESS ? event.refusal : dvmd_pmix_status_from_error (error);
    }
  g_variant_unref (event.details);
  dvmd_controller_answer (controller, call->id, status, NULL);
}

void
dvmd_controller_tell_jobs (DvmdController *controller, GPtrArray *jobs, int status, GVariant *details)
{
  const DvmdCall nobody = { .nspace = (char *)"" };
  g_autoptr (GHashTable) targets = g_hash_table_new_full (NULL, NULL, NULL, free_targets);
  g_autoptr (GVariant) owned = g_variant_ref_sink (details);
  Event event = {
    .controller = controller,
    .call = &nobody,
    .status = status,
    .details = owned,
    .targets = targets,
  };

  for (guint i = 0; i < jobs->len; i++)
    if (dvmd_job_is_launched (jobs->pdata[i]))
      add_job (&event, jobs->pdata[i]);
  add_tools (&event, ALL_AGENTS);
  send_to_agents (&event);
}

/* ---- survivors ---- */

/* 0: it has ended as it should. */
static int
find_status (DvmProcState state)
{
  switch (state)
    {
    case DVM_PROC_STATE_ABORTED_BY_SIG:
      return DVMD_PMIX_ERR_PROC_ABORTED_BY_SIG;
    case DVM_PROC_STATE_TERM_WO_SYNC:
      return DVMD_PMIX_ERR_PROC_TERM_WO_SYNC;
    case DVM_PROC_STATE_TERM_NON_ZERO:
      return DVMD_PMIX_ERR_EXIT_NONZERO_TERM;
    case DVM_PROC_STATE_KILLED_BY_CMD:
      return DVMD_PMIX_ERR_PROC_KILLED_BY_CMD;
    case DVM_PROC_STATE_CALLED_ABORT:
      return DVMD_PMIX_ERR_PROC_REQUESTED_ABORT;
    case DVM_PROC_STATE_TERMINATED:
      return 0;
    default:
      return DVMD_PMIX_ERR_PROC_ABORTED;
    }
}

/* As shells have it. */
static int
get_exit_code (int exit_code, int exit_signal)
{
  return exit_signal != 0 ? 128 + exit_signal : exit_code;
}

/* The others of a job that may lose processes; key: of what is told besides. Takes value. */
static void
tell_survivors (gpointer service, DvmdJob *job, guint32 rank, int status, const char *key, GVariant *value)
{
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (job));
  g_autoptr (GVariant) owned = g_variant_ref_sink (value);
  GVariantBuilder details;

  if (!dvmd_job_notifies_errors (job) || dvmd_job_get_state (job) >= DVM_JOB_STATE_UNTERMINATED)
    return;
  g_variant_builder_init (&details, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&details, "{sv}", DVMD_PMIX_KEY_AFFECTED_PROC, g_variant_new ("(su)", nspace, rank));
  g_variant_builder_add (&details, "{sv}", key, owned);
  dvmd_controller_send_to_job (service, job, DVMD_MSG_EVENT,
                               g_variant_new_parsed ("(%i, '', uint32 0, [(%s, %u)], false, %@a{sv})", status, nspace,
                                                     DVMD_PMIX_RANK_WILDCARD, g_variant_builder_end (&details)));
}

static void
proc_ended (gpointer service, DvmdJob *job, guint32 rank)
{
  const DvmdProcRow *row = dvmd_proc_table_row (dvmd_job_get_procs (job), rank);
  int status = find_status ((DvmProcState)row->state);

  if (status != 0 && !dvmd_job_is_rank_lost (job, rank))
    tell_survivors (service, job, rank, status, DVMD_PMIX_KEY_EXIT_CODE,
                    g_variant_new_int32 (get_exit_code (row->exit_code, row->exit_signal)));
}

static void
proc_failed (gpointer service, DvmdJob *job, guint32 rank, int exit_code, int exit_signal)
{
  int status = find_status (exit_signal != 0 ? DVM_PROC_STATE_ABORTED_BY_SIG : DVM_PROC_STATE_TERM_NON_ZERO);

  tell_survivors (service, job, rank, status, DVMD_PMIX_KEY_EXIT_CODE,
                  g_variant_new_int32 (get_exit_code (exit_code, exit_signal)));
}

static void
proc_is_back (gpointer service, DvmdJob *job, guint32 rank)
{
  tell_survivors (service, job, rank, DVMD_PMIX_ERR_PROC_RESTART, DVMD_PMIX_KEY_REINCARNATION,
                  g_variant_new_uint32 (dvmd_job_moves_get_count (job, rank)));
}

/* The service keeps no data: each event goes on at once. */
static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  return controller;
}

static void
free_nothing (gpointer service)
{
}

static const DvmdCallHandler calls[] = { { DVMD_CALL_EVENT, handle_event }, { 0 } };

const DvmdService dvmd_events_service = {
  .name = "events",
  .create = create,
  .free = free_nothing,
  .calls = calls,
  .proc_ended = proc_ended,
  .proc_failed = proc_failed,
  .proc_is_back = proc_is_back,
};

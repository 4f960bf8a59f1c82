/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The launch message, kill, and what the agents report of a job.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <string.h>

#include "dvmd-services.h"
#include "dvmd-controller-streams.h"
#include "dvmd-launch-message.h"
#include "dvmd-log.h"
#include "dvmd-controller-jobs.h"
#include "dvmd-controller-collectives.h"
#include "dvmd-controller-fences.h"

typedef struct
{
  DvmdController *controller;     /* unowned */
  DvmdEnvironments *environments; /* that agents may have */
  GHashTable *broadcast;          /* set of job ids: what concerns all of the job goes to all agents */
  guint64 messages;
  guint64 bytes;
  guint64 environment_bytes;
} Launches;

gboolean
dvmd_controller_is_broadcast (DvmdController *self, DvmdJob *job)
{
  Launches *launches = dvmd_services_get (self, &dvmd_launch_service);

  return g_hash_table_contains (launches->broadcast, GUINT_TO_POINTER (dvmd_job_get_id (job)));
}

void
dvmd_controller_send_to_job (DvmdController *self, DvmdJob *job, DvmdMessageKind kind, GVariant *body)
{
  g_autoptr (GVariant) sunk = g_variant_ref_sink (body);
  g_autoptr (GArray) agents = NULL;

  if (dvmd_job_get_map (job) == NULL)
    return;
  if (dvmd_controller_is_broadcast (self, job) && !dvmd_message_kind_is_bulk (kind))
    {
      dvmd_controller_broadcast (self, kind, sunk);
      return;
    }
  agents = dvmd_map_get_nodes (dvmd_job_get_map (job));
  for (guint i = 0; i < agents->len; i++)
    dvmd_controller_send (self, g_array_index (agents, guint, i), kind, sunk);
}

static GVariant *
describe_environment (Launches *self, DvmdEnvironment *environment)
{
  gsize length;
  gconstpointer digest = g_bytes_get_data (environment->digest, &length);
  GVariant *body = g_variant_new ("(@ay@aay)", g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, digest, length, 1),
                                  dvmd_variant_new_bytes_array ((const char *const *)environment->strings));

  self->environment_bytes += g_variant_get_size (body);
  return body;
}

static void
unref_environment (gpointer environment)
{
  g_clear_pointer (&environment, dvmd_environment_unref);
}

/* Where it was sent before it may be forgotten: then the agent asks for it. */
static void
send_environment_to_job (Launches *self, DvmdJob *job, DvmdEnvironment *environment)
{
  g_autoptr (GArray) agents = dvmd_map_get_nodes (dvmd_job_get_map (job));
  guint n_missing = 0;
  guint rank = 0;

  for (guint i = 0; i < agents->len; i++)
    if (!dvmd_id_set_contains (environment->holders, g_array_index (agents, guint, i)))
      {
        rank = g_array_index (agents, guint, i);
        dvmd_id_set_add (environment->holders, rank);
        n_missing++;
      }
  if (n_missing == 1)
    dvmd_controller_send (self->controller, rank, DVMD_MSG_ENVIRONMENT, describe_environment (self, environment));
  else if (n_missing > 1)
    dvmd_controller_send_to_job (self->controller, job, DVMD_MSG_ENVIRONMENT, describe_environment (self, environment));
}

/* By application; those that the agents do not have go ahead of the launch. */
static GPtrArray *
send_environments (Launches *self, DvmdJob *job)
{
  GPtrArray *environments = g_ptr_array_new_with_free_func (unref_environment);
  DvmJobSpec *spec = dvmd_job_get_spec (job);

  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    {
      DvmAppSpec *app = dvm_job_spec_get_app (spec, i);
      DvmdEnvironment *environment = NULL;

      if (dvmd_launch_message_names_environment (app))
        {
          environment = dvmd_environments_intern (self->environments, dvm_app_spec_get_env (app));
          send_environment_to_job (self, job, environment);
        }
      g_ptr_array_add (environments, environment);
    }
  return environments;
}

/* The number at the end of its path. */
static guint32
find_session (DvmdJob *job)
{
  const char *path = dvm_job_get_session (dvmd_job_get_record (job));
  const char *slash = path != NULL ? strrchr (path, '/') : NULL;

  return slash != NULL ? (guint32)g_ascii_strtoull (slash + 1, NULL, 10) : 0;
}

/* (nullable) */
static const char *
find_allocation (DvmdController *self, DvmdJob *job)
{
  DvmdSession *session = dvmd_core_get_session (dvmd_controller_get_core (self), find_session (job));

  return session != NULL ? dvmd_session_get_alloc_id (session) : NULL;
}

/* (transfer full) */
static GVariant *
describe_moves (GArray *moves)
{
  GVariantBuilder rows;

  g_variant_builder_init (&rows, G_VARIANT_TYPE (DVMD_LAUNCH_MOVED_TYPE));
  for (guint i = 0; i < moves->len; i++)
    g_variant_builder_add (&rows, "(uu)", g_array_index (moves, DvmdMove, i).rank,
                           g_array_index (moves, DvmdMove, i).n_restarts);
  return g_variant_ref_sink (g_variant_builder_end (&rows));
}

/* (transfer full): moves (nullable) (element-type DvmdMove): for these alone */
static GVariant *
build_launch (Launches *self, DvmdJob *job, guint stdin_target, gsize credit, GArray *moves)
{
  DvmdController *controller = self->controller;
  g_autoptr (GPtrArray) environments = send_environments (self, job);
  g_autoptr (GVariant) moved = NULL;
  g_autofree char *parent = NULL;
  guint32 parent_rank = 0;
  GVariant *body;

  if (moves != NULL)
    moved = describe_moves (moves);
  dvmd_requester_read_proc (dvmd_job_get_requester (job), &parent, &parent_rank);
  body = g_variant_ref_sink (dvmd_launch_message_build (&(DvmdLaunchMessage){
      .job = dvmd_job_get_id (job),
      .nspace = dvm_job_get_nspace (dvmd_job_get_record (job)),
      .spec = dvmd_job_get_spec (job),
      .map = dvmd_job_get_map (job),
      .universe = dvmd_node_pool_count_slots (dvmd_core_get_nodes (dvmd_controller_get_core (controller))),
      .options.kill_grace = dvmd_controller_get_kill_grace (controller),
      .options.stdin_target = stdin_target,
      .options.stdin_ranks = stdin_target == DVMD_SOME_RANKS
                                 ? (char *)dvm_job_spec_get_stdin_target (dvmd_job_get_spec (job))
                                 : NULL,
      .options.parent = parent,
      .options.parent_rank = parent_rank,
      .options.offset = dvmd_job_get_offset (job),
      .options.session = find_session (job),
      .options.alloc_id = (char *)find_allocation (controller, job),
      .options.credit = credit,
      .options.recoverable = dvmd_job_is_recoverable (job),
      .options.moved = moved,
      .options.tree_fences = dvmd_controller_choose_tree_fences (controller, job),
      .environments = environments,
  }));
  self->messages++;
  self->bytes += g_variant_get_size (body);
  return body;
}

void
dvmd_controller_send_launch (gpointer user_data, DvmdJob *job)
{
  DvmdController *self = user_data;
  Launches *launches = dvmd_services_get (self, &dvmd_launch_service);
  DvmdJobStreams *streams = dvmd_controller_get_streams (self, dvmd_job_get_id (job));
  g_autoptr (GVariant) body = NULL;
  g_autoptr (GError) error = NULL;
  DvmdAgents *agents = dvmd_controller_get_agents (self);
  guint stdin_target;
  gsize credit;

  if (!dvmd_job_streams_launch (streams, &stdin_target, &credit, &error))
    {
      dvmd_core_fail_job (dvmd_controller_get_core (self), job, DVM_JOB_STATE_FAILED_TO_LAUNCH, error->message);
      return;
    }
  /* One way for all of the job's life, so that nothing overtakes. */
  if (agents->funcs->is_for_all != NULL && agents->funcs->is_for_all (agents, dvmd_job_get_map (job)))
    g_hash_table_add (launches->broadcast, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  body = build_launch (launches, job, stdin_target, credit, NULL);
  dvmd_controller_send_to_job (self, job, DVMD_MSG_LAUNCH, body);
  dvmd_controller_send_early_signals (self, job);
}

void
dvmd_controller_move_ranks (gpointer user_data, DvmdJob *job, GArray *moves)
{
  DvmdController *self = user_data;
  Launches *launches = dvmd_services_get (self, &dvmd_launch_service);
  g_autoptr (GHashTable) agents = g_hash_table_new (NULL, NULL);
  g_autoptr (GVariant) body = NULL;
  guint stdin_target;
  gsize credit;

  dvmd_job_streams_describe (dvmd_controller_get_streams (self, dvmd_job_get_id (job)), &stdin_target, &credit);
  body = build_launch (launches, job, stdin_target, credit, moves);
  if (dvmd_controller_is_broadcast (self, job))
    {
      dvmd_controller_broadcast (self, DVMD_MSG_LAUNCH, body);
      return;
    }
  for (guint i = 0; i < moves->len; i++)
    {
      guint node = g_array_index (moves, DvmdMove, i).node;

      if (g_hash_table_add (agents, GUINT_TO_POINTER (node)))
        dvmd_controller_send (self, node, DVMD_MSG_LAUNCH, body);
    }
}

void
dvmd_controller_kill (gpointer user_data, DvmdJob *job)
{
  DvmdController *self = user_data;
  gboolean at_once = dvmd_job_get_state (job) == DVM_JOB_STATE_FORCED_EXIT
                     || dvmd_core_get_forced (dvmd_controller_get_core (self));
  gint64 grace = at_once ? 0 : dvmd_controller_get_kill_grace (self);

  dvmd_services_job_killed (self, job);
  dvmd_controller_send_to_job (self, job, DVMD_MSG_KILL, g_variant_new ("(ux)", dvmd_job_get_id (job), grace));
}

static DvmdJob *
find_job (DvmdController *self, guint rank, guint id)
{
  DvmdJob *job = dvmd_core_get_job (dvmd_controller_get_core (self), id);

  if (job == NULL)
    g_message ("Agent %u speaks of job %u, which is not known", rank, id);
  return job;
}

/* An agent speaks of the ranks that are on its node. */
static gboolean
is_of_agent (DvmdJob *job, guint32 rank, guint agent)
{
  DvmdProcTable *procs = dvmd_job_get_procs (job);

  if (procs != NULL && rank < procs->n_rows && dvmd_proc_table_row (procs, rank)->node == agent)
    return TRUE;
  dvmd_log_rank (G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, dvm_job_get_nspace (dvmd_job_get_record (job)), rank,
                 "agent %u speaks of it, which does not have it", agent);
  return FALSE;
}

static void
handle_environment_ask (gpointer service, guint source, GVariant *body)
{
  Launches *launches = service;
  DvmdController *self = launches->controller;
  g_autoptr (DvmdEnvironment) environment = NULL;
  const char *const *env;
  DvmdJob *job;
  guint32 id;
  guint32 app;

  g_variant_get (body, "(uu)", &id, &app);
  job = find_job (self, source, id);
  if (job == NULL || app >= dvm_job_spec_get_n_apps (dvmd_job_get_spec (job)))
    return;
  env = dvm_app_spec_get_env (dvm_job_spec_get_app (dvmd_job_get_spec (job), app));
  if (env == NULL)
    return;
  environment = dvmd_environments_intern (launches->environments, env);
  dvmd_id_set_add (environment->holders, source);
  dvmd_controller_send (self, source, DVMD_MSG_ENVIRONMENT, describe_environment (launches, environment));
}

static void
handle_launched (gpointer service, guint source, GVariant *body)
{
  DvmdController *self = ((Launches *)service)->controller;
  g_autoptr (GVariantIter) started = NULL;
  g_autoptr (GVariantIter) failed = NULL;
  DvmdJobStreams *streams;
  const char *reason;
  DvmdJob *job;
  guint32 id;
  guint32 rank;
  guint32 pid;
  gint32 exit_code;

  g_variant_get (body, "(ua(ui)a(uis))", &id, &started, &failed);
  job = find_job (self, source, id);
  if (job == NULL)
    return;
  streams = dvmd_controller_get_streams (self, dvmd_job_get_id (job));
  if (streams != NULL)
    dvmd_job_streams_launched (streams, source);
  while (g_variant_iter_next (started, "(ui)", &rank, &pid))
    if (is_of_agent (job, rank, source))
      dvmd_core_proc_launched (dvmd_controller_get_core (self), job, rank, pid, 0, NULL);
  while (g_variant_iter_next (failed, "(ui&s)", &rank, &exit_code, &reason))
    {
      if (!is_of_agent (job, rank, source))
        continue;
      dvmd_core_proc_launched (dvmd_controller_get_core (self), job, rank, 0, exit_code, reason);
      dvmd_services_proc_ended (self, job, rank);
    }
  dvmd_core_local_launch_complete (dvmd_controller_get_core (self), job, source);
}

/* The process that the rank had at first, or one of the next ones, has called PMIx_Init. */
static gboolean
is_client (DvmdJob *job, guint32 rank)
{
  return (dvmd_proc_table_row (dvmd_job_get_procs (job), rank)->flags & DVMD_PROC_REGISTERED) != 0;
}

static void
handle_proc_states (gpointer service, guint source, GVariant *body)
{
  DvmdController *self = ((Launches *)service)->controller;
  g_autoptr (GVariantIter) rows = NULL;
  DvmdJob *job;
  guint32 id;
  guint32 rank;
  guint32 state;
  gint32 exit_code;
  gint32 exit_signal;

  g_variant_get (body, "(ua(uuii))", &id, &rows);
  job = find_job (self, source, id);
  if (job == NULL)
    return;
  while (g_variant_iter_next (rows, "(uuii)", &rank, &state, &exit_code, &exit_signal))
    {
      if (!is_of_agent (job, rank, source))
        continue;
      dvmd_core_proc_state (dvmd_controller_get_core (self), job, rank, state, exit_code, exit_signal);
      if (state > DVM_PROC_STATE_UNTERMINATED)
        dvmd_services_proc_ended (self, job, rank);
      else if (state == DVM_PROC_STATE_RESTART && is_client (job, rank))
        dvmd_services_proc_failed (self, job, rank, exit_code, exit_signal);
    }
}

static void
handle_relaunched (gpointer service, guint source, GVariant *body)
{
  DvmdController *self = ((Launches *)service)->controller;
  const char *reason;
  gint32 exit_code;
  DvmdJob *job;
  guint32 id;
  guint32 rank;
  guint32 pid;

  g_variant_get (body, "(uuui&s)", &id, &rank, &pid, &exit_code, &reason);
  job = find_job (self, source, id);
  if (job == NULL || !is_of_agent (job, rank, source))
    return;
  dvmd_core_proc_relaunched (dvmd_controller_get_core (self), job, rank, pid, exit_code, reason);
  if (pid == 0)
    dvmd_services_proc_ended (self, job, rank);
  else if (is_client (job, rank))
    dvmd_services_proc_is_back (self, job, rank);
}

static void
handle_abort (gpointer service, guint source, GVariant *body)
{
  DvmdController *self = ((Launches *)service)->controller;
  const char *message;
  DvmdJob *job;
  guint32 id;
  guint32 rank;
  gint32 status;

  g_variant_get (body, "(uui&s)", &id, &rank, &status, &message);
  job = find_job (self, source, id);
  if (job != NULL && is_of_agent (job, rank, source))
    dvmd_core_abort_called (dvmd_controller_get_core (self), job, rank, status, message);
}

static void
handle_pmix_lost (gpointer service, guint source, GVariant *body)
{
  DvmdController *self = ((Launches *)service)->controller;
  const char *reason;
  DvmdJob *job;
  guint32 id;

  g_variant_get (body, "(u&s)", &id, &reason);
  job = find_job (self, source, id);
  if (job != NULL)
    dvmd_core_fail_job (dvmd_controller_get_core (self), job, DVM_JOB_STATE_COMM_FAILED, reason);
}

static void
handle_mpi_library (gpointer service, guint source, GVariant *body)
{
  DvmdController *self = ((Launches *)service)->controller;
  const char *library;
  DvmdJob *job;
  guint32 id;

  g_variant_get (body, "(u&s)", &id, &library);
  job = find_job (self, source, id);
  if (job != NULL)
    dvmd_core_note_mpi_library (dvmd_controller_get_core (self), job, library);
}

static void
handle_job_gone (gpointer service, guint source, GVariant *body)
{
  DvmdController *self = ((Launches *)service)->controller;
  DvmdJob *job;
  guint32 id;

  g_variant_get (body, "(u)", &id);
  job = find_job (self, source, id);
  if (job == NULL)
    return;
  dvmd_controller_agent_is_done (self, source, job);
  dvmd_core_job_gone (dvmd_controller_get_core (self), job, source);
}

DvmdEnvironments *
dvmd_controller_get_environments (DvmdController *self)
{
  return ((Launches *)dvmd_services_get (self, &dvmd_launch_service))->environments;
}

static void
job_forgotten (gpointer service, DvmdJob *job)
{
  g_hash_table_remove (((Launches *)service)->broadcast, GUINT_TO_POINTER (dvmd_job_get_id (job)));
}

static void
add_statistics (gpointer service, GVariantBuilder *statistics)
{
  Launches *self = service;

  dvmd_services_add_number (statistics, "launch-messages", self->messages);
  dvmd_services_add_number (statistics, "launch-bytes", self->bytes);
  dvmd_services_add_number (statistics, "environment-bytes", self->environment_bytes);
}

static gpointer
create (DvmdController *controller, const DvmdControllerSettings *settings)
{
  Launches *self = g_new0 (Launches, 1);

  self->controller = controller;
  self->broadcast = g_hash_table_new (NULL, NULL);
  self->environments = dvmd_environments_new (DVMD_ENVIRONMENTS_LIMIT);
  return self;
}

static void
launches_free (gpointer service)
{
  Launches *self = service;

  dvmd_environments_free (self->environments);
  g_hash_table_unref (self->broadcast);
  g_free (self);
}

static const DvmdHandler handlers[] = {
  { DVMD_MSG_ENVIRONMENT_ASK, handle_environment_ask },
  { DVMD_MSG_LAUNCHED, handle_launched },
  { DVMD_MSG_PROC_STATES, handle_proc_states },
  { DVMD_MSG_RELAUNCHED, handle_relaunched },
  { DVMD_MSG_ABORT, handle_abort },
  { DVMD_MSG_PMIX_LOST, handle_pmix_lost },
  { DVMD_MSG_MPI_LIBRARY, handle_mpi_library },
  { DVMD_MSG_JOB_GONE, handle_job_gone },
  { 0 },
};

const DvmdService dvmd_launch_service = {
  .name = "launch",
  .create = create,
  .free = launches_free,
  .handlers = handlers,
  .job_forgotten = job_forgotten,
  .add_statistics = add_statistics,
};

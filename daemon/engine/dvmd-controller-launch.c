/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Map, launch message, kill, and what the agents report of a job.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <string.h>

#include "dvmd-controller-wired.h"
#include "dvmd-launch-message.h"
#include "dvmd-log.h"
#include "dvmd-map-driver.h"

/* How many ranks there are may be known only now. */
static gboolean
check_stdin (DvmdJob *job, GError **error)
{
  GArray *app_np = dvmd_job_get_app_np (job);
  guint n_ranks = 0;
  guint target;

  for (guint i = 0; i < app_np->len; i++)
    n_ranks += g_array_index (app_np, guint, i);
  return dvmd_input_parse_target (dvm_job_spec_get_stdin_target (dvmd_job_get_spec (job)), n_ranks, &target, error);
}

DvmdMap *
dvmd_controller_map (gpointer world, DvmdJob *job, const DvmdPlaces *places, GError **error)
{
  DvmdController *self = world;

  if (!check_stdin (job, error))
    return NULL;
  return dvmd_map_driver_map_job (dvmd_plugins_get_active (self->plugins, DVMD_PLUGIN_MAPPER), job, places, error);
}

static GVariant *
describe_environment (DvmdController *self, DvmdEnvironment *environment)
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
send_environment_to_job (DvmdController *self, DvmdJob *job, DvmdEnvironment *environment)
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
    dvmd_controller_send (self, rank, DVMD_MSG_ENVIRONMENT, describe_environment (self, environment));
  else if (n_missing > 1)
    dvmd_controller_send_to_job (self, job, DVMD_MSG_ENVIRONMENT, describe_environment (self, environment));
}

/* By application; those that the agents do not have go ahead of the launch. */
static GPtrArray *
send_environments (DvmdController *self, DvmdJob *job)
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

void
dvmd_controller_send_launch (gpointer world, DvmdJob *job)
{
  DvmdController *self = world;
  DvmdJobStreams *streams = g_hash_table_lookup (self->streams, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  g_autoptr (GPtrArray) environments = NULL;
  g_autoptr (GVariant) body = NULL;
  g_autofree char *parent = NULL;
  guint32 parent_rank = 0;

  dvmd_requester_read_proc (dvmd_job_get_requester (job), &parent, &parent_rank);
  dvmd_job_streams_launch (streams);
  /* One way for all of the job's life, so that nothing overtakes. */
  streams->broadcast = self->wired != NULL && dvmd_wired_is_for_all (self->wired, dvmd_job_get_map (job));
  environments = send_environments (self, job);
  body = g_variant_ref_sink (dvmd_launch_message_build (&(DvmdLaunchMessage){
      .job = dvmd_job_get_id (job),
      .nspace = dvm_job_get_nspace (dvmd_job_get_record (job)),
      .spec = dvmd_job_get_spec (job),
      .map = dvmd_job_get_map (job),
      .universe = dvmd_node_pool_count_slots (dvmd_core_get_nodes (self->core)),
      .kill_grace = self->kill_grace,
      .stdin_target = streams->stdin_target,
      .parent = parent,
      .parent_rank = parent_rank,
      .offset = dvmd_job_get_offset (job),
      .session = find_session (job),
      .credit = self->output_credit,
      .tree_fences = dvmd_controller_choose_tree_fences (self, job),
      .environments = environments,
  }));
  self->launch_messages++;
  self->launch_bytes += g_variant_get_size (body);
  dvmd_controller_send_to_job (self, job, DVMD_MSG_LAUNCH, body);
}

void
dvmd_controller_kill (gpointer world, DvmdJob *job)
{
  DvmdController *self = world;
  gboolean at_once = dvmd_job_get_state (job) == DVM_JOB_STATE_FORCED_EXIT || dvmd_core_get_forced (self->core);
  gint64 grace = at_once ? 0 : self->kill_grace;

  dvmd_controller_fail_fences (self, job);
  dvmd_controller_stop_staging (self, job);
  dvmd_controller_send_to_job (self, job, DVMD_MSG_KILL, g_variant_new ("(ux)", dvmd_job_get_id (job), grace));
}

static DvmdJob *
find_job (DvmdController *self, guint rank, guint id)
{
  DvmdJob *job = dvmd_core_get_job (self->core, id);

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

void
dvmd_controller_handle_environment_ask (DvmdController *self, guint source, GVariant *body)
{
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
  environment = dvmd_environments_intern (self->environments, env);
  dvmd_id_set_add (environment->holders, source);
  dvmd_controller_send (self, source, DVMD_MSG_ENVIRONMENT, describe_environment (self, environment));
}

void
dvmd_controller_handle_launched (DvmdController *self, guint source, GVariant *body)
{
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
  streams = g_hash_table_lookup (self->streams, GUINT_TO_POINTER (id));
  if (streams != NULL)
    dvmd_job_streams_launched (streams, source);
  while (g_variant_iter_next (started, "(ui)", &rank, &pid))
    if (is_of_agent (job, rank, source))
      dvmd_core_proc_launched (self->core, job, rank, pid, 0, NULL);
  while (g_variant_iter_next (failed, "(ui&s)", &rank, &exit_code, &reason))
    if (is_of_agent (job, rank, source))
      dvmd_core_proc_launched (self->core, job, rank, 0, exit_code, reason);
  dvmd_core_local_launch_complete (self->core, job, source);
}

/* Whoever waits for something of it is answered, and what it has published may go. */
static void
proc_ended (DvmdController *self, DvmdJob *job, guint32 rank)
{
  dvmd_controller_fail_fences_of_rank (self, job, rank);
  dvmd_data_store_proc_ended (self->data, dvm_job_get_nspace (dvmd_job_get_record (job)), rank);
}

void
dvmd_controller_handle_proc_states (DvmdController *self, guint source, GVariant *body)
{
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
      dvmd_core_proc_state (self->core, job, rank, state, exit_code, exit_signal);
      if (state > DVM_PROC_STATE_UNTERMINATED)
        proc_ended (self, job, rank);
    }
}

void
dvmd_controller_handle_abort (DvmdController *self, guint source, GVariant *body)
{
  const char *message;
  DvmdJob *job;
  guint32 id;
  guint32 rank;
  gint32 status;

  g_variant_get (body, "(uui&s)", &id, &rank, &status, &message);
  job = find_job (self, source, id);
  if (job != NULL && is_of_agent (job, rank, source))
    dvmd_core_abort_called (self->core, job, rank, status, message);
}

void
dvmd_controller_handle_job_gone (DvmdController *self, guint source, GVariant *body)
{
  DvmdJob *job;
  guint32 id;

  g_variant_get (body, "(u)", &id);
  job = find_job (self, source, id);
  if (job == NULL)
    return;
  dvmd_controller_agent_is_done (self, source, job);
  dvmd_core_job_gone (self->core, job, source);
}

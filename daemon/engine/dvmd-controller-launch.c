/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Map, launch message, kill, and what the agents report of a job.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvm-preload-private.h"
#include "dvmd-controller-private.h"
#include "dvmd-map-driver.h"
#include "dvm-job-spec-private.h"

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
dvmd_controller_map (gpointer world, DvmdJob *job, DvmdNode *const *nodes, const guint *limits, guint n_nodes,
                     gboolean oversubscribe, GError **error)
{
  g_autofree DvmdPluginNode *offered = g_new0 (DvmdPluginNode, n_nodes);
  GArray *app_np = dvmd_job_get_app_np (job);
  DvmdMapRequest request = { 0 };

  if (!check_stdin (job, error))
    return NULL;
  for (guint i = 0; i < n_nodes; i++)
    {
      offered[i].name = dvm_node_get_name (nodes[i]->record);
      offered[i].rank = nodes[i]->rank;
      offered[i].slots = nodes[i]->slots;
      offered[i].slots_max = nodes[i]->slots_max;
      offered[i].limit = limits[i];
    }
  request.map_by = dvmd_job_get_map_by_node (job) ? "node" : "slot";
  request.app_np = (const guint32 *)app_np->data;
  request.n_apps = app_np->len;
  request.nodes = offered;
  request.n_nodes = n_nodes;
  request.oversubscribe = oversubscribe;
  return dvmd_map_driver_map (dvmd_plugins_get_active (((DvmdController *)world)->plugins, DVMD_PLUGIN_MAPPER),
                              &request, error);
}

static GVariant *
describe_app (DvmAppSpec *app)
{
  const char *cwd = dvm_app_spec_get_cwd (app);
  const char *const *unset = dvm_app_spec_get_unset_env (app);
  const char *none[] = { NULL };

  if (cwd == NULL)
    cwd = g_get_home_dir ();
  return g_variant_new ("(@aay@ayb^as@aay)", dvmd_variant_new_bytes_array (dvm_app_spec_get_argv (app)),
                        dvmd_variant_new_bytes (cwd), dvm_app_spec_get_clear_env (app), unset != NULL ? unset : none,
                        dvmd_variant_new_bytes_array (dvm_app_spec_get_env (app)));
}

/* The applications that run where the files of the job are, and those that come as files themselves. */
static void
add_session_apps (GVariantDict *dict, DvmJobSpec *spec)
{
  g_autoptr (GArray) there = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) preloaded = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint32 i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    {
      DvmAppSpec *app = dvm_job_spec_get_app (spec, i);

      if (_dvm_app_spec_runs_in_session_dir (app))
        g_array_append_val (there, i);
      if (dvm_app_spec_get_preload_binary (app))
        g_array_append_val (preloaded, i);
    }
  if (there->len > 0)
    g_variant_dict_insert_value (dict, "session-dir-apps",
                                 g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, there->data, there->len, 4));
  if (preloaded->len > 0)
    g_variant_dict_insert_value (dict, "preloaded-apps",
                                 g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, preloaded->data, preloaded->len, 4));
}

static GVariant *
describe_options (DvmdController *self, DvmdJob *job, DvmdJobStreams *streams)
{
  DvmJobSpec *spec = dvmd_job_get_spec (job);
  const char *personality = dvm_job_spec_get_personality (spec);
  const char *map_by = dvm_job_spec_get_map_by (spec);
  DvmRuntimeOptions runtime;
  GVariantDict dict;

  g_variant_dict_init (&dict, NULL);
  if (personality != NULL)
    g_variant_dict_insert (&dict, "personality", "s", personality);
  if (map_by != NULL)
    g_variant_dict_insert (&dict, "map-by", "s", map_by);
  if (dvm_job_spec_get_pty (spec))
    {
      g_variant_dict_insert (&dict, "pty", "b", TRUE);
      g_variant_dict_insert (&dict, "pty-rows", "u", dvm_job_spec_get_pty_rows (spec));
      g_variant_dict_insert (&dict, "pty-columns", "u", dvm_job_spec_get_pty_columns (spec));
    }
  _dvm_job_spec_get_runtime (spec, &runtime);
  if (runtime.stop != DVM_STOP_NONE)
    g_variant_dict_insert (&dict, "stop", "u", (guint32)runtime.stop);
  add_session_apps (&dict, spec);
  g_variant_dict_insert (&dict, "kill-grace", "x", self->kill_grace);
  g_variant_dict_insert (&dict, "stdin", "u", (guint32)streams->stdin_target);
  g_variant_dict_insert (&dict, "credit", "t", (guint64)self->output_credit);
  return g_variant_dict_end (&dict);
}

void
dvmd_controller_send_launch (gpointer world, DvmdJob *job)
{
  DvmdController *self = world;
  DvmJobSpec *spec = dvmd_job_get_spec (job);
  DvmdJobStreams *streams = g_hash_table_lookup (self->streams, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  g_autoptr (GVariant) body = NULL;
  GVariantBuilder apps;

  dvmd_job_streams_launch (streams);
  g_variant_builder_init (&apps, G_VARIANT_TYPE ("a(aayaybasaay)"));
  for (guint i = 0; i < dvm_job_spec_get_n_apps (spec); i++)
    g_variant_builder_add_value (&apps, describe_app (dvm_job_spec_get_app (spec, i)));
  body = g_variant_ref_sink (
      g_variant_new ("(usuu@a{sv}a(aayaybasaay)@" DVMD_MAP_VARIANT_TYPE ")", dvmd_job_get_id (job),
                     dvm_job_get_nspace (dvmd_job_get_record (job)), dvmd_job_get_procs (job)->n_rows,
                     dvmd_node_pool_count_slots (dvmd_core_get_nodes (self->core)),
                     describe_options (self, job, streams), &apps, dvmd_map_to_variant (dvmd_job_get_map (job))));
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

void
dvmd_controller_handle_launched (DvmdController *self, guint source, GVariant *body)
{
  g_autoptr (GVariantIter) started = NULL;
  g_autoptr (GVariantIter) failed = NULL;
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
  while (g_variant_iter_next (started, "(ui)", &rank, &pid))
    dvmd_core_proc_launched (self->core, job, rank, pid, 0, NULL);
  while (g_variant_iter_next (failed, "(ui&s)", &rank, &exit_code, &reason))
    dvmd_core_proc_launched (self->core, job, rank, 0, exit_code, reason);
  dvmd_core_local_launch_complete (self->core, job, source);
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
    dvmd_core_proc_state (self->core, job, rank, state, exit_code, exit_signal);
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
  if (job != NULL)
    dvmd_core_abort_called (self->core, job, rank, status, message);
}

void
dvmd_controller_handle_job_gone (DvmdController *self, guint source, GVariant *body)
{
  DvmdJob *job;
  guint32 id;

  g_variant_get (body, "(u)", &id);
  job = find_job (self, source, id);
  if (job != NULL)
    dvmd_core_job_gone (self->core, job, source);
}

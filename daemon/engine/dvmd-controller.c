/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <signal.h>
#include <unistd.h>

#include "dvm-job-spec-private.h"
#include "dvmd-controller-wired.h"
#include "dvmd-id-set.h"

/* How long an allocator may take to answer, where nobody has said anything else (µs). */
#define ALLOCATOR_TIMEOUT (30 * G_TIME_SPAN_SECOND)

enum
{
  READY,
  ENDED,
  JOB_FINISHED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (DvmdController, dvmd_controller, G_TYPE_OBJECT)

static void
dvmd_controller_dispose (GObject *object)
{
  DvmdController *self = DVMD_CONTROLLER (object);

  g_clear_pointer (&self->streams, g_hash_table_unref);
  g_clear_pointer (&self->environments, dvmd_environments_free);
  g_clear_pointer (&self->topology_asks, g_ptr_array_unref);
  g_clear_pointer (&self->table_asks, g_hash_table_unref);
  g_clear_pointer (&self->topologies, g_hash_table_unref);
  g_clear_pointer (&self->fences, g_hash_table_unref);
  g_clear_pointer (&self->modex_asks, g_hash_table_unref);
  g_clear_pointer (&self->tree_fences, g_hash_table_unref);
  g_clear_pointer (&self->askers, g_hash_table_unref);
  g_clear_pointer (&self->tools, g_hash_table_unref);
  g_clear_pointer (&self->spawns, g_hash_table_unref);
  g_clear_pointer (&self->stagings, g_hash_table_unref);
  if (self->allocating != NULL)
    g_cancellable_cancel (self->allocating);
  g_clear_object (&self->allocating);
  if (self->questions != NULL)
    dvmd_controller_forget_allocators (self);
  g_clear_pointer (&self->allocators, g_ptr_array_unref);
  if (self->history_source != NULL)
    g_source_destroy (self->history_source);
  g_clear_pointer (&self->history_source, g_source_unref);
  g_clear_pointer (&self->embedded, g_ptr_array_unref);
  g_clear_pointer (&self->wired, dvmd_wired_free);
  g_clear_pointer (&self->plugins, dvmd_plugins_free);
  g_clear_pointer (&self->reaper, dvmd_reaper_free);
  g_clear_pointer (&self->spawner, dvmd_spawner_free);
  g_clear_pointer (&self->links, g_hash_table_unref);
  if (self->core != NULL)
    g_signal_handlers_disconnect_by_data (self->core, self);
  /* What still waits in the queue holds jobs that belong to the core. */
  g_clear_pointer (&self->queue, dvmd_event_queue_free);
  g_clear_object (&self->core);
  g_clear_pointer (&self->trace_file, dvmd_trace_file_free);
  g_clear_pointer (&self->pmix, g_ptr_array_unref);
  g_clear_pointer (&self->told, g_hash_table_unref);
  g_clear_pointer (&self->done_with, g_hash_table_unref);
  g_clear_pointer (&self->data, dvmd_data_store_free);
  g_clear_pointer (&self->clock, dvmd_clock_unref);
  g_clear_pointer (&self->context, g_main_context_unref);
  G_OBJECT_CLASS (dvmd_controller_parent_class)->dispose (object);
}

static void
dvmd_controller_finalize (GObject *object)
{
  DvmdController *self = DVMD_CONTROLLER (object);

  g_free (self->name);
  g_free (self->instance_id);
  g_free (self->end_reason);
  g_free (self->runtime_dir);
  g_free (self->nspace);
  g_free (self->host);
  g_free (self->pmix_gds);
  g_strfreev (self->hosts);
  dvmd_shape_clear (&self->shape);
  G_OBJECT_CLASS (dvmd_controller_parent_class)->finalize (object);
}

static void
dvmd_controller_class_init (DvmdControllerClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = dvmd_controller_dispose;
  G_OBJECT_CLASS (klass)->finalize = dvmd_controller_finalize;
  signals[READY] = g_signal_new ("ready", DVMD_TYPE_CONTROLLER, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[ENDED] = g_signal_new ("ended", DVMD_TYPE_CONTROLLER, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2,
                                 G_TYPE_UINT, G_TYPE_STRING);
  signals[JOB_FINISHED] = g_signal_new ("job-finished", DVMD_TYPE_CONTROLLER, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                        G_TYPE_NONE, 1, DVMD_TYPE_JOB);
}

static void
dvmd_controller_init (DvmdController *self)
{
  self->links = g_hash_table_new_full (NULL, NULL, NULL, g_object_unref);
  self->embedded = g_ptr_array_new_with_free_func (g_object_unref);
  self->pmix = g_ptr_array_new_with_free_func (g_object_unref);
  self->environments = dvmd_environments_new (DVMD_ENVIRONMENTS_LIMIT);
  self->streams = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)dvmd_job_streams_free);
  g_queue_init (&self->kept);
  self->topologies = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->topology_asks = g_ptr_array_new_with_free_func (g_object_unref);
  self->table_asks = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_object_unref);
  self->fences = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, dvmd_fence_free);
  self->modex_asks = dvmd_modex_asks_new ();
  self->told = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_hash_table_unref);
  self->done_with = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_hash_table_unref);
  self->tree_fences = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->askers = dvmd_controller_askers_new ();
  self->spawns = dvmd_controller_spawns_new ();
  self->stagings = g_hash_table_new_full (NULL, NULL, NULL, dvmd_staging_free);
  self->questions = dvmd_controller_questions_new ();
  g_queue_init (&self->size_changes);
  self->tools = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

/* ---- effects ---- */

static void
effect_dvm_ready (gpointer world)
{
  ((DvmdController *)world)->was_ready = TRUE;
  g_signal_emit (world, signals[READY], 0);
}

static void
effect_tell_started (gpointer world, DvmdJob *job)
{
  DvmdController *self = world;
  DvmdJobStreams *streams = g_hash_table_lookup (self->streams, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  if (streams != NULL)
    dvmd_job_streams_started (streams);
}

static void
effect_tell_ended (gpointer world, DvmdJob *job)
{
  DvmdController *self = world;

  dvmd_controller_forget_tree_fences (self, job);
  dvmd_controller_fail_fences (self, job);
  dvmd_controller_fail_modex_asks (self, job);
  dvmd_controller_untell_job (self, job);
  dvmd_data_store_job_ended (self->data, dvm_job_get_nspace (dvmd_job_get_record (job)));
  dvmd_controller_spawn_ended (self, job);
}

static void
effect_dvm_ended (gpointer world, DvmJobState state, const char *reason)
{
  DvmdController *self = world;

  self->ended = TRUE;
  self->end_state = state;
  self->end_reason = g_strdup (reason);
  dvmd_controller_end_questions (self);
  /* What those have left who went just now is waited for. */
  if (self->wired != NULL)
    dvmd_wired_clean_up (self->wired);
  dvmd_controller_check_end (self);
}

/*
 * Agents that were lost may still be on their way out, and nobody ends them when this process has gone. Whoever waits
 * for a start is told at once why it has failed: what there is of agents then has no processes.
 */
void
dvmd_controller_check_end (DvmdController *self)
{
  if (!self->ended || (self->was_ready && self->wired != NULL && self->wired->n_terminations > 0))
    return;
  self->ended = FALSE;
  g_signal_emit (self, signals[ENDED], 0, (guint)self->end_state, self->end_reason);
}

static void
effect_traced (gpointer world, DvmdJob *job, const DvmdTraceEntry *entry)
{
  DvmdController *self = world;
  g_autofree char *what = NULL;

  if (self->trace_file == NULL)
    return;
  /* The DVM's own job has no processes, and no other has its number. */
  what = dvmd_job_get_id (job) == 0 ? g_strdup ("dvm") : dvmd_trace_entry_describe (entry);
  dvmd_trace_file_add (self->trace_file, dvm_job_get_nspace (dvmd_job_get_record (job)), what, entry);
}

static const DvmdEffects controller_effects = {
  .allocate = dvmd_controller_allocate,
  .launch_agents = dvmd_controller_launch_agents,
  .distribute_membership = dvmd_controller_distribute_membership,
  .dvm_ready = effect_dvm_ready,
  .map = dvmd_controller_map,
  .stage_files = dvmd_controller_stage_files,
  .send_launch = dvmd_controller_send_launch,
  .kill = dvmd_controller_kill,
  .signal_job = dvmd_controller_signal,
  .node_lost = dvmd_controller_node_lost,
  .warn_job = dvmd_controller_warn_job,
  .campaign_ended = dvmd_controller_campaign_ended,
  .warn_session = dvmd_controller_warn_session,
  .session_ended = dvmd_controller_session_ended,
  .tell_started = effect_tell_started,
  .tell_ended = effect_tell_ended,
  .stop_agents = dvmd_controller_stop_agents,
  .wire_agents = dvmd_controller_wire_agents,
  .remove_agents = dvmd_controller_remove_agents,
  .offer_nodes = dvmd_controller_offer_nodes,
  .traced = effect_traced,
  .dvm_ended = effect_dvm_ended,
};

/* ---- the life of jobs ---- */

static void
on_job_ended (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  DvmdController *self = user_data;
  DvmdJobStreams *streams = g_hash_table_lookup (self->streams, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  dvmd_controller_stop_staging (self, job);
  if (streams != NULL)
    dvmd_job_streams_end (streams);
  else
    dvmd_controller_finish_job (self, job);
}

static void
on_job_state_changed (DvmdCore *core, DvmdJob *job, guint old_state, guint new_state, gpointer user_data)
{
  dvmd_controller_spawn_changed (user_data, job, new_state);
}

static void
on_job_forgotten (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  DvmdController *self = user_data;
  DvmdJobStreams *streams = g_hash_table_lookup (self->streams, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  if (streams != NULL)
    dvmd_job_streams_forget (streams);
}

static void
on_node_state_changed (DvmdCore *core, guint rank, guint state, gpointer user_data)
{
  if (state == DVM_NODE_STATE_DOWN)
    dvmd_controller_forget_agent (user_data, rank);
}

void
dvmd_controller_finish_job (DvmdController *self, DvmdJob *job)
{
  g_signal_emit (self, signals[JOB_FINISHED], 0, job);
}

static void
take_nodes (DvmdController *self, const DvmdControllerSettings *settings)
{
  self->hosts = g_strdupv ((char **)settings->nodes);
  self->slots = settings->slots;
  dvmd_shape_init (&self->shape, settings);
  for (guint i = 0; settings->pmix != NULL && settings->nodes[i] != NULL; i++)
    g_ptr_array_add (self->pmix, g_object_ref (settings->pmix[i]));
}

static DvmdPlugins *
builtin_plugins (void)
{
  const DvmdPluginsSettings none = { 0 };

  return dvmd_plugins_new (&none, NULL);
}

/* µs as whole seconds */
static guint
round_up (gint64 time)
{
  return (guint)((time + G_USEC_PER_SEC - 1) / G_USEC_PER_SEC);
}

DvmdController *
dvmd_controller_new (const DvmdControllerSettings *settings, GMainContext *context)
{
  DvmdController *self = g_object_new (DVMD_TYPE_CONTROLLER, NULL);
  DvmdCoreSettings core_settings = { 0 };
  g_autofree char *id = g_uuid_string_random ();

  self->name = g_strdup (settings->name);
  self->instance_id = g_strdup (id);
  self->runtime_dir = g_strdup (settings->runtime_dir);
  self->nspace = g_strdup_printf ("dvm-%.8s", id);
  self->host = g_strdup (g_get_host_name ());
  self->kill_grace = settings->kill_grace;
  self->keep_output = settings->keep_output;
  self->keep_output_total = settings->keep_output_total;
  self->output_credit = settings->output_credit > 0 ? settings->output_credit : DVMD_STREAM_WINDOW;
  self->pmix_gds = g_strdup (settings->pmix_gds);
  self->pmix_eager = settings->pmix_eager;
  self->pmix_events = settings->pmix_events;
  self->adopt_orphans = settings->adopt_orphans;
  self->trace_file = settings->trace_file;
  self->context = context != NULL ? g_main_context_ref (context) : NULL;
  self->clock = dvmd_clock_new_real (context);
  self->queue = dvmd_event_queue_new_for_context (context);
  self->started_at = dvmd_clock_now (self->clock);
  core_settings.nspace = self->nspace;
  core_settings.host = self->host;
  core_settings.history_limit = settings->history_limit;
  core_settings.history_bytes = settings->history_bytes;
  core_settings.one_shot = settings->one_shot;
  core_settings.allow_missing = settings->allow_missing;
  /* Agents inside of this process are there as long as it is. */
  core_settings.elastic = settings->elastic && settings->config != NULL;
  core_settings.park_limit = round_up (settings->park_limit);
  core_settings.grow_timeout = round_up (settings->grow_timeout);
  core_settings.uid = geteuid ();
  self->core = dvmd_core_new (&core_settings, self->clock, self->queue, &controller_effects, self);
  dvmd_controller_open_data (self);
  g_signal_connect (self->core, "job-ended", G_CALLBACK (on_job_ended), self);
  g_signal_connect (self->core, "job-state-changed", G_CALLBACK (on_job_state_changed), self);
  g_signal_connect (self->core, "job-forgotten", G_CALLBACK (on_job_forgotten), self);
  g_signal_connect (self->core, "node-state-changed", G_CALLBACK (on_node_state_changed), self);
  take_nodes (self, settings);
  if (settings->config != NULL)
    self->wired = dvmd_wired_new (self, settings);
  self->plugins = settings->plugins != NULL ? settings->plugins : builtin_plugins ();
  self->allocator_timeout = settings->allocator_timeout > 0 ? settings->allocator_timeout : ALLOCATOR_TIMEOUT;
  dvmd_controller_listen_to_allocators (self);
  return self;
}

static gboolean
on_history_too_long (gpointer user_data)
{
  DvmdController *self = user_data;

  if (dvmd_core_trim_history (self->core))
    return G_SOURCE_CONTINUE;
  g_clear_pointer (&self->history_source, g_source_unref);
  return G_SOURCE_REMOVE;
}

/* A million jobs are not forgotten in one turn of the main loop. */
static void
trim_history (DvmdController *self)
{
  if (self->history_source != NULL || !dvmd_core_trim_history (self->core))
    return;
  self->history_source = g_idle_source_new ();
  g_source_set_callback (self->history_source, on_history_too_long, self, NULL);
  g_source_attach (self->history_source, self->context);
}

void
dvmd_controller_change (DvmdController *self, const DvmdControllerChanges *changes)
{
  self->kill_grace = changes->kill_grace;
  self->keep_output = changes->keep_output;
  self->keep_output_total = changes->keep_output_total;
  dvmd_controller_trim_output (self);
  g_clear_pointer (&self->trace_file, dvmd_trace_file_free);
  self->trace_file = changes->trace_file;
  dvmd_plugins_set_disabled (self->plugins, changes->disabled_plugins);
  dvmd_core_set_history_limit (self->core, changes->history_limit);
  dvmd_core_set_history_bytes (self->core, changes->history_bytes);
  trim_history (self);
}

void
dvmd_controller_start (DvmdController *self)
{
  g_autoptr (GError) error = NULL;

  /* One reaper for all children of the process: an agent would take those of plugins for orphans. */
  self->spawner = dvmd_spawner_new (&error);
  if (self->spawner != NULL)
    self->reaper = dvmd_reaper_new (self->context, self->adopt_orphans, &error);
  if (self->reaper != NULL)
    dvmd_plugins_set_processes (self->plugins, self->spawner, self->reaper);
  else
    g_message ("Plugins cannot start commands: %s", error->message);
  dvmd_core_start (self->core);
}

GVariant *
dvmd_controller_list_plugins (DvmdController *self)
{
  return dvmd_plugins_to_variant (self->plugins);
}

DvmdCore *
dvmd_controller_get_core (DvmdController *self)
{
  return self->core;
}

const char *
dvmd_controller_get_instance_id (DvmdController *self)
{
  return self->instance_id;
}

gint64
dvmd_controller_get_started_at (DvmdController *self)
{
  return self->started_at;
}

void
dvmd_controller_send (DvmdController *self, guint rank, DvmdMessageKind kind, GVariant *body)
{
  DvmdLink *link = g_hash_table_lookup (self->links, GUINT_TO_POINTER (rank));
  g_autoptr (DvmdMessage) message = dvmd_message_new (kind, 0, rank, body);

  if (link != NULL)
    dvmd_link_send (link, message);
}

void
dvmd_controller_send_to_job (DvmdController *self, DvmdJob *job, DvmdMessageKind kind, GVariant *body)
{
  DvmdJobStreams *streams = g_hash_table_lookup (self->streams, GUINT_TO_POINTER (dvmd_job_get_id (job)));
  g_autoptr (GVariant) sunk = g_variant_ref_sink (body);
  g_autoptr (GArray) agents = NULL;

  if (dvmd_job_get_map (job) == NULL)
    return;
  if (streams != NULL && streams->broadcast && !dvmd_message_kind_is_bulk (kind))
    {
      dvmd_wired_broadcast (self->wired, kind, sunk);
      return;
    }
  agents = dvmd_map_get_nodes (dvmd_job_get_map (job));
  for (guint i = 0; i < agents->len; i++)
    dvmd_controller_send (self, g_array_index (agents, guint, i), kind, sunk);
}

/* ---- what people ask ---- */

static void
close_fds (int fds[3])
{
  for (guint i = 0; i < 3; i++)
    {
      if (fds[i] >= 0)
        close (fds[i]);
      fds[i] = -1;
    }
}

struct _DvmdSubmission
{
  DvmdCore *core; /* unowned; NULL when the job exists */
  guint id;
  DvmJobSpec *spec;
  DvmdJobStreams *streams; /* NULL when they are the job's */
};

void
dvmd_submission_free (DvmdSubmission *submission)
{
  g_clear_pointer (&submission->streams, dvmd_job_streams_free);
  if (submission->core != NULL)
    dvmd_core_unreserve (submission->core, submission->id);
  g_object_unref (submission->spec);
  g_free (submission);
}

DvmdSubmission *
dvmd_controller_prepare_job (DvmdController *self, DvmJobSpec *spec, const DvmdRequester *requester, const int given[3],
                             GError **error)
{
  int fds[3] = { given[0], given[1], given[2] };
  guint id = dvmd_core_reserve (self->core, spec, requester, error);
  g_autofree char *nspace = g_strdup_printf ("%s@%u", self->nspace, id);
  DvmdJobStreams *streams = NULL;
  DvmdSubmission *submission;

  /* The streams first: whether the output can be written is known before the job exists. */
  if (id != 0 && _dvm_job_spec_load_hosts (spec, "", error))
    streams = dvmd_job_streams_new (self, spec, nspace, id, fds, error);
  close_fds (fds);
  if (streams == NULL)
    {
      dvmd_core_unreserve (self->core, id);
      return NULL;
    }
  submission = g_new0 (DvmdSubmission, 1);
  submission->core = self->core;
  submission->id = id;
  submission->spec = g_object_ref (spec);
  submission->streams = streams;
  return submission;
}

void
dvmd_submission_begin (DvmdSubmission *submission)
{
  dvmd_output_begin (submission->streams->output);
}

DvmdJob *
dvmd_controller_accept_job (DvmdController *self, DvmdSubmission *submission, const DvmdRequester *requester,
                            GError **error)
{
  DvmdJobStreams *streams = submission->streams;
  DvmdJob *job = dvmd_core_submit_reserved (self->core, submission->id, submission->spec, requester, error);

  if (job != NULL)
    {
      submission->core = NULL;
      dvmd_job_streams_accept (streams, job);
      g_hash_table_insert (self->streams, GUINT_TO_POINTER (submission->id), g_steal_pointer (&submission->streams));
    }
  dvmd_submission_free (submission);
  return job;
}

DvmdJob *
dvmd_controller_submit (DvmdController *self, DvmJobSpec *spec, const DvmdRequester *requester, const int fds[3],
                        GError **error)
{
  DvmdSubmission *submission = dvmd_controller_prepare_job (self, spec, requester, fds, error);

  return submission != NULL ? dvmd_controller_accept_job (self, submission, requester, error) : NULL;
}

static gboolean
check_live (DvmdJob *job, GError **error)
{
  if (!dvmd_job_get_ended (job))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND, "Job %s has ended: nothing of it runs",
               dvm_job_get_nspace (dvmd_job_get_record (job)));
  return FALSE;
}

static gboolean
check_has_processes (DvmdJob *job, GError **error)
{
  if (dvmd_job_get_procs (job) != NULL)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_READY, "Job %s has no processes yet (%s)",
               dvm_job_get_nspace (dvmd_job_get_record (job)), dvm_job_state_to_string (dvmd_job_get_state (job)));
  return FALSE;
}

static gboolean
check_ranks (DvmdJob *job, const char *ranks, GError **error)
{
  g_autoptr (DvmdIdSet) set = dvmd_id_set_parse (ranks, "ranks", error);
  DvmdProcTable *procs = dvmd_job_get_procs (job);
  guint rank;

  if (set == NULL)
    return FALSE;
  if (ranks[0] == '\0' || !dvmd_id_set_next (set, procs->n_rows, &rank))
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "“ranks”: job %s has the ranks 0 to %u, %u is none of them",
               dvm_job_get_nspace (dvmd_job_get_record (job)), procs->n_rows - 1, rank);
  return FALSE;
}

gboolean
dvmd_controller_signal_job (DvmdController *self, DvmdJob *job, int signum, const char *ranks, GError **error)
{
  if (signum < 1 || signum >= NSIG)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "%d is not the number of a signal: use 1 to %d", signum,
                   NSIG - 1);
      return FALSE;
    }
  if (!check_live (job, error) || !check_has_processes (job, error)
      || !check_ranks (job, ranks != NULL ? ranks : "", error))
    return FALSE;
  dvmd_controller_send_to_job (self, job, DVMD_MSG_SIGNAL,
                               g_variant_new ("(uis)", dvmd_job_get_id (job), signum, ranks != NULL ? ranks : ""));
  return TRUE;
}

void
dvmd_controller_signal (gpointer world, DvmdJob *job, int signal)
{
  DvmdController *self = world;
  int signum = signal == DVMD_SIGNAL_STOP ? SIGSTOP : signal == DVMD_SIGNAL_CONTINUE ? SIGCONT : signal;

  dvmd_controller_send_to_job (self, job, DVMD_MSG_SIGNAL, g_variant_new ("(uis)", dvmd_job_get_id (job), signum, ""));
}

gboolean
dvmd_controller_continue_job (DvmdController *self, DvmdJob *job, GError **error)
{
  if (!check_live (job, error) || !check_has_processes (job, error))
    return FALSE;
  dvmd_core_continue_job (self->core, job);
  dvmd_controller_send_to_job (self, job, DVMD_MSG_CONTINUE, g_variant_new ("(u)", dvmd_job_get_id (job)));
  return TRUE;
}

gboolean
dvmd_controller_resize_job (DvmdController *self, DvmdJob *job, guint rows, guint columns, GError **error)
{
  const char *nspace = dvm_job_get_nspace (dvmd_job_get_record (job));

  if (MIN (rows, columns) < 1 || MAX (rows, columns) > G_MAXUINT16)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                   "%u rows and %u columns are not the size of a terminal: both can be 1 to %u", rows, columns,
                   (guint)G_MAXUINT16);
      return FALSE;
    }
  if (!dvm_job_spec_get_pty (dvmd_job_get_spec (job)))
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "Job %s has no terminal: it was not submitted with “pty”",
                   nspace);
      return FALSE;
    }
  if (!check_live (job, error))
    return FALSE;
  /* What the launch tells agents that know nothing of the job yet. */
  dvm_job_spec_set_pty_rows (dvmd_job_get_spec (job), rows);
  dvm_job_spec_set_pty_columns (dvmd_job_get_spec (job), columns);
  dvmd_controller_send_to_job (self, job, DVMD_MSG_RESIZE,
                               g_variant_new ("(uuu)", dvmd_job_get_id (job), rows, columns));
  return TRUE;
}

gboolean
dvmd_controller_cancel_job (DvmdController *self, DvmdJob *job, const char *reason, GError **error)
{
  if (!check_live (job, error))
    return FALSE;
  dvmd_core_fail_job (self->core, job, DVM_JOB_STATE_KILLED_BY_CMD, reason);
  return TRUE;
}

gboolean
dvmd_controller_attach (DvmdController *self, DvmdJob *job, DvmStreams streams, int fds[3], GError **error)
{
  DvmdJobStreams *job_streams = g_hash_table_lookup (self->streams, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  g_return_val_if_fail (job_streams != NULL, FALSE);
  return dvmd_job_streams_attach (job_streams, streams, fds, error);
}

gboolean
dvmd_controller_job_is_finished (DvmdController *self, DvmdJob *job)
{
  DvmdJobStreams *streams = g_hash_table_lookup (self->streams, GUINT_TO_POINTER (dvmd_job_get_id (job)));

  return dvmd_job_get_ended (job) && (streams == NULL || streams->finished);
}

void
dvmd_controller_shutdown (DvmdController *self, gboolean force, const char *reason)
{
  if (force && self->wired != NULL)
    dvmd_wired_force (self->wired);
  dvmd_core_shutdown (self->core, force, reason);
}

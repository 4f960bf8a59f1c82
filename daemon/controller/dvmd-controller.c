/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The controller is the frame of its services: it owns core, links and plugins, starts, changes and ends.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <unistd.h>

#include "dvmd-campaign-machine.h"
#include "dvmd-controller-private.h"
#include "dvmd-controller-streams.h"
#include "dvmd-job-machine.h"
#include "dvmd-vm-machine.h"

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

  if (self->services != NULL)
    dvmd_services_free (self->services);
  self->services = NULL;
  if (self->agents != NULL)
    self->agents->funcs->free (g_steal_pointer (&self->agents));
  g_clear_pointer (&self->plugins, dvmd_plugins_free);
  g_clear_pointer (&self->processes, dvmd_host_processes_free);
  g_clear_pointer (&self->links, g_hash_table_unref);
  if (self->core != NULL)
    g_signal_handlers_disconnect_by_data (self->core, self);
  /* What still waits in the queue holds jobs that belong to the core. */
  g_clear_pointer (&self->queue, dvmd_event_queue_free);
  g_clear_object (&self->core);
  g_clear_pointer (&self->clock, dvmd_clock_unref);
  g_clear_pointer (&self->context, g_main_context_unref);
  G_OBJECT_CLASS (dvmd_controller_parent_class)->dispose (object);
}

static void
dvmd_controller_finalize (GObject *object)
{
  DvmdController *self = DVMD_CONTROLLER (object);

  g_free (self->instance_id);
  g_free (self->end.reason);
  g_free (self->runtime_dir);
  g_free (self->nspace);
  g_free (self->host);
  dvmd_shape_free (self->shape);
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
}

/* ---- effects ---- */

static void
effect_dvm_ready (gpointer user_data)
{
  ((DvmdController *)user_data)->was_ready = TRUE;
  g_signal_emit (user_data, signals[READY], 0);
}

static void
effect_tell_started (gpointer user_data, DvmdJob *job)
{
  DvmdController *self = user_data;

  dvmd_services_job_started (self->services, job);
}

static void
effect_tell_ended (gpointer user_data, DvmdJob *job)
{
  DvmdController *self = user_data;

  dvmd_services_job_ended (self->services, job);
}

static void
effect_dvm_ended (gpointer user_data, DvmJobState state, const char *reason)
{
  DvmdController *self = user_data;

  self->end.reached = TRUE;
  self->end.state = state;
  self->end.reason = g_strdup (reason);
  dvmd_services_dvm_ended (self->services);
  if (self->agents->funcs->dvm_ended != NULL)
    self->agents->funcs->dvm_ended (self->agents);
  dvmd_controller_check_end (self);
}

/*
 * Agents that were lost may still be on their way out, and nobody ends them when this process has gone. Whoever waits
 * for a start is told at once why it has failed: what there is of agents then has no processes.
 */
void
dvmd_controller_check_end (DvmdController *self)
{
  if (!self->end.reached
      || (self->was_ready && self->agents->funcs->is_ending != NULL && self->agents->funcs->is_ending (self->agents)))
    return;
  self->end.reached = FALSE;
  g_signal_emit (self, signals[ENDED], 0, (guint)self->end.state, self->end.reason);
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
  .traced = dvmd_controller_trace,
  .dvm_ended = effect_dvm_ended,
};

/* ---- the life of jobs ---- */

static void
on_job_ended (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  DvmdController *self = user_data;
  DvmdJobStreams *streams = dvmd_controller_get_streams (self, dvmd_job_get_id (job));

  if (streams != NULL)
    dvmd_job_streams_end (streams);
  else
    dvmd_controller_finish_job (self, job);
}

static void
on_job_state_changed (DvmdCore *core, DvmdJob *job, guint old_state, guint new_state, gpointer user_data)
{
  dvmd_services_job_changed (((DvmdController *)user_data)->services, job, new_state);
}

static void
on_job_forgotten (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  dvmd_services_job_forgotten (((DvmdController *)user_data)->services, job);
}

static void
on_node_state_changed (DvmdCore *core, guint rank, guint state, gpointer user_data)
{
  if (state == DVM_NODE_STATE_DOWN)
    dvmd_services_agent_gone (((DvmdController *)user_data)->services, rank);
}

void
dvmd_controller_finish_job (DvmdController *self, DvmdJob *job)
{
  g_signal_emit (self, signals[JOB_FINISHED], 0, job);
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

/* Whatever is judged next is judged after what has come meanwhile was heard: the clock sees to that. */
static void
on_stood_still (gint64 time, gpointer user_data)
{
  g_message ("The controller stood still for %.3g s: agents that have left since then are started again if \"heal\" "
             "says so, and their jobs have failed",
             (double)time / G_USEC_PER_SEC);
}

DvmdController *
dvmd_controller_new (const DvmdControllerSettings *settings, GMainContext *context)
{
  DvmdController *self = g_object_new (DVMD_TYPE_CONTROLLER, NULL);
  DvmdCoreSettings core_settings = { 0 };
  g_autofree char *id = g_uuid_string_random ();

  self->instance_id = g_strdup (id);
  self->runtime_dir = g_strdup (settings->runtime_dir);
  self->nspace = g_strdup_printf ("dvm-%.8s", id);
  self->host = g_strdup (g_get_host_name ());
  self->kill_grace = settings->kill_grace;
  self->pmix_events = settings->pmix_events;
  self->adopt_orphans = settings->adopt_orphans;
  self->context = context != NULL ? g_main_context_ref (context) : NULL;
  self->clock = dvmd_clock_new_real (context);
  dvmd_clock_set_stood_still_func (self->clock, on_stood_still, NULL);
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
  core_settings.heal = settings->heal && settings->config != NULL;
  core_settings.heal_limit = settings->heal_limit;
  core_settings.heal_pause = settings->heal_pause;
  core_settings.park_limit = round_up (settings->park_limit);
  core_settings.grow_timeout = round_up (settings->grow_timeout);
  core_settings.uid = geteuid ();
  self->core = dvmd_core_new (&core_settings, self->clock, self->queue, &controller_effects, self);
  self->services = dvmd_services_new (self, settings);
  g_signal_connect (self->core, "job-ended", G_CALLBACK (on_job_ended), self);
  g_signal_connect (self->core, "job-state-changed", G_CALLBACK (on_job_state_changed), self);
  g_signal_connect (self->core, "job-forgotten", G_CALLBACK (on_job_forgotten), self);
  g_signal_connect (self->core, "node-state-changed", G_CALLBACK (on_node_state_changed), self);
  self->shape = dvmd_shape_new (settings);
  self->agents = settings->config != NULL ? dvmd_remote_new (self, settings) : dvmd_embedded_new (self, settings);
  self->plugins = settings->plugins != NULL ? settings->plugins : builtin_plugins ();
  dvmd_controller_listen_to_allocators (self);
  return self;
}

void
dvmd_controller_change (DvmdController *self, const DvmdControllerChanges *changes)
{
  self->kill_grace = changes->kill_grace;
  dvmd_controller_keep_output (self, changes->keep_output, changes->keep_output_total);
  dvmd_controller_set_trace_file (self, changes->trace_file);
  dvmd_plugins_set_disabled (self->plugins, changes->disabled_plugins);
  dvmd_core_set_history_limit (self->core, changes->history_limit);
  dvmd_core_set_history_bytes (self->core, changes->history_bytes);
  dvmd_controller_trim_history (self);
}

void
dvmd_controller_start (DvmdController *self)
{
  g_autoptr (GError) error = NULL;

  /* One reaper for all children of the process: an agent would take those of plugins for orphans. An agent inside sees
   * to its own orphans. */
  self->processes = dvmd_host_processes_new (self->context, self->clock, self->adopt_orphans,
                                             self->agents->funcs->remote ? self->nspace : NULL, &error);
  if (self->processes != NULL)
    dvmd_plugins_set_processes (self->plugins, dvmd_host_processes_get_spawner (self->processes),
                                dvmd_host_processes_get_reaper (self->processes));
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
dvmd_controller_shutdown (DvmdController *self, gboolean force, const char *reason)
{
  if (force && self->agents->funcs->force != NULL)
    self->agents->funcs->force (self->agents);
  dvmd_core_shutdown (self->core, force, reason);
}

char *
dvmd_controller_draw_machines (void)
{
  static const DvmdStateTable *const tables[] = { &dvmd_vm_table, &dvmd_job_table, &dvmd_campaign_table, NULL };

  return dvmd_state_tables_to_dot (tables);
}

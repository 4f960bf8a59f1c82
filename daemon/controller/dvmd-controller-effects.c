/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The controller is put together: which service does what the core asks for.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include <unistd.h>

#include "dvmd-controller-private.h"

#include "dvmd-cpu-claims.h"
#include "dvmd-device-claims.h"
#include "dvmd-controller-allocators.h"
#include "dvmd-controller-jobs.h"
#include "dvmd-controller-map.h"
#include "dvmd-controller-pulls.h"
#include "dvmd-controller-streams.h"

/* ---- effects ---- */

static void
claim_hardware (gpointer user_data, DvmdJob *job, DvmdMap *map)
{
  dvmd_controller_claim_cpus (user_data, job, map);
  dvmd_controller_claim_devices (user_data, job, map);
}

static void
give_hardware_back (gpointer user_data, DvmdJob *job, DvmdNode *node)
{
  dvmd_controller_give_cpus_back (user_data, job, node);
  dvmd_controller_give_devices_back (user_data, job, node);
}

static const DvmdEffects controller_effects = {
  .allocate = dvmd_controller_allocate,
  .launch_agents = dvmd_controller_launch_agents,
  .wire_agents = dvmd_controller_wire_agents,
  .dvm_ready = dvmd_controller_tell_ready,
  .placement.check = dvmd_controller_check_placement,
  .placement.count = dvmd_controller_count_procs,
  .placement.map = dvmd_controller_map,
  .placement.claimed = claim_hardware,
  .placement.given_back = give_hardware_back,
  .stage_files = dvmd_controller_stage_files,
  .show_job = dvmd_controller_show_job,
  .send_launch = dvmd_controller_send_launch,
  .move_ranks = dvmd_controller_move_ranks,
  .kill = dvmd_controller_kill,
  .signal_job = dvmd_controller_signal,
  .node_lost = dvmd_controller_node_lost,
  .time_over = dvmd_controller_time_over,
  .warn_job = dvmd_controller_warn_job,
  .campaign_ended = dvmd_services_campaign_ended,
  .warn_session = dvmd_services_warn_session,
  .session_ended = dvmd_controller_session_ended,
  .tell_started = dvmd_services_job_started,
  .tell_ended = dvmd_services_job_ended,
  .see_off = dvmd_controller_see_off,
  .offer_nodes = dvmd_controller_offer_nodes,
  .traced = dvmd_services_traced,
  .dvm_ended = dvmd_controller_tell_ended,
};

/* ---- what the core tells ---- */

static void
on_job_ended (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  DvmdController *self = user_data;
  DvmdJobStreams *streams = dvmd_controller_get_streams (self, dvmd_job_get_id (job));

  if (streams != NULL)
    dvmd_job_streams_end (streams);
  dvmd_controller_end_pulls (self, job);
  if (streams == NULL)
    dvmd_controller_finish_job (self, job);
}

static void
on_job_state_changed (DvmdCore *core, DvmdJob *job, guint old_state, guint new_state, gpointer user_data)
{
  dvmd_services_job_changed (user_data, job, new_state);
}

static void
on_job_forgotten (DvmdCore *core, DvmdJob *job, gpointer user_data)
{
  dvmd_services_job_forgotten (user_data, job);
}

static void
on_node_state_changed (DvmdCore *core, guint rank, guint state, gpointer user_data)
{
  if (state == DVM_NODE_STATE_DOWN)
    dvmd_services_agent_gone (user_data, rank);
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

  self->parts.instance_id = g_strdup (id);
  self->parts.runtime_dir = g_strdup (settings->runtime_dir);
  self->parts.nspace = g_strdup_printf ("dvm-%.8s", id);
  self->parts.host = g_strdup (g_get_host_name ());
  self->kill_grace = settings->kill_grace;
  self->adopt_orphans = settings->adopt_orphans;
  self->parts.context = context != NULL ? g_main_context_ref (context) : NULL;
  self->parts.clock = dvmd_clock_new_real (context);
  dvmd_clock_set_stood_still_func (self->parts.clock, on_stood_still, NULL);
  self->queue = dvmd_event_queue_new_for_context (context);
  self->started_at = dvmd_clock_now (self->parts.clock);
  core_settings.nspace = self->parts.nspace;
  core_settings.host = self->parts.host;
  core_settings.history_limit = settings->history_limit;
  core_settings.history_bytes = settings->history_bytes;
  core_settings.one_shot = settings->one_shot;
  core_settings.allow_missing = settings->shape.allow_missing;
  /* Agents inside of this process are there as long as it is. */
  core_settings.elastic = settings->size.elastic && settings->config != NULL;
  core_settings.heal = settings->size.heal && settings->config != NULL;
  core_settings.heal_limit = settings->size.heal_limit;
  core_settings.heal_pause = settings->size.heal_pause;
  core_settings.move_pause = settings->size.move_pause;
  core_settings.park_limit = round_up (settings->size.park_limit);
  core_settings.grow_timeout = round_up (settings->size.grow_timeout);
  core_settings.queue = settings->queue.backfill;
  core_settings.queue_max_running = settings->queue.max_running;
  core_settings.uid = geteuid ();
  self->core = dvmd_core_new (&core_settings, self->parts.clock, self->queue, &controller_effects, self);
  self->parts.plugins = settings->plugins != NULL ? settings->plugins : builtin_plugins ();
  self->services = dvmd_services_new (self, settings);
  g_signal_connect (self->core, "job-ended", G_CALLBACK (on_job_ended), self);
  g_signal_connect (self->core, "job-state-changed", G_CALLBACK (on_job_state_changed), self);
  g_signal_connect (self->core, "job-forgotten", G_CALLBACK (on_job_forgotten), self);
  g_signal_connect (self->core, "node-state-changed", G_CALLBACK (on_node_state_changed), self);
  self->parts.shape = dvmd_shape_new (settings);
  self->agents = settings->config != NULL ? dvmd_remote_new (self, settings) : dvmd_embedded_new (self, settings);
  dvmd_controller_listen_to_allocators (self);
  return self;
}

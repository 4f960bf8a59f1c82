/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The controller is the frame of its services: it owns core, links and plugins, starts, changes, counts and ends.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-agent-life.h"
#include "dvmd-campaign-machine.h"
#include "dvmd-controller-map.h"
#include "dvmd-controller-private.h"
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
  g_clear_pointer (&self->parts.plugins, dvmd_plugins_free);
  g_clear_pointer (&self->parts.processes, dvmd_host_processes_free);
  g_clear_pointer (&self->links, g_hash_table_unref);
  if (self->core != NULL)
    g_signal_handlers_disconnect_by_data (self->core, self);
  /* Events that still wait in the queue hold jobs that belong to the core. */
  g_clear_pointer (&self->queue, dvmd_event_queue_free);
  g_clear_object (&self->core);
  g_clear_pointer (&self->parts.clock, dvmd_clock_unref);
  g_clear_pointer (&self->parts.context, g_main_context_unref);
  G_OBJECT_CLASS (dvmd_controller_parent_class)->dispose (object);
}

static void
dvmd_controller_finalize (GObject *object)
{
  DvmdController *self = DVMD_CONTROLLER (object);

  g_free (self->parts.instance_id);
  g_free (self->end.reason);
  g_free (self->parts.runtime_dir);
  g_free (self->parts.nspace);
  g_free (self->parts.host);
  dvmd_shape_free (self->parts.shape);
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

/* ---- what it tells ---- */

void
dvmd_controller_tell_ready (gpointer user_data)
{
  DvmdController *self = user_data;

  self->was_ready = TRUE;
  g_signal_emit (self, signals[READY], 0);
}

void
dvmd_controller_tell_ended (gpointer user_data, DvmJobState state, const char *reason)
{
  DvmdController *self = user_data;

  self->end.reached = TRUE;
  self->end.state = state;
  self->end.reason = g_strdup (reason);
  dvmd_services_dvm_ended (self);
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

void
dvmd_controller_finish_job (DvmdController *self, DvmdJob *job)
{
  g_signal_emit (self, signals[JOB_FINISHED], 0, job);
}

void
dvmd_controller_change (DvmdController *self, const DvmdControllerChanges *changes)
{
  self->kill_grace = changes->kill_grace;
  dvmd_plugins_set_disabled (self->parts.plugins, changes->disabled_plugins);
  dvmd_core_set_history_limit (self->core, changes->history_limit);
  dvmd_core_set_history_bytes (self->core, changes->history_bytes);
  dvmd_core_set_queue (self->core, changes->queue.backfill, changes->queue.max_running);
  dvmd_services_settings_changed (self, changes);
}

void
dvmd_controller_start (DvmdController *self)
{
  g_autoptr (GError) error = NULL;

  /* One reaper for all children of the process: an agent would take those of plugins for orphans. An agent inside sees
   * to its own orphans. */
  self->parts.processes = dvmd_host_processes_new (self->parts.context, self->parts.clock, self->adopt_orphans,
                                                   self->agents->funcs->see_to_orphans ? NULL : self->parts.nspace,
                                                   &error);
  if (self->parts.processes != NULL)
    dvmd_plugins_set_processes (self->parts.plugins, dvmd_host_processes_get_spawner (self->parts.processes),
                                dvmd_host_processes_get_reaper (self->parts.processes));
  else
    g_message ("Plugins cannot start commands: %s", error->message);
  dvmd_core_start (self->core);
}

GVariant *
dvmd_controller_list_plugins (DvmdController *self)
{
  return dvmd_plugins_to_variant (self->parts.plugins);
}

DvmdCore *
dvmd_controller_get_core (DvmdController *self)
{
  return self->core;
}

DvmdAgents *
dvmd_controller_get_agents (DvmdController *self)
{
  return self->agents;
}

gint64
dvmd_controller_get_kill_grace (DvmdController *self)
{
  return self->kill_grace;
}

const DvmdControllerParts *
dvmd_controller_get_parts (DvmdController *self)
{
  return &self->parts;
}

void
dvmd_controller_enter (DvmdController *self)
{
  if (self->parts.context != NULL)
    g_main_context_push_thread_default (self->parts.context);
}

void
dvmd_controller_leave (DvmdController *self)
{
  if (self->parts.context != NULL)
    g_main_context_pop_thread_default (self->parts.context);
}

const char *
dvmd_controller_get_instance_id (DvmdController *self)
{
  return self->parts.instance_id;
}

gint64
dvmd_controller_get_started_at (DvmdController *self)
{
  return self->started_at;
}

void
dvmd_controller_shutdown (DvmdController *self, gboolean force, const char *reason)
{
  if (force && self->agents->funcs->force != NULL)
    self->agents->funcs->force (self->agents);
  self->parts.end_is_asked = TRUE;
  dvmd_core_shutdown (self->core, force, reason);
}

char *
dvmd_controller_draw_machines (void)
{
  static const DvmdStateTable *const tables[] = { &dvmd_vm_table, &dvmd_job_table, &dvmd_campaign_table,
                                                  &dvmd_agent_table, NULL };

  return dvmd_state_tables_to_dot (tables);
}

/* ---- numbers since the start, and of this moment ---- */

static void
add_messages (DvmdController *self, GVariantBuilder *builder)
{
  guint64 sent = self->gone.sent;
  guint64 received = self->gone.received;
  GHashTableIter iter;
  gpointer link;

  g_hash_table_iter_init (&iter, self->links);
  while (g_hash_table_iter_next (&iter, NULL, &link))
    {
      sent += dvmd_link_get_n_sent (link);
      received += dvmd_link_get_n_received (link);
    }
  dvmd_services_add_number (builder, "messages-sent", sent);
  dvmd_services_add_number (builder, "messages-received", received);
}

GVariant *
dvmd_controller_get_statistics (DvmdController *self)
{
  const DvmdCoreStatistics *core = dvmd_core_get_statistics (self->core);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE_VARDICT);
  dvmd_services_add_number (&builder, "jobs-submitted", core->jobs_submitted);
  dvmd_services_add_number (&builder, "jobs-ended", core->jobs_ended);
  dvmd_services_add_number (&builder, "procs-launched", core->procs_launched);
  dvmd_services_add_number (&builder, "campaigns-completed", core->campaigns_completed);
  dvmd_services_add_number (&builder, "campaigns-failed", core->campaigns_failed);
  dvmd_services_add_number (&builder, "jobs-remapped", core->jobs_remapped);
  self->agents->funcs->add_statistics (self->agents, &builder);
  add_messages (self, &builder);
  dvmd_services_add_statistics (self, &builder);
  return g_variant_builder_end (&builder);
}

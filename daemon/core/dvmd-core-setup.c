/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The core is put together of its parts, and taken apart.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-core"

#include "dvmd-arrays.h"
#include "dvmd-campaign-inner.h"
#include "dvmd-campaign-registry.h"
#include "dvmd-core-news.h"
#include "dvmd-core-private.h"
#include "dvmd-dependencies.h"
#include "dvmd-gates.h"
#include "dvmd-heal.h"
#include "dvmd-job-family.h"
#include "dvmd-job-machine.h"
#include "dvmd-job-private.h"
#include "dvmd-job-registry.h"
#include "dvmd-log.h"
#include "dvmd-membership.h"
#include "dvmd-rights.h"
#include "dvmd-session-limit.h"
#include "dvmd-session-owners.h"
#include "dvmd-session-registry.h"
#include "dvmd-vm.h"

/* The clock may go on without it. */
static void
stop_timers (DvmdCore *self)
{
  for (GList *l = dvmd_core_get_live_jobs (self); l != NULL; l = l->next)
    {
      dvmd_clock_remove_timer (self->clock, ((DvmdJob *)l->data)->timer);
      dvmd_clock_remove_timer (self->clock, ((DvmdJob *)l->data)->spawn_timer);
      dvmd_job_family_stop_timer (l->data);
    }
  for (GList *l = dvmd_core_get_live_campaigns (self); l != NULL; l = l->next)
    dvmd_campaign_stop_timer (l->data);
  for (GList *l = dvmd_core_get_live_sessions (self); l != NULL; l = l->next)
    dvmd_session_stop_timers (l->data);
  for (DvmdNode *node = NULL; (node = dvmd_node_pool_next (self->nodes, node)) != NULL;)
    dvmd_heal_forget (node);
}

static void
take_apart (DvmdCore *self)
{
  stop_timers (self);
  g_clear_pointer (&self->admission, dvmd_admission_free);
  /* Jobs and campaigns name each other. */
  for (GList *l = dvmd_core_get_live_campaigns (self); l != NULL; l = l->next)
    dvmd_campaign_forget_jobs (l->data);
  g_clear_pointer (&self->gates, dvmd_gates_free);
  g_clear_pointer (&self->dependencies, dvmd_dependencies_free);
  g_clear_pointer (&self->arrays, dvmd_arrays_free);
  g_clear_pointer (&self->jobs, dvmd_job_registry_free);
  g_clear_pointer (&self->vm, dvmd_vm_free);
  g_clear_pointer (&self->campaigns, dvmd_campaign_registry_free);
  g_clear_pointer (&self->owners, dvmd_session_owners_free);
  g_clear_pointer (&self->sessions, dvmd_session_registry_free);
  g_clear_pointer (&self->membership, dvmd_membership_free);
  g_clear_pointer (&self->strangers, dvmd_stranger_log_free);
  g_clear_pointer (&self->fence, dvmd_launch_fence_free);
  g_clear_pointer (&self->nodes, dvmd_node_pool_free);
  g_clear_pointer (&self->clock, dvmd_clock_unref);
  g_free ((char *)g_steal_pointer (&self->settings.nspace));
}

static void
on_node_changed (DvmdNode *node, DvmNodeState old_state, gpointer user_data)
{
  DvmdCore *self = user_data;

  dvmd_log_about (G_LOG_DOMAIN, G_LOG_LEVEL_INFO, &(DvmdLogSubject){ .node = dvm_node_get_name (node->record) },
                  "%s, as rank %u", dvm_node_state_to_string (dvm_node_get_state (node->record)), node->rank);
  dvmd_core_tell_node_state (self, node);
  if (node->rank > 0)
    dvmd_core_look_again (self);
}

static DvmdMap *
on_map_for (DvmdJob *job, const DvmdPlaces *places, gpointer user_data, GError **error)
{
  DvmdCore *self = user_data;

  return self->effects->placement.map (self->user_data, job, places, error);
}

static void
on_claimed (DvmdJob *job, DvmdMap *map, DvmdNode *node, gpointer user_data)
{
  DvmdCore *self = user_data;

  if (map != NULL && self->effects->placement.claimed != NULL)
    self->effects->placement.claimed (self->user_data, job, map);
  else if (map == NULL && self->effects->placement.given_back != NULL)
    self->effects->placement.given_back (self->user_data, job, node);
}

static gboolean
on_count_for (DvmdJob *job, const DvmdPlaces *places, guint32 *np, gpointer user_data)
{
  DvmdCore *self = user_data;

  return self->effects->placement.count != NULL && self->effects->placement.count (self->user_data, job, places, np);
}

static void
on_slots_for (DvmdJob *job, gpointer user_data)
{
  dvmd_core_post (job, DVMD_JOB_ALLOCATED);
}

DvmdCore *
dvmd_core_new (const DvmdCoreSettings *settings, DvmdClock *clock, DvmdEventQueue *queue, const DvmdEffects *effects,
               gpointer user_data)
{
  DvmdCore *self = g_object_new (DVMD_TYPE_CORE, NULL);

  self->take_apart = take_apart;
  self->fence = dvmd_launch_fence_new ();
  self->settings = *settings;
  self->settings.nspace = g_strdup (settings->nspace);
  self->settings.host = NULL;
  self->settings.heal = settings->heal && !settings->one_shot;
  self->settings.heal_pause = MAX (settings->heal_pause, 1);
  self->jobs = dvmd_job_registry_new (settings);
  self->campaigns = dvmd_campaign_registry_new (settings);
  self->sessions = dvmd_session_registry_new ();
  self->owners = dvmd_session_owners_new ();
  self->gates = dvmd_gates_new ();
  self->arrays = dvmd_arrays_new ();
  self->dependencies = dvmd_dependencies_new ();
  self->membership = dvmd_membership_new ();
  self->strangers = dvmd_stranger_log_new ();
  self->clock = dvmd_clock_ref (clock);
  self->queue = queue;
  self->effects = effects;
  self->user_data = user_data;
  self->nodes = dvmd_node_pool_new ();
  self->admission = dvmd_admission_new (self->nodes, on_map_for, on_count_for, on_slots_for, on_claimed, self);
  dvmd_admission_set_policy (self->admission, &(DvmdQueuePolicy){ .queues = settings->queue,
                                                                  .grows = settings->elastic,
                                                                  .max_running = settings->queue_max_running });
  dvmd_node_pool_set_changed_func (self->nodes, on_node_changed, self);
  dvmd_node_pool_add (self->nodes, settings->host, 0, 0);
  self->vm = dvmd_vm_new (self, settings->nspace);
  dvmd_core_add_session (self, 0, NULL, NULL, TRUE);
  return self;
}

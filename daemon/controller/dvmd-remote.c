/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Agents that are processes of their own, on this machine or on others.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-controller"

#include "dvmd-remote.h"

/* How long an agent that is to leave may take, where nobody has said anything else (µs). */
#define SHRINK_GRACE (10 * G_TIME_SPAN_SECOND)

static void
add_statistics (DvmdAgents *agents, GVariantBuilder *statistics)
{
  DvmdRemote *self = (DvmdRemote *)agents;
  DvmdRouterStatistics router = { 0 };

  if (self->router != NULL)
    dvmd_router_get_statistics (self->router, &router);
  dvmd_services_add_number (statistics, "broadcasts", router.broadcasts);
  dvmd_services_add_number (statistics, "broadcast-bytes", router.broadcast_bytes);
  dvmd_services_add_number (statistics, "links-opened", router.links_opened);
  dvmd_services_add_number (statistics, "links-lost", router.links_lost);
  dvmd_services_add_number (statistics, "joins-refused",
                            self->listener != NULL ? dvmd_listener_get_n_refused (self->listener) : 0);
}

static gboolean
is_ending (DvmdAgents *agents)
{
  return ((DvmdRemote *)agents)->n_terminations > 0;
}

static void
remote_free (DvmdAgents *agents)
{
  DvmdRemote *self = (DvmdRemote *)agents;
  GHashTableIter iter;
  gpointer launcher;

  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->controller)->clock, self->report_timer);
  dvmd_clock_remove_timer (dvmd_controller_get_parts (self->controller)->clock, self->lost_timer);
  g_hash_table_iter_init (&iter, self->launchers);
  while (g_hash_table_iter_next (&iter, &launcher, NULL))
    g_signal_handlers_disconnect_by_data (launcher, self);
  dvmd_remote_departures_free (self->departures);
  dvmd_remote_stop_free (self->stop, dvmd_controller_get_parts (self->controller)->clock);
  dvmd_remote_close_wirings (self);
  if (self->router != NULL)
    dvmd_router_stop (self->router);
  g_clear_object (&self->router);
  g_clear_object (&self->listener);
  g_clear_pointer (&self->tokens, dvmd_tokens_free);
  g_clear_pointer (&self->identity, dvmd_identity_unref);
  g_clear_pointer (&self->authority, dvmd_authority_unref);
  g_hash_table_unref (self->agents);
  g_hash_table_unref (self->launchers);
  g_hash_table_unref (self->launches);
  g_hash_table_unref (self->lost);
  dvmd_config_unref (self->config);
  g_free (self);
}

static const DvmdAgentsFuncs funcs = {
  .free = remote_free,
  .launch = dvmd_remote_launch,
  .check_room = dvmd_remote_check_room,
  .distribute = dvmd_remote_distribute,
  .wire = dvmd_remote_wire,
  .remove = dvmd_remote_remove,
  .restart = dvmd_remote_restart,
  .stop = dvmd_remote_stop,
  .force = dvmd_remote_force,
  .dvm_ended = dvmd_remote_clean_up,
  .is_ending = is_ending,
  .reported = dvmd_remote_reported,
  .gone = dvmd_remote_gone,
  .left = dvmd_remote_left,
  .leaving = dvmd_remote_leaving,
  .ends_work = dvmd_remote_ends_work,
  .is_for_all = dvmd_remote_is_for_all,
  .broadcast = dvmd_remote_broadcast,
  .add_statistics = add_statistics,
};

DvmdAgents *
dvmd_remote_new (DvmdController *controller, const DvmdControllerSettings *settings)
{
  DvmdRemote *self = g_new0 (DvmdRemote, 1);

  self->parent.funcs = &funcs;
  self->controller = controller;
  self->config = dvmd_config_ref (settings->config);
  self->radix = settings->radix;
  self->tokens = dvmd_tokens_new (dvmd_controller_get_parts (controller)->clock);
  self->agents = g_hash_table_new_full (NULL, NULL, NULL, dvmd_agent_entry_unref);
  self->launchers = g_hash_table_new_full (NULL, NULL, g_object_unref, NULL);
  self->launches = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  self->grow_timeout = settings->size.grow_timeout;
  self->lost = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_queue_init (&self->wirings);
  self->departures = dvmd_remote_departures_new (self, settings->size.shrink_grace > 0 ? settings->size.shrink_grace
                                                                                       : SHRINK_GRACE);
  self->stop = dvmd_remote_stop_new ();
  return &self->parent;
}

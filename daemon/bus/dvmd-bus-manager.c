/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The interface org.dvm.Manager: its properties, and its methods by name.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-dbus-interfaces.h"
#include "dvmd-bus-caller.h"
#include "dvmd-bus-dispatch.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-options.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"
#include "dvmd-bus-wait.h"

#define API_VERSION 1

static guint
get_vm_state (DvmdBusServer *server)
{
  DvmdJob *job = dvmd_core_get_vm_job (server->core);

  return job != NULL ? dvmd_job_get_state (job) : DVM_JOB_STATE_UNDEF;
}

static GVariant *
get_version (DvmdBusServer *server)
{
  return g_variant_new_string (DVM_VERSION_STRING);
}

static GVariant *
get_api_version (DvmdBusServer *server)
{
  return g_variant_new_uint32 (API_VERSION);
}

static GVariant *
get_instance_id (DvmdBusServer *server)
{
  return g_variant_new_string (dvmd_controller_get_instance_id (server->controller));
}

static GVariant *
get_scheduler_job (DvmdBusServer *server)
{
  char *job = dvm_client_build_job_name (NULL);

  return g_variant_new_take_string (job != NULL ? job : g_strdup (""));
}

static GVariant *
get_started_at (DvmdBusServer *server)
{
  return g_variant_new_uint64 (dvmd_controller_get_started_at (server->controller));
}

static GVariant *
get_namespace (DvmdBusServer *server)
{
  DvmdJob *job = dvmd_core_get_vm_job (server->core);
  const char *nspace = job != NULL ? dvm_job_get_nspace (dvmd_job_get_record (job)) : NULL;

  return g_variant_new_string (nspace != NULL ? nspace : "");
}

static GVariant *
get_state (DvmdBusServer *server)
{
  return g_variant_new_uint32 (get_vm_state (server));
}

static GVariant *
get_state_name (DvmdBusServer *server)
{
  return g_variant_new_string (dvm_job_state_to_string (get_vm_state (server)));
}

static GVariant *
get_ready (DvmdBusServer *server)
{
  return g_variant_new_boolean (dvmd_core_get_ready (server->core));
}

static GVariant *
get_elastic_mode (DvmdBusServer *server)
{
  return g_variant_new_boolean (dvmd_core_get_elastic (server->core));
}

static GVariant *
get_launch_fence (DvmdBusServer *server)
{
  return g_variant_new_uint32 (dvmd_core_get_launch_fence (server->core));
}

static GVariant *
get_campaigns_running (DvmdBusServer *server)
{
  return g_variant_new_uint32 (dvmd_core_get_campaigns_running (server->core));
}

static GVariant *
get_membership_epoch (DvmdBusServer *server)
{
  return g_variant_new_uint64 (dvmd_core_get_membership_epoch (server->core));
}

static GVariant *
get_nodes_expected (DvmdBusServer *server)
{
  return g_variant_new_uint32 (dvmd_core_get_nodes_expected (server->core));
}

static GVariant *
get_nodes_reported (DvmdBusServer *server)
{
  return g_variant_new_uint32 (dvmd_core_get_nodes_reported (server->core));
}

static GVariant *
get_node_count (DvmdBusServer *server)
{
  return g_variant_new_uint32 (dvmd_node_pool_count_up (dvmd_core_get_nodes (server->core)));
}

static GVariant *
get_slot_count (DvmdBusServer *server)
{
  return g_variant_new_uint32 (dvmd_node_pool_count_slots (dvmd_core_get_nodes (server->core)));
}

static GVariant *
get_slots_in_use (DvmdBusServer *server)
{
  return g_variant_new_uint32 (dvmd_node_pool_count_slots_in_use (dvmd_core_get_nodes (server->core)));
}

static GVariant *
get_jobs_running (DvmdBusServer *server)
{
  return g_variant_new_uint32 (dvmd_core_get_num_running (server->core));
}

static GVariant *
get_jobs_held (DvmdBusServer *server)
{
  return g_variant_new_uint32 (dvmd_core_get_num_held (server->core));
}

static GVariant *
get_default_session (DvmdBusServer *server)
{
  return g_variant_new_object_path (DVMD_BUS_DEFAULT_SESSION_PATH);
}

static GVariant *
get_history_limit (DvmdBusServer *server)
{
  return g_variant_new_uint32 (dvmd_core_get_history_limit (server->core));
}

static GVariant *
get_tree_depth (DvmdBusServer *server)
{
  return g_variant_new_uint32 (dvmd_core_get_tree_depth (server->core));
}

static GVariant *
get_tree_repairs (DvmdBusServer *server)
{
  return g_variant_new_uint64 (dvmd_core_get_tree_repairs (server->core));
}

static GVariant *
get_defaults (DvmdBusServer *server)
{
  return dvmd_controller_get_defaults (server->controller);
}

static GVariant *
get_statistics (DvmdBusServer *server)
{
  return dvmd_controller_get_statistics (server->controller);
}

static const struct
{
  const char *name;
  GVariant *(*get) (DvmdBusServer *server);
} manager_properties[] = {
  { "ApiVersion", get_api_version },
  { "CampaignsRunning", get_campaigns_running },
  { "DefaultSession", get_default_session },
  { "Defaults", get_defaults },
  { "ElasticMode", get_elastic_mode },
  { "HistoryLimit", get_history_limit },
  { "InstanceId", get_instance_id },
  { "JobsHeld", get_jobs_held },
  { "JobsRunning", get_jobs_running },
  { "LaunchFence", get_launch_fence },
  { "MembershipEpoch", get_membership_epoch },
  { "Namespace", get_namespace },
  { "NodeCount", get_node_count },
  { "NodesExpected", get_nodes_expected },
  { "NodesReported", get_nodes_reported },
  { "Ready", get_ready },
  { "SchedulerJob", get_scheduler_job },
  { "SlotCount", get_slot_count },
  { "SlotsInUse", get_slots_in_use },
  { "StartedAt", get_started_at },
  { "State", get_state },
  { "StateName", get_state_name },
  { "Statistics", get_statistics },
  { "TreeDepth", get_tree_depth },
  { "TreeRepairs", get_tree_repairs },
  { "Version", get_version },
};

static GVariant *
get_property (DvmdBusServer *server, gpointer object, const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (manager_properties); i++)
    if (g_str_equal (manager_properties[i].name, name))
      return manager_properties[i].get (server);
  return NULL;
}

static void
find_job (DvmdBusCall *call)
{
  const char *nspace;
  DvmdJob *job;

  g_variant_get (call->parameters, "(&s)", &nspace);
  job = dvmd_core_find_job (call->core, nspace);
  if (job != NULL)
    {
      g_autofree char *path = dvmd_bus_path (DVMD_BUS_JOB, dvmd_job_get_id (job));

      dvmd_bus_return_value (call->invocation, g_variant_new ("(o)", path));
    }
  else
    dvmd_bus_return_error (call->invocation,
                           g_error_new (DVM_ERROR, DVM_ERROR_NOT_FOUND,
                                        "There is no job of the namespace “%s”, or it has been forgotten", nspace));
}

static void
wait_job (DvmdBusCall *call)
{
  g_autoptr (GVariant) options = NULL;
  const char *nspace;
  DvmdJob *job;

  g_variant_get (call->parameters, "(&s@a{sv})", &nspace, &options);
  job = dvmd_core_find_job (call->core, nspace);
  if (job != NULL)
    dvmd_bus_wait (call, job, options);
  else
    dvmd_bus_return_error (call->invocation,
                           g_error_new (DVM_ERROR, DVM_ERROR_NOT_FOUND,
                                        "There is no job of the namespace “%s”, or it has been forgotten", nspace));
}

static void
subscribe (DvmdBusCall *call)
{
  dvmd_bus_caller_subscribe (call->caller);
  dvmd_bus_return_value (call->invocation, NULL);
}

static void
unsubscribe (DvmdBusCall *call)
{
  if (dvmd_bus_caller_unsubscribe (call->caller))
    dvmd_bus_return_value (call->invocation, NULL);
  else
    dvmd_bus_return_error (call->invocation, g_error_new (DVM_ERROR, DVM_ERROR_NOT_FOUND, "%s is not subscribed",
                                                          call->caller->requester.name));
}

static gboolean
on_force (gpointer user_data)
{
  DvmdBusServer *server = user_data;

  server->force_timer = 0;
  dvmd_controller_shutdown (server->controller, TRUE, "the time given to Shutdown has passed");
  return G_SOURCE_REMOVE;
}

static void
shutdown_dvm (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  g_autofree char *reason = NULL;
  gboolean force = FALSE;
  gboolean limited = FALSE;
  guint timeout = 0;
  const DvmdBusOption options[] = {
    { "force", "b", &force },
    { "timeout", "u", &timeout, &limited },
  };
  DvmdBusServer *server = call->server;
  GError *error = NULL;

  if (!dvmd_bus_options_parse (dict, options, G_N_ELEMENTS (options), &error))
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  reason = g_strdup_printf ("%s asked for the end of the DVM", call->caller->requester.name);
  /* Answered first: the daemon may be gone by the time that the jobs are. */
  dvmd_bus_return_value (call->invocation, NULL);
  g_clear_handle_id (&server->force_timer, g_source_remove);
  if (limited && timeout > 0 && !force)
    server->force_timer = g_timeout_add_seconds (MIN (timeout, G_MAXINT / 1000), on_force, server);
  dvmd_controller_shutdown (server->controller, force || (limited && timeout == 0), reason);
}

static void
list_plugins (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = NULL;
  GError *error = NULL;

  g_variant_get (call->parameters, "(@a{sv})", &dict);
  if (!dvmd_bus_options_parse (dict, NULL, 0, &error))
    {
      dvmd_bus_return_error (call->invocation, error);
      return;
    }
  dvmd_bus_return_value (call->invocation,
                         g_variant_new ("(@aa{sv})", dvmd_controller_list_plugins (call->controller)));
}

static void
reload (DvmdBusCall *call)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (call->parameters, 0);
  DvmdBusServer *server = call->server;
  GError *error = NULL;

  if (dvmd_bus_options_parse (dict, NULL, 0, &error))
    {
      if (server->reload == NULL)
        g_set_error (&error, DVM_ERROR, DVM_ERROR_NOT_SUPPORTED, "This DVM has no settings that could be read again");
      else
        server->reload (server->reload_data, &error);
    }
  dvmd_bus_return_result (call, error);
}

static const DvmdBusMethod manager_methods[] = {
  { "Allocate", DVMD_BUS_CHANGES, dvmd_bus_allocate, &dvmd_bus_hosts_reader },
  { "CancelJobs", DVMD_BUS_CHANGES, dvmd_bus_cancel_jobs },
  { "ControlSession", DVMD_BUS_CHANGES, dvmd_bus_control_session, &dvmd_bus_control_session_reader },
  { "FindJob", DVMD_BUS_READS, find_job },
  { "FindNode", DVMD_BUS_READS, dvmd_bus_find_node },
  { "FindSession", DVMD_BUS_READS, dvmd_bus_find_session },
  { "Grow", DVMD_BUS_CHANGES, dvmd_bus_grow, &dvmd_bus_hosts_reader },
  { "ListCampaigns", DVMD_BUS_READS, dvmd_bus_list_campaigns },
  { "ListJobs", DVMD_BUS_READS, dvmd_bus_list_jobs },
  { "ListNodes", DVMD_BUS_READS, dvmd_bus_list_nodes },
  { "ListPlugins", DVMD_BUS_READS, list_plugins },
  { "ListSessions", DVMD_BUS_READS, dvmd_bus_list_sessions },
  { "Map", DVMD_BUS_PLANS, dvmd_bus_map, &dvmd_bus_map_reader },
  { "Query", DVMD_BUS_TRACKED, dvmd_bus_query },
  { "Reload", DVMD_BUS_CHANGES, reload },
  { "Shrink", DVMD_BUS_CHANGES, dvmd_bus_shrink, &dvmd_bus_hosts_reader },
  { "Shutdown", DVMD_BUS_CHANGES, shutdown_dvm },
  { "Submit", DVMD_BUS_CHANGES, dvmd_bus_submit, &dvmd_bus_submit_reader },
  { "SubmitApps", DVMD_BUS_CHANGES, dvmd_bus_submit, &dvmd_bus_submit_apps_reader },
  { "SubmitMany", DVMD_BUS_CHANGES, dvmd_bus_submit_many },
  { "Subscribe", DVMD_BUS_TRACKED, subscribe },
  { "Unsubscribe", DVMD_BUS_TRACKED, unsubscribe },
  { "WaitJob", DVMD_BUS_TRACKED, wait_job },
};

const DvmdBusClass dvmd_bus_manager = { &dvm_dbus_manager_interface, get_property, NULL, manager_methods,
                                        G_N_ELEMENTS (manager_methods) };

static void
on_method_call (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                const char *method, GVariant *parameters, GDBusMethodInvocation *invocation, gpointer user_data)
{
  dvmd_bus_dispatch (user_data, &dvmd_bus_manager, 0, invocation);
}

gboolean
dvmd_bus_manager_export (DvmdBusPeer *peer, GError **error)
{
  static const GDBusInterfaceVTable vtable = { .method_call = on_method_call };

  return dvmd_bus_peer_register (peer, DVMD_BUS_MANAGER_PATH, &dvm_dbus_manager_interface, &vtable, error);
}

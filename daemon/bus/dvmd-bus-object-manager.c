/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * org.freedesktop.DBus.ObjectManager of the manager, the live jobs and the sessions.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvm-dbus-interfaces.h"
#include "dvmd-bus-private.h"

static const char object_manager_xml[] = "<node>"
                                         "  <interface name='org.freedesktop.DBus.ObjectManager'>"
                                         "    <method name='GetManagedObjects'>"
                                         "      <arg name='objects' type='a{oa{sa{sv}}}' direction='out'/>"
                                         "    </method>"
                                         "    <signal name='InterfacesAdded'>"
                                         "      <arg name='object' type='o'/>"
                                         "      <arg name='interfaces' type='a{sa{sv}}'/>"
                                         "    </signal>"
                                         "    <signal name='InterfacesRemoved'>"
                                         "      <arg name='object' type='o'/>"
                                         "      <arg name='interfaces' type='as'/>"
                                         "    </signal>"
                                         "  </interface>"
                                         "</node>";

static GVariant *
get_interfaces (DvmdBusServer *server, const GDBusInterfaceInfo *info, DvmdBusGetProperty get, gpointer object)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{sa{sv}}"));
  g_variant_builder_add (&builder, "{s@a{sv}}", info->name, dvmd_bus_get_all (server, info, get, object));
  return g_variant_builder_end (&builder);
}

GVariant *
dvmd_bus_job_interfaces (DvmdBusServer *server, DvmdJob *job)
{
  return get_interfaces (server, &dvm_dbus_job_interface, dvmd_bus_job_get_property, job);
}

static GVariant *
get_managed_objects (DvmdBusServer *server)
{
  g_autoptr (GPtrArray) jobs = dvmd_core_list_jobs (server->core, FALSE);
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{oa{sa{sv}}}"));
  g_variant_builder_add (&builder, "{o@a{sa{sv}}}", DVMD_BUS_MANAGER_PATH,
                         get_interfaces (server, &dvm_dbus_manager_interface, dvmd_bus_manager_get_property, NULL));
  g_variant_builder_add (&builder, "{o@a{sa{sv}}}", DVMD_BUS_DEFAULT_SESSION_PATH,
                         get_interfaces (server, &dvm_dbus_session_interface, dvmd_bus_session_get_property, NULL));
  for (guint i = 0; i < jobs->len; i++)
    {
      g_autofree char *path = dvmd_bus_job_path (dvmd_job_get_id (jobs->pdata[i]));

      g_variant_builder_add (&builder, "{o@a{sa{sv}}}", path, dvmd_bus_job_interfaces (server, jobs->pdata[i]));
    }
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

static void
on_method_call (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                const char *method, GVariant *parameters, GDBusMethodInvocation *invocation, gpointer user_data)
{
  DvmdBusPeer *peer = user_data;
  DvmdBusServer *server = peer->server;
  g_autoptr (GVariant) objects = NULL;

  /* What is pending tells of the time before the answer. */
  dvmd_bus_signals_flush (server->signals);
  objects = get_managed_objects (server);
  if (g_variant_get_size (objects) > DVMD_BUS_MAX_ARRAY)
    {
      dvmd_bus_return_error (invocation, g_error_new (DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE,
                                                      "There are too many jobs for one message: use ListJobs"));
      return;
    }
  g_dbus_method_invocation_return_value (invocation, g_variant_new ("(@a{oa{sa{sv}}})", objects));
  if (!peer->is_bus && !peer->saw_objects)
    {
      peer->saw_objects = TRUE;
      dvmd_bus_signals_listeners_changed (server->signals);
    }
}

gboolean
dvmd_bus_object_manager_export (DvmdBusPeer *peer, GError **error)
{
  static const GDBusInterfaceVTable vtable = { .method_call = on_method_call };
  g_autoptr (GDBusNodeInfo) info = g_dbus_node_info_new_for_xml (object_manager_xml, error);
  guint id;

  if (info == NULL)
    return FALSE;
  id = g_dbus_connection_register_object (peer->connection, "/org/dvm", info->interfaces[0], &vtable,
                                          dvmd_bus_peer_ref (peer), (GDestroyNotify)dvmd_bus_peer_unref, error);
  if (id == 0)
    return FALSE;
  g_array_append_val (peer->objects, id);
  return TRUE;
}

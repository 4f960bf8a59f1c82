/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * org.freedesktop.DBus.ObjectManager of the manager, the live jobs, the sessions and the running campaigns.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-call.h"
#include "dvmd-bus-dispatch.h"
#include "dvmd-bus-hidden.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"
#include "dvmd-bus-signals.h"

#include <string.h>

/* Other clients wait while a slice of the objects is written out. */
#define SLICE (3 * G_TIME_SPAN_MILLISECOND)

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

/* ---- GetManagedObjects: made in slices, because there may be many jobs ---- */

/* The peer and the jobs are for the main context alone. */
typedef struct
{
  DvmdBusPeer *peer;
  DvmdBusUnsent *unsent;
  GDBusMethodInvocation *invocation;
  gboolean hides; /* from the caller */
  GPtrArray *jobs;
  guint position;
  GVariantBuilder builder;
  gsize size;
} List;

static void
list_free (gpointer data)
{
  List *list = data;

  g_variant_builder_clear (&list->builder);
  g_clear_object (&list->invocation);
  g_free (list);
}

static void
add_object (List *list, const char *path, GVariant *interfaces)
{
  g_autoptr (GVariant) sunk = g_variant_ref_sink (interfaces);

  /* Makes one block of many small ones, which are more to keep and to free. */
  g_variant_get_data (sunk);
  list->size += g_variant_get_size (sunk) + strlen (path);
  g_variant_builder_add (&list->builder, "{o@a{sa{sv}}}", path, sunk);
}

static void
add_elastic (List *list)
{
  DvmdBusServer *server = list->peer->server;
  DvmdCore *core = server->core;

  for (DvmdSession *session = dvmd_core_next_session (core, NULL); session != NULL;
       session = dvmd_core_next_session (core, session))
    add_object (list, dvm_session_get_object_path (dvmd_session_get_record (session)),
                dvmd_bus_get_interfaces (server, &dvmd_bus_sessions.klass, session));
  for (DvmdCampaign *campaign = dvmd_core_next_campaign (core, NULL, FALSE); campaign != NULL;
       campaign = dvmd_core_next_campaign (core, campaign, FALSE))
    add_object (list, dvm_campaign_get_object_path (dvmd_campaign_get_record (campaign)),
                dvmd_bus_get_interfaces (server, &dvmd_bus_campaigns.klass, campaign));
}

/* Much is to be written out and freed: elsewhere. The connection is not used meanwhile for what we have to say. */
static void
send_list (GTask *task, gpointer source, gpointer task_data, GCancellable *cancellable)
{
  List *list = task_data;
  GDBusMessage *call = g_dbus_method_invocation_get_message (list->invocation);
  g_autoptr (GDBusMessage) message = g_dbus_message_new_method_reply (call);

  g_dbus_message_set_body (message, g_variant_new ("(@a{oa{sa{sv}}})", g_variant_builder_end (&list->builder)));
  dvmd_bus_unsent_add (list->unsent, message);
  g_dbus_connection_send_message (g_dbus_method_invocation_get_connection (list->invocation), message,
                                  G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL);
  g_clear_object (&message);
  g_task_return_boolean (task, TRUE);
}

static void
finish_list (GTask *task)
{
  List *list = g_task_get_task_data (task);

  g_clear_pointer (&list->jobs, g_ptr_array_unref);
  if (list->peer->server != NULL && list->size <= DVMD_BUS_MAX_ARRAY)
    {
      g_task_run_in_thread (task, send_list);
      return;
    }
  dvmd_bus_return_error (
      g_steal_pointer (&list->invocation),
      g_error_new (DVM_ERROR, DVM_ERROR_OUT_OF_RESOURCE, "There are too many jobs for one message: use ListJobs"));
  g_task_return_boolean (task, FALSE);
}

/* a{sa{sv}} */
static GVariant *
get_job (List *list, DvmdJob *job)
{
  const DvmdBusClass *klass = &dvmd_bus_jobs.klass;
  GVariant *values = dvmd_bus_get_all (list->peer->server, klass, job);

  return dvmd_bus_make_interfaces (klass, list->hides ? dvmd_bus_hide_values (values) : values);
}

static gboolean
add_slice (gpointer user_data)
{
  GTask *task = user_data;
  List *list = g_task_get_task_data (task);
  gint64 until = g_get_monotonic_time () + SLICE;

  while (list->position < list->jobs->len && list->peer->server != NULL)
    {
      DvmdJob *job = list->jobs->pdata[list->position++];
      g_autofree char *path = dvmd_bus_path (DVMD_BUS_JOB, dvmd_job_get_id (job));

      /* One that has ended meanwhile is not there any more. */
      if (!dvmd_job_get_ended (job))
        add_object (list, path, get_job (list, job));
      if (g_get_monotonic_time () >= until)
        return G_SOURCE_CONTINUE;
    }
  finish_list (task);
  return G_SOURCE_REMOVE;
}

static void
on_list_done (GObject *source, GAsyncResult *result, gpointer user_data)
{
  List *list = g_task_get_task_data (G_TASK (result));

  dvmd_bus_lagging_end_list (list->peer);
  g_clear_pointer (&list->peer, dvmd_bus_peer_unref);
}

static void
begin_list (DvmdBusPeer *peer, gboolean hides, GDBusMethodInvocation *invocation)
{
  g_autoptr (GTask) task = g_task_new (peer->connection, NULL, on_list_done, NULL);
  DvmdBusServer *server = peer->server;
  List *list = g_new0 (List, 1);

  list->peer = dvmd_bus_peer_ref (peer);
  list->unsent = peer->unsent;
  list->invocation = invocation;
  list->hides = hides;
  list->jobs = dvmd_core_list_jobs (server->core, FALSE);
  g_variant_builder_init (&list->builder, G_VARIANT_TYPE ("a{oa{sa{sv}}}"));
  /* Changes from now on are told after the answer. */
  dvmd_bus_lagging_begin_list (peer);
  g_task_set_task_data (task, list, list_free);
  g_task_set_source_tag (task, begin_list);
  add_object (list, DVMD_BUS_MANAGER_PATH, dvmd_bus_get_interfaces (server, &dvmd_bus_manager, NULL));
  add_elastic (list);
  if (add_slice (task) == G_SOURCE_CONTINUE)
    g_idle_add_full (G_PRIORITY_DEFAULT, add_slice, g_steal_pointer (&task), g_object_unref);
}

static void
get_managed_objects (DvmdBusCall *call)
{
  DvmdBusPeer *peer = call->peer;

  /* Pending changes are of the time before the answer, and are told before it if that is soon done. */
  dvmd_bus_signals_flush_some (peer->server->signals);
  if (!peer->is_bus && !peer->saw_objects)
    {
      peer->saw_objects = TRUE;
      dvmd_bus_signals_listeners_changed (peer->server->signals);
    }
  begin_list (peer, dvmd_bus_hides_from (call->server, call->caller), call->invocation);
}

static const DvmdBusMethod methods[] = {
  { "GetManagedObjects", DVMD_BUS_READS, get_managed_objects },
};

static const DvmdBusClass klass = { .methods = methods, .n_methods = G_N_ELEMENTS (methods) };

static void
on_method_call (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                const char *method, GVariant *parameters, GDBusMethodInvocation *invocation, gpointer user_data)
{
  dvmd_bus_dispatch (user_data, &klass, 0, invocation);
}

gboolean
dvmd_bus_object_manager_export (DvmdBusPeer *peer, GError **error)
{
  static const GDBusInterfaceVTable vtable = { .method_call = on_method_call };
  static gsize once;

  return dvmd_bus_peer_register (peer, "/org/dvm", dvmd_bus_read_interface (&once, object_manager_xml), &vtable, error);
}

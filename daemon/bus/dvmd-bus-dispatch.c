/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Calls are dispatched: in the order in which a caller makes them, when it is known who that is, and what the call says
 * is read. A caller that leaves has all that it began ended.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-caller.h"
#include "dvmd-bus-dispatch.h"
#include "dvmd-bus-hidden.h"
#include "dvmd-bus-methods.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"
#include "dvmd-bus-signals.h"
#include "dvmd-bus-wait.h"
#include "dvmd-reading.h"
#include "dvmd-rights.h"

#include <string.h>

/* A call whose hosts and files are read. */
typedef struct
{
  DvmdBusCaller *caller;
  const DvmdBusClass *klass;
  const DvmdBusMethod *method;
  guint id;
  GDBusMethodInvocation *invocation;
  gpointer read;
} Reading;

static void run_pending (DvmdBusCaller *self);

static gboolean
find_object (DvmdBusCall *call, const DvmdBusClass *klass, const DvmdBusMethod *method, GError **error)
{
  g_autoptr (GError) own_error = NULL;

  call->controller = call->server->controller;
  call->core = call->server->core;
  if (klass->find != NULL)
    call->object = klass->find (call->core, call->id, &own_error);
  if (own_error == NULL)
    return dvmd_bus_caller_check (call->server, call->caller, method->access, call->object, error);
  g_propagate_error (error, g_steal_pointer (&own_error));
  return FALSE;
}

static gboolean
read_call (gpointer data, GError **error)
{
  Reading *reading = data;
  GError *own_error = NULL;

  reading->read = reading->method->reader->read (reading->invocation, &own_error);
  if (own_error == NULL)
    return TRUE;
  g_propagate_error (error, own_error);
  return FALSE;
}

static gpointer
free_call (gpointer invocation)
{
  g_object_unref (invocation);
  return NULL;
}

/* Much may have changed since, also whether there is somebody who is answered. */
static void
on_call_read (gpointer data, GError *error)
{
  g_autofree Reading *reading = data;
  GDBusMethodInvocation *kept = g_object_ref (reading->invocation);
  g_autoptr (DvmdBusCaller) caller = reading->caller;
  g_autoptr (DvmdBusPeer) peer = caller->peer != NULL ? dvmd_bus_peer_ref (caller->peer) : NULL;
  DvmdBusCall call = {
    .server = peer != NULL ? peer->server : NULL,
    .peer = peer,
    .caller = caller,
    .id = reading->id,
    .parameters = g_dbus_method_invocation_get_parameters (reading->invocation),
    .invocation = reading->invocation,
    .read = reading->read,
  };

  caller->reading = FALSE;
  if (call.server == NULL || call.server->stopped)
    {
      g_clear_error (&error);
      error = g_error_new (DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The DVM is ending and takes no more calls");
    }
  if (error == NULL && find_object (&call, reading->klass, reading->method, &error))
    reading->method->func (&call);
  else
    dvmd_bus_return_error (reading->invocation, error);
  if (call.read != NULL)
    reading->method->reader->free (call.read);
  /* It may be a million small pieces: nobody is to wait for that. */
  g_thread_unref (g_thread_new ("dvmd-bus-free", free_call, kept));
  run_pending (caller);
}

static void
begin_reading (DvmdBusCall *call, const DvmdBusClass *klass, const DvmdBusMethod *method)
{
  Reading *reading = g_new0 (Reading, 1);

  reading->caller = dvmd_bus_caller_ref (call->caller);
  reading->klass = klass;
  reading->method = method;
  reading->id = call->id;
  reading->invocation = call->invocation;
  call->caller->reading = TRUE;
  dvmd_reading_begin (NULL, read_call, on_call_read, reading);
}

static void
run_call (DvmdBusPeer *peer, DvmdBusCaller *caller, const DvmdBusClass *klass, const DvmdBusMethod *method, guint id,
          GDBusMethodInvocation *invocation)
{
  DvmdBusCall call = {
    .server = peer->server,
    .peer = peer,
    .caller = caller,
    .id = id,
    .parameters = g_dbus_method_invocation_get_parameters (invocation),
    .invocation = invocation,
  };
  const DvmdBusReader *reader = method->reader;
  GError *error = NULL;
  gboolean good;

  dvmd_bus_limit_serve (invocation);
  good = find_object (&call, klass, method, &error);
  if (good && reader != NULL && dvmd_reading_takes_long (call.parameters))
    {
      begin_reading (&call, klass, method);
      return;
    }
  if (good && reader != NULL && !reader->when_long)
    call.read = reader->read (invocation, &error);
  if (error == NULL)
    method->func (&call);
  else
    dvmd_bus_return_error (invocation, error);
  if (call.read != NULL)
    reader->free (call.read);
}

void
dvmd_bus_caller_subscribe (DvmdBusCaller *self)
{
  self->n_subscriptions++;
  self->peer->n_subscriptions++;
  dvmd_bus_signals_listeners_changed (self->peer->server->signals);
}

gboolean
dvmd_bus_caller_unsubscribe (DvmdBusCaller *self)
{
  if (self->n_subscriptions == 0)
    return FALSE;
  self->n_subscriptions--;
  self->peer->n_subscriptions--;
  dvmd_bus_signals_listeners_changed (self->peer->server->signals);
  return TRUE;
}

void
dvmd_bus_caller_leave (DvmdBusCaller *self)
{
  g_autoptr (DvmdBusCaller) keep = dvmd_bus_caller_ref (self);
  DvmdBusPeer *peer = g_steal_pointer (&self->peer);

  if (peer == NULL)
    return;
  if (self->watch != 0)
    g_dbus_connection_signal_unsubscribe (peer->connection, self->watch);
  if (peer->limit != NULL)
    dvmd_bus_limit_forget (peer->limit, self->requester.name);
  self->watch = 0;
  g_queue_clear_full (&self->pending, (GDestroyNotify)dvmd_bus_pending_call_free);
  peer->n_subscriptions -= self->n_subscriptions;
  self->n_subscriptions = 0;
  if (peer->server != NULL)
    {
      dvmd_bus_waiters_drop (peer->server->waiters, self);
      dvmd_bus_batches_drop (peer->server, self);
      dvmd_bus_maps_drop (peer->server, self);
      dvmd_bus_signals_listeners_changed (peer->server->signals);
      dvmd_bus_caller_end_jobs (self, peer->server);
    }
  if (peer->callers != NULL)
    g_hash_table_remove (peer->callers, self->requester.name);
}

static void
on_name_owner_changed (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                       const char *signal, GVariant *parameters, gpointer user_data)
{
  const char *new_owner = NULL;

  if (!g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(sss)")))
    return;
  g_variant_get_child (parameters, 2, "&s", &new_owner);
  if (new_owner[0] == '\0')
    dvmd_bus_caller_leave (user_data);
}

static void
run_pending (DvmdBusCaller *self)
{
  /* A method may end the connection, and with it the rest. */
  while (self->peer != NULL && !self->reading && !g_queue_is_empty (&self->pending))
    {
      g_autoptr (DvmdBusPeer) peer = dvmd_bus_peer_ref (self->peer);
      DvmdBusPendingCall *pending = g_queue_pop_head (&self->pending);

      run_call (peer, self, pending->klass, pending->method, pending->id, g_steal_pointer (&pending->invocation));
      dvmd_bus_pending_call_free (pending);
    }
}

static gboolean
read_credentials (DvmdBusCaller *self, GVariant *reply)
{
  g_autoptr (GVariant) dict = g_variant_get_child_value (reply, 0);
  guint32 uid;
  guint32 pid = 0;

  if (!g_variant_lookup (dict, "UnixUserID", "u", &uid))
    return FALSE;
  g_variant_lookup (dict, "ProcessID", "u", &pid);
  self->requester.uid = uid;
  self->requester.pid = pid;
  return TRUE;
}

/* (transfer full) */
static GError *
unknown_caller_error (DvmdBusCaller *self)
{
  if (self->peer->server != NULL && self->peer->server->stopped)
    return g_error_new (DVM_ERROR, DVM_ERROR_SHUTTING_DOWN, "The DVM is ending and takes no more calls");
  return g_error_new (DVM_ERROR, DVM_ERROR_NO_PERMISSIONS, "The bus does not say which user %s is",
                      self->requester.name);
}

static void
on_credentials (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (DvmdBusCaller) self = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);

  if (self->peer == NULL)
    return;
  if (reply != NULL && read_credentials (self, reply))
    {
      self->known = TRUE;
      if (self->peer->limit != NULL
          && dvmd_core_has_right (self->peer->server->core, &self->requester, DVMD_RIGHT_DVM, NULL, NULL))
        dvmd_bus_limit_trust (self->peer->limit, self->requester.name);
      run_pending (self);
      return;
    }
  g_info ("%s cannot be told who it is: %s", self->requester.name, error != NULL ? error->message : "no uid given");
  while (!g_queue_is_empty (&self->pending))
    {
      DvmdBusPendingCall *pending = g_queue_pop_head (&self->pending);

      dvmd_bus_return_error (g_steal_pointer (&pending->invocation), unknown_caller_error (self));
      dvmd_bus_pending_call_free (pending);
    }
  dvmd_bus_caller_leave (self);
}

/* A caller on a bus: watched first, asked for after that, so that none who leaves in between is missed. */
static DvmdBusCaller *
add_bus_caller (DvmdBusPeer *peer, const char *sender)
{
  DvmdBusCaller *self = dvmd_bus_caller_new (peer, sender);

  self->watch = g_dbus_connection_signal_subscribe (peer->connection, "org.freedesktop.DBus", "org.freedesktop.DBus",
                                                    "NameOwnerChanged", "/org/freedesktop/DBus", sender,
                                                    G_DBUS_SIGNAL_FLAGS_NONE, on_name_owner_changed,
                                                    dvmd_bus_caller_ref (self), (GDestroyNotify)dvmd_bus_caller_unref);
  g_dbus_connection_call (peer->connection, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                          "GetConnectionCredentials", g_variant_new ("(s)", sender), G_VARIANT_TYPE ("(a{sv})"),
                          G_DBUS_CALL_FLAGS_NONE, -1, peer->server->cancellable, on_credentials,
                          dvmd_bus_caller_ref (self));
  g_hash_table_insert (peer->callers, self->requester.name, self);
  return self;
}

static DvmdBusCaller *
find_caller (DvmdBusPeer *peer, GDBusMethodInvocation *invocation, gboolean needed)
{
  const char *sender = g_dbus_method_invocation_get_sender (invocation);
  DvmdBusCaller *caller;

  if (!peer->is_bus)
    return peer->self;
  if (sender == NULL)
    return NULL;
  caller = g_hash_table_lookup (peer->callers, sender);
  if (caller == NULL && needed)
    caller = add_bus_caller (peer, sender);
  return caller;
}

static void
read_properties_of_job (DvmdBusCall *call)
{
  dvmd_bus_handle_properties (call->server, &dvmd_bus_jobs.klass, call->object,
                              dvmd_bus_hides_from (call->server, call->caller), call->invocation);
}

static const DvmdBusMethod *
find_method (const DvmdBusClass *klass, GDBusMethodInvocation *invocation)
{
  static const DvmdBusMethod properties = { "Get", DVMD_BUS_READS, read_properties_of_job };
  const char *name = g_dbus_method_invocation_get_method_name (invocation);

  if (dvmd_bus_is_properties_call (invocation))
    return &properties;
  for (gsize i = 0; i < klass->n_methods; i++)
    if (strcmp (klass->methods[i].name, name) == 0)
      return &klass->methods[i];
  return NULL;
}

static void
call_method (DvmdBusPeer *peer, const DvmdBusClass *klass, guint id, GDBusMethodInvocation *invocation)
{
  g_autoptr (DvmdBusPeer) keep = dvmd_bus_peer_ref (peer);
  const DvmdBusMethod *method = find_method (klass, invocation);
  gboolean needed;
  DvmdBusCaller *caller;

  g_assert (method != NULL); /* the interface description lists no other */

  needed = method->access != DVMD_BUS_READS || peer->server->hides;
  caller = find_caller (peer, invocation, needed);
  if (caller == NULL && needed)
    dvmd_bus_return_error (invocation,
                           g_error_new (DVM_ERROR, DVM_ERROR_NO_PERMISSIONS, "A call on a bus needs a sender"));
  else if (caller != NULL && (!caller->known || caller->reading))
    {
      /* Calls of one caller stay in their order, those that only read too. */
      DvmdBusPendingCall *pending = g_new0 (DvmdBusPendingCall, 1);

      pending->klass = klass;
      pending->method = method;
      pending->id = id;
      pending->invocation = invocation;
      g_queue_push_tail (&caller->pending, pending);
    }
  else
    run_call (peer, caller, klass, method, id, invocation);
}

void
dvmd_bus_dispatch (DvmdBusPeer *peer, const DvmdBusClass *klass, guint id, GDBusMethodInvocation *invocation)
{
  GError *error = NULL;
  gpointer object = klass->find != NULL ? klass->find (peer->server->core, id, &error) : NULL;

  if (error != NULL)
    dvmd_bus_return_error (invocation, error);
  else if (dvmd_bus_is_properties_call (invocation) && (!peer->server->hides || klass != &dvmd_bus_jobs.klass))
    dvmd_bus_handle_properties (peer->server, klass, object, FALSE, invocation);
  else
    call_method (peer, klass, id, invocation);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A caller is known by the credentials of its connection, and what it may change follows from them.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-private.h"
#include "dvmd-reading.h"
#include "dvmd-rights.h"

#include <pwd.h>
#include <string.h>

/* A call that waits until it is known who calls, or the call before it is read. */
typedef struct
{
  const DvmdBusClass *klass;
  const DvmdBusMethod *method;
  guint id;
  GDBusMethodInvocation *invocation;
} PendingCall;

/* In one place for all methods (spec: who may do what). */
static gboolean
check_right (DvmdBusServer *server, DvmdBusCaller *caller, DvmdBusAccess access, gpointer object, GError **error)
{
  switch (access)
    {
    case DVMD_BUS_CHANGES_JOB:
      return dvmd_core_may (server->core, &caller->requester, DVMD_RIGHT_JOB, NULL, object, error);
    case DVMD_BUS_CHANGES_NODE:
      return dvmd_core_may (server->core, &caller->requester, DVMD_RIGHT_NODE, NULL, NULL, error);
    case DVMD_BUS_PLANS:
    case DVMD_BUS_CHANGES:
      return dvmd_core_may (server->core, &caller->requester, DVMD_RIGHT_DVM, NULL, NULL, error);
    case DVMD_BUS_READS:
    case DVMD_BUS_TRACKED:
      break;
    }
  return TRUE;
}

gboolean
dvmd_bus_caller_may_change (DvmdBusCaller *self)
{
  return check_right (self->peer->server, self, DVMD_BUS_CHANGES, NULL, NULL);
}

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

  if (klass->find != NULL)
    call->object = klass->find (call->server, call->id, &own_error);
  if (own_error == NULL)
    return check_right (call->server, call->caller, method->access, call->object, error);
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

static void
pending_call_free (PendingCall *pending)
{
  g_clear_object (&pending->invocation);
  g_free (pending);
}

static DvmdBusCaller *
caller_new (DvmdBusPeer *peer, const char *name)
{
  DvmdBusCaller *self = g_rc_box_new0 (DvmdBusCaller);

  self->peer = peer;
  self->requester.name = g_strdup (name);
  g_queue_init (&self->pending);
  return self;
}

DvmdBusCaller *
dvmd_bus_caller_new_private (DvmdBusPeer *peer)
{
  DvmdBusCaller *self = caller_new (peer, peer->name);
  GCredentials *credentials = g_dbus_connection_get_peer_credentials (peer->connection);

  /* Connections without credentials do not pass authentication. */
  self->requester.uid = credentials != NULL ? g_credentials_get_unix_user (credentials, NULL) : G_MAXUINT;
  self->requester.pid = credentials != NULL ? MAX (g_credentials_get_unix_pid (credentials, NULL), 0) : 0;
  self->known = TRUE;
  return self;
}

DvmdBusCaller *
dvmd_bus_caller_ref (DvmdBusCaller *self)
{
  return g_rc_box_acquire (self);
}

static void
caller_clear (gpointer data)
{
  DvmdBusCaller *self = data;

  g_free (self->requester.name);
  g_queue_clear_full (&self->pending, (GDestroyNotify)pending_call_free);
  g_clear_pointer (&self->jobs, g_array_unref);
}

void
dvmd_bus_caller_unref (DvmdBusCaller *self)
{
  g_rc_box_release_full (self, caller_clear);
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

static DvmdJob *
find_live (DvmdBusServer *server, guint id)
{
  DvmdJob *job = dvmd_core_get_job (server->core, id);

  return job != NULL && !dvmd_job_get_ended (job) ? job : NULL;
}

void
dvmd_bus_caller_keep_job (DvmdBusCaller *self, DvmdJob *job)
{
  guint id = dvmd_job_get_id (job);

  if (self->peer == NULL)
    return;
  if (self->jobs == NULL)
    self->jobs = g_array_new (FALSE, FALSE, sizeof (guint));
  /* One who submits for days does not gather what has ended, also behind a job that runs as long. */
  if (self->jobs->len >= self->jobs_limit)
    {
      for (guint i = self->jobs->len; i > 0; i--)
        if (find_live (self->peer->server, g_array_index (self->jobs, guint, i - 1)) == NULL)
          g_array_remove_index_fast (self->jobs, i - 1);
      self->jobs_limit = 2 * self->jobs->len + 32;
    }
  g_array_append_val (self->jobs, id);
}

static char *
find_user (guint uid)
{
  char buffer[4096];
  struct passwd entry;
  struct passwd *found = NULL;

  if (uid == G_MAXUINT)
    return g_strdup ("somebody");
  if (getpwuid_r (uid, &entry, buffer, sizeof buffer, &found) == 0 && found != NULL)
    return g_utf8_make_valid (found->pw_name, -1);
  return g_strdup_printf ("uid %u", uid);
}

/* (nullable): it may have gone */
static char *
find_program (guint pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%u/comm", pid);
  g_autofree char *name = NULL;

  if (pid == 0 || !g_file_get_contents (path, &name, NULL, NULL))
    return NULL;
  return g_utf8_make_valid (g_strchomp (name), -1);
}

char *
dvmd_bus_caller_describe (DvmdBusCaller *self)
{
  g_autofree char *user = find_user (self->requester.uid);
  g_autofree char *program = find_program (self->requester.pid);

  if (program != NULL)
    return g_strdup_printf ("%s (%s, pid %u)", user, program, self->requester.pid);
  return self->requester.pid != 0 ? g_strdup_printf ("%s (pid %u)", user, self->requester.pid)
                                  : g_strdup_printf ("%s (%s)", user, self->requester.name);
}

static void
end_jobs (DvmdBusServer *server, DvmdBusCaller *self)
{
  g_autoptr (GArray) jobs = g_steal_pointer (&self->jobs);
  g_autofree char *who = NULL;
  g_autoptr (DvmReason) reason = NULL;

  if (jobs == NULL || server->stopped)
    return;
  who = dvmd_bus_caller_describe (self);
  reason = _dvm_reason_new (DVM_REASON_SUBMITTER_LEFT, who);
  for (guint i = 0; i < jobs->len; i++)
    {
      DvmdJob *job = find_live (server, g_array_index (jobs, guint, i));
      g_autoptr (GError) error = NULL;

      if (job != NULL && !dvmd_controller_cancel_job_for (server->controller, job, reason, &error))
        g_message ("A job of %s cannot be ended: %s", self->requester.name, error->message);
    }
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
  g_queue_clear_full (&self->pending, (GDestroyNotify)pending_call_free);
  peer->n_subscriptions -= self->n_subscriptions;
  self->n_subscriptions = 0;
  if (peer->server != NULL)
    {
      dvmd_bus_waiters_drop (peer->server->waiters, self);
      dvmd_bus_batches_drop (peer->server, self);
      dvmd_bus_maps_drop (peer->server, self);
      dvmd_bus_signals_listeners_changed (peer->server->signals);
      end_jobs (peer->server, self);
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
      PendingCall *pending = g_queue_pop_head (&self->pending);

      run_call (peer, self, pending->klass, pending->method, pending->id, g_steal_pointer (&pending->invocation));
      pending_call_free (pending);
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
      PendingCall *pending = g_queue_pop_head (&self->pending);

      dvmd_bus_return_error (g_steal_pointer (&pending->invocation), unknown_caller_error (self));
      pending_call_free (pending);
    }
  dvmd_bus_caller_leave (self);
}

/* A caller on a bus: watched first, asked for after that, so that none who leaves in between is missed. */
static DvmdBusCaller *
add_bus_caller (DvmdBusPeer *peer, const char *sender)
{
  DvmdBusCaller *self = caller_new (peer, sender);

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
      PendingCall *pending = g_new0 (PendingCall, 1);

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
  gpointer object = klass->find != NULL ? klass->find (peer->server, id, &error) : NULL;

  if (error != NULL)
    dvmd_bus_return_error (invocation, error);
  else if (dvmd_bus_is_properties_call (invocation) && (!peer->server->hides || klass != &dvmd_bus_jobs.klass))
    dvmd_bus_handle_properties (peer->server, klass, object, FALSE, invocation);
  else
    call_method (peer, klass, id, invocation);
}

/* Not by the invocation itself: what waits to be read is counted. */
static void
reply (GDBusMethodInvocation *invocation, GDBusMessage *message)
{
  GDBusMessage *call = g_dbus_method_invocation_get_message (invocation);
  DvmdBusPeer *peer = dvmd_bus_peer_of (g_dbus_method_invocation_get_connection (invocation));

  if (peer != NULL && (g_dbus_message_get_flags (call) & G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED) == 0)
    dvmd_bus_peer_send (peer, message);
  g_object_unref (message);
  g_object_unref (invocation);
}

void
dvmd_bus_return_value (GDBusMethodInvocation *invocation, GVariant *value)
{
  GDBusMessage *message = g_dbus_message_new_method_reply (g_dbus_method_invocation_get_message (invocation));

  if (value != NULL)
    g_dbus_message_set_body (message, value);
  reply (invocation, message);
}

void
dvmd_bus_return_error (GDBusMethodInvocation *invocation, GError *error)
{
  g_autofree char *name = NULL;

  if (error->domain != DVM_ERROR)
    {
      GError *own = g_error_new_literal (DVM_ERROR, DVM_ERROR_FAILED, error->message);

      g_error_free (error);
      error = own;
    }
  g_debug ("%s: %s", g_dbus_method_invocation_get_method_name (invocation), error->message);
  name = g_dbus_error_encode_gerror (error);
  reply (invocation, g_dbus_message_new_method_error_literal (g_dbus_method_invocation_get_message (invocation), name,
                                                              error->message));
  g_error_free (error);
}

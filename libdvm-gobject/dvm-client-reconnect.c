/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Coming back to a DVM that has gone, or to the next one in its place.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include "dvm-client-private.h"

/* A person should not notice the first, and nobody should pay for the last. */
#define FIRST_DELAY_MS 50
#define LAST_DELAY_MS  1000

static void schedule (DvmClient *self);

static void
on_connected (GObject *source, GAsyncResult *result, gpointer user_data)
{
  DvmClient *self = DVM_CLIENT (source);
  g_autoptr (GError) error = NULL;

  if (dvm_client_connect_finish (self, result, &error))
    return;
  g_debug ("not back yet: %s", error->message);
  if (self->reconnect && self->connection == NULL)
    schedule (self);
}

static gboolean
on_retry (gpointer user_data)
{
  DvmClient *self = user_data;

  g_clear_pointer (&self->retry, g_source_unref);
  g_main_context_push_thread_default (self->context);
  if (self->connection == NULL)
    dvm_client_connect_async (self, NULL, on_connected, NULL);
  g_main_context_pop_thread_default (self->context);
  return G_SOURCE_REMOVE;
}

static void
schedule (DvmClient *self)
{
  if (self->retry != NULL || self->context == NULL)
    return;
  self->retry = g_timeout_source_new (self->delay_ms);
  g_source_set_static_name (self->retry, "dvm-client-reconnect");
  g_source_set_callback (self->retry, on_retry, self, NULL);
  g_source_attach (self->retry, self->context);
  self->delay_ms = MIN (2 * self->delay_ms, LAST_DELAY_MS);
}

static void
on_instance (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (DvmClient) self = user_data;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, NULL);
  g_autoptr (GVariant) value = NULL;

  if (reply == NULL || G_DBUS_CONNECTION (source) != self->connection)
    return;
  g_variant_get (reply, "(v)", &value);
  if (!g_variant_is_of_type (value, G_VARIANT_TYPE_STRING))
    return;
  g_free (self->instance_id);
  self->instance_id = g_variant_dup_string (value, NULL);
  g_object_notify (G_OBJECT (self), "instance-id");
  if (self->last_instance != NULL && g_strcmp0 (self->last_instance, self->instance_id) != 0)
    _dvm_client_emit_instance_changed (self);
}

/* A bus lives on when the DVM goes. */
static void
on_owner_changed (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                  const char *name, GVariant *parameters, gpointer user_data)
{
  DvmClient *self = user_data;
  const char *new_owner;

  if (!g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(sss)")))
    return;
  g_variant_get (parameters, "(&s&s&s)", NULL, NULL, &new_owner);
  if (g_strcmp0 (new_owner, self->owner) != 0)
    g_dbus_connection_close (connection, NULL, NULL, NULL);
}

static void
watch_owner (DvmClient *self)
{
  g_autofree char *name = _dvm_client_get_bus_name (self);

  if (self->owner != NULL && self->owner_changed == 0)
    self->owner_changed = g_dbus_connection_signal_subscribe (self->connection, DVM_BUS_NAME, DVM_BUS_NAME,
                                                              "NameOwnerChanged", DVM_BUS_PATH, name,
                                                              G_DBUS_SIGNAL_FLAGS_NONE, on_owner_changed, self, NULL);
}

static void
unwatch_owner (DvmClient *self)
{
  if (self->owner_changed != 0)
    g_dbus_connection_signal_unsubscribe (self->connection, self->owner_changed);
  self->owner_changed = 0;
}

void
_dvm_client_reconnect_stop (DvmClient *self)
{
  if (self->connection != NULL)
    unwatch_owner (self);
  if (self->retry != NULL)
    g_source_destroy (self->retry);
  g_clear_pointer (&self->retry, g_source_unref);
  g_clear_pointer (&self->context, g_main_context_unref);
}

/* Without knowing this instance the next one cannot be told from it. */
void
_dvm_client_reconnect_connected (DvmClient *self)
{
  self->delay_ms = FIRST_DELAY_MS;
  if (!self->reconnect)
    return;
  g_main_context_push_thread_default (self->context);
  watch_owner (self);
  g_dbus_connection_call (self->connection, self->owner, DVM_MANAGER_PATH, DVM_PROPERTIES, "Get",
                          g_variant_new ("(ss)", DVM_MANAGER_INTERFACE, "InstanceId"), G_VARIANT_TYPE ("(v)"),
                          G_DBUS_CALL_FLAGS_NO_AUTO_START, -1, NULL, on_instance, g_object_ref (self));
  g_main_context_pop_thread_default (self->context);
}

void
_dvm_client_reconnect_lost (DvmClient *self)
{
  if (!self->reconnect)
    return;
  if (self->instance_id != NULL)
    {
      g_free (self->last_instance);
      self->last_instance = g_steal_pointer (&self->instance_id);
    }
  g_clear_pointer (&self->watches, _dvm_client_watches_free);
  unwatch_owner (self);
  g_clear_signal_handler (&self->closed_handler, self->connection);
  g_clear_object (&self->connection);
  g_clear_pointer (&self->owner, g_free);
  g_clear_pointer (&self->address, g_free);
  schedule (self);
}

/**
 * dvm_client_set_reconnect:
 * @self: a client
 * @reconnect: whether it comes back by itself
 *
 * Makes the client look for the DVM again when the connection is lost, until there is one: #DvmClient:connected says
 * so. If it is another run of the DVM, #DvmClient::instance-changed is emitted: its jobs are others. Jobs that were
 * watched have to be watched again; the lists are filled again by themselves. That happens in the main context that is
 * the thread's default now. A client that was made with a descriptor has nowhere to come back to.
 *
 * Since: 0.1
 */
void
dvm_client_set_reconnect (DvmClient *self, gboolean reconnect)
{
  g_return_if_fail (DVM_IS_CLIENT (self));

  if (self->reconnect == !!reconnect)
    return;
  self->reconnect = !!reconnect;
  _dvm_client_reconnect_stop (self);
  if (reconnect)
    self->context = g_main_context_ref_thread_default ();
  if (reconnect && dvm_client_get_connected (self))
    _dvm_client_reconnect_connected (self);
  g_object_notify (G_OBJECT (self), "reconnect");
}

/**
 * dvm_client_get_reconnect:
 * @self: a client
 *
 * Whether the client looks for the DVM again when the connection is lost.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_client_get_reconnect (DvmClient *self)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);

  return self->reconnect;
}

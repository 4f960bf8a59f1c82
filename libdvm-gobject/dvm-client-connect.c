/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Connecting: the first place that has the DVM. Both ways, so that a connection belongs to the caller's main context.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <glib/gi18n-lib.h>

#include "dvm-client-private.h"

#define SOCKET_FLAGS G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT
#define BUS_FLAGS    (G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION)

/* One try after the other. */
typedef struct
{
  GPtrArray *places;
  guint next;
  GString *failures;
  int code; /* of the error when nothing is found */
  GDBusConnection *connection;
  char *owner;
  guint owner_uid;
} Attempt;

static Attempt *
attempt_new (DvmClient *self, GError **error)
{
  g_autoptr (GPtrArray) places = _dvm_client_find_places (self, error);
  Attempt *attempt;

  if (places == NULL)
    return NULL;
  attempt = g_new0 (Attempt, 1);
  attempt->places = g_steal_pointer (&places);
  attempt->failures = g_string_new (NULL);
  attempt->code = DVM_ERROR_NOT_FOUND;
  return attempt;
}

static void
attempt_drop_connection (Attempt *attempt)
{
  g_clear_object (&attempt->connection);
  g_clear_pointer (&attempt->owner, g_free);
}

static void
attempt_free (gpointer data)
{
  Attempt *attempt = data;

  attempt_drop_connection (attempt);
  g_ptr_array_unref (attempt->places);
  g_string_free (attempt->failures, TRUE);
  g_free (attempt);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Attempt, attempt_free)

static const DvmPlace *
attempt_get_place (Attempt *attempt)
{
  return g_ptr_array_index (attempt->places, attempt->next);
}

/* The next place, if this one has no DVM. */
static void
attempt_failed (Attempt *attempt, GError *error)
{
  const DvmPlace *place = attempt_get_place (attempt);

  if (g_dbus_error_is_remote_error (error))
    g_dbus_error_strip_remote_error (error);
  g_debug ("%s: %s", place->title, error->message);
  g_string_append_printf (attempt->failures, "%s%s: %s", attempt->failures->len > 0 ? "; " : "", place->title,
                          error->message);
  /* A wrong path or a stranger's socket is more than "not there". */
  if (error->domain == DVM_ERROR && attempt->code == DVM_ERROR_NOT_FOUND)
    attempt->code = error->code;
  attempt_drop_connection (attempt);
  attempt->next++;
  g_error_free (error);
}

static GError *
attempt_give_up (Attempt *attempt, DvmClient *self)
{
  g_autofree char *name = _dvm_client_get_bus_name (self);

  if (attempt->code == DVM_ERROR_TIMEOUT)
    return g_error_new (DVM_ERROR, attempt->code, _ ("The DVM cannot be reached (%s)"), attempt->failures->str);
  return g_error_new (DVM_ERROR, attempt->code, _ ("No DVM was found as %s (%s)"), name,
                      attempt->failures->len > 0 ? attempt->failures->str : _ ("there is no bus"));
}

static void
update_connected (DvmClient *self)
{
  gboolean connected = dvm_client_get_connected (self);

  if (connected == self->connected)
    return;
  self->connected = connected;
  g_object_notify (G_OBJECT (self), "connected");
}

static void
on_closed (GDBusConnection *connection, gboolean remote_peer_vanished, GError *error, gpointer user_data)
{
  g_autoptr (DvmClient) self = g_object_ref (DVM_CLIENT (user_data));

  g_clear_pointer (&self->events, _dvm_client_events_free);
  if (self->lists != NULL)
    _dvm_client_lists_lost (self->lists);
  _dvm_client_reconnect_lost (self);
  update_connected (self);
}

/* reply: (nullable): the instance id, which is asked for later if it is not here */
static void
adopt (DvmClient *self, Attempt *attempt, GVariant *reply)
{
  g_autoptr (GVariant) value = NULL;

  if (reply != NULL)
    {
      g_variant_get (reply, "(v)", &value);
      self->instance_id = g_variant_dup_string (value, NULL);
    }
  self->address = g_strdup (attempt_get_place (attempt)->address);
  self->owner = g_steal_pointer (&attempt->owner);
  self->owner_uid = attempt->owner_uid;
  self->connection = g_steal_pointer (&attempt->connection);
  self->events = _dvm_client_events_new (self);
  self->closed_handler = g_signal_connect (self->connection, "closed", G_CALLBACK (on_closed), self);
  g_debug ("connected to %s, instance %s", self->address != NULL ? self->address : "a descriptor",
           self->instance_id != NULL ? self->instance_id : "not asked for yet");
  g_object_notify (G_OBJECT (self), "address");
  g_object_notify (G_OBJECT (self), "instance-id");
  if (self->lists != NULL)
    _dvm_client_lists_connected (self->lists);
  _dvm_client_reconnect_connected (self);
  update_connected (self);
}

/* In our own directory and at the other end of our own socket there is a DVM: it need not say so before the first call.
 */
static gboolean
must_ask (const DvmPlace *place)
{
  return place->kind != DVM_PLACE_FD && !place->check_directory;
}

static GVariant *
instance_id_parameters (void)
{
  return g_variant_new ("(ss)", DVM_MANAGER_INTERFACE, "InstanceId");
}

/* reply: (nullable): that of GetConnectionUnixUser; the unique name is never that of another. */
static void
note_owner_uid (Attempt *attempt, GVariant *reply)
{
  attempt->owner_uid = G_MAXUINT;
  if (reply != NULL)
    g_variant_get (reply, "(u)", &attempt->owner_uid);
}

static GVariant *
check_instance_id (GVariant *reply, GError **error)
{
  g_autoptr (GVariant) value = NULL;

  if (reply == NULL)
    return NULL;
  g_variant_get (reply, "(v)", &value);
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_STRING))
    return reply;
  g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, _ ("what answers is not a DVM"));
  g_variant_unref (reply);
  return NULL;
}

static gboolean
check_unconnected (DvmClient *self, GError **error)
{
  if (self->connection == NULL)
    return TRUE;
  g_set_error (error, DVM_ERROR, DVM_ERROR_EXISTS, _ ("The client has been connected before; make a new one"));
  return FALSE;
}

void
_dvm_client_ask_instance_id (DvmClient *self)
{
  g_autoptr (GVariant) reply = NULL;
  g_autoptr (GVariant) value = NULL;
  g_autoptr (GError) error = NULL;

  if (self->instance_id != NULL || !dvm_client_get_connected (self))
    return;
  reply = g_dbus_connection_call_sync (self->connection, self->owner, DVM_MANAGER_PATH, DVM_PROPERTIES, "Get",
                                       instance_id_parameters (), G_VARIANT_TYPE ("(v)"),
                                       G_DBUS_CALL_FLAGS_NO_AUTO_START, -1, NULL, &error);
  reply = check_instance_id (reply, &error);
  if (reply == NULL)
    {
      g_debug ("the instance is not known: %s", error->message);
      return;
    }
  g_variant_get (reply, "(v)", &value);
  self->instance_id = g_variant_dup_string (value, NULL);
}

/* In the caller's thread. */

static gboolean
try_place_sync (DvmClient *self, Attempt *attempt, GCancellable *cancellable, GError **error)
{
  const DvmPlace *place = attempt_get_place (attempt);
  g_autoptr (GIOStream) stream = NULL;
  g_autoptr (GVariant) reply = NULL;
  g_autofree char *name = NULL;

  if (place->kind == DVM_PLACE_BUS)
    attempt->connection = g_dbus_connection_new_for_address_sync (place->address, BUS_FLAGS, NULL, cancellable, error);
  else if ((stream = _dvm_client_open_place (self, place, error)) != NULL)
    attempt->connection = g_dbus_connection_new_sync (stream, NULL, SOCKET_FLAGS, NULL, cancellable, error);
  if (attempt->connection == NULL)
    return FALSE;
  g_dbus_connection_set_exit_on_close (attempt->connection, FALSE);
  if (place->kind == DVM_PLACE_BUS)
    {
      g_autoptr (GVariant) owner = NULL;
      g_autoptr (GVariant) uid = NULL;

      name = _dvm_client_get_bus_name (self);
      owner = g_dbus_connection_call_sync (attempt->connection, DVM_BUS_NAME, DVM_BUS_PATH, DVM_BUS_NAME,
                                           "GetNameOwner", g_variant_new ("(s)", name), G_VARIANT_TYPE ("(s)"),
                                           G_DBUS_CALL_FLAGS_NO_AUTO_START, -1, cancellable, error);
      if (owner == NULL)
        return FALSE;
      g_variant_get (owner, "(s)", &attempt->owner);
      uid = g_dbus_connection_call_sync (attempt->connection, DVM_BUS_NAME, DVM_BUS_PATH, DVM_BUS_NAME,
                                         "GetConnectionUnixUser", g_variant_new ("(s)", attempt->owner),
                                         G_VARIANT_TYPE ("(u)"), G_DBUS_CALL_FLAGS_NONE, -1, cancellable, NULL);
      note_owner_uid (attempt, uid);
    }
  if (!must_ask (place))
    {
      adopt (self, attempt, NULL);
      return TRUE;
    }
  reply = g_dbus_connection_call_sync (attempt->connection, attempt->owner, DVM_MANAGER_PATH, DVM_PROPERTIES, "Get",
                                       instance_id_parameters (), G_VARIANT_TYPE ("(v)"),
                                       G_DBUS_CALL_FLAGS_NO_AUTO_START, -1, cancellable, error);
  reply = check_instance_id (reply, error);
  if (reply == NULL)
    return FALSE;
  adopt (self, attempt, reply);
  return TRUE;
}

/**
 * dvm_client_connect: (skip)
 * @self: a client
 * @cancellable: (nullable): a way to give up
 * @error: return location for an error
 *
 * Looks for the DVM and connects to it: at its private socket, on the session bus, on the system bus, or only where
 * the client was told to look. Nothing is ever started.
 *
 * Returns: %TRUE if connected; on error %DVM_ERROR_NOT_FOUND if there is no DVM
 * Since: 0.1
 */
gboolean
dvm_client_connect (DvmClient *self, GCancellable *cancellable, GError **error)
{
  g_autoptr (Attempt) attempt = NULL;

  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (!check_unconnected (self, error))
    return FALSE;
  attempt = attempt_new (self, error);
  if (attempt == NULL)
    return FALSE;
  while (attempt->next < attempt->places->len)
    {
      GError *own_error = NULL;

      if (try_place_sync (self, attempt, cancellable, &own_error))
        return TRUE;
      if (g_error_matches (own_error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        {
          g_propagate_error (error, own_error);
          return FALSE;
        }
      attempt_failed (attempt, own_error);
    }
  g_propagate_error (error, attempt_give_up (attempt, self));
  return FALSE;
}

/**
 * dvm_client_connect_sync:
 * @self: a client
 * @cancellable: (nullable): a way to give up
 * @error: return location for an error
 *
 * Looks for the DVM and connects to it: at its private socket, on the session bus, on the system bus, or only where
 * the client was told to look. Nothing is ever started. This is dvm_client_connect() for languages where every object
 * has a method of that name already.
 *
 * Returns: %TRUE if connected; on error %DVM_ERROR_NOT_FOUND if there is no DVM
 * Since: 0.1
 */
gboolean
dvm_client_connect_sync (DvmClient *self, GCancellable *cancellable, GError **error)
{
  return dvm_client_connect (self, cancellable, error);
}

/* From the main loop. */

static void try_place (GTask *task);

static void
place_failed (GTask *task, GError *error)
{
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    {
      g_task_return_error (task, error);
      g_object_unref (task);
      return;
    }
  attempt_failed (g_task_get_task_data (task), error);
  try_place (task);
}

/* Takes task over. reply: (nullable) */
static void
connected (GTask *task, GVariant *reply)
{
  DvmClient *self = g_task_get_source_object (task);
  GError *error = NULL;

  /* Somebody may have connected meanwhile. */
  if (!check_unconnected (self, &error))
    g_task_return_error (task, error);
  else
    {
      adopt (self, g_task_get_task_data (task), reply);
      g_task_return_boolean (task, TRUE);
    }
  g_object_unref (task);
}

static void
on_instance_id (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  g_autoptr (GVariant) reply = NULL;
  GError *error = NULL;

  reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);
  reply = check_instance_id (reply, &error);
  if (reply == NULL)
    {
      place_failed (task, error);
      return;
    }
  connected (task, reply);
}

static void
ask_instance_id (GTask *task)
{
  Attempt *attempt = g_task_get_task_data (task);

  if (!must_ask (attempt_get_place (attempt)))
    {
      connected (task, NULL);
      return;
    }
  g_dbus_connection_call (attempt->connection, attempt->owner, DVM_MANAGER_PATH, DVM_PROPERTIES, "Get",
                          instance_id_parameters (), G_VARIANT_TYPE ("(v)"), G_DBUS_CALL_FLAGS_NO_AUTO_START, -1,
                          g_task_get_cancellable (task), on_instance_id, task);
}

static void
on_owner_uid (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, NULL);

  note_owner_uid (g_task_get_task_data (task), reply);
  ask_instance_id (task);
}

static void
on_owner (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  Attempt *attempt = g_task_get_task_data (task);
  g_autoptr (GVariant) reply = NULL;
  GError *error = NULL;

  reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);
  if (reply == NULL)
    {
      place_failed (task, error);
      return;
    }
  g_variant_get (reply, "(s)", &attempt->owner);
  g_dbus_connection_call (attempt->connection, DVM_BUS_NAME, DVM_BUS_PATH, DVM_BUS_NAME, "GetConnectionUnixUser",
                          g_variant_new ("(s)", attempt->owner), G_VARIANT_TYPE ("(u)"), G_DBUS_CALL_FLAGS_NONE, -1,
                          g_task_get_cancellable (task), on_owner_uid, task);
}

static void
on_connection (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GTask *task = user_data;
  Attempt *attempt = g_task_get_task_data (task);
  gboolean is_bus = attempt_get_place (attempt)->kind == DVM_PLACE_BUS;
  GError *error = NULL;

  if (is_bus)
    attempt->connection = g_dbus_connection_new_for_address_finish (result, &error);
  else
    attempt->connection = g_dbus_connection_new_finish (result, &error);
  if (attempt->connection == NULL)
    {
      place_failed (task, error);
      return;
    }
  g_dbus_connection_set_exit_on_close (attempt->connection, FALSE);
  if (is_bus)
    {
      g_autofree char *name = _dvm_client_get_bus_name (g_task_get_source_object (task));

      g_dbus_connection_call (attempt->connection, DVM_BUS_NAME, DVM_BUS_PATH, DVM_BUS_NAME, "GetNameOwner",
                              g_variant_new ("(s)", name), G_VARIANT_TYPE ("(s)"), G_DBUS_CALL_FLAGS_NO_AUTO_START, -1,
                              g_task_get_cancellable (task), on_owner, task);
    }
  else
    ask_instance_id (task);
}

/* Takes task over. */
static void
try_place (GTask *task)
{
  DvmClient *self = g_task_get_source_object (task);
  Attempt *attempt = g_task_get_task_data (task);
  GCancellable *cancellable = g_task_get_cancellable (task);

  while (attempt->next < attempt->places->len)
    {
      const DvmPlace *place = attempt_get_place (attempt);
      g_autoptr (GIOStream) stream = NULL;
      GError *error = NULL;

      if (place->kind == DVM_PLACE_BUS)
        {
          g_dbus_connection_new_for_address (place->address, BUS_FLAGS, NULL, cancellable, on_connection, task);
          return;
        }
      stream = _dvm_client_open_place (self, place, &error);
      if (stream != NULL)
        {
          g_dbus_connection_new (stream, NULL, SOCKET_FLAGS, NULL, cancellable, on_connection, task);
          return;
        }
      attempt_failed (attempt, error);
    }
  g_task_return_error (task, attempt_give_up (attempt, self));
  g_object_unref (task);
}

/**
 * dvm_client_connect_async:
 * @self: a client
 * @cancellable: (nullable): a way to give up
 * @callback: (scope async): called when it is done
 * @user_data: for @callback
 *
 * Looks for the DVM and connects to it, as dvm_client_connect() does.
 *
 * Since: 0.1
 */
void
dvm_client_connect_async (DvmClient *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *task;
  Attempt *attempt = NULL;
  GError *error = NULL;

  g_return_if_fail (DVM_IS_CLIENT (self));

  task = _dvm_client_new_task (self, dvm_client_connect_async, cancellable, callback, user_data);
  if (check_unconnected (self, &error))
    attempt = attempt_new (self, &error);
  if (attempt == NULL)
    {
      g_task_return_error (task, error);
      g_object_unref (task);
      return;
    }
  g_task_set_task_data (task, attempt, attempt_free);
  try_place (task);
}

/**
 * dvm_client_connect_finish:
 * @self: a client
 * @result: what the callback got
 * @error: return location for an error
 *
 * Ends dvm_client_connect_async().
 *
 * Returns: %TRUE if connected
 * Since: 0.1
 */
gboolean
dvm_client_connect_finish (DvmClient *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The client finds a DVM, connects to it, and follows its state.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvm-client"

#include <glib/gi18n-lib.h>
#include <unistd.h>

#include "dvm-client-private.h"
#include "dvm-installation-private.h"

/**
 * DvmClient:
 *
 * A connection to a DVM. Each call is there twice: asynchronous, and synchronous without running the caller's main
 * loop. A client belongs to the thread that made it.
 *
 * Since: 0.1
 */

enum
{
  PROP_0,
  PROP_NAME,
  PROP_ADDRESS,
  PROP_FD,
  PROP_CONNECTED,
  PROP_LOADED,
  PROP_INSTANCE_ID,
  PROP_JOBS_END_WITH_CLIENT,
  PROP_RECONNECT,
  N_PROPS
};

enum
{
  SIGNAL_INSTANCE_CHANGED,
  SIGNAL_DVM_IS_READY,
  SIGNAL_DVM_MOD_FAILED,
  SIGNAL_ALLOC_TIMEOUT_WARNING,
  N_SIGNALS
};

static GParamSpec *properties[N_PROPS];
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (DvmClient, dvm_client, G_TYPE_OBJECT)

static void
dvm_client_get_property (GObject *object, guint prop_id, GValue *value, GParamSpec *pspec)
{
  DvmClient *self = DVM_CLIENT (object);

  switch (prop_id)
    {
    case PROP_NAME:
      g_value_set_string (value, self->name);
      break;
    case PROP_ADDRESS:
      g_value_set_string (value, dvm_client_get_address (self));
      break;
    case PROP_CONNECTED:
      g_value_set_boolean (value, dvm_client_get_connected (self));
      break;
    case PROP_LOADED:
      g_value_set_boolean (value, self->loaded);
      break;
    case PROP_INSTANCE_ID:
      g_value_set_string (value, dvm_client_get_instance_id (self));
      break;
    case PROP_JOBS_END_WITH_CLIENT:
      g_value_set_boolean (value, self->jobs_end_with_client);
      break;
    case PROP_RECONNECT:
      g_value_set_boolean (value, self->reconnect);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
      break;
    }
}

static void
dvm_client_set_property (GObject *object, guint prop_id, const GValue *value, GParamSpec *pspec)
{
  DvmClient *self = DVM_CLIENT (object);

  switch (prop_id)
    {
    case PROP_NAME:
      self->name = g_value_dup_string (value);
      break;
    case PROP_ADDRESS:
      self->given_address = g_value_dup_string (value);
      break;
    case PROP_FD:
      self->fd = g_value_get_int (value);
      break;
    case PROP_RECONNECT:
      dvm_client_set_reconnect (self, g_value_get_boolean (value));
      break;
    case PROP_JOBS_END_WITH_CLIENT:
      dvm_client_set_jobs_end_with_client (self, g_value_get_boolean (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
      break;
    }
}

static void
dvm_client_dispose (GObject *object)
{
  DvmClient *self = DVM_CLIENT (object);

  _dvm_client_reconnect_stop (self);
  self->reconnect = FALSE;
  g_clear_pointer (&self->lists, _dvm_client_lists_free);
  g_clear_pointer (&self->watches, _dvm_client_watches_free);
  g_clear_pointer (&self->events, _dvm_client_events_free);
  if (self->connection != NULL)
    g_clear_signal_handler (&self->closed_handler, self->connection);
  g_clear_object (&self->connection);
  G_OBJECT_CLASS (dvm_client_parent_class)->dispose (object);
}

static void
dvm_client_finalize (GObject *object)
{
  DvmClient *self = DVM_CLIENT (object);

  if (self->fd >= 0)
    close (self->fd);
  g_free (self->name);
  g_free (self->given_address);
  g_free (self->owner);
  g_free (self->address);
  g_free (self->instance_id);
  g_free (self->last_instance);
  G_OBJECT_CLASS (dvm_client_parent_class)->finalize (object);
}

static void
install_properties (GObjectClass *object_class)
{
  const GParamFlags readable = G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS;
  const GParamFlags given = G_PARAM_CONSTRUCT_ONLY | G_PARAM_WRITABLE | G_PARAM_EXPLICIT_NOTIFY
                            | G_PARAM_STATIC_STRINGS;

  /**
   * DvmClient:name:
   *
   * The name of the DVM; %NULL for the one that $DVM_NAME names, or else the default one.
   *
   * Since: 0.1
   */
  properties[PROP_NAME] = g_param_spec_string ("name", NULL, NULL, NULL, given | G_PARAM_READABLE);
  /**
   * DvmClient:address:
   *
   * The D-Bus address that the client is connected to. When it is made: the only place to look, "session", "system",
   * the absolute path of a DVM's socket or its D-Bus address; %NULL for what $DVM_SOCKET says, or else all the usual
   * places.
   *
   * Since: 0.1
   */
  properties[PROP_ADDRESS] = g_param_spec_string ("address", NULL, NULL, NULL, given | G_PARAM_READABLE);
  /**
   * DvmClient:fd:
   *
   * A socket that is connected to a DVM already, -1 for none. The client closes it.
   *
   * Since: 0.1
   */
  properties[PROP_FD] = g_param_spec_int ("fd", NULL, NULL, -1, G_MAXINT, -1, given);
  /**
   * DvmClient:connected:
   *
   * Whether there is a connection to the DVM.
   *
   * Since: 0.1
   */
  properties[PROP_CONNECTED] = g_param_spec_boolean ("connected", NULL, NULL, FALSE, readable);
  /**
   * DvmClient:loaded:
   *
   * Whether the lists that dvm_client_get_jobs() and the like return are filled with what there is. It becomes %FALSE
   * when they are emptied, because the connection is lost; it is %FALSE as long as nobody has asked for a list.
   *
   * Since: 0.1
   */
  properties[PROP_LOADED] = g_param_spec_boolean ("loaded", NULL, NULL, FALSE, readable);
  /**
   * DvmClient:jobs-end-with-client:
   *
   * Whether the jobs that are submitted from now on are cancelled when the connection of this client ends, as it does
   * when its process is killed.
   *
   * Since: 0.1
   */
  properties[PROP_JOBS_END_WITH_CLIENT] = g_param_spec_boolean ("jobs-end-with-client", NULL, NULL, FALSE,
                                                                readable | G_PARAM_WRITABLE);
  /**
   * DvmClient:instance-id:
   *
   * What tells this run of the DVM from any other; %NULL before the client is connected.
   *
   * Since: 0.1
   */
  properties[PROP_INSTANCE_ID] = g_param_spec_string ("instance-id", NULL, NULL, NULL, readable);
  /**
   * DvmClient:reconnect:
   *
   * Whether the client looks for the DVM again when the connection is lost.
   *
   * Since: 0.1
   */
  properties[PROP_RECONNECT] = g_param_spec_boolean ("reconnect", NULL, NULL, FALSE, readable | G_PARAM_WRITABLE);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

void
_dvm_client_emit_instance_changed (DvmClient *self)
{
  g_signal_emit (self, signals[SIGNAL_INSTANCE_CHANGED], 0, self->instance_id);
}

void
_dvm_client_emit_is_ready (DvmClient *self, const char *alloc_id, const char *req_id, GVariant *details)
{
  g_signal_emit (self, signals[SIGNAL_DVM_IS_READY], 0, alloc_id, req_id, details);
}

void
_dvm_client_emit_mod_failed (DvmClient *self, const char *alloc_id, const char *req_id, int status, const char *reason,
                             GVariant *details)
{
  g_signal_emit (self, signals[SIGNAL_DVM_MOD_FAILED], 0, alloc_id, req_id, status, reason, details);
}

void
_dvm_client_emit_timeout_warning (DvmClient *self, const char *alloc_id, const char *req_id, guint seconds_left)
{
  g_signal_emit (self, signals[SIGNAL_ALLOC_TIMEOUT_WARNING], 0, alloc_id, req_id, seconds_left);
}

void
_dvm_client_set_loaded (DvmClient *self, gboolean loaded)
{
  if (self->loaded == loaded)
    return;
  self->loaded = loaded;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_LOADED]);
}

static void
install_signals (void)
{
  /**
   * DvmClient::instance-changed:
   * @self: the client
   * @instance_id: what tells this run of the DVM from any other
   *
   * The client has come back, and the DVM is another run of it: jobs of the one before are not there.
   *
   * Since: 0.1
   */
  signals[SIGNAL_INSTANCE_CHANGED] = g_signal_new ("instance-changed", DVM_TYPE_CLIENT, G_SIGNAL_RUN_LAST, 0, NULL,
                                                   NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  /**
   * DvmClient::dvm-is-ready:
   * @self: the client
   * @alloc_id: the id of the allocation
   * @req_id: the id that the request was given, "" if it was given none
   * @details: a value of type a{sv}: "campaign" (o), "kind" (s, "grow" or "shrink"), "nodes" (as)
   *
   * A change of the size of the DVM that this client asked for is done. For each such change that was accepted, and
   * that changes anything, either this or #DvmClient::dvm-mod-failed is emitted once, after the answer to the request,
   * in the main context that was the thread's default when the client connected. Nobody else is told, and neither is a
   * client that has lost its connection meanwhile.
   *
   * Since: 0.1
   */
  signals[SIGNAL_DVM_IS_READY] = g_signal_new ("dvm-is-ready", DVM_TYPE_CLIENT, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                               G_TYPE_NONE, 3, G_TYPE_STRING, G_TYPE_STRING, G_TYPE_VARIANT);
  /**
   * DvmClient::dvm-mod-failed:
   * @self: the client
   * @alloc_id: the id of the allocation
   * @req_id: the id that the request was given, "" if it was given none
   * @status: the PMIx status of the cause
   * @reason: what happened, for people
   * @details: a value of type a{sv}: "campaign" (o), "kind" (s, "grow" or "shrink"), "nodes" (as), "cause" (s)
   *
   * A change of the size of the DVM that this client asked for has failed, and the DVM is as it was before. See
   * #DvmClient::dvm-is-ready.
   *
   * Since: 0.1
   */
  signals[SIGNAL_DVM_MOD_FAILED] = g_signal_new ("dvm-mod-failed", DVM_TYPE_CLIENT, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                                 NULL, G_TYPE_NONE, 5, G_TYPE_STRING, G_TYPE_STRING, G_TYPE_INT,
                                                 G_TYPE_STRING, G_TYPE_VARIANT);
  /**
   * DvmClient::alloc-timeout-warning:
   * @self: the client
   * @alloc_id: the id of the allocation
   * @req_id: the id of the request that made or extended it, "" if it was given none
   * @seconds_left: how long the allocation still lasts
   *
   * The time of an allocation is soon over, which this client asked for or extended last. It changes nothing by itself:
   * dvm_client_extend_session() gives the allocation more time; without that its session ends, and with it the jobs on
   * nodes that leave. It comes after the answer to the request, to this client alone, as #DvmClient::dvm-is-ready.
   *
   * Since: 0.1
   */
  signals[SIGNAL_ALLOC_TIMEOUT_WARNING] = g_signal_new ("alloc-timeout-warning", DVM_TYPE_CLIENT, G_SIGNAL_RUN_LAST, 0,
                                                        NULL, NULL, NULL, G_TYPE_NONE, 3, G_TYPE_STRING, G_TYPE_STRING,
                                                        G_TYPE_UINT);
}

static void
dvm_client_class_init (DvmClientClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const char *given = g_getenv ("DVM_LOCALE_DIR");
  g_autofree char *dir = given != NULL ? g_strdup (given) : _dvm_installation_find (DVM_LOCALE_DIR);

  bindtextdomain (GETTEXT_PACKAGE, dir);
  bind_textdomain_codeset (GETTEXT_PACKAGE, "UTF-8");
  /* GDBus maps remote errors to our codes only after the domain has been registered. */
  dvm_error_quark ();
  object_class->get_property = dvm_client_get_property;
  object_class->set_property = dvm_client_set_property;
  object_class->dispose = dvm_client_dispose;
  object_class->finalize = dvm_client_finalize;
  install_properties (object_class);
  install_signals ();
}

static void
dvm_client_init (DvmClient *self)
{
  self->fd = -1;
}

/**
 * dvm_client_new:
 * @name: (nullable): the name of the DVM; %NULL for the one that $DVM_NAME names, or else the default one
 *
 * Makes a client that is not connected yet. It will look at the DVM's private socket, on the session bus and on the
 * system bus, or only at $DVM_SOCKET if that is set.
 *
 * Returns: (transfer full): the client
 * Since: 0.1
 */
DvmClient *
dvm_client_new (const char *name)
{
  return g_object_new (DVM_TYPE_CLIENT, "name", name, NULL);
}

/**
 * dvm_client_new_for_address:
 * @address: "session", "system", the absolute path of a DVM's socket, or its D-Bus address
 *
 * Makes a client that will look at one place only.
 *
 * Returns: (transfer full): the client
 * Since: 0.1
 */
DvmClient *
dvm_client_new_for_address (const char *address)
{
  g_return_val_if_fail (address != NULL, NULL);

  return g_object_new (DVM_TYPE_CLIENT, "address", address, NULL);
}

/**
 * dvm_client_new_for_fd:
 * @fd: a socket that is connected to a DVM; the client closes it
 *
 * Makes a client for a DVM of one's own, started with the other end of a socket pair.
 *
 * Returns: (transfer full): the client
 * Since: 0.1
 */
DvmClient *
dvm_client_new_for_fd (int fd)
{
  g_return_val_if_fail (fd >= 0, NULL);

  return g_object_new (DVM_TYPE_CLIENT, "fd", fd, NULL);
}

/**
 * dvm_client_get_connected:
 * @self: a client
 *
 * Whether there is a connection to the DVM.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_client_get_connected (DvmClient *self)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);

  return self->connection != NULL && !g_dbus_connection_is_closed (self->connection);
}

/**
 * dvm_client_get_loaded:
 * @self: a client
 *
 * Whether the lists that dvm_client_get_jobs() and the like return are filled with what there is. They are filled
 * together, by the main loop, from when the first of them is asked for.
 *
 * Returns: %TRUE if so; %FALSE before, without a connection, and as long as nobody has asked for a list
 * Since: 0.1
 */
gboolean
dvm_client_get_loaded (DvmClient *self)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);

  return self->loaded;
}

/**
 * dvm_client_get_dbus_connection:
 * @self: a client
 *
 * The connection that the client uses, for calls and signals of the D-Bus interfaces that have no function here.
 * Calls go to dvm_client_get_dbus_name_owner(). It is another one after the client has come back to a DVM.
 *
 * Returns: (transfer none) (nullable): the connection; %NULL if the client is not connected
 * Since: 0.1
 */
GDBusConnection *
dvm_client_get_dbus_connection (DvmClient *self)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  return self->connection;
}

/**
 * dvm_client_get_dbus_name_owner:
 * @self: a client
 *
 * The unique name that the DVM has on the message bus.
 *
 * Returns: (transfer none) (nullable): the name; %NULL on a private socket, where names are not used, and if the
 *   client is not connected
 * Since: 0.1
 */
const char *
dvm_client_get_dbus_name_owner (DvmClient *self)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  return self->owner;
}

/**
 * dvm_client_get_jobs_end_with_client:
 * @self: a client
 *
 * Whether the jobs that are submitted from now on are cancelled when the connection of this client ends.
 *
 * Returns: %TRUE if so
 * Since: 0.1
 */
gboolean
dvm_client_get_jobs_end_with_client (DvmClient *self)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), FALSE);

  return self->jobs_end_with_client;
}

/**
 * dvm_client_set_jobs_end_with_client:
 * @self: a client
 * @end: %TRUE or %FALSE
 *
 * Says whether the jobs that are submitted from now on are cancelled when the connection of this client ends, as it
 * does when its process is killed. Those that have been submitted stay as they are.
 *
 * Since: 0.1
 */
void
dvm_client_set_jobs_end_with_client (DvmClient *self, gboolean end)
{
  g_return_if_fail (DVM_IS_CLIENT (self));

  if (self->jobs_end_with_client == !!end)
    return;
  self->jobs_end_with_client = !!end;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_JOBS_END_WITH_CLIENT]);
}

/**
 * dvm_client_get_instance_id:
 * @self: a client
 *
 * What tells this run of the DVM from any other. Where connecting did not need it, the DVM is asked when it is first
 * wanted, and its answer is awaited.
 *
 * Returns: (transfer none) (nullable): the id; %NULL before the client is connected
 * Since: 0.1
 */
const char *
dvm_client_get_instance_id (DvmClient *self)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  _dvm_client_ask_instance_id (self);
  return self->instance_id;
}

/**
 * dvm_client_get_address:
 * @self: a client
 *
 * The D-Bus address that the client is connected to.
 *
 * Returns: (transfer none) (nullable): the address, or what the client was made with before it is connected; %NULL if
 *   there is none
 * Since: 0.1
 */
const char *
dvm_client_get_address (DvmClient *self)
{
  g_return_val_if_fail (DVM_IS_CLIENT (self), NULL);

  return self->address != NULL ? self->address : self->given_address;
}

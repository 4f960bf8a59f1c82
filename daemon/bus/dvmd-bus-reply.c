/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Calls are answered, with values or with one of our errors.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-call.h"
#include "dvmd-bus-peer.h"

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

void
dvmd_bus_return_result (DvmdBusCall *call, GError *error)
{
  if (error == NULL)
    dvmd_bus_return_value (call->invocation, NULL);
  else
    dvmd_bus_return_error (call->invocation, error);
}

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * As much of org.freedesktop.DBus on private connections as busctl, gdbus and other clients of buses need to work
 * there. Matches are not kept: what a connection gets does not depend on them, and clients sort it out themselves.
 */

#include "config.h"

#define G_LOG_DOMAIN "dvmd-bus"

#include "dvmd-bus-call.h"
#include "dvmd-bus-dispatch.h"
#include "dvmd-bus-parts.h"
#include "dvmd-bus-peer.h"

#include <string.h>

#define BUS_NAME              "org.freedesktop.DBus"
#define REPLY_ALREADY_RUNNING 2

static const char daemon_xml[] =
    "<node>"
    "  <interface name='org.freedesktop.DBus'>"
    "    <method name='Hello'><arg type='s' direction='out'/></method>"
    "    <method name='AddMatch'><arg type='s' direction='in'/></method>"
    "    <method name='RemoveMatch'><arg type='s' direction='in'/></method>"
    "    <method name='GetNameOwner'><arg type='s' direction='in'/><arg type='s' direction='out'/></method>"
    "    <method name='NameHasOwner'><arg type='s' direction='in'/><arg type='b' direction='out'/></method>"
    "    <method name='ListNames'><arg type='as' direction='out'/></method>"
    "    <method name='StartServiceByName'>"
    "      <arg type='s' direction='in'/><arg type='u' direction='in'/><arg type='u' direction='out'/>"
    "    </method>"
    "  </interface>"
    "</node>";

/* On a bus every message has a sender, and clients look at it. */
static GDBusMessage *
add_sender (GDBusConnection *connection, GDBusMessage *message, gboolean incoming, gpointer user_data)
{
  GDBusMessage *copy;

  if (incoming || g_dbus_message_get_sender (message) != NULL)
    return message;
  if (g_dbus_message_get_locked (message))
    {
      copy = g_dbus_message_copy (message, NULL);
      if (copy == NULL)
        return message;
      g_object_unref (message);
      message = copy;
    }
  g_dbus_message_set_sender (message, DVMD_BUS_PRIVATE_UNIQUE_NAME);
  return message;
}

static char *
get_unique_name (DvmdBusPeer *peer)
{
  return g_strdup_printf (":1.%u", peer->id);
}

static void
hello (DvmdBusPeer *peer, GDBusMethodInvocation *invocation)
{
  g_autofree char *name = get_unique_name (peer);

  if (peer->said_hello)
    {
      g_dbus_method_invocation_return_dbus_error (invocation, "org.freedesktop.DBus.Error.Failed",
                                                  "Hello has been said before");
      return;
    }
  peer->said_hello = TRUE;
  g_dbus_connection_add_filter (peer->connection, add_sender, NULL, NULL);
  dvmd_bus_return_value (invocation, g_variant_new ("(s)", name));
}

static char *
find_owner (DvmdBusPeer *peer, const char *name)
{
  g_autofree char *own = get_unique_name (peer);

  if (strcmp (name, peer->server->bus_name) == 0 || strcmp (name, DVMD_BUS_PRIVATE_UNIQUE_NAME) == 0)
    return g_strdup (DVMD_BUS_PRIVATE_UNIQUE_NAME);
  if (strcmp (name, BUS_NAME) == 0)
    return g_strdup (BUS_NAME);
  return strcmp (name, own) == 0 ? g_steal_pointer (&own) : NULL;
}

static void
about_name (DvmdBusPeer *peer, const char *method, GVariant *parameters, GDBusMethodInvocation *invocation)
{
  g_autofree char *owner = NULL;
  const char *name;

  g_variant_get_child (parameters, 0, "&s", &name);
  owner = find_owner (peer, name);
  if (strcmp (method, "NameHasOwner") == 0)
    dvmd_bus_return_value (invocation, g_variant_new ("(b)", owner != NULL));
  else if (owner == NULL)
    g_dbus_method_invocation_return_error (
        invocation, G_DBUS_ERROR,
        strcmp (method, "GetNameOwner") == 0 ? G_DBUS_ERROR_NAME_HAS_NO_OWNER : G_DBUS_ERROR_SERVICE_UNKNOWN,
        "Nobody has the name “%s”: this is the private socket of %s", name, peer->server->bus_name);
  else if (strcmp (method, "GetNameOwner") == 0)
    dvmd_bus_return_value (invocation, g_variant_new ("(s)", owner));
  else
    dvmd_bus_return_value (invocation, g_variant_new ("(u)", REPLY_ALREADY_RUNNING));
}

static void
list_names (DvmdBusPeer *peer, GDBusMethodInvocation *invocation)
{
  g_autofree char *own = get_unique_name (peer);
  const char *names[] = { BUS_NAME, peer->server->bus_name, DVMD_BUS_PRIVATE_UNIQUE_NAME, own, NULL };

  dvmd_bus_return_value (invocation, g_variant_new ("(^as)", names));
}

static void
on_method_call (GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                const char *method, GVariant *parameters, GDBusMethodInvocation *invocation, gpointer user_data)
{
  DvmdBusPeer *peer = user_data;

  if (strcmp (method, "Hello") == 0)
    hello (peer, invocation);
  else if (strcmp (method, "ListNames") == 0)
    list_names (peer, invocation);
  else if (g_str_has_suffix (method, "Match"))
    dvmd_bus_return_value (invocation, NULL);
  else
    about_name (peer, method, parameters, invocation);
}

gboolean
dvmd_bus_daemon_export (DvmdBusPeer *peer, GError **error)
{
  static const GDBusInterfaceVTable vtable = { .method_call = on_method_call };
  static gsize once;

  return dvmd_bus_peer_register (peer, "/org/freedesktop/DBus", dvmd_bus_read_interface (&once, daemon_xml), &vtable,
                                 error);
}

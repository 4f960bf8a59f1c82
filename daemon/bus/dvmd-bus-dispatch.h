/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Objects are exported, and calls of them dispatched.
 */

#pragma once

#include "dvmd-bus-call.h"

G_BEGIN_DECLS

/* Every object; only after that may calls come in. */
gboolean dvmd_bus_export (DvmdBusPeer *peer, GError **error);
/* The callers have left, and nothing is served or sent any more. */
void dvmd_bus_unexport (DvmdBusPeer *peer);
gboolean dvmd_bus_manager_export (DvmdBusPeer *peer, GError **error);
gboolean dvmd_bus_object_manager_export (DvmdBusPeer *peer, GError **error);
/* org.freedesktop.DBus for private peers that take us for a bus */
gboolean dvmd_bus_daemon_export (DvmdBusPeer *peer, GError **error);

/* The caller leaves: subscriptions and waits end, calls that wait for it are dropped. */
void dvmd_bus_caller_leave (DvmdBusCaller *self);
void dvmd_bus_caller_subscribe (DvmdBusCaller *self);
gboolean dvmd_bus_caller_unsubscribe (DvmdBusCaller *self);
/* Answers a call to the object of this number, at once or when it is known who calls; takes the invocation. */
void dvmd_bus_dispatch (DvmdBusPeer *peer, const DvmdBusClass *klass, guint id, GDBusMethodInvocation *invocation);

G_END_DECLS

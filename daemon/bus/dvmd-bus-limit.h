/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

typedef struct _DvmdBusLimit DvmdBusLimit;

/* Of a connection to a bus on which others may call: what is too much is refused before it comes to the main loop. */
DvmdBusLimit *dvmd_bus_limit_new (GDBusConnection *connection);
void dvmd_bus_limit_unref (DvmdBusLimit *self);
/* The call is being served: it does not count any more. */
void dvmd_bus_limit_serve (GDBusMethodInvocation *invocation);
/* The unique name is one of the DVM's user or root: no limit; until that has left. */
void dvmd_bus_limit_trust (DvmdBusLimit *self, const char *name);
void dvmd_bus_limit_forget (DvmdBusLimit *self, const char *name);

G_END_DECLS

/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * DvmdBusUnsent counts the messages that were given to a connection and are not written to its socket yet. GDBus queues
 * without end and does not tell how much; but it drops a message when that is out, and the drop is counted here.
 */

typedef struct _DvmdBusUnsent DvmdBusUnsent;

/* Called once in the main context for the last request, when no more than its number of bytes is left. */
typedef void (*DvmdBusUnsentFunc) (gpointer user_data);

DvmdBusUnsent *dvmd_bus_unsent_new (void);
/* No func is called any more; what is under way may be for a while yet. */
void dvmd_bus_unsent_release (DvmdBusUnsent *self);
/* Counts the message until the last reference to it is dropped. */
void dvmd_bus_unsent_add (DvmdBusUnsent *self, GDBusMessage *message);
/* About as much memory as the messages take. */
gsize dvmd_bus_unsent_get_bytes (DvmdBusUnsent *self);
/* How many messages have been written so far. */
guint dvmd_bus_unsent_get_written (DvmdBusUnsent *self);
/* func is called as soon as at most so many bytes are left, which may be now. */
void dvmd_bus_unsent_request (DvmdBusUnsent *self, gsize bytes, DvmdBusUnsentFunc func, gpointer user_data);

G_END_DECLS

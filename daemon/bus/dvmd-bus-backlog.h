/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * What has been given to a connection and is not written to its socket yet. GDBus queues without end and does not tell
 * how much: but it drops a message when it is out, and that is seen here.
 */

typedef struct _DvmdBusBacklog DvmdBusBacklog;

/* Called once in the main context for each request, when no more than its number of bytes is left. */
typedef void (*DvmdBusBacklogFunc) (gpointer user_data);

DvmdBusBacklog *dvmd_bus_backlog_new (DvmdBusBacklogFunc func, gpointer user_data);
/* func is not called any more; what is under way may be for a while yet. */
void dvmd_bus_backlog_release (DvmdBusBacklog *self);
/* Counts the message until the last reference to it is dropped. */
void dvmd_bus_backlog_add (DvmdBusBacklog *self, GDBusMessage *message);
/* About as much memory as the messages take. */
gsize dvmd_bus_backlog_get_bytes (DvmdBusBacklog *self);
/* How many messages have been written so far. */
guint dvmd_bus_backlog_get_written (DvmdBusBacklog *self);
/* func is called as soon as at most so many bytes are left, which may be now. */
void dvmd_bus_backlog_request (DvmdBusBacklog *self, gsize bytes);

G_END_DECLS

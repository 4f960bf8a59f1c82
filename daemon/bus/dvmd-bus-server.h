/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

#include "dvmd-bus-listener.h"
#include "dvmd-config.h"
#include "dvmd-controller.h"

G_BEGIN_DECLS

/*
 * The DVM on D-Bus: the same objects on several connections at once (buses, a private socket, single descriptors).
 *
 * Signals of its own:
 *   connection-closed (gboolean is_bus, guint n_left)   a connection has gone; n_left: private ones that are left
 */

#define DVMD_TYPE_BUS_SERVER (dvmd_bus_server_get_type ())
G_DECLARE_FINAL_TYPE (DvmdBusServer, dvmd_bus_server, DVMD, BUS_SERVER, GObject)

/* name: (nullable) of the DVM, the bus name is org.dvm.Manager[.NAME] */
DvmdBusServer *dvmd_bus_server_new (DvmdController *controller, const char *name);

/* Reads the settings again; an error leaves them as they are. */
typedef gboolean (*DvmdBusReloadFunc) (gpointer user_data, GError **error);
/* For Query and Reload, which have nothing to do with settings without it. */
void dvmd_bus_server_set_settings (DvmdBusServer *self, DvmdConfig *settings, DvmdBusReloadFunc reload,
                                   gpointer user_data);

/*
 * Connects to the session or the system bus, exports the objects there and takes the name. DVM_ERROR_EXISTS: another
 * DVM has the name; DVM_ERROR_NOT_FOUND: there is no such bus. Nothing is left behind after an error. A bus that goes
 * later is looked for at the same address until it is back, and the name is taken again.
 */
void dvmd_bus_server_add_bus_async (DvmdBusServer *self, GBusType type, GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data);
gboolean dvmd_bus_server_add_bus_finish (DvmdBusServer *self, GAsyncResult *result, GError **error);
/* The same on a bus connection that is open already. */
void dvmd_bus_server_add_bus_connection_async (DvmdBusServer *self, GDBusConnection *connection,
                                               GCancellable *cancellable, GAsyncReadyCallback callback,
                                               gpointer user_data);

/*
 * For a DVM that the next call starts again: gives its name back and serves what was sent to it before that. Whoever
 * calls now gets the next DVM, so nobody is lost. It may have got work by then; dvmd_bus_server_stay() takes the name
 * again. FALSE: it is just joining the bus, and calls may be on their way: not now.
 */
void dvmd_bus_server_leave_async (DvmdBusServer *self, GAsyncReadyCallback callback, gpointer user_data);
gboolean dvmd_bus_server_leave_finish (DvmdBusServer *self, GAsyncResult *result);
void dvmd_bus_server_stay (DvmdBusServer *self);

/*
 * The private socket. A socket that nobody listens on any more is replaced; DVM_ERROR_EXISTS if somebody does. The
 * folder must be there and be private.
 */
gboolean dvmd_bus_server_listen (DvmdBusServer *self, const char *path, GError **error);
/* Serves the peer of one connected socket (one-shot DVMs); takes fd, also on error. */
gboolean dvmd_bus_server_add_fd (DvmdBusServer *self, int fd, GError **error);

/* (nullable) after listen, until stop */
DvmdBusListener *dvmd_bus_server_get_listener (DvmdBusServer *self);
/* How long, in microseconds, somebody may leave unread what waits for it before it is closed (300 s). */
void dvmd_bus_server_set_timeout (DvmdBusServer *self, gint64 timeout);
/* Private connections, those that still authenticate included. */
guint dvmd_bus_server_get_n_connections (DvmdBusServer *self);
/* (nullable): "unix:path=..." after listen */
const char *dvmd_bus_server_get_address (DvmdBusServer *self);

/*
 * Takes no more connections, answers those who still wait with DVM_ERROR_SHUTTING_DOWN, sends what is pending (two
 * seconds at most), gives the names back and closes everything. Nothing is served afterwards.
 */
void dvmd_bus_server_stop_async (DvmdBusServer *self, GAsyncReadyCallback callback, gpointer user_data);
void dvmd_bus_server_stop_finish (DvmdBusServer *self, GAsyncResult *result);

G_END_DECLS

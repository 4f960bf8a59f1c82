/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * The private socket: takes connections of our own user and of root until it has as many as are good for us, and
 * authenticates them. Who says nothing, or half a word, is sent away after a while; when descriptors run out too.
 */

typedef struct _DvmdBusListener DvmdBusListener;

/* An authenticated connection that does not process messages yet. FALSE: not wanted, it is closed. */
typedef gboolean (*DvmdBusListenerFunc) (GDBusConnection *connection, gpointer user_data);

typedef struct
{
  const char *guid;
  GDBusAuthObserver *observer;
  DvmdBusListenerFunc func;
  gpointer user_data;
} DvmdBusListenerSettings;

/* path: must not be there. */
DvmdBusListener *dvmd_bus_listener_new (const char *path, const DvmdBusListenerSettings *settings, GError **error);
/* func is not called any more; connections that it has taken go on. */
void dvmd_bus_listener_free (DvmdBusListener *self);
/* At most so many connections; 0: as the limit of descriptors allows. */
void dvmd_bus_listener_set_limit (DvmdBusListener *self, guint limit);
/* How long an authentication may take, in ms (10,000). */
void dvmd_bus_listener_set_timeout (DvmdBusListener *self, guint timeout);
/* A connection that func had taken has gone. */
void dvmd_bus_listener_connection_gone (DvmdBusListener *self);
/* Those who authenticate. */
guint dvmd_bus_listener_get_n_guests (DvmdBusListener *self);

G_END_DECLS
